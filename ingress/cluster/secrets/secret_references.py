"""Which Secrets, or which ConfigMaps, are needed now, kept up to date change by change.  Pure.

One is needed when the operator refers to it, or a route object that is ours does.  Whether an
object is ours depends on others (an Ingress on its IngressClass), too, so nothing is judged before all
of these kinds were seen (``begin``): what another controller's Ingress refers to must not even be read.
"""

from collections.abc import Container, Hashable, Iterable, Set
from itertools import islice
from typing import Final

from attrs import define

from ingress.model.cluster.objects import Batch, ClusterObject, Kind, ObjectId, ObjectKey
from ingress.model.cluster.secrets import ALL_KEYS, Needs
from ingress.model.cluster.state import ClusterState
from ingress.model.frozen import frozen
from ingress.translate.annotation_reading import needs_of_options
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.reader import Reader, Readers, RouteKind
from ingress.translate.readers.route_kinds import ROUTE_KINDS

_NONE: Final[frozenset[str]] = frozenset()

JUDGED_AT_ONCE: Final = 200
"""Objects whose needs are found out in one turn, where a class is another and with it all objects that name it."""


_JudgedAs = tuple[Kind, Hashable]


@define(eq=False)
class _Alike:
    """Objects that are ours together, or are not."""

    one: ClusterObject
    count: int = 0


@frozen
class NeedChanges:
    """What is different: *needed* anew or with other keys, *dropped*, or *touched* alone.

    Touched are those needed as before, of which an object that refers to them changed.
    """

    needed: Needs
    dropped: Set[ObjectKey]
    touched: Set[ObjectKey]


class ObjectReferences:
    """Follows the objects of *kinds*, and those that they are judged by.

    *kind* is that of what is needed; *always* are needed whoever refers to them.
    """

    def __init__(
        self,
        options: TranslateOptions,
        kinds: Iterable[RouteKind] = ROUTE_KINDS,
        kind: Kind = Kind.SECRET,
        always: Iterable[ObjectKey] = (),
    ) -> None:
        self._options = options
        self.kind = kind
        self._always = dict.fromkeys(always, ALL_KEYS)
        self._readers = Readers(kinds, options)
        self._has_begun = False
        # Those that objects are judged by; and the route objects that refer to anything, ours or not.
        self._judges: dict[Kind, dict[ObjectKey, ClusterObject]] = {}
        self._state = ClusterState(objects=self._judges)
        self._objects: dict[ObjectId, ClusterObject] = {}
        # By kind and what of an object decides whether it is ours: how many of these there are, and one of them.
        self._alike: dict[_JudgedAs, _Alike] = {}
        # What each needs that is ours, and how many need each key of what is needed; the operator has the id None.
        self._needs: dict[ObjectId | None, Needs] = {}
        self._uses: dict[ObjectKey, dict[str, int]] = {}
        # By the same: whether such an object is ours.
        self._verdicts: dict[_JudgedAs, bool] = {}
        # Those that came to be ours, or ceased to be, with many others, and are judged some at a time.
        self._turned: dict[ObjectId | None, None] = {}

    def __len__(self) -> int:
        """How many are needed."""
        return len(self._uses)

    def keys_of(self, secret: ObjectKey) -> frozenset[str]:
        """The keys that are needed of *secret*; empty when nobody refers to it."""
        return frozenset(self._uses.get(secret, ()))

    def needed(self) -> tuple[ObjectKey, ...]:
        """All that are needed."""
        return tuple(self._uses)

    def begin(self) -> NeedChanges:
        """Judge from now on; return everything that is needed."""
        self._has_begun = True
        return self._judge([None, *self._objects])

    @property
    def is_judging(self) -> bool:
        """Whether there is something to do for ``judge_some``."""
        return bool(self._turned)

    def judge_some(self) -> NeedChanges:
        """Judge some of those that an object turned by which very many are judged; return what is different now."""
        some = list(islice(self._turned, JUDGED_AT_ONCE))
        for user in some:
            del self._turned[user]
        return self._judge(some)

    def refer(self, options: TranslateOptions) -> NeedChanges:
        """Take what the operator refers to by *options* from now on; return what is different."""
        self._options = options
        if not self._has_begun:
            return NeedChanges({}, frozenset(), frozenset())
        changes = self._judge([None])
        return NeedChanges(changes.needed, changes.dropped, frozenset())

    def changed(self, batch: Batch) -> NeedChanges:
        """Take *batch*; return what is different now, but for what ``judge_some`` finds later."""
        stale: dict[ObjectId | None, None] = {}
        turned: dict[Kind, None] = {}
        for object_id, projection in batch.items():
            kind, key = object_id
            value = projection.value if projection is not None else None
            reader = self._readers.get(kind)
            if reader is not None and self._put(object_id, value, reader):
                stale[object_id] = None
            if self._readers.judged_by(kind):
                self._put_judge(kind, key, value)
                turned.update(dict.fromkeys(self._readers.decided_by(kind)))
        if turned and self._has_begun:
            found = self._judged_anew(turned)
            stale.update(dict.fromkeys(found[:JUDGED_AT_ONCE]))
            self._turned.update(dict.fromkeys(found[JUDGED_AT_ONCE:]))
        if self._turned:
            for user in stale:
                self._turned.pop(user, None)
        if not (stale and self._has_begun):
            return NeedChanges({}, frozenset(), frozenset())
        return self._judge(stale)

    def _put(self, object_id: ObjectId, value: ClusterObject | None, reader: Reader) -> bool:
        """Keep *value*; return whether anything about its references may be different."""
        before = self._objects.get(object_id)
        if value is None or not reader.needs(value, self.kind):
            if before is None:
                return False
            del self._objects[object_id]
            self._leave(object_id[0], before, reader)
            return True
        self._objects[object_id] = value
        alike = self._alike.setdefault((object_id[0], reader.class_of(value)), _Alike(value))
        alike.count += 1
        if before is not None:
            self._leave(object_id[0], before, reader)
        return before != value

    def _leave(self, kind: Kind, value: ClusterObject, reader: Reader) -> None:
        judged_as = (kind, reader.class_of(value))
        alike = self._alike[judged_as]
        alike.count -= 1
        if not alike.count:
            del self._alike[judged_as]
            self._verdicts.pop(judged_as, None)

    def _put_judge(self, kind: Kind, key: ObjectKey, value: ClusterObject | None) -> None:
        some = self._judges.setdefault(kind, {})
        if value is None:
            some.pop(key, None)
        else:
            some[key] = value
        self._state.derived.changed(kind, key)

    def _judged_anew(self, kinds: Container[Kind]) -> list[ObjectId]:
        """Judge the objects of *kinds* anew, one of those that are alike; return which came to be ours, or ceased to be."""
        turned = set()
        for judged_as, alike in self._alike.items():
            if judged_as[0] in kinds:
                before = self._verdicts.pop(judged_as, None)
                is_ours = self._is_ours(judged_as[0], alike.one, self._readers[judged_as[0]])
                # Those that never were judged have come just now, all of them.
                if before is not None and before is not is_ours:
                    turned.add(judged_as)
        if not turned:
            return []
        return [
            object_id
            for object_id, value in self._objects.items()
            if (object_id[0], self._readers[object_id[0]].class_of(value)) in turned
        ]

    def _judge(self, users: Iterable[ObjectId | None]) -> NeedChanges:
        """Find out anew what *users* need."""
        before: dict[ObjectKey, frozenset[str]] = {}
        for user in users:
            old = self._needs.pop(user, {})
            new = self._needs_of(user)
            for secret in {*old, *new}:
                if secret not in before:
                    before[secret] = self.keys_of(secret)
                self._count(secret, new.get(secret, _NONE), old.get(secret, _NONE))
            if new:
                self._needs[user] = new
        needed: dict[ObjectKey, frozenset[str]] = {}
        dropped, touched = set(), set()
        for secret, keys_before in before.items():
            keys = self.keys_of(secret)
            if not keys:
                if keys_before:
                    dropped.add(secret)
            elif keys != keys_before:
                needed[secret] = keys
            else:
                touched.add(secret)
        return NeedChanges(needed, dropped, touched)

    def _count(self, secret: ObjectKey, more: Set[str], less: Set[str]) -> None:
        """Note that one needs the keys *more* of *secret* from now on, and no longer those of *less*."""
        uses = self._uses.setdefault(secret, {})
        for key in more:
            uses[key] = uses.get(key, 0) + 1
        for key in less:
            uses[key] -= 1
            if not uses[key]:
                del uses[key]
        if not uses:
            del self._uses[secret]

    def _needs_of(self, user: ObjectId | None) -> Needs:
        if user is None:
            return {**needs_of_options(self._options, self.kind), **self._always}
        value = self._objects.get(user)
        if value is None:
            return {}
        reader = self._readers[user[0]]
        return reader.needs(value, self.kind) if self._is_ours(user[0], value, reader) else {}

    def _is_ours(self, kind: Kind, value: ClusterObject, reader: Reader) -> bool:
        judged_as = (kind, reader.class_of(value))
        verdict = self._verdicts.get(judged_as)
        if verdict is None:
            verdict = self._readers.is_ours(kind, value, self._state)
            self._verdicts[judged_as] = verdict
        return verdict
