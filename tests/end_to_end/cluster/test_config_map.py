"""The whole controller as a process, with a ConfigMap of the operator's."""

from __future__ import annotations

import json
import signal
from typing import Any

from tests.end_to_end.end_to_end_case import EndToEndCase
from tests.fakes.objects import ingress_object, service_object, slice_object


def config_map(**data: Any) -> dict[str, Any]:
    """The ConfigMap of the operator, in a namespace of its own; keys have underscores here."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "options", "namespace": "operators"},
        "data": {key.replace("_", "-"): text for key, text in data.items()},
    }


class ConfigMapProcessTests(EndToEndCase):
    """From a file to answers."""

    async def until_told(self, *reasons: str) -> None:
        """Wait until the problems of the ConfigMap have these reasons."""
        while True:
            _, page = await self.get(self.admin, "/api/problems")
            found = [one["reason"] for one in json.loads(page)["problems"] if one["kind"] == "ConfigMap"]
            if sorted(found) == sorted(reasons):
                return
            await self.turn(0.05)

    async def test_followed(self) -> None:
        """It counts from the first request on, in whatever namespace it is; changes count at once, and what is wrong is told."""
        endpoint = self.upstream(b"shop").endpoint
        self.write(
            "shop",
            ingress_object("shop", "shop.test"),
            service_object("shop"),
            slice_object("shop", endpoint),
        )
        self.write("options", config_map(force_ssl_redirect="true"))
        controller = self.start_with_manifests("--configmap=operators/options", "--namespace=shop")
        await self.until_ready(controller)
        self.assertEqual((await self.get(self.http))[0], 308)
        self.write(
            "options",
            config_map(force_ssl_redirect="false", proxy_read_timeout="soon", use_gzipp="true", number=7),
        )
        await self.until_get((200, b"shop"), self.http)
        await self.until_told("InvalidOption", "InvalidOption", "MalformedObject")
        (self.manifests / "options.yaml").unlink()
        await self.until_told("ConfigMapNotFound", "InvalidOption", "InvalidOption")
        self.write("options", config_map(force_ssl_redirect="true"))
        await self.until_told()
        self.assertEqual((await self.get(self.http))[0], 308)
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)
