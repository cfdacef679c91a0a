"""The filters of the example package, by themselves."""

import sys
from collections.abc import Awaitable
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred, fail, succeed
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.contract.values import ValueRefused
from ingress.annotations.operator_filters import InstalledFilter, operator_filter
from ingress.filters import Filter, Hook, Reply, SubAnswer, SubRequest, SubRequestFailed, used_hooks
from tests.fakes.filter_parts import FakeClock, FakeEdit, FakeFacts, FakeServices

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "filter"


class ExampleCase(SynchronousTestCase):
    """The example, importable."""

    def live(self, module: str, arguments: str, services: FakeServices) -> Filter:
        """Return a filter of the example."""
        self.patch(sys, "path", [str(EXAMPLE), *sys.path])
        factory: Any = import_module(f"txingress_example_filters.{module}").read
        return operator_filter(InstalledFilter(module, factory), arguments).make(services)


class TimeOfDayTests(ExampleCase):
    """The field by time of day."""

    def test_each_quarter(self) -> None:
        """Each quarter of the day has its word."""
        for hour, word in ((0, b"night"), (6, b"morning"), (17, b"afternoon"), (23, b"evening")):
            services = FakeServices(FakeClock(began=datetime(2026, 5, 1, hour, tzinfo=UTC)))
            edit = FakeEdit()
            self.live("time_of_day", "", services).on_answer(FakeFacts(), edit)
            self.assertEqual(edit.fields, [(b"X-Time-Of-Day", word)])

    def test_field(self) -> None:
        """The field is called as was asked for, if that is a name."""
        edit = FakeEdit()
        self.live("time_of_day", "X-When", FakeServices()).on_answer(FakeFacts(), edit)
        self.assertEqual(edit.fields, [(b"X-When", b"night")])
        for name in ("X When", "X:", "\r\nX", "1"):
            self.assertRaises(ValueRefused, self.live, "time_of_day", name, FakeServices())


class AskFirstTests(ExampleCase):
    """The awaited decision."""

    def decide(self, answer: Awaitable[SubAnswer]) -> tuple[Reply | None, FakeFacts, FakeServices, Filter]:
        """Ask the filter about a request; the service gives *answer*."""
        asked: list[SubRequest] = []

        def answering(request: SubRequest) -> Awaitable[SubAnswer]:
            asked.append(request)
            return answer

        services = FakeServices(answer=answering)
        facts = FakeFacts(target=b"/x?y", fields={b"authorization": b"secret"})
        live = self.live("ask_first", "http://guard.test/may", services)
        decision = live.on_request(facts)
        assert isinstance(decision, Awaitable)

        async def awaited() -> Reply | None:
            return await decision

        reply = self.successResultOf(Deferred.fromCoroutine(awaited()))
        (request,) = asked
        self.assertEqual(request.url, "http://guard.test/may")
        fields = dict(request.fields)
        self.assertEqual((fields[b"X-Original-Target"], fields[b"Authorization"]), (b"/x?y", b"secret"))
        self.assertNotIn(b"Cookie", fields)
        return reply, facts, services, live

    def test_passes(self) -> None:
        """Who may, passes, and the endpoint is told who it is, whatever the client says."""
        reply, facts, _, live = self.decide(succeed(SubAnswer(200, ((b"X-User", b"ann"),))))
        self.assertIsNone(reply)
        edit = FakeEdit(fields=[(b"x-user", b"root")])
        live.on_upstream(facts, edit)
        self.assertEqual(edit.fields, [(b"X-User", b"ann")])
        self.assertEqual(used_hooks(live), {Hook.REQUEST, Hook.UPSTREAM})

    def test_nobody(self) -> None:
        """Where the service names nobody, the endpoint is told of nobody."""
        _, facts, _, live = self.decide(succeed(SubAnswer(204)))
        edit = FakeEdit(fields=[(b"X-User", b"root")])
        live.on_upstream(facts, edit)
        self.assertEqual(edit.fields, [])

    def test_refused(self) -> None:
        """401 and 403 are the answer, with the challenge; whatever else there is, is 503."""
        challenge = (b"WWW-Authenticate", b"Basic")
        for answer, reply in (
            (SubAnswer(401, (challenge,)), Reply(401, (challenge,))),
            (SubAnswer(403), Reply(403)),
            (SubAnswer(302), Reply(503)),
            (SubAnswer(500), Reply(503)),
        ):
            found, _, services, _ = self.decide(succeed(answer))
            self.assertEqual((found, services.counted), (reply, ["refused"]))

    def test_away(self) -> None:
        """Nobody passes because the service is away."""
        found, _, services, _ = self.decide(fail(SubRequestFailed("refused")))
        assert found is not None
        self.assertEqual((found.status, services.counted), (503, ["unanswered"]))

    def test_arguments(self) -> None:
        """It needs a URL, and says so."""
        for url in ("", "guard.test", "ftp://guard.test/", "http://", "http://a:b@guard.test/"):
            self.assertRaises(ValueRefused, self.live, "ask_first", url, FakeServices())
