"""What only plain Python lets a test do."""

from __future__ import annotations

from twisted.trial.unittest import SkipTest

from ingress.process.version import running_code

_EXCHANGED = "compiled functions call each other directly, and none of them can be exchanged"


def need_plain_code(why: str = _EXCHANGED) -> None:
    """Skip a test where code is compiled: mostly one that exchanges methods of classes, or functions of modules."""
    if running_code() == "compiled":
        raise SkipTest(why)
