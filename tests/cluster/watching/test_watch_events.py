"""Tests for ``ingress.cluster.watching.watch_events``."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.watching.watch_events import (
    Bookmark,
    BrokenStreamError,
    ErrorEvent,
    ObjectEvent,
    event_from_json,
    is_before,
    page_from_json,
)
from ingress.model.cluster.objects import ObjectKey


def raw(**metadata: object) -> dict[str, object]:
    """An object with this metadata."""
    return {"metadata": {"name": "web", "namespace": "shop", "resourceVersion": "7", **metadata}}


class VersionTests(SynchronousTestCase):
    """The order of resource versions."""

    def test_is_before(self) -> None:
        """They are compared as numbers, of whatever length; what is none is before nothing."""
        for version, other, is_it in (
            ("9", "10", True),
            ("10", "9", False),
            ("7", "7", False),
            ("1" * 5000, "2" * 5000, True),
            ("x", "7", False),
            ("7", "", False),
            ("٣", "7", False),
        ):
            self.assertIs(is_before(version, other), is_it)


class EventTests(SynchronousTestCase):
    """Lines of a watch."""

    def test_objects(self) -> None:
        """Added, modified and deleted objects carry key, version and themselves."""
        for event_type, deleted in (("ADDED", False), ("MODIFIED", False), ("DELETED", True)):
            event = event_from_json({"type": event_type, "object": raw()})
            self.assertEqual(event, ObjectEvent(ObjectKey("shop", "web"), "7", deleted, raw()))

    def test_cluster_scoped(self) -> None:
        """An object without a namespace has the empty one."""
        event = event_from_json({"type": "ADDED", "object": raw(namespace=None)})
        assert isinstance(event, ObjectEvent)
        self.assertEqual(event.key, ObjectKey("", "web"))

    def test_nameless(self) -> None:
        """An object without a name has no key, but the stream can go on behind it."""
        event = event_from_json({"type": "ADDED", "object": raw(name=None)})
        assert isinstance(event, ObjectEvent)
        self.assertIsNone(event.key)
        self.assertEqual(event.resource_version, "7")

    def test_bookmarks(self) -> None:
        """A bookmark carries a version, and may end the initial events."""
        end = {"k8s.io/initial-events-end": "true"}
        self.assertEqual(event_from_json({"type": "BOOKMARK", "object": raw()}), Bookmark("7", False))
        self.assertEqual(
            event_from_json({"type": "BOOKMARK", "object": raw(annotations=end)}), Bookmark("7", True)
        )
        self.assertEqual(
            event_from_json({"type": "BOOKMARK", "object": raw(annotations=None)}), Bookmark("7", False)
        )

    def test_error(self) -> None:
        """An ERROR event carries its status, whatever shape that has."""
        event = event_from_json({"type": "ERROR", "object": {"code": 410, "reason": "Expired"}})
        assert isinstance(event, ErrorEvent)
        self.assertEqual(event.error.status, 410)
        self.assertIsInstance(event_from_json({"type": "ERROR", "object": None}), ErrorEvent)

    def test_broken(self) -> None:
        """What is no event, or has no version, breaks the stream."""
        lines: tuple[object, ...] = (
            None,
            [],
            "ADDED",
            {},
            {"type": "RENAMED", "object": raw()},
            {"type": "ADDED"},
            {"type": "ADDED", "object": None},
            {"type": "ADDED", "object": {"metadata": []}},
            {"type": "MODIFIED", "object": raw(resourceVersion="")},
            {"type": "BOOKMARK", "object": raw(resourceVersion=7)},
        )
        for line in lines:
            with self.assertRaises(BrokenStreamError, msg=repr(line)):
                event_from_json(line)


class PageTests(SynchronousTestCase):
    """Pages of a list."""

    def test_page(self) -> None:
        """A page has a version, the token of the next one, and objects."""
        page = page_from_json({"metadata": {"resourceVersion": "9", "continue": "abc"}, "items": [raw()]})
        self.assertEqual((page.resource_version, page.next_page), ("9", "abc"))
        self.assertEqual([event.key for event in page.objects], [ObjectKey("shop", "web")])

    def test_nulls(self) -> None:
        """``items: null`` and no token are an empty last page."""
        page = page_from_json({"metadata": {"resourceVersion": "9", "continue": None}, "items": None})
        self.assertEqual((page.next_page, page.objects), ("", ()))

    def test_broken(self) -> None:
        """What is no list, or has no version, is refused as a whole."""
        pages: tuple[object, ...] = (
            None,
            {"items": []},
            {"metadata": {}, "items": []},
            {"metadata": {"resourceVersion": "1"}, "items": {}},
            {"metadata": {"resourceVersion": "1"}, "items": [None]},
        )
        for page in pages:
            with self.assertRaises(BrokenStreamError, msg=repr(page)):
                page_from_json(page)
