"""A family as whoever adds one writes it: one file like this one, and one row."""

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from typing import ClassVar

from attrs import AttrsInstance, evolve, frozen
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations import annotations
from ingress.annotations.annotations import FAMILIES, AnnotationReader, settings_of
from ingress.annotations.contract.route_facts import RouteFacts
from ingress.annotations.contract.values import Annotation, Family, Remark, ValueRefused
from ingress.annotations.observability.access_logs import ACCESS_LOGS, AccessLogSettings
from ingress.annotations.redirects.https_redirect import REDIRECTS, RedirectSettings
from ingress.annotations.requests.bodies import BODIES, BodySettings
from ingress.annotations.upstream.balancing import BALANCING, BalancingSettings
from ingress.annotations.upstream.retries import RETRIES, RetrySettings
from ingress.filters import AnswerEdit, Facts, Filter, FilterSpec, Phase, Services
from ingress.model.cluster.problems import Reason
from ingress.model.upstream.backends import BackendReference, BackendState
from ingress.model.upstream.balancing import Algorithm, Balancing
from ingress.options.family_options import family_options
from ingress.routing.route import Route
from ingress.translate.options import TranslateOptions
from ingress.translate.snapshot import Snapshot
from ingress.translate.translate import translate
from tests.fakes.filter_parts import FakeEdit, FakeFacts, FakeServices
from tests.operator_settings import operator_settings
from tests.proxy.playing import OK, ONE, ProxyCase
from tests.translate.golden import read_state, state_of
from tests.translate.tls.test_client_authentication import ingress


def parse_team(text: str) -> bytes:
    """Read the name of a team."""
    if not text.isascii() or not text.isalpha():
        raise ValueRefused("is no name of a team")
    return text.encode("ascii")


@frozen
class TeamSettings:
    """What the annotations of one Ingress say about its team."""

    team: bytes = b""


@frozen
class TeamSpec:
    """Names the team on answers."""

    phase: ClassVar[Phase] = Phase.ANSWER
    name: ClassVar[str] = "team"

    team: bytes
    host: str

    def describe(self) -> str:
        """Say which."""
        return f"names team {self.team.decode()} on answers of {self.host}"

    def make(self, services: Services) -> Filter:
        """Make the filter."""
        return TeamFilter(self.team)


class TeamFilter(Filter):
    """Names the team."""

    def __init__(self, team: bytes) -> None:
        self._team = team

    def on_answer(self, facts: Facts, edit: AnswerEdit) -> None:
        """Put the field."""
        edit.put(b"X-Team", self._team)


def team_filters(settings: TeamSettings, facts: RouteFacts) -> tuple[FilterSpec, ...]:
    """Return the filter of a team, for whoever names one."""
    return (TeamSpec(settings.team, facts.host.host),)


def remarking(remark: Remark, settings: TeamSettings, names: frozenset[str]) -> Iterator[Remark]:
    """Remark on settings where any of the annotations is there."""
    if names:
        yield remark


TEAM = Family(
    name="team",
    settings=TeamSettings(),
    acts="names the team",
    annotations={"team": Annotation("team", parse_team)},
    phases=(Phase.ANSWER,),
    filters=team_filters,
)


class NewFamilyTests(SynchronousTestCase):
    """What one row in the list of families does."""

    def setUp(self) -> None:
        """Add the row."""
        self.patch(annotations, "FAMILIES", (*FAMILIES, TEAM))

    def snapshot(self, **written: str) -> Snapshot:
        """Translate an Ingress with these annotations."""
        return translate(state_of([ingress("a", "/", **written)]), TranslateOptions(), datetime.now(UTC))

    def test_from_object_to_filter(self) -> None:
        """The annotation becomes a filter of the routes, and the filter does what was asked."""
        (route,) = self.snapshot(team="blue").table.routes
        self.assertEqual(route.filters, (TeamSpec(b"blue", "a.test"),))
        edit = FakeEdit()
        route.filters[0].make(FakeServices()).on_answer(FakeFacts(), edit)
        self.assertEqual(edit.fields, [(b"X-Team", b"blue")])

    def test_nothing_asked(self) -> None:
        """Whoever does not ask has no filter, and the function of the family is not called."""
        (route,) = self.snapshot().table.routes
        self.assertEqual(route.filters, ())

    def test_remarks(self) -> None:
        """What a family says of settings as they stand together is told of the annotation that it names; it may close the routes."""
        told = [
            Remark("team", "is a guess"),
            Remark("team", "may be a guard", Reason.INVALID_ANNOTATION, closes=True),
        ]
        for remark, filters in ((told[0], 1), (told[1], 2)):
            family = evolve(TEAM, remarks=partial(remarking, remark))
            self.patch(annotations, "FAMILIES", (*FAMILIES, family))
            found = self.snapshot(team="blue")
            (problem,) = [one for one in found.problems if "team" in one.field]
            self.assertEqual((problem.reason, problem.message), (remark.reason, f"team: {remark.message}"))
            self.assertEqual(problem.is_note, not remark.closes)
            (route,) = found.table.routes
            self.assertEqual(len(route.filters), filters)

    def test_by_path(self) -> None:
        """A family that goes by paths makes filters for each of them."""
        family = evolve(
            TEAM, by_path=True, filters=lambda settings, facts: (TeamSpec(settings.team, facts.path),)
        )
        self.patch(annotations, "FAMILIES", (*FAMILIES, family))
        objects = state_of([ingress("a", "/", "/b", team="blue")])
        routes = translate(objects, TranslateOptions(), datetime.now(UTC)).table.routes
        self.assertEqual(
            [route.filters for route in routes], [(TeamSpec(b"blue", one),) for one in ("/", "/b")]
        )

    def test_nothing_said(self) -> None:
        """A value without anything in it asks for nothing, as in ingress-nginx, and nothing is told of it."""
        for value in ("", " ", "\n"):
            found = self.snapshot(team=value)
            (route,) = found.table.routes
            self.assertEqual(route.filters, ())
            self.assertEqual([one for one in found.problems if "team" in one.field], [])

    def test_refused(self) -> None:
        """A value that the family does not accept is a problem with object, field and reason, and no filter."""
        found = self.snapshot(team="b1")
        (route,) = found.table.routes
        self.assertEqual(route.filters, ())
        (problem,) = [one for one in found.problems if "team" in one.field]
        self.assertIn('team: "b1" is no name of a team', problem.message)


MANIFEST = """
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: shop, namespace: demo, annotations: {nginx.ingress.kubernetes.io/team: blue}}
spec:
  ingressClassName: nginx
  rules:
  - host: shop.test
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}
"""


class ServedFamilyTests(ProxyCase):
    """The same, in the proxy."""

    def test_from_manifest_to_answer(self) -> None:
        """An answer to a request for the manifest's host has what its annotation asks for; nothing but the row was added."""
        self.patch(annotations, "FAMILIES", (*FAMILIES, TEAM))
        snapshot = translate(read_state(MANIFEST), TranslateOptions(), datetime.now(UTC))
        (backend,) = snapshot.backends
        self.stage.resource.publish(snapshot.table, {backend: BackendState((ONE,))})
        client = self.stage.open()
        client.say(b"GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n")
        self.upstream().say(OK)
        answer = client.take()
        self.assert_status(answer, 200)
        self.assertIn(b"\r\nX-Team: blue\r\n", answer)


class OperatorTests(SynchronousTestCase):
    """What the operator says for all Ingresses: default, then the operator, then the annotation."""

    def setUp(self) -> None:
        """Have a family of one annotation, which closes what it cannot read, and of a setting of the operator's."""
        row = Annotation("team", parse_team, operators=True)
        self.family = evolve(TEAM, annotations={"team": row}, options={"team-of-all": row})

    def read(
        self, usual: bytes = b"", family: Family[TeamSettings] | None = None, **written: str
    ) -> TeamSettings:
        """What an Ingress comes to."""
        family = family or self.family
        reader = AnnotationReader(
            "nginx.ingress.kubernetes.io",
            families=(family,),
            usual=settings_of((family, TeamSettings(usual))),
        )
        found, _ = reader.read(ingress("a", "/", **written))
        return found.of(family)

    def test_order(self) -> None:
        """The operator's value holds where an Ingress says nothing, or nothing that can be honored; what it says counts."""
        self.assertEqual(self.read(), TeamSettings())
        self.assertEqual(self.read(b"red"), TeamSettings(b"red"))
        self.assertEqual(self.read(b"red", team="blue"), TeamSettings(b"blue"))
        self.assertEqual(self.read(b"red", team="b1"), TeamSettings(b"red"))

    def test_refused_guard(self) -> None:
        """What closes a route where its value is refused does so whatever the operator says."""
        guard = evolve(self.family, annotations={"team": Annotation("team", parse_team, refused=b"closed")})
        self.assertEqual(self.read(b"red", guard, team="b1"), TeamSettings(b"closed"))

    def test_back_to_the_default(self) -> None:
        """An Ingress may ask for what holds by default, against the operator; the family then does nothing for it."""

        def parse_any(text: str) -> bytes:
            return text.encode().strip(b"-")

        family = evolve(self.family, annotations={"team": Annotation("team", parse_any, operators=True)})
        self.assertEqual(self.read(b"red", family, team="-"), TeamSettings())

    def test_option(self) -> None:
        """Each such row is an option that reads what the annotation reads, and refuses what it refuses."""
        own, of_all = family_options([self.family], ())
        self.assertEqual((own.name, of_all.name), ("team", "team-of-all"))
        self.assertEqual(own.to, "translate.operators.team.team")
        assert own.read is not None
        self.assertEqual(own.read("red"), b"red")
        with self.assertRaisesRegex(ValueError, "is no name of a team"):
            own.read("r1")
        self.assertEqual(family_options([self.family], {"team", "team-of-all"}), ())


class OperatorRoutesTests(SynchronousTestCase):
    """The same, from options to routes."""

    def routes(self, operators: AttrsInstance, **written: str) -> tuple[Route, ...]:
        """The routes of an Ingress, and of the controller's own default backend."""
        options = TranslateOptions(
            operators=operators, default_backend_service=BackendReference("demo", "all")
        )
        return translate(state_of([ingress("a", "/", **written)]), options, datetime.now(UTC)).table.routes

    def test_settings_of_routes(self) -> None:
        """The operator's settings are those of all routes, of the default backend's too; an annotation is of its Ingress alone."""
        operators = operator_settings(
            (BODIES, BodySettings(7)),
            (RETRIES, RetrySettings(tries=2)),
            (BALANCING, BalancingSettings(Algorithm.EWMA)),
            (ACCESS_LOGS, AccessLogSettings(is_logged=False)),
        )
        asking = {route.host: route.is_logged for route in self.routes(operators, enable_access_log="true")}
        self.assertEqual(asking, {"a.test": True, "": False})
        for route in self.routes(operators):
            self.assertFalse(route.is_logged)
            self.assertEqual((route.max_body_bytes, route.retries.max_tries), (7, 2))
            self.assertEqual(route.balancing, Balancing(Algorithm.EWMA))
        found = {route.host: route.max_body_bytes for route in self.routes(operators, proxy_body_size="9")}
        self.assertEqual(found, {"a.test": 9, "": 7})

    def test_filters(self) -> None:
        """A family of filters acts on all routes by what the operator says, and on those that ask otherwise as they ask."""
        operators = operator_settings((REDIRECTS, RedirectSettings(force_ssl_redirect=True)))
        self.assertEqual([len(route.filters) for route in self.routes(operators)], [1, 1])
        asking = {
            route.host: len(route.filters) for route in self.routes(operators, force_ssl_redirect="false")
        }
        self.assertEqual(asking, {"a.test": 0, "": 1})
