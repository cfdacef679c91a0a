"""Breaking off a blocking request from another thread.

Shutting a socket down ends every blocking call on it at once, where closing it would not.
"""

import socket
from threading import Lock


class Interruption:
    """Knows the socket in use by one thread, and shuts it down when asked to.

    There is no moment to slip through: a socket that is shown after the interruption is shut
    down at once.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._socket: socket.socket | None = None
        self._interrupted = False

    @property
    def is_interrupted(self) -> bool:
        """Whether it was asked to, and nothing may be begun since."""
        return self._interrupted

    def show(self, connected: socket.socket | None) -> None:
        """Say which socket is in use from now on, if any."""
        with self._lock:
            # TLS inside of that of a proxy is no socket, but has one below.
            self._socket = getattr(connected, "socket", connected)
            if self._interrupted:
                self._shut()

    def interrupt(self) -> None:
        """Shut down the socket in use, and every one that comes until another request is begun, if any.  Any thread."""
        with self._lock:
            self._interrupted = True
            self._shut()

    def begin(self) -> None:
        """Let another request begin, and no more break off what comes."""
        with self._lock:
            self._interrupted = False

    def _shut(self) -> None:
        if self._socket is None:
            return
        try:
            # Not the method of an SSLSocket, which forgets that there is TLS: a thread reading
            # at this moment would take ciphertext for the answer.
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
        except OSError:
            # Not connected any more: there is nothing to break off.
            pass
