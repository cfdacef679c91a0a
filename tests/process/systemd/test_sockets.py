"""Sockets that somebody opened before the process: which are there, whose they are, and what is wrong with them."""

from __future__ import annotations

import fcntl
import os
import socket
from tempfile import TemporaryDirectory

from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SkipTest, SynchronousTestCase

from ingress.errors import StartError
from ingress.process.systemd.descriptions import AskedSocket, read_handed_over
from ingress.process.systemd.sockets import HandedOver


class ReadTests(SynchronousTestCase):
    """Descriptions."""

    def test_forms(self) -> None:
        """A name, an index, or both; a domain as Twisted has it."""
        for text, asked in (
            ("systemd:name=http", AskedSocket("http", None, None)),
            ("systemd:index=0", AskedSocket(None, 0, None)),
            ("systemd:name=http:index=1", AskedSocket("http", 1, None)),
            ("systemd:domain=INET6:index=12", AskedSocket(None, 12, "INET6")),
            ("systemd:name=a=b:domain=UNIX", AskedSocket("a=b", None, "UNIX")),
        ):
            self.assertEqual(read_handed_over(text), asked, text)

    def test_nonsense(self) -> None:
        """Whatever else is refused, with the form in the message."""
        for text in (
            "systemd:",
            "systemd:http",
            "systemd:domain=INET",
            "systemd:index=-1",
            "systemd:index=²",
            "systemd:index=1000000",
            "systemd:index=",
            "systemd:name=",
            "systemd:name=a:name=b",
            "systemd:fd=3",
            "systemd:domain=INET:index=0:interface=127.0.0.1",
        ):
            with self.assertRaisesRegex(ValueError, "systemd:name=NAME"):
                read_handed_over(text)
        with self.assertRaisesRegex(ValueError, "no domain 'INET4': there are INET, INET6, UNIX"):
            read_handed_over("systemd:domain=INET4:index=0")


class HandedOverCase(SynchronousTestCase):
    """Sockets as a service manager leaves them."""

    def listening(
        self, family: socket.AddressFamily = socket.AF_INET, address: object = ("127.0.0.1", 0)
    ) -> int:
        """Return the descriptor of a new socket that listens."""
        sock = socket.socket(family, socket.SOCK_STREAM)
        sock.bind(address)  # type: ignore[arg-type]
        sock.listen()
        return self.owned(sock)

    def owned(self, sock: socket.socket) -> int:
        """Return the descriptor of *sock*, which ends with the test if nobody has closed it."""
        os.set_inheritable(sock.fileno(), True)
        descriptor = sock.detach()
        self.addCleanup(self.close, descriptor)
        return descriptor

    def close(self, descriptor: int) -> None:
        try:
            os.close(descriptor)
        except OSError:
            pass

    def taken(self, handed_over: HandedOver, description: str) -> socket.socket:
        """Take one that there is; whoever does so closes it."""
        sock = handed_over.take(description)
        assert sock is not None
        return sock

    def refused(self, handed_over: HandedOver, description: str) -> str:
        """Return why one cannot be taken."""
        with self.assertRaises(StartError) as caught:
            handed_over.take(description)
        self.assertNotIn("\n", str(caught.exception))
        return str(caught.exception).removeprefix(f"cannot listen on {description}: ")


class TakeTests(HandedOverCase):
    """Which socket a description stands for."""

    def test_learned(self) -> None:
        """Where a socket listens that the process before had from systemd is known, as if it were handed over here."""
        handed_over = HandedOver()
        handed_over.learn({"systemd:name=web": ("10.0.0.1", 80), "tcp:81": ("", 81)})
        self.assertEqual(handed_over.bound_to("systemd:name=web"), ("10.0.0.1", 80))
        self.assertIsNone(handed_over.bound_to("systemd:name=admin"))

    def test_by_name_and_index(self) -> None:
        """Names and places tell them apart; each is handed on as it is, and gets into no program that is run."""
        web, admin = self.listening(), self.listening()
        handed_over = HandedOver((web, admin), ("web", "admin"))
        bound = handed_over.bound_to("systemd:name=admin")
        for description, descriptor in (("systemd:name=admin", admin), ("systemd:domain=INET:index=0", web)):
            with self.taken(handed_over, description) as sock:
                self.assertEqual((sock.fileno(), sock.getblocking()), (descriptor, False))
                self.assertEqual(handed_over.bound_to(description), sock.getsockname())
                self.assertFalse(sock.get_inheritable())
        # Also when its number is that of something else by now.
        self.assertEqual(handed_over.bound_to("systemd:name=admin"), bound)

    def test_others(self) -> None:
        """A description of any other kind stands for none."""
        handed_over = HandedOver((self.listening(),))
        self.assertIsNone(handed_over.take("tcp:80"))
        self.assertIsNone(handed_over.bound_to("systemd:name=none"))

    def test_kinds(self) -> None:
        """IPv6 and UNIX sockets are taken, too; the domain may be left out, and must be right where it is said."""
        with TemporaryDirectory() as directory:
            handed_over = HandedOver(
                (self.listening(socket.AF_UNIX, f"{directory}/s"), self.listening()), ("local", "web")
            )
            self.assertIsNone(handed_over.bound_to("systemd:name=local"))
            self.assertEqual(
                self.refused(handed_over, "systemd:domain=INET:name=local"),
                "socket 'local' is of UNIX, not of INET: leave the domain out",
            )
            with self.taken(handed_over, "systemd:domain=UNIX:name=local") as sock:
                self.assertEqual(sock.family, socket.AF_UNIX)
        try:
            six = self.listening(socket.AF_INET6, ("::1", 0))
        except OSError as error:
            raise SkipTest(f"there is no IPv6 here: {error}") from None
        handed_over = HandedOver((six,))
        self.assertEqual((handed_over.bound_to("systemd:index=0") or ("",))[0], "::1")
        self.taken(handed_over, "systemd:index=0").close()

    def test_same_name(self) -> None:
        """A unit with two addresses gives both the same name: there the index counts among these."""
        first, second = self.listening(), self.listening()
        handed_over = HandedOver((self.listening(), first, second), ("admin", "web", "web"))
        self.assertIn("2 sockets have this name", self.refused(handed_over, "systemd:name=web"))
        with self.taken(handed_over, "systemd:name=web:index=1") as sock:
            self.assertEqual(sock.fileno(), second)
        self.assertIn("no socket 2: 2 were", self.refused(handed_over, "systemd:name=web:index=2"))

    def test_unnamed(self) -> None:
        """Sockets without names are those of an index, as ``systemd-socket-activate`` hands them over."""
        handed_over = HandedOver((self.listening(),))
        self.assertIn(
            "no socket of this name was handed over; there are unknown",
            self.refused(handed_over, "systemd:name=web"),
        )
        self.taken(handed_over, "systemd:index=0").close()

    def test_twice(self) -> None:
        """Two listeners cannot have the same socket."""
        handed_over = HandedOver((self.listening(),), ("web",))
        self.taken(handed_over, "systemd:name=web").close()
        self.assertEqual(
            self.refused(handed_over, "systemd:index=0"),
            "socket 0 is listened on as systemd:name=web already",
        )

    def test_no_listener(self) -> None:
        """What is no stream, does not listen, or is no socket at all, is named as that, and stays as it is."""
        datagrams = self.owned(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        connection = self.owned(socket.socket())
        file = os.open(os.devnull, os.O_RDONLY)
        self.addCleanup(os.close, file)
        handed_over = HandedOver((datagrams, connection, file))
        for index, why in enumerate(("not one for streams", "Accept=yes", "is no socket: ")):
            self.assertIn(why, self.refused(handed_over, f"systemd:index={index}"))
        for descriptor in (datagrams, connection, file):
            fcntl.fcntl(descriptor, fcntl.F_GETFD)

    def test_unused(self) -> None:
        """What no option names is told of: who connects there would wait for nothing."""
        handed_over = HandedOver((self.listening(), self.listening()), ("web", "metrics"))
        self.taken(handed_over, "systemd:name=web").close()
        with capturedLogs() as events:
            handed_over.tell_unused()
        self.assertEqual(
            [formatEvent(event) for event in events],
            [
                "1 socket was handed over and no option names them: metrics; who connects there is not answered"
            ],
        )


class EnvironmentTests(HandedOverCase):
    """``LISTEN_FDS`` and its like."""

    def test_taken(self) -> None:
        """All of it is taken out of the environment, so that no child believes that it was meant."""
        environment = {
            "LISTEN_FDS": "1",
            "LISTEN_PID": "7",
            "LISTEN_FDNAMES": "web",
            "LISTEN_PIDFDID": "99",
            "HOME": "/",
        }
        handed_over = HandedOver.taken_from(environment, 7, self.listening())
        self.assertEqual(environment, {"HOME": "/"})
        self.taken(handed_over, "systemd:name=web").close()

    def test_of_others(self) -> None:
        """What was meant for another process, is no number or is not there, is not touched, and the line says which."""
        descriptor = self.listening()
        for environment, why in (
            ({}, "no socket was handed over to this process"),
            ({"LISTEN_FDS": "0", "LISTEN_PID": "7"}, "none of LISTEN_FDS=0 is open"),
            ({"LISTEN_FDS": "1", "LISTEN_PID": "8"}, "are for process '8', and this is 7"),
            ({"LISTEN_FDS": "1"}, "are for process '', and this is 7"),
            ({"LISTEN_FDS": "-1", "LISTEN_PID": "7"}, "LISTEN_FDS='-1' is no number of sockets"),
            ({"LISTEN_FDS": "9" * 4000, "LISTEN_PID": "7"}, "is no number of sockets"),
        ):
            left = dict(environment)
            handed_over = HandedOver.taken_from(left, 7, descriptor)
            self.assertEqual(left, {})
            self.assertIn(why, self.refused(handed_over, "systemd:index=0"))
            self.assertTrue(os.get_inheritable(descriptor))

    def test_more_than_there_are(self) -> None:
        """A number far beyond what is open costs nothing: it ends where nothing is open any more."""
        top = fcntl.fcntl(self.listening(), fcntl.F_DUPFD, 600)
        self.addCleanup(self.close, top)
        environment = {"LISTEN_FDS": "999999999", "LISTEN_PID": "7"}
        handed_over = HandedOver.taken_from(environment, 7, top)
        self.taken(handed_over, "systemd:index=0").close()
        self.assertIn("1 was handed over", self.refused(handed_over, "systemd:index=1"))
