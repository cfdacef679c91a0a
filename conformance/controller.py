"""The controller as users start it, with the rights that its own manifests give it."""

import os
import subprocess
import sys
from pathlib import Path

from conformance import credentials
from conformance.control_plane import ControlPlane
from conformance.network import GATEWAY_ADDRESSES, INGRESS_ADDRESS
from conformance.processes import Processes

NAMESPACE = ACCOUNT = "txingress"
CONTROLLER_NAME = "txingress.dev/gateway"
# Each Gateway of the suite gets an address of its own.
OPTIONS = (
    f"--http=tcp:80:interface={INGRESS_ADDRESS}",
    f"--https=tcp:443:interface={INGRESS_ADDRESS}",
    f"--publish-status-address={INGRESS_ADDRESS}",
    "--admin=tcp:10253:interface=127.0.0.1",
    f"--configmap={NAMESPACE}/{ACCOUNT}",
    *(f"--gateway-address={address}" for address in GATEWAY_ADDRESSES),
)


def start(plane: ControlPlane, processes: Processes, tree: Path) -> subprocess.Popen[bytes]:
    """Start ``twistd -n ingress`` of the environment that runs this, as its service account, and return at once."""
    token = plane.cluster().request(
        "POST",
        f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{ACCOUNT}/token",
        {"spec": {"expirationSeconds": 24 * 3600}},
    )
    kubeconfig = processes.logs / "controller.kubeconfig"
    credentials.write_kubeconfig(kubeconfig, plane.server, plane.certificate, token["status"]["token"])
    environment = {**os.environ, "POD_NAME": "conformance-controller", "POD_NAMESPACE": NAMESPACE}
    twistd = Path(sys.executable).with_name("twistd")
    command = [
        str(twistd),
        "--nodaemon",
        f"--pidfile={processes.logs / 'twistd.pid'}",
        "ingress",
        f"--kubeconfig={kubeconfig}",
        *OPTIONS,
    ]
    return processes.start("controller", command, environment, tree)
