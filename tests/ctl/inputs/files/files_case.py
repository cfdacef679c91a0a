"""A case that reads files as commands do."""

import os
from io import BytesIO

from ingress.cluster.manifests.manifest_files import line_told
from ingress.ctl.commands.reading_inputs import read_input
from ingress.ctl.inputs.files.choices import USUAL, How
from ingress.ctl.inputs.input import Input, Place
from ingress.model.cluster.objects import Kind
from tests.ctl.ctl_case import CtlCase

OBJECT = """\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: {name}
spec:
  ingressClassName: nginx
  rules:
    - host: {host}
      http:
        paths:
          - path: /
            pathType: Prefix
            backend: {{service: {{name: web, port: {{number: 80}}}}}}
"""


def an_ingress(name: str = "web", host: str = "shop.example.com") -> str:
    """An Ingress that names no namespace."""
    return OBJECT.format(name=name, host=host)


class FilesCase(CtlCase):
    """Reads what lies in the folder of the test."""

    def read(self, *paths: str, options: tuple[str, ...] = (), how: How = USUAL) -> Input:
        """Read *paths* of the test's folder, which is one of them where none is named; ``-`` is standard input."""
        whole = [path if path == "-" else os.path.join(self.folder, path) for path in paths or ("",)]
        return read_input(tuple(whole), options, how)

    def read_piped(self, content: str | bytes, *paths: str) -> Input:
        """Read *content* from standard input, and *paths* besides."""
        piped = BytesIO(content.encode() if isinstance(content, str) else content)
        return self.read("-", *paths, how=How(standard_input=piped))

    def ingresses(self, given: Input) -> dict[str, str]:
        """Return where each Ingress of the first layer stands, by namespace and name; paths begin in the test's folder."""
        return {
            str(key): str(given.place((Kind.INGRESS, key))).removeprefix(f"{self.folder}/")
            for key in sorted(given.state.of(Kind.INGRESS))
        }

    def told_of_files(self, given: Input) -> list[str]:
        """Return the problems of files, each with its place."""
        return [
            f"{Place(problem.name, line_told(problem))}: {problem.message}".replace(f"{self.folder}/", "")
            for problem in given.state.problems
            if problem.kind == Kind.MANIFEST
        ]

    def unread(self, given: Input) -> list[tuple[str, str]]:
        """Return what was not read, and why."""
        folder = str(self.folder)
        return [
            (one.what.replace(f"{folder}/", "").replace(folder, "."), one.why.replace(f"{folder}/", ""))
            for one in given.unread
        ]
