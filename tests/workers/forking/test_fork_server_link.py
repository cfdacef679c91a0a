"""Who kills a worker: the fork server that made it, or the parent where that is gone, or hangs."""

import os
import signal

from twisted.internet.error import ConnectionDone
from twisted.internet.testing import MemoryReactorClock, StringTransport
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from ingress.workers.feed.feeding import Feed
from ingress.workers.feed.follower import Follower
from ingress.workers.forking.fork_server_link import ForkServerLink
from tests.workers.sent import many_hosts


class KillTests(SynchronousTestCase):
    """A fork server that was stopped, and somebody who stands for a worker."""

    def test_stopped(self) -> None:
        """Once the fork server is killed, since it hangs, the parent does that by the process id, without waiting for its end."""
        clock = MemoryReactorClock()
        link = ForkServerLink(
            clock, Feed(clock), lambda: None, lambda *_: None, lambda *_: None, lambda: None
        )
        link.prepare(lambda *_: None, Follower(), lambda number: False)
        # In memory, so that what it is asked for goes nowhere, as if it read nothing.
        link._channel.makeConnection(StringTransport())
        pid = link.pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        worker = os.fork()
        if not worker:
            signal.alarm(60)
            signal.pause()
            os._exit(0)
        link.kill(1, worker)
        self.assertEqual(os.waitpid(worker, os.WNOHANG), (0, 0))
        link.kill_itself()
        link.kill(1, worker)
        self.assertEqual([os.waitpid(one, 0)[1] for one in (worker, pid)], [signal.SIGKILL] * 2)


class EndTests(SynchronousTestCase):
    """A fork server that ended."""

    def test_follows_no_more(self) -> None:
        """Nothing is kept any more for the sake of what it had."""
        clock = MemoryReactorClock()
        feed = Feed(clock)
        feed.publish(many_hosts(1, "/"))
        told: list[str] = []
        link = ForkServerLink(
            clock, feed, lambda: None, lambda *_: None, lambda *_: None, lambda: told.append("gone")
        )
        link.prepare(lambda *_: None, Follower(), lambda number: False)
        assert link._made is not None
        pid, channel = link._made
        link.start()
        link._channel.makeConnection(StringTransport())
        link.advance()
        self.assertEqual(feed._followers, {0: 1, 1: 1})
        channel.close()
        os.kill(pid, signal.SIGKILL)
        link._channel.connectionLost(Failure(ConnectionDone()))
        self.assertEqual((feed._followers, told), ({}, ["gone"]))
        link.advance()
        self.assertEqual(feed._followers, {})
        self.assertIsNone(link.has)
        while clock.getDelayedCalls():
            clock.advance(0.01)
