"""Whether requests go to a Service as a whole, by its cluster IP, or to its endpoints: ``service-upstream``."""

from typing import Final

from ingress.annotations.contract.values import Annotation, Family, parse_boolean
from ingress.model.frozen import frozen


@frozen
class ClusterIpSettings:
    """What the annotations of one Ingress say."""

    by_cluster_ip: bool | None = None
    """None is as the operator has it for all."""


CLUSTER_IPS: Final = Family(
    name="cluster_ips",
    settings=ClusterIpSettings(),
    acts="whether the cluster IP of a Service is asked, or its endpoints",
    annotations={
        "service-upstream": Annotation(
            "by_cluster_ip",
            parse_boolean,
            instead="--service-upstream says which",
            values="a boolean; as `--service-upstream` says",
            meaning="`true` sends requests to the cluster IP of a Service, and the cluster chooses the pod",
            differs="a Service without cluster IP has its endpoints asked",
            operators=True,
        ),
    },
)
