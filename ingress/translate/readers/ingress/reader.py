"""The reader of Ingresses."""

from collections.abc import Hashable

from ingress.model.cluster.objects import ClusterObject, Kind
from ingress.model.cluster.secrets import Needs
from ingress.model.cluster.state import ClusterState
from ingress.model.stepwise import Stepwise, finished
from ingress.translate.annotation_reading import annotation_reader
from ingress.translate.claims import ParsedObject
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.classes import class_names, is_catch_all, judge_ingress
from ingress.translate.readers.ingress.needs import may_need, needing
from ingress.translate.readers.ingress.nothing_served import why_nothing_is_served
from ingress.translate.readers.ingress.objects import Ingress
from ingress.translate.readers.ingress.rules import read_ingress
from ingress.translate.readers.reader import Verdict


class IngressReader:
    """Reads Ingresses: class, rules, default backend, ``tls`` and annotations."""

    def __init__(self, options: TranslateOptions) -> None:
        self._options = options
        self._annotations = annotation_reader(options)
        self._has_default = options.default_backend_service is not None
        self._is_strict = options.strict_path_types
        self._quirks = options.quirks

    def judge(self, value: ClusterObject, state: ClusterState, /) -> Verdict:
        """Decide by the class, and by whether it may have a default backend, whether *value* is ours."""
        assert isinstance(value, Ingress)
        return judge_ingress(value, state, self._options)

    def class_of(self, value: ClusterObject, /) -> Hashable:
        """Return how *value* names its class, and whether it is left alone whatever that is."""
        assert isinstance(value, Ingress)
        return class_names(value), is_catch_all(value, self._options)

    def read(self, value: ClusterObject, related: Hashable, /) -> ParsedObject:
        """Return what *value* asks for."""
        return finished(self.reading(value, related))

    def reading(self, value: ClusterObject, related: Hashable, /) -> Stepwise[ParsedObject]:
        """Return the same, in steps: it may have thousands of paths."""
        assert isinstance(value, Ingress)
        return read_ingress(
            value,
            self._annotations,
            has_global_default=self._has_default,
            strict_path_types=self._is_strict,
            quirks=self._quirks,
        )

    def needs(self, value: ClusterObject, kind: Kind, /) -> Needs:
        """Return the Secrets or ConfigMaps that *value* refers to."""
        return finished(self.needing(value, kind))

    def may_need(self, value: ClusterObject, kind: Kind, /) -> bool:
        """Whether *value* has what may name a Secret or ConfigMap."""
        assert isinstance(value, Ingress)
        return may_need(value, kind, self._annotations)

    def needing(self, value: ClusterObject, kind: Kind, /) -> Stepwise[Needs]:
        """Return the Secrets or ConfigMaps that *value* refers to, in steps: it may have ten thousand entries of ``tls``."""
        assert isinstance(value, Ingress)
        return needing(value, kind, self._annotations)

    def why_nothing(self, state: ClusterState, /) -> Stepwise[str]:
        """Say what kept all Ingresses from having a route, in steps."""
        return why_nothing_is_served(state, self._options)
