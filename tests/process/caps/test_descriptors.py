"""How many connections fit into the file descriptors that there are."""

from __future__ import annotations

import os
import resource

from twisted.trial.unittest import SynchronousTestCase

from ingress.process.caps import descriptors
from ingress.process.caps.descriptors import connections_within, has_room, raise_descriptors


class DescriptorTests(SynchronousTestCase):
    """The limit of connections."""

    def test_within(self) -> None:
        """Each client may need a connection to an endpoint, and the rest of the process some descriptors."""
        for count, fitting in ((1, 1), (64, 24), (1024, 384), (20_000, 8000), (1_000_000, 8000)):
            self.assertEqual(connections_within(count, 8000), fitting)

    def test_raised(self) -> None:
        """The soft limit is raised as far as the hard one allows, and not without end."""
        told: list[tuple[int, int]] = []
        self.patch(resource, "setrlimit", lambda which, limits: told.append(limits))
        for soft, hard, now in (
            (1024, 4096, 4096),
            (1024, resource.RLIM_INFINITY, descriptors.ENOUGH),
            (100_000, 200_000, 100_000),
        ):
            self.patch(resource, "getrlimit", lambda which, limits=(soft, hard): limits)
            self.assertEqual(raise_descriptors(), now)
        self.assertEqual(told, [(4096, 4096), (descriptors.ENOUGH, resource.RLIM_INFINITY)])


class RoomTests(SynchronousTestCase):
    """``has_room``."""

    def test_room(self) -> None:
        """There is room for what the process may open yet, and for no more; nothing stays open."""
        before = len(os.listdir("/dev/fd"))
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/dev/fd"))) + 20, hard))
        self.assertTrue(has_room(0))
        self.assertTrue(has_room(10))
        self.assertFalse(has_room(1000))
        self.assertEqual(len(os.listdir("/dev/fd")), before)
