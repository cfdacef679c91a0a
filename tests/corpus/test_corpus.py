"""The corpus in memory, on both kinds of transport: each case goes as it must and harms no other."""

from twisted.trial.unittest import SynchronousTestCase

from tests.corpus.judge import WrongError, judge
from tests.corpus.memory import Play
from tests.corpus.topics import EVERY, TOPICS


class CorpusTests(SynchronousTestCase):
    """Every case, in one piece."""

    def play(self, on_epoll: bool) -> None:
        """Play all cases; tell of all that went wrong, not of the first alone."""
        wrong = []
        for name, case in EVERY:
            play = Play(on_epoll)
            try:
                judge(case, play.run(case, [case.sent]))
            except WrongError as error:
                wrong.append(f"{name}: {error}")
            if left := play.end():
                wrong.append(f"{name}: still open: {left}")
        self.assertEqual(wrong, [], f"{len(wrong)} cases:\n" + "\n".join(wrong))

    def test_on_twisted(self) -> None:
        """Every case goes as it must on Twisted's transports."""
        self.play(on_epoll=False)

    def test_on_epoll(self) -> None:
        """Every case goes as it must on those of the epoll set."""
        self.play(on_epoll=True)


class ListTests(SynchronousTestCase):
    """The corpus itself."""

    def test_names(self) -> None:
        """No two cases have one name or say the same."""
        self.assertEqual(len({name for name, _ in EVERY}), len(EVERY))
        for topic, cases in TOPICS.items():
            self.assertGreater(len(cases), 15, topic)
        self.assertGreater(len(EVERY), 230)
