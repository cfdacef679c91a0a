"""The command line: ``python -m conformance.ingress_nginx``, which ``make conformance-ingress-nginx`` is."""

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import yaml

from bench.setup.errors import BenchError
from conformance import binaries, compiler, control_plane, credentials, network
from conformance.__main__ import TREE, WORK, empty_folder, remove_old_folders
from conformance.cluster import Cluster, RefusedError
from conformance.control_plane import ControlPlane
from conformance.ingress_nginx import (
    cases,
    controllers,
    making,
    names,
    play,
    programs,
    samples,
    sampling,
    table,
)
from conformance.ingress_nginx.cases.certificates import CLIENTS as CERTIFICATES
from conformance.ingress_nginx.endpoints import Endpoints
from conformance.ingress_nginx.of_files import cases_of_files
from conformance.processes import EndedError, Processes

ENDPOINTS = "10.30.0.0/16"
SERVICES = "10.96.0.0/16"
"""Cluster IPs, which endpoints answer at, too: what a Service's own address is asked for can be seen."""
CLIENTS = tuple(f"10.20.1.{number}" for number in range(1, 5))


def main(arguments: Sequence[str]) -> int:
    """The exit status: 0 only if nothing is different that is not told."""
    parser = argparse.ArgumentParser(
        prog="python -m conformance.ingress_nginx", description="Compare ours with the real ingress-nginx."
    )
    parser.add_argument("--cases", default="", metavar="NAME,...", help="these alone; NAME may have * in it")
    parser.add_argument(
        "--manifests",
        type=Path,
        metavar="FOLDER",
        help="Ingresses of these files instead, of which nothing is told",
    )
    parser.add_argument(
        "--keep", action="store_true", help="leave all Ingresses, and wait for Enter before all ends"
    )
    parser.add_argument(
        "--random", type=int, default=0, metavar="N", help="so many sets by chance instead of cases"
    )
    parser.add_argument(
        "--shrunk", type=int, default=12, help="how many findings of a hundred sets are made smaller"
    )
    parser.add_argument(
        "--first", type=int, default=0, metavar="NUMBER", help="of the sets by chance, for one that was found"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="of the sets by chance")
    parser.add_argument(
        "--shared-hosts",
        action="store_true",
        help="sets by chance in several namespaces, where ours has hosts shared as ingress-nginx does",
    )
    options = parser.parse_args(arguments)
    if options.random and (options.keep or options.manifests):
        parser.error("--random goes neither with --keep nor with --manifests")
    try:
        chosen = list(cases_of_files(options.manifests)) if options.manifests else cases.chosen(options.cases)
        cache = Path(os.environ.get("CONFORMANCE_CACHE") or WORK / "cache").resolve()
        servers = binaries.api_server_programs(cache, os.environ)
        reference = programs.reference_programs(cache)
        network.enter(arguments, "conformance.ingress_nginx")
        with ExitStack() as stack:
            folder = empty_folder(WORK / f"parity-{os.getpid()}")
            remove_old_folders()
            set_up_network()
            processes = stack.enter_context(Processes(folder))
            plane = control_plane.start(servers, processes, folder)
            bench = start(plane, processes, reference, ("--shared-hosts",) if options.shared_hosts else ())
            bench.keeps = options.keep
            if options.random:
                numbers = range(options.first, options.first + options.random)
                spaces = sampling.SPACES if options.shared_hosts else 1
                status = samples.run(bench, numbers, options.seed, spaces, options.shrunk)
                processes.check()
                return status
            status = table.tell(play.play(bench, chosen), folder)
            processes.check()
            if options.keep:
                print(
                    f"requests: nsenter -t {os.getpid()} --net curl --header 'Host: NAME.test' http://{bench.reference.address}/\n"
                    f"its configuration: nsenter -t {bench.reference.process} --mount cat /etc/nginx/nginx.conf\n"
                    "Enter ends all",
                    flush=True,
                )
                input()
            return status
    except (
        BenchError,
        compiler.NotBuiltError,
        network.NetworkError,
        EndedError,
        RefusedError,
        OSError,
        yaml.YAMLError,
    ) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


def set_up_network() -> None:
    network.set_up()
    network.ip_commands(
        *(f"route add local {network_} dev lo" for network_ in (ENDPOINTS, SERVICES)),
        f"route add local {making.ENDPOINTS_6}/96 dev lo",
        *(f"address add {address}/32 dev lo" for address in CLIENTS),
    )


def start(
    plane: ControlPlane,
    processes: Processes,
    reference: programs.ReferencePrograms,
    options: Sequence[str] = (),
) -> play.Bench:
    cluster = plane.cluster()
    furnish(cluster)
    certificate, key = credentials.self_signed(["endpoint.test"])
    (processes.logs / "endpoint.crt").write_bytes(certificate)
    (processes.logs / "endpoint.key").write_bytes(key)
    for name, (pem, private) in CERTIFICATES.items():
        (processes.logs / f"{name}.crt").write_bytes(pem)
        (processes.logs / f"{name}.key").write_bytes(private)
    endpoints = Endpoints(processes.logs / "endpoint.crt", processes.logs / "endpoint.key")
    endpoints.start()
    known: dict[str, str] = {}
    names.serve(network.NODE_ADDRESS, known)
    resolver = f"nameserver {network.NODE_ADDRESS}\n"
    numbers = count(2)

    def another(further: Sequence[str]) -> controllers.Controller:
        return controllers.start_ours(plane, processes, TREE, resolver, next(numbers), (*options, *further))

    def another_reference(further: Sequence[str]) -> controllers.Controller:
        return controllers.start_reference(plane, processes, reference, resolver, next(numbers), further)

    return play.Bench(
        cluster,
        controllers.start_reference(plane, processes, reference, resolver),
        controllers.start_ours(plane, processes, TREE, resolver, options=options),
        endpoints,
        known,
        processes.logs,
        CLIENTS,
        cases.EVERYWHERE,
        another_of_ours=another,
        another_reference=another_reference,
    )


def furnish(cluster: Cluster) -> None:
    """What both need to be there: the class, their ConfigMap, and the Pod that ingress-nginx looks for."""
    for thing in (
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": controllers.NAMESPACE}},
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "IngressClass",
            "metadata": {"name": "nginx"},
            "spec": {"controller": "k8s.io/ingress-nginx"},
        },
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": controllers.CONFIG, "namespace": controllers.NAMESPACE},
            "data": play.BASE,
        },
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": controllers.POD, "namespace": controllers.NAMESPACE},
            "spec": {"containers": [{"name": "controller", "image": "controller"}]},
        },
    ):
        cluster.apply(thing)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
