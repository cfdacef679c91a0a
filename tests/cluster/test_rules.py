"""The rules that a reflector keeps, each played against an API server that gives occasion to break it.

``test_reflector`` has the same rules turn by turn; here they hold from the wire to the sink.
"""

import json
from itertools import groupby, pairwise
from typing import Any

from twisted.internet.task import Clock, deferLater
from twisted.logger import capturedLogs, formatEvent

from ingress.metrics.series.watch import WatchMetrics
from ingress.model.cluster.objects import Kind, ObjectKey, Service
from tests.cluster.api_server_case import SOON_SECONDS, reactor
from tests.cluster.source_case import Content, SourceTestCase, service
from tests.fakes.apiserver.calls import Call
from tests.fakes.apiserver.faults import Answer, Delay, RawBody

EXPIRED = Answer(410, reason="Expired")


def line(event_type: str, raw: dict[str, Any]) -> bytes:
    return json.dumps({"type": event_type, "object": raw}).encode() + b"\n"


def object_line(name: str, version: str = "1", event_type: str = "ADDED") -> bytes:
    raw = service(name)
    raw["metadata"]["resourceVersion"] = version
    return line(event_type, raw)


class RuleTestCase(SourceTestCase):
    """One kind, Services, is looked at; the others are quiet."""

    def calls(self) -> list[Call]:
        """What was asked about Services, in order."""
        return [call for call in self.server.requests if call.plural == "services"]

    def lists(self) -> int:
        """How often Services were listed, in whatever way."""
        return len([c for c in self.calls() if c.verb == "list" or "sendInitialEvents" in c.query])

    def fail_next(self, *faults: Any) -> None:
        for fault in faults:
            self.server.faults.add(fault, resource="services")

    def close(self) -> None:
        """End the watch of Services properly."""
        self.server.close_watches("finish", "services")

    def version(self) -> str:
        """The version of what is newest."""
        return str(self.server.history.version)


class RuleTests(RuleTestCase):
    """Rules about lists, versions and the ends of streams."""

    async def test_initial_events_that_break_off_begin_anew_from_nothing(self) -> None:
        """No version of an initial event is used: after a break among them, everything is asked for again."""
        self.server.create(service("real"))
        self.fail_next(RawBody(object_line("ghost", "999999"), "cut"))
        content = await self.synced()
        self.assertEqual(content.names(), {"real"})
        self.assertEqual([call.query.get("resourceVersion") for call in self.calls()], [None, None])

    async def test_a_streaming_list_that_never_ends_is_given_up_for_pages(self) -> None:
        """A streaming list without the bookmark that ends it is given up after the time limit."""
        self.server.create(service("real"))
        # On a busy machine an answer may begin too late, which is another error; then the same is asked for again.
        endless = RawBody(object_line("real", "1"), "stay")
        self.server.faults.add(endless, times=None, verb="watch", resource="services")
        content = await self.synced(read_seconds=0.5)
        self.assertEqual(content.names(), {"real"})
        verbs = [verb for verb, _ in groupby(call.verb for call in self.calls())]
        self.assertEqual(verbs[:2], ["watch", "list"])

    async def test_refused_streaming_lists_are_remembered(self) -> None:
        """An API server without streaming lists is asked for one once, and for pages from then on."""
        self.server.streaming_list = False
        content = await self.synced()
        self.server.compact()
        self.fail_next(EXPIRED)
        self.close()
        await self.arrives(content, "new")
        streaming = [call for call in self.calls() if "sendInitialEvents" in call.query]
        self.assertEqual(len(streaming), 1)

    async def test_a_page_that_expired_restarts_the_list_and_harms_nothing(self) -> None:
        """When the token of a page expires, the list begins again without it, and no object is lost."""
        self.server.streaming_list = False
        for number in range(510):
            self.server.create(service(f"s{number}"))
        for _ in range(2):
            self.server.faults.add(Delay(0), verb="list", resource="services")
        self.server.faults.add(EXPIRED, verb="list", resource="services")
        content = await self.synced()
        tokens = ["continue" in call.query for call in self.calls() if call.verb == "list"]
        self.assertEqual(tokens, [False, True, True, False, True, True])
        self.assertEqual((len(content.names()), len(content.changes)), (510, 510))

    async def test_what_a_complete_list_does_not_name_is_deleted_and_the_rest_untouched(self) -> None:
        """After a relist only differences are handed over: what changed, what came and what went."""
        for name in ("same", "other", "gone"):
            self.server.create(service(name))
        content = await self.synced()
        content.changes.clear()
        port = self.server.port
        await self.server.stop_listening()
        self.server.reset_connections()
        self.server.delete("Service", "gone", "shop")
        self.server.apply(service("other", service_type="NodePort"))
        self.server.create(service("new"))
        self.server.compact()
        await self.server.listen(port)
        await self.until(lambda: content.names() == {"same", "other", "new"})
        self.assertEqual(sorted(key.name for _, key in content.changes), ["gone", "new", "other"])

    async def test_an_incomplete_list_deletes_nothing(self) -> None:
        """A relist that breaks off leaves everything as it was."""
        for name in ("a", "b"):
            self.server.create(service(name))
        content = await self.synced()
        self.server.compact()
        self.fail_next(EXPIRED, RawBody(object_line("a", "1"), "cut"), RawBody(b"", "stay"))
        self.close()
        await self.until(lambda: len(self.server.faults) == 0)
        await deferLater(reactor, 0.05, lambda: None)
        self.assertEqual(content.names(), {"a", "b"})

    async def test_expired_versions_lead_to_a_list_however_it_is_said(self) -> None:
        """410 as a status, as an event, by code or by reason: each time one list, and nothing is lost."""
        content = await self.synced()
        sayings = (
            EXPIRED,
            RawBody(line("ERROR", {"kind": "Status", "code": 410, "reason": "Expired"})),
            RawBody(line("ERROR", {"kind": "Status", "code": 500, "reason": "Gone"})),
        )
        for number, saying in enumerate(sayings):
            self.fail_next(saying)
            self.close()
            await self.arrives(content, f"after-{number}")
            self.assertEqual(self.lists(), 2 + number)

    async def test_bookmarks_keep_a_quiet_kind_from_expiring(self) -> None:
        """A kind without changes moves on by bookmarks, so that old versions may be forgotten without a relist."""
        content = await self.synced()
        for _ in range(5):
            self.server.history.advance()
        self.server.send_bookmarks()
        # Up to the bookmark, which stays valid.
        self.server.history.compact()
        await deferLater(reactor, 0.05, lambda: None)
        self.close()
        await self.arrives(content, "new")
        self.assertEqual(self.lists(), 1)

    async def test_correctness_needs_no_bookmarks(self) -> None:
        """Without any bookmark the place in the stream is that of the last event."""
        self.server.bookmark_seconds = None
        content = await self.synced()
        await self.arrives(content, "a")
        last = self.version()
        self.close()
        await self.arrives(content, "b")
        self.assertEqual(self.calls()[-1].query["resourceVersion"], last)

    async def test_watches_end_of_themselves_before_ten_minutes(self) -> None:
        """Every watch asks to be ended after 290 to 590 seconds, and for bookmarks."""
        content = await self.synced()
        self.close()
        await self.arrives(content, "new")
        for call in self.server.requests_of("watch"):
            self.assertTrue(290 <= int(call.query["timeoutSeconds"]) <= 590)
            self.assertEqual(call.query["allowWatchBookmarks"], "true")

    async def test_silent_short_watches_lead_to_a_list(self) -> None:
        """Three watches that end at once, with nothing in them, at one version: then it is listed again."""
        # However long they take on a busy machine.
        content = await self.synced(clock=Clock().seconds)
        self.fail_next(*[RawBody(b"")] * 3)
        self.close()
        await self.arrives(content, "new")
        self.assertEqual(self.lists(), 2)

    async def test_waits_grow_and_obey_the_api_server(self) -> None:
        """Errors are followed by waits that double, and by no less than the API server asks for."""
        content = await self.start(backoff_seconds=0.02)
        del content
        self.fail_next(Answer(500), Answer(500), Answer(500), Answer(429, {"Retry-After": "1"}))
        self.server.reset_connections()
        await self.until(lambda: 429 in [call.status for call in self.calls()[:-1]])
        last = [call.status for call in self.calls()].index(429)
        times = [call.seconds for call in self.calls()[: last + 2]]
        waits = [later - earlier for earlier, later in pairwise(times)]
        self.assertGreaterEqual(waits[-1], 1.0)
        for wait, least in zip(waits[-4:-1], (0.02, 0.04, 0.08), strict=True):
            self.assertGreaterEqual(wait, least)

    async def test_proper_ends_are_no_errors(self) -> None:
        """A watch that ended properly after an event begins again without a wait and without a list."""
        content = await self.synced(backoff_seconds=30.0)
        for number in range(3):
            await self.arrives(content, f"s{number}")
            self.close()
        await self.arrives(content, "last")
        self.assertEqual(self.lists(), 1)

    async def test_errors_in_the_stream_are_retried_and_then_listed(self) -> None:
        """An internal error in the stream is retried at its version; the third one leads to a list."""
        content = await self.synced()
        error = RawBody(line("ERROR", {"kind": "Status", "code": 500, "reason": "InternalError"}))
        last = self.version()
        self.fail_next(*[error] * 3)
        self.close()
        await self.arrives(content, "new")
        versions = [call.query.get("resourceVersion") for call in self.calls()]
        self.assertEqual(versions[:5], [None, last, last, last, None])

    async def test_a_dead_connection_is_noticed_and_is_no_reason_to_list(self) -> None:
        """A connection that is open and silent is given up within the time limit; the watch goes on from its place."""
        metrics = WatchMetrics()
        content = await self.synced(read_seconds=0.5, metrics=metrics)
        (counts,) = (one for one in metrics.reflectors if one.kind == "Service")
        self.server.freeze()
        lists, reconnects = self.lists(), counts.reconnects
        self.server.create(service("missed"))
        await self.until(lambda: counts.reconnects > reconnects, SOON_SECONDS)
        self.server.thaw()
        await self.until(lambda: "missed" in content.names())
        self.assertEqual(self.lists(), lists)

    async def test_half_lines_and_garbage_are_not_used(self) -> None:
        """What is no complete line of JSON is not used; what came before it is, and nothing is listed."""
        content = await self.synced()
        whole = object_line("whole", "5000")
        for number, garbage in enumerate(
            (b"{half", b"<html>\n", b"\xff\xfe\n", object_line("half").rstrip())
        ):
            self.fail_next(RawBody(whole.replace(b"5000", b"500%d" % number) + garbage, "finish"))
        self.close()
        await self.until(lambda: len(self.server.faults) == 0)
        self.assertEqual(content.names(), {"whole"})

    async def test_text_may_hold_other_line_ends(self) -> None:
        """Only the byte of a line feed ends a line, whatever else counts as a line end elsewhere."""
        self.server.split_bytes = 3
        odd = service("odd")
        odd["metadata"]["annotations"] = {"note": "a\u0085b\u2028c\rd"}
        self.server.create(odd)
        content = await self.synced()
        self.assertEqual(content.names(), {"odd"})

    async def test_a_bad_object_spoils_only_itself(self) -> None:
        """Null, missing and wrong fields cost that object alone, with a problem that names the field."""
        bad: dict[str, Any] = {
            "null": None,
            "list": [],
            "text": "x",
            "ports": {"ports": "x"},
            "deep": {"ports": [None]},
        }
        for name, spec in bad.items():
            one = service(name)
            one["spec"] = spec
            self.server.create(one)
        big = service("big")
        big["metadata"]["annotations"] = {"note": "x" * 1_000_000}
        big["unknown"] = {"field": [1]}
        self.server.create(big)
        content = await self.synced()
        await self.arrives(content, "good")
        for name in bad:
            projection = content.objects[Kind.SERVICE, ObjectKey("shop", name)]
            self.assertTrue(projection.problems, name)
        self.assertFalse(content.objects[Kind.SERVICE, ObjectKey("shop", "big")].problems)

    async def test_the_sink_gets_the_newest_state_of_each_object_once(self) -> None:
        """Thousands of changes of one object, while the reactor is busy elsewhere, come as few."""
        content = await self.synced()
        self.server.create(service("web"))
        for number in range(3000):
            self.server.apply(service("web", service_type=("ClusterIP", "NodePort")[number % 2]))
        await self.arrives(content, "after")
        self.assertEqual(self.type_of(content, "web"), "NodePort")
        self.assertLess(len(content.changes), 3000)

    def type_of(self, content: Content, name: str) -> str:
        projection = content.objects.get((Kind.SERVICE, ObjectKey("shop", name)))
        if projection is None:
            return ""
        assert isinstance(projection.value, Service)
        return projection.value.type

    async def test_deleted_and_created_is_an_update(self) -> None:
        """An object that was deleted and made again, with another uid, ends as what it is now."""
        self.server.create(service("web"))
        content = await self.synced()
        self.server.delete("Service", "web", "shop")
        self.server.create(service("web", service_type="NodePort"))
        await self.until(lambda: self.type_of(content, "web") == "NodePort")

    async def test_synced_once_and_for_ever(self) -> None:
        """The sync is told once, after all content, and relists and outages do not take it back."""
        content = await self.synced()
        self.fail_next(EXPIRED)
        self.close()
        await self.arrives(content, "a")
        port = self.server.port
        await self.server.stop_listening()
        self.server.reset_connections()
        await deferLater(reactor, 0.05, lambda: None)
        self.assertEqual((content.synced_times, self.running.missing()), (1, ()))
        await self.server.listen(port)
        await self.arrives(content, "b")
        self.assertEqual(content.synced_times, 1)

    async def test_one_list_at_a_time(self) -> None:
        """An API server that is slow to answer a list is not asked again before it answers."""
        self.server.faults.add(Delay(0.3), resource="services")
        await self.synced()
        self.assertEqual(self.lists(), 1)

    async def test_nothing_is_handed_over_after_a_stop(self) -> None:
        """Once a stop was asked for, the sink hears nothing more, however much is on its way."""
        content = await self.synced()
        for number in range(300):
            self.server.create(service(f"s{number}"))
        await self.until(lambda: bool(content.changes))
        stopped = self.running.stop()
        content.changes.clear()
        await stopped
        await deferLater(reactor, 0.02, lambda: None)
        self.assertEqual(content.changes, [])

    async def test_a_right_that_is_taken_away_is_said_once_a_minute(self) -> None:
        """403 on a kind that is needed keeps the last state, and is one line in the log."""
        self.server.create(service("web"))
        content = await self.synced()
        with capturedLogs() as events:
            self.server.faults.add(Answer(403, message="no more"), times=4, resource="services")
            self.close()
            await self.until(lambda: len(self.server.faults) == 0)
            await self.arrives(content, "new")
        self.assertEqual(content.names(), {"web", "new"})
        said = [formatEvent(event) for event in events if "403 Forbidden" in formatEvent(event)]
        self.assertEqual(len(said), 1, said)


class TLSRuleTests(RuleTests):
    """The same over TLS."""

    tls = True
