"""What the settings say of the side of the cluster: where objects come from, and what reports back.

The client of an API server, and what reports to it, are two megabytes of modules, and what reads manifests, with YAML, is one: each is
imported where it is asked for.
"""

import os
from collections.abc import Callable, Sequence
from random import Random
from socket import gethostname
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from ingress.cluster.kinds import ObjectKinds
from ingress.cluster.source import Source
from ingress.cluster.store import Store
from ingress.data_plane import now
from ingress.metrics.metrics import Metrics
from ingress.model.cluster.objects import Kind, ObjectKey
from ingress.settings import Settings, translate_options
from ingress.translate.readers.reader import RouteKind, reported_by
from ingress.translate.readers.route_kinds import ROUTE_KINDS

if TYPE_CHECKING:
    from ingress.cluster.api_server import ApiServerSource
    from ingress.status.reporting import ClusterReporting

# With the rest of an identity this stays within the 128 bytes that the API has for it.
_NAME_CHARACTERS = 90


def source_of(
    settings: Settings,
    reactor: Any,
    metrics: Metrics,
    kinds: Sequence[RouteKind] = ROUTE_KINDS,
    is_following: Callable[[], bool] = lambda: False,
) -> Source:
    """Return the source that *settings* ask for: manifests when any are named, else an API server.

    It reads the route objects of *kinds*, and what these refer to.  *is_following* says whether another process serves,
    whose place this one is to take.
    """
    selector = settings.namespace_selector
    objects = ObjectKinds(kinds, selects_namespaces=selector is not None)
    if settings.manifests:
        from ingress.cluster.manifests.manifests import ManifestSource

        return ManifestSource(
            settings.manifests,
            settings.translate.annotations_prefix,
            settings.namespaces,
            reactor.callFromThread,
            reactor,
            kinds=objects,
            namespace_selector=selector,
            besides=tuple((Kind.CONFIG_MAP, key) for key in settings.config_maps),
            is_following=is_following,
        )
    from ingress.cluster.api_server import ApiServerSource

    return ApiServerSource(
        reactor,
        kubeconfig=settings.kubeconfig,
        context=settings.context,
        server=settings.server,
        namespaces=settings.namespaces,
        namespace_selector=selector,
        options=translate_options(settings),
        watch_secrets=settings.secret_mode == "watch",
        secret_selector=settings.secret_field_selector,
        single_service=settings.reporting.publish_service,
        single_config_maps=settings.config_maps,
        single_node="" if settings.zone else own_node(settings),
        metrics=metrics.watch,
        kinds=objects,
    )


def as_api_server(settings: Settings, source: Source) -> "ApiServerSource | None":
    """Return *source*, which *settings* ask for, if it is an API server."""
    if settings.manifests:
        return None
    from ingress.cluster.api_server import ApiServerSource

    return source if isinstance(source, ApiServerSource) else None


def pod_name() -> str:
    """Return the name of the pod, as its manifest says it, or of the machine."""
    return os.environ.get("POD_NAME") or gethostname()


def pod_namespace() -> str:
    """Return the namespace of the pod, as its manifest says it; empty where there is none."""
    return os.environ.get("POD_NAMESPACE", "")


def own_pod() -> ObjectKey | None:
    """Return the pod that we are, as its manifest says it; None where it does not, or there is none."""
    namespace, name = pod_namespace(), os.environ.get("POD_NAME", "")
    return ObjectKey(namespace, name) if namespace and name else None


def own_node(settings: Settings) -> str:
    """Return the name of the Node that we run on, as the pod's manifest says it; nothing where that does not matter."""
    return os.environ.get("NODE_NAME", "") if settings.topology_aware and not settings.manifests else ""


def reporting_of(
    settings: Settings,
    reactor: Any,
    source: Source,
    store: Store,
    metrics: Metrics,
    kinds: Sequence[RouteKind],
) -> "ClusterReporting | None":
    """Return what reports back to the cluster that *source* reads; None where there is no cluster.

    It reports about objects of those of *kinds* whose status is ours to write.
    """
    api_server = as_api_server(settings, source)
    if api_server is None:
        return None
    from ingress.status.reporting import ClusterReporting

    return ClusterReporting(
        reactor,
        api_server.connection,
        settings.reporting,
        translate_options(settings),
        store.state,
        lambda: api_server.namespace,
        # Another process of the same pod, or on the same host, is another candidate.
        f"{pod_name()[:_NAME_CHARACTERS]}_{uuid4()}",
        metrics.status,
        now=now,
        random=Random().random,
        regained=api_server.rouse,
        outage=api_server.outage,
        kinds=reported_by(kinds),
        watch=api_server.watch_on_demand,
        own_pod=own_pod(),
    )
