"""Tests for ``ingress.model.requests.decoded_paths``."""

from hypothesis import given
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.requests.decoded_paths import decoded_path
from ingress.routing.paths import PathError, normal_path
from tests.fakes.counting import calls
from tests.routing.test_paths import RAW_PATHS, elements


class DecodedPathTests(SynchronousTestCase):
    """What normal forms leave out is there."""

    def test_what_is_left_out(self) -> None:
        """Parameters, and what follows an escaped question mark or hash, stay where they were; all else is as in the normal form."""
        for raw, whole in (
            (b"/a/b", b"/a/b"),
            (b"/a%20b//c/./d", b"/a b/c/d"),
            (b"/tags/C%23", b"/tags/C#"),
            (b"/a/what%3fnow/", b"/a/what?now/"),
            (b"/a/../b%3Bc", b"/b;c"),
            (b"/x/../a;v=1//b;w/", b"/a;v=1/b;w/"),
            (b"/;jsessionid=1", b"/;jsessionid=1"),
            (b"/a/.;x/b;", b"/a/b;"),
            (b"/a;b/.", b"/a;b/"),
            (b"/./%2e;", b"/"),
            (b"/100%25%23", b"/100%#"),
        ):
            self.assertEqual(decoded_path(normal_path(raw), raw + b"?a;b#c"), whole, raw)

    def test_calls(self) -> None:
        """What is empty costs nothing, and what is kept one call, however many there are."""
        for raw in (b"/" * 8000 + b"a;", b"/x" + b"/;" * 3000):
            path = normal_path(raw)
            self.assertLess(calls(lambda: decoded_path(path, raw)), raw.count(b";") + 20)  # noqa: B023 - it is called at once

    @given(RAW_PATHS)
    def test_no_other_path(self, raw: bytes) -> None:
        """Without what is left out it is the normal form, but for segments that are nothing else."""
        try:
            normal = normal_path(raw)
        except PathError:
            return
        whole = decoded_path(normal, raw)
        self.assertEqual(whole[:1], b"/")
        self.assertFalse({b".", b".."} & set(elements(whole)))
        left = [one.partition(b";")[0].partition(b"?")[0].partition(b"#")[0] for one in elements(whole)]
        self.assertEqual([one for one in left if one], elements(normal))
