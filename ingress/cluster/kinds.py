"""The kinds of objects that are read from an API server or written there, and how each is asked for.

These tables are the one place that says which API calls the program makes: requests are built
from them, and the access rights that ship with the program are compared with them.
"""

from collections.abc import Mapping

from attrs import frozen

from ingress.model.objects import Kind, ObjectKey
from ingress.model.writes import KindWrite
from ingress.translate.options import SECRET_SELECTOR
from ingress.translate.reports import REPORTED_KINDS


@frozen
class KindRead:
    """How one kind is read.

    *group* is empty for the core group.  *optional* kinds do not hold back the first sync
    when the API server forbids them.  *field_selector* narrows what is listed and watched;
    empty means everything.  *verbs* are those of the Kubernetes authorization rules.
    """

    kind: Kind
    group: str
    version: str
    plural: str
    namespaced: bool = True
    optional: bool = False
    field_selector: str = ""
    verbs: tuple[str, ...] = ("list", "watch")

    def path(self, namespace: str = "") -> str:
        """The collection's path, of one *namespace* or (empty) of the whole cluster."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        return f"{root}/namespaces/{namespace}/{self.plural}" if namespace else f"{root}/{self.plural}"

    def object_path(self, key: ObjectKey) -> str:
        """The path of one object."""
        return f"{self.path(key.namespace)}/{key.name}"

    def scopes(self, namespaces: tuple[str, ...]) -> tuple[str, ...]:
        """The namespaces to ask in, one request each; the empty one means the whole cluster."""
        return namespaces if self.namespaced and namespaces else ("",)


# A Secret that is referred to is also read by its name, when no watch has shown it.
KINDS: Mapping[Kind, KindRead] = {
    read.kind: read
    for read in (
        KindRead(Kind.INGRESS, "networking.k8s.io", "v1", "ingresses"),
        KindRead(
            Kind.INGRESS_CLASS, "networking.k8s.io", "v1", "ingressclasses", namespaced=False, optional=True
        ),
        KindRead(Kind.SERVICE, "", "v1", "services"),
        KindRead(Kind.ENDPOINT_SLICE, "discovery.k8s.io", "v1", "endpointslices"),
        KindRead(
            Kind.SECRET,
            "",
            "v1",
            "secrets",
            optional=True,
            field_selector=SECRET_SELECTOR,
            verbs=("get", "list", "watch"),
        ),
    )
}


LEASES = KindWrite("coordination.k8s.io", "v1", "leases", ("create", "get", "update"))
"""One Lease, in the namespace of the election."""
STATUSES = tuple(reported.write for reported in REPORTED_KINDS)
"""The statuses of all kinds in which we report what became of an object."""
EVENTS = KindWrite("events.k8s.io", "v1", "events", ("create", "patch"))
