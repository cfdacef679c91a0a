"""FastCGI from an Ingress to an answer: what its objects say, and what becomes of changes."""

from __future__ import annotations

from typing import Any

from tests.end_to_end.end_to_end_case import EndToEndCase
from tests.fakes.fastcgi.records import answered
from tests.fakes.fastcgi.upstreams import Responder, ResponderWire
from tests.fakes.objects import NAMESPACE, ingress_object, service_object

PREFIX = "nginx.ingress.kubernetes.io"
CLOSED = (503, b"503 Service Unavailable\n")


def say_script(wire: ResponderWire) -> None:
    """Answer with the script that is asked for."""
    wire.write(answered(wire.requests[-1].params.get(b"SCRIPT_FILENAME", b"none")))


def config_map(script: str) -> dict[str, Any]:
    """Return the ConfigMap."""
    metadata = {"name": "php", "namespace": NAMESPACE}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
        "data": {"SCRIPT_FILENAME": script},
    }


class FastCgiTests(EndToEndCase):
    """A controller process before a responder."""

    async def changes(self, *options: str) -> None:
        """Have the ConfigMap come, change and go."""
        responder = Responder(self.reactor)
        where = responder.listen()
        self.addCleanup(responder.stop)
        responder.on_request = say_script
        shown: dict[str, Any] = ingress_object("app", "shop.test")
        shown["metadata"]["annotations"] = {
            f"{PREFIX}/backend-protocol": "FCGI",
            f"{PREFIX}/fastcgi-index": "main.php",
            f"{PREFIX}/fastcgi-params-configmap": f"{NAMESPACE}/php",
        }
        objects = (shown, service_object("app"))
        self.write("app", *objects)
        ours = self.start_with_manifests(f"--endpoint={NAMESPACE}/app={where}", *options)
        await self.until_ready(ours)
        await self.until_get(CLOSED, self.http)
        await self.until_shown(b"there is no such ConfigMap", "/api/problems")
        self.assertEqual(responder.wires, [])
        self.write("app", *objects, config_map("/one$fastcgi_script_name"))
        await self.until_get((200, b"/one/main.php"), self.http)
        self.write("app", *objects, config_map("/two$fastcgi_script_name of $ingress_name"))
        await self.until_get((200, b"/two/main.php of app"), self.http)
        self.write("app", *objects, config_map("/two$fastcgi_script_nam"))
        await self.until_shown(b"$fastcgi_script_nam, which is not known here", "/api/problems")
        await self.until_get((200, b"none"), self.http)
        self.write("app", *objects)
        await self.until_get(CLOSED, self.http)
        self.assertIn(b'"FastCGI"', await self.until_shown(b"fastcgi-closed", "/api/v1/routes"))

    async def test_changes(self) -> None:
        """What a ConfigMap says is told from then on, and nothing is sent without it."""
        await self.changes()

    async def test_workers(self) -> None:
        """So it is where workers serve."""
        await self.changes("--workers=2")
