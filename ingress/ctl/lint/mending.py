"""What to write instead of an annotation that means nothing, or has a value that is not accepted."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from ingress.annotations.annotations import FAMILIES
from ingress.annotations.contract.values import MAX_SHOWN_CHARACTERS, Annotation, ValueRefused
from ingress.annotations.operator_filters import operator_filters
from ingress.annotations.unknown_names import OF_INGRESS_NGINX, UnknownNames, told_of
from ingress.ctl.lint.finding import Change
from ingress.ctl.lint.survey import Subject

ROWS: Final[Mapping[str, Annotation]] = {
    name: row for family in (*FAMILIES, operator_filters(())) for name, row in family.annotations.items()
}
"""The row of each annotation.  That of ``filters`` accepts no value, since which filters are allowed is up to the options."""
KNOWN: Final = ROWS.keys() | OF_INGRESS_NGINX
_MOST_CHARACTERS: Final = 256

MEANT: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        (
            "client-max-body-size",
            "max-body-size",
            "body-size",
            "request-body-size",
            "client-body-max-size",
            "proxy-max-body-size",
            "max-request-body-size",
            "client-body-size",
        ),
        "proxy-body-size",
    ),
    **dict.fromkeys(
        (
            "force-https",
            "https-redirect",
            "redirect-to-https",
            "ssl-force-redirect",
            "redirect-https",
            "force-ssl",
            "https-only",
        ),
        "force-ssl-redirect",
    ),
    "enable-ssl-redirect": "ssl-redirect",
    "tls-redirect": "ssl-redirect",
    **dict.fromkeys(("connect-timeout", "upstream-connect-timeout"), "proxy-connect-timeout"),
    **dict.fromkeys(("read-timeout", "upstream-read-timeout"), "proxy-read-timeout"),
    **dict.fromkeys(("send-timeout", "upstream-send-timeout"), "proxy-send-timeout"),
    **dict.fromkeys(
        ("cors-allow-origins", "cors-allowed-origins", "cors-allowed-origin", "cors-origin", "cors-origins"),
        "cors-allow-origin",
    ),
    **dict.fromkeys(("cors-allowed-methods", "cors-methods"), "cors-allow-methods"),
    **dict.fromkeys(("cors-allowed-headers", "cors-headers"), "cors-allow-headers"),
    **dict.fromkeys(
        ("whitelist", "ip-whitelist", "allowlist", "ip-allowlist", "allowed-ips"), "allowlist-source-range"
    ),
    **dict.fromkeys(
        ("blacklist", "ip-blacklist", "denylist", "blacklist-source-range"), "denylist-source-range"
    ),
    "requests-per-second": "limit-rps",
    "rate-limit-rps": "limit-rps",
    "rate-limit-rpm": "limit-rpm",
    "rate-limit-connections": "limit-connections",
    "limit-conn": "limit-connections",
    "max-retries": "proxy-next-upstream-tries",
}
"""Names that ingress-nginx does not have, each with the one whose value can be the same."""

_RATE: Final = ("rate-limit", "limit-requests", "rate-limit-requests")
_WINDOW: Final = ("rate-limit-window", "rate-limit-period", "rate-limit-interval", "limit-window")
_SPAN: Final = re.compile(r"(\d{1,9}) ?(s|sec|second|seconds|m|min|minute|minutes|h|hour|hours)?")
_UNITS: Final = {"s": 1, "m": 60, "h": 3600}
_SIZE: Final = re.compile(r"(?i)(\d+) ?([kmg])i?b?|(\d+) ?b(?:ytes)?")
_TIMES: Final = ("-timeout", "-max-age", "-expires")
_SIZES: Final = ("-size", "-rate", "-rate-after")
"""How the names of annotations end that are times and sizes: ``10 m`` are minutes or mebibytes."""
_YES: Final = {
    "yes": "true",
    "on": "true",
    "enabled": "true",
    "no": "false",
    "off": "false",
    "disabled": "false",
}

_TEXTS: Final = {"true": ("true", "on"), "false": ("false", "off")}


def unknown_names(subject: Subject) -> Mapping[str, UnknownNames]:
    """Return the annotations of an object that mean nothing, each with all that mean the same, and what there is to say of them."""
    unknown = sorted(name for name, value in subject.annotations.items() if name not in KNOWN)
    return {name: some for some in (told_of(unknown, KNOWN) if unknown else ()) for name in some.names}


def renamed(subject: Subject, some: UnknownNames) -> Iterator[Change]:
    """Yield what removes the names of *some*, which mean nothing, and writes what is meant where that is known."""
    for name in some.names:
        yield subject.setting(name, None)
    written: dict[str, str] = {}
    for name in some.names:
        meant = _meant(subject, name, some.meant)
        if meant is not None and meant[0] not in subject.annotations:
            written.setdefault(*meant)
    for name, value in written.items():
        yield subject.setting(name, value)


def _meant(subject: Subject, name: str, close: str) -> tuple[str, str] | None:
    """Return the annotation that *name* stands for, or is *close* to, with its value; None where it cannot be told."""
    value = subject.annotations[name]
    if len(value) > _MOST_CHARACTERS or len(name) > MAX_SHOWN_CHARACTERS:
        return None
    lowered = name.lower().replace("_", "-")
    if lowered in _RATE:
        return _rate(subject, value)
    meant = MEANT.get(lowered, close)
    row = ROWS.get(meant)
    if row is None:
        return None
    accepted = next((one for one in (value, *_spellings(meant, value)) if _accepts(row, one)), None)
    return None if accepted is None else (meant, accepted)


def _rate(subject: Subject, value: str) -> tuple[str, str] | None:
    """Return the limit that a number of requests in a window comes to; None without a window."""
    window = next((subject.annotations[name] for name in _WINDOW if name in subject.annotations), None)
    span = None if window is None else _SPAN.fullmatch(window.strip().lower())
    count = value.strip()
    if span is None or not count.isascii() or not count.isdigit() or len(count) > len("999999"):
        return None
    seconds = int(span[1]) * _UNITS[(span[2] or "s")[0]]
    if seconds == 1:
        return "limit-rps", count
    per_minute = int(count) * 60 // seconds if seconds else 0
    return ("limit-rpm", str(per_minute)) if per_minute > 0 else None


def mended(subject: Subject, name: str) -> Iterator[Change]:
    """Yield what writes the value of the annotation *name* so that it is accepted, where its meaning is plain."""
    value, row = subject.annotations.get(name, ""), ROWS.get(name)
    if row is None or not value or len(value) > _MOST_CHARACTERS or _accepts(row, value):
        return
    accepted = next((one for one in _spellings(name, value) if _accepts(row, one)), None)
    if accepted is not None:
        yield subject.setting(name, accepted)


def in_quotes(subject: Subject, name: str, written: str) -> Iterator[Change]:
    """Yield what writes the annotation *name* as text where it is *written* without quotes, as a boolean or a number, if its meaning is plain.

    YAML has ``on`` and ``off`` for booleans, too, and there is no telling which one was written but by what is accepted.
    """
    row = ROWS.get(name)
    texts = _TEXTS.get(written, (written,) if written.isdecimal() else ())
    accepted = [text for text in texts if row is not None and _accepts(row, text)]
    if len(accepted) == 1:
        yield subject.setting(name, accepted[0])


def _spellings(name: str, value: str) -> Iterator[str]:
    """Yield what *value* of the annotation *name* may be another spelling of, the likeliest first."""
    text = value.strip().strip("'\"").strip()
    if not text:
        return
    lowered = text.lower()
    yield text
    if lowered in _YES:
        yield _YES[lowered]
    span = _SPAN.fullmatch(lowered) if name.endswith(_TIMES) else None
    if span is not None and span[2]:
        yield str(int(span[1]) * _UNITS[span[2][0]])
    size = _SIZE.fullmatch(text) if name.endswith(_SIZES) else None
    if size is not None:
        yield f"{size[1]}{size[2].lower()}" if size[2] else size[3]
    yield lowered
    yield text.upper()


def _accepts(row: Annotation, value: str) -> bool:
    try:
        row.parse(value)
    except ValueRefused:
        return False
    return True
