"""Incremental translation beside the full one, along random histories."""

import math
from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from attrs import frozen
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations import annotations
from ingress.annotations.annotations import FAMILIES
from ingress.annotations.contract.values import Family
from ingress.model.cluster.objects import (
    ClusterObject,
    Kind,
    ObjectId,
    ObjectKey,
    Projection,
)
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.stepwise import finished
from ingress.routing.table import HostRoutes, RouteTable
from ingress.translate.endpoints.backends import service_key
from ingress.translate.endpoints.endpoint_rules import API_SERVER
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.objects import (
    Ingress,
    IngressBackend,
    IngressPath,
    IngressRule,
    ServicePortReference,
)
from ingress.translate.self_check import differences
from ingress.translate.translate import translate
from tests.fakes.plain_code import need_plain_code
from tests.properties import examples
from tests.translate.badges import BADGES, OPERATORS_BADGES
from tests.translate.following import (
    ENDED,
    NOW,
    SERVICE,
    SLICE,
    Follower,
    asking,
    batch,
    by_kind,
    config_maps,
    gone,
    referring,
    tls_secret,
)
from tests.translate.test_properties import (
    all_options,
    classes,
    clusters,
    secrets,
    services,
    slices,
)

HEALTH = list(HealthCheck)


@frozen
class Event:
    """One entry of a history: a batch, or the time, and the steps that a round takes afterwards."""

    batch: dict[ObjectId, Projection | None]
    now: datetime | None
    steps: int


def spoiled(value: ClusterObject) -> dict[ObjectId, Projection | None]:
    """The batch in which *value* cannot be read."""
    kind, key = Kind(type(value).__name__), value.key
    problem = Problem(kind, key.namespace, key.name, Reason.MALFORMED_OBJECT, "no", "spec")
    return {(kind, key): Projection(None, (problem,))}


def with_problem(value: ClusterObject) -> dict[ObjectId, Projection | None]:
    """The batch in which *value* was read with a problem, and one that translation reports, too."""
    kind, key = Kind(type(value).__name__), value.key
    problem = Problem(kind, key.namespace, key.name, Reason.MALFORMED_OBJECT, "partly", "spec")
    return {(kind, key): Projection(value, (problem,))}


def relisted(kind: Kind, values: list[ClusterObject]) -> dict[ObjectId, Projection | None]:
    """The batch that a complete list of *values* makes, whatever was known of these keys before."""
    keys = [
        ObjectKey("" if kind is Kind.INGRESS_CLASS else namespace, name)
        for namespace in ("demo", "other")
        for name in ("a", "b", "c", "web", "1", "2", "3", "nginx", "fast")
    ]
    keys += [API_SERVER] if kind is Kind.ENDPOINT_SLICE else []
    return {**{(kind, key): None for key in keys}, **batch(*values)}


objects = st.one_of(referring, referring, services, slices, secrets, classes, config_maps)


batches = st.one_of(
    objects.map(batch),
    objects.map(batch),
    st.lists(objects, max_size=4).map(lambda values: batch(*values)),
    objects.map(gone),
    objects.map(spoiled),
    objects.map(with_problem),
    st.sampled_from(list(by_kind)).flatmap(
        lambda kind: st.lists(by_kind[kind], max_size=3).map(lambda values: relisted(kind, values))
    ),
)


times = st.none() | st.sampled_from(
    [NOW, ENDED, NOW + timedelta(days=1), NOW + timedelta(days=90), NOW - timedelta(days=90)]
)


histories = st.lists(
    st.builds(Event, batches, times, st.integers(0, 12) | st.integers(0, 40)), min_size=1, max_size=8
)


class HistoryTests(SynchronousTestCase):
    """Whatever happens, the incremental result is that of a full translation."""

    families: tuple[Family[Any], ...] = (*FAMILIES, BADGES)

    def setUp(self) -> None:
        """Have a family that refers to Secrets and ConfigMaps."""
        self.patch(annotations, "FAMILIES", self.families)

    def check(self, follower: Follower) -> None:
        """Settle, and compare everything that is published or counted."""
        found, expected = follower.settle(), follower.expected()
        self.assertEqual(differences(found, expected), ())
        translation = follower.translation
        tuples = (*expected.certificates.exact.values(), *expected.certificates.wildcard.values())
        shown = {certificate for some in tuples for certificate in some}
        shown |= {expected.certificates.default} if expected.certificates.default else set()
        self.assertEqual(translation.certificates, len(shown))
        self.assertEqual(translation.reasons(), Counter(one.reason for one in expected.problems))
        served = {route.owner.key for route in expected.table.routes if route.owner is not None}
        known = served.union(*follower.store.state().objects.values())
        self.assertEqual({key for key in known if key in translation.owners}, served)
        leading = {service.key for service in follower.store.state().services.values()}
        named = {service_key(one) for one in expected.backends if one.kind == "Service"}
        self.assertEqual({key for key in leading if key in translation.backend_services}, leading & named)

    @settings(deadline=None, derandomize=True, max_examples=examples(50), suppress_health_check=HEALTH)
    @given(clusters, all_options, histories)
    def test_after_each_event(
        self, first: list[ClusterObject], options: TranslateOptions, history: list[Event]
    ) -> None:
        """It is after each event of a history that is given the time to settle."""
        follower = Follower(options, first)
        self.check(follower)
        for event in history:
            follower.now = event.now or follower.now
            follower.change(event.batch)
            self.check(follower)

    @settings(deadline=None, derandomize=True, max_examples=25, suppress_health_check=HEALTH)
    @given(clusters, all_options, histories)
    def test_until_the_next_moment(
        self, first: list[ClusterObject], options: TranslateOptions, history: list[Event]
    ) -> None:
        """Until the moment that it names, time alone changes nothing; from then on it does."""
        follower = Follower(options, first)
        for event in [Event({}, None, 0), *history]:
            follower.now = event.now or follower.now
            follower.change(event.batch)
            found = follower.settle()
            state, seconds = follower.store.state(), follower.translation.seconds_to_next(follower.now)
            moment = datetime.max.replace(tzinfo=NOW.tzinfo)
            if seconds is not None and seconds < math.inf:
                moment = follower.now + timedelta(seconds=seconds)
            before = translate(state, options, moment - timedelta(microseconds=1))
            self.assertEqual(differences(found, before), ())

    @settings(deadline=None, derandomize=True, max_examples=examples(50), suppress_health_check=HEALTH)
    @given(clusters, all_options, histories)
    def test_changes_between_steps(
        self, first: list[ClusterObject], options: TranslateOptions, history: list[Event]
    ) -> None:
        """It is at the end of a history whose events come in the middle of rounds."""
        follower = Follower(options, first)
        for event in history:
            follower.now = event.now or follower.now
            follower.change(event.batch)
            follower.work(event.steps)
        while follower.round is not None:
            follower.work(1)
        self.check(follower)

    @settings(deadline=None, derandomize=True, max_examples=25, suppress_health_check=HEALTH)
    @given(clusters, all_options, histories)
    def test_news(self, first: list[ClusterObject], options: TranslateOptions, history: list[Event]) -> None:
        """What is told of problems that come and go adds up to the problems that there are."""
        follower = Follower(options, first)
        known: set[Problem] = set()
        for event in [Event({}, None, 0), *history]:
            follower.change(event.batch)
            found = follower.settle()
            came, went = finished(follower.translation.problem_news())
            self.assertEqual((set(came) & known, set(went) - known), (set(), set()))
            known = (known | set(came)) - set(went)
            self.assertEqual(known, set(found.problems))

    @settings(deadline=None, derandomize=True, max_examples=25, suppress_health_check=HEALTH)
    @given(clusters, all_options, histories)
    def test_published_snapshots_stay(
        self, first: list[ClusterObject], options: TranslateOptions, history: list[Event]
    ) -> None:
        """A snapshot, once there, never changes, and nothing replaces it in the middle of a round."""
        follower = Follower(options, first)
        kept = [(follower.settle(), follower.expected())]
        for event in history:
            follower.change(event.batch)
            during = follower.translation.snapshot
            follower.work(event.steps)
            if follower.round is not None:
                self.assertIs(follower.translation.snapshot, during)
            kept.append((follower.settle(), follower.expected()))
        for snapshot, expected in kept:
            self.assertEqual(differences(snapshot, expected), ())


class OperatorsHistoryTests(SynchronousTestCase):
    """The same where the operator refers to a ConfigMap for everybody."""

    @settings(deadline=None, derandomize=True, max_examples=25, suppress_health_check=HEALTH)
    @given(clusters, all_options, histories)
    def test_after_each_event(
        self, first: list[ClusterObject], options: TranslateOptions, history: list[Event]
    ) -> None:
        """It is after each event of a history that is given the time to settle."""
        self.patch(annotations, "FAMILIES", (*FAMILIES, OPERATORS_BADGES))
        follower = Follower(options, first)
        for event in history:
            follower.change(event.batch)
            self.assertEqual(differences(follower.settle(), follower.expected()), ())


class StepTests(SynchronousTestCase):
    """How much one step of a round may have to do."""

    def test_each_expression_is_a_step(self) -> None:
        """However many expressions one Ingress has, no step reads more than one of them."""

        few, many = (self.steps(_paths(count, "/(a|b)*"), "use-regex") for count in (1, 100))
        self.assertGreaterEqual(many - few, 99)

    def test_long_paths(self) -> None:
        """Long paths, which take as long as they are, are read a few a step."""
        few, many = (self.steps(_paths(20, behind)) for behind in ("", "/./a%41;" * 1000))
        self.assertGreaterEqual(many - few, 20 // 4)

    def test_routes_of_a_host(self) -> None:
        """However many paths a host has, no step makes more than a hundred of its routes, judges more than 200 backends, or reads 200 paths."""
        few, many = (self.steps(_paths(count)) for count in (100, 1050))
        self.assertGreaterEqual(many - few, 10 + 5 + 5)

    def steps(self, paths: tuple[IngressPath, ...], *switches: str) -> int:
        """Count the steps that an Ingress takes with *paths* and with the annotations *switches* on."""
        follower = Follower(TranslateOptions(), [_on((IngressRule("a.test", paths),), *switches)])
        done = 0
        while follower.round is not None or not done:
            follower.work(1)
            done += 1
        return done

    def test_table(self) -> None:
        """The last step, in which the snapshot is made, does not put the table together as well."""
        need_plain_code("calls of compiled functions are not seen")
        patched = RouteTable.patched
        done = 0
        made_in: list[int] = []

        def noted(table: RouteTable, changes: Mapping[str, HostRoutes | None]) -> RouteTable:
            made_in.append(done)
            return patched(table, changes)

        self.patch(RouteTable, "patched", noted)
        follower = Follower(TranslateOptions(), [_on((IngressRule("a.test", _paths(1)),))])
        while follower.round is not None or not done:
            done += 1
            follower.work(1)
        self.assertEqual(len(made_in), 1)
        self.assertLess(made_in[0], done)

    def test_many_hosts(self) -> None:
        """Nobody looks through all hosts of an Ingress for each of them, neither when it comes nor when it changes."""

        def comparisons(count: int, *switches: str) -> int:
            _Counted.comparisons = 0
            rules = tuple(IngressRule(_Counted(f"h{number}.test"), _paths(1)) for number in range(count))
            follower = Follower(TranslateOptions(), [_on(rules, *switches)])
            follower.settle()
            follower.change(batch(_on(rules, *switches, "service-upstream")))
            follower.settle()
            return _Counted.comparisons

        for switches in ((), ("from-to-www-redirect",), ("canary",), ("app-root",)):
            few, many = (comparisons(count, *switches) for count in (50, 500))
            self.assertLessEqual(many, 12 * few, switches)


class _Counted(str):
    """A host that counts how often any is compared with another."""

    comparisons = 0
    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        _Counted.comparisons += 1
        return str.__eq__(self, other)


def _paths(count: int, behind: str = "") -> tuple[IngressPath, ...]:
    backend = IngressBackend("app", ServicePortReference(number=80))
    return tuple(
        IngressPath(f"/{number}{behind}", "ImplementationSpecific", backend) for number in range(count)
    )


def _on(rules: tuple[IngressRule, ...], *switches: str) -> Ingress:
    """An Ingress of ours with *rules*, and the annotations *switches* on."""
    prefix = TranslateOptions().annotations_prefix
    values = {"app-root": "/app", "from-to-www-redirect": "true"}
    annotations = {f"{prefix}/{one}": values.get(one, "true") for one in switches}
    return Ingress(ObjectKey("shop", "app"), class_name="nginx", annotations=annotations, rules=rules)


class DifferencesTests(SynchronousTestCase):
    """``differences``."""

    def test_told(self) -> None:
        """Each part of a snapshot that is different has its line."""
        objects: list[ClusterObject] = [
            SERVICE,
            SLICE,
            asking("a", "a.test", secret="tls"),
            asking("b", "*.b.test", secret="wild"),
            tls_secret("tls", "a.test"),
            tls_secret("wild", "*.b.test"),
        ]
        options = TranslateOptions(default_ssl_certificate=ObjectKey("demo", "tls"))
        full = Follower(options, objects).settle()
        empty = Follower(TranslateOptions(), []).settle()
        self.assertEqual(differences(full, full), ())
        lines = differences(empty, full)
        for begin in (
            "route missing: Route(host='a.test'",
            "the routes are not counted right",
            "backend demo/web:80 is None, not BackendState",
            "certificate of a.test is None, not (Certificate",
            "certificate of *.b.test is None",
            "the default certificate is another one",
        ):
            self.assertTrue(any(line.startswith(begin) for line in lines), f"{begin}: {lines}")
        wrong = Follower(TranslateOptions(), [asking("a", "a.test")]).settle()
        self.assertTrue(
            any(line.startswith("problem too many: Ingress demo/a") for line in differences(wrong, full))
        )
        self.assertFalse(any("PRIVATE" in line for line in lines))
