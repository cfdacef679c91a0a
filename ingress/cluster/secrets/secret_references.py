"""Which Secrets, or which ConfigMaps, are needed now, kept up to date change by change.  Pure.

One is needed when the operator refers to it, or a route object that is ours does.  Whether an
object is ours depends on others (an Ingress on its IngressClass), too, so nothing is judged before all
of these kinds were seen (``begin``): what another controller's Ingress refers to must not even be read.

An object may refer to ten thousand Secrets, and ten thousand objects may turn at once.  So there is a bound to what is judged in one
call, and the others are judged by the next ones (``judge_some``), as they are then.  Whatever was counted of an object stands in what it
needs (``_needs``) at the same moment: it may change between two calls, or go, and is judged from its beginning then, by what differs.
"""

from collections import deque
from collections.abc import Container, Hashable, Iterable, Iterator, Set
from itertools import islice
from typing import Final

from attrs import define

from ingress.model.cluster.objects import Batch, ClusterObject, Kind, ObjectId, ObjectKey
from ingress.model.cluster.secrets import ALL_KEYS, Needs
from ingress.model.cluster.state import ClusterState
from ingress.model.frozen import frozen
from ingress.model.stepwise import Stepwise
from ingress.translate.annotation_reading import needs_of_options
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.reader import Reader, Readers, RouteKind
from ingress.translate.readers.route_kinds import ROUTE_KINDS

_NONE: Final[frozenset[str]] = frozenset()

JUDGED_AT_ONCE: Final = 100
"""Objects that refer to one thing each whose needs are found out in one turn, or as many references of fewer objects."""
_STEP_COSTS: Final = 20
"""As many of these are found out in the time of a step of a reader: it has read annotations, or some dozens of names."""
_LOOKED_AT_ONCE: Final = 200
_LOOKS_COST: Final = 8
"""As many objects are looked at in the time in which one is judged."""


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
        self._needs: dict[ObjectId | None, dict[ObjectKey, frozenset[str]]] = {}
        self._uses: dict[ObjectKey, dict[str, int]] = {}
        # By the same: whether such an object is ours.
        self._verdicts: dict[_JudgedAs, bool] = {}
        # Those that wait to be judged; and the looks at all objects whether they came to be ours, or ceased to be, with others.
        self._waiting: dict[ObjectId | None, None] = {}
        self._looks: deque[tuple[set[_JudgedAs], Iterator[ObjectId]]] = deque()
        # Who is being judged, if that takes several calls.
        self._judged: tuple[ObjectId | None, Stepwise[None]] | None = None
        # Of one call: what it may still judge, and the keys of what it has to do with, as they were before it.
        self._left = 0
        self._before: dict[ObjectKey, frozenset[str]] = {}

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
        """Judge from now on; return what is needed, but for what ``judge_some`` finds later."""
        self._has_begun = True
        self._waiting = dict.fromkeys((None, *self._objects))
        return self.judge_some()

    def begin_at_once(self) -> Needs:
        """Judge from now on; return everything that is needed, however long that takes."""
        self.begin()
        while self.is_judging:
            self.judge_some()
        return {key: self.keys_of(key) for key in self._uses}

    @property
    def is_judging(self) -> bool:
        """Whether there is something to do for ``judge_some``."""
        return bool(self._judged is not None or self._waiting or self._looks)

    def judge_some(self) -> NeedChanges:
        """Judge some of those that wait for it; return what is different now."""
        self._begin_call()
        self._go_on()
        return self._end_call()

    def refer(self, options: TranslateOptions) -> NeedChanges:
        """Take what the operator refers to by *options* from now on; return what is different."""
        self._options = options
        if not self._has_begun:
            return NeedChanges({}, frozenset(), frozenset())
        self._begin_call()
        self._judge_first((None,))
        changes = self._end_call()
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
        if not self._has_begun:
            return NeedChanges({}, frozenset(), frozenset())
        if turned:
            self._judge_anew(turned)
        self._begin_call()
        self._judge_first(stale)
        if turned:
            self._go_on()
        return self._end_call()

    def _put(self, object_id: ObjectId, value: ClusterObject | None, reader: Reader) -> bool:
        """Keep *value*; return whether anything about its references may be different."""
        before = self._objects.get(object_id)
        if value is None or not self._readers.may_need(object_id[0], value, self.kind):
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

    def _judge_anew(self, kinds: Container[Kind]) -> None:
        """Judge the objects of *kinds* anew, one of those that are alike; look later at each of those that came to be ours, or ceased to be."""
        turned = set()
        for judged_as, alike in self._alike.items():
            if judged_as[0] in kinds:
                before = self._verdicts.pop(judged_as, None)
                is_ours = self._is_ours(judged_as[0], alike.one, self._readers[judged_as[0]])
                # Those that never were judged have come just now, all of them.
                if before is not None and before is not is_ours:
                    turned.add(judged_as)
        if not turned:
            return
        if len(self._looks) > 1:
            # The last one has not begun.
            turned |= self._looks.pop()[0]
        # What comes, or is another, between two steps is judged by itself.
        self._looks.append((turned, iter(tuple(self._objects))))
        if self._judged is not None and self._is_one_of(turned, self._judged[0]):
            # Or the rest of what it needed would still be asked for, as it was judged before.
            user, steps = self._judged
            steps.close()
            self._judged = user, self._judging(user)

    def _is_one_of(self, turned: Container[_JudgedAs], user: ObjectId | None) -> bool:
        """Whether *user* is there, and one of those that *turned*."""
        if user is None or (value := self._objects.get(user)) is None:
            return False
        return (user[0], self._readers[user[0]].class_of(value)) in turned

    def _begin_call(self) -> None:
        self._left = JUDGED_AT_ONCE
        self._before = {}

    def _end_call(self) -> NeedChanges:
        """Return what is different since the call began."""
        needed: dict[ObjectKey, frozenset[str]] = {}
        dropped, touched = set(), set()
        for secret, keys_before in self._before.items():
            keys = self.keys_of(secret)
            if not keys:
                if keys_before:
                    dropped.add(secret)
            elif keys != keys_before:
                needed[secret] = keys
            else:
                touched.add(secret)
        self._before = {}
        return NeedChanges(needed, dropped, touched)

    def _judge_first(self, users: Iterable[ObjectId | None]) -> None:
        """Judge *users* anew before all others, as far as there is time; who takes longer waits with the others."""
        for user in users:
            if self._judged is not None and self._judged[0] == user:
                self._judged[1].close()
                self._judged = None
            self._waiting.pop(user, None)
            if self._takes_too_long(self._judging(user)):
                self._waiting[user] = None

    def _go_on(self) -> None:
        """Judge who waits, as far as there is time."""
        while True:
            if self._judged is None:
                if not (self._waiting or self._looks) or self._left <= 0:
                    return
                if not self._waiting:
                    self._look()
                    continue
                user = next(iter(self._waiting))
                del self._waiting[user]
                self._judged = user, self._judging(user)
            if self._takes_too_long(self._judged[1]):
                return
            self._judged = None

    def _look(self) -> None:
        """Look at some objects whether they are to be judged anew."""
        turned, coming = self._looks[0]
        some = tuple(islice(coming, _LOOKED_AT_ONCE))
        for object_id in some:
            if self._is_one_of(turned, object_id):
                self._waiting[object_id] = None
        if len(some) < _LOOKED_AT_ONCE:
            self._looks.popleft()
        self._left -= len(some) // _LOOKS_COST

    def _takes_too_long(self, steps: Stepwise[None]) -> bool:
        """Take *steps*; return whether there is no time for all of them."""
        for _ in steps:
            return True
        return False

    def _judging(self, user: ObjectId | None) -> Stepwise[None]:
        """Find out what *user* needs now, and count what differs; a step ends where there is no time for more."""
        if self._left <= 0:
            yield
        self._left -= 1
        new = yield from self._needs_of(user)
        if not new and user not in self._needs:
            return
        # With what is counted it is the same at each moment, for this may end at any step.
        needs = self._needs.setdefault(user, {})
        for number, secret in enumerate(tuple(needs)):
            is_gone = secret not in new
            if is_gone or not number % _LOOKS_COST:
                if self._left <= 0:
                    yield
                self._left -= 1
            if is_gone:
                self._note(secret)
                self._count(secret, _NONE, needs.pop(secret))
        for number, (secret, keys) in enumerate(new.items()):
            # The first one is what an object costs that refers to nothing else.
            if number:
                if self._left <= 0:
                    yield
                self._left -= 1
            self._note(secret)
            self._count(secret, keys, needs.get(secret, _NONE))
            needs[secret] = keys
        if not needs:
            del self._needs[user]

    def _note(self, secret: ObjectKey) -> None:
        """Note what was needed of *secret* when the call began."""
        if secret not in self._before:
            self._before[secret] = self.keys_of(secret)

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

    def _needs_of(self, user: ObjectId | None) -> Stepwise[Needs]:
        if user is None:
            return {**needs_of_options(self._options, self.kind), **self._always}
        value = self._objects.get(user)
        if value is None or not self._is_ours(user[0], value, self._readers[user[0]]):
            return {}
        needing = self._readers.needing(user[0], value, self.kind)
        while True:
            try:
                next(needing)
            except StopIteration as end:
                needs: Needs = end.value
                return needs
            self._left -= _STEP_COSTS
            if self._left <= 0:
                yield

    def _is_ours(self, kind: Kind, value: ClusterObject, reader: Reader) -> bool:
        judged_as = (kind, reader.class_of(value))
        verdict = self._verdicts.get(judged_as)
        if verdict is None:
            verdict = self._readers.is_ours(kind, value, self._state)
            self._verdicts[judged_as] = verdict
        return verdict
