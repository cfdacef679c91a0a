"""Tests for ``ingress.model.observability.endpoint_states``."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.observability.endpoint_states import (
    MOST_BYTES,
    Ejection,
    EndpointStage,
    PoolRow,
    RotationRow,
    Row,
    RowsRefusedError,
    rows_from_bytes,
    rows_to_bytes,
    seen_by,
)
from ingress.model.stepwise import finished

ONE, TWO = "10.0.0.1:80", "10.0.0.2:80"
WEB = "shop/web:80"


def octets(*rows: Row) -> bytes:
    """Return *rows* as a worker tells them."""
    return finished(rows_to_bytes(rows))


def ejected(endpoint: str = ONE, seconds: float = 10.0) -> RotationRow:
    """Return a row of an endpoint that cannot be connected to."""
    return RotationRow(WEB, endpoint, EndpointStage.EJECTED, seconds, Ejection.UNREACHABLE)


class RowsTests(SynchronousTestCase):
    """Rows on their way from one process to another."""

    def test_back(self) -> None:
        """Rows are read as they were written, and last whether these are all."""
        rows = (ejected(), RotationRow(WEB, TWO, EndpointStage.IN_ROTATION, latency=0.25), PoolRow(ONE, 3, 1))
        self.assertEqual(list(rows_from_bytes(octets(*rows))), [*rows, True])

    def test_too_many(self) -> None:
        """What does not fit is left out, which the end says."""
        told = finished(rows_to_bytes(PoolRow(f"10.0.0.1:{number}", 1, 1) for number in range(100_000)))
        self.assertLessEqual(len(told), MOST_BYTES + 8)
        *rows, is_whole = rows_from_bytes(told)
        self.assertGreater(len(rows), 30_000)
        self.assertIs(is_whole, False)

    def test_nonsense(self) -> None:
        """Whatever is no row is refused, and with it all that came: numbers below 0, other words, endless names."""
        for line in (
            b"",
            b"nonsense",
            b'["10.0.0.1:80",-1,0]',
            b'["10.0.0.1:80",true,0]',
            b'["10.0.0.1:80",1.5,0]',
            b'["10.0.0.1:80",99999999999,0]',
            b'["<b>\\u0007",1,0]',
            b'["%b",1,0]' % (b"x" * 1000),
            b'["shop/web:80","10.0.0.1:80","well",0.0,"",null]',
            b'["shop/web:80","10.0.0.1:80","terminating",0.0,"",null]',
            b'["shop/web:80","10.0.0.1:80","ejected",-1.0,"",null]',
            b'["shop/web:80","10.0.0.1:80","ejected",NaN,"",null]',
            b'["shop/web:80","10.0.0.1:80","ejected",1.0,"because",null]',
            b"[" * 100_000,
        ):
            self.assertRaises(RowsRefusedError, list, rows_from_bytes(line + b"\ntrue"))
        for whole in (b"", octets(ejected())[:-1], b"true\n", b'["10.0.0.1:80",1,0]'):
            self.assertRaises(RowsRefusedError, list, rows_from_bytes(whole))

    @given(st.binary())
    def test_total(self, told: bytes) -> None:
        """Any bytes are rows, or are refused."""
        try:
            list(rows_from_bytes(told))
        except RowsRefusedError as refused:
            self.assertTrue(str(refused))


class SeenTests(SynchronousTestCase):
    """What workers say together."""

    def test_sums(self) -> None:
        """Connections and requests are those of all; latency is the mean of those who measured it."""
        fast = RotationRow(WEB, ONE, EndpointStage.IN_ROTATION, latency=0.1)
        slow = fast._replace(latency=0.3)
        seen = finished(seen_by({0: octets(PoolRow(ONE, 3, 1), fast), 1: octets(PoolRow(ONE, 4, 2), slow)}))
        self.assertEqual(seen.pool, {ONE: (7, 3)})
        state = seen.states[WEB, ONE]
        self.assertEqual((state.stage, state.told), (EndpointStage.IN_ROTATION, 2))
        self.assertAlmostEqual(state.latency or 0, 0.2)

    def test_disagree(self) -> None:
        """An endpoint is ejected where one of them ejected it, for as long as the last one does, by so many."""
        starts = RotationRow(WEB, ONE, EndpointStage.SLOW_START, 60.0)
        answers = {0: octets(starts), 1: octets(ejected(seconds=10.0)), 2: octets(ejected(seconds=20.0))}
        state = finished(seen_by(dict(answers))).states[WEB, ONE]
        self.assertEqual(
            (state.stage, state.seconds, state.ejection, state.told),
            (EndpointStage.EJECTED, 20.0, Ejection.UNREACHABLE, 2),
        )

    def test_several_rotations(self) -> None:
        """A process that has several rotations of a backend counts once."""
        state = finished(seen_by({0: octets(ejected(), ejected())})).states[WEB, ONE]
        self.assertEqual(state.told, 1)

    def test_no_answer(self) -> None:
        """Who says nothing, or nonsense, is named, and nothing of that counts."""
        nonsense = octets(PoolRow(ONE, 1, 1)).replace(b"true", b"[]\ntrue")
        seen = finished(seen_by({0: None, 1: octets(PoolRow(ONE, 1, 0)), 2: nonsense}))
        self.assertEqual((seen.left_out, seen.pool, seen.is_whole), ([0, 2], {ONE: (1, 0)}, True))

    def test_cut(self) -> None:
        """Where one of them left something out, the whole is not whole."""
        self.assertFalse(finished(seen_by({0: octets(), 1: b"false"})).is_whole)
