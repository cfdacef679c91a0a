"""The route of a request, those that lost, and what helps where there is none: words for what ``routing`` decided."""

from collections.abc import Iterable, Iterator, Mapping

from attrs import astuple

from ingress.explain.explanation import Explanation, HostSeen, LostRoute, ProblemSeen, RouteSeen, VariantSeen
from ingress.explain.objects import Objects
from ingress.model.cluster.objects import Kind, ObjectId, ObjectKey, Owner
from ingress.model.cluster.problems import Problem
from ingress.model.stepwise import Stepwise
from ingress.model.upstream.backends import BackendReference
from ingress.plain_data.steps import NotYet, in_order
from ingress.routing.backend_choice import Chances
from ingress.routing.contest import Contest
from ingress.routing.route import Route
from ingress.routing.variants import ChoiceFacts
from ingress.translate.snapshot import Snapshot

AT_ONCE = 200
MOST_PROBLEMS = 20


def route_seen(route: Route, field: str = "") -> RouteSeen:
    """Return *route*, which its owner asks for in *field*."""
    owner, field = route.owner, field or route.place
    if owner is None:
        return RouteSeen(route.host, route.path, route.match.value, "", "", "", field)
    return RouteSeen(
        route.host,
        route.path,
        route.match.value,
        str(owner.kind),
        owner.key.namespace,
        owner.key.name,
        field,
        owner.created,
    )


def hosts_seen(contest: Contest) -> tuple[HostSeen, ...]:
    """Return the hosts that were looked for."""
    return tuple(HostSeen(one.host, one.paths) for one in contest.looked_for)


def lost_seen(contest: Contest) -> tuple[LostRoute, ...]:
    """Return the routes that lost."""
    return tuple(LostRoute(route_seen(one.route), one.why.value, one.sentence) for one in contest.losers)


def variants_seen(route: Route, chosen: Chances, facts: ChoiceFacts) -> tuple[VariantSeen, ...]:
    """Return the variants of *route*, and which of their conditions hold."""
    return tuple(
        VariantSeen(
            variant is chosen.variant,
            tuple((str(condition), condition.holds(facts)) for condition in variant.conditions),
            tuple(str(entry.backend) for entry in variant.weighted),
        )
        for variant in route.variants
    )


def shown_host(host: str) -> str:
    """Say which host of a rule it is."""
    return f"host {host}" if host else "all hosts"


def without_route(contest: Contest, host: str, path: str) -> str:
    """Say why no route takes *path* of *host*."""
    if contest.host is None:
        return f"nothing is served for the host {host}" if host else "nothing is served without a host"
    if contest.host == host:
        return f"the host {host} is served, and none of its paths takes {path}"
    return f"{host or 'a request without host'} is served by the rules for {shown_host(contest.host)}, and none of their paths takes {path}"


def problems_by_object(snapshot: Snapshot) -> Stepwise[dict[ObjectId, set[Problem]]]:
    """Find the problems of all objects."""
    found: dict[ObjectId, set[Problem]] = {}
    for number, problem in enumerate(snapshot.unordered_problems(), 1):
        found.setdefault((Kind(problem.kind), ObjectKey(problem.namespace, problem.name)), set()).add(problem)
        if not number % AT_ONCE:
            yield
    return found


def concerned(
    found: Explanation, owner: Owner | None, backends: Iterable[BackendReference], objects: Objects
) -> Iterator[ObjectId]:
    """Yield those of *objects* whose problems may have to do with *found*, by a route of *owner* to *backends*."""
    if owner is not None:
        yield owner.id
    for backend in dict.fromkeys(backends):
        if backend.kind == Kind.SERVICE:
            service = ObjectKey(backend.namespace, backend.name)
            yield Kind.SERVICE, service
            for key in objects.slices_of(service):
                yield Kind.ENDPOINT_SLICE, key
    if found.handshake is not None:
        for certificate in found.handshake.certificates:
            namespace, _, name = certificate.secret.partition("/")
            yield Kind.SECRET, ObjectKey(namespace, name)


def problems_seen(
    concerned: Iterator[ObjectId],
    problems: Mapping[ObjectId, set[Problem]],
    field: str,
    objects: Objects,
) -> Stepwise[tuple[tuple[ProblemSeen, ...], int]]:
    """Return the first *problems* of those *concerned*, sorted for each, and how many more there are.

    Notes are left out, and what is about another path than *field*.  An object may have thousands.
    """
    seen: list[ProblemSeen] = []
    count = 0
    for kind, key in concerned:
        ordered = in_order(problems.get((kind, key), ()), _in_fields)
        for number, problem in enumerate(ordered):
            if isinstance(problem, NotYet):
                yield
                continue
            if not number % AT_ONCE:
                yield
            if problem.is_note or not _is_about(problem.field, field):
                continue
            count += 1
            if len(seen) == MOST_PROBLEMS:
                continue
            seen.append(
                ProblemSeen(
                    f"{kind} {key}",
                    problem.field,
                    problem.reason.value,
                    problem.message,
                    objects.not_checked(problem),
                )
            )
    return tuple(seen), count - len(seen)


def _in_fields(problem: Problem) -> tuple[object, ...]:
    """Return what *problem* is sorted by as it is by itself, made once."""
    return astuple(problem, recurse=False)


def _is_about(problem: str, field: str) -> bool:
    """Whether a problem of the field *problem* has to do with what the same object says in *field*."""
    if not field or not problem.startswith("spec.rules"):
        return True
    return problem.startswith(field) or field.startswith(problem)
