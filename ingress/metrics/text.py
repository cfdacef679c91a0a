"""Series as text, in small pieces, so that whoever sends them can stop after any piece.

A family with a series for each Ingress or certificate has tens of thousands of them.  So it
comes in *parts*: families of the same name one after the other, of which only the first
is written with its head.  Each part is made, and its numbers read, when it is asked for.

There are two formats: that of Prometheus, and OpenMetrics (https://prometheus.io/docs/specs/om/open_metrics_spec/), in which buckets have
exemplars, and the end is said.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.openmetrics import exposition as open_metrics
from prometheus_client.registry import Collector

from ingress.model.frozen import frozen

PART: Final = 32
"""Series at once: a few tenths of a millisecond."""

_HEAD_LINES: Final = 2
_END: Final = "# EOF\n"

LabeledFamily = CounterMetricFamily | GaugeMetricFamily


class _Just(Collector):
    """Collects one family."""

    def __init__(self, metric: Metric) -> None:
        self._metric = metric

    def collect(self) -> Iterable[Metric]:
        return (self._metric,)


@frozen
class Format:
    """A format of series."""

    content_type: str
    write: Callable[[Collector], bytes]
    """What the library writes of a whole registry, in one go."""
    end: str = ""
    """Its last line."""


PROMETHEUS: Final = Format(CONTENT_TYPE_LATEST, generate_latest)
OPEN_METRICS: Final = Format(open_metrics.CONTENT_TYPE_LATEST, open_metrics.generate_latest, _END)


_VERSIONS: Final = {"application/openmetrics-text": ("1.0.0",), "text/plain": ("0.0.4", "1.0.0")}
"""Those that are written; who says none means any."""


def format_for(accept: str) -> Format:
    """Return the format that an ``Accept`` field of this value asks for; that of Prometheus where it likes both as much."""
    liked = dict.fromkeys(_VERSIONS, 0.0)
    for one in accept.split(","):
        media_type, *parameters = (part.strip().lower() for part in one.split(";"))
        said = dict(part.split("=", 1) for part in parameters if "=" in part)
        if media_type not in liked or said.get("version", "1.0.0").strip('"') not in _VERSIONS[media_type]:
            continue
        liked[media_type] = max(liked[media_type], _quality(said.get("q", "1")))
    wanted, usual = liked.values()
    return OPEN_METRICS if wanted > usual else PROMETHEUS


def takes_gzip(accept_encoding: str) -> bool:
    """Whether an ``Accept-Encoding`` field of this value says that gzip is welcome, by its name."""
    for one in accept_encoding.split(","):
        coding, *parameters = (part.strip().lower() for part in one.split(";"))
        if coding == "gzip":
            said = dict(part.split("=", 1) for part in parameters if "=" in part)
            return _quality(said.get("q", "1")) > 0
    return False


def _quality(text: str) -> float:
    try:
        return min(max(float(text), 0.0), 1.0)
    except ValueError:
        return 0.0


def in_parts(
    family: Callable[[], LabeledFamily], rows: Iterable[tuple[Sequence[str], float] | None]
) -> Iterator[Metric]:
    """Yield the family that *family* makes, with *rows* of label values and number, in parts; one, if there are none.

    A row of None is one that was looked at in vain: a part may be empty, and others follow.
    """
    part, looked = family(), 0
    for row in rows:
        if row is not None:
            part.add_metric(*row)
        looked += 1
        if looked == PART:
            yield part
            part, looked = family(), 0
    yield part


def as_text(families: Iterable[Metric | None], form: Format = PROMETHEUS) -> Iterator[str]:
    """Yield *families* in this format, a piece each; an empty one where there is none yet."""
    last = ""
    for family in families:
        if family is None:
            yield ""
            continue
        text = form.write(_Just(family)).decode().removesuffix(form.end)
        yield text.split("\n", _HEAD_LINES)[_HEAD_LINES] if family.name == last else text
        last = family.name
    if form.end:
        yield form.end
