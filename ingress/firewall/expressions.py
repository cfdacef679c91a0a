"""The expressions in rules as they are written for the library, which takes wrong ones without a word: they match nothing, or end it.  Pure."""

import re
from collections.abc import Iterator
from typing import Final

_LINE: Final = re.compile(
    r"(?P<name>SecRule|SecRuleUpdateTarget\w+|SecAuditLogRelevantStatus) (?P<words>.*)", re.ASCII
)
_WORD: Final = re.compile(r'"((?:[^"\\]++|\\.)*+)"|(\S+)')
_OF_VARIABLES: Final = re.compile(r"(?<!XML):'?/(.*?)/'?(?=\s*(?:[|,]|\Z))", re.IGNORECASE)
_OPERATOR: Final = re.compile(r"[\s!]*(?:@\s*([A-Za-z0-9_]*)\s*)?")
_OF_EXPRESSIONS: Final = frozenset(("", "rx", "verifycc", "verifycpf", "verifyssn", "verifysvnr"))


def expressions_of(text: str) -> Iterator[str]:
    """Yield the expressions of rules, one a line as they are written anew; but for those that variables make at each request."""
    for line in text.split("\n"):
        found = _LINE.match(line)
        if found is None:
            continue
        words = [quoted or plain for quoted, plain in _WORD.findall(found["words"])]
        if found["name"] == "SecAuditLogRelevantStatus":
            yield from words[:1]
        elif found["name"] == "SecRule":
            yield from _OF_VARIABLES.findall(words[0])
            yield from _of_operator(words[1])
        else:
            yield from _OF_VARIABLES.findall(words[-1])


def _of_operator(word: str) -> Iterator[str]:
    found = _OPERATOR.match(word)
    assert found is not None
    expression = word[found.end() :]
    if (found[1] or "").lower() in _OF_EXPRESSIONS and "%{" not in expression:
        yield expression
