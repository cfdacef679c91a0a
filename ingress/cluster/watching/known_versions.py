"""What one reflector has handed over: each object's key and resource version.  Pure.

The index turns a list into changes: an object whose resource version is known needs no
mention, one that the list did not name is gone.  Its invariant: ``end_list`` is the only way
to a deletion that no event told of, and it is called for a complete list only, so a list that
broke off deletes nothing.  A version says which content an object has as long as the API server does not go back.
"""

from typing import Final

from ingress.model.cluster.objects import ObjectKey

_MOST_DIGITS: Final = 18
"""A whole number of so many takes half of the memory that its text does."""
_NO_VERSION: Final = -1
"""What no resource version comes to."""


class KnownVersions:
    """The objects of one kind and scope, as far as they were handed over."""

    def __init__(self) -> None:
        self._versions: dict[ObjectKey, int | str] = {}
        self._listed: set[ObjectKey] | None = None

    def __len__(self) -> int:
        return len(self._versions)

    def begin_list(self) -> None:
        """Begin a list from nothing; a list that was begun before is forgotten."""
        self._listed = set()

    def distrust(self) -> None:
        """Take each object for news when it is named next, whatever its version: the same may stand for other content by then."""
        self._versions = dict.fromkeys(self._versions, _NO_VERSION)

    def present(self, key: ObjectKey, resource_version: str) -> bool:
        """Note that the object exists; return whether this version of it is news."""
        if self._listed is not None:
            self._listed.add(key)
        version = _packed(resource_version)
        if self._versions.get(key) == version:
            return False
        self._versions[key] = version
        return True

    def gone(self, key: ObjectKey) -> bool:
        """Note that the object was deleted; return whether that is news."""
        if self._listed is not None:
            self._listed.discard(key)
        return self._versions.pop(key, None) is not None

    def end_list(self) -> tuple[ObjectKey, ...]:
        """End a complete list; return, and forget, the objects that it did not name."""
        assert self._listed is not None, "a list ends that did not begin"
        missing = tuple(key for key in self._versions if key not in self._listed)
        for key in missing:
            del self._versions[key]
        self._listed = None
        return missing


def _packed(version: str) -> int | str:
    """Return *version* in little memory; only what is spelled alike comes to the same, for versions may be any text."""
    if len(version) <= _MOST_DIGITS and version.isdecimal():
        number = int(version)
        if str(number) == version:
            return number
    return version
