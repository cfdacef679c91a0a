"""Which files a look at the disk finds, and by what names they are told."""

import errno
import os
import subprocess
import sys

from ingress.cluster.manifests.manifest_listing import Listing, display_name, unusable_path
from ingress.cluster.manifests.manifest_scan import (
    scan,
)
from ingress.model.cluster.objects import Kind, ObjectKey
from tests.cluster.manifests.disk_case import PREFIX, DiskTestCase, service, text_of


class ListingTests(DiskTestCase):
    """Which files are manifests."""

    def listed(self) -> list[str]:
        """The files below the directory, in order."""
        listing = Listing()
        listing.add(self.root)
        return [os.path.relpath(path, self.root) for path in listing.signatures]

    def test_names(self) -> None:
        """Manifests go by their endings; hidden files and editors' backups are passed over."""
        for name in (
            "b.yaml",
            "a.YML",
            "c.json",
            "d.yaml~",
            ".e.yaml",
            "#f.yaml#",
            ".#g.yaml",
            "h.yaml.swp",
            "i.tpl",
        ):
            self.write(name, "")
        self.write(".git/j.yaml", "")
        self.write("..data/k.yaml", "")
        self.assertEqual(self.listed(), ["a.YML", "b.yaml", "c.json"])

    def test_order(self) -> None:
        """Files and directories stand in one order by name."""
        for name in ("c.yaml", "b/z.yaml", "b/a/y.yaml", "a.yaml"):
            self.write(name, "")
        self.assertEqual(self.listed(), ["a.yaml", "b/a/y.yaml", "b/z.yaml", "c.yaml"])

    def test_link_that_leads_nowhere(self) -> None:
        """It is told with what it leads to, until it leads to something; hidden ones are passed over."""
        os.symlink("none.yaml", self.path("c.yaml"))
        os.symlink("..nowhere", self.path(".hidden.yaml"))
        (found,) = scan([self.root], None, PREFIX).path_problems.items()
        path, problem = found
        self.assertEqual(path, self.path("c.yaml"))
        self.assertEqual(problem.message, "cannot be read: it is a link to none.yaml, which does not exist")
        self.write("none.yaml", "")
        self.assertEqual(scan([self.root], None, PREFIX).path_problems, {})

    def test_links(self) -> None:
        """Links are followed; circles and links that lead nowhere end."""
        self.write("a/a.yaml", "")
        os.symlink("..", self.path("a/up"))
        os.symlink(self.root, self.path("b"))
        os.symlink("none.yaml", self.path("c.yaml"))
        self.assertEqual(self.listed(), ["a/a.yaml"])
        other = self.mktemp()
        os.mkdir(other)
        with open(os.path.join(other, "d.yaml"), "w"):
            pass
        os.symlink(os.path.abspath(other), self.path("d"))
        self.assertEqual(self.listed(), ["a/a.yaml", "d/d.yaml"])

    def test_depth(self) -> None:
        """Directories too deep are told of."""
        self.write("/".join(["d"] * 40 + ["a.yaml"]), "")
        listing = Listing()
        listing.add(self.root)
        self.assertEqual(listing.signatures, {})
        self.assertEqual(
            [problem.message for problem in listing.problems.values()], ["lies too deep in directories"]
        )

    def test_unlistable(self) -> None:
        """What a directory held that cannot be listed just now stays in force."""
        self.write("sub/a.yaml", text_of("a"))
        self.look()
        listdir = os.listdir

        def fail(path: str) -> list[str]:
            if path == self.path("sub"):
                raise PermissionError(errno.EACCES, "Permission denied")
            return listdir(path)

        self.patch(os, "listdir", fail)
        self.assertEqual(set(self.look()), {(Kind.MANIFEST, ObjectKey("", self.path("sub")))})
        self.assertEqual(self.problems(self.path("sub")), ["cannot be read: Permission denied"])

    def test_hidden_by_fault(self) -> None:
        """A path that loops is told of, and what lay below it is kept."""
        path = self.write("a.yaml", text_of("a"))
        self.look()
        os.remove(path)
        os.symlink("a.yaml", path)
        self.look()
        self.assertEqual(self.ports(), {service("a"): 80})
        self.assertEqual(self.problems(path), ["cannot be read: Too many levels of symbolic links"])

    def test_shown_names(self) -> None:
        """A name of any bytes can be shown."""
        self.assertEqual(display_name("/a/b.yaml"), "/a/b.yaml")
        for name in (os.fsdecode(b"/a/\xff.yaml"), "/a/\n.yaml"):
            self.assertTrue(display_name(name).isprintable())

    def test_names_shown_where_the_locale_knows_no_such_letters(self) -> None:
        """Where names of files are of another encoding than UTF-8, what is shown can be shown again."""
        code = (
            "import os, sys\n"
            "from ingress.cluster.manifests.manifest_listing import display_name\n"
            "shown = display_name(os.fsdecode(b'na\\xc3\\xafve\\xff.yaml'))\n"
            "print(sys.getfilesystemencoding(), ascii(shown), shown == display_name(shown))\n"
        )
        variables = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
        ran = subprocess.run(
            [sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=False
        )
        self.assertEqual((ran.stderr, ran.stdout), ("", "ascii 'na\\xefve\\ufffd.yaml' True\n"))

    def test_unusable_paths(self) -> None:
        """What is neither a file nor a directory is named as it was written."""
        path = self.write("a.yaml", "")
        os.mkfifo(self.path("pipe"))
        self.assertIsNone(unusable_path(("a.yaml", "."), (path, self.root)))
        for written, found, message in (
            ("none", self.path("none"), "none: No such file or directory"),
            ("pipe", self.path("pipe"), "pipe: neither a file nor a directory"),
            ("a.yaml/b", path + "/b", "a.yaml/b: Not a directory"),
            ("", self.root, "names no path"),
        ):
            self.assertEqual(unusable_path((written,), (found,)), message)
        # The rest of the sentence is Python's, and differs between its versions.
        self.assertRegex(unusable_path(("a\0",), (self.path("a\0"),)) or "", r"^'a\\x00': .*embedded null")
