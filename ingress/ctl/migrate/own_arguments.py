"""The arguments that this controller gets in the place of ingress-nginx's, and the kustomization that gives it these.  Pure.

They are whole: those that the manifests in ``k8s/`` have, and then what was taken over.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from typing import Final

from ingress.ctl.inputs.input import Workload
from ingress.ctl.inputs.taken_arguments import USUAL_CLASSES, Taken
from ingress.model.frozen import frozen
from ingress.options.option import DEFAULTS


@frozen
class Overlay:
    """An overlay of ``k8s/``: the arguments that its pods have, but for classes, in their order."""

    name: str
    kind: str
    arguments: Mapping[str, str]


LOAD_BALANCER: Final = Overlay(
    "deployment-loadbalancer",
    "Deployment",
    {
        "probes": "tcp:10254",
        "admin": "tcp:10253:interface=127.0.0.1",
        "configmap": "txingress/txingress",
        "publish-service": "txingress/txingress",
        "shutdown-delay": "35",
    },
)
HOST_NETWORK: Final = Overlay(
    "daemonset-hostnetwork",
    "DaemonSet",
    {
        "probes": "tcp:10254:interface=127.0.0.1",
        "admin": "tcp:10253:interface=127.0.0.1",
        "configmap": "txingress/txingress",
        "shutdown-delay": "10",
    },
)
BESIDE: Final = ("--ingress-class=txingress", "--controller-class=txingress/ingress")
"""The classes that the overlay ``beside`` has."""
_TOPOLOGY: Final = "components: [../txingress/k8s/components/topology]"
"""What the pods need besides for hints of zones: the name of their Node, and a right."""
_ADMISSION: Final = (
    "--admission=tcp:8443",
    "--admission-certificate=/etc/txingress/admission/tls.crt",
    "--admission-key=/etc/txingress/admission/tls.key",
)
"""What the component ``admission`` adds, in whose place the list stands."""
_PORTS: Final = ("http", "https", "probes")
"""The options that name the ports of the container, in the order of the manifests."""
_PROBE_SECONDS: Final = 2
"""How often the kubelet asks whether a pod is ready."""
_ENDING_SECONDS: Final = 40
"""How long the end takes behind the delay: --shutdown-grace, and room to stop."""
_PORT: Final = re.compile(r"tcp:([0-9]+)")
_PLAIN: Final = re.compile(r"[\w./=,$()@-]+(?::[\w./=,$()@-]+)*")


def overlay_for(workload: Workload) -> Overlay:
    """Return the overlay that runs this controller as *workload* runs ingress-nginx."""
    return HOST_NETWORK if workload.on_host_network else LOAD_BALANCER


def own_arguments(workload: Workload, taken: Sequence[Taken]) -> tuple[str, ...]:
    """Return all arguments, as ``args`` has them; the last two are the classes."""
    given = dict(_given(taken))
    texts: dict[str, str | None] = {**overlay_for(workload).arguments}
    if any(one.given == "--update-status=false" for one in taken):
        texts.pop("publish-service", None)
        given.pop("publish-status-address", None)
    if "publish-status-address" in given:
        texts.pop("publish-service", None)
    if not workload.on_host_network:
        # A Service finds the ports by their names, and redirects to HTTPS go on to name none.
        given.pop("http", None)
        given.pop("https", None)
    probes = given.pop("probes", None)
    if probes is not None:
        # At the address where they are anyway.
        texts["probes"] = _PORT.sub(probes, texts["probes"] or "", count=1)
    classes = {name: given.pop(name, usual) for name, usual in USUAL_CLASSES.items()}
    return tuple(map(_argument, [*{**texts, **given}.items(), *classes.items()]))


def kustomization(workload: Workload, arguments: Sequence[str], *, has_webhook: bool = False) -> str:
    """Return the text of a kustomization that gives *arguments* to the pods of the overlay that is meant.

    Whoever *has_webhook* may want one again.
    """
    overlay = overlay_for(workload)
    lines = [
        "apiVersion: kustomize.config.k8s.io/v1beta1",
        "kind: Kustomization",
        f"resources: [../txingress/k8s/overlays/{overlay.name}]",
        *(_TOPOLOGY for one in arguments if one == "--enable-topology-aware-routing"),
        "patches:",
        f"  - target: {{kind: {overlay.kind}, name: txingress}}",
        "    patch: |-",
        "      - op: replace",
        "        path: /spec/template/spec/containers/0/args",
        "        value:",
        *(f"          - {_scalar(one)}" for one in arguments[:-2]),
        *(_webhook() if has_webhook else ()),
        "          # As long as ingress-nginx runs beside it, build on the overlay beside, and have it serve a class of its own:",
        f"          # {' and '.join(BESIDE)} in the place of these.",
        *(f"          - {_scalar(one)}" for one in arguments[-2:]),
    ]
    for path, value in _besides(overlay, arguments):
        lines += [
            "      - op: replace",
            f"        path: /spec/template/spec/{path}",
            f"        value: {value}",
        ]
    return "\n".join([*lines, ""])


def _webhook() -> Iterator[str]:
    yield "          # With the component k8s/components/admission, these, too: this list stands in the place of what it adds."
    for one in _ADMISSION:
        yield f"          # - {one}"


def _given(taken: Sequence[Taken]) -> Iterator[tuple[str, str | None]]:
    for one in taken:
        if one.option and not one.is_own:
            name, has_value, value = one.option.partition("=")
            yield name, value if has_value else None


def _argument(option: tuple[str, str | None]) -> str:
    name, value = option
    return f"--{name}" if value is None else f"--{name}={value}"


def _besides(overlay: Overlay, arguments: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Yield what has to be another in the pod for *arguments*: ports, and how long its end may take (docs/shutdown.md)."""
    usual = {
        "http": DEFAULTS.http[0],
        "https": DEFAULTS.https[0],
        "probes": LOAD_BALANCER.arguments["probes"],
    }
    texts = dict(one[2:].split("=", 1) for one in arguments if "=" in one)
    for place, name in enumerate(_PORTS):
        found, known = _PORT.match(texts.get(name, "")), _PORT.match(usual[name])
        if found is not None and known is not None and found[1] != known[1]:
            yield f"containers/0/ports/{place}/containerPort", int(found[1])
    delay = texts["shutdown-delay"]
    if delay != overlay.arguments["shutdown-delay"]:
        seconds = ceil(float(delay))
        yield "containers/0/readinessProbe/failureThreshold", ceil(seconds / _PROBE_SECONDS) + 2
        yield "terminationGracePeriodSeconds", seconds + _ENDING_SECONDS


def _scalar(text: str) -> str:
    """Return *text* as a scalar of YAML, which JSON is where a plain one might mean something else."""
    return text if _PLAIN.fullmatch(text) else json.dumps(text)
