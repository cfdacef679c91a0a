"""Directives that set fields: what their words come to.

Each function takes the words of one directive, and the variables that the snippet has of its own; it returns data or
raises ``DirectiveRefused`` with what follows the name of the directive.
"""

import re
from typing import Final

from ingress.annotations.contract.snippet_blocks import AddedField, AnswerField, Expires, Expiry, RequestField
from ingress.annotations.contract.values import quoted
from ingress.model.requests.reserved_fields import RESERVED_FIELDS
from ingress.model.requests.templates import Template, TemplateRefused, read_template

HANDLED: Final = frozenset(("connection", "keep-alive", "proxy-connection", "upgrade"))
"""Those of them that people set for WebSockets or to keep connections: the proxy does that by itself."""
GRPC_TYPES: Final = frozenset((b"application/grpc", b"application/grpc+proto", b"application/grpc+json"))
"""The content types of requests that nginx would send by ``grpc_pass``."""
EXPECT: Final = "expect"
HOST: Final = b"host"

_MAX_SECONDS: Final = 100 * 365 * 86400
_is_name = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+").fullmatch
_is_type = re.compile(r"[a-z0-9!#$&^_.+*-]+/[a-z0-9!#$&^_.+*-]+").fullmatch
_FOLD: Final = re.compile(r"[ \t]*\r?\n[ \t]+")
_TIME: Final = re.compile(r"(\d{1,10})(ms|[yMwdhms]?)\s*")
_UNITS: Final = {
    "y": 365 * 86400,
    "M": 30 * 86400,
    "w": 7 * 86400,
    "d": 86400,
    "h": 3600,
    "m": 60,
    "s": 1,
    "": 1,
    "ms": 0,
}


class DirectiveRefused(Exception):  # noqa: N818 - it is a verdict on a directive, no failure
    """The directive cannot be honored; the message says why, as what follows its name."""


class FieldsTaken(DirectiveRefused):
    """A value for endpoints cannot be had; lest a visitor says it in its place, *fields* are taken away."""

    def __init__(self, reason: str, fields: tuple[RequestField, ...]) -> None:
        super().__init__(f"{reason}, so that nobody's is sent")
        self.fields = fields


def template_of(
    text: str, own: frozenset[str], *, answers: bool = False, lines: bool = False, what: str = "value"
) -> Template:
    """Read *text* with variables."""
    try:
        return read_template(text, answers=answers, lines=lines, own=own)
    except TemplateRefused as refusal:
        raise DirectiveRefused(f"has a {what} that {refusal}") from None


def answer_fields(words: tuple[str, ...], own: frozenset[str], *, clears: bool) -> tuple[AnswerField, ...]:
    """Read ``more_set_headers``, or ``more_clear_headers`` where it *clears*."""
    options, texts = _options(words, "ast" if not clears else "st")
    statuses = frozenset(int(one) for text in options["s"] for one in _statuses(text))
    types = _types(options["t"])
    found = []
    for text in texts:
        name, value = _split(text, clears=clears)
        if name.lower() == "content-length" and value == "0":
            continue
        shown, is_prefix = _name(name, RESERVED_FIELDS, prefixes=clears)
        template = template_of(value, own, answers=True) if value and not clears else None
        written = shown.encode() if template is not None else shown.lower().encode()
        found.append(AnswerField(written, template, statuses, types, is_prefix, bool(options["a"])))
    return tuple(found)


def input_fields(words: tuple[str, ...], own: frozenset[str], *, clears: bool) -> tuple[RequestField, ...]:
    """Read ``more_set_input_headers``, or ``more_clear_input_headers`` where it *clears*."""
    options, texts = _options(words, "rt" if not clears else "t")
    types = _types(options["t"])
    found: list[RequestField] = []
    for text in texts:
        name, value = _split(text, clears=clears)
        if name.strip().lower() in HANDLED:
            continue
        shown, is_prefix = _name(name, RESERVED_FIELDS | {EXPECT}, prefixes=clears)
        lower = shown.lower().encode()
        try:
            template = template_of(value, own) if value and not clears else None
        except DirectiveRefused as refusal:
            if lower == HOST:
                raise
            raise FieldsTaken(str(refusal), (*found, RequestField(lower))) from None
        if lower == HOST and template is None:
            raise DirectiveRefused("takes Host away, without which no request is one")
        written = lower if template is None or lower == HOST else shown.encode()
        found.append(RequestField(written, template, types, bool(options["r"]), is_prefix))
    return tuple(found)


def sent_field(words: tuple[str, ...], own: frozenset[str]) -> RequestField | None:
    """Read ``proxy_set_header``; None for what the proxy does by itself."""
    name, text = _two(words)
    lower = name.lower()
    if lower in HANDLED or (lower == EXPECT and not text):
        return None
    shown, _ = _name(name, RESERVED_FIELDS | {EXPECT})
    try:
        value = template_of(_folded(text), own) if text else None
    except DirectiveRefused as refusal:
        if lower == HOST.decode():
            raise
        raise FieldsTaken(str(refusal), (RequestField(lower.encode()),)) from None
    if lower == HOST.decode():
        if value is None:
            raise DirectiveRefused("takes Host away, without which no request is one")
        return RequestField(HOST, value)
    return RequestField(shown.encode() if value is not None else lower.encode(), value)


def added_field(words: tuple[str, ...], own: frozenset[str]) -> AddedField | None:
    """Read ``add_header``; None for what frames an empty answer, as people write it beside ``return 204``."""
    always = len(words) == 3 and words[2] == "always"
    name, text = _two(words[:2] if always else words)
    if name.lower() == "content-length" and text == "0":
        return None
    shown, _ = _name(name, RESERVED_FIELDS)
    return AddedField(shown.encode(), template_of(_folded(text), own, answers=True), always)


def hidden_field(words: tuple[str, ...]) -> bytes:
    """Read ``proxy_hide_header``."""
    if len(words) != 1:
        raise DirectiveRefused("takes one name of a field")
    return _name(words[0], RESERVED_FIELDS)[0].lower().encode()


def expires(words: tuple[str, ...], own: frozenset[str]) -> Expires:
    """Read ``expires``."""
    is_modified = len(words) == 2 and words[0] == "modified"
    if len(words) != 1 and not is_modified:
        raise DirectiveRefused("takes a time, epoch, max or off")
    word = words[-1]
    if "$" in word:
        return Expires(
            Expiry.MODIFIED if is_modified else Expiry.NOW, text=template_of(word, own, answers=True)
        )
    return expires_by(word, is_modified=is_modified)


def expires_by(word: str, *, is_modified: bool) -> Expires:
    """Read when an answer expires, counted from its last change where it *is_modified*.  Raises DirectiveRefused."""
    if is_modified:
        return Expires(Expiry.MODIFIED, _offset(word))
    if word in ("epoch", "max", "off"):
        return Expires(Expiry(word))
    if word.startswith("@"):
        seconds = _seconds(word[1:])
        if seconds >= 86400:
            raise DirectiveRefused(f"has {quoted(word)}, which is no time of day")
        return Expires(Expiry.DAILY, seconds)
    return Expires(Expiry.NOW, _offset(word))


def content_type(words: tuple[str, ...]) -> bytes:
    """Read ``default_type``."""
    if (
        len(words) != 1
        or not _is_type(words[0].partition(";")[0].strip().lower())
        or not words[0].isprintable()
    ):
        raise DirectiveRefused("takes one content type")
    if not words[0].isascii():
        raise DirectiveRefused("takes a content type in ASCII")
    return words[0].strip().encode()


def _options(words: tuple[str, ...], known: str) -> tuple[dict[str, list[str]], list[str]]:
    """Return the values of each option, and the other words."""
    options: dict[str, list[str]] = {"a": [], "r": [], "s": [], "t": []}
    texts = []
    left = list(reversed(words))
    while left:
        word = left.pop()
        if len(word) == 2 and word[0] == "-" and word[1] in options:
            if word[1] not in known:
                raise DirectiveRefused(f"has no option {word}")
            if word[1] in "st" and not left:
                raise DirectiveRefused(f"has nothing behind {word}")
            options[word[1]].append(left.pop() if word[1] in "st" else word)
        else:
            texts.append(word)
    if not texts:
        raise DirectiveRefused("names no field")
    return options, texts


def _statuses(text: str) -> list[str]:
    found = text.split()
    if not all(re.fullmatch("[1-5][0-9][0-9]", one, re.ASCII) for one in found):
        raise DirectiveRefused(f"has statuses {quoted(text)}, and statuses are numbers of three digits")
    return found


def _types(texts: list[str]) -> frozenset[bytes]:
    found = [one.lower() for text in texts for one in text.split()]
    for one in found:
        if not _is_type(one):
            raise DirectiveRefused(f"has {quoted(one)}, which is no content type")
    return frozenset(one.encode() for one in found)


def _split(text: str, *, clears: bool) -> tuple[str, str]:
    name, _, value = _folded(text).partition(":")
    return name.strip(), "" if clears else value.strip()


def _folded(text: str) -> str:
    """Return *text* with lines that go on, which begin with space, as one."""
    return _FOLD.sub(" ", text).strip() if "\n" in text else text.strip()


def _name(name: str, refused: frozenset[str], *, prefixes: bool = False) -> tuple[str, bool]:
    """Return the name of a field, and whether it stands for all that begin so."""
    is_prefix = prefixes and name.endswith("*")
    plain = name[:-1] if is_prefix else name
    if not _is_name(plain) or "*" in plain:
        raise DirectiveRefused(f"has {quoted(name)}, which is no name of a field")
    lower = plain.lower()
    if lower in refused or (is_prefix and any(one.startswith(lower) for one in refused)):
        raise DirectiveRefused(f"is about the field {plain}, which is the proxy's own")
    return plain, is_prefix


def _two(words: tuple[str, ...]) -> tuple[str, str]:
    if len(words) != 2:
        raise DirectiveRefused("takes a name and a value")
    return words[0], words[1]


def _offset(text: str) -> int:
    """Read a time of nginx's that may have a sign; a minus turns it back."""
    return -_seconds(text[1:]) if text.startswith("-") else _seconds(text.removeprefix("+"))


def _seconds(text: str) -> int:
    """Read a time of nginx's, such as ``1h30m``."""
    seconds, at = 0, 0
    while at < len(text):
        found = _TIME.match(text, at)
        if found is None:
            break
        seconds += int(found[1]) * _UNITS[found[2]]
        at = found.end()
    if at < len(text) or not text or not text.isascii() or seconds > _MAX_SECONDS:
        raise DirectiveRefused(f"has {quoted(text)}, which is no time")
    return seconds
