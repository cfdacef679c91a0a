"""The snapshot: everything the proxy reads, immutable, made current by one assignment."""

from collections.abc import Mapping

from attrs import Factory, frozen

from ingress.certificates import CertificateTable
from ingress.model.backends import BackendReference, BackendState
from ingress.model.problems import Problem
from ingress.routing.table import RouteTable


@frozen(eq=False)
class Snapshot:
    """One translation of the cluster state."""

    table: RouteTable = Factory(RouteTable)
    backends: Mapping[BackendReference, BackendState] = Factory(dict)
    """A state for every backend that a route of *table* names."""
    certificates: CertificateTable = Factory(CertificateTable)
    problems: tuple[Problem, ...] = ()
    """Sorted, without duplicates; those of the cluster state included."""
