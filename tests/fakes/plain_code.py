"""What only plain Python lets a test do."""

from __future__ import annotations

from twisted.trial.unittest import SkipTest

from ingress.process.version import running_code


def need_plain_code() -> None:
    """Skip a test that exchanges methods of classes, or functions of modules, which compiled code calls directly."""
    if running_code() == "compiled":
        raise SkipTest("compiled functions call each other directly, and none of them can be exchanged")
