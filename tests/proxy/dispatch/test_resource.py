"""Tests for ``ingress.proxy.dispatch.resource``."""

from twisted.logger import capturedLogs, formatEvent
from twisted.web.proxy import ReverseProxyResource
from twisted.web.resource import IResource
from zope.interface.verify import verifyObject

from ingress.filters import Facts, Filter, Reply
from ingress.model.cluster.objects import Kind, ObjectKey, Owner
from ingress.model.exchanges.causes import Cause
from ingress.model.text import expressions
from ingress.model.text.expressions import read_expression
from ingress.model.upstream.backends import BackendReference, BackendState
from ingress.routing.match_conditions import MAX_CONDITIONS, Compared, MatchCondition
from ingress.routing.route import Match, Route
from ingress.routing.table import RouteTable
from tests.fakes.specs import SpecOf
from tests.fakes.transports import Peer
from tests.proxy.playing import BACKEND, GET, INGRESS, OK, ONE, OWNER, THREE, TWO, ProxyCase

OTHER = BackendReference("shop", "other", 80)
BROKEN, EMPTY = (BackendReference("shop", name, 80) for name in ("broken", "empty"))


class ResourceTests(ProxyCase):
    """Where requests are sent."""

    def publish(self, *routes: Route, backends: dict[BackendReference, BackendState]) -> None:
        """Publish a table."""
        self.stage.resource.publish(RouteTable(routes), backends)

    def test_is_a_resource(self) -> None:
        """The resource is a leaf of the kind that twisted.web has for this."""
        verifyObject(IResource, self.stage.resource)
        self.assertIsInstance(self.stage.resource, ReverseProxyResource)
        self.assertTrue(self.stage.resource.isLeaf)

    def test_turns_are_kept(self) -> None:
        """Publishing the same endpoints again leaves the turn where it was."""
        for _ in range(4):
            self.stage.publish((ONE, TWO))
            self.stage.open().say(GET)
        self.assertEqual(self.connector.asked, [ONE, TWO, ONE, TWO])

    def test_endpoints_change(self) -> None:
        """An endpoint that came gets its share, one that left gets nothing."""
        self.stage.publish((ONE, TWO))
        self.stage.open().say(GET)
        self.stage.publish((TWO, THREE))
        for _ in range(4):
            self.stage.open().say(GET)
        self.assertEqual(self.connector.asked, [ONE, TWO, THREE, TWO, THREE])

    def test_health_checks(self) -> None:
        """Of no host that a rule names, /healthz is fine, whatever takes it otherwise, and has no line in the log; a rule for it has it."""
        named = Route("shop.test", "/", Match.PREFIX, OWNER, BACKEND)
        rest = Route("", "/", Match.PREFIX, OWNER, BACKEND)
        own = Route("", "/healthz", Match.EXACT, OWNER, BACKEND)

        def ask(host: bytes, path: bytes = b"/healthz") -> bytes | None:
            asked = len(self.connector.asked)
            client = self.stage.open()
            client.say(b"GET %b HTTP/1.1\r\nHost: %b\r\n\r\n" % (path, host))
            return client.take() if len(self.connector.asked) == asked else None

        answers = self.stage.resource
        for routes in ((), (named,), (named, rest)):
            self.publish(*routes, backends={BACKEND: BackendState((ONE,))})
            answers.answers_health_checks = True
            self.assertIn(b"\r\n\r\nok\n", ask(b"192.0.2.1") or b"")
            record = self.stage.metrics.records[-1]
            self.assertEqual((record.status, record.route and record.route.is_logged), (200, False))
            for path in (b"/healthz/", b"/healthz/ready", b"/"):
                self.assertNotIn(b"\r\n\r\nok\n", ask(b"192.0.2.1", path) or b"")
            if routes:
                self.assertIsNone(ask(b"shop.test"))
            answers.answers_health_checks = False
            self.assertNotIn(b"200 OK", ask(b"192.0.2.1") or b"")
        self.publish(rest, own, backends={BACKEND: BackendState((ONE,))})
        answers.answers_health_checks = True
        self.assertIsNone(ask(b"192.0.2.1"))

    def test_match_is_by_normal_form(self) -> None:
        """The route is found by host and path in normal form; what goes upstream is what came."""
        self.publish(
            Route("shop.test", "/a b", Match.PREFIX, OWNER, BACKEND),
            backends={BACKEND: BackendState((ONE,))},
        )
        down = self.stage.open()
        down.say(b"GET //x/%2e%2e/a%20b?c HTTP/1.1\r\nHost: SHOP.TEST.:80\r\n\r\n")
        self.assert_status(down.take(), 400)
        down = self.stage.open()
        down.say(b"GET /x/%2e%2e/a%20b/;p?c HTTP/1.1\r\nHost: SHOP.TEST.:80\r\n\r\n")
        self.assertTrue(self.upstream().received.startswith(b"GET /x/%2e%2e/a%20b/;p?c HTTP/1.1\r\n"))

    def test_auto_http(self) -> None:
        """Where a route has a backend of its own for what came over TLS, that gets it, and nothing else."""
        self.publish(
            Route("", "/", Match.PREFIX, OWNER, BACKEND, secure_backend=OTHER),
            backends={BACKEND: BackendState((ONE,)), OTHER: BackendState((TWO,))},
        )
        self.stage.open(secure=True).say(GET)
        self.stage.open().say(GET)
        self.assertEqual(self.connector.asked, [TWO, ONE])

    def test_programs_of_conditions(self) -> None:
        """A request for whose conditions very many programs have to be made is answered once they are; unless they cannot be kept for so long."""
        routes = [
            Route(
                "",
                "/",
                Match.PREFIX,
                OWNER,
                BACKEND,
                conditions=(
                    MatchCondition(Compared.HEADER, b"version", pattern=read_expression(f"a+{number}")),
                ),
                place=str(number),
            )
            for number in range(1000)
        ]
        self.publish(*routes, backends={BACKEND: BackendState((ONE,))})
        asking = GET[:-2] + b"Version: b\r\n\r\n"
        expressions._programs.clear()
        self.patch(expressions, "_KEPT", 100)
        down = self.stage.open()
        down.say(asking)
        self.assert_status(down.take(), 503)
        self.patch(expressions, "_KEPT", 2000)
        down.say(asking)
        self.assert_status(down.take(), 404)

    def test_auto_http_without_endpoint(self) -> None:
        """What came over TLS is answered 503 rather than sent in the clear."""
        self.publish(
            Route("", "/", Match.PREFIX, OWNER, BACKEND, secure_backend=OTHER),
            backends={BACKEND: BackendState((ONE,)), OTHER: BackendState((), "no Secret")},
        )
        down = self.stage.open(secure=True)
        down.say(GET)
        self.assert_status(down.take(), 503)
        self.assertEqual(self.connector.asked, [])

    def conditional(self, *wanted: tuple[bytes, BackendReference], rest: Route | None = None) -> None:
        """Publish routes for one path that ask for a value of the field ``version``, and one for what is left."""
        routes = [
            Route(
                "",
                "/",
                Match.PREFIX,
                OWNER,
                backend,
                conditions=(MatchCondition(Compared.HEADER, b"version", value),),
                place=f"spec.rules[{number}]",
                broken_status=500,
            )
            for number, (value, backend) in enumerate(wanted)
        ]
        states = {BACKEND: BackendState((ONE,)), OTHER: BackendState((TWO,))}
        states[BROKEN] = BackendState(reason="there is no such Service", is_broken=True)
        states[EMPTY] = BackendState(reason="no endpoints")
        self.publish(*routes, *(() if rest is None else (rest,)), backends=states)

    def ask(self, *versions: bytes, path: bytes = b"/") -> Peer:
        """Send a request with these values of the field."""
        down = self.stage.open()
        fields = b"".join(b"Version: %b\r\n" % version for version in versions)
        down.say(b"GET %b HTTP/1.1\r\nHost: shop.test\r\n%b\r\n" % (path, fields))
        return down

    def test_encoded_slashes(self) -> None:
        """An encoded slash passes where its conditions lead a request to one route, whatever it is; and costs no more than any path may."""

        def route(path: str, condition: MatchCondition, match: Match = Match.PREFIX) -> Route:
            return Route("", path, match, OWNER, BACKEND, conditions=(condition,), place=path)

        one, two = (MatchCondition(Compared.HEADER, b"version", value) for value in (b"one", b"two"))
        file = MatchCondition(Compared.PATH, pattern=read_expression("/files/[^/]+"))
        self.publish(
            route("/files/[^/]+", file, Match.PATTERN),
            route("/admin", one),
            route("/", one),
            route("/", two),
            backends={BACKEND: BackendState((ONE,))},
        )
        for version, path, status in (
            (b"one", b"/a%2fb", 200),
            (b"one", b"/admin%2fb", 400),
            # Nobody asks for the admin's path by this field.
            (b"two", b"/admin%2fb", 200),
            # A pattern is compared with either reading.
            (b"one", b"/files/a%2fb", 400),
            (b"one", b"/files%2fa", 400),
            (b"one", b"/files/a/b%2fc", 200),
        ):
            down = self.ask(version, path=path)
            if status == 200:
                upstream = self.connector.peers[-1]
                self.assertIn(b"GET " + path, upstream.received)
                upstream.say(OK)
            self.assert_status(down.take(), status)
        self.conditional(*((b"%d" % number, BACKEND) for number in range(MAX_CONDITIONS + 1)))
        self.assert_status(self.ask(b"none", path=b"/a%2fb").take(), 431)

    def test_conditions(self) -> None:
        """The first route whose conditions a request meets has it; what meets none is answered 404."""
        self.conditional((b"one", BACKEND), (b"two", OTHER))
        self.ask(b"two")
        self.ask(b"one")
        self.assertEqual(self.connector.asked, [TWO, ONE])
        self.assert_status(self.ask().take(), 404)
        self.assert_status(self.ask(b"one", b"two").take(), 404)
        self.conditional((b"one", BACKEND), rest=Route("", "/", Match.PREFIX, OWNER, OTHER, place="x"))
        self.ask(b"three")
        self.assertEqual(self.connector.asked, [TWO, ONE, TWO])

    def test_broken_backend(self) -> None:
        """A backend that leads nowhere as it is written is answered as its route says, one without endpoints 503; no bug is blamed."""
        self.conditional((b"one", BROKEN), (b"two", EMPTY))
        self.assert_status(self.ask(b"one").take(), 500)
        self.assert_status(self.ask(b"two").take(), 503)
        self.assertEqual([record.cause for record in self.metrics.records], [Cause.UNAVAILABLE] * 2)
        self.publish(
            Route("", "/", Match.PREFIX, OWNER, BROKEN),
            backends={BROKEN: BackendState(reason="there is no such Service", is_broken=True)},
        )
        self.assert_status(self.ask().take(), 503)

    def test_too_much_to_compare(self) -> None:
        """A request whose route cannot be found in bounded time is refused."""
        self.conditional(*((b"%d" % number, BACKEND) for number in range(MAX_CONDITIONS + 1)))
        self.ask(b"5")
        self.assertEqual(self.connector.asked, [ONE])
        self.assert_status(self.ask(b"none").take(), 431)

    def test_options_asterisk(self) -> None:
        """OPTIONS * goes to the route of the root path, as it is."""
        self.stage.open().say(b"OPTIONS * HTTP/1.1\r\nHost: shop.test\r\n\r\n")
        self.assertTrue(self.upstream().received.startswith(b"OPTIONS * HTTP/1.1\r\n"))

    def test_filters_in_order(self) -> None:
        """The first filter that answers ends it."""
        asked: list[int] = []

        class Says(Filter):
            def __init__(self, status: int) -> None:
                self.status = status

            def on_request(self, facts: Facts) -> Reply | None:
                asked.append(self.status)
                return Reply(self.status) if self.status else None

        self.stage.publish((ONE,), filters=tuple(SpecOf(Says(status)) for status in (0, 403, 401)))
        down = self.stage.open()
        down.say(GET)
        self.assert_status(down.take(), 403)
        self.assertEqual(asked, [0, 403])
        self.stage.publish((ONE,), filters=(SpecOf(Says(0)),))
        down.say(GET)
        self.upstream().say(OK)
        self.assert_status(down.take(), 200)

    def test_filter_before_endpoints(self) -> None:
        """A filter answers also when there is no endpoint."""

        class Denies(Filter):
            def on_request(self, facts: Facts) -> Reply:
                return Reply(403)

        self.stage.publish((), filters=(SpecOf(Denies()),))
        down = self.stage.open()
        down.say(GET)
        self.assert_status(down.take(), 403)

    def test_backend_unknown(self) -> None:
        """A route whose backend nobody published gets 503, with a reason in the log."""
        self.publish(Route("shop.test", "/", Match.PREFIX, OWNER, OTHER), backends={})
        down = self.stage.open()
        with capturedLogs() as events:
            down.say(GET)
        self.assert_status(down.take(), 503)
        self.assertIn("shop/other:80: the backend of the route is not known here", formatEvent(events[0]))

    def test_ingress_of_the_route(self) -> None:
        """An exchange is counted for the Ingress whose route it took."""
        other = ObjectKey("else", "where")
        self.publish(
            Route("shop.test", "/", Match.PREFIX, OWNER, BACKEND),
            Route("shop.test", "/other", Match.PREFIX, Owner(Kind.INGRESS, other), OTHER),
            backends={BACKEND: BackendState((ONE,)), OTHER: BackendState((TWO,))},
        )
        down = self.stage.open()
        for target, endpoint in ((b"/", ONE), (b"/other/x", TWO), (b"/others", ONE)):
            down.say(GET.replace(b" / ", b" %b " % target))
            number = list(dict.fromkeys(self.connector.asked)).index(endpoint)
            self.upstream(number).say(OK)
        self.assertEqual([key for key, _, _ in self.metrics.ended], [INGRESS, other, INGRESS])
