"""A peer that never comes to its end: each of its deadlines is kept, and nothing is ever whole."""

from socket import create_server
from threading import Event, Thread
from types import TracebackType


class Dripping:
    """Takes one connection at *port*, says *began*, and then *more* again and again until it is left."""

    def __init__(self, began: bytes, more: bytes, pause: float = 0.02) -> None:
        self._began, self._more, self._pause = began, more, pause
        self._listener = create_server(("127.0.0.1", 0))
        self._is_over = Event()
        self._thread = Thread(target=self._drip)
        self.port: int = self._listener.getsockname()[1]

    def __enter__(self) -> "Dripping":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        self._thread.join()
        self._listener.close()

    def _drip(self) -> None:
        connection, _ = self._listener.accept()
        with connection:
            connection.sendall(self._began)
            while not self._is_over.wait(self._pause):
                try:
                    connection.sendall(self._more)
                except ConnectionError:
                    return
