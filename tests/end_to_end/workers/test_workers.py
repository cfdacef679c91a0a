"""Several worker processes: they serve, die, are followed, and end with their parent."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import tempfile
from pathlib import Path

from tests.end_to_end.end_to_end_case import telling
from tests.end_to_end.workers.workers_case import WorkersCase, children, runs, sockets
from tests.fakes.peers.grpc_upstreams import in_thread
from tests.fakes.peers.upstreams import Upstream
from tests.fakes.processes import free_port

TASKSET = shutil.which("taskset") or ""
MOST = 800
"""Connections until which they have to be spread."""
REQUEST = b"GET / HTTP/1.1\r\nHost: shop.test\r\nConnection: close\r\n\r\n"


def said(where: str | int, octets: bytes) -> bytes:
    """Send *octets* to a path or a port; return all that comes back."""
    family = socket.AF_UNIX if isinstance(where, str) else socket.AF_INET
    with socket.socket(family) as sock:
        sock.settimeout(60)
        sock.connect(where if isinstance(where, str) else ("127.0.0.1", where))
        sock.sendall(octets)
        found = b""
        while piece := sock.recv(65_536):
            found += piece
        return found


class ServingTests(WorkersCase):
    """``--workers``, while nobody dies."""

    async def test_serves(self) -> None:
        """Two workers serve what their parent translates, also what changes, and all processes end with it, with status 0."""
        controller = self.start_workers()
        await self.until_ready(controller)
        self.assertEqual(len(self.workers), 2)
        self.assertEqual(await self.get(self.http), (200, b"shop"))
        self.serve("shop", self.upstream(b"other"))
        await self.until_get((200, b"other"), self.http)
        pids = [self.fork_server, *self.workers]
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)
        self.assertEqual([pid for pid in pids if runs(pid)], [])

    async def test_twisted(self) -> None:
        """So they do on Twisted's transports."""
        controller = self.start_workers("--no-epoll")
        await self.until_ready(controller)
        self.assertEqual(await self.get(self.http), (200, b"shop"))
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)

    async def test_signals(self) -> None:
        """Signals that reach all processes of a terminal or a unit are the parent's alone."""
        controller = self.start_workers()
        await self.until_ready(controller)
        workers = self.workers
        for pid in (self.fork_server, *workers):
            for number in (
                signal.SIGINT,
                signal.SIGTERM,
                signal.SIGQUIT,
                signal.SIGHUP,
                signal.SIGUSR1,
                signal.SIGUSR2,
            ):
                os.kill(pid, number)
        self.assertEqual(await self.get(self.http), (200, b"shop"))
        self.assertEqual(self.workers, workers)
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)

    async def test_other_listeners(self) -> None:
        """Sockets of a path, and PROXY headers that Twisted reads, are for all workers, too; the path goes with the process."""
        # Paths of sockets are short.
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path, port = Path(folder.name) / "http.sock", free_port()
        proxied = b"PROXY TCP4 192.0.2.1 127.0.0.1 4000 80\r\n" + REQUEST
        controller = self.start_workers(f"--http=unix:{path}:mode=600", f"--http=haproxy:tcp:{port}")
        await self.until_ready(controller)
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)
        workers = self.workers
        for worker in workers:
            # Also when one of those that listened is gone, and another one listens.
            for _ in range(4):
                by_path = in_thread(self.reactor, lambda: said(str(path), REQUEST))
                self.assertIn(b"shop", await by_path)
                by_header = in_thread(self.reactor, lambda: said(port, proxied))
                self.assertIn(b"shop", await by_header)
            os.kill(worker, signal.SIGKILL)
            await self.until(lambda: worker not in self.workers and len(self.workers) == 2)  # noqa: B023 - awaited at once
            await self.until_ready(controller)
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)
        self.assertFalse(path.exists())

    async def test_nothing_inherited(self) -> None:
        """A worker has nothing of the parent's reactor: its own epoll sets, one channel, and what it listens on."""
        controller = self.start_workers()
        await self.until_ready(controller)
        for pid in self.workers:
            opened = [os.readlink(name) for name in Path(f"/proc/{pid}/fd").iterdir()]
            self.assertEqual(opened.count("anon_inode:[eventpoll]"), 2, opened)
            numbers = [name[8:-1] for name in opened if name.startswith("socket:[")]
            unix = Path("/proc/net/unix").read_text()
            self.assertEqual(sum(f" {number}" in unix for number in numbers), 1, opened)

    async def test_port_taken(self) -> None:
        """A port that cannot be had ends the start in one line, as it does without workers."""
        other = self.upstream(b"other")
        controller = self.start_workers(f"--http=tcp:{other.endpoint.port}:interface=127.0.0.1")
        self.assertEqual(await self.end_of(controller), 1)
        self.assertIn(b"cannot listen on", controller.errors)
        self.assertEqual(controller.errors.count(b"\n"), 1)


class OneProcessorTests(WorkersCase):
    """``--workers=auto`` where a process may use one processor alone."""

    through = (TASKSET, "--cpu-list", str(min(os.sched_getaffinity(0))))
    skip = None if TASKSET else "no taskset"

    async def test_no_worker(self) -> None:
        """One worker would be of no use: the process serves by itself, and has no other."""
        controller = self.start_with_manifests("--workers=auto")
        await self.until_ready(controller)
        self.assertEqual(await self.get(self.http), (200, b"shop"))
        self.assertEqual(children(controller.pid), [])
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)


class AsyncioTests(WorkersCase):
    """Under a reactor whose loop is another's."""

    runner = ("--reactor=asyncio",)

    async def test_serves(self) -> None:
        """Each worker has a loop of its own, and all end with their parent."""
        controller = self.start_workers()
        await self.until_ready(controller)
        self.assertEqual(await self.get(self.http), (200, b"shop"))
        for pid in self.workers:
            os.kill(pid, signal.SIGKILL)
        await self.until_get((200, b"shop"), self.http)
        controller.signal(signal.SIGTERM)
        self.assertEqual(await self.end_of(controller), 0)


class SharingTests(WorkersCase):
    """Who takes connections."""

    async def spread(self, *options: str) -> None:
        """200 connections that come one by one, and stay, are spread by ± 20 % between two workers.

        One that a busy machine gives no processor leaves all to the other one meanwhile: then more come, until it has made up for that.
        """
        controller = self.start_workers(*options)
        await self.until_ready(controller)
        workers = self.workers
        before = [sockets(pid) for pid in workers]

        def found() -> list[int]:
            return [sockets(pid) - count for pid, count in zip(workers, before, strict=True)]

        count, more = 0, 200
        while count < MOST:
            for _ in range(more):
                await self.connect(self.http)
            count, more = count + more, 50
            await self.until(lambda: sum(found()) == count)  # noqa: B023 - it is awaited here
            if all(0.4 * count <= one <= 0.6 * count for one in found()):
                return
        self.fail(f"spread like this: {found()}")

    async def test_epoll(self) -> None:
        """By the epoll set."""
        await self.spread()

    async def test_twisted(self) -> None:
        """By Twisted's transports."""
        await self.spread("--no-epoll")

    async def test_stopped(self) -> None:
        """While one worker is stopped the other one takes all that come; then it is found to hang, and another one follows."""
        controller = self.start_workers()
        await self.until_ready(controller)
        stopped, well = self.workers
        os.kill(stopped, signal.SIGSTOP)
        for _ in range(20):
            self.assertEqual(await self.get(self.http), (200, b"shop"))
        await self.until(lambda: not runs(stopped) and len(self.workers) == 2)
        self.assertIn(well, self.workers)
        await self.until(lambda: b"has done nothing for a while, and is killed" in controller.output)
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)


class DyingTests(WorkersCase):
    """Processes that are killed."""

    async def test_worker(self) -> None:
        """A worker that is killed takes its own connections alone with it, and another one follows."""
        controller = self.start_workers()
        await self.until_ready(controller)
        clients = await self.connected(40)
        before = self.workers
        os.kill(before[0], signal.SIGKILL)
        await self.until(lambda: len(self.workers) == 2 and before[0] not in self.workers)
        self.assertIn(before[1], self.workers)
        left = [client for client in clients if client.lost is None]
        for client in left:
            client.get(b"/", b"shop.test")
            await client.answer(2)
        self.assertEqual(await self.get(self.http), (200, b"shop"))
        await self.until(lambda: b"ended by signal 9" in controller.output)
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)

    async def test_parent(self) -> None:
        """When the parent is killed, nobody is accepted any more, and all processes end."""
        controller = self.start_workers("--shutdown-grace=1")
        await self.until_ready(controller)
        pids = [self.fork_server, *self.workers]
        os.kill(controller.pid, signal.SIGKILL)
        await self.until(lambda: not any(map(runs, pids)))
        self.assertEqual(await self.get(self.http), (0, b""))

    async def test_again_and_again(self) -> None:
        """Five ends make a pause, and a problem of the process; all is served meanwhile by the worker that is left."""
        controller = self.start_workers()
        await self.until_ready(controller)
        ended: set[int] = set()
        while len(ended) < 5:
            await self.until(lambda: len(set(self.workers) - ended) == 2)
            victim = min(set(self.workers) - ended)
            ended.add(victim)
            os.kill(victim, signal.SIGKILL)
        await self.until(lambda: b"another one is started in 1 s" in controller.output)
        self.assertEqual(await self.get(self.http), (200, b"shop"))
        await self.until_shown(b"WorkersEnding", "/api/problems")
        await self.until(lambda: len(self.workers) == 2)
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)

    async def test_parent_amid_request(self) -> None:
        """A request that runs when the parent is killed has its answer, within the grace, from a worker that accepts no more."""
        late = Upstream(self.reactor, lambda wire: None)
        late.listen()
        self.addCleanup(late.stop)
        self.serve("shop", late)
        controller = self.start_workers()
        await self.until_ready(controller)
        pids = [self.fork_server, *self.workers]
        client = await self.connect(self.http)
        client.get(b"/", b"shop.test")
        await self.until(lambda: late.wires)
        os.kill(controller.pid, signal.SIGKILL)
        # The one that has the request, and who sees to it that it ends.
        await self.until(lambda: sum(map(runs, pids)) == 2)
        self.assertEqual(await self.get(self.http), (0, b""))
        telling(b"late")(late.wires[0])
        await client.answer()
        self.assertEqual(client.answers[0].body, b"late")
        await self.until(lambda: not any(map(runs, pids)))

    async def test_parent_stopped(self) -> None:
        """While the parent is stopped the workers serve, and when it goes on it finds none of them at fault."""
        controller = self.start_workers()
        await self.until_ready(controller)
        workers = self.workers
        os.kill(controller.pid, signal.SIGSTOP)
        for _ in range(10):
            self.assertEqual(await self.get(self.http), (200, b"shop"))
            await self.turn(0.1)
        os.kill(controller.pid, signal.SIGCONT)
        await self.until_ready(controller)
        self.assertEqual(self.workers, workers)
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)

    async def test_fork_server(self) -> None:
        """When the fork server is killed the process ends in an orderly way, with status 1, since it can make no more workers."""
        controller = self.start_workers()
        await self.until_ready(controller)
        workers = self.workers
        os.kill(self.fork_server, signal.SIGKILL)
        self.assertEqual(await self.end_of(controller), 1)
        self.assertIn(b"fork server", controller.errors)
        await self.until(lambda: not any(map(runs, workers)))
        self.assertEqual(children(controller.pid), [])
