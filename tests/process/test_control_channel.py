"""What a worker may say to its parent, and what becomes of one that is not itself any more."""

from __future__ import annotations

import json
import os
import socket
import struct
from pathlib import Path
from typing import Any

from twisted.internet import reactor as real_reactor  # noqa: TID251 - real sockets need the real reactor
from twisted.internet.defer import Deferred
from twisted.logger import capturedLogs
from twisted.trial.unittest import TestCase

from ingress.process.control_channel import ControlChannel
from ingress.process.framing import Frame, FrameReader, NonsenseError, frame_to_bytes
from ingress.workers.feed.feeding import Feed, Numbered
from ingress.workers.messages import Kind, named_to_bytes
from ingress.workers.worker_link import WorkerGoneError, WorkerLink

LINE = json.dumps(["info", "somewhere", "something", 1.0, "", ""]).encode()


class HostileWorkerTests(TestCase):
    """``WorkerLink``, with the test at the worker's end."""

    def setUp(self) -> None:
        ours, self.theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.pushed: list[tuple[str, bytes]] = []
        self.gone: Deferred[None] = Deferred()
        self.reactor: Any = real_reactor
        self.link = WorkerLink(
            self.reactor,
            1,
            7,
            lambda worker, name, payload: self.pushed.append((name, payload)),
            lambda worker: None,
            lambda worker: self.gone.callback(None),
        )
        self.link.begin(ours, Feed(self.reactor), Numbered())
        self.addCleanup(self.end)

    async def end(self) -> None:
        """Have the parent see that the worker is gone."""
        self.theirs.close()
        if not self.gone.called:
            await self.gone

    def say(self, kind: Kind, payload: bytes = b"", number: int = 0, descriptors: int = 0) -> None:
        self.theirs.sendall(frame_to_bytes(Frame(kind, number, payload, descriptors)))

    async def turns(self) -> None:
        """Wait until what was said has come."""
        waited: Deferred[None] = Deferred()
        self.reactor.callLater(0.02, waited.callback, None)
        await waited

    async def test_sense(self) -> None:
        """What workers say comes, in its order, and nobody ends for it."""
        self.say(Kind.PUSH, named_to_bytes("tally", b"{}"))
        self.say(Kind.LOG, LINE)
        answer = self.link.ask("something")
        self.say(Kind.ANSWER, b"yes", 1)
        self.say(Kind.PUSH, named_to_bytes("tally", b"{1}"))
        self.assertEqual(await answer, b"yes")
        await self.turns()
        self.assertEqual(self.pushed, [("tally", b"{}"), ("tally", b"{1}")])
        self.assertFalse(self.gone.called)

    async def heard_no_more(self) -> str:
        """Wait for the end of the channel; return what the log says."""
        with capturedLogs() as lines:
            await self.gone
        (line,) = (one for one in lines if one["log_namespace"].endswith("ControlChannel"))
        self.assertEqual(line["name"], "worker 1")
        return str(line["error"])

    async def test_nonsense(self) -> None:
        """A worker that says what cannot be is heard no more, and so is replaced; one line says why."""
        self.say(Kind.PUSH, b"\xff\xfe\n")
        self.assertEqual(await self.heard_no_more(), "a name that is none")
        self.assertTrue(self.link.is_gone)

    async def test_length(self) -> None:
        """Nothing is kept for a frame of gigabytes."""
        self.theirs.sendall(struct.pack("<IBHI", 4_000_000_000, Kind.PUSH, 0, 0) + b"x" * 1000)
        self.assertEqual(await self.heard_no_more(), "a frame of 4000000000 bytes")

    async def test_answer(self) -> None:
        """Nobody answers what was not asked; and who waits for an answer is told that none comes."""
        asked = self.link.ask("something")
        self.say(Kind.ANSWER, b"", 99)
        self.assertEqual(await self.heard_no_more(), "an answer to no question")
        await self.assertFailure(asked, WorkerGoneError)

    async def test_line(self) -> None:
        """A line of the log that is none ends it, too."""
        self.say(Kind.LOG, b"[1, 2]")
        self.assertEqual(await self.heard_no_more(), "a line of the log that is none")

    async def test_lines(self) -> None:
        """Whatever is wrong with a line, it is told as such, and none begins another one."""
        link: Any = self.link
        for wrong in (
            b"",
            b"[" * 100_000,
            b'["info", "a", "b"]',
            b'["info", "a", "b", null, 7, ""]',
            b'["info", "a", "b", null, "", {}]',
            b'["loud", "a", "b", null, "", ""]',
            b'["info", 7, "b", null, "", ""]',
            b'["info", "a", "b", NaN, "", ""]',
            b'["info", "a", "b", 1e300, "", ""]',
            b'[["info"], "a", "b", null, "", ""]',
        ):
            with self.assertRaises(NonsenseError):
                link._came(Frame(Kind.LOG, 0, wrong), ())
        with capturedLogs() as lines:
            link._came(Frame(Kind.LOG, 0, b'["info", "a\\nb", "c", 1.5, "", ""]'), ())
        self.assertEqual([line["log_system"] for line in lines], ["worker 1: ab#info"])

    async def test_descriptors_promised(self) -> None:
        """Descriptors that a frame promises, and that did not come, are missed at once."""
        self.say(Kind.PUSH, named_to_bytes("tally"), descriptors=200)
        self.assertEqual(await self.heard_no_more(), "descriptors that did not come")

    async def test_descriptors(self) -> None:
        """Descriptors from a worker are closed: they would use up what the parent may have."""
        path = Path(self.mktemp()).resolve()
        path.touch()
        files = [os.open(path, os.O_RDONLY) for _ in range(50)]
        socket.send_fds(self.theirs, [frame_to_bytes(Frame(Kind.LOG, 0, LINE))], files)
        for file in files:
            os.close(file)
        self.assertEqual(await self.heard_no_more(), "descriptors that nobody asked for")
        self.assertNotIn(path, [one.resolve() for one in Path("/proc/self/fd").iterdir()])

    async def test_many_at_once(self) -> None:
        """However much comes at once, others have their turns amid it."""
        turns = 0

        def turn() -> None:
            nonlocal turns
            turns += 1
            if len(self.pushed) < 50:
                self.reactor.callLater(0, turn)

        for _ in range(50):
            self.say(Kind.PUSH, named_to_bytes("tally", b"{}"))
        turn()
        while len(self.pushed) < 50:
            await self.turns()
        self.assertGreaterEqual(turns, 50)


class CutShortTests(TestCase):
    """A channel to a process of our own that is killed."""

    async def test_descriptors(self) -> None:
        """Descriptors are closed whose frame has come in part alone, since nobody else knows of them."""
        path = Path(self.mktemp()).resolve()
        path.touch()
        reactor: Any = real_reactor
        came: list[Frame] = []
        ended: Deferred[None] = Deferred()

        def take(frame: Frame, descriptors: tuple[int, ...]) -> bool:
            came.append(frame)
            return False

        channel = ControlChannel(reactor, take, lambda: ended.callback(None))
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        channel.open(ours)
        file = os.open(path, os.O_RDONLY)
        frame = frame_to_bytes(Frame(Kind.ANSWER, 1, b"whole"))
        socket.send_fds(theirs, [frame + frame_to_bytes(Frame(Kind.ANSWER, 2, b"cut", 1))[:-1]], [file])
        os.close(file)
        theirs.close()
        await ended
        self.assertEqual([one.payload for one in came], [b"whole"])
        self.assertNotIn(path, [one.resolve() for one in Path("/proc/self/fd").iterdir()])


class BoundTests(TestCase):
    """``FrameReader`` with a bound."""

    def test_bound(self) -> None:
        """A payload as long as may be is taken, and a longer one is not waited for."""
        reader = FrameReader(10)
        self.assertEqual(len(list(reader.take(frame_to_bytes(Frame(5, 0, b"x" * 10))))), 1)
        with self.assertRaises(NonsenseError):
            list(reader.take(frame_to_bytes(Frame(5, 0, b"x" * 11))[:11]))
