"""Tests of statuses of the Gateway API from object to object: who writes what, how often, and who does not."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.object_meta import Address
from ingress.model.cluster.objects import Kind, ObjectKey
from ingress.translate.readers.gateway.topology.topology_making import last_topology
from tests.status.gateway_cluster import (
    CONTROLLER,
    GatewayCluster,
    Json,
    Replica,
    gateway,
    gateway_class,
    http_route,
    listener,
    listener_set,
    policy,
    service,
)

THEIRS = "example.com/them"


def conditions(entry: Json) -> dict[str, tuple[str, str]]:
    return {one["type"]: (one["status"], one["reason"]) for one in entry["conditions"]}


def generations(status: Json) -> set[int]:
    """The generations that all conditions of a status are about."""
    entries = [
        status,
        *(one for name in ("listeners", "parents", "ancestors") for one in status.get(name) or ()),
    ]
    return {one["observedGeneration"] for entry in entries for one in entry.get("conditions") or ()}


class ClusterCase(SynchronousTestCase):
    """A cluster with one replica that leads, and a Gateway."""

    def setUp(self) -> None:
        self.cluster = GatewayCluster()
        self.cluster.apply(gateway_class(), gateway("web"), service())

    def lead(self, name: str = "us", controller: str = CONTROLLER) -> Replica:
        """Start a replica that leads."""
        replica = self.replica(name, controller)
        replica.lead()
        self.turn()
        return replica

    def replica(self, name: str = "us", controller: str = CONTROLLER) -> Replica:
        replica = Replica(self.cluster, name, controller)
        self.addCleanup(self.end, replica)
        return replica

    def end(self, replica: Replica) -> None:
        replica.stop()

    def turn(self, seconds: float = 3.0) -> None:
        """Let so much time pass, in small steps."""
        self.cluster.clock.pump([0.002] * round(seconds / 0.002))

    def writes(self) -> list[tuple[str, str]]:
        """What was written since this was last asked."""
        written, self.cluster.written = self.cluster.written, []
        return [(one.kind, one.name) for one in written]

    def parents(self, name: str) -> dict[str, dict[str, tuple[str, str]]]:
        """Conditions of our entries of a route by the names of its parents."""
        return {
            one["parentRef"]["name"]: conditions(one)
            for one in self.cluster.status("HTTPRoute", name).get("parents") or ()
            if one["controllerName"] == CONTROLLER
        }

    def attached(self, name: str = "web") -> list[int]:
        return [one["attachedRoutes"] for one in self.cluster.status("Gateway", name)["listeners"]]


class WholeTests(ClusterCase):
    """From objects to statuses."""

    def test_all_kinds(self) -> None:
        """A class, its Gateway with a ListenerSet, a route and a policy: each is written once, and all are in order."""
        allowed = {"namespaces": {"from": "Same"}}
        self.cluster.apply(
            gateway("web", allowedListeners=allowed),
            listener_set("more", "web", listener("more", hostname="more.test")),
            http_route("a", "web"),
            policy("tls"),
        )
        self.lead()
        self.assertEqual(
            sorted(self.writes()),
            [
                ("BackendTLSPolicy", "tls"),
                ("Gateway", "web"),
                ("GatewayClass", "ours"),
                ("HTTPRoute", "a"),
                ("ListenerSet", "more"),
            ],
        )
        self.assertEqual(conditions(self.cluster.status("GatewayClass", "ours"))["Accepted"][0], "True")
        status = self.cluster.status("Gateway", "web")
        self.assertEqual(conditions(status)["Programmed"][0], "True")
        self.assertEqual((self.attached(), status["attachedListenerSets"]), ([1], 1))
        self.assertEqual(self.parents("a")["web"]["Accepted"], ("True", "Accepted"))
        [ancestor] = self.cluster.status("BackendTLSPolicy", "tls")["ancestors"]
        self.assertEqual(ancestor["ancestorRef"]["name"], "web")
        self.turn(60)
        self.assertEqual(self.writes(), [])

    def test_observed_generation(self) -> None:
        """What changes in the desired state is observed at once, even right after a write."""
        self.cluster.apply(http_route("a", "web"))
        self.lead()
        for number in range(3):
            more = listener("more", 8081 + number)
            self.cluster.apply(
                gateway("web", listener(), more), http_route("a", "web", hostnames=[f"{number}.test"])
            )
            self.turn(0.1)
            for kind, name in (("Gateway", "web"), ("HTTPRoute", "a")):
                found = generations(self.cluster.status(kind, name))
                self.assertEqual(found, {number + 2})

    def test_fields_that_are_not_kept(self) -> None:
        """A change of what is not kept of an object is observed, too."""
        self.lead()
        one = gateway("web")
        one["spec"]["unknown"] = 1
        self.cluster.apply(one)
        self.turn()
        self.assertEqual(generations(self.cluster.status("Gateway", "web")), {2})


class TriggerTests(ClusterCase):
    """What is looked at again when something else changes, and what is left alone."""

    def setUp(self) -> None:
        super().setUp()
        self.cluster.apply(*(http_route(f"r{at}", "web") for at in range(20)))
        self.leader = self.lead()
        self.writes()

    def test_route(self) -> None:
        """A route that comes or goes is counted by its Gateway, and no other route is written."""
        self.cluster.apply(http_route("new", "web"))
        self.turn()
        self.assertEqual(
            (self.attached(), sorted(self.writes())), ([21], [("Gateway", "web"), ("HTTPRoute", "new")])
        )
        self.cluster.delete("HTTPRoute", "new")
        self.turn()
        self.assertEqual((self.attached(), self.writes()), ([20], [("Gateway", "web")]))

    def test_refused(self) -> None:
        """A route of which nothing can be done is not accepted, and not counted, until it is another one."""
        redirect = {"type": "RequestRedirect", "requestRedirect": {"hostname": "x.test"}}
        rewrite = {"type": "URLRewrite", "urlRewrite": {"hostname": "y.test"}}
        self.cluster.apply(http_route("r0", "web", rules=[{"filters": [redirect, rewrite]}]))
        self.turn()
        self.assertEqual(self.parents("r0")["web"]["Accepted"], ("False", "IncompatibleFilters"))
        self.assertEqual(self.attached(), [19])
        self.cluster.apply(http_route("r0", "web"))
        self.turn()
        self.assertEqual((self.parents("r0")["web"]["Accepted"][0], self.attached()), ("True", [20]))
        self.assertEqual(self.leader.controller.verify(), ())

    def test_many_routes_one_write(self) -> None:
        """Routes that come at a time cost their Gateway two writes at most, the last of which has them all."""
        self.cluster.apply(*(http_route(f"n{at}", "web") for at in range(100)))
        self.turn()
        written = self.writes()
        self.assertLessEqual(written.count(("Gateway", "web")), 2)
        self.assertEqual((self.attached(), len(written)), ([120], 100 + written.count(("Gateway", "web"))))

    def test_gateway(self) -> None:
        """A Gateway that comes is told by the routes that wait for it; one that goes leaves none of our entries."""
        self.cluster.apply(http_route("r0", "web", "later"))
        self.turn()
        self.assertEqual([*self.parents("r0")], ["web"])
        self.cluster.apply(gateway("later", listener("x", 8081)))
        self.turn()
        self.assertEqual([*self.parents("r0")], ["web", "later"])
        self.writes()
        self.cluster.delete("Gateway", "later")
        self.turn()
        self.assertEqual(([*self.parents("r0")], self.writes()), (["web"], [("HTTPRoute", "r0")]))

    def test_listener(self) -> None:
        """A listener that refuses routes makes all of them not accepted, each by one write."""
        self.cluster.apply(gateway("web", listener(hostname="other.test")))
        self.turn()
        self.assertEqual(self.parents("r7")["web"]["Accepted"], ("False", "NoMatchingListenerHostname"))
        self.assertEqual(self.attached(), [0])
        written = self.writes()
        self.assertEqual(len([one for one in written if one[0] == "HTTPRoute"]), 20)

    def test_service(self) -> None:
        """A Service that goes unresolves the routes that name it, and those alone."""
        self.cluster.apply(service("other"), http_route("r0", "web", service="other"))
        self.turn()
        self.writes()
        self.cluster.delete("Service", "other")
        self.turn()
        self.assertEqual(self.parents("r0")["web"]["ResolvedRefs"], ("False", "BackendNotFound"))
        self.assertEqual(self.writes(), [("HTTPRoute", "r0")])

    def test_listener_set(self) -> None:
        """A ListenerSet that moves is counted by its new Gateway, and by the old one no more."""
        allowed: Any = {"namespaces": {"from": "Same"}}
        self.cluster.apply(
            gateway("web", allowedListeners=allowed),
            gateway("other", listener("x", 8081), allowedListeners=allowed),
            listener_set("more", "web", listener("more", 8082)),
        )
        self.turn()

        def counts() -> list[int]:
            return [self.cluster.status("Gateway", name)["attachedListenerSets"] for name in ("web", "other")]

        self.assertEqual(counts(), [1, 0])
        self.assertIn("ListenerSet", {kind for kind, _ in self.leader.statuses._beside})
        self.cluster.apply(listener_set("more", "other", listener("more", 8082)))
        self.turn()
        self.assertEqual(counts(), [0, 1])
        self.cluster.delete("ListenerSet", "more")
        self.turn()
        self.assertEqual(counts(), [0, 0])
        self.assertNotIn("ListenerSet", {kind for kind, _ in self.leader.statuses._beside})

    def test_policy(self) -> None:
        """The ancestors of a policy follow the routes to its Service."""
        self.cluster.apply(
            policy("tls", "only"),
            service("only"),
            gateway("other", listener("x", 8081)),
            http_route("one", "web", service="only"),
        )
        self.turn()

        def ancestors() -> list[str]:
            entries = self.cluster.status("BackendTLSPolicy", "tls").get("ancestors") or ()
            return [one["ancestorRef"]["name"] for one in entries]

        self.assertEqual(ancestors(), ["web"])
        self.cluster.apply(http_route("two", "other", service="only"))
        self.turn()
        self.assertEqual(sorted(ancestors()), ["other", "web"])
        self.cluster.delete("HTTPRoute", "one")
        self.turn()
        self.assertEqual(ancestors(), ["other"])
        self.cluster.delete("HTTPRoute", "two")
        self.turn()
        self.assertEqual(ancestors(), [])

    def test_endpoints(self) -> None:
        """A route whose object is written again without any change is not looked at, nor is its Gateway."""
        self.cluster.apply(http_route("r3", "web"))
        self.turn()
        self.assertEqual(self.writes(), [])


class OthersTests(ClusterCase):
    """Several replicas, and several controllers."""

    def test_follower(self) -> None:
        """Who does not lead writes nothing; when it does, it writes nothing that is right already."""
        self.cluster.apply(*(http_route(f"r{at}", "web") for at in range(10)))
        follower = self.replica("them")
        self.turn()
        self.assertEqual(self.writes(), [])
        leader = self.lead()
        self.assertEqual(len(self.writes()), 12)
        leader.stop()
        self.cluster.apply(http_route("new", "web"))
        self.turn()
        self.assertEqual(self.writes(), [])
        follower.lead()
        self.turn()
        self.assertEqual(sorted(self.writes()), [("Gateway", "web"), ("HTTPRoute", "new")])

    def test_restart(self) -> None:
        """A controller that starts again writes nothing that is right, not even the time."""
        self.cluster.apply(*(http_route(f"r{at}", "web") for at in range(10)), policy("tls"))
        self.lead().stop()
        before = {one: raw.get("status") for one, raw in self.cluster.objects.items()}
        self.writes()
        self.turn(100)
        self.lead()
        self.assertEqual(self.writes(), [])
        self.assertEqual({one: raw.get("status") for one, raw in self.cluster.objects.items()}, before)

    def test_two_controllers(self) -> None:
        """Two controllers, of which each has one of a route's parents, write it once each, and keep what the other has."""
        self.cluster.apply(
            gateway_class("theirs", THEIRS),
            gateway("other", listener("x", 8081), class_name="theirs"),
            http_route("shared", "web", "other"),
        )
        self.lead("us")
        self.lead("them", THEIRS)
        self.turn(60)
        self.assertEqual(
            [(one.writer, one.status) for one in self.cluster.written if one.name == "shared"],
            [("us", 200), ("them", 200)],
        )
        found = self.cluster.status("HTTPRoute", "shared")["parents"]
        self.assertEqual(
            [(one["parentRef"]["name"], one["controllerName"]) for one in found],
            [("web", CONTROLLER), ("other", THEIRS)],
        )
        self.writes()
        self.cluster.apply(http_route("shared", "other"))
        self.turn(60)
        self.assertEqual(
            [one["parentRef"]["name"] for one in self.cluster.status("HTTPRoute", "shared")["parents"]],
            ["other"],
        )
        self.assertLessEqual(len(self.writes()), 4)
        self.turn(60)
        self.assertEqual(self.writes(), [])

    def test_at_the_same_time(self) -> None:
        """Who was slower is refused, looks again, and loses nothing of what the other wrote."""
        self.cluster.apply(
            gateway_class("theirs", THEIRS),
            gateway("other", listener("x", 8081), class_name="theirs"),
            http_route("shared", "web", "other"),
        )
        replicas = [self.replica("us"), self.replica("them", THEIRS)]
        for replica in replicas:
            replica.lead()
        self.turn(30)
        statuses = [one.status for one in self.cluster.written if one.name == "shared"]
        self.assertEqual(statuses, [200, 409, 200])
        self.assertEqual(len(self.cluster.status("HTTPRoute", "shared")["parents"]), 2)

    def test_same_name_in_another_election(self) -> None:
        """Two installations of one controller's name say the same, and so each thing is written once."""
        self.cluster.apply(http_route("a", "web"))
        self.lead("us")
        self.writes()
        self.lead("others")
        self.turn(60)
        self.assertEqual(self.writes(), [])

    def test_foreign_condition(self) -> None:
        """A condition that somebody else has in a Gateway's status stays where it is, word for word."""
        self.lead()
        special = {
            "type": "special.io/Some",
            "status": "Unknown",
            "reason": "Odd",
            "message": "m",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
            "observedGeneration": 1,
        }
        self.cluster.write_status(
            "Gateway", "web", {"conditions": [special, *self.cluster.status("Gateway", "web")["conditions"]]}
        )
        self.turn()
        self.cluster.apply(gateway("web", listener("other")))
        self.turn()
        status = self.cluster.status("Gateway", "web")
        self.assertEqual(status["conditions"][0], special)
        self.assertEqual(status["conditions"][1]["observedGeneration"], 2)


class LeavingTests(ClusterCase):
    """What was ours, and is not any more."""

    def test_class(self) -> None:
        """A Gateway that leaves our class has nothing of ours any more, nor has its route; when it comes back both have."""
        self.cluster.apply(gateway_class("theirs", THEIRS), http_route("a", "web"))
        self.lead()
        self.cluster.apply(gateway("web", class_name="theirs"))
        self.turn()
        self.assertEqual(self.cluster.status("Gateway", "web"), {})
        self.assertEqual(self.cluster.status("HTTPRoute", "a"), {"parents": []})
        self.cluster.apply(gateway("web"))
        self.turn(5)
        self.assertEqual(self.attached(), [1])
        self.assertEqual([*self.parents("a")], ["web"])

    def test_class_that_goes(self) -> None:
        """Where the class itself goes, or becomes another controller's, so does all that is said of its Gateways."""
        self.cluster.apply(http_route("a", "web"))
        self.lead()
        self.cluster.apply(gateway_class("ours", THEIRS))
        self.turn()
        self.assertEqual(self.cluster.status("GatewayClass", "ours"), {})
        self.assertEqual(self.cluster.status("Gateway", "web"), {})
        self.assertEqual(self.parents("a"), {})

    def test_left_before_we_led(self) -> None:
        """What left our class while nobody led is removed by who leads next: the API server remembers who wrote it."""
        self.cluster.apply(gateway_class("theirs", THEIRS), http_route("a", "web"))
        self.lead().stop()
        self.cluster.apply(gateway("web", class_name="theirs"))
        self.lead()
        self.assertEqual(self.cluster.status("Gateway", "web"), {})
        self.assertEqual(self.parents("a"), {})

    def test_parent(self) -> None:
        """A route that names a parent no more has no entry for it."""
        self.cluster.apply(gateway("other", listener("x", 8081)), http_route("a", "web", "other"))
        self.lead()
        self.assertEqual([*self.parents("a")], ["web", "other"])
        self.cluster.apply(http_route("a", "other"))
        self.turn()
        self.assertEqual([*self.parents("a")], ["other"])


class ClearingTests(ClusterCase):
    """The end of the last replica."""

    def test_shared_addresses(self) -> None:
        """Where Gateways show the addresses that we publish these are removed, and all else stays told."""
        replica = Replica(self.cluster, published=(Address("192.0.2.1"),))
        self.addCleanup(self.end, replica)
        self.cluster.apply(http_route("a", "web"))
        replica.lead()
        self.turn()
        before = self.cluster.status("Gateway", "web")
        self.assertEqual(before["addresses"], [{"type": "IPAddress", "value": "192.0.2.1"}])
        self.writes()
        replica.statuses.follow()
        cleared = replica.statuses.clear()
        replica.lead()
        self.turn()
        self.successResultOf(cleared)
        self.assertEqual(self.writes(), [("Gateway", "web")])
        after = self.cluster.status("Gateway", "web")
        self.assertEqual({**after, "addresses": before["addresses"]}, before)

    def test_own_addresses(self) -> None:
        """An address of its own stays a Gateway's: it is to be the same one when the controller comes back."""
        replica = Replica(self.cluster, addresses=("192.0.2.7",))
        self.addCleanup(self.end, replica)
        replica.lead()
        self.turn()
        self.writes()
        replica.statuses.follow()
        cleared = replica.statuses.clear()
        replica.lead()
        self.turn()
        self.successResultOf(cleared)
        self.assertEqual(self.writes(), [])
        self.assertEqual(self.cluster.status("Gateway", "web")["addresses"][0]["value"], "192.0.2.7")


class ManyTests(ClusterCase):
    """Thousands of routes."""

    def test_single_change(self) -> None:
        """One route among thousands that changes costs two looks and two writes, and not a look at each."""
        self.cluster.apply(*(http_route(f"r{at}", "web") for at in range(2000)))
        replica = self.lead()
        self.turn(20)
        self.assertEqual(self.attached(), [2000])
        self.writes()
        looked: list[object] = []
        write = replica.statuses.write

        def counted(one: Any) -> Any:
            looked.append(one)
            return write(one)

        self.patch(replica.statuses, "write", counted)
        self.cluster.apply(http_route("new", "web"))
        self.turn(5)
        self.assertEqual(sorted(self.writes()), [("Gateway", "web"), ("HTTPRoute", "new")])
        self.assertLessEqual(len(looked), 10)


class UnworkedTests(ClusterCase):
    """Between a change and its translation."""

    def test_topology(self) -> None:
        """To write a status works out no topology: it is the one by which objects were translated, and the rest waits for the next."""
        self.cluster.apply(http_route("a", "web"))
        replica = self.lead()
        state = replica.store.state()
        before = last_topology(state, replica.options)
        self.writes()
        # The store has another Gateway, and no round has taken it.
        other = (Kind("Gateway"), ObjectKey("infra", "web"))
        self.cluster.apply(gateway("web", listener(hostname="other.test")))
        replica.statuses.translated([(Kind("HTTPRoute"), ObjectKey("infra", "a"))], {other})
        self.assertIs(last_topology(replica.store.state(), replica.options), before)
        self.assertEqual(replica.statuses.write((Kind("HTTPRoute"), ObjectKey("infra", "a"))), None)
        self.turn()
        self.assertEqual(self.parents("a")["web"]["Accepted"], ("False", "NoMatchingListenerHostname"))
