"""Regular expressions of tenants, looked for anywhere in a text, with what their groups captured.

They are RE2's, as those of ``ingress.model.text.expressions`` are, and run on bytes, as nginx's are.  A search takes time in
proportion to the length of the text and to the size of the program that the expression became: some 5 ns for each byte and
step at worst, and 20 ns for those of them that groups are captured from, which RE2 does in a slower way from a bound on.  So a long text is given to
small programs only (``MAX_COST``), and groups are captured from no long part of it (``MAX_CAPTURED``): no search takes above some five milliseconds.
"""

from functools import lru_cache
from typing import Any, Final

from ingress.model.frozen import frozen
from ingress.model.text.expressions import MAX_EXPRESSION_CHARACTERS, ExpressionRefused, program_of

MAX_COST: Final = 400_000
"""Bytes of a text times steps of a program."""
MAX_CAPTURED: Final = (1 << 18) - (1 << 12)
"""Those where groups are captured: RE2 remembers which step has been at which byte, as long as that takes 32 KiB; else it takes four times as long, and longer by each group."""
_MAX_FOUND: Final = MAX_CAPTURED // 2
"""Those of what was found before, for which the text was looked through once already."""
_KEPT: Final = 4096


class TooLong(Exception):  # noqa: N818 - it is a verdict on a text, no failure
    """The text is too long to be searched by this expression."""


@frozen
class Search:
    """An expression that compiles; equal by its text, and plain data."""

    text: str
    ignores_case: bool = False

    def cost(self, subject: bytes) -> int:
        """Return what a search of *subject* counts, in bytes times steps."""
        return len(subject) * int(_compiled(self.text, self.ignores_case).programsize)

    def groups(self, subject: bytes) -> dict[str, bytes] | None:
        """Return what *subject* has for each group, by number and by name; None where it has nothing of the expression.

        Raises ``TooLong``.
        """
        compiled = _compiled(self.text, self.ignores_case)
        cost = len(subject) * compiled.programsize
        if cost > MAX_COST:
            raise TooLong
        search = compiled.search if cost <= MAX_CAPTURED or not compiled.groups else self._search_twice
        found = search(subject)
        if found is None and subject.endswith(b"\n"):
            # In nginx ``$`` is also before a line feed at the end.
            found = search(subject[:-1])
        if found is None:
            return None
        captured = {str(at): value or b"" for at, value in enumerate(found.groups(), 1)}
        for name, at in compiled.groupindex.items():
            captured[name.decode() if isinstance(name, bytes) else name] = captured[str(at)]
        return captured

    def _search_twice(self, subject: bytes) -> Any:
        """Look for where the expression is without its groups, and then for what they have there: most texts have a word of a list, or none.

        Raises ``TooLong``.
        """
        place = _compiled(self.text, self.ignores_case, never_capture=True).search(subject)
        if place is None:
            return None
        begin, end = place.span()
        compiled = _compiled(self.text, self.ignores_case)
        if (end - begin) * compiled.programsize > _MAX_FOUND:
            raise TooLong
        return compiled.search(subject, begin, end)

    @property
    def names(self) -> frozenset[str]:
        """The names that ``groups`` has values for."""
        compiled = _compiled(self.text, self.ignores_case)
        numbers = {str(at) for at in range(1, compiled.groups + 1)}
        named = {name.decode() if isinstance(name, bytes) else name for name in compiled.groupindex}
        return frozenset(numbers | named)


def read_search(text: str, *, ignores_case: bool = False) -> Search:
    """Read an expression; raises ``ExpressionRefused``."""
    if len(text) > MAX_EXPRESSION_CHARACTERS:
        raise ExpressionRefused(f"is longer than {MAX_EXPRESSION_CHARACTERS} characters")
    _compiled(text, ignores_case)
    return Search(text, ignores_case)


@lru_cache(maxsize=_KEPT)
def _compiled(text: str, ignores_case: bool, never_capture: bool = False) -> Any:
    return program_of(text, is_for_bytes=True, case_sensitive=not ignores_case, never_capture=never_capture)
