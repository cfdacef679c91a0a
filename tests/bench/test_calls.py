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
        """A GET over HTTP/1.1 is 28 calls on its way in, and 23 on its way out."""
        self.check("HTTP/1.1", **{"in": 28, "out": 23})

    def test_http2(self) -> None:
        """A GET over HTTP/2 is 36 calls on its way in, 31 on its way out, and of these four are the end of its stream."""
        self.check("HTTP/2", **{"in": 36, "out": 31, "end_of_stream_downstream": 4})

    def test_http1_to_http2(self) -> None:
        """To an endpoint of HTTP/2 it is 50 and 46, and five of these are the end of the stream."""
        self.check("HTTP/1.1 to an endpoint of HTTP/2", **{"in": 50, "out": 46, "end_of_stream_upstream": 5})

    def test_http2_to_http2(self) -> None:
        """With HTTP/2 on both sides a GET is 58 calls on its way in, and 54 on its way out."""
        self.check("HTTP/2 to an endpoint of HTTP/2", **{"in": 58, "out": 54})
