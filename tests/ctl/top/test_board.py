"""What is known of a controller."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.ctl.top.board import MOST_ENTRIES, MOST_ROWS, Board, Row
from ingress.ctl.top.picture import Asked, Sheet, Terminal, picture, printed
from ingress.ctl.top.spans import painted

STATUS = {
    "version": "0.1.0",
    "pod": "txingress-1",
    "ready": True,
    "missing": [],
    "leader": {"leading": False, "leader": "txingress-2"},
    "workers": None,
    "snapshot": {"number": 3, "routes": 12, "hosts": 3, "problems": 1},
}
NUMBERS: dict[str, Any] = {
    "perSecond": 120.4,
    "failures": {"no-route": 2, "bad-gateway": 30},
    "p50": 0.003,
    "p99": 1.25,
    "upstreamP99": None,
    "clients": 8,
    "mostClients": 8000,
    "endpoints": 5,
    "ejected": 1,
    "nextCertificate": {"host": "shop.test", "notAfter": "2026-12-24T00:00:00.000Z", "secret": "shop/tls"},
    "lag": 0.001,
}
ROUTES = {
    "shop/shop/cart": {
        "perSecond": 20.0,
        "failing": 0.5,
        "p99": 1.2,
        "lastFailure": {
            "at": "2026-11-22T10:11:12.000Z",
            "status": 502,
            "cause": "bad-gateway",
            "reason": "x",
        },
    },
    "shop/shop/web": {"perSecond": 100.0, "failing": 0.0, "p99": 0.004, "lastFailure": None},
}
FAILURE = {
    "number": 1,
    "at": "2026-11-22T10:11:12.000Z",
    "cause": "bad-gateway",
    "status": 502,
    "method": "GET",
    "host": "shop.test",
    "path": "/cart",
    "reason": "refused",
    "backend": "shop/cart:80",
    "attempts": [{"endpoint": "10.0.0.7:80"}, {"endpoint": "10.0.0.8:80"}],
}
CHANGE = {
    "number": 1,
    "at": "2026-11-22T10:11:11.000Z",
    "sort": "ejection",
    "kind": "Service",
    "object": "shop/cart",
    "text": "10.0.0.7:80 is left out for 10 s",
    "trouble": True,
}


def board() -> Board:
    """Return a board on which there is something of all."""
    made = Board()
    for name, data in (
        ("status", STATUS),
        ("numbers", {**NUMBERS, "history": [1.0, 50.0]}),
        ("routes", ROUTES),
        ("failures", [FAILURE]),
        ("changes", [CHANGE]),
        ("numbers", NUMBERS),
        ("", None),
        (
            "endpoints",
            {"endpoints": [{"endpoint": "10.0.0.7:80", "state": "ejected", "why": "refused"}]},
        ),
    ):
        made.take(name, data)
    return made


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)


class BoardTests(SynchronousTestCase):
    """What events come to."""

    def test_known(self) -> None:
        """All is known after two seconds of a stream, of which the first word is none."""
        made = Board()
        made.take("status", STATUS)
        made.take("numbers", {**NUMBERS, "history": [3.0]})
        made.take("numbers", NUMBERS)
        self.assertFalse(made.is_known)
        made.take("", None)
        self.assertTrue(made.is_known)
        self.assertEqual([*made.history], [3.0, 120.4, 120.4])

    def test_rows(self) -> None:
        """A row goes when there is nothing to tell of it any more; others stay as they were."""
        made = board()
        self.assertEqual(
            made.rows["shop/shop/cart"], Row("shop/shop/cart", 20.0, 0.5, 1.2, "10:11:12 502 bad-gateway")
        )
        made.take(
            "routes", {"shop/shop/web": {"perSecond": 0, "failing": 0, "p99": None, "lastFailure": None}}
        )
        self.assertEqual([*made.rows], ["shop/shop/cart"])
        self.assertEqual([*made.plain()["routes"]], ["shop/shop/cart"])

    def test_entries_come_once(self) -> None:
        """What a stream that goes on repeats is there once."""
        made = board()
        made.take("failures", [FAILURE, {**FAILURE, "number": 2}])
        self.assertEqual([one.number for one in made.failures], [1, 2])

    def test_entries_of_another_life(self) -> None:
        """A controller that was started anew counts anew: what it tells is no old news, and its numbers are not those of before."""
        made = Board()
        made.take("changes", [CHANGE, {**CHANGE, "number": 2}], "a1.2.0")
        made.take("failures", [FAILURE], "a1.2.1")
        made.take("changes", [{**CHANGE, "text": "another one"}], "b2.1.0")
        self.assertEqual([one.text for one in made.changes], ["another one"])
        self.assertEqual([one["text"] for one in made.plain()["changes"]], ["another one"])
        self.assertEqual(list(made.failures), [])
        made.take("failures", [FAILURE], "b2.1.1")
        made.take("numbers", NUMBERS)
        self.assertEqual((len(made.changes), len(made.failures)), (1, 1))

    def test_objects_are_named_once(self) -> None:
        """A problem begins with its object, which stands beside it."""
        made = Board()
        made.take(
            "changes",
            [{**CHANGE, "text": "Service shop/cart: spec.ports: is missing"}, {**CHANGE, "number": 2}],
        )
        self.assertEqual(
            [(one.about, one.text) for one in made.changes],
            [
                ("Service shop/cart", "spec.ports: is missing"),
                ("Service shop/cart", "10.0.0.7:80 is left out for 10 s"),
            ],
        )

    def test_bounds(self) -> None:
        """Rows, changes and failures are bounded, whatever is told."""
        made = Board()
        busy = {"perSecond": 1.0}
        made.take("routes", {f"a/b/{number}": busy for number in range(2 * MOST_ROWS)})
        made.take("failures", [{**FAILURE, "number": number} for number in range(2 * MOST_ENTRIES)])
        self.assertEqual((len(made.rows), len(made.failures)), (MOST_ROWS, MOST_ENTRIES))
        self.assertEqual(
            (len(made.plain()["routes"]), len(made.plain()["failures"])), (MOST_ROWS, MOST_ENTRIES)
        )

    @given(
        st.sampled_from(["", "status", "numbers", "routes", "changes", "failures", "endpoints", "end", "?"]),
        json_values | st.lists(st.just(FAILURE) | json_values, max_size=3),
    )
    def test_anything(self, name: str, data: object) -> None:
        """Whatever a controller says, nothing raises, and no octet of it is one that a terminal obeys."""
        made = board()
        made.take(name, data)
        for sheet in Sheet:
            lines, _ = picture(made, Asked(sheet), Terminal(100, 30))
            for one in (*lines, *printed(made, 100)):
                self.assertTrue(painted(one, 100, False).isprintable())

    def test_hostile_texts(self) -> None:
        """What tenants and clients wrote is shown, and not done."""
        made = board()
        bad = "\x1b]0;owned\x07\x9b31m\n\u202e"
        made.take("routes", {f"a/{bad}/c": {"perSecond": 5.0, "lastFailure": {"cause": bad, "status": 1}}})
        made.take("status", {**STATUS, "pod": bad, "ready": False, "missing": [bad]})
        made.take("failures", [{**FAILURE, "number": 7, "host": bad, "reason": bad}])
        made.take("changes", [{**CHANGE, "number": 7, "text": bad, "object": bad, "sort": bad}])
        made.take("endpoints", {"endpoints": [dict.fromkeys(("endpoint", "state", "why", "backend"), bad)]})
        shown = ""
        for sheet in Sheet:
            lines, _ = picture(made, Asked(sheet), Terminal(300, 40))
            shown += "".join(painted(one, 300, False) for one in lines)
        self.assertTrue(shown.isprintable())
        self.assertGreater(shown.count("\\x1b]0;owned\\x07\\x9b31m\\n\\u202e"), 6)
