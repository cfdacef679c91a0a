"""Tests for ``ingress.status.statuses`` with two kinds: one writer for addresses of one and conditions of the other."""

from collections.abc import Callable

from twisted.logger import capturedLogs, formatEvent

from ingress.cluster.api.api_client import ApiRequest
from ingress.cluster.api.api_thread import Outcome
from ingress.errors import KubernetesError
from ingress.model.cluster.object_meta import ObjectMeta, SeenStatus
from ingress.model.cluster.objects import Kind, ObjectId, ObjectKey, Projection
from ingress.model.cluster.problems import Problem, Reason
from ingress.status.statuses import BOUNDS
from ingress.translate.readers.route_kinds import REPORTED_KINDS
from tests.status.questions import DONE, FORBIDDEN, ManyQuestions
from tests.status.statuses_case import ONE, US, WriterCase
from tests.translate.readers.toyroute.kind import REPORTED
from tests.translate.readers.toyroute.values import TOY_DOOR, TOY_ROUTE, ToyDoor, ToyRoute

MISSING = Problem("ToyRoute", "shop", "toy", Reason.SERVICE_NOT_FOUND, "there is no Service")


class SeveralKindsTests(WriterCase):
    """Ingresses and toy routes."""

    kinds = (*REPORTED_KINDS, REPORTED)
    bounds = BOUNDS

    def setUp(self) -> None:
        self.many = ManyQuestions()
        super().setUp()

    def ask(self, request: ApiRequest, done: Callable[[Outcome], None]) -> None:
        self.many.ask(request, done)

    def put_toy(self, name: str = "toy", door: str = "", meta: ObjectMeta | None = None) -> ObjectId:
        """Let the watch show a toy route."""
        key = ObjectKey("shop", name)
        value = ToyRoute(key, "", "toy.test", "/", "web", 80, "", door)
        seen = meta or ObjectMeta(f"uid-of-{name}", seen=SeenStatus(b"", 1, "1"))
        self.writer.objects_changed(self.store.changed({(TOY_ROUTE, key): Projection(value, (), seen)}))
        return TOY_ROUTE, key

    def open(self) -> list[str]:
        """The resources and names that are being written."""
        return ["/".join(request.path.split("/")[-3:-1]) for request, _ in self.many.open]

    def test_side_by_side(self) -> None:
        """Both kinds are written at a time, each as its row says, and told in one line."""
        self.put("web")
        self.writer.translated([self.put_toy()], ())
        with capturedLogs() as events:
            self.writer.lead()
            self.turn()
            self.assertEqual(self.open(), ["ingresses/web", "toyroutes/toy"])
            self.assertEqual(self.many.answer().path.split("/")[2], "networking.k8s.io")
            body = self.many.answer().body
            self.turn()
        assert body is not None
        self.assertEqual([one["type"] for one in body["status"]["conditions"]], ["Accepted", "ResolvedRefs"])
        self.assertEqual(
            [formatEvent(event) for event in events],
            [
                "Wrote the status of 1 Ingress and 1 ToyRoute; the address of those served is 192.0.2.1",
            ],
        )

    def test_rights_apart(self) -> None:
        """Where one kind must not be written, the other is, in the same namespace."""
        self.writer.lead()
        self.writer.translated([self.put_toy()], ())
        self.turn()
        self.many.answer(0, FORBIDDEN)
        self.writer.translated([self.put_toy("more")], ())
        self.put("web")
        self.turn(1)
        self.assertEqual(self.open(), ["ingresses/web"])
        self.many.answer()
        self.turn(10)
        self.assertEqual(self.open(), ["toyroutes/toy", "toyroutes/more"])

    def test_untranslated(self) -> None:
        """Of an object that changed nothing is said before it was translated as it is; that its problems changed is not enough."""
        self.writer.lead()
        toy = self.put_toy()
        self.writer.problems_changed([MISSING], [])
        self.turn(60)
        self.assertEqual(self.open(), [])
        self.writer.translated([toy], {toy})
        self.turn(60)
        self.assertEqual(self.open(), [])
        self.writer.translated([toy], ())
        self.turn()
        self.assertEqual(self.open(), ["toyroutes/toy"])

    def test_problems_before_leading(self) -> None:
        """What came and went before we lead is known when we do."""
        toy = self.put_toy()
        other = Problem("ToyRoute", "shop", "toy", Reason.INVALID_HOST, "no")
        self.writer.problems_changed([MISSING, other], [])
        self.writer.problems_changed([], [other])
        self.writer.translated([toy], ())
        self.writer.lead()
        self.turn()
        body = self.many.answer().body
        assert body is not None
        self.assertEqual([one["status"] for one in body["status"]["conditions"]], ["True", "False"])

    def test_judged_by_others(self) -> None:
        """A door that comes, or goes, has all toy routes looked at; what we wrote is removed where it is gone."""
        self.writer.lead()
        toy = self.put_toy(door="front")
        self.writer.translated([toy], ())
        self.turn()
        self.assertEqual(self.open(), [])
        door = (TOY_DOOR, ObjectKey("shop", "front"))
        shown = {door: Projection(ToyDoor(door[1], 80))}
        self.writer.objects_changed(self.store.changed(shown))
        self.turn()
        written = self.many.answer(0, DONE).body
        assert written is not None
        self.writer.objects_changed(self.store.changed({door: None}))
        self.turn(2)
        removed = self.many.answer().body
        assert removed is not None
        self.assertIsNone(removed["status"]["conditions"])

    def test_clearing(self) -> None:
        """At the end of the last replica addresses are removed, and what became of objects stays told."""
        self.put("web", ONE, writer=US)
        self.writer.translated([self.put_toy()], ())
        cleared = self.writer.clear()
        self.writer.lead()
        self.turn()
        self.assertEqual(self.open(), ["ingresses/web"])
        self.many.answer()
        self.turn()
        self.successResultOf(cleared)

    def test_clearing_what_is_not_taken(self) -> None:
        """Nobody waits for an Ingress whose status the API server does not take, or that may not be written."""
        for name, error, most in (
            ("invalid", KubernetesError(422, "Invalid", "a webhook says no"), 10),
            ("forbidden", KubernetesError(403, "Forbidden", "no"), 1),
        ):
            for number in range(40):
                self.put(f"{number}-{name}", ONE, writer=US, namespace=name)
            self.put("web", ONE, writer=US)
            cleared = self.writer.clear()
            self.writer.lead()
            seconds = 0
            while not cleared.called:
                self.turn()
                while asked := self.open():
                    self.many.answer(0, error if asked[0].endswith(name) else DONE)
                    self.turn()
                self.turn(1)
                seconds += 1
                self.assertLessEqual(seconds, most, name)
            self.successResultOf(cleared)
            self.writer.follow()
            gone = {(Kind.INGRESS, ObjectKey(name, f"{number}-{name}")): None for number in range(40)}
            self.writer.objects_changed(self.store.changed(gone))

    def test_clearing_what_fails(self) -> None:
        """Nor for those with which the API server fails, time and again, while it takes others."""
        failure = KubernetesError(500, "InternalError", "failed calling webhook")
        for number in range(20):
            self.put(f"{number}-failing", ONE, writer=US)
        self.put("web", ONE, writer=US)
        cleared = self.writer.clear()
        self.writer.lead()
        for _ in range(30):
            self.turn()
            while asked := self.open():
                self.many.answer(0, failure if asked[0].endswith("failing") else DONE)
                self.turn()
            self.turn(1)
        self.successResultOf(cleared)

    def test_gone(self) -> None:
        """Of an object that is gone nothing is written, and nothing of it is remembered."""
        self.writer.lead()
        kind, key = self.put_toy()
        self.writer.translated([(kind, key)], ())
        self.turn()
        self.many.answer()
        self.writer.objects_changed(self.store.changed({(kind, key): None}))
        self.writer.translated([(kind, key)], ())
        self.turn(60)
        self.assertEqual((self.open(), self.writer.pending), ([], 0))
