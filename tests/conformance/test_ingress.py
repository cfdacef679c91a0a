"""The scenarios of Ingress: what is asked, and how answers are judged."""

from dataclasses import replace

from twisted.trial.unittest import SynchronousTestCase

from conformance.ingress import objects
from conformance.ingress.exchanges import USER_AGENT, Answer, faults
from conformance.ingress.scenarios import DEFAULT_BACKEND, FEATURES, HOST_RULES, Exchange, Request

EXCHANGE = Exchange("one", Request("shop.example", "/a"), "shop")
ECHO = {
    "service": "shop",
    "method": "GET",
    "path": "/a",
    "host": "shop.example",
    "proto": "HTTP/1.1",
    "headers": {"User-Agent": [USER_AGENT]},
}
FIELDS = {"content-length": "2", "content-type": "text/plain", "date": "now", "server": "me"}
GOOD = Answer(200, 11, FIELDS, ECHO)


class TableTests(SynchronousTestCase):
    """The scenarios of the former suite."""

    def test_there_are_as_many_as_there_were(self) -> None:
        """One default backend, six hosts, one class, one of balancing, and sixteen paths."""
        self.assertEqual([len(feature.scenarios) for feature in FEATURES], [1, 6, 1, 1, 16])

    def test_default_backend_is_asked_in_six_ways(self) -> None:
        """By several methods, and once by its bare address."""
        self.assertEqual(len(DEFAULT_BACKEND.exchanges), 6)
        self.assertEqual(len({exchange.request.method for exchange in DEFAULT_BACKEND.exchanges}), 5)

    def test_every_service_that_answers_is_made(self) -> None:
        """Each with a Deployment that says its name, and the Secret where there is one."""
        for feature in FEATURES:
            answering = {exchange.service for exchange in feature.exchanges} - {""}
            self.assertLessEqual(answering, set(feature.services))
        made = objects.objects_of(HOST_RULES, b"pem", b"key")
        kinds = [thing["kind"] for thing in made]
        self.assertEqual(
            kinds, ["Namespace", "Service", "Deployment", "Service", "Deployment", "Secret", "Ingress"]
        )


class FaultsTests(SynchronousTestCase):
    """What is wrong with an answer."""

    def test_good_answer(self) -> None:
        """Nothing is wrong with it."""
        self.assertEqual(faults(EXCHANGE, GOOD, "10.0.0.1", sized=True), [])

    def test_other_service(self) -> None:
        """Who answered is told."""
        found = faults(EXCHANGE, replace(GOOD, echo={**ECHO, "service": "blog"}), "10.0.0.1", sized=True)
        self.assertEqual(found, ["service 'blog' and not 'shop'"])

    def test_missing_fields(self) -> None:
        """They matter only where the length is known."""
        bare = replace(GOOD, fields={})
        self.assertEqual(faults(EXCHANGE, bare, "10.0.0.1", sized=False), [])
        self.assertEqual(len(faults(EXCHANGE, bare, "10.0.0.1", sized=True)), 4)

    def test_nobody_should_answer(self) -> None:
        """404 it has to be."""
        nobody = replace(EXCHANGE, service="")
        self.assertEqual(faults(nobody, replace(GOOD, status=404), "10.0.0.1", sized=True), [])
        self.assertEqual(faults(nobody, GOOD, "10.0.0.1", sized=True), ["status 200 and not 404"])

    def test_changed_request(self) -> None:
        """Host, path, protocol and User-Agent have to reach the backend as they were."""
        changed = {**ECHO, "host": "other", "path": "/b", "proto": "HTTP/1.0", "headers": {}}
        self.assertEqual(len(faults(EXCHANGE, replace(GOOD, echo=changed), "10.0.0.1", sized=True)), 4)
