"""Which path of a host has a request, against what ingress-nginx would have matched; and what is closed."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from operator import itemgetter

from attrs import evolve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.access.guards import GuardMissing
from ingress.annotations.requests.path_rewrites import RegexMissing, RewriteMissing
from ingress.model.cluster.objects import ObjectKey
from ingress.model.cluster.problems import Reason
from ingress.routing.beginnings import regex_beginnings
from ingress.routing.paths import normal_path
from ingress.routing.route import Match
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.objects import (
    Ingress,
    IngressBackend,
    IngressPath,
    IngressRule,
    ServicePortReference,
)
from ingress.translate.self_check import differences
from ingress.translate.snapshot import Snapshot
from ingress.translate.translate import translate
from tests.properties import examples
from tests.translate.following import Follower, batch, gone
from tests.translate.golden import state_of

NOW = datetime(2026, 7, 1, tzinfo=UTC)
PREFIX = TranslateOptions().annotations_prefix
ASKING = {f"{PREFIX}/use-regex", f"{PREFIX}/rewrite-target"}
HOST = "a.example.com"

plain = ["/", "/a", "/a/b", "/A", "/admin", "/admin/x", "/ab", "/b/"]
expressions = [
    "/(.*)",
    "/a(/|$)(.*)",
    "/admins?",
    "/a.*",
    "/[ab]+",
    r"/a\/b",
    "/(a|b)/x",
    "/a$",
    "/(?!a).*",
    "/a|b",
]
requests = st.lists(st.sampled_from(["a", "A", "b", "admin", "Admin", "admins", "x", "ab"]), max_size=3).map(
    lambda some: "/" + "/".join(some)
)
GUARD = {"enable-modsecurity": "true"}
asked = st.sampled_from([{}, {}, {"use-regex": "true"}, {"rewrite-target": "/$1"}, GUARD])


def ingress(
    name: str, paths: list[tuple[str, str]], asked: dict[str, str], namespace: str = "demo"
) -> Ingress:
    """Return an Ingress of the host; its paths have types, and all lead to the Service of its name."""
    backend = IngressBackend(name, ServicePortReference("", 80))
    return Ingress(
        ObjectKey(namespace, name),
        class_name="nginx",
        annotations={f"{PREFIX}/{key}": value for key, value in asked.items()},
        rules=(IngressRule(HOST, tuple(IngressPath(path, kind, backend) for path, kind in paths)),),
    )


typed = st.tuples(
    st.sampled_from(plain + expressions), st.sampled_from(["Prefix", "Exact", "ImplementationSpecific"])
)
hosts = st.lists(st.tuples(st.lists(typed, min_size=1, max_size=3), asked), min_size=2, max_size=3).map(
    # The oldest first: of equally old ones the last by name.
    lambda some: [ingress(f"i{9 - number}", paths, asked) for number, (paths, asked) in enumerate(some)]
)


def younger(one: Ingress) -> Ingress:
    """Return an Ingress as one that was created, which those of manifests were not."""
    return evolve(one, created="2021-01-01T00:00:00Z")


def answer(snapshot: Snapshot, path: str, host: str = HOST) -> str:
    """Say what answers: ``404``, ``503``, or the name of an Ingress."""
    route = snapshot.table.find(host.encode(), normal_path(path.encode()))
    if route is None:
        return "404"
    if any(isinstance(one, GuardMissing | RegexMissing | RewriteMissing) for one in route.filters):
        return "503"
    return "" if route.owner is None else route.owner.key.name


def asks_for_expressions(one: Ingress, path: str) -> bool:
    """Say whether an Ingress makes expressions of the paths of its host by one of its paths."""
    target = one.annotations.get(f"{PREFIX}/rewrite-target", path)
    return f"{PREFIX}/use-regex" in one.annotations or target != path


def locations(ingresses: list[Ingress]) -> Iterator[tuple[str, str, Ingress]]:
    """Yield what ingress-nginx has for the paths of a host that are expressions, each with the path in whose place it stands."""
    had: dict[tuple[str, bool], tuple[Ingress, str]] = {}
    for one in ingresses:
        for entry in one.rules[0].paths or ():
            had.setdefault((entry.path, entry.path_type == "Exact"), (one, entry.path_type))
    for (path, _), (one, kind) in had.items():
        if kind == "Exact" or path.endswith("/") or asks_for_expressions(one, path):
            yield path, path, one
        else:
            yield path, f"{path}/", one
            if (path, True) not in had:
                yield path, path, one


def in_nginx(ingresses: list[Ingress], path: str) -> str:
    """Say what answers where the paths of a host are expressions, those that are not run here closed."""
    backwards = sorted(locations(ingresses), key=itemgetter(0), reverse=True)
    for _, text, one in sorted(backwards, key=lambda place: -len(place[0])):
        if "(?!" in text:
            if regex_beginnings(text).take(path.encode()):
                return "503"
        elif re.search(f"^{text}", path, re.IGNORECASE):
            return "503" if f"{PREFIX}/enable-modsecurity" in one.annotations else one.key.name
    return "404"


class ClosingProperties(SynchronousTestCase):
    """Who serves what, whatever paths and types Ingresses have."""

    @settings(
        deadline=None, derandomize=True, max_examples=examples(200), suppress_health_check=list(HealthCheck)
    )
    @given(hosts, st.lists(requests, min_size=1, max_size=8))
    def test_one_ingress_makes_expressions_of_all_paths_of_the_host(
        self, ingresses: list[Ingress], paths: list[str]
    ) -> None:
        """Each request has the location that ingress-nginx would choose, by the longest text, in whatever Ingress."""
        entries = [(one, entry) for one in ingresses for entry in one.rules[0].paths or ()]
        # A path that an older Ingress has asks for nothing.
        had = {
            (entry.path, entry.path_type == "Exact"): (one, entry.path) for one, entry in reversed(entries)
        }
        if not any(asks_for_expressions(*entry) for entry in had.values()):
            return
        snapshot = translate(state_of([*ingresses]), TranslateOptions(), NOW)
        for path in paths:
            found = answer(snapshot, path)
            self.assertEqual(found, in_nginx(ingresses, path), (path, snapshot.table.routes))

    @settings(
        deadline=None, derandomize=True, max_examples=examples(60), suppress_health_check=list(HealthCheck)
    )
    @given(
        st.lists(
            st.tuples(
                st.sampled_from("abc"),
                st.lists(typed, min_size=1, max_size=3),
                asked,
                st.sampled_from(["demo", "demo", "bank"]),
                st.sampled_from(["", "2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z"]),
                st.booleans(),
            ),
            max_size=8,
        ),
        st.booleans(),
        st.booleans(),
    )
    def test_annotations_come_and_go(
        self,
        history: list[tuple[str, list[tuple[str, str]], dict[str, str], str, str, bool]],
        shared_hosts: bool,
        quirks: bool,
    ) -> None:
        """After each change of paths, annotations and ages the table is that of a full translation, and so it ends without any."""
        follower = Follower(TranslateOptions(shared_hosts=shared_hosts, quirks=quirks), [])
        for name, paths, wanted, namespace, created, is_gone in history:
            one = evolve(ingress(name, paths, wanted, namespace), created=created)
            follower.change(gone(one) if is_gone else batch(one))
            self.assertEqual(differences(follower.settle(), follower.expected()), ())
        for name, _, _, namespace, _, _ in history:
            follower.change(gone(ingress(name, [], {}, namespace)))
        self.assertEqual(follower.settle().table.routes, ())

    @settings(
        deadline=None, derandomize=True, max_examples=examples(200), suppress_health_check=list(HealthCheck)
    )
    @given(hosts, st.lists(requests, min_size=1, max_size=8))
    def test_without_quirks_each_ingress_speaks_for_itself(
        self, ingresses: list[Ingress], paths: list[str]
    ) -> None:
        """With ``--no-quirks``, an Ingress that asks for nothing is matched as if the others did not, wherever they take nothing."""
        options = TranslateOptions(quirks=False)
        asking = [one for one in ingresses if set(one.annotations) & ASKING]
        others = [one for one in ingresses if one not in asking]
        together = translate(state_of([*ingresses]), options, NOW)
        alone = translate(state_of([*others]), options, NOW)
        strangers = translate(state_of([*asking]), options, NOW)
        for path in paths:
            if answer(strangers, path) == "404":
                self.assertEqual(answer(together, path), answer(alone, path), path)

    @settings(
        deadline=None, derandomize=True, max_examples=examples(200), suppress_health_check=list(HealthCheck)
    )
    @given(hosts, st.lists(requests, min_size=1, max_size=8), st.sampled_from(plain))
    def test_younger_namespace_closes_no_path_of_an_older_one(
        self, ingresses: list[Ingress], paths: list[str], path: str
    ) -> None:
        """Where a path of an older Ingress is all that matches literally, nobody's expressions close it."""
        bank = ingress("bank", [(path, "Prefix")], {}, "bank")
        guests = [younger(one) for one in ingresses if set(one.annotations) & ASKING]
        alone = translate(state_of([bank]), TranslateOptions(), NOW)
        together = translate(state_of([bank, *guests]), TranslateOptions(), NOW)
        for wanted in paths:
            if answer(alone, wanted) == "bank" and answer(together, wanted) != "bank":
                # As with any path: what goes to another begins with more of it.
                lengths = [
                    len(one.rstrip(b"/"))
                    for route in together.table.routes
                    if route.beginnings is not None
                    for one in (*route.beginnings.prefixes, *route.beginnings.whole)
                    if wanted.lower().encode().startswith(one)
                ]
                self.assertGreater(max(lengths), len(path.rstrip("/")), (wanted, together.table.routes))


class ClosingTests(SynchronousTestCase):
    """Single decisions."""

    def test_host_without_any_of_it_costs_nothing(self) -> None:
        """A host where nobody asks for anything of this kind has its routes found as ever."""
        snapshot = translate(state_of([ingress("web", [("/", "Prefix")], {})]), TranslateOptions(), NOW)
        (route,) = snapshot.table.routes
        self.assertEqual((route.match, route.beginnings), (Match.PREFIX, None))

    def test_solver_of_challenges_is_reached(self) -> None:
        """The path of an ACME challenge is longer than expressions for everything, and comes first."""
        challenge = "/.well-known/acme-challenge/token"
        site = ingress("site", [("/(.*)", "ImplementationSpecific")], {"use-regex": "true"})
        solver = ingress("solver", [(challenge, "Exact")], {})
        snapshot = translate(state_of([site, solver]), TranslateOptions(), NOW)
        self.assertEqual(answer(snapshot, challenge), "solver")
        self.assertEqual(answer(snapshot, "/.well-known/other"), "site")

    def test_solver_of_challenges_is_reached_beside_an_older_stranger(self) -> None:
        """So it is where another namespace has all other paths: a dot is any character, and counts as what it is."""
        bank = ingress("bank", [("/", "Prefix")], {}, "bank")
        challenge = "/.well-known/acme-challenge/token"
        site = younger(ingress("site", [("/site/(.*)", "ImplementationSpecific")], {"use-regex": "true"}))
        solver = younger(ingress("solver", [(challenge, "Exact")], {}))
        snapshot = translate(state_of([bank, site, solver]), TranslateOptions(), NOW)
        self.assertEqual(answer(snapshot, challenge), "solver")
        self.assertEqual(answer(snapshot, challenge.replace(".", "x")), "bank")
        alone = translate(state_of([site, solver]), TranslateOptions(), NOW)
        self.assertEqual(answer(alone, challenge.replace(".", "x")), "solver")

    def test_own_namespace_gets_past_no_expression_of_its_own(self) -> None:
        """Where an older stranger has the beginning of an expression, a shorter text of its own namespace gets nothing past it."""
        site = ingress("site", [("/", "Prefix"), ("/admin", "Prefix")], {}, "bank")
        users = younger(ingress("users", [("/admin/users", "Prefix")], {}))
        same = ingress("same", [("/admin(/|$)(.*)", "ImplementationSpecific")], {"use-regex": "true"}, "aaa")
        for text, owner in (("/admin(/|$)(.*)", "admin"), ("/admin(?=/|$)(.*)", "503")):
            admin = younger(ingress("admin", [(text, "ImplementationSpecific")], {"use-regex": "true"}))
            for others in ((site,), (same,), (site, same)):
                with self.subTest(text=text, others=[str(one.key) for one in others]):
                    snapshot = translate(state_of([*others, users, admin]), TranslateOptions(), NOW)
                    self.assertEqual(answer(snapshot, "/admin/users/1"), owner)
            snapshot = translate(state_of([site, users, admin]), TranslateOptions(), NOW)
            self.assertEqual([answer(snapshot, path) for path in ("/", "/admin", "/admin/x")], ["site"] * 3)

    def test_older_expression_of_a_stranger_is_first(self) -> None:
        """Of expressions of two namespaces that begin alike the older has what both take, and each what it takes alone."""
        old = ingress("old", [("/(.*)[.]php", "ImplementationSpecific")], {"use-regex": "true"}, "bank")
        new = ingress("new", [("/(.*)[.](php|js|css)", "ImplementationSpecific")], {"use-regex": "true"})
        old, new = evolve(old, created="2020-01-01T00:00:00Z"), evolve(new, created="2021-01-01T00:00:00Z")
        for objects in ([old, new], [new, old]):
            snapshot = translate(state_of([*objects]), TranslateOptions(), NOW)
            self.assertEqual(
                [answer(snapshot, f"/x.{end}") for end in ("php", "js", "txt")], ["old", "new", "404"]
            )
        shared = translate(state_of([old, new]), TranslateOptions(shared_hosts=True), NOW)
        self.assertEqual(answer(shared, "/x.php"), "new")

    def test_both_sides_are_told(self) -> None:
        """Where paths of another namespace stay as they are written, both are told, and nobody where hosts are shared."""
        asking = ingress("asking", [("/a.*", "ImplementationSpecific")], {"use-regex": "true"})
        bank = ingress("bank", [("/a", "Exact"), ("/b", "Prefix")], {}, "bank")
        snapshot = translate(state_of([asking, bank]), TranslateOptions(), NOW)
        told = [one.name for one in snapshot.problems if one.reason is Reason.HOST_CONFLICT]
        self.assertEqual(sorted(told), ["asking", "bank"])
        self.assertEqual(
            [answer(snapshot, path) for path in ("/a", "/ab", "/A")], ["bank", "asking", "asking"]
        )
        shared = translate(state_of([asking, bank]), TranslateOptions(shared_hosts=True), NOW)
        self.assertEqual(
            [one.name for one in shared.problems if one.reason is not Reason.SERVICE_NOT_FOUND], ["bank"]
        )
        self.assertEqual([answer(shared, path) for path in ("/a", "/ab", "/A")], ["asking"] * 3)

    def test_without_quirks_others_stay_as_they_are_written(self) -> None:
        """With ``--no-quirks`` a neighbour in the namespace keeps its exact path, and nobody is told anything."""
        asking = ingress("asking", [("/a.*", "ImplementationSpecific")], {"use-regex": "true"})
        other = ingress("other", [("/a", "Exact"), ("/b", "Prefix")], {})
        snapshot = translate(state_of([asking, other]), TranslateOptions(quirks=False), NOW)
        found = [answer(snapshot, path) for path in ("/a", "/ab", "/A", "/bx", "/B")]
        self.assertEqual(found, ["other", "asking", "asking", "404", "404"])
        self.assertEqual({one.reason for one in snapshot.problems}, {Reason.SERVICE_NOT_FOUND})

    def test_named_groups(self) -> None:
        """A target may be made of a group that a path of its Ingress names; one that none has closes these paths."""
        paths = [("/a/(?<rest>.*)", "Prefix"), ("/b/(.*)", "Prefix")]
        for name, owner in (("rest", "site"), ("more", "503")):
            site = ingress("site", paths, {"rewrite-target": f"/new/${name}"})
            snapshot = translate(state_of([site]), TranslateOptions(), NOW)
            self.assertEqual([answer(snapshot, path) for path in ("/a/x", "/b/x")], [owner] * 2)
            told = [one.message for one in snapshot.problems if one.reason is Reason.UNSUPPORTED_PATH]
            self.assertEqual(len(told), 0 if owner == "site" else 2)
            self.assertTrue(all("holds $more" in one for one in told), told)

    def test_refused_target_closes_the_paths_of_its_ingress(self) -> None:
        """A target that cannot be honored closes what its Ingress has, and nobody else's paths."""
        site = ingress("site", [("/a(/|$)(.*)", "Prefix")], {"rewrite-target": "/$nothing_is_called_so{"})
        bad = ingress("bad", [("/b", "Prefix")], {"rewrite-target": "/a b"})
        other = ingress("other", [("/", "Prefix")], {})
        snapshot = translate(state_of([site, bad, other]), TranslateOptions(), NOW)
        self.assertEqual(
            [answer(snapshot, path) for path in ("/b", "/B/c", "/a/x", "/c")], ["503", "503", "503", "other"]
        )

    def test_path_that_is_no_text(self) -> None:
        """A path with half of a surrogate pair is one for what it can be read as, with client certificates, too."""
        asked = {"use-regex": "true", "auth-tls-secret": "demo/gone"}
        site = ingress("site", [("/a(\ud800)", "Prefix"), ("/", "Prefix")], asked)
        snapshot = translate(state_of([site]), TranslateOptions(), NOW)
        self.assertEqual({route.match for route in snapshot.table.routes}, {Match.EXPRESSION})

    def test_many_expressions_are_one_look_each(self) -> None:
        """A host with hundreds of expressions and paths is decided in one pass over them."""
        paths = [(f"/a{number}(/|$)(.*)", "ImplementationSpecific") for number in range(300)]
        site = ingress("site", [*paths, ("/", "Prefix")], {"use-regex": "true"})
        snapshot = translate(state_of([site]), TranslateOptions(), NOW)
        self.assertEqual(len(snapshot.table.routes), 301)
        self.assertEqual(
            [snapshot.table.find(HOST.encode(), path).path for path in (b"/a7/x", b"/A299", b"/b")],  # type: ignore[union-attr]
            ["/a7(/|$)(.*)", "/a299(/|$)(.*)", "/"],
        )
