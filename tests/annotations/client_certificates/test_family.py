"""What the annotations about client certificates may say."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.annotations import AnnotationReader
from ingress.annotations.client_certificates.common_names import NOBODY
from ingress.annotations.client_certificates.family import (
    CLIENT_CERTIFICATES,
    NO_SECRET,
    ClientCertificateSettings,
    parse_depth,
    parse_error_page,
    parse_mode,
    secret_asked,
)
from ingress.annotations.contract.values import ValueRefused
from ingress.model.cluster.objects import ObjectKey
from ingress.model.requests.client_authentication import VerifyClient
from ingress.translate.readers.ingress.objects import Ingress

PREFIX = "nginx.ingress.kubernetes.io"


def read(**annotations: str) -> ClientCertificateSettings:
    """Read annotations; an underscore stands for a dash."""
    written = {f"{PREFIX}/auth-tls-{name.replace('_', '-')}": value for name, value in annotations.items()}
    ingress = Ingress(ObjectKey("demo", "web"), annotations=written)
    return AnnotationReader(PREFIX).read(ingress)[0].of(CLIENT_CERTIFICATES)


class ValueTests(SynchronousTestCase):
    """Each value by itself."""

    def test_mode(self) -> None:
        """There are four words, and no other spelling of them; what a Gateway asks for has none."""
        found = [parse_mode(text) for text in ("on", "optional", "optional_no_ca", "off")]
        modes = [VerifyClient.REQUIRED, VerifyClient.OPTIONAL, VerifyClient.OPTIONAL_NO_CA]
        self.assertEqual(found, [*modes, None])
        others = (one.value for one in VerifyClient if one not in modes)
        for text in ("", "On", "true", "optional no_ca", "no", *others):
            with self.assertRaises(ValueRefused):
                parse_mode(text)

    def test_depth(self) -> None:
        """A depth is a small number, at least one."""
        self.assertEqual([parse_depth(text) for text in ("1", "16")], [1, 16])
        for text in ("", "0", "-1", "17", "1.5", "٣", "1" * 9):
            with self.assertRaises(ValueRefused):
                parse_depth(text)

    def test_error_page(self) -> None:
        """An error page is an absolute URL that ends no header field and reads no variable."""
        for text in ("https://www.test/help?x=1&y=%20", "http://10.0.0.1:8080", "https://[2001:db8::1]/"):
            self.assertEqual(parse_error_page(text), text.encode())
        for text in (
            "/help",
            "//www.test/",
            "www.test",
            "javascript:alert(1)",
            "https://",
            "https://user@www.test/",
            "https://www.test/\r\nX: 1",
            "https://www.test/$host",
            "https://www.test/ x",
            "https://www.test/#a",
            'https://www.test/"',
            "https://www.test/" + "a" * 3000,
        ):
            with self.assertRaises(ValueRefused, msg=text):
                parse_error_page(text)


class SettingsTests(SynchronousTestCase):
    """What an Ingress asks for, and what becomes of it if it cannot be read."""

    def test_everything(self) -> None:
        """All annotations fill their settings."""
        found = read(
            secret="demo/ca",
            verify_client="optional",
            verify_depth="3",
            pass_certificate_to_upstream="true",
            error_page="https://www.test/",
        )
        self.assertEqual(
            found,
            ClientCertificateSettings(
                ObjectKey("demo", "ca"), VerifyClient.OPTIONAL, 3, True, None, b"https://www.test/"
            ),
        )

    def test_refused_values_open_nothing(self) -> None:
        """What cannot be read leaves the strict default, or keeps everybody out."""
        found = read(
            secret="demo/../ca", verify_client="of", verify_depth="0", match_cn="(a+)+", error_page="x"
        )
        self.assertEqual(found.secret, NO_SECRET)
        self.assertEqual((found.mode, found.depth, found.error_page), (VerifyClient.REQUIRED, 1, b""))
        self.assertEqual(found.common_names, NOBODY)

    def test_only_secrets_of_the_own_namespace(self) -> None:
        """A Secret is asked for in the namespace of the Ingress, and in no other."""
        ingress = ObjectKey("demo", "web")
        for secret, asked in (
            ("demo/ca", ObjectKey("demo", "ca")),
            ("ca", ObjectKey("demo", "ca")),
            ("other/ca", None),
            ("..", None),
            ("", None),
        ):
            self.assertEqual(secret_asked(ingress, read(secret=secret)), asked)
