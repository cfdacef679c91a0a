"""What was found of the Secrets and ConfigMaps that annotations name, kept up to date.  Part of incremental translation.

They are looked up when somebody refers to them, and again when they change; only what comes out differently concerns
any host.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from ingress.annotations.annotations import AnnotationReader
from ingress.annotations.contract.references import NOTHING_FOUND, NOWHERE, Found
from ingress.model.cluster.objects import Kind, ObjectId, Owner
from ingress.model.cluster.state import ClusterState
from ingress.translate.caches.bookkeeping import Index, ProblemIndex
from ingress.translate.claims import ParsedObject
from ingress.translate.found_references import (
    NOTHING_NAMED,
    find_references,
    find_references_of_operator,
    named_by,
)

OPERATOR: Final[ObjectId] = (Kind("Operator"), NOWHERE)
"""Stands for the operator among those who refer to something."""


class ReferenceCache:
    """Keeps what was found for each object that refers to anything; tells the problems to *problem_index*."""

    def __init__(self, annotations: AnnotationReader, problem_index: ProblemIndex) -> None:
        self._annotations = annotations
        self._problem_index = problem_index
        self._found: dict[ObjectId, Found] = {}
        self._users: Index[ObjectId, ObjectId] = Index()
        self._stale: dict[ObjectId, None] = {}
        named = tuple((one.kind, one.key) for one in annotations.references_of_operator)
        if named:
            self._users.replace(OPERATOR, (), named)
            self._stale[OPERATOR] = None

    def found_for(self, owner: Owner | None) -> Found:
        """Return what was found for *owner*, None for the operator."""
        if not self._found:
            return NOTHING_FOUND
        return self._found.get(OPERATOR if owner is None else owner.id, NOTHING_FOUND)

    def object_changed(
        self, object_id: ObjectId, before: ParsedObject | None, after: ParsedObject | None
    ) -> None:
        """Note that an object was read anew; None where it is not served."""
        named_before, named_after = named_by(before, self._annotations), named_by(after, self._annotations)
        self._users.replace(object_id, named_before, named_after)
        self._stale[object_id] = None

    def target_changed(self, target: ObjectId) -> None:
        """Note that a Secret or a ConfigMap has to be looked up again, if anybody refers to it."""
        self._stale.update(dict.fromkeys(self._users.get(target)))

    def read(
        self, all_parsed: Mapping[ObjectId, ParsedObject], state: ClusterState
    ) -> Iterator[ObjectId | None]:
        """Look up what may be different, for one object a step; yield each for whom it is, or ``OPERATOR``."""
        while self._stale:
            object_id, _ = self._stale.popitem()
            parsed = all_parsed.get(object_id)
            finding = NOTHING_NAMED
            if object_id == OPERATOR:
                finding = find_references_of_operator(state, self._annotations)
            elif parsed is not None:
                finding = yield from find_references(parsed, state, self._annotations)
            self._problem_index.put(("references", object_id), finding.problems)
            before = self._found.pop(object_id, NOTHING_FOUND)
            if finding.found is not NOTHING_FOUND:
                self._found[object_id] = finding.found
            yield None if finding.found == before else object_id
        # A dictionary that was emptied keeps the room that it had.
        self._stale = {}
