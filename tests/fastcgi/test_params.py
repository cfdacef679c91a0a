"""Tests for ``ingress.fastcgi.params``: what a program is told of a request."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.fastcgi.params import field_params, params_records
from ingress.fastcgi.records import begin_request
from ingress.http.request_head import RequestHead, parse_request_head
from ingress.model.requests.cgi import CgiRequest
from tests.fakes.fastcgi.records import asked
from tests.properties import examples


def head_of(*lines: bytes) -> RequestHead:
    """Return a head with *lines*."""
    return parse_request_head(b"\r\n".join([b"POST /a HTTP/1.1", b"Host: shop.test", *lines]))


def told(*lines: bytes) -> dict[bytes, bytes]:
    """Return what *lines* come to."""
    head = head_of()
    return field_params(head, b"".join(line + b"\r\n" for line in lines))


class FieldTests(SynchronousTestCase):
    """Fields as ``HTTP_...``."""

    def test_names(self) -> None:
        """A name is in upper case, with underscores for hyphens."""
        self.assertEqual(
            told(b"X-Some-Name: a  ", b"accept:b"),
            {b"HTTP_HOST": b"shop.test", b"HTTP_X_SOME_NAME": b"a", b"HTTP_ACCEPT": b"b"},
        )

    def test_repeated(self) -> None:
        """Of several fields of a name all values are told, and cookies stay cookies."""
        found = told(b"Accept: a", b"ACCEPT: b", b"Cookie: a=1", b"Cookie: b=2")
        self.assertEqual((found[b"HTTP_ACCEPT"], found[b"HTTP_COOKIE"]), (b"a, b", b"a=1; b=2"))

    def test_httpoxy(self) -> None:
        """``Proxy`` never becomes HTTP_PROXY, in whatever spelling."""
        for name in (b"Proxy", b"proxy", b"PROXY"):
            self.assertNotIn(b"HTTP_PROXY", told(name + b": http://evil.test"))

    def test_no_name_is_another_ones(self) -> None:
        """A field whose name a program could take for another one's is not told: PHP reads a dot as an underscore."""
        self.assertEqual(
            told(b"X.Real-IP: 1", b"X[Real]: 2", b"X+Y: 3", b"X*: 4"), {b"HTTP_HOST": b"shop.test"}
        )
        for lines in ((b"X_Team: evil", b"X-Team: blue"), (b"X-Team: blue", b"X_Team: evil")):
            self.assertEqual(told(*lines)[b"HTTP_X_TEAM"], b"blue")
        self.assertEqual(told(b"X_Team: lone")[b"HTTP_X_TEAM"], b"lone")
        self.assertEqual(told(b"Host: evil.test", b"Content_Length: 9"), {b"HTTP_HOST": b"shop.test"})

    @settings(max_examples=examples(200), deadline=None)
    @given(st.dictionaries(st.text("abXY-_.", min_size=1, max_size=6), st.integers(0, 9), max_size=8))
    def test_no_two_fields_are_one(self, fields: dict[str, int]) -> None:
        """Values of fields with different names never meet in one param."""
        lines = [f"{name}: {value}".encode() for name, value in fields.items()]
        for param, value in told(*lines).items():
            said = {
                name.lower()
                for name, given in fields.items()
                if "." not in name and b"HTTP_" + name.upper().replace("-", "_").encode() == param
            }
            if param != b"HTTP_HOST":
                best = {name for name in said if "_" not in name} or said
                self.assertEqual(
                    len(value.split(b", ")), max(sum(name.lower() == one for name in fields) for one in best)
                )


class ParamsTests(SynchronousTestCase):
    """All params of a request."""

    def params(
        self, head: RequestHead, cgi: CgiRequest, fields: bytes = b"", length: int = -1
    ) -> dict[bytes, bytes]:
        """Return what arrives."""
        (request,) = asked(begin_request(False) + params_records(head, cgi, fields, length))
        self.assertTrue(request.has_params)
        return request.params

    def test_what_the_route_says_wins(self) -> None:
        """A param of the route has the last word over a field, as in nginx, and is sent once."""
        cgi = CgiRequest(((b"HTTP_ACCEPT", b"mine"), (b"A", b"1"), (b"A", b"2")))
        found = self.params(head_of(), cgi, b"Accept: theirs\r\n")
        self.assertEqual((found[b"HTTP_ACCEPT"], found[b"A"]), (b"mine", b"2"))

    def test_length(self) -> None:
        """CONTENT_LENGTH is the length of what is sent, and empty where there is no body, whatever a route says."""
        cgi = CgiRequest(((b"CONTENT_LENGTH", b"999"),))
        self.assertEqual(self.params(head_of(), cgi)[b"CONTENT_LENGTH"], b"")
        found = self.params(head_of(b"Content-Length: 5"), cgi, length=5)
        self.assertEqual((found[b"CONTENT_LENGTH"], found[b"HTTP_CONTENT_LENGTH"]), (b"5", b"5"))
        found = self.params(head_of(b"Transfer-Encoding: chunked"), cgi, length=7)
        self.assertEqual(found[b"CONTENT_LENGTH"], b"7")
        self.assertNotIn(b"HTTP_CONTENT_LENGTH", found)
