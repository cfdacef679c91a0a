"""Annotations from object to answer: Ingresses are translated, and served by a proxy in memory."""

from __future__ import annotations

from datetime import UTC, datetime

from ingress.model.cluster.objects import ClusterObject
from ingress.model.upstream.backends import BackendState
from ingress.translate.options import TranslateOptions
from ingress.translate.snapshot import Snapshot
from ingress.translate.translate import translate
from tests.proxy.filter_case import FilterCase
from tests.proxy.playing import ONE
from tests.translate.golden import state_of
from tests.translate.tls.test_client_authentication import ingress


class ServedCase(FilterCase):
    """A stage that serves what objects ask for; all of their backends have one endpoint."""

    def serve(self, *objects: ClusterObject, options: TranslateOptions = TranslateOptions()) -> Snapshot:  # noqa: B008 - it is frozen
        """Serve *objects* from now on."""
        found = translate(state_of([*objects]), options, datetime.now(UTC))
        self.stage.resource.publish(found.table, dict.fromkeys(found.backends, BackendState((ONE,))))
        return found

    def annotate(self, **annotations: str) -> Snapshot:
        """Serve one Ingress for ``shop.test``; in the names of annotations an underscore stands for a dash."""
        return self.serve(ingress("web", "/", host="shop.test", **annotations))
