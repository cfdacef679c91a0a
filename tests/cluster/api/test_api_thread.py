"""Tests for ``ingress.cluster.api.api_thread``: requests in a thread, outcomes in the reactor thread."""

from threading import current_thread, main_thread
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from ingress.cluster.api import api_thread
from ingress.cluster.api.api_client import ApiConnection, ApiRequest
from ingress.cluster.api.api_thread import WITHHELD, ApiThread, Outcome
from ingress.errors import KubernetesError
from ingress.model.reporting.writes import JSON, MERGE_PATCH
from tests.cluster.api_server_case import (
    PATIENCE_SECONDS,
    SOON_SECONDS,
    ApiServerTestCase,
    in_thread,
    reactor,
)
from tests.fakes.apiserver.faults import Answer, Hang, RawBody
from tests.fakes.objects import ingress_object, service_object

SERVICES = "/api/v1/namespaces/shop/services"
STATUS = "/apis/networking.k8s.io/v1/namespaces/shop/ingresses/web/status"


class ApiThreadTests(ApiServerTestCase):
    """What comes of a request."""

    async def thread(self, **more: Any) -> ApiThread:
        """A thread that ends with the test."""
        access = self.access(**more)
        await in_thread(access.load)
        thread = ApiThread(reactor, lambda: ApiConnection(access), "a thread")
        self.addCleanup(lambda: in_thread(lambda: thread.join(SOON_SECONDS)))
        self.addCleanup(thread.stop)
        return thread

    def ask(self, thread: ApiThread, request: ApiRequest, **more: Any) -> "Deferred[Outcome]":
        outcome: Deferred[Outcome] = Deferred()

        def done(value: Outcome) -> None:
            self.assertIs(current_thread(), main_thread())
            outcome.callback(value)

        thread.ask(request, done, **more)
        return outcome.addTimeout(PATIENCE_SECONDS, reactor)

    async def error(self, thread: ApiThread, request: ApiRequest, **more: Any) -> KubernetesError:
        outcome = await self.ask(thread, request, **more)
        assert isinstance(outcome, KubernetesError)
        return outcome

    async def test_writes(self) -> None:
        """POST, PUT and PATCH arrive with their bodies, media types and credentials, and bring the object."""
        thread = await self.thread()
        created = await self.ask(thread, ApiRequest("POST", SERVICES, body=service_object("web")))
        assert not isinstance(created, KubernetesError)
        self.assertEqual(created["metadata"]["name"], "web")
        changed = {**created, "spec": {"clusterIP": "10.0.0.11"}}
        await self.ask(thread, ApiRequest("PUT", f"{SERVICES}/web", body=changed))
        self.assertEqual(self.server.get("Service", "web", "shop")["spec"], {"clusterIP": "10.0.0.11"})
        self.server.create(
            {**ingress_object("web", "shop.test"), "status": {"loadBalancer": {"ingress": []}}}
        )
        patch = {"status": {"loadBalancer": {"ingress": None}}}
        request = ApiRequest("PATCH", STATUS, (("fieldManager", "us/ß"),), patch, MERGE_PATCH)
        await self.ask(thread, request)
        # A null has to arrive as a null: it removes the field, where an empty list would stay.
        self.assertEqual(self.server.get("Ingress", "web", "shop")["status"], {"loadBalancer": {}})
        calls = self.server.requests[-3:]
        self.assertEqual([call.verb for call in calls], ["create", "update", "patch"])
        self.assertEqual([call.headers["content-type"] for call in calls], [JSON, JSON, MERGE_PATCH])
        self.assertEqual({call.token for call in calls}, {self.server.token})
        self.assertEqual(calls[-1].query, {"fieldManager": "us/ß"})
        self.assertEqual(self.server.connection_count, 1)

    async def test_nothing_is_repeated(self) -> None:
        """A write that is refused, even with a wish to come again, is sent once."""
        thread = await self.thread()
        self.server.faults.add(Answer(503, {"Retry-After": "0"}))
        error = await self.error(thread, ApiRequest("POST", SERVICES, body=service_object("web")))
        self.assertEqual((error.status, error.retry_after_seconds), (503, 0.0))
        self.assertEqual(len(self.server.requests), 1)

    async def test_time_limit(self) -> None:
        """A request that is not answered ends after its own time limit."""
        thread = await self.thread()
        self.server.faults.add(Hang())
        error = await self.error(thread, ApiRequest("GET", SERVICES, timeouts=(0.1, 0.1)))
        self.assertEqual(error.message, "no answer in time")

    async def test_no_object(self) -> None:
        """An answer that is no JSON object is an error."""
        thread = await self.thread()
        for body in (b"[]", b"{"):
            self.server.faults.add(RawBody(body))
            error = await self.error(thread, ApiRequest("GET", SERVICES))
            self.assertEqual((error.status, error.reason), (0, "Broken"))

    async def test_answer_not_wanted(self) -> None:
        """An answer that nobody wants is not decoded, and the connection is kept all the same."""
        thread = await self.thread()
        self.server.faults.add(RawBody(b'{"metadata":' + b"[" * 100_000))
        request = ApiRequest("GET", SERVICES, wants_answer=False)
        for _ in range(2):
            self.assertEqual(await self.ask(thread, request), {})
        self.assertEqual(self.server.connection_count, 1)

    async def test_not_the_answer_of_an_api_server(self) -> None:
        """A success that brings no object is an error, also where nobody wants the object: nothing was written."""
        thread = await self.thread()
        request = ApiRequest("PATCH", STATUS, (), {}, MERGE_PATCH, wants_answer=False)
        page = {"Content-Type": "text/html"}
        for answer in (
            Answer(200, page, b"<html>"),
            Answer(200, page, b'{"metadata": {"name": "web"}}'),
            Answer(200, body=b"null"),
            Answer(200, body=b"{}"),
            Answer(200, body=b'{"error": "log in first"}'),
            Answer(200, body=b'{"kind": "Ingress"}'),
            Answer(200, body=b""),
            Answer(204, body=b""),
        ):
            self.server.faults.add(answer)
            error = await self.error(thread, request)
            self.assertEqual((error.status, error.reason), (0, "Broken"), answer)
        self.server.faults.add(
            Answer(
                201, {"Content-Type": "Application/JSON; charset=utf-8"}, b'\n{ "kind": 1, "metadata": {}}'
            )
        )
        self.assertEqual(await self.ask(thread, request), {})

    async def test_endless_answer(self) -> None:
        """An answer that is larger than any object, or trickles, is given up."""
        self.patch(api_thread, "MAX_ANSWER_BYTES", 1000)
        thread = await self.thread()
        self.server.faults.add(RawBody(b" " * 1001, "stay"))
        self.assertIn("no end", str(await self.error(thread, ApiRequest("GET", SERVICES))))
        self.patch(api_thread, "MAX_ANSWER_SECONDS", -1.0)
        self.server.faults.add(RawBody(b" ", "stay"))
        self.assertIn("too slow", str(await self.error(thread, ApiRequest("GET", SERVICES))))

    async def test_withheld(self) -> None:
        """What is not permitted at the last moment is not sent."""
        thread = await self.thread()
        error = await self.error(thread, ApiRequest("GET", SERVICES), is_permitted=lambda: False)
        self.assertEqual(error.reason, WITHHELD)
        self.assertEqual(self.server.requests, [])

    async def test_bug(self) -> None:
        """What raises in the thread is an error, and the thread goes on."""
        thread = await self.thread()
        error = await self.error(thread, ApiRequest("GET", SERVICES), is_permitted=lambda: bool(1 / 0))
        self.assertIn("ZeroDivisionError", str(error))
        self.assertNotIsInstance(await self.ask(thread, ApiRequest("GET", SERVICES)), KubernetesError)

    async def test_refused_credentials(self) -> None:
        """Credentials that are refused are loaded anew for the next request."""
        clock = Clock()
        thread = await self.thread(clock=clock.seconds)
        self.server.access.tokens = {"new": None}
        self.server.write_kubeconfig(self.kubeconfig, token="new")
        clock.advance(11)
        self.assertEqual((await self.error(thread, ApiRequest("GET", SERVICES))).status, 401)
        self.assertNotIsInstance(await self.ask(thread, ApiRequest("GET", SERVICES)), KubernetesError)

    async def test_stop(self) -> None:
        """Stopping breaks a request off, ends the thread at once, and delivers nothing."""
        thread = await self.thread()
        self.server.faults.add(Hang())
        outcome: list[Outcome] = []
        thread.ask(ApiRequest("GET", SERVICES), outcome.append)
        await self.server.when(lambda: bool(self.server.requests)).addTimeout(PATIENCE_SECONDS, reactor)
        thread.stop()
        self.assertTrue(await in_thread(lambda: thread.join(SOON_SECONDS)))
        thread.ask(ApiRequest("GET", SERVICES), outcome.append)
        await in_thread(lambda: None)
        self.assertEqual(outcome, [])
