"""Which labels an expression of PromQL has, found from the labels of the series that it names.

An expression that names a series or a label that there is not is no error to Prometheus: it has no result, for ever, and an alert
on it sleeps.  So ``Checker`` walks an expression and refuses what can have no result: unknown series, matchers and groupings of labels
that a series has not, and two sides that are matched by labels of which one side has others.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import promql_parser as promql

TARGET: Final = frozenset(("job", "instance", "namespace", "pod", "container", "endpoint"))
"""What a target has, found by a PodMonitor.  Where a series has a label of that name its own counts (``honorLabels``)."""
_SETS: Final = ("and", "or", "unless")
_COMPARISONS: Final = ("==", "!=", ">", "<", ">=", "<=")
_KEEPS_ALL: Final = ("topk", "bottomk")

Labels = frozenset[str]


class ExpressionError(Exception):
    """An expression can have no result; the text says why."""


class Checker:
    """Knows the labels of series by name."""

    def __init__(self, series: Mapping[str, Iterable[str]]) -> None:
        """*series* are those that a process exports, each with its own labels; those of the target are added."""
        self._series = {name: TARGET | frozenset(labels) for name, labels in series.items()}
        self._series["up"] = TARGET

    def record(self, name: str, expression: str) -> None:
        """Have a series called *name*, which a recording rule makes of *expression*."""
        self._series[name] = self.labels(expression)

    def labels(self, expression: str) -> Labels:
        """Return the labels that results of *expression* may have; raises ``ExpressionError``."""
        try:
            parsed = promql.parse(expression)
        except ValueError as error:
            raise ExpressionError(f"{error}: {expression}") from None
        found = self._labels(parsed)
        return frozenset() if found is None else found

    def _labels(self, node: object) -> Labels | None:
        """Return the labels of *node*; None for a number."""
        match node:
            case promql.NumberLiteral() | promql.StringLiteral():
                return None
            case promql.VectorSelector():
                return self._of_selector(node)
            case promql.MatrixSelector():
                return self._of_selector(node.vector_selector)
            case promql.ParenExpr() | promql.UnaryExpr() | promql.SubqueryExpr():
                return self._labels(node.expr)
            case promql.AggregateExpr():
                return self._of_aggregation(node)
            case promql.Call():
                return self._of_call(node)
            case promql.BinaryExpr():
                return self._of_sides(node)
        raise ExpressionError(f"{type(node).__name__} is not known here")

    def _of_selector(self, node: promql.VectorSelector) -> Labels:
        name = node.name or ""
        known = self._series.get(name)
        if known is None:
            raise ExpressionError(f"there is no series {name}")
        _demand(name, (matcher.name for matcher in node.matchers.matchers), known)
        return known

    def _of_aggregation(self, node: promql.AggregateExpr) -> Labels:
        inner = self._labels(node.expr) or frozenset()
        if str(node.op) in _KEEPS_ALL:
            return inner
        if node.modifier is None:
            return frozenset()
        named = frozenset(node.modifier.labels)
        _demand(str(node.op), named, inner)
        return named if node.modifier.type == promql.AggModifierType.By else inner - named

    def _of_call(self, node: promql.Call) -> Labels | None:
        of_arguments = [labels for labels in map(self._labels, node.args) if labels is not None]
        if not of_arguments:
            return frozenset() if node.func.name == "vector" else None
        (inner,) = of_arguments
        if node.func.name == "label_replace":
            _, name, _, source, _ = node.args
            _demand(node.func.name, (source.val,), inner)
            return inner | {name.val}
        if node.func.name == "histogram_quantile":
            _demand(node.func.name, ("le",), inner)
            return inner - {"le"}
        if node.func.name == "absent":
            # What is not there has the labels that were asked for, and these alone.
            (asked,) = node.args
            return frozenset(matcher.name for matcher in asked.matchers.matchers)
        return inner

    def _of_sides(self, node: promql.BinaryExpr) -> Labels | None:
        left, right = self._labels(node.lhs), self._labels(node.rhs)
        if left is None or right is None:
            return right if left is None else left
        operator, modifier = str(node.op), node.modifier
        if operator == "or":
            return left | right
        matching = None if modifier is None else modifier.matching
        if matching is None:
            if left != right:
                raise ExpressionError(f"{operator} matches by {sorted(left)} and {sorted(right)}")
            return left
        named = frozenset(matching.labels)
        _demand(operator, named, left)
        _demand(operator, named, right)
        if operator in _SETS or operator in _COMPARISONS:
            return left
        if modifier is not None and modifier.card == promql.VectorMatchCardinality.ManyToOne:
            return left | frozenset(modifier.group_labels or ())
        return named if matching.type == promql.LabelModifierType.Include else left - named


def _demand(what: str, names: Iterable[str], known: Labels) -> None:
    missing = sorted(set(names) - known)
    if missing:
        raise ExpressionError(
            f"{what}: there is no label {', '.join(missing)} among {', '.join(sorted(known))}"
        )
