"""The answers that the proxy gives itself: constant text, never an echo of the request.

404 says that no route matched, 502 that upstream refused, broke off or answered
nonsense, 503 that there is nothing to send the request to, or no time for it, 504 that upstream
took too long, 508 that the request goes round in a loop, 421 that the TLS connection was made for another host; 4xx otherwise
is what could not be read in one way.
"""

from http import HTTPStatus

from attrs import evolve

from ingress.http.response_head import ResponseHead
from ingress.model.exchanges.reply import Reply

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>{status} {phrase}</title>
<style>body{{font-family:system-ui,sans-serif;margin:15vh auto;max-width:34rem;padding:0 1rem;color:#333}}
h1{{font-weight:600}}</style></head>
<body><h1>{status} {phrase}</h1><p>{text}</p></body>
</html>
"""
BUSY = "There is more to do here than can be done now. Please try again in a moment."
_TEXTS = {
    404: "No rule matches this host and path.",
    408: "The request did not arrive in time.",
    421: "This host needs a connection of its own. Please try again.",
    502: "The application answered with an error in the protocol, or not at all.",
    503: "The application has no endpoint to answer this request.",
    504: "The application did not answer in time.",
    508: "The request came back here again and again.",
}


def text_of(status: int) -> str:
    """Return what *status* means here, in a sentence; empty where its own phrase says enough."""
    return _TEXTS.get(status, "")


def phrase_of(status: int) -> str:
    """Return the reason phrase of *status*; empty where nobody has given it one."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def _plain(status: int) -> Reply:
    body = f"{status} {phrase_of(status)}\n".encode()
    return Reply(status, ((b"Content-Type", b"text/plain; charset=utf-8"),), body)


def _page(status: int, text: str = "") -> Reply:
    body = _PAGE.format(status=status, phrase=phrase_of(status), text=text or text_of(status)).encode()
    return Reply(status, ((b"Content-Type", b"text/html; charset=utf-8"),), body)


class Replies:
    """Finds the reply for a status: a small page for browsers, plain text for the rest.

    *not_found_page* is what everybody gets as 404 instead of either (``--404-page``).
    """

    def __init__(self, not_found_page: bytes | None = None) -> None:
        self._plain: dict[int, Reply] = {}
        self._pages: dict[int, Reply] = {}
        self._later: dict[tuple[int, bool], Reply] = {}
        if not_found_page is not None:
            html = ((b"Content-Type", b"text/html; charset=utf-8"),)
            self._plain[404] = self._pages[404] = Reply(404, html, not_found_page)

    def of(self, status: int, for_browser: bool) -> Reply:
        """Return the reply for *status*; *for_browser* asks for HTML."""
        known, make = (self._pages, _page) if for_browser else (self._plain, _plain)
        reply = known.get(status)
        if reply is None:
            reply = known[status] = make(status)
        return reply

    def later(self, seconds: int, for_browser: bool) -> Reply:
        """Return the reply, a 503, for who had better ask again after so many *seconds*."""
        reply = self._later.get((seconds, for_browser))
        if reply is None:
            usual = _page(503, BUSY) if for_browser else _plain(503)
            fields = (*usual.fields, (b"Retry-After", b"%d" % seconds))
            reply = self._later[seconds, for_browser] = evolve(usual, fields=fields)
        return reply


def accepts_html(forward: bytes) -> bool:
    """Whether the field lines of a request accept HTML by name, as browsers do."""
    at = forward.lower().find(b"accept:")
    while at > 0 and forward[at - 1 : at] != b"\n":
        at = forward.lower().find(b"accept:", at + 1)
    if at < 0:
        return False
    return b"text/html" in forward[at : forward.find(b"\r\n", at)].lower()


def head_of(reply: Reply) -> ResponseHead:
    """Render the status line and fields of *reply*, with its length."""
    lines = [b"HTTP/1.1 %d %b\r\n" % (reply.status, phrase_of(reply.status).encode())]
    lines += [b"%b: %b\r\n" % field for field in reply.fields]
    if reply.status >= 200 and reply.status not in (204, 304):
        lines.append(b"Content-Length: %d\r\n" % len(reply.body))
    return ResponseHead(reply.status, b"".join(lines), len(reply.body))
