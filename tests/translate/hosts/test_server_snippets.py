"""Whom ``server-snippet`` reaches, and what objects become by snippets."""

from datetime import UTC, datetime

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.nginx.reading import Place, parse_snippet
from ingress.annotations.snippets.family import SNIPPETS, SnippetSettings
from ingress.annotations.snippets.filters import ServerStatements, SnippetAccess, SnippetAnswers
from ingress.filter_parts.judging import status_reply
from ingress.filters import FilterSpec
from ingress.model.cluster.objects import ObjectKey
from ingress.model.cluster.problems import Reason
from ingress.model.upstream.backends import BackendReference
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.objects import Ingress
from ingress.translate.snapshot import Snapshot
from ingress.translate.translate import translate
from tests.fakes.filter_parts import FakeFacts, FakeServices
from tests.operator_settings import operator_settings
from tests.translate.golden import state_of
from tests.translate.hosts.test_routes import SECURED, TLS
from tests.translate.tls.test_client_authentication import ingress
from tests.workers.sent import sent

FIRST, SECOND = "more_set_headers 'S: first';", "more_set_headers 'S: second';"


def of(namespace: str, year: int, made: Ingress) -> Ingress:
    """Return the Ingress in another namespace, of that age."""
    return evolve(made, key=ObjectKey(namespace, made.key.name), created=f"{year}-01-01T00:00:00Z")


def served(*objects: Ingress, **options: object) -> Snapshot:
    """Translate these objects."""
    return translate(state_of([*objects]), TranslateOptions(**options), datetime.now(UTC))  # type: ignore[arg-type]


def fields(specs: tuple[FilterSpec, ...]) -> dict[bytes, bytes]:
    """The fields that filters set on answers."""
    found: dict[bytes, bytes] = {}
    for spec in specs:
        if isinstance(spec, SnippetAnswers):
            for field in spec.layers.level(None).fields:
                found[field.name] = (field.value and field.value.text) or b""
    return found


def of_route(snapshot: Snapshot, path: bytes) -> dict[bytes, bytes]:
    """Those of a route."""
    route = snapshot.table.find(b"a.test", path)
    assert route is not None
    return fields(route.filters)


def told(snapshot: Snapshot, reason: Reason) -> list[tuple[str, str]]:
    """Namespace and message of each problem with that reason."""
    return [(one.namespace, one.message) for one in snapshot.problems if one.reason is reason]


class ReachTests(SynchronousTestCase):
    """Which paths a ``server-snippet`` stands before."""

    def test_the_oldest_has_it(self) -> None:
        """Of two in a namespace the oldest one's holds for the paths of both, and the other is told."""
        one, two = ingress("a", "/a", server_snippet=FIRST), ingress("bb", "/b", server_snippet=SECOND)
        snapshot = served(two, one)
        self.assertEqual([of_route(snapshot, path) for path in (b"/a", b"/b")], [{b"S": b"first"}] * 2)
        self.assertEqual(fields(snapshot.table.host_filters(b"a.test")), {b"S": b"first"})
        ((_, message),) = told(snapshot, Reason.HOST_CONFLICT)
        self.assertIn("server-snippet has no effect on host a.test", message)

    def test_other_namespaces(self) -> None:
        """Paths of others stay as they are, and each side is told; a stranger's holds for its own paths."""
        own = of("bank", 2020, ingress("a", "/a", server_snippet=FIRST))
        plain = of("guest", 2021, ingress("b", "/b"))
        asking = of("other", 2022, ingress("c", "/c", server_snippet=SECOND))
        snapshot = served(own, plain, asking)
        found = [of_route(snapshot, path) for path in (b"/a", b"/b", b"/c")]
        self.assertEqual(found, [{b"S": b"first"}, {}, {b"S": b"second"}])
        self.assertEqual(fields(snapshot.table.host_filters(b"a.test")), {b"S": b"first"})
        problems = dict(told(snapshot, Reason.HOST_CONFLICT))
        self.assertEqual(set(problems), {"bank", "guest", "other"})
        self.assertIn("does not reach paths that namespaces guest, other have", problems["bank"])
        self.assertIn("does not reach its paths", problems["guest"])

    def test_guard_of_the_owner(self) -> None:
        """What somebody guards on a host of his own stands before the paths of all, and they are told."""
        own = of("bank", 2020, ingress("a", "/a", server_snippet="deny 10.0.0.0/8;"))
        plain = of("guest", 2021, ingress("b", "/b"))
        snapshot = served(own, plain)
        for path in (b"/a", b"/b"):
            route = snapshot.table.find(b"a.test", path)
            assert route is not None
            self.assertEqual([spec.name for spec in route.filters], ["snippet-access"])
        self.assertEqual([spec.name for spec in snapshot.table.host_filters(b"a.test")], ["snippet-access"])
        ((namespace, message),) = told(snapshot, Reason.HOST_CONFLICT)
        self.assertEqual(namespace, "guest")
        self.assertIn("stands before its paths, too", message)

    def test_guard_of_the_owner_is_kept(self) -> None:
        """Nothing that others write for their paths takes the place of what the owner of the host guards."""
        own = of(
            "bank",
            2020,
            ingress("a", "/a", server_snippet="deny 10.0.0.0/8;", configuration_snippet="allow all;"),
        )
        other = ingress("b", "/b", server_snippet="allow all;", configuration_snippet="allow all;")
        snapshot = served(own, of("guest", 2021, other))
        for path, answers in ((b"/a", None), (b"/b", status_reply(403))):
            route = snapshot.table.find(b"a.test", path)
            assert route is not None
            found = [
                one.make(FakeServices()).on_request(FakeFacts(client=b"10.0.0.1"))
                for one in route.filters
                if isinstance(one, SnippetAccess)
            ]
            self.assertEqual(found, [answers])

    def test_guard_of_a_stranger(self) -> None:
        """A stranger guards his own paths alone."""
        own = of("bank", 2020, ingress("a", "/a"))
        asking = of("guest", 2021, ingress("b", "/b", server_snippet="deny all;"))
        snapshot = served(own, asking)
        found = [snapshot.table.find(b"a.test", path) for path in (b"/a", b"/b")]
        self.assertEqual([len(route.filters) for route in found if route], [0, 1])

    def test_shared_hosts(self) -> None:
        """Where hosts are shared, the oldest one's holds for everybody."""
        one = of("bank", 2021, ingress("a", "/a"))
        two = of("guest", 2022, ingress("b", "/b", server_snippet=FIRST))
        three = of("other", 2023, ingress("c", "/c", server_snippet=SECOND))
        snapshot = served(one, two, three, shared_hosts=True)
        found = [of_route(snapshot, path) for path in (b"/a", b"/b", b"/c")]
        self.assertEqual(found, [{b"S": b"first"}] * 3)
        ((namespace, _),) = told(snapshot, Reason.HOST_CONFLICT)
        self.assertEqual(namespace, "other")

    def test_other_hosts(self) -> None:
        """A host that the Ingress does not name has nothing of it."""
        snapshot = served(ingress("a", "/", server_snippet=FIRST), ingress("bb", "/", host="b.test"))
        route = snapshot.table.find(b"b.test", b"/")
        self.assertEqual(route and route.filters, ())

    def test_default_backend(self) -> None:
        """The controller's own default backend stands behind it, too."""
        default = BackendReference("demo", "default", 80)
        snapshot = served(ingress("a", "/a", server_snippet=FIRST), default_backend_service=default)
        self.assertEqual(of_route(snapshot, b"/other"), {b"S": b"first"})


class SnippetTests(SynchronousTestCase):
    """From object to route."""

    def test_problems(self) -> None:
        """Each directive is told once, with its lines; what only changes nothing is a note."""
        text = "proxy_pass x;\nroot /x;\nproxy_pass y;\ngzip on;\nadd_header X y;"
        snapshot = served(ingress("a", "/", configuration_snippet=text))
        messages = [message for _, message in told(snapshot, Reason.UNSUPPORTED_ANNOTATION)]
        self.assertEqual(
            messages,
            [
                "configuration-snippet: proxy_pass (lines 1, 3) is not honored by this controller: a backend is what a path "
                "names; the rest of it is honored",
                "configuration-snippet: root (line 2) is not honored by this controller; the rest of it is honored",
            ],
        )
        ((_, note),) = told(snapshot, Reason.ANNOTATION_NOTE)
        self.assertIn("gzip (line 4) changes nothing", note)
        route = snapshot.table.find(b"a.test", b"/")
        self.assertEqual([spec.name for spec in route.filters] if route else None, ["snippet-answers"])

    def test_several_reasons(self) -> None:
        """Of one directive each reason is told with its lines; beyond eight of them the others are told together."""
        text = "set $uri x;\nset $args y;\nset $uri z;"
        snapshot = served(ingress("a", "/", configuration_snippet=text))
        messages = [message for _, message in told(snapshot, Reason.UNSUPPORTED_ANNOTATION)]
        self.assertEqual(
            [message.partition(",")[0] for message in messages],
            ["configuration-snippet: set (line 2) sets $args", "configuration-snippet: set (lines 1"],
        )
        text = "\n".join(f"set $x{number} $nobody_{number};" for number in range(20))
        snapshot = served(ingress("a", "/", configuration_snippet=text))
        messages = [message for _, message in told(snapshot, Reason.UNSUPPORTED_ANNOTATION)]
        self.assertEqual(len(messages), 9)
        (others,) = [message for message in messages if "each for a reason of its own" in message]
        self.assertIn("set (lines 9, 10, 11, 12, 13 and 7 more)", others)

    def test_guards_close(self) -> None:
        """A guard that is refused closes the Ingress; one of a server closes its host."""
        for annotations, closed in (
            ({"configuration_snippet": "add_header X y; auth_basic x;"}, [True, False]),
            ({"server_snippet": "auth_basic x;"}, [True, True]),
            ({"modsecurity_snippet": "SecRuleEngine On"}, [True, False]),
            ({"stream_snippet": "listen 80;"}, [False, False]),
            ({"stream_snippet": "deny all;"}, [True, False]),
        ):
            snapshot = served(ingress("a", "/a", **annotations), ingress("bb", "/b"))
            found = [snapshot.table.find(b"a.test", path) for path in (b"/a", b"/b")]
            names = [[spec.name for spec in route.filters] for route in found if route]
            self.assertEqual(["guard-missing" in one for one in names], closed, annotations)
            self.assertTrue(told(snapshot, Reason.UNSUPPORTED_ANNOTATION), annotations)

    def test_constants_of_each_path(self) -> None:
        """What names the path is another thing for each of them."""
        snapshot = served(
            ingress("a", "/a", "/b", configuration_snippet="more_set_headers 'P: $location_path';")
        )
        self.assertEqual(
            [of_route(snapshot, path) for path in (b"/a", b"/b")], [{b"P": b"/a"}, {b"P": b"/b"}]
        )

    def test_paths_that_are_alike_share_their_filters(self) -> None:
        """Routes with the same snippet have one tuple of specs, and so one chain."""
        snapshot = served(ingress("a", "/a", "/b", configuration_snippet=FIRST))
        one, other = (snapshot.table.find(b"a.test", path) for path in (b"/a", b"/b"))
        self.assertIs(one and one.filters, other and other.filters)

    def test_satisfy_any(self) -> None:
        """Rules about everybody are joined with others; rules that say nothing of some clients let nobody in by that."""
        for text, names in (
            ("allow 10.0.0.1; deny all;", ["satisfy-any"]),
            ("deny 10.0.0.1;", ["snippet-access", "address-ranges"]),
            ("if ($host) { deny all; }", ["configuration-snippet", "snippet-access", "address-ranges"]),
            ("deny all; limit_except GET { deny all; }", ["satisfy-any"]),
        ):
            asking = ingress(
                "a", "/a", configuration_snippet=text, satisfy="any", whitelist_source_range="10.0.0.0/8"
            )
            route = served(asking).table.find(b"a.test", b"/a")
            self.assertEqual([spec.name for spec in route.filters] if route else None, names, text)

    def test_locations_beside_expressions(self) -> None:
        """A location stands before paths that are expressions, however long these are."""
        server = "location ^~ /api/admin { deny all; }"
        asking = ingress("a", "/api(/|$)(.*)", server_snippet=server, use_regex="true")
        route = served(asking).table.find(b"a.test", b"/api/admin/x")
        assert route is not None
        facts = FakeFacts(path=b"/api/admin/x")
        (statements,) = (one for one in route.filters if isinstance(one, ServerStatements))
        self.assertEqual(statements.judge(facts), status_reply(403))

    def test_beside_transport_security(self) -> None:
        """What a snippet says of answers comes after what the controller says of HTTPS, as in ingress-nginx."""
        text = "more_set_headers 'Strict-Transport-Security: max-age=9';"
        asking = evolve(ingress("a", "/", configuration_snippet=text), tls=TLS)
        snapshot = translate(state_of([asking, SECURED]), TranslateOptions(), datetime.now(UTC))
        route = snapshot.table.find(b"a.test", b"/")
        names = [spec.name for spec in route.filters] if route else []
        self.assertEqual(names[-2:], ["snippet-answers", "hsts"])

    def test_alias(self) -> None:
        """A server-snippet holds for the aliases of its host, too."""
        snapshot = served(ingress("a", "/a", server_snippet=FIRST, server_alias="b.test"))
        for host in (b"a.test", b"b.test"):
            route = snapshot.table.find(host, b"/a")
            self.assertEqual(fields(route.filters) if route else None, {b"S": b"first"}, host)

    def test_operators(self) -> None:
        """What the operator says stands before all paths; a guard that is missing there closes all of them."""
        for text, names in (
            ("more_set_headers 'H: h';", ["snippet-answers"]),
            ("internal; more_set_headers 'H: h';", ["guard-missing", "snippet-answers"]),
        ):
            said = SnippetSettings(operators_server=parse_snippet(text, Place.SERVER))
            snapshot = served(ingress("a", "/a"), operators=operator_settings((SNIPPETS, said)))
            route = snapshot.table.find(b"a.test", b"/a")
            self.assertEqual([spec.name for spec in route.filters] if route else None, names)
            self.assertEqual([spec.name for spec in snapshot.table.host_filters(b"a.test")], names)

    def test_bytes(self) -> None:
        """Another process reads the same filters."""
        text = """
            set $a $host; if ($a ~* "x(y)") { return 403 $1; } rewrite ^/a /b last; allow 10.0.0.0/8; deny all;
            more_set_headers -s 404 "X: $status"; expires 1y; proxy_set_header Y $uri; limit_except GET { deny all; }
        """
        server = "location ~ \\.js$ { add_header C d; }"
        snapshot = served(ingress("a", "/a", configuration_snippet=text, server_snippet=server))
        copy = sent(snapshot)
        one, other = snapshot.table.find(b"a.test", b"/a"), copy.table.find(b"a.test", b"/a")
        assert one is not None and other is not None
        self.assertEqual(len(one.filters), 5)
        self.assertEqual(one.filters, other.filters)
