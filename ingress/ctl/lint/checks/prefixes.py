"""Annotations of ingress-nginx behind a prefix that nobody reads here."""

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Final

from ingress.ctl.lint.finding import Change, Finding
from ingress.ctl.lint.rules import OTHER_PREFIX
from ingress.ctl.lint.survey import Subject, Survey
from ingress.wording import first_of

_OTHERS: Final = ("alb.", "appgw.", "contour", "gce.", "haproxy", "kong", "traefik.", "voyager.")
"""What the prefixes of other controllers begin with, whose annotations may have the same names."""
_OLD: Final = ("ingress.kubernetes.io", "kubernetes.io", "")
"""The prefix that ingress-nginx had at first, what is left of one, and nothing."""
_LIKENESS: Final = 0.75
_MOST_SHOWN: Final = 5


def check_prefixes(survey: Survey, subject: Subject) -> Iterator[Finding]:
    """Yield the annotations that an object has behind a prefix that looks like the one that is read."""
    if subject.parsed is None or not subject.strays:
        return
    prefix = subject.prefix.removesuffix("/")
    by_prefix: dict[str, list[str]] = {}
    for full_name in subject.strays:
        before, _, name = full_name.rpartition("/")
        # Many write a name behind all prefixes that they have seen; then one of them works.
        if name not in subject.annotations and _is_meant(before, prefix):
            by_prefix.setdefault(before, []).append(name)
    for before, names in by_prefix.items():
        written = [f"{before}/{name}" if before else name for name in names]
        has = f"the prefix {before}" if before else "no prefix"
        yield subject.found(
            OTHER_PREFIX,
            f"{first_of(names, _MOST_SHOWN)}: with {has}, nobody reads it; that of ingress-nginx is {prefix}",
            f"metadata.annotations[{written[0]}]",
            f"write {prefix}/{names[0]}",
            [
                *(Change(f"metadata.annotations[{full_name}]", None) for full_name in written),
                *(
                    subject.setting(name, subject.strays[full])
                    for name, full in zip(names, written, strict=True)
                ),
            ],
        )


def _is_meant(before: str, prefix: str) -> bool:
    """Whether who wrote *before* hardly meant another prefix than *prefix*."""
    if before.startswith(_OTHERS) or len(before) > 2 * len(prefix):
        return False
    return before in _OLD or SequenceMatcher(None, before, prefix).ratio() >= _LIKENESS
