"""How the reflector comes by its first list, and by another one."""

from contextlib import AbstractContextManager

from ingress.cluster.api.api_status import BROKEN, SILENT
from ingress.cluster.watching import reflector
from ingress.errors import KubernetesError
from tests.cluster.watching.reflector_case import (
    EXPIRED,
    ReflectorTestCase,
    Step,
    added,
    bookmark,
    event,
    page,
    service,
)


class StreamingListTests(ReflectorTestCase):
    """The list that is a watch."""

    def test_list_then_watch(self) -> None:
        """The stream goes on after the initial events, and the next watch begins at its last version."""
        delay = self.turn(
            added("a", "3"), added("b", "1"), bookmark("5", ends=True), added("c", "6"), bookmark("8")
        )
        self.assertEqual(delay, 0.0)
        self.assertEqual(self.received.told, ["+a", "+b", "synced Service", "+c"])
        self.turn()
        self.assertEqual(self.last_query()["resourceVersion"], "8")
        self.assertNotIn("sendInitialEvents", self.last_query())

    def test_one_chunk(self) -> None:
        """How the events are cut into chunks does not matter."""
        self.turn(added("a", "3") + bookmark("5", ends=True) + event("DELETED", service("a", "6")))
        self.assertEqual(self.received.told, ["+a", "synced Service", "-a"])
        stream = added("b", "7") + b"\n" + added("c", "8")
        self.turn(*(stream[at : at + 1] for at in range(len(stream))))
        self.assertEqual(set(self.received.content), {"b", "c"})

    def test_broken_off(self) -> None:
        """A list that broke off deletes nothing and is not continued but begun again."""
        self.sync("a", "b")
        self.turn(EXPIRED)
        self.assertGreater(self.turn(added("c", "7"), KubernetesError(0, BROKEN, "reset")), 0)
        self.assertEqual(set(self.received.content), {"a", "b", "c"})
        self.turn(added("a", "1a"), bookmark("9", ends=True))
        self.assertEqual(self.script.queries[-1].get("sendInitialEvents"), "true")
        self.assertEqual(set(self.received.content), {"a"})

    def test_initial_events_do_not_move_the_version(self) -> None:
        """After a broken initial list the reflector does not watch from one of its events."""
        self.turn(added("a", "3"), KubernetesError(0, BROKEN, "reset"))
        self.turn()
        self.assertNotIn("resourceVersion", self.last_query())

    def test_refused(self) -> None:
        """Where streaming lists are invalid, the list comes in pages, at once and from then on."""
        self.assertEqual(self.turn(KubernetesError(422, "Invalid", "sendInitialEvents")), 0.0)
        self.turn(page("5", [("a", "3")]))
        self.assertEqual(self.last_query(), {"limit": "250"})
        self.turn(EXPIRED)
        self.turn(page("6", [("a", "3")]))
        self.assertEqual(self.last_query(), {"limit": "250"})

    def test_other_refusals_do_not_count(self) -> None:
        """Missing rights, overload, expiry and server errors say nothing about streaming lists."""
        for status in (401, 403, 410, 429, 500, 503):
            self.turn(KubernetesError(status, "x", "x"))
            self.turn(KubernetesError(500, "x", "x"))
            self.assertIn("sendInitialEvents", self.last_query())

    def test_no_end(self) -> None:
        """Silence, a proper end or a plain bookmark instead of the end lead to pages."""
        for steps in ([KubernetesError(0, SILENT, "x")], [], [bookmark("4")]):
            self.setUp()
            self.turn(added("a", "3"), *steps)
            self.turn(page("5", []))
            self.assertEqual(self.last_query(), {"limit": "250"})
            self.assertEqual(self.received.told, ["+a", "-a", "synced Service"])

    def test_garbage_again_and_again(self) -> None:
        """A streaming list that comes to nothing three times is given up for pages."""
        for _ in range(3):
            self.assertIn("sendInitialEvents", (self.turn(b"<html>\n"), self.last_query())[1])
        self.turn(page("5", []))
        self.assertEqual(self.last_query(), {"limit": "250"})


class PagedListTests(ReflectorTestCase):
    """The list in pages."""

    def setUp(self) -> None:
        super().setUp()
        self.turn(KubernetesError(422, "Invalid", "sendInitialEvents"))

    def pages(self, *pages: Step) -> float:
        """Make a turn that asks for these pages one by one."""
        self.script.answers.extend([step] for step in pages)
        return self.reflector.turn()

    def test_pages(self) -> None:
        """Pages are handed over as they come; the last one's version is watched from."""
        self.pages(page("5", [("a", "1")], "t1"), page("5", [("b", "2")], "t2"), page("6", [("c", "3")]))
        self.assertEqual([query.get("continue") for query in self.script.queries[1:]], [None, "t1", "t2"])
        self.assertEqual(self.received.told, ["+a", "+b", "+c", "synced Service"])
        self.turn()
        self.assertEqual(self.last_query()["resourceVersion"], "6")

    def test_one_by_one(self) -> None:
        """Traffic may go before each object of a page, which is decoded only then."""
        entered = []

        class Decoding(AbstractContextManager[None]):
            """Counts how often something is decoded, or projected."""

            def __exit__(self, *_: object) -> None:
                entered.append(1)

        self.reflector._decoding = Decoding()
        self.pages(page("5", [(f"s{number}", "1") for number in range(100)]))
        self.assertEqual(len(self.received.content), 100)
        self.assertGreaterEqual(len(entered), 100)

    def test_broken_amid(self) -> None:
        """What came before a page turned out to be broken is handed over, and known when it is asked for again."""
        text = page("5", [(f"s{number}", "1") for number in range(200)])
        self.assertGreater(self.pages(text.replace(b'"name": "s150"', b'"name": s150')), 0.0)
        self.assertIn("s100", self.received.content)
        self.received.told.clear()
        self.pages(text)
        self.assertNotIn("+s100", self.received.told)
        self.assertEqual(len(self.received.content), 200)

    def test_expired_page(self) -> None:
        """A page that expired begins the list again, without its token and with nothing deleted."""
        self.pages(page("5", [("a", "1"), ("b", "2")]))
        self.turn(EXPIRED)
        self.assertEqual(self.pages(page("7", [("c", "3")], "t"), EXPIRED), 0.8)
        self.assertEqual(set(self.received.content), {"a", "b", "c"})
        self.pages(page("8", [("b", "2"), ("c", "3")]))
        self.assertNotIn("continue", self.last_query())
        self.assertEqual(set(self.received.content), {"b", "c"})

    def test_pages_expire_again(self) -> None:
        """When pages expire twice in a row, the whole list is asked for; pages come back after it."""
        for _ in range(2):
            self.pages(page("7", [], "t"), EXPIRED)
        self.pages(page("8", []))
        self.assertEqual(self.last_query(), {})
        self.turn(bookmark("9"))
        self.turn(EXPIRED)
        self.pages(page("10", []))
        self.assertEqual(self.last_query(), {"limit": "250"})

    def test_incomplete_page(self) -> None:
        """A page that broke off, or is no list, changes nothing and is asked for again after a while."""
        self.pages(page("5", [("a", "1")]))
        self.turn(EXPIRED)
        for broken in (b'{"items": [', b"[]", b'{"items": []}'):
            self.assertGreater(self.pages(broken), 0.0)
        self.assertEqual(set(self.received.content), {"a"})

    def test_pages_without_end(self) -> None:
        """A list whose pages repeat, or are more than there can be, is broken: it is begun again after a while, and deletes nothing."""
        self.pages(page("5", [("a", "1")]))
        self.turn(EXPIRED)
        self.assertGreater(
            self.pages(page("6", [], "t1"), page("6", [("b", "2")], "t2"), page("6", [], "t1")), 0.0
        )
        self.patch(reflector, "_MOST_PAGES", 3)
        self.assertGreater(self.pages(*(page("7", [], f"t{number}") for number in range(4))), 0.0)
        self.assertEqual((self.script.answers, set(self.received.content)), ([], {"a", "b"}))
        self.assertIn("no end", self.reflector.trouble)
        self.pages(page("8", [("a", "1")]))
        self.assertEqual(set(self.received.content), {"a"})
