"""That a GET calls no more functions than it did, in a controller as it runs."""

from functools import cache

from twisted.trial.unittest import SynchronousTestCase

from bench.annotated import CORS_AND_HEADERS, LISTED_AND_HEADERS
from bench.annotated import count as count_annotated
from bench.calls import Measured, measure_all
from bench.filters import brought, count


@cache
def measured() -> dict[str, Measured]:
    """Measure once, for all tests here."""
    return {each.conversation.title: each for each in measure_all(rounds=9)}


@cache
def measured_with(which: str) -> dict[str, int]:
    """Measure a GET over HTTP/1.1 with one of the filters of ``bench.filters``."""
    with brought():
        return count(which).figures()


class FilterCallTests(SynchronousTestCase):
    """Calls of a GET with a filter before it: what a filter costs that asks for little."""

    def check(self, which: str, **most: int) -> None:
        """Fail if a figure of *which* is above what it may be *most*."""
        figures = measured_with(which)
        for name, bound in most.items():
            self.assertLessEqual(figures[name], bound, f"{name} of {which}: {figures}")

    def test_the_same_for_each_answer(self) -> None:
        """What is done to each answer alike is one call on the way out, however many fields it sets."""
        self.check("changes-answers", **{"in": 29, "out": 24, "others_in": 0, "others_out": 0})

    def test_by_the_request(self) -> None:
        """Fields that depend on a field of the request are two calls on the way out, and the filter is not asked again."""
        self.check("changes-some", **{"in": 29, "out": 25, "others_out": 0})

    def test_limit(self) -> None:
        """A limit by the second is four calls more than letting a request pass, and none on the way out."""
        self.check("limits-rate", **{"in": 36, "out": 23})

    def test_custom_errors(self) -> None:
        """An answer that is no error passes the statuses of error pages in seven calls."""
        self.check("custom-errors", **{"in": 29, "out": 30, "others_in": 0, "others_out": 0})

    def test_other_methods(self) -> None:
        """Whoever asks of OPTIONS alone costs a GET no call but the one that finds its chain."""
        self.check("asks-of-options", **{"in": 29, "out": 23, "others_in": 0, "others_out": 0})


class AnnotationCallTests(SynchronousTestCase):
    """Calls of a GET whose route asks for something by annotations."""

    def test_cors_and_headers(self) -> None:
        """CORS for everybody and two headers besides are two calls, CORS of a list and these are three."""
        everybody, listed = (one.figures() for one in count_annotated(CORS_AND_HEADERS, LISTED_AND_HEADERS))
        self.assertLessEqual((everybody["in"], everybody["out"]), (29, 24), everybody)
        self.assertLessEqual((listed["in"], listed["out"]), (29, 25), listed)


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
