"""Tests of what the tests' API server can do beyond the contract: expiry, access, control."""

from __future__ import annotations

import signal
import socket
from pathlib import Path

import yaml
from twisted.internet import reactor as real_reactor  # noqa: TID251 - real sockets need the real reactor
from twisted.internet.defer import CancelledError
from twisted.internet.endpoints import TCP4ClientEndpoint, connectProtocol
from twisted.internet.error import ConnectionRefusedError
from twisted.trial.unittest import SynchronousTestCase

from tests.fakes.apiserver.access import Grant, grants_from_manifests
from tests.fakes.apiserver.faults import Delay, Hang
from tests.fakes.apiserver.kinds import Json
from tests.fakes.apiserver.plain_client import connect
from tests.fakes.apiserver.process import ServerProcess
from tests.fakes.apiserver.server import DEFAULT_TOKEN, ApiServer
from tests.fakes.apiserver.statuses import StatusError
from tests.fakes.apiserver.wire import INGRESSES, ServerCase, Wire, ingress

IN_SHOP = "/apis/networking.k8s.io/v1/namespaces/shop/ingresses"


class ExpiryTests(ServerCase):
    """Versions that left the window."""

    async def test_compact(self) -> None:
        """After a compaction even the newest version seen before is expired, as an ERROR event."""
        version = self.server.create(ingress("a"))["metadata"]["resourceVersion"]
        self.server.compact()
        status, event = await self.answer(f"{INGRESSES}?watch=true&resourceVersion={version}")
        self.assertEqual((status, event["type"], event["object"]["code"]), (200, "ERROR", 410))
        _, fresh = await self.answer(INGRESSES)
        wire = await self.watch(f"resourceVersion={fresh['metadata']['resourceVersion']}")
        self.server.create(ingress("b"))
        await wire.until(b"ADDED")

    async def test_status(self) -> None:
        """The same can be an HTTP status."""
        self.server.gone_as_status = True
        status, body = await self.answer(f"{INGRESSES}?watch=true&resourceVersion=1")
        self.assertEqual((status, body["code"], body["reason"]), (410, 410, "Expired"))
        self.assertEqual(self.server.watches, [])

    async def test_running_watch(self) -> None:
        """A compaction does not touch watches that run."""
        wire = await self.watch("resourceVersion=1000")
        self.server.compact()
        self.server.create(ingress("a"))
        await wire.until(b"ADDED")

    async def test_continue(self) -> None:
        """An expired page is answered 410, with a token that goes on with today's content."""
        for name in "abc":
            self.server.create(ingress(name))
        _, page = await self.answer(f"{INGRESSES}?limit=1")
        self.server.compact()
        self.server.create(ingress("d"))
        token = page["metadata"]["continue"]
        status, body = await self.answer(f"{INGRESSES}?limit=1&continue={token}")
        self.assertEqual((status, body["reason"]), (410, "Expired"))
        _, rest = await self.answer(f"{INGRESSES}?continue={body['metadata']['continue']}")
        self.assertEqual([one["metadata"]["name"] for one in rest["items"]], ["b", "c", "d"])

    async def test_exact(self) -> None:
        """A list at an exact version shows what was then."""
        version = self.server.create(ingress("a"))["metadata"]["resourceVersion"]
        changed = self.server.get("Ingress", "a", "shop")
        changed["spec"]["rules"] = []
        self.server.replace(changed)
        self.server.create(ingress("b"))
        _, then = await self.answer(f"{INGRESSES}?resourceVersion={version}&resourceVersionMatch=Exact")
        self.assertEqual([one["spec"]["rules"] for one in then["items"]], [[{"host": "a.example"}]])
        self.assertEqual(then["metadata"]["resourceVersion"], version)

    async def test_future(self) -> None:
        """A list cannot be newer than the server, and says when to ask again."""
        wire = await self.get(f"{INGRESSES}?resourceVersion=999999&resourceVersionMatch=NotOlderThan")
        await wire.until(b"\r\n0\r\n\r\n")
        self.assertEqual(wire.answer()[0], 504)
        self.assertIn(b"\r\nRetry-After: 1\r\n", wire.received)

    async def test_window(self) -> None:
        """The window is bounded: what is before it is expired without a compaction."""
        server = ApiServer(real_reactor, window=2)
        for name in "abc":
            server.create(ingress(name))
        kind = server.kinds.named("Ingress")
        self.assertEqual([change.key[1] for change in server.history.since(1001, kind)], ["b", "c"])
        with self.assertRaises(StatusError) as caught:
            server.history.since(1000, kind)
        self.assertEqual(caught.exception.code, 410)

    async def test_no_streaming_list(self) -> None:
        """A streaming list can be switched off: 422."""
        self.server.streaming_list = False
        status, body = await self.answer(
            f"{INGRESSES}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
        )
        self.assertEqual((status, body["reason"]), (422, "Invalid"))


ACCOUNT = {"kind": "ServiceAccount", "name": "us", "namespace": "ours"}
RBAC: tuple[Json, ...] = (
    {
        "kind": "ClusterRole",
        "metadata": {"name": "reader"},
        "rules": [
            {"apiGroups": ["networking.k8s.io"], "resources": ["ingresses"], "verbs": ["list", "watch"]},
            {"apiGroups": ["networking.k8s.io"], "resources": ["ingresses/status"], "verbs": ["patch"]},
        ],
    },
    {
        "kind": "Role",
        "metadata": {"name": "named", "namespace": "shop"},
        "rules": [
            {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["tls"], "verbs": ["get", "list"]}
        ],
    },
    {
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "reader"},
        "subjects": [ACCOUNT],
        "roleRef": {"kind": "ClusterRole", "name": "reader"},
    },
    {
        "kind": "RoleBinding",
        "metadata": {"name": "named", "namespace": "shop"},
        "subjects": [ACCOUNT],
        "roleRef": {"kind": "Role", "name": "named"},
    },
)


class AccessTests(ServerCase):
    """Tokens, and rules as Kubernetes writes them."""

    async def test_token(self) -> None:
        """No token and a wrong one are refused; with no tokens set nobody has to show one."""
        for token in (None, "wrong"):
            self.assertEqual((await self.answer(INGRESSES, token))[0], 401)
        self.server.access.tokens.clear()
        self.assertEqual((await self.answer(INGRESSES, None))[0], 200)

    async def test_grants(self) -> None:
        """A token may do what bindings of its account grant, where they grant it, and no more."""
        self.server.create({**ingress("tls"), "apiVersion": "v1", "kind": "Secret"})
        self.server.access.tokens["us"] = grants_from_manifests(RBAC, "ours", "us")
        secrets = "/api/v1/namespaces/shop/secrets"
        for path, expected in (
            (INGRESSES, 200),
            (IN_SHOP, 200),
            (f"{IN_SHOP}/web", 403),
            ("/api/v1/services", 403),
            ("/api/v1/secrets", 403),
            (secrets, 403),
            (f"{secrets}?fieldSelector=metadata.name%3Dtls", 200),
            (f"{secrets}?fieldSelector=metadata.name%3Dother", 403),
            (f"{secrets}/tls", 200),
            (f"{secrets}/other", 403),
            ("/api/v1/namespaces/other/secrets/tls", 403),
            ("/version", 200),
        ):
            self.assertEqual((await self.answer(path, "us"))[0], expected, path)

    async def test_other_account(self) -> None:
        """Bindings of another account grant nothing."""
        self.assertEqual(grants_from_manifests(RBAC, "ours", "them"), ())
        self.assertEqual(grants_from_manifests(RBAC, "theirs", "us"), ())

    async def test_everything(self) -> None:
        """Stars stand for all groups, resources and verbs."""
        rule = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
        self.server.access.tokens["all"] = (Grant(rule),)
        self.assertEqual((await self.answer(f"{IN_SHOP}/none", "all"))[0], 404)


class LifeTests(ServerCase):
    """Starting, stopping, and what a test holds in its hands."""

    async def test_stop_in_the_middle(self) -> None:
        """Stopping ends watches, hanging and delayed requests and waiters, and leaves a clean reactor."""
        watch = await self.watch("timeoutSeconds=300&allowWatchBookmarks=true")
        self.server.faults.add(Hang())
        self.server.faults.add(Delay(300))
        hanging, delayed = await self.get(INGRESSES), await self.get(INGRESSES)
        await self.server.when(lambda: len(self.server.requests) == 3)
        waiter = self.server.when(lambda: False)
        await self.server.stop()
        for wire in (watch, hanging, delayed):
            await wire.until_lost()
        self.failureResultOf(waiter, CancelledError)
        self.assertEqual((self.server.watches, self.server.connection_count), ([], 0))

    async def test_listen_again(self) -> None:
        """A server that stopped listening refuses, keeps its watches, and can listen again."""
        watch = await self.watch("resourceVersion=1000")
        port = self.server.port
        await self.server.stop_listening()
        endpoint = TCP4ClientEndpoint(real_reactor, "127.0.0.1", port)
        with self.assertRaises(ConnectionRefusedError):
            await connectProtocol(endpoint, Wire())
        self.server.create(ingress("a"))
        await watch.until(b"ADDED")
        await self.server.listen(port)
        self.assertEqual((await self.answer(INGRESSES))[0], 200)

    async def test_port_is_kept(self) -> None:
        """Nobody who looks for a free port is given that of a server which does not listen for a while."""
        port = self.server.port
        await self.server.stop_listening()
        with socket.socket() as other, self.assertRaises(OSError):
            other.bind(("127.0.0.1", port))
        await self.server.listen(port)
        self.assertEqual((await self.answer(INGRESSES))[0], 200)

    async def test_log(self) -> None:
        """The log tells what was asked, by the words of RBAC."""
        await self.answer(f"{IN_SHOP}?limit=5")
        await self.answer("/api/v1/namespaces/shop/secrets/tls")
        (listed,) = self.server.requests_of("list", "ingresses")
        self.assertEqual(
            (listed.namespace, listed.query, listed.token), ("shop", {"limit": "5"}, DEFAULT_TOKEN)
        )
        (got,) = self.server.requests_of("get")
        self.assertEqual((got.plural, got.name, got.status), ("secrets", "tls", 404))

    async def test_copies(self) -> None:
        """What a test gets is its own: changing it changes nothing on the server."""
        given = ingress("a")
        stored = self.server.create(given)
        given["spec"]["rules"].clear()
        stored["spec"]["rules"].clear()
        self.server.get("Ingress", "a", "shop")["spec"]["rules"].clear()
        self.assertEqual(len(self.server.list("ingresses")[0]["spec"]["rules"]), 1)

    async def test_stale_replace(self) -> None:
        """A test's own write obeys versions when it carries one; apply does not ask."""
        stale = self.server.create(ingress("a"))
        self.server.apply(ingress("a", labels={"x": "1"}))
        with self.assertRaises(StatusError) as caught:
            self.server.replace(stale)
        self.assertEqual(caught.exception.code, 409)
        self.server.apply(stale)
        self.assertNotIn("labels", self.server.get("Ingress", "a", "shop")["metadata"])

    async def test_creation_time(self) -> None:
        """A test may say when an object was created."""
        self.server.create(ingress("a", creationTimestamp="2020-01-01T00:00:00Z"))
        stored = self.server.get("Ingress", "a", "shop")
        self.assertEqual(stored["metadata"]["creationTimestamp"], "2020-01-01T00:00:00Z")

    async def test_namespace_takes_content_along(self) -> None:
        """Deleting a Namespace deletes what is in it, and says so to watches."""
        self.server.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
        self.server.create(ingress("a"))
        wire = await self.watch()
        self.server.delete("Namespace", "shop")
        await wire.until(b"DELETED")
        self.assertEqual(self.server.list("Ingress"), ())


class ProcessTests(SynchronousTestCase):
    """The server as a process."""

    def start(self, *options: str) -> ServerProcess:
        """Start a process."""
        process = ServerProcess(*options)
        self.addCleanup(process.stop)
        return process

    def test_load(self) -> None:
        """It serves the objects of the files it is given, lists of objects included."""
        path = Path(self.mktemp())
        path.parent.mkdir(parents=True, exist_ok=True)
        listed = {"apiVersion": "v1", "kind": "List", "items": [ingress("b"), ingress("c")]}
        path.write_text(yaml.safe_dump_all([ingress("a"), None, listed]), encoding="utf-8")
        process = self.start("--load", str(path.absolute()))
        answer = connect(process.kubeconfig()).send("GET", INGRESSES)
        self.assertEqual([one["metadata"]["name"] for one in answer.body["items"]], ["a", "b", "c"])

    def test_terminate(self) -> None:
        """It ends with status 0 and without a word on SIGTERM, also while a watch runs over TLS."""
        process = self.start("--tls")
        events = connect(process.kubeconfig()).watch(INGRESSES)
        self.addCleanup(events.close)
        self.assertEqual(process.stop(signal.SIGTERM), (0, b""))
