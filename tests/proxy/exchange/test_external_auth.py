"""External authentication in the proxy, in both protocols: what is asked, who passes, and who is told what."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from types import FrameType

from ingress.annotations.contract.asked_urls import parse_targets, parse_url_template
from ingress.annotations.external_auth.settings import AuthSettings
from ingress.model.upstream.backends import Endpoint
from ingress.model.upstream.upstream_tls import LinkSettings
from ingress.translate.options import TranslateOptions
from ingress.translate.translate import translate
from tests.proxy.exchange.external_auth_case import ALLOWED, UNKNOWN, URL, AuthCase
from tests.proxy.playing import GET, OK, ONE, body_of, fields_of
from tests.translate.golden import state_of
from tests.translate.tls.test_client_authentication import ingress


class AskedTests(AuthCase):
    """What the service is asked."""

    def test_request(self) -> None:
        """It is asked for its URL, with the client's fields and what says which request it is about."""
        self.serve()
        fields = ((b"cookie", b"session=1"), (b"authorization", b"Bearer x"), (b"accept", b"text/html"))
        self.get(target=b"/a?b=c", fields=fields)
        heard = self.asked(ALLOWED)
        self.assertEqual(heard.split(b"\r\n")[0], b"GET /oauth2/auth HTTP/1.1")
        found = fields_of(heard)
        for name, value in (
            *fields,
            (b"host", b"auth.test:4180"),
            (b"x-original-url", b"http://shop.test/a?b=c"),
            (b"x-original-method", b"GET"),
            (b"x-sent-from", b"nginx-ingress-controller"),
            (b"x-auth-request-redirect", b"/a?b=c"),
            (b"x-real-ip", b"198.51.100.7"),
            (b"x-forwarded-for", b"198.51.100.7"),
            (b"x-forwarded-proto", b"http"),
            (b"x-forwarded-host", b"shop.test"),
        ):
            self.assertEqual(found.get(name), value, name)
        self.assertEqual(len(self.peers(ONE)), 1)

    def test_body(self) -> None:
        """The service gets neither the body, nor its length, by whatever method; the endpoint gets all of it."""
        for method in ({}, {"auth_method": "POST"}):
            self.setUp()
            self.serve(**method)
            client = self.client()
            client.ask(b"POST", length=4)
            client.send(b"body", ended=True)
            heard = self.asked(ALLOWED)
            self.assertEqual(body_of(heard), b"")
            found = fields_of(heard)
            for name in (b"content-length", b"transfer-encoding", b"expect", b"connection"):
                self.assertNotIn(name, found)
            self.assertEqual(found[b"x-original-method"], b"POST")
            self.assertEqual(body_of(self.peers(ONE)[0].take()), b"body")
            self.peers(ONE)[0].say(OK)
            self.assertEqual(client.heard().status, 200)

    def test_method(self) -> None:
        """With a method of its own it is asked by that, and told the target once more."""
        self.serve(auth_method="HEAD")
        self.get(target=b"/a")
        heard = self.asked(b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n")
        self.assertTrue(heard.startswith(b"HEAD /oauth2/auth HTTP/1.1\r\n"))
        self.assertEqual(fields_of(heard)[b"x-original-uri"], b"/a")
        self.assertEqual(len(self.peers(ONE)), 1)

    def test_forged(self) -> None:
        """What the client says under names that are ours is not told; nor what belongs to its connection."""
        self.serve()
        forged = (
            b"x-original-url",
            b"X-Original-Method",
            b"x-sent-from",
            b"x-auth-request-redirect",
            b"x-real-ip",
        )
        more = (
            b"x-forwarded-for",
            b"x-forwarded-host",
            b"x-forwarded-proto",
            b"ssl-client-verify",
            b"proxy-authorization",
            # What services go by behind other proxies.
            b"x-original-uri",
            b"x-forwarded-uri",
            b"x-forwarded-method",
        )
        self.get(fields=tuple((name.lower(), b"forged") for name in (*forged, *more)))
        heard = self.asked(ALLOWED)
        for line in heard.split(b"\r\n"):
            if b"forged" in line:
                # What a client that nobody trusts says goes on under a name that says so.
                self.assertEqual(line, b"X-Original-Forwarded-For: forged")

    def test_snippet(self) -> None:
        """What a snippet has the service be told is told once, in place of what the client says, and of what we do."""
        self.serve(
            auth_snippet="# as Authelia and authentik write it\n"
            "proxy_set_header X-Forwarded-Host $http_host; proxy_set_header X-Forwarded-Method $request_method;\n"
            "proxy_set_header X-Original-URL 'the one that $host has'; proxy_set_header Cookie ''; proxy_set_header Connection '';"
        )
        forged = (b"cookie", b"x-forwarded-host", b"x-forwarded-method", b"x-original-url")
        self.get(target=b"/a", fields=tuple((name, b"forged") for name in forged))
        heard = self.asked(ALLOWED)
        lines = [line for line in heard.split(b"\r\n") if line.lower().startswith(forged)]
        self.assertEqual(
            sorted(lines),
            [
                b"X-Forwarded-Host: shop.test",
                b"X-Forwarded-Method: GET",
                b"X-Original-URL: the one that shop.test has",
            ],
        )
        self.assertEqual(len(self.peers(ONE)), 1)

    def test_variables(self) -> None:
        """Variables say what of the request goes into the URL and the fields; what no target can hold is escaped."""
        self.serve(
            auth_url="http://auth.test:4180/check?uri=$escaped_request_uri&a=$arg_a&u=$uri",
            auth_request_redirect="$scheme://$host$request_uri",
        )
        self.get(target=b"/x%20y?a=1&b=2")
        heard = self.asked(ALLOWED)
        self.assertEqual(
            heard.split(b"\r\n")[0],
            b"GET /check?uri=%2Fx%2520y%3Fa%3D1%26b%3D2&a=1&u=/x%20y HTTP/1.1",
        )
        self.assertEqual(fields_of(heard)[b"x-auth-request-redirect"], b"http://shop.test/x%20y?a=1&b=2")

    def test_variable_host(self) -> None:
        """The host of the URL may be that of the request."""
        self.serve(auth_url="https://$host/oauth2/auth")
        self.get()
        (endpoint,) = {peer.protocol.endpoint for peer in self.connector.peers}  # type: ignore[attr-defined]
        self.assertEqual((endpoint.address, endpoint.port), ("shop.test", 443))
        self.assertTrue(endpoint.link_settings.is_external)
        self.assertFalse(endpoint.link_settings.tls.tls_settings.verify)
        self.assertEqual(fields_of(self.asked(endpoint=endpoint))[b"host"], b"shop.test")

    def test_no_url(self) -> None:
        """Where variables come to no URL, nobody passes."""
        self.serve(AuthSettings(allowed=parse_targets("auth.test")), auth_url="http://$http_x_service/auth")
        for value in (b"", b"a b", b"user@auth.test", b"a:0", b"\xff", b"[::1"):
            client = self.get(fields=((b"x-service", value),))
            self.assertEqual(client.heard().status, 500, value)
        self.assertEqual(self.connector.peers, [])

    def test_allowed_hosts(self) -> None:
        """Only hosts that the operator allows are asked, and the address of a name that it did not choose is looked at."""
        self.serve(
            AuthSettings(allowed=parse_targets("auth.test, *.internal.test, 10.0.0.0/8")),
            auth_url="http://$http_x_service:4180/oauth2/auth",
        )
        for host, link in (
            ("auth.test", None),
            ("a.internal.test", LinkSettings(is_external=True)),
            ("other.test", LinkSettings(is_external=True, within=("10.0.0.0/8",))),
        ):
            self.get(fields=((b"x-service", host.encode()),))
            self.assertEqual(self.connector.asked[-1], Endpoint(host, 4180, link))
        self.serve(AuthSettings(allowed=parse_targets("auth.test")), auth_url="http://$http_x_service/")
        asked = len(self.connector.asked)
        self.assertEqual(self.get(fields=((b"x-service", b"other.test"),)).heard().status, 500)
        self.assertEqual(len(self.connector.asked), asked)

    def test_global(self) -> None:
        """A host that the operator wrote may be anywhere; one that the request names is not the operator's."""
        for url, link in (
            ("http://auth.test:4180/", None),
            ("http://$host:4180/", LinkSettings(is_external=True)),
        ):
            self.serve(AuthSettings(global_url=parse_url_template(url)), auth_url="")
            self.get()
            self.assertEqual(self.connector.asked[-1].link_settings, link)

    def test_kept(self) -> None:
        """Its connections are kept, and used for the next."""
        self.serve()
        for _ in range(3):
            client = self.get()
            self.asked(ALLOWED)
            self.peers(ONE)[-1].say(OK)
            self.assertEqual(client.heard().status, 200)
        self.assertEqual(len(self.peers()), 1)


class AskedTestsHttp2(AskedTests):
    """The same over HTTP/2."""

    is_http2 = True


class VerdictTests(AuthCase):
    """What becomes of the answer."""

    def test_passes(self) -> None:
        """With 2xx the request goes on, and the endpoint is told what was asked for, and nothing of the client's."""
        self.serve(auth_response_headers="X-User, X-Groups, X-Missing, Authorization")
        client = self.get(fields=((b"x-user", b"root"), (b"x-missing", b"root"), (b"authorization", b"mine")))
        self.asked(
            b"HTTP/1.1 204 No\r\nx-user: anna\r\nX-Groups: a\r\nX-Groups: b\r\nX-Other: c\r\nX-Missing:\r\n\r\n"
        )
        found = fields_of(self.peers(ONE)[0].take())
        self.assertEqual((found[b"x-user"], found[b"x-groups"]), (b"anna", b"a, b"))
        for name in (b"x-missing", b"authorization", b"x-other", b"x-original-url"):
            self.assertNotIn(name, found)
        self.peers(ONE)[0].say(OK)
        heard = client.heard()
        self.assertEqual((heard.status, heard.body), (200, b"ok"))

    def test_refused(self) -> None:
        """401 comes back with what the client is to show, and 403 as it is; cookies only where that is asked for."""
        for always, cookies in (("false", []), ("true", [b"state=1"])):
            self.serve(auth_always_set_cookie=always)
            client = self.get()
            self.asked(UNKNOWN)
            heard = client.heard()
            self.assertEqual((heard.status, heard.body), (401, b"401 Unauthorized\n"))
            self.assertEqual(heard.all(b"www-authenticate"), [b'Basic realm="a"', b"Bearer"])
            self.assertEqual(heard.all(b"set-cookie"), cookies)
            client = self.get()
            self.asked(UNKNOWN.replace(b"401", b"403"))
            heard = client.heard()
            self.assertEqual((heard.status, heard.all(b"www-authenticate")), (403, []))
            self.assertEqual(heard.all(b"set-cookie"), cookies)
        self.assertEqual(self.peers(ONE), [])
        self.assertEqual(self.events("refused"), 4)

    def test_others(self) -> None:
        """Any other status is no verdict, and the client gets 500."""
        self.serve()
        for status in (
            b"300",
            b"302",
            b"304",
            b"400",
            b"402",
            b"404",
            b"407",
            b"429",
            b"500",
            b"502",
            b"503",
        ):
            client = self.get()
            self.asked(b"HTTP/1.1 %b X\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n" % status)
            self.assertEqual(client.heard().status, 500, status)
        self.assertEqual(self.peers(ONE), [])
        self.assertEqual(self.events("no-verdict"), 11)

    def test_signin(self) -> None:
        """Who is not known is sent to sign in, with the way back, and with the cookies of the service; who is, is not."""
        self.serve(auth_signin="https://auth.test/start?a=b")
        client = self.get(target=b"/a?b=c d".replace(b" ", b"%20"))
        self.asked(UNKNOWN)
        heard = client.heard()
        self.assertEqual(heard.status, 302)
        self.assertEqual(
            heard.all(b"location"), [b"https://auth.test/start?a=b&rd=http://shop.test%2Fa%3Fb%3Dc%2520d"]
        )
        self.assertEqual(heard.all(b"set-cookie"), [b"state=1"])
        client = self.get()
        self.asked(UNKNOWN.replace(b"401", b"403"))
        self.assertEqual((client.heard().status, client.heard().all(b"location")), (403, []))

    def test_hostile_signin(self) -> None:
        """Whatever a client has in the location stays one field of visible characters."""
        self.serve(auth_signin="https://auth.test/$http_x_page")
        client = self.get(fields=((b"x-page", b"a b\xff\xc3\xa4\tc"),))
        self.asked(UNKNOWN)
        (location,) = client.heard().all(b"location")
        self.assertTrue(location.startswith(b"https://auth.test/a%20b%FF%C3%A4%09c?rd="), location)

    def test_cookies(self) -> None:
        """Cookies of a service that lets pass go with the endpoint's answer, each by itself, beside its own."""
        answer = b"HTTP/1.1 %b X\r\nSet-Cookie: own=1\r\nContent-Length: 0\r\n\r\n"
        allowed = (
            b"HTTP/1.1 200 OK\r\nSet-Cookie: a=1; Path=/\r\nSet-Cookie: b=2\r\nContent-Length: 0\r\n\r\n"
        )
        both = [b"own=1", b"a=1; Path=/", b"b=2"]
        for always, status, cookies in (
            ("false", b"200", both),
            ("false", b"302", both),
            ("false", b"404", [b"own=1"]),
            ("true", b"404", both),
        ):
            self.serve(auth_always_set_cookie=always)
            client = self.get()
            self.asked(allowed)
            self.peers(ONE)[-1].say(answer % status)
            self.assertEqual(client.heard().all(b"set-cookie"), cookies, (always, status))

    def test_head(self) -> None:
        """HEAD is asked about like GET, and its refusal has no body."""
        self.serve()
        client = self.get(method=b"HEAD")
        heard = self.asked(UNKNOWN)
        self.assertTrue(heard.startswith(b"GET "))
        self.assertEqual(fields_of(heard)[b"x-original-method"], b"HEAD")
        self.assertEqual((client.heard().status, client.heard().body), (401, b""))

    def test_grpc(self) -> None:
        """Clients of gRPC are told in their own words, and never sent to a page."""
        for status, code in ((b"401", b"16"), (b"403", b"7"), (b"503", b"13")):
            self.serve(auth_signin="https://auth.test/start")
            client = self.client()
            client.ask(b"POST", b"/shop.Shop/Buy", ((b"content-type", b"application/grpc"),), length=-1)
            self.asked(UNKNOWN.replace(b"401", status))
            heard = client.heard()
            self.assertEqual((heard.status, heard.all(b"grpc-status")), (200, [code]), status)
            self.assertEqual(heard.all(b"location"), [])
        self.assertEqual(self.peers(ONE), [])

    def test_each_by_itself(self) -> None:
        """What one client was told, the next is not."""
        self.serve(auth_response_headers="X-User")
        users = []
        for answer in (b"X-User: anna\r\n", b"", b"X-User: bert\r\n"):
            self.get()
            self.asked(b"HTTP/1.1 200 OK\r\n%bContent-Length: 0\r\n\r\n" % answer)
            users.append(fields_of(self.peers(ONE)[-1].take()).get(b"x-user"))
            self.peers(ONE)[-1].say(OK)
        self.assertEqual(users, [b"anna", None, b"bert"])


class VerdictTestsHttp2(VerdictTests):
    """The same over HTTP/2."""

    is_http2 = True


class EnoughTests(AuthCase):
    """Beside others who say who may come in."""

    def test_any(self) -> None:
        """With ``satisfy: any`` nobody is asked about whom another lets in; who says that it is somebody is not believed."""
        forged = ((b"x-user", b"root"),)
        self.serve(satisfy="any", allowlist_source_range="198.51.100.7", auth_response_headers="X-User")
        client = self.get(fields=forged)
        self.assertEqual(self.peers(), [])
        self.assertNotIn(b"x-user", fields_of(self.peers(ONE)[-1].take()))
        self.peers(ONE)[-1].say(OK)
        self.assertEqual(client.heard().status, 200)
        self.serve(satisfy="any", allowlist_source_range="192.0.2.0/24", auth_response_headers="X-User")
        for answer, status in (
            (UNKNOWN, 401),
            (ALLOWED, 200),
            (b"HTTP/1.1 503 X\r\nContent-Length: 0\r\n\r\n", 500),
        ):
            client = self.get(fields=forged)
            self.asked(answer)
            if status == 200:
                self.assertNotIn(b"x-user", fields_of(self.peers(ONE)[-1].take()))
                self.peers(ONE)[-1].say(OK)
            self.assertEqual(client.heard().status, status)

    def test_all(self) -> None:
        """Else both have to let a request in, and nobody is asked about whom an address keeps out."""
        self.serve(allowlist_source_range="192.0.2.0/24")
        self.assertEqual(self.get().heard().status, 403)
        self.assertEqual(self.peers(), [])
        self.serve(allowlist_source_range="198.51.100.7")
        client = self.get()
        self.asked(UNKNOWN)
        self.assertEqual(client.heard().status, 401)

    def test_preflight(self) -> None:
        """A preflight of CORS has no credentials, and is answered before anybody is asked."""
        named = {"auth-url": URL, "enable-cors": "true"}
        (route,) = translate(
            state_of([ingress("a", "/", **named)]), TranslateOptions(), datetime.now(UTC)
        ).table.routes
        self.stage.publish((ONE,), filters=route.filters)
        more = ((b"origin", b"https://a.test"), (b"access-control-request-method", b"PUT"))
        self.assertEqual(self.get(method=b"OPTIONS", fields=more).heard().status, 204)
        self.assertEqual(self.peers(), [])
        client = self.get(fields=more[:1])
        self.asked(UNKNOWN)
        heard = client.heard()
        self.assertEqual((heard.status, heard.all(b"access-control-allow-origin")), (401, [b"*"]))


class EnoughTestsHttp2(EnoughTests):
    """The same over HTTP/2."""

    is_http2 = True


class CostTests(AuthCase):
    """What asking costs, in calls."""

    def count(self, act: Callable[[], object]) -> int:
        """Return how many functions of ours *act* calls."""
        calls = 0

        def see(frame: FrameType, event: str, argument: object) -> None:
            nonlocal calls
            if event == "call" and str(frame.f_globals.get("__name__")).startswith("ingress."):
                calls += 1

        sys.setprofile(see)
        try:
            act()
        finally:
            sys.setprofile(None)
        return calls

    def test_calls(self) -> None:
        """From the request to the question, and from the verdict to the endpoint, there are so many calls and no more."""
        self.serve(auth_response_headers="X-User")
        answer = b"HTTP/1.1 200 OK\r\nX-User: anna\r\nContent-Length: 0\r\n\r\n"
        down = self.stage.open()
        for _ in range(3):
            asking = self.count(lambda: down.say(GET))
            self.assertTrue(self.peers()[0].take())
            verdict = self.count(lambda: self.peers()[0].say(answer))
            self.peers(ONE)[0].say(OK)
        self.assertLessEqual(asking, 60)
        self.assertLessEqual(verdict, 55)


class RememberedTests(AuthCase):
    """Verdicts that are remembered."""

    def ask(self, who: bytes, answer: bytes = b"") -> int:
        """Have *who* ask; return the status, and have the service answer if it is asked."""
        client = self.get(fields=((b"authorization", who),))
        waiting = [peer for peer in self.peers() if peer.received]
        if waiting:
            waiting[0].take()
            waiting[0].say(answer or ALLOWED)
        for peer in self.peers(ONE):
            if peer.received:
                self.told = fields_of(peer.take())
                peer.say(OK)
        return client.heard().status

    def sub_requests(self) -> float:
        """How often the service has answered."""
        return self.metrics.value("ingress_sub_requests_total", kind="ask", outcome="answered")

    def test_key(self) -> None:
        """A verdict holds for who has the same key, for its time, and with all that was said."""
        self.serve(auth_cache_key="$http_authorization", auth_response_headers="X-User")
        anna = b"HTTP/1.1 200 OK\r\nX-User: anna\r\nContent-Length: 0\r\n\r\n"
        self.assertEqual(self.ask(b"anna", anna), 200)
        self.assertEqual(self.ask(b"anna", UNKNOWN), 200)
        self.assertEqual(self.told[b"x-user"], b"anna")
        self.assertEqual(self.ask(b"bert", UNKNOWN.replace(b"Set-Cookie: state=1\r\n", b"")), 401)
        self.assertEqual(self.ask(b"bert"), 401)
        self.assertEqual((self.sub_requests(), self.events("remembered")), (2, 2))
        self.reactor.advance(299)
        self.assertEqual(self.ask(b"anna", UNKNOWN), 200)
        self.reactor.advance(2)
        self.assertEqual(self.ask(b"anna", UNKNOWN), 401)

    def test_not_remembered(self) -> None:
        """Nothing is without a key; no failure is, and nothing that sets a cookie, or whose status is not named."""
        self.serve()
        for _ in range(2):
            self.assertEqual(self.ask(b"anna"), 200)
        self.assertEqual(self.sub_requests(), 2)
        self.serve(auth_cache_key="k", auth_cache_duration="200 401 500 1h")
        for answer, status in (
            (b"HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n", 500),
            (b"HTTP/1.1 204 X\r\n\r\n", 200),
            (b"HTTP/1.1 200 X\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n", 200),
            (b"HTTP/1.1 200 X\r\nCache-Control: no-store\r\nContent-Length: 0\r\n\r\n", 200),
            (UNKNOWN, 401),
        ):
            for _ in range(2):
                self.assertEqual(self.ask(b"anna", answer), status)
        self.assertEqual(self.events("remembered"), 0)

    def test_conditions(self) -> None:
        """What is remembered for others is not asked for on the conditions of one."""
        for key, is_told in ((None, True), ("k", False)):
            self.serve(**({} if key is None else {"auth_cache_key": key}))
            self.get(fields=((b"if-none-match", b"x"), (b"range", b"bytes=0-1")))
            heard = fields_of(self.peers()[-1].take())
            self.assertEqual((b"if-none-match" in heard, b"range" in heard), (is_told, is_told))

    def test_ends(self) -> None:
        """What is remembered outlives snapshots with the same check, and ends with it."""
        self.serve(auth_cache_key="k")
        self.assertEqual(self.ask(b"anna"), 200)
        self.serve(auth_cache_key="k")
        self.assertEqual(self.ask(b"anna", UNKNOWN), 200)
        self.serve(auth_cache_key="k", auth_response_headers="X-User")
        self.assertEqual(self.ask(b"anna", b"HTTP/1.1 403 X\r\nContent-Length: 0\r\n\r\n"), 403)
        self.serve(auth_cache_key="k")
        self.assertEqual(self.ask(b"anna", b"HTTP/1.1 403 X\r\nContent-Length: 0\r\n\r\n"), 403)


class RememberedTestsHttp2(RememberedTests):
    """The same over HTTP/2."""

    is_http2 = True
