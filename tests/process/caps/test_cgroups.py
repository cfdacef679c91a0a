"""Tests for ``ingress.process.caps.cgroups``."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.process.caps.cgroups import (
    Cap,
    Groups,
    cpu_quota,
    machine_memory,
    memory_cap,
    memory_limit,
    own_groups,
    task_cap,
)
from tests.fakes.system_files import V2_MOUNT, system, v1_mount
from tests.properties import examples

MIB = 1 << 20
V1_UNLIMITED = "9223372036854771712\n"


class _CgroupCase(SynchronousTestCase):
    def setUp(self) -> None:
        """Have a directory that stands for the root of the system."""
        self.root = Path(self.mktemp())


class OwnGroupTests(_CgroupCase):
    """Which groups the process is in."""

    def test_upwards(self) -> None:
        """A group of version 2 counts for each resource, and so does each one above it."""
        system(self.root, {}, "0::/kubepods.slice/pod1/app\n")
        top = self.root / "sys/fs/cgroup"
        expected = tuple(
            top / below for below in ("kubepods.slice/pod1/app", "kubepods.slice/pod1", "kubepods.slice", "")
        )
        self.assertEqual(own_groups(self.root), Groups(expected, expected, expected))

    def test_version_1(self) -> None:
        """Each resource has a hierarchy of its own, two may share one, and a name is none."""
        system(
            self.root,
            {},
            "9:name=systemd:/\n8:pids:/p\n3:cpuset:/\n2:cpu,cpuacct:/c\n4:memory:/m\n0::/\n",
            (v1_mount("cpu,cpuacct"), v1_mount("memory"), v1_mount("pids"), v1_mount("cpuset")),
        )
        top = self.root / "sys/fs/cgroup"
        self.assertEqual(
            own_groups(self.root),
            Groups(
                (top / "memory/m", top / "memory"),
                (top / "cpu,cpuacct/c", top / "cpu,cpuacct"),
                (top / "pids/p", top / "pids"),
            ),
        )

    def test_container(self) -> None:
        """Where a container is shown its own group alone, under the name that it has outside, that one counts."""
        path = "/kubepods/pod1/id"
        system(self.root, {}, f"4:memory:{path}\n", (v1_mount("memory", path),))
        self.assertEqual(own_groups(self.root).memory, (self.root / "sys/fs/cgroup/memory",))
        system(self.root, {}, f"4:memory:{path}/inner\n", (v1_mount("memory", path),))
        top = self.root / "sys/fs/cgroup/memory"
        self.assertEqual(own_groups(self.root).memory, (top / "inner", top))

    def test_others(self) -> None:
        """Groups that this process is not in do not count, such as another container's that is mounted here, too."""
        for path, top in (("/a", "/b"), ("/ab", "/a"), ("/../b", "/"), ("/", "/a"), ("/a/b", "/a/b/c")):
            system(self.root, {}, f"4:memory:{path}\n", (v1_mount("memory", top),))
            self.assertEqual(own_groups(self.root), Groups(), (path, top))

    def test_above_namespace(self) -> None:
        """What was mounted outside of the process's namespace is above all that is told inside."""
        mount = V2_MOUNT.replace(" / /sys", " /../.. /sys")
        system(self.root, {}, "0::/inner\n", (mount,))
        self.assertEqual(own_groups(self.root).cpu, (self.root / "sys/fs/cgroup",))

    def test_odd_places(self) -> None:
        """A place may have blanks in its name, which the kernel writes as numbers."""
        mount = V2_MOUNT.replace("/sys/fs/cgroup", "/my\\040groups")
        self.assertEqual(own_groups(system(self.root, {}, mounts=(mount,))).pids, (self.root / "my groups",))

    def test_nothing(self) -> None:
        """Without these files, as on another system, there is no group."""
        self.assertEqual(own_groups(self.root), Groups())

    def test_here(self) -> None:
        """What this very system says is read, whatever it is."""
        groups = own_groups()
        for cap in (memory_cap(groups), task_cap(groups)):
            self.assertTrue(cap is None or cap.limit > 0)
        self.assertTrue((cpu_quota(groups) or 1) > 0)
        if os.path.exists("/proc/meminfo"):
            self.assertGreater(machine_memory() or 0, 16 * MIB)

    @settings(max_examples=examples(60))
    @given(st.binary(max_size=200), st.binary(max_size=200), st.binary(max_size=60))
    def test_garbage(self, groups: bytes, mounts: bytes, content: bytes) -> None:
        """Whatever stands in the files, nothing is raised, and no limit is made up of what is no number."""
        with TemporaryDirectory() as directory:
            root = system(Path(directory), dict.fromkeys(FILES, b"x" + content))
            found = own_groups(root)
            self.assertEqual((memory_cap(found), task_cap(found), cpu_quota(found)), (None, None, None))
            for name, said in (("cgroup", groups), ("mountinfo", mounts)):
                (root / "proc/self" / name).write_bytes(said)
                own_groups(root)


FILES = ("memory.max", "memory.high", "memory.limit_in_bytes", "pids.max", "cpu.max", "cpu.cfs_quota_us")


class CapTests(_CgroupCase):
    """What the groups leave."""

    def test_memory(self) -> None:
        """Files in the cache make room before anything fails, so they do not count as used."""
        said = {
            "memory.max": f"{256 * MIB}\n",
            "memory.high": "max\n",
            "memory.current": f"{200 * MIB}\n",
            "memory.stat": f"anon {80 * MIB}\nshmem 4096\ninactive_file {70 * MIB}\nactive_file {40 * MIB}\n",
        }
        groups = own_groups(system(self.root, said))
        self.assertEqual(memory_cap(groups), Cap(256 * MIB, 90 * MIB))
        self.assertEqual(Cap(256, 90).left, 166)

    def test_memory_high(self) -> None:
        """The amount from which on a group is stopped is a limit, too."""
        said = {"memory.max": "300\n", "memory.high": "200\n", "memory.current": "50\n"}
        self.assertEqual(memory_cap(own_groups(system(self.root, said))), Cap(200, 50))

    def test_memory_of_version_1(self) -> None:
        """Of the sums with all groups below, and never a limit that is none."""
        said = {
            "memory.limit_in_bytes": "1000\n",
            "memory.usage_in_bytes": "900\n",
            "memory.stat": f"inactive_file 1\nhierarchical_memory_limit {V1_UNLIMITED}total_inactive_file 300\ntotal_active_file 100\n",
        }
        files = {f"memory/{name}": content for name, content in said.items()}
        root = system(self.root, files, "4:memory:/\n", (v1_mount("memory"),))
        self.assertEqual(memory_cap(own_groups(root)), Cap(1000, 500))
        (root / "sys/fs/cgroup/memory/memory.limit_in_bytes").write_text(V1_UNLIMITED)
        self.assertIsNone(memory_cap(own_groups(root)))

    def test_hidden_limit(self) -> None:
        """A limit of a group above, which a container is not shown, is known of version 1."""
        files = {
            "memory/memory.limit_in_bytes": V1_UNLIMITED,
            "memory/memory.usage_in_bytes": "30\n",
            "memory/memory.stat": "hierarchical_memory_limit 700\n",
        }
        root = system(self.root, files, "4:memory:/pod/id\n", (v1_mount("memory", "/pod/id"),))
        self.assertEqual(memory_cap(own_groups(root)), Cap(700, 30))

    def test_nested(self) -> None:
        """The group that leaves least counts, be its limit the lowest or not."""
        files = {
            "a/memory.max": "1000\n",
            "a/memory.current": "950\n",
            "a/b/memory.max": "500\n",
            "a/b/memory.current": "100\n",
            "a/b/c/memory.max": "max\n",
            "a/b/c/memory.current": "100\n",
            "a/pids.max": "20\n",
            "a/pids.current": "5\n",
            "a/b/pids.max": "100\n",
            "a/b/pids.current": "99\n",
            "a/cpu.max": "150000 100000\n",
            "a/b/cpu.max": "max 100000\n",
            "a/b/c/cpu.max": "50000 20000\n",
        }
        groups = own_groups(system(self.root, files, "0::/a/b/c\n"))
        self.assertEqual(memory_cap(groups), Cap(1000, 950))
        self.assertEqual(memory_limit(groups), 500)
        self.assertEqual(task_cap(groups), Cap(100, 99))
        self.assertEqual(cpu_quota(groups), 1.5)

    def test_overdrawn(self) -> None:
        """A limit may be lowered below what is used; nothing is left then."""
        files = {"pids.max": "10\n", "pids.current": "12\n"}
        cap = task_cap(own_groups(system(self.root, files)))
        assert cap is not None
        self.assertEqual(cap.left, 0)

    def test_hybrid(self) -> None:
        """Beside each other, each version has the resources that it has."""
        files = {
            "memory/m/memory.limit_in_bytes": "800\n",
            "memory/m/memory.usage_in_bytes": "100\n",
            "unified/u/pids.max": "30\n",
            "unified/u/pids.current": "3\n",
        }
        mounts = (v1_mount("memory"), V2_MOUNT.replace("/sys/fs/cgroup", "/sys/fs/cgroup/unified"))
        groups = own_groups(system(self.root, files, "4:memory:/m\n0::/u\n", mounts))
        self.assertEqual((memory_cap(groups), task_cap(groups)), (Cap(800, 100), Cap(30, 3)))

    def test_quota(self) -> None:
        """A quota is for a period, of either version; none is -1, and a period is never nothing."""
        for name, content, expected in (
            ("cpu.max", "max 100000", None),
            ("cpu.max", "200000 100000", 2),
            ("cpu.max", "100000", None),
            ("cpu.max", "100000 0", None),
            ("cpu.max", "", None),
            ("cpu.cfs_quota_us", "-1", None),
            ("cpu.cfs_quota_us", "25000", 0.25),
        ):
            root = system(
                self.root / f"{name} {content}", {name: f"{content}\n", "cpu.cfs_period_us": "100000\n"}
            )
            self.assertEqual(cpu_quota(own_groups(root)), expected, (name, content))

    def test_not_said(self) -> None:
        """Missing and unreadable files, and those that are no files, say nothing; a limit counts without what is used."""
        root = system(self.root, {"memory.max": "100\n", "memory.current/x": "", "pids.max": b"\xff\xfe7"})
        groups = own_groups(root)
        self.assertEqual((memory_cap(groups), task_cap(groups)), (Cap(100, 0), None))

    def test_machine(self) -> None:
        """The machine's memory is in the first lines of a file of its own."""
        system(self.root, {})
        self.assertIsNone(machine_memory(self.root))
        (self.root / "proc/meminfo").write_text("MemTotal:        2048 kB\nMemFree:  1 kB\n")
        self.assertEqual(machine_memory(self.root), 2 * MIB)
        (self.root / "proc/meminfo").write_text("MemTotal: much\n")
        self.assertIsNone(machine_memory(self.root))
