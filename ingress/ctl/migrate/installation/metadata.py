"""Labels and annotations that somebody wrote for a purpose, apart from those by which a tool knows what it has written.  Pure.

What selects by such a label, as ``kubectl apply --prune`` and kapp do, deletes objects that it finds and does not know.
"""

from collections.abc import Collection, Mapping
from typing import Final

_TOOLS: Final = (
    "addonmanager.kubernetes.io/",
    "applyset.kubernetes.io/",
    "argocd.argoproj.io/",
    "cattle.io/",
    "checksum/",
    "config.k8s.io/",
    "configmanagement.gke.io/",
    "field.cattle.io/",
    "helm.sh/",
    "helm.toolkit.fluxcd.io/",
    "kapp.k14s.io/",
    "kubectl.kubernetes.io/",
    "kustomize.toolkit.fluxcd.io/",
    "meta.helm.sh/",
    "objectset.rio.cattle.io/",
    "reloader.stakater.com/last-reloaded-from",
)
"""How names of labels and annotations of tools begin."""
_INSTALLED: Final = "app.kubernetes.io/"
"""How labels begin that say what was installed."""
_OTHER_LABELS: Final = frozenset(
    {"chart", "controller-revision-hash", "heritage", "pod-template-generation", "pod-template-hash"}
)
"""Those of Helm's first charts, and those that controllers of the cluster give to pods."""


def is_of_tool(name: str) -> bool:
    """Whether a label or an annotation of this *name* is a tool's own."""
    return name.startswith(_TOOLS)


def purposeful_labels(labels: Mapping[str, str], selecting: Collection[str]) -> dict[str, str]:
    """Return those of *labels* that say neither what was installed, nor are *selecting* its pods; by name."""
    return {
        name: value
        for name, value in sorted(labels.items())
        if name not in selecting
        and name not in _OTHER_LABELS
        and not name.startswith(_INSTALLED)
        and not is_of_tool(name)
    }
