"""Tests for ``ingress.http.edited_heads``: what is changed of heads, and what may not be."""

from random import Random
from time import process_time

from twisted.trial.unittest import SynchronousTestCase

from ingress.filters import FieldChanges
from ingress.http.edited_heads import (
    AnswerChange,
    LineChange,
    RequestChange,
    answer_changes,
    changed_head,
    check_field,
    mark_of,
    without_fields,
    without_length,
)
from ingress.http.request_head import RequestHead, parse_request_head
from ingress.http.response_head import ResponseHead, parse_response_head

FULL = (
    b"POST /a?b HTTP/1.1\r\nHost: shop.test\r\nX-Own: 1\r\nX-Forwarded-For: 192.0.2.1\r\nExpect: 100-continue\r\n"
    b"X-Request-ID: id1\r\nContent-Length: 5"
)
CHANGES = FieldChanges(drop=(b"X-A",), put=((b"X-B", b"new"),), add=((b"X-C", b"2"),))
ADDED = b"X-Request-ID: id1\r\nX-Real-IP: 192.0.2.9\r\n"


def answer(fields: bytes = b"", status: bytes = b"200 OK") -> ResponseHead:
    """Return the head of an answer with *fields*, each with its CRLF."""
    return parse_response_head((b"HTTP/1.1 " + status + b"\r\n" + fields).removesuffix(b"\r\n"))


class RequestChangeTests(SynchronousTestCase):
    """Requests on their way to endpoints."""

    def change(self, block: bytes = FULL) -> tuple[RequestHead, RequestChange]:
        """Return a head, and what changes it."""
        head = parse_request_head(block)
        return head, RequestChange(head, head.forward + ADDED)

    def test_nothing(self) -> None:
        """Who changes nothing gets what came, the same object."""
        head, change = self.change()
        self.assertIs(change.head, head)
        self.assertEqual(change.fields, head.forward + ADDED)

    def test_names(self) -> None:
        """The names of all fields are there, the client's and the proxy's, as they stand after what was changed."""
        _, change = self.change(b"GET / HTTP/1.1\r\nHost: a\r\nX-A: 1\r\nx-a: 2\r\nX-B: 3")
        change.drop(b"x-b")
        self.assertEqual(change.names(), (b"x-a", b"x-a", b"x-request-id", b"x-real-ip"))

    def test_added_alone(self) -> None:
        """What is added leaves the head as it is, and stands behind the proxy's."""
        head, change = self.change()
        change.put(b"X-Real-IP", b"192.0.2.7")
        change.add(b"X-New", b"a b")
        self.assertIs(change.head, head)
        self.assertEqual(
            change.fields, head.forward + b"X-Request-ID: id1\r\nX-Real-IP: 192.0.2.7\r\nX-New: a b\r\n"
        )

    def test_all_else_stays(self) -> None:
        """A changed head is the one that came in everything else; that one is never touched."""
        head, change = self.change()
        change.drop(b"x-OWN")
        changed = change.head
        for name in RequestHead.__annotations__:
            if name not in ("forward", "block", "destination"):
                self.assertEqual(getattr(changed, name), getattr(head, name), name)
        self.assertIn(b"X-Own: 1\r\n", head.forward)
        self.assertEqual(change.fields, changed.forward + ADDED)
        self.assertNotIn(b"X-Own", change.fields)

    def test_rewritten(self) -> None:
        """Target and authority are others; a body of another length comes in chunks."""
        _, change = self.change()
        change.rewrite(b"/c?d", b"app:8080")
        change.is_unframed = True
        change.is_expected = False
        head = change.head
        self.assertEqual((head.target, head.path, head.authority), (b"/c?d", b"/c", b"app:8080"))
        self.assertEqual((head.content_length, head.chunked, head.has_body), (-1, True, True))
        self.assertFalse(head.expect_continue)

    def test_all_at_once(self) -> None:
        """Several changes made beforehand are those that each method makes, of the client's fields and of the proxy's."""
        block = b"GET / HTTP/1.1\r\nHost: shop.test\r\nx-a: 1\r\nX-B: old\r\nX-C: 1"
        _, one = self.change(block)
        one.change(CHANGES)
        _, other = self.change(block)
        other.drop(b"X-A")
        other.put(b"X-B", b"new")
        other.add(b"X-C", b"2")
        self.assertEqual(one.fields, other.fields)
        self.assertEqual(one.fields, b"X-C: 1\r\n" + ADDED + b"X-B: new\r\nX-C: 2\r\n")

    def test_host_is_no_field_to_change(self) -> None:
        """What no single change may do of a request, several at once may not, either."""
        for changes in (FieldChanges(put=((b"Host", b"a"),)), FieldChanges(drop=(b"Expect",))):
            _, change = self.change()
            self.assertRaises(ValueError, change.change, changes)


class AnswerChangeTests(SynchronousTestCase):
    """Answers on their way to clients."""

    def test_nothing(self) -> None:
        """Who changes nothing gets what came, the same object."""
        head = answer(b"A: b\r\n")
        self.assertIs(AnswerChange(head, False).head, head)

    def test_strict_transport(self) -> None:
        """A field that is put takes the place of all that have its name, in any spelling."""
        head = answer(
            b"strict-transport-security: none\r\nX-A: 1\r\nSTRICT-Transport-Security: x\r\nX-B: 2\r\n"
        )
        change = AnswerChange(head, False)
        change.put(b"Strict-Transport-Security", b"max-age=1")
        self.assertEqual(
            change.head.start,
            b"HTTP/1.1 200 OK\r\nX-A: 1\r\nX-B: 2\r\nStrict-Transport-Security: max-age=1\r\n",
        )

    def test_facts_of_the_head(self) -> None:
        """What is known of a head is known of the changed one: its length, and what has to be added to it."""
        head = answer(b"Content-Length: 5\r\nServer: x\r\n")
        self.assertFalse(head.is_complete)
        change = AnswerChange(head, False)
        change.put(b"Date", b"today")
        self.assertTrue(change.head.is_complete)
        self.assertEqual(change.head.content_length, 5)
        change.drop(b"server")
        self.assertFalse(change.head.is_complete)

    def test_again(self) -> None:
        """The same change of the same head is the same head, so that what HTTP/2 makes of it is kept."""
        head = answer(b"A: b\r\n")
        made = []
        for value in (b"1", b"1", b"2"):
            change = AnswerChange(head, False)
            change.put(b"X", value)
            made.append(change.head)
        self.assertIs(made[0], made[1])
        self.assertIsNot(made[1], made[2])

    def test_many_fields(self) -> None:
        """Who asks for hundreds of fields has the head taken apart once, and again where it became another one."""

        def seconds(count: int) -> float:
            change = AnswerChange(answer(b"X: " + b"x1" * 30_000 + b"\r\n"), False)
            before = process_time()
            for number in range(count):
                change.field(b"x%d" % number)
            return process_time() - before

        bound = 20 * max(seconds(20), 0.0002)
        # What a machine does in between makes some longer.
        self.assertLess(min(seconds(2000) for _ in range(5)), bound)
        change = AnswerChange(answer(b"A: 1\r\na: 2\r\nB:\t3 \r\n"), False)
        for number in range(12):
            self.assertEqual(
                [change.field(name) for name in (b"a", b"b", b"c", b"n")],
                [b"1", b"3", b"", b"%d" % number if number else b""],
            )
            change.put(b"N", b"%d" % (number + 1))

    def test_status(self) -> None:
        """A status is another one of an answer; what has no body keeps having none."""
        change = AnswerChange(answer(status=b"404 Not Found"), True)
        change.status = 299
        self.assertTrue(change.head.start.startswith(b"HTTP/1.1 299 \r\n"))
        self.assertEqual((change.head.status, change.is_ours), (299, True))
        for came, status in ((b"404 Not Found", 304), (b"204 No Content", 200), (b"101 Switching", 200)):
            with self.assertRaises(ValueError):
                AnswerChange(answer(status=came), False).status = status
        for status in (0, 101, 199, 600):
            with self.assertRaises(ValueError):
                change.status = status

    def test_all_at_once(self) -> None:
        """Several changes made beforehand are those that each method makes, wherever the fields stand and however often."""
        for fields in (
            b"",
            b"x-a: 1\r\nX-b: old\r\nX-C: 1\r\nx-b: older\r\n",
            b"Xx-A: 1\r\nX-Aa: X-B: 1\r\n",
        ):
            one, other = AnswerChange(answer(fields), False), AnswerChange(answer(fields), False)
            one.change(CHANGES)
            other.drop(b"x-a")
            other.put(b"X-B", b"new")
            other.add(b"X-C", b"2")
            self.assertEqual(one.head.start, other.head.start)
            self.assertEqual(one.field(b"x-b"), b"new")

    def test_always_the_same(self) -> None:
        """What becomes of each answer alike is made once for a head that comes again."""
        changes = (answer_changes(CHANGES),)
        head = answer(b"X-A: 1\r\n")
        made = changed_head(head, changes, 200)
        self.assertIs(changed_head(head, changes, 200), made)
        self.assertEqual(made.start, b"HTTP/1.1 200 OK\r\nX-B: new\r\nX-C: 2\r\n")
        self.assertIsNot(changed_head(head, (answer_changes(FieldChanges(drop=(b"x-a",))),), 200), made)

    def test_refused_at_once(self) -> None:
        """What no single change may do, several at once may not, either."""
        for changes in (
            FieldChanges(put=((b"a", b"x\r\ny: z"),)),
            FieldChanges(add=((b"Content-Length", b"5"),)),
            FieldChanges(drop=(b"Connection",)),
            FieldChanges(put=((b"", b"x"),)),
        ):
            self.assertRaises(ValueError, AnswerChange(answer(), False).change, changes)

    def test_values(self) -> None:
        """All values of a name are there, in order and as they stand after what was changed."""
        change = AnswerChange(answer(b"Set-Cookie: a\r\nX-Set-Cookie: c\r\nset-cookie:  b\r\n"), False)
        change.add(b"Set-Cookie", b"d")
        self.assertEqual(change.values(b"set-cookie"), (b"a", b"b", b"d"))
        self.assertEqual(change.values(b"x"), ())

    def test_names(self) -> None:
        """The names of all fields are there, as they stand after what was changed."""
        change = AnswerChange(answer(b"Set-Cookie: a\r\nX: c\r\nset-cookie: b\r\n"), False)
        self.assertEqual(change.names(), (b"set-cookie", b"x", b"set-cookie"))
        change.put(b"Set-Cookie", b"d")
        change.drop(b"x")
        self.assertEqual(change.names(), (b"set-cookie",))

    def test_vary(self) -> None:
        """A field that the answer depends on is named in ``Vary``, unless it is there, or everything is."""
        for fields, count in (
            (b"", 1),
            (b"Vary: Accept\r\n", 2),
            (b"Vary: Origins\r\nVary: Accept\r\n", 3),
            (b"VARY: Accept,  ORIGIN\r\n", 1),
            (b"Vary: *\r\n", 1),
            (b"X-Vary: Origin\r\n", 2),
        ):
            change = AnswerChange(answer(fields), False)
            change.vary(b"Origin")
            self.assertEqual(change.head.start.lower().count(b"vary:"), count, fields)

    def test_one_after_the_other(self) -> None:
        """Many changes at once come to what they come to one by one, whatever is looked at meanwhile."""
        names = (b"X-A", b"x-a", b"X-B", b"Vary", b"Date", b"Content-Type")
        dice = Random(20)
        for _ in range(300):
            head = answer(b"X-A: 1\r\nVary: Origin\r\nx-b: 2\r\nX-A: 3\r\nDate: now\r\n")
            together, single = AnswerChange(head, False), head
            for number in range(dice.randrange(1, 30)):
                name, value = dice.choice(names), b"%d" % number
                mark = mark_of(name.lower())
                line = b"%b: %b\r\n" % (name, value)
                what = dice.randrange(5)
                if what == 0:
                    together.put(name, value)
                    change: LineChange = ((mark,), line, b"")
                elif what == 1:
                    together.add(name, value)
                    change = ((), line, b"")
                elif what == 2:
                    together.drop(name)
                    change = ((mark,), b"", b"")
                elif what == 3:
                    together.vary(b"Accept")
                    change = ((), b"", b"Accept")
                else:
                    together.field(b"x-a")
                    continue
                single = changed_head(single, (change,), 200)
            self.assertEqual(together.head.start, single.start)
            self.assertEqual(
                (together.head.has_date, together.head.has_server), (single.has_date, single.has_server)
            )

    def test_without_fields(self) -> None:
        """All lines of a name go, the first and the last as well, and what only looks like one stays."""
        lines = b"A: 1\r\nB: A: 1\r\nAA: 1\r\na: 2\r\nA:\r\n"
        self.assertEqual(without_fields(lines, (b"\na:",)), b"B: A: 1\r\nAA: 1\r\n")
        self.assertEqual(without_fields(lines, (b"\nc:", b"\naa:")), lines.replace(b"AA: 1\r\n", b""))
        self.assertEqual(without_fields(b"", (b"\na:",)), b"")

    def test_without_length(self) -> None:
        """A head for a body of another length has none, and all else."""
        head = without_length(answer(b"Content-Length: 5\r\nServer: x\r\nDate: y\r\n"))
        self.assertEqual(head.start, b"HTTP/1.1 200 OK\r\nServer: x\r\nDate: y\r\n")
        self.assertEqual((head.content_length, head.is_complete, head.has_body), (-1, False, True))

    def test_date_and_server(self) -> None:
        """A head knows whether it has a date and a server, whatever was taken out, added, or made of its letters."""
        whole = b"HTTP/1.1 200 OK\r\nDATE: now\r\nServer: x\r\nContent-Length: 2"
        bare = b"HTTP/1.1 200 OK\r\nContent-Length: 2"
        added = b"Date: then\r\nserver: y\r\n"
        for block, gone, lines, found in (
            (whole, (), b"X: y\r\n", (True, True)),
            (whole, (b"\ndate:",), b"", (False, True)),
            (whole, (b"\nserver:",), b"", (True, False)),
            (whole, (b"\nserver:", b"\ndate:"), added, (True, True)),
            (bare, (), b"X: y\r\n", (False, False)),
            (bare, (), added, (True, True)),
        ):
            head = changed_head(parse_response_head(block), ((gone, lines, b""),), 200)
            self.assertEqual((head.has_date, head.has_server), found, (block, gone, lines))
            self.assertEqual(head.is_complete, found == (True, True))


class CheckTests(SynchronousTestCase):
    """What no filter may say."""

    def test_refused(self) -> None:
        """Names and values that could be read as something else, and fields that frame or belong to a connection."""
        for name, value in (
            (b"", b"x"),
            (b"a b", b"x"),
            (b"a:", b"x"),
            (b"a\r\nb", b"x"),
            (b"a", b"x\r\ny: z"),
            (b"a", b"x\0"),
            (b"a", b" x"),
            (b"a", b"x\t"),
            (b"Content-Length", b"5"),
            (b"TRANSFER-encoding", b"chunked"),
            (b"Connection", b"close"),
            (b"Upgrade", b"h2c"),
            (b"Trailer", b"x"),
        ):
            self.assertRaises(ValueError, check_field, name, value)

    def test_taken(self) -> None:
        """All else is taken, and its name returned in lower case."""
        self.assertEqual(check_field(b"X-Any", b"a b\xff"), b"x-any")
        self.assertEqual(check_field(b"Server", b""), b"server")
