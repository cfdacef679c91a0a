"""Sets by chance, many at the same time, for one reload of nginx serves them all."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from threading import Event

from conformance.cluster import Object, RefusedError
from conformance.ingress_nginx import comparing, making, play, shrinking, told_samples
from conformance.ingress_nginx.case import Ask, Case, external
from conformance.ingress_nginx.comparing import Difference, Outcome
from conformance.ingress_nginx.endpoints import Answer
from conformance.ingress_nginx.play import Bench
from conformance.ingress_nginx.sampling import (
    BATCH,
    EMPTY,
    MISSING,
    OUTSIDE,
    WAVES,
    Sample,
    has_canary,
    named,
    sample,
    services,
)
from conformance.ingress_nginx.table import printable, say

CONFIG = {"strict-validate-path-type": "false"}
COMPARED = (
    "answer.status",
    "answer.ended",
    "answer.field.location",
    "endpoints",
    "endpoint.*.line",
    "endpoint.*.field.host",
    "endpoint.*.field.x-forwarded-*",
    "endpoint.*.field.x-original-uri",
    "endpoint.*.field.x-code",
    "endpoint.*.field.x-service-*",
)
"""Who gets a request, and how; all else is what fixed cases are for."""

READY_SECONDS = 180.0

BOTH = ThreadPoolExecutor(2)
"""One thread for each controller: what comes to endpoints is told by who sends it."""

PORTS: tuple[Object, ...] = ({"name": "http", "number": 80}, {"name": "alt", "number": 8080})


@dataclass(frozen=True)
class Finding:
    """A request of a set that the two answer otherwise.  ``where`` is the document that tells it, if one does."""

    sample: Sample
    ask: Ask
    different: tuple[Difference, ...]
    where: str = ""

    @property
    def sort(self) -> tuple[str, ...]:
        """Findings of one sort have probably one cause."""
        return tuple(
            f"{one.what.split('.')[0]}.{one.what.split('.')[-1]} {one.reference[:3]} {one.ours[:3]}"
            for one in self.different[:1]
        )


@dataclass
class Spaces:
    """Namespaces and Services, made when they are needed first and used again and again.

    ingress-nginx has canaries belong to the Service of their primary, whoever else has it, so that sets with canaries have namespaces of their
    own, and all others the same.
    """

    bench: Bench
    made: set[tuple[str, str]] = field(default_factory=set)
    hosts: int = 0

    def host(self) -> str:
        """One that no set has had."""
        self.hosts += 1
        return f"n{self.hosts}.test"

    def clear(self) -> None:
        # The API server ends connections that rested as long as requests took.
        self.bench.cluster = self.bench.cluster.another()
        for name in sorted({name for name, _ in self.made}):
            self.bench.cluster.delete(f"/apis/networking.k8s.io/v1/namespaces/{name}/ingresses")

    def need(self, name: str, which: int, services: Iterable[str]) -> None:
        """Have them there, in the namespace *name*, which is the first or the second of a set."""
        if (name, "") not in self.made:
            namespace: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            play.apply(self.bench, [namespace])
            self.made.add((name, ""))
        for service in services:
            if (name, service) not in self.made and service != MISSING:
                self.made.add((name, service))
                self.make(name, which, service)

    def make(self, name: str, which: int, service: str) -> None:
        bench = self.bench
        address = next(bench.free)
        bench.endpoint_names[address] = f"{service}{which or ''}#0"
        bench.endpoints.answers[address] = {"/404": Answer(404)}
        if service == OUTSIDE:
            bench.names[f"{OUTSIDE}.{name}.test"] = address
            thing = external(OUTSIDE, f"{OUTSIDE}.{name}.test", 8080)
            objects = [{**thing, "metadata": {**thing["metadata"], "namespace": name}}]
        else:
            objects = service_of(name, service, [] if service == EMPTY else [address])
        play.apply(bench, objects)


def service_of(space: str, name: str, there: list[str]) -> list[Object]:
    """A Service whose two ports lead to the same."""
    service, slice_of_it = making.service(space, name, PORTS, there, False)
    return [service, slice_of_it]


def run(bench: Bench, numbers: range, seed: int, spaces: int, shrunk: int) -> int:
    """The sets of a seed that have these numbers; the exit status, and on the way what was found, of each hundred sets so many as small as they get.

    All that was found is written to ``findings.txt`` as it was.
    """
    room = Spaces(bench)
    play.configure(bench, CONFIG)
    asked, told, findings = 0, dict[str, int](), []
    for start in range(0, len(numbers), BATCH):
        samples = [sample(seed, number, spaces) for number in numbers[start : start + BATCH]]
        asked += sum(len(one.asks) for one in samples)
        found = compare(room, samples)
        for one in found:
            if one.where:
                told[one.where] = told.get(one.where, 0) + 1
        new = [one for one in found if not one.where]
        say(
            f"{start + len(samples)} sets, {asked} requests, {len(found) - len(new)} told, {len(new)} different"
        )
        with (bench.certificates / "findings.txt").open("a") as file:
            for one in new:
                file.writelines(f"{line}\n" for line in lines_of(one))
        for one in smaller(room, chosen(new, shrunk)):
            for line in lines_of(one):
                say(line)
        findings += new
    for where, number in sorted(told.items()):
        say(f"{number} told in {where}")
    say(f"{len(numbers)} sets, {asked} requests, {sum(told.values())} told, {len(findings)} different")
    return 1 if findings or not asked else 0


def chosen(findings: Sequence[Finding], count: int) -> list[Finding]:
    """The smallest of each sort first, then others, one of each set."""
    by_size = sorted(findings, key=lambda one: shrinking.size(one.sample))
    first = {one.sort: one for one in reversed(by_size)}
    found: dict[str, Finding] = {}
    for one in (*first.values(), *by_size):
        found.setdefault(one.sample.name, one)
    return list(found.values())[:count]


def smaller(room: Spaces, findings: Sequence[Finding]) -> list[Finding]:
    """The same with what is needed for it alone."""
    together = [one for one in findings if not one.sample.alone]

    sorts = {one.sample.name: one.sort for one in together}

    def fail(samples: Sequence[Sample]) -> list[bool]:
        failing: set[int] = set()
        for start in range(0, len(samples), 2 * BATCH):
            some = samples[start : start + 2 * BATCH]
            numbered = [Sample(str(start + at), one.ingresses, one.asks) for at, one in enumerate(some)]
            for found in compare(room, numbered):
                number = int(found.sample.name)
                # Another difference is another finding.
                if not found.where and found.sort == sorts[samples[number].name]:
                    failing.add(number)
        return [at in failing for at in range(len(samples))]

    left = shrinking.shrink(
        [Sample(one.sample.name, one.sample.ingresses, (one.ask,)) for one in together], fail
    )
    again = {one.sample.name: one for one in compare(room, left) if not one.where}
    return [again.get(one.sample.name, one) for one in findings]


def compare(room: Spaces, samples: Sequence[Sample]) -> list[Finding]:
    """All requests of all sets, which are served at the same time.  What one set has nginx refuse concerns all: they are tried by halves."""
    if not samples:
        return []
    hosts = [room.host() for _ in samples]
    refused = lay(room, samples, hosts)
    late = play.await_both(room.bench, seconds=READY_SECONDS)
    found = [
        Finding(samples[number], Ask(), (Difference("API server", str(error), ""),))
        for number, error in refused.items()
    ]
    if not late:
        made = [number for number in range(len(samples)) if number not in refused]
        found += asked(room.bench, [samples[number] for number in made], [hosts[number] for number in made])
    room.clear()
    if not late:
        return found
    if len(samples) == 1:
        return [Finding(samples[0], Ask(), (Difference("ready", *late),))]
    middle = len(samples) // 2
    return compare(room, samples[:middle]) + compare(room, samples[middle:])


def lay(room: Spaces, samples: Sequence[Sample], hosts: Sequence[str]) -> dict[int, RefusedError]:
    """Make all Ingresses, each in its second.  Returns what the API server said of those that it refused, by the numbers of their sets."""
    before = len(room.made)
    for number, one in enumerate(samples):
        for placed in one.ingresses:
            room.need(space(one, number, placed.space), placed.space, services(placed.thing))
    if len(room.made) > before:
        # As in a case: what annotations name has to be known before.
        Event().wait(play.KNOWN_SECONDS)
    refused: dict[int, RefusedError] = {}
    for wave in range(WAVES):
        due = [
            (number, one, placed)
            for number, one in enumerate(samples)
            for placed in one.ingresses
            if placed.wave == wave
        ]
        for number, one, placed in due:
            thing = named(placed.thing, hosts[number])
            thing["metadata"]["name"] = f"s{number:03}-{thing['metadata']['name']}"
            path = f"/apis/networking.k8s.io/v1/namespaces/{space(one, number, placed.space)}/ingresses"
            try:
                room.bench.cluster.request("POST", path, thing)
            except RefusedError as error:
                refused.setdefault(number, error)
        if due and wave + 1 < WAVES:
            Event().wait(1.05 - time.time() % 1)
    return refused


def space(one: Sample, number: int, which: int) -> str:
    return f"any-{number}-{which}" if has_canary(one) else f"any-{which}"


def asked(bench: Bench, samples: Sequence[Sample], hosts: Sequence[str]) -> Iterator[Finding]:
    """What is different; what is not told is asked again in the end, for it may have been a matter of time."""
    again = []
    for one, host in zip(samples, hosts, strict=True):
        for ask in one.asks:
            finding = finding_of(bench, one, ask, host)
            if finding is not None and not finding.where:
                again.append((one, ask, host))
            elif finding is not None:
                yield finding
    if again:
        Event().wait(play.TRY_SECONDS)
    for one, ask, host in again:
        finding = finding_of(bench, one, ask, host)
        if finding is not None:
            yield finding


def finding_of(bench: Bench, one: Sample, ask: Ask, host: str) -> Finding | None:
    sent = Ask(
        ask.target,
        host=named(ask.host, host),
        fields=ask.fields,
        secure=ask.secure,
        server_name=named(ask.server_name, host),
    )
    case = Case(one.name, (), ())
    reference, ours = BOTH.map(lambda who: play.outcome(bench, case, sent, who, {}), bench.controllers())
    different = compared(reference, ours, host)
    if not different:
        return None
    return Finding(one, ask, different, told_samples.told(one, ask, reference, ours, different))


def compared(reference: Outcome, ours: Outcome, host: str) -> tuple[Difference, ...]:
    """What is different of what counts, with HOST for the host."""
    return tuple(
        Difference(one.what, one.reference.replace(host, "HOST"), one.ours.replace(host, "HOST"))
        for one in comparing.differences(reference, ours)
        if any(fnmatchcase(one.what, pattern) for pattern in COMPARED)
    )


def lines_of(finding: Finding) -> list[str]:
    """A finding as people read it."""
    lines = [f"DIFFERENT  {finding.sample.name}  {printable(finding.ask.name)}"]
    lines += [
        f"    {one.what}: ingress-nginx {one.reference!r}, ours {one.ours!r}" for one in finding.different
    ]
    for placed in finding.sample.ingresses:
        thing = placed.thing
        annotations: Mapping[str, str] = thing["metadata"]["annotations"]
        said = ", ".join(f"{key.partition('/')[2]}: {value}" for key, value in annotations.items())
        lines.append(
            f"    - {thing['metadata']['name']} second {placed.wave} namespace {placed.space} {{{said}}}"
        )
        spec = thing["spec"]
        for rule in spec.get("rules", ()):
            paths = ", ".join(
                f"{path['pathType']}:{path['path']} -> {path['backend']['service']['name']}"
                f":{next(iter(path['backend']['service']['port'].values()))}"
                for path in rule.get("http", {}).get("paths", ())
            )
            lines.append(f"        {rule.get('host', '(no host)')}: {paths}")
        if "defaultBackend" in spec:
            lines.append(f"        default: {spec['defaultBackend']['service']['name']}")
        if "tls" in spec:
            lines.append(f"        tls: {spec['tls'][0]['hosts']}")
    return lines
