"""Redirects to elsewhere: values, specs, rules without ``http``, and answers."""

from __future__ import annotations

from time import process_time

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.contract.host_facts import EVERY_HOST, HostFacts
from ingress.annotations.contract.route_facts import RouteFacts
from ingress.annotations.contract.values import ValueRefused
from ingress.annotations.redirects.https_redirect import RedirectSettings, parse_status, redirect_filters
from ingress.annotations.redirects.url_redirects import (
    AppRoot,
    UrlRedirect,
    UrlRedirectSettings,
    leads_to_itself,
    parse_location,
    parse_root,
    url_redirect_filters,
)
from ingress.filter_parts.redirecting import MAX_LOCATION
from ingress.model.cluster.objects import Kind
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.exchanges.reply import Reply
from ingress.model.requests.templates import read_template
from ingress.model.upstream.backends import BackendState
from ingress.routing.route import Match
from ingress.translate.readers.ingress.objects import Ingress, IngressRule
from ingress.translate.snapshot import Snapshot
from tests.annotations.served_case import ServedCase
from tests.fakes.filter_parts import FakeFacts, FakeServices
from tests.proxy.playing import OK
from tests.translate.golden import read_state
from tests.translate.tls.test_client_authentication import ingress

HOSTILE = (
    "",
    " ",
    "https://",
    "https:///a",
    "https://?a",
    "b.test",
    "ftp://b.test",
    "javascript:alert(1)",
    "data:text/html,x",
    "$host/a",
    "$arg_url",
    "https://a.test/\r\nX-Evil: 1",
    "https://a.test/\0",
    "https://a.test/ b",
    "https://user:secret@a.test/",
    "$scheme://user@$host/",
    "https://a.test/$unknown",
    "https://a.test/${broken",
    "https://a.test/{{ .Values.path }}",
    "https://a.test/" + "a" * 10_000,
    "https://a.test/\ud800",
)


def location(reply: Reply | None) -> bytes:
    """Return where *reply* leads to."""
    assert reply is not None
    return dict(reply.fields)[b"Location"]


def ruleless(name: str, *hosts: str, **annotations: str) -> Ingress:
    """Return an Ingress whose rules have no ``http``."""
    return evolve(ingress(name, "/", **annotations), rules=tuple(IngressRule(host, None) for host in hosts))


class ParseTests(SynchronousTestCase):
    """What may stand there."""

    def test_locations(self) -> None:
        """A URL of http or https, with variables or none, and a path."""
        for text in (
            "https://velocitymesh.com$request_uri",
            "http://a.test:8080/b?c=d",
            "HTTPS://A.test",
            "$scheme://www.a.test$request_uri",
            "${scheme}://$host/b",
            "/b",
            "//b.test/c",
            "/$request_uri",
        ):
            self.assertTrue(parse_location(f" {text} ").parts)

    def test_refused(self) -> None:
        """What leads nowhere, into another scheme, or would end the field, is refused."""
        for text in HOSTILE:
            self.assertRaises(ValueRefused, parse_location, text)

    def test_statuses(self) -> None:
        """Statuses that have a location."""
        self.assertEqual([parse_status(text) for text in ("301", " 308 ")], [301, 308])
        for text in ("", "200", "300", "304", "309", "3o1", "30१", "9" * 100_000):
            self.assertRaises(ValueRefused, parse_status, text)

    def test_roots(self) -> None:
        """A path of this host, and nothing that a browser takes for another one."""
        self.assertEqual([parse_root(text) for text in (" /app ", "/a?b#c")], ["/app", "/a?b#c"])
        for text in (
            "",
            "app",
            "https://a.test",
            "//b.test",
            "/a\r\nb",
            "/a\\b",
            "/a b",
            "/$a{",
            "/\u00e4",
            "/" + "a" * 5000,
        ):
            self.assertRaises(ValueRefused, parse_root, text)

    def test_bounded(self) -> None:
        """No value keeps anybody waiting."""
        for sign in ("a", "/", "$", "${", "https://", " ", "@"):
            text = ("https://" + sign * 262144)[:262144]
            for parse in (parse_location, parse_root, parse_status):
                began = process_time()
                self.assertRaises(ValueRefused, parse, text)
                self.assertLess(process_time() - began, 1.0)


class JudgeTests(SynchronousTestCase):
    """Where requests are sent."""

    def sent(self, text: str, facts: FakeFacts, is_relative: bool = False) -> bytes:
        """Return the location for a request."""
        return location(UrlRedirect(parse_location(text), is_relative=is_relative).judge(facts))

    def test_whole_answer(self) -> None:
        """The URL is the whole answer; of the request only what variables say."""
        facts = FakeFacts(host=b"a.test", target=b"/b/?c=d", path=b"/b/")
        for text, found in (
            ("https://z.test", b"https://z.test"),
            ("https://z.test/", b"https://z.test/"),
            ("https://z.test$request_uri", b"https://z.test/b/?c=d"),
            ("$scheme://www.$host$uri$is_args$args", b"http://www.a.test/b/?c=d"),
        ):
            self.assertEqual(self.sent(text, facts), found)

    def test_paths(self) -> None:
        """A path is completed by what was asked for, unless it is to be relative."""
        facts = FakeFacts(host=b"a.test", scheme=b"https", fields={b"host": b"A.test:8443"})
        self.assertEqual(self.sent("/new", facts), b"https://A.test:8443/new")
        self.assertEqual(self.sent("/new", facts, True), b"/new")
        self.assertEqual(self.sent("//b.test/new", facts, True), b"//b.test/new")

    def test_no_other_host_by_a_path(self) -> None:
        """What a visitor says cannot make a host of the beginning of a path."""
        for said in (b"/evil.test", b"//evil.test", b"\\evil.test", b"/\\evil.test"):
            facts = FakeFacts(host=b"a.test", target=b"/?to=" + said)
            self.assertEqual(self.sent("/$arg_to", facts, True), b"/evil.test")
        # Browsers drop the tabs, which a field may have.
        for said in (b"\t/evil.test", b"/\t\\evil.test", b"\\\t\t/evil.test"):
            facts = FakeFacts(host=b"a.test", fields={b"to": said})
            self.assertEqual(self.sent("/$http_to", facts, True), b"/evil.test")

    def test_no_host(self) -> None:
        """Who names no host cannot be sent to another path of it."""
        reply = UrlRedirect(parse_location("/b")).judge(FakeFacts(host=b""))
        assert reply is not None
        self.assertEqual(reply.status, 400)

    def test_too_long(self) -> None:
        """What a visitor sends so much of is not repeated."""
        facts = FakeFacts(target=b"/" + b"a" * (MAX_LOCATION // 2))
        reply = UrlRedirect(parse_location("https://a.test$request_uri$request_uri$request_uri")).judge(facts)
        assert reply is not None
        self.assertEqual(reply.status, 414)

    def test_app_root(self) -> None:
        """Only the root itself is redirected, whatever its query; scheme and port are those of the request."""
        spec = AppRoot(b"/app?x")
        facts = FakeFacts(target=b"/?y", host=b"a.test", fields={b"host": b"a.test:81"})
        self.assertEqual(location(spec.judge(facts)), b"http://a.test:81/app?x")
        self.assertIsNone(spec.judge(evolve(facts, path=b"/app")))

    def test_filters(self) -> None:
        """The temporal redirect counts; constants of the route are text; a path for challenges is not redirected."""
        settings = UrlRedirectSettings(
            permanent=parse_location("https://p.test"),
            temporal=parse_location("https://$namespace.test$location_path"),
        )
        (spec,) = url_redirect_filters(settings, RouteFacts(HostFacts(), path="/a"))
        self.assertEqual(spec, UrlRedirect(read_template("https://.test/a"), 302))
        challenge = RouteFacts(HostFacts(), path="/.well-known/acme-challenge/token")
        self.assertEqual(url_redirect_filters(settings, challenge), ())

    def test_status_of_the_operator(self) -> None:
        """``http-redirect-code`` is the status of the redirect to HTTPS."""
        (spec,) = redirect_filters(RedirectSettings(status=302), RouteFacts(HostFacts(certified=EVERY_HOST)))
        reply = spec.make(FakeServices()).on_request(FakeFacts())
        assert isinstance(reply, Reply)
        self.assertEqual(reply.status, 302)

    def test_loops(self) -> None:
        """A redirect to a host that has it is found; one to another host, or by a variable, is none for certain."""
        for text, hosts, found in (
            ("https://a.test$request_uri", ("b.test", "a.test"), True),
            ("http://A.test:80/b", ("a.test",), True),
            ("https://www.a.test", ("a.test",), False),
            ("https://$host/", ("a.test",), False),
            ("https://a.test$arg_x", ("a.test",), False),
            ("/b", ("a.test",), False),
        ):
            settings = UrlRedirectSettings(temporal=parse_location(text))
            self.assertEqual(leads_to_itself(settings, hosts) is not None, found, text)


class TranslatedTests(ServedCase):
    """From objects to routes and problems."""

    def told(self, snapshot: Snapshot) -> list[Problem]:
        """Return what is told but for Services, of which there are none."""
        return [one for one in snapshot.problems if one.reason is not Reason.SERVICE_NOT_FOUND]

    def test_rule_without_http(self) -> None:
        """A rule without http is answered on all paths, needs no backend, and is no problem."""
        found = self.serve(ruleless("a", "a.test", "b.test", permanent_redirect="https://z.test"))
        self.assertEqual(found.problems, ())
        self.assertEqual(
            [(one.host, one.path, one.match) for one in found.table.routes],
            [("a.test", "/", Match.PREFIX), ("b.test", "/", Match.PREFIX)],
        )

    def test_rule_without_http_and_without_redirect(self) -> None:
        """Without a redirect such a rule is a problem as ever, also where the value was refused."""
        for asked in ({}, {"permanent_redirect": "ftp://z.test"}, {"app_root": "/app"}):
            found = self.serve(ruleless("a", "a.test", **asked))
            self.assertIn(Reason.INVALID_RULE, [one.reason for one in found.problems])

    def test_paths_of_rules_come_first(self) -> None:
        """Another Ingress's paths on the host come before it, however young; whoever loses all to them is told."""
        redirect = ruleless("a", "a.test", permanent_redirect="https://z.test")
        found = self.serve(redirect, ingress("younger", "/api", host="a.test"))
        self.assertEqual(
            [(one.path, bool(one.filters)) for one in found.table.routes], [("/", True), ("/api", False)]
        )
        self.assertEqual(self.told(found), [])
        found = self.serve(redirect, ingress("younger", "/", host="a.test"))
        self.assertEqual([bool(one.filters) for one in found.table.routes], [False])
        (problem,) = self.told(found)
        self.assertEqual((problem.reason, problem.name), (Reason.PATH_CONFLICT, "a"))
        self.assertEqual(
            problem.message,
            "it has no path of host a.test, so what it asks for there, such as a redirect, has no effect: requests go to"
            " Ingress demo/younger, whose spec.rules[0].http.paths[0] takes every path",
        )

    def test_snippets_without_http(self) -> None:
        """A return of a snippet answers a rule without http as well, unless something comes before it."""
        back = "return 301 https://z.test$request_uri;"
        for asked, is_answered in (
            ({"server_snippet": back}, True),
            ({"configuration_snippet": f"if ($arg_x) {{ return 403; }} {back}"}, True),
            ({"configuration_snippet": f"break; {back}"}, False),
            ({"server_snippet": "if ($arg_x) { return 403; }"}, False),
        ):
            found = self.serve(ruleless("a", "a.test", **asked))
            client = self.stage.open()
            client.say(b"GET /b HTTP/1.1\r\nHost: a.test\r\n\r\n")
            self.assert_status(client.take(), 301 if is_answered else 404)
            self.assertEqual(Reason.INVALID_RULE in [one.reason for one in found.problems], not is_answered)

    def test_missing_service(self) -> None:
        """Where no request gets to a Service, nobody is told that there is none."""
        self.assertEqual(self.annotate(permanent_redirect="https://z.test").problems, ())
        self.assertEqual(len(self.annotate().problems), 1)

    def test_app_root_where_no_path_is_the_root(self) -> None:
        """``app-root`` takes the root of the host although the Ingress has other paths alone, and leaves these alone."""
        found = self.serve(
            ingress("a", "/app", host="a.test", app_root="/app"), ingress("other", "/", host="a.test")
        )
        self.assertEqual(
            [(one.path, one.match, bool(one.filters)) for one in found.table.routes],
            [("/", Match.EXACT, True), ("/", Match.PREFIX, False), ("/app", Match.PREFIX, True)],
        )
        self.assertEqual(self.told(found), [])

    def test_app_root_beside_expressions(self) -> None:
        """Where paths are expressions, the root that ``app-root`` takes is none of them, and makes none of others."""
        found = self.serve(
            ingress(
                "a", "/app(/|$)(.*)", host="a.test", app_root="/app/", use_regex="true", rewrite_target="/$2"
            )
        )
        for target, status in ((b"/", 302), (b"/none", 404), (b"/app/x", 200)):
            client = self.stage.open()
            client.say(b"GET %b HTTP/1.1\r\nHost: a.test\r\n\r\n" % target)
            if status == 200:
                self.upstream().say(OK)
            self.assert_status(client.take(), status)
        found = self.serve(ingress("a", "/app", host="a.test", app_root="/app", rewrite_target="/app"))
        self.assertEqual({one.match for one in found.table.routes}, {Match.EXACT, Match.PREFIX})

    def test_remarks(self) -> None:
        """What visitors could make of it, what does not count, and a circle, are notes."""
        for asked, name in (
            ({"permanent_redirect": "https://$arg_host/"}, "permanent-redirect"),
            ({"permanent_redirect": "https://z.test$arg_x"}, "permanent-redirect"),
            ({"temporal_redirect": "https://$http_x_to$request_uri"}, "temporal-redirect"),
            (
                {"permanent_redirect": "https://z.test", "temporal_redirect": "https://z.test"},
                "permanent-redirect",
            ),
            ({"temporal_redirect": "https://shop.test/new"}, "temporal-redirect"),
        ):
            (problem,) = self.told(self.annotate(**asked))
            self.assertTrue(problem.is_note, problem)
            self.assertTrue(problem.message.startswith(f"{name}: "), problem.message)
        for text in (
            "https://z.test$request_uri",
            "https://z.test/$arg_x",
            "$scheme://www.$host$uri",
            "/$arg_x",
        ):
            self.assertEqual(self.told(self.annotate(permanent_redirect=text)), [], text)

    def test_invalid(self) -> None:
        """What is refused is told, and redirects nobody."""
        for name in ("permanent_redirect", "temporal_redirect", "app_root"):
            for text in filter(str.strip, HOSTILE):
                found = self.annotate(**{name: text})
                (problem,) = self.told(found)
                self.assertEqual(problem.reason, Reason.INVALID_ANNOTATION)
                self.assertIn("nothing is redirected", problem.message)
                self.assertEqual([one.filters for one in found.table.routes], [()])


MANIFEST = """
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: old, annotations: {nginx.ingress.kubernetes.io/permanent-redirect: "https://new.test$request_uri"}}
spec:
  ingressClassName: nginx
  rules: [{host: shop.test}]
"""


class ServedTests(ServedCase):
    """In the proxy, over HTTP/1.1."""

    def test_redirected(self) -> None:
        """All methods are answered on all paths, and no endpoint is asked."""
        self.annotate(permanent_redirect="https://z.test$request_uri", permanent_redirect_code="308")
        for method in (b"GET", b"HEAD", b"POST"):
            heard = self.get(method=method, target=b"/a/?b=c").heard()
            self.assertEqual((heard.status, heard.all(b"location")), (308, [b"https://z.test/a/?b=c"]))
            self.assertTrue(heard.is_whole)
        self.assert_upstreams(0)

    def test_rule_without_http(self) -> None:
        """A rule without http is answered from the manifest on."""
        self.serve(*read_state(MANIFEST).of(Kind.INGRESS).values())
        heard = self.get(target=b"/x").heard()
        self.assertEqual((heard.status, heard.all(b"location")), (301, [b"https://new.test/x"]))

    def test_temporal_counts(self) -> None:
        """Of both the temporal one counts."""
        self.annotate(permanent_redirect="https://p.test", temporal_redirect="https://t.test")
        heard = self.get().heard()
        self.assertEqual((heard.status, heard.all(b"location")), (302, [b"https://t.test"]))

    def test_app_root(self) -> None:
        """The root is redirected, and any other path goes to the endpoint."""
        self.annotate(app_root="/app")
        heard = self.get().heard()
        self.assertEqual((heard.status, heard.all(b"location")), (302, [b"http://shop.test/app"]))
        client = self.get(target=b"/app")
        self.upstream().say(OK)
        self.assertEqual(client.heard().status, 200)

    def test_hostile_targets(self) -> None:
        """What a visitor escapes stays escaped, or is no line of its own."""
        self.annotate(temporal_redirect="https://z.test$uri")
        heard = self.get(target=b"/a%0d%0aX-Evil:%201").heard()
        self.assertEqual((heard.status, heard.all(b"x-evil")), (302, []))
        self.assertEqual(heard.all(b"location"), [b"https://z.test/a%0D%0AX-Evil: 1"])

    def test_before_https(self) -> None:
        """The redirect elsewhere comes before that to HTTPS, as in ingress-nginx."""
        self.annotate(force_ssl_redirect="true", permanent_redirect="https://z.test")
        self.assertEqual(self.get().heard().all(b"location"), [b"https://z.test"])

    def test_endpoints_are_not_needed(self) -> None:
        """It answers although there is no endpoint."""
        found = self.annotate(permanent_redirect="https://z.test")
        self.stage.resource.publish(found.table, dict.fromkeys(found.backends, BackendState(())))
        self.assertEqual(self.get().heard().status, 301)

    def test_relative_wherever_a_path_is_sent(self) -> None:
        """As nginx's absolute_redirect: what a snippet of the path or proxy-redirect makes a path stays one, if that is asked."""
        for asked, target, path in (
            ({"configuration_snippet": "return 301 /x;"}, b"/", b"/x"),
            ({"configuration_snippet": "rewrite ^/a/(.*) /$1 redirect;"}, b"/a/b?c", b"/b?c"),
            ({"proxy_redirect_from": "/old/", "proxy_redirect_to": "/new/"}, b"/asked", b"/new/y"),
        ):
            for relative, beginning in (("true", b""), ("false", b"http://shop.test")):
                self.annotate(relative_redirects=relative, **asked)
                client = self.get(target=target)
                if target == b"/asked":
                    self.upstream().take()
                    self.upstream().say(
                        b"HTTP/1.1 302 Found\r\nLocation: /old/y\r\nContent-Length: 0\r\n\r\n"
                    )
                self.assertEqual(client.heard().all(b"location"), [beginning + path])

    def test_what_would_be_another_host_is_never_relative(self) -> None:
        """What a visitor puts behind a slash makes no host of it."""
        self.annotate(relative_redirects="true", configuration_snippet="return 302 /$arg_to;")
        heard = self.get(target=b"/?to=/evil.test").heard()
        self.assertEqual(heard.all(b"location"), [b"http://shop.test//evil.test"])

    def test_what_a_server_says_is_completed(self) -> None:
        """As in ingress-nginx, where it is the path that leaves it to clients."""
        self.annotate(relative_redirects="true", server_snippet="location = /q { return 302 /z; }")
        heard = self.get(target=b"/q").heard()
        self.assertEqual(heard.all(b"location"), [b"http://shop.test/z"])


class ServedOverHttp2Tests(ServedTests):
    """The same over HTTP/2."""

    is_http2 = True
