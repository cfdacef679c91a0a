"""Numbers of things and lists of names, as sentences for people have them.  Pure."""

from collections.abc import Sequence


def plural_of(word: str) -> str:
    """Return *word* for several: ``Ingresses``, ``Services``, ``Gateways``, ``NetworkPolicies``."""
    if word.endswith("y") and word[-2:-1] not in "aeou":
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith("s") else f"{word}s"


def number_of(number: int, one: str, many: str = "") -> str:
    """Return *number* with what there is of it, *one* or *many*, which is the plural of *one* unless it is said."""
    return f"{number:,} {one if number == 1 else many or plural_of(one)}"


def first_of(names: Sequence[str], most: int, what: str = "") -> str:
    """Return *names* as a list in a sentence, of more than *most* the first with how many more there are, of *what*."""
    return some_of(names[:most], len(names), what)


def some_of(names: Sequence[str], count: int, what: str = "") -> str:
    """Return *names* as a list in a sentence, with how many more of *count* there are, of *what*."""
    more = count - len(names)
    return ", ".join(names) + (f" and {more:,} more{what and f' {what}'}" if more > 0 else "")
