"""Tests for ``ingress.status.status_merging`` and ``status_patches``: lists of a status in which several controllers write."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import orjson
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.object_meta import Condition, ObjectMeta, SeenStatus
from ingress.model.cluster.objects import Kind, ObjectKey
from ingress.model.reporting.reports import Report, StatusDocument, StatusEntry
from ingress.model.reporting.writes import ListShape, StatusField, StatusShape
from ingress.status.status_merging import Moment, merged_fields
from ingress.status.status_patches import StatusPatch, patch_for

NOW = "2026-11-22T07:00:00Z"
THEN = "2026-01-01T00:00:00Z"
MOMENT = Moment(3, NOW)
US, THEM = "txingress.dev/gateway", "example.com/them"
TYPES = frozenset({"Accepted", "ResolvedRefs"})
PARENTS = ListShape("parents", ("controllerName", "parentRef"), TYPES, 3, is_shared=True)
LISTENERS = ListShape("listeners", ("name",), TYPES, 64)
ROUTES = StatusShape(lists=(PARENTS,))
GATEWAYS = StatusShape(TYPES, (LISTENERS,), ("addresses", "attachedListenerSets"))
ACCEPTED = Condition("Accepted", "True", "Accepted")
REFUSED = Condition("Accepted", "False", "NoMatchingParent", "no listener is called x")


def entry(condition: Condition, since: str = NOW, generation: int = 3) -> dict[str, Any]:
    """How a condition is written."""
    return {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "lastTransitionTime": since,
        "observedGeneration": generation,
    }


def reference(name: str, **more: Any) -> dict[str, Any]:
    return {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": name, **more}


def parent(name: str, *conditions: Condition, controller: str = US, **more: Any) -> StatusEntry:
    return StatusEntry({"parentRef": reference(name, **more), "controllerName": controller}, conditions)


def written(wanted: StatusEntry, since: str = NOW, generation: int = 3) -> dict[str, Any]:
    """How an entry of a list is written."""
    return {**wanted.fields, "conditions": [entry(one, since, generation) for one in wanted.conditions]}


def route(*wanted: StatusEntry) -> StatusDocument:
    return StatusDocument(lists={"parents": wanted}, controller=US)


class ParentsTests(SynchronousTestCase):
    """A list in which several controllers have entries."""

    def merged(self, *seen: Any, wanted: tuple[StatusEntry, ...]) -> Any:
        """Return what the list becomes, None when it stays as it is."""
        return merged_fields({"parents": list(seen)}, route(*wanted), ROUTES, MOMENT).get("parents")

    def test_others_stay(self) -> None:
        """Entries of other controllers stay where they are, word for word, and so do conditions of others in ours."""
        theirs = {"controllerName": THEM, "parentRef": {"name": "a"}, "unknown": [1], "conditions": []}
        special = {"type": "special.io/Some", "status": "Unknown", "x": 1}
        ours = written(parent("b", REFUSED), THEN, 2)
        ours["conditions"].insert(0, special)
        wanted = parent("b", ACCEPTED)
        self.assertEqual(
            self.merged(theirs, ours, {**theirs, "parentRef": {"name": "c"}}, wanted=(wanted,)),
            [
                theirs,
                {**wanted.fields, "conditions": [special, entry(ACCEPTED)]},
                {**theirs, "parentRef": {"name": "c"}},
            ],
        )

    def test_same_parent_of_two_controllers(self) -> None:
        """An entry of another controller about the same parent is not ours."""
        theirs = written(parent("a", REFUSED, controller=THEM))
        self.assertEqual(
            self.merged(theirs, wanted=(parent("a", ACCEPTED),)), [theirs, written(parent("a", ACCEPTED))]
        )

    def test_gone(self) -> None:
        """Our entry goes with the reference that it is about; the list is required, so none is an empty one."""
        self.assertEqual(self.merged(written(parent("a", ACCEPTED)), wanted=()), [])
        theirs = written(parent("a", REFUSED, controller=THEM))
        self.assertEqual(self.merged(written(parent("a", ACCEPTED)), theirs, wanted=()), [theirs])

    def test_nothing_to_say(self) -> None:
        """A route of others without status gets none, and an empty list stays one."""
        self.assertEqual(merged_fields({}, route(), ROUTES, MOMENT), {})
        self.assertEqual(merged_fields({"parents": []}, route(), ROUTES, MOMENT), {})

    def test_identity(self) -> None:
        """References are told apart by all that they name; what the API fills in makes no other."""
        plain, section, port = parent("a", ACCEPTED), parent("a", sectionName="x"), parent("a", port=80)
        found = self.merged(wanted=(plain, section, port))
        self.assertEqual(
            [one["parentRef"] for one in found], [one.fields["parentRef"] for one in (plain, section, port)]
        )
        short = {**written(plain, THEN), "parentRef": {"name": "a", "namespace": None, "sectionName": ""}}
        self.assertEqual(self.merged(short, wanted=(plain,)), [written(plain, THEN)])

    def test_named_twice(self) -> None:
        """A parent that is named twice has one entry, the first; a second one of ours goes."""
        twice = (parent("a", ACCEPTED), parent("a", REFUSED))
        self.assertEqual(self.merged(wanted=twice), [written(twice[0])])
        self.assertEqual(self.merged(*(written(one) for one in twice), wanted=twice), [written(twice[0])])

    def test_unchanged(self) -> None:
        """What is shown already is not written, whatever the order and whenever it was."""
        wanted = (parent("a", ACCEPTED), parent("b", REFUSED))
        self.assertIsNone(self.merged(*(written(one, THEN) for one in reversed(wanted)), wanted=wanted))

    def test_generation(self) -> None:
        """Another generation is written, with the time of the last change of a status."""
        wanted = parent("a", ACCEPTED)
        self.assertEqual(self.merged(written(wanted, THEN, 2), wanted=(wanted,)), [written(wanted, THEN, 3)])

    def test_turned(self) -> None:
        """A status that changes has the time of now; other words alone have not."""
        before = written(parent("a", REFUSED), THEN, 3)
        self.assertEqual(
            self.merged(before, wanted=(parent("a", ACCEPTED),)), [written(parent("a", ACCEPTED))]
        )
        words = parent("a", REFUSED._replace(message="other words"))
        self.assertEqual(self.merged(before, wanted=(words,)), [written(words, THEN)])

    def test_bound(self) -> None:
        """There are no more entries than the API takes, and those of others come first."""
        theirs = [written(parent(name, controller=THEM)) for name in "ab"]
        found = self.merged(*theirs, wanted=(parent("a", ACCEPTED), parent("b", ACCEPTED)))
        self.assertEqual(found, [*theirs, written(parent("a", ACCEPTED))])

    def test_malformed(self) -> None:
        """What is not of the API's shape is not kept, and stops nothing."""
        wanted = (parent("a", ACCEPTED),)
        wrong: Any
        for wrong in (
            1,
            None,
            [],
            "x",
            {"type": []},
            {"controllerName": US, "parentRef": 1, "conditions": 1},
        ):
            self.assertEqual(self.merged(wrong, wanted=wanted), [written(wanted[0])])
        for wrong in (1, "x", {"a": 1}):
            found = merged_fields({"parents": wrong}, route(*wanted), ROUTES, MOMENT)
            self.assertEqual(found, {"parents": [written(wanted[0])]})


class GatewayTests(SynchronousTestCase):
    """A status that is ours as a whole, but for conditions of others."""

    WANTED = StatusDocument(
        (ACCEPTED,),
        {"listeners": (StatusEntry({"name": "http", "attachedRoutes": 2}, (ACCEPTED,)),)},
        {"addresses": [{"type": "IPAddress", "value": "192.0.2.1"}], "attachedListenerSets": 0},
    )
    OWNER = (Kind("Gateway"), ObjectKey("shop", "web"))

    def patch_of(
        self, status: bytes | None, *, is_ours: bool = True, was_ours: bool = False, writer: str = ""
    ) -> StatusPatch | None:
        report = Report(self.OWNER, is_ours, (), self.WANTED if is_ours else StatusDocument())
        meta = ObjectMeta("u", (), (), writer, SeenStatus(status, 3, "7"))
        now = datetime(2026, 11, 22, 7, tzinfo=UTC)
        return patch_for(report, StatusField.DOCUMENT, GATEWAYS, meta, "us", now, was_ours=was_ours)

    def shown(self) -> bytes:
        """What the API server shows after a write."""
        patch = self.patch_of(b"")
        assert patch is not None and patch.after.seen is not None and patch.after.seen.text
        return patch.after.seen.text

    def test_whole(self) -> None:
        """All parts are written, with the version that was seen, and then nothing."""
        patch = self.patch_of(b"")
        assert patch is not None
        self.assertEqual(
            patch.body,
            {
                "metadata": {"resourceVersion": "7"},
                "status": {
                    "conditions": [entry(ACCEPTED)],
                    "listeners": [
                        {"name": "http", "attachedRoutes": 2, "conditions": [entry(ACCEPTED)]},
                    ],
                    "addresses": [{"type": "IPAddress", "value": "192.0.2.1"}],
                    "attachedListenerSets": 0,
                },
            },
        )
        self.assertIsNone(self.patch_of(self.shown()))

    def test_only_what_changed(self) -> None:
        """A field that is as it is to be is not part of the patch; a listener that is gone goes."""
        status = orjson.loads(self.shown())
        status["listeners"].append({"name": "old", "attachedRoutes": 0, "conditions": []})
        patch = self.patch_of(orjson.dumps(status))
        assert patch is not None
        self.assertEqual([*patch.body["status"]], ["listeners"])
        self.assertEqual([one["name"] for one in patch.body["status"]["listeners"]], ["http"])

    def test_left(self) -> None:
        """What we wrote is removed when the Gateway is ours no more; not what others wrote, or the API filled in."""
        status = orjson.loads(self.shown())
        theirs = {**entry(ACCEPTED), "type": "Theirs"}
        filled = {**entry(Condition("ResolvedRefs", "Unknown", "Pending")), "observedGeneration": 0}
        status["conditions"] += [theirs, filled]
        text = orjson.dumps(status)
        patch = self.patch_of(text, is_ours=False, writer="us")
        assert patch is not None
        gone = dict.fromkeys(("listeners", "addresses", "attachedListenerSets"))
        self.assertEqual(patch.body["status"], {"conditions": [theirs, filled], **gone})
        self.assertTrue(patch.is_removal)
        assert patch.after.seen is not None
        self.assertIsNone(self.patch_of(patch.after.seen.text, is_ours=False, writer="us"))
        self.assertIsNone(self.patch_of(text, is_ours=False, writer="them"))
        self.assertIsNone(self.patch_of(text, is_ours=False))

    def test_unreadable(self) -> None:
        """A status that cannot be read is not written: nobody knows what others have in it."""
        self.assertIsNone(self.patch_of(None))
        self.assertIsNone(self.patch_of(b"[]"))
