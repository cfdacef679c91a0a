"""What a process that serves does with one that wants to take over."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.takeover.giving import HELLO_SECONDS, READY_SECONDS, TAKE_SECONDS, Deed, Giving, State, Step
from ingress.takeover.messages import Message, Word

HELLO, SERVING, TOOK = (Message(word) for word in (Word.HELLO, Word.SERVING, Word.TOOK))


def deeds(steps: tuple[Step, ...]) -> list[Deed]:
    return [step.deed for step in steps]


class GivingTests(SynchronousTestCase):
    """From the first word to the end."""

    def at(self, state: State) -> Giving:
        """Return a takeover that has come so far."""
        giving = Giving()
        if state is State.ASKED:
            return giving
        giving.heard(HELLO)
        if state is not State.OFFERED:
            giving.heard(SERVING)
        if state in (State.HANDED, State.LEFT):
            giving.held()
        if state is State.LEFT:
            giving.heard(TOOK)
        self.assertIs(giving.state, state)
        return giving

    def test_in_order(self) -> None:
        """Sockets are offered, reporting is held, then handed over; only then the process leaves."""
        giving = Giving()
        self.assertEqual(deeds(giving.heard(HELLO)), [Deed.OFFER])
        self.assertEqual(deeds(giving.heard(SERVING)), [Deed.HOLD])
        self.assertEqual(deeds(giving.held()), [Deed.HAND_OVER])
        self.assertEqual(deeds(giving.heard(TOOK)), [Deed.END, Deed.LEAVE])
        self.assertEqual(giving.ended(), ())
        self.assertIs(giving.state, State.LEFT)

    def test_gone(self) -> None:
        """Whenever the new process is gone before it took, this one serves on; it reports again if that was held."""
        for state, goes_on in (
            (State.ASKED, False),
            (State.OFFERED, False),
            (State.HOLDING, True),
            (State.HANDED, True),
        ):
            giving = self.at(state)
            steps = giving.ended("it was killed")
            self.assertIn(Step(Deed.TELL, "it was killed"), steps)
            self.assertEqual(Deed.GO_ON in deeds(steps), goes_on, state)
            self.assertNotIn(Deed.LEAVE, deeds(steps))
            self.assertEqual(giving.ended(), ())
            self.assertEqual(giving.held(), ())
            self.assertEqual(giving.heard(TOOK), ())

    def test_failed(self) -> None:
        """The reason that a new process gives is told."""
        for state in (State.ASKED, State.OFFERED, State.HOLDING, State.HANDED):
            steps = self.at(state).heard(Message(Word.FAILED, "cannot listen on tcp:81"))
            self.assertIn(Step(Deed.TELL, "cannot listen on tcp:81"), steps)

    def test_refused(self) -> None:
        """A process that cannot be taken over says why, when asked and when the other one serves."""
        for state, message in ((State.ASKED, HELLO), (State.OFFERED, SERVING)):
            giving = self.at(state)
            steps = giving.heard(message, "it is stopping")
            self.assertEqual(deeds(steps), [Deed.REFUSE, Deed.TELL])
            self.assertEqual(steps[0].why, "it is stopping")

    def test_late(self) -> None:
        """Who says nothing, or is not ready, in time is refused; who may report any moment is killed instead."""
        for state, seconds in ((State.ASKED, HELLO_SECONDS), (State.OFFERED, READY_SECONDS)):
            giving = self.at(state)
            self.assertEqual(giving.seconds, seconds)
            self.assertEqual(deeds(giving.late()), [Deed.REFUSE, Deed.TELL])
        giving = self.at(State.HOLDING)
        self.assertIsNone(giving.seconds)
        self.assertEqual(giving.late(), ())
        giving = self.at(State.HANDED)
        self.assertEqual(giving.seconds, TAKE_SECONDS)
        self.assertEqual(deeds(giving.late()), [Deed.KILL])
        # Nothing goes on before it is known to be gone.
        self.assertIs(giving.state, State.HANDED)
        self.assertIn(Deed.GO_ON, deeds(giving.ended()))

    def test_misunderstood(self) -> None:
        """What cannot be understood ends a takeover, and harms nothing."""
        for state in (State.ASKED, State.OFFERED, State.HOLDING):
            self.assertIn(Step(Deed.REFUSE, "what"), self.at(state).misunderstood("what"))
        self.assertEqual(deeds(self.at(State.HANDED).misunderstood("what")), [Deed.KILL])
        self.assertEqual(self.at(State.LEFT).misunderstood("what"), ())

    def test_out_of_order(self) -> None:
        """A word that does not belong where it is said never makes a process leave."""
        for state in (State.ASKED, State.OFFERED, State.HOLDING, State.HANDED, State.LEFT):
            for word in Word:
                steps = self.at(state).heard(Message(word))
                if (state, word) != (State.HANDED, Word.TOOK):
                    self.assertNotIn(Deed.LEAVE, deeds(steps), (state, word))
