"""One controller in the place of another: by a path, and in place at a signal."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket

from twisted.internet.task import LoopingCall

from ingress.takeover.messages import Word
from tests.end_to_end.end_to_end_case import NO_ANSWER
from tests.end_to_end.takeover.takeover_case import TakeoverCase
from tests.fakes.peers.upstreams import OK
from tests.fakes.processes import ControllerProcess, free_port
from tests.fakes.service_managers import FakeServiceManager, abstract_name


class PathTests(TakeoverCase):
    """``--takeover``."""

    async def test_next(self) -> None:
        """The next process serves on the same sockets; the one before it finishes what runs, waits for no delay, and ends."""
        old = await self.serving()
        self.assertTrue(self.can_be_taken_over())
        running = await self.connect(self.http)
        running.get(b"/slow", b"shop.test")
        await self.until(lambda: self.held)
        new = self.start_next(*self.options)
        await self.until(lambda: b"Took over from process" in new.output)
        self.assertEqual(await self.get(self.http), (200, b"ok"))
        self.assertEqual(await self.get(self.admin, "/readyz"), (200, b"ok\n"))
        self.assertIsNone(old.status)
        self.held[0].write(OK)
        await running.answer(1)
        self.assertEqual([answer.status for answer in running.answers], [200])
        await self.taken_over(old)
        self.assertTrue(self.can_be_taken_over())
        self.assertEqual(await self.get(self.http), (200, b"ok"))

    async def test_at_rest(self) -> None:
        """A connection at rest is good for one more request, whose answer says that it ends."""
        old = await self.serving()
        resting = await self.connect(self.http)
        resting.get(b"/", b"shop.test")
        await resting.answer(1)
        self.start_next(*self.options)
        await self.until(lambda: b"has taken over" in old.output)
        resting.get(b"/", b"shop.test")
        await resting.answer(2)
        self.assertEqual([answer.status for answer in resting.answers], [200, 200])
        self.assertTrue(resting.answers[1].has(b"Connection: close"))
        await self.taken_over(old)

    async def test_slow_probe(self) -> None:
        """A probe that has connected, and asks when another process has taken over, is answered that all is well."""
        old = await self.serving()
        probe = await self.connect(self.admin)
        # Answered by the same process, after it has accepted the other one.
        self.assertEqual(await self.get(self.admin, "/readyz"), (200, b"ok\n"))
        self.start_next(*self.options)
        await self.until(lambda: b"has taken over" in old.output)
        await self.turn(0.5)
        self.assertIsNone(old.status)
        probe.get(b"/readyz", b"127.0.0.1")
        await probe.answer(1)
        self.assertEqual([answer.status for answer in probe.answers], [200])
        await self.taken_over(old)

    async def test_other_options(self) -> None:
        """Sockets that the next process does not want are closed, and what it wants besides is bound."""
        old = await self.serving()
        before, http, probes = self.http, free_port(), free_port()
        self.start_next(*self.options, f"--probes=tcp:{probes}:interface=127.0.0.1", http=http)
        await self.taken_over(old)
        self.admins.add(probes)
        self.assertEqual(await self.get(http), (200, b"ok"))
        self.assertEqual(await self.get(probes, "/readyz"), (200, b"ok\n"))
        self.assertEqual(await self.get(before), (NO_ANSWER, b""))

    async def test_new_one_cannot_start(self) -> None:
        """A new process that cannot start says why, here and there; the old one serves on, and takes the next one."""
        old = await self.serving()
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            new = self.start_next(*self.options, http=port)
            self.assertEqual(await self.end_of(new), 1)
        line = b"cannot listen on tcp:%d:interface=127.0.0.1: [Errno 98] Address already in use" % port
        self.assertIn(line, new.errors)
        await self.until(lambda: line in old.output)
        self.assertIn(b"has come to nothing, and this one serves on", old.output)
        self.assertEqual(await self.get(self.http), (200, b"ok"))
        self.assertEqual(await self.get(self.admin, "/readyz"), (200, b"ok\n"))
        await self.broken_manifest(old)
        self.start_next(*self.options)
        await self.taken_over(old)
        self.assertEqual(await self.get(self.http), (200, b"ok"))

    async def broken_manifest(self, old: ControllerProcess) -> None:
        """Check that no route is lost to a new process that cannot read its file, as *old* could."""
        (file,) = self.manifests.iterdir()
        content = file.read_bytes()
        file.write_bytes(b"kind: [\n")
        new = self.start_next(*self.options)
        self.assertEqual(await self.end_of(new), 1)
        line = b"--manifests %b: line 2: " % bytes(file)
        self.assertIn(line, new.errors)
        await self.until(lambda: b"serves on: " + line in old.output)
        self.assertEqual(await self.get(self.http), (200, b"ok"))
        file.write_bytes(content)

    async def test_twice_at_once(self) -> None:
        """While one process takes over, another one is refused in a line."""
        old = await self.serving()
        first = self.new_process()
        first.say(Word.HELLO)
        self.assertIs((await self.said(first)).word, Word.OFFERED)
        second = self.start_next(*self.options)
        self.assertEqual(await self.end_of(second), 1)
        self.assertEqual(
            second.errors,
            b"ingress: process %d is not taken over: a takeover is under way\n" % old.pid,
        )
        old.signal(signal.SIGUSR2)
        await self.until(lambda: b"No new process is started: a takeover is under way" in old.output)
        first.leave()
        await self.until(lambda: b"has come to nothing, and this one serves on" in old.output)
        self.start_next(*self.options)
        await self.taken_over(old)

    async def test_gone_at_each_step(self) -> None:
        """However far a new process has come, once it is gone the old one serves on and can be taken over."""
        old = await self.serving()
        for step, words in enumerate(
            ((), (Word.HELLO,), (Word.HELLO, Word.SERVING), (Word.HELLO, Word.SERVING)), start=1
        ):
            new = self.new_process()
            for word in words:
                new.say(word)
            if step == 4:
                self.assertIs((await self.said(new)).word, Word.OFFERED)
                self.assertIs((await self.said(new)).word, Word.YOURS)
            new.leave()
            await self.until_told(old, b"this one serves on", step)
            self.assertEqual(await self.get(self.http), (200, b"ok"))
            self.assertEqual(await self.get(self.admin, "/readyz"), (200, b"ok\n"))
        self.start_next(*self.options)
        await self.taken_over(old)

    async def test_another_language(self) -> None:
        """A new process of another version, or what is none at all, is refused, and harms nothing."""
        old = await self.serving()
        for octets, why in (
            (
                b'{"version": 2, "word": "hello"}',
                "it speaks version 2 of takeovers, and this process version 1",
            ),
            (b"GET / HTTP/1.1\r\n\r\n", "what came is no message of a takeover"),
            (b'{"version": 1, "word": "took"}', "it says took where that means nothing"),
        ):
            new = self.new_process()
            new.say_octets(octets)
            message = await self.said(new)
            self.assertEqual((message.word, message.text), (Word.REFUSED, why))
            new.leave()
            await self.until_told(old, why.encode())
        self.assertEqual(await self.get(self.http), (200, b"ok"))
        self.start_next(*self.options)
        await self.taken_over(old)

    async def test_what_is_offered(self) -> None:
        """All sockets are offered, those for operators among them."""
        await self.serving()
        new = self.new_process()
        new.say(Word.HELLO)
        await self.said(new)
        ports = (self.http, self.https, self.admin)
        self.assertEqual(sorted(new.names), sorted(f"tcp:{port}:interface=127.0.0.1" for port in ports))

    async def test_path_that_cannot_be(self) -> None:
        """A path that no socket can have ends the start in one line."""
        for path, why in (
            (self.folder, f"--takeover {self.folder}: is no socket"),
            (
                self.folder / "none" / "t",
                f"--takeover {self.folder}/none/t: there is no folder {self.folder}/none",
            ),
            ("/" + "x" * 107, f"--takeover '/{'x' * 107}': the name of a socket may have 107 bytes"),
            ("", "--takeover '': must not be empty"),
        ):
            controller = self.start_with_manifests(f"--takeover={path}")
            self.assertEqual(await self.end_of(controller), 1)
            self.assertIn(why.encode(), controller.errors)
            self.assertEqual(controller.errors.count(b"\n"), 1)

    async def test_end(self) -> None:
        """A process that is stopped takes its socket away."""
        controller = await self.serving()
        controller.signal(signal.SIGTERM)
        controller.signal(signal.SIGQUIT)
        self.assertEqual(await self.end_of(controller), 0)
        self.assertFalse(self.path.exists())


class InPlaceTests(TakeoverCase):
    """``SIGUSR2``."""

    async def successor(self, old: ControllerProcess) -> int:
        """Have a controller follow itself; return the process id of the new one."""
        old.signal(signal.SIGUSR2)
        await self.taken_over(old)
        found = re.search(rb"Process (\d+) has taken over", old.output)
        assert found is not None
        return int(found[1])

    async def until_gone(self, pid: int) -> None:
        """Wait for the end of a process that is no child of ours."""

        def is_gone() -> bool:
            try:
                with open(f"/proc/{pid}/stat", "rb") as file:
                    return file.read().rpartition(b")")[2].split()[0] == b"Z"
            except OSError:
                return True

        await self.until(is_gone)

    async def test_same_again(self) -> None:
        """The same program with the same options takes over, as often as it is asked to, and can be stopped as ever."""
        old = await self.serving()
        pid = await self.successor(old)
        self.assertEqual(await self.get(self.http), (200, b"ok"))
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            self.assertIn(b"--takeover=%b" % str(self.path).encode(), file.read().split(b"\0"))
        with open(f"/proc/{pid}/environ", "rb") as file:
            self.assertIn(b"TXINGRESS_TAKEOVER=", file.read())
        os.kill(pid, signal.SIGUSR2)
        await self.until_gone(pid)
        [last] = self.successors()
        self.assertEqual(await self.get(self.http), (200, b"ok"))
        os.kill(last, signal.SIGTERM)
        os.kill(last, signal.SIGQUIT)
        await self.until_gone(last)
        self.assertFalse(self.path.exists())

    async def test_main_process(self) -> None:
        """The service manager is told by the old process which one is the main one from now on, and not that anything stops."""
        manager = FakeServiceManager(abstract_name("takeover"))
        self.addCleanup(manager.close)
        # The kernel keeps ten messages, which is five seconds of signs of life.
        reading = LoopingCall(manager.read)
        reading.start(0.05)
        self.addCleanup(reading.stop)
        self.environment = {"NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "1000000"}
        old = await self.serving()
        pid = await self.successor(old)
        manager.read()
        told = [(by, fields["MAINPID"]) for by, fields in manager.messages if "MAINPID" in fields]
        self.assertEqual(told, [(old.pid, str(pid))])
        self.assertEqual(manager.said("STOPPING"), [])
        # Nobody else gives signs of life any more.
        already = len(manager.said("WATCHDOG"))
        await self.until(lambda: len(manager.said("WATCHDOG")) > already + 2)
        self.assertEqual({by for by, _ in manager.messages[-3:]}, {pid})

    async def test_without_path(self) -> None:
        """It needs no option."""
        self.options = (self.route(), "--shutdown-delay=60")
        old = self.start(f"--manifests={self.manifests}", *self.options)
        self.chain.append(old)
        await self.until_ready(old)
        pid = await self.successor(old)
        self.assertEqual(await self.get(self.http), (200, b"ok"))
        os.kill(pid, signal.SIGKILL)
        await self.until_gone(pid)

    async def test_new_one_cannot_start(self) -> None:
        """What keeps the new process from starting is in the log of the old one, which serves on."""
        old = await self.serving()
        kept = self.directory / "kept"
        for path, why in (
            (self.manifests, rb"--manifests '[^']*': no such file or directory"),
            (self.access_log, rb"--access-log [^ ]*: Is a directory"),
        ):
            path.rename(kept)
            if path is self.access_log:
                path.mkdir()
            told = old.output.count(b"this one serves on")
            old.signal(signal.SIGUSR2)
            await self.until_told(old, b"this one serves on", told + 1)
            line = [one for one in old.output.splitlines() if b"this one serves on" in one][-1]
            self.assertRegex(line, rb"and this one serves on: " + why)
            if path.exists():
                path.rmdir()
            kept.rename(path)
            await self.until_get((200, b"ok"), self.http)
        pid = await self.successor(old)
        os.kill(pid, signal.SIGKILL)

    async def test_directory_is_gone(self) -> None:
        """A process whose working directory and logs were removed can be followed all the same."""
        self.directory, directory = self.directory / "gone", self.directory
        self.directory.mkdir()
        self.access_log = directory / "logs" / "access.log"
        self.access_log.parent.mkdir()
        old = await self.serving()
        self.access_log.unlink()
        shutil.rmtree(self.directory)
        self.directory.mkdir()
        pid = await self.successor(old)
        self.assertEqual(await self.get(self.http), (200, b"ok"))
        await self.until(self.access_log.exists)
        os.kill(pid, signal.SIGKILL)
