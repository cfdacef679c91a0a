"""What counts as a difference between ingress-nginx and ours, and what does not."""

from twisted.trial.unittest import SynchronousTestCase

from conformance.ingress_nginx import comparing
from conformance.ingress_nginx.case import Ask, Told
from conformance.ingress_nginx.comparing import Outcome, differences
from conformance.ingress_nginx.endpoints import Arrival
from conformance.ingress_nginx.got import Got

PAGE = b"<html>\r\n<head><title>404 Not Found</title></head>\r\n</html>\r\n"


def answered(status: int = 200, *fields: tuple[str, str], body: bytes = b"") -> Outcome:
    return Outcome(Got(status, fields, body))


def arrived(line: str, *fields: tuple[str, str], body: bytes = b"", name: str = "web#0") -> Outcome:
    return Outcome(Got(200), ((name, Arrival("10.30.0.1", line, fields, body, False, "")),))


def whats(one: Outcome, other: Outcome, which_endpoint: bool = False) -> list[str]:
    return [difference.what for difference in differences(one, other, which_endpoint=which_endpoint)]


class AnswerTests(SynchronousTestCase):
    """Answers of the two."""

    def test_another_status_is_the_only_word(self) -> None:
        """Where the status differs, that is said, and nothing of fields and bodies that belong to it."""
        found = differences(answered(200, ("X-A", "1"), body=b"a"), answered(404))
        self.assertEqual(
            [(one.what, one.reference, one.ours) for one in found], [("answer.status", "200", "404")]
        )

    def test_fields_are_compared_by_name_without_case_and_order(self) -> None:
        """The same fields in another order, and in another case, are the same; a value more is not."""
        here = answered(200, ("X-A", "1"), ("X-B", "2"))
        self.assertEqual(whats(here, answered(200, ("x-b", "2"), ("x-a", "1"))), [])
        self.assertEqual(
            whats(here, answered(200, ("X-A", "1"), ("X-B", "2"), ("X-B", "3"))), ["answer.field.x-b"]
        )

    def test_values_of_one_name_keep_their_order(self) -> None:
        """Two values of a field are others in another order."""
        here, there = answered(200, ("A", "1"), ("A", "2")), answered(200, ("A", "2"), ("A", "1"))
        self.assertEqual(whats(here, there), ["answer.field.a"])

    def test_fields_of_the_connection_are_left_out(self) -> None:
        """What is about framing, the connection or the clock differs without a word."""
        here = answered(
            200,
            ("Connection", "keep-alive"),
            ("Date", "Mon, 01 Jan 2024 00:00:00 GMT"),
            ("Content-Length", "3"),
        )
        self.assertEqual(whats(here, answered(200, ("Transfer-Encoding", "chunked"))), [])

    def test_our_name_is_left_out(self) -> None:
        """Where an endpoint says no Server, we say ours and nginx none; what an endpoint says is compared."""
        self.assertEqual(whats(answered(), answered(200, ("Server", "txingress"))), [])
        self.assertEqual(whats(answered(200, ("Server", "mine")), answered()), ["answer.field.server"])

    def test_bodies_are_compared(self) -> None:
        """Another body is a difference."""
        self.assertEqual(whats(answered(200, body=b"a"), answered(200, body=b"b")), ["answer.body"])

    def test_error_pages_of_controllers_are_alike(self) -> None:
        """nginx's page and our line of text are each other's; a page and a body that an endpoint could have written are not."""
        page = answered(404, ("Content-Type", "text/html"), body=PAGE)
        ours = answered(404, ("Content-Type", "text/plain"), body=b"404 Not Found\n")
        self.assertEqual(whats(page, ours), [])
        self.assertEqual(
            whats(page, answered(404, ("Content-Type", "text/html"), body=b"<b>one</b>")),
            ["answer.body"],
        )
        self.assertEqual(whats(answered(200, body=PAGE), answered(200, body=b"fine")), ["answer.body"])
        self.assertEqual(whats(answered(404, body=b"own"), answered(404, body=b"404\n")), ["answer.body"])
        head = answered(302, ("Content-Type", "text/html"))
        self.assertEqual(whats(head, answered(302, ("Content-Type", "text/plain"))), [])

    def test_session_cookies_may_have_any_value(self) -> None:
        """Their attributes are compared, in any order; other cookies are compared with their values."""
        here = answered(200, ("Set-Cookie", "s=1.2|3; Path=/; HttpOnly"))
        there = answered(200, ("Set-Cookie", "s=abc; HttpOnly; Path=/"))
        self.assertEqual(whats(here, there), ["answer.field.set-cookie"])
        self.assertEqual(list(differences(here, there, sessions=["s"])), [])
        other = answered(200, ("Set-Cookie", "s=abc; HttpOnly; Path=/x"))
        self.assertEqual(
            [one.what for one in differences(here, other, sessions=["s"])], ["answer.field.set-cookie"]
        )

    def test_same_site_is_a_word(self) -> None:
        """Which browsers read in any case of letters; another word is another one."""
        here = answered(200, ("Set-Cookie", "s=1; SameSite=None"))
        self.assertEqual(whats(here, answered(200, ("Set-Cookie", "s=1; samesite=NONE"))), [])
        self.assertEqual(
            whats(here, answered(200, ("Set-Cookie", "s=1; SameSite=Lax"))), ["answer.field.set-cookie"]
        )

    def test_times_of_one_day_are_alike(self) -> None:
        """Seconds pass between the two; days do not."""
        here = answered(200, ("Expires", "Mon, 01 Jan 2024 00:00:01 GMT"))
        self.assertEqual(whats(here, answered(200, ("Expires", "Mon, 01 Jan 2024 00:00:09 GMT"))), [])
        self.assertEqual(
            whats(here, answered(200, ("Expires", "Tue, 02 Jan 2024 00:00:01 GMT"))), ["answer.field.expires"]
        )

    def test_an_answer_that_does_not_come_is_a_difference(self) -> None:
        """A connection that ends is not the same as an answer."""
        self.assertEqual(
            whats(Outcome(Got(ended="closed")), answered(400)), ["answer.status", "answer.ended"]
        )


class ArrivalTests(SynchronousTestCase):
    """What reached endpoints."""

    def test_made_ids_are_alike(self) -> None:
        """An id that a controller made is any other; one that the client said is not."""
        here, there = "0" * 32, "f" * 32
        self.assertEqual(
            whats(
                arrived("GET / HTTP/1.1", ("X-Request-ID", here)),
                arrived("GET / HTTP/1.1", ("X-Request-ID", there)),
            ),
            [],
        )
        self.assertEqual(
            whats(
                arrived("GET / HTTP/1.1", ("X-Request-ID", here)),
                arrived("GET / HTTP/1.1", ("X-Request-ID", "mine")),
            ),
            ["endpoint.web.field.x-request-id"],
        )

    def test_line_and_body_are_compared(self) -> None:
        """Each is a difference of its own."""
        self.assertEqual(whats(arrived("GET /a HTTP/1.1"), arrived("GET /b HTTP/1.1")), ["endpoint.web.line"])
        self.assertEqual(
            whats(arrived("GET /a HTTP/1.1", body=b"a"), arrived("GET /a HTTP/1.1")), ["endpoint.web.body"]
        )

    def test_which_endpoint_of_a_service_counts_where_asked(self) -> None:
        """Another endpoint of the same Service is the same, unless the case is about that; another Service is not."""
        here, there = arrived("GET / HTTP/1.1"), arrived("GET / HTTP/1.1", name="web#1")
        self.assertEqual(whats(here, there), [])
        self.assertEqual(whats(here, there, which_endpoint=True), ["endpoints"])
        self.assertEqual(whats(here, arrived("GET / HTTP/1.1", name="other#0")), ["endpoints"])

    def test_one_request_more_is_a_difference(self) -> None:
        """A second attempt, or a mirror, counts."""
        self.assertEqual(whats(arrived("GET / HTTP/1.1"), Outcome(Got(200))), ["endpoints"])


class ShareTests(SynchronousTestCase):
    """Requests that are tallied."""

    def test_shares_that_are_near_are_the_same(self) -> None:
        """Chance moves shares a little."""
        self.assertEqual(
            comparing.tally_differences({"200 a": 0.5, "200 b": 0.5}, {"200 a": 0.56, "200 b": 0.44}), []
        )
        found = comparing.tally_differences({"200 a": 0.5, "200 b": 0.5}, {"200 a": 0.8, "200 b": 0.2})
        self.assertEqual([one.what for one in found], ["share.200 a", "share.200 b"])

    def test_an_outcome_of_one_side_alone_is_a_difference(self) -> None:
        """However rare it is."""
        self.assertEqual(
            [one.what for one in comparing.tally_differences({"200 a": 1.0}, {"200 a": 0.99, "502": 0.01})],
            ["share.502"],
        )

    def test_tally_counts_statuses_and_services(self) -> None:
        """Endpoints of one Service are one."""
        outcomes = [
            arrived("GET / HTTP/1.1"),
            arrived("GET / HTTP/1.1", name="web#1"),
            Outcome(Got(503)),
            Outcome(Got(503)),
        ]
        self.assertEqual(comparing.tally(outcomes), {"200 web": 0.5, "503": 0.5})


class ToldTests(SynchronousTestCase):
    """Differences that documents tell."""

    def test_pattern_and_request_decide(self) -> None:
        """A told difference is one by what it is, and for the requests it is told of."""
        told = [Told("answer.field.x-*", "docs/a.md#b", "GET *"), Told("answer.status", "docs/c.md#d")]
        field = comparing.Difference("answer.field.x-a", "1", "2")
        self.assertIs(comparing.told_of(field, Ask("/a"), told), told[0])
        self.assertIsNone(comparing.told_of(field, Ask("/a", "POST"), told))
        self.assertIs(
            comparing.told_of(comparing.Difference("answer.status", "1", "2"), Ask(method="POST"), told),
            told[1],
        )
