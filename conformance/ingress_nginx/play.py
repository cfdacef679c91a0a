"""Give both controllers the objects, ask both, and judge."""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from threading import Event

from conformance.cluster import Cluster, Object, RefusedError
from conformance.ingress_nginx import client, comparing, making
from conformance.ingress_nginx.case import Ask, Case, Told, ingress, meant
from conformance.ingress_nginx.comparing import Difference, Outcome
from conformance.ingress_nginx.controllers import CONFIG, NAMESPACE, Controller
from conformance.ingress_nginx.endpoints import Endpoints

READY_SECONDS = 120.0
IN_A_ROW = 4
# nginx's workers look for new endpoints every second.
LOOK_SECONDS = 1.2
KNOWN_SECONDS = 1.5
FURTHER_TRIES = 2
TRY_SECONDS = 0.5
REFUSED = re.compile(rb"Unexpected failure reloading the backend:.*?\[emerg\] [^ ]* ([^\n]*)", re.DOTALL)
"""What the controller of ingress-nginx logs where nginx does not take its configuration."""
TAKEN = b"Backend successfully reloaded"
# It may be about objects of before, which are just being deleted.
REFUSED_SECONDS = 5.0

BASE = {"worker-processes": "1", "allow-snippet-annotations": "true", "annotations-risk-level": "Critical"}
"""Keys of the ConfigMap that all cases have."""

PROXY_HEADER = b"PROXY TCP4 192.0.2.1 192.0.2.2 50000 80\r\n"
"""What a load balancer says first, where a ConfigMap asks for that."""


@dataclass(frozen=True)
class Row:
    """What became of one request.  ``told`` are the differences that are told, with where; ``different`` all others."""

    case: str
    ask: str
    told: tuple[tuple[Difference, Told], ...] = ()
    different: tuple[Difference, ...] = ()

    @property
    def verdict(self) -> str:
        return "DIFFERENT" if self.different else "told" if self.told else "same"


@dataclass
class Bench:
    """All that a run has: who is asked, what stands behind, and where names lead.  ``keeps`` leaves Ingresses where they are.
    ``another_of_ours`` and ``another_reference`` start one by the ConfigMap of now, and further options."""

    cluster: Cluster
    reference: Controller
    ours: Controller
    endpoints: Endpoints
    names: dict[str, str]
    certificates: Path
    sources: Sequence[str]
    everywhere: Sequence[Told] = ()
    keeps: bool = False
    another_of_ours: Callable[[Sequence[str]], Controller] | None = None
    another_reference: Callable[[Sequence[str]], Controller] | None = None
    free: Iterator[str] = field(default_factory=making.addresses)
    endpoint_names: dict[str, str] = field(default_factory=dict)
    rounds: int = 0

    def controllers(self) -> tuple[Controller, Controller]:
        return self.reference, self.ours


def play(bench: Bench, cases: Iterable[Case]) -> Iterator[Row]:
    """All of them, those with the same ConfigMap at the same time."""
    for _, group in groupby(sorted(cases, key=company), key=company):
        yield from play_together(bench, list(group))


def company(case: Case) -> tuple[list[tuple[str, str]], str, tuple[str, ...]]:
    """What is the same of cases that are served at the same time."""
    return sorted(case.config.items()), case.name if case.alone else "", case.options


def play_together(bench: Bench, cases: Sequence[Case]) -> Iterator[Row]:
    """Cases with one ConfigMap.  What one of them has a controller refuse concerns all, so they are then tried by halves."""
    configure(bench, cases[0].config)
    usual = bench.controllers()
    options = cases[0].options
    if cases[0].starts or options:
        assert bench.another_of_ours is not None
        bench.ours = bench.another_of_ours(options)
    if options:
        assert bench.another_reference is not None
        bench.reference = bench.another_reference(options)
    made, rest = [], []
    for case in cases:
        try:
            rest.append(lay(bench, case))
            made.append(case)
        except RefusedError as refused:
            yield refused_row(case, refused)
    # ingress-nginx reads annotations once, when an Ingress comes, and what they name has to be known by then.
    Event().wait(KNOWN_SECONDS)
    for case, ingresses in zip(list(made), rest, strict=True):
        try:
            apply(bench, ingresses)
        except RefusedError as refused:
            made.remove(case)
            yield refused_row(case, refused)
    late = await_both(bench, PROXY_HEADER if "use-proxy-protocol" in cases[0].config else b"")
    if not late:
        for case in made:
            yield from play_case(bench, case)
    bench.reference, bench.ours = usual
    # The API server ends connections that rested as long as requests took.
    bench.cluster = bench.cluster.another()
    for case in () if bench.keeps else cases:
        bench.cluster.delete(f"/apis/networking.k8s.io/v1/namespaces/{case.namespace}/ingresses")
    if late and len(made) == 1:
        yield Row(made[0].name, "(objects)", different=(Difference("ready", *late),))
    elif late and made:
        middle = len(made) // 2
        yield from play_together(bench, made[:middle])
        yield from play_together(bench, made[middle:])


def configure(bench: Bench, keys: Mapping[str, str]) -> None:
    metadata = {"name": CONFIG, "namespace": NAMESPACE}
    data = {**BASE, **keys}
    bench.cluster.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})


def lay(bench: Bench, case: Case) -> list[Object]:
    """Make the objects of a case but its Ingresses, which are returned."""
    made = making.made(case, bench.free)
    for name, address in made.addresses.items():
        service, _, number = name.partition("#")
        bench.endpoint_names[address] = name
        bench.endpoints.answers[address] = meant(case.answers.get(service, {}), case)
        if number == "0" and service not in case.ipv6:
            for domain in (f"{case.namespace}.svc.cluster.local", case.host):
                bench.names[f"{service}.{domain}"] = address
    apply(bench, [thing for thing in made.objects if thing["kind"] != "Ingress"])
    return [thing for thing in made.objects if thing["kind"] == "Ingress"]


def apply(bench: Bench, things: Iterable[Object]) -> None:
    for thing in things:
        bench.cluster.apply(thing)


def refused_row(case: Case, refused: RefusedError) -> Row:
    return Row(case.name, "(objects)", different=(Difference("API server", str(refused), ""),))


def await_both(bench: Bench, preface: bytes = b"", seconds: float = READY_SECONDS) -> tuple[str, str] | None:
    """Until both serve what was made last; else what they answered instead, or what nginx refused."""
    bench.rounds += 1
    read = bench.reference.log.stat().st_size
    # Nothing that the ConfigMap says of all Ingresses keeps this one from its endpoint.
    turned_off = ("ssl_redirect", "force_ssl_redirect", "enable_global_auth", "service_upstream")
    plain = ingress(**dict.fromkeys(turned_off, "false"))
    case = Case(f"sentinel-{bench.rounds}", (plain,), ())
    apply(bench, lay(bench, case))
    ask = Ask(host=case.host, preface=preface)
    end = time.monotonic() + seconds
    in_a_row, since = 0, 0.0
    while in_a_row < IN_A_ROW:
        answers = [
            client.send(ask, controller.address, bench.sources[0]) for controller in bench.controllers()
        ]
        in_a_row = in_a_row + 1 if all(answer.status == 200 for answer in answers) else 0
        if time.monotonic() > end:
            return f"status {answers[0].status}", f"status {answers[1].status}"
        with bench.reference.log.open("rb") as log:
            log.seek(read)
            refused = refusal_in(log.read())
        since = since if refused and since else time.monotonic() if refused else 0.0
        if refused and time.monotonic() > since + REFUSED_SECONDS:
            return refused, f"status {answers[1].status}"
        Event().wait(0.1)
    Event().wait(LOOK_SECONDS)
    for controller in bench.controllers():
        bench.endpoints.take(*controller.addresses)
    return None


def refusal_in(log: bytes) -> str:
    """What nginx did not take last; empty where it has taken a configuration since."""
    refusals = list(REFUSED.finditer(log))
    if not refusals or log.rfind(TAKEN) > refusals[-1].start():
        return ""
    return refusals[-1][1].decode(errors="replace")


def play_case(bench: Bench, case: Case) -> Iterator[Row]:
    told = (*case.told, *bench.everywhere)
    jars: dict[str, dict[str, str]] = {controller.name: {} for controller in bench.controllers()}
    seen: set[str] = set()
    for ask in case.asks:
        row = judge(case, ask, told, differences(bench, case, ask, jars))
        for _ in range(0 if case.once else FURTHER_TRIES):
            if row.different:
                Event().wait(TRY_SECONDS)
                row = judge(case, ask, told, differences(bench, case, ask, jars))
        seen.update(one.where for _, one in row.told)
        yield row
    for where in unseen(case, seen):
        yield Row(case.name, "(told)", different=(Difference(f"told in {where}, and not seen", "", ""),))


def unseen(case: Case, seen: Iterable[str]) -> list[str]:
    """Where differences of a case are told of which none was seen: they may have been mended."""
    return sorted({told.where for told in case.told} - set(seen))


def meant_ask(ask: Ask, case: Case) -> Ask:
    return replace(
        ask,
        **{
            name: meant(getattr(ask, name), case)
            for name in ("target", "host", "fields", "trailers", "body", "server_name", "raw")
        },
    )


def judge(case: Case, ask: Ask, told: Iterable[Told], found: Iterable[Difference]) -> Row:
    """The row of a request, by the differences that were found."""
    known, unknown = [], []
    for difference in found:
        where = comparing.told_of(difference, ask, told)
        if where is None:
            unknown.append(difference)
        else:
            known.append((difference, where))
    return Row(case.name, ask.name, tuple(known), tuple(unknown))


def differences(bench: Bench, case: Case, ask: Ask, jars: Mapping[str, dict[str, str]]) -> list[Difference]:
    if ask.times == 1:
        outcomes = [outcome(bench, case, ask, who, jars[who.name]) for who in bench.controllers()]
        return comparing.differences(*outcomes, which_endpoint=case.which_endpoint, sessions=case.sessions)
    if ask.at_once:
        return comparing.tally_differences(
            *(comparing.tally(at_once(bench, meant_ask(ask, case), who)) for who in bench.controllers())
        )
    tallies = [
        comparing.tally(outcome(bench, case, ask, who, dict(jars[who.name])) for _ in range(ask.times))
        for who in bench.controllers()
    ]
    return comparing.tally_differences(*tallies)


def at_once(bench: Bench, ask: Ask, who: Controller) -> list[Outcome]:
    """What became of requests that are asked at the same time: the answers alone, as nobody knows whose arrivals are whose."""

    def one(_: int) -> Outcome:
        return Outcome(client.send(ask, who.address, bench.sources[ask.client - 1]))

    with ThreadPoolExecutor(ask.times) as threads:
        found = list(threads.map(one, range(ask.times)))
    bench.endpoints.take(*who.addresses)
    return found


def outcome(bench: Bench, case: Case, ask: Ask, who: Controller, jar: dict[str, str]) -> Outcome:
    """Ask one of the two, and see what came to endpoints."""
    ask = meant_ask(ask, case)
    cookies = "; ".join(f"{name}={value}" for name, value in jar.items()) if ask.keeps else ""
    bench.endpoints.take(*who.addresses)
    source = "" if ask.ipv6 else bench.sources[ask.client - 1]
    got = client.send(ask, who.address6 if ask.ipv6 else who.address, source, cookies, bench.certificates)
    for name, value in got.fields:
        if name.lower() == "set-cookie":
            key, _, kept = value.partition(";")[0].partition("=")
            jar[key] = kept
    if case.settles:
        Event().wait(case.settles)
    arrivals = bench.endpoints.take(*who.addresses)
    return Outcome(got, tuple((bench.endpoint_names.get(one.address, one.address), one) for one in arrivals))
