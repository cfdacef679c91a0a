"""Reading a snippet: its directives become data, or are told of by name and line.

What can be honored is, whatever else the text holds.  Where a directive that is refused may have kept somebody out, the
snippet lacks a guard; so it does where another directive that is refused may decide about one, such as an ``if`` that
cannot be judged in a text with ``return 403``.
"""

from collections.abc import Callable, Iterable
from enum import Enum
from typing import Final

from attrs import Factory, define, evolve

from ingress.annotations.access.guards import snippet_keeps_requests_out
from ingress.annotations.contract.snippet_blocks import (
    EMPTY,
    AccessRule,
    AddedField,
    AnswerField,
    Block,
    Break,
    Expires,
    Finding,
    If,
    Level,
    Location,
    MethodAccess,
    RequestField,
    Return,
    SetVariable,
    Snippet,
    Sort,
    Statement,
)
from ingress.annotations.contract.values import placeholder_hint, quoted
from ingress.annotations.nginx.access_directives import read_access, read_methods
from ingress.annotations.nginx.field_directives import (
    GRPC_TYPES,
    DirectiveRefused,
    FieldsTaken,
    added_field,
    answer_fields,
    content_type,
    expires,
    hidden_field,
    input_fields,
    sent_field,
)
from ingress.annotations.nginx.grammar import Directive, GrammarError, read_directives
from ingress.annotations.nginx.statements import (
    CLOSES_CONNECTION,
    read_condition,
    read_place,
    read_return,
    read_rewrite,
    read_set,
    read_set_from_auth,
)
from ingress.annotations.nginx.unhonored_directives import DECIDES, INSTEAD, is_guard, said_of

MAX_SEARCHES: Final = 32
"""Expressions in one text: each may be asked for a request."""
MAX_FIELDS: Final = 128
"""Directives in one text that set fields."""

WHOLE: Final = "the text"
"""What stands in place of a directive where the whole text is meant."""


class Place(Enum):
    """Where nginx would have the text."""

    LOCATION = "location"
    SERVER = "server"
    HTTP = "http"


def parse_snippet(text: str, place: Place) -> Snippet:
    """Read *text* as what stands in *place*.  Never raises: what cannot be read is among the findings."""
    if not text.strip():
        return EMPTY
    try:
        directives = read_directives(text)
    except GrammarError as error:
        sort = Sort.GUARD if snippet_keeps_requests_out(text) else Sort.REFUSED
        hint = placeholder_hint("{{") if "{{" in text else ""
        return Snippet(findings=(Finding(WHOLE, 0, f"cannot be read: it {error}{hint}", sort),))
    return _Reading(place).read(directives)


@define
class _Content:
    """What a block has so far."""

    statements: list[Statement] = Factory(list)
    fields: list[AnswerField] = Factory(list)
    added: list[AddedField] = Factory(list)
    expires: Expires | None = None
    hidden: set[bytes] = Factory(set)
    inputs: list[RequestField] = Factory(list)
    sent: list[RequestField] = Factory(list)
    access: list[AccessRule] = Factory(list)
    by_method: list[MethodAccess] = Factory(list)
    content_type: bytes = b""
    from_auth: list[SetVariable] = Factory(list)

    def block(self) -> Block:
        """Return it as data."""
        level = Level(
            tuple(self.fields),
            tuple(self.added),
            self.expires,
            frozenset(self.hidden),
            tuple(self.inputs),
            tuple(self.sent),
            tuple(self.access),
            tuple(self.by_method),
            self.content_type,
            from_auth=tuple(self.from_auth),
        )
        return Block(tuple(self.statements), level)


class _Reading:
    """The reading of one text."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._own = frozenset("123456789")
        self._findings: list[Finding] = []
        self._locations: list[Location] = []
        self._guards = False
        self._searches = 0
        self._fields = 0
        self._in_location = place is Place.LOCATION
        self._in_if = False

    def read(self, directives: Iterable[Directive]) -> Snippet:
        block = self._block(directives)
        findings = self._findings
        if self._guards or any(finding.sort is Sort.GUARD for finding in findings):
            findings = [
                evolve(finding, sort=Sort.GUARD)
                if finding.directive in DECIDES and finding.sort is Sort.REFUSED
                else finding
                for finding in findings
            ]
        return Snippet(block, tuple(self._locations), tuple(findings), self._guards)

    def _block(self, directives: Iterable[Directive]) -> Block:
        content = _Content()
        for directive in directives:
            reader = _READERS.get(directive.name)
            if reader is None:
                sort, message = said_of(directive, in_location=self._in_location)
                if sort is not None:
                    self._tell(directive, message, sort)
                continue
            try:
                reader(self, directive, content)
            except DirectiveRefused as refusal:
                if isinstance(refusal, FieldsTaken):
                    content.inputs += refusal.fields
                sort = Sort.GUARD if is_guard(directive) else Sort.REFUSED
                self._tell(directive, f"{refusal}, and {INSTEAD}", sort)
        return content.block()

    def _tell(self, directive: Directive, message: str, sort: Sort) -> None:
        name = directive.name
        shown = name if name.isascii() and name.isprintable() and len(name) <= 64 else quoted(name)
        self._findings.append(Finding(shown, directive.line, message, sort))

    # Fields

    def _count_field(self, directive: Directive) -> tuple[str, ...]:
        words = _plain(directive)
        self._fields += 1
        if self._fields > MAX_FIELDS:
            raise DirectiveRefused(f"is one of more than {MAX_FIELDS} directives for fields")
        return words

    def set_fields(self, directive: Directive, content: _Content) -> None:
        content.fields += answer_fields(self._count_field(directive), self._own, clears=False)

    def clear_fields(self, directive: Directive, content: _Content) -> None:
        content.fields += answer_fields(self._count_field(directive), self._own, clears=True)

    def set_inputs(self, directive: Directive, content: _Content) -> None:
        content.inputs += input_fields(self._count_field(directive), self._own, clears=False)

    def clear_inputs(self, directive: Directive, content: _Content) -> None:
        content.inputs += input_fields(self._count_field(directive), self._own, clears=True)

    def add_field(self, directive: Directive, content: _Content) -> None:
        field = added_field(self._count_field(directive), self._own)
        if field is not None:
            content.added.append(field)

    def _is_of_paths(self, directive: Directive) -> bool:
        """Whether a directive that each path of ingress-nginx has stands in one; where it does not, that is told."""
        if not self._in_location:
            _plain(directive)
            self._tell(
                directive,
                "changes nothing here, nor in ingress-nginx, whose paths have their own: write it in configuration-snippet",
                Sort.NOTE,
            )
        return self._in_location

    def send_field(self, directive: Directive, content: _Content) -> None:
        if not self._is_of_paths(directive):
            return
        field = sent_field(self._count_field(directive), self._own)
        if field is not None:
            content.sent.append(field)

    def send_field_by_grpc(self, directive: Directive, content: _Content) -> None:
        if not self._in_location:
            self.send_field(directive, content)
            return
        field = sent_field(self._count_field(directive), self._own)
        if field is not None:
            content.sent.append(evolve(field, types=GRPC_TYPES))

    def hide_field(self, directive: Directive, content: _Content) -> None:
        content.hidden.add(hidden_field(self._count_field(directive)))

    def set_expires(self, directive: Directive, content: _Content) -> None:
        content.expires = expires(_plain(directive), self._own)

    def set_type(self, directive: Directive, content: _Content) -> None:
        content.content_type = content_type(_plain(directive))

    # Decisions

    def _decides(self) -> None:
        if self._place is Place.HTTP:
            raise DirectiveRefused("stands in no server")

    def answer(self, directive: Directive, content: _Content) -> None:
        self._decides()
        found = read_return(_plain(directive), self._own)
        if 400 <= found.status <= 499:
            self._guards = True
        if found.status == CLOSES_CONNECTION:
            self._tell(directive, "444 is answered with 403, and the connection stays", Sort.NOTE)
            found = Return(403)
        content.statements.append(found)

    def rewrite(self, directive: Directive, content: _Content) -> None:
        self._decides()
        self._count_search()
        content.statements.append(read_rewrite(_plain(directive), self._own))

    def set_variable(self, directive: Directive, content: _Content) -> None:
        self._decides()
        found = read_set(_plain(directive), self._own)
        self._own |= {found.name}
        content.statements.append(found)

    def set_from_auth(self, directive: Directive, content: _Content) -> None:
        if not self._is_of_paths(directive):
            return
        if self._in_if:
            raise DirectiveRefused("stands in an if")
        found = read_set_from_auth(self._count_field(directive), self._own)
        self._own |= {found.name}
        content.from_auth.append(found)

    def stop(self, directive: Directive, content: _Content) -> None:
        self._decides()
        if _plain(directive):
            raise DirectiveRefused("takes nothing")
        content.statements.append(Break())

    def decide_if(self, directive: Directive, content: _Content) -> None:
        self._decides()
        if directive.block is None:
            raise DirectiveRefused("has no block")
        if self._in_if:
            raise DirectiveRefused("stands in another if")
        condition = read_condition(directive.arguments, self._own)
        before = self._own
        if condition.search is not None:
            self._count_search()
            self._own |= condition.search.names
        self._in_if = True
        try:
            block = self._block(directive.block)
        finally:
            self._in_if = False
        # What it sets is known behind it, what it captures too; both are empty where it did not match.
        self._own |= before
        content.statements.append(If(condition, block))

    def locate(self, directive: Directive, content: _Content) -> None:
        if self._place is not Place.SERVER:
            raise DirectiveRefused("stands in no server")
        if directive.block is None:
            raise DirectiveRefused("has no block")
        if self._in_location or self._in_if:
            raise DirectiveRefused("stands in another block")
        place = read_place(directive.arguments)
        if place.search is not None:
            self._count_search()
        self._in_location = True
        try:
            block = self._block(directive.block)
        finally:
            self._in_location = False
        self._locations.append(evolve(place, block=block))

    def _count_search(self) -> None:
        self._searches += 1
        if self._searches > MAX_SEARCHES:
            raise DirectiveRefused(f"is one of more than {MAX_SEARCHES} expressions")

    # Access

    def give_access(self, directive: Directive, content: _Content) -> None:
        rule = read_access(directive.name, _plain(directive))
        if rule is not None:
            content.access.append(rule)
            self._guards = self._guards or not rule.allows or rule.network is not None

    def give_methods(self, directive: Directive, content: _Content) -> None:
        if self._in_if or not self._in_location:
            raise DirectiveRefused("stands in no location")
        rules = []
        for one in directive.block or ():
            if one.name not in ("allow", "deny"):
                raise DirectiveRefused(f"has {quoted(one.name)} within")
            rule = read_access(one.name, _plain(one))
            if rule is not None:
                rules.append(rule)
        content.by_method.append(MethodAccess(read_methods(directive.arguments), tuple(rules)))
        self._guards = True


def _plain(directive: Directive) -> tuple[str, ...]:
    """Return the words of a directive that has no block."""
    if directive.block is not None:
        raise DirectiveRefused("has a block")
    return directive.arguments


_READERS: Final[dict[str, Callable[[_Reading, Directive, _Content], None]]] = {
    "add_header": _Reading.add_field,
    "allow": _Reading.give_access,
    "auth_request_set": _Reading.set_from_auth,
    "break": _Reading.stop,
    "default_type": _Reading.set_type,
    "deny": _Reading.give_access,
    "expires": _Reading.set_expires,
    "grpc_set_header": _Reading.send_field_by_grpc,
    "if": _Reading.decide_if,
    "limit_except": _Reading.give_methods,
    "location": _Reading.locate,
    "more_clear_headers": _Reading.clear_fields,
    "more_clear_input_headers": _Reading.clear_inputs,
    "more_set_headers": _Reading.set_fields,
    "more_set_input_headers": _Reading.set_inputs,
    "proxy_hide_header": _Reading.hide_field,
    "proxy_set_header": _Reading.send_field,
    "return": _Reading.answer,
    "rewrite": _Reading.rewrite,
    "set": _Reading.set_variable,
}
HONORED: Final = frozenset(_READERS)
"""The directives that data is made of."""
