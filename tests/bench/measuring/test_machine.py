"""What is told about the interpreter."""

from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from bench.measuring.machine import build_options, code, code_line, codes, codes_line, python, python_line

SHARED = (
    "'--enable-shared' '--prefix=/usr' '--with-system-ffi' '--enable-optimizations' '--with-lto' 'CFLAGS=-O2'"
)
HOME = "'--prefix=/home/somebody/python' '--with-openssl=/home/somebody/openssl' 'LDFLAGS=-L/home/somebody'"


class BuildTests(SynchronousTestCase):
    """Build options, from the arguments of ``configure``."""

    def test_optimized(self) -> None:
        """Profile-guided and link-time optimization are found."""
        found = build_options(SHARED)
        self.assertEqual(
            (found["pgo"], found["lto"], found["shared"], found["debug"]), (True, True, True, False)
        )

    def test_plain(self) -> None:
        """Without the switches they are not there, nor with a switch that says no."""
        self.assertEqual(
            [build_options("")[name] for name in ("pgo", "lto", "shared")], [False, False, False]
        )
        self.assertFalse(build_options("--with-lto=no")["lto"])
        self.assertTrue(build_options("--with-lto=thin")["lto"])

    def test_debian(self) -> None:
        """Debian's interpreter has both, and itself in its program, whatever ``configure`` was told."""
        found = build_options("'--enable-shared' '--with-dtrace'", is_debians=True)
        self.assertEqual((found["pgo"], found["lto"], found["shared"]), (True, True, False))
        line = python_line({**python(), "version": "3.11.2", "implementation": "CPython", "build": found})
        self.assertEqual(line, "CPython 3.11.2 of Debian, with PGO, with LTO, static libpython")

    def test_no_paths(self) -> None:
        """Nothing of the file system of the machine gets into the results."""
        self.assertEqual(build_options(HOME)["switches"], ["--with-openssl"])

    def test_line(self) -> None:
        """The line for people names what is missing, too."""
        found = {**python(), "version": "3.12.1", "implementation": "CPython", "build": build_options(SHARED)}
        self.assertEqual(python_line(found), "CPython 3.12.1, with PGO, with LTO, shared libpython")
        found["build"] = build_options("--with-pydebug")
        self.assertEqual(
            python_line(found), "CPython 3.12.1, without PGO, without LTO, static libpython, a debug build"
        )


class CodeTests(SynchronousTestCase):
    """Which modules are compiled."""

    def setUp(self) -> None:
        """Make a package of two rooms."""
        self.package = Path(self.mktemp(), "ingress")
        for name in ("http/heads.py", "http/chunked.py", "tap.py"):
            path = self.package / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("")

    def test_plain(self) -> None:
        """A package without shared objects is plain Python."""
        found = code(self.package)
        self.assertEqual(found, {"modules": 3, "compiled": []})
        self.assertEqual(code_line(found), "plain Python")

    def test_compiled(self) -> None:
        """A module whose shared object stands beside it is compiled, and its room is told; the library of the room is none."""
        for name in ("heads", "compiled__mypyc"):
            (self.package / "http" / f"{name}.cpython-311-x86_64-linux-gnu.so").write_text("")
        found = code(self.package)
        self.assertEqual(found, {"modules": 3, "compiled": ["ingress.http.heads"]})
        self.assertEqual(code_line(found), "1 of 3 modules compiled, of ingress.http")

    def test_codes(self) -> None:
        """Each of ours that was measured is told apart."""
        found = codes(["ours", "nginx", "ours-compiled"], self.package)
        self.assertEqual(found["ours-compiled"], {"modules": 3, "compiled": []})
        self.assertEqual(set(found), {"ours", "ours-compiled"})
        self.assertEqual(set(codes(["ours", "ours-compiled"], None)), {"ours"})
        line = codes_line({"ours": found["ours-compiled"]})
        self.assertEqual(line, "ours ran as plain Python")

    def test_installed(self) -> None:
        """Without a folder it is about the package that is installed."""
        self.assertGreater(code()["modules"], 100)
