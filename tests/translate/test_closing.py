"""What of a host is closed, against what ingress-nginx would have matched."""

import re
from datetime import UTC, datetime

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.guards import GuardMissing
from ingress.annotations.regexes import RegexMissing
from ingress.model.objects import ObjectKey
from ingress.routing.beginnings import has_regex_signs
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
from ingress.translate.snapshot import Snapshot
from ingress.translate.translate import translate
from tests.translate.golden import state_of

NOW = datetime(2026, 7, 1, tzinfo=UTC)
PREFIX = TranslateOptions().annotations_prefix
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
asked = st.sampled_from([{}, {}, {"use-regex": "true"}, {"rewrite-target": "/$1"}, {"auth-type": "basic"}])


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
    lambda some: [ingress(f"i{number}", paths, asked) for number, (paths, asked) in enumerate(some)]
)


def answer(snapshot: Snapshot, path: str, host: str = HOST) -> str:
    """Say what answers: ``404``, ``503``, or the name of an Ingress."""
    route = snapshot.table.find(host.encode(), normal_path(path.encode()))
    if route is None:
        return "404"
    if any(isinstance(one, GuardMissing | RegexMissing) for one in route.filters):
        return "503"
    return "" if route.owner is None else route.owner.key.name


def first_in_nginx(ingresses: list[Ingress], path: str) -> tuple[Ingress, str] | None:
    """Return whose location ingress-nginx would choose on a host whose paths are expressions."""
    locations = [(one, entry.path) for one in ingresses for entry in one.rules[0].paths or ()]
    for one, text in sorted(locations, key=lambda pair: -len(pair[1])):
        if re.search(f"^{text}", path, re.IGNORECASE):
            return one, text
    return None


def asks_for_expressions(one: Ingress) -> bool:
    """Say whether an Ingress makes expressions of the paths of its host."""
    return bool({f"{PREFIX}/use-regex", f"{PREFIX}/rewrite-target"} & set(one.annotations))


class ClosingProperties(SynchronousTestCase):
    """Nobody else serves what an expression or a guard would have had."""

    @settings(deadline=None, derandomize=True, max_examples=300, suppress_health_check=list(HealthCheck))
    @given(hosts, st.lists(requests, min_size=1, max_size=8))
    def test_what_ingress_nginx_gives_to_an_expression_is_closed(
        self, ingresses: list[Ingress], paths: list[str]
    ) -> None:
        """What its longest match would have been, guarded or an expression, answers 503."""
        if not any(map(asks_for_expressions, ingresses)):
            return
        snapshot = translate(state_of([*ingresses]), TranslateOptions(), NOW)
        for path in paths:
            found = first_in_nginx(ingresses, path)
            if found is None:
                continue
            one, text = found
            # Of two texts of one length either may be first.
            rivals = {
                entry.path
                for other in ingresses
                for entry in other.rules[0].paths or ()
                if len(entry.path) == len(text)
            }
            if has_regex_signs(text) or (f"{PREFIX}/auth-type" in one.annotations and len(rivals) == 1):
                self.assertEqual(answer(snapshot, path), "503", (path, text, snapshot.table.routes))

    @settings(deadline=None, derandomize=True, max_examples=200, suppress_health_check=list(HealthCheck))
    @given(hosts, st.lists(requests, min_size=1, max_size=8), st.sampled_from(plain))
    def test_younger_namespace_closes_no_path_of_an_older_one(
        self, ingresses: list[Ingress], paths: list[str], path: str
    ) -> None:
        """Where a path of an older Ingress is all that matches literally, nobody's expressions close it."""
        bank = ingress("bank", [(path, "Prefix")], {}, "bank")
        guests = [one for one in ingresses if asks_for_expressions(one)]
        alone = translate(state_of([bank]), TranslateOptions(), NOW)
        together = translate(state_of([bank, *guests]), TranslateOptions(), NOW)
        for wanted in paths:
            if answer(alone, wanted) == "bank" and answer(together, wanted) != "bank":
                route = together.table.find(HOST.encode(), wanted.encode())
                assert route is not None
                # As with any path: what goes to another is longer.
                taken = [route.path.encode()]
                if route.beginnings is not None:
                    found = route.beginnings
                    taken = [*found.prefixes, *found.whole]
                    taken = [one for one in taken if wanted.lower().encode().startswith(one)]
                length = max(len(one.rstrip(b"/")) for one in taken)
                self.assertTrue(length > len(path.rstrip("/")) or route.match is Match.EXACT, (wanted, route))


class ClosingTests(SynchronousTestCase):
    """Single decisions."""

    def test_host_without_any_of_it_costs_nothing(self) -> None:
        """A host where nobody asks for anything of this kind has its routes found as ever."""
        snapshot = translate(state_of([ingress("web", [("/", "Prefix")], {})]), TranslateOptions(), NOW)
        (route,) = snapshot.table.routes
        self.assertEqual((route.match, route.beginnings), (Match.PREFIX, None))

    def test_solver_of_challenges_is_not_closed(self) -> None:
        """The path of an ACME challenge is longer than expressions for everything, and stays open."""
        challenge = "/.well-known/acme-challenge/token"
        site = ingress("site", [("/(.*)", "ImplementationSpecific")], {"use-regex": "true"})
        solver = ingress("solver", [(challenge, "Exact")], {})
        snapshot = translate(state_of([site, solver]), TranslateOptions(), NOW)
        self.assertEqual(answer(snapshot, challenge), "solver")
        self.assertEqual(answer(snapshot, "/.well-known/other"), "503")

    def test_what_a_stranger_has_stays_closed_to_the_own_namespace(self) -> None:
        """Where an older stranger has the beginning of an expression, its own namespace gets nothing past it either."""
        site = ingress("site", [("/", "Prefix"), ("/admin", "Prefix")], {}, "bank")
        users = ingress("users", [("/admin/users", "Prefix")], {})
        admin = ingress("admin", [("/admin(/|$)(.*)", "ImplementationSpecific")], {"use-regex": "true"})
        same = ingress("same", [("/admin(/|$)(.*)", "ImplementationSpecific")], {"use-regex": "true"}, "aaa")
        for others in ((site,), (same,), (site, same)):
            with self.subTest(others=[str(one.key) for one in others]):
                snapshot = translate(state_of([*others, users, admin]), TranslateOptions(), NOW)
                self.assertEqual(answer(snapshot, "/admin/users/1"), "503")
        snapshot = translate(state_of([site, users, admin]), TranslateOptions(), NOW)
        self.assertEqual([answer(snapshot, path) for path in ("/", "/admin", "/admin/x")], ["site"] * 3)

    def test_path_that_is_no_text(self) -> None:
        """A path with half of a surrogate pair is closed as far as it can be read, with client certificates, too."""
        asked = {"use-regex": "true", "auth-tls-secret": "demo/gone"}
        site = ingress("site", [("/a(\ud800)", "Prefix"), ("/", "Prefix")], asked)
        snapshot = translate(state_of([site]), TranslateOptions(), NOW)
        self.assertEqual({route.match for route in snapshot.table.routes}, {Match.BEGINNING, Match.PREFIX})

    def test_many_expressions_are_one_look_each(self) -> None:
        """A host with hundreds of expressions and paths is decided in one pass over them."""
        paths = [(f"/a{number}(/|$)(.*)", "ImplementationSpecific") for number in range(300)]
        site = ingress("site", [*paths, ("/", "Prefix")], {"use-regex": "true"})
        snapshot = translate(state_of([site]), TranslateOptions(), NOW)
        self.assertEqual(len(snapshot.table.routes), 301)
        self.assertEqual(
            [answer(snapshot, path) for path in ("/a7/x", "/a299", "/b")], ["503", "503", "site"]
        )
