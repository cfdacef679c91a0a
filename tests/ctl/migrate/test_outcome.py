"""What becomes of an object by the move, whose it is, and what several have in common."""

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.ctl.inputs.input import NOWHERE, Place
from ingress.ctl.lint.finding import AnnotationReport, Change, Finding, Level, ObjectReport, Standing
from ingress.ctl.migrate.matters import Matters
from ingress.ctl.migrate.mending import mended, put_together
from ingress.ctl.migrate.migration import Count, Matter
from ingress.ctl.migrate.outcome import BEARINGS, Outcome, is_mistake, outcome_of
from ingress.ctl.migrate.owners import owner_label, owner_of
from ingress.ctl.migrate.writing import verdict
from ingress.model.cluster.objects import Kind, ObjectId, ObjectKey
from ingress.model.cluster.problems import Reason
from ingress.translate.readers.ingress.objects import Ingress, IngressPath, IngressRule

WEB = (Kind.INGRESS, ObjectKey("shop", "web"))
API = (Kind.INGRESS, ObjectKey("shop", "api"))


def finding(rule: str, message: str = "it is so", object_id: ObjectId = WEB, *changes: Change) -> Finding:
    """A finding of *rule*."""
    return Finding(Level.ERROR, rule, object_id, message, changes=changes)


def report(
    *findings: Finding,
    annotations: tuple[AnnotationReport, ...] = (),
    object_id: ObjectId = WEB,
    place: Place = NOWHERE,
    **labels: str,
) -> ObjectReport:
    """What lint says of one object that is ours."""
    return ObjectReport(object_id, place, True, "", annotations, findings, tuple(sorted(labels.items())))


def matters_of(*reports: ObjectReport) -> list[Matter]:
    """What is the matter with the objects of *reports*, the worst first."""
    matters = Matters()
    for one in reports:
        matters.add(one)
    return [matter for matter, _ in matters.sorted()]


class OutcomeTests(SynchronousTestCase):
    def test_every_reason_has_its_bearing(self) -> None:
        """Whoever adds a reason of problems says what it has to do with the move."""
        self.assertEqual(set(BEARINGS), set(Reason))

    def test_an_object_is_as_its_worst(self) -> None:
        """Findings and annotations count alike."""
        note = finding("AnnotationNote")
        self.assertEqual(outcome_of(report()), Outcome.WORKS)
        self.assertEqual(outcome_of(report(note)), Outcome.DIFFERS)
        self.assertEqual(outcome_of(report(note, finding("HostConflict"))), Outcome.NEEDS_CHANGE)
        for standing, outcome in (
            (Standing.HONORED, Outcome.WORKS),
            (Standing.NEVER_EXISTED, Outcome.WORKS),
            (Standing.UNSAFE, Outcome.WORKS),
            (Standing.DIFFERS, Outcome.DIFFERS),
            (Standing.IGNORED, Outcome.WORKS),
        ):
            one = AnnotationReport("x", "y", standing, "why")
            self.assertEqual(outcome_of(report(annotations=(one,))), outcome)

    def test_what_is_wrong_in_either_controller_works_as_it_did(self) -> None:
        """A Service that is missing is missing there, too; it is a mistake, and no outcome of the move."""
        for one in (
            finding("ServiceNotFound"),
            finding("RewriteToOnePath"),
            finding("InvalidAnnotation", '"60s" has a unit, which ingress-nginx does not read either'),
        ):
            self.assertEqual(outcome_of(report(one)), Outcome.WORKS)
            self.assertTrue(is_mistake(one))
        self.assertFalse(is_mistake(finding("HostConflict")))

    def test_what_would_answer_503_is_told_apart(self) -> None:
        """By what the message says of us; what a tenant wrote stands in quotes, and says nothing."""
        for rule, message, outcome in (
            ("UnsupportedAnnotation", "enable-modsecurity; the Ingress answers 503", Outcome.CLOSED),
            (
                "UnsupportedAnnotation",
                'x: "answers 503 \\" answers 503" is not honored',
                Outcome.NEEDS_CHANGE,
            ),
            ("UnsupportedPath", "it is not run", Outcome.CLOSED),
            ("ExternalNameForbidden", "it is not allowed", Outcome.CLOSED),
            ("ClosedPaths", "nothing is let in", Outcome.CLOSED),
            ("ServiceNotFound", "the path answers 503", Outcome.WORKS),
        ):
            self.assertEqual(outcome_of(report(finding(rule, message))), outcome, message)


class OwnerTests(SynchronousTestCase):
    def test_the_label_that_most_have_is_taken(self) -> None:
        """Of those that are usual, or of those that are asked for."""
        reports = [report(team="a"), report(team="b", owner="x"), report(owner=""), report(squad="q")]
        self.assertEqual(owner_label(reports), "team")
        self.assertEqual(owner_label(reports, ["owner", "squad"]), "owner")
        self.assertEqual(owner_label(reports, ["tier"]), "")
        self.assertEqual(owner_label([]), "")
        self.assertEqual([owner_of(one, "team") for one in reports], ["a", "b", "", ""])


class MatterTests(SynchronousTestCase):
    def test_what_several_have_is_one_matter(self) -> None:
        """With the objects that have it, in the order of their keys."""
        web, api = (report(finding("HostConflict", object_id=one), object_id=one) for one in (WEB, API))
        [matter] = matters_of(web, api)
        self.assertEqual(matter.objects, (API, WEB))

    def test_names_that_mean_one_thing_are_told_together(self) -> None:
        """Whatever of these an object has; what differs otherwise is another matter."""
        says = "requests are not limited by that"
        one = finding("UnknownAnnotation", f"rate-limit: ingress-nginx never had it; {says}")
        other = finding(
            "UnknownAnnotation", f"rate-limit, rate-limit-window: ingress-nginx never had them; {says}", API
        )
        third = finding("UnknownAnnotation", "websocket: ingress-nginx never had it; none is needed")
        many, single = matters_of(report(one, third), report(other, object_id=API))
        self.assertEqual(many.message, f"rate-limit, rate-limit-window: ingress-nginx never had them; {says}")
        self.assertEqual(len(many.objects), 2)
        self.assertEqual(single.message, third.message)

    def test_an_annotation_is_told_where_no_finding_tells_of_it(self) -> None:
        """What is honored is no matter, and nothing is told twice."""
        told = finding("AnnotationNote", "x is so")
        annotations = (
            AnnotationReport("x", "1", Standing.DIFFERS, "x is so"),
            AnnotationReport("y", "1", Standing.DIFFERS, "otherwise"),
            AnnotationReport("z", "1", Standing.HONORED),
        )
        messages = [one.message for one in matters_of(report(told, annotations=annotations))]
        self.assertEqual(messages, ["x is so", "y: otherwise"])

    def test_an_object_of_two_layers_counts_twice(self) -> None:
        """Each overlay has its own."""
        one = finding("HostConflict")
        [matter] = matters_of(report(one, place=Place("a.yaml", 1)), report(one, place=Place("b.yaml", 1)))
        self.assertEqual(len(matter.objects), 2)


class MendingTests(SynchronousTestCase):
    def test_changes_that_contradict_each_other_are_not_both_made(self) -> None:
        """The first finding counts with all of its changes, and the other one with none; notes ask for none."""
        first = finding("A", "a", WEB, Change("spec.x", "1"), Change("spec.y", None))
        same = finding("B", "b", WEB, Change("spec.y", None))
        self.assertEqual(list(mended([evolve(first, level=Level.NOTE)])), [])
        other = finding("C", "c", WEB, Change("spec.z", "1"), Change("spec.x", "2"))
        self.assertEqual(list(mended([first, finding("D"), same, other])), [first, same])

    def test_a_rule_whose_paths_all_go_goes_as_a_whole(self) -> None:
        """And what would be changed within it is not."""
        value = Ingress(
            ObjectKey("shop", "web"),
            rules=(
                IngressRule("a", (IngressPath("/", "Prefix", None),)),
                IngressRule("b", (IngressPath("/", "Prefix", None), IngressPath("/x", "Prefix", None))),
            ),
        )
        within = Change("spec.rules[0].host", "c")
        first, second, third = (
            Change(f"spec.rules[{rule}].http.paths[{path}]", None) for rule, path in ((0, 0), (1, 0), (1, 1))
        )
        self.assertEqual(put_together([within, first], value), (Change("spec.rules[0]", None),))
        self.assertEqual(put_together([second, second], value), (second,))
        kept = Change("spec.ingressClassName", "nginx")
        self.assertEqual(put_together([first, second, third, kept], value), (kept,))
        self.assertEqual(put_together([Change("spec.rules[0]", None), second, third], value), ())


class VerdictTests(SynchronousTestCase):
    def test_it_is_one_sentence_with_the_numbers(self) -> None:
        """Singular and plural, thousands, and nothing of what there is none of at the end."""
        self.assertEqual(
            verdict(Count(412, 371, 29, 12, 3)),
            "Of 412 Ingresses, 371 work as they are, 29 differ in something, 12 need a change before the"
            " switch; 3 would answer 503.",
        )
        self.assertEqual(
            verdict(Count(10_003, 10_001, 1, 1)),
            "Of 10,003 Ingresses, 10,001 work as they are, 1 differs in something, 1 needs a change before the switch.",
        )
        self.assertEqual(verdict(Count(2, 2)), "All 2 Ingresses work as they are.")
        for count, words in (
            (Count(1, 1), "works as it is"),
            (Count(1, 0, 1), "differs in something"),
            (Count(1, 0, 0, 1), "needs a change before the switch"),
            (Count(1, 0, 0, 1, 1), "needs a change before the switch: it would answer 503"),
        ):
            self.assertEqual(verdict(count), f"The only Ingress {words}.")
        self.assertEqual(verdict(Count()), "There is no Ingress here that this controller would serve.")
