"""What a cluster's controllers would make of Deployments and Services, as values: Pods, their statuses, EndpointSlices.

Only what the suites' own manifests need.  Nothing here asks the API server or starts a process.
"""

import secrets
from base64 import b64decode
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from conformance.cluster import Object

NODE_NAME = "conformance"
# Marks the EndpointSlices that are ours to change and delete.
SLICES_BY = "pods.conformance.txingress.dev"
MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
SERVICE_NAME = "kubernetes.io/service-name"


def node(address: str, log_port: int) -> Object:
    """The one Node, whose "kubelet" has the logs."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": NODE_NAME},
        "status": node_status(address, log_port),
    }


def node_status(address: str, log_port: int) -> Object:
    return {
        "addresses": [{"type": "InternalIP", "address": address}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": log_port}},
        "conditions": [{"type": "Ready", "status": "True", "reason": "Conformance", "message": ""}],
    }


def owned(things: Iterable[Object], uid: str) -> list[Object]:
    return [
        t for t in things if any(owner["uid"] == uid for owner in t["metadata"].get("ownerReferences", ()))
    ]


def pods_to_make(deployment: Object, pods: Sequence[Object]) -> list[Object]:
    """As many as its replicas lack."""
    alive = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
    return [pod_of(deployment) for _ in range(deployment["spec"]["replicas"] - len(alive))]


def pods_to_end(deployment: Object, pods: Sequence[Object]) -> list[Object]:
    """The youngest, where there are more than its replicas."""
    alive = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
    oldest_first = sorted(alive, key=lambda pod: str(pod["metadata"]["creationTimestamp"]))
    return oldest_first[deployment["spec"]["replicas"] :]


def pod_of(deployment: Object) -> Object:
    """A Pod of its template, on our node, named after it."""
    metadata, template = deployment["metadata"], deployment["spec"]["template"]
    given = template.get("metadata", {})
    owner = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            # As a ReplicaSet would call it: the suite takes two parts away to find the Deployment.
            "name": f"{metadata['name']}-{secrets.token_hex(4)}-{secrets.token_hex(3)}",
            "namespace": metadata["namespace"],
            "labels": given.get("labels", {}),
            "annotations": given.get("annotations", {}),
            "ownerReferences": [owner],
        },
        "spec": {**template["spec"], "nodeName": NODE_NAME},
    }


def running_status(pod: Object, addresses: Sequence[str], host: str, ready: bool) -> Object:
    """The status that a kubelet would write."""
    yes_or_no = "True" if ready else "False"
    conditions = {
        "PodScheduled": "True",
        "Initialized": "True",
        "ContainersReady": yes_or_no,
        "Ready": yes_or_no,
    }
    containers = [
        {
            "name": container["name"],
            "image": container["image"],
            "imageID": container["image"],
            "ready": ready,
            "started": True,
            "restartCount": 0,
            "state": {"running": {}},
        }
        for container in pod["spec"]["containers"]
    ]
    return {
        "phase": "Running",
        "hostIP": host,
        "podIP": addresses[0],
        "podIPs": [{"ip": address} for address in addresses],
        "conditions": [{"type": name, "status": value} for name, value in conditions.items()],
        "containerStatuses": containers,
    }


def is_ready(pod: Object) -> bool:
    conditions = pod.get("status", {}).get("conditions", ())
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)


def environment_of(pod: Object, files: Mapping[str, str]) -> dict[str, str]:
    """The variables of its (first) container.  ``files`` says where the folders that it mounts are: our path by its path."""
    variables = {}
    for variable in pod["spec"]["containers"][0].get("env", ()):
        if "valueFrom" in variable:
            variables[variable["name"]] = field_of(pod, variable["valueFrom"]["fieldRef"]["fieldPath"])
        else:
            variables[variable["name"]] = moved(variable.get("value", ""), files)
    return variables


def field_of(pod: Object, path: str) -> str:
    """``metadata.name`` and the like; raises KeyError."""
    value: Any = pod
    for name in path.split("."):
        value = value[name]
    return str(value)


def moved(value: str, files: Mapping[str, str]) -> str:
    for mounted, folder in files.items():
        if value.startswith(f"{mounted}/"):
            return folder + value.removeprefix(mounted)
    return value


def mounted_volumes(pod: Object) -> dict[str, tuple[str, str, Object]]:
    """By mount path: the collection and the name of the Secret or ConfigMap that the container mounts, and the volume source."""
    sources = {}
    for volume in pod["spec"].get("volumes", ()):
        if "secret" in volume:
            sources[volume["name"]] = ("secrets", volume["secret"]["secretName"], volume["secret"])
        elif "configMap" in volume:
            sources[volume["name"]] = ("configmaps", volume["configMap"]["name"], volume["configMap"])
    mounts = pod["spec"]["containers"][0].get("volumeMounts", ())
    return {mount["mountPath"]: sources[mount["name"]] for mount in mounts if mount["name"] in sources}


def volume_files(collection: str, source: Object, found: Object) -> dict[str, bytes]:
    """Content by file name; raises KeyError if the Secret or ConfigMap ``found`` lacks a key."""
    data = found.get("data") or {}
    items = source.get("items") or [{"key": key, "path": key} for key in data]
    texts = {item["path"]: data[item["key"]] for item in items}
    if collection == "secrets":
        return {path: b64decode(text) for path, text in texts.items()}
    return {path: text.encode() for path, text in texts.items()}


def slices_of(service: Object, pods: Iterable[Object]) -> list[Object]:
    """The EndpointSlices of a Service with a selector, one for each network of its.  ``pods`` are those of its namespace."""
    spec, metadata = service["spec"], service["metadata"]
    selector = spec.get("selector") or {}
    if not selector or spec.get("type") == "ExternalName":
        return []
    chosen = [pod for pod in pods if selector.items() <= (pod["metadata"].get("labels") or {}).items()]
    chosen = sorted(
        (pod for pod in chosen if addresses_of(pod)), key=lambda pod: str(pod["metadata"]["name"])
    )
    owner = {"apiVersion": "v1", "kind": "Service", "name": metadata["name"], "uid": metadata["uid"]}
    return [
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {
                "name": f"{metadata['name']}-{family.lower()}",
                "namespace": metadata["namespace"],
                "labels": {SERVICE_NAME: metadata["name"], MANAGED_BY: SLICES_BY},
                "ownerReferences": [owner],
            },
            "addressType": family,
            "endpoints": [
                endpoint_of(pod, address)
                for pod in chosen
                for address in addresses_of(pod)
                if (":" in address) == six
            ],
            "ports": [port_of(port, chosen) for port in spec.get("ports", ())],
        }
        for family, six in (("IPv4", False), ("IPv6", True))
        if family in spec.get("ipFamilies", ("IPv4",))
    ]


def addresses_of(pod: Object) -> list[str]:
    return [str(address["ip"]) for address in pod.get("status", {}).get("podIPs", ())]


def endpoint_of(pod: Object, address: str) -> Object:
    metadata = pod["metadata"]
    target = {
        "kind": "Pod",
        "name": metadata["name"],
        "namespace": metadata["namespace"],
        "uid": metadata["uid"],
    }
    ending = "deletionTimestamp" in metadata
    ready = is_ready(pod)
    return {
        "addresses": [address],
        "conditions": {"ready": ready and not ending, "serving": ready, "terminating": ending},
        "nodeName": NODE_NAME,
        "targetRef": target,
    }


def port_of(port: Object, pods: Sequence[Object]) -> Object:
    target = port.get("targetPort", port["port"])
    if isinstance(target, str):
        containers = [container for pod in pods for container in pod["spec"]["containers"]]
        named = {
            p.get("name"): p["containerPort"] for container in containers for p in container.get("ports", ())
        }
        target = named.get(target)
    optional = {name: port[name] for name in ("appProtocol",) if name in port}
    return {"name": port.get("name", ""), "port": target, "protocol": port.get("protocol", "TCP"), **optional}


def same_slice(one: Object, other: Object) -> bool:
    """Whether two say the same; the API server adds only to their metadata."""
    return all(one.get(field) == other.get(field) for field in ("addressType", "endpoints", "ports"))
