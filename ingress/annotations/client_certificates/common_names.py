"""Which common names of client certificates are let in: ``auth-tls-match-cn``.

As in ingress-nginx the value is a regular expression, but in three ways it means less here, so that nobody gets
in whom the expression would keep out.  The whole of ``CN=`` and the name is compared, so ``CN=shop`` does not
let ``shopkeeper`` in, nor whoever has ``CN=shop`` somewhere else in the subject.  A dot by itself is a dot; with
``*``, ``+``, ``?`` or a count it is any character.  And what could never be a common name is refused, rather than
letting nobody in without a word.
"""

import re
from typing import Final

from ingress.annotations.contract.values import ValueRefused
from ingress.model.frozen import frozen
from ingress.model.text.expressions import Expression, ExpressionRefused, read_expression

MAX_NAME_CHARACTERS: Final = 256
"""X.520 allows 64.  A longer name is not looked at, and gets nobody in."""

_PREFIX: Final = "CN="
_FORM: Final = "is not CN= and a name, as a regular expression"
_TOKEN = re.compile(
    r"(?P<escape>\\.)|(?P<set>\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\])|(?P<count>\{\d+(?:,\d*)?\})|.",
    re.DOTALL,
)
# What no expression describes by chance, and no certificate has.
_ANYBODY: Final = "\U0010fffdx\U0010fffd"


@frozen
class CommonNames:
    """The names that are let in; without *expression*, none is."""

    expression: Expression | None = None

    def __contains__(self, name: str) -> bool:
        return (
            self.expression is not None
            and len(name) <= MAX_NAME_CHARACTERS
            and self.expression.is_all_of(_PREFIX + name)
        )


NOBODY: Final = CommonNames()


def parse_common_names(text: str) -> CommonNames:
    """Read ``CN=...``; raises ``ValueRefused`` for what is no such expression."""
    if any(character < " " for character in text):
        raise ValueRefused(f"{_FORM}, but has a control character")
    try:
        read_expression(text)
        names = CommonNames(read_expression(_narrowed(text)))
    except ExpressionRefused as error:
        raise ValueRefused(str(error)) from None
    if "" in names and _ANYBODY not in names:
        raise ValueRefused("lets an empty name in")
    return names


def _narrowed(text: str) -> str:
    """Return the expression *text* with dots that are dots; raises ``ValueRefused`` for what can be no name."""
    written: list[str] = []
    depth = 0
    begins = True
    for token in _TOKEN.finditer(text):
        sign, rest = token[0], text[token.end() :]
        if begins and sign != "^" and not text.startswith(_PREFIX, token.start()):
            raise ValueRefused(_FORM)
        if sign == "^" and not begins:
            raise ValueRefused(f"{_FORM}: ^ stands before CN= and nowhere else")
        begins = begins and sign == "^"
        if sign == "(":
            depth += 1
        elif sign == ")":
            depth -= 1
        elif sign == "|" and not depth:
            begins = True
        elif sign == "$" and rest[:1] not in ("", "|", ")"):
            raise ValueRefused(f"{_FORM}: $ stands at the end of a name and nowhere else")
        elif sign == ",":
            raise ValueRefused(f"{_FORM}: a comma would begin something else than the name")
        elif sign == r"\Q":
            raise ValueRefused(f"{_FORM}: \\Q is not understood, write \\ before each sign")
        elif sign == "." and rest[:1] not in ("*", "+", "?", "{"):
            sign = r"\."
        written.append(sign)
    if begins:
        raise ValueRefused(_FORM)
    return "".join(written)
