"""A network of one run's own: nothing of it is seen outside, several runs do not collide, and nothing is left behind.

Everything runs in one network namespace.  The addresses that Gateways may have, the node's and the API server's are on its
loopback interface; each pod has a network namespace inside it, on a bridge.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address

# The API server refuses loopback addresses as endpoints, so none of these is one.
NODE_ADDRESS = "10.20.0.1"
API_SERVER_ADDRESS = "10.20.0.2"
GATEWAY_ADDRESSES = tuple(f"10.10.0.{number}" for number in range(1, 41))
# For the test of static addresses: one that may be asked for, and one that nobody here has (RFC 5737).
USABLE_ADDRESS = GATEWAY_ADDRESSES[-1]
UNUSABLE_ADDRESS = "198.51.100.1"
# For Ingresses, whose tests know one address.
INGRESS_ADDRESS = "10.10.1.1"
POD_NETWORKS = (IPv4Address("10.244.0.0"), IPv6Address("fd00:10:244::"))
BRIDGE = "pods"

INSIDE = "TXINGRESS_CONFORMANCE_INSIDE"


class NetworkError(Exception):
    """Namespaces cannot be made here."""


def enter(arguments: Sequence[str], module: str = "conformance") -> None:
    """Become the same program, which is *module*, in namespaces of its own (network and mounts; users as well, without root).

    Returns only when that has already happened.
    """
    if os.environ.get(INSIDE):
        return
    if shutil.which("unshare") is None or shutil.which("ip") is None:
        raise NetworkError("unshare (util-linux) and ip (iproute2) are needed")
    kinds = ["--net", "--mount"] if os.geteuid() == 0 else ["--net", "--mount", "--user", "--map-root-user"]
    if subprocess.run(["unshare", *kinds, "true"], capture_output=True).returncode:
        raise NetworkError(f"unshare {' '.join(kinds)} is not allowed here: run this as root")
    os.environ[INSIDE] = "1"
    sys.stdout.flush()
    os.execvp("unshare", ["unshare", *kinds, "--", sys.executable, "-m", module, *arguments])


def join(process: int, arguments: Sequence[str]) -> None:
    """Become the same program in the namespaces of another run."""
    users = [] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]
    os.environ[INSIDE] = "1"
    sys.stdout.flush()
    kinds = ["--net", "--mount", f"--wdns={os.getcwd()}", *users]
    os.execvp(
        "nsenter",
        ["nsenter", "-t", str(process), *kinds, "--", sys.executable, "-m", "conformance", *arguments],
    )


def set_up() -> None:
    """All addresses but those of pods.  /run is our own, for the names of the pods' namespaces."""
    ip_commands("link set lo up", f"link add {BRIDGE} type bridge", f"link set {BRIDGE} up")
    gates = [(BRIDGE, f"{POD_NETWORKS[0] + 1}/16"), (BRIDGE, f"{POD_NETWORKS[1] + 1}/64 nodad")]
    own = [
        ("lo", f"{address}/32")
        for address in (NODE_ADDRESS, API_SERVER_ADDRESS, INGRESS_ADDRESS, *GATEWAY_ADDRESSES)
    ]
    ip_commands(*(f"address add {address} dev {device}" for device, address in [*gates, *own]))
    run("mount", "-t", "tmpfs", "conformance", "/run")


def pod_addresses(number: int) -> tuple[str, str]:
    """The two addresses of the pod with this number, from 0."""
    return str(POD_NETWORKS[0] + number + 10), str(POD_NETWORKS[1] + number + 10)


def add_pod(name: str, number: int) -> None:
    """A network namespace with the pod's addresses, which ``nsenter --net=/run/netns/NAME`` enters."""
    four, six = pod_addresses(number)
    run("ip", "netns", "add", name)
    ip_commands(
        f"link add pod{number} type veth peer name eth0 netns {name}",
        f"link set pod{number} master {BRIDGE} up",
    )
    ip_commands(
        "link set lo up",
        f"address add {four}/16 dev eth0",
        f"address add {six}/64 dev eth0 nodad",
        "link set eth0 up",
        f"route add default via {POD_NETWORKS[0] + 1}",
        namespace=name,
    )


def remove_pod(name: str) -> None:
    run("ip", "netns", "delete", name)


def ip_commands(*lines: str, namespace: str | None = None) -> None:
    inside = ["-netns", namespace] if namespace else []
    run("ip", *inside, "-batch", "-", text="\n".join(lines))


def run(*command: str, text: str = "") -> None:
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode:
        raise NetworkError(f"{' '.join(command)} failed: {done.stderr.strip()} {text}")
