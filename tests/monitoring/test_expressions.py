"""Every expression that is evaluated for us names series and labels that there are."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import promql_parser as promql
from twisted.trial.unittest import SynchronousTestCase

from ingress.metrics.series.connections import REFUSED_CAUSES
from ingress.metrics.series.overload import CAUSES
from ingress.metrics.series.status import WRITE_OUTCOMES
from ingress.metrics.series.sub_requests import KINDS, OUTCOMES
from ingress.metrics.series.watch import READ_OUTCOMES
from ingress.model.cluster.problems import Reason
from ingress.model.exchanges.causes import Cause
from ingress.model.observability.workers import WorkerEnd
from tests.monitoring.exported import exported, of_families
from tests.monitoring.expressions import Checker, ExpressionError
from tests.monitoring.files import THEIR_NAMES, alert_rules, dashboard, queries, recording_rules

_CAUSES: Final = frozenset(cause.value for cause in Cause)
VALUES: Final[Mapping[tuple[str, str], Iterable[str]]] = {
    ("ingress_connection_starts_refused_total", "cause"): REFUSED_CAUSES,
    ("ingress_failures_total", "cause"): _CAUSES,
    ("ingress_overload", "cause"): CAUSES,
    ("ingress_overload_requests_refused_total", "cause"): CAUSES,
    ("ingress_problems", "reason"): [reason.value for reason in Reason],
    ("ingress_secret_reads_total", "outcome"): READ_OUTCOMES,
    ("ingress_status_writes_total", "outcome"): WRITE_OUTCOMES,
    ("ingress_sub_requests_total", "kind"): KINDS,
    ("ingress_sub_requests_total", "outcome"): OUTCOMES,
    ("ingress_worker_ends_total", "cause"): [end.value for end in WorkerEnd],
    ("namespace_ingress_service_cause:ingress_failures:rate5m", "cause"): _CAUSES,
}
"""What labels may be asked for whose values are words out of a list."""
OF_GRAFANA: Final = {"$__rate_interval": "5m", "$__interval": "1m", "$__range": "1h"}
NAMES: Final = frozenset(("job", "instance", "namespace", "pod", "ingress", "service", "secret"))
"""Labels with names of objects, and of targets, which may be any."""


def checker() -> Checker:
    """Return a checker that knows what is exported, and what is recorded."""
    found = Checker(exported())
    for rule in recording_rules():
        found.record(rule.name, rule.expression)
    return found


def for_prometheus(expression: str) -> str:
    """Return an expression of the dashboard as Grafana asks it, with a value for each variable of its own."""
    for name, value in OF_GRAFANA.items():
        expression = expression.replace(name, value)
    return expression


def everything() -> Iterator[str]:
    """Yield every expression."""
    yield from (rule.expression for rule in (*recording_rules(), *recording_rules(THEIR_NAMES)))
    yield from (rule.expression for rule in alert_rules())
    yield from (for_prometheus(query.expression) for query in queries())
    for annotation in dashboard()["annotations"]["list"]:
        yield for_prometheus(annotation["expr"])


def selectors(expression: str) -> list[promql.VectorSelector]:
    """Return every selector of *expression*."""
    found: list[promql.VectorSelector] = []

    def visit(node: object) -> None:
        if isinstance(node, promql.VectorSelector):
            found.append(node)

    promql.walk(promql.parse(expression), visit)
    return found


class ExportedTests(SynchronousTestCase):
    """``exported``."""

    def test_families(self) -> None:
        """It has each sample of a process that has done nothing yet, with the same labels."""
        known = exported()
        seen = 0
        for family in of_families():
            for sample in family.samples:
                self.assertLessEqual(set(sample.labels), known[sample.name], sample.name)
                seen += 1
        self.assertGreater(seen, 100)


class CheckerTests(SynchronousTestCase):
    """``Checker`` finds what can have no result."""

    def setUp(self) -> None:
        self.checker = Checker(
            {
                "requests_total": ["service", "status"],
                "failures_total": ["service", "cause"],
                "t_bucket": ["le"],
            }
        )

    def refused(self, expression: str) -> str:
        return str(self.assertRaises(ExpressionError, self.checker.labels, expression))

    def test_unknown_series(self) -> None:
        """A series that nobody exports is refused wherever it stands."""
        self.assertIn("request_total", self.refused("sum(rate(request_total[5m])) > 0"))
        self.assertIn("lost", self.refused("sum(requests_total) unless sum(lost)"))

    def test_unknown_label(self) -> None:
        """So is a matcher, a grouping and a matching by a label that the series has not."""
        self.assertIn("code", self.refused('requests_total{code="5xx"}'))
        self.assertIn("code", self.refused("sum by (code) (requests_total)"))
        self.assertIn("cause", self.refused("failures_total / on (cause) requests_total"))
        self.assertIn("code", self.refused('label_replace(requests_total, "x", "$1", "code", "(.+)")'))
        self.assertIn("le", self.refused("histogram_quantile(0.9, sum by (job) (rate(t_bucket[5m])))"))

    def test_other_labels(self) -> None:
        """Two sides that are matched by all labels and have not the same ones never meet."""
        self.assertIn("matches by", self.refused("failures_total / requests_total"))
        self.assertIn("matches by", self.refused("sum by (service) (failures_total) / sum(requests_total)"))

    def test_nonsense(self) -> None:
        """What is no expression is refused as such."""
        self.refused("sum by (requests_total")

    def test_labels(self) -> None:
        """Labels that are left are those of groupings, of the left side, and of what is brought along."""
        for expression, labels in (
            ("sum(requests_total)", set()),
            ("sum by (service, status) (rate(requests_total[5m])) > 3", {"service", "status"}),
            ("sum by (service) (failures_total) / sum by (service) (requests_total)", {"service"}),
            ("sum by (le) (t_bucket) or vector(0)", {"le"}),
            ("histogram_quantile(0.9, sum by (job, le) (t_bucket))", {"job"}),
            ("topk(3, sum by (service) (requests_total))", {"service"}),
            ('absent(up{job="x"})', {"job"}),
            ('sum by (x) (label_replace(requests_total, "x", "$1", "service", "(.+)"))', {"x"}),
            ("sum by (service, status) (requests_total) * on (service) group_left sum by (service) (requests_total)", {"service", "status"}),
        ):  # fmt: skip
            self.assertEqual(self.checker.labels(expression), labels, expression)


class ExpressionTests(SynchronousTestCase):
    """The expressions of rules and dashboard."""

    def test_series(self) -> None:
        """Each names series and labels that are exported or recorded before, and its two sides can meet."""
        known = checker()
        wrong = []
        for expression in everything():
            try:
                known.labels(expression)
            except ExpressionError as error:
                wrong.append(str(error))
        self.assertEqual(wrong, [])

    def test_values(self) -> None:
        """Each value that is asked for of a label is one that the label has."""
        seen = 0
        for expression in everything():
            for selector in selectors(expression):
                for matcher in selector.matchers.matchers:
                    if matcher.name in NAMES or not matcher.value:
                        continue
                    known = set(VALUES[selector.name or "", matcher.name])
                    self.assertLessEqual(set(matcher.value.split("|")), known, expression)
                    seen += 1
        self.assertGreater(seen, 20)

    def test_templates(self) -> None:
        """What an alert says of labels is of labels that its expression leaves."""
        known = checker()
        for rule in alert_rules():
            labels = known.labels(rule.expression)
            for text in rule.texts.values():
                self.assertLessEqual(set(re.findall(r"\$labels\.(\w+)", text)), labels, rule.name)

    def test_legends(self) -> None:
        """So is what the dashboard calls a line."""
        known = checker()
        for query in queries():
            labels = known.labels(for_prometheus(query.expression))
            self.assertLessEqual(set(re.findall(r"\{\{(\w+)\}\}", query.legend)), labels, query.panel)
