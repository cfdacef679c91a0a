"""The fields of W3C Trace Context."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.http.trace_context import MOST_MEMBERS, MOST_STATE, Parent, read_parent, with_trace
from ingress.model.observability.traces import TraceContext

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN = "00f067aa0ba902b7"
USUAL = f"00-{TRACE}-{SPAN}-01"
OURS = TraceContext("a" * 32, "b" * 16, True, "01")

hexadecimal = st.text("0123456789abcdef", min_size=1)
ids = st.binary(min_size=16, max_size=16).filter(any).map(bytes.hex)
span_ids = st.binary(min_size=8, max_size=8).filter(any).map(bytes.hex)
keys = st.from_regex(r"[a-z][a-z0-9_*/-]{0,10}(@[a-z][a-z0-9_*/-]{0,5})?", fullmatch=True)
values = st.from_regex(r"[!-+\--<>-~]{1,20}", fullmatch=True)


def lines(*fields: tuple[str, str]) -> bytes:
    """Return fields as lines."""
    return "".join(f"{name}: {value}\r\n" for name, value in fields).encode("latin-1")


def parent(value: str, *states: str) -> Parent | None:
    """Read a head with this ``traceparent``, and these values of ``tracestate``."""
    return read_parent(
        lines(("Accept", "*/*"), ("traceparent", value), *(("tracestate", one) for one in states))
    )


class ParentTests(SynchronousTestCase):
    """``traceparent``."""

    def test_usual(self) -> None:
        """Version, trace, span and flags are read, whatever the case of the name and the blanks around the value."""
        wanted = Parent(TRACE, SPAN, True, False)
        self.assertEqual(parent(USUAL), wanted)
        self.assertEqual(read_parent(f"TraceParent:\t {USUAL} \t\r\n".encode()), wanted)
        self.assertEqual(parent(USUAL[:-1] + "0"), Parent(TRACE, SPAN, False, False))
        self.assertEqual(parent(USUAL[:-2] + "03"), Parent(TRACE, SPAN, True, True))
        self.assertEqual(parent(USUAL[:-2] + "fe"), Parent(TRACE, SPAN, False, True))

    def test_refused(self) -> None:
        """What is not as the grammar has it says nothing."""
        for value in (
            "",
            "ff" + USUAL[2:],
            "0" + USUAL,
            USUAL.upper(),
            USUAL[:-1],
            USUAL + "0",
            USUAL + "-",
            USUAL + "-00",
            USUAL + " x",
            USUAL.replace(TRACE, "0" * 32),
            USUAL.replace(SPAN, "0" * 16),
            USUAL.replace("-", "_"),
            USUAL.replace(SPAN, SPAN[:-1] + "g"),
            USUAL.replace("00-", "0x-", 1),
            USUAL[:-2] + "0G",
            f"{USUAL},{USUAL}",
            f"00-{TRACE}--01",
            "\u00b2" * 55,
        ):
            self.assertIsNone(parent(value, "a=1"), value)

    def test_no_or_several(self) -> None:
        """Of none there is nothing to read, and of two nobody knows which one is meant."""
        self.assertIsNone(read_parent(b""))
        self.assertIsNone(read_parent(lines(("X-Traceparent", USUAL), ("tracestate", "a=1"))))
        self.assertIsNone(read_parent(lines(("traceparent", USUAL), ("Traceparent", USUAL))))

    def test_later_versions(self) -> None:
        """Of a later version what version 00 has is read, and may have more behind a dash."""
        for value in ("cc" + USUAL[2:], f"cc{USUAL[2:]}-what-ever.it-is", f"01{USUAL[2:]}-"):
            self.assertEqual(parent(value), Parent(TRACE, SPAN, True, False), value)
        for value in (f"cc{USUAL[2:]}.x", f"cc{USUAL[2:-1]}", f"cc{USUAL[2:]}0"):
            self.assertIsNone(parent(value), value)

    @given(ids, span_ids, st.integers(0, 255))
    def test_any(self, trace: str, span: str, flags: int) -> None:
        """Any ids come back as they were said."""
        self.assertEqual(
            parent(f"00-{trace}-{span}-{flags:02x}"), Parent(trace, span, bool(flags & 1), bool(flags & 2))
        )

    @given(st.text("0123456789abcdefABCDEFg-_ ,", max_size=60))
    def test_anything(self, value: str) -> None:
        """Whatever is read is as the grammar has it, and nothing raises."""
        found = parent(value)
        if found is not None:
            self.assertIn(f"-{found.trace_id}-{found.span_id}-", value)
            self.assertTrue(int(found.trace_id, 16) and int(found.span_id, 16))


class StateTests(SynchronousTestCase):
    """``tracestate``."""

    def state(self, *values: str) -> str:
        """Return what goes on of these values."""
        found = parent(USUAL, *values)
        assert found is not None
        return found.state

    def test_goes_on(self) -> None:
        """Members go on in their order, those of several fields as one list, without empty ones and blanks."""
        self.assertEqual(
            self.state("congo=t61rcWkgMzE,rojo=00f067aa0ba902b7"), "congo=t61rcWkgMzE,rojo=00f067aa0ba902b7"
        )
        self.assertEqual(self.state("a=1 , b@c=2", "", "\t,,d*/_-=x y"), "a=1,b@c=2,d*/_-=x y")
        self.assertEqual(self.state(), "")

    def test_refused(self) -> None:
        """A list with a member that is none, with too many of them, or with one key twice is dropped, and the rest stays."""
        for value in (
            "a",
            "A=1",
            "a=1=2",
            "=1",
            "a=",
            "a b=1",
            "a=\u00e9",
            "a=1,a=2",
            f"{'k' * 257}=1",
            f"k={'v' * 257}",
        ):
            self.assertEqual(self.state("z=1", value), "", value)
        most = ",".join(f"k{number}=1" for number in range(MOST_MEMBERS))
        self.assertEqual(self.state(most), most)
        self.assertEqual(self.state(most, "one=2"), "")

    def test_long(self) -> None:
        """Of a list that is longer than anybody has to pass on, whole members from the left go on."""
        members = [f"k{number:02}={'v' * 250}" for number in range(MOST_MEMBERS)]
        told = self.state(",".join(members))
        self.assertLessEqual(len(told), MOST_STATE)
        self.assertEqual(told.split(","), members[: MOST_STATE // 255])

    @given(st.dictionaries(keys, values, max_size=MOST_MEMBERS))
    def test_any(self, members: dict[str, str]) -> None:
        """Any list that follows the grammar goes on as it is."""
        text = ",".join(f"{key}={value}" for key, value in members.items())
        self.assertEqual(self.state(text), text)


class WrittenTests(SynchronousTestCase):
    """What a request is sent with."""

    def test_in_place(self) -> None:
        """Our span takes the place of whatever the request said, however often and in whatever spelling."""
        came = lines(
            ("tracestate", "x=1"), ("A", "traceparent: 1"), ("TRACEPARENT", USUAL), ("Traceparent", "y")
        )
        told = with_trace(came, OURS, "c" * 16)
        self.assertEqual(told, f"A: traceparent: 1\r\ntraceparent: 00-{'a' * 32}-{'c' * 16}-01\r\n".encode())

    def test_state(self) -> None:
        """What other systems have noted goes on."""
        told = with_trace(b"", OURS._replace(state="a=1", flags="02"), OURS.span_id)
        self.assertEqual(told, f"traceparent: 00-{'a' * 32}-{'b' * 16}-02\r\ntracestate: a=1\r\n".encode())

    @given(ids, span_ids, st.booleans(), st.dictionaries(keys, values, max_size=5))
    def test_read_back(self, trace: str, span: str, is_sampled: bool, members: dict[str, str]) -> None:
        """What is written reads as what was meant, and a second hop replaces the first."""
        state = ",".join(f"{key}={value}" for key, value in members.items())
        told = with_trace(
            b"A: b\r\n", TraceContext(trace, span, is_sampled, f"0{is_sampled:d}", "", state), span
        )
        self.assertEqual(read_parent(told), Parent(trace, span, is_sampled, False, state))
        again = with_trace(told, OURS, OURS.span_id)
        self.assertEqual(again, b"A: b\r\n" + with_trace(b"", OURS, OURS.span_id))
