"""What lint says of classes."""

from functools import partial

from attrs import evolve

from ingress.ctl.inputs.coverage import Coverage
from ingress.ctl.inputs.unknown_fields import UnknownField
from ingress.ctl.lint.finding import Change, Level
from ingress.ctl.lint.linting import lint
from ingress.ctl.suggestions.suggested_classes import SuggestedClasses
from ingress.model.cluster.objects import Kind, ObjectKey
from ingress.translate.readers.ingress.objects import IngressBackend, IngressClass
from tests.ctl.lint.lint_case import CLASS_ANNOTATION, LintCase, changed, ingress, input_of, rules_of
from tests.fakes.counting import calls


class ClassesTests(LintCase):
    def test_one_of_another_class_is_told_and_not_judged(self) -> None:
        """The class, and whose it is where that is known, are named; nothing else is said."""
        other = ingress(class_name="traefik", nonsense="x")
        finding = self.found("UnknownClass", other)
        self.assertIn('"traefik"', finding.message)
        report = self.lint(other)
        self.assertEqual(rules_of(report), {"UnknownClass"})
        self.assertFalse(report.objects[0].is_ours)
        self.assertEqual(report.objects[0].why_not, finding.message)
        self.assertEqual(finding.advice, "to have class traefik judged: -o ingress-class=traefik")
        odd = self.found("UnknownClass", ingress(class_name="a b; c"))
        self.assertIn("-o 'ingress-class=a b; c'", odd.advice)

    def test_a_class_of_nobody_is_a_warning_where_nothing_is_judged(self) -> None:
        """Beside what is judged, here or in another layer, it is another controller's on purpose, and a note."""
        other = ingress(class_name="traefik")
        self.assertIs(self.found("UnknownClass", other).level, Level.WARNING)
        for ours in (ingress(name="ours"), ingress(name="ours", class_name=None)):
            self.assertIs(self.found("UnknownClass", other, ours).level, Level.NOTE)
            layered = self.lint(other, others=(input_of(ours),))
            (finding,) = (one for one in layered.findings if one.rule == "UnknownClass")
            self.assertIs(finding.level, Level.NOTE)

    def test_a_class_that_may_be_there_is_a_note(self) -> None:
        """In a cluster whose IngressClasses nobody could list."""
        for name in ("traefik", "ngnix"):
            value = ingress(class_name=name)
            for coverage, rules in (
                (Coverage(), {"OtherClass"}),
                (Coverage(whole=frozenset({Kind.INGRESS_CLASS})), {"UnknownClass", "MistypedClass"}),
            ):
                given = input_of(value, coverage=coverage)
                settings = evolve(given.settings, translate=evolve(given.options, from_manifests=False))
                (finding,) = lint(evolve(given, settings=settings)).findings
                self.assertIn(finding.rule, rules)

    def test_a_class_of_another_controller_is_told_by_that(self) -> None:
        """Its name decides nothing, and be it that of our class, so the option is that of the controller."""
        for name in ("traefik", "nginx"):
            other = ingress(class_name=name)
            seen = IngressClass(ObjectKey("", name), "example.com/other")
            finding = self.found("OtherClass", other, seen)
            self.assertIs(finding.level, Level.NOTE)
            self.assertEqual(
                finding.message,
                f'its class is "{name}", whose controller is "example.com/other", '
                'and only those of "k8s.io/ingress-nginx" are judged',
            )
            self.assertEqual(
                finding.advice, "to have its classes judged: -o controller-class=example.com/other"
            )
            self.assert_not_found("OtherClass", other, seen, controller_class="example.com/other")

    def test_a_class_that_is_mistyped_is_an_error(self) -> None:
        """The class of ours that is meant is told, and what to write; also beside Ingresses that are judged."""
        ours = IngressClass(ObjectKey("", "public"), "k8s.io/ingress-nginx")
        for name, meant in (
            ("ngnix", "nginx"),
            ("nginxx", "nginx"),
            ("Nginx", "nginx"),
            ("ngnx", "nginx"),
            ("pubilc", "public"),
        ):
            value = ingress(class_name=name)
            for others in ((), (ingress(name="other"),)):
                finding = self.found("MistypedClass", value, ours, *others)
                self.assertIs(finding.level, Level.ERROR)
                self.assertEqual(
                    finding.advice,
                    f"did you mean {meant}? Otherwise, to have class {name} judged: -o ingress-class={name}",
                )
            self.assertEqual(changed(value, finding.changes).class_name, meant)
        old = evolve(ingress(class_name=None), annotations={CLASS_ANNOTATION: "ngnix"})
        finding = self.found("MistypedClass", old)
        self.assertEqual(finding.field, f"metadata.annotations[{CLASS_ANNOTATION}]")
        self.assertEqual(changed(old, finding.changes).annotations, {CLASS_ANNOTATION: "nginx"})

    def test_a_class_that_is_like_ours_may_be_another_one(self) -> None:
        """What is close is told; a name that adds to ours, and one of which there is an IngressClass, are not."""
        self.assertIn("did you mean nginx?", self.found("UnknownClass", ingress(class_name="ngxin")).advice)
        ours = ingress(name="ours")
        for name in ("nginx2", "nginx-internal", "nginx-2", "my-nginx", "internal-nginx", "traefik"):
            finding = self.found("UnknownClass", ingress(class_name=name), ours)
            self.assertNotIn("did you mean", finding.advice)
        there = IngressClass(ObjectKey("", "ngnix"), "example.com/other")
        self.assertNotIn("did you mean", self.found("OtherClass", ingress(class_name="ngnix"), there).advice)

    def test_the_classes_that_are_judged_are_named(self) -> None:
        """That of the option if nobody else has it, and those that have our controller: some Ingress is to name one of them."""
        web, foreign = ingress(class_name="web"), IngressClass(ObjectKey("", "nginx"), "example.com/other")
        ours = [IngressClass(ObjectKey("", name), "k8s.io/ingress-nginx") for name in ("c", "a", "b", "d")]
        for classes, judged in (
            ([], 'only class "nginx" is judged'),
            ([ours[1]], 'only classes "nginx", "a" are judged'),
            (ours, 'only classes "nginx", "a", "b" and 2 more are judged'),
            ([foreign, ours[1]], 'only class "a" is judged'),
            ([foreign], 'only classes of the controller "k8s.io/ingress-nginx" are judged'),
        ):
            message = self.found("UnknownClass", web, *classes).message
            self.assertEqual(message, f'its class is "web", and {judged}')

    def test_a_class_by_its_name(self) -> None:
        """With --ingress-class-by-name it is judged whatever its controller, which then is no slip, and named among those that are."""
        named = IngressClass(ObjectKey("", "nginx"), "k8s.io/ingres-nginx")
        self.found("MistypedController", ingress(), named)
        report = self.lint(ingress(), named, class_by_name=True)
        self.assertTrue(report.objects[0].is_ours)
        self.assertEqual({"OtherClass", "MistypedController"} & rules_of(report), set())
        web, theirs = ingress(class_name="web"), IngressClass(ObjectKey("", "web"), "example.com/other")
        self.assertEqual(
            self.found("UnknownClass", web, named, class_by_name=True).message,
            'its class is "web", and only class "nginx" is judged',
        )
        self.assertEqual(
            self.found("OtherClass", web, theirs, class_by_name=True).message,
            'its class is "web", whose controller is "example.com/other", '
            'and only those of "k8s.io/ingress-nginx" and class "nginx" are judged',
        )

    def test_a_thousand_ingresses_of_one_class_are_compared_once(self) -> None:
        """With the classes of ours."""
        classes = [IngressClass(ObjectKey("", f"c{n}"), "k8s.io/ingress-nginx") for n in range(1000)]
        counts = []
        for many in (100, 200):
            given = input_of(*classes, *(ingress(name=f"n{n}", class_name="traefic") for n in range(many)))
            meant = SuggestedClasses(given.state, given.options)
            counts.append(calls(partial(_asked, meant, many)))
        self.assertLess(counts[1] - counts[0], 100 * 100)

    def test_one_without_class_is_judged_as_if_it_were_ours(self) -> None:
        """That is said, with the class to write; its annotations and conflicts are judged."""
        classless = ingress(class_name=None, nonsense="x")
        report = self.lint(classless, ingress(name="zzz"))
        self.assertEqual(rules_of(report), {"NoClass", "UnknownAnnotation", "PathConflict"})
        finding = self.found("NoClass", classless)
        self.assertEqual(changed(classless, finding.changes).class_name, "nginx")
        self.assert_not_found("NoClass", changed(classless, finding.changes))

    def test_one_without_class_is_ours_where_it_would_be_served(self) -> None:
        """The option, or a default class of this controller, say so."""
        self.assert_not_found("NoClass", ingress(class_name=None), watch_without_class=True)
        default = IngressClass(ObjectKey("", "nginx"), "k8s.io/ingress-nginx", is_default=True)
        self.assert_not_found("NoClass", ingress(class_name=None), default)
        foreign = evolve(default, controller="example.com/other")
        self.assertEqual(rules_of(self.lint(ingress(class_name=None), foreign)), {"OtherClass"})

    def test_a_catch_all_that_is_disabled_is_told_once(self) -> None:
        """Whatever rules it has, and also without class; of another class it is another's matter."""
        for class_name, rule in (
            ("nginx", "CatchAllDisabled"),
            (None, "CatchAllDisabled"),
            ("x", "UnknownClass"),
        ):
            value = evolve(
                ingress(class_name=class_name, nonsense="x"), default_backend=IngressBackend("web")
            )
            report = self.lint(value, disable_catch_all=True)
            self.assertEqual(rules_of(report), {rule}, class_name)
            (one,) = report.objects
            self.assertEqual((one.is_ours, one.why_not), (False, one.findings[0].message))
        self.assert_not_found("CatchAllDisabled", ingress(), disable_catch_all=True)

    def test_the_old_annotation_is_told_with_the_field_that_took_its_place(self) -> None:
        """The changes move the name into the field, or only remove the annotation where the field has it."""
        old = ingress(class_name=None)
        old = evolve(old, annotations={CLASS_ANNOTATION: "nginx"})
        mended = changed(old, self.found("ClassByAnnotation", old).changes)
        self.assertEqual((mended.class_name, dict(mended.annotations)), ("nginx", {}))
        both = evolve(old, class_name="nginx")
        mended = changed(both, self.found("ClassByAnnotation", both).changes)
        self.assertEqual((mended.class_name, dict(mended.annotations)), ("nginx", {}))

    def test_a_contradiction_is_told_once(self) -> None:
        """Where field and annotation disagree, the problem says what counts."""
        value = evolve(ingress(class_name="user"), annotations={CLASS_ANNOTATION: "nginx"})
        self.assertEqual(rules_of(self.lint(value)), {"ClassConflict"})
        self.assertEqual(
            self.found("ClassConflict", value).advice, "remove the annotation, or have the field say the same"
        )


class FieldsTests(LintCase):
    """Fields that there are not."""

    def test_an_unknown_field_is_told(self) -> None:
        """With what may be meant; tests/ctl/inputs has where these come from."""
        value = ingress()
        unknown = {(Kind.INGRESS, value.key): (UnknownField("spec", "tsl", "did you mean tls?"),)}
        (finding,) = lint(evolve(input_of(value), unknown=unknown)).findings
        self.assertEqual(finding.rule, "UnknownField")
        self.assertEqual((finding.field, finding.advice), ("spec.tsl", "did you mean tls?"))


class ControllersTests(LintCase):
    """IngressClasses, by their controller."""

    def test_a_controller_that_is_mistyped_is_an_error(self) -> None:
        """Of the IngressClass, used or not; its Ingresses name what is meant before they advise to go by what stands there."""
        for ours, controller in (
            ("k8s.io/ingress-nginx", "k8s.io/ingres-nginx"),
            ("k8s.io/ingress-nginx", "k8s.io/ingress-ngnix"),
            ("example.com/ingress-twisted", "example.com/ingres-twisted"),
        ):
            seen = IngressClass(ObjectKey("", "nginx"), controller)
            finding = self.found("MistypedController", seen, controller_class=ours)
            self.assertEqual(finding.object_id, (Kind.INGRESS_CLASS, seen.key))
            self.assertIs(finding.level, Level.ERROR)
            self.assertEqual(finding.advice, f"did you mean {ours}?")
            self.assertEqual(finding.changes, (Change("spec.controller", ours),))
            self.assertEqual(
                self.found("OtherClass", seen, ingress(), controller_class=ours).advice,
                f"did you mean {ours} as the controller of IngressClass nginx?"
                f" Otherwise, to have its classes judged: -o controller-class={controller}",
            )

    def test_a_controller_that_is_like_ours_is_another_one(self) -> None:
        """As of a second ingress-nginx, or of others in the same organization."""
        for controller in (
            "k8s.io/ingress-nginx",
            "k8s.io/ingress-nginx2",
            "k8s.io/ingress-nginx-internal",
            "k8s.io/internal-ingress-nginx",
            "k8s.io/ingress-gce",
            "nginx.org/ingress-controller",
            "",
        ):
            seen = IngressClass(ObjectKey("", "public"), controller)
            report = self.lint(seen, ingress(class_name="public"))
            self.assertLessEqual(rules_of(report), {"OtherClass"}, controller)
            self.assertNotIn("did you mean", "".join(one.advice for one in report.findings), controller)


def _asked(meant: SuggestedClasses, times: int) -> None:
    for _ in range(times):
        meant.advice("traefic")
        meant.slip("traefic")
