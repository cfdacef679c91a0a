"""The document that is written, and the page that is made of it."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from twisted.trial.unittest import SynchronousTestCase

from bench.loads.catalog import LOADS
from bench.measuring import machine
from bench.measuring.campaign import Measured
from bench.measuring.idle import IDLE_KINDS
from bench.measuring.summary import Sample
from bench.peers.targets import TARGETS
from bench.reports import pages, results, tables
from bench.requests.instructions import cell
from bench.setup.errors import BenchError

SETTING = {
    "measured_at": "2026-01-02T03:04:05+00:00",
    "machine": machine.machine(0, 1),
    "python": machine.python(),
    "programs": {"nginx": "1.2.3"},
    "code": {"ours": {"modules": 400, "compiled": []}},
    "busy": {"load_average": 0.1, "others": 0.01, "stolen": 0.0, "is_busy": False},
}


def measured(ours: float = 30e-6) -> Measured:
    """Two rounds of every load: nginx takes 20 us a request, Go 60, and ours as given; stock fails."""
    found = Measured(rounds=2)
    costs = {"ours": ours, "ours-compiled": 25e-6, "nginx": 20e-6, "go": 60e-6}
    for load in LOADS:
        for target in TARGETS:
            for number in (1, 2):
                if target.name in costs:
                    latency = 1000.0 if load.rate else None
                    sample = Sample(
                        1000, costs[target.name] * 1000, 1.0, 4096, 0.02, 0.3, 0.9, latency, latency
                    )
                    found.add(load, target, number, sample)
        found.failures[load.name] = {"stock": "10 of 10 requests failed"}
    return found


def document() -> dict[str, Any]:
    """A whole document."""
    found = results.document("bench", LOADS, TARGETS, measured(), SETTING)
    idle: dict[str, float | str] = {"ours": 2048.0, "nginx": 512.0, "stock": "is not kept open"}
    for kind in IDLE_KINDS:
        found[kind.name] = results.idle_results(kind, idle)
    hosts = {
        "10": {"ten_hosts_ns": 600.0, "all_hosts_ns": 601.0},
        "100000": {"ten_hosts_ns": 660.0, "all_hosts_ns": 1500.0},
    }
    found["lookup"] = results.lookup_results(hosts)
    counted = {"ours": cell([9000.0, 9100.0], [3000.0]), "nginx": cell([3000.0], [3000.0])}
    found["instructions"] = {
        "way": "callgrind",
        "rounds": 2,
        "loads": {"get-repeating": {"title": "small GET", "targets": counted}},
    }
    return found


class DocumentTests(SynchronousTestCase):
    """``results.json``."""

    def test_target(self) -> None:
        """A target has its median, its samples, and its ratios to nginx and to Go."""
        ours = document()["loads"]["get-repeating"]["targets"]["ours"]
        self.assertEqual(
            ours,
            {
                "median": 30.0,
                "samples": [30.0, 30.0],
                "us_per_request": 30.0,
                "to_nginx": 1.5,
                "to_ingress_nginx": None,
                "to_go": 0.5,
                "user_us": 7.5,
                "user_to_nginx": 1.5,
                "user_to_go": 0.5,
                "user_share": 0.25,
                "peak_mib": 4.0,
                "noise": 0.02,
            },
        )

    def test_latency(self) -> None:
        """At a fixed rate the median is that of p99, and the CPU time is told beside it."""
        ours = document()["loads"]["latency"]["targets"]["ours"]
        self.assertEqual((ours["median"], ours["p99_us"], ours["us_per_request"]), (1000.0, 1000.0, 30.0))

    def test_failure(self) -> None:
        """Who could not serve a load has nothing but the reason."""
        stock = document()["loads"]["download"]["targets"]["stock"]
        self.assertEqual(stock, {"failure": "10 of 10 requests failed"})

    def test_figures(self) -> None:
        """Goals are judged by the ratio, upwards for megabytes."""
        judged = {
            (one["load"], one["reference"]): one["met"]
            for one in document()["figures"]
            if one["target"] == "ours"
        }
        self.assertTrue(judged["get-unique", "nginx"])
        self.assertTrue(judged["get-repeating", "go"])
        self.assertFalse(judged["download", "nginx"])

    def test_which_runs(self) -> None:
        """Goals of compiled code are beside what that needed, and left out where it did not run."""
        found = document()
        rows = tables.figure_rows(found["figures"], found["loads"])
        self.assertEqual({row[1] for row in rows[1:]}, {"plain", "compiled"})
        [compiled] = [
            one for one in found["figures"] if (one["load"], one["target"]) == ("get-unique", "ours-compiled")
        ]
        self.assertEqual((compiled["ratio"], compiled["met"]), (1.25, True))
        plain = tuple(one for one in TARGETS if one.name != "ours-compiled")
        part = results.document("bench", LOADS, plain, measured(), SETTING)
        self.assertEqual({one["target"] for one in part["figures"]}, {"ours"})

    def test_what_was_asked(self) -> None:
        """A load says its protocol, how much was under way, and in how many rounds, of which some have fewer."""
        found = measured()
        found.rounds = 5
        made = results.document("bench", LOADS, TARGETS, found, SETTING)["loads"]
        keys = ("protocol", "connections", "streams", "rounds")
        self.assertEqual([made["h2-10x10"][key] for key in keys], ["h2", 10, 10, 5])
        self.assertEqual([made["tls-keep-alive"][key] for key in keys], ["http/1.1", 32, 1, 5])
        self.assertEqual([made["grpc-unary"][key] for key in keys], ["h2 to h2c", 1, 50, 3])

    def test_part(self) -> None:
        """A part of the loads has the same keys and the goals of that part only."""
        part = tuple(load for load in LOADS if load.is_quick)
        found = results.document("bench-quick", part, TARGETS, measured(), SETTING)
        self.assertEqual(list(found["loads"]), ["get-repeating", "get-unique"])
        self.assertEqual({one["load"] for one in found["figures"]}, {"get-repeating", "get-unique"})
        self.assertEqual(set(document()) - set(found), {"idle", "idle_h2", "instructions", "lookup"})

    def test_without_reference(self) -> None:
        """Without nginx there is no ratio, and the goal is not met."""
        found = measured()
        del found.samples["get-repeating"]["nginx"]
        (load,) = (one for one in LOADS if one.name == "get-repeating")
        made = results.document("bench", (load,), TARGETS, found, SETTING)
        self.assertIsNone(made["loads"]["get-repeating"]["targets"]["ours"]["to_nginx"])
        judged = [(one["target"], one["reference"], one["met"]) for one in made["figures"]]
        self.assertEqual(judged, [("ours-compiled", "nginx", False), ("ours", "go", True)])

    def test_goals_of_their_own(self) -> None:
        """Idle connections are judged in KiB, route lookups by the most hosts against the fewest."""
        found = document()
        self.assertEqual(found["idle"]["goal"], {"measured": 2.0, "must": 1.5, "aim": 1.5, "met": False})
        self.assertEqual(found["idle_h2"]["goal"], {"measured": 2.0, "must": 20.0, "aim": 20.0, "met": True})
        self.assertEqual(found["lookup"]["goal"], {"measured": 1.1, "must": 1.2, "aim": None, "met": True})

    def test_written_whole(self) -> None:
        """The file is the document as JSON, and nothing else stays in its folder."""
        folder = Path(self.mktemp())
        folder.mkdir()
        results.write(document(), folder / "results.json")
        self.assertEqual([path.name for path in folder.iterdir()], ["results.json"])
        self.assertEqual(json.loads((folder / "results.json").read_text()), document())

    def test_older_run(self) -> None:
        """What an older version wrote, or nobody, is refused in one line that says what to do."""
        path = Path(self.mktemp())
        path.write_text(json.dumps({**document(), "schema": 1}))
        error = self.assertRaises(BenchError, results.read, path)
        self.assertEqual(
            str(error), f"{path.name} has schema 1, not 2: another version wrote it; run make bench"
        )
        for text in ("[]", "{", ""):
            path.write_text(text)
            self.assertRaises(BenchError, results.read, path)

    def test_of_this_repository(self) -> None:
        """What is kept here renders, or is refused in one line."""
        try:
            found = results.read()
        except BenchError as refused:
            self.assertEqual(len(str(refused).splitlines()), 1)
        else:
            self.assertIn("### Goals", pages.figures_text(found))

    def test_read_again(self) -> None:
        """What was written renders again as it did."""
        path = Path(self.mktemp())
        results.write(document(), path)
        self.assertEqual(pages.figures_text(results.read(path)), pages.figures_text(document()))


class TableTests(SynchronousTestCase):
    """Tables for people."""

    def test_text(self) -> None:
        """Labels stand on the left, figures on the right."""
        self.assertEqual(tables.text_table([["", "us"], ["ours", "9"]]), "      us\nours   9")

    def test_markdown(self) -> None:
        """The head is followed by the rule of a Markdown table."""
        self.assertEqual(
            tables.markdown_table([["", "us"], ["ours", "9"]]), "|  | us |\n|---|--:|\n| ours | 9 |"
        )

    def test_rows_are_of_one_length(self) -> None:
        """Whoever failed gets a row as long as the others."""
        found = document()
        for load in found["loads"].values():
            rows = tables.load_rows(load, found["targets"])
            self.assertEqual(len({len(row) for row in rows}), 1)
            self.assertIn("10 of 10 requests failed", rows[-1])

    def test_numbers(self) -> None:
        """Figures have three digits, and none for what is missing."""
        self.assertEqual(
            [tables.number(one) for one in (1234.5, 12.345, 0.0123, None)], ["1234", "12.3", "0.0123", "-"]
        )

    def test_busy(self) -> None:
        """A figure while which others took much of the proxy's CPU is marked, and the mark explained."""
        found = document()
        self.assertFalse(tables.has_doubtful(found))
        load = found["loads"]["get-repeating"]
        load["targets"]["ours"]["noise"] = 0.5
        rows = tables.load_rows(load, found["targets"])
        self.assertEqual((rows[1][1], rows[3][1]), ("30 *", "20"))
        self.assertTrue(tables.has_doubtful(found))
        self.assertIn(tables.DOUBTFUL_NOTE, pages.figures_text(found))


class PageTests(SynchronousTestCase):
    """``docs/performance.md``."""

    def test_marks(self) -> None:
        """Only what stands between the marks is replaced, again and again."""
        page = f"before\n{pages.BEGIN}\nold\n{pages.END}\nafter\n"
        once = pages.with_figures(page, "new")
        self.assertEqual(once, f"before\n{pages.BEGIN}\n\nnew\n\n{pages.END}\nafter\n")
        self.assertEqual(pages.with_figures(once, "new"), once)

    def test_no_marks(self) -> None:
        """A page without marks is left alone."""
        self.assertRaises(BenchError, pages.with_figures, "hand-written", "new")

    def test_page_has_marks(self) -> None:
        """The page of this repository can be written."""
        self.assertIn("text", pages.with_figures(pages.PAGE.read_text("utf-8"), "text"))

    def test_how_much_and_how_often(self) -> None:
        """Above each table stands what was under way, and the rounds where they are not those of the others."""
        load = {"connections": 10, "streams": 1, "rounds": 5}
        self.assertEqual(tables.how_many(load), "10 connections")
        self.assertEqual(tables.how_many({**load, "streams": 3}), "10 connections with 3 streams each")
        self.assertEqual(tables.how_many({**load, "connections": 1}), "1 connection")
        self.assertEqual(
            tables.how_many({**load, "connections": 1, "streams": 3}), "1 connection with 3 streams"
        )
        self.assertEqual(pages.in_rounds(load, 5), "")
        self.assertEqual(pages.in_rounds(load, 6), ", in 5 rounds")

    def test_every_plot_is_shown(self) -> None:
        """Every plot is well-formed and has its place on the page, and no other picture is named there."""
        found = document()
        plots = pages.plots(found)
        text = pages.figures_text(found)
        for name, plot in plots.items():
            ElementTree.fromstring(plot)
            self.assertIn(f"(performance/{name})", text)
        self.assertEqual(text.count("(performance/"), len(plots))

    def test_text_in_plots_is_escaped(self) -> None:
        """A title with signs of XML is shown as it is."""
        load = {**document()["loads"]["post-1k"], "title": "a < b & c"}
        root = ElementTree.fromstring(pages.load_plot(load, document()["targets"]))
        self.assertIn("a < b & c", [element.text for element in root])
