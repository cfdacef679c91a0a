"""Regular expressions of tenants, run so that no text and no expression takes long.

They are RE2's: the time is in proportion to the length of the text, whatever the expression, and to the size
of the program that it is made into, which is bounded here.  What needs going back and forth (references to a
group, looking ahead or behind) has no meaning there and is refused.

Source: https://github.com/google/re2/wiki/Syntax.
"""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

from ingress.model.frozen import frozen

MAX_EXPRESSION_CHARACTERS: Final = 512
_MEMORY_BYTES: Final = 64 * 1024
"""For the program of one expression and the states that it is in: some 2,700 steps, ten times what a long one takes."""
_KEPT: Final = 4096
_MAKING: Final = 4096
_MAKING_OF_STEP: Final = 256
_MAKING_OF_CHARACTER: Final = 32


def making_of(text: str, size: int) -> int:
    """Return what it counts to make the program of *text*, which has *size* steps, in the unit of ``ingress.model.text.lookup_budget``."""
    return _MAKING + _MAKING_OF_STEP * size + _MAKING_OF_CHARACTER * len(text)


class ExpressionRefused(Exception):  # noqa: N818 - it is a verdict on a value, no failure
    """This is no expression that is run here; the message says why, as what follows the name of the value."""


@frozen
class Expression:
    """An expression that compiles; equal by its text, and plain data."""

    text: str

    def is_all_of(self, subject: str) -> bool:
        """Whether *subject* is, from its beginning to its end, what the expression describes.

        It takes some microseconds for a usual one, and for the worst 14 ms for each KiB of *subject*, whose
        length the caller bounds.
        """
        matched = _compiled(self.text).fullmatch(subject.encode("utf-8", "surrogatepass"))
        return matched is not None

    def is_in(self, subject: bytes) -> bool:
        """Whether the expression describes any part of *subject*; it takes as long as ``is_all_of``."""
        return _compiled(self.text).search(subject) is not None

    @property
    def size(self) -> int:
        """The steps of its program: comparing takes at most about four nanoseconds for each of them and each byte."""
        return max(int(_compiled(self.text).programsize), 1)

    @property
    def is_made(self) -> bool:
        """Whether its program is kept; else it is made when it is needed, and this takes up to some milliseconds."""
        return (self.text, False) in _programs

    def making(self) -> int:
        """Make its program, and return what that counts."""
        return making_of(self.text, self.size)

    def captures_in(self, subject: bytes) -> Mapping[str, bytes] | None:
        """Return what the groups of the first match anywhere in *subject* captured, by number and by name.

        None for no match; a group that took no part is empty.  It takes as long as ``is_all_of``, some times over.
        Only for what was read as one that captures.
        """
        matched = _compiled(self.text, captures=True).search(subject)
        if matched is None:
            return None
        found = {str(number): value or b"" for number, value in enumerate(matched.groups(), 1)}
        return found | {name: value or b"" for name, value in matched.groupdict().items()}


def read_expression(text: str, *, captures: bool = False) -> Expression:
    """Read an expression, one that *captures* or one that does not; raises ``ExpressionRefused``.

    The program of one that captures is larger, and may be too large where the other is not.
    """
    if len(text) > MAX_EXPRESSION_CHARACTERS:
        raise ExpressionRefused(f"is longer than {MAX_EXPRESSION_CHARACTERS} characters")
    _compiled(text)
    if captures:
        _compiled(text, captures=True)
    return Expression(text)


def program_of(text: str, *, is_for_bytes: bool = False, **options_chosen: bool) -> Any:
    """Return the program that RE2 makes of *text*, to be run on characters or on bytes; raises ``ExpressionRefused``."""
    # Few clusters have any, and it takes longer to import than all the rest of this room.
    import re2

    options = re2.Options()
    options.max_mem = _MEMORY_BYTES
    options.log_errors = False
    if is_for_bytes:
        options.encoding = re2.Options.Encoding.LATIN1
    for name, value in options_chosen.items():
        setattr(options, name, value)
    try:
        return re2.compile(text.encode() if is_for_bytes else text, options)
    except UnicodeEncodeError:
        raise ExpressionRefused("is no Unicode") from None
    except re2.error as error:
        (reason,) = error.args
        words = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise ExpressionRefused(f"is no regular expression that is run here: {words}") from None


_programs: Final[OrderedDict[tuple[str, bool], Any]] = OrderedDict()
"""By the texts, and whether they capture; what was used least lately goes first."""


def _compiled(text: str, captures: bool = False) -> Any:
    key = text, captures
    found = _programs.get(key)
    if found is None:
        found = program_of(text, never_capture=not captures, dot_nl=True)
        if len(_programs) >= _KEPT:
            _programs.popitem(last=False)
        _programs[key] = found
    else:
        _programs.move_to_end(key)
    return found
