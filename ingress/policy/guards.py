"""Annotations that keep requests out, while this controller does not honor them yet.

An Ingress that asks for a password or an address range must not be served to everybody
because its controller cannot ask for them: its routes answer 503 until the guard is honored
or the annotation removed.
"""

from typing import Final

from attrs import frozen

from ingress.model.policy import Reply, RequestFacts

GUARDS: Final = frozenset(
    {
        "allowlist-source-range",
        "auth-secret",
        "auth-type",
        "auth-url",
        "denylist-source-range",
        "whitelist-source-range",
    }
)
_EVERYBODY: Final = frozenset({"0.0.0.0/0", "::/0"})
_REPLY: Final = Reply(503, ((b"Content-Type", b"text/plain; charset=utf-8"),), b"503 Service Unavailable\n")


def keeps_requests_out(name: str, value: str) -> bool:
    """Whether the annotation *name*, without its prefix, guards anything with *value*.

    An empty value guards nothing, nor does an allowed range that everybody is in.
    """
    if name not in GUARDS or not value.strip():
        return False
    if name == "denylist-source-range":
        return True
    return not any(member.strip() in _EVERYBODY for member in value.split(","))


@frozen
class GuardMissing:
    """Answers 503: the guard that the Ingress asks for is not there."""

    def judge(self, request: RequestFacts) -> Reply | None:
        """Let nothing pass."""
        return _REPLY
