"""Sets by chance for the comparison with ingress-nginx: what they are made of, and how they are made smaller."""

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

from twisted.trial.unittest import SynchronousTestCase

from conformance.cluster import Object, RefusedError
from conformance.ingress_nginx import samples, sampling, shrinking
from conformance.ingress_nginx.case import PREFIX, Ask, backend_of
from conformance.ingress_nginx.sampling import Placed, Sample

SETS = 400


def paths_of(one: Sample) -> list[tuple[str, Object]]:
    """Each path with its host."""
    return [
        (rule.get("host", ""), path)
        for placed in one.ingresses
        for rule in placed.thing["spec"].get("rules", ())
        for path in rule.get("http", {}).get("paths", ())
    ]


class SamplingTests(SynchronousTestCase):
    """Sets by chance."""

    def setUp(self) -> None:
        self.samples = [sampling.sample(1, number, 2) for number in range(SETS)]

    def test_same_seed_makes_the_same(self) -> None:
        """So that what was found can be looked at again; another seed makes others."""
        self.assertEqual(sampling.sample(1, 7, 2), self.samples[7])
        self.assertNotEqual(sampling.sample(2, 7, 2).ingresses, self.samples[7].ingresses)

    def test_hosts_that_nobody_names_are_for_the_first_of_a_batch(self) -> None:
        """All others would be disturbed."""
        for number, one in enumerate(self.samples):
            self.assertTrue(not one.alone or number % sampling.BATCH == 0, one.name)
        self.assertTrue(any(one.alone for one in self.samples))

    def test_no_default_backend_stands_beside_a_rule_for_all_hosts(self) -> None:
        """It would answer for hosts of the other sets that nobody names."""
        sets = [sampling.sample(1, number * sampling.BATCH) for number in range(100)]
        specs = [placed.thing["spec"] for one in sets for placed in one.ingresses]
        for_all = [spec for spec in specs if any("host" not in rule for rule in spec.get("rules", ()))]
        self.assertGreater(len(for_all), 20)
        for spec in for_all:
            self.assertNotIn("defaultBackend", spec)

    def test_no_relative_redirect_is_for_all_hosts(self) -> None:
        """Redirects of hosts of the other sets would be so, of which nobody of theirs has said a word."""
        sets = [sampling.sample(1, number * sampling.BATCH) for number in range(100)]
        asking = [
            placed.thing
            for one in sets
            for placed in one.ingresses
            if f"{PREFIX}relative-redirects" in placed.thing["metadata"]["annotations"]
        ]
        self.assertTrue(asking)
        self.assertFalse(any(map(sampling.is_for_all, asking)))

    def test_no_escape_is_for_all_hosts(self) -> None:
        """Nor is a path with an escape in it, which hosts of the other sets may ask for."""
        sets = [sampling.sample(1, number * sampling.BATCH) for number in range(100)]
        found = [path["path"] for one in sets for host, path in paths_of(one) if not host]
        self.assertGreater(len(found), 20)
        self.assertFalse([path for path in found if "%" in path])

    def test_no_exact_root_is_for_all_hosts(self) -> None:
        """Beside expressions it would answer for hosts of the other sets that nobody names."""
        sets = [sampling.sample(1, number * sampling.BATCH) for number in range(300)]
        rules = [
            rule for one in sets for placed in one.ingresses for rule in placed.thing["spec"].get("rules", ())
        ]
        types = [
            path["pathType"]
            for rule in rules
            for path in rule.get("http", {}).get("paths", ())
            if "host" not in rule and path["path"] == "/"
        ]
        self.assertGreater(len(types), 10)
        self.assertEqual(set(types), {"Prefix"})

    def test_second_namespace_is_for_who_asks_for_it(self) -> None:
        """One namespace is what there is without a word."""
        self.assertEqual(
            {placed.space for number in range(50) for placed in sampling.sample(1, number).ingresses}, {0}
        )
        self.assertEqual({placed.space for one in self.samples for placed in one.ingresses}, {0, 1})

    def test_nginx_takes_all_of_it(self) -> None:
        """It refuses a whole configuration for a path of type Prefix with a slash and without, and for types that are mixed."""
        for one in self.samples:
            prefixes: dict[str, set[str]] = {}
            kinds: dict[tuple[str, str], list[str]] = {}
            for host, path in paths_of(one):
                text = path["path"]
                if path["pathType"] != "Exact" and text in sampling.PATHS:
                    prefixes.setdefault(text.rstrip("/"), set()).add(text)
                kinds.setdefault((host, text), []).append(
                    "Exact" if path["pathType"] == "Exact" else "Prefix"
                )
            self.assertEqual(
                [found for base, found in prefixes.items() if base and len(found) > 1], [], one.name
            )
            for (_, text), found in kinds.items():
                mixed = len(set(found)) > 1
                self.assertFalse(mixed and text != "/" and len(found) > 2, (one.name, text, found))
                self.assertFalse(text == "/" and found.count("Exact") > 1, (one.name, found))

    def test_no_wildcard_has_www(self) -> None:
        """``www.*.a`` is a name that nginx refuses."""
        for one in self.samples:
            for placed in one.ingresses:
                if f"{PREFIX}from-to-www-redirect" in placed.thing["metadata"]["annotations"]:
                    hosts = [rule.get("host", "") for rule in placed.thing["spec"]["rules"]]
                    self.assertFalse(any(host.startswith("*") for host in hosts), one.name)

    def test_canaries_have_services_of_their_own(self) -> None:
        """And a path each: ingress-nginx ends where a rule of a canary has none."""
        seen = 0
        for one in self.samples:
            services = [path["backend"]["service"]["name"] for _, path in paths_of(one)]
            for placed in one.ingresses:
                if f"{PREFIX}canary" in placed.thing["metadata"]["annotations"]:
                    seen += 1
                    ((_, path),) = paths_of(Sample("", (placed,), ()))
                    service = path["backend"]["service"]["name"]
                    self.assertIn(service, sampling.CANARIES)
                    self.assertEqual(services.count(service), 1)
        self.assertGreater(seen, 20)

    def test_requests_are_ascii_and_paths(self) -> None:
        """All can be sent as they stand."""
        for one in self.samples:
            self.assertTrue(one.asks)
            for ask in one.asks:
                self.assertTrue(
                    ask.target.startswith("/") and ask.target.isascii() and " " not in ask.target, ask
                )

    def test_host_stands_for_that_of_the_set(self) -> None:
        """In all that an Ingress says, and in nothing else."""
        thing = {"a": ["x.HOST", {"b.HOST": 1}], "c": ("HOST",), "d": True}
        self.assertEqual(
            sampling.named(thing, "n.test"), {"a": ["x.n.test", {"b.HOST": 1}], "c": ("n.test",), "d": True}
        )


def thing(name: str, *paths: str, **annotations: str) -> Placed:
    found = [{"path": path, "pathType": "Prefix", "backend": backend_of("a")} for path in paths]
    return Placed(
        sampling.ingress(name, annotations, {"rules": [{"host": "HOST", "http": {"paths": found}}]})
    )


def texts(one: Sample) -> list[str]:
    return [path["path"] for _, path in paths_of(one)]


class RefusingCluster:
    """An API server that takes no Ingress of one host."""

    def __init__(self, host: str) -> None:
        self.host = host
        self.made: list[str] = []

    def request(self, method: str, path: str, body: Object) -> None:
        if body["spec"]["rules"][0]["host"] == self.host:
            raise RefusedError(422, "is no host")
        self.made.append(f"{method} {path} {body['metadata']['name']}")


class LayingTests(SynchronousTestCase):
    """The Ingresses of several sets."""

    def test_those_of_other_sets_are_made(self) -> None:
        """Whatever the API server refuses; what it said is for the set whose it is."""
        cluster = RefusingCluster("n2.test")
        room = samples.Spaces(cast(Any, SimpleNamespace(cluster=cluster)))
        # What these need is there already, and all are made in the last second, so that nothing waits.
        room.made |= {("any-0", ""), ("any-0", "a")}
        sets = [Sample(name, (replace(thing("x", "/"), wave=sampling.WAVES - 1),), ()) for name in "abc"]
        refused = samples.lay(room, sets, ["n1.test", "n2.test", "n3.test"])
        self.assertEqual({number: str(error) for number, error in refused.items()}, {1: "422: is no host"})
        path = "/apis/networking.k8s.io/v1/namespaces/any-0/ingresses"
        self.assertEqual(cluster.made, [f"POST {path} s000-x", f"POST {path} s002-x"])


class ShrinkingTests(SynchronousTestCase):
    """Fewer objects."""

    def setUp(self) -> None:
        self.sample = Sample(
            "s",
            (
                thing("a", "/1", "/2", "/3", x="1", y="2"),
                thing("b", "/4", z="3"),
                thing("c", "/5", "/6"),
                thing("d", "/7"),
            ),
            (Ask("/"),),
        )

    def test_what_is_needed_is_left(self) -> None:
        """A path of one Ingress and an annotation and a path of another."""

        def fails(one: Sample) -> bool:
            keys = [key for placed in one.ingresses for key in placed.thing["metadata"]["annotations"]]
            return "/2" in texts(one) and "/6" in texts(one) and f"{PREFIX}y" in keys

        (small,) = shrinking.shrink([self.sample], lambda samples: [fails(one) for one in samples])
        self.assertEqual(texts(small), ["/2", "/6"])
        self.assertEqual([placed.thing["metadata"]["name"] for placed in small.ingresses], ["a", "c"])
        self.assertEqual(small.ingresses[0].thing["metadata"]["annotations"], {f"{PREFIX}y": "2"})

    def test_every_ingress_keeps_an_annotation(self) -> None:
        """One without any is served by the API alone, and shows other things."""
        (small,) = shrinking.shrink([self.sample], lambda samples: ["/2" in texts(one) for one in samples])
        self.assertEqual(texts(small), ["/2"])
        self.assertEqual(small.ingresses[0].thing["metadata"]["annotations"], shrinking.neutral())

    def test_several_are_made_smaller_at_once(self) -> None:
        """Each by itself, in as many attempts as one alone takes."""
        attempts = []

        def fail(samples: Sequence[Sample]) -> list[bool]:
            attempts.append(len(samples))
            return ["/5" in texts(one) if one.name == "s" else "/7" in texts(one) for one in samples]

        other = Sample("t", self.sample.ingresses, self.sample.asks)
        small = shrinking.shrink([self.sample, other], fail)
        self.assertEqual([texts(one) for one in small], [["/5"], ["/7"]])
        self.assertLessEqual(len(attempts), 4)

    def test_what_shows_nothing_smaller_stays(self) -> None:
        """And the set that was given is not changed on the way."""
        (small,) = shrinking.shrink([self.sample], lambda samples: [False] * len(samples))
        self.assertEqual(small, self.sample)

    def test_attempts_have_a_bound(self) -> None:
        """Whatever fails."""
        attempts = []

        def fail(samples: Sequence[Sample]) -> list[bool]:
            attempts.append(samples)
            return [shrinking.size(one) == shrinking.size(self.sample) - len(attempts) for one in samples]

        shrinking.shrink([self.sample], fail, rounds=3)
        self.assertEqual(len(attempts), 3)

    def test_something_is_always_left(self) -> None:
        """A set without any Ingress shows nothing."""
        for gone in shrinking.UnderWay(self.sample).candidates():
            self.assertTrue(shrinking.without(self.sample, gone).ingresses)
