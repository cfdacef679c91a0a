"""Files of ``/proc`` and ``/sys`` below a directory of their own."""

from collections.abc import Mapping
from pathlib import Path

V2_MOUNT = "25 20 0:22 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate"
"""As systems without version 1 have it."""


def v1_mount(controllers: str, top: str = "/", place: str = "") -> str:
    """Return the line of ``mountinfo`` of a hierarchy of version 1."""
    place = place or f"/sys/fs/cgroup/{controllers}"
    return f"36 31 0:33 {top} {place} rw,nosuid shared:9 master:1 - cgroup cgroup rw,{controllers}"


def system(
    root: Path,
    files: Mapping[str, str | bytes],
    groups: str = "0::/\n",
    mounts: tuple[str, ...] = (V2_MOUNT,),
) -> Path:
    """Write *files* below ``sys/fs/cgroup`` of *root*, and which groups and mounts this process sees."""
    own = {"proc/self/cgroup": groups, "proc/self/mountinfo": "".join(f"{line}\n" for line in mounts)}
    placed = {f"sys/fs/cgroup/{name}": content for name, content in files.items()}
    for name, content in {**own, **placed}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root
