"""What clients saw is told by whose connection it was, and what must not be lost is found."""

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from bench.disruptions.restarts.acts import ACTS, Act
from bench.disruptions.restarts.clients import AT_REST, KINDS, Loss, Seen
from bench.disruptions.restarts.report import figures, reasons, rows, summary_rows, unforgiven

OWN, OTHER = 4001, 4002
TITLES = {"ours-2": "ours, 2 workers", "nginx": "nginx, 2 workers"}


def seen() -> Seen:
    """One of ten lost by the process that ended, and one more that nobody may lose."""
    return Seen(
        10,
        [Loss(1.0, OWN, "reset", True), Loss(2.0, OTHER, "refused", False)],
        {OWN: 0.5, OTHER: 0.25},
    )


def act(name: str) -> Act:
    """One of the acts."""
    return next(one for one in ACTS if one.name == name)


class ReportTests(SynchronousTestCase):
    """Figures of one act."""

    def test_whose(self) -> None:
        """Losses and pauses are told apart by the port of the client."""
        self.assertEqual(
            figures(seen(), {OWN}),
            {
                "sent": 10,
                "own": {"reset": 1},
                "others": {"refused": 1},
                "cut": 1,
                "own_pause_ms": 500.0,
                "others_pause_ms": 250.0,
            },
        )

    def test_others_are_not_forgiven(self) -> None:
        """What a process that ended had is its own loss; what others lose is none that may be."""
        found = {"keep-alive": figures(seen(), {OWN}), "new": figures(Seen(10), {OWN})}
        self.assertEqual(unforgiven(act("kill-worker"), found), {"keep-alive": {"refused": 1}})

    def test_grace_of_websockets(self) -> None:
        """A WebSocket may end with the grace where processes are exchanged, and not where the configuration changes."""
        found = {"websocket": figures(Seen(5, [Loss(1.0, OTHER, AT_REST, True)]), set())}
        self.assertEqual(unforgiven(act("exchange"), found), {})
        self.assertEqual(unforgiven(act("reload"), found), {"websocket": {AT_REST: 1}})

    def test_tables(self) -> None:
        """Each kind has a row, each proxy a column, and all kinds together a cell of the summary."""
        kinds = {name: figures(Seen(10), set()) for name in KINDS}
        kinds["new"] = figures(seen(), {OWN})
        found: dict[str, dict[str, Any]] = {
            "ours-2": {"kinds": kinds, "whole_after": 0.26, "started_anew": 0},
            "nginx": {"kinds": kinds, "whole_after": None, "started_anew": 2},
        }
        table = rows(found, TITLES)
        self.assertEqual(table[0], ["", "ours, 2 workers", "nginx, 2 workers"])
        self.assertEqual(table[1], ["new connection", *["1 + 1 of 10, 1 cut; 500 + 250 ms"] * 2])
        self.assertEqual(table[2], ["keep-alive", *["0 of 10; 0 ms"] * 2])
        self.assertEqual(table[-1], ["all is as before after", "0.3 s", "not by itself, started 2 x"])
        self.assertEqual(len(table), len(KINDS) + 2)
        [head, row] = summary_rows([act("kill-worker")], {"kill-worker": found}, TITLES)
        self.assertEqual(head, ["", *TITLES.values()])
        self.assertEqual(row[:2], ["A worker is killed", "1 + 1 of 80, 1 cut; 250 ms; 0.3 s"])
        self.assertEqual(reasons(kinds), "own: 1 reset; others: 1 refused")
