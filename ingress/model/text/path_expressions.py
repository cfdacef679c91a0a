"""Regular expressions that are paths, as nginx compares them (``location ~*``): byte by byte, in upper and lower case.

They are tenants' texts, and RE2 runs them (``ingress.model.text.expressions`` says why).  What looks around or back to a group is
refused, other than by the PCRE of nginx.

Each has a *size*, the steps of its program; looking through a path takes at most about four nanoseconds for each
of its bytes and each step.  A program that is not kept is made when it is needed, which may take a thousand times as long.  What a lookup may
cost by both is bounded in ``ingress.model.text.lookup_budget``.
"""

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Final

from ingress.model.frozen import frozen
from ingress.model.text.expressions import ExpressionRefused, making_of
from ingress.model.text.lookup_budget import MAX_WORK, capturing_of
from ingress.model.text.usual_paths import UsualPath, usual_path

MAX_CHARACTERS: Final = 4096
MAX_GROUPS: Final = 32
"""Each makes what is captured dearer."""
_MAX_REPEATED: Final = 2000
_MAX_REPETITIONS: Final = 1000
"""Making a program of them takes time by the square of their number."""
_MEMORY_BYTES: Final = 64 * 1024
"""For the program of a large expression and the states that it is in: 2,700 steps, a hundred times what usual ones take."""
_KEPT: Final = 4096
"""Programs that are fixed to the beginning, and such as capture: each expression has one or both."""
_KNOWN: Final = 1 << 14
"""Expressions that are not read again, also where their programs are not kept any more."""
_NO_NAMES: Final[frozenset[str]] = frozenset()
_MAX_SHOWN: Final = 80

_STEPS_OF_DOTS: Final = 2
"""Of a text without any sign but dots: it goes on in one way or ends, however long it is."""
_is_simple = re.compile(r"[A-Za-z0-9/_.~-]*").fullmatch
_COUNTS: Final = re.compile(r"\{([0-9]*)(?:,([0-9]*))?\}")
_REPETITIONS: Final = re.compile(r"(?<!\()[*+?]")
_MAX_WORD_CLASSES: Final = 500
_WORD_CLASSES: Final = re.compile(r"\\[dDsSwW]")
_CLASSES: Final = re.compile(r"\\[pP]")


@frozen
class PathExpression:
    """An expression that compiles; plain data, equal by its text."""

    text: str
    size: int = 0
    """Steps of its program; 0 for a text without any sign, which no program is needed for."""
    names: frozenset[str] = _NO_NAMES
    """Those of its groups."""
    capturing: int = 0
    """What it counts to take its groups out of a path, for each byte of that (``capturing_of``); 0 where it has none."""
    usual: UsualPath | None = None
    """What paths are compared with, where that is no program."""

    def takes(self, path: bytes) -> bool:
        """Whether *path* matches from its beginning, as nginx's ``~* "^EXPRESSION"`` does.

        So of alternatives outside of groups, only the first is fixed to the beginning.
        """
        if not self.size:
            return path[: len(self.text)].lower() == self.text.lower().encode()
        if self.usual is not None:
            return self.usual.groups(path) is not None
        return _found(_fixed(self.text).search, path) is not None

    @property
    def is_made(self) -> bool:
        """Whether its program is kept, or it needs none; else it is made when it is needed."""
        return not self.size or self.usual is not None or self.text in _programs

    def making(self) -> int:
        """Make its program, and return what that counts."""
        _fixed(self.text)
        return making_of(self.text, self.size)


class Capturing:
    """Takes groups of *expression* out of paths: those of *names*, which are numbers or names.

    As in a ``rewrite`` of nginx it is not fixed to the beginning.  A group that there is not has no value.
    """

    def __init__(self, expression: PathExpression, names: Iterable[str]) -> None:
        self._expression = expression
        self._search: Callable[[bytes], Any] | None = None
        self._groups: list[tuple[str, int]] = []
        self._usual = expression.usual
        if not expression.size:
            return
        compiled = _capturing(expression.text)
        self._search = compiled.search
        numbers = {name.decode(): number for name, number in compiled.groupindex.items()}
        numbers.update((str(number), number) for number in range(1, compiled.groups + 1))
        self._groups = [(name, numbers[name]) for name in names if name in numbers]

    def takes(self, path: bytes) -> bool:
        """Whether *path*, by which no route was looked for, is one of the expression's, and not too long to be looked through."""
        expression = self._expression
        return max(expression.size, expression.capturing) * len(path) <= MAX_WORK and expression.takes(path)

    def captured(self, path: bytes) -> dict[str, bytes] | None:
        """Return what the groups hold of *path*, those that took no part empty; None where it matches nowhere."""
        if self._search is None:
            return {}
        # What it takes from the beginning is what it finds first.
        usual = None if self._usual is None else self._usual.groups(path)
        if usual is not None:
            return {name: usual[number - 1] for name, number in self._groups}
        found = _found(self._search, path)
        if found is None:
            return None
        return {name: found[number] or b"" for name, number in self._groups}


def _found(search: Callable[[bytes], Any], path: bytes) -> Any:
    """Return what *search* finds in *path*; ``$`` is also before a line feed at the end, which is the end alone for RE2."""
    found = search(path)
    return search(path[:-1]) if found is None and path.endswith(b"\n") else found


@lru_cache(maxsize=_KNOWN)
def read_path_expression(text: str) -> PathExpression:
    """Read an expression; raises ``ExpressionRefused``.  Takes some microseconds for a usual one, at most about two milliseconds."""
    if len(text) > MAX_CHARACTERS:
        raise ExpressionRefused(f"is longer than {MAX_CHARACTERS} characters")
    if _is_simple(text):
        # As most paths are: the program is made when it is first needed.
        return PathExpression(text, _STEPS_OF_DOTS if "." in text else 0)
    if sum(max(map(int, (one or "0", other or "0"))) for one, other in _counts(text)) > _MAX_REPEATED:
        raise ExpressionRefused(f"repeats more than {_MAX_REPEATED} times")
    if len(_REPETITIONS.findall(text)) > _MAX_REPETITIONS:
        raise ExpressionRefused(f"has more than {_MAX_REPETITIONS} repetitions")
    if len(_WORD_CLASSES.findall(text)) > _MAX_WORD_CLASSES:
        raise ExpressionRefused(f"has more than {_MAX_WORD_CLASSES} classes of letters, digits or spaces")
    if _CLASSES.search(text):
        raise ExpressionRefused("has a class of Unicode's characters, where bytes are compared")
    # In this order: what begins with a sign of repetition means something behind the sign of the beginning alone.
    capturing = _capturing(text)
    if capturing.groups > MAX_GROUPS:
        raise ExpressionRefused(f"has more than {MAX_GROUPS} groups")
    names = frozenset(name.decode() for name in capturing.groupindex) or _NO_NAMES
    steps = capturing_of(capturing.programsize, capturing.groups)
    return PathExpression(text, max(_fixed(text).programsize, 1), names, steps, usual_path(text))


def _counts(text: str) -> list[tuple[str, str]]:
    return [(one[:9], other[:9]) for one, other in _COUNTS.findall(text)]


_programs: Final[OrderedDict[str, Any]] = OrderedDict()
"""Those that are fixed to the beginning, by the texts; what was used least lately goes first."""


def _fixed(text: str) -> Any:
    """Return the program of *text* that is fixed to the beginning."""
    found = _programs.get(text)
    if found is None:
        found = _compiled(text, False)
        if len(_programs) >= _KEPT:
            _programs.popitem(last=False)
        _programs[text] = found
    else:
        _programs.move_to_end(text)
    return found


@lru_cache(maxsize=_KEPT)
def _capturing(text: str) -> Any:
    """Return the program of *text* that is searched for in what it captures."""
    return _compiled(text, True)


def _compiled(text: str, captures: bool) -> Any:
    """Make the program of *text*: to be searched for in what it captures, or else fixed to the beginning."""
    try:
        octets = text.encode() if captures else b"^" + text.encode()
    except UnicodeEncodeError:
        raise ExpressionRefused("is no Unicode") from None
    # What fits into less is as fast there, and may take no more.
    for memory in (_MEMORY_BYTES // 2, _MEMORY_BYTES * 2 if captures else _MEMORY_BYTES):
        found, words = _compiled_within(octets, memory, captures)
        if found is not None:
            return found
    raise ExpressionRefused(f"is no regular expression that is run here: {words}")


def _compiled_within(octets: bytes, memory: int, captures: bool) -> tuple[Any, str]:
    """Return the program, or None and why there is none."""
    # Few clusters have any, and it takes longer to import than all the rest of this room.
    import re2

    options = re2.Options()
    options.max_mem = memory
    options.log_errors = False
    options.case_sensitive = False
    options.encoding = re2.Options.Encoding.LATIN1
    options.never_capture = not captures
    try:
        return re2.compile(octets, options), ""
    except re2.error as error:
        (reason,) = error.args
        shown = ascii(reason if isinstance(reason, bytes) else str(reason))
        return None, shown[:_MAX_SHOWN].lstrip("b").strip("'\"")
