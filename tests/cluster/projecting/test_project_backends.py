"""Services, their endpoints, and Secrets become values."""

from functools import partial

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.locality import Hints
from ingress.model.cluster.many_ports import ports_like
from ingress.model.cluster.objects import (
    EndpointSlice,
    Kind,
    ObjectKey,
    Projection,
    Secret,
    Service,
    ServicePort,
    SlicePort,
)
from tests.cluster.projecting.raw_objects import CERTIFICATE, faults, good, projected
from tests.fakes.counting import calls


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

    def test_many_ports(self) -> None:
        """Very many ports of a Service, or of a slice, are sorted where they are read, which is no place where requests wait."""
        for kind in (Kind.SERVICE, Kind.ENDPOINT_SLICE):
            raw = good(kind)
            holder = raw["spec"] if kind is Kind.SERVICE else raw
            holder["ports"] = [{"name": f"p{number}", "port": 1 + number} for number in range(1000)]
            value = projected(kind, raw).value
            assert isinstance(value, Service | EndpointSlice)
            self.assertEqual(len(value.ports), 1000)
            self.assertLess(calls(partial(ports_like, value.ports, "p999")), 10)

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

    def hinted(self, *hints: object) -> EndpointSlice:
        """Return a slice whose endpoints have these hints, None for none."""
        raw = good(Kind.ENDPOINT_SLICE)
        raw["endpoints"] = [
            {"addresses": [f"10.1.0.{number}"], "conditions": {"ready": True}}
            | ({} if one is None else {"hints": one})
            for number, one in enumerate(hints, 1)
        ]
        self.projection = projected(Kind.ENDPOINT_SLICE, raw)
        value = self.projection.value
        assert isinstance(value, EndpointSlice)
        return value

    def test_hints(self) -> None:
        """Each endpoint that is ready has its hints; where none has any there is nothing to keep."""
        zones = {"forZones": [{"name": "a"}, {"name": "b"}]}
        nodes = {"forNodes": [{"name": "n1"}], "forZones": [{"name": "a"}]}
        self.assertEqual(
            self.hinted(zones, None, nodes).hints, (Hints(("a", "b")), Hints(), Hints(("a",), ("n1",)))
        )
        self.assertEqual(self.hinted(None, {}, {"forZones": []}, {"forZones": None}).hints, ())
        raw = good(Kind.ENDPOINT_SLICE)
        raw["endpoints"] = [{"addresses": ["10.1.0.1"], "conditions": {"ready": False}, "hints": zones}]
        value = projected(Kind.ENDPOINT_SLICE, raw).value
        assert isinstance(value, EndpointSlice)
        self.assertEqual(value.hints, ())

    def test_many_hints(self) -> None:
        """However many there are, they are kept with their slice alone."""
        many = tuple(f"z{number}" for number in range(40))
        found = self.hinted({"forZones": [{"name": name} for name in many]}).hints
        self.assertEqual(found, (Hints(many),))

    def test_unreadable_hints(self) -> None:
        """Hints that cannot be read are told, and the endpoint gets requests nevertheless."""
        value = self.hinted("a", {"forZones": "a"}, {"forZones": [5, {"name": 5}, {"name": "b"}]})
        self.assertEqual(value.ready, ("10.1.0.1", "10.1.0.2", "10.1.0.3"))
        self.assertEqual(value.hints, (Hints(), Hints(), Hints(("b",))))
        self.assertEqual(
            faults(self.projection),
            {
                "endpoints[0].hints": "must be an object, but is text",
                "endpoints[1].hints.forZones": "must be a list, but is text",
                "endpoints[2].hints.forZones[0]": "must be an object, but is a number",
                "endpoints[2].hints.forZones[1].name": "must be text, but is a number",
            },
        )

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
