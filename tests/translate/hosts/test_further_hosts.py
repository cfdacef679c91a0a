"""Further hosts: aliases and redirects between a host and its ``www.`` one."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.annotations import AnnotationReader
from ingress.annotations.contract.values import ValueRefused
from ingress.annotations.hosts.further_hosts import MAX_ALIASES, Aliases, HostRedirect, parse_aliases
from ingress.filters import FilterSpec
from ingress.identity.certificates import Certificate
from ingress.model.cluster.objects import ClusterObject, ObjectId, ObjectKey
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.stepwise import finished, known
from ingress.translate.caches.alias_budget_cache import AliasBudgetCache
from ingress.translate.claims import ParsedObject
from ingress.translate.hosts import alias_budgets, further_hosts
from ingress.translate.hosts.further_hosts import hear
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.objects import Ingress, IngressRule, IngressTLS
from ingress.translate.readers.ingress.rules import read_ingress
from ingress.translate.snapshot import Snapshot
from tests.annotations.served_case import ServedCase
from tests.fakes.counting import calls, longest_step
from tests.fakes.filter_parts import FakeFacts
from tests.proxy.playing import OK
from tests.translate.following import Follower, batch, gone, tls_secret
from tests.translate.tls.test_client_authentication import ingress

SHARED = TranslateOptions(shared_hosts=True)


def of_namespace(one: Ingress, namespace: str) -> Ingress:
    """Return *one* in another namespace."""
    return evolve(one, key=ObjectKey(namespace, one.key.name))


def snapshot(*objects: ClusterObject, options: TranslateOptions = TranslateOptions()) -> Snapshot:  # noqa: B008 - it is frozen
    """Translate *objects*."""
    return Follower(options, list(objects)).expected()


def with_paths(one: Ingress, count: int) -> Ingress:
    """Return *one* with so many paths for its host."""
    (rule,) = one.rules
    assert rule.paths is not None
    (path,) = rule.paths
    return evolve(
        one,
        rules=(IngressRule(rule.host, tuple(evolve(path, path=f"/{number}") for number in range(count))),),
    )


def routes(found: Snapshot) -> dict[tuple[str, str], tuple[FilterSpec, ...]]:
    """Return the filters of routes, by host and path."""
    return {(route.host, route.path): route.filters for route in found.table.routes}


def told(found: Snapshot) -> list[Problem]:
    """Return what is told but for Services, of which there are none."""
    return [one for one in found.problems if one.reason is not Reason.SERVICE_NOT_FOUND]


def shown(found: Snapshot) -> Mapping[str, tuple[Certificate, ...]]:
    """Return the certificates of hosts."""
    return dict(found.certificates.exact)


class ParseTests(SynchronousTestCase):
    """What may stand there."""

    def test_aliases(self) -> None:
        """Hosts, each once, in lower case; regular expressions are put aside."""
        self.assertEqual(
            parse_aliases(" A.test, b.test,,a.test , ~^x"), Aliases(("a.test", "b.test"), ("~^x",))
        )

    def test_refused(self) -> None:
        """No host, expressions alone, and more than can be served, are refused, however long the text is."""
        many = ",".join(f"{number}.test" for number in range(MAX_ALIASES + 1))
        for text in (
            "",
            " , ",
            "~^(.+)\\.test$",
            many,
            ",".join(f"{n}.test" for n in range(5000)),
            "a" * 262144,
            "," * 262144,
        ):
            self.assertRaises(ValueRefused, parse_aliases, text)


class AliasTests(SynchronousTestCase):
    """``server-alias``."""

    def test_routes(self) -> None:
        """An alias has all routes of the host, those of other Ingresses of the namespace as well."""
        found = snapshot(
            ingress(
                "a", "/", host="a.test", server_alias="b.test, c.test", cors_max_age="1", enable_cors="true"
            ),
            ingress("more", "/api", host="a.test"),
        )
        have = routes(found)
        for host in ("b.test", "c.test"):
            self.assertEqual(have[host, "/"], have["a.test", "/"])
            self.assertEqual(have[host, "/api"], have["a.test", "/api"])
        self.assertEqual((len(have), told(found)), (6, []))

    def test_first_host(self) -> None:
        """With several hosts, it is that of the first."""
        one = ingress("a", "/a", host="a.test", server_alias="c.test")
        one = evolve(one, rules=(*one.rules, IngressRule("b.test", one.rules[0].paths)))
        self.assertEqual(set(routes(snapshot(one))), {("a.test", "/a"), ("b.test", "/a"), ("c.test", "/a")})

    def test_rules_win(self) -> None:
        """A rule for the very host takes it away if it is of the namespace, or older, or hosts are shared; that is a note."""
        rule = ingress("younger", "/own", host="b.test")
        older = evolve(of_namespace(rule, "other"), created="2019-01-01T00:00:00Z")
        for other, options in (
            (rule, TranslateOptions()),
            (older, TranslateOptions()),
            (of_namespace(rule, "other"), SHARED),
        ):
            found = snapshot(ingress("a", "/", host="a.test", server_alias="b.test"), other, options=options)
            self.assertEqual(set(routes(found)), {("a.test", "/"), ("b.test", "/own")})
            (problem,) = told(found)
            self.assertTrue(problem.is_note)
            self.assertIn(f"in Ingress {other.key}", problem.message)

    def test_a_younger_stranger(self) -> None:
        """No younger Ingress of another namespace takes an alias away; it may have paths there, as on any host."""
        stranger = evolve(
            of_namespace(ingress("younger", "/", "/own", host="b.test"), "other"),
            tls=(IngressTLS(("b.test",), "theirs"),),
        )
        found = snapshot(ingress("a", "/", host="a.test", server_alias="b.test"), stranger)
        owners = {(one.host, one.path): one.owner.key.namespace for one in found.table.routes if one.owner}
        self.assertEqual(
            owners, {("a.test", "/"): "demo", ("b.test", "/"): "demo", ("b.test", "/own"): "other"}
        )
        self.assertEqual(
            {one.reason for one in told(found)},
            {Reason.PATH_CONFLICT, Reason.HOST_CONFLICT, Reason.SECRET_NOT_FOUND},
        )
        self.assertEqual({one.name for one in told(found)}, {"younger"})

    def test_other_namespaces(self) -> None:
        """Paths of other namespaces on the host are not those of the alias, unless hosts are shared."""
        objects = (
            ingress("a", "/", host="a.test", server_alias="b.test"),
            of_namespace(ingress("stranger", "/api", host="a.test"), "other"),
        )
        self.assertNotIn(("b.test", "/api"), routes(snapshot(*objects)))
        self.assertIn(("b.test", "/api"), routes(snapshot(*objects, options=SHARED)))

    def test_oldest(self) -> None:
        """Of several that ask for it the oldest has it; who asks for the same in the same namespace is not told."""
        first = ingress("a", "/", host="a.test", server_alias="z.test")
        same = ingress("bb", "/b", host="a.test", server_alias="z.test")
        another = ingress("ccc", "/", host="c.test", server_alias="z.test")
        stranger = of_namespace(ingress("dddd", "/", host="a.test", server_alias="z.test"), "other")
        found = snapshot(first, same, another, stranger)
        self.assertEqual({path for host, path in routes(found) if host == "z.test"}, {"/", "/b"})
        conflicts = [one.name for one in told(found) if one.reason is Reason.HOST_CONFLICT]
        self.assertEqual(sorted(conflicts), ["ccc", "dddd"])

    def test_what_is_no_host(self) -> None:
        """What is no host is told, and left out; so is an alias where no rule names a host."""
        found = snapshot(ingress("a", "/", host="a.test", server_alias="x y, ~^b, b.test, 1.2.3.4, a.test"))
        self.assertEqual(set(routes(found)), {("a.test", "/"), ("b.test", "/")})
        self.assertEqual([one.reason for one in told(found)], [Reason.INVALID_ANNOTATION] * 3)
        found = snapshot(ingress("a", "/", host="", server_alias="b.test"))
        self.assertEqual((set(routes(found)), [one.is_note for one in told(found)]), ({("", "/")}, [True]))

    def test_of_a_wildcard(self) -> None:
        """As of any host of the rules, like the domain beside all below it; a redirect goes to no wildcard."""
        found = snapshot(ingress("a", "/", host="*.a.test", server_alias="a.test"))
        self.assertEqual((set(routes(found)), told(found)), ({("*.a.test", "/"), ("a.test", "/")}, []))
        found = snapshot(
            ingress("a", "/", host="*.a.test", server_alias="a.test", from_to_www_redirect="true")
        )
        self.assertEqual(set(routes(found)), {("*.a.test", "/"), ("a.test", "/")})
        self.assertEqual(
            [(one.is_note, one.message.partition(":")[0]) for one in told(found)],
            [(True, "from-to-www-redirect")],
        )

    def test_of_several_hosts(self) -> None:
        """The first in the alphabet is the one whose routes it has, as in ingress-nginx, wherever that stands in the rules."""
        one = ingress("a", "/", host="c.test", server_alias="z.test")
        other = ingress("b", "/b", host="b.test")
        both = evolve(one, rules=(*one.rules, *other.rules))
        found = snapshot(both, ingress("cc", "/cc", host="b.test"), ingress("d", "/d", host="c.test"))
        self.assertEqual({path for host, path in routes(found) if host == "z.test"}, {"/b", "/cc"})

    def test_certificate(self) -> None:
        """It is shown the certificate of its host if that covers it, and redirects to HTTPS then; or its own, by ``tls``."""
        one = evolve(
            ingress("a", "/", host="a.test", server_alias="b.test, c.test"),
            tls=(IngressTLS(("a.test",), "wide"),),
        )
        found = snapshot(one, tls_secret("wide", "a.test", "b.test"))
        self.assertEqual(set(shown(found)), {"a.test", "b.test"})
        have = routes(found)
        self.assertEqual((bool(have["b.test", "/"]), bool(have["c.test", "/"])), (True, False))
        named = evolve(one, tls=(*one.tls, IngressTLS(("c.test",), "own")))
        found = snapshot(named, tls_secret("wide", "a.test", "b.test"), tls_secret("own", "c.test"))
        self.assertEqual(set(shown(found)), {"a.test", "b.test", "c.test"})

    def test_guard_of_the_host(self) -> None:
        """What keeps requests out of the host keeps them out of the alias."""
        found = snapshot(
            ingress("a", "/", host="a.test", server_alias="b.test", denylist_source_range="10.0.0.0/8")
        )
        have = routes(found)
        self.assertEqual(have["b.test", "/"], have["a.test", "/"])
        self.assertTrue(have["b.test", "/"])

    def test_canaries(self) -> None:
        """A canary of the host is one of the alias as well."""
        canary = ingress("canary", "/", host="a.test", canary="true", canary_by_header="x-new")
        found = snapshot(ingress("a", "/", host="a.test", server_alias="b.test"), canary)
        variants = {route.host: route.variants for route in found.table.routes}
        self.assertEqual((set(variants), bool(variants["b.test"])), ({"a.test", "b.test"}, True))
        self.assertEqual(told(found), [])

    def test_canaries_of_others(self) -> None:
        """As on the host, a canary of another namespace is none; it is told there, and not once more for each alias."""
        canary = ingress("canary", "/", host="a.test", canary="true", canary_by_header="x-new")
        one = ingress("a", "/", host="a.test", server_alias="b.test")
        found = snapshot(one, of_namespace(canary, "others"))
        self.assertEqual([route.variants for route in found.table.routes], [(), ()])
        self.assertEqual(len(told(found)), 1)

    def test_many_routes(self) -> None:
        """Aliases of one Ingress are served in its order, until there would be too many routes; others are told."""
        self.patch(further_hosts, "MOST_ALIASED", 40)
        one = with_paths(ingress("a", "/", host="a.test", server_alias="c.test, b.test, d.test"), 20)
        follower = Follower(TranslateOptions(), [one])
        self.assertEqual(self.hosts_of(follower), {"a.test", "b.test", "c.test"})
        (problem,) = told(follower.settle())
        self.assertIn("host d.test is left out", problem.message)
        self.assertEqual(problem.reason, Reason.INVALID_ANNOTATION)
        more = ingress("more", "/more", host="a.test")
        for change, hosts in (
            (batch(more), {"a.test", "c.test"}),
            (gone(more), {"a.test", "b.test", "c.test"}),
            (
                batch(of_namespace(ingress("canary", "/1", host="a.test", canary="true"), "others")),
                {"a.test", "b.test", "c.test"},
            ),
            (batch(ingress("canary", "/1", host="a.test", canary="true")), {"a.test", "c.test"}),
            (gone(ingress("canary", "/1")), {"a.test", "b.test", "c.test"}),
        ):
            follower.change(change)
            self.assertEqual(self.hosts_of(follower), hosts)

    def asking(self, number: int, paths: int = 20, namespace: str = "demo", aliases: int = 2) -> Ingress:
        """Return an Ingress that asks for aliases; those of higher numbers are younger."""
        names = ",".join(f"{letter}{number}.test" for letter in "abcdef"[:aliases])
        one = with_paths(ingress(f"i{number}", "/", host=f"h{number}.test", server_alias=names), paths)
        return evolve(of_namespace(one, namespace), created=f"2026-01-01T00:00:{number:02}Z")

    def test_many_routes_of_a_namespace(self) -> None:
        """Aliases of the youngest Ingresses are left out of a namespace that asks for too much, which is told; it is nothing to others."""
        for module in (alias_budgets, further_hosts):
            self.patch(module, "MOST_OF_NAMESPACE", 100)
        others = self.asking(9, namespace="others")
        follower = Follower(TranslateOptions(), [*map(self.asking, range(1, 5)), others])
        full = {"a1.test", "b1.test", "a2.test", "b2.test", "a9.test", "b9.test"}
        plain = {f"h{number}.test" for number in (1, 2, 3, 4, 9)}
        self.assertEqual(self.hosts_of(follower), {*plain, *full, "a3.test"})
        self.assertEqual(
            [one.message for one in told(follower.settle()) if "b3" in one.message],
            [
                "server-alias: host b3.test is left out, for with it the aliases of this Ingress would have more than 20 routes, which is"
                " what those of older Ingresses of the namespace leave of 100"
            ],
        )
        self.assertEqual({one.name for one in told(follower.settle())}, {"i3", "i4"})
        more = ingress("more", "/more", host="h1.test")
        for change, hosts in (
            (batch(more), full),
            (gone(more), full | {"a3.test"}),
            (batch(self.asking(1, paths=1)), full | {"a3.test", "b3.test"}),
            (batch(self.asking(1)), full | {"a3.test"}),
            (gone(self.asking(2)), full - {"a2.test", "b2.test"} | {"a3.test", "b3.test", "a4.test"}),
        ):
            follower.change(change)
            self.assertEqual(self.hosts_of(follower) - plain, hosts)

    def test_asked_for_by_several(self) -> None:
        """An alias that several Ingresses of a host ask for, as those of one chart do, is served once and counts once, for the oldest of them."""
        for module in (alias_budgets, further_hosts):
            self.patch(module, "MOST_OF_NAMESPACE", 100)
        several = [
            evolve(
                ingress(f"i{one}", f"/{one}", host="h.test", server_alias="a.test,b.test"),
                created=f"2026-01-01T00:00:0{one}Z",
            )
            for one in range(8)
        ]
        hosts = {"h.test", "a.test", "b.test"}
        follower = Follower(TranslateOptions(), [*several, self.asking(9)])
        # Twice 8 routes, and twice 20.
        self.assertEqual(self.hosts_of(follower), hosts | {"h9.test", "a9.test", "b9.test"})
        self.assertEqual(told(follower.settle()), [])
        follower.change(batch(self.asking(8, aliases=3)))
        full = {"h8.test", "a8.test", "b8.test", "c8.test"}
        self.assertEqual(self.hosts_of(follower), hosts | full | {"h9.test", "a9.test"})

    def test_budget_in_steps(self) -> None:
        """A change costs what it concerns, however many Ingresses of the namespace ask for aliases; where these are too much, all are looked at in steps."""
        one = self.asking(1, 1, aliases=6)
        many = [evolve(one, key=ObjectKey("demo", f"j{number}")) for number in range(600)]
        follower = Follower(TranslateOptions(), [*many])
        follower.settle()
        all_parsed: dict[ObjectId, ParsedObject] = vars(follower.translation)["_parsed"]
        cache = AliasBudgetCache(lambda namespace, host: 10, lambda host: all_parsed)
        for object_id, parsed in all_parsed.items():
            cache.object_changed(object_id, parsed)
        self.assertEqual(finished(cache.settle()), [])
        object_id, parsed = next(iter(all_parsed.items()))
        cache.object_changed(object_id, parsed)
        self.assertLess(calls(lambda: finished(cache.settle())), 200)
        self.patch(alias_budgets, "MOST_OF_NAMESPACE", 100)
        cache.object_changed(object_id, parsed)
        for _ in cache.hosts_changed(("h1.test",)):
            self.fail("there is no step for one")
        self.assertLess(longest_step(cache.settle()), 3000)

    def test_budgets_by_chance(self) -> None:
        """Whatever comes and goes, what is left of the budget of a namespace is as if all had come at once."""
        self.patch(alias_budgets, "MOST_OF_NAMESPACE", 12)
        self.patch(alias_budgets, "MOST_ALIASED", 8)
        self.patch(further_hosts, "MOST_ALIASED", 8)

        def several(names: str) -> Mapping[str, str]:
            return ingress("any", "/", server_alias=names).annotations

        for seed in range(8):
            chance = Random(seed)
            follower = Follower(TranslateOptions(shared_hosts=seed % 2 == 1), [])
            for _ in range(25):
                one = self.asking(
                    chance.randrange(5), chance.randrange(1, 4), chance.choice("ab"), chance.randrange(1, 4)
                )
                if chance.randrange(2):
                    # Several ask for the same, and have rules for one host.
                    rules = tuple(evolve(rule, host="h.test") for rule in one.rules)
                    names = ",".join(f"s{chance.randrange(5)}.test" for _ in range(3))
                    one = evolve(one, rules=rules, annotations=several(names))
                if not chance.randrange(3):
                    one = evolve(one, annotations={})
                follower.change(gone(one) if not chance.randrange(4) else batch(one))
                if chance.randrange(2):
                    self.hosts_of(follower)
            self.hosts_of(follower)

    def hosts_of(self, follower: Follower) -> set[str]:
        """Settle, and return the hosts that have routes; in a translation of everything they have the same ones."""
        found, expected = follower.settle(), follower.expected()
        self.assertEqual(set(found.problems), set(expected.problems))
        hosts = {route.host for route in found.table.routes}
        self.assertEqual({route.host for route in expected.table.routes}, hosts)
        return hosts

    def test_steps(self) -> None:
        """What an alias of thousands of paths has is found in steps, and who owns it without."""
        reading = AnnotationReader("nginx.ingress.kubernetes.io")
        one = with_paths(ingress("a", "/", host="a.test", server_alias="b.test"), 5000)
        parsed = finished(read_ingress(one, reading))

        def steps(*, is_whole: bool) -> int:
            heard = hear(
                "b.test",
                (),
                (parsed,),
                lambda _: known((parsed,)),
                lambda _: known(()),
                is_shared=False,
                is_whole=is_whole,
            )
            return sum(1 for _ in heard)

        self.assertEqual((steps(is_whole=True), steps(is_whole=False)), (10, 0))

    def test_without_http(self) -> None:
        """A redirect that needs no paths answers on an alias as well."""
        one = evolve(
            ingress("a", "/", permanent_redirect="https://z.test", server_alias="b.test"),
            rules=(IngressRule("a.test", None),),
        )
        found = snapshot(one)
        self.assertEqual((set(routes(found)), told(found)), ({("a.test", "/"), ("b.test", "/")}, []))


class WwwTests(SynchronousTestCase):
    """``from-to-www-redirect``."""

    def test_beside_an_alias(self) -> None:
        """A host that the Ingress names as an alias as well is redirected, as in ingress-nginx, which is told; its other aliases are served."""
        one = ingress("a", "/", host="a.test", from_to_www_redirect="true", server_alias="www.a.test,b.test")
        found = snapshot(one)
        by_host = routes(found)
        self.assertEqual([spec.name for spec in by_host["www.a.test", "/"]], ["host-redirect"])
        self.assertNotIn("host-redirect", [spec.name for spec in by_host["b.test", "/"]])
        (note,) = told(found)
        self.assertEqual(note.reason, Reason.ANNOTATION_NOTE)
        self.assertIn("www.a.test is sent to a.test", note.message)

    def test_both_ways(self) -> None:
        """Either host of a rule gets the other one sent to it."""
        for host, other in (("a.test", "www.a.test"), ("www.a.test", "a.test")):
            found = snapshot(ingress("a", "/app", host=host, from_to_www_redirect="true"))
            have = routes(found)
            self.assertEqual(set(have), {(host, "/app"), (other, "/")})
            self.assertEqual(have[other, "/"], (HostRedirect(host.encode()),))
            self.assertEqual(told(found), [])

    def test_rules_win(self) -> None:
        """A host that has a rule is not redirected: a note, be it in the same Ingress or in another one."""
        one = ingress("a", "/", host="a.test", from_to_www_redirect="true")
        both = evolve(one, rules=(*one.rules, IngressRule("www.a.test", one.rules[0].paths)))
        for objects in (
            (both,),
            (one, ingress("other", "/", host="www.a.test")),
        ):
            found = snapshot(*objects)
            self.assertEqual(set(routes(found)), {("a.test", "/"), ("www.a.test", "/")})
            self.assertEqual([one.is_note for one in told(found)], [True])

    def test_settings(self) -> None:
        """The status is the operator's, the slash that of the Ingress, and no other annotation holds there."""
        one = ingress(
            "a",
            "/",
            host="a.test",
            from_to_www_redirect="true",
            preserve_trailing_slash="true",
            enable_cors="true",
        )
        (spec,) = routes(snapshot(one))["www.a.test", "/"]
        self.assertEqual(spec, HostRedirect(b"a.test", 308, True))

    def test_certificate(self) -> None:
        """The redirected host is shown the certificate of the other one, where that covers it."""
        one = evolve(
            ingress("a", "/", host="a.test", from_to_www_redirect="true"), tls=(IngressTLS((), "tls"),)
        )
        for names in (("a.test", "www.a.test"), ("a.test",)):
            self.assertEqual(set(shown(snapshot(one, tls_secret("tls", *names)))), set(names))

    def test_judge(self) -> None:
        """Scheme, port and target stay; the slash at the end of a path goes, and nothing changes the host."""
        spec = HostRedirect(b"a.test", 301)
        for target, authority, found in (
            (b"/b/?c=/", b"www.a.test:8080", b"https://a.test:8080/b/?c=/"),
            (b"/b/", b"www.a.test", b"https://a.test/b"),
            (b"/", b"", b"https://a.test"),
            (b"//evil.test/x", b"www.a.test", b"https://a.test//evil.test/x"),
            (b"@evil.test", b"www.a.test:x", b"https://a.test"),
            (b"*", b"[::1]", b"https://a.test"),
        ):
            reply = spec.judge(FakeFacts(scheme=b"https", target=target, fields={b"host": authority}))
            assert reply is not None
            self.assertEqual((reply.status, dict(reply.fields)[b"Location"]), (301, found))


class FollowedTests(SynchronousTestCase):
    """That further hosts follow what changes around them."""

    def check(self, follower: Follower, expected: set[tuple[str, str]]) -> None:
        """Settle, and compare with what there is to be, and with a translation of everything."""
        found = follower.settle()
        self.assertEqual(set(routes(found)), expected)
        self.assertEqual(set(routes(follower.expected())), expected)
        self.assertEqual(set(found.problems), set(follower.expected().problems))

    def test_history(self) -> None:
        """Rules, siblings and annotations that come and go are seen on the alias."""
        one = ingress("a", "/", host="a.test", server_alias="b.test")
        sibling = ingress("more", "/api", host="a.test")
        rule = ingress("younger", "/own", host="b.test")
        follower = Follower(TranslateOptions(), [one])
        host = {("a.test", "/")}
        self.check(follower, host | {("b.test", "/")})
        follower.change(batch(sibling))
        self.check(follower, host | {("a.test", "/api"), ("b.test", "/"), ("b.test", "/api")})
        follower.change(batch(rule))
        self.check(follower, host | {("a.test", "/api"), ("b.test", "/own")})
        follower.change(gone(sibling))
        follower.change(gone(rule))
        self.check(follower, host | {("b.test", "/")})
        follower.change(batch(evolve(one, annotations={})))
        self.check(follower, host)
        follower.change(gone(one))
        self.check(follower, set())


class ServedTests(ServedCase):
    """In the proxy, over HTTP/1.1."""

    def test_alias(self) -> None:
        """A request for an alias gets to the endpoint, as the host that was asked for."""
        self.annotate(server_alias="b.test")
        client = self.stage.open()
        client.say(b"GET /x HTTP/1.1\r\nHost: B.test\r\n\r\n")
        self.assertIn(b"\r\nHost: B.test\r\n", self.upstream().received)
        self.upstream().say(OK)
        self.assert_status(client.take(), 200)

    def test_www(self) -> None:
        """A request for the other host is redirected, with its method, and reaches no endpoint."""
        self.serve(ingress("web", "/app", host="a.test", from_to_www_redirect="true"))
        for method in (b"GET", b"POST", b"HEAD"):
            client = self.stage.open()
            client.say(method + b" /x?y HTTP/1.1\r\nHost: www.a.test\r\n\r\n")
            answer = client.take()
            self.assert_status(answer, 308)
            self.assertIn(b"\r\nLocation: http://a.test/x?y\r\n", answer)
        self.assert_upstreams(0)
