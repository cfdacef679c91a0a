"""Units of systemd, as far as those of ``examples/systemd/`` need to be read."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path

from tests.fakes.processes import ROOT

DIRECTORY = ROOT / "examples" / "systemd"

_TIMES = {"": 1.0, "s": 1.0, "min": 60.0}


class Unit:
    """One unit: its settings by name, each with all of its values, in order."""

    def __init__(self, path: Path) -> None:
        self.settings: dict[str, list[str]] = {}
        text = re.sub(r"\\\n\s*", "", path.read_text("utf-8"))
        for line in text.splitlines():
            if line and not line.startswith(("#", "[")):
                name, _, value = line.partition("=")
                self.settings.setdefault(name, []).append(value)

    def one(self, name: str) -> str:
        """Return the only value of a setting."""
        (value,) = self.settings[name]
        return value

    def seconds(self, name: str) -> float:
        """Return the only value of a setting that is a time."""
        number, unit = re.fullmatch(r"(\d+)(\w*)", self.one(name)).groups()  # type: ignore[union-attr]
        return int(number) * _TIMES[unit]

    def command(self, name: str, variables: Mapping[str, str]) -> list[str]:
        """Return the words of a command; a variable that is a word of its own becomes as many as it has, or none."""
        words: list[str] = []
        for word in shlex.split(self.one(name)):
            words.extend(variables.get(word[1:], "").split() if word.startswith("$") else (word,))
        return words


SERVICE = "txingress.service"
SOCKETS = ("txingress-http.socket", "txingress-https.socket")
