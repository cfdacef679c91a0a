"""FastCGI as an application sees it: what it says, right or wrong, and a reader of its own for what it is asked."""

from __future__ import annotations

from attrs import Factory, define

END_REQUEST, STDOUT, STDERR = 3, 6, 7
BEGIN_REQUEST, ABORT_REQUEST, PARAMS, STDIN = 1, 2, 4, 5


def record(kind: int, content: bytes = b"", request: int = 1, padding: int = 0, version: int = 1) -> bytes:
    """Return one record, whatever it says."""
    header = bytes((version, kind)) + request.to_bytes(2, "big") + len(content).to_bytes(2, "big")
    return header + bytes((padding, 0)) + content + b"p" * padding


def stdout(content: bytes, padding: int = 0) -> bytes:
    """Say *content*."""
    return record(STDOUT, content, padding=padding)


def stderr(content: bytes) -> bytes:
    """Complain."""
    return record(STDERR, content)


def end(protocol_status: int = 0, app_status: int = 0, request: int = 1) -> bytes:
    """End the request."""
    return record(END_REQUEST, app_status.to_bytes(4, "big") + bytes((protocol_status, 0, 0, 0)), request)


def answered(body: bytes = b"ok", head: bytes = b"Content-Type: text/plain\r\n") -> bytes:
    """Return a whole answer."""
    return stdout(head + b"\r\n" + body) + stdout(b"") + end()


OK = answered()


@define
class Asked:
    """One request, as far as it came."""

    role: int = 0
    keeps: bool = False
    params: dict[bytes, bytes] = Factory(dict)
    """Once all of them came."""
    body: bytes = b""
    has_params: bool = False
    is_whole: bool = False
    is_aborted: bool = False


def asked(octets: bytes) -> list[Asked]:
    """Read the requests in *octets*; raises AssertionError for what the specification does not allow."""
    found: list[Asked] = []
    params = b""
    at = 0
    while len(octets) - at >= 8:
        version, kind = octets[at], octets[at + 1]
        request, size = (
            int.from_bytes(octets[at + 2 : at + 4], "big"),
            int.from_bytes(octets[at + 4 : at + 6], "big"),
        )
        padding = octets[at + 6]
        if len(octets) - at < 8 + size + padding:
            break
        content = octets[at + 8 : at + 8 + size]
        at += 8 + size + padding
        assert (version, request) == (1, 1), (version, request)
        assert not (size + padding) % 8, "records are aligned"
        if kind == BEGIN_REQUEST:
            assert size == 8, size
            assert not found or found[-1].is_whole or found[-1].is_aborted
            found.append(Asked(int.from_bytes(content[:2], "big"), bool(content[2] & 1)))
            params = b""
            continue
        now = found[-1]
        if kind == PARAMS:
            assert not now.has_params, "PARAMS go on behind their end"
            params += content
            if not content:
                now.params, now.has_params = _pairs(params), True
        elif kind == STDIN:
            assert now.has_params and not now.is_whole, "STDIN at the wrong time"
            now.body += content
            now.is_whole = not content
        elif kind == ABORT_REQUEST:
            now.is_aborted = True
        else:
            raise AssertionError(f"a record of type {kind}")
    return found


def _pairs(content: bytes) -> dict[bytes, bytes]:
    found: dict[bytes, bytes] = {}
    at = 0
    while at < len(content):
        sizes: list[int] = []
        for _ in range(2):
            wide = content[at] & 0x80
            sizes.append(int.from_bytes(content[at : at + 4], "big") & 0x7FFF_FFFF if wide else content[at])
            at += 4 if wide else 1
        name, value = content[at : at + sizes[0]], content[at + sizes[0] : at + sum(sizes)]
        at += sum(sizes)
        assert at <= len(content), "a pair that is cut off"
        assert name not in found, f"{name!r} twice"
        found[name] = value
    return found
