"""The Service that is kept for a Gateway, so that the labels and annotations of ``spec.infrastructure`` are somewhere.

The traffic of all Gateways goes through the same processes, so nothing else is made for one.  The Service is headless and has
no selector: whatever annotations a tenant asks for, no balancer is made, no address given, and no pod named by it.

Sources: ``GatewayInfrastructure`` of ``gateway.networking.k8s.io/v1`` (where the labels and annotations go), GEP-1762 (the
label with the Gateway's name), RFC 1035 (names of Services).
"""

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

from ingress.model.cluster.gateway_services import GatewayService, GatewayServicePort
from ingress.model.cluster.objects import ObjectKey
from ingress.translate.readers.gateway.objects.gateways import Gateway
from ingress.translate.readers.gateway.objects.names import GATEWAY, GROUP
from ingress.translate.readers.gateway.topology.listener_checks import UDP

NAME_LABEL: Final = f"{GROUP}/gateway-name"

_PREFIX: Final = "gateway-"
_MOST_CHARACTERS: Final = 63
_HASH_CHARACTERS: Final = 10
_IN_NAMES: Final = re.compile(r"[a-z](?:[-a-z0-9]*[a-z0-9])?")
_PORTS: Final = range(1, 65536)


def service_key(gateway: ObjectKey) -> ObjectKey:
    """Return which Service is kept for *gateway*, should one be."""
    name = _PREFIX + gateway.name
    if len(name) > _MOST_CHARACTERS or _IN_NAMES.fullmatch(name) is None:
        name = _shortened(re.sub("[^-a-z0-9]", "-", name), gateway.name)
    return ObjectKey(gateway.namespace, name)


def asks_for_service(gateway: Gateway) -> bool:
    """Whether *gateway* has anything that a Service is to carry."""
    return bool(gateway.labels or gateway.annotations)


def wanted_service(gateway: Gateway, uid: str, *, is_there: bool) -> GatewayService | None:
    """Return what the Service of *gateway*, which has that *uid*, is to be; None where none is needed.

    One that is there stays as long as its Gateway does, with nothing of what is not asked for any more.
    """
    if not is_there and not asks_for_service(gateway):
        return None
    name = gateway.key.name
    label = name if len(name) <= _MOST_CHARACTERS else _shortened(name, name)
    ports = {
        (one.port, UDP if one.protocol == UDP else "TCP") for one in gateway.listeners if one.port in _PORTS
    }
    return GatewayService(
        tuple(sorted({**dict(gateway.labels), NAME_LABEL: label}.items())),
        tuple(sorted(gateway.annotations)),
        tuple(
            GatewayServicePort(f"udp-{number}" if protocol == UDP else f"port-{number}", number, protocol)
            for number, protocol in sorted(ports)
        ),
        (uid,),
    )


def applied_body(service: GatewayService, gateway: ObjectKey, uid: str) -> Mapping[str, Any]:
    """Return what is applied to have *service* for *gateway*; with a *uid* only to the Service that has it."""
    key = service_key(gateway)
    owners = [
        {"apiVersion": f"{GROUP}/v1", "kind": GATEWAY, "name": gateway.name, "uid": one}
        for one in service.gateway_uids
    ]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": key.name,
            "namespace": key.namespace,
            **({"uid": uid} if uid else {}),
            "labels": dict(service.labels),
            "annotations": dict(service.annotations),
            "ownerReferences": owners,
        },
        "spec": {
            "type": "ClusterIP",
            "clusterIP": "None",
            "ports": [
                {
                    "name": one.name,
                    "port": one.number,
                    "protocol": one.protocol,
                    "targetPort": one.number,
                }
                for one in service.ports
            ],
        },
    }


def _shortened(text: str, name: str) -> str:
    """Return the beginning of *text*, and what tells *name* from others that begin alike."""
    digest = sha256(name.encode()).hexdigest()[:_HASH_CHARACTERS]
    return f"{text[: _MOST_CHARACTERS - _HASH_CHARACTERS - 1]}-{digest}"
