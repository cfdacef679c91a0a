"""``python -m examples.demo`` (``make run``): the controller, a few backends, and what to try.

Starts one ``whoami`` for every loopback endpoint that the EndpointSlices of the
demo's manifests name, and the controller on unprivileged ports of 127.0.0.1, as
child processes.  Prints requests to paste once the controller is ready, and stops
everything when it is told to, or when a child ends by itself.

Children run in sessions of their own: Ctrl-C reaches this process only, which
then stops each child once.  The requests themselves are in ``tour.py``.
"""

import argparse
import contextlib
import http.client
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from attrs import define, field, frozen

from examples.demo.tour import Ports, tour
from ingress.errors import StartError

MANIFESTS = Path(__file__).parent
REPOSITORY = MANIFESTS.parents[1]
"""Where ``examples`` is found, which no installation has."""
HOST = "127.0.0.1"
READY_SECONDS = 60.0
STOP_SECONDS = 30.0
"""How long a child may take to stop before it is killed: as long as a pod has if it says nothing else (``terminationGracePeriodSeconds``)."""
POLL_SECONDS = 0.2

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@frozen
class DemoBackend:
    """A ``whoami`` to start: the pod that an EndpointSlice tells of."""

    name: str
    address: str
    port: int


def demo_backends(manifests: Path) -> tuple[DemoBackend, ...]:
    """The loopback endpoints in the EndpointSlices of a directory, each once, in file order.

    Raises StartError when there is no such directory, or a file cannot be understood.
    """
    files = sorted(path for path in manifests.glob("*") if path.suffix in (".yaml", ".yml"))
    if not files:
        raise StartError(
            f"no manifests in {manifests}; run from a checkout of the repository or give --manifests"
        )
    found: dict[tuple[str, int], DemoBackend] = {}
    for path in files:
        try:
            documents = list(yaml.safe_load_all(path.read_text(encoding="utf-8")))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise StartError(f"cannot read {path}: {' '.join(str(error).split())}") from None
        for document in documents:
            if not isinstance(document, dict) or document.get("kind") != "EndpointSlice":
                continue
            try:
                for backend in _backends_of_slice(document):
                    found.setdefault((backend.address, backend.port), backend)
            except (AttributeError, KeyError, TypeError, ValueError):
                raise StartError(f"{path}: an EndpointSlice is not shaped as one") from None
    return tuple(found.values())


def _backends_of_slice(document: dict[str, Any]) -> Iterator[DemoBackend]:
    for port in document.get("ports") or ():
        for endpoint in document.get("endpoints") or ():
            name = (endpoint.get("targetRef") or {}).get("name") or document["metadata"]["name"]
            for address in endpoint["addresses"]:
                if address.startswith("127.") or address == "::1":
                    yield DemoBackend(str(name), address, port_number(port["port"]))


def port_number(value: str | int) -> int:
    """A TCP port that can be listened on.  Raises ValueError."""
    if not 0 < (port := int(value)) < 65536:
        raise ValueError("a port is a number from 1 to 65535")
    return port


def backend_command(backend: DemoBackend) -> list[str]:
    """The command line of one backend."""
    return [
        sys.executable,
        "-m",
        "examples.whoami",
        f"--host={backend.address}",
        f"--port={backend.port}",
        f"--name={backend.name}",
    ]


def controller_command(manifests: Path, ports: Ports) -> list[str]:
    """The command line of the controller: what ``twistd`` runs, by this very interpreter."""
    return [
        sys.executable,
        "-c",
        "from twisted.scripts.twistd import run; run()",
        "--nodaemon",
        "--pidfile=",
        "ingress",
        f"--manifests={manifests}",
        f"--http=tcp:{ports.http}:interface={HOST}",
        f"--https=tcp:{ports.https}:interface={HOST}",
        f"--admin=tcp:{ports.admin}:interface={HOST}",
        # Browsers would remember it for every other program on these hosts, too.
        "--no-hsts",
        "--shutdown-delay=0",
        "--shutdown-grace=2",
    ]


def busy_ports(wanted: Sequence[tuple[str, int]]) -> tuple[str, ...]:
    """Those addresses of *wanted* that cannot be listened on, as ``address:port``."""
    busy = []
    for address, port in wanted:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with socket.socket(family) as probe:
            # As Twisted does: an old connection in TIME_WAIT does not make a port busy.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((address, port))
            except OSError:
                busy.append(f"{address}:{port}")
    return tuple(busy)


def way_out(busy: Sequence[str], ports: Ports) -> str:
    """What to do about *busy* addresses; only the controller's own ports can be others."""
    options = {
        f"{HOST}:{ports.http}": "--http-port",
        f"{HOST}:{ports.https}": "--https-port",
        f"{HOST}:{ports.admin}": "--admin-port",
    }
    if not all(address in options for address in busy):
        return "stop what listens there (another demo?) first"
    others = " ".join(f"{options[address]}=PORT" for address in busy)
    python = as_typed(Path(sys.executable))
    return f"stop what listens there, or start the demo by {python} -m examples.demo {others}"


def is_ready(port: int) -> bool:
    """Whether the controller's ``/readyz`` answers 200."""
    connection = http.client.HTTPConnection(HOST, port, timeout=2)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


class SignalWait:
    """Waits for signals without a race: each one puts a byte into a socket."""

    def __init__(self) -> None:
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)
        self._writer.setblocking(False)
        signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        for number in (*STOP_SIGNALS, signal.SIGCHLD):
            # nohup(1) has SIGHUP ignored, and means it.
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, lambda *_: None)

    def wait(self, seconds: float) -> bool:
        """Wait until a signal comes or *seconds* pass; whether one of ``STOP_SIGNALS`` came."""
        select.select([self._reader], [], [], seconds)
        with contextlib.suppress(BlockingIOError):
            return any(number in STOP_SIGNALS for number in self._reader.recv(4096))
        return False


@define
class Children:
    """The child processes, by name, in the order in which they were started."""

    running: dict[str, subprocess.Popen[bytes]] = field(factory=dict)

    def start(
        self, name: str, command: Sequence[str], quiet: bool = False, directory: Path | None = None
    ) -> None:
        """Start a child in a session of its own, in *directory* or where we are."""
        self.running[name] = subprocess.Popen(
            command,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL if quiet else None,
            start_new_session=True,
        )

    def ended(self) -> tuple[str, int] | None:
        """Name and status of a child that is gone, as a shell counts: 128 + signal."""
        for name, process in self.running.items():
            status = process.poll()
            if status is not None:
                return name, status if status >= 0 else 128 - status
        return None

    def stop(self) -> None:
        """Stop the one that was started last, which needs the others, and then those.

        A child that takes longer than ``STOP_SECONDS`` is killed.
        """
        names = list(self.running)
        for wave in (names[-1:], names[:-1]):
            for name in wave:
                self.running[name].terminate()
            for name in wave:
                self._await_end(name, self.running[name])

    @staticmethod
    def _await_end(name: str, process: "subprocess.Popen[bytes]") -> None:
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            say(f"{name} did not stop within {STOP_SECONDS:.0f} seconds; killing it")
            process.kill()
            process.wait()


def as_typed(path: Path) -> str:
    """*path* as one would type it here: relative where it is below the working directory."""
    absolute = path.absolute()
    return str(absolute.relative_to(Path.cwd())) if absolute.is_relative_to(Path.cwd()) else str(absolute)


def say(text: str) -> None:
    """Write a line of our own to standard error, apart from what the controller logs."""
    sys.stderr.write(f"demo: {text}\n")
    sys.stderr.flush()


def run(manifests: Path, ports: Ports) -> int:
    """Run the demo until it is told to stop; the exit status.  Raises StartError."""
    backends = demo_backends(manifests)
    wanted = [(backend.address, backend.port) for backend in backends]
    wanted += [(HOST, ports.http), (HOST, ports.https), (HOST, ports.admin)]
    if busy := busy_ports(wanted):
        raise StartError(f"in use already: {', '.join(busy)}; {way_out(busy, ports)}")
    signals = SignalWait()
    children = Children()
    try:
        for backend in backends:
            children.start(
                f"backend {backend.name}", backend_command(backend), quiet=True, directory=REPOSITORY
            )
        children.start("the controller", controller_command(manifests, ports))
        return _watch(signals, children, manifests, ports)
    finally:
        children.stop()


def _watch(signals: SignalWait, children: Children, manifests: Path, ports: Ports) -> int:
    """Print the tour once the controller is ready; wait for the end, whoever brings it."""
    tour_is_due = True
    polls_left = int(READY_SECONDS / POLL_SECONDS)
    while not signals.wait(POLL_SECONDS if tour_is_due else 3600.0):
        if (gone := children.ended()) is not None:
            name, status = gone
            say(f"{name} ended with status {status}; its last lines are above. Stopping the rest.")
            return status or 1
        if not tour_is_due:
            continue
        if is_ready(ports.admin):
            tour_is_due = False
            sys.stdout.write(tour(ports, as_typed(manifests)))
            sys.stdout.flush()
        elif (polls_left := polls_left - 1) <= 0:
            say(f"the controller is not ready after {READY_SECONDS:.0f} seconds")
            return 1
    say("stopping")
    return 0


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(
        prog="python -m examples.demo",
        description="Run the controller on the demo's manifests with a few backends, and print what to try.",
    )
    made.add_argument(
        "--manifests", type=Path, default=MANIFESTS, help="directory to serve (default: examples/demo)"
    )
    made.add_argument(
        "--http-port", type=port_number, default=8080, help="port for HTTP (default: %(default)s)"
    )
    made.add_argument(
        "--https-port", type=port_number, default=8443, help="port for HTTPS (default: %(default)s)"
    )
    made.add_argument(
        "--admin-port",
        type=port_number,
        default=10254,
        help="port for the admin pages (default: %(default)s)",
    )
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo; a start that cannot succeed is one line and status 1."""
    options = parser().parse_args(arguments)
    ports = Ports(options.http_port, options.https_port, options.admin_port)
    try:
        return run(options.manifests, ports)
    except StartError as error:
        say(str(error))
        return 1
