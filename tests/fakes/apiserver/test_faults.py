"""Tests of the faults that the tests' API server injects, and of what a test does to its watches."""

from __future__ import annotations

import json

from twisted.internet.error import ConnectionDone

from tests.fakes.apiserver.faults import Answer, Delay, Drop, Hang, Hold, RawBody
from tests.fakes.apiserver.wire import INGRESSES, ServerCase, ingress


class FaultTests(ServerCase):
    """What a request gets instead of its answer."""

    async def test_answer(self) -> None:
        """A status comes with its headers and a Status object, once; then service goes on."""
        self.server.faults.add(Answer(503, {"Retry-After": "7"}), resource="ingresses", verb="list")
        other, _ = await self.answer("/api/v1/services")
        self.assertEqual(other, 200)
        wire = await self.get(INGRESSES)
        await wire.until(b"\r\n0\r\n\r\n")
        status, body = wire.answer()
        self.assertEqual((status, body["kind"], body["reason"]), (503, "Status", "ServiceUnavailable"))
        self.assertIn(b"\r\nRetry-After: 7\r\n", wire.received)
        self.assertEqual((await self.answer(INGRESSES))[0], 200)

    async def test_times(self) -> None:
        """A fault serves as many requests as it says, and faults are used in their order."""
        self.server.faults.add(Answer(500), times=2)
        self.server.faults.add(Answer(429))
        statuses = [(await self.answer(INGRESSES))[0] for _ in range(4)]
        self.assertEqual(statuses, [500, 500, 429, 200])

    async def test_drop(self) -> None:
        """A dropped request ends in a reset without a byte."""
        self.server.faults.add(Drop())
        wire = await self.get(INGRESSES)
        self.assertNotIsInstance(await wire.until_lost(), ConnectionDone)
        self.assertEqual(wire.received, b"")

    async def test_hang(self) -> None:
        """A hanging request gets nothing while others are served; the log knows no status."""
        self.server.faults.add(Hang())
        wire = await self.get(INGRESSES)
        await self.server.when(lambda: bool(self.server.requests))
        self.assertEqual((await self.answer(INGRESSES))[0], 200)
        self.assertEqual((wire.received, wire.lost), (b"", None))
        self.assertEqual([call.status for call in self.server.requests], [None, 200])

    async def test_delay(self) -> None:
        """A delayed request gets its usual answer."""
        self.server.faults.add(Delay(0.01))
        self.assertEqual((await self.answer(INGRESSES))[0], 200)

    async def test_delay_of_a_lost_request(self) -> None:
        """A client that goes away during a delay leaves no timer behind."""
        self.server.faults.add(Delay(3600))
        wire = await self.get(INGRESSES)
        await self.server.when(lambda: bool(self.server.requests))
        await self.drop(wire)

    async def test_hold(self) -> None:
        """A held request gets its usual answer when the test says so; one whose client went away is not counted."""
        hold = Hold()
        self.server.faults.add(hold, times=2)
        gone, wire = await self.get(INGRESSES), await self.get(INGRESSES)
        await self.server.when(lambda: len(self.server.requests) == 2)
        await self.drop(gone)
        # Another request is answered after the server has seen that.
        self.assertEqual((await self.answer(INGRESSES))[0], 200)
        self.assertEqual((len(hold.waiting), hold.most, wire.received), (1, 2, b""))
        hold.release()
        await wire.until(b"\r\n0\r\n\r\n")
        self.assertEqual(wire.answer()[0], 200)
        self.assertEqual(hold.waiting, [])

    async def test_raw_finish(self) -> None:
        """A raw body with a proper end leaves the connection usable."""
        self.server.faults.add(RawBody(b'{"type":'))
        wire = await self.get(INGRESSES)
        await wire.until(b'8\r\n{"type":\r\n0\r\n\r\n')
        self.assertIsNone(wire.lost)

    async def test_raw_cut(self) -> None:
        """A cut body arrives, and ends without its last chunk."""
        self.server.faults.add(RawBody(b"half a li", "cut"))
        wire = await self.get(INGRESSES)
        self.assertIsInstance(await wire.until_lost(), ConnectionDone)
        self.assertTrue(wire.received.endswith(b"9\r\nhalf a li\r\n"))

    async def test_raw_reset(self) -> None:
        """A body before a reset is sent before the connection is reset."""
        self.server.faults.add(RawBody(b"x" * 3_000_000, "reset"))
        wire = await self.get(INGRESSES)
        self.assertNotIsInstance(await wire.until_lost(), ConnectionDone)
        self.assertNotIn(b"\r\n0\r\n\r\n", wire.received)

    async def test_raw_stay(self) -> None:
        """A body may stay without an end."""
        self.server.faults.add(RawBody(b"half", "stay"))
        wire = await self.get(INGRESSES)
        await wire.until(b"4\r\nhalf\r\n")
        self.assertIsNone(wire.lost)


class WatchControlTests(ServerCase):
    """What a test can do to running watches."""

    async def test_chunks(self) -> None:
        """Each event travels as one chunk of one line."""
        wire = await self.watch("resourceVersion=1000")
        self.server.create(ingress("a"))
        self.server.delete("Ingress", "a", "shop")
        await wire.until(b"DELETED")
        await wire.until(b"}\n\r\n")
        self.assertEqual([event["type"] for event in wire.events()], ["ADDED", "DELETED"])

    async def test_close(self) -> None:
        """Watches are finished, cut or reset, and are off the list afterwards."""
        for how, is_done in (("cut", True), ("reset", False)):
            wire = await self.watch()
            self.assertEqual(self.server.close_watches(how), 1)  # type: ignore[arg-type]
            self.assertEqual(isinstance(await wire.until_lost(), ConnectionDone), is_done)
            self.assertNotIn(b"\r\n0\r\n\r\n", wire.received)
        wire = await self.watch()
        self.server.close_watches("finish")
        await wire.until(b"0\r\n\r\n")
        self.assertIsNone(wire.lost)
        await self.server.when(lambda: not self.server.watches)

    async def test_close_one_kind(self) -> None:
        """Watches of one kind are closed alone."""
        await self.watch()
        other = await self.get("/api/v1/services?watch=true")
        await other.until(b"\r\n\r\n")
        self.assertEqual(self.server.close_watches("reset", "services"), 1)
        await other.until_lost()
        self.assertEqual(len(self.server.watches_of("ingresses")), 1)

    async def test_split(self) -> None:
        """Events can arrive in pieces of any size, each a chunk, and are whole all the same."""
        self.server.split_bytes = 1
        wire = await self.watch("resourceVersion=1000")
        stored = self.server.create(ingress("a", annotations={"note": "gr\u00fc\u00df"}))
        self.server.close_watches("finish")
        await wire.until(b"\r\n0\r\n\r\n")
        chunks = wire.chunks()
        self.assertEqual({len(chunk) for chunk in chunks}, {1})
        self.assertEqual(json.loads(b"".join(chunks)), {"type": "ADDED", "object": stored})

    async def test_raw_line(self) -> None:
        """A running watch can be sent bytes that are no event."""
        wire = await self.watch()
        self.server.watches[0].send_bytes(b"no json\n")
        await wire.until(b"8\r\nno json\n\r\n")

    async def test_bookmarks(self) -> None:
        """Bookmarks carry the current version, and go only to watches that allow them."""
        allowed = await self.watch("resourceVersion=1000&allowWatchBookmarks=true")
        other = await self.watch("resourceVersion=1000")
        self.server.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}})
        self.server.send_bookmarks()
        await allowed.until(b"}\n\r\n")
        self.assertEqual(
            allowed.events(),
            [
                {
                    "type": "BOOKMARK",
                    "object": {
                        "kind": "Ingress",
                        "apiVersion": "networking.k8s.io/v1",
                        "metadata": {"resourceVersion": "1001"},
                    },
                }
            ],
        )
        self.assertEqual(other.events(), [])

    async def test_periodic_bookmarks(self) -> None:
        """Bookmarks come by themselves, and a last one before the timeout."""
        self.server.bookmark_seconds = 0.01
        wire = await self.watch("resourceVersion=1000&allowWatchBookmarks=true&timeoutSeconds=1")
        await wire.until(b"\r\n0\r\n\r\n")
        self.assertGreater(len(wire.events()), 1)
        self.assertEqual({event["type"] for event in wire.events()}, {"BOOKMARK"})

    async def test_freeze(self) -> None:
        """A frozen server keeps connections open and silent, new ones too, and goes on when thawed."""
        wire = await self.watch("resourceVersion=1000")
        self.server.freeze()
        self.server.create(ingress("a"))
        late = await self.get(INGRESSES)
        await self.turns(20)
        self.assertEqual((wire.events(), wire.lost), ([], None))
        self.assertEqual((late.received, late.lost, self.server.requests_of("list")), (b"", None, ()))
        self.server.thaw()
        await wire.until(b"ADDED")
        await late.until(b"\r\n0\r\n\r\n")

    async def test_frozen_close(self) -> None:
        """Not even the end of a watch gets out of a frozen server."""
        wire = await self.watch("resourceVersion=1000")
        self.server.freeze()
        self.server.close_watches("cut")
        await self.turns(20)
        self.assertIsNone(wire.lost)
