"""Tests of the topology of Gateways."""

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.label_selectors import LabelRequirement
from ingress.model.cluster.objects import ClusterObject, ObjectKey
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.network.listeners import Listener
from ingress.translate.gateway_options import GatewayOptions
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.gateway.objects.gateways import (
    AllowedNamespaces,
    GatewayClass,
    GatewayListener,
    ListenerTls,
)
from ingress.translate.readers.gateway.objects.grants import GrantedFrom, GrantedTo, Namespace, ReferenceGrant
from ingress.translate.readers.gateway.objects.names import (
    GATEWAY,
    GROUP,
    GRPC_ROUTE,
    HTTP_ROUTE,
    LISTENER_SET,
    TCP_ROUTE,
    TLS_ROUTE,
    UDP_ROUTE,
    ObjectReference,
)
from ingress.translate.readers.gateway.objects.routes import ParentReference
from ingress.translate.readers.gateway.topology.topology_making import topology_of
from tests.translate.readers.gateway.gateway_values import (
    ANY,
    gateway,
    listener,
    listener_set,
    options_of,
    parent,
    selecting,
    state_of,
    topology,
)

_SAME = AllowedNamespaces("Same")


def _told(problems: tuple[Problem, ...]) -> list[tuple[Reason, str]]:
    return [(one.reason, one.field) for one in problems]


class OursTests(SynchronousTestCase):
    """Which Gateways are ours, and accepted."""

    def test_class_of_another_controller(self) -> None:
        """A Gateway is ours by the controller of its class, and nothing is told of others."""
        other = GatewayClass(ObjectKey("", "theirs"), controller="example.com/other")
        found = topology(
            other, gateway("a"), gateway("b", class_name="theirs"), gateway("c", class_name="none")
        )
        self.assertEqual(list(found.gateways), [ObjectKey("infra", "a")])
        self.assertEqual(list(found.classes), [ObjectKey("", "ours")])
        (attached,) = found.attach(HTTP_ROUTE, "infra", (), (parent("b"),))
        self.assertIsNone(attached.gateway)

    def test_turned_off(self) -> None:
        """Nothing is ours where the operator wants no Gateway API."""
        options = TranslateOptions(gateway=GatewayOptions(is_served=False))
        self.assertEqual(topology(gateway("a"), options=options).gateways, {})

    def test_parameters(self) -> None:
        """Parameters that nobody knows keep a Gateway from being accepted, and serve nothing."""
        unknown = ObjectReference("invalid.io", "InvalidParameters", "", "invalid")
        state = topology(gateway("a", infrastructure=unknown)).gateways[ObjectKey("infra", "a")]
        self.assertEqual(
            _told(state.problems), [(Reason.INVALID_PARAMETERS, "spec.infrastructure.parametersRef")]
        )
        self.assertFalse(state.is_accepted)
        self.assertEqual([one.table for one in state.listeners], [""])

    def test_parameters_of_class(self) -> None:
        """Those of a GatewayClass keep its Gateways from being accepted."""
        bad = GatewayClass(
            ObjectKey("", "bad"), "", "txingress.dev/gateway", ObjectReference("", "X", "", "x")
        )
        state = topology(bad, gateway("a", class_name="bad")).gateways[ObjectKey("infra", "a")]
        self.assertEqual(_told(state.problems), [(Reason.INVALID_PARAMETERS, "spec.gatewayClassName")])
        self.assertFalse(state.is_accepted)

    def test_same_objects_again(self) -> None:
        """What comes to the same after a change elsewhere is the same object."""
        first, second = gateway("a"), gateway("b", listener(port=81))
        state = state_of(first, second)
        before = topology_of(state, options_of())
        self.assertIs(topology_of(state, options_of()), before)
        gateways = state.objects[GATEWAY]
        assert isinstance(gateways, dict)
        gateways[second.key] = evolve(second, listeners=())
        state.derived.changed(GATEWAY)
        after = topology_of(state, options_of())
        self.assertIsNot(after, before)
        self.assertIs(after.gateways[first.key], before.gateways[first.key])
        self.assertFalse(after.gateways[second.key].is_accepted)


class ListenersTests(SynchronousTestCase):
    """What is wrong with listeners by themselves."""

    def _of(
        self, *listeners: GatewayListener, options: TranslateOptions | None = None
    ) -> list[tuple[Reason, str]]:
        found = topology(gateway("a", *listeners), options=options)
        return _told(found.gateways[ObjectKey("infra", "a")].problems)

    def test_table(self) -> None:
        """Each fault has its reason, at its field."""
        passthrough = ListenerTls("Passthrough")
        at = "spec.listeners[0]"
        for one, reason, field in (
            (listener(protocol="UDP"), None, ""),
            (listener(protocol="SCTP"), Reason.UNSUPPORTED_PROTOCOL, f"{at}.protocol"),
            (listener(protocol="INVALID"), Reason.UNSUPPORTED_PROTOCOL, f"{at}.protocol"),
            (listener(hostname="10.0.0.1"), Reason.UNSUPPORTED_VALUE, f"{at}.hostname"),
            (listener(hostname="a.*.b"), Reason.UNSUPPORTED_VALUE, f"{at}.hostname"),
            (listener(protocol="TCP", hostname="a.b"), Reason.UNSUPPORTED_VALUE, f"{at}.hostname"),
            (listener(protocol="TLS"), Reason.UNSUPPORTED_VALUE, f"{at}.tls"),
            (listener(tls=passthrough), Reason.UNSUPPORTED_VALUE, f"{at}.tls"),
            (listener(protocol="HTTPS", tls=passthrough), Reason.UNSUPPORTED_VALUE, f"{at}.tls.mode"),
            (listener(protocol="TLS", tls=ListenerTls("Half")), Reason.UNSUPPORTED_VALUE, f"{at}.tls.mode"),
            (
                listener(protocol="HTTPS", tls=ListenerTls()),
                Reason.INVALID_CERTIFICATE_REF,
                f"{at}.tls.certificateRefs",
            ),
            (
                listener(namespaces=AllowedNamespaces("Some")),
                Reason.UNSUPPORTED_VALUE,
                f"{at}.allowedRoutes.namespaces.from",
            ),
            (
                listener(namespaces=selecting(LabelRequirement("a", "Like", ("b",)))),
                Reason.UNSUPPORTED_VALUE,
                f"{at}.allowedRoutes.namespaces.selector",
            ),
            (listener(port=10254), Reason.PORT_UNAVAILABLE, f"{at}.port"),
            (listener(kinds=["InvalidRoute"]), Reason.INVALID_ROUTE_KINDS, f"{at}.allowedRoutes.kinds"),
            (listener(kinds=["HTTPRoute"]), None, ""),
            (listener(protocol="TLS", tls=passthrough), None, ""),
            (listener(protocol="TCP"), None, ""),
            (listener(protocol="HTTPS"), None, ""),
        ):
            with self.subTest(listener=one):
                self.assertEqual(self._of(one), [] if reason is None else [(reason, field)])

    def test_tls_options(self) -> None:
        """Options of TLS, of which none are known, are told by their names, and keep no listener from being served."""
        options = tuple((f"example.com/o{at}", "x") for at in range(6))
        for protocol, mode in (("HTTPS", "Terminate"), ("TLS", "Passthrough")):
            secret = ObjectReference("", "Secret", "", "x")
            one = listener("l", 443, protocol, tls=ListenerTls(mode, (secret,), options))
            other = listener("k", 444, protocol, tls=ListenerTls(mode, (secret,), options))
            (state,) = topology(gateway("a", one, other)).gateways.values()
            told = [(Reason.UNKNOWN_TLS_OPTION, f"spec.listeners[{at}].tls.options") for at in range(2)]
            self.assertEqual(_told(state.problems), told)
            message = state.problems[0].message
            self.assertIn('nothing is known of "example.com/o0", ', message)
            self.assertIn('"example.com/o3" and 2 more; ', message)
            self.assertTrue(state.is_accepted and all(each.is_accepted for each in state.listeners))

    def test_kinds(self) -> None:
        """Kinds follow from the protocol; of those that are named, the valid ones stay."""
        for one, kinds in (
            (listener(), (HTTP_ROUTE, GRPC_ROUTE)),
            (listener(protocol="HTTPS"), (HTTP_ROUTE, GRPC_ROUTE)),
            (listener(protocol="TLS", tls=ListenerTls("Passthrough")), (TLS_ROUTE,)),
            (listener(protocol="TCP"), (TCP_ROUTE,)),
            (listener(protocol="UDP"), (UDP_ROUTE,)),
            (listener(protocol="SCTP"), ()),
            (listener(kinds=["InvalidRoute", "HTTPRoute"]), (HTTP_ROUTE,)),
            (listener(kinds=["InvalidRoute"]), ()),
            (
                listener(protocol="TLS", tls=ListenerTls("Passthrough"), kinds=["TCPRoute", "TLSRoute"]),
                (TLS_ROUTE,),
            ),
        ):
            with self.subTest(listener=one):
                (state,) = topology(gateway("a", one)).gateways.values()
                self.assertEqual(state.listeners[0].kinds, kinds)

    def test_one_of_two(self) -> None:
        """One accepted listener is enough for its Gateway; without any, it is not accepted."""
        (state,) = topology(gateway("a", listener(), listener("bad", 81, "SCTP"))).gateways.values()
        self.assertTrue(state.is_accepted)
        self.assertEqual([one.is_accepted for one in state.listeners], [True, False])
        self.assertEqual([one.table for one in state.listeners], ["gateway *:80", ""])
        (state,) = topology(gateway("a", listener("bad", 81, "SCTP"))).gateways.values()
        self.assertFalse(state.is_accepted)

    def test_too_many(self) -> None:
        """What the API would not let in has no part in it: more listeners than it knows, told once, and names twice."""
        listeners = [listener(f"l{at}", hostname=f"h{at}.io") for at in range(66)]
        (state,) = topology(gateway("a", *listeners)).gateways.values()
        self.assertEqual(
            [one.name for one in state.listeners if one.is_accepted], [f"l{at}" for at in range(64)]
        )
        self.assertEqual(_told(state.problems), [(Reason.UNSUPPORTED_VALUE, "spec.listeners[64]")])
        twice = self._of(listener("x"), listener("x", 81))
        self.assertEqual(twice, [(Reason.UNSUPPORTED_VALUE, "spec.listeners[1].name")])

    def test_ports_of_operator(self) -> None:
        """A port is refused that is none of those for Gateways, or the command line's for something else."""
        http, https = Listener("tcp:80"), Listener("tcp:443", is_secure=True)
        options = options_of(ports=[80, 443, 9000], listeners=(http, https))
        for one, is_fine in (
            (listener(port=80), True),
            (listener(port=443), False),
            (listener(port=443, protocol="HTTPS"), True),
            (listener(port=80, protocol="TCP"), False),
            (listener(port=9000, protocol="TCP"), True),
            (listener(port=8080), False),
        ):
            with self.subTest(listener=one):
                expected = [] if is_fine else [(Reason.PORT_UNAVAILABLE, "spec.listeners[0].port")]
                self.assertEqual(self._of(one, options=options), expected)


class ConflictsTests(SynchronousTestCase):
    """Listeners that share their addresses."""

    def _accepted(self, *values: ClusterObject, pool: tuple[str, ...] = ()) -> dict[str, list[str]]:
        found = topology(*values, options=options_of(pool))
        listeners = {key.name: one.listeners for key, one in found.gateways.items()}
        listeners.update((key.name, one.listeners) for key, one in found.listener_sets.items())
        return {name: [one.name for one in some if one.is_accepted] for name, some in listeners.items()}

    def test_within_one_object(self) -> None:
        """Of one object's listeners that cannot be told apart none is served, and all others are."""
        passthrough = ListenerTls("Passthrough")
        for some, accepted, reasons in (
            (
                [listener("a"), listener("b"), listener("c", hostname="x.io")],
                ["c"],
                {Reason.HOSTNAME_CONFLICT},
            ),
            (
                [listener("a"), listener("b", hostname="*.io"), listener("c", hostname="x.io")],
                ["a", "b", "c"],
                set(),
            ),
            ([listener("a"), listener("b", protocol="HTTPS")], [], {Reason.PROTOCOL_CONFLICT}),
            ([listener("a"), listener("b", protocol="TCP")], [], {Reason.PROTOCOL_CONFLICT}),
            ([listener("a", protocol="TCP"), listener("b", protocol="TCP")], [], {Reason.PROTOCOL_CONFLICT}),
            (
                [
                    listener("a", protocol="HTTPS", hostname="x.io"),
                    listener("b", protocol="TLS", hostname="y.io", tls=passthrough),
                ],
                ["a", "b"],
                set(),
            ),
            (
                [
                    listener("a", protocol="HTTPS", hostname="X.io"),
                    listener("b", protocol="TLS", hostname="x.io", tls=passthrough),
                ],
                [],
                {Reason.PROTOCOL_CONFLICT},
            ),
            ([listener("a"), listener("b", 81)], ["a", "b"], set()),
        ):
            with self.subTest(listeners=some):
                (state,) = topology(gateway("g", *some)).gateways.values()
                self.assertEqual([one.name for one in state.listeners if one.is_accepted], accepted)
                self.assertEqual({one.reason for one in state.problems}, reasons)

    def test_between_gateways(self) -> None:
        """Where Gateways share their addresses the older one has the hostname; with addresses of their own both have it."""
        values = gateway("young", created="2026-02"), gateway("old", created="2026-01")
        self.assertEqual(self._accepted(*values), {"old": ["http"], "young": []})
        self.assertEqual(
            self._accepted(*values, pool=("10.0.0.1", "10.0.0.2")), {"old": ["http"], "young": ["http"]}
        )

    def test_listener_sets(self) -> None:
        """A Gateway comes before its ListenerSets, and these by age and by name; one valid listener makes a set accepted."""
        values = (
            gateway("g", listener("g", hostname="g.io"), created="2026-03", listener_sets=ANY),
            listener_set(
                "early",
                "g",
                listener("x", hostname="g.io"),
                listener("y", hostname="s.io"),
                created="2026-01",
            ),
            listener_set(
                "late", "g", listener("x", hostname="s.io"), listener("y", hostname="t.io"), created="2026-04"
            ),
            listener_set("none", "g", listener("x", protocol="TCP"), created="2026-04"),
            listener_set(
                "mixed",
                "g",
                listener("x", protocol="TCP"),
                listener("y", hostname="m.io"),
                listener("z", hostname="n.io"),
                created="2026-04",
            ),
        )
        self.assertEqual(
            self._accepted(*values),
            {"g": ["g"], "early": ["y"], "late": ["y"], "none": [], "mixed": ["y", "z"]},
        )
        found = topology(*values)
        self.assertEqual(
            {key.name: one.is_accepted for key, one in found.listener_sets.items()},
            {"early": True, "late": True, "none": False, "mixed": True},
        )
        problem = found.listener_sets[ObjectKey("infra", "none")].problems
        self.assertEqual(_told(problem), [(Reason.PROTOCOL_CONFLICT, "spec.listeners[0].protocol")])

    def test_young_set_of_old_gateway(self) -> None:
        """A new ListenerSet takes nothing from a Gateway that was there before it."""
        values = (
            gateway("old", listener(hostname="a.io"), created="2026-01", listener_sets=ANY),
            gateway("young", listener(hostname="b.io"), created="2026-02"),
            listener_set("set", "old", listener(hostname="b.io"), created="2026-03"),
        )
        self.assertEqual(self._accepted(*values), {"old": ["http"], "young": ["http"], "set": []})


class ListenerSetTests(SynchronousTestCase):
    """Which ListenerSets a Gateway takes."""

    def test_allowed(self) -> None:
        """None by default; else those of its namespace, of all, or of those with labels."""
        label = LabelRequirement("team", "In", ("a", "b"))
        labeled = Namespace(ObjectKey("", "apps"), (("team", "b"),))
        for allowed, same, apps in (
            (None, False, False),
            (_SAME, True, False),
            (ANY, True, True),
            (selecting(label), False, True),
        ):
            with self.subTest(allowed=allowed):
                found = topology(
                    labeled,
                    gateway("g", listener_sets=allowed),
                    listener_set("same", "g", listener(port=81)),
                    listener_set("apps", "g", listener(port=82), namespace="apps"),
                ).listener_sets
                accepted = {key.name: one.is_accepted for key, one in found.items()}
                self.assertEqual(accepted, {"same": same, "apps": apps})
                for one in found.values():
                    if not one.is_accepted:
                        self.assertEqual(_told(one.problems), [(Reason.NOT_ALLOWED, "spec.parentRef")])
                        self.assertEqual(one.listeners[0].table, "")

    def test_gateway_not_accepted(self) -> None:
        """A ListenerSet falls with its Gateway."""
        found = topology(
            gateway("g", listener(protocol="SCTP"), listener_sets=ANY),
            listener_set("s", "g", listener(port=81)),
        ).listener_sets
        (one,) = found.values()
        self.assertEqual(_told(one.problems), [(Reason.PARENT_NOT_ACCEPTED, "spec.parentRef")])

    def test_of_another_gateway(self) -> None:
        """Nothing is told of a ListenerSet whose Gateway is not ours."""
        found = topology(gateway("g", class_name="theirs"), listener_set("s", "g", listener()))
        self.assertEqual(found.listener_sets, {})


class ReferencesTests(SynchronousTestCase):
    """Certificates of listeners, and ReferenceGrants."""

    def _of(self, reference: ObjectReference, *more: ClusterObject) -> tuple[list[tuple[Reason, str]], int]:
        one = listener(protocol="HTTPS", tls=ListenerTls(certificates=(reference,)))
        (state,) = topology(gateway("a", one), *more).gateways.values()
        self.assertTrue(state.is_accepted)
        return _told(state.problems), len(state.listeners[0].certificates)

    def test_kinds_and_grants(self) -> None:
        """A certificate is a Secret of the same namespace, or of one where a grant to Gateways of ours permits it."""
        field = "spec.listeners[0].tls.certificateRefs[0]"
        there = ObjectReference("", "Secret", "apps", "c")

        def grant(namespace: str, kind: str, source: str, name: str, to: str = "Secret") -> ReferenceGrant:
            key = ObjectKey(namespace, "grant")
            return ReferenceGrant(key, (GrantedFrom(GROUP, kind, source),), (GrantedTo("", to, name),))

        refused = ([(Reason.REFERENCE_NOT_PERMITTED, field)], 0)
        invalid = ([(Reason.INVALID_CERTIFICATE_REF, field)], 0)
        self.assertEqual(self._of(ObjectReference("", "Secret", "", "c")), ([], 1))
        self.assertEqual(self._of(ObjectReference("", "WrongKind", "", "c")), invalid)
        self.assertEqual(self._of(ObjectReference("wrong.io", "Secret", "", "c")), invalid)
        self.assertEqual(self._of(there), refused)
        for given, is_fine in (
            (grant("apps", GATEWAY, "infra", ""), True),
            (grant("apps", GATEWAY, "infra", "c"), True),
            (grant("apps", GATEWAY, "infra", "other"), False),
            (grant("apps", GATEWAY, "other", ""), False),
            (grant("apps", LISTENER_SET, "infra", ""), False),
            (grant("other", GATEWAY, "infra", ""), False),
            (grant("apps", GATEWAY, "infra", "", to="Service"), False),
        ):
            with self.subTest(grant=given):
                self.assertEqual(self._of(there, given), ([], 1) if is_fine else refused)

    def test_permits(self) -> None:
        """An object may refer to what is in its own namespace, whoever grants what."""
        found = topology()
        own, other = ObjectKey("apps", "s"), ObjectKey("infra", "s")
        self.assertTrue(found.permits(GROUP, HTTP_ROUTE, "apps", "", "Service", own))
        self.assertFalse(found.permits(GROUP, HTTP_ROUTE, "apps", "", "Service", other))


class AttachTests(SynchronousTestCase):
    """Which listeners take a route."""

    def test_reasons(self) -> None:
        """Each way of not being attached has its reason, in the order in which the API asks."""
        found = topology(
            gateway(
                "g",
                listener("http", hostname="*.a.io", namespaces=_SAME),
                listener("other", 8080, hostname="b.io", namespaces=_SAME),
            )
        )
        for kind, namespace, hosts, to, reason in (
            (HTTP_ROUTE, "infra", ("x.a.io",), parent("g"), None),
            (GRPC_ROUTE, "infra", (), parent("g", "http"), None),
            (HTTP_ROUTE, "infra", (), parent("g", "http", 80), None),
            (HTTP_ROUTE, "infra", (), parent("g", port=8080), None),
            (HTTP_ROUTE, "infra", (), parent("g", port=81), Reason.NO_MATCHING_PARENT),
            (HTTP_ROUTE, "infra", (), parent("g", "http1", 80), Reason.NO_MATCHING_PARENT),
            (HTTP_ROUTE, "infra", (), parent("g", "http", 8080), Reason.NO_MATCHING_PARENT),
            (HTTP_ROUTE, "apps", ("x.a.io",), parent("g"), Reason.NOT_ALLOWED_BY_LISTENERS),
            (TLS_ROUTE, "infra", ("x.a.io",), parent("g"), Reason.NOT_ALLOWED_BY_LISTENERS),
            (HTTP_ROUTE, "infra", ("a.io",), parent("g"), Reason.NO_MATCHING_LISTENER_HOSTNAME),
            (HTTP_ROUTE, "infra", ("b.io",), parent("g", "http"), Reason.NO_MATCHING_LISTENER_HOSTNAME),
        ):
            with self.subTest(kind=kind, namespace=namespace, hosts=hosts, parent=to):
                (attached,) = found.attach(kind, namespace, hosts, (to,))
                self.assertEqual(attached.reason, reason)
                self.assertEqual(bool(attached.listeners), reason is None)
                self.assertEqual(attached.gateway, found.gateways[ObjectKey("infra", "g")].owner)

    def test_other_parents(self) -> None:
        """Nothing is told of a parent that is no Gateway or ListenerSet of ours."""
        service = ParentReference(ObjectReference("", "Service", "infra", "g"))
        found = topology(gateway("g")).attach(HTTP_ROUTE, "infra", (), (service, parent("none"), parent("g")))
        self.assertEqual([one.gateway is not None for one in found], [False, False, True])
        self.assertEqual([one.field for one in found], [f"spec.parentRefs[{at}]" for at in range(3)])

    def test_own_namespace(self) -> None:
        """A parent without namespace is in that of the route."""
        to = ParentReference(ObjectReference(GROUP, GATEWAY, "", "g"))
        found = topology(gateway("g"))
        self.assertEqual(len(found.attach(HTTP_ROUTE, "infra", (), (to,))[0].listeners), 1)
        self.assertIsNone(found.attach(HTTP_ROUTE, "apps", (), (to,))[0].gateway)

    def test_namespaces_by_label(self) -> None:
        """A selector looks at the labels of the route's namespace, of which each has its name."""
        prod = Namespace(ObjectKey("", "prod"), (("env", "prod"), ("kubernetes.io/metadata.name", "prod")))
        name = "kubernetes.io/metadata.name"
        for requirements, allowed in (
            ([LabelRequirement("env", "In", ("prod",))], {"prod"}),
            ([LabelRequirement("env", "NotIn", ("prod",))], {"dev"}),
            ([LabelRequirement("env", "Exists")], {"prod"}),
            ([LabelRequirement("env", "DoesNotExist")], {"dev"}),
            ([LabelRequirement(name, "In", ("dev",))], {"dev"}),
            ([LabelRequirement("env", "Exists"), LabelRequirement(name, "In", ("dev",))], set()),
            ([], {"prod", "dev"}),
        ):
            with self.subTest(requirements=requirements):
                found = topology(prod, gateway("g", listener(namespaces=selecting(*requirements))))
                attached = {
                    one
                    for one in ("prod", "dev")
                    if found.attach(HTTP_ROUTE, one, (), (parent("g"),))[0].listeners
                }
                self.assertEqual(attached, allowed)

    def test_listener_set_and_gateway(self) -> None:
        """A route to a Gateway has its listeners alone, one to a ListenerSet those of the set."""
        found = topology(
            gateway("g", listener("own", hostname="g.io"), listener_sets=ANY),
            listener_set("s", "g", listener("set", hostname="s.io")),
        )
        to = (
            parent("g"),
            parent("s", kind=LISTENER_SET),
            parent("g", "set"),
            parent("s", "set", kind=LISTENER_SET),
        )
        attached = found.attach(HTTP_ROUTE, "infra", (), to)
        self.assertEqual(
            [[one.listener.name for one in each.listeners] for each in attached],
            [["own"], ["set"], [], ["set"]],
        )
        self.assertEqual(attached[2].reason, Reason.NO_MATCHING_PARENT)
        self.assertEqual({str(one.gateway) for one in attached}, {"Gateway infra/g"})

    def test_same_namespace_is_that_of_the_set(self) -> None:
        """``Same`` of a ListenerSet's listener is the set's namespace, not that of its Gateway."""
        found = topology(
            gateway("g", listener_sets=ANY),
            listener_set("s", "g", listener(hostname="s.io", namespaces=_SAME), namespace="apps"),
        )
        to = ParentReference(ObjectReference(GROUP, LISTENER_SET, "apps", "s"))
        self.assertEqual(found.attach(HTTP_ROUTE, "apps", (), (to,))[0].reason, None)
        self.assertEqual(
            found.attach(HTTP_ROUTE, "infra", (), (to,))[0].reason, Reason.NOT_ALLOWED_BY_LISTENERS
        )

    def test_isolation(self) -> None:
        """A host belongs to the most specific listener of the port, and no other listener serves a route by it."""
        hostnames = ("", "*.example.com", "*.foo.example.com", "abc.foo.example.com")
        found = topology(
            gateway("g", *(listener(f"l{at}", hostname=one) for at, one in enumerate(hostnames)))
        )
        for hosts, expected in (
            ((), [("",), ("*.example.com",), ("*.foo.example.com",), ("abc.foo.example.com",)]),
            (("abc.foo.example.com",), [(), (), (), ("abc.foo.example.com",)]),
            (("bar.foo.example.com", "bar.com"), [("bar.com",), (), ("bar.foo.example.com",)]),
        ):
            with self.subTest(hosts=hosts):
                (attached,) = found.attach(HTTP_ROUTE, "infra", hosts, (parent("g"),))
                self.assertEqual([one.hosts for one in attached.listeners], expected)

    def test_no_isolation_over_ports(self) -> None:
        """Listeners of other ports, and of Gateways with other addresses, take nothing away."""
        found = topology(
            gateway("g", listener(), listener("more", 81, hostname="a.io")),
            gateway("h", listener(hostname="a.io")),
            options=options_of(["10.0.0.1", "10.0.0.2"]),
        )
        (attached,) = found.attach(HTTP_ROUTE, "infra", ("a.io",), (parent("g"),))
        self.assertEqual([one.hosts for one in attached.listeners], [("a.io",), ("a.io",)])

    def test_refused_listener_takes_routes(self) -> None:
        """A route counts as attached to a listener that is not served."""
        found = topology(gateway("g", listener("a"), listener("b")))
        (attached,) = found.attach(HTTP_ROUTE, "infra", (), (parent("g"),))
        self.assertEqual([one.listener.is_served for one in attached.listeners], [False, False])
