"""Differences that somebody has looked at and accepts, out of a file:

[[accepted]]
reason = "the old controller redirected by 301"
host = "*.example.com"        # all that follow may be left out; host and path are patterns with * and ?
path = "/old*"
aspect = "status"             # status, Location, backend, certificate, answer, or the name of a field
theirs = "301"
ours = "308"
"""

from fnmatch import fnmatchcase
from typing import Any, Final

from ingress.ctl.comparing.differences import Difference
from ingress.ctl.comparing.samples import Sample
from ingress.ctl.errors import Mistake
from ingress.ctl.toml_files import read_toml
from ingress.model.frozen import frozen

_KEYS: Final = ("reason", "host", "path", "aspect", "theirs", "ours")


@frozen
class Accepted:
    """One entry; what it does not say is a pattern that takes everything."""

    reason: str
    host: str = "*"
    path: str = "*"
    aspect: str = "*"
    theirs: str = "*"
    ours: str = "*"

    def takes(self, sample: Sample, difference: Difference) -> bool:
        """Whether *difference* is accepted."""
        return (
            fnmatchcase(sample.name, self.host.lower())
            and fnmatchcase(sample.path, self.path)
            and fnmatchcase(difference.aspect.lower(), self.aspect.lower())
            and fnmatchcase(difference.theirs, self.theirs)
            and fnmatchcase(difference.ours, self.ours)
        )

    def __str__(self) -> str:
        said = [f"{name} {value}" for name in _KEYS[1:] if (value := getattr(self, name)) != "*"]
        return f"{self.reason} ({', '.join(said) or 'everything'})"


def read_accepted(path: str) -> tuple[Accepted, ...]:
    """Read the file *path*; raises ``Mistake``."""
    content = read_toml(path, f"--accept {path}")
    entries = content.get("accepted", [])
    if content.keys() - {"accepted"} or not isinstance(entries, list):
        raise Mistake(f"--accept {path}: write entries, each below [[accepted]]")
    return tuple(_entry(path, number, entry) for number, entry in enumerate(entries, 1))


def _entry(path: str, number: int, entry: Any) -> Accepted:
    where = f"--accept {path}: entry {number}"
    if not isinstance(entry, dict) or not all(isinstance(value, str) for value in entry.values()):
        raise Mistake(f"{where}: the values are texts")
    if unknown := sorted(entry.keys() - set(_KEYS)):
        raise Mistake(f"{where}: there is no {unknown[0]!r}; it may say {', '.join(_KEYS)}")
    if not entry.get("reason"):
        raise Mistake(f"{where}: it has to say a reason")
    return Accepted(**entry)
