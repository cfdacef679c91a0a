"""The documents name things that exist."""

import ast
import posixpath
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from click import Context
from twisted.trial.unittest import SkipTest, SynchronousTestCase

from ingress.ctl.main import commands
from ingress.options.help import ABOUT
from ingress.options.table import OPTIONS
from scripts.site.navigation import parts

REPOSITORY = Path(__file__).resolve().parent.parent
GLOSSARY = REPOSITORY / "docs" / "glossary.md"

# The first part of a path of this repository, in backticks.
FOLDERS = (
    "ingress",
    "twisted",
    "tests",
    "docs",
    "k8s",
    "examples",
    "scripts",
    "changelog.d",
    ".ci",
    "bench",
    "compiling",
    "conformance",
)
# Options of other programs that the documents name in running text.
FOREIGN_OPTIONS = {"--help", "--draft", "--set", "--take-ownership"}
FRAGMENT = re.compile(r"(?:\d+|\+[a-z0-9-]+)\.(?:feature|bugfix|doc|removal|misc)(?:\.\d+)?\.md")


def documents() -> Iterator[tuple[str, str]]:
    """Name and text of every document, the news fragments aside."""
    for pattern in ("*.md", "docs/**/*.md", "k8s/**/*.md", "examples/**/*.md"):
        for path in sorted(REPOSITORY.glob(pattern)):
            yield path.relative_to(REPOSITORY).as_posix(), path.read_text("utf-8")


def quoted(text: str) -> list[str]:
    """What stands between backticks in running text; blocks of code are left out."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))


def undefined(names: set[str]) -> set[str]:
    """Those of *names* that no class, function, argument, attribute and variable of the package has, as if all were public."""
    left = set(names)
    for path in (REPOSITORY / "ingress").rglob("*.py"):
        text = path.read_text("utf-8")
        # Most are found in a few modules, and what holds none of the others need not be looked through.
        if not any(name in text for name in left):
            continue
        for node in ast.walk(ast.parse(text)):
            match node:
                case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    left.discard(name.lstrip("_"))
                case ast.arg(arg=name) | ast.Attribute(attr=name) | ast.Name(id=name):
                    left.discard(name.lstrip("_"))
    return left


def ingressctl_options() -> set[str]:
    """The long options of all commands, without dashes."""
    root = Context(commands)
    found = {name: commands.get_command(root, name) for name in commands.list_commands(root)}
    return {
        spelling.removeprefix("--")
        for name, command in found.items()
        if command is not None
        for parameter in command.get_params(Context(command, info_name=name, parent=root))
        for spelling in (*parameter.opts, *parameter.secondary_opts)
        if spelling.startswith("--")
    }


def sections(text: str) -> set[str]:
    """The names by which a forge, and the site, link to the sections of a page."""
    headings = re.findall(r"^#{1,4} +(.+?) *$", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), re.M)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in plain}


class DocumentTests(SynchronousTestCase):
    """What the documents point to."""

    def test_make_help(self) -> None:
        """``make help`` lists every command of the Makefile, and ``CONTRIBUTING.md`` each but itself and the demo's."""
        make = shutil.which("make")
        if make is None:
            raise SkipTest("make is not installed")
        text = (REPOSITORY / "Makefile").read_text("utf-8")
        (line,) = re.findall(r"^\.PHONY:(.*)$", text, re.MULTILINE)
        told = subprocess.check_output([make, "-s", "-C", str(REPOSITORY), "help"], text=True)
        self.assertEqual(sorted(re.findall(r"^make (\S+) ", told, re.MULTILINE)), sorted(line.split()))
        page = (REPOSITORY / "CONTRIBUTING.md").read_text("utf-8")
        self.assertEqual({name for name in line.split() if f"`make {name}`" not in page}, {"help"})

    def test_links_lead_somewhere(self) -> None:
        """Relative links, and paths of this repository between backticks, exist."""
        for name, text in documents():
            here = (REPOSITORY / name).parent
            for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
                if "://" not in target:
                    self.assertTrue((here / target).exists(), f"{name}: link to {target}")
            for path in quoted(text):
                is_path = re.fullmatch(r"[\w.-]+(/[\w.-]+)*/?", path) and "/" in path
                if is_path and path.split("/")[0] in FOLDERS:
                    self.assertTrue((REPOSITORY / path).exists(), f"{name}: `{path}`")

    def test_modules_exist(self) -> None:
        """A module that is named between backticks is one, also where only the end of its path is written."""
        there = {
            path.relative_to(REPOSITORY).as_posix()
            for folder in FOLDERS
            for path in (REPOSITORY / folder).rglob("*.py")
        } | {path.name for path in REPOSITORY.glob("*.py")}
        gone = [
            f"{name}: `{module}`"
            for name, text in documents()
            for module in quoted(text)
            if re.fullmatch(r"[a-z0-9_]+(?:/[a-z0-9_]+)*\.py", module)
            and not any(f"/{path}".endswith(f"/{module}") for path in there)
        ]
        self.assertEqual(gone, [])

    def test_modules_that_are_run_exist(self) -> None:
        """What ``python -m`` is told to run, in whatever block, can be run."""
        run = [
            (name, module)
            for name, text in documents()
            for module in re.findall(r"python -m (\w+(?:\.\w+)*)", text)
            if (REPOSITORY / module.partition(".")[0]).is_dir()
        ]
        self.assertTrue(run)
        gone = [
            (name, module)
            for name, module in run
            if not any(
                (REPOSITORY / f"{module.replace('.', '/')}{end}").is_file() for end in (".py", "/__main__.py")
            )
        ]
        self.assertEqual(gone, [])

    def test_links_lead_to_sections(self) -> None:
        """What a link says behind ``#`` is a section of the page that it leads to."""
        pages = {name: sections(text) for name, text in documents()}
        dead = [
            f"{name}: {path}#{section}"
            for name, text in documents()
            for path, section in re.findall(r"\]\(([^)#:\s]*)#([^)\s]+)\)", text)
            if section
            not in pages.get(
                posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name, ()
            )
        ]
        self.assertEqual(dead, [])

    def test_every_page_is_in_the_navigation(self) -> None:
        """Every page is an entry of the lists in ``docs/README.md``, exactly once: the site has no other navigation."""
        pages = dict(documents())
        there = [
            posixpath.normpath(f"docs/{path}")
            for part in parts(pages.pop("docs/README.md"))
            for _, path in part.pages
        ]
        wanted = {*pages, "conformance/README.md"}
        self.assertEqual(sorted(wanted.difference(there)), [], "pages without an entry in docs/README.md")
        self.assertEqual(sorted(there), sorted(wanted))

    def test_commands_exist(self) -> None:
        """Every ``make`` command that is named is one."""
        makefile = (REPOSITORY / "Makefile").read_text("utf-8")
        targets = set(re.findall(r"^([a-z0-9-]+):", makefile, re.MULTILINE))
        named = [
            (name, target)
            for name, text in documents()
            for target in re.findall(r"(?:`|^    )make ([a-z0-9-]+)", text, re.MULTILINE)
        ]
        self.assertEqual([one for one in named if one[1] not in targets], [])
        self.assertTrue(named)

    def test_options_exist(self) -> None:
        """Every option that is named in running text is one of the controller, or of a command of ``ingressctl``."""
        known = {*OPTIONS, *ABOUT, *ingressctl_options()}
        named = [
            (name, option)
            for name, text in documents()
            for words in quoted(text)
            if words.startswith(("--", "twistd ingress", "ingress ", "ingressctl "))
            for option in re.findall(r"(?<!\S)--[a-z0-9-]+", words)
            if option not in FOREIGN_OPTIONS
        ]
        self.assertEqual([one for one in named if one[1].removeprefix("--") not in known], [])
        self.assertTrue(named)

    def test_fragments_are_collected(self) -> None:
        """A news fragment with another name than towncrier knows would be lost."""
        names = {path.name for path in (REPOSITORY / "changelog.d").iterdir()} - {"README.md"}
        self.assertEqual({name for name in names if not FRAGMENT.fullmatch(name)}, set())


class GlossaryTests(SynchronousTestCase):
    """The glossary and the code use the same words."""

    def test_it_binds(self) -> None:
        """Its first sentence says what it is for."""
        first = GLOSSARY.read_text("utf-8").splitlines()[2]
        self.assertEqual(first.split(".")[0], "These words bind code, logs, metrics, commits and documents")

    def test_names_exist(self) -> None:
        """Every identifier in the column "In code" is defined by the package."""
        columns = [
            line.split(" | ") for line in GLOSSARY.read_text("utf-8").splitlines() if line.startswith("| ")
        ]
        identifiers = {
            name
            for cells in columns
            if len(cells) >= 3
            for name in quoted(cells[2])
            if re.fullmatch(r"\w+", name)
        }
        self.assertGreater(len(identifiers), 30)
        self.assertEqual(undefined(identifiers), set())

    def test_each_word_once(self) -> None:
        """No word stands in two rows."""
        lines = GLOSSARY.read_text("utf-8").splitlines()
        cells = [line.split("|")[1] for line in lines if re.match(r"\| (?!Word)", line)]
        words = [word.strip() for cell in cells for word in cell.split(",")]
        self.assertEqual(sorted(words), sorted(set(words)))
