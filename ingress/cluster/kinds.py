"""The kinds of objects that are read from an API server or written there, and how each is asked for.

Kinds of route objects come with their readers (``ingress.translate.readers``).  These tables are
the one place that says which API calls the program makes: requests are built
from them, and the access rights that ship with the program are compared with them.
"""

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Final

from attrs import evolve

from ingress.cluster.projecting.project import (
    project_config_map,
    project_endpoint_slice,
    project_node,
    project_pod,
    project_secret,
    project_service,
)
from ingress.model.cluster.objects import Kind
from ingress.model.reporting.writes import APPLY_PATCH, KindWrite
from ingress.translate.options import SECRET_SELECTOR
from ingress.translate.readers.gateway.kinds import NAMESPACES
from ingress.translate.readers.reader import KindRead, RouteKind
from ingress.translate.readers.route_kinds import REPORTED_KINDS, ROUTE_KINDS

SERVICES = KindRead(Kind.SERVICE, "", "v1", "services", project_service)
ENDPOINT_SLICES = KindRead(
    Kind.ENDPOINT_SLICE,
    "discovery.k8s.io",
    "v1",
    "endpointslices",
    project_endpoint_slice,
    old_versions=("discovery.k8s.io/v1beta1",),
)
# A Secret that is referred to is also read by its name, when no watch has shown it.
SECRETS = KindRead(
    Kind.SECRET,
    "",
    "v1",
    "secrets",
    project_secret,
    optional=True,
    field_selector=SECRET_SELECTOR,
    verbs=("get", "list", "watch"),
)


# A ConfigMap is read by its name alone, where somebody refers to it: nobody lists them.
CONFIG_MAPS = KindRead(
    Kind.CONFIG_MAP, "", "v1", "configmaps", project_config_map, optional=True, verbs=("get",)
)
# The one that this process runs on is watched, where its zone is asked for; objects are served without it.
NODES = KindRead(
    Kind.NODE, "", "v1", "nodes", project_node, namespaced=False, optional=True, metadata_only=True
)
# All of them with their status, and the pods of our own namespace: by the leader alone, where it shows the addresses of Nodes.
WHOLE_NODES = evolve(NODES, metadata_only=False)
PODS = KindRead(Kind.POD, "", "v1", "pods", project_pod, optional=True)
REFERRED_TO = (SECRETS, CONFIG_MAPS)
"""The kinds of which only those objects are kept that somebody refers to."""

_MOST_CHARACTERS: Final = 64
_CLOSE_KIND: Final = 0.92
_CLOSE_GROUP: Final = 0.85
"""How much a name has of another one that is likely meant: XMesh and BackendLBPolicy are kinds of their own, and networking.gke.io is no slip."""


class ObjectKinds(Mapping[Kind, KindRead]):
    """All kinds that are read: those of *routes* and what these are judged by, and what they refer to.

    Where somebody *selects_namespaces*, these are read whatever else is, and nothing goes without them.
    """

    def __init__(
        self, routes: Iterable[RouteKind] = ROUTE_KINDS, *, selects_namespaces: bool = False
    ) -> None:
        self.routes = tuple(routes)
        """The kinds of route objects."""
        deciding = [read for row in self.routes for read in (row.read, *row.judged_by)]
        self.selected = frozenset(read.kind for read in deciding if read.namespaced)
        """Those of them that lie in namespaces: what is left alone in namespaces that are not selected."""
        if selects_namespaces:
            deciding.append(evolve(NAMESPACES, optional=False, definition=""))
        self.deciding = frozenset(read.kind for read in deciding)
        """The kinds of which objects decide what else is needed."""
        self._reads = {read.kind: read for read in (*deciding, SERVICES, ENDPOINT_SLICES, *REFERRED_TO)}
        self._written: dict[tuple[str, str], KindRead] = {
            (version, read.kind): read
            for read in self._reads.values()
            # Whoever has definitions among the manifests has them for others.
            if not read.metadata_only
            for version in (read.api_version, *read.old_versions)
        }
        self.groups = frozenset(version.rpartition("/")[0] for version, _ in self._written)
        """The API groups that these kinds are in, or were."""

    def written_as(self, api_version: str, name: str) -> KindRead | None:
        """Return the kind that an object with these ``apiVersion`` and ``kind`` is of, None if it is not read."""
        return self._written.get((api_version, name))

    def meant_by(self, api_version: str, name: str) -> KindRead | None:
        """Return the kind that is most likely meant by an ``apiVersion`` and ``kind`` that nothing is written as: by a slip in one of them."""
        group = api_version.rpartition("/")[0]
        spelled = {
            read.kind.lower(): read
            for (version, _), read in self._written.items()
            if version.rpartition("/")[0] == group
        }
        found = (
            get_close_matches(name.lower(), spelled, 1, _CLOSE_KIND) if len(name) <= _MOST_CHARACTERS else []
        )
        if found:
            return spelled[found[0]]
        read = self._reads.get(Kind(name))
        known = "" if read is None or read.metadata_only else read.group
        if not known or not group or len(group) > _MOST_CHARACTERS:
            return None
        is_meant = group == known.partition(".")[0] or get_close_matches(group, [known], 1, _CLOSE_GROUP)
        return read if is_meant else None

    def __getitem__(self, kind: Kind) -> KindRead:
        return self._reads[kind]

    def __iter__(self) -> Iterator[Kind]:
        return iter(self._reads)

    def __len__(self) -> int:
        return len(self._reads)


KINDS = ObjectKinds()


LEASES = KindWrite("coordination.k8s.io", "v1", "leases", ("create", "get", "update"))
"""One Lease, in the namespace of the election."""
STATUSES = tuple(reported.write for reported in REPORTED_KINDS)
"""The statuses of all kinds in which we report what became of an object."""
GATEWAY_SERVICES = KindWrite("", "v1", "services", ("create", "patch"), media_type=APPLY_PATCH)
"""Services that are kept for Gateways; whoever applies needs the right to create what is not there."""
EVENTS = KindWrite("events.k8s.io", "v1", "events", ("create", "patch"))
