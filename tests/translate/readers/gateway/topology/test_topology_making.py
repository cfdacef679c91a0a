"""The topology of many objects: worked out step by step, and the same whatever happened before."""

from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.label_selectors import LabelRequirement
from ingress.model.cluster.objects import ClusterObject, Kind, ObjectKey
from ingress.model.cluster.problems import Reason
from ingress.model.cluster.state import ClusterState
from ingress.translate.readers.gateway.objects.gateways import AllowedNamespaces, ListenerTls, gateways_of
from ingress.translate.readers.gateway.objects.grants import GrantedFrom, GrantedTo, Namespace, ReferenceGrant
from ingress.translate.readers.gateway.objects.names import (
    GATEWAY,
    GATEWAY_CLASS,
    GROUP,
    HTTP_ROUTE,
    LISTENER_SET,
    NAMESPACE,
    REFERENCE_GRANT,
    ObjectReference,
)
from ingress.translate.readers.gateway.topology.topology import Topology
from ingress.translate.readers.gateway.topology.topology_making import prepare_topology, topology_of
from tests.properties import examples
from tests.translate.readers.gateway.gateway_values import (
    ANY,
    CLASS,
    gateway,
    listener,
    listener_set,
    options_of,
    parent,
    selecting,
    state_of,
)

_POOLS: tuple[tuple[str, ...], ...] = ((), ("10.0.0.1", "10.0.0.2"))
_THERE = ListenerTls(certificates=(ObjectReference("", "Secret", "other", "c"),))
_LISTENERS = st.lists(
    st.sampled_from(
        [
            listener("a"),
            listener("b", hostname="*.io"),
            listener("c", hostname="a.io", namespaces=selecting(LabelRequirement("team", "Exists"))),
            listener("d", protocol="TCP"),
            listener("e", 443, "HTTPS", tls=_THERE),
            listener("f", 443, "HTTPS", "a.io"),
            listener("g", 443, "UDP"),
        ]
    ),
    max_size=3,
    unique_by=lambda one: one.name,
)
_NAMES = st.sampled_from(["x", "y", "z"])
_ALLOWED = st.sampled_from([ANY, AllowedNamespaces("None"), selecting(LabelRequirement("team", "Exists"))])
_AGES = st.sampled_from(["", "1", "2"])
_VALUES: st.SearchStrategy[tuple[Kind, ObjectKey, ClusterObject | None]] = st.one_of(
    st.builds(
        lambda name, some, created, allowed, given, gone: (
            GATEWAY,
            ObjectKey("infra", name),
            None if gone else gateway(name, *some, created=created, listener_sets=allowed, given=given),
        ),
        _NAMES,
        _LISTENERS,
        _AGES,
        _ALLOWED,
        st.sampled_from([(), ("10.0.0.2",)]),
        st.booleans(),
    ),
    st.builds(
        lambda name, of, some, created, gone: (
            LISTENER_SET,
            ObjectKey("infra", name),
            None if gone else listener_set(name, of, *some, created=created),
        ),
        _NAMES,
        _NAMES,
        _LISTENERS,
        _AGES,
        st.booleans(),
    ),
    st.sampled_from(
        [
            (GATEWAY_CLASS, CLASS.key, CLASS),
            (GATEWAY_CLASS, CLASS.key, evolve(CLASS, controller="example.com/other")),
            (NAMESPACE, ObjectKey("", "infra"), Namespace(ObjectKey("", "infra"), (("team", "a"),))),
            (NAMESPACE, ObjectKey("", "infra"), None),
            (
                REFERENCE_GRANT,
                ObjectKey("other", "g"),
                ReferenceGrant(
                    ObjectKey("other", "g"),
                    (GrantedFrom(GROUP, GATEWAY, "infra"),),
                    (GrantedTo("", "Secret"),),
                ),
            ),
            (REFERENCE_GRANT, ObjectKey("other", "g"), None),
        ]
    ),
)


def _shown(topology: Topology) -> tuple[object, ...]:
    attached = topology.attach(HTTP_ROUTE, "infra", ("a.io", "*.b.io"), [parent(name) for name in "xyz"])
    return dict(topology.gateways), dict(topology.listener_sets), dict(topology.classes), attached


def _change(state: ClusterState, kind: Kind, key: ObjectKey, value: ClusterObject | None) -> None:
    objects = state.objects[kind]
    assert isinstance(objects, dict)
    if value is None:
        objects.pop(key, None)
    else:
        objects[key] = value
    state.derived.changed(kind)


def _restarted(state: ClusterState, topology: Topology) -> ClusterState:
    """Return *state* as a process finds it that was just started: what Gateways were given stands in their statuses alone."""
    gateways = {
        key: evolve(one, given=topology.gateways[key].addresses) if key in topology.gateways else one
        for key, one in gateways_of(state).items()
    }
    return evolve(state, objects={**state.objects, GATEWAY: gateways}, derived=type(state.derived)())


class HistoryTests(SynchronousTestCase):
    """Whatever happened before."""

    @settings(max_examples=examples(150))
    @given(st.lists(_VALUES, max_size=12), st.sampled_from(_POOLS))
    def test_same_as_at_once(
        self, changes: list[tuple[Kind, ObjectKey, ClusterObject | None]], pool: tuple[str, ...]
    ) -> None:
        """Followed change by change it is what the objects of now come to, and what stays equal stays the same object."""
        state, options = state_of(), options_of(pool)
        before = topology_of(state, options)
        for change in changes:
            _change(state, *change)
            after = topology_of(state, options)
            fresh = topology_of(_restarted(state, after), options)
            self.assertEqual(_shown(after), _shown(fresh))
            for key, one in after.gateways.items():
                known = before.gateways.get(key)
                if known == one and known.source is one.source:
                    self.assertIs(known, one)
            before = after


class StepsTests(SynchronousTestCase):
    """Many objects."""

    def test_one_object_a_step(self) -> None:
        """However many Gateways and ListenerSets there are, a step looks at the listeners of one of them."""
        for pool in _POOLS:
            some = [gateway(f"g{at}", listener(hostname=f"{at}.io"), listener_sets=ANY) for at in range(700)]
            sets = [listener_set(f"s{at}", f"g{at}", listener(hostname=f"s{at}.io")) for at in range(700)]
            state, options = state_of(*some, *sets), options_of(pool)
            self.assertGreater(sum(1 for _ in prepare_topology(state, options)), 1400)
            self.assertEqual(list(prepare_topology(state, options)), [])
            self.assertEqual(len(topology_of(state, options).listener_sets), 700)

    def test_held(self) -> None:
        """What was prepared is held while objects change, until it is released; so nobody works all of it out at once."""
        state, options = state_of(gateway("x")), options_of()
        list(prepare_topology(state, options))
        before = topology_of(state, options)
        _change(state, GATEWAY, ObjectKey("infra", "x"), None)
        self.assertIs(topology_of(state, options), before)
        state.derived.release()
        self.assertEqual(topology_of(state, options).gateways, {})

    def test_changes_meanwhile(self) -> None:
        """Objects may come and go between any two steps; what was prepared is of when it began, or of later, and made anew then."""
        some = [gateway(f"g{at}", listener(hostname=f"{at}.io")) for at in range(300)]
        state, options = state_of(*some), options_of()
        for at, _ in enumerate(prepare_topology(state, options)):
            _change(state, GATEWAY, some[at % 300].key, None if at % 2 else some[at % 300])
        state.derived.release()
        expected = topology_of(evolve(state, derived=type(state.derived)()), options)
        self.assertEqual(_shown(topology_of(state, options)), _shown(expected))

    def test_long_lists(self) -> None:
        """What the API would not let in costs no more than what it does: of each list so much is looked at as it may have."""
        certificates = tuple(ObjectReference("", "Secret", "", f"c{at}") for at in range(5000))
        kinds = ["HTTPRoute", *(f"K{at}" for at in range(5000))]
        one = listener(protocol="HTTPS", tls=ListenerTls(certificates=certificates), kinds=kinds)
        grant = ReferenceGrant(
            ObjectKey("other", "g"),
            tuple(GrantedFrom(GROUP, f"K{at}", "infra") for at in range(5000)),
            tuple(GrantedTo("", f"K{at}") for at in range(5000)),
        )
        found = topology_of(state_of(gateway("x", one), grant), options_of())
        (state,) = found.gateways.values()
        self.assertEqual(len(state.listeners[0].certificates), 64)
        self.assertTrue(all(len(problem.message) < 300 for problem in state.problems))
        self.assertTrue(found.permits(GROUP, "K15", "infra", "", "K15", ObjectKey("other", "o")))
        self.assertFalse(found.permits(GROUP, "K16", "infra", "", "K15", ObjectKey("other", "o")))

    def test_many_grants(self) -> None:
        """What is permitted is found among thousands of grants at once, by whatever they have in common."""

        def granted(at: int, source: str, *names: str) -> ReferenceGrant:
            targets = tuple(GrantedTo("", "Service", name) for name in names)
            return ReferenceGrant(ObjectKey("b", f"g{at}"), (GrantedFrom(GROUP, "R", source),), targets)

        def permits(source: str, name: str, kind: str = "Service") -> bool:
            return found.permits(GROUP, "R", source, "", kind, ObjectKey("b", name))

        some = [granted(at, "a", f"s{at}", "shared") for at in range(1000)]
        others = [granted(1000 + at, f"c{at}", "shared", "other") for at in range(1000)]
        all_of_kind = granted(3000, "all", "", "x")
        found = topology_of(state_of(*some, *others, all_of_kind), options_of())
        self.assertEqual([permits("a", name) for name in ("s0", "s999", "shared")], [True] * 3)
        self.assertEqual([permits("a", name) for name in ("s1000", "other", "x", "")], [False] * 4)
        self.assertEqual([permits("c7", name) for name in ("other", "shared", "s7")], [True, True, False])
        self.assertEqual([permits("all", name) for name in ("x", "any", "s7")], [True] * 3)
        self.assertFalse(permits("all", "any", "Secret"))
        self.assertFalse(permits("nobody", "shared"))

    def test_ports(self) -> None:
        """So many ports are open at most, those of the older Gateways; a port that is open already is had by all."""
        some = [
            gateway(
                f"g{at}",
                *(listener(f"l{port}", 1000 + 64 * at + port, hostname="a.io") for port in range(64)),
                created=f"{at:02}",
            )
            for at in range(9)
        ]
        last = gateway("last", listener("open", 1001, hostname="b.io"), listener("none", 9999), created="99")
        found = topology_of(state_of(*some, last), options_of())
        served = [one for state in found.gateways.values() for one in state.listeners if one.is_served]
        self.assertEqual(len({one.table for one in served}), 500)
        state = found.gateways[last.key]
        self.assertEqual([one.is_served for one in state.listeners], [True, False])
        self.assertEqual(
            [(one.reason, one.field) for one in state.problems],
            [(Reason.PORT_UNAVAILABLE, "spec.listeners[1].port")],
        )

    def test_circles(self) -> None:
        """A ListenerSet that names itself, or another one, as its parent is nobody's."""
        loop = listener_set("s", "s", listener())
        assert loop.parent is not None
        found = topology_of(
            state_of(evolve(loop, parent=loop.parent._replace(kind="ListenerSet"))), options_of()
        )
        self.assertEqual(found.listener_sets, {})
