"""What the control groups of Linux leave to this process: memory, processor time, tasks.

A container has its limits from them, and so has a unit of systemd.  Groups are nested, and each on the way up bounds
all below it; so what counts is the group that leaves least, which need not be the process's own.  There are two versions of the
interface, which a system may have beside each other, each resource in one of them.

Only what can be seen is known: a container may be shown its own group alone.  What is missing, may not be read,
sets no limit, or makes no sense counts as no limit.  No file is kept open, and limits may change while the process runs
(Kubernetes resizes Pods in place), so who needs the present state asks again.

Source of the rules: the kernel's ``Documentation/admin-guide/cgroup-v2.rst`` and ``cgroup-v1/``, and cgroups(7).
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

from attrs import frozen

SYSTEM: Final = Path("/")

_CONTROLLERS: Final = ("memory", "cpu", "pids")
_MOST_BYTES: Final = 4 << 20
"""A node with thousands of mounts lists them in a megabyte."""
_PIECE_BYTES: Final = 1 << 14
_MOST_DIGITS: Final = 19
_NO_LIMIT: Final = 1 << 60
"""Version 1 says so with the largest number of pages that it can count."""
_ESCAPE: Final = re.compile(r"\\([0-7]{3})")
_UPWARDS: Final = re.compile(r"(?:/\.\.)+")


@frozen
class Groups:
    """The directories of the groups that this process is in, for each resource from its own group upwards."""

    memory: tuple[Path, ...] = ()
    cpu: tuple[Path, ...] = ()
    pids: tuple[Path, ...] = ()


@frozen
class Cap:
    """The limit of a group, and how much of it is used, by whomever; 0 where nobody says."""

    limit: int
    used: int

    @property
    def left(self) -> int:
        """How much more there may be; 0 where the limit has been lowered below what is used."""
        return max(0, self.limit - self.used)


# Which groups


def own_groups(root: Path = SYSTEM) -> Groups:
    """Return the groups of this process, as ``/proc/self`` below *root* has them.

    A process is not moved to another group while it runs, as a rule; so asking once is enough.
    """
    paths = _paths(_read(root / "proc/self/cgroup") or "")
    found: dict[str, dict[Path, None]] = {controller: {} for controller in _CONTROLLERS}
    for line in (_read(root / "proc/self/mountinfo") or "").splitlines():
        mounted = _mount(line)
        if mounted is None:
            continue
        controllers, top, place = mounted
        for controller in controllers or (one for one in _CONTROLLERS if one not in paths):
            path = paths.get(controller if controllers else "")
            if path is not None:
                found[controller].update(dict.fromkeys(_levels(root, place, top, path)))
    return Groups(*(tuple(found[controller]) for controller in _CONTROLLERS))


def _paths(text: str) -> dict[str, str]:
    """Return the path of the process's group in each hierarchy, by controller; by "" that of version 2."""
    paths: dict[str, str] = {}
    for line in text.splitlines():
        number, _, rest = line.partition(":")
        controllers, colon, path = rest.partition(":")
        if not colon or not path.startswith("/"):
            continue
        if number == "0" and not controllers:
            paths[""] = path
        paths.update(dict.fromkeys((each for each in controllers.split(",") if each in _CONTROLLERS), path))
    return paths


def _mount(line: str) -> tuple[Sequence[str], str, str] | None:
    """Return which controllers a line of ``mountinfo`` mounts, which group is its top, and where; None for other mounts.

    Version 2 has no controllers there: it has all that version 1 has not.
    """
    place, dash, about = line.partition(" - ")
    fields, kinds = place.split(" "), about.split(" ")
    if not dash or len(fields) < 5 or len(kinds) < 3 or not kinds[0].startswith("cgroup"):
        return None
    top, where = (_ESCAPE.sub(lambda found: chr(int(found[1], 8)), field) for field in fields[3:5])
    if not where.startswith("/"):
        return None
    options = kinds[2].split(",") if kinds[0] == "cgroup" else []
    known = [each for each in _CONTROLLERS if each in options]
    return None if kinds[0] == "cgroup" and not known else (known, top, where)


def _levels(root: Path, place: str, top: str, path: str) -> Iterator[Path]:
    """Yield the directories of the group *path* and those above, where the group *top* is mounted at *place*."""
    highest = root / place.lstrip("/")
    if _UPWARDS.fullmatch(top):
        # Mounted outside of the namespace that paths are told in: somewhere above all of them.
        yield highest
        return
    above, names = top.strip("/").split("/"), path.strip("/").split("/")
    above, names = [each for each in above if each], [each for each in names if each]
    if ".." in names or names[: len(above)] != above:
        # That mount shows groups that this process is not in.
        return
    below = names[len(above) :]
    for count in range(len(below), -1, -1):
        yield highest.joinpath(*below[:count])


# What they say


def memory_cap(groups: Groups) -> Cap | None:
    """Return the cap of memory in bytes of the group that leaves least; None without any limit.

    Files in the cache do not count as used, since they make room before anything fails.  ``memory.high`` is a limit, too: a
    group above it is stopped until memory has been found elsewhere.
    """
    return _tightest(_memory_caps(groups.memory))


def memory_limit(groups: Groups) -> int | None:
    """Return the lowest limit of memory in bytes, whoever uses how much; None without any."""
    return min((cap.limit for cap in _memory_caps(groups.memory)), default=None)


def _memory_caps(directories: Sequence[Path]) -> Iterator[Cap]:
    for directory in directories:
        limits = [
            _number(directory / name) for name in ("memory.max", "memory.high", "memory.limit_in_bytes")
        ]
        is_own = directory == directories[0]
        if not is_own and limits == [None] * len(limits):
            # To read the statistics has the kernel add up those of all groups below.
            continue
        statistics = _statistics(directory / "memory.stat")
        # With the limits of groups above, be they shown or not.
        hierarchical = statistics.get("hierarchical_memory_limit")
        if is_own and hierarchical is not None and hierarchical < _NO_LIMIT:
            limits.append(hierarchical)
        used = _number(directory / "memory.current")
        if used is None:
            used = _number(directory / "memory.usage_in_bytes")
        cache = sum(
            statistics.get(f"total_{name}", statistics.get(name, 0))
            for name in ("inactive_file", "active_file")
        )
        yield from _caps(limits, used, cache)


def task_cap(groups: Groups) -> Cap | None:
    """Return the cap of tasks, which are processes and threads together, of the group that leaves fewest."""
    return _tightest(
        cap
        for directory in groups.pids
        for cap in _caps([_number(directory / "pids.max")], _number(directory / "pids.current"), 0)
    )


def cpu_quota(groups: Groups) -> float | None:
    """Return how many processors' time the groups may use, such as 1.5; None without any limit."""
    quotas = []
    for directory in groups.cpu:
        quota, _, period = (_read(directory / "cpu.max") or "").strip().partition(" ")
        quotas.append((_parsed(quota), _parsed(period)))
        quotas.append((_number(directory / "cpu.cfs_quota_us"), _number(directory / "cpu.cfs_period_us")))
    return min((quota / period for quota, period in quotas if quota and period), default=None)


def machine_memory(root: Path = SYSTEM) -> int | None:
    """Return how many bytes of memory the machine has, as ``/proc/meminfo`` below *root* says; None where nobody does."""
    for line in (_read(root / "proc/meminfo") or "").splitlines():
        name, _, value = line.partition(":")
        number, _, unit = value.strip().partition(" ")
        if name == "MemTotal" and unit == "kB" and (kib := _parsed(number)) is not None:
            return kib << 10
    return None


def _caps(limits: Iterable[int | None], used: int | None, reclaimable: int) -> Iterator[Cap]:
    for limit in sorted(each for each in limits if each is not None)[:1]:
        yield Cap(limit, max(0, (used or 0) - reclaimable))


def _tightest(caps: Iterable[Cap]) -> Cap | None:
    return min(caps, key=lambda cap: cap.limit - cap.used, default=None)


# Files


def _read(path: Path) -> str | None:
    try:
        with open(path, "rb", buffering=0) as file:
            pieces = list(islice(iter(partial(file.read, _PIECE_BYTES), b""), _MOST_BYTES // _PIECE_BYTES))
    except (OSError, ValueError):
        return None
    return os.fsdecode(b"".join(pieces))


def _statistics(path: Path) -> dict[str, int]:
    """Return the numbers of a file whose lines are a name and a number each."""
    found: dict[str, int] = {}
    for line in (_read(path) or "").splitlines():
        name, _, value = line.partition(" ")
        if (number := _parsed(value)) is not None:
            found[name] = number
    return found


def _number(path: Path) -> int | None:
    """Return the number that *path* has; None where it has none, or sets no limit."""
    number = _parsed((_read(path) or "").strip())
    return None if number is None or number >= _NO_LIMIT else number


def _parsed(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else None
