"""Each error of our own says why: a row for each way to one, and each reply that a filter of ours may give."""

import ast
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

import ingress
from ingress.filters import Filter, Phase, Reply
from ingress.model.exchanges.causes import Cause
from ingress.model.exchanges.records import Record
from tests.fakes.specs import SpecOf
from tests.proxy.playing import GET, ONE, ProxyCase, Stage

ROOMS = ("annotations", "gateway_filters", "filter_parts")
UPLOAD = b"POST / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 9\r\n\r\n"


class Says(Filter):
    """Answers everything."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply

    def on_request(self, facts: object) -> Reply:
        return self._reply


class Breaks(Filter):
    """Has a bug."""

    def on_request(self, facts: object) -> None:
        raise ValueError("a bug of a filter")


def behind(live: Filter, phase: Phase) -> Callable[[Stage], None]:
    """Return what publishes a route that *live* stands before."""
    return lambda stage: stage.publish((ONE,), filters=(SpecOf(live, "mine", phase),))


WAYS: dict[str, tuple[bytes, Callable[[Stage], None] | None, int, Cause, str]] = {
    "host": (GET.replace(b"shop", b"none"), None, 404, Cause.NO_ROUTE, "no route is for this host"),
    "path": (
        GET,
        lambda stage: stage.publish((ONE,), path="/shop"),
        404,
        Cause.NO_ROUTE,
        "no route of this host takes the path",
    ),
    "no endpoint": (
        GET,
        lambda stage: stage.publish((), "Service shop/web has no ready endpoint"),
        503,
        Cause.UNAVAILABLE,
        "Service shop/web has no ready endpoint",
    ),
    "body": (
        UPLOAD,
        lambda stage: stage.publish((ONE,), max_body_bytes=3),
        413,
        Cause.REQUEST,
        "request body too large",
    ),
    "no HTTP": (b"HELLO\r\n\r\n", None, 400, Cause.REQUEST, ""),
    "no Host": (b"GET / HTTP/1.1\r\n\r\n", None, 400, Cause.REQUEST, ""),
    "long head": (b"GET / HTTP/1.1\r\nA: " + b"a" * 70_000, None, 431, Cause.REQUEST, ""),
    "long target": (b"GET /" + b"a" * 70_000, None, 414, Cause.REQUEST, ""),
    "two lengths": (
        UPLOAD.replace(b"\r\n\r\n", b"\r\nContent-Length: 8\r\n\r\n"),
        None,
        400,
        Cause.REQUEST,
        "",
    ),
    "limit": (GET, behind(Says(Reply(429, reason="too many")), Phase.LIMITS), 429, Cause.LIMIT, "too many"),
    "access": (GET, behind(Says(Reply(403, reason="not you")), Phase.ACCESS), 403, Cause.AUTH, "not you"),
    "a filter that gives none": (
        GET,
        behind(Says(Reply(418)), Phase.REDIRECT),
        418,
        Cause.FILTER,
        "answered by the filter mine",
    ),
    "a filter with a bug": (GET, behind(Breaks(), Phase.EDITS), 500, Cause.FILTER, ""),
}


class ReasonTests(ProxyCase):
    """What the record of each error says."""

    def test_table(self) -> None:
        """Each way to an error has its status, its cause, and a reason."""
        for name, (said, arrange, status, cause, reason) in WAYS.items():
            stage = Stage()
            if arrange is not None:
                arrange(stage)
            stage.open().say(said)
            (record,) = stage.metrics.records
            self.assertEqual((record.status, record.cause), (status, cause), name)
            self.assertGreater(len(record.reason), 4, name)
            self.assertTrue(record.id, name)
            if reason:
                self.assertEqual(record.reason, reason, name)
            if record.filter:
                self.assertEqual(record.filter, "mine", name)
        self.assertEqual(len(self.flushLoggedErrors(ValueError)), 1)

    def test_late(self) -> None:
        """So have a head and a body that do not come in time."""
        for said in (b"GET / HTTP/1.1\r\n", UPLOAD):
            stage = Stage()
            stage.open().say(said)
            stage.reactor.pass_time(400)
            records: list[Record] = stage.metrics.records
            self.assertEqual((records[0].status, records[0].cause), (408, Cause.REQUEST))
            self.assertIn("not complete in time", records[0].reason)

    def test_no_failures(self) -> None:
        """A redirect, and what the endpoint itself answers with less than 500, are none."""
        stage = Stage()
        behind(Says(Reply(308)), Phase.REDIRECT)(stage)
        stage.open().say(GET)
        (record,) = stage.metrics.records
        self.assertEqual((record.status, record.cause, record.reason), (308, None, ""))


class ReplyTests(SynchronousTestCase):
    """The replies in the code of our filters."""

    def errors(self) -> Iterator[tuple[str, ast.Call]]:
        """Yield each call that makes a reply with an error, and where it stands."""
        package = Path(ingress.__file__).parent
        for room in ROOMS:
            for path in sorted((package / room).rglob("*.py")):
                for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                    if isinstance(node, ast.Call) and getattr(node.func, "id", "") in (
                        "Reply",
                        "status_reply",
                    ):
                        first: Any = node.args[0]
                        value = first.value if isinstance(first, ast.Constant) else 0
                        if isinstance(value, int) and value >= 400:
                            yield f"{room}/{path.name}:{node.lineno}", node

    def test_reasons(self) -> None:
        """Each says why."""
        found = list(self.errors())
        self.assertGreater(len(found), 15)
        for where, call in found:
            is_whole = getattr(call.func, "id", "") == "Reply" and len(call.args) == 4
            self.assertTrue(is_whole or any(one.arg == "reason" for one in call.keywords), where)
