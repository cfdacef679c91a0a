"""What a large Ingress costs: twice as much when it is twice as large, and little at a time; counted in calls."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.objects import Kind, ObjectKey
from ingress.model.frozen import frozen
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.objects import Ingress, IngressPath, IngressRule, IngressTLS
from tests.fakes.counting import calls
from tests.translate.following import BACKEND, SERVICE, SLICE, Follower, batch

PREFIX = TranslateOptions().annotations_prefix
MOST = 2.2
"""How much more the double may cost: some of it is a sort, and tables grow."""
PATH_REWRITES = {"rewrite-target": "/$name"}
Make = Callable[[int], Ingress]


def on_one_host(path: Callable[[int], str], annotations: Mapping[str, str] | None = None) -> Make:
    """Return what makes an Ingress with so many paths of one host."""

    def made(count: int) -> Ingress:
        paths = (IngressPath(path(number), "ImplementationSpecific", BACKEND) for number in range(count))
        return ingress([IngressRule("a.test", tuple(paths))], annotations or {})

    return made


def on_many_hosts(path: str, annotations: Mapping[str, str] | None = None, *, over_tls: bool = False) -> Make:
    """Return what makes an Ingress with one path on each of so many hosts."""

    def made(count: int) -> Ingress:
        hosts = [f"h{number}.test" for number in range(count)]
        rules = (IngressRule(host, (IngressPath(path, "ImplementationSpecific", BACKEND),)) for host in hosts)
        tls = tuple(IngressTLS((host,), host) for host in hosts) if over_tls else ()
        return evolve(ingress(rules, annotations or {}), tls=tls)

    return made


def ingress(rules: Iterable[IngressRule], annotations: Mapping[str, str]) -> Ingress:
    named = {f"{PREFIX}/{name}": value for name, value in annotations.items()}
    return Ingress(ObjectKey("demo", "large"), class_name="nginx", annotations=named, rules=tuple(rules))


CASES: Mapping[str, Make] = {
    "paths": on_one_host("/{}".format),
    "expressions": on_one_host("/{}/(.*)".format, {"use-regex": "true"}),
    "named groups": on_one_host("/{}/(?<name>.*)".format, PATH_REWRITES),
    "expressions that are none": on_one_host("/{}/(.*".format, PATH_REWRITES),
    "one path": on_one_host(lambda _: "/same"),
    "canary": on_one_host("/{}".format, {"canary": "true", "canary-weight": "10"}),
    "hosts": on_many_hosts("/"),
    "hosts over TLS": on_many_hosts("/", over_tls=True),
    "hosts with expressions": on_many_hosts("/(?<name>.*)", PATH_REWRITES),
    "hosts with others": on_many_hosts("/", {"from-to-www-redirect": "true"}),
    "canary on hosts": on_many_hosts("/", {"canary": "true", "canary-weight": "10"}),
}


@frozen
class Work:
    """How many calls a round takes in all, and its longest step."""

    calls: int
    longest: int


def asked_by_one(path: Callable[[int], str], count: int) -> Work:
    """Return what it takes when the oldest of *count* Ingresses of one host, each with one path, asks for expressions."""
    rules = [
        IngressRule("h.test", (IngressPath(path(number), "Prefix", BACKEND),)) for number in range(count)
    ]
    many = [evolve(ingress((rule,), {}), key=ObjectKey("demo", f"i{at}")) for at, rule in enumerate(rules)]
    follower = Follower(TranslateOptions(), [SERVICE, SLICE, *many])
    follower.settle()
    follower.change(batch(evolve(many[0], annotations={f"{PREFIX}/use-regex": "true"})))
    taken = steps(follower)
    return Work(sum(taken), max(taken))


def steps(follower: Follower) -> list[int]:
    """Have *follower* end its round; return how many calls each step takes, but for the first."""
    follower.work(1)
    taken = []
    while follower.round is not None:
        taken.append(calls(partial(follower.work, 1)))
    return taken


SOME = 250
"""Paths or hosts that take many steps; with a hundred, some of these grow yet, as they hold all that there is."""
IN_A_STEP = {
    "expressions": 8,
    "named groups": 8,
    "expressions that are none": 8,
    "paths": 4,
    "hosts with others": 4,
}
"""Calls for each path or host that the longest step may take besides."""
WAYS = ("came", "changed", "went")


class GrowthTests(SynchronousTestCase):
    """Nothing is done for each path, host or entry with all of the others."""

    def test_calls(self) -> None:
        """When an Ingress comes, changes or goes, one twice as large takes twice as many calls."""
        for name, make in CASES.items():
            self.costs(make(10))
            few, many = self.costs(make(50)), self.costs(make(100))
            for what, one, other in zip(WAYS, few, many, strict=True):
                self.assertLess(other, MOST * one, f"{name} {what}: {one} and {other} calls")

    def test_steps(self) -> None:
        """Each path or host more adds little to the longest step: what takes long is done in several."""
        for name, make in CASES.items():
            self.longest(make(10))
            few, many = self.longest(make(SOME)), self.longest(make(2 * SOME))
            for what, one, other in zip(WAYS, few, many, strict=True):
                each = (other - one) / SOME
                self.assertLess(each, IN_A_STEP.get(name, 3), f"{name} {what}: {each} calls for each more")

    def test_expressions_of_many(self) -> None:
        """Where one of many Ingresses of a host makes expressions of all their paths, that is done in steps, and for each by itself."""
        for path in ("/{}".format, lambda _: "/same"):
            few, many = (asked_by_one(path, count) for count in (200, 400))
            self.assertLess(many.calls, MOST * few.calls, f"{few} and {many}")
            each = (many.longest - few.longest) / 200
            self.assertLess(each, 4, f"{few} and {many}: {each} calls for each more")

    def longest(self, one: Ingress) -> list[int]:
        """Return how many calls the longest step takes when *one* comes, changes, and goes."""
        return self.in_all_ways(one, lambda follower: max(steps(follower), default=0))

    def costs(self, one: Ingress) -> list[int]:
        """Return how many calls it takes that *one* comes, changes, and goes."""
        return self.in_all_ways(one, lambda follower: calls(follower.settle))

    def in_all_ways(self, one: Ingress, settle: Callable[[Follower], int]) -> list[int]:
        """Have *one* come, change, and go; return what *settle* finds each time."""
        follower = Follower(TranslateOptions(), [SERVICE, SLICE])
        follower.settle()
        changed = evolve(one, annotations={**one.annotations, f"{PREFIX}/proxy-read-timeout": "7"})
        found = []
        for value in (one, changed, None):
            follower.change({(Kind.INGRESS, one.key): None} if value is None else batch(value))
            found.append(settle(follower))
            follower.settle()
        return found
