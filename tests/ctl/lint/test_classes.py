"""What lint says of classes."""

from attrs import evolve

from ingress.ctl.lint.finding import Level
from ingress.model.objects import ObjectKey
from ingress.translate.readers.ingress.objects import IngressClass
from tests.ctl.lint.lint_case import CLASS_ANNOTATION, LintCase, changed, ingress, rules_of


class ClassesTests(LintCase):
    def test_one_of_another_class_is_told_and_not_judged(self) -> None:
        """The class, and whose it is where that is known, are named; nothing else is said."""
        other = ingress(class_name="traefik", nonsense="x")
        finding = self.found("OtherClass", other)
        self.assertIn('"traefik"', finding.message)
        self.assertIs(finding.level, Level.NOTE)
        report = self.lint(other)
        self.assertEqual(rules_of(report), {"OtherClass"})
        self.assertFalse(report.objects[0].is_ours)
        self.assertEqual(report.objects[0].why_not, finding.message)
        self.assertEqual(finding.advice, "to have class traefik judged: -o ingress-class=traefik")
        odd = self.found("OtherClass", ingress(class_name="a b; c"))
        self.assertIn("-o 'ingress-class=a b; c'", odd.advice)

    def test_a_class_of_another_controller_is_told_by_that(self) -> None:
        """Its name decides nothing, and be it that of our class, so the option is that of the controller."""
        for name in ("traefik", "nginx"):
            other = ingress(class_name=name)
            seen = IngressClass(ObjectKey("", name), "example.com/other")
            finding = self.found("OtherClass", other, seen)
            self.assertEqual(
                finding.message,
                f'its class is "{name}", whose controller is "example.com/other", '
                'and only those of "k8s.io/ingress-nginx" are judged',
            )
            self.assertEqual(
                finding.advice, "to have its classes judged: -o controller-class=example.com/other"
            )
            self.assert_not_found("OtherClass", other, seen, controller_class="example.com/other")

    def test_a_class_that_is_mistyped(self) -> None:
        """The class of ours that may be meant is told, unless the name only adds to it, or there is a class of it."""
        ours = IngressClass(ObjectKey("", "public"), "k8s.io/ingress-nginx")
        for name, meant in (
            ("ngnix", "nginx"),
            ("nginxx", "nginx"),
            ("Nginx", "nginx"),
            ("pubilc", "public"),
        ):
            advice = self.found("OtherClass", ingress(class_name=name), ours).advice
            self.assertEqual(
                advice,
                f"did you mean {meant}? Otherwise, to have class {name} judged: -o ingress-class={name}",
            )
        for name in ("nginx2", "nginx-internal", "nginx-2", "internal-nginx", "traefik"):
            self.assertNotIn("did you mean", self.found("OtherClass", ingress(class_name=name), ours).advice)
        there = IngressClass(ObjectKey("", "ngnix"), "example.com/other")
        self.assertNotIn("did you mean", self.found("OtherClass", ingress(class_name="ngnix"), there).advice)

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
