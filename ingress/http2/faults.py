"""What ends a stream or a whole connection, and the codes that say so (RFC 9113 section 7)."""

from enum import IntEnum


class ErrorCode(IntEnum):
    """Why a stream or a connection ends."""

    NO_ERROR = 0x0
    PROTOCOL_ERROR = 0x1
    INTERNAL_ERROR = 0x2
    FLOW_CONTROL_ERROR = 0x3
    SETTINGS_TIMEOUT = 0x4
    STREAM_CLOSED = 0x5
    FRAME_SIZE_ERROR = 0x6
    REFUSED_STREAM = 0x7
    CANCEL = 0x8
    COMPRESSION_ERROR = 0x9
    CONNECT_ERROR = 0xA
    ENHANCE_YOUR_CALM = 0xB
    INADEQUATE_SECURITY = 0xC
    HTTP_1_1_REQUIRED = 0xD


def name_of_code(code: int) -> str:
    """Return what *code*, which a peer may have made up, is called."""
    try:
        return ErrorCode(code).name
    except ValueError:
        return f"code {code}"


class ConnectionFault(Exception):  # noqa: N818 - RFC 9113 calls an error what this causes
    """Nothing of this connection can be relied on any more (section 5.4.1)."""

    def __init__(self, code: ErrorCode, why: str) -> None:
        super().__init__(why)
        self.code = code


class StreamFault(Exception):  # noqa: N818
    """One stream cannot go on; the others can (section 5.4.2)."""

    def __init__(self, code: ErrorCode, why: str) -> None:
        super().__init__(why)
        self.code = code


class Malformed(StreamFault):
    """A message that must be neither answered nor passed on as if it were one (section 8.1.1)."""

    def __init__(self, why: str) -> None:
        super().__init__(ErrorCode.PROTOCOL_ERROR, why)
