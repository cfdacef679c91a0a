"""What is made of the calls that a profile function saw."""

from twisted.trial.unittest import SynchronousTestCase

from bench.requests.call_trees import (
    TIMED,
    Call,
    Event,
    calls_of,
    end_of_received,
    end_of_sent,
    entries,
    fewest_agreed,
    made,
    made_by_others,
)


def called(name: str, *inner: list[Event], module: str = "ingress.some") -> list[Event]:
    """Return the events of a call that makes the calls *inner*."""
    return [(module, name), *(event for each in inner for event in each), None]


def turn(*inner: list[Event]) -> list[Event]:
    """Return the events of a turn of a reactor, in which it calls *inner*."""
    return called("doIteration", *inner, module="twisted.internet")


class CallTreeTests(SynchronousTestCase):
    """From events to trees of calls."""

    def test_depths(self) -> None:
        """Each call is one deeper than its caller."""
        calls = calls_of(called("a", called("b", called("c")), called("d")))
        self.assertEqual(
            [(each.name, each.depth) for each in calls], [("a", 0), ("b", 1), ("c", 2), ("d", 1)]
        )

    def test_amid(self) -> None:
        """What began amid calls knows how deep it was by their returns."""
        calls = calls_of([("ingress.some", "late"), None, None, ("ingress.some", "next"), None])
        self.assertEqual([(each.name, each.depth) for each in calls], [("late", 1), ("next", 0)])

    def test_entries(self) -> None:
        """The loop of the reactor is left out, and each call that it makes of ours is a tree of its own."""
        trees = entries(calls_of(turn(called("fileno"), called("doRead", called("work")))))
        self.assertEqual(
            [[(each.name, each.depth) for each in tree] for tree in trees],
            [[("fileno", 0)], [("doRead", 0), ("work", 1)]],
        )

    def test_timed(self) -> None:
        """What a clock calls is left out with all that it brings about, since it belongs to no round."""
        for timed in TIMED:
            trees = entries(calls_of(called(timed, called("flush")) + called("doRead", called("work"))))
            self.assertEqual([tree[0].name for tree in trees], ["doRead"])

    def test_counted(self) -> None:
        """What the reactor calls is not counted, and what others do for us is counted apart."""
        reading = called(
            "doRead", called("work", called("callLater", module="twisted.internet"), called("end"))
        )
        trees = entries(calls_of(turn(called("fileno"), reading)))
        self.assertEqual((made(trees), made_by_others(trees)), (2, 1))

    def test_no_package_of_ours_by_its_beginning(self) -> None:
        """A package whose name begins like ours is another's."""
        self.assertFalse(Call(0, "ingresses.some", "f").is_ours)

    def test_fewest_agreed(self) -> None:
        """The fewest calls that some rounds agree on count, in the round that called the least of others."""
        plain = entries(calls_of(called("read", called("begin"))))
        timer = entries(calls_of(called("read", called("begin"), called("later", module="twisted.internet"))))
        tick = entries(calls_of(called("tick") + called("read", called("begin"))))
        self.assertEqual(fewest_agreed([tick, timer, plain, timer]), (plain, 3))
        self.assertEqual(fewest_agreed([tick, tick, timer, plain, tick, tick, timer]), (plain, 3))
        self.assertEqual(fewest_agreed([tick, tick, timer]), (tick, 2))


class EndOfStreamTests(SynchronousTestCase):
    """Which calls end a stream."""

    def test_sent(self) -> None:
        """Downstream it is what whoever wrote last calls behind that, and nothing that follows elsewhere."""
        head = called(
            "Stream.send_head",
            called("Budget.sent"),
            called("Stream.write", called("EpollSet.mark")),
            called("Stream.ended", called("Session.rest")),
        )
        trees = entries(calls_of(called("respond", head, called("tell_if_full")) + called("end_turn")))
        self.assertEqual([each.name for each in end_of_sent(trees)], ["Stream.ended", "Session.rest"])

    def test_nothing_sent(self) -> None:
        """Where nothing was written, no stream ended."""
        self.assertEqual(end_of_sent(entries(calls_of(called("read")))), ())

    def test_received(self) -> None:
        """Upstream it is what the last of an answer brings about."""
        ended = called("Client.answer_ended", called("Budget.ended_well"))
        trees = entries(calls_of(called("read", called("Stream.body"), ended, called("deliver"))))
        self.assertEqual(
            [each.name for each in end_of_received(trees)], ["Client.answer_ended", "Budget.ended_well"]
        )
