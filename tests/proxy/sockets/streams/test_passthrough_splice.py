"""TLS that passes through the kernel once much of it has come: the same bytes, and the same ends."""

from __future__ import annotations

from ingress.proxy.contract.limits import TUNNEL_SPLICE_BYTES
from ingress.proxy.transport.epoll.splice import Splice
from tests.fakes.bodies import MEGABYTE, piece_at
from tests.fakes.raw_wires import RawWire
from tests.proxy.sockets.streams import test_passthrough as test_sockets_passthrough
from tests.tls.hellos import hello

FIRST = piece_at(0, 1 << 16) * (1 + TUNNEL_SPLICE_BYTES // (1 << 16))


class SplicedTests(test_sockets_passthrough.BytesTests):
    """All that holds for copied bytes holds for spliced ones."""

    use_epoll = True
    can_splice = True

    async def spliced(self) -> tuple[RawWire, RawWire]:
        """Open a tunnel through which both sides have sent so much that the kernel moves the rest."""
        upstream = self.raw_upstream()
        client = await self.raw()
        client.stays = True
        client.transport.write(hello(b"vault.test") + FIRST)
        await self.until(lambda: upstream.wires and len(upstream.wires[0].received) > len(FIRST))
        far = upstream.wires[0]
        far.stays = True
        far.transport.write(FIRST)
        await self.until(lambda: len(client.received) == len(FIRST))
        await self.until(lambda: len(self.splices()) == 2)
        client.received.clear()
        far.received.clear()
        return client, far

    def splices(self) -> list[Splice]:
        """The splices of the open tunnel."""
        tunnel = self.tunnel()
        ends = (tunnel.downstream.transport, tunnel.upstream.transport)
        found = [end.splice_in for end in ends]  # type: ignore[attr-defined]
        return [one for one in found if one is not None]

    async def test_much(self) -> None:
        """Much goes both ways at once, and is counted."""
        client, far = await self.spliced()
        sent = b"".join(piece_at(at, 1 << 16) for at in range(0, 8 * MEGABYTE, 1 << 16))
        client.transport.write(sent)
        far.transport.write(sent[::-1])
        await self.until(lambda: len(client.received) >= len(sent) <= len(far.received))
        self.assertEqual(client.received, sent[::-1])
        self.assertEqual(far.received, sent)
        self.assertEqual(self.tunnel().upstream.received, len(FIRST) + len(sent))
        self.assertEqual(len(self.splices()), 2)

    async def test_spliced_half_close(self) -> None:
        """The end of one side is passed on behind its last byte, and the other side goes on."""
        client, far = await self.spliced()
        client.transport.write(b"last")
        client.transport.loseWriteConnection()
        await self.until(lambda: far.saw_end)
        self.assertEqual(far.received, b"last")
        far.transport.write(b"late answer")
        await self.until(lambda: client.received == b"late answer")
        far.transport.loseWriteConnection()
        await self.until(lambda: client.saw_end)
        client.transport.loseConnection()
        await self.ended(client)
        self.assertEqual(self.log_lines()[0][5:7], [b"200", b"%d" % (len(FIRST) + 11)])

    async def test_spliced_reset(self) -> None:
        """A reset of either side is a reset for the other."""
        for resets_client in (True, False):
            client, far = await self.spliced()
            reset, other = (client, far) if resets_client else (far, client)
            reset.transport.abortConnection()
            await self.lost(other)
            await self.ended(client)

    async def test_slow_reader_costs_nothing(self) -> None:
        """While one side takes nothing, the proxy is not told again and again what the other has sent."""
        client, far = await self.spliced()
        client.transport.pauseProducing()
        far.transport.write(b"x" * 16 * MEGABYTE)
        before = -1
        while before != (before := self.tunnel().upstream.received):
            await self.turns(20)
        idle = 0
        pump = Splice.pump

        def counted(splice: Splice) -> None:
            nonlocal idle
            before = repr(splice)
            pump(splice)
            idle += repr(splice) == before

        self.patch(Splice, "pump", counted)
        await self.turns(40)
        # The kernel may find some room yet; a proxy that is told for nothing would be told in each turn.
        self.assertLess(idle, 20)
        client.transport.resumeProducing()
        await self.until(lambda: len(client.received) == 16 * MEGABYTE)
