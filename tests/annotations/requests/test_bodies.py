"""How large a body may be."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.contract.values import ValueRefused
from ingress.annotations.requests.bodies import BodySettings, parse_size


class SizeTests(SynchronousTestCase):
    """``proxy-body-size``."""

    def test_sizes(self) -> None:
        """A size is a number of bytes, or of KiB, MiB or GiB; 0 is no limit."""
        for text, expected in (("0", 0), ("512", 512), ("8m", 8 << 20), ("1G", 1 << 30), (" 64k ", 65536)):
            self.assertEqual(parse_size(text), expected, text)

    def test_refused(self) -> None:
        """Anything else is refused."""
        for text in ("", "m", "-1", "1.5m", "8mb", "1 m", "9" * 13, "\u0665m"):
            self.assertRaises(ValueRefused, parse_size, text)

    def test_default(self) -> None:
        """Without the annotation, a body may have 1 MiB."""
        self.assertEqual(BodySettings().max_bytes, 1024 * 1024)
