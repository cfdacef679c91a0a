"""The mark of a line of the log on its way from a worker to its parent, which believes it no more than a mark can say."""

from typing import Any, Final

from ingress.model.happenings import MOST_CHARACTERS, MOST_HOSTS, ChangeSort, Mark
from ingress.workers.framing import NonsenseError

OF_WORKERS: Final = frozenset((ChangeSort.EJECTION, ChangeSort.OVERLOAD))
"""What a worker may tell of; all else is the parent's own to know."""


def mark_to_plain(mark: Mark) -> list[object]:
    """Return *mark* as plain data."""
    hosts = list(mark.hosts[:MOST_HOSTS])
    flags = [mark.is_trouble, mark.state, mark.is_over]
    return [mark.sort.value, mark.verb, mark.kind, mark.object, hosts, *flags]


def mark_from_plain(value: Any) -> Mark:
    """Return the mark that *value* is; raises ``NonsenseError`` for what is none of a worker's."""
    try:
        sort, verb, kind, about, hosts, is_trouble, state, is_over = value
        mark = Mark(ChangeSort(sort), verb, kind, about, tuple(hosts), is_trouble, state, is_over)
    except (ValueError, TypeError):
        raise NonsenseError("a mark of a line that is none") from None
    texts = (verb, kind, about, state, *mark.hosts)
    flags = (is_trouble, is_over)
    if (
        mark.sort not in OF_WORKERS
        or len(mark.hosts) > MOST_HOSTS
        or not all(isinstance(text, str) and len(text) <= MOST_CHARACTERS for text in texts)
        or not all(isinstance(flag, bool) for flag in flags)
    ):
        raise NonsenseError("a mark of a line that is none")
    return mark
