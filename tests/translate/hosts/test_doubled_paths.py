"""A prefix that ingress-nginx has twice beside regular expressions, with a slash at its end and without."""

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.routing.route import Match
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.objects import Ingress
from tests.translate.following import Follower
from tests.translate.tls.test_client_authentication import ingress


def of_type(kind: str, one: Ingress) -> Ingress:
    """Return the same Ingress with this type of all its paths."""
    rules = tuple(
        evolve(rule, paths=tuple(evolve(path, path_type=kind) for path in rule.paths or ()))
        for rule in one.rules
    )
    return evolve(one, rules=rules)


class DoubledPathTests(SynchronousTestCase):
    """Who takes what."""

    def taken(self, path: bytes, *ingresses: Ingress) -> str:
        """Return whose route takes a path of the host."""
        route = Follower(TranslateOptions(), list(ingresses)).expected().table.find(b"a.test", path)
        assert route is not None and route.owner is not None and route.match is Match.EXPRESSION
        return route.owner.key.name

    def test_beside_both_texts(self) -> None:
        """An older one has the text with the slash, and a younger one that without, which stays the prefix's between them."""
        exact = of_type("Exact", ingress("a", "/a/"))
        asking = ingress("cccc", "/x(.*)", use_regex="true")
        for kind in ("ImplementationSpecific", "Prefix"):
            others = (exact, ingress("bb", "/a"), of_type(kind, ingress("ccc", "/a")), asking)
            for path, owner in ((b"/ax", "bb"), (b"/a", "bb"), (b"/a/", "a"), (b"/a/x", "a")):
                self.assertEqual(self.taken(path, *others), owner, (kind, path))
