"""``--watch-namespace-selector``: which objects come, and that they come and go with the labels of their namespaces."""

import json
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from attrs import Factory, define
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.internet.interfaces import IDelayedCall
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.kinds import KINDS, ObjectKinds
from ingress.cluster.namespace_labels import not_selected
from ingress.cluster.selected_namespaces import REST_SECONDS, SelectedNamespaces
from ingress.cluster.store import Store
from ingress.cluster_side import source_of
from ingress.controller import Controller
from ingress.metrics.metrics import Metrics
from ingress.model.cluster.label_selectors import LabelRequirement, LabelSelector
from ingress.model.cluster.objects import Batch, Kind, ObjectId, ObjectKey, Projection, Service
from ingress.settings import Settings
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.gateway.objects.grants import Namespace, ReferenceGrant
from ingress.translate.readers.gateway.objects.names import NAMESPACE, REFERENCE_GRANT
from ingress.translate.readers.ingress.kind import INGRESS
from ingress.translate.readers.ingress.objects import Ingress
from ingress.translate.readers.route_kinds import ROUTE_KINDS
from ingress.translate.self_check import differences
from tests.cluster.api_server_case import reactor
from tests.cluster.source_case import Content, SourceTestCase, ingress, secret
from tests.fakes.apiserver.access import Grant
from tests.fakes.counting import calls
from tests.properties import examples
from tests.translate.following import NOW, Follower, asking

TEAM_A = LabelSelector((LabelRequirement("team", "In", ("a",)),))
Changes = dict[ObjectId, Projection | None]


def namespace(name: str, team: str | None) -> Changes:
    """Return the change that a Namespace comes with the label of *team*; None for one without labels that could be read."""
    key = ObjectKey("", name)
    value = None if team is None else Namespace(key, (("kubernetes.io/metadata.name", name), ("team", team)))
    return {(NAMESPACE, key): Projection(value)}


def an_ingress(name: str, where: str = "shop", created: str = "") -> Changes:
    key = ObjectKey(where, name)
    return {(Kind.INGRESS, key): Projection(Ingress(key, created))}


TURN = 0.001


class TurnClock(Clock):
    """Has what is asked for in a turn come in a later one, as a reactor does; ``Clock`` goes on within one ``advance``."""

    def callLater(
        self, delay: float, callable: Callable[..., Any], *args: object, **kw: object
    ) -> IDelayedCall:
        return super().callLater(max(delay, TURN), callable, *args, **kw)


@define
class Sink:
    """Keeps what there is, and how much came at a time."""

    objects: dict[ObjectId, Projection] = Factory(dict)
    sizes: list[int] = Factory(list)
    synced_with: list[int] = Factory(list)

    def changed(self, batch: Batch) -> None:
        self.sizes.append(len(batch))
        for object_id, projection in batch.items():
            if projection is None:
                self.objects.pop(object_id, None)
            else:
                self.objects[object_id] = projection

    def synced(self) -> None:
        self.synced_with.append(len(self.objects))

    def names(self, kind: Kind = Kind.INGRESS) -> set[str]:
        return {key.name for of, key in self.objects if of is kind}


class SelectedNamespacesTests(SynchronousTestCase):
    """Before a sink."""

    def setUp(self) -> None:
        self.sink = Sink()
        self.clock = TurnClock()
        self.selected = SelectedNamespaces(self.sink, TEAM_A, KINDS.selected, self.clock)

    def change(self, *changes: Changes) -> None:
        for one in changes:
            self.selected.changed(one)

    def turn(self) -> None:
        self.clock.advance(TURN)

    def settle(self) -> None:
        while self.clock.getDelayedCalls():
            self.turn()

    def test_order_at_first(self) -> None:
        """Before the sync an object comes with its namespace, whichever of the two was first, and is there when everything is."""
        self.change(an_ingress("early"), an_ingress("other", "blog"), namespace("shop", "a"))
        self.assertEqual(self.sink.names(), {"early"})
        self.change({**an_ingress("late"), **namespace("blog", "b"), **an_ingress("lost", "nowhere")})
        with capturedLogs() as events:
            self.selected.synced()
        self.assertEqual((self.sink.names(), self.sink.synced_with), ({"early", "late"}, [4]))
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.assertIn("2 objects of 2 namespaces are left alone", str(formatEvent(events[0])))

    def test_both_ways(self) -> None:
        """Objects come and go with a label, and what changed meanwhile is as it is now."""
        self.change(namespace("shop", "b"), an_ingress("one"), an_ingress("two"))
        self.selected.synced()
        self.change(an_ingress("one", created="later"), {(Kind.INGRESS, ObjectKey("shop", "two")): None})
        self.assertEqual(self.sink.names(), set())
        with capturedLogs() as events:
            self.change(namespace("shop", "a"))
            self.settle()
            self.assertEqual(self.sink.names(), {"one"})
            self.assertEqual(
                self.sink.objects[Kind.INGRESS, ObjectKey("shop", "one")],
                next(iter(an_ingress("one", created="later").values())),
            )
            self.change(namespace("shop", None))
            self.settle()
        self.assertEqual(self.sink.names(), set())
        told = [str(formatEvent(event)) for event in events]
        self.assertIn("Namespace shop is selected by --watch-namespace-selector: 1 object comes", told[0])
        self.assertIn(
            "Namespace shop is not selected any more by --watch-namespace-selector: 1 object goes", told[1]
        )

    def test_namespace_goes(self) -> None:
        """A Namespace that is deleted selects nothing, also while its objects are still there."""
        self.change(namespace("shop", "a"), an_ingress("one"))
        self.selected.synced()
        self.change({(NAMESPACE, ObjectKey("", "shop")): None})
        self.settle()
        self.assertEqual((self.sink.names(), self.sink.names(NAMESPACE)), (set(), set()))

    def test_what_passes(self) -> None:
        """What others refer to passes, and what has no namespace; who lets others refer does not."""
        grant = ReferenceGrant(ObjectKey("shop", "grant"))
        service = Service(ObjectKey("shop", "web"))
        self.change(
            {
                (Kind.SERVICE, service.key): Projection(service),
                (REFERENCE_GRANT, grant.key): Projection(grant),
            }
        )
        self.change({(Kind.MANIFEST, ObjectKey("", "a.yaml")): Projection(None)})
        self.assertEqual({kind for kind, _ in self.sink.objects}, {Kind.SERVICE, Kind.MANIFEST})

    def test_changes_amid_a_turn(self) -> None:
        """Of what has not come yet, what is newest comes; what turns back has never been there, or stays."""
        self.change(namespace("shop", "b"), *(an_ingress(f"i{n}") for n in range(60)))
        self.selected.synced()
        self.change(namespace("shop", "a"))
        self.turn()
        self.assertEqual(len(self.sink.names()), 25)
        there = self.sink.names()
        waiting = next(f"i{n}" for n in range(60) if f"i{n}" not in there)
        self.change(an_ingress("i60"), {(Kind.INGRESS, ObjectKey("shop", waiting)): None})
        self.settle()
        self.assertEqual(self.sink.names(), {f"i{n}" for n in range(61)} - {waiting})
        self.change(namespace("shop", "b"))
        self.turn()
        self.change(namespace("shop", "a"), namespace("shop", "b"))
        self.settle()
        self.assertEqual(self.sink.names(), set())

    def test_one_after_another(self) -> None:
        """Labels that change while objects come and go are judged once that is over, and what is published had its turn."""
        self.change(namespace("shop", "b"), namespace("blog", "b"), an_ingress("post", "blog"))
        self.change(*(an_ingress(f"i{n}") for n in range(60)))
        self.selected.synced()
        self.change(namespace("shop", "a"))
        for there in (25, 50, 60):
            self.assertTrue(self.selected.is_turning)
            self.change(namespace("blog", "a"))
            self.turn()
            self.assertEqual(len(self.sink.names()), there)
        self.assertFalse(self.selected.is_turning)
        self.change(namespace("shop", "b"))
        self.clock.advance(REST_SECONDS * 0.9)
        self.assertEqual((self.selected.is_turning, self.selected.selects("blog")), (False, False))
        known = self.sink.objects[NAMESPACE, ObjectKey("", "blog")]
        self.assertEqual(known, next(iter(namespace("blog", "b").values())))
        self.clock.advance(REST_SECONDS * 0.2)
        self.turn()
        self.assertEqual((self.selected.selects("shop"), self.selected.selects("blog")), (False, True))
        self.settle()
        self.assertEqual(self.sink.names(), {"post"})

    def test_many_namespaces(self) -> None:
        """So are the labels of a thousand namespaces, a few in each turn, and what they come to is published together."""
        names = [f"n{number}" for number in range(1000)]
        self.change(namespace("shop", "b"), an_ingress("one"), *(an_ingress("post", name) for name in names))
        self.selected.synced()
        self.change(namespace("shop", "a"))
        self.change(*(namespace(name, "a") for name in names))
        most, ends = 0, []
        while self.clock.getDelayedCalls():
            with capturedLogs() as events:
                before = self.selected.is_turning
                self.turn()
            most = max(most, len(events))
            if before and not self.selected.is_turning:
                ends.append(sum(kind is Kind.INGRESS for kind, _ in self.sink.objects))
        self.assertEqual((most, ends, set(self.sink.sizes[-80:])), (25, [1, 1001], {25}))

    def test_portions(self) -> None:
        """Ten thousand objects come and go a few at a time, and not before the others' turn."""
        for number in range(10_000):
            self.change(an_ingress(f"i{number}"))
        self.selected.synced()
        for team, there in (("a", 10_000), ("b", 0)):
            self.sink.sizes.clear()
            self.change(namespace("shop", team))
            self.assertEqual(self.sink.sizes, [1])
            self.settle()
            self.assertEqual(len(self.sink.names()), there)
            self.assertEqual(set(self.sink.sizes[1:]), {25})

    def test_stop(self) -> None:
        """Nothing comes after a stop."""
        self.change(an_ingress("one"))
        self.selected.synced()
        self.change(namespace("shop", "a"))
        self.selected.stop()
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.assertEqual(self.sink.names(), set())

    @given(
        st.lists(
            st.one_of(
                st.builds(namespace, st.sampled_from("xy"), st.sampled_from(["a", "b", None])),
                st.builds(an_ingress, st.sampled_from("ijk"), st.sampled_from("xy"), st.sampled_from("12")),
                st.builds(
                    lambda kind, where, name: {
                        (
                            kind,
                            ObjectKey(
                                "" if kind is NAMESPACE else where, where if kind is NAMESPACE else name
                            ),
                        ): None
                    },
                    st.sampled_from([NAMESPACE, Kind.INGRESS]),
                    st.sampled_from("xy"),
                    st.sampled_from("ijk"),
                ),
                st.sampled_from(["turn", "sync"]),
            ),
            max_size=30,
        )
    )
    @settings(derandomize=True, deadline=None, max_examples=examples(300))
    def test_any_order(self, acts: list[Any]) -> None:
        """Whatever happens, the sink ends with what is there where it is selected, and nothing else."""
        self.setUp()
        there: dict[ObjectId, Projection] = {}
        for act in acts:
            if act == "turn":
                self.turn()
            elif act == "sync":
                if not self.sink.synced_with:
                    self.selected.synced()
            else:
                self.change(act)
                for object_id, projection in act.items():
                    there.pop(object_id, None)
                    if projection is not None:
                        there[object_id] = projection
        self.settle()
        left = set(not_selected(there, TEAM_A, KINDS.selected))
        self.assertEqual(self.sink.objects, {one: found for one, found in there.items() if one not in left})


class GrowthTests(SynchronousTestCase):
    """What it takes to translate what comes and goes with a label."""

    def test_steps(self) -> None:
        """No turn, and no step of a round, is longer for more objects; an incremental translation agrees with a whole one."""
        self.longest(50)
        for few, many in zip(self.longest(400), self.longest(800), strict=True):
            self.assertLessEqual(many, few)

    def longest(self, count: int) -> list[int]:
        """Return the calls of the longest step when a namespace with *count* Ingresses is selected, and when it ceases to be."""
        follower = Follower(TranslateOptions(), [])
        follower.settle()
        clock = TurnClock()
        selected = SelectedNamespaces(_Following(follower), TEAM_A, KINDS.selected, clock)
        for number in range(count):
            one = asking(f"i{number}", f"h{number}.test")
            selected.changed({(Kind.INGRESS, one.key): Projection(one)})
        selected.synced()
        found = []
        for team, routes in (("a", count), ("b", 0)):
            steps = [calls(partial(selected.changed, namespace("demo", team)))]
            while clock.getDelayedCalls():
                steps.append(calls(partial(clock.advance, TURN)))
            follower.work(1)
            while follower.round is not None:
                steps.append(calls(partial(follower.work, 1)))
            snapshot = follower.settle()
            self.assertEqual(snapshot.route_count, routes)
            self.assertEqual(differences(snapshot, follower.expected()), ())
            found.append(max(steps))
        return found


class PublishingTests(SynchronousTestCase):
    """What is published of a namespace whose label changes."""

    def setUp(self) -> None:
        self.clock = TurnClock()
        self.published: list[int] = []
        self.controller = Controller(
            Store(),
            TranslateOptions(),
            lambda snapshot: self.published.append(snapshot.route_count),
            self.clock,
            Metrics(),
            lambda: NOW,
            amid_change=lambda: self.selected.is_turning,
        )
        self.addCleanup(self.controller.stop)
        self.selected = SelectedNamespaces(self.controller, TEAM_A, KINDS.selected, self.clock)
        for number in range(60):
            one = asking(f"i{number}", f"h{number}.test")
            self.selected.changed({(Kind.INGRESS, one.key): Projection(one)})
        self.selected.synced()
        self.published.clear()

    def test_all_together(self) -> None:
        """No snapshot has a part of its Ingresses: some of them may keep visitors from what others serve."""
        for team, expected in (("a", [60]), ("b", [0])):
            self.selected.changed(namespace("demo", team))
            self.clock.pump([TURN] * 80)
            self.assertEqual(self.published, expected)
            self.assertEqual(self.controller.verify(), ())
            self.published.clear()

    def test_slow_turns(self) -> None:
        """Nor has any where all of it takes long, or comes behind a change that has waited for long."""
        late = asking("late", "late.test")
        self.controller.changed({(Kind.INGRESS, late.key): Projection(late)})
        self.selected.changed(namespace("demo", "a"))
        self.clock.pump([5.0] * 6)
        self.assertEqual(self.published, [61])

    def test_labels_that_do_not_rest(self) -> None:
        """Labels that change in each turn keep nothing else from being published; of what they select that is all or nothing."""
        for number in range(200):
            self.selected.changed(namespace("demo", "ab"[number % 2]))
            self.clock.pump([TURN])
        self.assertTrue(self.published)
        self.assertLessEqual(set(self.published), {0, 60})


class _Following:
    """Has a translation follow what comes."""

    def __init__(self, follower: Follower) -> None:
        self._follower = follower

    def changed(self, batch: Batch) -> None:
        self._follower.change(batch)

    def synced(self) -> None:
        pass


def labelled(name: str, team: str) -> dict[str, Any]:
    """Return a Namespace of the API."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"team": team}}}


class ApiServerTests(SourceTestCase):
    """At an API server, without the definitions of the Gateway API."""

    def settings(self, **more: Any) -> dict[str, Any]:
        kinds = ObjectKinds(selects_namespaces=True)
        return {"kinds": kinds, "namespace_selector": TEAM_A, **more}

    async def test_labels_change(self) -> None:
        """Ingresses and the Secrets that they need come and go with the label; no Secret is read for one that is left alone."""
        for one in (labelled("shop", "b"), ingress("ours", "tls"), secret("tls")):
            self.server.create(one)
        content = await self.synced(**self.settings())
        self.assertEqual((content.names(Kind.INGRESS), content.names(Kind.SECRET)), (set(), set()))
        self.assertEqual(content.names(NAMESPACE), {"shop"})
        for team, ingresses, secrets in (
            ("a", {"ours"}, {"tls"}),
            ("b", set(), set()),
            ("a", {"ours"}, {"tls"}),
        ):
            self.server.apply(labelled("shop", team))
            await self.until(
                lambda i=ingresses, s=secrets: (
                    (content.names(Kind.INGRESS), content.names(Kind.SECRET)) == (i, s)
                )  # type: ignore[misc]
            )
            self.assertEqual((self.running.reads("shop"), self.running.reads("blog")), (team == "a", False))

    async def test_selected_from_the_start(self) -> None:
        """What is selected, with its Secrets, is there when the first sync is."""
        for one in (labelled("shop", "a"), ingress("ours", "tls"), secret("tls")):
            self.server.create(one)
        self.server.create(ingress("theirs", namespace="blog"))
        content = await self.synced(**self.settings())
        self.assertEqual((content.names(Kind.INGRESS), content.names(Kind.SECRET)), ({"ours"}, {"tls"}))

    async def test_sources_of_settings(self) -> None:
        """A source of either sort leaves alone what the settings do not select, and so without the Gateway API."""
        objects = (
            labelled("shop", "a"),
            labelled("blog", "b"),
            ingress("ours"),
            ingress("theirs", namespace="blog"),
        )
        file = Path(self.mktemp()).with_suffix(".yaml")
        file.write_text("\n---\n".join(json.dumps(one) for one in objects), "utf-8")
        for one in objects:
            self.server.create(one)
        kubeconfig = Settings(kubeconfig=str(self.kubeconfig), namespace_selector=TEAM_A)
        manifests = Settings(manifests=(str(file),), namespace_selector=TEAM_A)
        for asked in (kubeconfig, manifests):
            for kinds in (ROUTE_KINDS, (INGRESS,)):
                content = Content()
                source = source_of(asked, reactor, Metrics(), kinds)
                await source.start(content)
                try:
                    await self.until(lambda found=content: found.synced_times > 0)  # type: ignore[misc]
                finally:
                    await source.stop()
                self.assertEqual(content.names(Kind.INGRESS), {"ours"})

    async def test_without_the_gateway_api(self) -> None:
        """Namespaces are read also where nothing of the Gateway API is."""
        self.server.create(labelled("shop", "a"))
        self.server.create(ingress("ours"))
        content = await self.synced(**self.settings(kinds=ObjectKinds((INGRESS,), selects_namespaces=True)))
        self.assertEqual(content.names(Kind.INGRESS), {"ours"})

    async def test_forbidden(self) -> None:
        """Who may not read Namespaces is never ready, and is told what is missing."""
        everything = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
        resources = [
            "ingresses",
            "ingressclasses",
            "services",
            "endpointslices",
            "secrets",
            "customresourcedefinitions",
        ]
        token = str(self.server.token)
        self.server.access.tokens = {token: (Grant({**everything, "resources": resources}),)}
        content = await self.start(**self.settings())
        await self.until(lambda: any("namespaces" in one and ":" in one for one in self.running.missing()))
        self.assertEqual(content.synced_times, 0)
        self.server.create(labelled("shop", "a"))
        self.server.create(ingress("ours"))
        self.server.access.tokens = {token: (Grant(everything),)}
        await self.until(lambda: content.synced_times > 0)
        self.assertEqual(content.names(Kind.INGRESS), {"ours"})


def texts_of(values: Iterable[ObjectId]) -> set[str]:
    return {str(key) for _, key in values}


class NotSelectedTests(SynchronousTestCase):
    """``not_selected``."""

    def test_pure(self) -> None:
        """What lies in namespaces that are not selected, or not known."""
        objects = {
            **namespace("shop", "a"),
            **namespace("blog", "b"),
            **an_ingress("one"),
            **an_ingress("two", "blog"),
            **an_ingress("three", "unknown"),
            (Kind.SERVICE, ObjectKey("blog", "web")): Projection(Service(ObjectKey("blog", "web"))),
        }
        there = {object_id: one for object_id, one in objects.items() if one is not None}
        self.assertEqual(texts_of(not_selected(there, TEAM_A, KINDS.selected)), {"blog/two", "unknown/three"})
