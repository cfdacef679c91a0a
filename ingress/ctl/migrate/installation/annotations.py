"""What becomes of the annotations of a Service: most of them are about its load balancer, each provider's with names of its own.  Pure.

They are told by how their names end, since providers are many; what ends otherwise than it means has a row here.  Taken from the
documents of AWS, Azure, Google Cloud, Alibaba, Civo, DigitalOcean, Exoscale, Hetzner, Huawei, OpenStack, Oracle, Scaleway, Tencent, and
of Cilium, external-dns, kube-vip, MetalLB and Rancher (November 2026).
"""

import re
from collections.abc import Collection
from typing import Final

from ingress.ctl.migrate.installation.carried import Fate
from ingress.ctl.migrate.installation.metadata import is_of_tool
from ingress.ctl.migrate.installation.overlays import OWN_NAME

ONE_ONLY: Final = "one Service alone can have it"
_WORDS: Final = re.compile(r"[-_/.]|(?<=[a-z])(?=[A-Z])")
ITS_OWN: Final = re.compile(
    r"(?:name|hostnames?|fqdns?|ips?|ipv[46]|ids?|lbid|allocations|address(?:es)?)", re.IGNORECASE
)
"""The last word where an annotation names an address, a balancer or a name in the DNS."""
SHARED: Final = frozenset(
    {
        "acl", "bucket", "cert", "certificate", "firewall", "flavor", "group", "instancepool", "network", "pn", "pool", "prefix",
        "project", "secret", "subnet", "vpc", "vswitch", "zone",
    }
)  # fmt: skip
"""The word before it where that is of something that several balancers can have."""
BESIDES: Final = frozenset(
    {
        "external-dns.alpha.kubernetes.io/target",
        "service.beta.kubernetes.io/aws-load-balancer-source-nat-ipv6-prefixes",
    }
)
"""Those that are one Service's, and end otherwise."""
GROUPS: Final = frozenset({"cloud.google.com/neg", "controller.autoneg.dev/neg"})
"""Those whose JSON may give groups of endpoints a name."""
GROUP_NAME: Final = re.compile(r"\"name\"\s*:")
_REFERENCES: Final = frozenset(
    {
        "beta.cloud.google.com/backend-config",
        "cloud.google.com/backend-config",
        "service.beta.kubernetes.io/oci-load-balancer-tls-backendset-secret",
        "service.beta.kubernetes.io/oci-load-balancer-tls-secret",
    }
)
"""Those that name an object of the namespace."""
_OUTCOMES: Final = re.compile(
    r"cloud\.google\.com/neg-status"
    r"|service\.kubernetes\.io/"
    r"(?:backend-service|firewall-rule(?:-for-hc|-deny)?|healthcheck|(?:tcp|udp|l3)-forwarding-rule)(?:-ipv6)?"
    r"|service\.kubernetes\.io/(?:loadbalance-id|qcloud-loadbalancer-clusterid)"
    r"|kube-vip\.io/(?:vipHost|hwaddr|active-endpoint(?:-ipv6)?)"
    r"|kubernetes\.digitalocean\.com/load-balancer-id"
    r"|load-balancer\.hetzner\.cloud/(?:id|ipv4|ipv6)"
    r"|loadbalancer\.openstack\.org/load-balancer-address"
    r"|metallb\.(?:io|universe\.tf)/ip-allocated-from-pool"
    r"|purelb\.io/(?:allocated-(?:by|from)|announcing-.*)"
)
"""Those that are written by whoever provides the balancer."""
_PORT_ON_NODES: Final = "it is the number of a port on nodes, which is another one here"


def annotation_fate(name: str, value: str, ports_on_nodes: Collection[int]) -> tuple[Fate, str] | None:
    """Return what becomes of an annotation, and why; None for one that a program wrote of what it has made.

    *ports_on_nodes* are the numbers that this Service has there.
    """
    if is_of_tool(name) or _OUTCOMES.fullmatch(name):
        return None
    if value.isdecimal() and len(value) < 6 and int(value) in ports_on_nodes:
        return Fate.LEFT, _PORT_ON_NODES
    if _is_its_own(name, value):
        return Fate.LATER, ONE_ONLY
    if name in _REFERENCES:
        return Fate.TAKEN, f"copy what it names to the namespace {OWN_NAME}"
    return Fate.TAKEN, ""


def _is_its_own(name: str, value: str) -> bool:
    if name in BESIDES:
        return True
    if name in GROUPS:
        return GROUP_NAME.search(value) is not None
    *_, before, last = ("", *_WORDS.split(name))
    is_setting = value.lower() in ("true", "false")
    return ITS_OWN.fullmatch(last) is not None and before.lower() not in SHARED and not is_setting
