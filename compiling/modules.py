"""Which modules a wheel holds as machine code: what ``modules.txt`` says of the files that are there."""

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
LIST = Path(__file__).with_name("modules.txt")


def globs(text: str) -> list[str]:
    """Return the lines of *text* that are neither empty nor comments."""
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def chosen(lines: list[str], repository: Path) -> list[str]:
    """Return the paths below *repository* that *lines* come to, in order.  Raises ValueError for a line that has no effect."""
    found: set[str] = set()
    for line in lines:
        matched = {
            path.relative_to(repository).as_posix() for path in repository.glob(line.removeprefix("!"))
        }
        changed = found - matched if line.startswith("!") else found | matched
        if changed == found:
            raise ValueError(f"{LIST.name}: {line!r} changes nothing")
        found = changed
    return sorted(found)


def compiled_files() -> list[str]:
    """Return the paths of all modules that are compiled, from the repository."""
    return chosen(globs(LIST.read_text("utf-8")), REPOSITORY)


def by_room(files: list[str]) -> dict[str, list[str]]:
    """Return *files* by the package that they share a library with: the room, which is the folder below ``ingress``."""
    rooms: dict[str, list[str]] = {}
    for file in files:
        rooms.setdefault(".".join(file.split("/")[:2]), []).append(file)
    return rooms
