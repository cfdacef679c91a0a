"""Histories of edits on disk, and what each look at the disk makes of them."""

import errno
import os
import tracemalloc
from io import BytesIO
from typing import Any

from attrs import evolve

from ingress.cluster.manifests import manifest_scan
from ingress.cluster.manifests.manifest_scan import (
    MAX_FILE_BYTES,
    MAX_RESTLESS_SCANS,
    read_at_most,
    scan,
)
from ingress.model.cluster.objects import Batch, Kind, ObjectKey
from ingress.model.cluster.problems import Reason
from tests.cluster.manifests.disk_case import PREFIX, DiskTestCase, service, text_of


class ChangeTests(DiskTestCase):
    """Edits and what becomes of them."""

    def test_first_look(self) -> None:
        """The first look reads everything at once."""
        self.write("a.yaml", text_of("a"))
        self.write("sub/b.yml", text_of("b"))
        self.write("c.json", "{}")
        self.write("d.txt", text_of("d"))
        self.assertEqual(
            set(self.look_once()),
            {service("a"), service("b"), (Kind.MANIFEST, ObjectKey("", self.path("c.json")))},
        )

    def test_not_wanted(self) -> None:
        """A look that nobody wants any more reads no further file."""
        self.write("a.yaml", text_of("a"))
        self.write("b.yaml", text_of("b"))
        answers = [False, True]
        found = scan(self.paths, None, PREFIX, (), lambda: answers.pop())
        self.assertEqual(set(found.objects), {service("a")})

    def test_nothing_changes(self) -> None:
        """When nothing changed, the very same state is given back."""
        self.write("a.yaml", text_of("a"))
        self.look()
        known = self.known
        self.assertEqual(self.look_once(), {})
        self.assertIs(self.known, known)

    def test_add_edit_delete(self) -> None:
        """Files that come, change and go take their objects along."""
        self.write("a.yaml", text_of("a"))
        self.look()
        self.write("b.yaml", text_of("b"))
        self.assertEqual(set(self.look()), {service("b")})
        self.write("a.yaml", text_of("a", 8080))
        self.assertEqual(set(self.look()), {service("a")})
        self.assertEqual(self.ports(), {service("a"): 8080, service("b"): 80})
        os.remove(self.path("b.yaml"))
        self.assertEqual(self.look(), {service("b"): None})

    def test_replaced_by_rename(self) -> None:
        """A file replaced by another under its name is read, even if of equal size and time."""
        path = self.write("a.yaml", text_of("a", 80))
        self.look()
        status = os.stat(path)
        other = self.write(".a.yaml.new", text_of("a", 81))
        os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
        os.replace(other, path)
        self.assertEqual(set(self.look()), {service("a")})
        self.assertEqual(self.ports(), {service("a"): 81})

    def test_mounted_config_map(self) -> None:
        """Files that are links through ``..data`` change when that link is exchanged."""
        for version, port in (("..one", 80), ("..two", 81)):
            self.write(f"{version}/a.yaml", text_of("a", port))
        os.symlink("..one", self.path("..data"))
        os.symlink("..data/a.yaml", self.path("a.yaml"))
        self.look()
        self.assertEqual(self.ports(), {service("a"): 80})
        os.symlink("..two", self.path("..new"))
        os.replace(self.path("..new"), self.path("..data"))
        self.assertEqual(set(self.look()), {service("a")})
        self.assertEqual(self.ports(), {service("a"): 81})

    def test_same_content_again(self) -> None:
        """A file written again with the same content changes nothing."""
        self.write("a.yaml", text_of("a"))
        self.look()
        self.write("b.yaml", text_of("a"))
        os.replace(self.path("b.yaml"), self.path("a.yaml"))
        self.assertEqual(self.look(), {})

    def test_object_moves(self) -> None:
        """An object that moves to another file is never gone."""
        self.write("b.yaml", text_of("a"))
        self.look()
        os.rename(self.path("b.yaml"), self.path("a.yaml"))
        self.assertEqual(self.look(), {})
        self.assertEqual(self.ports(), {service("a"): 80})

    def test_directory_later(self) -> None:
        """A directory that appears later is followed; one that goes takes its objects along."""
        self.look()
        self.write("sub/deep/a.yaml", text_of("a"))
        self.assertEqual(set(self.look()), {service("a")})
        os.rename(self.path("sub"), self.path(".sub"))
        self.assertEqual(self.look(), {service("a"): None})

    def test_path_goes_and_comes(self) -> None:
        """A path asked for that vanishes, directory or file, keeps its objects, is told of, and followed when it comes back."""
        file = self.write("a.yaml", text_of("a"))
        self.write("b.yaml", text_of("b"))
        for path in (self.root, file):
            self.paths = (path,)
            self.look()
            ports = self.ports()
            os.rename(path, path + ".away")
            manifest = Kind.MANIFEST, ObjectKey("", path)
            self.assertEqual(set(self.look()), {manifest})
            self.assertEqual(self.problems(path), ["cannot be read: No such file or directory"])
            self.assertEqual(self.ports(), ports)
            os.rename(path + ".away", path)
            self.assertEqual(self.look(), {manifest: None})
        os.rename(file, file + ".away")
        self.look_once()
        self.write("a.yaml", text_of("a", 81))
        self.look()
        self.assertEqual(self.ports(), {service("a"): 81})

    def test_path_is_moved(self) -> None:
        """What was moved to where it is seen is followed there, though the path that it had comes first."""
        file = self.write("a.yaml", text_of("a"))
        self.write("more/b.yaml", text_of("b"))
        self.paths = (file, self.path("more"))
        self.look()
        os.rename(file, self.path("more/a.yaml"))
        self.look()
        self.write("more/a.yaml", text_of("a", 81))
        self.look()
        self.assertEqual(self.ports(), {service("a"): 81, service("b"): 80})

    def test_path_goes_amid_a_change(self) -> None:
        """Nothing is looked at more often than usual while a path is away."""
        self.write("a.yaml", text_of("a"))
        self.look()
        os.rename(self.path("a.yaml"), self.path("a"))
        self.look_once()
        os.rename(self.root, self.root + ".away")
        self.look_once()
        assert self.known is not None
        self.assertFalse(self.known.is_restless())
        self.assertEqual(self.ports(), {service("a"): 80})
        os.rename(self.root + ".away", self.root)
        self.assertEqual(set(self.look()), {service("a"), (Kind.MANIFEST, ObjectKey("", self.root))})

    def test_namespaces(self) -> None:
        """Only the namespaces asked for are kept, and what has none."""
        self.namespaces = ("web",)
        text = "---\n".join(
            [
                text_of("a"),
                text_of("a", namespace="other"),
                "apiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: c}\nspec: {}\n",
            ]
        )
        self.write("a.yaml", text)
        self.assertEqual(set(self.look()), {service("a"), (Kind.INGRESS_CLASS, ObjectKey("", "c"))})


class MemoryTests(DiskTestCase):
    """What a file takes."""

    def test_room(self) -> None:
        """A small file takes room for itself, and not for the largest that may be read."""
        self.write("small.yaml", text_of("shop"))
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        self.look()
        _, most = tracemalloc.get_traced_memory()
        self.assertEqual(self.ports(), {service("shop"): 80})
        self.assertLess(most, MAX_FILE_BYTES // 16)

    def test_parts(self) -> None:
        """What comes in parts is whole, and cut where there is too much of it."""
        whole = bytes(range(256)) * 3000
        self.assertEqual(read_at_most(BytesIO(whole), len(whole) + 1), whole)
        self.assertEqual(read_at_most(BytesIO(whole), 700_000), whole[:700_000])
        self.assertEqual(read_at_most(BytesIO(b""), 1), b"")


class RestlessTests(DiskTestCase):
    """Files in the middle of a change."""

    def test_half_written(self) -> None:
        """A file that is being written counts only once it looked the same twice."""
        text = text_of("a") + "---\n" + text_of("b")
        self.write("a.yaml", text)
        self.look()
        for length in (0, 40, len(text_of("a"))):
            self.write("a.yaml", text[:length])
            self.assertEqual(self.look_once(), {})
        self.write("a.yaml", text)
        self.assertEqual(self.look(), {})

    def test_moved_away_and_back(self) -> None:
        """A file that an editor moves away and writes anew never vanishes in between."""
        self.write("a.yaml", text_of("a"))
        self.look()
        os.rename(self.path("a.yaml"), self.path("a.yaml~"))
        self.assertEqual(self.look_once(), {})
        self.write("a.yaml", text_of("a", 81))
        self.assertEqual(set(self.look()), {service("a")})
        self.assertEqual(self.ports(), {service("a"): 81})

    def test_never_at_rest(self) -> None:
        """A file that every look sees changed is read after a few looks."""
        self.write("a.yaml", text_of("a", 1000))
        self.look()
        looks = 0
        batch: Batch = {}
        while not batch and looks < 100:
            looks += 1
            self.write("a.yaml", text_of("a", 1000 + looks) + "#" * looks)
            batch = self.look_once()
        self.assertEqual(looks, MAX_RESTLESS_SCANS + 1)
        self.assertEqual(self.ports(), {service("a"): 1000 + looks})

    def test_order_holds(self) -> None:
        """Of two files with one object the first stays in force while it is being replaced."""
        self.write("a.yaml", text_of("x", 1))
        self.write("b.yaml", text_of("x", 2))
        self.look()
        os.rename(self.path("a.yaml"), self.path("a.yaml~"))
        self.assertEqual(self.look_once(), {})
        self.assertEqual(self.ports(), {service("x"): 1})


class BrokenTests(DiskTestCase):
    """Files that cannot be read."""

    def test_last_good_state(self) -> None:
        """A file that breaks keeps its last good objects, with a problem until it is good again."""
        path = self.write("a.yaml", text_of("a"))
        self.write("b.yaml", text_of("b"))
        self.look()
        self.write("a.yaml", text_of("a", 81) + "  x: [\n")
        manifest = Kind.MANIFEST, ObjectKey("", path)
        self.assertEqual(set(self.look()), {manifest})
        self.assertEqual(self.ports(), {service("a"): 80, service("b"): 80})
        (message,) = self.problems(path)
        self.assertTrue(message.startswith("line 5: "), message)
        self.write("a.yaml", text_of("a", 82))
        batch = self.look()
        self.assertEqual(set(batch), {manifest, service("a")})
        self.assertIsNone(batch[manifest])
        self.assertEqual(self.ports(), {service("a"): 82, service("b"): 80})

    def test_broken_then_gone(self) -> None:
        """A broken file that vanishes takes its last good objects and its problem along."""
        path = self.write("a.yaml", text_of("a"))
        self.look()
        self.write("a.yaml", "[")
        self.look()
        os.remove(path)
        self.assertEqual(self.look(), {service("a"): None, (Kind.MANIFEST, ObjectKey("", path)): None})

    def test_emptied(self) -> None:
        """A file that is empty all at once keeps its last good objects, with a problem; one of comments alone has none."""
        path = self.write("a.yaml", text_of("a"))
        self.write("new.yaml", "")
        self.look()
        self.write("a.yaml", "")
        self.assertEqual(set(self.look()), {(Kind.MANIFEST, ObjectKey("", path))})
        self.assertEqual(self.ports(), {service("a"): 80})
        self.assertTrue(self.problems(path)[0].startswith("is empty; "), self.problems(path))
        self.write("a.yaml", "# nothing\n")
        self.assertEqual(set(self.look()), {service("a"), (Kind.MANIFEST, ObjectKey("", path))})
        self.assertEqual((self.ports(), self.problems(path)), ({}, []))

    def test_broken_at_start(self) -> None:
        """A file that is broken from the start is a problem, and harms no other."""
        path = self.write("a.yaml", "a: [\n")
        self.write("b.yaml", text_of("b"))
        self.look()
        self.assertEqual(self.ports(), {service("b"): 80})
        self.assertEqual(len(self.problems(path)), 1)

    def in_doubt(self) -> str:
        """What a process that knows nothing yet cannot know of the files, and another one may."""
        return scan(self.paths, None, PREFIX).in_doubt().removeprefix(f"{self.root}/")

    def test_in_doubt(self) -> None:
        """A first look says where an earlier one may have found good content that is not there now."""
        self.write("a.yaml", text_of("a"))
        self.write("b.yaml", "# nothing\n")
        os.symlink("nowhere", self.path("link.yaml"))
        self.assertEqual(self.in_doubt(), "")
        self.write("b.yaml", text_of("b") + "---\nkind: [\n")
        self.assertRegex(self.in_doubt(), "^b.yaml: line [0-9]+: ")
        self.write("b.yaml", "")
        self.assertRegex(self.in_doubt(), "^b.yaml: is empty; ")
        os.remove(self.path("b.yaml"))
        self.patch(manifest_scan, "MAX_FILE_BYTES", 8)
        self.assertRegex(self.in_doubt(), "^a.yaml: is larger than ")
        self.paths = (self.path("gone"),)
        self.assertEqual(self.in_doubt(), "gone: cannot be read: No such file or directory")

    def test_in_doubt_unread(self) -> None:
        """So it does of a file that cannot be read."""
        self.write("a.yaml", text_of("a"))

        def fail(path: str) -> object:
            raise PermissionError(errno.EACCES, "Permission denied")

        self.patch(manifest_scan, "_content", fail)
        self.assertEqual(self.in_doubt(), "a.yaml: cannot be read: Permission denied")

    def unreadable(self, fault: OSError) -> str:
        """Edit a file while *fault* keeps everybody from reading it; return its path."""

        def fail(path: str) -> object:
            raise fault

        path = self.write("a.yaml", text_of("a"))
        self.look()
        reading = self.patch(manifest_scan, "_content", fail)
        self.write("a.yaml", text_of("a", 8080))
        self.look()
        self.assertEqual(self.ports(), {service("a"): 80})
        self.assertEqual(self.problems(path), [f"cannot be read: {fault.strerror}"])
        reading.restore()
        return path

    def test_without_leave(self) -> None:
        """A file without leave to read keeps its objects, and is read when leave is given."""
        path = self.unreadable(PermissionError(errno.EACCES, "Permission denied"))
        self.assertEqual(self.look(), {})
        os.chmod(path, 0o640)
        self.assertEqual(set(self.look()), {service("a"), (Kind.MANIFEST, ObjectKey("", path))})
        self.assertEqual((self.ports(), self.problems(path)), ({service("a"): 8080}, []))

    def test_failing_disk(self) -> None:
        """A file that cannot be read for another reason is tried again without any sign of change."""
        path = self.unreadable(OSError(errno.EIO, "Input/output error"))
        self.look()
        self.assertEqual((self.ports(), self.problems(path)), ({service("a"): 8080}, []))

    def test_gone_while_reading(self) -> None:
        """A file that goes after it was listed is treated as one that is gone."""

        def gone(path: str) -> object:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory")

        path = self.write("a.yaml", text_of("a"))
        self.look()
        self.patch(manifest_scan, "_content", gone)
        self.write("a.yaml", text_of("a", 8080))
        self.assertEqual((self.look_once(), self.look_once()), ({}, {}))
        os.remove(path)
        self.assertEqual(self.look(), {service("a"): None})

    def test_too_large(self) -> None:
        """A file beyond the limit is refused unread, and keeps its last good objects."""
        self.patch(manifest_scan, "MAX_FILE_BYTES", 1024)
        path = self.write("a.yaml", text_of("a"))
        self.look()
        self.write("a.yaml", text_of("a", 81) + "#" * 1024)
        self.look()
        self.assertEqual(self.ports(), {service("a"): 80})
        self.assertEqual(len(self.problems(path)), 1)

    def test_pipe(self) -> None:
        """A pipe that looks like a manifest is passed over, and nobody waits for its writer."""
        os.mkfifo(self.path("a.yaml"))
        self.write("b.yaml", text_of("b"))
        self.assertEqual(set(self.look()), {service("b")})


class DuplicateTests(DiskTestCase):
    """One object in two places."""

    def test_first_counts(self) -> None:
        """The first in file order is used, and tells of the other; when it goes, the other is used."""
        first = self.write("a.yaml", text_of("x", 1))
        second = self.write("b/b.yaml", text_of("y", 5) + "---\n" + text_of("x", 2))
        self.write("b/c.yaml", text_of("x", 3))
        self.look()
        self.assertEqual(self.ports(), {service("x"): 1, service("y"): 5})
        assert self.known is not None
        problem, _ = self.known.objects[service("x")].problems
        self.assertEqual(problem.reason, Reason.DUPLICATE_OBJECT)
        self.assertEqual((problem.kind, problem.namespace, problem.name), ("Service", "web", "x"))
        self.assertEqual(
            problem.message, f"stands in {first} line 1, which is used, and again in {second} line 6"
        )
        os.remove(first)
        self.look()
        self.assertEqual(self.ports(), {service("x"): 2, service("y"): 5})

    def test_within_a_file(self) -> None:
        """Within one file the first counts, too."""
        self.write("a.yaml", text_of("x", 1) + "---\n" + text_of("x", 2))
        self.look()
        self.assertEqual(self.ports(), {service("x"): 1})

    def test_many_times(self) -> None:
        """What is told of an object that stands in a file thousands of times is put together once."""
        self.write("a.yaml", "---\n".join(text_of("x") for _ in range(200)))
        made: list[object] = []

        def counted(*arguments: Any, **changes: Any) -> Any:
            made.append(changes)
            return evolve(*arguments, **changes)

        self.patch(manifest_scan, "evolve", counted)
        self.look()
        assert self.known is not None
        self.assertEqual(len(self.known.objects[service("x")].problems), 199)
        self.assertLess(len(made), 10)

    def test_order_of_paths(self) -> None:
        """The paths' order goes before the names' order."""
        self.write("a/a.yaml", text_of("x", 1))
        self.write("b/b.yaml", text_of("x", 2))
        self.paths = (self.path("b"), self.path("a"))
        self.look()
        self.assertEqual(self.ports(), {service("x"): 2})

    def test_same_file_twice(self) -> None:
        """A file that is reached by two ways is read once."""
        path = self.write("a.yaml", text_of("x", 1))
        os.symlink("a.yaml", self.path("b.yaml"))
        self.paths = (self.root, path)
        self.look()
        assert self.known is not None
        self.assertEqual(self.known.objects[service("x")].problems, ())
