"""Whose paths mean on a host what they mean in ingress-nginx, although the API has it otherwise, or leaves it open.

That is so where somebody counts on ingress-nginx: on hosts that an Ingress with annotations of its prefix names, for all
paths of its namespace there, or for everybody's where hosts are shared.
"""

from collections.abc import Sequence

from ingress.model.objects import Owner
from ingress.routing.beginnings import EVERYBODY
from ingress.translate.claims import ParsedObject


def quirky_namespaces(all_parsed: Sequence[ParsedObject], *, is_shared: bool) -> frozenset[str]:
    """Return the namespaces for whose paths on a host that is so; *all_parsed* are those that have a say about it."""
    found = {parsed.owner.key.namespace for parsed in all_parsed if parsed.has_annotations}
    return frozenset((*found, EVERYBODY) if is_shared and found else found)


def is_quirky(owner: Owner, namespaces: frozenset[str]) -> bool:
    """Whether *owner* is of these *namespaces*."""
    return EVERYBODY in namespaces or owner.key.namespace in namespaces
