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

    async def test_regex_path_gives_nothing_to_others(self) -> None:
        """What may match an expression answers 503, and the message says what that is; the rest is served."""
        await self.serve(
            claimant("api", "/api(/|$)(.*)", use_regex="true", rewrite_target="/$2"), claimant("site")
        )
        for path in ("/api", "/api/users", "/API/users", "/%61pi/users", "/x/../api/users", "//api/users"):
            self.assertEqual((await self.get(self.http, path))[0], 503, path)
        for path in ("/", "/apiary", "/other/api/"):
            self.assertEqual(await self.get(self.http, path), (200, b"site"), path)
        messages = [one["message"] for one in await self.problems() if one["reason"] == "UnsupportedPath"]
        self.assertTrue(any('what begins with "/api/", "/api"' in message for message in messages), messages)

    async def test_guard_on_a_regex_path_holds(self) -> None:
        """A guard that is missing closes what the path may match, also where nobody asks for expressions."""
        await self.serve(
            claimant("admin", "/admin(/|$)(.*)", auth_type="basic", auth_secret="users"), claimant("site")
        )
        for path in ("/admin", "/admin/users", "/Admin/users", "/admin/"):
            self.assertEqual((await self.get(self.http, path))[0], 503, path)
        self.assertEqual(await self.get(self.http, "/"), (200, b"site"))

    async def test_snippet_that_denies_is_a_guard(self) -> None:
        """It closes its Ingress; a server snippet closes the host, for the other Ingresses of the namespace, too."""
        await self.serve(
            claimant("closed", "/closed", configuration_snippet="if ($x) { return 403; }"), claimant("site")
        )
        self.assertEqual((await self.get(self.http, "/closed"))[0], 503)
        self.assertEqual(await self.get(self.http, "/"), (200, b"site"))
        snippet = "# nobody\ndeny all;"
        self.write(
            "all",
            *(claimant("closed", "/closed", server_snippet=snippet), claimant("site")),
            *map(service_object, ("closed", "site")),
        )
        await self.until_get((503, b"503 Service Unavailable\n"), self.http)
