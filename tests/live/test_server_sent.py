"""Events as they are written, and marks of what somebody has seen."""

import json

from twisted.trial.unittest import SynchronousTestCase

from ingress.live.server_sent import COMMENT, Mark, event, mark_from

HOSTILE = "a\nevent: status\ndata: {}\n\n\r\u2028</script>\ud800é"


class EventTests(SynchronousTestCase):
    """What goes over the wire."""

    def test_event(self) -> None:
        """An event has its name, an id where there is a mark, and JSON on one line."""
        self.assertEqual(event("numbers", {"a": 1}), b'event: numbers\ndata: {"a":1}\n\n')
        self.assertEqual(event("changes", [], Mark("17", 3, 4)), b"event: changes\nid: 17.3.4\ndata: []\n\n")

    def test_hostile(self) -> None:
        """No text breaks out of its event, and half of a character spoils none."""
        octets = event("changes", [{"text": HOSTILE}])
        lines = octets.decode().split("\n")
        self.assertEqual((len(lines), lines[0], lines[2:]), (4, "event: changes", ["", ""]))
        self.assertEqual(
            json.loads(lines[1].removeprefix("data: "))[0]["text"], HOSTILE.replace("\ud800", "?")
        )

    def test_comment(self) -> None:
        """A comment is a line that begins with a colon."""
        self.assertEqual(COMMENT, b":\n\n")


class MarkTests(SynchronousTestCase):
    """Where somebody goes on."""

    def test_read(self) -> None:
        """A mark of this process is read as it was written."""
        self.assertEqual(mark_from(str(Mark("1f", 12, 7)), "1f"), Mark("1f", 12, 7))

    def test_another_life(self) -> None:
        """A mark of another process, whose numbers are others, and any nonsense say that nothing was seen."""
        for text in ("2f.12.7", "", "1f.12", "1f.-1.2", "1f.1.2\n", "1f." + "9" * 99 + ".1", "ü.1.2"):
            self.assertEqual(mark_from(text, "1f"), Mark("1f"), text)
