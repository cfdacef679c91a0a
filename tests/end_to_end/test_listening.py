"""What listens where: families of addresses, and what the admin port and the probes show to whom."""

from __future__ import annotations

import http.client
import socket

from twisted.trial.unittest import SkipTest

from tests.end_to_end.end_to_end_case import EndToEndCase
from tests.fakes.peers.grpc_upstreams import in_thread
from tests.fakes.processes import free_port


def _ask(address: str, port: int, path: str, host: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(address, port, timeout=60)
    try:
        connection.request("GET", path, headers={"Host": host} if host else {})
        answer = connection.getresponse()
        return answer.status, answer.read()
    except ConnectionRefusedError:
        return 0, b""
    finally:
        connection.close()


class ListeningCase(EndToEndCase):
    """Requests to any address, by any name."""

    async def ask(
        self, port: int, path: str, host: str = "", address: str = "127.0.0.1"
    ) -> tuple[int, bytes]:
        """Return status and body; the status is 0 where nobody listens."""
        return await in_thread(self.reactor, lambda: _ask(address, port, path, host))


class FamilyTests(ListeningCase):
    """``tcp:`` and ``tcp6:``."""

    def setUp(self) -> None:
        super().setUp()
        try:
            with socket.create_server(("::1", 0), family=socket.AF_INET6):
                pass
        except OSError as error:
            raise SkipTest(f"there is no IPv6 here: {error}") from None

    async def families(self, *options: str) -> None:
        """``tcp6:`` takes no IPv4, so that both families can have one port, on every listener."""
        both, six, probes = free_port(), free_port(), free_port()
        controller = self.start_with_manifests(
            f"--http=tcp:{both}",
            f"--http=tcp6:{both}",
            f"--http=tcp6:{six}",
            f"--probes=tcp6:{probes}",
            *options,
        )
        await self.until_ready(controller)
        found = [
            (await self.ask(port, path, address=address))[0]
            for port, path in ((both, "/"), (six, "/"), (probes, "/healthz"))
            for address in ("127.0.0.1", "::1")
        ]
        self.assertEqual(found, [404, 404, 0, 404, 0, 200])

    async def test_epoll(self) -> None:
        """The epoll set keeps to the family of its description."""
        await self.families()

    async def test_twisted(self) -> None:
        """So do Twisted's transports."""
        await self.families("--no-epoll")


class AdminTests(ListeningCase):
    """``--admin`` and ``--probes``."""

    async def test_names(self) -> None:
        """A page of a name that was pointed here can read nothing, on either port; addresses and known names can."""
        probes = free_port()
        controller = self.start_with_manifests(
            f"--probes=tcp:{probes}:interface=127.0.0.1", "--admin-host=ingress.internal"
        )
        await self.until_ready(controller)
        for port, path in ((self.admin, "/api/routes"), (self.admin, "/readyz"), (probes, "/metrics")):
            for host, status in (
                (f"rebound.example:{port}", 421),
                (f"127.0.0.1:{port}", 200),
                ("10.1.2.3", 200),
                (f"localhost:{port}", 200),
                ("Ingress.Internal", 200),
            ):
                self.assertEqual((await self.ask(port, path, host))[0], status, (port, path, host))

    async def test_probes(self) -> None:
        """The address of the probes shows health, readiness and metrics, and nothing that names a route."""
        probes = free_port()
        controller = self.start_with_manifests(f"--probes=tcp:{probes}:interface=127.0.0.1")
        await self.until_ready(controller)
        statuses = {
            path: ((await self.ask(probes, path))[0], (await self.ask(self.admin, path))[0])
            for path in (
                "/healthz",
                "/readyz",
                "/metrics",
                "/api/routes",
                "/api/problems",
                "/api/certificates",
            )
        }
        self.assertEqual(
            statuses,
            {
                "/healthz": (200, 200),
                "/readyz": (200, 200),
                "/metrics": (200, 200),
                "/api/routes": (404, 200),
                "/api/problems": (404, 200),
                "/api/certificates": (404, 200),
            },
        )

    async def test_port_in_use(self) -> None:
        """A port of the probes that somebody has ends the start in one line."""
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            controller = self.start_with_manifests(f"--probes=tcp:{port}:interface=127.0.0.1")
            self.assertEqual(await self.end_of(controller), 1)
        self.assertIn(f"cannot listen on tcp:{port}".encode(), controller.errors)
