"""What a new process does with what the one that serves says."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.takeover.messages import Message, Word
from ingress.takeover.taking import ANSWER_SECONDS, Deed, State, Step, Taking

SOCKETS, YOURS = Message(Word.SOCKETS), Message(Word.YOURS)
OFFERED = Message(Word.OFFERED, "host_0123")


def deeds(steps: tuple[Step, ...]) -> list[Deed]:
    return [step.deed for step in steps]


class TakingTests(SynchronousTestCase):
    """From hello to being alone."""

    def at(self, state: State) -> Taking:
        """Return a takeover that has come so far."""
        taking = Taking()
        if state is not State.ASKING:
            taking.heard(SOCKETS)
            taking.heard(OFFERED)
        if state in (State.SERVING, State.ALONE):
            taking.ready()
        if state is State.ALONE:
            taking.heard(YOURS)
        self.assertIs(taking.state, state)
        return taking

    def test_in_order(self) -> None:
        """It begins with the sockets, tells when it serves, and reports under the same name only when the other does not."""
        taking = Taking()
        self.assertEqual(taking.heard(SOCKETS), ())
        self.assertEqual(deeds(taking.heard(OFFERED)), [Deed.BEGIN])
        self.assertEqual(taking.identity, "host_0123")
        self.assertEqual(deeds(taking.ready()), [Deed.SAY_SERVING])
        self.assertTrue(taking.is_following)
        self.assertEqual(deeds(taking.heard(YOURS)), [Deed.REPORT, Deed.SAY_TOOK])
        self.assertFalse(taking.is_following)
        self.assertEqual(taking.ended(), ())

    def test_refused(self) -> None:
        """A refusal ends the new process, however far it is: the other one serves on."""
        for state in (State.ASKING, State.STARTING, State.SERVING):
            taking = self.at(state)
            steps = taking.heard(Message(Word.REFUSED, "a takeover is under way"))
            self.assertEqual(steps, (Step(Deed.FAIL, "a takeover is under way"),))
            self.assertEqual(taking.ended(), ())
            self.assertEqual(taking.ready(), ())

    def test_gone(self) -> None:
        """A new process whose old one is gone goes on by itself, and reports once it serves."""
        self.assertEqual(deeds(self.at(State.ASKING).ended()), [Deed.TELL, Deed.BEGIN])
        starting = self.at(State.STARTING)
        self.assertEqual(deeds(starting.ended()), [Deed.TELL, Deed.SHOW])
        self.assertEqual(deeds(starting.ready()), [Deed.REPORT])
        self.assertEqual(deeds(self.at(State.SERVING).ended()), [Deed.TELL, Deed.REPORT])

    def test_gone_before_it_offered(self) -> None:
        """Where nothing was offered it reports as itself, once it serves."""
        taking = self.at(State.ASKING)
        taking.ended()
        self.assertEqual(deeds(taking.ready()), [Deed.REPORT])
        self.assertEqual(taking.identity, "")

    def test_late(self) -> None:
        """An old process that offers nothing in time is left alone; one that does not hand over is waited for."""
        taking = self.at(State.ASKING)
        self.assertEqual(taking.seconds, ANSWER_SECONDS)
        self.assertEqual(deeds(taking.late()), [Deed.FAIL])
        self.assertIsNone(self.at(State.STARTING).seconds)
        taking = self.at(State.SERVING)
        self.assertEqual(deeds(taking.late()), [Deed.TELL])
        self.assertEqual(deeds(taking.heard(YOURS)), [Deed.REPORT, Deed.SAY_TOOK])

    def test_out_of_order(self) -> None:
        """No word makes it report before the other has said that it does not."""
        for state in (State.ASKING, State.STARTING, State.SERVING, State.ALONE):
            for word in Word:
                steps = self.at(state).heard(Message(word))
                if (state, word) != (State.SERVING, Word.YOURS):
                    self.assertNotIn(Deed.REPORT, deeds(steps), (state, word))
