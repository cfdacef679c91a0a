"""Filters that say beforehand what they do and of whom they are asked, in HTTP/1.1 and HTTP/2."""

from __future__ import annotations

from ingress.filters import AnswerEdit, Facts, FieldChanges, Filter, Reply
from tests.proxy.filter_case import FilterCase
from tests.proxy.playing import OK, ONE

TEAM = FieldChanges(put=((b"X-Team", b"blue"),), drop=(b"X-Inner",))


class Changes(Filter):
    """Does the same to each answer."""

    def __init__(self, changes: FieldChanges) -> None:
        self.answer_changes = changes


class Names(Filter):
    """Looks at each answer."""

    def on_answer(self, facts: Facts, edit: AnswerEdit) -> None:
        edit.put(b"X-Seen", edit.field(b"x-team") or b"nothing")


class AnswersOptions(Filter):
    """Is asked about OPTIONS alone."""

    asked_methods = frozenset({b"OPTIONS"})

    def __init__(self) -> None:
        self.asked: list[bytes] = []

    def on_request(self, facts: Facts) -> Reply | None:
        self.asked.append(facts.method)
        return Reply(204)


class RefusesSome(Filter):
    """Is asked about requests of one scheme alone."""

    def __init__(self, scheme: bytes, holds_body: int = 0) -> None:
        self.asked_schemes = frozenset({scheme})
        self.holds_body = holds_body
        self.asked: list[bytes] = []

    def on_request(self, facts: Facts) -> Reply | None:
        self.asked.append(facts.scheme)
        return Reply(403)


class AsksAll(Filter):
    """Is asked about each request."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []

    def on_request(self, facts: Facts) -> Reply | None:
        self.asked.append(facts.method)
        return None


class ConstantChangesTests(FilterCase):
    """``answer_changes`` and ``asked_methods``."""

    def test_answers_of_endpoints(self) -> None:
        """Each answer has what was said beforehand; the log has the status that the endpoint said."""
        self.filter_by(Changes(TEAM))
        client = self.get()
        self.upstream().say(
            b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nX-Team: red\r\nx-inner: 1\r\n\r\n"
        )
        heard = client.heard()
        self.assertEqual((heard.status, heard.all(b"x-team"), heard.all(b"x-inner")), (404, [b"blue"], []))
        self.assertEqual(self.metrics.records[-1].status, 404)

    def test_our_own(self) -> None:
        """Replies of our own have it, too."""
        self.filter_by(Changes(TEAM))
        self.connector.unreachable[ONE] = "refused"
        heard = self.get().heard()
        self.assertEqual((heard.status, heard.all(b"x-team")), (502, [b"blue"]))

    def test_beside_one_that_looks(self) -> None:
        """Beside filters that look at answers it has its place in the order: the outermost has the last word."""
        for filters, seen in (((Names(), Changes(TEAM)), b"blue"), ((Changes(TEAM), Names()), b"nothing")):
            self.filter_by(*filters)
            client = self.get()
            self.upstream().say(OK)
            heard = client.heard()
            self.assertEqual((heard.all(b"x-team"), heard.all(b"x-seen")), ([b"blue"], [seen]))

    def test_what_may_not_be(self) -> None:
        """A filter that asks for what may not be changed is not made: its requests get 500, and nobody else's."""
        self.filter_by(Changes(FieldChanges(put=((b"Content-Length", b"5"),))))
        self.assertEqual(self.get().heard().status, 500)
        self.flushLoggedErrors()

    def test_methods(self) -> None:
        """A filter that is asked about some methods answers these, and others pass without being waited for."""
        options, everything = AnswersOptions(), AsksAll()
        for filters in ((options,), (options, everything), (everything, options)):
            self.filter_by(*filters)
            self.assertEqual(self.get(method=b"OPTIONS").heard().status, 204)
            client = self.get()
            self.upstream().say(OK)
            self.assertEqual(client.heard().status, 200)
        self.assertEqual(options.asked, [b"OPTIONS"] * 3)
        self.assertEqual(everything.asked, [b"GET", b"OPTIONS", b"GET"])


class ConstantChangesHttp2Tests(ConstantChangesTests):
    """The same over HTTP/2."""

    is_http2 = True


class SchemeTests(FilterCase):
    """``asked_schemes``."""

    def test_schemes(self) -> None:
        """A filter that is asked about one scheme answers its requests, and others pass: by it, and by those beside it."""
        for holds_body in (0, 10):
            for beside in (False, True):
                secure, everything = RefusesSome(b"https", holds_body), AsksAll()
                self.filter_by(secure, *([everything] if beside else []))
                for scheme, status in ((False, 200), (True, 403)):
                    client = self.client(scheme)
                    client.ask()
                    if not scheme:
                        self.upstream().say(OK)
                    self.assertEqual(client.heard().status, status)
                self.assertEqual(secure.asked, [b"https"])
                self.assertEqual(everything.asked, [b"GET"] if beside else [])

    def test_two_schemes(self) -> None:
        """Of two filters that are asked about a scheme each, each is asked about its own."""
        plain, secure = RefusesSome(b"http"), RefusesSome(b"https")
        self.filter_by(plain, secure)
        for is_secure in (False, True):
            client = self.client(is_secure)
            client.ask()
            self.assertEqual(client.heard().status, 403)
        self.assertEqual((plain.asked, secure.asked), ([b"http"], [b"https"]))
