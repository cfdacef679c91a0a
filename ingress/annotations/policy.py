"""What the operator lets authors of Ingresses ask for at all: ingress-nginx's three keys about that.

``annotations-risk-level`` says how much risk an annotation may have, ``annotation-value-word-blocklist`` which words may stand
in none, and ``allow-snippet-annotations`` whether there may be snippets.  Here snippets are data and values are never
pasted anywhere, so everything is let by default; who forbids something means it.
"""

from typing import Final

from ingress.annotations.contract.values import Risk, ValueRefused, quoted
from ingress.model.frozen import frozen

_RISKS: Final = tuple(Risk)
MOST_WORDS: Final = 256


@frozen
class AnnotationPolicy:
    """What may be asked for."""

    highest_risk: Risk = Risk.CRITICAL
    allows_snippets: bool = True
    blocked_words: tuple[str, ...] = ()

    def allows(self, name: str) -> bool:
        """Whether the annotation *name*, without prefix, may stand there whatever it says."""
        return self.allows_snippets or not name.endswith("-snippet")

    def refusal(self, risk: Risk, value: str) -> str:
        """Say why an annotation of this *risk* and *value* closes its Ingress; empty where it may be there."""
        if _RISKS.index(risk) > _RISKS.index(self.highest_risk):
            return (
                f"has the risk {risk.value}, and the operator allows {self.highest_risk.value} at most"
                " (annotations-risk-level)"
            )
        for word in self.blocked_words:
            if word in value:
                return f"holds {quoted(word)}, which the operator blocks (annotation-value-word-blocklist)"
        return ""


EVERYTHING: Final = AnnotationPolicy()


def parse_risk(text: str) -> Risk:
    """Read a risk by its name, in any case."""
    try:
        return Risk(text.strip().capitalize())
    except ValueError:
        raise ValueRefused(f"is none of {', '.join(risk.value for risk in Risk)}") from None


def parse_words(text: str) -> tuple[str, ...]:
    """Read words with commas between them."""
    words = tuple(dict.fromkeys(word for each in text.split(",") if (word := each.strip())))
    if len(words) > MOST_WORDS:
        raise ValueRefused(f"has more than {MOST_WORDS} words")
    return words
