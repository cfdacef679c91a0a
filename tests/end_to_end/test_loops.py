"""A real loop: an endpoint that leads back to the controller, as the address of a load balancer does."""

from __future__ import annotations

import json
import signal
from typing import Any

from twisted.protocols.portforward import ProxyFactory

from ingress.model.upstream.backends import Endpoint
from tests.end_to_end.end_to_end_case import EndToEndCase
from tests.fakes.objects import ingress_object, service_object, slice_object

MOST = 60
"""Requests with one id that may be under way."""


class LoopTests(EndToEndCase):
    """One Ingress leads to an application, and one, through a port that forwards, back to the controller."""

    given = (f"--loop-limit={MOST}",)

    def setUp(self) -> None:
        super().setUp()
        self.came = 0

    def loop(self) -> None:
        """Write the objects, and forward; the controller has to be started."""
        test = self

        class Counting(ProxyFactory):
            """Counts connections."""

            def buildProtocol(self, addr: Any) -> Any:
                test.came += 1
                return super().buildProtocol(addr)

        port = self.reactor.listenTCP(0, Counting("127.0.0.1", self.http), interface="127.0.0.1")
        self.addCleanup(port.stopListening)
        back = Endpoint("127.0.0.1", port.getHost().port)
        app = self.upstream(b"hello")
        self.write(
            "app",
            ingress_object("app", "shop.test"),
            service_object("app"),
            slice_object("app", app.endpoint),
        )
        self.write(
            "loop", ingress_object("loop", "loop.test"), service_object("loop"), slice_object("loop", back)
        )

    async def test_ends(self) -> None:
        """A request that goes round is answered 508 after so many times, others are served, and nothing of it is left."""
        controller = self.start_with_manifests()
        self.loop()
        await self.until_ready(controller)
        await self.until_get((200, b"hello"), self.http)
        for _ in range(3):
            answer = await self.get(self.http, host="loop.test")
            self.assertEqual(answer[0], 508)
            self.assertEqual(await self.get(self.http), (200, b"hello"))
        # The first time round its id is new, and connections are used again.
        self.assertLessEqual(self.came, 3 * (MOST + 1))
        failures = json.loads((await self.get(self.admin, "/api/v1/failures"))[1])
        self.assertIn("loop", {one["cause"] for one in failures["failures"]})
        page = await self.until_shown(b'cause="loop"')
        self.assertIn(b'ingress_failures_total{cause="loop"', page)
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)
