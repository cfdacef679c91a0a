"""A short run of the made-up sessions, what they reach, and that they find what is wrong."""

from __future__ import annotations

from random import Random

from twisted.trial.unittest import SynchronousTestCase

from ingress.http2.connection import Connection
from ingress.http2.incoming import Incoming
from ingress.http2.stream import Stream
from tests.corpus.judge import WrongError
from tests.fakes.http2.frames import PREFACE, block, headers, request_fields, settings
from tests.fakes.plain_code import need_plain_code
from tests.fuzz.relayed_sessions import fuzz_relayed
from tests.fuzz.sessions import Act, Answer, Say, acts_of, fuzz_session, play
from tests.proxy.h2_playing import Http2Stage

COUNT = 100


class SessionTests(SynchronousTestCase):
    """The first sessions."""

    def test_first(self) -> None:
        """They go well however they are cut; most stay alive, some end, and most requests are answered."""
        told = [fuzz_session(number) for number in range(COUNT)]
        alive = sum(each.is_alive for each in told)
        self.assertGreaterEqual(alive, COUNT * 0.4)
        self.assertLessEqual(alive, COUNT * 0.9)
        self.assertGreater(sum(each.answers for each in told), 2 * COUNT)
        self.assertGreater(sum(len(each.upstreams) for each in told), 2 * COUNT)
        statuses = {status for each in told for status in each.ended}
        self.assertGreaterEqual(statuses, {200, 204, 499, 502})

    def test_relayed(self) -> None:
        """They go well with endpoints that speak HTTP/2; most requests are answered there, too."""
        told = [fuzz_relayed(number) for number in range(COUNT)]
        self.assertGreaterEqual(sum(each.is_alive for each in told), COUNT * 0.4)
        self.assertGreater(sum(each.answers for each in told), 2 * COUNT)
        statuses = {status for each in told for status in each.ended}
        self.assertGreaterEqual(statuses, {200, 204, 499, 502})

    def test_same_again(self) -> None:
        """A number stands for one session."""
        self.assertEqual(acts_of(5), acts_of(5))
        self.assertNotEqual(acts_of(5), acts_of(6))
        self.assertEqual(play(5), play(5))

    def test_every_kind(self) -> None:
        """Sessions have acts of every kind: credit, settings, and answers of each sort."""
        acts: list[Act] = [act for number in range(COUNT) for act in acts_of(number)]
        said = [act for act in acts if isinstance(act, Say)]
        kinds = {act.octets[3] for act in said if len(act.octets) >= 9}
        self.assertGreaterEqual(kinds, set(range(10)))
        self.assertTrue(any(act.windows for act in said) and any(act.initial is not None for act in said))
        self.assertEqual(len({act.what for act in acts if isinstance(act, Answer)}), 11)

    def test_cuts_differ(self) -> None:
        """Pieces are really cut, and come to the same."""
        self.assertEqual(play(7), play(7, Random(1)))


class BeginningTests(SynchronousTestCase):
    """The beginning, which the sessions have in common."""

    def test_cut(self) -> None:
        """Preface, settings and a first request may be cut anywhere."""
        fields = headers(1, block(request_fields()))
        octets = PREFACE + settings((3, 100)) + fields
        for place in range(1, len(octets)):
            stage = Http2Stage(on_epoll=bool(place % 2))
            client = stage.connect()
            client.send(octets[:place])
            client.send(octets[place:])
            client.look()
            self.assertEqual(client.statuses(1), [200], place)


class FindingTests(SynchronousTestCase):
    """What is wrong is found."""

    def setUp(self) -> None:
        need_plain_code()

    def find(self) -> None:
        """Check that one of the first sessions tells of something."""
        with self.assertRaises(WrongError):
            for number in range(COUNT):
                fuzz_session(number)

    def test_lost_credit(self) -> None:
        """Credit that is not given back."""
        self.patch(Incoming, "give_back", lambda incoming, count: None)
        self.find()

    def test_wrong_window(self) -> None:
        """A window that does not follow the settings."""
        usual = Connection._set

        def set_(connection: Connection[Stream, object, object], name: int, value: int) -> None:
            if name != 4:
                usual(connection, name, value)

        self.patch(Connection, "_set", set_)
        self.find()

    def test_left_behind(self) -> None:
        """An exchange that nobody ends."""
        self.patch(Stream, "forget_unsent", lambda stream: 1 / 0)
        self.find()
        self.flushLoggedErrors(ZeroDivisionError)

    def test_cut(self) -> None:
        """A reader that minds where packets end."""
        usual = Connection.receive

        def receive(connection: Connection[Stream, object, object], octets: bytes) -> None:
            if len(octets) != 5:
                usual(connection, octets)

        self.patch(Connection, "receive", receive)
        self.find()
