"""The page of the chart, ``k8s/chart/README.md``: how it is used, its values, and what becomes of others of ingress-nginx."""

import json
import re
from collections.abc import Iterator
from typing import Final

import yaml

from scripts.chart.keys import CHART, Key, keys
from scripts.markdown import cell

_HEAD: Final = """\
# The Helm chart

For clusters where ingress-nginx was installed by Helm: this chart takes the values of its chart, 4.10 to 4.14, and runs this controller as
they say. This page is made by `python -m scripts.chart.files`; edit `scripts/chart/page.py`, and of the tables `values.yaml` and
`files/ingress-nginx-values.yaml` instead.

    docker build --tag registry.example.com/txingress:0.1.0 .
    docker push registry.example.com/txingress:0.1.0
    helm install txingress k8s/chart --namespace txingress --create-namespace \\
        --set image.repository=registry.example.com/txingress --values my-ingress-nginx-values.yaml

Helm 3.17 or later, or 4. There is no public image, so yours has to be named; `controller.image` of your file is that of ingress-nginx, and
is left alone. Without any values the objects are those of [`k8s/overlays/deployment-loadbalancer`](../README.md), with the same rights, and
tests hold the chart against each overlay and component. Beside an ingress-nginx that goes on, add `--set beside.enabled=true`
([below](#beside-ingress-nginx)).

**The namespace** is not part of the chart. The pods keep to the level `restricted` of the Pod Security Standards; with `controller.hostNetwork` or
`controller.hostPort` they need `privileged`:

    kubectl label namespace txingress pod-security.kubernetes.io/enforce=restricted

## What becomes of your values

| Your key | Here |
|---|---|
| is in [the first table](#values) | honored: it means what it means there. Where a default is another one, the table says so |
| is in [the second](#values-of-ingress-nginx) | told after `helm install`, with what happens instead; by those that are *refused* the render fails, since whoever wrote one may rely on a guard, or on what cannot work |
| is in neither | the render fails, and names the key that is meant |

`controller.extraArgs` takes the arguments of ingress-nginx ([docs/arguments.md](../../docs/arguments.md)) and the options of this controller
([docs/options.md](../../docs/options.md)): `workers`, `gateway-address`, `filter` and all others. A list is one option for each text, and a flag
is `true`. `controller.config` takes the keys of [docs/configmap.md](../../docs/configmap.md). The chart goes by the tables of these pages, and a test keeps
them equal. A plugin of Lua, a template or a module of nginx is not there, and its key fails the render.

**ModSecurity** (`controller.config.enable-modsecurity`) runs in processes of its own, which have to be asked for, or the render fails:

    docker build --build-arg FIREWALL=yes --tag REGISTRY/txingress:TAG .   # other images lack the library, and their pods do not start

    controller:
      extraArgs:
        firewall-processes: 2
      config:
        enable-modsecurity: "true"
        enable-owasp-modsecurity-crs: "true"

Ingresses that ask for it by annotations need the same, but for `config`. Where `controller.resources` has the memory that is its default, each firewall process adds 64 MiB to the request,
and `firewall-memory` (512 MiB) to the limit, so that none of them can have a pod ended for taking too much; other numbers are taken as they are, and
`workers: auto` counts as one, so say there how much it is. The security context stays the same. [docs/firewall.md](../../docs/firewall.md) says what is inspected.

To see what becomes of a file, before anything is installed (Helm 3 asks the cluster for its version, and changes nothing there):

    helm install txingress k8s/chart --dry-run=client --set image.repository=a/b --values my-ingress-nginx-values.yaml

Notes are read by nobody where Argo CD or Flux render: `strict: true` has whatever is not honored, or waits, fail the render instead. These also
make another certificate of the admission webhook at each render; have cert-manager make it (`controller.admissionWebhooks.certManager.enabled`).

**Selectors** in `controller.affinity` and `controller.topologySpreadConstraints` for `app.kubernetes.io/name: ingress-nginx` select the pods of this
controller instead. Templates in values, as in `{{ include "ingress-nginx.name" . }}`, work.

**The end of a pod** follows from `controller.shutdownDelaySeconds` and the grace of what runs ([docs/shutdown.md](../../docs/shutdown.md)):
`terminationGracePeriodSeconds` and `failureThreshold` of the readiness probe are never less than that takes.

**The image is run as user 65532** with `NET_BIND_SERVICE` alone. `controller.containerSecurityContext` is put over that key by key; without that capability the render fails,
[because the interpreter would not start](../README.md#ports-below-1024-without-root).

**Two releases in one cluster** have names, leases and selectors of their own; give each its class (`controller.ingressClassResource.name`, `.controllerValue` and
`controller.ingressClass`), and turn the Gateway API off in all but one (`controller.gatewayAPI.enabled`), or name its controller
(`controller.extraArgs.gateway-controller-name`).

## Beside ingress-nginx

`beside.enabled` has a class `txingress` of its own, as [`k8s/overlays/beside`](../README.md), and leaves out of your values what one of the two alone can
have: addresses, ports of nodes, names of balancers and of DNS, the lease, the default class. The notes list what waits. Set to `false` once
ingress-nginx is gone, your values count as they are. [docs/from-ingress-nginx.md](../../docs/from-ingress-nginx.md#by-helm) leads through it, and says how the Service with
its address, and the IngressClass, go over from one release to the other.
"""
_OPTION: Final = re.compile(r"(?<![`\w-])--[a-z0-9-]+|(?<![`\w./])(?:controller|image|metrics)\.[\w.-]*\w")
_PAGE: Final = re.compile(r"docs/([a-z-]+\.md)")
_BECOMES: Final = {"needless": "not needed", "ignored": "not honored", "refused": "refused"}


def page() -> str:
    """Return the whole page."""
    return "".join(_parts())


def _parts() -> Iterator[str]:
    yield _HEAD
    yield '\n## Values\n\n`""`, `{}` and `[]` say nothing.\n\n| Value | Default | |\n|---|---|---|\n'
    for one in keys():
        if not one.has_keys:
            yield f"| `{one.path}` | {_default(one)} | {_linked(one.comment)} |\n"
    yield "\n## Values of ingress-nginx\n\nThose that are not above. A key stands for all that is below it.\n\n"
    yield "| Value | Here | Why, and what helps |\n|---|---|---|\n"
    foreign = yaml.load((CHART / "files" / "ingress-nginx-values.yaml").read_text("utf-8"), yaml.CSafeLoader)
    for path, row in sorted(foreign.items()):
        yield f"| `{path}` | {_BECOMES[row['becomes']]} | {_linked(row['told'])} |\n"


def _default(one: Key) -> str:
    return f"`{json.dumps(one.default)}`"


def _linked(text: str) -> str:
    marked = _OPTION.sub(lambda found: f"`{found[0]}`", text)
    return cell(_PAGE.sub(r"[\1](../../docs/\1)", marked))
