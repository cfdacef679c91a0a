"""What of an endpoint's answers is put in other words: ``proxy-cookie-domain``, ``proxy-cookie-path``, ``proxy-redirect-from`` and ``-to``.

They mean what nginx's ``proxy_cookie_domain``, ``proxy_cookie_path`` and ``proxy_redirect`` mean:

- a domain of cookies is replaced if it is the given one, in upper or lower case and without a dot at its beginning;
- a path of cookies, ``Location``, and the URL of ``Refresh`` are replaced as far as they begin with what is given;
- what begins with ``~`` is a regular expression (``~*`` for upper and lower case), and replaces all; of its groups the
  replacement may use ``$1`` to ``$9`` and those with names.

``proxy-redirect-from: default`` changes nothing, as in ingress-nginx, where it stands for a name that no endpoint knows.  Our
own answers are not changed.
"""

import re
from collections.abc import Iterator, Sequence
from typing import ClassVar, Final

from ingress.annotations.contract.route_constants import route_constants
from ingress.annotations.contract.route_facts import RouteFacts
from ingress.annotations.contract.values import Annotation, Family, Remark, Risk, ValueRefused
from ingress.filters import AnswerEdit, Facts, Filter, FilterSpec, Phase, Services
from ingress.model.cluster.problems import Reason
from ingress.model.frozen import frozen
from ingress.model.requests.templates import NO_TEXT, NO_VALUES, Template, TemplateRefused, read_template
from ingress.model.text.expressions import Expression, ExpressionRefused, read_expression

MAX_CHARACTERS: Final = 2048
MAX_ATTRIBUTES: Final = 2000
"""Of all cookies of an answer, ten for each of the two hundred that it may set; those behind them go on as they came."""
MAX_SUBJECT: Final = 1024
"""Bytes that expressions are run on, of all the fields of one answer: the worst takes 14 ms for them.  Of the rest
domains, paths and URLs go on as they came."""
MAX_REPLACED: Final = 16 * 1024
"""Bytes of what it comes to."""

_OFF: Final = "off"
_DEFAULT: Final = "default"
_DIGITS: Final = frozenset("123456789")
_FORM: Final = 'is neither "off" nor what is replaced and by what; write "/from/ /to/"'

_WORD: Final = re.compile(
    r"""\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s"';{}][^\s;]*))(?=\s|$)""", re.DOTALL
)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_NAMED: Final = re.compile(r"\(\?P?<([A-Za-z_][A-Za-z0-9_]*)>")
_match_host = re.compile(rb"[/\\]\t*[/\\]").match
"""Behind this, which need not be slashes, browsers look for a host; they drop tabs."""


@frozen
class Original:
    """What is replaced: a text with variables, or what a regular expression describes."""

    text: Template = NO_TEXT
    expression: Expression | None = None

    def __str__(self) -> str:
        return f"~{self.expression.text}" if self.expression is not None else str(self.text)


@frozen
class Replacing:
    """What is replaced, and by what."""

    original: Original
    replacement: Template

    def __str__(self) -> str:
        return f"{self.original} by {self.replacement}"


@frozen
class AnswerRewriteSettings:
    """What the annotations of one Ingress say about answers of its endpoints."""

    cookie_domain: Replacing | None = None
    cookie_path: Replacing | None = None
    redirect_from: str = _OFF
    redirect_to: str = _OFF

    def location(self) -> Replacing | None:
        """Return what becomes of locations; raises ``ValueRefused``."""
        if self.redirect_from in (_OFF, _DEFAULT) or self.redirect_to == _OFF:
            return None
        return _replacing(self.redirect_from, self.redirect_to)


def parse_replacing(text: str) -> Replacing | None:
    """Read ``off``, or what is replaced and by what; raises ``ValueRefused``."""
    if len(text) > MAX_CHARACTERS:
        raise ValueRefused(f"is longer than {MAX_CHARACTERS} characters")
    if text.strip() == _OFF:
        return None
    words: list[str] = []
    at, text = 0, text.strip()
    while at < len(text) and len(words) < 3:
        found = _WORD.match(text, at)
        if found is None:
            raise ValueRefused(_FORM)
        at = found.end()
        quoted = found[1] if found[1] is not None else found[2]
        words.append(found[3] if quoted is None else _ESCAPED.sub(r"\1", quoted))
    if len(words) != 2:
        raise ValueRefused(_FORM)
    return _replacing(*words)


def _replacing(original: str, replacement: str) -> Replacing:
    expression = None
    own: frozenset[str] = frozenset()
    try:
        if original.startswith("~"):
            flags, written = ("(?i)", original[2:]) if original.startswith("~*") else ("", original[1:])
            own = _DIGITS | frozenset(_NAMED.findall(written))
            expression = read_expression(flags + _NAMED.sub(r"(?P<\1>", written), captures=True)
        elif not original:
            raise ValueRefused(_FORM)
        text = NO_TEXT if expression is not None else read_template(original)
        return Replacing(Original(text, expression), read_template(replacement, own=own))
    except (TemplateRefused, ExpressionRefused) as refusal:
        raise ValueRefused(str(refusal)) from None


def parse_from(text: str) -> str:
    """Read what of a location is replaced; raises ``ValueRefused``."""
    text = _word(text)
    if text not in (_OFF, _DEFAULT):
        _replacing(text, "")
    return text


def parse_to(text: str) -> str:
    """Read what a location is replaced by; raises ``ValueRefused``.  Groups are looked for where the expression is known."""
    text = _word(text)
    try:
        read_template(text, own=_DIGITS | frozenset(re.findall(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)", text)))
    except TemplateRefused as refusal:
        raise ValueRefused(str(refusal)) from None
    return text


def _word(text: str) -> str:
    text = text.strip()
    if not text or len(text) > MAX_CHARACTERS or any(character.isspace() for character in text):
        raise ValueRefused('is neither "off" nor a URL, a path or a regular expression behind ~')
    return text


@frozen
class CookieRewrite:
    """Replaces domains and paths of cookies that endpoints set."""

    phase: ClassVar[Phase] = Phase.ANSWER
    name: ClassVar[str] = "cookie-rewrite"

    domain: Replacing | None = None
    path: Replacing | None = None

    def describe(self) -> str:
        """Say what is replaced."""
        parts = [f"domain {self.domain}" if self.domain else "", f"path {self.path}" if self.path else ""]
        return f"replaces in cookies {', '.join(filter(None, parts))}"

    def make(self, services: Services) -> Filter:
        """Make the filter that replaces."""
        return _Cookies(self)

    def rewritten(self, cookies: Sequence[bytes], facts: Facts) -> list[bytes]:
        """Return the values of ``Set-Cookie`` of one answer with other attributes (RFC 6265 section 4.1.1)."""
        left, attributes_left = MAX_SUBJECT, MAX_ATTRIBUTES
        found: list[bytes] = []
        for cookie in cookies:
            pair, *attributes = cookie.split(b";", attributes_left + 1)
            changed = [pair]
            rest = attributes[attributes_left:]
            del attributes[attributes_left:]
            attributes_left -= len(attributes)
            for attribute in attributes:
                name, mark, value = attribute.partition(b"=")
                lower, value = name.strip(b" \t").lower(), value.strip(b" \t")
                replacing, is_domain = None, lower == b"domain"
                if is_domain or lower == b"path":
                    replacing = self.domain if is_domain else self.path
                other: bytes | None = None
                if replacing is not None and len(value) <= left:
                    other = (_domain if is_domain else _beginning)(replacing, value, facts)
                    left -= 0 if replacing.original.expression is None else len(value)
                changed.append(attribute if other is None else name + mark + other)
            found.append(b";".join([*changed, *rest]).strip(b" \t"))
        return found


class _Cookies(Filter):
    def __init__(self, spec: CookieRewrite) -> None:
        self._rewritten = spec.rewritten

    def on_answer(self, facts: Facts, edit: AnswerEdit) -> None:
        if edit.is_ours or not edit.field(b"set-cookie"):
            return
        cookies = edit.values(b"set-cookie")
        changed = self._rewritten(cookies, facts)
        if changed != list(cookies):
            edit.drop(b"Set-Cookie")
            for cookie in changed:
                edit.add(b"Set-Cookie", cookie)


@frozen
class LocationRewrite:
    """Replaces where endpoints send clients to."""

    phase: ClassVar[Phase] = Phase.ANSWER
    name: ClassVar[str] = "location-rewrite"

    location: Replacing
    is_relative: bool = False

    def describe(self) -> str:
        """Say what is replaced."""
        return f"replaces in locations {self.location}"

    def make(self, services: Services) -> Filter:
        """Make the filter that replaces."""
        return _Locations(self)

    def rewritten(self, url: bytes, facts: Facts, *, is_refresh: bool = False) -> bytes | None:
        """Return what takes the place of *url*, completed by the host that was asked for unless it *is_relative*; None where it stays.

        That of a ``Refresh`` is not completed, as in nginx.  What a visitor has an endpoint say behind the beginning makes no
        other host: that is completed in any case.
        """
        found = _beginning(self.location, url, facts)
        if found is None:
            return None
        found = found.strip(b" \t")
        if _match_host(found) is not None:
            is_completed = not str(self.location.replacement).startswith("//")
        else:
            is_completed = found.startswith(b"/") and not (self.is_relative or is_refresh)
        if is_completed:
            found = b"%b://%b%b" % (facts.scheme, facts.field(b"host") or facts.host, found)
        return found


class _Locations(Filter):
    def __init__(self, spec: LocationRewrite) -> None:
        self._rewritten = spec.rewritten
        self._is_bounded = spec.location.original.expression is not None

    def on_answer(self, facts: Facts, edit: AnswerEdit) -> None:
        if edit.is_ours:
            return
        location, refresh = edit.field(b"location"), edit.field(b"refresh")
        if self._is_bounded and len(location) + len(refresh) > MAX_SUBJECT:
            return
        found = self._rewritten(location, facts) if location else None
        if found:
            edit.put(b"Location", found)
        at = refresh.lower().find(b"url=") + 4
        found = self._rewritten(refresh[at:], facts, is_refresh=True) if at >= 4 else None
        if found is not None:
            edit.put(b"Refresh", (refresh[:at] + found).strip(b" \t"))


def _domain(replacing: Replacing, value: bytes, facts: Facts) -> bytes | None:
    """Return what takes the place of the domain *value*, whose own dot at its beginning stays; None where all of it does."""
    if replacing.original.expression is not None:
        return _by_expression(replacing, value, facts)
    original = replacing.original.text.render(facts)
    if value.removeprefix(b".").lower() != original.removeprefix(b".").lower():
        return None
    dot = value[:1] if value.startswith(b".") else b""
    return _bounded(dot + replacing.replacement.render(facts).removeprefix(b"."))


def _beginning(replacing: Replacing, value: bytes, facts: Facts) -> bytes | None:
    """Return *value* with another beginning; None where it stays."""
    if replacing.original.expression is not None:
        return _by_expression(replacing, value, facts)
    original = replacing.original.text.render(facts)
    if not original or not value.startswith(original):
        return None
    return _bounded(replacing.replacement.render(facts) + value[len(original) :])


def _by_expression(replacing: Replacing, value: bytes, facts: Facts) -> bytes | None:
    expression = replacing.original.expression
    if expression is None:
        return None
    captures = expression.captures_in(value)
    if captures is None:
        return None
    return _bounded(replacing.replacement.render(facts, None, captures or NO_VALUES))


def _bounded(found: bytes) -> bytes | None:
    return found if len(found) <= MAX_REPLACED else None


def answer_rewrite_filters(settings: AnswerRewriteSettings, facts: RouteFacts) -> tuple[FilterSpec, ...]:
    """Return what changes answers of a route."""
    specs: tuple[FilterSpec, ...] = ()
    domain, path = (_bound(one, facts) for one in (settings.cookie_domain, settings.cookie_path))
    if domain is not None or path is not None:
        specs += (CookieRewrite(domain, path),)
    try:
        location = _bound(settings.location(), facts)
    except ValueRefused:
        location = None  # That is remarked upon.
    return specs if location is None else (*specs, LocationRewrite(location, facts.is_relative))


def _bound(replacing: Replacing | None, facts: RouteFacts) -> Replacing | None:
    if replacing is None:
        return None
    constants = route_constants(facts)
    original = Original(replacing.original.text.bound(constants), replacing.original.expression)
    return Replacing(original, replacing.replacement.bound(constants))


def answer_rewrite_remarks(settings: AnswerRewriteSettings, names: frozenset[str]) -> Iterator[Remark]:
    """Tell of halves, and of groups that are none."""
    try:
        location = settings.location()
    except ValueRefused as refusal:
        message = f"{settings.redirect_to} {refusal}; locations stay as they come"
        yield Remark("proxy-redirect-to", message, Reason.INVALID_ANNOTATION)
        return
    if location is None and "proxy-redirect-to" in names and settings.redirect_from == _OFF:
        yield Remark("proxy-redirect-to", "changes nothing without proxy-redirect-from")


_PAIR: Final = (
    "`off`, or two words: what is replaced, or a regular expression behind `~` or `~*`, and by what; off"
)

ANSWER_REWRITES: Final = Family(
    name="answer_rewrites",
    settings=AnswerRewriteSettings(),
    acts="cookies and locations of answers",
    phases=(Phase.ANSWER,),
    filters=answer_rewrite_filters,
    by_path=True,
    remarks=answer_rewrite_remarks,
    annotations={
        "proxy-cookie-domain": Annotation(
            "cookie_domain",
            parse_replacing,
            instead="cookies stay as they come",
            operators=True,
            values=_PAIR,
            meaning="replaces the domain of cookies that endpoints set",
            risk=Risk.MEDIUM,
        ),
        "proxy-cookie-path": Annotation(
            "cookie_path",
            parse_replacing,
            instead="cookies stay as they come",
            operators=True,
            values=_PAIR,
            meaning="replaces the path of cookies that endpoints set, or its beginning",
            risk=Risk.MEDIUM,
        ),
        "proxy-redirect-from": Annotation(
            "redirect_from",
            parse_from,
            instead="locations stay as they come",
            operators=True,
            values="`off`, `default`, a URL or a path with variables, or a regular expression behind `~` or `~*`; off",
            meaning="what of Location and Refresh of endpoints is replaced",
            risk=Risk.MEDIUM,
        ),
        "proxy-redirect-to": Annotation(
            "redirect_to",
            parse_to,
            instead="locations stay as they come",
            operators=True,
            values="`off`, or a URL or a path with variables; off",
            meaning="what takes the place of that which `proxy-redirect-from` says",
            risk=Risk.MEDIUM,
        ),
    },
)
