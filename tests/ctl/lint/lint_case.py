"""What tests of lint share: Ingresses as values, an input of them, and what changes make of them."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.ctl.inputs.coverage import Coverage
from ingress.ctl.inputs.input import Input
from ingress.ctl.lint.finding import AnnotationReport, Change, Finding, LintReport, ObjectReport
from ingress.ctl.lint.linting import lint
from ingress.model.cluster.objects import ClusterObject, ObjectKey
from ingress.options.option import DEFAULTS
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.objects import (
    CLASS_ANNOTATION,
    Ingress,
    IngressBackend,
    IngressPath,
    IngressRule,
    IngressTLS,
    ServicePortReference,
)
from tests.translate.golden import state_of

NOW = datetime(2026, 7, 1, tzinfo=UTC)
HOST = "a.example.com"
PREFIX = "nginx.ingress.kubernetes.io/"
SPECIFIC = "ImplementationSpecific"
Path = str | tuple[str, str]


def ingress(
    *paths: Path,
    name: str = "web",
    namespace: str = "shop",
    hosts: Iterable[str] = (HOST,),
    tls: Iterable[str] = (),
    class_name: str | None = "nginx",
    created: str = "",
    **annotations: str,
) -> Ingress:
    """Return an Ingress with *paths* (``/`` without any), each of type Prefix unless it says otherwise, on all *hosts*.

    *annotations* are named with ``_`` for ``-`` and without prefix.
    """
    backend = IngressBackend(name, ServicePortReference(number=80))
    typed = [(path, "Prefix") if isinstance(path, str) else path for path in paths or ("/",)]
    return Ingress(
        ObjectKey(namespace, name),
        created,
        class_name=class_name,
        annotations={PREFIX + key.replace("_", "-"): value for key, value in annotations.items()},
        rules=tuple(
            IngressRule(host, tuple(IngressPath(path, kind, backend) for path, kind in typed))
            for host in hosts
        ),
        tls=(IngressTLS(tuple(tls), "certificate"),) if tls else (),
    )


def input_of(
    *objects: ClusterObject, coverage: Coverage | None = None, others: tuple[Input, ...] = (), **options: Any
) -> Input:
    """Return the input of these objects, of which nothing else is known, for a controller with *options*."""
    translating = evolve(TranslateOptions(), from_manifests=True, names_endpoint_option=False, **options)
    return Input(
        state=state_of([*objects]),
        settings=evolve(DEFAULTS, translate=translating),
        now=NOW,
        coverage=coverage or Coverage(),
        others=others,
    )


def rules_of(report: LintReport | ObjectReport) -> set[str]:
    """Return the names of the rules of all findings."""
    return {finding.rule for finding in report.findings}


class LintCase(SynchronousTestCase):
    def lint(self, *objects: ClusterObject, **options: Any) -> LintReport:
        """Lint these objects."""
        return lint(input_of(*objects, **options))

    def found(self, rule: str, *objects: ClusterObject, **options: Any) -> Finding:
        """Return the one finding of *rule* about these objects; anything else fails the test."""
        report = self.lint(*objects, **options)
        some = [finding for finding in report.findings if finding.rule == rule]
        self.assertEqual(len(some), 1, (rule, report.findings))
        return some[0]

    def assert_not_found(self, rule: str, *objects: ClusterObject, **options: Any) -> None:
        """Fail where any finding about these objects is of *rule*."""
        self.assertNotIn(rule, rules_of(self.lint(*objects, **options)))

    def standing(self, name: str, value: Ingress, **options: Any) -> AnnotationReport:
        """Return what becomes of the annotation *name* of an Ingress that is alone."""
        (report,) = self.lint(value, **options).objects
        return next(one for one in report.annotations if one.name == name)


def changed(value: Ingress, changes: Iterable[Change]) -> Ingress:
    """Return *value* with *changes*; raises for a field that this does not know."""
    for change in changes:
        value = _changed(value, change)
    return value


def _changed(value: Ingress, change: Change) -> Ingress:
    steps, wanted = change.steps, change.value
    if steps[:2] == ("metadata", "annotations"):
        annotations = {key: text for key, text in value.annotations.items() if key != steps[2]}
        if wanted is not None:
            annotations[str(steps[2])] = str(wanted)
        return evolve(value, annotations=annotations)
    if steps == ("spec", "ingressClassName"):
        return evolve(value, class_name=None if wanted is None else str(wanted))
    found = re.fullmatch(
        r"spec\.rules\[(\d+)\](?:\.http\.paths\[(\d+)\](?:\.(path|pathType))?)?", change.field
    )
    assert found is not None, change
    rules = list(value.rules)
    number = int(found[1])
    if found[2] is None:
        assert wanted is None
        del rules[number]
        return evolve(value, rules=tuple(rules))
    paths = list(rules[number].paths or ())
    at = int(found[2])
    if found[3] is None:
        assert wanted is None
        del paths[at]
    elif found[3] == "path":
        paths[at] = evolve(paths[at], path=str(wanted))
    else:
        paths[at] = evolve(paths[at], path_type=str(wanted))
    rules[number] = evolve(rules[number], paths=tuple(paths))
    return evolve(value, rules=tuple(rules))


__all__ = ["CLASS_ANNOTATION", "LintCase", "changed", "ingress", "input_of", "rules_of"]
