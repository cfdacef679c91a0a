"""The configuration of Envoy, as values of JSON.  Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from bench.setup.certificate import KeyPair
from bench.setup.processes import HOST


def _address(port: int) -> dict[str, Any]:
    return {"socket_address": {"address": HOST, "port_value": port}}


def _envoy_host(name: str, domain: str, cluster: str) -> dict[str, Any]:
    return {
        "name": name,
        "domains": [domain],
        "routes": [{"match": {"prefix": "/"}, "route": {"cluster": cluster}}],
    }


def envoy_listener(port: int, clusters: Mapping[str, str], pairs: Sequence[KeyPair] = ()) -> dict[str, Any]:
    """A listener of Envoy on *port*, with TLS if there are *pairs*, of which each name is shown its own; *clusters* by host, the rest goes to ``backend``."""
    hosts = [_envoy_host(host, host, cluster) for host, cluster in clusters.items()]
    connection = {
        "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "bench",
        "use_remote_address": True,
        "route_config": {"virtual_hosts": [*hosts, _envoy_host("all", "*", "backend")]},
        "http_filters": [
            {
                "name": "router",
                "typed_config": {
                    "@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"
                },
            }
        ],
    }
    chain: dict[str, Any] = {"filters": [{"name": "http", "typed_config": connection}]}
    if pairs:
        chain["transport_socket"] = {
            "name": "tls",
            "typed_config": {
                "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
                "common_tls_context": {
                    "alpn_protocols": ["h2", "http/1.1"],
                    "tls_certificates": [
                        {
                            "certificate_chain": {"filename": str(pair.certificate_path)},
                            "private_key": {"filename": str(pair.key_path)},
                        }
                        for pair in pairs
                    ],
                },
            },
        }
    return {"name": str(port), "address": _address(port), "filter_chains": [chain]}


def envoy_cluster(name: str, port: int, is_http2: bool = False) -> dict[str, Any]:
    """A cluster of Envoy with one endpoint at *port*."""
    cluster: dict[str, Any] = {
        "name": name,
        "type": "STATIC",
        "load_assignment": {
            "cluster_name": name,
            "endpoints": [{"lb_endpoints": [{"endpoint": {"address": _address(port)}}]}],
        },
    }
    if is_http2:
        cluster["typed_extension_protocol_options"] = {
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
                "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
                "explicit_http_config": {"http2_protocol_options": {}},
            }
        }
    return cluster


def envoy_bootstrap(clusters: list[dict[str, Any]], listeners: list[dict[str, Any]]) -> dict[str, Any]:
    """The bootstrap of Envoy."""
    return {"static_resources": {"listeners": listeners, "clusters": clusters}}
