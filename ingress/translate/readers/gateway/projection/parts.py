"""Reading what many kinds have in their objects: lists of a bounded length, references, selectors of labels, texts by name."""

from collections.abc import Callable
from functools import lru_cache
from sys import intern
from typing import Final, TypeVar

from ingress.model.cluster.label_selectors import LabelRequirement, LabelSelector
from ingress.model.cluster.problems import Reason
from ingress.object_fields import FieldReader, RawObject, entry_path, is_text, path_of
from ingress.translate.readers.gateway.objects.names import UNREADABLE, ObjectReference
from ingress.translate.readers.gateway.objects.routes import RouteBackend

MOST_ENTRIES: Final = 16_384
"""How many entries all lists of one object may have together: more than fit into an object that an API server takes and anybody wrote."""
MOST_PROBLEMS: Final = 64
"""How much that is wrong with one object is told."""

NO_LABELS: Final = LabelSelector((LabelRequirement("", ""),))
"""What stands where a selector is missing or cannot be read: nothing meets it."""

_T = TypeVar("_T")
_reference = lru_cache(maxsize=256)(ObjectReference)


def _usual_reference(group: object, kind: object, namespace: object, name: object) -> ObjectReference | None:
    """Return a reference of texts that can be used; None for what has to be looked at more closely."""
    if type(group) is str and type(kind) is str and type(namespace) is str and type(name) is str:
        return _checked_reference(group, kind, namespace, name)
    return None


# Those to Gateways are of many routes, those to Services of one: of these few are of any use to others.
@lru_cache(maxsize=256)
def _checked_reference(group: str, kind: str, namespace: str, name: str) -> ObjectReference | None:
    if kind and name and is_text(group) and is_text(kind) and is_text(namespace) and is_text(name):
        return ObjectReference(intern(group), intern(kind), intern(namespace), intern(name))
    return None


class TooManyEntriesError(Exception):
    """The lists of an object are longer than anybody needs."""


class Parts:
    """Reads the parts of one object by *fields*.  ``at`` is always the path of the object that is asked for a part."""

    __slots__ = ("_left", "backends_read", "fields")

    def __init__(self, fields: FieldReader) -> None:
        self.fields = fields
        self.backends_read: tuple[list[object], tuple[RouteBackend, ...]] | None = None
        """Backends of a rule as they were written, and what became of them, where the same elsewhere becomes the same."""
        self._left = MOST_ENTRIES

    def entries(self, parent: RawObject, name: str, at: str) -> list[object]:
        """Return a list field; empty when absent or something else.  Raises ``TooManyEntriesError``."""
        found = parent.get(name)
        if not isinstance(found, list):
            return self.fields.entries(parent, name, at)
        self._left -= len(found)
        if self._left < 0:
            raise TooManyEntriesError
        return found

    def each(
        self,
        parent: RawObject,
        name: str,
        at: str,
        read: Callable[[RawObject, str], _T],
        lost: Callable[[str], _T],
    ) -> tuple[_T, ...]:
        """Return what *read* makes of each object of a list field, and *lost* of the path of what is none."""
        found = []
        for index, entry in enumerate(self.entries(parent, name, at)):
            path = entry_path(at, name, index)
            if isinstance(entry, dict):
                found.append(read(entry, path))
            else:
                self.fields.wrong_shape(path, "an object", entry)
                found.append(lost(path))
        return tuple(found)

    def texts(self, parent: RawObject, name: str, at: str) -> tuple[str, ...] | None:
        """Return the texts of a list field; None when one of them cannot be used."""
        value = parent.get(name)
        if value is None:
            return ()
        count = len(self.entries(parent, name, at))
        found = self.fields.texts(parent, name, at)
        return found if isinstance(value, list) and len(found) == count else None

    def named_texts(self, parent: RawObject, name: str, at: str) -> tuple[tuple[str, str], ...] | None:
        """Return an object field whose values are texts, sorted by name; None when anything of it cannot be used."""
        values = self.fields.mapping(parent, name, at)
        if values is None:
            return None
        self._left -= len(values)
        if self._left < 0:
            raise TooManyEntriesError
        found: list[tuple[str, str]] = []
        for key, value in values.items():
            if is_text(key) and is_text(value):
                found.append((key, value))
            else:
                self.fields.report(path_of(at, name), "must have texts alone, without control characters")
                return None
        return tuple(sorted(found))

    def required(self, parent: RawObject, name: str, at: str) -> str | None:
        """Return a text that has to be there and not to be empty; None when it cannot be used."""
        value = self.fields.word(parent, name, at)
        if value == "":
            self.fields.report(path_of(at, name), "is missing")
            return None
        return value

    def number(self, parent: RawObject, name: str, at: str, default: int) -> int | None:
        """Return an ``int32`` field; *default* when absent, None when it is something else."""
        return default if parent.get(name) is None else self.fields.port(parent, name, at)

    def reference(
        self, raw: RawObject, at: str, group: str | None = None, kind: str = "", *, is_local: bool = False
    ) -> ObjectReference:
        """Return the reference to an object that *raw* is, ``UNREADABLE`` when it is none.

        *group* and *kind* are the defaults of the API; without these both have to be there.  One that *is_local* names no
        namespace.
        """
        found = _usual_reference(
            raw.get("group", group),
            raw.get("kind", kind),
            "" if is_local else raw.get("namespace", ""),
            raw.get("name"),
        )
        if found is not None:
            return found
        fields = self.fields
        name = self.required(raw, "name", at)
        if group is None and raw.get("group") is None:
            fields.report(path_of(at, "group"), "is missing")
            return UNREADABLE
        found_group = fields.word(raw, "group", at, group or "")
        found_kind = fields.word(raw, "kind", at, kind) if kind else self.required(raw, "kind", at)
        namespace = "" if is_local else fields.word(raw, "namespace", at)
        if name is None or found_group is None or found_kind is None or namespace is None:
            return UNREADABLE
        return _reference(found_group, found_kind, namespace, name)

    def reference_in(
        self,
        parent: RawObject,
        name: str,
        at: str,
        group: str | None = None,
        kind: str = "",
        *,
        is_local: bool = False,
    ) -> ObjectReference | None:
        """Return the reference in the field *name*; None when that is absent."""
        value = parent.get(name)
        if value is None:
            return None
        path = path_of(at, name)
        if not isinstance(value, dict):
            self.fields.wrong_shape(path, "an object", value)
            return UNREADABLE
        return self.reference(value, path, group, kind, is_local=is_local)

    def references(
        self,
        parent: RawObject,
        name: str,
        at: str,
        group: str | None = None,
        kind: str = "",
        *,
        is_local: bool = False,
    ) -> tuple[ObjectReference, ...]:
        """Return the references of a list field; one that leads nowhere when it is no list."""
        value = parent.get(name)
        if value is not None and not isinstance(value, list):
            self.fields.wrong_shape(path_of(at, name), "a list", value)
            return (UNREADABLE,)
        return self.each(
            parent,
            name,
            at,
            lambda raw, path: self.reference(raw, path, group, kind, is_local=is_local),
            lambda path: UNREADABLE,
        )

    def selector(self, parent: RawObject, name: str, at: str) -> LabelSelector:
        """Return a ``metav1.LabelSelector``; one that nothing meets when it is absent or cannot be read."""
        raw = parent.get(name)
        path = path_of(at, name)
        if not isinstance(raw, dict):
            if raw is not None:
                self.fields.wrong_shape(path, "an object", raw)
            return NO_LABELS
        labels = self.named_texts(raw, "matchLabels", path)
        expressions = self.each(raw, "matchExpressions", path, self._requirement, lambda path: None)
        if (
            labels is None
            or None in expressions
            or not isinstance(raw.get("matchExpressions", []), list | None)
        ):
            return NO_LABELS
        wanted = (LabelRequirement(key, "In", (value,)) for key, value in labels)
        return LabelSelector((*wanted, *(one for one in expressions if one is not None)))

    def _requirement(self, raw: RawObject, at: str) -> LabelRequirement | None:
        key = self.required(raw, "key", at)
        operator = self.required(raw, "operator", at)
        values = self.texts(raw, "values", at)
        if key is None or operator is None or values is None:
            return None
        return LabelRequirement(key, operator, values)

    def end(self) -> None:
        """Leave out what nobody reads of all that is wrong with the object."""
        del self.fields.problems[MOST_PROBLEMS:]

    def too_many(self, field: str, told: int) -> None:
        """Say instead of what came after the first *told* problems that there is too much in *field*."""
        del self.fields.problems[told:]
        message = f"all lists below have more than {MOST_ENTRIES} entries together; nothing of it is served"
        self.fields.report(field, message, Reason.UNSUPPORTED_VALUE)


def spec_of(raw: RawObject, fields: FieldReader) -> RawObject | None:
    """Return ``spec`` of an object that has to have one."""
    spec = fields.mapping(raw, "spec", "")
    if spec is None:
        return None
    if not spec:
        fields.report("spec", "is missing or empty")
        return None
    return spec
