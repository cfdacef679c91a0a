"""What stands for CoreDNS in the official tests."""

from twisted.trial.unittest import SynchronousTestCase

from conformance.dns import answer_to

QUESTION = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x03foo\x03bar\x03com\x00\x00\x01\x00\x01"


class AnswerTests(SynchronousTestCase):
    """Answers to questions, and to nothing else."""

    def test_question(self) -> None:
        """The answer has the id and the question, and says that it is one."""
        answer = answer_to(QUESTION)
        assert answer is not None
        self.assertEqual((answer[:2], answer[2], answer[3:]), (QUESTION[:2], 0x81, QUESTION[3:]))

    def test_no_question(self) -> None:
        """An answer gets none, nor does what is no message: two of these would never end."""
        answer = answer_to(QUESTION)
        assert answer is not None
        for message in (answer, b"", QUESTION[:11]):
            self.assertIsNone(answer_to(message))
