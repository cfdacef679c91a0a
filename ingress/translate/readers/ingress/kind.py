"""How Ingresses and their classes are read from a cluster, and how they say what became of them."""

from ingress.model.cluster.objects import Kind, ObjectKey
from ingress.model.cluster.state import ClusterState
from ingress.model.reporting.writes import KindWrite, StatusField
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.classes import judge_ingress
from ingress.translate.readers.ingress.objects import ingresses_of
from ingress.translate.readers.ingress.projection import (
    project_ingress,
    project_ingress_class,
    projecting_ingress,
)
from ingress.translate.readers.ingress.reader import IngressReader
from ingress.translate.readers.reader import KindRead, RouteKind
from ingress.translate.reports import ReportedKind

_GROUP, _VERSION, _PLURAL = "networking.k8s.io", "v1", "ingresses"


def _is_ours(key: ObjectKey, state: ClusterState, options: TranslateOptions) -> bool | None:
    ingress = ingresses_of(state).get(key)
    return None if ingress is None else judge_ingress(ingress, state, options).is_ours


REPORTED = ReportedKind(
    Kind.INGRESS,
    "Ingresses",
    "they show no address",
    KindWrite(_GROUP, _VERSION, _PLURAL, ("patch",), "status"),
    StatusField.ADDRESSES,
    keys=ingresses_of,
    is_ours=_is_ours,
    decided_by=frozenset({Kind.INGRESS_CLASS}),
)

INGRESS = RouteKind(
    KindRead(
        Kind.INGRESS,
        _GROUP,
        _VERSION,
        _PLURAL,
        project_ingress,
        old_versions=("networking.k8s.io/v1beta1", "extensions/v1beta1"),
        projecting=projecting_ingress,
        reported=REPORTED,
    ),
    IngressReader,
    (
        KindRead(
            Kind.INGRESS_CLASS,
            _GROUP,
            _VERSION,
            "ingressclasses",
            project_ingress_class,
            namespaced=False,
            optional=True,
            old_versions=("networking.k8s.io/v1beta1",),
        ),
    ),
)
