"""Where benchmarks lie: in the room of what they measure, called as their command of ``make`` is."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

import bench
from tests.import_statements import import_statements

REPOSITORY = Path(__file__).resolve().parents[2]
ROOMS = re.findall(r"^- ``(\w+)``: ", bench.__doc__ or "", re.MULTILINE)
"""From the lowest on, as the package itself says."""

_COMMAND = re.compile(r"^bench-([\w-]+):.*(?:\n\t.*)*?\n\t.* -m (bench[\w.]*)", re.MULTILINE)


def imports_upwards(rooms: list[str], sources: Iterable[tuple[str, str]]) -> Iterator[str]:
    """What is imported from a room that *rooms* have later, or from none of them, in words.

    *sources* are the room and the text of each module.
    """
    for room, source in sources:
        for node in import_statements(source):
            of = getattr(node, "module", None)
            for alias in node.names:
                first, _, rest = (f"{of}.{alias.name}" if of else alias.name).partition(".")
                there = rest.partition(".")[0]
                if first != "bench" or there == room:
                    continue
                if there not in rooms[: rooms.index(room)]:
                    yield f"{room} imports bench.{rest}"


class RoomTests(SynchronousTestCase):
    """The benchmarks as they lie there."""

    def test_rooms(self) -> None:
        """The package names each of its rooms, and tests lie in rooms of the same names."""
        lying = {path.parent.name for path in (REPOSITORY / "bench").glob("*/__init__.py")}
        self.assertEqual(sorted(ROOMS), sorted(lying))
        tested = {path.parent.name for path in (REPOSITORY / "tests" / "bench").glob("*/__init__.py")}
        self.assertLessEqual(tested, lying)

    def test_tests(self) -> None:
        """A test that is called as a module of the benchmarks lies in the folder of the same name."""
        folders: dict[str, set[Path]] = {}
        for path in (REPOSITORY / "bench").rglob("*.py"):
            folders.setdefault(path.stem, set()).add(path.parent.relative_to(REPOSITORY / "bench"))
        tests = REPOSITORY / "tests" / "bench"
        strays = [
            path.relative_to(tests).as_posix()
            for path in sorted(tests.rglob("test_*.py"))
            if path.parent.relative_to(tests)
            not in folders.get(path.stem.removeprefix("test_"), {path.parent.relative_to(tests)})
        ]
        self.assertEqual(strays, [])

    def test_order(self) -> None:
        """A room imports from those alone that the package names before it."""
        sources = (
            (path.relative_to(REPOSITORY / "bench").parts[0], path.read_text("utf-8"))
            for path in sorted((REPOSITORY / "bench").glob("*/**/*.py"))
        )
        self.assertEqual(list(imports_upwards(ROOMS, sources)), [])

    def test_upwards(self) -> None:
        """An import of a later room is found, and of the top, however it is written."""
        for source in (
            "from bench.b import c",
            "from bench import b",
            "import bench.b.c",
            "import bench.__main__",
        ):
            self.assertEqual(len(list(imports_upwards(["a", "b"], [("a", source)]))), 1, source)
        below = [("b", "from bench.a import c"), ("a", "from bench.a import c"), ("a", "import os")]
        self.assertEqual(list(imports_upwards(["a", "b"], below)), [])

    def test_commands(self) -> None:
        """``make bench-NAME`` runs the module or package that is called ``NAME``."""
        found = _COMMAND.findall((REPOSITORY / "Makefile").read_text("utf-8"))
        self.assertGreater(len(found), 20)
        otherwise = {
            name: module
            for name, module in found
            if module.rpartition(".")[2] != name.replace("-", "_") and name != "quick"
        }
        self.assertEqual(otherwise, {})
