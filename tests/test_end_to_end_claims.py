"""What Ingresses ask for and this controller does not honor, as visitors meet it."""

from __future__ import annotations

import json
from typing import Any

from ingress.settings import ANNOTATIONS_PREFIX
from tests.end_to_end_case import EndToEndCase
from tests.fakes.objects import NAMESPACE, ingress_object, service_object

HOST = "shop.test"


def claimant(name: str, path: str = "/", /, created: str = "", **annotations: str) -> dict[str, Any]:
    """Return an Ingress that sends *path* of the host to the Service of its own name."""
    made = ingress_object(name, HOST)
    made["spec"]["rules"][0]["http"]["paths"][0].update(path=path, pathType="ImplementationSpecific")
    made["metadata"]["annotations"] = {
        f"{ANNOTATIONS_PREFIX}/{key.replace('_', '-')}": value for key, value in annotations.items()
    }
    if created:
        made["metadata"]["creationTimestamp"] = created
    return made


class UnhonoredTests(EndToEndCase):
    """Nobody gets through to where an annotation would not have let them."""

    async def serve(self, *ingresses: dict[str, Any], options: tuple[str, ...] = ()) -> None:
        """Serve *ingresses*, each with a backend that answers with its name."""
        self.write("all", *ingresses, *(service_object(one["metadata"]["name"]) for one in ingresses))
        names = sorted({one["metadata"]["name"] for one in ingresses})
        endpoints = [
            f"--endpoint={NAMESPACE}/{name}={self.upstream(name.encode()).endpoint}" for name in names
        ]
        await self.until_ready(self.start_with_manifests(*endpoints, *options))

    async def problems(self) -> list[dict[str, str]]:
        """Return what the admin port shows."""
        _, body = await self.get(self.admin, "/api/problems")
        found: list[dict[str, str]] = json.loads(body)["problems"]
        return found

    async def test_older_canary_gets_no_request(self) -> None:
        """All requests go to the primary, however old the canary is and whatever weight it has; it is told."""
        await self.serve(
            claimant("canary", "/", "2020-01-01T00:00:00Z", canary="true", canary_weight="10"),
            claimant("primary", "/", "2021-01-01T00:00:00Z"),
        )
        for _ in range(5):
            self.assertEqual(await self.get(self.http), (200, b"primary"))
        (problem,) = await self.problems()
        self.assertEqual((problem["name"], problem["reason"]), ("canary", "UnsupportedAnnotation"))
        self.assertIn("claims nothing", problem["message"])
