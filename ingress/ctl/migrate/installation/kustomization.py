"""The files of the kustomizations that put this controller into the place of each ingress-nginx.  Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from typing import Final

from ingress.ctl.inputs.ingress_nginx.installation import IS_DEFAULT, Installation
from ingress.ctl.migrate.firewall import PROCESSES
from ingress.ctl.migrate.installation.budgets import budget_carried
from ingress.ctl.migrate.installation.carried import Carried, CarriedField, Change, Fate, steps, worst_first
from ingress.ctl.migrate.installation.network_policies import policies_written
from ingress.ctl.migrate.installation.overlays import LOAD_BALANCER, OWN_NAME, Overlay, overlay_for, own_kind
from ingress.ctl.migrate.installation.pods import namespace_carried, pods_carried
from ingress.ctl.migrate.installation.rights import services_rights
from ingress.ctl.migrate.installation.scaling import Scaling, scaling_carried
from ingress.ctl.migrate.installation.services import bare_service, own_names, service_carried
from ingress.ctl.migrate.installation.traffic import Traffic
from ingress.ctl.migrate.installation.yaml_text import block, manifest, quoted, scalar
from ingress.ctl.migrate.migration import ArgumentsReport
from ingress.model.frozen import frozen
from ingress.object_fields import RawObject, is_object
from ingress.options.option import DEFAULTS

KUSTOMIZATION: Final = "kustomization.yaml"
SCALED_OBJECT_FILE: Final = "scaled-object.yaml"
POLICIES_FILE: Final = "network-policies.yaml"
RIGHTS_FILE: Final = "rights.yaml"
CONTROLLER: Final = "controller"
MOST_CONTROLLERS: Final = 10
is_of_controller: Final = re.compile(rf"{CONTROLLER}(?:-[0-9]+)?").fullmatch
"""Whether a folder of that directory is one of these."""
is_of_installation: Final = re.compile(
    r"(?:kustomization|scaled-object|network-policies|rights|service(?:-[a-z0-9-]*)?)\.yaml"
).fullmatch
"""Whether a file in such a folder is one of these."""
BESIDE: Final = {"ingress-class": "txingress", "controller-class": "txingress/ingress"}
"""The classes that this controller serves beside ingress-nginx, by their arguments: those of the overlay ``beside``."""
_WAITING: Final = ("--watch-without-class", "--publish-status-address=")
"""How arguments begin that have both serve the same Ingresses, or show an address that leads to ingress-nginx."""
_COMPONENTS: Final = "../txingress/k8s/components"
_FOR_ARGUMENTS: Final = {
    "--enable-topology-aware-routing": "topology",
    PROCESSES: "firewall",
    "--publish-node-addresses": "node-addresses",
}
"""The components with what pods need besides for an argument: the name of their Node, memory, and rights."""
_IMAGE: Final = "# Where your image is:"
_INSPECTING_IMAGE: Final = (
    "# Where your image is, built with --build-arg FIREWALL=yes, or its pods do not start (docs/firewall.md):"
)
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
_POD: Final = "/spec/template/spec"
_STEP: Final = re.compile(r"[\w./-]+", re.ASCII)
_GONE: Final = "# Once ingress-nginx is gone"
_LATER: Final = f"{_GONE}, this can have what only one can have:"
_WAIT_FOR_PORTS: Final = "# Pods on the network of nodes wait there as long as ingress-nginx has the ports: other nodes have none of it."
_ONE_DEFAULT: Final = "one class alone can be the default"
_NO_PARAMETERS: Final = "ingress-nginx does not read them, and neither does this controller"
_BUDGET: Final = """\
  # A DaemonSet's pods are neither evicted nor counted by a budget.
  - patch: |-
      $patch: delete
      apiVersion: policy/v1
      kind: PodDisruptionBudget
      metadata: {name: txingress, namespace: txingress}"""


@frozen
class Files:
    """*texts* by the names of files, of which ``KUSTOMIZATION`` names the others, and what became of *fields*."""

    texts: Mapping[str, str]
    fields: tuple[CarriedField, ...]
    """The worst first."""


def kustomization(
    found: Installation, arguments: Sequence[str], traffic: Traffic, *, has_webhook: bool = False
) -> Files:
    """Return what has the overlay that is meant stand beside ingress-nginx, with what is carried over of what is around that.

    *arguments* are those in its place; until it is gone comments have what both cannot have.  *traffic* is what ingress-nginx listens
    at in its container.  Whoever *has_webhook* may want one again.
    """
    overlay = overlay_for(found)
    pods = pods_carried(found, overlay, traffic)
    scaling = scaling_carried(found)
    budget = budget_carried(found)
    services = [(one, service_carried(found, one, overlay, traffic)) for one in found.services]
    patched = services[:1] if overlay.service_type else []
    resources, texts = [f"../txingress/k8s/overlays/{overlay.name}"], {}
    names = own_names(found.services)
    for name, (_, carried) in list(zip(names, services, strict=True))[len(patched) :]:
        file = f"{name.replace(OWN_NAME, 'service', 1)}.yaml"
        resources.append(file)
        texts[file] = _written_service(bare_service(name), carried)
    policies = policies_written(found.policies)
    scaled = [] if scaling.scaled_object is None else [scaling.scaled_object]
    for file, text in (
        (SCALED_OBJECT_FILE, manifest(scaled)),
        (POLICIES_FILE, policies.text),
        (RIGHTS_FILE, manifest(services_rights(arguments))),
    ):
        if text:
            resources.append(file)
            texts[file] = text
    components = [
        *(name for argument, name in _FOR_ARGUMENTS.items() if argument in arguments),
        *("autoscaler" for _ in scaling.carried.changes[:1]),
    ]
    classes = dict(one.removeprefix("--").split("=", 1) for one in arguments[-2:])
    own_class = classes["ingress-class"], classes["controller-class"]
    is_default = own_class in found.default_classes
    has_other_kind = own_kind(found) != overlay.kind
    lines = [
        "apiVersion: kustomize.config.k8s.io/v1beta1",
        "kind: Kustomization",
        "# It stands beside ingress-nginx, with a class of its own, and takes nothing from it.  What is to be another once that one is gone",
        "# is in comments.",
        *([_WAIT_FOR_PORTS] if found.workload.on_host_network else []),
        f"resources: [{', '.join(resources)}]",
        *(f"components: [{', '.join(f'{_COMPONENTS}/{one}' for one in components)}]" for _ in components[:1]),
        _INSPECTING_IMAGE if PROCESSES in arguments else _IMAGE,
        "# images: [{name: txingress, newName: REGISTRY/txingress, newTag: TAG}]",
        "patches:",
        *_classes(classes, is_default=is_default),
        f"  - target: {{kind: {overlay.kind}, name: {OWN_NAME}}}",
        *(["    options: {allowKindChange: true}"] if has_other_kind else []),
        "    patch: |-",
        *_arguments(arguments, has_webhook=has_webhook),
        *_changes([*_besides(overlay, arguments), *pods.changes, *_unscaled(scaling)]),
        *_waiting(pods.later),
        *([_BUDGET] if has_other_kind else []),
    ]
    for kind, carried in (
        *(("Service", carried) for _, carried in patched),
        ("HorizontalPodAutoscaler", scaling.carried),
        ("PodDisruptionBudget", budget),
        ("Namespace", namespace_carried(found)),
    ):
        lines += _patch(kind, carried)
    fields = [
        *(_default_class(classes["ingress-class"]) if is_default else ()),
        *(_parameters(classes["ingress-class"]) if own_class in found.classes_with_parameters else ()),
        *pods.fields,
        *scaling.carried.fields,
        *budget.fields,
        *policies.fields,
        *(one for _, carried in services for one in carried.fields),
    ]
    return Files({KUSTOMIZATION: "\n".join([*lines, ""]), **texts}, worst_first(fields))


def _classes(classes: Mapping[str, str], *, is_default: bool) -> Iterator[str]:
    """Yield the patch of the IngressClass: as long as ingress-nginx is there, the object of that name is its own."""
    yield "  - target: {kind: IngressClass, name: nginx}"
    yield "    options: {allowNameChange: true}"
    yield "    patch: |-"
    for path, name in (("/metadata/name", "ingress-class"), ("/spec/controller", "controller-class")):
        yield "      - op: replace"
        yield f"        path: {path}"
        yield f"        {_GONE}: {quoted(classes[name])}"
        yield f"        value: {quoted(BESIDE[name])}"
    if is_default:
        yield from _waiting((Change("/metadata/annotations", {IS_DEFAULT: "true"}),))


def _default_class(name: str) -> Iterator[CarriedField]:
    yield CarriedField(f"IngressClass {name}", f"annotation {IS_DEFAULT}", Fate.LATER, _ONE_DEFAULT)


def _parameters(name: str) -> Iterator[CarriedField]:
    yield CarriedField(f"IngressClass {name}", "parameters", Fate.LEFT, _NO_PARAMETERS)


def _unscaled(scaling: Scaling) -> Iterator[Change]:
    """Yield what is to be another of the workload that an object of KEDA scales: whoever applies it would have that number again."""
    if scaling.scaled_object is not None:
        yield Change("/spec/replicas", None)


def _patch(kind: str, carried: Carried) -> Iterator[str]:
    if carried.changes:
        yield f"  - target: {{kind: {kind}, name: {OWN_NAME}}}"
        yield "    patch: |-"
        yield from _changes(carried.changes)
    elif carried.later:
        yield f"  # - target: {{kind: {kind}, name: {OWN_NAME}}}"
        yield "  #   patch: |-"
    yield from _waiting(carried.later)


def _waiting(later: Sequence[Change]) -> Iterator[str]:
    """Yield changes as comments, which are operations of the patch above once their marks are taken away."""
    if later:
        yield f"      {_LATER}"
        yield from (f"      # {line[6:]}" for line in _changes(later))


def _changes(changes: Sequence[Change]) -> Iterator[str]:
    for one in changes:
        yield f"      - op: {'remove' if one.value is None else 'add'}"
        yield f"        path: {one.path if _is_plain(one.path) else quoted(one.path)}"
        if one.value is not None:
            yield from block({"value": one.value}, 8)


def _is_plain(path: str) -> bool:
    return re.fullmatch(r"/[\w./~-]*", path, re.ASCII) is not None


def _written_service(own: RawObject, carried: Carried) -> str:
    """Return the manifest of a Service: *own* with all that is carried over."""
    for one in carried.changes:
        *parents, name = steps(one.path)
        holder = own
        for parent in parents:
            inner = holder[parent]
            assert is_object(inner)
            holder = inner
        holder[name] = one.value
    lines = list(block(own, 0))
    if carried.later:
        lines.append(_LATER)
        for one in carried.later:
            path = ".".join(step if _STEP.fullmatch(step) else quoted(step) for step in steps(one.path))
            lines.append(f"# {path}: {quoted(one.value)}")
    return "\n".join([*lines, ""])


def _arguments(arguments: Sequence[str], *, has_webhook: bool) -> Iterator[str]:
    yield "      - op: replace"
    yield f"        path: {_POD}/containers/0/args"
    yield "        value:"
    *others, _, _ = arguments
    yield from (f"          - {scalar(one)}" for one in others if not one.startswith(_WAITING))
    if has_webhook:
        yield "          # With the component k8s/components/admission, these, too: this list stands in the place of what it adds."
        yield from (f"          # - {one}" for one in _ADMISSION)
    yield f"          {_GONE}, these in the place of the last two:"
    yield from (f"          # - {scalar(one)}" for one in arguments[-2:])
    yield from (f"          # - {scalar(one)}" for one in others if one.startswith(_WAITING))
    yield from (f"          - --{name}={value}" for name, value in BESIDE.items())


def _besides(overlay: Overlay, arguments: Sequence[str]) -> Iterator[Change]:
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
            yield Change(f"{_POD}/containers/0/ports/{place}/containerPort", int(found[1]))
    delay = texts.get("shutdown-delay")
    if delay is not None and delay != overlay.arguments.get("shutdown-delay"):
        seconds = ceil(float(delay))
        yield Change(
            f"{_POD}/containers/0/readinessProbe/failureThreshold", ceil(seconds / _PROBE_SECONDS) + 2
        )
        yield Change(f"{_POD}/terminationGracePeriodSeconds", seconds + _ENDING_SECONDS)


def installation_files(reports: Sequence[ArgumentsReport]) -> Mapping[str, str]:
    """Return the texts of all files by their names below the directory.

    ``controller/`` is in the place of the one whose arguments count, ``controller-2/`` of the next one.
    """
    return {
        f"{CONTROLLER}{f'-{number}' if number > 1 else ''}/{name}": text
        for number, report in enumerate(reports[:MOST_CONTROLLERS], 1)
        for name, text in report.files.items()
    }
