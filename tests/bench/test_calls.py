"""That a GET calls no more functions than it did, in a controller as it runs."""

from functools import cache

from twisted.trial.unittest import SynchronousTestCase

from bench.calls import Measured, measure_all


@cache
def measured() -> dict[str, Measured]:
    """Measure once, for all tests here."""
    return {each.conversation.title: each for each in measure_all(rounds=9)}


class CallTests(SynchronousTestCase):
    """Calls of a GET whose route asks for nothing but a backend."""

    def check(self, title: str, **most: int) -> None:
        """Fail if a figure of *title* is above what it may be *most*, and show all calls then."""
        found = measured()[title]
        figures = found.figures()
        for name, bound in most.items():
            self.assertLessEqual(figures[name], bound, f"{name}:\n{found.report()}")

    def test_http1(self) -> None:
        """A GET over HTTP/1.1 is 29 calls on its way in, and 24 on its way out."""
        self.check("HTTP/1.1", **{"in": 29, "out": 24})

    def test_http2(self) -> None:
        """A GET over HTTP/2 is 39 calls on its way in, and 38 on its way out."""
        self.check("HTTP/2", **{"in": 39, "out": 38})

    def test_http1_to_http2(self) -> None:
        """To an endpoint of HTTP/2 a GET over HTTP/1.1 is 53 calls on its way in, and 52 on its way out."""
        self.check("HTTP/1.1 to an endpoint of HTTP/2", **{"in": 53, "out": 52})

    def test_http2_to_http2(self) -> None:
        """With HTTP/2 on both sides a GET is 63 calls on its way in, and 66 on its way out."""
        self.check("HTTP/2 to an endpoint of HTTP/2", **{"in": 63, "out": 66})
