"""Tests for ``ingress.cluster.projecting.object_meta``."""

import sys
from typing import Any

import orjson
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.kinds import KINDS
from ingress.cluster.projecting.object_meta import meta_of
from ingress.cluster.projecting.project import project
from ingress.model.cluster.object_meta import NO_META, Address, ObjectMeta
from ingress.model.cluster.objects import Kind
from ingress.model.reporting.writes import StatusField


def managed(manager: str, *steps: str, **more: Any) -> dict[str, Any]:
    """An entry of ``managedFields`` for the field that the steps lead to."""
    fields: dict[str, Any] = {}
    for step in reversed(steps):
        fields = {step: fields}
    return {"manager": manager, "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": fields, **more}


def status(manager: str, **more: Any) -> dict[str, Any]:
    """An entry for the addresses of a status."""
    return managed(manager, "f:status", "f:loadBalancer", "f:ingress", subresource="status", **more)


def raw(*entries: object, managers: object = None, **metadata: Any) -> dict[str, Any]:
    """An Ingress with these addresses."""
    metadata = {"name": "web", "namespace": "shop", "uid": "u-1", "managedFields": managers, **metadata}
    return {"metadata": metadata, "spec": {}, "status": {"loadBalancer": {"ingress": list(entries)}}}


def meta(obj: dict[str, Any], kind: Kind = Kind.INGRESS) -> ObjectMeta:
    reported = KINDS[kind].reported
    return meta_of(kind, obj, obj["metadata"], None if reported is None else reported.field)


class ObjectMetaTests(SynchronousTestCase):
    """What is kept."""

    def test_ingress(self) -> None:
        """Of an Ingress, its uid and the addresses of its status in their order, without ports."""
        found = meta(raw({"hostname": "lb.test"}, {"ip": "192.0.2.1", "ports": [{"port": 80}]}))
        self.assertEqual(found, ObjectMeta("u-1", (Address("", "lb.test"), Address("192.0.2.1"))))

    def test_writer(self) -> None:
        """Who wrote the addresses is known from the managed fields."""
        entry = {"ip": "192.0.2.1"}
        spec = managed("kubectl", "f:spec", "f:rules")
        self.assertEqual(meta(raw(entry, managers=[spec, status("us")])).writer, "us")
        self.assertEqual(meta(raw(entry, managers=[spec])).writer, "")
        self.assertEqual(meta(raw(entry, managers=[status("us"), status("them")])).writer, "us, them")
        self.assertEqual(meta(raw(managers=[status("us")])).writer, "")
        other = managed("us", "f:status", "f:loadBalancer", "f:other")
        self.assertEqual(meta(raw(entry, managers=[other])).writer, "")

    def test_service(self) -> None:
        """Of a Service, the addresses of its load balancer and its external ones."""
        obj = raw({"ip": "192.0.2.1"})
        obj["spec"] = {"externalIPs": ["198.51.100.1", 7]}
        expected = ObjectMeta("u-1", (Address("192.0.2.1"),), ("198.51.100.1",))
        self.assertEqual(meta(obj, Kind.SERVICE), expected)

    def test_other_kinds(self) -> None:
        """Of everything else the uid alone."""
        self.assertEqual(meta(raw({"ip": "192.0.2.1"}), Kind.SECRET), ObjectMeta("u-1"))
        self.assertIs(meta(raw(uid=None), Kind.SECRET), NO_META)

    def test_shared(self) -> None:
        """Equal addresses of many objects are one object in memory."""
        first, second = (meta(raw({"ip": "192.0.2.9"}, uid=uid)).addresses for uid in ("a", "b"))
        self.assertIs(first, second)

    def test_malformed(self) -> None:
        """What is not of the API's shape counts as absent."""
        for wrong in (None, 1, "x", [1], {"ingress": 1}, {"ingress": [1, {}, {"ip": 1}, {"hostname": []}]}):
            for kind in (Kind.INGRESS, Kind.SERVICE):
                obj = {"metadata": {"uid": 1, "managedFields": wrong}, "spec": wrong, "status": wrong}
                self.assertEqual(meta(obj, kind), NO_META)
                obj["status"] = {"loadBalancer": wrong}
                self.assertEqual(meta(obj, kind), NO_META)
        managers: Any
        for managers in (
            [1],
            [{}],
            [{"manager": 1, "fieldsV1": {}}],
            [{"manager": "x", "fieldsV1": {"f:status": 1}}],
        ):
            self.assertEqual(meta(raw({"ip": "192.0.2.1"}, managers=managers)).writer, "")


def with_status(status: object, **metadata: Any) -> ObjectMeta:
    """The metadata of an object in whose status we write more than addresses."""
    metadata = {"uid": "u-1", "generation": 3, "resourceVersion": "42", **metadata}
    obj = {"metadata": metadata, "status": status}
    return meta_of(Kind("HTTPRoute"), obj, metadata, StatusField.DOCUMENT)


class SeenStatusTests(SynchronousTestCase):
    """What is kept of a status in which several write."""

    def test_word_for_word(self) -> None:
        """All of it is kept as it is, beside generation and version."""
        status = {"parents": [{"controllerName": "them", "unknown": [1, None, "\u00e9"]}], "more": True}
        seen = with_status(status).seen
        assert seen is not None and seen.text is not None
        self.assertEqual((orjson.loads(seen.text), *seen[1:]), (status, 3, "42"))

    def test_little_memory(self) -> None:
        """The statuses of ten thousand routes are one text each, without a container; equal ones are one in memory."""
        condition = {
            "type": "Accepted",
            "status": "True",
            "reason": "Accepted",
            "message": "",
            "observedGeneration": 1,
            "lastTransitionTime": "2026-11-22T07:00:00Z",
        }
        parent = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "shop"}
        conditions = [condition, {**condition, "type": "ResolvedRefs", "reason": "ResolvedRefs"}]
        entry = {"parentRef": parent, "controllerName": "txingress.dev/gateway", "conditions": conditions}
        first, second = (with_status({"parents": [dict(entry)]}, uid=uid).seen for uid in ("a", "b"))
        assert first is not None and first.text is not None and second is not None
        self.assertIs(first.text, second.text)
        self.assertLess(sys.getsizeof(first.text), 512)

    def test_unreadable(self) -> None:
        """A status that is no JSON is told from none."""
        deep: list[object] = []
        for _ in range(5000):
            deep = [deep]
        for status, text in ((None, b""), ([], b""), ({}, b""), ({"x": deep}, None), ({"x": 1 << 70}, None)):
            seen = with_status(status).seen
            assert seen is not None
            self.assertEqual(seen.text, text)

    def test_generation(self) -> None:
        """A generation that the API cannot have counts as absent: no condition could say that it is about it."""
        for generation in (None, True, "3", 3.0, -1, 1 << 63, 10**40):
            seen = with_status({}, generation=generation).seen
            assert seen is not None
            self.assertEqual(seen.generation, 0, generation)
        seen = with_status({}, generation=(1 << 63) - 1).seen
        assert seen is not None
        self.assertEqual(seen.generation, (1 << 63) - 1)

    def test_writer(self) -> None:
        """Who wrote the conditions is who wrote that of Accepted, where they are told apart."""

        def writer(*entries: tuple[str, str]) -> str:
            managers = [
                managed(name, "f:status", "f:conditions", *([f'k:{{"type":"{of_type}"}}'] if of_type else ()))
                for name, of_type in entries
            ]
            return with_status({"conditions": [{}]}, managedFields=managers).writer

        self.assertEqual(writer(("us", "Accepted"), ("them", "Theirs")), "us")
        self.assertEqual(writer(("us", "Accepted"), ("them", "Accepted")), "us, them")
        self.assertEqual(writer(("them", "Theirs")), "")
        self.assertEqual(writer(("us", ""), ("them", "")), "us, them")


class ProjectionTests(SynchronousTestCase):
    """The standing beside the value."""

    def test_apart_from_the_value(self) -> None:
        """Two versions of an object that differ in their standing are equal projections."""
        one = project(KINDS[Kind.INGRESS], raw({"ip": "192.0.2.1"}), "p")[1]
        other = project(KINDS[Kind.INGRESS], raw({"ip": "192.0.2.2"}), "p")[1]
        self.assertEqual(one, other)
        self.assertEqual(other.meta.addresses, (Address("192.0.2.2"),))

    def test_of_what_cannot_be_used(self) -> None:
        """An object without a usable value has metadata all the same: there is a problem to report."""
        projection = project(KINDS[Kind.INGRESS], raw(), "p")[1]
        self.assertIsNone(projection.value)
        self.assertEqual(projection.meta.uid, "u-1")
