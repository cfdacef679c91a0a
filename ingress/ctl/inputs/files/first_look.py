"""What a file looks like by its text, before it is read: most files of a repository hold no object that matters here."""

import re
from typing import Final

from ingress.cluster.kinds import KINDS
from ingress.cluster.manifests.manifest_files import UTF_16

_NAMES: Final = "|".join((*sorted(KINDS), "")).rstrip("|")
_KIND: Final = re.compile(
    rf"(?<![\w-])kind[\"']?\s*:\s*[\"']?(?:(?:{_NAMES})(?:List)?|List)\b".encode(), re.IGNORECASE
)
_WORKLOAD: Final = re.compile(
    rb"(?<![\w-])kind[\"']?\s*:\s*[\"']?(?:Deployment|DaemonSet|HorizontalPodAutoscaler|ScaledObject|PodDisruptionBudget|NetworkPolicy)\b"
)
_INGRESS_NGINX: Final = re.compile(rb"ingress-nginx|nginx-ingress-controller")
_MARKS: Final = re.compile(r"\{\{|\{%|<%")


def may_hold_objects(content: bytes) -> bool:
    """Whether a file that nobody has named says of something that it is of a kind that is read here."""
    if content[:2] in UTF_16:
        # It is told that this is not read, if it would hold objects.
        content = content.replace(b"\0", b"")
    return _KIND.search(content) is not None


def may_run_ingress_nginx(content: bytes) -> bool:
    """Whether such a file may hold what runs ingress-nginx or is around it, and nothing else that matters."""
    return _INGRESS_NGINX.search(content) is not None and _WORKLOAD.search(content) is not None


def is_template_before(content: bytes, line: int) -> bool:
    """Whether a file has the marks of templates before its *line*, up to which it could be read, or on it."""
    found = _MARKS.search(content.decode("utf-8", "replace"))
    return found is not None and found.string.count("\n", 0, found.start()) < line
