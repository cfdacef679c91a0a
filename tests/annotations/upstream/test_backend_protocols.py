"""How backends are spoken to, as annotations say it."""

from collections.abc import Callable

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.annotations import AnnotationReader
from ingress.annotations.contract.values import ValueRefused, parse_switch
from ingress.annotations.upstream.backend_protocols import (
    UNREADABLE_SECRET,
    UPSTREAMS,
    BackendProtocol,
    UpstreamSettings,
    parse_ciphers,
    parse_depth,
    parse_name,
    parse_protocol,
    parse_secret,
    parse_versions,
)
from ingress.model.cluster.objects import ObjectKey
from ingress.model.upstream.upstream_tls import TlsSettings, TlsVersion
from ingress.translate.readers.ingress.objects import Ingress

PREFIX = "nginx.ingress.kubernetes.io"
HOSTILE = ("", "\x00", "a\r\nb", "a;b", "{{x}}", "$(x)", "../../x", '"', "\u0661", "ü", "x" * 100_000)


class ValueTests(SynchronousTestCase):
    """What each annotation accepts."""

    def refused(self, parse: Callable[[str], object], *texts: str) -> None:
        """Check that *parse* refuses all of *texts*, and whatever is hostile."""
        for text in (*texts, *HOSTILE):
            self.assertRaises(ValueRefused, parse, text)

    def test_protocols(self) -> None:
        """A protocol is one of six words, in any case."""
        for text in ("HTTP", "HTTPS", "AUTO_HTTP", "GRPC", "GRPCS", "FCGI"):
            self.assertIs(parse_protocol(text), BackendProtocol(text))
            self.assertIs(parse_protocol(f" {text.lower()} "), BackendProtocol(text))
        self.refused(parse_protocol, "H2C", "AJP", "HTTPS2", "HTTP HTTPS")

    def test_switches(self) -> None:
        """A switch is on or off, and nothing else."""
        self.assertEqual([parse_switch("on"), parse_switch("off")], [True, False])
        self.refused(parse_switch, "true", "ON", "1", "o n")

    def test_secrets(self) -> None:
        """A Secret is a namespace and a name that Kubernetes allows."""
        self.assertEqual(parse_secret("demo/pair.x"), ObjectKey("demo", "pair.x"))
        self.refused(
            parse_secret, "pair", "demo/", "/pair", "demo/a/b", "demo/../x", "De/x", "demo/X", "a/b c"
        )

    def test_depths(self) -> None:
        """A depth is a small number."""
        self.assertEqual([parse_depth("0"), parse_depth("100")], [0, 100])
        self.refused(parse_depth, "-1", "101", "1.5", "1 ", "9999", "0x1")

    def test_names(self) -> None:
        """A name is a DNS name or an address; each has one spelling."""
        cases = (
            ("Web.Demo.svc.", "web.demo.svc"),
            ("a_b", "a_b"),
            ("10.0.0.1", "10.0.0.1"),
            ("FD00:0::1", "fd00::1"),
            ("1a.example", "1a.example"),
        )
        for text, expected in cases:
            self.assertEqual(parse_name(text), expected)
        self.refused(
            parse_name,
            "*.example.com",
            "a..b",
            "-a",
            "a-",
            "127.1",
            "0x7f.1",
            "a:443",
            "a b",
            "[::1]",
            "a" * 64,
        )

    def test_names_that_routes_decide(self) -> None:
        """Host and Service of a route may stand in it, and nothing that a request decides."""
        for text, expected in (
            ("$host", "${server_name}"),
            (" ${server_name} ", "${server_name}"),
            ("$service_name.$namespace.svc", "${service_name}.${namespace}.svc"),
        ):
            self.assertEqual(str(parse_name(text)), expected)
        for text in (
            "$http_host",
            "$arg_to.test",
            "$host:443",
            "$host..a",
            "${host",
            "$unknown",
            "$host/" * 9999,
        ):
            self.assertRaises(ValueRefused, parse_name, text)

    def test_versions(self) -> None:
        """Versions are those of today; a list with an older one is refused as a whole."""
        old, new = TlsVersion.TLS_1_2, TlsVersion.TLS_1_3
        for text, expected in (
            ("TLSv1.2", (old,)),
            ("TLSv1.3", (new,)),
            ("TLSv1.3  TLSv1.2 TLSv1.3", (old, new)),
        ):
            self.assertEqual(parse_versions(text), expected)
        self.refused(parse_versions, "SSLv3", "TLSv1 TLSv1.2", "TLSv1.1", "TLSv1.2,TLSv1.3", "tlsv1.2", "1.2")

    def test_ciphers(self) -> None:
        """Ciphers are OpenSSL's, but none without secrecy or identity, or with large numbers of a server's choice, comes in by them."""
        for text in ("DEFAULT", "HIGH:!aNULL:!MD5", "ECDHE-RSA-AES128-GCM-SHA256", "HIGH+kRSA"):
            self.assertEqual(parse_ciphers(text), f"{text}:!aNULL:!eNULL:!DHE")
        self.refused(
            parse_ciphers,
            "DHE-RSA-AES256-GCM-SHA384",
            "kDHE",
            "aNULL",
            "eNULL",
            "NOSUCH",
            "HIGH@SECLEVEL=0",
            "@SECLEVEL=0:ALL",
        )


class SettingsTests(SynchronousTestCase):
    """What becomes of the annotations of one Ingress."""

    def read(self, **annotations: str) -> tuple[UpstreamSettings, list[str]]:
        """Read annotations whose names have underscores for hyphens; return the messages, too."""
        named = {f"{PREFIX}/{name.replace('_', '-')}": value for name, value in annotations.items()}
        settings, problems = AnnotationReader(PREFIX).read(
            Ingress(ObjectKey("demo", "web"), annotations=named)
        )
        return settings.of(UPSTREAMS), [problem.message for problem in problems]

    def test_default(self) -> None:
        """Without annotations nothing is asked; over TLS nothing is verified, and 1.2 is the oldest version."""
        settings, problems = self.read()
        self.assertEqual((settings.asked, problems), (None, []))
        self.assertEqual(settings.tls_settings, TlsSettings())
        self.assertEqual((TlsSettings().verify, min(TlsSettings().versions)), (False, TlsVersion.TLS_1_2))

    def test_old_spelling(self) -> None:
        """``secure-backends`` means HTTPS, unless the new annotation says what is meant."""
        self.assertIs(self.read(secure_backends="true")[0].asked, BackendProtocol.HTTPS)
        self.assertIsNone(self.read(secure_backends="false")[0].asked)
        both = self.read(secure_backends="true", backend_protocol="AUTO_HTTP")[0]
        self.assertIs(both.asked, BackendProtocol.AUTO_HTTP)

    def test_all(self) -> None:
        """Each annotation fills its part of the settings."""
        settings, problems = self.read(
            proxy_ssl_secret="demo/pair",
            proxy_ssl_verify="on",
            proxy_ssl_verify_depth="2",
            proxy_ssl_name="web.svc",
            proxy_ssl_server_name="on",
            proxy_ssl_protocols="TLSv1.3",
            proxy_ssl_ciphers="HIGH",
        )
        self.assertEqual(problems, [])
        self.assertEqual(settings.secret, ObjectKey("demo", "pair"))
        expected = TlsSettings(True, 2, "web.svc", True, (TlsVersion.TLS_1_3,), "HIGH:!aNULL:!eNULL:!DHE")
        self.assertEqual(settings.tls_settings, expected)

    def test_verified_without_secret(self) -> None:
        """ingress-nginx verifies only with a Secret: who moves is told, where TLS is spoken at all."""
        for protocol in ("HTTPS", "GRPCS"):
            _, (told,) = self.read(proxy_ssl_verify="on", backend_protocol=protocol)
            self.assertIn("proxy-ssl-verify: without proxy-ssl-secret", told)
        for some in (
            {"proxy_ssl_verify": "on"},
            {"proxy_ssl_verify": "off", "backend_protocol": "HTTPS"},
            {"proxy_ssl_verify": "on", "backend_protocol": "HTTPS", "proxy_ssl_secret": "demo/pair"},
        ):
            self.assertEqual(self.read(**some)[1], [], some)

    def test_refused_is_never_less_safe(self) -> None:
        """What cannot be read of verification, Secret and old spelling does not turn them off."""
        settings, problems = self.read(proxy_ssl_verify="yes", proxy_ssl_secret="pair", secure_backends="yes")
        expected = evolve(UpstreamSettings(), verify=True, secret=UNREADABLE_SECRET, secure_backends=True)
        self.assertEqual(settings, expected)
        told = " ".join(problems)
        for instead in ("certificates are verified", "over TLS answer 503", "HTTPS is spoken"):
            self.assertIn(instead, told)
