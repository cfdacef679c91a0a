"""The path ``/`` that ``app-root`` adds to a host, beside expressions and older paths."""

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.objects import ObjectKey
from ingress.model.cluster.problems import Reason
from ingress.routing.route import Match
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.objects import Ingress
from tests.translate.following import Follower
from tests.translate.tls.test_client_authentication import ingress


def exact(name: str, **annotations: str) -> Ingress:
    """An Ingress that has ``/`` and nothing below."""
    one = ingress(name, "/", host="a.test", **annotations)
    (rule,) = one.rules
    (path,) = rule.paths or ()
    return evolve(one, rules=(evolve(rule, paths=(evolve(path, path_type="Exact"),)),))


def also(one: Ingress, path: str) -> Ingress:
    """The same with another path."""
    (rule,) = one.rules
    (first,) = rule.paths or ()
    further = evolve(first, path=path, path_type="Prefix")
    return evolve(one, rules=(evolve(rule, paths=(first, further)),))


class AppRootTests(SynchronousTestCase):
    """Who takes ``/``."""

    def taken(
        self, *ingresses: Ingress, path: bytes = b"/", shared: bool = False, quirks: bool = True
    ) -> tuple[str, Match]:
        """Return whose route takes a path of the host, and how it is compared."""
        options = TranslateOptions(shared_hosts=shared, quirks=quirks)
        table = Follower(options, list(ingresses)).expected().table
        route = table.find(b"a.test", path)
        assert route is not None and route.owner is not None
        return route.owner.key.name, route.match

    def test_expression_that_takes_all_leaves_it(self) -> None:
        """As ingress-nginx has it for the host as a whole, before any path; all others go to the expression."""
        every = ingress("a", "/(.*)", host="a.test", use_regex="true")
        rooted = ingress("bb", "/b", host="a.test", app_root="/app")
        for shared in (False, True):
            for both in ((every, rooted), (rooted, every)):
                self.assertEqual(self.taken(*both, shared=shared), ("bb", Match.EXACT))
                self.assertEqual(self.taken(*both, path=b"/app", shared=shared), ("a", Match.EXPRESSION))

    def test_expression_that_is_the_path_leaves_it(self) -> None:
        """``/`` itself, which takes everything as an expression."""
        every = ingress("a", "/", host="a.test", use_regex="true")
        rooted = ingress("bb", "/b", host="a.test", app_root="/app")
        self.assertEqual(self.taken(every, rooted), ("bb", Match.EXACT))
        self.assertEqual(self.taken(every, rooted, path=b"/b"), ("bb", Match.EXPRESSION))

    def test_own_path_that_an_expression_takes(self) -> None:
        """The Ingress with ``app-root`` has ``/`` itself, which a longer expression of another takes; but for that all stays as it was."""
        every = ingress("a", "/(.*)", host="a.test", use_regex="true")
        rooted = ingress("bb", "/", host="a.test", app_root="/app")
        for both in ((every, rooted), (rooted, every)):
            self.assertEqual(self.taken(*both), ("bb", Match.EXACT))
            self.assertEqual(self.taken(*both, path=b"/app"), ("a", Match.EXPRESSION))
        self.assertEqual(self.taken(rooted), ("bb", Match.PREFIX))

    def test_path_that_belongs_to_an_older_one(self) -> None:
        """Where that is all that the Ingress has, nginx does not look at it; where it has another path, it does."""
        every = ingress("a", "/", host="a.test", use_regex="true")
        lost = ingress("bb", "/", host="a.test", app_root="/app")
        self.assertEqual(self.taken(every, lost), ("a", Match.EXPRESSION))
        more = ingress("bb", "/", "/b", host="a.test", app_root="/app")
        self.assertEqual(self.taken(every, more), ("bb", Match.EXACT))

    def test_prefix_that_belongs_to_an_older_one(self) -> None:
        """So it is without expressions: what is below ``/`` stays the older one's, and so does ``/`` where nothing else is the younger one's."""
        for older in (ingress("a", "/", host="a.test"), ingress("a", "/", "/b", host="a.test")):
            lost = ingress("bb", "/", host="a.test", app_root="/app")
            self.assertEqual(self.taken(older, lost), ("a", Match.PREFIX))
            more = ingress("bb", "/", "/c", host="a.test", app_root="/app")
            self.assertEqual(self.taken(older, more), ("bb", Match.EXACT))
            self.assertEqual(self.taken(older, more, path=b"/app"), ("a", Match.PREFIX))
            self.assertEqual(self.taken(older, more, path=b"/c"), ("bb", Match.PREFIX))
        every = (
            ingress("a", "/", "/b", host="a.test"),
            ingress("bb", "/", "/b", host="a.test", app_root="/app"),
        )
        self.assertEqual(self.taken(*every), ("a", Match.PREFIX))

    def test_exact_path_of_an_older_one(self) -> None:
        """An older ``/`` of type Exact of the namespace goes behind it, and is told; nobody else's does, nor any without quirks."""
        older = exact("a")
        for rooted in (
            ingress("bb", "/b", host="a.test", app_root="/app"),
            ingress("bb", "/", "/b", host="a.test", app_root="/app"),
            ingress("bb", "/", host="a.test", app_root="/app"),
            also(exact("bb", app_root="/app"), "/b"),
        ):
            self.assertEqual(self.taken(older, rooted), ("bb", Match.EXACT))
            self.assertEqual(self.taken(older, exact("aa"), rooted), ("bb", Match.EXACT))
            self.assertEqual(self.taken(older, rooted, quirks=False), ("a", Match.EXACT))
            other = evolve(rooted, key=ObjectKey("other", "bb"))
            self.assertEqual(self.taken(older, other), ("a", Match.EXACT))
            self.assertEqual(self.taken(older, other, shared=True), ("bb", Match.EXACT))
            stranger = evolve(exact("aa"), key=ObjectKey("other", "aa"))
            self.assertEqual(self.taken(older, stranger, rooted)[0], "a")
            (told,) = [
                one
                for one in Follower(TranslateOptions(), [older, rooted]).expected().problems
                if one.reason == Reason.PATH_CONFLICT and one.name == "a"
            ]
            self.assertIn("go to Ingress demo/bb, whose app-root", told.message)
            self.assertEqual(told.field, "spec.rules[0].http.paths[0].path")
        twice = evolve(older, rules=older.rules * 2)
        self.assertEqual(
            self.taken(twice, ingress("bb", "/b", host="a.test", app_root="/app")), ("bb", Match.EXACT)
        )
        # Whose paths are all older ones' has no say.
        self.assertEqual(self.taken(older, exact("bb", app_root="/app")), ("a", Match.EXACT))
        both = also(older, "/x")
        self.assertEqual(
            self.taken(both, ingress("bb", "/b", host="a.test", app_root="/app"), path=b"/x")[0], "a"
        )

    def test_exact_path_of_a_younger_one(self) -> None:
        """So does a younger one, and whoever has ``/`` as a prefix of its own keeps it; not without quirks, nor where another namespace has it."""
        rooted = ingress("a", "/", host="a.test", app_root="/app")
        for younger in (exact("bb"), exact("bb", app_root="/bb")):
            self.assertEqual(self.taken(rooted, younger), ("a", Match.EXACT))
            self.assertEqual(self.taken(rooted, younger, path=b"/app"), ("a", Match.PREFIX))
            self.assertEqual(self.taken(rooted, younger, quirks=False), ("bb", Match.EXACT))
            problems = Follower(TranslateOptions(), [rooted, younger]).expected().problems
            (told,) = [one for one in problems if "belongs" in one.message]
            self.assertEqual((told.name, told.field), ("bb", "spec.rules[0].http.paths[0]"))
            self.assertIn("belongs to Ingress demo/a, which is older", told.message)
            other = evolve(younger, key=ObjectKey("other", "bb"))
            self.assertEqual(self.taken(rooted, other), ("bb", Match.EXACT))
            self.assertEqual(self.taken(rooted, other, shared=True), ("a", Match.EXACT))
            before = evolve(younger, created="2019-01-01T00:00:00Z")
            stranger = evolve(before, key=ObjectKey("other", "bb"))
            self.assertEqual(self.taken(stranger, rooted), ("bb", Match.EXACT))
            self.assertEqual(self.taken(before, rooted), ("a", Match.EXACT))

    def test_several(self) -> None:
        """The one of the longest path comes first, of as long ones the last by its letters, whoever is older; the others are told."""
        for first, second, wins in (
            (("/b",), ("/c",), "bb"),
            (("/c",), ("/b",), "a"),
            (("/b",), ("/a", "/cc"), "bb"),
            (("/bb",), ("/c",), "a"),
            (("/b",), ("/é",), "bb"),
            (("/zz",), ("/é",), "bb"),
            # The path that both have is the older one's.
            (("/cc",), ("/b", "/cc"), "a"),
            (("/",), ("/b",), "bb"),
            (("/b",), ("/",), "a"),
            ((), ("/b",), "bb"),
        ):
            one = ingress("a", *first, host="a.test", app_root="/one")
            two = ingress("bb", *second, host="a.test", app_root="/two")
            self.assertEqual(self.taken(one, two), (wins, Match.EXACT), (first, second))
            problems = Follower(TranslateOptions(), [one, two]).expected().problems
            told = [
                one for one in problems if one.reason == Reason.PATH_CONFLICT and "redirects" in one.message
            ]
            self.assertEqual([one.name for one in told], ["bb" if wins == "a" else "a"], (first, second))
            self.assertIn(f"that of Ingress demo/{wins} comes first, by its path", told[0].message)
            has_root = "/" in (second if wins == "a" else first)
            self.assertEqual("app-root" in told[0].field, not has_root, told[0].field)
            # Each namespace has its own, and the older one has the path.
            other = evolve(two, key=ObjectKey("other", "bb"))
            if first:
                self.assertEqual(self.taken(one, other)[0], "a", (first, second))
            if "/" not in first:
                self.assertEqual(self.taken(one, two, quirks=False)[0], "a", (first, second))

    def test_several_beside_another_namespace(self) -> None:
        """There age decides between them as it does between the namespaces: none is to lose what it had by one that is younger than all."""
        rooted = ingress("a", "/b", host="a.test", app_root="/one")
        longest = ingress("cccc", "/cc", host="a.test", app_root="/two")
        for one in (
            ingress("bb", "/", host="a.test"),
            exact("bb"),
            ingress("bb", "/", host="a.test", app_root="/other"),
            ingress("bb", "/(.*)", host="a.test", use_regex="true"),
        ):
            between = evolve(one, key=ObjectKey("other", "bb"))
            for oldest in (rooted, ingress("a", host="a.test", app_root="/bare")):
                self.assertEqual(self.taken(oldest, between), ("a", Match.EXACT))
                self.assertEqual(self.taken(oldest, between, longest), ("a", Match.EXACT))
                self.assertEqual(self.taken(oldest, between, longest, shared=True)[0], "cccc")
            problems = Follower(TranslateOptions(), [rooted, between, longest]).expected().problems
            self.assertEqual([one.name for one in problems if "redirects nothing" in one.message], [])

    def test_app_root_of_another_namespace_in_between(self) -> None:
        """It does not get what the Exact path of an older Ingress lacks for one that is younger still."""
        older = exact("a")
        between = evolve(ingress("bb", "/b", host="a.test", app_root="/b"), key=ObjectKey("other", "bb"))
        for rooted in (
            ingress("ccc", "/c", host="a.test", app_root="/app"),
            ingress("ccc", "/", "/c", host="a.test", app_root="/app"),
            also(exact("ccc", app_root="/app"), "/c"),
        ):
            self.assertEqual(self.taken(older, rooted), ("ccc", Match.EXACT))
            self.assertEqual(self.taken(older, between, rooted), ("a", Match.EXACT))
            self.assertEqual(self.taken(older, between, rooted, shared=True), ("ccc", Match.EXACT))

    def test_exact_path_that_became_a_prefix(self) -> None:
        """Where the Exact path of an older Ingress is left to the prefix of its namespace, which is younger, that has it from the older one on."""
        older = exact("a")
        asking = ingress("ccc", "/", host="a.test", use_regex="true")
        between = evolve(ingress("bb", "/b", host="a.test", app_root="/b"), key=ObjectKey("other", "bb"))
        self.assertEqual(self.taken(older, between), ("a", Match.EXACT))
        self.assertEqual(self.taken(older, between, asking), ("ccc", Match.EXPRESSION))
        self.assertEqual(self.taken(older, between, asking, path=b"/b")[0], "bb")
        problems = Follower(TranslateOptions(), [older, between, asking]).expected().problems
        (told,) = [one for one in problems if "app-root" in one.message]
        self.assertEqual((told.name, told.reason), ("bb", Reason.PATH_CONFLICT))
        self.assertIn(
            "go to Ingress demo/ccc, to which Ingress demo/a leaves them, which is older", told.message
        )
        # Nobody had it before, or all are of one realm.
        first = evolve(ingress("a", "/b", host="a.test", app_root="/b"), key=ObjectKey("other", "a"))
        self.assertEqual(self.taken(first, exact("bb"), asking), ("a", Match.EXACT))
        self.assertEqual(self.taken(older, between, asking, shared=True), ("bb", Match.EXACT))

    def test_exact_path_that_became_a_prefix_behind_others(self) -> None:
        """Where that prefix is behind the one of another namespace, which has all requests, the older Exact path keeps nothing from it."""
        older = exact("a")
        asking = ingress("dddd", "/", host="a.test", use_regex="true")
        prefix = evolve(ingress("bb", "/", host="a.test"), key=ObjectKey("other", "bb"))
        rooted = evolve(
            ingress("bb", "/", host="a.test", use_regex="true", app_root="/b"), key=ObjectKey("other", "bb")
        )
        self.assertEqual(self.taken(older, rooted, asking), ("bb", Match.EXACT))
        third = evolve(ingress("ccc", "/b", host="a.test", app_root="/b"), key=ObjectKey("third", "ccc"))
        problems = Follower(TranslateOptions(), [older, prefix, third, asking]).expected().problems
        (told,) = [one for one in problems if "app-root" in one.message]
        self.assertIn("go to Ingress other/bb, which is older", told.message)
        self.assertEqual(self.taken(older, prefix, third, asking), ("bb", Match.PREFIX))
        # Who has app-root leaves its own / to nobody.
        first = exact("a", app_root="/a")
        problems = Follower(TranslateOptions(), [first, third, asking]).expected().problems
        (told,) = [one for one in problems if one.name == "ccc" and '"/"' in one.message]
        self.assertIn("belongs to Ingress demo/a, which is older", told.message)

    def test_every_path_of_another_namespace(self) -> None:
        """What another namespace had with all paths before stays with it, also where app-root is of an Ingress without ``/``."""
        rooted = ingress("bb", "/b", host="a.test", app_root="/app")
        other = evolve(rooted, key=ObjectKey("other", "bb"))
        for older in (
            ingress("a", "/", host="a.test"),
            ingress("a", "/(.*)", host="a.test", use_regex="true"),
        ):
            self.assertEqual(self.taken(older, other)[0], "a")
            self.assertEqual(self.taken(older, other, path=b"/b")[0], "bb")
            self.assertEqual(self.taken(older, rooted), ("bb", Match.EXACT))
            self.assertEqual(self.taken(older, other, shared=True), ("bb", Match.EXACT))
            self.assertEqual(self.taken(older, rooted, quirks=False)[0], "a")
        # What does not take all leaves the rest, and nobody who is younger is asked.
        self.assertEqual(self.taken(ingress("a", "/a", host="a.test"), other), ("bb", Match.EXACT))
        self.assertEqual(self.taken(other, ingress("cc", "/", host="a.test")), ("bb", Match.EXACT))

    def test_every_path_of_another_namespace_beside_expressions(self) -> None:
        """Nor is / taken by an Ingress that has it as an expression, or as a prefix that it lost to one of its own namespace."""
        for older in (
            ingress("a", "/", host="a.test"),
            ingress("a", "/(.*)", host="a.test", use_regex="true"),
        ):
            asking = ingress("bb", "/", "/b", host="a.test", app_root="/app", use_regex="true")
            other = evolve(asking, key=ObjectKey("other", "bb"))
            self.assertEqual(self.taken(older, other)[0], "a")
            younger = evolve(older, key=ObjectKey("demo", "cccc"), created="2020-01-01T00:00:09Z")
            self.assertEqual(self.taken(other, younger), ("bb", Match.EXACT))
            self.assertEqual(self.taken(older, asking), ("bb", Match.EXACT))
            self.assertEqual(self.taken(older, other, shared=True), ("bb", Match.EXACT))
            problems = Follower(TranslateOptions(), [older, other]).expected().problems
            told = [one for one in problems if "app-root" in one.message]
            self.assertEqual([(one.name, one.reason) for one in told], [("bb", Reason.PATH_CONFLICT)])
            between = evolve(ingress("bb", "/", host="a.test"), key=ObjectKey("other", "bb"))
            last = evolve(
                ingress("ccc", "/", "/c", host="a.test", app_root="/app"), key=ObjectKey("other", "ccc")
            )
            self.assertNotEqual(self.taken(older, between, last)[0], "ccc")

    def test_told(self) -> None:
        """Whoever has app-root without effect is told who has ``/``."""
        older = ingress("a", "/", host="a.test")
        other = evolve(ingress("bb", "/b", host="a.test", app_root="/app"), key=ObjectKey("other", "bb"))
        problems = Follower(TranslateOptions(), [older, other]).expected().problems
        (found,) = [one for one in problems if one.reason == Reason.PATH_CONFLICT]
        self.assertEqual((found.namespace, found.name), ("other", "bb"))
        self.assertIn("app-root", found.field, found)
        self.assertIn('requests for "/" of host a.test go to Ingress demo/a', found.message)

    def test_prefix_that_belongs_to_another_namespace(self) -> None:
        """Nobody takes by a prefix that he lost what another namespace had before, unless hosts are shared; nor any Ingress without quirks."""
        older = ingress("a", "/", host="a.test")
        lost = ingress("bb", "/", host="a.test", app_root="/app")
        more = ingress("bb", "/", "/c", host="a.test", app_root="/app")
        for younger in (lost, more):
            other = evolve(younger, key=ObjectKey("other", "bb"))
            self.assertEqual(self.taken(older, other), ("a", Match.PREFIX))
            self.assertEqual(self.taken(older, younger, quirks=False), ("a", Match.PREFIX))
            self.assertEqual(self.taken(older, other, quirks=False), ("a", Match.PREFIX))
        other = evolve(more, key=ObjectKey("other", "bbb"))
        self.assertEqual(self.taken(older, other, shared=True), ("bbb", Match.EXACT))
        between = evolve(ingress("bb", "/", host="a.test"), key=ObjectKey("other", "bb"))
        self.assertEqual(self.taken(older, between, other), ("a", Match.PREFIX))

    def test_ingress_without_any_of_its_paths(self) -> None:
        """It has no say about the host in ingress-nginx, so a younger one's counts; without quirks each has."""
        older = ingress("a", "/b", host="a.test")
        lost = ingress("bb", "/b", host="a.test", app_root="/lost")
        younger = ingress("ccc", "/c", host="a.test", app_root="/app")
        self.assertEqual(self.taken(older, lost, younger), ("ccc", Match.EXACT))
        self.assertEqual(self.taken(older, lost, younger, quirks=False), ("bb", Match.EXACT))
        table = Follower(TranslateOptions(), [older, lost]).expected().table
        self.assertIsNone(table.find(b"a.test", b"/"))

    def test_ingress_that_wrote_no_path(self) -> None:
        """It has a say where it is the oldest and nobody wrote ``/``, which is its own then; without quirks anyway."""
        older, younger = (
            ingress("a", "/b", host="a.test"),
            ingress("ccc", "/c", host="a.test", app_root="/app"),
        )
        bare = ingress("bb", host="a.test", app_root="/bare")
        self.assertEqual(self.taken(older, bare, younger), ("ccc", Match.EXACT))
        self.assertEqual(self.taken(older, bare, younger, quirks=False), ("bb", Match.EXACT))
        self.assertIsNone(Follower(TranslateOptions(), [older, bare]).expected().table.find(b"a.test", b"/"))
        first = ingress("a", host="a.test", app_root="/bare")
        self.assertEqual(self.taken(first, ingress("bb", "/c", host="a.test")), ("a", Match.EXACT))
        self.assertEqual(self.taken(first, ingress("bb", "/", host="a.test")), ("bb", Match.PREFIX))
        other = evolve(bare, key=ObjectKey("other", "bb"))
        self.assertIsNone(Follower(TranslateOptions(), [older, other]).expected().table.find(b"a.test", b"/"))
