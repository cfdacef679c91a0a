"""Which Secrets are needed now, kept up to date change by change.  Pure.

A Secret is needed when the operator refers to it, or an Ingress that is ours does.  Whether an
Ingress is ours depends on IngressClasses, too, so nothing is judged before all of both kinds
were seen (``begin``): what another controller's Ingress refers to must not even be read.
"""

from collections.abc import Iterable, Set

from attrs import frozen

from ingress.model.objects import Batch, Ingress, IngressClass, Kind, ObjectKey
from ingress.model.secrets import SecretNeeds
from ingress.model.state import ClusterState
from ingress.translate.classes import CLASS_ANNOTATION, judge_class
from ingress.translate.options import TranslateOptions
from ingress.translate.references import needs_of_options, secret_needs


@frozen
class NeedChanges:
    """What is different: *needed* anew or with other keys, *dropped*, or *touched* alone.

    Touched are those needed as before, of which an Ingress that refers to them changed.
    """

    needed: SecretNeeds
    dropped: Set[ObjectKey]
    touched: Set[ObjectKey]


class SecretReferences:
    """Follows Ingresses and IngressClasses."""

    def __init__(self, options: TranslateOptions) -> None:
        self._options = options
        self._has_begun = False
        self._classes: dict[str, IngressClass] = {}
        # The Ingresses that refer to any Secret, ours or not.
        self._ingresses: dict[ObjectKey, Ingress] = {}
        # What each needs that is ours, and the same by Secret; the operator has the key None.
        self._needs: dict[ObjectKey | None, SecretNeeds] = {}
        self._users: dict[ObjectKey, dict[ObjectKey | None, frozenset[str]]] = {}
        # By the two ways to name a class: whether such an Ingress is ours.
        self._verdicts: dict[tuple[str | None, str | None], bool] = {}

    def __len__(self) -> int:
        """How many Secrets are needed."""
        return len(self._users)

    def keys_of(self, secret: ObjectKey) -> frozenset[str]:
        """The keys that are needed of *secret*; empty when nobody refers to it."""
        return frozenset().union(*self._users.get(secret, {}).values())

    def needed(self) -> tuple[ObjectKey, ...]:
        """All Secrets that are needed."""
        return tuple(self._users)

    def begin(self) -> NeedChanges:
        """Judge from now on; return everything that is needed."""
        self._has_begun = True
        return self._judge([None, *self._ingresses])

    def changed(self, batch: Batch) -> NeedChanges:
        """Take *batch*; return what is different now."""
        stale: dict[ObjectKey | None, None] = {}
        classes_changed = False
        for (kind, key), projection in batch.items():
            value = projection.value if projection is not None else None
            if kind is Kind.INGRESS:
                assert value is None or isinstance(value, Ingress)
                if self._put(key, value):
                    stale[key] = None
            elif kind is Kind.INGRESS_CLASS:
                assert value is None or isinstance(value, IngressClass)
                self._put_class(key.name, value)
                classes_changed = True
        if classes_changed and self._has_begun:
            stale.update(dict.fromkeys(self._reclassed()))
        if not (stale and self._has_begun):
            return NeedChanges({}, frozenset(), frozenset())
        return self._judge(stale)

    def _put(self, key: ObjectKey, ingress: Ingress | None) -> bool:
        """Keep *ingress*; return whether anything about its references may be different."""
        before = self._ingresses.get(key)
        if ingress is None or not secret_needs(ingress, self._options):
            return self._ingresses.pop(key, None) is not None
        self._ingresses[key] = ingress
        return before != ingress

    def _put_class(self, name: str, ingress_class: IngressClass | None) -> None:
        if ingress_class is None:
            self._classes.pop(name, None)
        else:
            self._classes[name] = ingress_class

    def _reclassed(self) -> list[ObjectKey]:
        """Judge all anew; return the Ingresses that came to be ours, or ceased to be."""
        before, self._verdicts = self._verdicts, {}
        return [
            key
            for key, ingress in self._ingresses.items()
            if before.get(_class_names(ingress)) != self._is_ours(ingress)
        ]

    def _judge(self, users: Iterable[ObjectKey | None]) -> NeedChanges:
        """Find out anew what *users* need."""
        before: dict[ObjectKey, frozenset[str]] = {}
        for user in users:
            old = self._needs.pop(user, {})
            new = self._needs_of(user)
            for secret in {*old, *new}:
                before.setdefault(secret, self.keys_of(secret))
            for secret in old:
                del self._users[secret][user]
            for secret, keys in new.items():
                self._users.setdefault(secret, {})[user] = keys
            if new:
                self._needs[user] = new
        needed: dict[ObjectKey, frozenset[str]] = {}
        dropped, touched = set(), set()
        for secret, keys_before in before.items():
            keys = self.keys_of(secret)
            if not keys:
                self._users.pop(secret, None)
                if keys_before:
                    dropped.add(secret)
            elif keys != keys_before:
                needed[secret] = keys
            else:
                touched.add(secret)
        return NeedChanges(needed, dropped, touched)

    def _needs_of(self, user: ObjectKey | None) -> SecretNeeds:
        if user is None:
            return needs_of_options(self._options)
        ingress = self._ingresses.get(user)
        return secret_needs(ingress, self._options) if ingress is not None and self._is_ours(ingress) else {}

    def _is_ours(self, ingress: Ingress) -> bool:
        names = _class_names(ingress)
        verdict = self._verdicts.get(names)
        if verdict is None:
            state = ClusterState(ingress_classes=self._classes)
            verdict = self._verdicts[names] = judge_class(ingress, state, self._options).is_ours
        return verdict


def _class_names(ingress: Ingress) -> tuple[str | None, str | None]:
    return ingress.class_name, ingress.annotations.get(CLASS_ANNOTATION)
