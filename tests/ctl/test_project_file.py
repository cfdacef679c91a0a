"""The project file, as a file: where it is found, and what cannot be read of it."""

from contextlib import chdir
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from ingress.ctl.errors import Mistake
from ingress.ctl.project_file import NAME, ProjectFile, find_project_file
from tests.ctl.ctl_case import CtlCase, ingress


class FindTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.folder = Path(self.mktemp()).absolute()
        (self.folder / "below" / "deep").mkdir(parents=True)

    def write(self, content: str | bytes, name: str = NAME) -> None:
        """Put *content* into a file of the folder."""
        (self.folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())

    def test_the_nearest_above_is_read(self) -> None:
        """Of two, that which is deeper; its path is told from the current folder."""
        self.write("fail-on = 'note'")
        self.write("fail-on = 'warning'", f"below/{NAME}")
        found = find_project_file(str(self.folder / "below" / "deep"))
        self.assertEqual(found.tables, {"fail-on": "warning"})
        self.assertEqual((found.path, found.folder), (f"../{NAME}", str(self.folder / "below")))

    def test_one_that_is_asked_for_is_read_wherever_it_is(self) -> None:
        """And no other."""
        self.write("fail-on = 'note'")
        self.write("fail-on = 'warning'", "other.toml")
        self.assertEqual(find_project_file(str(self.folder), "other.toml").tables, {"fail-on": "warning"})
        self.assertRaises(Mistake, find_project_file, str(self.folder), "absent.toml")

    def test_what_cannot_be_read_is_a_line_with_its_name(self) -> None:
        """Not TOML, not UTF-8, or of megabytes."""
        for content, message in (
            ("fail-on = ", f"{NAME}: Invalid value (at "),
            (b"# \xff", f"{NAME}: it is not UTF-8, at byte 2"),
            (b"#" * 1_100_000, f"{NAME}: it is larger than 1 MiB"),
        ):
            self.write(content)
            with self.assertRaises(Mistake) as raised:
                find_project_file(str(self.folder))
            self.assertTrue(raised.exception.message.startswith(message), raised.exception.message)


class OptionTests(SynchronousTestCase):
    def texts(self, options: object, *given: str) -> tuple[str, ...]:
        """The texts of a table of options."""
        return ProjectFile("x.toml", "/", {"options": options}).option_texts(given)

    def test_values_are_written_as_on_the_command_line(self) -> None:
        """Texts, numbers, flags and lists."""
        self.assertEqual(
            self.texts(
                {"ingress-class": "own", "workers": 2, "strict": True, "not": False, "many": ["a", 1]}
            ),
            ("ingress-class=own", "workers=2", "strict", "many=a", "many=1"),
        )

    def test_the_command_line_beats_it(self) -> None:
        """An option that is given there is not taken from the file."""
        self.assertEqual(self.texts({"a": "1", "b": "2"}, "--a=3"), ("b=2",))

    def test_other_values_are_mistakes(self) -> None:
        """A table, a fraction, a list of lists."""
        values: tuple[object, ...] = ({"a": 1.5}, {"a": {}}, {"a": [[]]}, {"a": [True]}, [])
        for value in values:
            self.assertRaises(Mistake, self.texts, value)


class CommandTests(CtlCase):
    def test_every_command_that_takes_options_of_the_controller_goes_by_it(self) -> None:
        """What the file says is what ``-o`` would, unless no file is to be read."""
        path = self.manifest(
            ingress(nonsense="1").replace("ingressClassName: nginx", "ingressClassName: own")
        )
        self.manifest("[options]\ningress-class = 'own'", NAME)
        with chdir(self.folder):
            for command in ("lint", "migrate", "render --as=served"):
                name = Path(path).name
                by_file = self.run_command(*command.split(), name).stdout
                self.assertEqual(
                    by_file, self.run_command(*command.split(), "-o", "ingress-class=own", name).stdout
                )
                self.assertNotEqual(by_file, self.run_command(*command.split(), "--no-config", name).stdout)
