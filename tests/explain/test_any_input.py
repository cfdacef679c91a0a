"""Whatever somebody asks, and whatever objects say: there is an explanation, or a clear refusal."""

import json

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.explain.asked_request import read_asked
from ingress.explain.explaining import explain
from ingress.explain.objects import KnownObjects
from ingress.explain.plain_data import plain
from ingress.explain.served import Served
from ingress.explain.urls import UrlRefused
from ingress.model.cluster.objects import ClusterObject
from ingress.translate.options import TranslateOptions
from ingress.translate.snapshot import Snapshot
from ingress.translate.translate import translate
from tests.explain.clusters import clients, headers, methods, urls
from tests.translate.golden import state_of
from tests.translate.test_properties import NOW, all_options, clusters

signs = st.text(
    st.sampled_from(list("htps:/?#[]@%.;*aA1 \\\t\n\r\x00\x7füé\ud800\u202e{}<>\"'|^`~,=&")), max_size=24
)
texts = signs | st.text(max_size=24) | signs.map("http://".__add__) | signs.map("https://a.com/".__add__)


class AnyInputTests(SynchronousTestCase):
    @given(texts, texts | methods, st.lists(texts | st.just("X: y"), max_size=2), texts | clients)
    def test_any_text_is_explained_or_refused_with_a_reason(
        self, url: str, method: str, fields: list[str], client: str
    ) -> None:
        """Nothing else is raised, and the explanation is JSON."""
        try:
            asked = read_asked(url, method, fields, client)
        except UrlRefused as refused:
            self.assertTrue(str(refused))
            return
        found = explain(asked, Served(Snapshot(), NOW))
        self.assertTrue(found.outcome.sentence)
        json.dumps(plain(found))

    @given(clusters, all_options, urls, methods, headers, clients)
    def test_any_objects_are_explained(
        self,
        objects: list[ClusterObject],
        chosen: TranslateOptions,
        url: str,
        method: str,
        fields: list[str],
        client: str,
    ) -> None:
        """Mistakes of their owners, and objects of nobody, are no mistake here."""
        state = state_of(objects)
        served = Served(translate(state, chosen, NOW), NOW, (), KnownObjects(state, chosen))
        found = explain(read_asked(url, method, fields, client), served)
        self.assertTrue(found.outcome.sentence)
        json.dumps(plain(found))
