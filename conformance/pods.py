"""Plays what a cluster has besides its API server: Pods that serve, EndpointSlices, logs, and namespaces that go.

A program of its own (``python -m conformance.pods``): several times in a second it looks at what there is and does what is
missing, so it may be ended and begun at any time.  Images of the Gateway API's echo server run as processes, and a
few lines of ours in the place of CoreDNS; other images get a Pod that is Ready and runs nothing.
"""

import argparse
import datetime
import logging
import shutil
import signal
import sys
from collections.abc import Iterable
from itertools import count
from pathlib import Path
from threading import Event, Thread

from conformance import kubelet, network, workloads
from conformance.cluster import Cluster, Object, RefusedError
from conformance.containers import Container, write_files

log = logging.getLogger("pods")

TURN_SECONDS = 0.25
DNS = (sys.executable, Path(__file__).with_name("dns.py"))
NOW = {"gracePeriodSeconds": 0}


class Pods:
    """All pods of one API server.  ``echo`` is the program in their containers."""

    def __init__(self, cluster: Cluster, echo: Path, folder: Path) -> None:
        self._cluster = cluster
        self._echo = echo
        self._folder = folder
        self._containers: dict[tuple[str, str], Container] = {}
        self._numbers = count()
        self._deletable: list[str] = []
        self._told: set[str] = set()

    def read_log(self, namespace: str, name: str, since: datetime.datetime | None) -> str | None:
        container = self._containers.get((namespace, name))
        return None if container is None else container.log(since)

    def turn(self) -> None:
        """Look once, and do what is missing."""
        pods = self._cluster.items("/api/v1/pods")
        deployments = self._cluster.items("/apis/apps/v1/deployments")
        for deployment in deployments:
            pods += self._scale(deployment, workloads.owned(pods, deployment["metadata"]["uid"]))
        there = {deployment["metadata"]["uid"] for deployment in deployments}
        for number, pod in enumerate(pods):
            owners = {owner["uid"] for owner in pod["metadata"].get("ownerReferences", ())}
            if "deletionTimestamp" in pod["metadata"] or owners.isdisjoint(there):
                self._cluster.delete(path_of(pod), NOW)
            else:
                pods[number] = self._run(pod)
        self._stop_what_is_gone(pods)
        self._write_slices(pods)
        self._empty_namespaces()

    def stop(self) -> None:
        for container in self._containers.values():
            container.stop()

    def _scale(self, deployment: Object, pods: list[Object]) -> list[Object]:
        """Make and delete Pods; returns the new ones."""
        if "deletionTimestamp" in deployment["metadata"]:
            return []
        space = f"/api/v1/namespaces/{deployment['metadata']['namespace']}/pods"
        made = [self._cluster.request("POST", space, pod) for pod in workloads.pods_to_make(deployment, pods)]
        for pod in workloads.pods_to_end(deployment, pods):
            self._cluster.delete(path_of(pod), NOW)
        ready = sum(map(workloads.is_ready, pods))
        status = {
            "observedGeneration": deployment["metadata"]["generation"],
            "replicas": len(pods),
            "readyReplicas": ready,
        }
        if not status.items() <= deployment.get("status", {}).items():
            metadata = deployment["metadata"]
            path = f"/apis/apps/v1/namespaces/{metadata['namespace']}/deployments/{metadata['name']}/status"
            self._cluster.merge(
                path, {"status": {**status, "availableReplicas": ready, "updatedReplicas": len(pods)}}
            )
        return made

    def _run(self, pod: Object) -> Object:
        """Start its container once, and say so when it listens; returns the Pod as it is then."""
        key = pod["metadata"]["namespace"], pod["metadata"]["name"]
        if key not in self._containers:
            files = self._volumes(pod)
            if files is None:
                return pod
            container = Container(pod["metadata"]["name"], next(self._numbers))
            image = pod["spec"]["containers"][0]["image"]
            is_dns = "/coredns:" in image
            program: tuple[str | Path, ...] = (
                (self._echo,) if "echo-basic" in image else DNS if is_dns else ()
            )
            if not program:
                log.info("%s: nothing runs for the image %s", "/".join(key), image)
            container.start(program, workloads.environment_of(pod, files), is_udp=is_dns)
            container.await_listening()
            self._containers[key] = container
        container = self._containers[key]
        if container.exit_status() is not None:
            self._tell_once(
                f"{'/'.join(key)} ended with status {container.exit_status()}:\n{container.log(None)[-2000:]}"
            )
        if not workloads.is_ready(pod) and container.is_listening():
            status = workloads.running_status(pod, container.addresses, network.NODE_ADDRESS, ready=True)
            pod = self._cluster.merge(f"{path_of(pod)}/status", {"status": status})
            log.info("%s is ready at %s", "/".join(key), " and ".join(container.addresses))
        return pod

    def _volumes(self, pod: Object) -> dict[str, str] | None:
        """Write its Secrets and ConfigMaps into a folder: our paths by those in the container; None while one is missing."""
        metadata, files = pod["metadata"], {}
        for number, (mounted, volume) in enumerate(workloads.mounted_volumes(pod).items()):
            collection, name, source = volume
            try:
                found = self._cluster.request(
                    "GET", f"/api/v1/namespaces/{metadata['namespace']}/{collection}/{name}"
                )
                content = workloads.volume_files(collection, source, found)
            except (RefusedError, KeyError) as error:
                self._tell_once(f"{metadata['name']} waits for {collection}/{name}: {type(error).__name__}")
                return None
            folder = self._folder / metadata["namespace"] / metadata["name"] / str(number)
            write_files(folder, content)
            files[mounted] = str(folder)
        return files

    def _tell_once(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            log.warning("%s", text)

    def _stop_what_is_gone(self, pods: Iterable[Object]) -> None:
        there = {(pod["metadata"]["namespace"], pod["metadata"]["name"]) for pod in pods}
        for key in self._containers.keys() - there:
            self._containers.pop(key).stop()
            shutil.rmtree(self._folder.joinpath(*key), ignore_errors=True)

    def _write_slices(self, pods: list[Object]) -> None:
        wanted = {}
        for service in self._cluster.items("/api/v1/services"):
            namespace = service["metadata"]["namespace"]
            near = [pod for pod in pods if pod["metadata"]["namespace"] == namespace]
            for piece in workloads.slices_of(service, near):
                wanted[namespace, piece["metadata"]["name"]] = piece
        ours = f"/apis/discovery.k8s.io/v1/endpointslices?labelSelector={workloads.MANAGED_BY}%3D{workloads.SLICES_BY}"
        there = {
            (piece["metadata"]["namespace"], piece["metadata"]["name"]): piece
            for piece in self._cluster.items(ours)
        }
        for key, piece in wanted.items():
            if key not in there:
                self._cluster.request(
                    "POST", f"/apis/discovery.k8s.io/v1/namespaces/{key[0]}/endpointslices", piece
                )
            elif not workloads.same_slice(piece, there[key]):
                self._cluster.request("PUT", slice_path(*key), piece)
        for key in there.keys() - wanted.keys():
            self._cluster.delete(slice_path(*key))

    def _empty_namespaces(self) -> None:
        """What a namespace in deletion still holds is deleted, then the namespace itself."""
        for namespace in self._cluster.items("/api/v1/namespaces"):
            metadata = namespace["metadata"]
            if "deletionTimestamp" not in metadata:
                continue
            for path in self._deletable_kinds():
                self._cluster.request("DELETE", path.format(namespace=metadata["name"]), NOW)
            self._cluster.request(
                "PUT",
                f"/api/v1/namespaces/{metadata['name']}/finalize",
                {**namespace, "spec": {"finalizers": []}},
            )

    def _deletable_kinds(self) -> list[str]:
        """Paths of all namespaced kinds.  No kind comes after the CRDs, which are there before any namespace goes."""
        if not self._deletable:
            groups = self._cluster.request("GET", "/apis")["groups"]
            versions = [
                "/api/v1",
                *(f"/apis/{group['preferredVersion']['groupVersion']}" for group in groups),
            ]
            for version in versions:
                for resource in self._cluster.request("GET", version)["resources"]:
                    if resource["namespaced"] and "deletecollection" in resource["verbs"]:
                        self._deletable.append(f"{version}/namespaces/{{namespace}}/{resource['name']}")
        return self._deletable


def watch(cluster: Cluster, news: Event) -> None:
    """Say when something becomes of a Deployment; without that, looking now and then is enough."""
    while True:
        try:
            for _ in cluster.lines("/apis/apps/v1/deployments?watch=1"):
                news.set()
        except (OSError, RefusedError) as error:
            log.info("%s", error)
        Event().wait(1)


def path_of(pod: Object) -> str:
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"


def slice_path(namespace: str, name: str) -> str:
    return f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices/{name}"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m conformance.pods", description="Play the pods of an API server."
    )
    parser.add_argument("--server", required=True, help="address of the API server, as HOST:PORT")
    parser.add_argument("--certificate", required=True, type=Path)
    parser.add_argument("--key", required=True, type=Path)
    parser.add_argument("--token-file", required=True, type=Path)
    parser.add_argument("--echo", required=True, type=Path, help="the program echo-basic")
    parser.add_argument("--folder", required=True, type=Path, help="where mounted Secrets are written")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    host, _, port = options.server.rpartition(":")
    cluster = Cluster(host, int(port), options.certificate, options.token_file.read_text().split(",")[0])
    pods = Pods(cluster, options.echo, options.folder)
    server = kubelet.serve(network.NODE_ADDRESS, options.certificate, options.key, pods.read_log)
    cluster.apply(workloads.node(network.NODE_ADDRESS, kubelet.PORT) | {"status": {}})
    status = {"status": workloads.node_status(network.NODE_ADDRESS, kubelet.PORT)}
    cluster.merge(f"/api/v1/nodes/{workloads.NODE_NAME}/status", status)
    over, news = Event(), Event()
    signal.signal(signal.SIGTERM, lambda *_: over.set())
    Thread(target=watch, args=(cluster.another(), news), daemon=True).start()
    while not over.is_set():
        # Some tests do not wait for pods, and are there as soon as their Gateway is.
        news.wait(TURN_SECONDS)
        news.clear()
        try:
            pods.turn()
        except (OSError, RefusedError) as error:
            # Another writer was faster, or the object has just gone: the next turn sees what there is.
            log.info("%s", error)
    pods.stop()
    server.shutdown()


if __name__ == "__main__":
    main()
