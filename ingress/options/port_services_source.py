"""The ConfigMaps of ``--tcp-services-configmap`` and ``--udp-services-configmap``, followed."""

from functools import partial

from twisted.internet.interfaces import IReactorTime

from ingress.cluster.source import Sink
from ingress.model.cluster.objects import ObjectKey
from ingress.model.cluster.port_services import PortServices
from ingress.options.followed_config_map import FollowedConfigMap
from ingress.options.port_services import missing_port_services, port_services_in_steps


def port_services_source(
    key: ObjectKey, sink: Sink, clock: IReactorTime, *, is_udp: bool
) -> FollowedConfigMap[PortServices]:
    """Return what tells the services of TCP, or of UDP, that the ConfigMap *key* lists."""
    return FollowedConfigMap(
        key,
        sink,
        clock,
        read=partial(port_services_in_steps, key, is_udp=is_udp),
        missing=partial(missing_port_services, key, is_udp=is_udp),
        nothing=PortServices(key, is_udp=is_udp),
    )
