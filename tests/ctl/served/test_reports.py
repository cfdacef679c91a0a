"""A comparison in words, as JSON and as Markdown."""

import json
import re

from twisted.trial.unittest import SynchronousTestCase

from ingress.ctl.served.differences import Comparison, Difference, Place, Subject, compare
from ingress.ctl.served.reports import MOST_CHARACTERS, as_json, as_markdown, as_text
from ingress.ctl.served.walking import walk
from tests.ctl.served.inputs import SERVICES, ingress, manifests

HOSTILE = "<img src=x onerror=alert(1)> @everyone [x](https://evil.test) ``` \x1b[31m\u202e"


def compared(old: tuple[str, ...], new: tuple[str, ...]) -> Comparison:
    """Compare manifests that have the same Services."""
    return compare(manifests(SERVICES, *old), manifests(SERVICES, *new))


def problem(message: str) -> Difference:
    """Return a problem that appears."""
    told = {
        "kind": "Ingress",
        "namespace": "a",
        "name": "b",
        "field": "",
        "reason": "InvalidPath",
        "message": message,
    }
    return Difference(Subject.PROBLEM, Place(), message, None, told)


class TextTests(SynchronousTestCase):
    """Text for people."""

    def lines(self, comparison: Comparison, *, all_places: bool = False) -> list[str]:
        """Return the lines without signs."""
        return [line for _, line in as_text(comparison, all_places=all_places)]

    def test_what_a_visitor_notices_first_is_first(self) -> None:
        """What vanishes, what leads elsewhere, what appears, what changes on the way, and owners last."""
        old = ingress(), ingress("b", path="/b"), ingress("c", path="/c"), ingress("gone", host="gone.test")
        new = (
            ingress(service="api", port="number: 8080"),
            ingress("b", path="/b", limit_rps="5"),
            ingress("renamed", path="/c"),
            ingress("new", host="new.test"),
        )
        lines = self.lines(compared(old, new))
        headings = [line for sign, line in as_text(compared(old, new)) if sign == "#"]
        self.assertEqual(
            headings,
            ["Vanishes", "Leads elsewhere", "Appears", "Changes on the way", "Nothing that visitors see"],
        )
        self.assertIn("  - gone.test", lines)
        self.assertIn("      leads to: shop/web:80 → shop/api:8080", lines)
        self.assertIn("      owner: Ingress shop/c → Ingress shop/renamed", lines)
        self.assertEqual(
            lines[-1],
            "1 host or path vanishes, 1 path leads elsewhere, 1 host or path appears, 1 place changes",
        )

    def test_the_same_at_many_places_is_told_once(self) -> None:
        """Ten places are named, and all of them if that is asked for."""
        old, new = (
            tuple(ingress(f"i{n}", host=f"h{n}.test", proxy_body_size=size) for n in range(30))
            for size in ("1m", "2m")
        )
        lines = self.lines(compared(old, new))
        self.assertEqual(sum("maxBodyBytes: 1048576 → 2097152" in line for line in lines), 1)
        self.assertIn("  ~ and 20 more; --all names them", lines)
        self.assertEqual(sum(line.startswith("  ~ h") for line in lines), 10)
        self.assertEqual(
            sum(line.startswith("  ~ h") for line in self.lines(compared(old, new), all_places=True)), 30
        )

    def test_of_long_values_the_difference_is_shown(self) -> None:
        """Of lists what comes and goes, of texts from where they are different on."""
        old, new = ("10.0.0.0/8,10.1.0.0/16,172.16.0.0/12", "10.0.0.0/8,172.16.0.0/12,192.168.0.0/16")
        ranges = self.lines(
            compared((ingress(whitelist_source_range=old),), (ingress(whitelist_source_range=new),))
        )
        self.assertTrue(
            any("192.168.0.0/16" in line and "172.16.0.0/12" not in line for line in ranges), ranges
        )
        long = "x" * 500
        texts = [f"/{long}{end}" for end in "ab"]
        found = Difference(Subject.SETTING, Place(host="a.test", path="/"), "target", *texts)
        self.assertIn(
            "      target: …xxxxxxxxxxxxxxxxa → …xxxxxxxxxxxxxxxxb", self.lines(Comparison((found,)))
        )

    def test_variants_are_told_by_what_requests_say(self) -> None:
        """One that comes, one that leads elsewhere, and one that goes; nothing is written as JSON."""

        def canary(service: str, header: str, **more: str) -> str:
            port = "number: 8080" if service == "api" else "number: 80"
            return ingress(
                "c",
                service=service,
                port=port,
                canary="true",
                canary_by_header=header,
                canary_by_header_value="a",
                **more,
            )

        some = canary("api", "X-New"), canary("gone", "X-New"), canary("api", "X-Old"), None
        for old, new, expected in (
            (None, some[0], "      where header x-new is a, leads to: none → shop/api:8080"),
            (some[0], some[1], "      where header x-new is a, leads to: shop/api:8080 → shop/gone:80"),
            (some[0], some[2], "      where header x-new is a, leads to: shop/api:8080 → none"),
        ):
            lines = self.lines(
                compared(*(((ingress(),) if one is None else (ingress(), one)) for one in (old, new)))
            )
            self.assertIn(expected, lines)
            self.assertFalse([line for line in lines if "{" in line])

    def test_order_of_variants_is_told(self) -> None:
        """The first that takes a request has it."""
        one, other = (
            {"conditions": [name], "backends": [], "filters": []}
            for name in ("header a is b", "header c is d")
        )
        self.assertEqual(
            list(walk([one, other], [other, one], "variants")),
            [("variants.order", ["header a is b", "header c is d"], ["header c is d", "header a is b"])],
        )

    def test_how_a_canary_is_shared_is_told(self) -> None:
        """By its backend."""
        old, new = (
            ingress(
                "c", service="api", port="number: 8080", canary="true", canary_weight="5", load_balance=one
            )
            for one in ("round_robin", "ewma")
        )
        lines = self.lines(compared((ingress(), old), (ingress(), new)))
        self.assertTrue([line for line in lines if "shop/api:8080" in line and "ewma" in line], lines)

    def test_nothing_that_a_terminal_would_obey(self) -> None:
        """Escapes and marks of direction are spelled."""
        text = "\n".join(self.lines(Comparison((problem(HOSTILE),))))
        self.assertNotIn("\x1b", text)
        self.assertNotIn("\u202e", text)

    def test_no_difference(self) -> None:
        """One line says so."""
        self.assertEqual(self.lines(Comparison(())), ["nothing that is served is different"])


class MarkdownTests(SynchronousTestCase):
    """Markdown for a comment."""

    def test_what_tenants_wrote_stands_in_fences_alone(self) -> None:
        """So there is no HTML, no mention and no link, and no run of backticks ends the fence."""
        text = as_markdown([("", Comparison((problem(HOSTILE),), (HOSTILE,)))])
        fence = re.compile(r"^(`{3,})diff\n.*?^\1\n", re.MULTILINE | re.DOTALL)
        self.assertEqual(len(fence.findall(text)), 2)
        self.assertEqual({len(found) for found in fence.findall(text)}, {4})
        outside = fence.sub("", text)
        for sign in ("onerror", "@", "evil", "\x1b"):
            self.assertNotIn(sign, outside)

    def test_its_size_has_a_bound(self) -> None:
        """What is left out is said."""
        many = tuple(problem(f"{n} {'x' * 300}") for n in range(2000))
        more = tuple(
            Difference(Subject.SETTING, Place(host=f"h{n}.test", path="/"), "target", f"{n}", "y" * 150)
            for n in range(2000)
        )
        text = as_markdown([("", Comparison((*more, *many)))])
        self.assertLess(len(text), 65_536)
        self.assertGreater(len(text), MOST_CHARACTERS // 2)
        self.assertRegex(text, r"[0-9]+ more lines are left out")
        several = as_markdown([(f"layer {n}", Comparison(more)) for n in range(5)])
        self.assertLess(len(several), 65_536)
        self.assertIn("more sections are left out", several)

    def test_what_vanishes_or_leads_elsewhere_is_open(self) -> None:
        """Everything else is folded."""
        text = as_markdown([("", compared((ingress("b", path="/b"), ingress()), (ingress(limit_rps="5"),)))])
        self.assertIn("<details open><summary>Vanishes (1)</summary>", text)
        self.assertIn("<details><summary>Changes on the way (1)</summary>", text)
        self.assertIn("\n- shop.example.com/b (Prefix)\n", text)


class JSONTests(SynchronousTestCase):
    """JSON for programs."""

    def test_a_difference(self) -> None:
        """It has its place, its field and both values."""
        found = json.loads(
            as_json([("", compared((ingress(limit_rps="5"),), (ingress("b", limit_rps="6"),)))])
        )
        (one,) = found["differences"]
        self.assertEqual(
            one,
            {
                "subject": "filter",
                "change": "changes",
                "layer": "",
                "table": "",
                "host": "shop.example.com",
                "path": "/",
                "match": "Prefix",
                "field": "filters.rate-limit.by_second",
                "old": 5,
                "new": 6,
                "instead": None,
            },
        )
        self.assertEqual([quiet["subject"] for quiet in found["quiet"]], ["owner"])
        self.assertTrue(found["different"])
        self.assertFalse(json.loads(as_json([("", Comparison(()))]))["different"])
