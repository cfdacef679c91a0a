"""Spans of a controller with workers, at a collector."""

from __future__ import annotations

import signal
from pathlib import Path

from tests.cluster.api_server_case import in_thread
from tests.end_to_end.cluster.test_config_map import config_map
from tests.end_to_end.workers.workers_case import WorkersCase
from tests.tracing.receiver import Receiver, shown

CLIENTS = 8
MOST_CLIENTS = 1000
ENCODER = "_upb"


def mapped(pid: int) -> str:
    """Return which files a process has in its memory."""
    return Path(f"/proc/{pid}/maps").read_text()


class TracingTests(WorkersCase):
    """As a process."""

    async def test_workers(self) -> None:
        """As a ConfigMap has it, each request of each worker is told once, with its attempt; the parent imports nothing for it.

        A collector that hangs does not keep the process from its end.
        """
        receiver = Receiver()
        self.addCleanup(receiver.stop)
        said = config_map(
            tracing_endpoint=receiver.url,
            tracing_ratio="1",
            tracing_delay="0.05",
            tracing_service="edge",
            tracing_attribute="deployment.environment.name=test",
        )
        self.write("options", said)
        controller = self.start_workers("--configmap=operators/options")
        await self.until_ready(controller)
        asked = CLIENTS
        await self.connected(asked)
        # What encodes spans is no Python, so it shows who has imported it.  Which worker accepts a connection is up to the machine.
        while not all(ENCODER in mapped(pid) for pid in self.workers):
            self.assertLess(asked, MOST_CLIENTS, "a worker accepts no connection")
            await self.turn(0.05)
            await self.connected(1)
            asked += 1
        spans = await in_thread(lambda: receiver.wait_for(lambda found: len(found) >= 2 * asked), 40.0)
        servers = [span for span in spans if not span.parent_span_id]
        attempts = {span.parent_span_id: span for span in spans if span.parent_span_id}
        self.assertEqual((len(spans), len(servers), len(attempts)), (2 * asked, asked, asked))
        for server in servers:
            attempt = attempts[server.span_id]
            self.assertEqual(attempt.trace_id, server.trace_id)
            self.assertLessEqual(server.start_time_unix_nano, attempt.start_time_unix_nano)
            self.assertLessEqual(attempt.end_time_unix_nano, server.end_time_unix_nano)
            self.assertEqual((server.name, shown(server)["http.response.status_code"]), ("GET /", 200))
        ids = {shown(span)["txingress.request_id"] for span in servers}
        self.assertEqual(ids, {span.trace_id.hex() for span in servers})
        self.assertEqual(receiver.resource()["deployment.environment.name"], "test")
        self.assertEqual(
            [ENCODER in mapped(pid) for pid in (controller.pid, self.fork_server)], [False, False]
        )
        # A worker counts them when it has the collector's answer, which comes after they have.
        await self.until_shown(f"\ningress_spans_exported_total {2 * asked:.1f}\n".encode())
        receiver.goes_on.clear()
        await self.connected(1)
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)
