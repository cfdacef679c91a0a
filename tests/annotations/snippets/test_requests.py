"""What snippets do to requests on their way to endpoints."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.contract.snippet_blocks import RequestField
from ingress.annotations.nginx.reading import Place, parse_snippet
from tests.annotations.snippets.playing import Stage, on, sent
from tests.fakes.filter_parts import FakeEdit


class ProxySetHeaderTests(SynchronousTestCase):
    """``proxy_set_header``."""

    def test_set(self) -> None:
        """A field is sent once, with variables put in; one that comes to nothing is not sent."""
        text = "proxy_set_header X-A a; proxy_set_header X-User $http_x_user; proxy_set_header Cookie '';"
        stage = Stage(text)
        self.assertEqual(
            stage.play(on("/", x_user=b"ann")).request.fields, [(b"X-A", b"a"), (b"X-User", b"ann")]
        )
        self.assertEqual(stage.play().request.fields, [(b"X-A", b"a")])

    def test_host(self) -> None:
        """Host is what is asked for; what a variable has that is no host changes nothing."""
        stage = Stage("proxy_set_header Host $http_x_host;")
        self.assertEqual(stage.play(on("/", x_host=b"b.test:8080")).request.authority, b"b.test:8080")
        for value in (b"", b"a b", b"a/b", b"a\tb"):
            self.assertIsNone(stage.play(on("/", x_host=value)).request.authority, value)
        self.assertEqual(Stage("proxy_set_header Host web.$namespace;").play().request.authority, b"web.demo")

    def test_what_the_proxy_says_anyway(self) -> None:
        """What is sent in any case, and what WebSockets need, changes nothing."""
        text = """
            proxy_set_header Host $http_host;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection "upgrade";
            proxy_set_header Connection $connection_upgrade;
            proxy_set_header X-Real-IP $remote_addr;
            proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
            proxy_set_header X-Request-ID $req_id;
        """
        self.assertEqual(Stage(text).play().request, FakeEdit())

    def test_grpc(self) -> None:
        """grpc_set_header is for requests of gRPC, as service meshes have it beside proxy_set_header."""
        value = "$service_name.$namespace.svc.cluster.local:$service_port"
        stage = Stage(
            f"proxy_set_header A {value}; grpc_set_header G {value}; proxy_hide_header l5d-server-id;"
        )
        sent_to = (b"A", b"web.demo.svc.cluster.local:80")
        self.assertEqual(stage.play().request.fields, [sent_to])
        called = stage.play(on("/", content_type=b"application/grpc+proto"))
        self.assertEqual(called.request.fields, [sent_to, (b"G", sent_to[1])])

    def test_values_that_cannot_be_had(self) -> None:
        """A field whose value is refused is taken away, so that no visitor says it in its place."""
        for text in (
            "proxy_set_header X-User $ssl_client_raw_cert;",
            "more_set_input_headers 'X-User: $ssl_client_raw_cert';",
        ):
            snippet = parse_snippet(text, Place.LOCATION)
            self.assertEqual(snippet.block.level.inputs, (RequestField(b"x-user"),))
            self.assertIn("so that nobody's is sent", snippet.findings[0].message)

    def test_around_the_path(self) -> None:
        """In a server it has no effect, as in ingress-nginx, whose paths have their own."""
        self.assertEqual(Stage(server="proxy_set_header X a;").play().request, FakeEdit())
        self.assertEqual(
            Stage(operators_location="proxy_set_header X a;").play().request.fields, [(b"X", b"a")]
        )


class MoreInputHeadersTests(SynchronousTestCase):
    """``more_set_input_headers`` and ``more_clear_input_headers``."""

    def test_set_and_clear(self) -> None:
        """Fields are set, or cleared by name or beginning."""
        self.assertEqual(
            sent('more_set_input_headers "X: $arg_a" "Y: y";', on("/?a=1")), [(b"X", b"1"), (b"Y", b"y")]
        )
        stage = Stage("more_set_input_headers 'X-A: 1' 'X-B: 2' 'Z: 3'; more_clear_input_headers 'X-*';")
        self.assertEqual(stage.play().request.fields, [(b"Z", b"3")])

    def test_conditions(self) -> None:
        """-r is for fields that are there, -t for content types."""
        text = "more_set_input_headers 'A: 1'; more_set_input_headers -r 'A: 2' 'B: 2';"
        self.assertEqual(sent(text), [(b"A", b"2")])
        text = 'more_set_input_headers -t "text/css" "X: css";'
        self.assertEqual(sent(text, on("/", content_type=b"text/css; a=b")), [(b"X", b"css")])
        self.assertEqual(sent(text, on("/", content_type=b"text/html")), [])

    def test_order(self) -> None:
        """What stands around comes first, and the level within has the last word."""
        stage = Stage(
            "more_set_input_headers 'X: here';", server="more_set_input_headers 'X: server' 'Y: server';"
        )
        self.assertEqual(dict(stage.play().request.fields), {b"X": b"here", b"Y": b"server"})
