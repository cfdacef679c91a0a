"""Fields of answers and requests out of ConfigMaps: ``custom-headers``, and what the operator has for everybody.

``custom-headers`` names a ConfigMap of the own namespace, whose keys are put on answers as fields, those that the operator allows
(``global-allowed-response-headers``).  The operator's ``add-headers`` does that for all Ingresses, ``proxy-set-headers`` does it to the
requests that endpoints get, both with nginx's variables; and ``hide-headers`` names fields of endpoints' answers that nobody is to see.

An empty value takes the field away.  What an Ingress says itself, by ``custom-headers`` or a snippet, counts more.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar, Final

from ingress.annotations.contract.references import NOWHERE, Found, Reference, first_entries
from ingress.annotations.contract.route_constants import route_constants
from ingress.annotations.contract.route_facts import RouteFacts
from ingress.annotations.contract.values import (
    Annotation,
    Family,
    Remark,
    Risk,
    ValueRefused,
    parse_object_key_or_nothing,
    quoted,
)
from ingress.filter_parts.changing import ChangesAnswers
from ingress.filters import AnswerEdit, Facts, FieldChanges, Filter, FilterSpec, Phase, RequestEdit, Services
from ingress.model.cluster.objects import Kind, ObjectKey
from ingress.model.cluster.problems import Reason
from ingress.model.frozen import frozen
from ingress.model.requests.reserved_fields import RESERVED_FIELDS, RESERVED_FIELDS_OF_REQUESTS
from ingress.model.requests.templates import Template, TemplateRefused, read_template

MOST_FIELDS: Final = 64
MOST_NAMES_CHARACTERS: Final = 8192
MOST_VALUE_CHARACTERS: Final = 4096

_CUSTOM: Final = "custom-headers"
_ADDED: Final = "add-headers"
_TOLD: Final = "proxy-set-headers"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}").fullmatch


def parse_whole_key(text: str) -> ObjectKey | None:
    """Read namespace and name of a ConfigMap; None for an empty text."""
    key = parse_object_key_or_nothing(text)
    if key is not None and not key.namespace:
        raise ValueRefused("is not of the form namespace/name")
    return key


def parse_names(text: str) -> tuple[str, ...]:
    """Read names of fields with commas between them; return them in lower case, sorted."""
    if len(text) > MOST_NAMES_CHARACTERS:
        raise ValueRefused(f"is longer than {MOST_NAMES_CHARACTERS} characters")
    names = {member.strip().lower() for member in text.split(",")} - {""}
    for name in sorted(names):
        if not _NAME(name):
            raise ValueRefused(f"has {quoted(name)}, which is no name of a field")
    return tuple(sorted(names))


def fault_of_field(name: str, value: str, reserved: frozenset[str] = RESERVED_FIELDS) -> str | None:
    """Say why *name* with *value* can be no field; None where it can."""
    if not _NAME(name):
        return f"{quoted(name)} is no name of a field"
    if name.lower() in reserved:
        return f"{name} is a field of the proxy's own"
    if len(value) > MOST_VALUE_CHARACTERS:
        return f"the value of {name} is longer than {MOST_VALUE_CHARACTERS} characters"
    if any((sign < " " and sign != "\t") or sign == "\x7f" for sign in value.strip()):
        return f"the value of {name} has a control character"
    return None


@frozen
class CustomHeaderSettings:
    """What one Ingress, and the operator, say about fields of its answers."""

    config_map: ObjectKey | None = None
    """As it was written."""
    allowed: tuple[str, ...] = ()
    """The names that any Ingress may have put on answers, in lower case; the operator's."""


@frozen(cache_hash=True)
class AnswerFields:
    """Puts fields on all answers, and takes others away."""

    phase: ClassVar[Phase] = Phase.ANSWER
    name: ClassVar[str] = "configured-answer-fields"

    put: tuple[tuple[bytes, bytes], ...] = ()
    drop: tuple[bytes, ...] = ()

    def describe(self) -> str:
        """Say which."""
        return _described("answers", [name.decode() for name, _ in self.put], self.drop)

    def make(self, services: Services) -> Filter:
        """Make the filter."""
        return ChangesAnswers(FieldChanges(drop=self.drop, put=self.put))


@frozen(cache_hash=True)
class RenderedFields:
    """Puts fields on answers whose values are others for each request."""

    phase: ClassVar[Phase] = Phase.ANSWER
    name: ClassVar[str] = "rendered-answer-fields"

    fields: tuple[tuple[bytes, Template], ...]

    def describe(self) -> str:
        """Say which."""
        return _described("answers", [name.decode() for name, _ in self.fields])

    def make(self, services: Services) -> Filter:
        """Make the filter."""
        return _Renders(self.fields)


class _Renders(Filter):
    def __init__(self, fields: tuple[tuple[bytes, Template], ...]) -> None:
        self._fields = fields

    def on_answer(self, facts: Facts, edit: AnswerEdit) -> None:
        edit.change(_changes((name, template.render(facts, edit)) for name, template in self._fields))


@frozen(cache_hash=True)
class HiddenFields:
    """Takes fields off the answers of endpoints; what the proxy and other filters say stays."""

    phase: ClassVar[Phase] = Phase.ANSWER
    name: ClassVar[str] = "hidden-fields"

    names: tuple[bytes, ...]

    def describe(self) -> str:
        """Say which."""
        return f"hides of endpoints' answers {', '.join(name.decode() for name in self.names)}"

    def make(self, services: Services) -> Filter:
        """Make the filter."""
        return _Hides(FieldChanges(drop=self.names))


class _Hides(Filter):
    def __init__(self, changes: FieldChanges) -> None:
        self._changes = changes

    def on_answer(self, facts: Facts, edit: AnswerEdit) -> None:
        if not edit.is_ours:
            edit.change(self._changes)


@frozen(cache_hash=True)
class RequestFields:
    """Puts fields on the requests that endpoints get."""

    phase: ClassVar[Phase] = Phase.EDITS
    name: ClassVar[str] = "configured-request-fields"

    fields: tuple[tuple[bytes, Template], ...]

    def describe(self) -> str:
        """Say which."""
        return _described("requests", [name.decode() for name, _ in self.fields])

    def make(self, services: Services) -> Filter:
        """Make the filter."""
        return _Tells(self.fields)


class _Tells(Filter):
    def __init__(self, fields: tuple[tuple[bytes, Template], ...]) -> None:
        texts = [(name, template.text) for name, template in fields]
        self._fixed = _changes((name, text) for name, text in texts if text is not None)
        self._fields = tuple(one for one in fields if one[1].text is None)

    def on_upstream(self, facts: Facts, edit: RequestEdit) -> None:
        edit.change(self._fixed)
        if self._fields:
            edit.change(_changes((name, template.render(facts)) for name, template in self._fields))


def _changes(fields: Iterable[tuple[bytes, bytes]]) -> FieldChanges:
    """Return what puts *fields*, and takes away those without a value."""
    put, drop = [], []
    for name, value in fields:
        value = value.strip(b" \t")
        if value:
            put.append((name, value))
        else:
            drop.append(name)
    return FieldChanges(drop=tuple(drop), put=tuple(put))


def _described(what: str, names: list[str], dropped: tuple[bytes, ...] = ()) -> str:
    hidden = f", and takes away {', '.join(name.decode() for name in dropped)}" if dropped else ""
    return f"sets fields of {what}: {', '.join(names) or 'none'}{hidden}"


# What an Ingress asks for


def custom_references(settings: CustomHeaderSettings, asking: ObjectKey) -> Iterator[Reference]:
    """Name the ConfigMap."""
    named = settings.config_map
    if named is not None:
        key = ObjectKey(named.namespace or asking.namespace, named.name)
        yield Reference(Kind.CONFIG_MAP, key, _CUSTOM, without="its fields are not added to answers")


def custom_filters(settings: CustomHeaderSettings, facts: RouteFacts) -> tuple[FilterSpec, ...]:
    """Return what puts the fields that are there and allowed."""
    if facts.owner is None:
        return ()
    for reference in custom_references(settings, facts.owner.key):
        content = facts.found.config_map(reference) or {}
        good = [
            (name.encode(), value.strip().encode())
            for name, value in first_entries(content, MOST_FIELDS)
            if _fault_of_custom(name, value, settings.allowed) is None
        ]
        if good:
            changes = _changes(good)
            return (AnswerFields(changes.put, changes.drop),)
    return ()


def custom_contents(settings: CustomHeaderSettings, asking: ObjectKey, found: Found) -> Iterator[Remark]:
    """Tell of fields that are not put."""
    for reference in custom_references(settings, asking):
        content = found.config_map(reference) or {}
        faults = [
            fault
            for name, value in first_entries(content, MOST_FIELDS)
            if (fault := _fault_of_custom(name, value, settings.allowed)) is not None
        ]
        for message in _told(reference, content, faults):
            yield Remark(_CUSTOM, message, Reason.INVALID_ANNOTATION)


def _fault_of_custom(name: str, value: str, allowed: tuple[str, ...]) -> str | None:
    fault = fault_of_field(name, value)
    if fault is None and name.lower() not in allowed:
        fault = f"the operator does not allow {name} (global-allowed-response-headers)"
    return fault


def _told(reference: Reference, content: Mapping[str, str], faults: list[str]) -> Iterator[str]:
    shown = f"ConfigMap {reference.key}"
    if faults:
        more = f", and {len(faults) - 3} more" if len(faults) > 3 else ""
        yield f"{shown}: {'; '.join(faults[:3])}{more}; the others are sent"
    if len(content) > MOST_FIELDS:
        yield f"{shown} has more than {MOST_FIELDS} fields; those behind them are not sent"


CUSTOM_HEADERS: Final = Family(
    name="custom_headers",
    settings=CustomHeaderSettings(),
    acts="sets fields of answers",
    phases=(Phase.ANSWER,),
    filters=custom_filters,
    references=custom_references,
    contents=custom_contents,
    annotations={
        _CUSTOM: Annotation(
            "config_map",
            parse_object_key_or_nothing,
            values="a ConfigMap of the own namespace: its name, or `namespace/name`; none",
            meaning="puts its keys and values on all answers as fields, those that `global-allowed-response-headers` names",
            differs="a ConfigMap that is missing, and a field that is not allowed, are told and cost no 503",
            risk=Risk.MEDIUM,
        )
    },
    options={
        "global-allowed-response-headers": Annotation(
            "allowed",
            parse_names,
            values="names of fields, with commas between them; none",
            meaning="the fields that custom-headers of Ingresses may put on answers",
        )
    },
)


# What the operator has for everybody


@frozen
class OperatorFieldSettings:
    """What the operator says about fields of all answers, and of all requests to endpoints."""

    added: ObjectKey | None = None
    told: ObjectKey | None = None
    hidden: tuple[str, ...] = ()


def operator_references(settings: OperatorFieldSettings, asking: ObjectKey) -> Iterator[Reference]:
    """Name both ConfigMaps."""
    for key, option, what in ((settings.added, _ADDED, "answers"), (settings.told, _TOLD, "requests")):
        if key is not None:
            without = f"its fields are not added to {what}"
            yield Reference(Kind.CONFIG_MAP, key, option, without=without, is_operators=True)


def _read(
    content: Mapping[str, str], reserved: frozenset[str], *, answers: bool
) -> tuple[tuple[tuple[bytes, Template], ...], list[str]]:
    """Return the fields in *content*, and what is told of the rest."""
    fields: list[tuple[bytes, Template]] = []
    faults: list[str] = []
    for name, value in first_entries(content, MOST_FIELDS):
        fault = fault_of_field(name, value, reserved)
        if fault is None:
            try:
                fields.append((name.encode(), read_template(value.strip(), answers=answers)))
            except TemplateRefused as refusal:
                fault = f"the value of {name} {refusal}"
        if fault is not None:
            faults.append(fault)
    return tuple(fields), faults


def operator_filters(settings: OperatorFieldSettings, facts: RouteFacts) -> tuple[FilterSpec, ...]:
    """Return what sets the fields of all answers and requests of a route."""
    if settings.added is None and settings.told is None and not settings.hidden:
        return ()
    specs: list[FilterSpec] = []
    asking = NOWHERE if facts.owner is None else facts.owner.key
    constants = route_constants(facts)
    for reference in operator_references(settings, asking):
        content = facts.found.config_map(reference) or {}
        of_answers = reference.annotation == _ADDED
        fields, _ = _read(
            content, RESERVED_FIELDS if of_answers else RESERVED_FIELDS_OF_REQUESTS, answers=of_answers
        )
        bound = tuple((name, template.bound(constants)) for name, template in fields)
        if not of_answers:
            specs += [RequestFields(bound)] if bound else []
            continue
        fixed = _changes((name, text) for name, template in bound if (text := template.text) is not None)
        if fixed.put or fixed.drop:
            specs.append(AnswerFields(fixed.put, fixed.drop))
        rendered = tuple(one for one in bound if one[1].text is None)
        specs += [RenderedFields(rendered)] if rendered else []
    if settings.hidden:
        # The last one sees answers first: what is put on them stays.
        specs.append(HiddenFields(tuple(name.encode() for name in settings.hidden)))
    return tuple(specs)


def operator_contents(settings: OperatorFieldSettings, asking: ObjectKey, found: Found) -> Iterator[Remark]:
    """Tell the operator of what in the ConfigMaps is no field; Ingresses have nothing to do with it."""
    for reference in operator_references(settings, asking) if asking == NOWHERE else ():
        content = found.config_map(reference) or {}
        of_answers = reference.annotation == _ADDED
        _, faults = _read(
            content, RESERVED_FIELDS if of_answers else RESERVED_FIELDS_OF_REQUESTS, answers=of_answers
        )
        for message in _told(reference, content, faults):
            yield Remark(reference.annotation, message, Reason.INVALID_OPTION)


OPERATOR_FIELDS: Final = Family(
    name="operator_fields",
    settings=OperatorFieldSettings(),
    acts="sets fields for all Ingresses",
    phases=(Phase.EDITS, Phase.ANSWER),
    filters=operator_filters,
    filters_unasked=True,
    by_path=True,
    holds_unmatched=True,
    references=operator_references,
    contents=operator_contents,
    annotations={},
    options={
        _ADDED: Annotation(
            "added",
            parse_whole_key,
            values="a ConfigMap, as namespace/name; none",
            meaning="puts its keys and values on all answers as fields; variables are rendered",
        ),
        _TOLD: Annotation(
            "told",
            parse_whole_key,
            values="a ConfigMap, as namespace/name; none",
            meaning="puts its keys and values on all requests to endpoints as fields; variables are rendered",
        ),
        "hide-headers": Annotation(
            "hidden",
            parse_names,
            values="names of fields, with commas between them; none",
            meaning="fields of endpoints' answers that are not passed on",
        ),
    },
)
