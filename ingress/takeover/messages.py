"""What two processes say to each other in a takeover, as bytes.  Pure.

Each message is a JSON object of its own, and says which version of this language it is in: the other process may be of an
older or a newer release.  Whoever reads a version, or a word, that it does not know, ends the takeover.
"""

import json
from enum import StrEnum
from typing import Any, Final

from ingress.model.frozen import frozen

VERSION: Final = 1
"""To be raised whenever an older process would misunderstand what is said."""

MOST_BYTES: Final = 65536
"""Of one message."""

MOST_SOCKETS: Final = 64
"""How many descriptors go with one message; the kernel takes up to 253 (``SCM_MAX_FD``)."""

_MOST_TEXT: Final = 4096


class Word(StrEnum):
    """What a message is."""

    HELLO = "hello"
    """From the new process; *number* is its process id."""
    SOCKETS = "sockets"
    """Sockets that listen, by *names*: a descriptor comes with each."""
    OFFERED = "offered"
    """All sockets came; *text* is the name by which the old process is a candidate."""
    REFUSED = "refused"
    """The old process serves on, and the new one is to end; *text* says why."""
    SERVING = "serving"
    """The new process accepts connections."""
    YOURS = "yours"
    """The old process reports no more."""
    TOOK = "took"
    """The new process reports: the old one may end."""
    FAILED = "failed"
    """The new process ends; *text* says why."""


@frozen
class Message:
    """One message; which of its parts mean something its *word* says."""

    word: Word
    text: str = ""
    names: tuple[str, ...] = ()
    number: int = 0


class MessageError(Exception):
    """What came is no message of this version; the text says why."""


def encoded(message: Message) -> bytes:
    """Return *message* as bytes; a text that is too long is cut."""
    content = {
        "version": VERSION,
        "word": message.word.value,
        "text": message.text[:_MOST_TEXT],
        "names": list(message.names),
        "number": message.number,
    }
    return json.dumps(content).encode()


def decoded(octets: bytes) -> Message:
    """Return the message that *octets* are; raises ``MessageError``."""
    if len(octets) > MOST_BYTES:
        raise MessageError("a message is too long")
    try:
        content: Any = json.loads(octets)
    except (ValueError, RecursionError):
        raise MessageError("what came is no message of a takeover") from None
    if not isinstance(content, dict):
        raise MessageError("what came is no message of a takeover")
    version = content.get("version")
    if version != VERSION or isinstance(version, bool):
        raise MessageError(
            f"it speaks version {_shown(version)} of takeovers, and this process version {VERSION}"
        )
    try:
        word = Word(str(content.get("word")))
    except ValueError:
        raise MessageError(
            f"it says {_shown(content.get('word'))}, which this process does not know"
        ) from None
    text, names, number = content.get("text", ""), content.get("names", []), content.get("number", 0)
    if not isinstance(text, str) or not isinstance(number, int) or isinstance(number, bool):
        raise MessageError(f"its message {word} cannot be read")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise MessageError(f"its message {word} cannot be read")
    return Message(word, printable(text), tuple(names), number)


def printable(text: str) -> str:
    """Return *text* as one line of bounded length for the log."""
    return " ".join("".join(one if one.isprintable() else " " for one in text[:_MOST_TEXT]).split())


def _shown(value: object) -> str:
    return printable(repr(value))[:40]
