"""Differences in words, those of one place together, and those that are the same at many places once."""

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, Final

from ingress.ctl.served.differences import Comparison, Difference, Place, Subject
from ingress.ctl.served.sealing import SEALED
from ingress.ctl.served.walking import WHERE
from ingress.model.frozen import frozen
from ingress.wording import number_of

MOST_TEXT: Final = 160
"""Characters of one value."""

VANISHES: Final = "Vanishes"
ELSEWHERE: Final = "Leads elsewhere"
APPEARS: Final = "Appears"
CHANGES: Final = "Changes on the way"
CERTIFICATES: Final = "Certificates and handshakes"
CONTROLLER: Final = "Listeners and settings of the controller"
ENDPOINTS: Final = "Endpoints"
PROBLEMS: Final = "Problems"
QUIET: Final = "Nothing that visitors see"
SECTIONS: Final = (
    VANISHES,
    ELSEWHERE,
    APPEARS,
    CHANGES,
    CERTIFICATES,
    CONTROLLER,
    ENDPOINTS,
    PROBLEMS,
    QUIET,
)
"""In the order in which visitors would notice."""
_SECTIONS: Final = {
    Subject.BACKEND: ELSEWHERE,
    Subject.FILTER: CHANGES,
    Subject.SETTING: CHANGES,
    Subject.CERTIFICATE: CERTIFICATES,
    Subject.HANDSHAKE: CERTIFICATES,
    Subject.LISTENER: CONTROLLER,
    Subject.CONTROLLER: CONTROLLER,
    Subject.ENDPOINTS: ENDPOINTS,
    Subject.PROBLEM: PROBLEMS,
    Subject.REDUNDANT: QUIET,
    Subject.OWNER: QUIET,
    Subject.NOTE: QUIET,
}
_SIGNS: Final = {"vanishes": "-", "appears": "+", "changes": "~"}
_OF_VARIANT: Final = f"variants {WHERE} "
_NAMES: Final = {"backends": "leads to", "match": "compared as", "owner": "owner"}


@frozen
class Block:
    """What is different at some places: *sign* is ``-``, ``+`` or ``~``."""

    section: str
    sign: str
    places: tuple[str, ...]
    lines: tuple[str, ...]
    """What is different there; where nothing changes but all of it comes or goes, what that means."""


def blocks(comparison: Comparison) -> list[Block]:
    """Return all differences, section by section."""
    together: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for section, sign, place, lines in _told(comparison.differences):
        together.setdefault((section, sign, lines), []).append(place)
    found = [
        Block(section, sign, tuple(places), lines) for (section, sign, lines), places in together.items()
    ]
    return sorted(found, key=lambda one: SECTIONS.index(one.section))


def summary(comparison: Comparison) -> str:
    """Return what there is of differences, in one sentence without its full stop."""
    counts: dict[tuple[str, str], int] = {}
    for block in blocks(comparison):
        if block.section != QUIET:
            key = block.section, block.sign
            counts[key] = counts.get(key, 0) + len(block.places)
    if not counts:
        return "nothing that is served is different"
    return ", ".join(_counted(section, sign, count) for (section, sign), count in counts.items())


def _counted(section: str, sign: str, count: int) -> str:
    one, many, verbs = _WORDS[section]
    verb = verbs.get(sign, "")
    what = one if count == 1 else many
    if verb and count == 1:
        verb = {"vanish": "vanishes", "appear": "appears", "change": "changes", "lead": "leads"}[verb]
    return f"{count} {what} {verb}{' elsewhere' if section == ELSEWHERE else ''}"


_VERBS: Final = {"-": "vanish", "+": "appear", "~": "change"}
_WORDS: Final = {
    VANISHES: ("host or path", "hosts or paths", _VERBS),
    ELSEWHERE: ("path", "paths", {"~": "lead", "-": "lead", "+": "lead"}),
    APPEARS: ("host or path", "hosts or paths", _VERBS),
    CHANGES: ("place", "places", {"~": "change", "-": "change", "+": "change"}),
    CERTIFICATES: ("host's TLS", "hosts' TLS", {"~": "change", "-": "change", "+": "change"}),
    CONTROLLER: ("setting", "settings", _VERBS),
    ENDPOINTS: ("backend's endpoints", "backends' endpoints", _VERBS),
    PROBLEMS: ("problem", "problems", _VERBS),
}

_Told = tuple[str, str, str, tuple[str, ...]]


def _told(differences: Iterable[Difference]) -> Iterator[_Told]:
    """Yield section, sign, place and lines; what changes at one place together."""
    whole: list[Difference] = []
    parts: dict[tuple[str, Place], list[Difference]] = {}
    for one in differences:
        if one.subject in _AS_A_WHOLE or one.place == _NOWHERE:
            whole.append(one)
        else:
            parts.setdefault((_family(one.subject), one.place), []).append(one)
    for one in whole:
        yield _whole(one)
    for (_, place), some in parts.items():
        section = min((_SECTIONS[one.subject] for one in some), key=SECTIONS.index)
        yield section, "~", shown_place(place), tuple(line for one in some for line in _lines(one))


def _family(subject: Subject) -> str:
    if subject in (Subject.BACKEND, Subject.FILTER, Subject.SETTING):
        return "route"
    return "tls" if subject in (Subject.CERTIFICATE, Subject.HANDSHAKE) else subject.word


_NOWHERE: Final = Place()
_AS_A_WHOLE: Final = frozenset({Subject.HOST, Subject.ROUTE, Subject.STREAM, Subject.REDUNDANT})


def _whole(one: Difference) -> _Told:
    """Return what is told of something that comes or goes as a whole, or that stands by itself."""
    sign = _SIGNS[one.change]
    there = one.new if one.old is None else one.old
    section = _SECTIONS.get(one.subject) or (VANISHES if sign == "-" else APPEARS)
    match one.subject:
        case Subject.HOST:
            return section, sign, shown_place(one.place), (_of_host(one, there),)
        case Subject.ROUTE | Subject.REDUNDANT:
            return section, sign, shown_place(one.place), tuple(_of_route(one, there))
        case Subject.STREAM if one.change == "changes":
            return ELSEWHERE, sign, shown_place(one.place), (_arrow(_stream(one.old), _stream(one.new)),)
        case Subject.STREAM:
            return section, sign, shown_place(one.place), (_stream(there),)
        case Subject.PROBLEM | Subject.NOTE:
            at = f"{there['namespace']}/{there['name']}" if there["namespace"] else there["name"]
            where = f" {there['field']}:" if there["field"] else ""
            return section, sign, f"{there['kind']} {at}:{where} {there['message']} ({there['reason']})", ()
        case Subject.ENDPOINTS:
            return section, sign, one.field, (_arrow(_endpoints(one.old), _endpoints(one.new)),)
        case Subject.LISTENER:
            return section, sign, f"listener {one.field}", ()
        case _:
            return section, sign, one.field, tuple(_lines(one, name=""))


def _stream(stream: Any) -> str:
    header = ", with a PROXY header" if stream["sendsHeader"] else ""
    return f"{stream['sort']} to {_clipped(shown_backends(stream['backends']))}{header}"


def _endpoints(state: Any) -> str:
    return "none" if not state else ", ".join(state["endpoints"]) or f"none ({state['reason']})"


def _of_host(one: Difference, host: Any) -> str:
    count = len(host["routes"])
    paths = number_of(count, "path")
    other = f"the routes of {one.instead}" if one.instead else ""
    if one.old is None:
        return f"{paths}; its requests went to {other}" if other else paths
    return f"{paths}; its requests go to {other}" if other else f"{paths}; answered 404"


def _of_route(one: Difference, route: Any) -> Iterator[str]:
    leads = f"leads to {shown_backends(route['backends'])}"
    if one.subject is Subject.REDUNDANT:
        yield f"{one.instead} serves the same"
    elif one.old is None:
        yield f"{leads}; was taken by {one.instead}" if one.instead else leads
    elif one.instead is not None:
        yield f"its requests go to {one.instead}" if one.instead else "answered 404"


def shown_place(place: Place) -> str:
    """Return where a difference is, as people write it: ``shop.example.com/cart (Prefix)``; ``*`` is any host."""
    table = f"table {place.table}: " if place.table else ""
    match = f" ({place.match})" if place.match else ""
    return f"{table}{place.host or '*'}{place.path}{match}"


def _lines(one: Difference, *, name: str | None = None) -> Iterator[str]:
    field = _name(one) if name is None else name
    label = f"{field}: " if field else ""
    if one.field.rpartition(".")[2] == SEALED:
        yield f"{label}what nobody is shown, such as keys and passwords, is another"
    elif one.field == "certificates":
        yield f"{label}{_arrow(_certificates(one.old), _certificates(one.new))}"
    elif isinstance(one.old, dict) and "does" in one.old and one.new is None:
        yield f"without {field}: {one.old['does']}"
    elif isinstance(one.new, dict) and "does" in one.new and one.old is None:
        yield f"with {field}: {one.new['does']}"
    else:
        yield f"{label}{_change(one.old, one.new, unlimited=one.field == 'maxBodyBytes')}"


def _change(old: Any, new: Any, *, unlimited: bool) -> str:
    """Return what of a value changes: of lists what comes and goes, of long texts from where they are different on."""
    if _are_texts(old) and _are_texts(new) and old and new:
        gone = [f"-{one}" for one in old if one not in new]
        came = [f"+{one}" for one in new if one not in old]
        if gone or came:
            return _clipped(", ".join(gone + came))
    before, after = _value(old, unlimited=unlimited), _value(new, unlimited=unlimited)
    if len(before) > _LONG and len(after) > _LONG:
        before, after = _text(old), _text(new)
        same = max(0, _common(before, after) - _CONTEXT)
        before, after = (_clipped(f"…{text[same:]}" if same else text) for text in (before, after))
    return _arrow(before, after)


_LONG: Final = 60
_CONTEXT: Final = 16


def _common(one: str, other: str) -> int:
    """Return how many characters two texts begin alike with."""
    return next(
        (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _name(one: Difference) -> str:
    field = one.field.removesuffix(f".{SEALED}")
    if one.subject is Subject.FILTER:
        return field.replace("filters.", "filter ", 1) if field.startswith("filters.") else field
    if field.startswith(_OF_VARIANT):
        there = one.new if one.old is None else one.old
        where = field.removeprefix("variants ")
        is_lead = field.endswith(".backends") or (isinstance(there, dict) and "conditions" in there)
        return f"{where.removesuffix('.backends')}, leads to" if is_lead else where
    return _NAMES.get(field, "certificate" if one.subject is Subject.CERTIFICATE else field)


def _arrow(old: str, new: str) -> str:
    return f"{old} → {new}"


def _certificates(some: Any) -> str:
    if not some:
        return "none"
    return ", ".join(
        f"{one['secret']} {one['fingerprint'][:12]} (until {one['notAfter'][:10]})" for one in some
    )


def _value(value: Any, *, unlimited: bool = False) -> str:
    """Return a value in words, in bounds."""
    if value is None or value == [] or value == "":
        return "none"
    if unlimited and value == 0:
        return "no limit"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, list) and all(isinstance(one, dict) and "backend" in one for one in value):
        return _clipped(shown_backends(value))
    if isinstance(value, dict) and "backends" in value:
        return _clipped(shown_backends(value["backends"]))
    if isinstance(value, dict) and "backend" in value:
        return _clipped(str(value["backend"]))
    return _clipped(_text(value))


def _text(value: Any) -> str:
    if _are_texts(value):
        return ", ".join(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def shown_backends(some: list[Any]) -> str:
    """Return where a route leads: backends, with their shares where there are several."""
    if len(some) == 1:
        return str(some[0]["backend"])
    total = sum(one["weight"] for one in some)
    return ", ".join(f"{one['backend']} ({one['weight'] * 100 / total:.3g}%)" for one in some)


def _clipped(text: str) -> str:
    return text if len(text) <= MOST_TEXT else f"{text[: MOST_TEXT - 1]}…"


def by_section(found: Iterable[Block]) -> Iterator[tuple[str, list[Block]]]:
    """Yield blocks by their sections."""
    for section, some in groupby(found, lambda one: one.section):
        yield section, list(some)
