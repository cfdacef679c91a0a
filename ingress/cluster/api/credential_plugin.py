"""Credential plugins: programs that a kubeconfig names (``users[].user.exec``), and that print who we are to the API server.

https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins says what they are told and
what they print.  The ``kubernetes`` package would run them, too, without a bound of time, and go on as nobody where one fails.

Running one blocks.  Messages say which command it was, how it ended and the last of what it wrote to standard error; never anything of
what it printed, which has the token.  What it wrote may have secrets, too, such as a command of a shell that shows what it does: it is kept
apart, for the log and the terminal alone.
"""

import atexit
import json
import os
import signal
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from threading import current_thread, main_thread
from time import monotonic
from types import FrameType
from typing import Any, Final

from attrs import field
from twisted.logger import Logger

from ingress.cluster.api.api_status import one_line
from ingress.errors import OperatorError
from ingress.model.frozen import frozen

log = Logger()

PLUGIN_SECONDS: Final = 60.0
"""How long one may take, unless somebody sits at the terminal."""
MOST_PRINTED: Final = 1 << 20
"""Bytes that one may print; a certificate with its key has some thousands."""
_MOMENT_SECONDS: Final = 0.25
"""How long one has to end by itself once our own process does."""
_START_SECONDS: Final = 5.0
"""How long our end waits for one that is being started, which takes some milliseconds, and more on a busy machine."""
_MOST_SHOWN: Final = 240
_SAID_BYTES: Final = 4096
"""What is kept of the end of its standard error."""
_READ_BYTES: Final = 1 << 16
_FIRST: Final = ("auth-provider", "token", "tokenFile")
"""Where a user has one of these, the plugin is not asked."""
_REPLACED: Final = ("exec", "username", "password")
_PAIR: Final = (
    "client-certificate",
    "client-certificate-data",
    "client-key",
    "client-key-data",
)


class PluginError(OperatorError):
    """A plugin cannot be run, or failed; says why, with what it wrote itself as an aside."""


@frozen
class PluginCredentials:
    """What a plugin printed: a token, a certificate with its key as PEM, or both."""

    token: str = field(default="", repr=False)
    certificate: str = field(default="", repr=False)
    key: str = field(default="", repr=False)
    ends_at: float | None = None
    """When the token is good no more, in seconds of the epoch; None where it does not say."""

    def stand_in(self, user: Mapping[str, object]) -> dict[str, object]:
        """Return *user*, of a kubeconfig, with these in place of the plugin.

        A certificate of the kubeconfig stays where the plugin printed none: an API server, or what is before it, may want it besides a token.
        """
        replaced = (*_REPLACED, *_PAIR) if self.certificate else _REPLACED
        found = {name: value for name, value in user.items() if name not in replaced}
        if self.token:
            found["token"] = self.token
        if self.certificate:
            pair = (("client-certificate-data", self.certificate), ("client-key-data", self.key))
            found.update((name, b64encode(pem.encode()).decode()) for name, pem in pair)
        return found


def asks_plugin(user: Mapping[str, object]) -> bool:
    """Whether *user*, of a kubeconfig, is who a plugin says."""
    return bool(user.get("exec")) and not any(user.get(name) for name in _FIRST)


def run_plugin(
    plugin: Mapping[str, Any],
    cluster: Mapping[str, Any],
    environ: Mapping[str, str] = os.environ,
    seconds: float = PLUGIN_SECONDS,
) -> PluginCredentials:
    """Run *plugin*, the ``exec`` of a user whose command is a whole path or a name, for *cluster*; takes *seconds* at most.

    At a terminal it may ask there, and takes as long as that does.  Raises ``PluginError``.
    """
    command = str(plugin["command"])
    shown = f"the credential plugin {one_line(command)}"
    arguments = _texts(plugin.get("args"), f"args of {shown}")
    variables = _variables(plugin.get("env"), f"env of {shown}")
    is_at_terminal = _is_terminal() and plugin.get("interactiveMode") != "Never"
    if plugin.get("interactiveMode") == "Always" and not is_at_terminal:
        raise PluginError(f"{shown} needs a terminal (interactiveMode: Always), and there is none")
    spec: dict[str, object] = {"interactive": is_at_terminal}
    if plugin.get("provideClusterInfo"):
        spec["cluster"] = _cluster_info(cluster)
    asked = {"apiVersion": plugin["apiVersion"], "kind": "ExecCredential", "spec": spec}
    status, printed, written = 0, b"", b""
    failure = said = ""
    try:
        status, printed, written = _run(
            [command, *arguments],
            {**environ, **variables, "KUBERNETES_EXEC_INFO": json.dumps(asked)},
            None if is_at_terminal else seconds,
        )
    except subprocess.TimeoutExpired:
        failure = f"{shown} did not end within {seconds:g} s"
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is no command"
        hint = plugin.get("installHint")
        failure = f"{shown} cannot be run: {why}"
        failure += f" ({one_line(hint)})" if isinstance(hint, str) and hint else ""
    if status:
        how = f"status {status}" if status > 0 else f"signal {-status}"
        failure, said = f"{shown} ended with {how}", _said(written)
        failure += "" if said or is_at_terminal else " and wrote nothing to standard error"
    elif len(printed) > MOST_PRINTED:
        failure = f"{shown} printed more than {MOST_PRINTED} bytes"
    if failure:
        raise PluginError(failure, said)
    return _credentials(printed.decode("utf-8", "replace"), str(plugin["apiVersion"]), shown)


def _run(command: list[str], environ: Mapping[str, str], seconds: float | None) -> tuple[int, bytes, bytes]:
    """Run *command*; return its status, what it printed, and the end of what it wrote to standard error.

    Where *seconds* is None it has the terminal, and takes as long as that does; what it writes is seen there then.  Whoever prints more
    than ``MOST_PRINTED`` is not waited for: it has the status 0, and its output a byte too many.  Whoever does, or takes too long, is
    killed with all that it has started; where our own process ends meanwhile it is ended as well.  Raises ``subprocess.TimeoutExpired``, and ``OSError`` or ``ValueError`` for what cannot be run.
    """
    ends_at = None if seconds is None else monotonic() + seconds
    has_session = seconds is not None
    # Whoever waits for it here is a thread that our process does not wait for, and may not know yet that it has started.
    started: Future[subprocess.Popen[bytes]] = Future()
    end = partial(_end, started, has_session=has_session)
    atexit.register(end)
    try:
        with (
            _SignalsPutOff() as signals,
            subprocess.Popen(
                command,
                env=environ,
                stdin=None if seconds is None else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=None if seconds is None else subprocess.PIPE,
                # In a session of its own it has no terminal to ask at, and is killed together with its children.
                start_new_session=has_session,
            ) as process,
        ):
            try:
                started.set_result(process)
                signals.take_up()
                printed, said = _read(process, ends_at)
                status = 0 if len(printed) > MOST_PRINTED else process.wait(_left(process, ends_at))
            except BaseException:
                _signal(process, signal.SIGKILL, has_session=has_session)
                raise
            if process.returncode is None:
                _signal(process, signal.SIGKILL, has_session=has_session)
    finally:
        atexit.unregister(end)
        # Nobody is to wait for what was not started.
        started.cancel()
    return status, printed, said


class _SignalsPutOff:
    """Puts off what is done at signals that may end us, until a process that was started meanwhile would be ended as well.

    They come to the main thread.  To block them would do the same to the process that is started.
    """

    def __init__(self) -> None:
        self._before: dict[int, Callable[[int, FrameType | None], object]] = {}
        self._came: list[int] = []

    def __enter__(self) -> "_SignalsPutOff":
        if current_thread() is main_thread():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                before = signal.getsignal(number)
                if callable(before):
                    self._before[number] = before
                    signal.signal(number, self._note)
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.take_up()

    def take_up(self) -> None:
        """Do what was put off, and put off nothing any more."""
        for number, before in self._before.items():
            signal.signal(number, before)
        self._before.clear()
        while self._came:
            signal.raise_signal(self._came.pop(0))

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._came.append(number)


def _read(process: subprocess.Popen[bytes], ends_at: float | None) -> tuple[bytes, bytes]:
    """Return what *process* printed, at most a byte too many, and the end of its standard error, as far as that is read here."""
    printed, said = bytearray(), bytearray()
    with DefaultSelector() as selector:
        for stream, into in ((process.stdout, printed), (process.stderr, said)):
            if stream is not None:
                selector.register(stream, EVENT_READ, into)
        while selector.get_map() and len(printed) <= MOST_PRINTED:
            for key, _ in selector.select(_left(process, ends_at)):
                piece = os.read(key.fd, _READ_BYTES)
                key.data.extend(piece)
                if not piece:
                    selector.unregister(key.fileobj)
            del said[:-_SAID_BYTES]
    return bytes(printed[: MOST_PRINTED + 1]), bytes(said)


def _left(process: subprocess.Popen[bytes], ends_at: float | None) -> float | None:
    """Return how many seconds are left until *ends_at*; None for no end.  Raises ``subprocess.TimeoutExpired``."""
    if ends_at is None:
        return None
    left = ends_at - monotonic()
    if left <= 0:
        raise subprocess.TimeoutExpired(process.args, 0.0)
    return left


def _end(started: Future[subprocess.Popen[bytes]], *, has_session: bool) -> None:
    """Have what was *started*, or is just being started, end; it has a moment for that, and then it is killed."""
    try:
        process = started.result(_START_SECONDS)
    except (TimeoutError, CancelledError):
        return  # It was not started.
    _signal(process, signal.SIGTERM, has_session=has_session)
    with suppress(subprocess.TimeoutExpired):
        process.wait(_MOMENT_SECONDS)
    _signal(process, signal.SIGKILL, has_session=has_session)


def _signal(process: subprocess.Popen[bytes], number: signal.Signals, *, has_session: bool) -> None:
    """Send a signal to *process*, and to all that it has started where it *has_session* of its own."""
    if not has_session:
        process.send_signal(number)
        return
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        return  # All of them have ended, just now; so some systems say that of those that nobody has waited for.


def _is_terminal() -> bool:
    """Whether somebody can be asked: a daemon has neither of these, and Twisted's log stands for one of them.

    What is printed here may go into a file meanwhile, as with kubectl.
    """
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def _said(written: bytes) -> str:
    """Return the last of what was *written* to standard error."""
    text = " ".join(written.decode("utf-8", "replace").split())
    return one_line(text if len(text) <= _MOST_SHOWN else f"… {text[-_MOST_SHOWN:]}")


def _credentials(printed: str, version: str, shown: str) -> PluginCredentials:
    found: object = None
    try:
        found = json.loads(printed)
    except (ValueError, RecursionError):
        pass  # Told below, as what is not an object is.
    if not isinstance(found, dict) or found.get("kind") != "ExecCredential":
        raise PluginError(f"{shown} printed no ExecCredential")
    if found.get("apiVersion") != version:
        raise PluginError(
            f"{shown} printed another version than {one_line(version)}, which the kubeconfig asks for"
        )
    status = found.get("status")
    status = status if isinstance(status, dict) else {}
    token, certificate, key, ends = (
        text if isinstance(text := status.get(name), str) else ""
        for name in ("token", "clientCertificateData", "clientKeyData", "expirationTimestamp")
    )
    token = token.strip()
    if not token.isascii() or not (token.isprintable()):
        raise PluginError(f"{shown} printed a token with other characters than printable ones of ASCII")
    if not token and not (certificate and key):
        raise PluginError(f"{shown} printed neither a token nor a certificate with its key")
    if not (certificate and key):
        certificate = key = ""
    return PluginCredentials(token, certificate, key, _seconds_of(ends))


def _seconds_of(text: str) -> float | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()


def _texts(value: object, shown: str) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise PluginError(f"{shown}: a list of texts is wanted")
    return value


def _variables(value: object, shown: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in value if isinstance(value, list) else () if value is None else (value,):
        name, text = (one.get("name"), one.get("value")) if isinstance(one, dict) else (None, None)
        if not isinstance(name, str) or not name or not isinstance(text, str):
            raise PluginError(f"{shown}: a list of names and values is wanted")
        found[name] = text
    return found


def _cluster_info(cluster: Mapping[str, Any]) -> dict[str, object]:
    """Return what a plugin is told of its cluster; a file with the authority is read for it."""
    told = {
        name: value for name, value in cluster.items() if name not in ("extensions", "certificate-authority")
    }
    authority = cluster.get("certificate-authority")
    if authority and "certificate-authority-data" not in told:
        try:
            told["certificate-authority-data"] = b64encode(Path(str(authority)).read_bytes()).decode()
        except OSError as error:
            log.warn(
                "{file} cannot be read for a credential plugin: {why}", file=authority, why=error.strerror
            )
    for one in cluster.get("extensions") or ():
        if isinstance(one, dict) and one.get("name") == "client.authentication.k8s.io/exec":
            told["config"] = one.get("extension")
    return told
