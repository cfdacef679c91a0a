"""A directory of manifests, and what looks at it tell."""

import os

from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.manifests.manifest_scan import ManifestScan, changes, scan
from ingress.model.cluster.objects import Batch, Kind, ObjectId, ObjectKey, Service

PREFIX = "nginx.ingress.kubernetes.io"


def text_of(name: str, port: int = 80, namespace: str = "web") -> str:
    """A manifest with one Service."""
    return (
        f"apiVersion: v1\nkind: Service\nmetadata: {{name: {name}, namespace: {namespace}}}\n"
        f"spec: {{ports: [{{port: {port}}}]}}\n"
    )


def service(name: str, namespace: str = "web") -> ObjectId:
    """The id of such a Service."""
    return Kind.SERVICE, ObjectKey(namespace, name)


class DiskTestCase(SynchronousTestCase):
    """A directory of manifests, and what the looks at it told."""

    def setUp(self) -> None:
        """Begin with an empty directory, not looked at."""
        self.root = os.path.abspath(self.mktemp())
        os.mkdir(self.root)
        self.paths: tuple[str, ...] = (self.root,)
        self.namespaces: tuple[str, ...] = ()
        self.known: ManifestScan | None = None

    def path(self, name: str) -> str:
        """The path of a file of the directory."""
        return os.path.join(self.root, name)

    def write(self, name: str, text: str) -> str:
        """Write a file as most programs do: in place, all at once."""
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as stream:
            stream.write(text)
        return path

    def look_once(self) -> Batch:
        """Look at the disk, and return what that changes."""
        before, self.known = self.known, scan(self.paths, self.known, PREFIX, self.namespaces)
        return changes(before, self.known)

    def look(self) -> Batch:
        """Look until nothing is restless, and return all that changed."""
        batch = dict(self.look_once())
        for _ in range(10):
            if self.known is None or not self.known.is_restless():
                break
            batch.update(self.look_once())
        else:
            self.fail("restless without end")
        return batch

    def ports(self) -> dict[ObjectId, int]:
        """The Services in force, and their port."""
        assert self.known is not None
        values = {found: projection.value for found, projection in self.known.objects.items()}
        return {found: value.ports[0].number for found, value in values.items() if isinstance(value, Service)}

    def problems(self, path: str) -> list[str]:
        """The problems told of the file at *path*."""
        assert self.known is not None
        projection = self.known.objects.get((Kind.MANIFEST, ObjectKey("", path)))
        return [problem.message for problem in projection.problems] if projection else []
