"""A running controller, asked at its admin port: one page at a time, or a stream that goes on.

What it answers is data of somebody else: it is bounded here, and whoever shows it makes it printable.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import urlsplit

from ingress.ctl.errors import Mistake
from ingress.ctl.terminal import printable

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse

USUAL: Final = "http://127.0.0.1:10254"
SECONDS: Final = 5.0
MAX_BYTES: Final = 4 * 1024 * 1024
MAX_TOKEN_BYTES: Final = 4096
SILENT_SECONDS: Final = 15.0
"""How long a stream may say nothing; it gives a sign of life each second."""
_PIECE: Final = 64 * 1024

T = TypeVar("T")


class Unreachable(Mistake):
    """The controller cannot be asked at the moment; it may be later."""


class AdminPort:
    """The admin port at the URL *admin*, which may be without scheme; *token* is told to it if there is one."""

    def __init__(self, admin: str, token: str = "") -> None:
        self.name: Final = printable(admin)
        self._base = _base(admin)
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    def get(self, path: str) -> tuple[int, bytes]:
        """Return status and body of the page at *path*, query included; raises ``Unreachable``, also after ``SECONDS``."""

        def ask() -> tuple[int, bytes]:
            with self._asked(path, SECONDS, "answer") as answer:
                body = b""
                while len(body) <= MAX_BYTES and (piece := answer.read1(_PIECE)):
                    body += piece
                if len(body) > MAX_BYTES:
                    raise Mistake(f"{self.name} answers with more than {MAX_BYTES} bytes")
                return answer.status, body

        return self.within(SECONDS, ask)

    def within(self, seconds: float, ask: Callable[[], T]) -> T:
        """Return what *ask* finds out here; raises ``Unreachable`` if it takes longer, whatever comes meanwhile.

        A peer that says a byte now and then keeps every deadline of a socket, and HTTP lets it say as much as it likes before it
        answers.  So somebody else waits for it, whom nobody waits for.
        """
        found: list[T] = []
        failed: list[BaseException] = []

        def run() -> None:
            try:
                found.append(ask())
            except BaseException as error:
                failed.append(error)

        thread = Thread(target=run, name="admin port", daemon=True)
        thread.start()
        thread.join(seconds)
        if failed:
            raise failed[0]
        if not found:
            raise Unreachable(f"{self.name} cannot be asked: its answer takes longer than {seconds:g} s")
        return found[0]

    @contextmanager
    def stream(self, path: str, last_event_id: str = "") -> Iterator[tuple[int, Iterator[bytes]]]:
        """Give status and pieces of an answer without end, in which nobody is silent for long; raises ``Unreachable``."""
        more = {"Last-Event-ID": last_event_id} if last_event_id else {}
        with self._asked(path, SILENT_SECONDS, "stream", more) as answer:
            yield answer.status, iter(lambda: answer.read1(_PIECE), b"")

    def refuse(self, status: int, page: str) -> None:
        """Raise the ``Mistake`` that *status* of *page* is, if it is one for all pages."""
        if status in (401, 403):
            raise Mistake(f"{self.name} wants a token; name the file that has it by --token-file")
        if status == 404:
            raise Mistake(
                f"{self.name} has no page {page}; is that the admin port (--admin) of a txingress that has it?"
            )
        if status == 421:
            raise Mistake(
                f"{self.name} is asked by a name that its controller does not know; use an IP address or localhost,"
                " or start the controller with --admin-host=NAME"
            )

    @contextmanager
    def _asked(
        self, path: str, seconds: float, what: str, headers: dict[str, str] | None = None
    ) -> Iterator["BaseHTTPResponse"]:
        from urllib3 import PoolManager, Timeout
        from urllib3.exceptions import HTTPError, ProtocolError

        try:
            with PoolManager() as pool:
                answer = pool.request(
                    "GET",
                    f"{self._base}{path}",
                    headers={**self._headers, **(headers or {})},
                    timeout=Timeout(connect=SECONDS, read=seconds),
                    retries=False,
                    redirect=False,
                    preload_content=False,
                )
                try:
                    yield answer
                except ProtocolError:
                    # It has begun, and the process or the connection is gone.
                    raise Unreachable(f"{self.name} has ended its {what}") from None
                finally:
                    answer.close()
        except HTTPError as error:
            raise Unreachable(f"{self.name} cannot be asked: {_why(error, seconds)}") from None


def read_token(path: str | None) -> str:
    """Return the token that the file at *path* has, as ``--admin-token-file`` has them the first; empty without *path*.  Raises ``Mistake``."""
    if path is None:
        return ""
    try:
        with open(path, "rb") as file:
            octets = file.read(MAX_TOKEN_BYTES + 1)
    except OSError as error:
        raise Mistake(f"--token-file {printable(path)}: {error.strerror or error}") from None
    lines = [line.strip() for line in octets.splitlines()]
    token = next((line for line in lines if line and not line.startswith(b"#")), b"")
    if not token or len(token) > MAX_TOKEN_BYTES or not token.isascii() or not token.decode().isprintable():
        raise Mistake(
            f"--token-file {printable(path)} has no token: a line of at most {MAX_TOKEN_BYTES} bytes"
        )
    return token.decode()


def _base(admin: str) -> str:
    text = admin if "://" in admin else f"http://{admin}"
    try:
        parts = urlsplit(text)
        is_good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_good = False
    if not is_good or parts.query or parts.fragment or "@" in parts.netloc:
        raise Mistake(
            f"--admin {admin!r} is no address of an admin port; write it like http://127.0.0.1:10254"
        )
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def _why(error: Exception, seconds: float) -> str:
    from urllib3.exceptions import NewConnectionError, TimeoutError

    if isinstance(error, NewConnectionError):
        return "no connection is made; is the admin port open there, or forwarded (kubectl port-forward)?"
    if isinstance(error, TimeoutError):
        return f"it does not answer within {seconds:g} s"
    return printable(f"{type(error).__name__}: {error}")
