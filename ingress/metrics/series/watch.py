"""The series about reading the API server: what reflectors, delta queue and Secret reads count.

Counters are plain integers.  Those of a reflector are written by its thread alone and read
in the reactor thread when somebody asks for them; a number that is one step old does no harm,
so there are no locks.  The number of series is bounded: by kinds, namespaces named on the
command line, and fixed lists of causes.

``Metrics`` shows these series with its own; this module reads no clock.
"""

from collections.abc import Callable, Iterable
from functools import partial

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric, SummaryMetricFamily

from ingress.metrics.text import in_parts

RELIST_CAUSES = ("expired", "broken", "bug")
"""Why a kind was listed again: the resource version was gone, streams came to nothing, or a bug of ours."""

READ_OUTCOMES = ("ok", "missing", "failed")
"""How reading an object by its name ended."""
READ_BY_NAME = {"Secret": "secret", "ConfigMap": "config_map"}
"""The kinds that are read by name, each with what it is called in names of series."""

_LABELS = ("kind", "namespace")


class ReflectorCounts:
    """What one reflector counts; *namespace* is empty for the whole cluster.

    *clock* returns monotonic seconds, the same that ``last_contact`` is taken from.
    """

    __slots__ = (
        "clock",
        "decode_seconds",
        "events",
        "kind",
        "last_contact",
        "namespace",
        "objects",
        "reconnects",
        "refused_since",
        "relists",
    )

    def __init__(self, kind: str, namespace: str, clock: Callable[[], float]) -> None:
        self.kind = kind
        self.namespace = namespace
        self.clock = clock
        self.objects = 0
        self.events = 0
        self.reconnects = 0
        self.relists = dict.fromkeys(RELIST_CAUSES, 0)
        self.last_contact: float | None = None
        self.refused_since: float | None = None
        self.decode_seconds = 0.0


class WatchMetrics:
    """All of it; belongs to the reactor thread, the counts of each reflector apart."""

    def __init__(self) -> None:
        self.reflectors: list[ReflectorCounts] = []
        self._batches = 0
        self._changes = 0
        self._reads = {kind: dict.fromkeys(READ_OUTCOMES, 0) for kind in READ_BY_NAME}
        self._needed = dict.fromkeys(READ_BY_NAME, 0)

    def reflector(self, kind: str, namespace: str, clock: Callable[[], float]) -> ReflectorCounts:
        """Make, and show from now on, the counts of one reflector."""
        counts = ReflectorCounts(kind, namespace, clock)
        self.reflectors.append(counts)
        return counts

    def over(self, counts: ReflectorCounts) -> None:
        """Show the counts of one reflector no more: it has ended, and is missing nothing."""
        self.reflectors = [one for one in self.reflectors if one is not counts]

    def handed_over(self, changes: int) -> None:
        """Count a batch that came into the reactor thread."""
        self._batches += 1
        self._changes += changes

    def read_by_name(self, kind: str, outcome: str) -> None:
        """Count an object that was asked for by its name; *outcome* is one of ``READ_OUTCOMES``."""
        self._reads[kind][outcome] += 1

    def needed(self, kind: str, count: int) -> None:
        """Note how many objects of *kind* are referred to."""
        self._needed[kind] = count

    def families(self) -> Iterable[Metric]:
        """Yield the series; none when no API server is read."""
        if not self.reflectors:
            return
        yield from self._gauge("ingress_watch_objects", "Objects known to exist.", lambda c: c.objects)
        yield from self._counter(
            "ingress_watch_events", "Changes received, and objects of lists.", lambda c: c.events
        )
        yield from self._relists()
        yield from self._counter(
            "ingress_watch_reconnects",
            "Requests after the first one, whatever ended the one before.",
            lambda c: c.reconnects,
        )
        yield from in_parts(
            partial(
                GaugeMetricFamily,
                "ingress_watch_last_contact_seconds",
                "Seconds since the API server last sent anything.",
                labels=_LABELS,
            ),
            (
                ((counts.kind, counts.namespace), max(0.0, counts.clock() - counts.last_contact))
                for counts in self.reflectors
                if counts.last_contact is not None
            ),
        )
        yield from self._gauge(
            "ingress_watch_refused_seconds",
            "Seconds since the API server refuses to have the kind listed or watched; 0 while it does not.",
            lambda c: 0.0 if c.refused_since is None else max(0.0, c.clock() - c.refused_since),
        )
        yield from self._counter(
            "ingress_watch_decode_seconds",
            "Seconds in which what came was decoded and projected.",
            lambda c: c.decode_seconds,
        )
        yield SummaryMetricFamily(
            "ingress_watch_delta_queue_changes",
            "Batches given to the reactor thread, and the changes in them.",
            count_value=self._batches,
            sum_value=self._changes,
        )
        for kind, name in READ_BY_NAME.items():
            yield GaugeMetricFamily(
                f"ingress_{name}s_needed", f"{kind}s that are referred to.", value=self._needed[kind]
            )
            reads = CounterMetricFamily(
                f"ingress_{name}_reads", f"{kind}s asked for by name, by how that ended.", labels=("outcome",)
            )
            for outcome, count in self._reads[kind].items():
                reads.add_metric((outcome,), count)
            yield reads

    def _relists(self) -> Iterable[Metric]:
        return in_parts(
            partial(
                CounterMetricFamily,
                "ingress_watch_relists",
                "Lists after the first complete one, by cause.",
                labels=(*_LABELS, "cause"),
            ),
            (
                ((counts.kind, counts.namespace, cause), count)
                for counts in self.reflectors
                for cause, count in counts.relists.items()
            ),
        )

    def _counter(self, name: str, text: str, value: Callable[[ReflectorCounts], float]) -> Iterable[Metric]:
        return in_parts(partial(CounterMetricFamily, name, text, labels=_LABELS), self._rows(value))

    def _gauge(self, name: str, text: str, value: Callable[[ReflectorCounts], float]) -> Iterable[Metric]:
        return in_parts(partial(GaugeMetricFamily, name, text, labels=_LABELS), self._rows(value))

    def _rows(self, value: Callable[[ReflectorCounts], float]) -> Iterable[tuple[tuple[str, str], float]]:
        return (((counts.kind, counts.namespace), value(counts)) for counts in self.reflectors)
