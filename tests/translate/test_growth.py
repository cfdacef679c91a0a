"""What a large Ingress costs: twice as much when it is twice as large, counted in calls."""

from collections.abc import Callable, Iterable, Mapping

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.objects import Kind, ObjectKey
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.objects import Ingress, IngressPath, IngressRule, IngressTLS
from tests.fakes.counting import calls
from tests.translate.following import BACKEND, SERVICE, SLICE, Follower, batch

PREFIX = TranslateOptions().annotations_prefix
MOST = 2.2
"""How much more the double may cost: some of it is a sort, and tables grow."""
REGEXES = {"rewrite-target": "/$name"}
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
    "named groups": on_one_host("/{}/(?<name>.*)".format, REGEXES),
    "expressions that are none": on_one_host("/{}/(.*".format, REGEXES),
    "one path": on_one_host(lambda _: "/same"),
    "canary": on_one_host("/{}".format, {"canary": "true", "canary-weight": "10"}),
    "hosts": on_many_hosts("/"),
    "hosts over TLS": on_many_hosts("/", over_tls=True),
    "hosts with expressions": on_many_hosts("/(?<name>.*)", REGEXES),
    "hosts with others": on_many_hosts("/", {"from-to-www-redirect": "true"}),
    "canary on hosts": on_many_hosts("/", {"canary": "true", "canary-weight": "10"}),
}


class GrowthTests(SynchronousTestCase):
    """Nothing is done for each path, host or entry with all of the others."""

    def test_calls(self) -> None:
        """When an Ingress comes, changes or goes, one twice as large takes twice as many calls."""
        for name, make in CASES.items():
            self.costs(make(10))
            few, many = self.costs(make(100)), self.costs(make(200))
            for what, one, other in zip(("came", "changed", "went"), few, many, strict=True):
                self.assertLess(other, MOST * one, f"{name} {what}: {one} and {other} calls")

    def costs(self, one: Ingress) -> list[int]:
        """Return how many calls it takes that *one* comes, changes, and goes."""
        follower = Follower(TranslateOptions(), [SERVICE, SLICE])
        follower.settle()
        changed = evolve(one, annotations={**one.annotations, f"{PREFIX}/proxy-read-timeout": "7"})

        def settle(value: Ingress | None) -> int:
            follower.change({(Kind.INGRESS, one.key): None} if value is None else batch(value))
            return calls(follower.settle)

        return [settle(value) for value in (one, changed, None)]
