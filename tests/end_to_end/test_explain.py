"""``ingressctl explain`` beside a controller that runs: the demo's objects and some more, asked in three ways and by requests."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from attrs import frozen
from click.testing import CliRunner
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import TCP4ClientEndpoint, connectProtocol, wrapClientTLS

from ingress.ctl.main import commands
from tests.cluster.api_server_case import in_thread
from tests.end_to_end.end_to_end_case import EndToEndCase
from tests.fakes.apiserver.server import ApiServer
from tests.fakes.peers.downstreams import Answer, DownstreamWire
from tests.fakes.peers.tls_clients import TLSClient

DEMO = Path(__file__).parents[2] / "examples" / "demo"
PREFIX = "nginx.ingress.kubernetes.io"
SECONDS = 30.0


def ingress(name: str, host: str, *paths: str, service: str = "shop", **annotations: str) -> dict[str, Any]:
    """An Ingress of the shop; the names of *annotations* have ``_`` for ``-``."""
    backend = {"service": {"name": service, "port": {"number": 80}}}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {
            "name": name,
            "namespace": "shop",
            "annotations": {f"{PREFIX}/{key.replace('_', '-')}": value for key, value in annotations.items()},
        },
        "spec": {
            "ingressClassName": "nginx",
            "rules": [
                {
                    "host": host,
                    "http": {
                        "paths": [
                            {"path": path, "pathType": "ImplementationSpecific", "backend": backend}
                            for path in paths
                        ]
                    },
                }
            ],
        },
    }


MORE = (
    ingress("moved", "moved.test", "/", permanent_redirect="https://new.test/there"),
    ingress("root", "root.test", "/", app_root="/start"),
    ingress("rewritten", "rewritten.test", "/api(/|$)(.*)", use_regex="true", rewrite_target="/$2"),
    ingress("closed", "closed.test", "/", whitelist_source_range="10.0.0.0/8"),
    ingress("open", "open.test", "/", whitelist_source_range="127.0.0.0/8"),
    ingress("cors", "cors.test", "/", enable_cors="true"),
    ingress("said", "said.test", "/", configuration_snippet="if ($http_x_stop) { return 410; }"),
    ingress("gone", "gone.test", "/", service="absent"),
    ingress("guarded", "guarded.test", "/", auth_type="basic", auth_secret="absent"),
    ingress("foreign", "foreign.test", "/"),
)
MORE[-1]["spec"]["ingressClassName"] = "other"


@frozen
class Question:
    """A request."""

    url: str
    """With ``http://`` or ``https://``, without port."""
    method: str = "GET"
    headers: tuple[str, ...] = ()

    @property
    def host(self) -> str:
        """The host of the URL."""
        return self.url.split("/")[2]

    @property
    def path(self) -> str:
        """The target."""
        return "/" + "/".join(self.url.split("/")[3:])


QUESTIONS = (
    Question("http://shop.demo.localhost/"),
    Question("http://shop.demo.localhost/cart"),
    Question("http://shop.demo.localhost/cart/1?x=y"),
    Question("http://shop.demo.localhost/cart/help"),
    Question("http://shop.demo.localhost/cart/help/"),
    Question("http://shop.demo.localhost/cartoon"),
    Question("http://shop.demo.localhost//cart/./x"),
    Question("http://shop.demo.localhost/a%2fb"),
    Question("http://shop.demo.localhost/../x"),
    Question("http://SHOP.demo.localhost/"),
    Question("http://api.demo.localhost/v1/x"),
    Question("http://api.demo.localhost/v2"),
    Question("http://anna.sites.demo.localhost/"),
    Question("http://a.b.sites.demo.localhost/"),
    Question("http://sites.demo.localhost/"),
    Question("http://nobody.test/x"),
    Question("http://secure.demo.localhost/x?y"),
    Question("https://secure.demo.localhost/x?y"),
    Question("http://both.demo.localhost/"),
    Question("https://both.demo.localhost/"),
    Question("https://shop.demo.localhost/cart"),
    Question("https://secure.demo.localhost/", headers=("Host: both.demo.localhost",)),
    Question("http://moved.test/x"),
    Question("http://root.test/"),
    Question("http://root.test/x"),
    Question("http://rewritten.test/api/orders/7?q=1"),
    Question("http://rewritten.test/apix"),
    Question("http://rewritten.test/other"),
    Question("http://closed.test/"),
    Question("http://open.test/"),
    Question(
        "http://cors.test/", "OPTIONS", ("Origin: https://a.test", "Access-Control-Request-Method: PUT")
    ),
    Question("http://said.test/"),
    Question("http://said.test/", headers=("X-Stop: 1",)),
    Question("http://gone.test/"),
    Question("http://guarded.test/"),
    Question("http://foreign.test/"),
    Question("http://shop.demo.localhost/", "TRACE"),
)


class ExplainTests(EndToEndCase):
    """Files, a cluster and a running controller explain alike, and the controller does what they say."""

    def written(self) -> list[dict[str, Any]]:
        """Write the objects: the demo's, whose endpoints are upstreams of this test, and some more; return all."""
        found: list[dict[str, Any]] = []
        for file in sorted(DEMO.glob("*.yaml")):
            found += [one for one in yaml.safe_load_all(file.read_text("utf-8")) if one]
        self.names: dict[str, bytes] = {}
        for one in found:
            if one["kind"] == "EndpointSlice":
                name = one["metadata"]["name"].encode()
                endpoint = self.upstream(name).endpoint
                one["ports"][0]["port"] = endpoint.port
                self.names[str(endpoint)] = name
        found += MORE
        self.write("all", *found)
        return found

    async def sent(self, question: Question) -> Answer:
        """Return what the controller answers to *question*."""
        port = self.http
        endpoint: Any = TCP4ClientEndpoint(self.reactor, "127.0.0.1", self.http)
        if question.url.startswith("https:"):
            port = self.https
            endpoint = wrapClientTLS(
                TLSClient().to(question.host.encode()), TCP4ClientEndpoint(self.reactor, "127.0.0.1", port)
            )
        client = DownstreamWire()
        await connectProtocol(endpoint, client)
        self.clients.append(client)
        lines = [f"{question.method} {question.path} HTTP/1.1"]
        if not any(one.startswith("Host:") for one in question.headers):
            lines.append(f"Host: {question.host}")
        client.transport.write("\r\n".join([*lines, *question.headers, "Connection: close", "", ""]).encode())
        await client.answer().addTimeout(SECONDS, self.reactor)
        client.transport.abortConnection()
        return client.answers[0]

    async def explained(self, question: Question, *where: str) -> dict[str, Any]:
        """Return how *question* is explained by what *where* says."""
        headers = [word for one in question.headers for word in ("--header", one)]
        line = ["explain", question.url, *where, *headers, "--method", question.method]
        line += ["--client", "127.0.0.1", "--output", "json"]
        result = await in_thread(lambda: CliRunner().invoke(commands, line, prog_name="ingressctl"), SECONDS)
        self.assertIn(result.exit_code, (0, 1), result.output)
        # A controller advises its operator to use an option; who asks about files has none to start.
        data: dict[str, Any] = json.loads(
            re.sub(r"; (?:correct the name, or )?start with --endpoint [^\s\"]*", "", result.stdout)
        )
        return data

    def compare(self, question: Question, data: Mapping[str, Any], answer: Answer) -> None:
        """Check that *answer* is what *data* explains."""
        outcome = data["outcome"]
        if outcome["end"] == "answered":
            self.assertEqual(answer.status, outcome["status"], question)
            location = next(
                (
                    line.partition(b": ")[2].decode()
                    for line in answer.head.split(b"\r\n")
                    if line.lower().startswith(b"location:")
                ),
                "",
            )
            self.assertEqual(location, outcome["location"], question)
        else:
            self.assertEqual((outcome["end"], answer.status), ("sent", 200), question)
            endpoints = [self.names[one] for backend in data["backends"] for one in backend["endpoints"]]
            self.assertIn(answer.body, endpoints, question)

    async def test_files_and_the_running_controller_explain_what_it_does(self) -> None:
        """The explanations are the same in every field, and each request ends as they say."""
        self.written()
        controller = self.start_with_manifests("--no-hsts")
        await self.until_ready(controller)
        options = ("no-hsts", f"https=tcp:{self.https}", "allow-endpoint-networks=127.0.0.0/8")
        files = [str(self.manifests), *(word for one in options for word in ("--option", one))]
        for question in QUESTIONS:
            by_files = await self.explained(question, *files)
            by_admin = await self.explained(question, "--admin", f"127.0.0.1:{self.admin}")
            self.assertEqual(by_admin, by_files, question)
            self.compare(question, by_files, await self.sent(question))

    async def test_a_cluster_explains_what_a_controller_of_it_does(self) -> None:
        """Read with a person's rights, certificates and all."""
        objects = self.written()
        server = ApiServer(self.reactor)
        await server.listen()
        self.addCleanup(lambda: Deferred.fromCoroutine(server.stop()))
        for one in objects:
            server.create(one)
        kubeconfig = self.directory / "kubeconfig"
        server.write_kubeconfig(kubeconfig)
        controller = self.start(f"--kubeconfig={kubeconfig}", "--shutdown-delay=0", "--no-hsts")
        await self.until_ready(controller)
        options = ("no-hsts", f"https=tcp:{self.https}", "allow-endpoint-networks=127.0.0.0/8")
        live = ["--live", "--kubeconfig", str(kubeconfig), "--secrets", "content"]
        live += [word for one in options for word in ("--option", one)]
        for question in QUESTIONS[::4]:
            by_cluster = await self.explained(question, *live)
            by_admin = await self.explained(question, "--admin", f"http://127.0.0.1:{self.admin}/")
            self.assertEqual(by_admin["outcome"], by_cluster["outcome"], question)
            self.assertEqual(by_admin["route"], by_cluster["route"], question)
            self.compare(question, by_cluster, await self.sent(question))
