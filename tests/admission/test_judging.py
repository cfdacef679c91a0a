"""Judging: an Ingress has the problems that it would have in the cluster, and nothing else is disturbed by that."""

from collections.abc import Iterable, Sequence
from typing import Any

from attrs import evolve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.admission.judging import Knows, judging, projected
from ingress.admission.neighbours import MOST_BELOW, neighbours
from ingress.admission.review import AdmissionRequest, read_review
from ingress.cluster.kinds import KINDS
from ingress.cluster.projecting.project import project
from ingress.cluster.store import Store
from ingress.model.cluster.objects import ClusterObject, Kind, ObjectKey, Projection, Secret
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.cluster.state import ClusterState
from ingress.model.stepwise import finished
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.kind import INGRESS
from ingress.translate.readers.ingress.objects import Ingress, IngressTLS, ingresses_of
from ingress.translate.translate import translate
from tests.admission.asking import ingress as raw_ingress
from tests.admission.asking import review
from tests.fakes.counting import longest_step
from tests.translate import golden
from tests.translate.following import NOW, SERVICE, SLICE, asking, batch, by_kind, referring, tls_secret

OPTIONS = TranslateOptions()


def knows_all(kind: Kind, key: ObjectKey, keys: frozenset[str]) -> bool:
    """Stand for a source that has read everything."""
    return True


def knows_nothing(kind: Kind, key: ObjectKey, keys: frozenset[str]) -> bool:
    """Stand for one that has read no Secret and no ConfigMap that anybody else would need."""
    return False


def state_of(*objects: ClusterObject) -> ClusterState:
    """Return the state of a store with *objects*."""
    store = Store()
    store.changed(batch(*objects))
    return store.state()


def judged(
    ingress: Ingress,
    state: ClusterState,
    options: TranslateOptions = OPTIONS,
    knows: Knows = knows_all,
    found: Sequence[Problem] = (),
) -> list[Problem] | None:
    """Return the problems of *ingress*, sorted; None if it is not ours."""
    problems = finished(judging(ingress, found, state, options, NOW, INGRESS, knows))
    return None if problems is None else sorted(problems)


def expected(ingress: Ingress, state: ClusterState, options: TranslateOptions = OPTIONS) -> list[Problem]:
    """Return those that a translation of the whole *state* has for it."""
    its = (Kind.INGRESS, *ingress.key)
    return sorted(
        one for one in translate(state, options, NOW).problems if (one.kind, one.namespace, one.name) == its
    )


def of_namespace(namespace: str, ingress: Ingress) -> Ingress:
    """Return *ingress* as another team's."""
    return evolve(ingress, key=ingress.key._replace(namespace=namespace))


class SameTests(SynchronousTestCase):
    """What is told is what the controller would tell."""

    def test_fixtures(self) -> None:
        """Each Ingress of the fixtures has the problems that the whole has for it, be it there already or new."""
        count = 0
        for case in golden.cases():
            state, options = golden.state_of_case(case), golden.options_of_case(case)
            for key, one in ingresses_of(state).items():
                problems = expected(one, state, options)
                found = state.problems_of.get((Kind.INGRESS, key), ())
                others = {other: value for other, value in ingresses_of(state).items() if other != key}
                without = evolve(state, objects={**state.objects, Kind.INGRESS: others}, problems_of={})
                for where in (state, without):
                    self.assertEqual(judged(one, where, options, found=found) or [], problems, case.name)
                count += len(problems)
        self.assertGreater(count, 200)

    @settings(deadline=None, suppress_health_check=list(HealthCheck))
    @given(
        st.lists(referring, min_size=2, max_size=7),
        st.lists(st.one_of(*(of for kind, of in by_kind.items() if kind is not Kind.INGRESS)), max_size=6),
        st.booleans(),
        st.booleans(),
    )
    def test_anything(
        self, ingresses: list[Ingress], others: list[Any], is_shared: bool, quirks: bool
    ) -> None:
        """So it is with any others beside it, in whatever order they are applied."""
        named = [
            evolve(one, key=ObjectKey(one.key.namespace, f"n{number % 5}"))
            for number, one in enumerate(ingresses)
        ]
        objects = {(type(one).__name__, one.key): one for one in (*named, *others)}
        options = TranslateOptions(shared_hosts=is_shared, quirks=quirks)
        state = state_of(*objects.values())
        for one in ingresses_of(state).values():
            problems = expected(one, state, options)
            without = state_of(*(other for other in objects.values() if other is not one))
            for where in (state, without):
                self.assertEqual(judged(one, where, options) or [], problems)

    def test_replaced(self) -> None:
        """What counts is the Ingress as it is to be, and not as the store has it."""
        before = asking("web", "a.test", service="gone")
        state = state_of(before, SERVICE, SLICE)
        self.assertEqual(judged(asking("web", "a.test"), state), [])
        (problem,) = judged(before, state) or []
        self.assertIs(problem.reason, Reason.SERVICE_NOT_FOUND)
        self.assertEqual(expected(before, state), [problem])

    def test_younger(self) -> None:
        """A new Ingress is told whose path it asks for, and the older one is not asked about."""
        state = state_of(asking("old", "a.test"), SERVICE, SLICE)
        (problem,) = judged(asking("new", "a.test", created="2026-02-01T00:00:00Z"), state) or []
        self.assertIs(problem.reason, Reason.PATH_CONFLICT)
        self.assertIn("Ingress demo/old", problem.message)

    def test_left_alone(self) -> None:
        """The state of the store is as before, and what is kept of it to go by is not asked for."""
        state = state_of(asking("old", "a.test"), SERVICE, SLICE)
        before = dict(ingresses_of(state))
        judged(asking("new", "a.test"), state)
        self.assertEqual(ingresses_of(state), before)
        self.assertEqual(state.problems_of, {})
        self.assertEqual(state.derived._known, {})


class ForeignTests(SynchronousTestCase):
    """Ingresses that are not ours."""

    def test_other_class(self) -> None:
        """An Ingress of another class is none of our business, whatever is wrong with it."""
        other = evolve(asking("web", "a.test", service="gone"), class_name="traefik")
        self.assertIsNone(judged(other, state_of()))

    def test_contradiction(self) -> None:
        """One that names ours by annotation and another one by field is told that it is not served."""
        both = evolve(
            asking("web", "a.test"),
            class_name="traefik",
            annotations={"kubernetes.io/ingress.class": "nginx"},
        )
        (problem,) = judged(both, state_of()) or []
        self.assertIs(problem.reason, Reason.CLASS_CONFLICT)


class UnknownTests(SynchronousTestCase):
    """Secrets and ConfigMaps of which nothing is known."""

    guarded = evolve(
        asking("web", "a.test", secret="web"),
        annotations={
            "nginx.ingress.kubernetes.io/auth-type": "basic",
            "nginx.ingress.kubernetes.io/auth-secret": "passwords",
            "nginx.ingress.kubernetes.io/auth-tls-secret": "demo/authorities",
            "nginx.ingress.kubernetes.io/proxy-ssl-secret": "demo/upstream",
            "nginx.ingress.kubernetes.io/backend-protocol": "HTTPS",
            "nginx.ingress.kubernetes.io/auth-url": "http://auth.test/",
            "nginx.ingress.kubernetes.io/auth-proxy-set-headers": "demo/fields",
        },
    )

    def test_unknown(self) -> None:
        """What nobody referred to until now may well be there, so nothing is said of it."""
        state = state_of(SERVICE, SLICE)
        self.assertEqual(judged(self.guarded, state, knows=knows_nothing), [])
        found = judged(self.guarded, state) or []
        self.assertEqual(found, expected(self.guarded, state_of(self.guarded, SERVICE, SLICE)))
        self.assertEqual(
            {one.reason for one in found}, {Reason.SECRET_NOT_FOUND, Reason.CONFIG_MAP_NOT_FOUND}
        )
        self.assertEqual(len(found), 5)

    def test_known_in_part(self) -> None:
        """Of a Secret that others need other keys of, no key is said to be missing; other problems are told."""
        secret = Secret(ObjectKey("demo", "authorities"), "Opaque", {}, frozenset({"tls.crt", "tls.key"}))
        ingress = evolve(
            asking("web", "a.test", service="gone"),
            annotations={"nginx.ingress.kubernetes.io/auth-tls-secret": "demo/authorities"},
        )
        state = state_of(secret)

        def knows(kind: Kind, key: ObjectKey, keys: frozenset[str]) -> bool:
            return keys <= secret.asked

        self.assertEqual(
            [one.reason for one in judged(ingress, state, knows=knows) or []], [Reason.SERVICE_NOT_FOUND]
        )
        self.assertEqual(len(judged(ingress, state) or []), 2)

    def test_forbidden(self) -> None:
        """That the controller may not read one is known, and told, also beside what is not known."""
        key = ObjectKey("demo", "passwords")
        forbidden = Problem("Secret", *key, Reason.SECRET_FORBIDDEN, "no right to get secrets")
        store = Store()
        store.changed({**batch(SERVICE, SLICE), (Kind.SECRET, key): Projection(None, (forbidden,))})
        (problem,) = judged(self.guarded, store.state(), knows=knows_nothing) or []
        self.assertIs(problem.reason, Reason.SECRET_FORBIDDEN)
        self.assertIn("auth-secret", problem.message)


class NeighbourTests(SynchronousTestCase):
    """Which others are looked at."""

    def beside(self, ingress: Ingress, others: Iterable[Ingress]) -> list[str]:
        """Return the names of those of *others* that *ingress* has to do with."""
        found = finished(
            neighbours(ingress, state_of(*others), OPTIONS.annotations_prefix, lambda secret: ("z.test",))
        )
        return sorted(key.name for key in found)

    def test_hosts(self) -> None:
        """Those count that name the same host, or its wildcard, and no others; the case of letters does not matter."""
        others = (
            asking("same", "a.shop.test"),
            asking("wildcard", "*.shop.test"),
            asking("upper", "A.Shop.test"),
            asking("beside", "b.shop.test"),
            asking("above", "shop.test"),
            asking("all", ""),
            asking("web", "a.shop.test"),
        )
        self.assertEqual(self.beside(asking("web", "a.shop.test"), others), ["same", "upper", "wildcard"])
        self.assertEqual(self.beside(asking("web", ""), others), ["all"])

    def test_further_hosts(self) -> None:
        """So do those that ask for it as a further host, and whoever has a say about the target of that."""
        prefix = OPTIONS.annotations_prefix
        others = (
            evolve(asking("alias", "t.test"), annotations={f"{prefix}/server-alias": "x.test, A.test"}),
            asking("target", "t.test"),
            evolve(asking("www", "www.a.test"), annotations={f"{prefix}/from-to-www-redirect": "true"}),
            asking("elsewhere", "x.test"),
        )
        self.assertEqual(self.beside(asking("web", "a.test"), others), ["alias", "target", "www"])

    def test_any_certificate(self) -> None:
        """One whose certificate may be for any host counts always, and looks for the hosts of its own."""
        anywhere = evolve(asking("anywhere"), rules=(), tls=(IngressTLS((), "a"),))
        self.assertEqual(self.beside(asking("web", "a.test"), (anywhere,)), ["anywhere"])
        self.assertEqual(self.beside(anywhere, (asking("web", "a.test"), asking("z", "z.test"))), ["z"])

    def test_below_wildcard(self) -> None:
        """Of strangers below the wildcard of a certificate some are looked at, however many there are."""
        wide = evolve(asking("wide", "*.shop.test"), tls=(IngressTLS(("*.shop.test",), "a"),))
        strangers = [
            of_namespace("other", asking(f"n{number}", f"n{number}.shop.test")) for number in range(300)
        ]
        friends = [asking(f"f{number}", f"f{number}.shop.test") for number in range(3)]
        self.assertEqual(len(self.beside(wide, (*friends, *strangers))), MOST_BELOW)
        state = state_of(wide, *friends, *strangers, tls_secret("a", "*.shop.test"), SERVICE, SLICE)
        problems = judged(wide, state) or []
        self.assertEqual([one.reason for one in problems], [Reason.HOST_CONFLICT])
        self.assertEqual(problems, expected(wide, state))


class ProjectionTests(SynchronousTestCase):
    """From what an API server sends to what is judged."""

    def projected(self, raw: dict[str, Any], state: ClusterState) -> Projection:
        """Return what is kept of *raw*, which is to be made."""
        asked = read_review(review(raw))
        return finished(projected(asked, state, OPTIONS.annotations_prefix, NOW))

    def test_same(self) -> None:
        """It is what a watch would bring, with the same problems."""
        for raw in (
            raw_ingress(),
            raw_ingress(tls=[{"hosts": "x"}, 1], defaultBackend=7),
            raw_ingress(rules=[3]),
        ):
            key, by_watch = project(KINDS[Kind.INGRESS], raw, OPTIONS.annotations_prefix)
            self.assertEqual(key, ObjectKey("demo", "web"))
            self.assertEqual(self.projected(raw, state_of()), by_watch)

    def test_age(self) -> None:
        """Without a time a new one is the youngest, and another one as old as the store has it."""
        raw = raw_ingress(metadata={"creationTimestamp": None})
        found = self.projected(raw, state_of()).value
        assert isinstance(found, Ingress)
        self.assertEqual(found.created, NOW.strftime("%Y-%m-%dT%H:%M:%SZ"))
        found = self.projected(raw, state_of(asking("web", "a.test"))).value
        assert isinstance(found, Ingress)
        self.assertEqual(found.created, "2026-01-01T00:00:00Z")

    def test_unusable(self) -> None:
        """One that cannot be read at all has problems, and no value."""
        found = self.projected(raw_ingress(ingressClassName=7), state_of())
        self.assertIsNone(found.value)
        self.assertEqual([one.field for one in found.problems], ["spec.ingressClassName"])


class StepTests(SynchronousTestCase):
    """How long a step may take."""

    def test_ten_thousand(self) -> None:
        """Beside 10,000 Ingresses no step makes many calls: what is not near is passed over, some hundred a step."""
        others = [asking(f"n{number}", f"n{number}.shop.test") for number in range(10_000)]
        state = state_of(*others, SERVICE, SLICE)
        ingress = asking("n1", "n1.shop.test", "n8.shop.test", "*.shop.test")

        def steps() -> Any:
            problems = yield from judging(ingress, (), state, OPTIONS, NOW, INGRESS, knows_all)
            self.assertEqual([one.reason for one in problems or ()], [Reason.PATH_CONFLICT])

        self.assertLess(longest_step(steps()), 2500)

    def test_many_paths(self) -> None:
        """So it is with one that has thousands of paths, beginning with its projection."""
        (rule,) = raw_ingress()["spec"]["rules"]
        (path,) = rule["http"]["paths"]
        paths = [{**path, "path": f"/{number}"} for number in range(4000)]
        asked = AdmissionRequest(
            "u", "demo", "web", raw_ingress(rules=[{"host": "a.test", "http": {"paths": paths}}])
        )

        def steps() -> Any:
            projection = yield from projected(asked, state_of(), OPTIONS.annotations_prefix, NOW)
            assert isinstance(projection.value, Ingress)
            problems = yield from judging(projection.value, (), state_of(), OPTIONS, NOW, INGRESS, knows_all)
            self.assertEqual(len(problems or ()), 4000)

        # The longest one sorts the routes of the host, as in the controller.
        self.assertLess(longest_step(steps()), 20_000)
