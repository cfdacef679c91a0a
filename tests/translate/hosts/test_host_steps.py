"""A host that hundreds of objects ask for is decided about in steps, each of which looks closely at few of them."""

from typing import Any

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.objects import ClusterObject, ConfigMap, ObjectKey
from ingress.model.cluster.problems import Reason
from ingress.model.text.lookup_budget import MAX_RUN
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.objects import (
    Ingress,
    IngressBackend,
    IngressPath,
    IngressRule,
    IngressTLS,
    ServicePortReference,
)
from ingress.translate.self_check import differences
from tests.fakes.counting import longest_step
from tests.translate.following import NOW, SERVICE, SLICE, Follower, batch
from tests.translate.test_properties import PREFIX

FEW, MANY = 200, 600
_CLOSED = "access_by_lua_block { deny }"
BACKEND = IngressBackend("web", ServicePortReference(number=80))


def ingress(number: int, namespace: str = "demo", host: str = "a.test", **annotations: str) -> Ingress:
    """An Ingress for a path of its own; annotations have no prefix, and ``_`` for ``-``."""
    return Ingress(
        ObjectKey(namespace, f"i{number}"),
        created=f"2026-01-01T00:00:{number % 60:02}Z",
        class_name="nginx",
        annotations={f"{PREFIX}/{name.replace('_', '-')}": value for name, value in annotations.items()},
        rules=(IngressRule(host, (IngressPath(f"/{number}", "Prefix", BACKEND),)),),
    )


def default(number: int) -> Ingress:
    """An Ingress with nothing but a default backend."""
    return evolve(ingress(number), rules=(), default_backend=BACKEND)


def following(*objects: ClusterObject) -> tuple[Follower, int]:
    """Translate *objects*, and then that the last one of them is another; return how many calls the longest step took."""
    follower = Follower(TranslateOptions(), [SERVICE, SLICE, *objects])
    first = longest_step(follower.translation.round(follower.store.state(), NOW))
    *_, last = objects
    assert isinstance(last, Ingress)
    changed = evolve(last, annotations={**last.annotations, f"{PREFIX}/proxy-read-timeout": "7"})
    follower.change(batch(changed))
    return follower, max(first, longest_step(follower.translation.round(follower.store.state(), NOW)))


class Weighing(dict[str, str]):
    """Content that counts how many of its entries are taken."""

    taken = 0

    def items(self) -> Any:
        """Yield the entries."""
        for one in super().items():
            self.taken += 1
            yield one


class HostStepTests(SynchronousTestCase):
    """One host, or none at all."""

    def longest(self, *objects: ClusterObject) -> int:
        """Return the calls of the longest step, of what is right."""
        follower, found = following(*objects)
        self.assertEqual(differences(follower.settle(), follower.expected()), ())
        return found

    def test_default_backends(self) -> None:
        """Each but the oldest of many default backends is told that it is none, in as many steps as that takes."""
        self.assertLess(self.longest(*map(default, range(MANY))), 8000)

    def test_snippets_of_a_host(self) -> None:
        """So is each but the oldest of many server-snippets, and whose paths one stands before."""
        some = [
            ingress(one, f"n{one % 50}", server_snippet="deny all;" if one < MANY // 2 else "")
            for one in range(MANY)
        ]
        self.assertLess(self.longest(*some), 8000)

    def test_aliases(self) -> None:
        """So is each but the oldest of many that ask for the same alias; whose it is is found without telling them."""
        count = 4 * MANY
        some = [ingress(one, host=f"h{one}.test", server_alias="www.test") for one in range(count)]
        # To bring them in the order of their age takes some calls for each.
        self.assertLess(self.longest(*some), 7 * count)

    def test_many_hosts(self) -> None:
        """So it is with one that has thousands of hosts, each with a Secret: what it asks for is noted some at a time."""
        count = 10 * MANY
        default_secret = ObjectKey("demo", "default")
        rules = tuple(IngressRule(f"h{number}.test", ingress(0).rules[0].paths) for number in range(count))
        tls = tuple(IngressTLS((f"H{number}.test",), f"s{number}") for number in range(count))
        follower = Follower(TranslateOptions(default_ssl_certificate=default_secret), [SERVICE, SLICE])
        follower.settle()
        for one in (evolve(ingress(0), rules=rules), evolve(ingress(0), tls=tls)):
            for changed in (one, evolve(one, annotations={f"{PREFIX}/proxy-read-timeout": "7"})):
                follower.change(batch(changed))
                found = longest_step(follower.translation.round(follower.store.state(), NOW))
                self.assertLess(found, 2 * count, changed.rules[0].host)

    def test_guards(self) -> None:
        """That the paths of others are closed by guards that are not honored takes no longer the more guards there are."""

        def guarded(guards: int) -> list[ClusterObject]:
            return [
                *(ingress(one, "z-guards", server_snippet=_CLOSED) for one in range(guards)),
                *(ingress(one, "others") for one in range(100)),
            ]

        follower, many = following(*guarded(MANY))
        told = [one for one in follower.settle().problems if one.reason is Reason.UNSUPPORTED_ANNOTATION]
        self.assertEqual(sum(one.namespace == "others" for one in told), 100)
        self.assertLess(many, 8000)

    def test_expressions_out_of_reach(self) -> None:
        """Who has expressions that no request gets to is told by the first of them, and how many more there are."""
        paths = tuple(
            IngressPath(f"/.{one:05}", "ImplementationSpecific", BACKEND) for one in range(MAX_RUN + 2)
        )
        many = evolve(ingress(0, use_regex="true"), rules=(IngressRule("a.test", paths),))
        follower, _ = following(
            many, evolve(ingress(1, use_regex="true"), rules=(IngressRule("b.test", paths[3:]),))
        )
        (told,) = [one for one in follower.settle().problems if one.reason is Reason.TOO_MANY_EXPRESSIONS]
        # Of texts of one length the later one is asked first.
        self.assertEqual((told.name, told.field), ("i0", "spec.rules[0].http.paths[0].path"))
        self.assertEqual(
            told.message,
            'path "/.00000" of host a.test and 1 more path of this Ingress: too many regular expressions that begin alike are asked'
            " before, of which one request is compared with 3000 at the most; requests that none of these takes are answered 414",
        )
        self.assertEqual(differences(follower.settle(), follower.expected()), ())

    def test_filters(self) -> None:
        """Routes with many filters are made some at a time."""
        fields = ConfigMap(ObjectKey("demo", "fields"), {f"X-{one}": "x" for one in range(60)})
        some = [
            ingress(
                one, custom_headers="demo/fields", auth_url=f"http://a.example.com/{one}", enable_cors="true"
            )
            for one in range(FEW)
        ]
        self.assertLess(self.longest(fields, *some), 20_000)

    def test_annotations(self) -> None:
        """Thousands of annotations are read some at a time, and what is perhaps meant by those that there are not is looked for one by one."""
        many = ingress(0, **{f"proxy-buffer-sise-{one}": "x" for one in range(8 * MANY)})
        # To look for one of them alone takes more than forty thousand calls.
        self.assertLess(self.longest(many), 60_000)

    def test_one_host_of_thousands(self) -> None:
        """Thousands that name one host, or are canaries of it, are brought in the order of their age in steps."""
        whole = ingress(0)
        canaries = [
            evolve(ingress(one, canary="true", canary_weight="1"), rules=whole.rules)
            for one in range(1, 4 * MANY)
        ]
        for some in ([ingress(one) for one in range(4 * MANY)], [*canaries, whole]):
            self.assertLess(self.longest(*some), 10_000)

    def test_many_entries(self) -> None:
        """A ConfigMap of tens of thousands of fields, of which some are read, takes no longer than one of hundreds."""
        for annotation, name in (
            ({"custom_headers": "demo/many"}, "X-{}"),
            ({"backend_protocol": "FCGI", "fastcgi_params_configmap": "demo/many"}, "X_{}"),
        ):
            steps = []
            for count in (300, 30_000):
                content = {name.format(one): "x" for one in range(100_000, 100_000 + count)}
                some = Weighing(content)
                follower = Follower(
                    TranslateOptions(),
                    [SERVICE, SLICE, ConfigMap(ObjectKey("demo", "many"), some), ingress(0, **annotation)],
                )
                follower.settle()
                steps.append(some.taken)
            self.assertEqual(steps[0], steps[1])

    def test_hosts_of_tls(self) -> None:
        """Thousands of hosts that are in no rule, but in ``spec.tls``, are collected in steps for a route of all hosts."""
        hosts = tuple(f"h{one}.n{one % 100}.test" for one in range(5_000))
        listed = evolve(default(0), tls=(IngressTLS(hosts, ""),))
        self.assertLess(self.longest(listed), 8000)
