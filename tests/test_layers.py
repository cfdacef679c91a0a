"""The architecture, as imports: each floor only knows the floors below it.

The floors stand in the tables of ``docs/architecture.md``, which are read here.  The
imports of every module are read from its syntax tree, those inside of functions too.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from tests.import_statements import docstring, import_statements

REPOSITORY = Path(__file__).resolve().parent.parent
PACKAGE = REPOSITORY / "ingress"

_ROW = re.compile(r"^\| (\d+) \| ([^|]*)", re.MULTILINE)
_DRAWN = re.compile(r"(?<![\w/.`-])[a-z][a-z0-9_]*(?:\.py|/)(?![\w/])")
_ROOM = re.compile(r"`(ingress/(?:\w+/)*\w+)(?:\.py|/)`")


def read_floors(text: str) -> dict[str, int]:
    """The floor of each room, by dotted name, as the tables of *text* have it."""
    return {
        room.replace("/", "."): int(floor)
        for floor, cell in _ROW.findall(text)
        for room in _ROOM.findall(cell)
    }


FLOORS = read_floors((REPOSITORY / "docs" / "architecture.md").read_text("utf-8"))

# What only some modules may import, and which.
RESERVED = {
    "twisted.internet.reactor": {"ingress.tap"},
    "twisted.web.proxy": {"ingress.proxy.dispatch.resource"},
    "kubernetes": {"ingress.cluster"},
    "prometheus_client": {"ingress.metrics", "ingress.admin"},
}

# Rooms whose functions have the same answer whenever and wherever they are asked.
PURE = (
    "model",
    "errors",
    "settings",
    "object_fields",
    "filters",
    "annotations",
    "filter_parts",
    "gateway_filters",
    "routing",
    "identity",
    "http",
    "http2",
    "fastcgi",
    "translate",
    "plain_data",
)
IMPURE_MODULES = (
    "twisted",
    "socket",
    "threading",
    "asyncio",
    "time",
    "random",
    "os",
    "subprocess",
    "yaml",
    "kubernetes",
)
# What text means is so whoever asks; in whole rooms that are pure nobody has to know that texts are YAML.
_READING_TEXT = frozenset({"yaml"})
# A clock that is given does not make an answer depend on where it was asked; a look at files does.
_SAYS_PURE = re.compile(r"(?:^|\s)Pure(?:[.:]|, but for the clock)")

MAX_LINES = 600
MANY_MODULES = 6
"""From so many on, nobody sees from a list of files how they go together."""
# Words that say that something is done, and not what.
EMPTY_WORDS = {"manager", "handler", "processor", "engine", "helper", "helpers", "util", "utils"}


def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(REPOSITORY).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def imports(source: str) -> tuple[tuple[int, str], ...]:
    """The line and the full dotted name of everything that *source* imports."""
    found = []
    for node in import_statements(source):
        of = f"{'.' * node.level}{node.module or ''}." if isinstance(node, ast.ImportFrom) else ""
        found += [(node.lineno, f"{of}{alias.name}") for alias in node.names]
    return tuple(sorted(found))


def is_within(name: str, module: str) -> bool:
    """Whether dotted *name* is *module* or something in it."""
    return name == module or name.startswith(f"{module}.")


@cache
def says_pure(source: str) -> bool:
    """Whether the docstring of a module with the text *source* says that it is pure."""
    return bool(_SAYS_PURE.search(docstring(source)))


def breaches(importer: str, source: str) -> Iterator[str]:
    """What *source*, the text of module *importer*, imports against the rules, in words."""
    own = importer.split(".")[1] if "." in importer else ""
    for line, name in imports(source):
        place = f"{importer}:{line} imports {name}"
        if name.startswith("."):
            yield f"{place}: relative"
        for reserved, allowed in RESERVED.items():
            if is_within(name, reserved) and not any(is_within(importer, module) for module in allowed):
                yield f"{place}: only for {', '.join(sorted(allowed))}"
        if any(is_within(name, module) for module in IMPURE_MODULES):
            if own in PURE:
                yield f"{place}: {own} is pure"
            elif name.partition(".")[0] not in _READING_TEXT and says_pure(source):
                yield f"{place}: {importer} is pure"
        if not name.startswith("ingress."):
            continue
        here, there = rooms_apart(importer, name)
        if here is None or there is None or here == there:
            continue
        if FLOORS[there] > FLOORS[here]:
            yield f"{place}: a floor above"
        elif FLOORS[there] == FLOORS[here]:
            yield f"{place}: a room of the same floor"


def rooms_apart(importer: str, imported: str) -> tuple[str | None, str | None]:
    """The two rooms, neighbors in one folder, that *importer* and *imported* are in; None for what is in no room."""
    here, there = importer.split("."), imported.split(".")
    depth = next((at for at, (one, other) in enumerate(zip(here, there, strict=False)) if one != other), None)
    if depth is None:
        return None, None
    one, other = ".".join(here[: depth + 1]), ".".join(there[: depth + 1])
    return one if one in FLOORS else None, other if other in FLOORS else None


def circles(graph: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """The nodes of *graph* that lead back to themselves, each circle sorted (Tarjan's strongly connected components)."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        number[node] = lowest[node] = len(number)
        path.append(node)
        for other in graph.get(node, ()):
            if other not in number:
                visit(other)
                lowest[node] = min(lowest[node], lowest[other])
            elif other in path:
                lowest[node] = min(lowest[node], number[other])
        if lowest[node] == number[node]:
            at = path.index(node)
            circle = sorted(path[at:])
            del path[at:]
            if len(circle) > 1 or node in graph.get(node, ()):
                found.append(circle)

    for node in graph:
        if node not in number:
            visit(node)
    return sorted(found)


def module_graph(sources: Mapping[str, str]) -> dict[str, set[str]]:
    """Which of the modules *sources*, by name, imports which other; for types alone counts, and inside of functions."""
    graph: dict[str, set[str]] = {}
    for importer, source in sources.items():
        graph[importer] = set()
        for _, name in imports(source):
            while name and name not in sources:
                name = name.rpartition(".")[0]
            # The package at the top holds a docstring alone.
            if "." in name and name != importer:
                graph[importer].add(name)
    return graph


def empty_names(module: str, source: str) -> Iterator[str]:
    """The names of *module*, and of what it defines, that hold an empty word."""
    names = [module.rpartition(".")[2]]
    # Most modules hold none in any spelling, and need not be looked through.
    may_hold = any(word in source.lower() for word in EMPTY_WORDS)
    for node in ast.walk(ast.parse(source)) if may_hold else ():
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names.append(node.name)
        elif isinstance(node, ast.arg):
            names.append(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.append(node.id)
    for name in names:
        if EMPTY_WORDS & {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)}:
            yield f"{module}: {name}"


class FloorTests(SynchronousTestCase):
    """The rules hold for the code as it is."""

    def test_every_room_stands_on_a_floor(self) -> None:
        """A new module or package has to be given a floor, wherever its neighbors have one."""
        with_floors = {room.rpartition(".")[0] for room in FLOORS}
        rooms = {name for name in modules() if name.rpartition(".")[0] in with_floors}
        self.assertEqual(rooms ^ set(FLOORS), set())

    def test_pure_rooms_exist(self) -> None:
        """Rooms that are called pure are there."""
        self.assertEqual({f"ingress.{room}" for room in PURE} - set(modules()), set())

    def test_rooms_that_are_called_pure(self) -> None:
        """What the tables call pure is held to it."""
        page = (REPOSITORY / "docs" / "architecture.md").read_text("utf-8")
        called = set(
            re.findall(r"^\| \d+ \| `ingress/(\w+)(?:\.py|/)`[^|]*\|.* Pure[,.:]", page, re.MULTILINE)
        )
        self.assertGreater(len(called), 10)
        self.assertEqual(called - set(PURE), set())

    def test_imports_lead_down(self) -> None:
        """No module imports from above, from a neighbor, or what is reserved for another."""
        found = [
            breach for name, path in modules().items() for breach in breaches(name, path.read_text("utf-8"))
        ]
        self.assertEqual(found, [])

    def test_no_circles(self) -> None:
        """No module imports another that leads back to it, be it for types alone."""
        sources = {name: path.read_text("utf-8") for name, path in modules().items()}
        self.assertEqual(circles(module_graph(sources)), [])

    def test_modules_stay_small(self) -> None:
        """A module of more than six hundred lines is two modules, be it one state machine or not."""
        lengths = {name: len(path.read_text("utf-8").splitlines()) for name, path in modules().items()}
        self.assertEqual({name: length for name, length in lengths.items() if length > MAX_LINES}, {})

    def test_modules_say_what_they_are_for(self) -> None:
        """Every module begins with a docstring."""
        silent = [name for name, path in modules().items() if not docstring(path.read_text("utf-8"))]
        self.assertEqual(silent, [])

    def test_names_say_something(self) -> None:
        """No name holds one of the words that would fit everything."""
        found = [
            name
            for module, path in modules().items()
            for name in empty_names(module, path.read_text("utf-8"))
        ]
        self.assertEqual(found, [])

    def test_packages_hold_no_code(self) -> None:
        """An ``__init__.py`` is a docstring and nothing else, and every folder with modules has one."""
        for folder in sorted({path.parent for path in modules().values()}):
            package = folder / "__init__.py"
            self.assertTrue(package.exists(), f"{package} is missing")
            self.assertEqual(len(ast.parse(package.read_text("utf-8")).body), 1, package)

    def test_drawings_show_what_is_there(self) -> None:
        """Each module and folder that the docstring of a package names is below that package."""
        missing = {}
        for name, path in modules().items():
            if path.name == "__init__.py":
                text = docstring(path.read_text("utf-8"))
                drawn = set(_DRAWN.findall(text))
                below = {one.name for one in path.parent.rglob("*")}
                missing[name] = {one for one in drawn if one.removesuffix("/") not in below}
        self.assertEqual({name: found for name, found in missing.items() if found}, {})

    def test_drawings_show_all(self) -> None:
        """A package of many modules says what each is: in its docstring, or in rows of the tables."""
        unsaid = {}
        for name, path in modules().items():
            if path.name == "__init__.py":
                said = set(re.findall(r"\w+", docstring(path.read_text("utf-8"))))
                below = {one.stem for one in path.parent.glob("*.py")} - {"__init__"}
                if len(below) >= MANY_MODULES:
                    unsaid[name] = {one for one in below - said if f"{name}.{one}" not in FLOORS}
        missing = {name: left for name, left in unsaid.items() if left}
        self.assertEqual(missing, {}, "modules that the docstring of their package does not name")


class BreachTests(SynchronousTestCase):
    """The rules find what they are for."""

    def assert_breach(self, importer: str, source: str, reason: str) -> None:
        """Exactly one breach is found, and it ends with *reason*."""
        found = list(breaches(importer, source))
        self.assertEqual(len(found), 1, found)
        self.assertTrue(found[0].endswith(reason), found)

    def test_upward(self) -> None:
        """A floor above may not be imported, not even inside of a function."""
        source = "def late():\n    from ingress.proxy.upstream.pool import UpstreamPool\n"
        self.assert_breach("ingress.routing.table", source, ": a floor above")

    def test_sideways(self) -> None:
        """A neighbor on the same floor may not be imported, whichever way it is written."""
        for source in ("import ingress.proxy.upstream.pool", "from ingress import proxy"):
            self.assert_breach("ingress.cluster.store", source, ": a room of the same floor")

    def test_downward(self) -> None:
        """Floors below and one's own room are free."""
        source = (
            "from ingress.model.cluster.objects import ObjectKey\nfrom ingress.cluster.kinds import KINDS\n"
        )
        self.assertEqual(list(breaches("ingress.cluster.store", source)), [])

    def test_in_every_block(self) -> None:
        """An import is found in whichever block it stands, and told with its line."""
        source = """\
try:
    import a
except OSError:
    with b:
        import c
else:
    async def late():
        for _ in d:
            import e
        else:
            import f
finally:
    match g:
        case 1:
            import h
class I:
    while True:
        if j: import k
        elif l: from m import n
        else: x = lambda: 1 if o else 2
"""
        self.assertEqual(
            imports(source), ((2, "a"), (5, "c"), (9, "e"), (11, "f"), (15, "h"), (18, "k"), (19, "m.n"))
        )

    def test_global_reactor(self) -> None:
        """The global reactor is found in both of its spellings."""
        for source in ("from twisted.internet import reactor", "import twisted.internet.reactor"):
            self.assert_breach("ingress.service", source, ": only for ingress.tap")
            self.assertEqual(list(breaches("ingress.tap", source)), [])

    def test_circle(self) -> None:
        """A circle is found, also if one of its imports is for types alone."""
        sources = {
            "ingress.a.one": "from ingress.a.two import Two",
            "ingress.a.two": "def late():\n    import ingress.a.three",
            "ingress.a.three": "if TYPE_CHECKING:\n    from ingress.a.one import One",
            "ingress.a.four": "from ingress.a.one import One",
        }
        self.assertEqual(
            circles(module_graph(sources)), [["ingress.a.one", "ingress.a.three", "ingress.a.two"]]
        )

    def test_impure(self) -> None:
        """A pure room asks neither the clock nor the network."""
        self.assert_breach(
            "ingress.translate.readers.ingress.rules", "from time import time", ": translate is pure"
        )
        self.assert_breach("ingress.http.body", "import socket", ": http is pure")
        self.assertEqual(list(breaches("ingress.status.elector", "import twisted")), [])

    def test_docstring(self) -> None:
        """It is what stands first, behind comments, and nothing that stands later."""
        for source, said in (
            ("", ""),
            ("x = 1", ""),
            ("# a\n\n'b' 'c'\n", "bc"),
            ('"""a\n\n    b\n"""\nx = 1\n', "a\n\nb"),
            ("x = 'a'\n'b'\n", ""),
        ):
            self.assertEqual(docstring(source), said)

    def test_says_pure(self) -> None:
        """A module that says of itself that it is pure is held to it, and may read YAML."""
        for promise in (
            "The rules.  Pure.",
            "The rules.\n\nPure: who asks says the time.",
            "The rules.  Pure, but for the clock.",
        ):
            source = f'"""{promise}"""\nimport time, yaml'
            self.assert_breach("ingress.status.election", source, ": ingress.status.election is pure")
        for promise in ("The rules.  Pure, but for a look at files.", "The rules of the Pure Land."):
            self.assertEqual(list(breaches("ingress.status.election", f'"""{promise}"""\nimport os')), [])

    def test_empty_words(self) -> None:
        """Empty words are found in all spellings of a name, and not within longer words."""
        for source in (
            "class RouteManager: ...",
            "def make_handler(): ...",
            "def f(engine): ...",
            "my_utils = 1",
        ):
            self.assertEqual(len(list(empty_names("ingress.tap", source))), 1, source)
        self.assertEqual(list(empty_names("ingress.tap", "managers_address = utilization = 1")), [])

    def test_relative(self) -> None:
        """Relative imports hide which floor they lead to."""
        self.assert_breach("ingress.proxy.upstream.pool", "from . import exchange", ": relative")
