"""What endpoints of FastCGI are told: annotations, ConfigMaps and variables."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.annotations import AnnotationReader, AnnotationSettings
from ingress.annotations.contract.host_facts import HostFacts
from ingress.annotations.contract.references import Found
from ingress.annotations.contract.route_facts import RouteFacts
from ingress.annotations.contract.values import ValueRefused
from ingress.annotations.upstream.backend_protocols import UPSTREAMS, BackendProtocol, UpstreamSettings
from ingress.annotations.upstream.fastcgi import (
    MOST_PARAMS,
    MOST_VARIABLES,
    OWN_VARIABLES,
    UNREADABLE_CONFIG_MAP,
    USUAL_PARAMS,
    FastCgiClosed,
    FastCgiParams,
    FastCgiSettings,
    fastcgi_contents,
    fastcgi_filters,
    fastcgi_references,
    parse_index,
    script_values,
)
from ingress.filters import Facts
from ingress.model.cluster.objects import Kind, ObjectKey, Owner
from ingress.model.cluster.problems import Reason
from ingress.model.upstream.backends import BackendReference
from ingress.translate.readers.ingress.objects import Ingress
from tests.fakes.filter_parts import FakeEdit, FakeFacts, FakeServices

PREFIX = "nginx.ingress.kubernetes.io"
OWNER = Owner(Kind.INGRESS, ObjectKey("shop", "site"))
PHP = ObjectKey("shop", "php")
SETTINGS = FastCgiSettings("index.php", ObjectKey("", "php"))


def route(found: Found) -> RouteFacts:
    """Return the facts of a route of the Ingress, with what was *found*."""
    return RouteFacts(HostFacts("shop.test"), OWNER, "/", BackendReference("shop", "web", 9000), found)


def content(**params: str) -> Found:
    """Return a ConfigMap with *params*."""
    return Found({}, {PHP: params})


def told(
    found: Found, facts: FakeFacts, target: bytes | None = None, settings: FastCgiSettings = SETTINGS
) -> dict[bytes, bytes]:
    """Return what an endpoint is told of a request, whose target may have been rewritten."""
    (spec,) = fastcgi_filters(settings, route(found))
    edit = FakeEdit(target=facts.target if target is None else target)
    spec.make(FakeServices()).on_upstream(facts, edit)
    assert edit.told is not None
    return dict(edit.told.params)


class ValueTests(SynchronousTestCase):
    """What the annotations accept."""

    def test_index(self) -> None:
        """An index is the name of a file, and nothing that a path or a variable could come of."""
        for text in ("index.php", "app/index.php", "main-2.fcgi"):
            self.assertEqual(parse_index(text), text)
        for text in ("", "a b", "$uri", "a?b", "a#b", "a%2f", "a\\b", "a\nb", "ü", "x" * 257):
            self.assertRaises(ValueRefused, parse_index, text)


class ParamTests(SynchronousTestCase):
    """What is told."""

    def test_usual(self) -> None:
        """Without a word of the Ingress, it is what nginx's file has."""
        facts = FakeFacts(
            scheme=b"https", host=b"shop.test", path=b"/a/", target=b"/a/?x=1", method=b"POST", port=443,
            client_port=5, server_address=b"10.0.0.9", protocol=b"HTTP/2.0", body_length=7,
            fields={b"content-type": b"a/b"},
        )  # fmt: skip
        self.assertEqual(
            told(content(), facts),
            {
                b"QUERY_STRING": b"x=1", b"REQUEST_METHOD": b"POST", b"CONTENT_TYPE": b"a/b", b"CONTENT_LENGTH": b"7",
                b"SCRIPT_NAME": b"/a/index.php", b"REQUEST_URI": b"/a/?x=1", b"DOCUMENT_URI": b"/a/",
                b"DOCUMENT_ROOT": b"/usr/local/nginx/html", b"SERVER_PROTOCOL": b"HTTP/2.0", b"REQUEST_SCHEME": b"https",
                b"HTTPS": b"on", b"GATEWAY_INTERFACE": b"CGI/1.1", b"SERVER_SOFTWARE": b"nginx/1.27.1",
                b"REMOTE_ADDR": b"192.0.2.1", b"REMOTE_PORT": b"5", b"SERVER_ADDR": b"10.0.0.9", b"SERVER_PORT": b"443",
                b"SERVER_NAME": b"shop.test", b"REDIRECT_STATUS": b"200",
            },
        )  # fmt: skip
        self.assertEqual(len(USUAL_PARAMS), 19)

    def test_https_is_told_where_it_is(self) -> None:
        """HTTPS is not told without TLS, as nginx has it; others are told without a value."""
        found = told(content(), FakeFacts())
        self.assertNotIn(b"HTTPS", found)
        self.assertEqual((found[b"QUERY_STRING"], found[b"REMOTE_PORT"]), (b"", b""))

    def test_own(self) -> None:
        """Params of the ConfigMap come over those, and may hold variables, line ends and nothing."""
        found = told(
            content(
                SCRIPT_FILENAME="/app$fastcgi_script_name", SERVER_NAME="$host", PHP_VALUE="a=1\nb=2", HTTP_PROXY="",
                MINE="$namespace/$ingress_name ${server_name}:$service_port$fastcgi_path_info", DOCUMENT_ROOT="/app",
                FILE="$request_filename $realpath_root", CONTENT_LENGTH="$content_length",
            ),
            FakeFacts(path=b"/x.php", target=b"/x.php"),
        )  # fmt: skip
        self.assertEqual(found[b"SCRIPT_FILENAME"], b"/app/x.php")
        self.assertEqual(found[b"SERVER_NAME"], b"a.example.com")
        self.assertEqual((found[b"PHP_VALUE"], found[b"HTTP_PROXY"]), (b"a=1\nb=2", b""))
        self.assertEqual(found[b"MINE"], b"shop/site shop.test:9000")
        self.assertEqual(found[b"DOCUMENT_ROOT"], b"/app")
        self.assertEqual(found[b"FILE"], b"/usr/local/nginx/html/x.php /usr/local/nginx/html")

    def test_rewritten(self) -> None:
        """Where the target was rewritten, the script is that of the new one, decoded, and REQUEST_URI is what came."""
        facts = FakeFacts(path=b"/old/a", target=b"/old/a?x=1")
        found = told(content(), facts, b"/new%20x/?y=2")
        self.assertEqual(found[b"SCRIPT_NAME"], b"/new x/index.php")
        self.assertEqual((found[b"QUERY_STRING"], found[b"REQUEST_URI"]), (b"y=2", b"/old/a?x=1"))

    def test_paths(self) -> None:
        """A path is told decoded and with its parameters, and holds nothing that could end a line."""
        for target, path, script in (
            (b"/a%20b.php", b"/a b.php", b"/a b.php"),
            (b"/a.php;v=1", b"/a.php", b"/a.php;v=1"),
            (b"/a%0D%0Ab", b"/a\r\nb", b"/a%0D%0Ab"),
            (b"/", b"/", b"/index.php"),
            (b"/a/../b/", b"/b/", b"/b/index.php"),
            (b"*", b"*", b"*"),
        ):
            facts = FakeFacts(path=path, target=target)
            self.assertEqual(
                script_values(facts, target, b"index.php")["fastcgi_script_name"], script, target
            )
        self.assertEqual(script_values(FakeFacts(), b"/", b"").keys(), OWN_VARIABLES)

    def test_bodies(self) -> None:
        """A body without a length is held, and answered with 411 if it is not whole then; others are not asked about."""
        made = FastCgiParams().make(FakeServices())
        self.assertTrue(made.asks_unsized and made.holds_body)
        held: Facts = FakeFacts(body=b"abc", body_length=None)
        self.assertIsNone(made.on_request(held))
        self.assertEqual(script_values(held, b"/", b"")["content_length"], b"3")
        reply = made.on_request(FakeFacts(body_length=None, is_body_whole=False))
        self.assertEqual(getattr(reply, "status", None), 411)


class ConfigMapTests(SynchronousTestCase):
    """ConfigMaps, and what is wrong with them."""

    def remarks(self, **params: str) -> list[tuple[Reason, str]]:
        """Return what is told of *params*."""
        found = fastcgi_contents(SETTINGS, OWNER.key, content(**params))
        return [(one.reason, one.message) for one in found]

    def test_named(self) -> None:
        """A ConfigMap is of the own namespace unless another is named."""
        for named, key in ((ObjectKey("", "php"), PHP), (ObjectKey("b", "c"), ObjectKey("b", "c"))):
            (reference,) = fastcgi_references(FastCgiSettings(config_map=named), OWNER.key)
            self.assertEqual((reference.kind, reference.key), (Kind.CONFIG_MAP, key))
        for none in (None, UNREADABLE_CONFIG_MAP):
            self.assertEqual(list(fastcgi_references(FastCgiSettings(config_map=none), OWNER.key)), [])

    def test_missing(self) -> None:
        """Where it is missing, or cannot be read, the route answers 503."""
        for settings in (SETTINGS, FastCgiSettings(config_map=UNREADABLE_CONFIG_MAP)):
            (spec,) = fastcgi_filters(settings, route(Found()))
            self.assertEqual(spec, FastCgiClosed())
            reply = spec.make(FakeServices()).on_request(FakeFacts())
            self.assertEqual(getattr(reply, "status", None), 503)

    def test_fine(self) -> None:
        """Of what is fine nothing is told."""
        self.assertEqual(
            self.remarks(SCRIPT_FILENAME="/a$fastcgi_script_name", CONTENT_LENGTH="$content_length"), []
        )

    def test_told(self) -> None:
        """What cannot be a param is told with its name and the ConfigMap's, and not sent."""
        for params, why in (
            ({"A": "$nothing"}, "the value of A holds the variable $nothing, which is not known here"),
            ({"A": "${host"}, "the value of A holds a ${"),
            ({"A": "x\0"}, "the value of A holds a control character"),
            ({"A": "x" * 5000}, "the value of A is longer than 4096 characters"),
            ({"CONTENT_LENGTH": "5"}, "CONTENT_LENGTH is the proxy's own"),
            ({"A B": "x"}, '"A B" is no name of a param'),
            ({"A": "$status"}, "the value of A holds the variable $status"),
        ):
            ((reason, message),) = self.remarks(SCRIPT_FILENAME="/a", **params)
            self.assertEqual(reason, Reason.INVALID_ANNOTATION)
            self.assertIn(f"ConfigMap shop/php: {why}", message)
            found = told(content(SCRIPT_FILENAME="/a", **params), FakeFacts())
            self.assertNotIn(b"A", found)
            self.assertEqual(found[b"CONTENT_LENGTH"], b"")
            self.assertEqual(found[b"SCRIPT_FILENAME"], b"/a")

    def test_too_many(self) -> None:
        """Of very many params some are told, and it is said that the others are not."""
        params = {f"P{number:03}": "x" for number in range(MOST_PARAMS + 5)}
        told_of = [message for _, message in self.remarks(**params)]
        self.assertTrue(any("more than 128 params" in message for message in told_of))
        self.assertEqual(
            sum(name.startswith((b"P0", b"P1")) for name in told(content(**params), FakeFacts())),
            MOST_PARAMS,
        )

    def test_too_many_variables(self) -> None:
        """Of params with very many variables, which a request may make megabytes of, some are told, and it is said which are not."""
        params = {f"P{number}": "$request_uri" * 16 for number in range(6)} | {
            "SCRIPT_FILENAME": "/a",
            "Q": "/b",
        }
        messages = [message for _, message in self.remarks(**params)]
        self.assertEqual(len(messages), 1)
        for name in ("P4", "P5"):
            self.assertIn(
                f"with the value of {name} there would be more than {MOST_VARIABLES} variables", messages[0]
            )
        found = told(content(**params), FakeFacts())
        self.assertEqual({name for name in found if name[:1] == b"P"}, {b"P0", b"P1", b"P2", b"P3"})
        self.assertEqual((found[b"SCRIPT_FILENAME"], found[b"Q"]), (b"/a", b"/b"))

    def test_no_script(self) -> None:
        """That PHP-FPM needs a script is said where there is none."""
        ((reason, message),) = self.remarks(A="b")
        self.assertEqual(reason, Reason.ANNOTATION_NOTE)
        self.assertIn("no SCRIPT_FILENAME", message)


class FamilyTests(SynchronousTestCase):
    """The annotations of an Ingress together."""

    def read(self, **annotations: str) -> tuple[AnnotationSettings, list[str]]:
        """Return what *annotations* ask for, and what is told of them."""
        named = {f"{PREFIX}/{name.replace('_', '-')}": value for name, value in annotations.items()}
        ingress = Ingress(OWNER.key, annotations=named)
        settings, problems = AnnotationReader(PREFIX).read(ingress)
        return settings, [problem.message for problem in problems]

    def test_all(self) -> None:
        """All three are honored together."""
        settings, messages = self.read(
            backend_protocol="FCGI", fastcgi_index="index.php", fastcgi_params_configmap="php"
        )
        self.assertEqual(messages, [])
        self.assertEqual(settings.of(UPSTREAMS).fastcgi, SETTINGS)

    def test_operator(self) -> None:
        """Connections are kept where the operator says so."""
        asked = UpstreamSettings(BackendProtocol.FCGI, fastcgi_keeps=True).fastcgi
        assert asked is not None
        (spec,) = fastcgi_filters(asked, route(Found()))
        edit = FakeEdit(target=b"/")
        spec.make(FakeServices()).on_upstream(FakeFacts(), edit)
        assert edit.told is not None
        self.assertTrue(edit.told.keeps_connection)

    def test_other_protocols(self) -> None:
        """Beside another protocol they do nothing, and that is told."""
        settings, messages = self.read(
            backend_protocol="HTTP", fastcgi_index="index.php", fastcgi_params_configmap="php"
        )
        reader = AnnotationReader(PREFIX)
        self.assertEqual(reader.filters(settings, route(Found())), ())
        self.assertEqual(reader.references(settings, OWNER.key), ())
        self.assertEqual(
            len([one for one in messages if "no effect without backend-protocol: FCGI" in one]), 2
        )
