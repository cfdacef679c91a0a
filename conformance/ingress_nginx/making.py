"""The objects of a case as the API server gets them: its own, and the Services and endpoints that it leaves out."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

from conformance.cluster import Object
from conformance.ingress_nginx.case import Case, meant
from conformance.ingress_nginx.endpoints import PLAIN_PORT, TLS_PORT

NOBODY_LISTENS = 9
ENDPOINTS_6 = "fd00:10:30::"
"""The first address of endpoints that have IPv6."""
ORDER = ("Namespace", "ConfigMap", "Secret", "Service", "EndpointSlice", "Ingress")


@dataclass(frozen=True)
class Made:
    """``objects`` in the order in which they are made; ``addresses`` of all endpoints, by Service and number as in ``web#0``."""

    objects: tuple[Object, ...]
    addresses: dict[str, str]


def addresses() -> Iterator[str]:
    """One after another, for all endpoints of a run."""
    for number in range(1, 1 << 16):
        yield f"10.30.{number >> 8}.{number & 255}"


def ipv6_address(address: str) -> str:
    """The address of the other network that has the same number."""
    return str(IPv6Address(ENDPOINTS_6) + (int(IPv4Address(address)) & 0xFFFF))


def made(case: Case, free: Iterator[str]) -> Made:
    """All of a case."""
    given = [placed(meant(thing, case), case) for thing in case.objects]
    found: list[Object] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": case.namespace}},
        *given,
    ]
    where: dict[str, str] = {}
    there = {thing["metadata"]["name"] for thing in given if thing["kind"] == "Service"}
    for name, ports in services(case, given).items():
        if name in case.missing or name in there:
            continue
        count = case.replicas.get(name, 1)
        own = {f"{name}#{number}": next(free) for number in range(count)}
        if name in case.ipv6:
            own = {name: ipv6_address(address) for name, address in own.items()}
        where |= own
        found += service(case.namespace, name, ports, list(own.values()), name in case.down)
    return Made(tuple(sorted(found, key=lambda thing: ORDER.index(thing["kind"]))), where)


def placed(thing: Object, case: Case) -> Object:
    """The object in the namespace of its case, unless it says another."""
    return {**thing, "metadata": {"namespace": case.namespace, **thing["metadata"]}}


def services(case: Case, given: Iterable[Object]) -> dict[str, list[Object]]:
    """The ports of all Services that are spoken of, by name."""
    found: dict[str, list[Object]] = {name: [] for name in (*case.answers, *case.replicas)}
    for thing in given:
        if thing["kind"] != "Ingress":
            continue
        spec = thing["spec"]
        backends = [spec["defaultBackend"]] if "defaultBackend" in spec else []
        for rule in spec.get("rules", ()):
            backends += [path["backend"] for path in rule.get("http", {}).get("paths", ())]
        for backend in backends:
            if "service" in backend:
                ports = found.setdefault(backend["service"]["name"], [])
                if backend["service"]["port"] not in ports:
                    ports.append(backend["service"]["port"])
    return {name: ports or [{"number": 80}] for name, ports in found.items()}


def service(
    namespace: str, name: str, ports: Iterable[Object], there: list[str], down: bool
) -> Iterator[Object]:
    """A Service and its EndpointSlice."""
    target = NOBODY_LISTENS if down else TLS_PORT if name.startswith("tls-") else PLAIN_PORT
    listed = [
        {"name": port.get("name", f"p{port.get('number')}"), "port": port.get("number", 8000 + number)}
        for number, port in enumerate(ports)
    ]
    yield {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"ports": [{**port, "targetPort": target} for port in listed]},
    }
    yield {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": name, "namespace": namespace, "labels": {"kubernetes.io/service-name": name}},
        "addressType": "IPv6" if any(":" in address for address in there) else "IPv4",
        "endpoints": [{"addresses": [address], "conditions": {"ready": True}} for address in there],
        "ports": [{"name": port["name"], "port": target, "protocol": "TCP"} for port in listed],
    }
