"""The ConfigMap of ``--tcp-services-configmap``, followed."""

from functools import partial

from twisted.internet.interfaces import IReactorTime

from ingress.cluster.source import Sink
from ingress.model.objects import ObjectKey
from ingress.model.tcp_services import TcpServices
from ingress.options.followed_config_map import FollowedConfigMap
from ingress.options.tcp_services import missing_tcp_services, read_tcp_services


def tcp_services_source(key: ObjectKey, sink: Sink, clock: IReactorTime) -> FollowedConfigMap[TcpServices]:
    """Return what tells the TCP services that the ConfigMap *key* lists."""
    return FollowedConfigMap(
        key,
        sink,
        clock,
        read=partial(read_tcp_services, key),
        missing=partial(missing_tcp_services, key),
        nothing=TcpServices(key),
    )
