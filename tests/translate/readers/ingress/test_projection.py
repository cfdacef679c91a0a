"""Ingresses and their classes become values."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.kinds import KINDS
from ingress.cluster.projecting.project import project
from ingress.model.cluster.objects import (
    Kind,
    ObjectKey,
    Projection,
)
from ingress.model.cluster.problems import Problem, Reason
from ingress.translate.readers.ingress.objects import (
    Ingress,
    IngressBackend,
    IngressClass,
    IngressPath,
    IngressRule,
    IngressTLS,
    ServicePortReference,
)
from tests.cluster.projecting.raw_objects import PREFIX, faults, good, ingress, projected


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
            f"{PREFIX}/g": 60,
            f"{PREFIX}/h": 10**5000,
            f"{PREFIX}/i": None,
            f"{PREFIX}x/f": True,
            PREFIX: 5,
        }
        projection = projected(Kind.INGRESS, raw)
        self.assertEqual(ingress(raw).annotations, {f"{PREFIX}/a": "one\n\ttwo"})
        lost = [
            *(f"{PREFIX}/{name}" for name in "bcde"),
            f"{PREFIX}/f\x1b",
            *(f"{PREFIX}/{name}" for name in "ghi"),
        ]
        self.assertEqual(list(ingress(raw).unreadable), lost)
        self.assertEqual(
            faults(projection),
            {
                f"metadata.annotations[{PREFIX}/b]": "holds control characters",
                f"metadata.annotations[{PREFIX}/c]": "must be text, but is true, which no API server takes; write the value in quotes",
                f"metadata.annotations[{PREFIX}/g]": "must be text, but is 60, which no API server takes; write the value in quotes",
                f"metadata.annotations[{PREFIX}/h]": "must be text, but is a number, which no API server takes; write the value in quotes",
                f"metadata.annotations[{PREFIX}/i]": "must be text, but is null, which no API server takes; write the value in quotes",
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
            message = (
                f"{version} is an old version that newer clusters do not serve; write networking.k8s.io/v1"
            )
            problem = Problem("Ingress", "web", "old", Reason.DEPRECATED_VERSION, message, "apiVersion")
            self.assertEqual(projected(Kind.INGRESS, raw).problems, (problem,))

    def test_current_version_has_no_default_path_type(self) -> None:
        """In ``v1`` a missing path type stays missing, for others to report."""
        raw = good(Kind.INGRESS)
        del raw["spec"]["rules"][0]["http"]["paths"][0]["pathType"]
        paths = ingress(raw).rules[0].paths or ()
        self.assertEqual(paths[0].path_type, "")


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
