"""What two processes say, as bytes, also where the other one is of another release, or no controller at all."""

import json

from twisted.trial.unittest import SynchronousTestCase

from ingress.takeover.messages import MOST_BYTES, VERSION, Message, MessageError, Word, decoded, encoded


class MessageTests(SynchronousTestCase):
    """There and back."""

    def refused(self, octets: bytes) -> str:
        """Return why *octets* are no message."""
        with self.assertRaises(MessageError) as caught:
            decoded(octets)
        return str(caught.exception)

    def test_there_and_back(self) -> None:
        """What was said is what is heard."""
        for message in (
            Message(Word.HELLO, number=4711),
            Message(Word.SOCKETS, names=("tcp:80", "tcp:443:interface=\\:\\:1")),
            Message(Word.OFFERED, "host_0123"),
            Message(Word.TOOK),
        ):
            self.assertEqual(decoded(encoded(message)), message)

    def test_other_versions(self) -> None:
        """A message of another version, and a word that is not known, are refused by name."""
        content = {"version": VERSION + 1, "word": "hello"}
        self.assertEqual(
            self.refused(json.dumps(content).encode()),
            "it speaks version 2 of takeovers, and this process version 1",
        )
        content = {"version": VERSION, "word": "lend"}
        self.assertEqual(
            self.refused(json.dumps(content).encode()), "it says 'lend', which this process does not know"
        )

    def test_what_a_later_release_adds(self) -> None:
        """Further parts of a message of this version are passed over."""
        content = {"version": VERSION, "word": "took", "since": 1.5}
        self.assertEqual(decoded(json.dumps(content).encode()), Message(Word.TOOK))

    def test_hostile(self) -> None:
        """What is no message is refused in one line, whatever it is."""
        for octets in (
            b"",
            b"\xff\xfe",
            b"[]",
            b"null",
            b"[" * 60_000,
            b'{"version": 1}',
            b'{"version": true, "word": "took"}',
            b'{"version": 1, "word": ["took"]}',
            b'{"version": 1, "word": "took", "text": 1}',
            b'{"version": 1, "word": "took", "names": [1]}',
            b'{"version": 1, "word": "took", "names": "x"}',
            b'{"version": 1, "word": "took", "number": "1"}',
            b'{"version": "\\u0007\\n", "word": "took"}',
            b" " * (MOST_BYTES + 1),
        ):
            why = self.refused(octets)
            self.assertTrue(why.isprintable(), why)
            self.assertLess(len(why), 120)

    def test_text_is_one_line(self) -> None:
        """A reason goes into the log as one line, however it was written, and is bounded."""
        message = decoded(encoded(Message(Word.FAILED, "one\ntwo\x1b[31m\x00three" + "x" * 100_000)))
        self.assertTrue(message.text.startswith("one two [31m three"))
        self.assertLessEqual(len(message.text), 4096)
