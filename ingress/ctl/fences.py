"""Text between fences of Markdown, which nothing in it can end (CommonMark 0.31, section 4.5).  Pure."""

import re
from typing import Final

_RUN: Final = re.compile("`+")
_LEAST: Final = 3


def longest_run(text: str) -> int:
    """Return how many backquotes stand in a row in *text*, at the most."""
    return max((len(run) for run in _RUN.findall(text)), default=0)


def fenced(text: str, language: str) -> str:
    """Return *text* between two fences that are longer than any in it, without a line break at the end."""
    fence = "`" * max(_LEAST, longest_run(text) + 1)
    return f"{fence}{language}\n{text}\n{fence}"
