"""Tests for the statuses of routes: cases of the official suite, and what its tests do not ask."""

from ingress.model.cluster.problems import Reason
from ingress.translate.gateway_options import CONTROLLER_NAME
from ingress.translate.readers.gateway.objects.gateways import AllowedNamespaces
from ingress.translate.readers.gateway.objects.names import GROUP, LISTENER_SET
from ingress.translate.reports import MOST_STATUS_CHARACTERS
from tests.translate.readers.gateway.gateway_values import gateway, listener, listener_set, parent
from tests.translate.readers.gateway.statuses.statuses_case import StatusCase, route

ACCEPTED = ("True", "Accepted")
FINE = {"Accepted": ACCEPTED, "ResolvedRefs": ("True", "ResolvedRefs")}
WEB = gateway("web", listener(hostname="*.test"), listener("other", 8080, "HTTP", "other.test"))


class ParentsTests(StatusCase):
    """Whether each parent accepts a route."""

    def test_accepted(self) -> None:
        """HTTPRouteSimpleSameNamespace: the reference as it was written, with what the API fills in, and who says so."""
        one = route("a", parent("web"), hostnames=["x.test"])
        self.given(WEB, one)
        reference = {"group": GROUP, "kind": "Gateway", "name": "web", "namespace": "infra"}
        self.assertEqual(self.parents(one), [(reference, FINE)])
        document = self.report(one).document
        self.assertEqual(document.controller, CONTROLLER_NAME)
        self.assertEqual(document.lists["parents"][0].fields["controllerName"], CONTROLLER_NAME)

    def test_several(self) -> None:
        """Each reference has an entry of its own, with its section and port."""
        one = route("a", parent("web", "http"), parent("web", "", 8080), hostnames=["other.test"])
        self.given(WEB, one)
        found = [(reference.get("sectionName"), reference.get("port")) for reference, _ in self.parents(one)]
        self.assertEqual(found, [("http", None), (None, 8080)])

    def test_reasons(self) -> None:
        """Why a parent does not accept a route, by the API's words."""
        closed = gateway("closed", listener(namespaces=AllowedNamespaces("Same")))
        for one, word in (
            (route("a", parent("closed"), namespace="elsewhere"), "NotAllowedByListeners"),
            (route("a", parent("web", "unknown")), "NoMatchingParent"),
            (route("a", parent("web", "", 81)), "NoMatchingParent"),
            (route("a", parent("web", "http", 8080)), "NoMatchingParent"),
            (route("a", parent("web"), hostnames=["x.example.com"]), "NoMatchingListenerHostname"),
        ):
            self.given(WEB, closed, one)
            self.assertEqual(self.accepted(one), ("False", word))

    def test_much_to_say(self) -> None:
        """All messages together stay far below what is stored of an object, and each entry has its share of them."""
        one = route("a", *(parent("web", "http", 80 + at) for at in range(32)), hostnames=["x.test"], rules=2)
        told = [
            one.owner.problem(reason, f"{number} {'x' * 300}", f"spec.rules[0].matches[{number}]")
            for number in range(100)
            for reason in (Reason.UNSUPPORTED_VALUE, Reason.SERVICE_NOT_FOUND)
        ]
        self.given(WEB, one, problems=told)
        entries = self.report(one).document.lists["parents"]
        lengths = [len(each.message) for entry in entries for each in entry.conditions]
        self.assertLessEqual(sum(lengths), MOST_STATUS_CHARACTERS)
        self.assertGreater(sum(lengths), 0.9 * MOST_STATUS_CHARACTERS)
        resolved = entries[0].conditions[-1]
        self.assertEqual((resolved.type, resolved.message[-3:]), ("ResolvedRefs", "..."))

    def test_others(self) -> None:
        """Of parents that are not ours, or not there, nothing is said."""
        theirs = gateway("theirs", class_name="theirs")
        one = route("a", parent("theirs"), parent("unknown"), parent("web", kind="Service"), parent("web"))
        self.given(WEB, theirs, one)
        self.assertEqual([reference["name"] for reference, _ in self.parents(one)], ["web"])

    def test_listener_set(self) -> None:
        """ListenerSetRouteStatusScopedToParentRef: an entry is about the one parent that it names."""
        web = gateway("web", listener(hostname="own.test"), listener_sets=AllowedNamespaces("Same"))
        more = listener_set("more", "web", listener("x", hostname="x.test"))
        one = route("a", parent("web"), parent("more", kind=LISTENER_SET), hostnames=["x.test"])
        self.given(web, more, one)
        found = [(reference["kind"], conditions["Accepted"]) for reference, conditions in self.parents(one)]
        self.assertEqual(
            found, [("Gateway", ("False", "NoMatchingListenerHostname")), ("ListenerSet", ACCEPTED)]
        )


class RulesTests(StatusCase):
    """What is wrong with rules and backends."""

    def told(self, *told: tuple[Reason, str], rules: int = 1) -> dict[str, tuple[str, str]]:
        """The conditions of a route that is attached, with problems at fields."""
        self.one = route("a", parent("web"), rules=rules)
        problems = [self.one.owner.problem(reason, "is wrong", field) for reason, field in told]
        self.given(WEB, self.one, problems=problems)
        [(_, conditions)] = self.parents(self.one)
        return conditions

    def test_references(self) -> None:
        """HTTPRouteInvalidBackendRef…: a backend that cannot be had is told by ResolvedRefs alone."""
        backend = "spec.rules[0].backendRefs[0]"
        for reason, word in (
            (Reason.SERVICE_NOT_FOUND, "BackendNotFound"),
            (Reason.SERVICE_PORT_NOT_FOUND, "BackendNotFound"),
            (Reason.INVALID_KIND, "InvalidKind"),
            (Reason.REFERENCE_NOT_PERMITTED, "RefNotPermitted"),
            (Reason.UNSUPPORTED_PROTOCOL, "UnsupportedProtocol"),
        ):
            self.assertEqual(
                self.told((reason, backend)), {"Accepted": ACCEPTED, "ResolvedRefs": ("False", word)}
            )

    def test_partially_invalid(self) -> None:
        """A route of which some rules can be served is accepted, and says which are not."""
        found = self.told((Reason.UNSUPPORTED_VALUE, "spec.rules[1].matches[0]"), rules=2)
        self.assertEqual(found, {**FINE, "PartiallyInvalid": ("True", "UnsupportedValue")})
        [entry] = self.report(self.one).document.lists["parents"]
        self.assertEqual(
            entry.conditions[1].message,
            "Dropped Rule, or part of it: spec.rules[1].matches[0]: is wrong",
        )

    def test_served_without(self) -> None:
        """A rule that is served without something it asks for is a partial matter, though it is the only one."""
        for field in ("sessionPersistence", "timeouts.request", "backendRefs[0].weight"):
            found = self.told((Reason.UNSUPPORTED_VALUE, f"spec.rules[0].{field}"))
            self.assertEqual(found, {**FINE, "PartiallyInvalid": ("True", "UnsupportedValue")})

    def test_nothing_left(self) -> None:
        """A route of which no rule can be served is not accepted, and says what its first problem is called."""
        for told, rules, word in (
            ([(Reason.UNSUPPORTED_VALUE, "spec.rules[0].matches[0]")], 1, "UnsupportedValue"),
            ([(Reason.INCOMPATIBLE_FILTERS, "spec.rules[0].filters[1]")], 1, "IncompatibleFilters"),
            ([(Reason.UNSUPPORTED_VALUE, f"spec.rules[{at}]") for at in range(3)], 3, "UnsupportedValue"),
            ([(Reason.UNSUPPORTED_VALUE, "spec.rules")], 5, "UnsupportedValue"),
            ([(Reason.MALFORMED_OBJECT, "")], 5, "UnsupportedValue"),
        ):
            self.assertEqual(self.told(*told, rules=rules), {**FINE, "Accepted": ("False", word)})

    def test_of_one_parent(self) -> None:
        """What is wrong with one reference to a parent is told there alone."""
        one = route("a", parent("web", "http"), parent("web", "other"), hostnames=["other.test"])
        problem = one.owner.problem(Reason.UNSUPPORTED_VALUE, "is wrong", "spec.parentRefs[1].port")
        self.given(WEB, one, problems=[problem])
        first, second = (conditions for _, conditions in self.parents(one))
        self.assertEqual(first, FINE)
        self.assertIn("PartiallyInvalid", second)

    def test_other_kind_has_the_host(self) -> None:
        """A route of which all listeners of a parent have an older route of another kind is not accepted there; of one of two, it is."""
        for field, conflicts, expected in (
            ("spec.parentRefs[0]", 1, ACCEPTED),
            ("spec.parentRefs[0]", 2, ("False", "HostConflict")),
        ):
            one = route("a", parent("web"), hostnames=["other.test"])
            problems = [
                one.owner.problem(Reason.HOST_CONFLICT, f"listener {at} has GRPCRoute a", field)
                for at in range(conflicts)
            ]
            self.given(WEB, one, problems=problems)
            self.assertEqual(self.accepted(one), expected)

    def test_harmless(self) -> None:
        """What is done as it was asked for breaks nothing."""
        self.assertEqual(self.told((Reason.DEPRECATED_VERSION, "apiVersion")), FINE)

    def test_not_attached(self) -> None:
        """A route that is not attached says why, and nothing else of its rules."""
        one = route("a", parent("web", "unknown"))
        problem = one.owner.problem(Reason.UNSUPPORTED_VALUE, "is wrong", "spec.rules[0]")
        self.given(WEB, one, problems=[problem])
        [(_, conditions)] = self.parents(one)
        self.assertEqual(conditions, {**FINE, "Accepted": ("False", "NoMatchingParent")})
