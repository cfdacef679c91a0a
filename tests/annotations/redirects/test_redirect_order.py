"""What comes before a redirect: as in nginx, the statements of a server and of a path, and what browsers ask beforehand."""

from tests.annotations.served_case import ServedCase
from tests.proxy.playing import OK
from tests.translate.tls.test_client_authentication import ingress

ORIGIN = (b"Origin", b"https://a.test")
PREFLIGHT = (ORIGIN, (b"Access-Control-Request-Method", b"PUT"))


class BeforeRedirectsTests(ServedCase):
    """Requests that a redirect stands before, and somebody else answers."""

    def status(self, target: bytes = b"/x") -> int:
        """Return the status that a GET over plain HTTP is answered with."""
        return self.get(target=target).heard().status

    def passed(self, target: bytes) -> bytes:
        """Return what the endpoint is asked for."""
        asking = self.get(target=target)
        heard = self.upstream().take()
        self.upstream().say(OK)
        self.assertEqual(asking.heard().status, 200)
        return heard.split(b" ")[1]

    def test_locations(self) -> None:
        """A ``location`` of the server answers at its path, such as a check of health over plain HTTP; all else is redirected."""
        for redirect, status in (
            ({"force_ssl_redirect": "true"}, 308),
            ({"permanent_redirect": "https://b.test$request_uri"}, 301),
        ):
            self.annotate(server_snippet="location = /healthz { return 200 up; }", **redirect)
            self.assertEqual((self.status(b"/healthz"), self.status()), (200, status))
            self.assert_upstreams(0)

    def test_access_of_locations(self) -> None:
        """So does one that lets nobody in, or not this client; in nginx a redirect is none of its statements."""
        for redirect, status in (
            ({"force_ssl_redirect": "true"}, 308),
            ({"permanent_redirect": "https://b.test"}, 301),
        ):
            self.annotate(server_snippet="location ~ /[.]git { deny all; }", **redirect)
            self.assertEqual((self.status(b"/.git/config"), self.status(b"/git")), (403, status))
            self.annotate(
                server_snippet="location /admin { if ($arg_a) { return 410; } allow 10.0.0.9; deny all; }",
                configuration_snippet='more_set_headers "X-Path: 1";',
                **redirect,
            )
            heard = self.get(target=b"/admin").heard()
            self.assertEqual((heard.status, heard.all(b"x-path")), (403, []))
            self.assertEqual((self.status(b"/admin?a=b"), self.status(b"/x")), (410, status))
            self.annotate(server_snippet="location /admin { allow all; }", **redirect)
            self.assertEqual(self.status(b"/admin"), status)
            self.assert_upstreams(0)

    def test_statements(self) -> None:
        """So do statements of the server and of the path whose condition holds."""
        for snippet in ("server_snippet", "configuration_snippet"):
            for redirect, status in (
                ({"force_ssl_redirect": "true"}, 308),
                ({"temporal_redirect": "https://b.test"}, 302),
            ):
                self.annotate(**{snippet: "if ($arg_a = b) { return 410; }"}, **redirect)
                self.assertEqual((self.status(b"/x?a=b"), self.status()), (410, status), snippet)

    def test_preflights(self) -> None:
        """Browsers follow no redirect of what they ask beforehand, so that is answered here; what they ask then is redirected."""
        for redirect, status in (
            ({"force_ssl_redirect": "true"}, 308),
            ({"permanent_redirect": "https://b.test"}, 301),
            ({"configuration_snippet": "return 307 https://b.test;"}, 307),
        ):
            self.annotate(enable_cors="true", cors_allow_origin="https://a.test", **redirect)
            self.assertEqual(self.get(method=b"OPTIONS", fields=PREFLIGHT).heard().status, 204)
            heard = self.get(fields=(ORIGIN,)).heard()
            self.assertEqual(heard.status, status)
            self.assertEqual(heard.all(b"access-control-allow-origin"), [b"https://a.test"])

    def test_preflights_by_hand(self) -> None:
        """Who answers them in a snippet besides has no field twice."""
        self.annotate(
            enable_cors="true",
            configuration_snippet="if ($request_method = OPTIONS) { add_header Access-Control-Allow-Origin *; return 200; }",
        )
        heard = self.get(method=b"OPTIONS", fields=PREFLIGHT).heard()
        self.assertEqual((heard.status, heard.all(b"access-control-allow-origin")), (204, [b"*"]))

    def test_break(self) -> None:
        """``break`` ends the statements of the path: then nothing is redirected elsewhere, and the path stays, but HTTPS is insisted on."""
        ends = "if ($arg_a = b) { break; }"
        for redirect, status in (
            ({"permanent_redirect": "https://b.test"}, 301),
            ({"temporal_redirect": "https://b.test$request_uri"}, 302),
            ({"rewrite_target": "https://b.test/"}, 302),
        ):
            self.annotate(configuration_snippet=ends, **redirect)
            self.assertEqual(self.status(b"/x"), status, redirect)
            name = "rewrite-redirect" if "rewrite_target" in redirect else "redirect"
            self.assertEqual(self.stage.metrics.records[-1].filter, name)
            self.assertEqual(self.passed(b"/x?a=b"), b"/x?a=b")
        self.annotate(configuration_snippet=ends, rewrite_target="/new")
        self.assertEqual((self.passed(b"/x"), self.passed(b"/x?a=b")), (b"/new", b"/x?a=b"))
        self.annotate(configuration_snippet="rewrite ^/x /y break;", permanent_redirect="https://b.test")
        self.assertEqual((self.passed(b"/x"), self.status(b"/z")), (b"/y", 301))
        self.annotate(configuration_snippet=ends, force_ssl_redirect="true")
        self.assertEqual(self.status(b"/x?a=b"), 308)

    def test_break_of_the_server(self) -> None:
        """That of a server ends the server's alone."""
        self.annotate(server_snippet="break;", permanent_redirect="https://b.test")
        self.assertEqual(self.status(), 301)
        self.annotate(
            server_snippet="location /x { break; }",
            configuration_snippet="if ($arg_a) { break; }",
            permanent_redirect="https://b.test",
        )
        self.assertEqual(self.status(), 301)

    def test_rewrite_to_elsewhere(self) -> None:
        """A redirect comes before a rewrite that is one, and that before HTTPS."""
        self.annotate(permanent_redirect="https://b.test/", rewrite_target="https://c.test/")
        heard = self.get().heard()
        self.assertEqual((heard.status, heard.all(b"location")), (301, [b"https://b.test/"]))
        self.annotate(force_ssl_redirect="true", rewrite_target="https://c.test/")
        heard = self.get().heard()
        self.assertEqual((heard.status, heard.all(b"location")), (302, [b"https://c.test/"]))

    def test_root(self) -> None:
        """The way to the application comes before what its paths do, as it is the server's."""
        self.annotate(app_root="/app", configuration_snippet="return 410;")
        self.assertEqual((self.status(b"/"), self.status(b"/app")), (302, 410))

    def test_root_behind_the_server(self) -> None:
        """What the server decides comes before that, such as whom it turns away."""
        self.annotate(app_root="/app", server_snippet="if ($arg_a = b) { return 410; }")
        self.assertEqual((self.status(b"/?a=b"), self.status(b"/")), (410, 302))

    def test_slashes(self) -> None:
        """A path that lacks its slash is sent on before what the path itself does, of which the server's statements alone are none."""
        for annotations, status, of_server in (
            ({"configuration_snippet": "return 410;"}, 410, 301),
            ({"enable_cors": "true", "cors_allow_origin": "https://a.test"}, 204, 301),
            ({"server_snippet": "return 410;"}, 410, 410),
        ):
            self.serve(ingress("web", "/docs/", host="shop.test", **annotations))
            for target, expected in ((b"/docs", of_server), (b"/docs/", status)):
                heard = self.get(method=b"OPTIONS", target=target, fields=PREFLIGHT).heard()
                self.assertEqual(heard.status, expected, (annotations, target))

    def test_slashes_before_redirects(self) -> None:
        """So it is before a redirect elsewhere, which then has the path with its slash; HTTPS, where that leads to the same, comes first."""
        self.serve(
            ingress("web", "/docs/", host="shop.test", permanent_redirect="https://b.test$request_uri")
        )
        for target, location in (
            (b"/docs?a=b", b"http://shop.test/docs/?a=b"),
            (b"/docs/?a=b", b"https://b.test/docs/?a=b"),
        ):
            self.assertEqual(self.get(target=target).heard().all(b"location"), [location])
        self.serve(ingress("web", "/docs/", host="shop.test", force_ssl_redirect="true"))
        self.assertEqual(self.get(target=b"/docs").heard().all(b"location"), [b"https://shop.test/docs"])
