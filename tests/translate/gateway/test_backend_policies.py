"""What BackendTLSPolicies ask of TLS to endpoints, and what they are told."""

import random

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.objects import (
    ClusterObject,
    ConfigMap,
    EndpointSlice,
    Kind,
    ObjectKey,
    Secret,
    Service,
    ServicePort,
    SlicePort,
)
from ingress.model.cluster.problems import Reason
from ingress.model.cluster.state import ClusterState
from ingress.model.upstream.backends import BackendReference, BackendState
from ingress.model.upstream.upstream_tls import (
    BY_POLICY,
    ByPolicy,
    LinkSettings,
    PeerName,
    PeerNameType,
    UpstreamTls,
)
from ingress.translate.caches.backend_cache import BackendCache
from ingress.translate.caches.bookkeeping import ProblemIndex
from ingress.translate.endpoints.backends import resolve_backends
from ingress.translate.gateway.backend_policies import (
    catch_up,
    claims_of,
    policy_for,
    policy_problems,
    services_of,
)
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.gateway.objects.names import BACKEND_TLS_POLICY, UNREADABLE, ObjectReference
from ingress.translate.readers.gateway.objects.policies import AlternativeName, BackendTLSPolicy, PolicyTarget
from tests.fakes.certificates import issue, make_authority
from tests.fakes.counting import calls, longest_step

OURS, OTHERS = make_authority("Ours"), make_authority("Others")
OPTIONS = TranslateOptions()
OLD, YOUNG = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"
CA = ObjectReference("", "ConfigMap", "", "ca")
TARGET = "spec.targetRefs[0]"
AUTHORITIES = "spec.validation.caCertificateRefs"


def key(name: str) -> ObjectKey:
    """A key."""
    return ObjectKey("web", name)


def service(name: str = "app", *ports: ServicePort) -> Service:
    """A Service with two ports."""
    return Service(key(name), ports=ports or (ServicePort("one", 443), ServicePort("two", 8443)))


def endpoints(name: str = "app") -> EndpointSlice:
    """Where it runs."""
    return EndpointSlice(
        key(f"{name}-1"),
        key(name),
        ports=(SlicePort("one", 443), SlicePort("two", 8443)),
        ready=("10.0.0.1",),
    )


def policy(
    name: str = "policy",
    target: str = "app",
    section: str = "",
    created: str = OLD,
    authorities: tuple[ObjectReference, ...] = (CA,),
    hostname: str = "app.test",
    well_known: str = "",
    names: tuple[AlternativeName, ...] = (),
    options: tuple[tuple[str, str], ...] = (),
) -> BackendTLSPolicy:
    """A policy for a Service or one of its ports."""
    targets = (PolicyTarget(ObjectReference("", "Service", "", target), section),)
    return BackendTLSPolicy(key(name), created, targets, authorities, well_known, hostname, names, options)


def config_map(name: str = "ca", pem: str = OURS.pem.decode()) -> ConfigMap:
    """Authorities."""
    return ConfigMap(key(name), {"ca.crt": pem})


def state(*values: ClusterObject) -> ClusterState:
    """A state of these, with the endpoints of ``app``."""
    objects: dict[Kind, dict[ObjectKey, ClusterObject]] = {Kind.CONFIG_MAP: {}, BACKEND_TLS_POLICY: {}}
    services: dict[ObjectKey, Service] = {}
    secrets: dict[ObjectKey, Secret] = {}
    for value in values:
        match value:
            case Service():
                services[value.key] = value
            case Secret():
                secrets[value.key] = value
            case ConfigMap():
                objects[Kind.CONFIG_MAP][value.key] = value
            case _:
                objects[BACKEND_TLS_POLICY][value.key] = value
    return ClusterState(objects, services, {key("app"): (endpoints(),)}, secrets)


def resolved(within: ClusterState, port: int = 443, protocol: ByPolicy = BY_POLICY) -> BackendState:
    """What becomes of a port of ``app``."""
    reference = BackendReference("web", "app", port, protocol=protocol)
    return resolve_backends([reference], within, OPTIONS)[reference]


class ProtocolTests(SynchronousTestCase):
    """How endpoints are spoken to."""

    def link(
        self, *values: ClusterObject, port: int = 443, protocol: ByPolicy = BY_POLICY
    ) -> LinkSettings | None:
        """What the one endpoint is to be spoken to by."""
        (endpoint,) = resolved(state(*values), port, protocol).endpoints
        return endpoint.link_settings

    def tls(self, *values: ClusterObject, port: int = 443, protocol: ByPolicy = BY_POLICY) -> UpstreamTls:
        """All settings of TLS to it."""
        link = self.link(*values, port=port, protocol=protocol)
        assert link is not None and link.tls is not None
        return link.tls

    def test_without_policy(self) -> None:
        """Without a policy it is as the Service says."""
        self.assertIsNone(self.link(service()))
        h2c = service("app", ServicePort("one", 443, app_protocol="kubernetes.io/h2c"))
        for link in (self.link(h2c), self.link(service(), protocol=ByPolicy(is_http2=True))):
            self.assertEqual(link, LinkSettings(is_http2=True))

    def test_policy(self) -> None:
        """With one it is over TLS: its hostname is sent and checked, by its authorities alone."""
        tls = self.tls(service(), policy(hostname="App.test"), config_map())
        settings = tls.tls_settings
        self.assertEqual((settings.name, settings.send_name, settings.verify), ("app.test", True, True))
        self.assertEqual((tls.ca_pem, tls.chain_pem), (OURS.pem, b""))

    def test_http2(self) -> None:
        """HTTP/2 stays HTTP/2, over TLS."""
        link = self.link(service(), policy(), config_map(), protocol=ByPolicy(is_http2=True))
        assert link is not None
        self.assertTrue(link.is_http2 and link.tls is not None)

    def test_system(self) -> None:
        """With the authorities of the system none of ours count."""
        tls = self.tls(service(), policy(authorities=(), well_known="System"))
        self.assertEqual((tls.ca_pem, tls.tls_settings.verify), (b"", True))

    def test_several_authorities(self) -> None:
        """Authorities of several objects count together, as far as they can be used."""
        secret = Secret(key("more"), "Opaque", {"ca.crt": OTHERS.pem})
        named = (CA, ObjectReference("", "Secret", "", "more"), ObjectReference("", "ConfigMap", "", "gone"))
        self.assertEqual(
            self.tls(service(), policy(authorities=named), config_map(), secret).ca_pem, OURS.pem + OTHERS.pem
        )

    def test_peer_names(self) -> None:
        """Alternative names say for whom the certificate must be; what is sent stays the hostname."""
        identity = "spiffe://web/app"
        names = (AlternativeName("Hostname", "other.test"), AlternativeName("URI", identity))
        settings = self.tls(service(), policy(names=names), config_map()).tls_settings
        self.assertEqual(
            settings.peer_names,
            (PeerName(PeerNameType.HOSTNAME, "other.test"), PeerName(PeerNameType.URI, identity)),
        )
        self.assertEqual(settings.name, "app.test")

    def test_port(self) -> None:
        """A policy for one port comes before that for the Service, and holds for no other."""
        both = (policy("all"), policy("one", section="one", hostname="one.test", created=YOUNG))
        for port, name in ((443, "one.test"), (8443, "app.test")):
            self.assertEqual(self.tls(service(), *both, config_map(), port=port).tls_settings.name, name)
        self.assertIsNone(self.link(service(), both[1], config_map(), port=8443))

    def test_older(self) -> None:
        """Of two about the same the older counts, even if nothing can be sent by it."""
        young = policy("a", created=YOUNG, hostname="young.test")
        self.assertEqual(self.tls(service(), young, policy("b"), config_map()).tls_settings.name, "app.test")
        broken = policy("b", authorities=(ObjectReference("", "ConfigMap", "", "gone"),))
        self.assertEqual(resolved(state(service(), young, broken, config_map())).endpoints, ())

    def test_refused(self) -> None:
        """By a policy that makes no sense, or without its authorities, nothing is sent to anybody."""
        for bad in (
            policy(authorities=(ObjectReference("", "ConfigMap", "", "gone"),)),
            policy(authorities=(ObjectReference("invalid.io", "InvalidKind", "", "x"),)),
            policy(authorities=(ObjectReference("", "Service", "", "ca"),)),
            policy(authorities=()),
            policy(well_known="System"),
            policy(authorities=(), well_known="Mine"),
            policy(hostname=""),
            policy(hostname="*.test"),
            policy(hostname="10.0.0.1"),
            policy(hostname="a\nb"),
            policy(names=(AlternativeName("Email", "a@b"),)),
            policy(names=(AlternativeName("URI", "no uri"),)),
            policy(names=(AlternativeName("Hostname", ""), AlternativeName("Hostname", "app.test"))),
            policy(authorities=(CA,) * 17),
            policy(options=(("example.com/x", "y"),)),
        ):
            found = resolved(state(service(), bad, config_map()))
            self.assertEqual(found.endpoints, (), bad)
            self.assertTrue(found.reason.isprintable(), found.reason)
        for text in ("", "Hello world"):
            self.assertEqual(resolved(state(service(), policy(), config_map(pem=text))).endpoints, ())

    def test_shown_certificate(self) -> None:
        """What a Gateway shows is shown where TLS is spoken; where it cannot be had, none is spoken."""
        chain, private = issue(OURS, ["gate"], is_client=True)
        shown = Secret(key("mine"), "kubernetes.io/tls", {"tls.crt": chain, "tls.key": private})
        asked = ByPolicy(certificate=shown.key)
        self.assertEqual(self.tls(service(), policy(), config_map(), shown, protocol=asked).chain_pem, chain)
        self.assertIsNone(self.link(service(), protocol=asked))
        for within in (state(service(), policy(), config_map()),):
            found = resolved(within, protocol=asked)
            self.assertEqual(
                (found.endpoints, found.reason), ((), "there is no Secret web/mine that holds a certificate")
            )
        found = resolved(state(service(), policy(), config_map()), protocol=ByPolicy(fault="not permitted"))
        self.assertEqual((found.endpoints, found.reason), ((), "not permitted"))


class ProblemTests(SynchronousTestCase):
    """What policies are told."""

    def told(self, one: BackendTLSPolicy, *values: ClusterObject) -> list[tuple[Reason, str]]:
        """Reasons and fields."""
        return [(found.reason, found.field) for found in policy_problems(one, state(one, *values))]

    def test_none(self) -> None:
        """A policy that is fine is told nothing."""
        self.assertEqual(self.told(policy(section="one"), service(), config_map()), [])
        self.assertEqual(self.told(policy(authorities=(), well_known="System"), service()), [])

    def test_targets(self) -> None:
        """Targets that are not there are told, and those that are no Services."""
        self.assertEqual(self.told(policy(), config_map()), [(Reason.TARGET_NOT_FOUND, TARGET)])
        self.assertEqual(
            self.told(policy(section="three"), service(), config_map()),
            [(Reason.TARGET_NOT_FOUND, f"{TARGET}.sectionName")],
        )
        import_ = PolicyTarget(ObjectReference("multicluster.x-k8s.io", "ServiceImport", "", "app"))
        strange = evolve(policy(), targets=(import_, PolicyTarget(UNREADABLE)))
        self.assertEqual(self.told(strange, config_map()), [(Reason.TARGET_NOT_FOUND, TARGET)])
        self.assertEqual(services_of(strange), {})

    def test_conflicts(self) -> None:
        """The younger of two about the same is told, and nobody whose ports differ."""
        young, old = policy("a", created=YOUNG), policy("b")
        both = (service(), config_map())
        self.assertEqual(self.told(young, old, *both), [(Reason.POLICY_CONFLICTED, TARGET)])
        self.assertEqual(self.told(old, young, *both), [])
        self.assertEqual(self.told(young, evolve(old, created=YOUNG), *both), [])
        ports = policy("a", section="one", created=YOUNG), policy("b", section="one")
        self.assertEqual(self.told(ports[0], ports[1], *both), [(Reason.POLICY_CONFLICTED, TARGET)])
        for beside in (policy("b", section="two"), old):
            self.assertEqual(self.told(ports[0], beside, *both), [])

    def test_authorities(self) -> None:
        """What is wrong with authorities is told where they are named, and that none is left."""
        kind = policy(authorities=(ObjectReference("invalid.io", "InvalidKind", "", "x"),))
        self.assertEqual(
            self.told(kind, service()),
            [(Reason.INVALID_KIND, f"{AUTHORITIES}[0]"), (Reason.NO_VALID_CA, AUTHORITIES)],
        )
        for broken in ((), (config_map(pem=""),), (config_map(pem="x"),)):
            self.assertEqual(
                self.told(policy(), service(), *broken),
                [(Reason.INVALID_CA_REF, f"{AUTHORITIES}[0]"), (Reason.NO_VALID_CA, AUTHORITIES)],
            )
        some = policy(authorities=(ObjectReference("", "ConfigMap", "", "gone"), CA))
        self.assertEqual(
            self.told(some, service(), config_map()), [(Reason.INVALID_CA_REF, f"{AUTHORITIES}[0]")]
        )

    def test_senseless(self) -> None:
        """Whatever else makes no sense is told where it stands."""
        for bad, field in (
            (policy(hostname="*.test"), "spec.validation.hostname"),
            (policy(authorities=()), "spec.validation"),
            (policy(well_known="System"), "spec.validation.wellKnownCACertificates"),
            (policy(names=(AlternativeName("Email", "a@b"),)), "spec.validation.subjectAltNames[0]"),
            (policy(options=(("example.com/x", "y"),)), "spec.options"),
        ):
            found = self.told(bad, service(), config_map())
            self.assertEqual(found, [(Reason.UNSUPPORTED_VALUE, field)])


class CacheTests(SynchronousTestCase):
    """Backends by policies, kept up to date."""

    def test_winners(self) -> None:
        """Whatever policies come and go, those count that count where all are looked at anew."""
        chance = random.Random(7)
        policies: dict[ObjectKey, ClusterObject] = {}
        followed = ClusterState({BACKEND_TLS_POLICY: policies})
        for _ in range(300):
            one = policy(
                chance.choice("abcd"), chance.choice(("app", "gone")), created=chance.choice((OLD, YOUNG))
            )
            more = PolicyTarget(ObjectReference("", "Service", "", chance.choice(("app", "other"))), "")
            for _ in range(chance.randrange(3)):
                if chance.random() < 0.7:
                    policies[one.key] = evolve(one, targets=(*one.targets, more))
                else:
                    policies.pop(one.key, None)
                one = evolve(one, key=key(chance.choice("abcd")))
            if chance.random() < 0.5:
                followed.derived.changed(BACKEND_TLS_POLICY)
            else:
                for name in "abcd":
                    followed.derived.changed(BACKEND_TLS_POLICY, key(name))
            anew = ClusterState({BACKEND_TLS_POLICY: dict(policies)})
            for name in ("app", "gone", "other"):
                self.assertEqual(policy_for(key(name), "", followed), policy_for(key(name), "", anew))
                about = {*claims_of(followed).about(key(name))} if policies else set()
                self.assertEqual(about, {*claims_of(anew).about(key(name))} if policies else set())

    def test_one_of_many(self) -> None:
        """When one policy is another, nobody looks at what all the others are about."""
        policies: dict[ObjectKey, ClusterObject] = {
            key(f"p{number}"): policy(f"p{number}", f"s{number}") for number in range(500)
        }
        followed = ClusterState({BACKEND_TLS_POLICY: policies})
        policy_for(key("s7"), "", followed)
        policies[key("p7")] = other = policy("p7", "s8", created="2025-01-01T00:00:00Z")
        followed.derived.changed(BACKEND_TLS_POLICY, key("p7"))
        self.assertLess(calls(lambda: policy_for(key("s7"), "", followed)), 100)
        self.assertIsNone(policy_for(key("s7"), "", followed))
        self.assertIs(policy_for(key("s8"), "", followed), other)

    def test_steps(self) -> None:
        """However many are others, and be they of one Service, a step looks at few of them."""
        found = []
        for count in (500, 2000):
            policies: dict[ObjectKey, ClusterObject] = {}
            followed = ClusterState({BACKEND_TLS_POLICY: policies})
            longest = 0
            for name in ("app", "other"):
                for number in range(count):
                    policies[key(f"p{number}")] = policy(f"p{number}", name)
                    followed.derived.changed(BACKEND_TLS_POLICY, key(f"p{number}"))
                longest = max(longest, longest_step(catch_up(followed)))
            found.append(longest)
            self.assertIs(policy_for(key("other"), "", followed), policies[key("p0")])
        few, many = found
        self.assertLess(many, 1.3 * few)

    def test_random_histories(self) -> None:
        """Whatever of policies, Services and authorities comes and goes, backends are as they are found at once."""
        chance = random.Random(4)
        references = [
            BackendReference("web", name, port, protocol=protocol)
            for name in ("app", "gone")
            for port in (443, 8443)
            for protocol in (BY_POLICY, ByPolicy(certificate=key("mine")))
        ]
        chain, private = issue(OURS, ["gate"], is_client=True)
        mine = Secret(key("mine"), "kubernetes.io/tls", {"tls.crt": chain, "tls.key": private})
        for _ in range(5):
            values: dict[tuple[type, ObjectKey], ClusterObject] = {}
            cache = BackendCache(OPTIONS, ProblemIndex())
            for reference in references:
                cache.use(reference, state())
            for _ in range(40):
                value: ClusterObject = chance.choice(
                    (
                        service(),
                        service("app", ServicePort("two", 443)),
                        mine,
                        config_map(),
                        config_map(pem="x"),
                        config_map("more", OTHERS.pem.decode()),
                        policy("a", section=chance.choice(("", "one"))),
                        policy("b", created=YOUNG, hostname="young.test"),
                        policy("b", target="gone"),
                        policy("a", authorities=(CA, ObjectReference("", "ConfigMap", "", "more"))),
                    )
                )
                at = type(value), value.key
                before = values.pop(at, None)
                if chance.random() < 0.7:
                    values[at] = value
                for one in (before, value):
                    if isinstance(one, BackendTLSPolicy):
                        for named in services_of(one):
                            cache.service_changed(named)
                if isinstance(value, Service):
                    cache.service_changed(value.key)
                elif isinstance(value, Secret | ConfigMap):
                    kind = Kind.SECRET if isinstance(value, Secret) else Kind.CONFIG_MAP
                    cache.source_changed((kind, value.key))
                within = state(*values.values())
                for _ in cache.resolve(within):
                    pass
                cache.finish()
                self.assertEqual(dict(cache.current), resolve_backends(references, within, OPTIONS))
            for reference in references:
                cache.drop(reference)
            for _ in cache.resolve(state()):
                pass
            self.assertEqual((cache._tls, list(cache._requests), cache._sources), ({}, [], {}))
