"""What Ingresses ask for and this controller does not honor, as visitors meet it."""

from __future__ import annotations

import json
from typing import Any

from ingress.model.upstream.backends import Endpoint
from ingress.translate.options import ANNOTATIONS_PREFIX
from tests.end_to_end.end_to_end_case import PATIENCE, EndToEndCase
from tests.fakes.apiserver.server import ApiServer
from tests.fakes.objects import NAMESPACE, ingress_object, service_object, slice_object

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


class ProblemsCase(EndToEndCase):
    """A controller whose problems are looked at."""

    async def problems(self) -> list[dict[str, str]]:
        """Return what the admin port shows."""
        _, body = await self.get(self.admin, "/api/problems")
        found: list[dict[str, str]] = json.loads(body)["problems"]
        return found


class UnhonoredTests(ProblemsCase):
    """Nobody gets through to where an annotation would not have let them."""

    async def serve(self, *ingresses: dict[str, Any], options: tuple[str, ...] = ()) -> None:
        """Serve *ingresses*, each with a backend that answers with its name."""
        self.write("all", *ingresses, *(service_object(one["metadata"]["name"]) for one in ingresses))
        names = sorted({one["metadata"]["name"] for one in ingresses})
        self.upstreams = [self.upstream(name.encode()) for name in names]
        endpoints = [
            f"--endpoint={NAMESPACE}/{name}={upstream.endpoint}"
            for name, upstream in zip(names, self.upstreams, strict=True)
        ]
        await self.until_ready(self.start_with_manifests(*endpoints, *options))

    async def test_older_canary_gets_its_share(self) -> None:
        """A canary gets what its weight says and no more, however old it is; alone it gets nothing, and is told."""
        canary = claimant("canary", "/", "2020-01-01T00:00:00Z", canary="true", canary_weight="100")
        await self.serve(canary, claimant("primary", "/", "2021-01-01T00:00:00Z"))
        for _ in range(5):
            self.assertEqual(await self.get(self.http), (200, b"canary"))
        self.assertEqual(await self.problems(), [])

    async def test_canary_without_weight_gets_no_request(self) -> None:
        """All requests go to the primary where nothing gives the canary any."""
        canary = claimant("canary", "/", "2020-01-01T00:00:00Z", canary="true", canary_by_header="X-New")
        await self.serve(canary, claimant("primary", "/", "2021-01-01T00:00:00Z"))
        for _ in range(5):
            self.assertEqual(await self.get(self.http), (200, b"primary"))

    async def test_regex_path_takes_what_it_matches(self) -> None:
        """What matches an expression goes to its Service, which is asked for the target; the rest is another one's."""
        await self.serve(
            claimant("api", "/api(/|$)(.*)", use_regex="true", rewrite_target="/new/$2"), claimant("site")
        )
        asked = ("/api", "/api/users?a=b", "/API/users", "/%61pi/a%20b", "/x/../api/users", "//api/users")
        for path in asked:
            self.assertEqual(await self.get(self.http, path), (200, b"api"), path)
        api, _ = self.upstreams
        lines = [head.partition(b" HTTP/1.1")[0].decode() for wire in api.wires for head in wire.heads]
        targets = ["/new/", "/new/users?a=b", "/new/users", "/new/a%20b", "/new/users", "/new/users"]
        self.assertEqual(lines, [f"GET {target}" for target in targets])
        for path in ("/", "/apiary", "/other/api/"):
            self.assertEqual(await self.get(self.http, path), (200, b"site"), path)
        reasons = {one["reason"] for one in await self.problems()}
        self.assertEqual(reasons, set())

    async def test_regex_path_that_is_not_run_gives_nothing_to_others(self) -> None:
        """What may match such an expression answers 503, and the message says what that is and why; the rest is served."""
        await self.serve(claimant("api", "/api/(?!v1)(.*)", use_regex="true"), claimant("site"))
        for path in ("/api/", "/api/users", "/API/users", "/%61pi/users", "/x/../api/users", "//api/users"):
            self.assertEqual((await self.get(self.http, path))[0], 503, path)
        for path in ("/", "/apiary", "/other/api/"):
            self.assertEqual(await self.get(self.http, path), (200, b"site"), path)
        (message,) = [one["message"] for one in await self.problems() if one["reason"] == "UnsupportedPath"]
        self.assertIn('what begins with "/api/"', message)
        self.assertIn("(?!", message)

    async def test_guard_on_a_regex_path_holds(self) -> None:
        """A guard that is missing closes what the path may match, also where nobody asks for expressions."""
        await self.serve(claimant("admin", "/admin(/|$)(.*)", enable_modsecurity="true"), claimant("site"))
        for path in ("/admin", "/admin/users", "/Admin/users", "/admin/"):
            self.assertEqual((await self.get(self.http, path))[0], 503, path)
        self.assertEqual(await self.get(self.http, "/"), (200, b"site"))

    async def test_snippets_are_honored(self) -> None:
        """What snippets decide is done, where no path matches, too."""
        await self.serve(
            claimant(
                "app",
                "/app",
                configuration_snippet="if ($arg_tea = 1) { return 418 $ingress_name; }",
                server_snippet="location = /health { return 200 fine; }",
            ),
            claimant("site", "/site"),
        )
        for path, answer in (
            ("/app?tea=1", (418, b"app")),
            ("/app?tea=2", (200, b"app")),
            ("/site?tea=1", (200, b"site")),
            ("/health", (200, b"fine")),
        ):
            self.assertEqual(await self.get(self.http, path), answer, path)

    async def test_snippet_that_denies_is_a_guard(self) -> None:
        """It closes its Ingress; a server snippet closes the host, for the other Ingresses of the namespace, too."""
        await self.serve(
            claimant("closed", "/closed", configuration_snippet="if ($x) { return 403; }"), claimant("site")
        )
        self.assertEqual((await self.get(self.http, "/closed"))[0], 503)
        self.assertEqual(await self.get(self.http, "/"), (200, b"site"))
        snippet = "# nobody\ninternal;"
        self.write(
            "all",
            *(claimant("closed", "/closed", server_snippet=snippet), claimant("site")),
            *map(service_object, ("closed", "site")),
        )
        await self.until_get((503, b"503 Service Unavailable\n"), self.http)


class EndpointTests(ProblemsCase):
    """Tenants who may write EndpointSlices do not choose what the controller connects to."""

    endpoint_networks = ()

    def kubeconfig(self, server: ApiServer) -> str:
        """Write the kubeconfig for *server*, and return its name."""
        path = self.directory / "kubeconfig"
        server.write_kubeconfig(path)
        return str(path)

    async def test_this_host_is_out_of_reach_in_a_cluster(self) -> None:
        """An EndpointSlice of the API server with a loopback address gets no request, and its problem says why."""
        secret = self.upstream(b"secret")
        server = ApiServer(self.reactor, tls=True)
        await server.listen()
        self.addCleanup(server.stop)
        for made in (
            ingress_object("app", HOST),
            service_object("app"),
            slice_object("app", secret.endpoint),
        ):
            server.apply(made)
        await self.until_ready(self.start(f"--kubeconfig={self.kubeconfig(server)}", "--shutdown-delay=0"))
        self.assertEqual((await self.get(self.http))[0], 503)
        (problem,) = await self.problems()
        self.assertEqual(
            (problem["kind"], problem["name"], problem["reason"]),
            ("EndpointSlice", "app-1", "EndpointForbidden"),
        )
        self.assertIn("127.0.0.1, which is an address of this host", problem["message"])

        # As soon as the EndpointSlice leads elsewhere, the problem is gone.
        server.apply(slice_object("app", Endpoint("10.255.255.1", 80)))
        await self.until_no_problem()

    async def until_no_problem(self) -> None:
        """Wait until the admin port shows none."""
        deadline = self.reactor.seconds() + PATIENCE
        while await self.problems():
            self.assertLess(self.reactor.seconds(), deadline)
            await self.turn(0.02)

    async def test_the_option_makes_exceptions(self) -> None:
        """With the network allowed, the same objects are served."""
        app = self.upstream(b"app")
        server = ApiServer(self.reactor, tls=True)
        await server.listen()
        self.addCleanup(server.stop)
        for made in (ingress_object("app", HOST), service_object("app"), slice_object("app", app.endpoint)):
            server.apply(made)
        options = (
            f"--kubeconfig={self.kubeconfig(server)}",
            "--shutdown-delay=0",
            "--allow-endpoint-networks=127.0.0.0/8",
        )
        await self.until_ready(self.start(*options))
        self.assertEqual(await self.get(self.http), (200, b"app"))

    async def until_problem(self, words: str) -> None:
        """Wait until the admin port shows one problem, and this is what it says."""
        deadline = self.reactor.seconds() + PATIENCE
        while len(shown := await self.problems()) != 1 or words not in shown[0]["message"]:
            self.assertLess(self.reactor.seconds(), deadline, shown)
            await self.turn(0.02)

    async def test_manifests_may_name_this_host_but_not_the_controller(self) -> None:
        """Loopback is allowed there; the admin port and the listeners are not reached through the proxy."""
        app = self.upstream(b"app")
        controller = self.start_with_manifests()
        self.write(
            "app", ingress_object("app", HOST), service_object("app"), slice_object("app", app.endpoint)
        )
        await self.until_ready(controller)
        await self.until_get((200, b"app"), self.http)
        for port in (self.admin, self.http, self.https):
            self.write(
                "app",
                ingress_object("app", HOST),
                service_object("app"),
                slice_object("app", Endpoint("127.0.0.1", port)),
            )
            await self.until_get((503, b"503 Service Unavailable\n"), self.http)
            # Endpoints are taken away at once; what is wrong with them is told a round later.
            await self.until_problem(f"127.0.0.1:{port}, which is a listener of this controller")
            self.write(
                "app", ingress_object("app", HOST), service_object("app"), slice_object("app", app.endpoint)
            )
            await self.until_get((200, b"app"), self.http)


class NothingServedTests(ProblemsCase):
    """Whoever sees no routes is told why."""

    async def test_all_reasons_are_in_the_log(self) -> None:
        """An empty directory, a class that is not ours, a link that leads nowhere, an option without effect: each once."""
        controller = self.start_with_manifests(f"--endpoint={NAMESPACE}/typo=127.0.0.1:9")
        await self.until_ready(controller)
        # The log comes by a thread and a pipe of its own.
        nothing = b"Published 0 routes of 0 hosts, with 0 problems: the manifests hold no Ingresses"
        await self.until(lambda: nothing in controller.output)
        self.assertIn(b"there is nothing to read yet", controller.output)

        (self.manifests / "link.yaml").symlink_to("nowhere.yaml")
        other = claimant("app")
        other["spec"]["ingressClassName"] = "traefik"
        self.write("app", other, service_object("app"))
        await self.until(lambda: b'left alone are 1 Ingress of class "traefik"' in controller.output)
        self.assertIn(b'served is class "nginx" (--ingress-class)', controller.output)
        await self.until(lambda: b"it is a link to nowhere.yaml, which does not exist" in controller.output)
        (problem,) = await self.problems()
        self.assertEqual((problem["kind"], problem["reason"]), ("Manifest", "MalformedManifest"))

        self.write("app", claimant("app"), service_object("app"))
        await self.until(
            lambda: b"--endpoint shop/typo=127.0.0.1:9 gives no Service an endpoint" in controller.output
        )
        await self.until(lambda: b"Published 1 route" in controller.output)
        for line in (b"nothing to read yet", b"gives no Service an endpoint"):
            self.assertEqual(controller.output.count(line), 1)
