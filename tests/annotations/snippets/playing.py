"""Plays requests through the filters of snippets, without a proxy."""

from attrs import Factory, define

from ingress.annotations.contract.host_facts import HostFacts
from ingress.annotations.contract.route_facts import RouteFacts
from ingress.annotations.nginx.reading import Place, parse_snippet
from ingress.annotations.snippets.ending import ending
from ingress.annotations.snippets.family import SnippetSettings, snippet_filters
from ingress.filters import FilterSpec, Reply
from ingress.model.cluster.objects import Kind, ObjectKey, Owner
from ingress.model.upstream.backends import BackendReference
from ingress.proxy.exchange.filtering.chain import live_filter
from ingress.routing.paths import normal_path
from tests.fakes.filter_parts import FakeEdit, FakeFacts, FakeServices

OWNER = Owner(Kind.INGRESS, ObjectKey("demo", "shop"))
BACKEND = BackendReference("demo", "web", 80)


@define
class Played:
    """What became of a request."""

    reply: Reply | None
    request: FakeEdit
    """What the endpoint got."""
    answer: FakeEdit
    """What the client got."""

    @property
    def status(self) -> int:
        """Of the answer."""
        return self.answer.status

    @property
    def location(self) -> bytes:
        """Where it is sent."""
        return self.answer.field(b"location")


@define
class Stage:
    """A route with snippets."""

    configuration: str = ""
    server: str = ""
    http: str = ""
    operators_server: str = ""
    operators_location: str = ""
    path: str = "/"
    is_exact: bool = False
    is_expression: bool = False
    further: tuple[FilterSpec, ...] = ()
    """What stands before the route besides."""
    services: FakeServices = Factory(FakeServices)

    def specs(self) -> list[FilterSpec]:
        """What stands before the route, in the order in which it acts."""
        settings = SnippetSettings(
            configuration=parse_snippet(self.configuration, Place.LOCATION),
            operators_http=parse_snippet(self.http, Place.HTTP),
            operators_server=parse_snippet(self.operators_server, Place.SERVER),
            operators_location=parse_snippet(self.operators_location, Place.LOCATION),
        )
        host = HostFacts("a.example.com", server_snippet=parse_snippet(self.server, Place.SERVER))
        route = RouteFacts(
            host, OWNER, self.path, BACKEND, is_exact=self.is_exact, is_expression=self.is_expression
        )
        specs = ending((*snippet_filters(settings, route), *self.further))
        return sorted(specs, key=lambda spec: spec.phase)

    def play(
        self, facts: FakeFacts | None = None, status: int = 200, fields: tuple[tuple[bytes, bytes], ...] = ()
    ) -> Played:
        """Send a request; an endpoint answers it with *status* and *fields*, if it gets there."""
        facts = FakeFacts() if facts is None else facts
        filters = [spec.make(self.services) for spec in self.specs()]
        request = FakeEdit()
        reply = None
        for one in filters:
            found = one.on_request(facts)
            assert found is None or isinstance(found, Reply)
            if found is not None:
                reply = found
                break
        else:
            for one in filters:
                one.on_upstream(facts, request)
        answer = FakeEdit(status, False, list(fields))
        if reply is not None:
            answer = FakeEdit(reply.status, True, list(reply.fields))
        for one in reversed(filters):
            on_answer = live_filter("test", one).on_answer
            if on_answer is not None:
                on_answer(facts, answer)
        return Played(reply, request, answer)


def sent(configuration: str, facts: FakeFacts | None = None) -> list[tuple[bytes, bytes]]:
    """The fields that an endpoint gets by ``configuration-snippet``."""
    return Stage(configuration).play(facts).request.fields


def answered(
    configuration: str, *fields: tuple[bytes, bytes], status: int = 200
) -> list[tuple[bytes, bytes]]:
    """The fields that a client gets of an endpoint's answer with *fields*, by ``configuration-snippet``."""
    return Stage(configuration).play(status=status, fields=fields).answer.fields


def on(target: str, method: bytes = b"GET", **fields: bytes) -> FakeFacts:
    """A request for *target*, whose path is in normal form, with fields of these names."""
    raw = target.encode()
    named = {name.replace("_", "-").encode(): value for name, value in fields.items()}
    return FakeFacts(target=raw, path=normal_path(raw.partition(b"?")[0]), method=method, fields=named)
