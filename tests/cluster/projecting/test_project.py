"""Raw objects become values; what cannot be read costs as little as it safely can."""

import base64
import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.kinds import KINDS
from ingress.cluster.projecting.project import project
from ingress.model.objects import (
    EndpointSlice,
    Kind,
    ObjectKey,
    Projection,
    Secret,
    Service,
    ServicePort,
    SlicePort,
)
from ingress.model.problems import Problem, Reason
from ingress.translate.readers.ingress.objects import (
    Ingress,
    IngressBackend,
    IngressClass,
    IngressPath,
    IngressRule,
    IngressTLS,
    ServicePortReference,
)

PREFIX = "nginx.ingress.kubernetes.io"

CERTIFICATE = base64.b64encode(b"certificate").decode()

GOOD: dict[Kind, dict[str, Any]] = {
    Kind.INGRESS: {
        "metadata": {
            "name": "shop",
            "namespace": "web",
            "creationTimestamp": "2026-01-02T03:04:05Z",
            "annotations": {
                f"{PREFIX}/ssl-redirect": "false",
                "kubernetes.io/ingress.class": "old",
                "example.com/other": "x",
            },
        },
        "spec": {
            "ingressClassName": "nginx",
            "defaultBackend": {"service": {"name": "rest", "port": {"number": 80}}},
            "rules": [
                {
                    "host": "shop.example.com",
                    "http": {
                        "paths": [
                            {
                                "path": "/cart",
                                "pathType": "Prefix",
                                "backend": {"service": {"name": "cart", "port": {"name": "http"}}},
                            },
                            {
                                "path": "/files",
                                "pathType": "Exact",
                                "backend": {
                                    "resource": {"apiGroup": "k8s.example.com", "kind": "Bucket", "name": "b"}
                                },
                            },
                        ]
                    },
                },
                {"host": "bare.example.com"},
            ],
            "tls": [{"hosts": ["shop.example.com"], "secretName": "shop-tls"}],
        },
        "status": {"loadBalancer": {}},
    },
    Kind.INGRESS_CLASS: {
        "metadata": {
            "name": "nginx",
            "annotations": {"ingressclass.kubernetes.io/is-default-class": "true"},
        },
        "spec": {"controller": "k8s.io/ingress-nginx"},
    },
    Kind.SERVICE: {
        "metadata": {"name": "cart", "namespace": "web"},
        "spec": {
            "type": "ClusterIP",
            "clusterIP": "10.0.0.1",
            "clusterIPs": ["10.0.0.1", "fd00::1"],
            "ports": [
                {"name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP", "appProtocol": "http"},
                {"name": "grpc", "port": 81, "targetPort": "grpc", "appProtocol": "kubernetes.io/h2c"},
            ],
        },
    },
    Kind.ENDPOINT_SLICE: {
        "metadata": {
            "name": "cart-abc",
            "namespace": "web",
            "labels": {"kubernetes.io/service-name": "cart"},
        },
        "addressType": "IPv4",
        "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
        "endpoints": [
            {"addresses": ["10.1.0.1"], "conditions": {"ready": True, "serving": True, "terminating": False}}
        ],
    },
    Kind.SECRET: {
        "metadata": {"name": "shop-tls", "namespace": "web"},
        "type": "kubernetes.io/tls",
        "data": {"tls.crt": CERTIFICATE, "tls.key": CERTIFICATE, "ca.crt": CERTIFICATE},
    },
}


def good(kind: Kind) -> dict[str, Any]:
    """A copy of a well-formed object, to be changed."""
    return copy.deepcopy(GOOD[kind])


def projected(kind: Kind, raw: object) -> Projection:
    """The projection alone."""
    return project(KINDS[kind], raw, PREFIX)[1]


def faults(projection: Projection) -> dict[str, str]:
    """Messages by field."""
    return {problem.field: problem.message for problem in projection.problems}


def ingress(raw: object) -> Ingress:
    """The value of a raw Ingress that must have one."""
    value = projected(Kind.INGRESS, raw).value
    assert isinstance(value, Ingress)
    return value


class IngressTests(SynchronousTestCase):
    """Ingresses written as ``networking.k8s.io/v1``."""

    def test_whole(self) -> None:
        """Everything that routing needs is kept as written, and nothing else."""
        key, projection = project(KINDS[Kind.INGRESS], good(Kind.INGRESS), PREFIX)
        self.assertEqual(key, ObjectKey("web", "shop"))
        cart = IngressBackend("cart", ServicePortReference(name="http"))
        bucket = IngressBackend(resource_kind="Bucket.k8s.example.com", resource_name="b")
        expected = Ingress(
            key=ObjectKey("web", "shop"),
            created="2026-01-02T03:04:05Z",
            class_name="nginx",
            annotations={f"{PREFIX}/ssl-redirect": "false", "kubernetes.io/ingress.class": "old"},
            default_backend=IngressBackend("rest", ServicePortReference(number=80)),
            rules=(
                IngressRule(
                    "shop.example.com",
                    (IngressPath("/cart", "Prefix", cart), IngressPath("/files", "Exact", bucket)),
                ),
                IngressRule("bare.example.com", None),
            ),
            tls=(IngressTLS(("shop.example.com",), "shop-tls"),),
        )
        self.assertEqual(projection, Projection(expected))

    def test_status_does_not_matter(self) -> None:
        """Two versions that differ in status and managed fields alone give equal projections."""
        touched = good(Kind.INGRESS)
        touched["status"] = {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}
        touched["metadata"].update(resourceVersion="7", managedFields=[{"manager": "x"}], generation=2)
        self.assertEqual(projected(Kind.INGRESS, touched), projected(Kind.INGRESS, good(Kind.INGRESS)))

    def test_null_lists(self) -> None:
        """Null lists and absent ones are empty lists, without a problem."""
        raw = good(Kind.INGRESS)
        raw["spec"].update(rules=None, tls=None)
        projection = projected(Kind.INGRESS, raw)
        self.assertEqual((ingress(raw).rules, ingress(raw).tls, projection.problems), ((), (), ()))

    def test_no_spec(self) -> None:
        """An Ingress whose spec is null, missing, text or a list counts as absent, and says why."""
        specs: tuple[object, ...] = (None, [], "x", 5, {})
        for spec in specs:
            raw = good(Kind.INGRESS)
            raw["spec"] = spec
            key, projection = project(KINDS[Kind.INGRESS], raw, PREFIX)
            self.assertEqual(key, ObjectKey("web", "shop"))
            self.assertIsNone(projection.value)
            self.assertEqual([problem.field for problem in projection.problems], ["spec"])
            self.assertEqual(projection.problems[0].reason, Reason.MALFORMED_OBJECT)

    def test_malformed_path_entry(self) -> None:
        """A path entry that is no object, or has a path that is no text, is lost alone."""
        raw = good(Kind.INGRESS)
        paths = raw["spec"]["rules"][0]["http"]["paths"]
        paths.append("/text")
        paths.append({"path": 5, "pathType": "Prefix"})
        paths.append({"path": "/nul\x00", "pathType": "Prefix"})
        paths.append({"path": "/x", "pathType": ["Prefix"]})
        paths.append({"path": "/" + "x" * 4096, "pathType": "Prefix"})
        kept = ingress(raw).rules[0].paths
        self.assertEqual([path.path for path in kept or ()], ["/cart", "/files"])
        at = "spec.rules[0].http.paths"
        self.assertEqual(
            faults(projected(Kind.INGRESS, raw)),
            {
                f"{at}[2]": "must be an object, but is text",
                f"{at}[3].path": "must be text, but is a number",
                f"{at}[4].path": "holds control or other unprintable characters",
                f"{at}[5].pathType": "must be text, but is a list",
                f"{at}[6].path": "is longer than 4096 characters",
            },
        )

    def test_lost_paths_leave_a_rule_with_http(self) -> None:
        """A rule that loses all its paths never looks like one without ``http``."""
        variants: tuple[object, ...] = ({"paths": ["x"]}, {"paths": "x"}, {"paths": None}, {}, "x", [])
        for http in variants:
            raw = good(Kind.INGRESS)
            raw["spec"]["rules"] = [{"host": "a.example.com", "http": http}]
            self.assertEqual(ingress(raw).rules, (IngressRule("a.example.com", ()),), http)

    def test_unreadable_host(self) -> None:
        """A rule whose host is no text is dropped: without a host it would take every host."""
        raw = good(Kind.INGRESS)
        raw["spec"]["rules"][0]["host"] = ["a.example.com"]
        self.assertEqual([rule.host for rule in ingress(raw).rules], ["bare.example.com"])
        self.assertEqual(list(faults(projected(Kind.INGRESS, raw))), ["spec.rules[0].host"])

    def test_hosts_as_written(self) -> None:
        """Odd hosts and paths are kept as written: others judge them."""
        raw = good(Kind.INGRESS)
        raw["spec"]["rules"] = [
            {"host": "UPPER.example.com", "http": {"paths": [{"path": "x"}]}},
            {"host": None},
            {"host": "*"},
        ]
        projection = projected(Kind.INGRESS, raw)
        expected = (
            IngressRule("UPPER.example.com", (IngressPath("x", "", None),)),
            IngressRule("", None),
            IngressRule("*", None),
        )
        self.assertEqual(ingress(raw).rules, expected)
        self.assertEqual(projection.problems, ())

    def test_unreadable_backend(self) -> None:
        """A path whose backend cannot be read stays, so that no shorter path serves in its stead."""
        at = "spec.rules[0].http.paths[0].backend"
        for backend, field in (
            ("cart", at),
            ({"service": "cart"}, f"{at}.service"),
            ({"service": {"name": 5}}, f"{at}.service.name"),
            ({"service": {"name": "cart", "port": 80}}, f"{at}.service.port"),
            ({"service": {"name": "cart", "port": {"number": "80"}}}, f"{at}.service.port.number"),
            ({"service": {"name": "cart", "port": {"number": True}}}, f"{at}.service.port.number"),
            ({"service": {"name": "cart", "port": {"number": 80.0}}}, f"{at}.service.port.number"),
            ({"service": {"name": "cart", "port": {"number": 2**31}}}, f"{at}.service.port.number"),
            ({"service": {"name": "cart", "port": {"number": 10**5000}}}, f"{at}.service.port.number"),
            ({"resource": 5}, f"{at}.resource"),
            ({"serviceName": "cart", "servicePort": 80}, f"{at}.serviceName"),
        ):
            raw = good(Kind.INGRESS)
            raw["spec"]["rules"][0]["http"]["paths"][0]["backend"] = backend
            paths = ingress(raw).rules[0].paths or ()
            self.assertEqual([path.path for path in paths], ["/cart", "/files"])
            self.assertEqual(list(faults(projected(Kind.INGRESS, raw))), [field])

    def test_unreadable_class(self) -> None:
        """An Ingress whose class cannot be read is nobody's, as no class may mean the default one."""
        raw = good(Kind.INGRESS)
        raw["spec"]["ingressClassName"] = 5
        projection = projected(Kind.INGRESS, raw)
        self.assertIsNone(projection.value)
        self.assertEqual(list(faults(projection)), ["spec.ingressClassName"])
        raw = good(Kind.INGRESS)
        raw["metadata"]["annotations"]["kubernetes.io/ingress.class"] = True
        projection = projected(Kind.INGRESS, raw)
        self.assertIsNone(projection.value)
        self.assertEqual(list(faults(projection)), ["metadata.annotations[kubernetes.io/ingress.class]"])

    def test_annotations(self) -> None:
        """Annotations may hold lines of text, but neither NUL nor endless text nor other types."""
        raw = good(Kind.INGRESS)
        raw["metadata"]["annotations"] = {
            f"{PREFIX}/a": "one\n\ttwo",
            f"{PREFIX}/b": "nul\x00",
            f"{PREFIX}/c": True,
            f"{PREFIX}/d": "x" * (64 * 1024 + 1),
            f"{PREFIX}/e": "\ud800",
            f"{PREFIX}/f\x1b": "x",
            f"{PREFIX}x/f": True,
            PREFIX: 5,
        }
        projection = projected(Kind.INGRESS, raw)
        self.assertEqual(ingress(raw).annotations, {f"{PREFIX}/a": "one\n\ttwo"})
        self.assertEqual(
            faults(projection),
            {
                f"metadata.annotations[{PREFIX}/b]": "holds control characters",
                f"metadata.annotations[{PREFIX}/c]": "must be text; write the value in quotes",
                f"metadata.annotations[{PREFIX}/d]": "is longer than 65536 characters",
                f"metadata.annotations[{PREFIX}/e]": "holds control characters",
                f"metadata.annotations['{PREFIX}/f\\x1b']": "has unprintable characters in its name",
            },
        )
        self.assertEqual({problem.reason for problem in projection.problems}, {Reason.INVALID_ANNOTATION})

    def test_other_prefix(self) -> None:
        """The annotations kept follow the prefix asked for."""
        raw = good(Kind.INGRESS)
        value = project(KINDS[Kind.INGRESS], raw, "example.com")[1].value
        assert isinstance(value, Ingress)
        self.assertEqual(value.annotations, {"example.com/other": "x", "kubernetes.io/ingress.class": "old"})

    def test_tls_hosts(self) -> None:
        """A host that cannot be read is lost alone; an entry that loses all of them is dropped."""
        raw = good(Kind.INGRESS)
        raw["spec"]["tls"] = [
            {"hosts": ["a.example.com", 5], "secretName": "a"},
            {"hosts": [5], "secretName": "b"},
            {"hosts": "c.example.com", "secretName": "c"},
            {"hosts": None, "secretName": "d"},
            {"hosts": ["e.example.com"], "secretName": 5},
            "f",
        ]
        expected = (
            IngressTLS(("a.example.com",), "a"),
            IngressTLS((), "d"),
            IngressTLS(("e.example.com",), ""),
        )
        self.assertEqual(ingress(raw).tls, expected)
        fields = ["tls[0].hosts[1]", "tls[1].hosts[0]", "tls[2].hosts", "tls[4].secretName", "tls[5]"]
        found = faults(projected(Kind.INGRESS, raw))
        self.assertEqual(sorted(found), sorted(f"spec.{field}" for field in fields))

    def test_times(self) -> None:
        """A creation time that would not sort is left out; null is no time, and no problem."""
        for time, problems in ((None, 0), ("yesterday", 1), ("2026-01-02T03:04:05+02:00", 1), (5, 1)):
            raw = good(Kind.INGRESS)
            raw["metadata"]["creationTimestamp"] = time
            self.assertEqual(ingress(raw).created, "")
            self.assertEqual(len(projected(Kind.INGRESS, raw).problems), problems, time)


class OldIngressTests(SynchronousTestCase):
    """Ingresses written as ``v1beta1``."""

    def test_spelling(self) -> None:
        """``serviceName``, ``servicePort`` and ``spec.backend`` are read, with one warning."""
        for version in ("extensions/v1beta1", "networking.k8s.io/v1beta1"):
            raw = {
                "apiVersion": version,
                "metadata": {"name": "old", "namespace": "web"},
                "spec": {
                    "backend": {"serviceName": "rest", "servicePort": "http"},
                    "rules": [
                        {
                            "http": {
                                "paths": [
                                    {"path": "/a", "backend": {"serviceName": "a", "servicePort": 80}},
                                    {"backend": {"serviceName": "b", "servicePort": "81"}},
                                    {
                                        "path": "/c",
                                        "pathType": "Exact",
                                        "backend": {"service": {"name": "c", "port": {"number": 82}}},
                                    },
                                ]
                            }
                        }
                    ],
                },
            }
            value = ingress(raw)
            self.assertEqual(value.default_backend, IngressBackend("rest", ServicePortReference(name="http")))
            a, b, c = (
                IngressBackend(name, ServicePortReference(number=n))
                for name, n in zip("abc", (80, 81, 82), strict=True)
            )
            expected = (
                IngressPath("/a", "ImplementationSpecific", a),
                IngressPath("", "ImplementationSpecific", b),
                IngressPath("/c", "Exact", c),
            )
            self.assertEqual(value.rules, (IngressRule("", expected),))
            message = f"{version} is an old version that clusters no longer serve; write networking.k8s.io/v1"
            problem = Problem("Ingress", "web", "old", Reason.DEPRECATED_VERSION, message, "apiVersion")
            self.assertEqual(projected(Kind.INGRESS, raw).problems, (problem,))

    def test_current_version_has_no_default_path_type(self) -> None:
        """In ``v1`` a missing path type stays missing, for others to report."""
        raw = good(Kind.INGRESS)
        del raw["spec"]["rules"][0]["http"]["paths"][0]["pathType"]
        paths = ingress(raw).rules[0].paths or ()
        self.assertEqual(paths[0].path_type, "")


class KeyTests(SynchronousTestCase):
    """Objects that do not say who they are."""

    def test_no_object(self) -> None:
        """What is no object at all gives a problem and no key."""
        values: tuple[object, ...] = (None, [], "x", 5, True, 1.5)
        for raw in values:
            key, projection = project(KINDS[Kind.SERVICE], raw, PREFIX)
            self.assertIsNone(key)
            self.assertIsNone(projection.value)
            self.assertEqual([problem.kind for problem in projection.problems], ["Service"])

    def test_bad_names(self) -> None:
        """An object without a usable name or namespace is malformed as a whole."""
        for field in ("name", "namespace"):
            for value in (None, "", 5, ["x"], "a\x00b", "a b", "a/b", "x" * 254, "\ud800"):
                raw = good(Kind.SERVICE)
                raw["metadata"][field] = value
                key, projection = project(KINDS[Kind.SERVICE], raw, PREFIX)
                self.assertIsNone(key)
                self.assertIsNone(projection.value)
                self.assertEqual([problem.field for problem in projection.problems], [f"metadata.{field}"])
                self.assertEqual(projection.problems[0].reason, Reason.MALFORMED_OBJECT)

    def test_no_kind_of_the_cluster(self) -> None:
        """Manifests and watches are no cluster objects, so that none is projected as one."""
        self.assertNotIn(Kind.MANIFEST, KINDS)
        self.assertNotIn(Kind.WATCH, KINDS)
        self.assertIsNone(KINDS.written_as("v1", "Watch"))

    def test_bad_metadata(self) -> None:
        """Metadata of another type is named."""
        key, projection = project(KINDS[Kind.SERVICE], {"metadata": []}, PREFIX)
        self.assertIsNone(key)
        self.assertEqual(faults(projection), {"metadata": "must be an object, but is a list"})

    def test_cluster_scoped(self) -> None:
        """An IngressClass has no namespace, whatever its metadata say."""
        raw = good(Kind.INGRESS_CLASS)
        raw["metadata"]["namespace"] = "web"
        key, projection = project(KINDS[Kind.INGRESS_CLASS], raw, PREFIX)
        self.assertEqual(key, ObjectKey("", "nginx"))
        expected = IngressClass(ObjectKey("", "nginx"), "k8s.io/ingress-nginx", is_default=True)
        self.assertEqual(projection, Projection(expected))

    def test_kinds(self) -> None:
        """The kinds that are read are known by version and name, and no others."""
        self.assertIs(KINDS.written_as("networking.k8s.io/v1", "Ingress"), KINDS[Kind.INGRESS])
        self.assertIs(KINDS.written_as("extensions/v1beta1", "Ingress"), KINDS[Kind.INGRESS])
        self.assertIs(
            KINDS.written_as("networking.k8s.io/v1beta1", "IngressClass"), KINDS[Kind.INGRESS_CLASS]
        )
        self.assertIs(
            KINDS.written_as("discovery.k8s.io/v1beta1", "EndpointSlice"), KINDS[Kind.ENDPOINT_SLICE]
        )
        self.assertIs(KINDS.written_as("v1", "Service"), KINDS[Kind.SERVICE])
        self.assertIs(KINDS.written_as("v1", "Secret"), KINDS[Kind.SECRET])
        self.assertIsNone(KINDS.written_as("serving.knative.dev/v1", "Service"))
        self.assertIsNone(KINDS.written_as("apps/v1", "Deployment"))
        self.assertIsNone(KINDS.written_as("v1", "Manifest"))


class IngressClassTests(SynchronousTestCase):
    """IngressClasses."""

    def test_unreadable_controller(self) -> None:
        """A class whose controller cannot be read is kept as one that nobody serves."""
        specs: tuple[object, ...] = (None, [], {"controller": 5}, {})
        for spec in specs:
            raw = good(Kind.INGRESS_CLASS)
            raw["spec"] = spec
            value = projected(Kind.INGRESS_CLASS, raw).value
            self.assertEqual(value, IngressClass(ObjectKey("", "nginx"), "", is_default=True))

    def test_default(self) -> None:
        """Only the text ``true`` makes a class the default one."""
        for word, is_default, problems in (
            ("true", True, 0),
            ("false", False, 0),
            ("True", False, 0),
            (True, False, 1),
        ):
            raw = good(Kind.INGRESS_CLASS)
            raw["metadata"]["annotations"]["ingressclass.kubernetes.io/is-default-class"] = word
            projection = projected(Kind.INGRESS_CLASS, raw)
            assert isinstance(projection.value, IngressClass)
            self.assertEqual((projection.value.is_default, len(projection.problems)), (is_default, problems))


class ServiceTests(SynchronousTestCase):
    """Services."""

    def test_whole(self) -> None:
        """Ports, type and the first cluster IP are kept."""
        expected = Service(
            key=ObjectKey("web", "cart"),
            cluster_ip="10.0.0.1",
            ports=(
                ServicePort("http", 80, 8080, "TCP", "http"),
                ServicePort("grpc", 81, "grpc", "TCP", "kubernetes.io/h2c"),
            ),
        )
        self.assertEqual(projected(Kind.SERVICE, good(Kind.SERVICE)), Projection(expected))

    def test_variants(self) -> None:
        """Headless, ExternalName and null fields are kept as the API means them."""
        raw = good(Kind.SERVICE)
        raw["spec"] = {"clusterIP": "None", "ports": [{"port": 80, "name": None, "targetPort": None}]}
        expected = Service(ObjectKey("web", "cart"), cluster_ip="None", ports=(ServicePort("", 80),))
        self.assertEqual(projected(Kind.SERVICE, raw), Projection(expected))
        raw["spec"] = {"type": "ExternalName", "externalName": "up.example.com", "ports": None}
        expected = Service(ObjectKey("web", "cart"), "ExternalName", external_name="up.example.com")
        self.assertEqual(projected(Kind.SERVICE, raw), Projection(expected))

    def test_no_spec(self) -> None:
        """A Service without a spec counts as absent, and says why."""
        specs: tuple[object, ...] = (None, {}, [], "x")
        for spec in specs:
            projection = projected(Kind.SERVICE, {**good(Kind.SERVICE), "spec": spec})
            self.assertIsNone(projection.value)
            self.assertEqual(list(faults(projection)), ["spec"])

    def test_malformed_ports(self) -> None:
        """A port that cannot be read is lost alone."""
        raw = good(Kind.SERVICE)
        raw["spec"]["ports"] = [
            {"name": "http", "port": 80},
            {"name": "text", "port": "81"},
            {"name": "none"},
            {"name": ["x"], "port": 82},
            5,
            {"name": "target", "port": 83, "targetPort": True},
        ]
        projection = projected(Kind.SERVICE, raw)
        assert isinstance(projection.value, Service)
        self.assertEqual([port.number for port in projection.value.ports], [80, 83])
        self.assertEqual(
            faults(projection),
            {
                "spec.ports[1].port": "must be a whole number, but is text",
                "spec.ports[2].port": "is missing",
                "spec.ports[3].name": "must be text, but is a list",
                "spec.ports[4]": "must be an object, but is a number",
                "spec.ports[5].targetPort": "must be a whole number or text, but is a boolean",
            },
        )


class EndpointSliceTests(SynchronousTestCase):
    """EndpointSlices."""

    def projected_endpoints(self, *endpoints: object) -> dict[str, tuple[str, ...]]:
        """The endpoints that a slice with these raw ones has, by what may be done with them."""
        raw = good(Kind.ENDPOINT_SLICE)
        raw["endpoints"] = list(endpoints)
        value = projected(Kind.ENDPOINT_SLICE, raw).value
        assert isinstance(value, EndpointSlice)
        found = {"ready": value.ready, "draining": value.draining, "unready": value.unready}
        return {sort: addresses for sort, addresses in found.items() if addresses}

    def test_whole(self) -> None:
        """A slice belongs to the Service that its label names, in its own namespace."""
        expected = EndpointSlice(
            key=ObjectKey("web", "cart-abc"),
            service=ObjectKey("web", "cart"),
            ports=(SlicePort("http", 8080),),
            ready=("10.1.0.1",),
        )
        self.assertEqual(projected(Kind.ENDPOINT_SLICE, good(Kind.ENDPOINT_SLICE)), Projection(expected))

    def test_unset_conditions(self) -> None:
        """Unset ready means ready, unset serving follows ready, unset terminating means no."""
        addresses = ["10.1.0.1"]
        for conditions, sort in (
            (None, "ready"),
            ({}, "ready"),
            ({"ready": None, "serving": None, "terminating": None}, "ready"),
            ({"ready": True, "serving": True, "terminating": True}, "ready"),
            ({"ready": False}, "unready"),
            ({"ready": False, "terminating": True}, "unready"),
            ({"ready": False, "serving": False, "terminating": True}, "unready"),
            ({"ready": False, "serving": True}, "unready"),
            ({"ready": False, "serving": True, "terminating": True}, "draining"),
            ({"serving": False}, "ready"),
        ):
            found = self.projected_endpoints({"addresses": addresses, "conditions": conditions})
            self.assertEqual(found, {sort: ("10.1.0.1",)}, conditions)

    def test_first_address(self) -> None:
        """All addresses of an endpoint are the same pod, so the others make no difference."""
        found = self.projected_endpoints({"addresses": ["10.1.0.1", "10.1.0.2"]}, {"addresses": ["10.1.0.3"]})
        self.assertEqual(found, {"ready": ("10.1.0.1", "10.1.0.3")})

    def test_unreadable_conditions(self) -> None:
        """An endpoint whose conditions cannot be read gets no traffic; the others do."""
        found = self.projected_endpoints(
            {"addresses": ["10.1.0.1"], "conditions": {"ready": "false"}},
            {"addresses": ["10.1.0.2"], "conditions": "ready"},
            {"addresses": [5, "10.1.0.3"]},
            {"addresses": None},
            None,
        )
        self.assertEqual(found, {"ready": ("10.1.0.3",)})

    def test_null_fields(self) -> None:
        """Null endpoints and ports are empty; a port without a number or name says so."""
        raw = good(Kind.ENDPOINT_SLICE)
        raw.update(endpoints=None, ports=None)
        value = projected(Kind.ENDPOINT_SLICE, raw).value
        assert isinstance(value, EndpointSlice)
        self.assertEqual((value.ready, value.ports), ((), ()))
        raw["ports"] = [{"name": None, "port": None, "protocol": None}, {"port": 0}]
        value = projected(Kind.ENDPOINT_SLICE, raw).value
        assert isinstance(value, EndpointSlice)
        self.assertEqual(value.ports, (SlicePort("", None), SlicePort("", 0)))

    def test_no_service(self) -> None:
        """A slice without the label belongs to nobody, which is no mistake."""
        raw = good(Kind.ENDPOINT_SLICE)
        raw["metadata"]["labels"] = None
        self.assertEqual(projected(Kind.ENDPOINT_SLICE, raw), Projection(None))
        raw["metadata"]["labels"] = {"kubernetes.io/service-name": 5}
        self.assertEqual(
            faults(projected(Kind.ENDPOINT_SLICE, raw)),
            {"metadata.labels.kubernetes.io/service-name": "must be text, but is a number"},
        )


class SecretTests(SynchronousTestCase):
    """Secrets."""

    def secret(self, **fields: object) -> Projection:
        """The projection of a Secret with *fields* changed."""
        return projected(Kind.SECRET, {**good(Kind.SECRET), **fields})

    def test_whole(self) -> None:
        """Certificate and key are decoded, and nothing else is kept."""
        content = {"tls.crt": b"certificate", "tls.key": b"certificate"}
        self.assertEqual(
            self.secret(), Projection(Secret(ObjectKey("web", "shop-tls"), "kubernetes.io/tls", content))
        )

    def test_lines(self) -> None:
        """Line ends within base64 are allowed."""
        value = self.secret(data={"tls.crt": "Y2Vy\ndGlm\r\naWNhdGU=\n"}).value
        assert isinstance(value, Secret)
        self.assertEqual(value.content, {"tls.crt": b"certificate"})

    def test_bad_base64(self) -> None:
        """A value that is not base64 is lost alone, and its content is never shown."""
        for bad in ("hunter2!", "abc", "ü", "\ud800", "YQ==YQ==", 5, ["x"]):
            projection = self.secret(data={"tls.crt": CERTIFICATE, "tls.key": bad})
            assert isinstance(projection.value, Secret)
            self.assertEqual(projection.value.content, {"tls.crt": b"certificate"})
            self.assertEqual([problem.field for problem in projection.problems], ["data[tls.key]"])
            self.assertNotIn("hunter2", repr(projection))

    def test_text_wins(self) -> None:
        """``stringData``, which manifests may use, replaces ``data``."""
        projection = self.secret(stringData={"tls.key": "clear"})
        assert isinstance(projection.value, Secret)
        self.assertEqual(projection.value.content, {"tls.crt": b"certificate", "tls.key": b"clear"})
        bad = self.secret(stringData={"tls.key": "\ud800"})
        self.assertEqual(faults(bad), {"stringData[tls.key]": "is not UTF-8"})

    def test_too_large(self) -> None:
        """A value larger than a Secret may be is refused unread."""
        projection = self.secret(data={"tls.crt": "A" * (2 * 1024 * 1024 + 4)})
        self.assertEqual(faults(projection), {"data[tls.crt]": "is longer than a Secret may be"})

    def test_no_content(self) -> None:
        """A Secret without data is kept: it is there, and lacks its keys."""
        variants: tuple[object, ...] = (None, {}, [])
        for data in variants:
            value = self.secret(data=data, type=None).value
            self.assertEqual(value, Secret(ObjectKey("web", "shop-tls"), "Opaque", {}))


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["a", "\x00", "\ud800", "x" * 5000, 10**4000, "80"]),
    lambda children: (
        st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=4), children, max_size=3)
    ),
    max_leaves=6,
)


def places(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The paths of all values inside *value*."""
    found: list[tuple[str | int, ...]] = [path] if path else []
    if isinstance(value, dict):
        for name, child in value.items():
            found += places(child, (*path, name))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            found += places(child, (*path, index))
    return found


class TotalityTests(SynchronousTestCase):
    """Whatever a decoder gives, ``project`` gives a value or a problem."""

    def check(self, kind: Kind, raw: object) -> None:
        """Project *raw*; what comes out can be shown, and nothing is lost in silence."""
        key, projection = project(KINDS[kind], raw, PREFIX)
        for problem in projection.problems:
            str(problem).encode()
            self.assertTrue(problem.message)
        if key is None:
            self.assertIsNone(projection.value)
            self.assertTrue(projection.problems)
        if projection.value is not None:
            self.assertEqual(projection.value.key, key)
            repr(projection.value).encode()

    @settings(deadline=None, max_examples=200, derandomize=True)
    @given(st.sampled_from(sorted(KINDS)), json_values)
    def test_any_value(self, kind: Kind, raw: object) -> None:
        """Any JSON value is projected."""
        self.check(kind, raw)

    @settings(deadline=None, max_examples=500, derandomize=True)
    @given(st.data())
    def test_any_change(self, data: st.DataObject) -> None:
        """A good object with any value put in any one place is projected."""
        kind = data.draw(st.sampled_from(sorted(GOOD)))
        raw = good(kind)
        *way, last = data.draw(st.sampled_from(places(raw)))
        target: Any = raw
        for step in way:
            target = target[step]
        target[last] = data.draw(json_values)
        if data.draw(st.booleans()):
            raw["apiVersion"] = "networking.k8s.io/v1beta1"
        self.check(kind, raw)
