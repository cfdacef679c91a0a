"""
What a Kubernetes API server does, checked on the tests' own and on a real one.

The cases run against the tests' API server as a process, over HTTPS, and, when
the environment variable ``INGRESS_TEST_CLUSTER`` names a kubeconfig, against
that cluster, in namespaces that are made for it and removed afterwards. So the
fake cannot drift away from what it stands for.
"""

from __future__ import annotations

import os
from typing import NoReturn

from twisted.trial.unittest import SkipTest, SynchronousTestCase

from tests.cluster.apply_cases import ApplyCases
from tests.cluster.contract_cases import CORE, INGRESSES, ContractCase, ObjectCases
from tests.cluster.report_cases import EventCases, LeaseCases, StatusCases
from tests.fakes.apiserver.plain_client import Answer
from tests.fakes.apiserver.process import ServerProcess


class ListCases(ContractCase):
    """Lists, pages and selectors."""

    def test_list(self) -> None:
        """A list has a version; its objects come in the order of names, without kind."""
        for name in ("b", "a"):
            self.create(name)
        answer = self.client.send("GET", self.ingresses)
        self.assertEqual(answer.body["kind"], "IngressList")
        self.assertTrue(answer.body["metadata"]["resourceVersion"])
        self.assertNotIn("continue", answer.body["metadata"])
        self.assertEqual([one["metadata"]["name"] for one in answer.body["items"]], ["a", "b"])
        self.assertNotIn("kind", answer.body["items"][0])
        self.assertNotIn("apiVersion", answer.body["items"][0])

    def test_list_of_all_namespaces(self) -> None:
        """The list without a namespace shows ours too."""
        self.create("web")
        answer = self.client.send("GET", f"{INGRESSES}/ingresses")
        keys = [(one["metadata"]["namespace"], one["metadata"]["name"]) for one in answer.body["items"]]
        self.assertIn((self.namespace, "web"), keys)

    def test_pages(self) -> None:
        """All pages show the content at the version of the first, in order and complete."""
        for name in "abcde":
            self.create(name)
        pages = [self.client.send("GET", self.ingresses, query={"limit": 2}).body]
        self.client.send("DELETE", f"{self.ingresses}/c")
        self.create("bb")
        while "continue" in pages[-1]["metadata"]:
            token = pages[-1]["metadata"]["continue"]
            pages.append(self.client.send("GET", self.ingresses, query={"limit": 2, "continue": token}).body)
        names = [[one["metadata"]["name"] for one in page["items"]] for page in pages]
        self.assertEqual(names, [["a", "b"], ["c", "d"], ["e"]])
        self.assertEqual(len({page["metadata"]["resourceVersion"] for page in pages}), 1)
        self.assertEqual(pages[0]["metadata"]["remainingItemCount"], 3)

    def test_bad_token(self) -> None:
        """A continue token that the server did not make is refused."""
        answer = self.client.send("GET", self.ingresses, query={"limit": 2, "continue": "nonsense"})
        self.assert_refused(answer, 400, "BadRequest")

    def test_label_selectors(self) -> None:
        """Label selectors know equality, sets and presence; an absent label is unequal."""
        self.create("a", labels={"tier": "one", "old": "yes"})
        self.create("b", labels={"tier": "two"})
        self.create("c")
        for selector, expected in (
            ("tier=one", ["a"]),
            ("tier==two", ["b"]),
            ("tier!=one", ["b", "c"]),
            ("tier in (one,two)", ["a", "b"]),
            ("tier notin (one)", ["b", "c"]),
            ("tier", ["a", "b"]),
            ("!tier", ["c"]),
            ("tier in (one, two),!old", ["b"]),
        ):
            self.assertEqual(self.names(labelSelector=selector), expected, selector)

    def test_field_selectors(self) -> None:
        """Objects are selected by name, and Secrets by type; other fields are refused."""
        for name in "ab":
            self.create(name)
        self.assertEqual(self.names(fieldSelector="metadata.name=b"), ["b"])
        self.assertEqual(self.names(fieldSelector="metadata.name!=b"), ["a"])
        path = f"{CORE}/namespaces/{self.namespace}/secrets"
        for name, kind in (("plain", "Opaque"), ("basic", "kubernetes.io/basic-auth")):
            secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "type": kind}
            answer = self.client.send("POST", path, secret | {"stringData": {"username": "me"}})
            self.assertEqual(answer.status, 201, answer.body)
            self.assertEqual(answer.body["data"], {"username": "bWU="})
        self.assertEqual(self.names(path, fieldSelector="type=Opaque"), ["plain"])
        answer = self.client.send("GET", self.ingresses, query={"fieldSelector": "spec.ingressClassName=x"})
        self.assert_refused(answer, 400, "BadRequest")


class WatchCases(ContractCase):
    """Watches and streaming lists."""

    def test_watch(self) -> None:
        """A watch shows additions, changes and deletions, each with a version of its own."""
        events = self.watch(resourceVersion=self.version())
        self.create("web")
        self.merge(f"{self.ingresses}/web", {"metadata": {"labels": {"a": "1"}}})
        self.client.send("DELETE", f"{self.ingresses}/web")
        seen = [events.next() for _ in range(3)]
        self.assertEqual([event["type"] for event in seen], ["ADDED", "MODIFIED", "DELETED"])
        self.assertEqual(len({event["object"]["metadata"]["resourceVersion"] for event in seen}), 3)
        self.assertEqual({event["object"]["kind"] for event in seen}, {"Ingress"})
        self.assertEqual({event["object"]["apiVersion"] for event in seen}, {"networking.k8s.io/v1"})

    def test_replay(self) -> None:
        """A watch starts right after its version: nothing is missed and nothing comes twice."""
        self.create("before")
        version = self.version()
        self.create("between")
        self.client.send("DELETE", f"{self.ingresses}/before")
        events = self.watch(resourceVersion=version)
        self.create("after")
        seen = [
            (event["type"], event["object"]["metadata"]["name"])
            for event in (events.next(), events.next(), events.next())
        ]
        self.assertEqual(seen, [("ADDED", "between"), ("DELETED", "before"), ("ADDED", "after")])

    def test_resume_from_event(self) -> None:
        """The version of a deletion is one to go on from."""
        self.create("web")
        first = self.watch(resourceVersion=self.version())
        self.client.send("DELETE", f"{self.ingresses}/web")
        version = first.next()["object"]["metadata"]["resourceVersion"]
        self.create("next")
        event = self.watch(resourceVersion=version).next()
        self.assertEqual((event["type"], event["object"]["metadata"]["name"]), ("ADDED", "next"))

    def test_watch_without_version(self) -> None:
        """A watch from nowhere begins with what exists."""
        self.create("web")
        event = self.watch().next()
        self.assertEqual((event["type"], event["object"]["metadata"]["name"]), ("ADDED", "web"))

    def test_timeout(self) -> None:
        """A watch ends properly after the time it asked for."""
        events = self.watch(resourceVersion=self.version(), timeoutSeconds=1)
        self.assertEqual(events.status, 200)
        self.assertEqual(events.rest(), [])

    def test_selected_watch(self) -> None:
        """An object that leaves the selector shows as deleted, one that enters as added."""
        events = self.watch(resourceVersion=self.version(), labelSelector="on=yes")
        path = f"{self.ingresses}/web"
        self.create("web")
        for label in ("yes", "no", "yes"):
            self.merge(path, {"metadata": {"labels": {"on": label}}})
        self.merge(path, {"metadata": {"labels": {"other": "1"}}})
        seen = [events.next() for _ in range(4)]
        self.assertEqual([event["type"] for event in seen], ["ADDED", "DELETED", "ADDED", "MODIFIED"])
        # What is deleted is shown as it last matched, under the version of the change.
        self.assertEqual(seen[1]["object"]["metadata"]["labels"], {"on": "yes"})
        versions = [event["object"]["metadata"]["resourceVersion"] for event in seen]
        self.assertEqual(len(set(versions)), 4)

    def test_watch_of_one_name(self) -> None:
        """A watch by name shows that object alone."""
        events = self.watch(resourceVersion=self.version(), fieldSelector="metadata.name=mine")
        self.create("other")
        self.create("mine")
        self.assertEqual(events.next()["object"]["metadata"]["name"], "mine")

    def test_expired_version(self) -> None:
        """A version that is too old is answered 410, as an event or as the HTTP status."""
        events = self.watch(resourceVersion="1", timeoutSeconds=2)
        event = next(iter(events.rest()), None)
        if event is None:
            self.lacks("a version that is too old: it is young and remembers everything")
        if events.status == 200:
            self.assertEqual(event["type"], "ERROR")
            event = event["object"]
        self.assertEqual((event["kind"], event["code"], event["reason"]), ("Status", 410, "Expired"))

    def test_streaming_list(self) -> None:
        """A streaming list shows what exists, a bookmark that says so, and then what changes."""
        for name in "ba":
            self.create(name)
        events = self.watch(
            sendInitialEvents="true", resourceVersionMatch="NotOlderThan", allowWatchBookmarks="true"
        )
        if events.status == 422:
            self.lacks("streaming lists")
        first = [events.next_of_any_type() for _ in range(3)]
        self.assertEqual([event["type"] for event in first], ["ADDED", "ADDED", "BOOKMARK"])
        self.assertEqual({event["object"]["metadata"]["name"] for event in first[:2]}, {"a", "b"})
        bookmark = first[2]["object"]
        self.assertEqual((bookmark["kind"], bookmark["apiVersion"]), ("Ingress", "networking.k8s.io/v1"))
        self.assertEqual(bookmark["metadata"]["annotations"], {"k8s.io/initial-events-end": "true"})
        self.assertTrue(bookmark["metadata"]["resourceVersion"])
        self.assertNotIn("name", bookmark["metadata"])
        self.create("c")
        event = events.next()
        self.assertEqual((event["type"], event["object"]["metadata"]["name"]), ("ADDED", "c"))

    def test_streaming_list_options(self) -> None:
        """Initial events without resourceVersionMatch are refused."""
        events = self.watch(sendInitialEvents="true", timeoutSeconds=1)
        if events.status == 200:
            self.lacks("the options of streaming lists (Kubernetes before 1.27)")
        self.assert_refused(Answer(events.status, events.rest()[0]), 422, "Invalid")


class AccessCases(ContractCase):
    """Who is let in."""

    def test_wrong_token(self) -> None:
        """A token that nobody issued is refused."""
        answer = self.client.with_token("nobody-issued-this").send("GET", self.ingresses)
        self.assert_refused(answer, 401, "Unauthorized")

    def test_forbidden(self) -> None:
        """Somebody without rights is refused with the verb, the resource and the namespace."""
        answer = self.client.send("GET", self.ingresses, headers={"Impersonate-User": "txingress-nobody"})
        self.assert_refused(answer, 403, "Forbidden")
        self.assertIn(
            'cannot list resource "ingresses" in API group "networking.k8s.io"', answer.body["message"]
        )
        self.assertIn(f'in the namespace "{self.namespace}"', answer.body["message"])


class Contract(
    ObjectCases, ApplyCases, ListCases, WatchCases, AccessCases, LeaseCases, StatusCases, EventCases
):
    """All of it."""


_PROCESS = ServerProcess("--tls")


class FakeContractTests(Contract, SynchronousTestCase):
    """The tests' API server keeps the contract."""

    def kubeconfig(self) -> str:
        """Return the file that leads to the tests' API server."""
        return _PROCESS.kubeconfig()


class ClusterContractTests(Contract, SynchronousTestCase):
    """A real cluster keeps the contract: else the contract is wrong."""

    if not os.environ.get("INGRESS_TEST_CLUSTER"):
        skip = "INGRESS_TEST_CLUSTER names no kubeconfig"

    def kubeconfig(self) -> str:
        """Return the file that leads to the cluster."""
        return os.environ["INGRESS_TEST_CLUSTER"]

    def lacks(self, what: str) -> NoReturn:
        """Skip the case: clusters differ in version and age."""
        raise SkipTest(f"this cluster lacks {what}")
