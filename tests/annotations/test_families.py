"""A family as whoever adds one writes it: one file like this one, and one row."""

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from typing import ClassVar

from attrs import evolve, frozen
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations import annotations
from ingress.annotations.annotations import FAMILIES
from ingress.annotations.route_facts import RouteFacts
from ingress.annotations.values import Annotation, Family, Remark, ValueRefused
from ingress.filters import AnswerEdit, Facts, Filter, FilterSpec, Phase, Services
from ingress.model.backends import BackendState
from ingress.model.problems import Reason
from ingress.translate.options import TranslateOptions
from ingress.translate.snapshot import Snapshot
from ingress.translate.translate import translate
from tests.fakes.filter_parts import FakeEdit, FakeFacts, FakeServices
from tests.proxy.playing import OK, ONE, ProxyCase
from tests.translate.golden import read_state, state_of
from tests.translate.test_client_authentication import ingress


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
