"""From one HTTP request to its answer: fault, token, rules, then the verb."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from attrs import evolve
from twisted.web.http import Request
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET

from tests.fakes.apiserver.calls import Call, parse_call
from tests.fakes.apiserver.connections import connection_of
from tests.fakes.apiserver.discovery import discover
from tests.fakes.apiserver.faults import Answer, Delay, Drop, Hang, Hold, RawBody
from tests.fakes.apiserver.kinds import Json, ResourceType
from tests.fakes.apiserver.listing import ListOptions, as_table, list_page
from tests.fakes.apiserver.managed_fields import manager_of
from tests.fakes.apiserver.statuses import StatusError, UnknownGroupError, not_found_path
from tests.fakes.apiserver.validation import check_manager
from tests.fakes.apiserver.writing import Scope

if TYPE_CHECKING:
    from tests.fakes.apiserver.server import ApiServer

#: Content types of patches that are understood; the API knows two more.
MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


class ApiResource(Resource):
    """The whole URL space of the API."""

    isLeaf = True

    def __init__(self, server: ApiServer) -> None:
        super().__init__()
        self._server = server

    def render(self, request: Request) -> int:
        """Log the request, then do what a fault or the API's rules say."""
        fields = [
            (name.decode("latin-1").lower(), value.decode())
            for name, values in request.requestHeaders.getAllRawHeaders()
            for value in values
        ]
        assert request.content is not None
        call = parse_call(
            request.method.decode("latin-1"),
            request.uri.decode("latin-1"),
            fields,
            request.content.read(),
            self._server.reactor.seconds(),
        )
        self._server.requests.append(call)
        match self._server.faults.take(call):
            case None:
                self._answer(request, call)
            case Delay(seconds=seconds):
                self._answer_later(request, call, seconds)
            case Hold() as hold:
                self._answer_when_released(request, call, hold)
            case Drop():
                connection_of(request).abortConnection()
            case Hang():
                pass
            case Answer() as answer:
                body = answer.body
                if body is None:
                    error = StatusError(answer.status, answer.message, reason=answer.reason)
                    body = json.dumps(error.status).encode()
                self._write(request, call, answer.status, body, answer.headers)
            case RawBody() as raw:
                self._write_raw(request, call, raw)
        self._server.look_around()
        return NOT_DONE_YET

    def _answer_when_released(self, request: Request, call: Call, hold: Hold) -> None:
        def answer() -> None:
            self._answer(request, call)

        def lost(_: object) -> None:
            if answer in hold.waiting:
                hold.waiting.remove(answer)

        hold.add(answer)
        request.notifyFinish().addErrback(lost)

    def _answer_later(self, request: Request, call: Call, seconds: float) -> None:
        timer = self._server.call_later(seconds, lambda: self._answer(request, call))

        def lost(_: object) -> None:
            if timer.active():
                timer.cancel()

        request.notifyFinish().addErrback(lost)

    def _answer(self, request: Request, call: Call) -> None:
        try:
            self._server.access.check(call, call.token or _certificate_name(request))
            found = self._look_up(request, call)
        except UnknownGroupError as error:
            self._write(request, call, error.code, error.text, {"Content-Type": "text/plain; charset=utf-8"})
            return
        except StatusError as error:
            retry = (error.status.get("details") or {}).get("retryAfterSeconds")
            headers = {} if retry is None else {"Retry-After": str(retry)}
            self._write(request, call, error.code, json.dumps(error.status).encode(), headers)
            return
        if found is None:
            call.status = 200
        else:
            status, answer = found
            if call.method == "GET" and call.plural and "as=Table" in call.headers.get("accept", ""):
                answer = as_table(answer)
            self._write(request, call, status, json.dumps(answer, separators=(",", ":")).encode(), {})

    def _look_up(self, request: Request, call: Call) -> tuple[int, Json] | None:
        """Return status and object; None for a watch, which answers by itself."""
        if not call.plural:
            return self._look_up_path(call)
        kind = self._server.served().at(call.group, call.version, call.plural)
        scope = _scope(kind, call)
        match call.verb:
            case "list":
                options = ListOptions.parse(call.query)
                options.check(streaming_list=self._server.streaming_list)
                return 200, list_page(self._server.history, kind, call.namespace, options)
            case "watch":
                options = ListOptions.parse(call.query)
                options.check(streaming_list=self._server.streaming_list)
                self._server.open_watch(kind, call.namespace, options, request, call)
                return None
        return self._write_object(kind, call, scope)

    def _write_object(self, kind: ResourceType, call: Call, scope: Scope) -> tuple[int, Json]:
        writer = self._server.writer
        if kind.namespaced and not call.namespace:
            # The cluster-wide path of a namespaced kind can be listed and watched only.
            raise StatusError(405, "the server does not allow this method on the requested resource")
        manager = manager_of(call.query.get("fieldManager"), call.headers.get("user-agent", ""))
        if call.verb != "get":
            check_manager(manager)
        match call.verb:
            case "get":
                return 200, writer.read(kind, call.namespace, call.name)
            case "create":
                return 201, writer.create(kind, call.namespace, _json(call))
            case "update":
                return 200, writer.replace(kind, call.namespace, call.name, _json(call), scope, manager)
            case "patch":
                media_type = call.headers.get("content-type", "").partition(";")[0]
                if media_type == APPLY_PATCH and scope == "main":
                    force = call.query.get("force") == "true"
                    if self._server.history.get(kind, (call.namespace, call.name)) is None:
                        self._server.access.check(evolve(call, verb="create"), call.token)
                    body = _json(call)
                    return 200, writer.apply(kind, call.namespace, call.name, body, manager, force=force)
                if media_type != MERGE_PATCH:
                    accepted = f"{MERGE_PATCH}, {APPLY_PATCH}"
                    raise StatusError(
                        415, f"the body of the request was in an unknown format; accepted: {accepted}"
                    )
                return 200, writer.patch(kind, call.namespace, call.name, _json(call), scope, manager)
            case "delete" if scope == "main":
                options = _json(call) if call.body else {}
                return 200, writer.delete(kind, call.namespace, call.name, options.get("preconditions"))
        raise StatusError(405, "the server does not allow this method on the requested resource")

    def _look_up_path(self, call: Call) -> tuple[int, Json]:
        document = discover(call.path, self._server.served()) if call.method == "GET" else None
        if document is None:
            raise not_found_path()
        return 200, document

    def _write(
        self, request: Request, call: Call, status: int, body: bytes, headers: Mapping[str, str]
    ) -> None:
        """Answer in one chunk; the API states no length either."""
        call.status = status
        request.setResponseCode(status)
        request.setHeader("Content-Type", "application/json")
        for name, value in headers.items():
            request.setHeader(name, value)
        request.write(body)
        request.finish()

    def _write_raw(self, request: Request, call: Call, raw: RawBody) -> None:
        call.status = raw.status
        request.setResponseCode(raw.status)
        for name, value in raw.headers.items():
            request.setHeader(name, value)
        request.write(raw.body)
        match raw.ending:
            case "finish":
                request.finish()
            case "cut":
                connection_of(request).loseConnection()
            case "reset":
                self._server.reset_when_sent(connection_of(request))
            case "stay":
                pass


def _certificate_name(request: Request) -> str | None:
    """Return ``CN=`` with the common name of the client's certificate, if it showed one."""
    transport: Any = request.transport
    certificate = transport.getPeerCertificate() if request.isSecure() else None
    return None if certificate is None else f"CN={certificate.get_subject().CN}"


def _scope(kind: ResourceType, call: Call) -> Scope:
    """Return what the path addresses; raise 404 for paths that do not exist."""
    if call.extra or (call.namespace and not kind.namespaced):
        raise not_found_path()
    if not call.subresource:
        return "main"
    if call.subresource == "status" and kind.has_status:
        return "status"
    raise not_found_path()


def _json(call: Call) -> Json:
    try:
        return cast(Json, json.loads(call.body))
    except ValueError as error:
        raise StatusError(400, f"the body is no JSON: {error}") from None
