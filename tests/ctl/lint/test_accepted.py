"""What a team accepts."""

from datetime import date
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from ingress.ctl.errors import Mistake
from ingress.ctl.inputs.input import Place
from ingress.ctl.lint.accepted import Accepting, accept, read_acceptances
from ingress.ctl.lint.finding import Finding, Level
from ingress.model.cluster.objects import Kind
from tests.ctl.lint.reports.samples import finding, object_id, reported, results

TODAY = date(2027, 3, 1)
FIELD = "metadata.annotations[nginx.ingress.kubernetes.io/rate-limit]"


def accepting(*findings: Finding, entries: list[dict[str, Any]], today: date = TODAY) -> Accepting:
    """What is left of *findings*, all of one object, with entries of the file."""
    read = read_acceptances([{"reason": "so it is", **entry} for entry in entries], "file: ")
    return accept(results(reported(findings=findings)).report, read, today, lambda file: file)


class MatchTests(SynchronousTestCase):
    def left(self, one: Finding, **entry: Any) -> int:
        """How many findings are left of one."""
        return len(accepting(one, entries=[entry]).report.findings)

    def test_everything_that_an_entry_names_has_to_match(self) -> None:
        """Rule, namespace, name, file and annotation, each as a text or a list, with patterns."""
        one = finding(Level.WARNING, rule="UnknownAnnotation", field=FIELD)
        for taking in (
            {"rules": "UnknownAnnotation"},
            {"rules": ["PathConflict", "Unknown*"]},
            {"namespaces": "sh?p", "names": "w*"},
            {"annotations": "rate-*"},
            {"annotations": ["nginx.ingress.kubernetes.io/rate-limit"]},
            {"files": "deploy/*.yaml", "rules": "*Annotation"},
        ):
            self.assertEqual(self.left(one, **taking), 0, taking)
        for leaving in (
            {"rules": "PathConflict"},
            {"namespaces": "shop", "names": "other"},
            {"namespaces": "sho"},
            {"annotations": "rate"},
            {"files": "deploy/*.yml"},
        ):
            self.assertEqual(self.left(one, **leaving), 1, leaving)

    def test_an_entry_about_annotations_takes_nothing_else(self) -> None:
        """Not even with a pattern that matches everything."""
        self.assertEqual(self.left(finding(), annotations="*"), 1)

    def test_findings_of_other_objects_are_taken_too(self) -> None:
        """A Secret is one."""
        report = results(others=[finding(of=object_id("shop/tls", Kind.SECRET))]).report
        read = read_acceptances([{"reason": "so it is", "names": "tls"}], "")
        self.assertEqual(accept(report, read, TODAY, str).report.others, ())

    def test_what_is_taken_is_kept_with_the_reason(self) -> None:
        """To be counted and shown."""
        (taken,) = accepting(finding(), entries=[{"names": "web"}]).accepted
        self.assertEqual((taken.finding, taken.reason), (finding(), "so it is"))


class ToldTests(SynchronousTestCase):
    def test_an_entry_holds_through_its_last_day(self) -> None:
        """From the next on what it accepted counts again, and that is told."""
        entries = [{"names": "web", "until": TODAY}]
        held = accepting(finding(), entries=entries)
        self.assertEqual((held.report.findings, held.told), ((), ()))
        over = accepting(finding(), entries=entries, today=date(2027, 3, 2))
        self.assertEqual(len(over.report.findings), 1)
        self.assertEqual(
            over.told, ("[[accept]] number 1 held until 2027-03-01, and what it accepted counts again",)
        )

    def test_an_entry_that_matches_nothing_is_told(self) -> None:
        """With its number and its reason."""
        found = accepting(finding(), entries=[{"names": "web"}, {"names": "gone"}])
        self.assertEqual(found.told, ("[[accept]] number 2 (so it is) matches no finding any more",))

    def test_of_a_part_only_entries_about_what_was_read_are_told(self) -> None:
        """Who lints one file hears nothing of what is accepted elsewhere."""
        entries = [
            {"files": "else/*"},
            {"names": "gone"},
            {"namespaces": "other", "rules": "PathConflict"},
            {"names": "w*", "rules": "PathConflict"},
        ]
        read = read_acceptances([{"reason": "so it is", **entry} for entry in entries], "")
        report = results(reported(findings=[finding()])).report
        (told,) = accept(report, read, TODAY, str, is_whole=False).told
        self.assertIn("number 4", told)
        self.assertEqual(len(accept(report, read, TODAY, str).told), 4)

    def test_files_are_what_the_list_is_relative_to(self) -> None:
        """A path is made relative before patterns are asked."""
        report = results(reported(findings=[finding(place=Place("../deploy/x.yaml", 1))])).report
        read = read_acceptances([{"reason": "so it is", "files": "deploy/*"}], "")
        self.assertEqual(
            accept(report, read, TODAY, lambda file: file.removeprefix("../")).report.findings, ()
        )


class ReadTests(SynchronousTestCase):
    def test_what_is_wrong_is_named_with_its_entry(self) -> None:
        """A key, a reason, a date, a pattern, a rule; nothing that is not understood is passed over."""
        for entry, message in (
            ({"rules": "PathConflict"}, "number 1: say why"),
            ({"rules": "PathConflict", "reason": " "}, "number 1: say why"),
            ({"reason": "x"}, "it would accept everything"),
            ({"reason": "x", "rule": "PathConflict"}, "there is no key 'rule'; did you mean rules?"),
            (
                {"reason": "x", "rules": "PathConflicts"},
                "no rule 'PathConflicts'; did you mean PathConflict?",
            ),
            ({"reason": "x", "rules": []}, "rules is a text or a list of texts"),
            ({"reason": "x", "names": [1]}, "names is a text or a list of texts"),
            ({"reason": "x", "names": "a", "until": "2027-01-01"}, "until is a date without quotes"),
        ):
            with self.assertRaises(Mistake) as raised:
                read_acceptances([entry], "some.toml: ")
            self.assertTrue(raised.exception.message.startswith("some.toml: [[accept]] number 1"))
            self.assertIn(message, raised.exception.message)

    def test_a_table_is_not_a_list_of_tables(self) -> None:
        """``[accept]`` is a slip that many make."""
        for value in ({"reason": "x"}, "text", [1]):
            self.assertRaises(Mistake, read_acceptances, value, "")
