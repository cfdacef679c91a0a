"""Where tests lie: in ``tests/`` below the path that the thing has in ``ingress/``, so that who knows the one finds the other."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from tests.import_statements import import_statements
from tests.test_layers import REPOSITORY, modules

# Folders with tests of what is no room of the package, or of several rooms at once.
OF_OTHER_THINGS = frozenset(
    {
        "bench",
        "chart",
        "compiling",
        "conformance",
        "corpus",
        "end_to_end",
        "examples",
        "fakes",
        "fuzz",
        "http2/conformance",
        "monitoring",
        "page",
        "proxy/sockets",
    }
)
# Tests of how one room uses a module of another, which has tests of its own where it lies.
OF_A_USE = {
    "http2/test_work.py": "ingress.http.work",
    "proxy/exchange/test_custom_errors.py": "ingress.annotations.answers.custom_errors",
    "proxy/exchange/test_mirrors.py": "ingress.annotations.requests.mirrors",
    "proxy/exchange/test_tracing.py": "ingress.annotations.observability.tracing",
}


def is_of_other_things(test: str) -> bool:
    """Whether *test*, a path below ``tests/``, lies in a folder that mirrors no room."""
    return any(test.startswith(f"{folder}/") for folder in OF_OTHER_THINGS)


def imported(source: str) -> Iterator[str]:
    """The dotted names that *source* imports, each name of a ``from`` by itself and its module."""
    for node in import_statements(source):
        of = getattr(node, "module", None)
        if of:
            yield of
        for alias in node.names:
            yield f"{of}.{alias.name}" if of else alias.name


def strays(test: str, source: str, names: Iterable[str]) -> Iterator[str]:
    """What is wrong with the place of *test*, a path below ``tests/`` with the text *source*, in words; *names* are those of all modules."""
    if is_of_other_things(test):
        return
    names = set(names)
    folder = ".".join(("ingress", *Path(test).parts[:-1]))
    if folder not in names:
        yield f"{test}: there is no {folder}"
    name = Path(test).stem.removeprefix("test_")
    if f"{folder}.{name}" in names:
        # Most are of a module of their room, and need not be looked through.
        return
    # Values have no rooms: whoever makes some may have tests that are called as these are.
    named = {
        one
        for one in imported(source)
        if one in names and one.rpartition(".")[2] == name and not one.startswith("ingress.model.")
    }
    if named and folder not in named and OF_A_USE.get(test) not in named:
        yield f"{test}: is of {', '.join(sorted(named))}"


class PlaceTests(SynchronousTestCase):
    """The rule holds for all tests."""

    def test_each_lies_where_its_module_does(self) -> None:
        """Folders are those of rooms, and a test that is called as a module it imports lies in the folder of that."""
        names = modules()
        tests = REPOSITORY / "tests"
        found = [
            stray
            for path in sorted(tests.rglob("test_*.py"))
            for stray in strays(path.relative_to(tests).as_posix(), path.read_text("utf-8"), names)
        ]
        self.assertEqual(found, [])

    def test_exceptions_are_needed(self) -> None:
        """Each exception is of a test, or a folder, that is there."""
        tests = REPOSITORY / "tests"
        self.assertEqual([one for one in (*OF_OTHER_THINGS, *OF_A_USE) if not (tests / one).exists()], [])


class StrayTests(SynchronousTestCase):
    """The rule finds what it is for."""

    NAMES = ("ingress", "ingress.a", "ingress.a.one", "ingress.b", "ingress.model", "ingress.model.one")

    def test_no_such_room(self) -> None:
        """A folder that mirrors nothing is found."""
        self.assertEqual(
            list(strays("c/test_one.py", "", self.NAMES)), ["c/test_one.py: there is no ingress.c"]
        )

    def test_another_room(self) -> None:
        """A test of a module that lies elsewhere is found, however it imports it; its own folder is fine."""
        for source in ("from ingress.a.one import One", "import ingress.a.one", "from ingress.a import one"):
            self.assertEqual(
                list(strays("b/test_one.py", source, self.NAMES)), ["b/test_one.py: is of ingress.a.one"]
            )
            self.assertEqual(list(strays("a/test_one.py", source, self.NAMES)), [])

    def test_what_may_be_anywhere(self) -> None:
        """What is called otherwise than all that it imports, or as values are, lies in any room."""
        for source in ("from ingress.a.two import Two", "from ingress.model.one import One"):
            self.assertEqual(list(strays("b/test_one.py", source, self.NAMES)), [])
