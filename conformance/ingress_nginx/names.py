"""The resolver of both controllers: names of the cases' Services, and nothing else.  Source: RFC 1035, section 4."""

import socket
import struct
from collections.abc import Mapping
from ipaddress import IPv4Address
from threading import Thread

PORT = 53
TTL_SECONDS = 1
HEAD_BYTES = 12
TYPE_A = 1
ANSWER, RECURSION, NO_NAME = 0x8480, 0x0080, 3


def question_of(message: bytes) -> tuple[str, int, int]:
    """The name and the type that a question asks for, and where it ends; raises ValueError."""
    labels, at = [], HEAD_BYTES
    while at < len(message) and (length := message[at]):
        labels.append(message[at + 1 : at + 1 + length].decode("latin-1"))
        at += length + 1
    if at + 5 > len(message):
        raise ValueError("a question that is cut")
    return ".".join(labels).lower(), int(struct.unpack("!H", message[at + 1 : at + 3])[0]), at + 5


def answer_to(message: bytes, addresses: Mapping[str, str]) -> bytes | None:
    """The answer to a question, or None for what is none."""
    if len(message) < HEAD_BYTES or message[2] & 0x80:
        return None
    try:
        name, kind, end = question_of(message)
    except ValueError:
        return None
    address = addresses.get(name)
    flags = ANSWER | (0 if address else NO_NAME)
    found = address if address and kind == TYPE_A else None
    head = message[:2] + struct.pack("!HHHHH", flags, 1, 1 if found else 0, 0, 0)
    record = (
        b"\xc0\x0c" + struct.pack("!HHIH", TYPE_A, 1, TTL_SECONDS, 4) + IPv4Address(found).packed
        if found
        else b""
    )
    return head + message[HEAD_BYTES:end] + record


def serve(address: str, addresses: Mapping[str, str]) -> None:
    """Answer from now on, in a thread; *addresses* may grow meanwhile."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    listening.bind((address, PORT))

    def answer() -> None:
        while True:
            message, client = listening.recvfrom(65_535)
            if said := answer_to(message, addresses):
                listening.sendto(said, client)

    Thread(target=answer, daemon=True).start()
