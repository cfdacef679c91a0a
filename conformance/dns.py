"""What runs for the image of CoreDNS: answers each question of DNS with no record, as far as the suite asks for one.

A program of its own, which needs nothing but Python.  Source: RFC 1035, section 4.1.1 (the head of a message).
"""

import socket

PORT = 53
LARGEST = 65_535
HEAD_BYTES = 12
IS_ANSWER = 0x80
"""QR, in the third octet."""


def answer_to(question: bytes) -> bytes | None:
    """The same message as an answer, which has nothing to say; None for what is no question, since two of these would never end."""
    if len(question) < HEAD_BYTES or question[2] & IS_ANSWER:
        return None
    return question[:2] + bytes((question[2] | IS_ANSWER,)) + question[3:]


def main() -> None:
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        sock.bind(("::", PORT))
        while True:
            question, client = sock.recvfrom(LARGEST)
            answer = answer_to(question)
            if answer is not None:
                sock.sendto(answer, client)


if __name__ == "__main__":
    main()
