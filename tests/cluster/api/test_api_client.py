"""Tests for ``ingress.cluster.api.api_client``: what we rely on in the ``kubernetes`` package."""

import json
from collections.abc import Callable
from typing import TypeVar

import yaml
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock, deferLater
from twisted.logger import capturedLogs, formatEvent

from ingress.cluster.api.api_client import ApiAccess, ApiConnection, ApiRequest, ApiResponse, user_agent
from ingress.cluster.api.api_status import BROKEN, SILENT, UNREACHABLE
from ingress.cluster.api.credentials import CredentialSource
from ingress.errors import KubernetesError, StartError
from tests.cluster.api_server_case import LIMIT_SECONDS, SOON_SECONDS, ApiServerTestCase, in_thread, reactor
from tests.fakes.apiserver.access import Grant
from tests.fakes.apiserver.calls import Call
from tests.fakes.apiserver.faults import Answer, Drop, Hang, RawBody
from tests.fakes.apiserver.watching import Closing
from tests.fakes.certificates import make_authority

SERVICES = "/api/v1/services"
WATCH = [("watch", "true"), ("allowWatchBookmarks", "true")]
T = TypeVar("T")


def whole(response: ApiResponse) -> bytes:
    """Read an answer to its end and close it."""
    try:
        return response.read_all()
    finally:
        response.close()


async def error_of(action: Callable[[], object]) -> KubernetesError:
    """The error with which something fails in a thread."""
    return await failure_of(in_thread(action))


async def failure_of(running: "Deferred[T]") -> KubernetesError:
    """The error with which something fails that runs already."""
    try:
        await running
    except KubernetesError as error:
        return error
    raise AssertionError("it did not fail")


class RequestTests(ApiServerTestCase):
    """What arrives at the API server."""

    async def request(self, query: list[tuple[str, str]]) -> tuple[Call, bytes]:
        connection = await self.connection()
        body = await in_thread(lambda: whole(connection.get(SERVICES, query)))
        return self.server.requests[-1], body

    async def test_credentials_and_names(self) -> None:
        """The token, our name and the wish for JSON arrive; the answer is the list."""
        call, body = await self.request([])
        self.assertEqual(call.headers["authorization"], f"Bearer {self.server.token}")
        self.assertEqual(call.headers["user-agent"], user_agent())
        self.assertTrue(user_agent().startswith("txingress"))
        self.assertEqual(call.headers["accept"], "application/json")
        self.assertEqual(json.loads(body)["kind"], "ServiceList")

    async def test_impersonation(self) -> None:
        """Whom a kubeconfig has us act as arrives with each request, reads and writes, as client-go sends it."""
        config = yaml.safe_load(self.kubeconfig.read_text(encoding="utf-8"))
        config["users"][0]["user"] |= {
            "as": "jürgen",
            "as-uid": "5",
            "as-groups": ["one, two", "three"],
            "as-user-extra": {"example.com/Why%": ["for", "fun"], "none": []},
        }
        self.kubeconfig.write_text(yaml.safe_dump(config), encoding="utf-8")
        rule = {"apiGroups": [""], "resources": ["services"], "verbs": ["list"]}
        self.server.access.users = {"jürgen": (Grant(rule),)}
        with capturedLogs() as events:
            connection = await self.connection()
        self.assertIn("the API server is asked as if by user jürgen (as)", list(map(formatEvent, events)))
        await in_thread(lambda: whole(connection.get(SERVICES, [])))
        patch = ApiRequest("PATCH", f"{SERVICES}/a", body={})
        error = await error_of(lambda: connection.send(patch))
        self.assertEqual(error.status, 403)
        for call in self.server.requests:
            self.assertEqual(
                [field for field in call.fields if field[0].startswith("impersonate-")],
                [
                    ("impersonate-user", "jürgen"),
                    ("impersonate-uid", "5"),
                    ("impersonate-group", "one, two"),
                    ("impersonate-group", "three"),
                    ("impersonate-extra-example.com%2fwhy%25", "for"),
                    ("impersonate-extra-example.com%2fwhy%25", "fun"),
                ],
            )
            self.assertEqual(call.token, self.server.token)
        self.assertEqual([call.method for call in self.server.requests], ["GET", "PATCH"])

    async def test_query(self) -> None:
        """Query values arrive as they were given, also those that need quoting."""
        call, _ = await self.request(
            [("fieldSelector", "metadata.name=a"), ("limit", "3"), ("x", "a b&c=d/é")]
        )
        self.assertEqual(call.query, {"fieldSelector": "metadata.name=a", "limit": "3", "x": "a b&c=d/é"})

    async def test_connection_is_kept(self) -> None:
        """Requests one after the other share a connection."""
        connection = await self.connection()
        for _ in range(3):
            await in_thread(lambda: whole(connection.get(SERVICES, [])))
        self.assertEqual(self.server.connection_count, 1)

    async def test_closed_answers(self) -> None:
        """An answer that is closed before its end takes its connection along."""
        connection = await self.connection()
        response = await in_thread(lambda: connection.get(SERVICES, WATCH))
        await in_thread(response.close)
        await self.server.when(lambda: not self.server.watches).addTimeout(SOON_SECONDS, reactor)


class TLSRequestTests(RequestTests):
    """The same over TLS."""

    tls = True

    async def test_foreign_authority(self) -> None:
        """A server whose certificate nobody vouches for is not talked to."""
        self.server.authority = make_authority("Somebody else")
        self.server.write_kubeconfig(self.kubeconfig)
        connection = await self.connection()
        error = await error_of(lambda: connection.get(SERVICES, []))
        self.assertEqual(error.reason, UNREACHABLE)
        self.assertIn("certificate", error.message)
        self.assertEqual(self.server.requests, [])

    async def test_new_authority(self) -> None:
        """One that stands in the kubeconfig by now is used after the server's certificate was refused."""
        clock, own = Clock(), self.server.authority
        self.server.authority = make_authority("Somebody else")
        self.server.write_kubeconfig(self.kubeconfig)
        connection = await self.connection(clock=clock.seconds)
        await error_of(lambda: connection.get(SERVICES, []))
        self.server.authority = own
        self.server.write_kubeconfig(self.kubeconfig)
        clock.advance(11)
        await error_of(lambda: connection.get(SERVICES, []))
        await in_thread(lambda: whole(connection.get(SERVICES, [])))


class RefusalTests(ApiServerTestCase):
    """Answers that say no."""

    async def test_refused_once(self) -> None:
        """A refusal is reported as it is, with the wait asked for, and is not retried in secret."""
        self.server.faults.add(Answer(503, {"Retry-After": "9"}, message="busy"), times=None)
        connection = await self.connection()
        error = await error_of(lambda: connection.get(SERVICES, []))
        self.assertEqual((error.status, error.message, error.retry_after_seconds), (503, "busy", 9.0))
        self.assertEqual(len(self.server.requests), 1)

    async def test_dropped_once(self) -> None:
        """A connection that breaks before the answer is reported, and not retried in secret."""
        self.server.faults.add(Drop(), times=None)
        connection = await self.connection()
        error = await error_of(lambda: connection.get(SERVICES, []))
        self.assertEqual((error.status, error.reason), (0, UNREACHABLE))
        self.assertEqual(len(self.server.requests), 1)

    async def test_not_json(self) -> None:
        """A refusal by somebody between us and the API server has the words of its status line."""
        self.server.faults.add(Answer(502, body=b"<html>Bad Gateway"))
        connection = await self.connection()
        error = await error_of(lambda: connection.get(SERVICES, []))
        self.assertEqual((error.status, error.reason), (502, "Bad Gateway"))

    async def test_nested_too_deeply(self) -> None:
        """A refusal that is nested without end is one by its status line, and leaves no connection open."""
        self.server.faults.add(Answer(403, body=b"[" * 60_000))
        self.server.faults.add(Answer(403, body=b"[" * 100_000))
        connection = await self.connection()
        for _ in range(2):
            error = await error_of(lambda: connection.get(SERVICES, []))
            self.assertEqual((error.status, error.reason), (403, "Forbidden"))
        await in_thread(lambda: whole(connection.get(SERVICES, [])))
        self.assertEqual(self.server.connection_count, 1)

    async def test_unknown_kind(self) -> None:
        """An API server that does not know a kind or its version is told from an object that is missing."""
        connection = await self.connection()
        for path in ("/apis/discovery.k8s.io/v9/endpointslices", "/apis/nosuchgroup.example/v1/things"):
            error = await error_of(lambda p=path: connection.get(p, []))  # type: ignore[misc]
            self.assertEqual((error.status, error.reason), (404, "NotFound"))
            self.assertEqual(error.message, f"it does not serve {path}, as Kubernetes 1.25 does")
        error = await error_of(lambda: connection.get("/api/v1/namespaces/shop/services/none", []))
        self.assertEqual(error.message, 'services "none" not found')

    async def test_redirects_are_refusals(self) -> None:
        """A redirect is not followed: it might carry the token elsewhere."""
        self.server.faults.add(Answer(302, {"Location": "/api/v1/secrets"}))
        connection = await self.connection()
        error = await error_of(lambda: connection.get(SERVICES, []))
        self.assertEqual(error.status, 302)
        self.assertEqual(len(self.server.requests), 1)

    async def test_nobody_listens(self) -> None:
        """A refused connection is told in plain words."""
        connection = await self.connection()
        await self.server.stop_listening()
        error = await error_of(lambda: connection.get(SERVICES, []))
        self.assertEqual((error.status, error.reason, error.message), (0, UNREACHABLE, "Connection refused"))


class StreamTests(ApiServerTestCase):
    """Answers that go on."""

    async def open(self, read_seconds: float = LIMIT_SECONDS) -> ApiResponse:
        connection = await self.connection(read_seconds)
        response = await in_thread(lambda: connection.get(SERVICES, WATCH))
        self.addCleanup(response.close)
        return response

    async def test_bytes_come_as_they_are_sent(self) -> None:
        """Each event is there when it was sent, and the proper end is an empty chunk."""
        response = await self.open()
        for _ in range(2):
            self.server.send_bookmarks()
            self.assertIn(b"BOOKMARK", await in_thread(response.read_chunk))
        self.server.close_watches()
        self.assertEqual(await in_thread(response.read_chunk), b"")

    async def test_time_is_counted_for_each_read(self) -> None:
        """A stream may last longer than the time limit, as long as something comes within it."""
        response = await self.open(4.0)
        for _ in range(5):
            reading = in_thread(response.read_chunk)
            await deferLater(reactor, 0.9, self.server.send_bookmarks)
            self.assertIn(b"BOOKMARK", await reading)

    async def test_silence(self) -> None:
        """A connection that is open and silent is given up after the time limit."""
        response = await self.open(3.0)
        self.server.freeze()
        error = await error_of(response.read_chunk)
        self.assertEqual((error.status, error.reason), (0, SILENT))

    async def test_no_head(self) -> None:
        """The head of an answer has the same time limit."""
        self.server.faults.add(Hang())
        connection = await self.connection(0.2)
        error = await error_of(lambda: connection.get(SERVICES, []))
        self.assertEqual((error.reason, error.message), (UNREACHABLE, "no answer in time"))

    async def test_broken_off(self) -> None:
        """A body that breaks off is an error, by FIN as by RST, and never a proper end."""
        endings: tuple[Closing, ...] = ("cut", "reset")
        for how in endings:
            response = await self.open()
            self.server.send_bookmarks()
            await in_thread(response.read_chunk)
            self.server.close_watches(how)
            error = await error_of(response.read_chunk)
            self.assertEqual((error.status, error.reason), (0, BROKEN), how)

    async def test_broken_off_whole(self) -> None:
        """The same holds for an answer that is read as a whole."""
        connection = await self.connection()
        self.server.faults.add(RawBody(b'{"half', "stay"))
        response = await in_thread(lambda: connection.get(SERVICES, []))
        reading = in_thread(lambda: whole(response))
        self.server.reset_connections()
        error = await failure_of(reading)
        self.assertEqual((error.status, error.reason), (0, BROKEN))


class TLSStreamTests(StreamTests):
    """The same over TLS."""

    tls = True


class InterruptionTests(ApiServerTestCase):
    """Breaking off from another thread."""

    async def interrupted(self, connection: ApiConnection, running: "Deferred[T]") -> KubernetesError:
        """Interrupt, and see how what is running fails, before its time limit."""
        connection.interrupt()
        return await failure_of(running.addTimeout(SOON_SECONDS, reactor))

    async def test_waiting_for_the_head(self) -> None:
        """A request that is not answered can be broken off."""
        self.server.faults.add(Hang())
        connection = await self.connection()
        running = in_thread(lambda: connection.get(SERVICES, []))
        await self.server.when(lambda: bool(self.server.requests))
        error = await self.interrupted(connection, running)
        self.assertEqual(error.reason, UNREACHABLE)

    async def test_reading(self) -> None:
        """A stream can be broken off while it is read, on a new connection and on a kept one."""
        for requests_before in (0, 2):
            connection = await self.connection()
            for _ in range(requests_before):
                await in_thread(lambda c=connection: whole(c.get(SERVICES, [])))  # type: ignore[misc]
            response = await in_thread(lambda c=connection: c.get(SERVICES, WATCH))  # type: ignore[misc]
            running = in_thread(response.read_chunk)
            await deferLater(reactor, 0.05, lambda: None)
            connection.interrupt()
            try:
                self.assertEqual(await running.addTimeout(SOON_SECONDS, reactor), b"")
            except KubernetesError as error:
                self.assertEqual(error.reason, BROKEN)
            response.close()

    async def test_connecting(self) -> None:
        """A server that accepts and says nothing, not even in TLS, does not hold us."""
        self.server.freeze()
        connection = await self.connection()
        running = in_thread(lambda: connection.get(SERVICES, []))
        while not self.server.connection_count:
            await deferLater(reactor, 0.01, lambda: None)
        await deferLater(reactor, 0.05, lambda: None)
        error = await self.interrupted(connection, running)
        self.assertEqual(error.reason, UNREACHABLE)

    async def test_afterwards(self) -> None:
        """After an interruption nothing is sent any more."""
        connection = await self.connection()
        connection.interrupt()
        error = await error_of(lambda: connection.get(SERVICES, []))
        self.assertEqual(error.message, "interrupted")
        self.assertEqual(self.server.requests, [])


class TLSInterruptionTests(InterruptionTests):
    """The same over TLS."""

    tls = True


class RenewalTests(ApiServerTestCase):
    """New credentials after 401."""

    async def test_renewal(self) -> None:
        """A token that was replaced in the kubeconfig is used after the old one was refused."""
        clock = Clock()
        connection = await self.connection(clock=clock.seconds)
        self.server.access.tokens = {"new": None}
        error = await error_of(lambda: connection.get(SERVICES, []))
        self.assertEqual((error.status, error.reason), (401, "Unauthorized"))
        self.server.write_kubeconfig(self.kubeconfig, token="new")
        clock.advance(11)
        with capturedLogs() as events:
            await in_thread(connection.renew_credentials)
        await in_thread(lambda: whole(connection.get(SERVICES, [])))
        self.assertEqual((self.server.requests[-1].token, events), ("new", []))

    async def test_renewal_fails(self) -> None:
        """Who is refused while credentials cannot be loaded anew is told why, until they can."""
        clock = Clock()
        connection = await self.connection(clock=clock.seconds)
        self.server.access.tokens = {"new": None}
        await error_of(lambda: connection.get(SERVICES, []))
        good = self.kubeconfig.read_text()
        self.kubeconfig.write_text("{}")
        clock.advance(11)
        await in_thread(connection.renew_credentials)
        error = await error_of(lambda: connection.get(SERVICES, []))
        self.assertEqual((error.status, error.reason), (401, "Unauthorized"))
        self.assertIn("and credentials cannot be loaded anew: kubeconfig", error.message)
        self.kubeconfig.write_text(good)
        clock.advance(11)
        await in_thread(connection.renew_credentials)
        error = await error_of(lambda: connection.get(SERVICES, []))
        self.assertNotIn("anew", error.message)

    async def test_words_of_a_plugin(self) -> None:
        """What a plugin wrote that fails then is in the log, and apart from what is said of the refusal, which anybody may be shown."""
        clock = Clock()

        class Plugged(CredentialSource):
            def load(self, *, again: bool = False):  # type: ignore[no-untyped-def]
                if again:
                    raise StartError("the plugin ended with status 1", "+ login --password hunter2")
                return super().load()

        access = ApiAccess(Plugged(str(self.kubeconfig), None, None, {}), clock=clock.seconds)
        await in_thread(access.load)
        connection = ApiConnection(access)
        self.addCleanup(connection.close)
        self.server.access.tokens = {"other": None}
        await error_of(lambda: connection.get(SERVICES, []))
        clock.advance(11)
        with capturedLogs() as events:
            await in_thread(connection.renew_credentials)
        error = await error_of(lambda: connection.get(SERVICES, []))
        self.assertIn("cannot be loaded anew: the plugin ended with status 1", error.message)
        self.assertEqual(error.aside, "+ login --password hunter2")
        self.assertNotIn("hunter2", str(error))
        self.assertIn("hunter2", formatEvent(events[0]))

    async def test_not_too_often(self) -> None:
        """Within ten seconds of the last time nothing is loaded, whoever asks."""
        clock = Clock()
        loads: list[float] = []

        class Counting(CredentialSource):
            def load(self, *, again: bool = False):  # type: ignore[no-untyped-def]
                loads.append(clock.seconds())
                return super().load(again=again)

        access = ApiAccess(Counting(str(self.kubeconfig), None, None, {}), clock=clock.seconds)
        await in_thread(access.load)
        first, second = ApiConnection(access), ApiConnection(access)
        for connection in (first, second):
            self.addCleanup(connection.close)
            await in_thread(lambda c=connection: whole(c.get(SERVICES, [])))  # type: ignore[misc]
        clock.advance(9)
        await in_thread(first.renew_credentials)
        clock.advance(2)
        for connection in (first, second):
            await in_thread(connection.renew_credentials)
        clock.advance(11)
        # What the second one complains of is not what would be used next.
        await in_thread(second.renew_credentials)
        self.assertEqual(loads, [0.0, 11.0])

    async def test_unreadable_meanwhile(self) -> None:
        """When the kubeconfig cannot be read at that time, the old credentials stay in use."""
        clock = Clock()
        connection = await self.connection(clock=clock.seconds)
        await in_thread(lambda: whole(connection.get(SERVICES, [])))
        self.kubeconfig.write_text("{", encoding="utf-8")
        clock.advance(11)
        with capturedLogs() as events:
            for _ in range(2):
                await in_thread(connection.renew_credentials)
        self.assertEqual(len(events), 1)
        self.assertIn("cannot be loaded anew", formatEvent(events[0]))
        await in_thread(lambda: whole(connection.get(SERVICES, [])))
        self.assertEqual(self.server.requests[-1].token, self.server.token)

    async def test_bug_meanwhile(self) -> None:
        """Whatever loading raises is told, ends no thread, and keeps the old credentials for the next ten seconds."""
        clock = Clock()

        class Stumbling(CredentialSource):
            def load(self, *, again: bool = False):  # type: ignore[no-untyped-def]
                if again:
                    raise LookupError("a bug")
                return super().load()

        access = ApiAccess(Stumbling(str(self.kubeconfig), None, None, {}), clock=clock.seconds)
        await in_thread(access.load)
        connection = ApiConnection(access)
        self.addCleanup(connection.close)
        await in_thread(lambda: whole(connection.get(SERVICES, [])))
        clock.advance(11)
        for _ in range(2):
            await in_thread(connection.renew_credentials)
        self.assertEqual(len(self.flushLoggedErrors(LookupError)), 1)
        await in_thread(lambda: whole(connection.get(SERVICES, [])))
        self.assertEqual(self.server.requests[-1].token, self.server.token)
