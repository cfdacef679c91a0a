"""What the pages of a busy controller answer, all of them: by their description, and without anything secret."""

import json
import re
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

from attrs import asdict, evolve
from jsonschema import Draft202012Validator, FormatChecker
from openapi_spec_validator import OpenAPIV31SpecValidator
from twisted.internet.defer import succeed

from ingress.admin.contract.page_row import V1
from ingress.admin.contract.page_sources import PageSources, Workers
from ingress.admin.pages.live_stream import MEDIA_TYPE
from ingress.admin.port.site import admin_site
from ingress.admin.table import PAGES
from ingress.explain.served import Served
from ingress.model.cluster.locality import Locality
from ingress.model.observability.changes_and_failures import Change, ChangeSort, FailedAttempt, Failure
from ingress.model.observability.endpoint_states import (
    Ejection,
    EndpointsSeen,
    EndpointStage,
    PoolRow,
    RotationRow,
)
from ingress.model.observability.workers import WorkerStage, WorkerState
from ingress.model.stepwise import finished
from ingress.translate.endpoints.unready import unready_endpoints
from tests.admin.listed import NOW
from tests.admin.live_case import live_of
from tests.admin.site_case import SiteCase
from tests.fakes.certificates import issue, make_authority
from tests.live.viewers import FakeViewer
from tests.translate.golden import read_options
from tests.translate.readers.gateway.route_cluster import GatewayCluster

MANIFESTS = Path(__file__).parent / "busy.yaml"
PICTURE = {
    "identity": "txingress-1_x",
    "leading": True,
    "lease": "txingress/txingress",
    "leader": "txingress-1_x",
    "renewed": "2026-11-22T18:29:58.000000Z",
    "transitions": 2,
    "addresses": ["192.0.2.1"],
    "statusesPending": 0,
    "eventsPending": 1,
}
QUERIES = {
    f"{V1}explain": (
        "url=https://shop.test/cart&header=X-Canary:always&header=Authorization:Bearer+marker",
        "url=https://anna:marker@shop.test/",
        "url=http://nobody.test/",
        "url=https://through.test/",
    )
}
"""For pages that say nothing without one, or other things by another."""


@cache
def busy() -> tuple[GatewayCluster, str]:
    """Return a cluster with the manifests, and the key of its certificate."""
    chain, key = issue(make_authority(), ("shop.test", "*.shop.test"))
    secrets = (
        {
            "name": "tls",
            "type": "kubernetes.io/tls",
            "data": {"tls.crt": chain.decode(), "tls.key": key.decode()},
        },
        {"name": "authority", "type": "Opaque", "data": {"ca.crt": make_authority().pem.decode()}},
    )
    objects = [
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": one["type"],
            "metadata": {"name": one["name"], "namespace": "shop"},
            "stringData": one["data"],
        }
        for one in secrets
    ]
    options = read_options(
        {"said": {"global-allowed-response-headers": "X-Api-Key"}, "ssl_passthrough": True}
    )
    cluster = GatewayCluster(**asdict(evolve(options, locality=Locality("eu-1a")), recurse=False))
    cluster.write("busy", MANIFESTS.read_text("utf-8"), *objects)
    return cluster, key.decode()


class BusyCase(SiteCase):
    """A site that knows something for every page."""

    def setUp(self) -> None:
        super().setUp()
        cluster, self.key = busy()
        assert cluster.translation.snapshot is not None
        self.snapshot = cluster.translation.snapshot
        self.rings.changes.add(
            Change(NOW, ChangeSort.EJECTION, "ejected", "10.0.0.1:8080 gets no requests", is_trouble=True)
        )
        attempt = FailedAttempt("10.0.0.1:8080", "no connection could be made", 0.0, 0.25)
        for worker in (None, 1):
            self.rings.failures.add(
                Failure(
                    NOW,
                    "bad-gateway",
                    502,
                    "refused",
                    "GET",
                    "shop.test",
                    "/",
                    0.3,
                    attempts=(attempt,),
                    worker=worker,
                )
            )
        heard = self.metrics.watch.reflector("Ingress", "", lambda: 100.0)
        heard.last_contact = 99.0
        self.metrics.watch.reflector("Secret", "shop", lambda: 100.0).refused_since = 50.0
        states = (
            WorkerState(0, WorkerStage.SERVING, NOW, 41, 7, 0.002, 12, 0.0, 1),
            WorkerState(1, WorkerStage.ENDED, NOW, last_end="was killed by SIGKILL"),
        )
        seen = EndpointsSeen()
        seen.left_out.append(1)
        web = "shop/web:80"
        rows = (
            RotationRow(web, "10.0.0.1:8080", EndpointStage.EJECTED, 8.0, Ejection.UNREACHABLE),
            RotationRow(web, "10.0.0.2:8080", EndpointStage.SLOW_START, 8.0, latency=0.25),
            PoolRow("10.0.0.2:8080", 2, 1),
            PoolRow("10.0.0.99:8080", 1, 1),
        )
        finished(seen.take(rows))
        known: PageSources = evolve(
            self.known(),
            leader=lambda: PICTURE,
            served=lambda: Served(self.snapshot, NOW),
            workers=Workers(lambda: states),
            endpoints=lambda: succeed(seen),
            unready=lambda: unready_endpoints(self.snapshot.backends, cluster.store.state(), cluster.options),
            started=NOW - timedelta(hours=1),
        )
        self.live = live_of(known, self.clock)
        self.site = admin_site(evolve(known, live=self.live), self.clock)

    def stream(self) -> str:
        """Return what the stream tells of whoever joins, and in the next seconds."""
        viewer = FakeViewer()
        self.live.join(viewer)
        self.clock.pump([0.1] * 70)
        self.live.leave(viewer)
        return viewer.octets.decode()

    def answers(self) -> dict[str, str]:
        """Return what every page says, by what it was asked, and the beginning of the stream."""
        found = {}
        for row in PAGES:
            if row.content_type == MEDIA_TYPE:
                found[row.path] = self.stream()
                continue
            for query in QUERIES.get(row.path, ("",)):
                status, _, body = self.ask(f"{row.path}?{query}" if query else row.path)
                self.assertEqual(status, 200, (row.path, query, body))
                found[f"{row.path}?{query}"] = body
        return found


class DescriptionTests(BusyCase):
    """``/api/v1/openapi.json``, and what it describes."""

    def document(self) -> dict[str, Any]:
        """Return the description."""
        read: dict[str, Any] = json.loads(self.ask(f"{V1}openapi.json")[2])
        return read

    def test_is_one(self) -> None:
        """It is a document of OpenAPI 3.1, with every page but aliases, and every parameter."""
        document = self.document()
        OpenAPIV31SpecValidator(document).validate()
        self.assertEqual(set(document["paths"]), {row.path for row in PAGES if not row.alias_of})
        for row in PAGES:
            if not row.alias_of:
                described = document["paths"][row.path]["get"]["parameters"]
                self.assertEqual(
                    [one["name"] for one in described], [one.name for one in row.parameters or ()]
                )

    def test_times(self) -> None:
        """All times are told alike: in UTC, with milliseconds, as the logs have them; but those that objects have say what is there."""
        said = re.sub(r'"(created|renewed)": ?"[^"]*"', "", "".join(self.answers().values()))
        begun = re.findall(r'"\d{4}-\d\d-\d\dT', said)
        self.assertGreater(len(begun), 4)
        self.assertEqual(len(re.findall(r'"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"', said)), len(begun))

    def test_answers(self) -> None:
        """Each answer of JSON is what is described: no field is missing, and none is there that is not described."""
        document = self.document()
        checked = set()
        for asked, body in self.answers().items():
            path = asked.partition("?")[0]
            if path not in document["paths"]:
                continue
            media = document["paths"][path]["get"]["responses"]["200"]["content"].get("application/json")
            if media:
                validator = Draft202012Validator(media["schema"], format_checker=FormatChecker())
                self.assertEqual([str(one) for one in validator.iter_errors(json.loads(body))], [], asked)
                checked.add(path)
        self.assertEqual(checked, {row.path for row in PAGES if row.schema is not None})

    def test_busy(self) -> None:
        """What is compared has something of everything: no list of it is empty, nor any that its entries are for."""
        answers = {asked.strip("?"): body for asked, body in self.answers().items()}
        for row in PAGES:
            name = row.path.rpartition("/")[2]
            if row.schema is not None and name in row.schema.get("properties", {}):
                self.assertTrue(json.loads(answers[row.path])[name], row.path)
        routes = json.loads(answers[f"{V1}routes"])["routes"]
        for field in ("filters", "weighted", "variants", "conditions", "passthrough", "reason", "field"):
            self.assertTrue(any(route[field] for route in routes), field)
        states = {one["state"] for one in json.loads(answers[f"{V1}endpoints"])["endpoints"]}
        self.assertEqual(states, {stage.value for stage in EndpointStage})

    def test_refused(self) -> None:
        """What is said of a query that cannot be is described, too."""
        document = self.document()
        validator = Draft202012Validator(document["components"]["schemas"]["Error"])
        for path, item in document["paths"].items():
            if "400" in item["get"]["responses"]:
                status, _, body = self.ask(f"{path}?no=1")
                self.assertEqual(status, 400)
                validator.validate(json.loads(body))


class SecretTests(BusyCase):
    """Nothing secret is on any page."""

    def test_no_page(self) -> None:
        """Neither keys nor passwords, tokens of snippets, ConfigMaps and Gateways, nor what somebody asks about with credentials."""
        answers = self.answers()
        # The objects are served, with what says the secrets.
        for name in ("authorization", "set-cookie", "x-api-key"):
            self.assertIn(f'"{name}"', answers[f"{V1}routes?"].lower())
        self.assertTrue("configured-answer-fields" in answers[f"{V1}routes?"])
        lines = [line for line in self.key.splitlines() if "-----" not in line]
        for asked, body in answers.items():
            found = body.lower()
            self.assertNotIn("marker", found, asked)
            self.assertNotIn("private key", found, asked)
            for line in lines:
                self.assertNotIn(line.lower(), found, asked)

    def test_no_field(self) -> None:
        """Nor are they in header fields, of answers and of refusals; those of the stream are constants."""
        for row in PAGES:
            if row.content_type == MEDIA_TYPE:
                continue
            for query in (*QUERIES.get(row.path, ("",)), "marker=marker2"):
                self.assertNotIn("marker2", str(self.ask(f"{row.path}?{query}")[1]).lower())
