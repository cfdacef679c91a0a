"""Tests for ``ingress.cluster.watching.queries``."""

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.kinds import KINDS
from ingress.cluster.watching.queries import ListWatchRequests
from ingress.model.cluster.objects import Kind


class ListWatchRequestsTests(SynchronousTestCase):
    """Queries of list and watch."""

    def requests(self, kind: Kind = Kind.SERVICE, random: float = 0.0) -> ListWatchRequests:
        return ListWatchRequests(KINDS[kind], "", lambda: random)

    def test_pages(self) -> None:
        """Pages are of 250 objects and follow each other by their token; a whole list has no limit."""
        requests = self.requests()
        self.assertEqual(requests.page("", in_pages=True), [("limit", "250")])
        self.assertEqual(requests.page("t", in_pages=True), [("limit", "250"), ("continue", "t")])
        self.assertEqual(requests.page("", in_pages=False), [])

    def test_streaming_list(self) -> None:
        """A streaming list asks for the initial events and for bookmarks, at no version of its own."""
        self.assertEqual(
            dict(self.requests().streaming_list()),
            {
                "watch": "true",
                "allowWatchBookmarks": "true",
                "timeoutSeconds": "290",
                "sendInitialEvents": "true",
                "resourceVersionMatch": "NotOlderThan",
            },
        )

    def test_watch(self) -> None:
        """A watch begins at a version and lasts between 290 and 590 seconds."""
        self.assertEqual(
            dict(self.requests(random=0.9999).watch("17")),
            {
                "watch": "true",
                "allowWatchBookmarks": "true",
                "timeoutSeconds": "590",
                "resourceVersion": "17",
            },
        )

    def test_selector(self) -> None:
        """Every request for Secrets is narrowed."""
        requests = self.requests(Kind.SECRET)
        for query in (requests.page("", in_pages=True), requests.streaming_list(), requests.watch("1")):
            self.assertIn(("fieldSelector", "type=kubernetes.io/tls"), query)

    def test_present(self) -> None:
        """For the present version one object will do, and nobody looks for one with a rare field; of a name alone the right may be."""
        self.assertEqual(self.requests(Kind.SECRET).present(), [("limit", "1")])
        read = evolve(KINDS[Kind.SECRET], field_selector="metadata.name=web")
        requests = ListWatchRequests(read, "shop", lambda: 0.0)
        self.assertEqual(requests.present(), [("fieldSelector", "metadata.name=web"), ("limit", "1")])
        self.assertIn("PartialObjectMetadataList", requests.accept_present)
        self.assertNotIn("Partial", requests.accept_list)
