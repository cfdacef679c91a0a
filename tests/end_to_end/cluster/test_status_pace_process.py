"""Statuses by the thousand, over sockets: how many are under way at a time, and that each goes by itself."""

from __future__ import annotations

from tests.end_to_end.cluster.test_reporting_process import ReportingCase
from tests.fakes.apiserver.faults import Hold
from tests.fakes.objects import ingress_object

AT_A_TIME = 10
"""So many writes are under way at a time."""


class ManyStatusesTests(ReportingCase):
    """A new leader with many Ingresses to write."""

    async def test_latency(self) -> None:
        """Where each answer takes a while, ten are waited for at a time, and every status is written once."""
        count = 400
        for number in range(count):
            self.server.create(ingress_object(f"i{number}", f"h{number}.test"))
        hold = Hold()
        self.server.faults.add(hold, times=None, verb="patch", resource="ingresses")
        replica = self.start_replica()
        await self.until_replica_ready(replica)
        for released in range(0, count, AT_A_TIME):
            await self.until(lambda: len(hold.waiting) >= min(AT_A_TIME, count - released))  # noqa: B023 - it is awaited here
            hold.release()
        await self.until(lambda: all(self.has_address(f"i{number}") for number in range(count)))
        self.assertEqual(len(self.patches()), count)
        self.assertEqual(hold.most, AT_A_TIME)
        await self.end(replica[0])
