"""Statuses by the thousand, over sockets: how many are under way at a time, and that each goes by itself."""

from __future__ import annotations

from tests.end_to_end.test_reporting_process import ReportingCase
from tests.fakes.apiserver.faults import Delay
from tests.fakes.objects import ingress_object


class ManyStatusesTests(ReportingCase):
    """A new leader with many Ingresses to write."""

    async def test_latency(self) -> None:
        """Where each answer takes a while, ten are waited for at a time, and every status is written once."""
        count = 400
        for number in range(count):
            self.server.create(ingress_object(f"i{number}", f"h{number}.test"))
        self.server.faults.add(Delay(0.05), times=None, verb="patch", resource="ingresses")
        replica = self.start_replica()
        await self.until_replica_ready(replica)
        await self.until(lambda: self.patches())
        began = self.reactor.seconds()
        most = 0

        def look() -> bool:
            nonlocal most
            most = max(most, len(self.patches()) - sum(1 for n in range(count) if self.has_address(f"i{n}")))
            return len(self.patches()) >= count

        await self.until(look)
        seconds = self.reactor.seconds() - began
        await self.until(lambda: all(self.has_address(f"i{number}") for number in range(count)))
        self.assertEqual(len(self.patches()), count)
        self.assertLessEqual(most, 10)
        self.assertGreater(most, 5, seconds)
        await self.end(replica[0])
