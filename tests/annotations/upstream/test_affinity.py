"""Session affinity: values, and what clients are told."""

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.annotations import AnnotationReader
from ingress.annotations.contract.host_facts import HostFacts
from ingress.annotations.contract.route_facts import RouteFacts
from ingress.annotations.contract.values import ValueRefused
from ingress.annotations.upstream.affinity import (
    AFFINITY,
    AffinitySettings,
    SameSite,
    SessionCookie,
    mistakes_none,
    parse_affinity,
    parse_canary_behavior,
    parse_cookie_name,
    parse_domain,
    parse_mode,
    parse_path,
    parse_same_site,
    parse_seconds,
)
from ingress.model.upstream.affinity import Affinity, AffinityMode, mark_of_endpoint
from ingress.model.upstream.backends import Endpoint
from ingress.routing.balancing.sticky import Sticky
from tests.fakes.filter_parts import FakeEdit, FakeFacts, FakeServices
from tests.translate.tls.test_client_authentication import PREFIX, ingress

ONE, TWO = Endpoint("10.0.0.1", 8080), Endpoint("10.0.0.2", 8080)
BALANCED = SessionCookie(Affinity(b"route"))
PERSISTENT = SessionCookie(Affinity(b"route", AffinityMode.PERSISTENT))
MARK = mark_of_endpoint(ONE)


def facts(
    cookie: bytes = b"",
    endpoint: Endpoint | None = ONE,
    *,
    scheme: bytes = b"http",
    was_retried: bool = False,
) -> FakeFacts:
    """Return a request with the cookie, which *endpoint* answered."""
    fields = {b"cookie": b"a=1; route=%b; b=2" % cookie} if cookie else {}
    return FakeFacts(endpoint=endpoint, fields=fields, scheme=scheme, was_retried=was_retried)


def told(spec: SessionCookie, request: FakeFacts, *, is_ours: bool = False) -> bytes:
    """Return the cookie that a client is told, empty for none."""
    edit = FakeEdit(is_ours=is_ours)
    spec.make(FakeServices()).on_answer(request, edit)
    return b"".join(value for _, value in edit.fields)


class ValueTests(SynchronousTestCase):
    """What the annotations take."""

    def test_refused(self) -> None:
        """What would break out of a cookie, or means nothing, is refused."""
        for parse, texts in (
            (parse_affinity, ("ip", "cookie;", "true")),
            (parse_cookie_name, ("", "a b", "a;b", "a=b", "a\r\nb", "ä", "a" * 129)),
            (parse_path, ("", "a", "/a;b", "/a b", "/ä", "/a\nb", "/" + "a" * 2000)),
            (parse_domain, ("", "a b", "a;b", "-a", "a\r\nb", "ä.de", "a" * 300)),
            (parse_seconds, ("", "1h", "1.5", "99999999999", "--1", "\u0663")),
            (parse_same_site, ("", "lax; Secure", "no")),
            (parse_mode, ("", "sticky")),
            (parse_canary_behavior, ("", "balanced")),
        ):
            for text in texts:
                if (parse, text) == (parse_affinity, ""):
                    continue
                self.assertRaises(ValueRefused, parse, text)

    def test_accepted(self) -> None:
        """Values of ingress-nginx mean what they mean there."""
        self.assertTrue(parse_affinity("cookie"))
        self.assertEqual(parse_cookie_name(" JSESSIONID.x "), b"JSESSIONID.x")
        self.assertEqual(parse_seconds("172800"), 172800)
        self.assertIsNone(parse_seconds("-1"))
        self.assertEqual(parse_same_site("lax"), SameSite.LAX)

    def test_nothing_without_affinity(self) -> None:
        """The family means nothing without ``affinity``, and nothing is told of that."""
        settings, problems = AnnotationReader(PREFIX).read(ingress("a", "/", session_cookie_name="x"))
        self.assertEqual(problems, ())
        self.assertIsNone(settings.of(AFFINITY).affinity())
        assert AFFINITY.filters is not None
        self.assertEqual(AFFINITY.filters(settings.of(AFFINITY), RouteFacts(HostFacts())), ())

    def test_path(self) -> None:
        """The cookie is for the path of the route, where a browser can compare it, or else for all."""
        assert AFFINITY.filters is not None
        for path, expected in (
            ("/shop", "/shop"),
            ("/", "/"),
            ("/a(/|$)(.*)", "/"),
            ("/ä", "/"),
            ("/a;b", "/"),
        ):
            (spec,) = AFFINITY.filters(AffinitySettings(by_cookie=True), RouteFacts(HostFacts(), path=path))
            assert isinstance(spec, SessionCookie)
            self.assertEqual(spec.path, expected)


class CookieTests(SynchronousTestCase):
    """What clients are told."""

    def test_first_answer(self) -> None:
        """A client without cookie is told one that leads to the endpoint that answered it."""
        for spec in (BALANCED, PERSISTENT):
            for request in (facts(), facts(b"forged; x"), facts(b"k" + b"0" * 15), facts(b"e" + b"F" * 16)):
                for endpoints in ((ONE,), (ONE, TWO)):
                    sticky = Sticky(endpoints)
                    request.endpoint = sticky.pick((), spec.affinity.key(request))
                    name, _, rest = told(spec, request).partition(b"=")
                    value = rest.partition(b";")[0]
                    self.assertEqual(name, b"route")
                    self.assertEqual(sticky.pick((), spec.affinity.key(facts(value))), request.endpoint)

    def test_what_is_told_of_endpoints(self) -> None:
        """In balanced mode a new client is told the same whichever endpoint answered it, unless another one failed it or it makes up a mark."""
        self.assertEqual(told(BALANCED, facts(endpoint=ONE)), told(BALANCED, facts(endpoint=TWO)))
        for request in (facts(was_retried=True), facts(b"e" + b"0" * 16)):
            self.assertIn(MARK, told(BALANCED, request))
        self.assertIn(MARK, told(PERSISTENT, facts()))

    def test_known_client(self) -> None:
        """A client whose cookie leads where it was is told nothing."""
        self.assertEqual(told(BALANCED, facts(b"k" + b"0" * 16)), b"")
        self.assertEqual(told(PERSISTENT, facts(MARK)), b"")

    def test_endpoint_gone(self) -> None:
        """Whoever is meant to stay at an endpoint that is not there any more is told the one that answered."""
        self.assertIn(b"route=" + MARK, told(PERSISTENT, facts(b"e" + b"0" * 16)))

    def test_failure(self) -> None:
        """A client moves to another endpoint after a failure only if it is to."""
        moving = evolve(BALANCED, changes_on_failure=True)
        for cookie in (b"k" + b"0" * 16, mark_of_endpoint(TWO)):
            failed = facts(cookie, was_retried=True)
            self.assertEqual(told(BALANCED, failed), b"")
            self.assertIn(b"route=" + MARK, told(moving, failed))
        self.assertIn(b"route=" + MARK, told(BALANCED, facts(was_retried=True)))

    def test_our_replies(self) -> None:
        """A reply that no endpoint made says nothing of endpoints."""
        self.assertEqual(told(BALANCED, facts(), is_ours=True), b"")
        self.assertEqual(told(BALANCED, facts(endpoint=None)), b"")

    def test_backends(self) -> None:
        """Where several backends share requests, the value names the one as well; another one's is told anew."""
        marked = evolve(PERSISTENT, mark=b"00000001")
        self.assertIn(b"route=" + MARK + b".00000001;", told(marked, facts()))
        self.assertEqual(told(marked, facts(MARK + b".00000001")), b"")
        self.assertIn(MARK + b".00000001;", told(marked, facts(MARK + b".00000002")))

    def test_attributes(self) -> None:
        """The cookie has what was asked for, and is secure over HTTPS."""
        self.assertTrue(told(BALANCED, facts()).endswith(b"; Path=/; HttpOnly"))
        self.assertTrue(told(BALANCED, facts(scheme=b"https")).endswith(b"; HttpOnly; Secure"))
        full = evolve(
            BALANCED,
            path="/a",
            domain="a.test",
            max_age=60,
            expires=60,
            secure=True,
            same_site=SameSite.STRICT,
            partitioned=True,
        )
        self.assertTrue(
            told(full, facts()).endswith(
                b"; Expires=Thu, 01 Jan 2026 00:01:00 GMT; Max-Age=60; Domain=a.test; Path=/a; HttpOnly; Secure"
                b"; SameSite=Strict; Partitioned"
            )
        )

    def test_not_secure(self) -> None:
        """``session-cookie-secure: "false"`` is what holds without it, as in ingress-nginx: over HTTPS the cookie is secure all the same."""
        settings, _ = AnnotationReader(PREFIX).read(
            ingress("a", "/", affinity="cookie", session_cookie_secure="false")
        )
        assert AFFINITY.filters is not None
        (spec,) = AFFINITY.filters(settings.of(AFFINITY), RouteFacts(HostFacts()))
        assert isinstance(spec, SessionCookie)
        self.assertTrue(told(spec, facts(scheme=b"https")).endswith(b"; Secure"))
        self.assertNotIn(b"Secure", told(spec, facts()))

    def test_same_site_none(self) -> None:
        """Programs that mistake ``SameSite=None`` are not told it, if that is asked for."""
        mistaking = (
            b"Mozilla/5.0 (iPhone; CPU iPhone OS 12_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)",
            b"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_14_6) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/12.1.2 Safari/605.1.15",
            b"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/60.0.3112.78 Safari/537.36",
            b"Mozilla/5.0 (Linux; U; Android 9) UCBrowser/12.12.9.1226 U3/0.8.0 Mobile Safari/534.30",
        )
        good = (
            b"",
            b"Mozilla/5.0 (iPhone; CPU iPhone OS 13_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)",
            b"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_14_6) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/80.0 Safari/537.36",
            b"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36",
            b"Mozilla/5.0 (Linux; U; Android 9) UCBrowser/12.13.2.1005 U3/0.8.0 Mobile Safari/534.30",
        )
        for agents, mistakes in ((mistaking, True), (good, False)):
            for agent in agents:
                self.assertEqual(mistakes_none(agent), mistakes, agent)
                spec = evolve(BALANCED, same_site=SameSite.NONE, omits_none=True)
                request = facts()
                request.fields[b"user-agent"] = agent
                self.assertEqual(b"SameSite=None" in told(spec, request), not mistakes)
