"""That a GET calls no more functions than it did, in a controller as it runs."""

from collections.abc import Mapping

from twisted.trial.unittest import SynchronousTestCase

from bench.features.annotations import CORS_AND_HEADERS, LISTED_AND_HEADERS
from bench.features.annotations import count as count_annotated
from bench.features.filters import brought, count
from bench.features.gateway_filters import INGRESS
from bench.features.gateway_filters import count as count_gateway_filters
from bench.features.limits import verdict_calls
from bench.requests.calls import measure_all
from tests.fakes.plain_code import need_plain_code


def measured_with(which: str) -> dict[str, int]:
    """Measure a GET over HTTP/1.1 with one of the filters of ``bench.features.filters``."""
    with brought():
        return count(which).figures()


class CountingCase(SynchronousTestCase):
    """Tests that count calls."""

    def setUp(self) -> None:
        """Leave them out where calls are not seen."""
        need_plain_code("calls of compiled functions are not seen, nor when their thread has come to rest")


class FilterCallTests(CountingCase):
    """Calls of a GET with a filter before it: what a filter costs that asks for little."""

    def check(self, which: str, **most: int) -> None:
        """Fail if a figure of *which* is above what it may be *most*."""
        figures = measured_with(which)
        for name, bound in most.items():
            self.assertLessEqual(figures[name], bound, f"{name} of {which}: {figures}")

    def test_the_same_for_each_answer(self) -> None:
        """What is done to each answer alike is one call on the way out, however many fields it sets."""
        self.check("changes-answers", **{"in": 28, "out": 23, "others_in": 0, "others_out": 0})

    def test_by_the_request(self) -> None:
        """Fields that depend on a field of the request are two calls on the way out, and the filter is not asked again."""
        self.check("changes-some", **{"in": 28, "out": 24, "others_out": 0})

    def test_limit(self) -> None:
        """A limit by the second is four calls more than letting a request pass, and none on the way out."""
        self.check("limits-rate", **{"in": 35, "out": 22})

    def test_limit_of_workers(self) -> None:
        """A limit that workers share costs no more calls than that of one process."""
        alone, shared = (verdict_calls(of_workers=of_workers) for of_workers in (False, True))
        self.assertLessEqual(shared, alone)
        self.assertLessEqual(shared, 5)

    def test_custom_errors(self) -> None:
        """An answer that is no error passes the statuses of error pages in seven calls."""
        self.check("custom-errors", **{"in": 28, "out": 29, "others_in": 0, "others_out": 0})

    def test_other_methods(self) -> None:
        """Whoever asks of OPTIONS alone costs a GET no call but the one that finds its chain."""
        self.check("asks-of-options", **{"in": 28, "out": 22, "others_in": 0, "others_out": 0})


class AnnotationCallTests(CountingCase):
    """Calls of a GET whose route asks for something by annotations."""

    def test_cors_and_headers(self) -> None:
        """CORS for everybody and two headers besides are two calls, CORS of a list and these are three."""
        everybody, listed = (one.figures() for one in count_annotated(CORS_AND_HEADERS, LISTED_AND_HEADERS))
        self.assertLessEqual((everybody["in"], everybody["out"]), (28, 23), everybody)
        self.assertLessEqual((listed["in"], listed["out"]), (28, 24), listed)


class GatewayCallTests(CountingCase):
    """Calls of a GET where Gateways are served beside Ingresses."""

    # Calls on the way in, and out.
    MOST: Mapping[str, tuple[int, int]] = {
        INGRESS: (28, 22),
        "no-filter": (29, 22),
        "fields-of-requests": (46, 23),
        "fields-of-answers": (30, 23),
        "a-rewrite": (45, 23),
        "cors-for-everybody": (30, 23),
        "cors-of-a-list": (30, 24),
        "timeouts": (40, 26),
        "two-backends": (39, 22),
    }

    def test_filters(self) -> None:
        """An Ingress pays one call for Gateways beside it, a rule without filters two, and each filter about what an annotation does."""
        found = {name: (figures["in"], figures["out"]) for name, figures in count_gateway_filters().items()}
        self.assertEqual(found.keys(), self.MOST.keys())
        for name, most in self.MOST.items():
            self.assertLessEqual(found[name], most, name)


# By conversation: calls of a GET on its way in and out, and those of them that are the end of a stream.
MOST: Mapping[str, Mapping[str, int]] = {
    "HTTP/1.1": {"in": 27, "out": 22},
    "HTTP/1.1, a connection for each": {"in": 59, "out": 37, "others_in": 3, "others_out": 2},
    "HTTP/2": {"in": 36, "out": 29, "end_of_stream_downstream": 4},
    "HTTP/1.1 to an endpoint of HTTP/2": {"in": 47, "out": 45, "end_of_stream_upstream": 5},
    "HTTP/2 to an endpoint of HTTP/2": {"in": 56, "out": 52},
}


class CallTests(CountingCase):
    """Calls of a GET whose route asks for nothing but a backend."""

    def test_most(self) -> None:
        """Whichever protocols are spoken, a GET makes no more calls than these, and its stream ends in a few."""
        measured = {each.conversation.title: each for each in measure_all(rounds=9)}
        self.assertEqual(measured.keys(), MOST.keys())
        for title, most in MOST.items():
            figures = measured[title].figures()
            for name, bound in most.items():
                self.assertLessEqual(figures[name], bound, f"{name}:\n{measured[title].report()}")
