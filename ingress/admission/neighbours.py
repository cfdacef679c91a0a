"""Which other Ingresses an Ingress has to do with: by hosts that both name, or by wildcards over them.  Pure, and in steps.

What becomes of an Ingress depends on others only where they meet on a host (``ingress.translate.hosts.decision``, ``host_tls``).  So it is
enough to translate these beside it, and one more than needed changes nothing.  They are

- those that name one of its hosts, or the wildcard above one: by a rule, by ``spec.tls``, or as a further host;
- those with a rule for the target of a further host among these, since they have a say about it, too;
- those whose certificate may be for any host, which its Secret alone says;
- below a wildcard of which the Ingress has the certificate some of other namespaces, which may be left out of that.
"""

from collections.abc import Callable, Iterator
from typing import Final

from ingress.annotations.hosts.further_hosts import ALIASES, WWW
from ingress.model.cluster.objects import ObjectKey
from ingress.model.cluster.state import ClusterState
from ingress.model.stepwise import Stepwise
from ingress.translate.hosts.merging import ALL_HOSTS
from ingress.translate.ownership import wildcard_of
from ingress.translate.readers.ingress.objects import Ingress, ingresses_of

NAMES_A_STEP: Final = 100
MOST_BELOW: Final = 100
"""Hosts below wildcards that are looked at: one that is left out is all that makes a difference."""

CertificateNames = Callable[[ObjectKey], tuple[str, ...]]
"""Returns the names that the certificate in a Secret is for."""


def neighbours(
    ingress: Ingress, state: ClusterState, prefix: str, certificate_names: CertificateNames
) -> Stepwise[list[ObjectKey]]:
    """Find the Ingresses of *state* that *ingress* has to do with, which may be there itself; *prefix* is that of annotations."""
    wanted: set[str] = set()
    for number, name in enumerate(_names(ingress, prefix), 1):
        wanted.update((name, wildcard_of(name) or name))
        if not number % NAMES_A_STEP:
            yield
    if _may_have_any(ingress):
        for entry in ingress.tls:
            if entry.secret_name:
                wanted.update(certificate_names(ObjectKey(ingress.key.namespace, entry.secret_name)))
                yield
    certified = {name for name in wanted if name.startswith("*")} if ingress.tls else frozenset()
    found: dict[ObjectKey, None] = {}
    others: set[str] = set()
    below: set[str] = set()
    # Between steps objects may come and go.
    all_ingresses, keys = ingresses_of(state), tuple(ingresses_of(state))
    count = 0
    for key in keys:
        other = all_ingresses.get(key)
        if other is None or key == ingress.key:
            continue
        is_found = _may_have_any(other)
        may_be_left_out = bool(certified) and key.namespace != ingress.key.namespace and not other.tls
        for name in _names(other, prefix):
            count += 1
            if count >= NAMES_A_STEP:
                count = 0
                yield
            is_found = is_found or name in wanted
            if may_be_left_out and len(below) < MOST_BELOW and wildcard_of(name) in certified:
                below.add(name)
        if is_found:
            found[key] = None
            if _has_further(other, prefix):
                others.update(rule.host.lower() for rule in other.rules)
    others = (others | below) - wanted
    for key in keys if others else ():
        other = all_ingresses.get(key)
        if other is None or key == ingress.key or key in found:
            continue
        for name in _names(other, prefix):
            count += 1
            if count >= NAMES_A_STEP:
                count = 0
                yield
            if name in others:
                found[key] = None
    return list(found)


def _names(ingress: Ingress, prefix: str) -> Iterator[str]:
    """Yield all hosts that *ingress* names, some more than once."""
    if ingress.default_backend is not None:
        yield ALL_HOSTS
    for rule in ingress.rules:
        yield rule.host.lower()
    for entry in ingress.tls:
        for host in entry.hosts:
            yield host.lower()
    if not _has_further(ingress, prefix):
        return
    for alias in ingress.annotations.get(f"{prefix}/{ALIASES}", "").split(","):
        yield alias.strip().lower()
    for rule in ingress.rules:
        host = rule.host.lower()
        yield host.removeprefix("www.") if host.startswith("www.") else f"www.{host}"


def _has_further(ingress: Ingress, prefix: str) -> bool:
    return bool(ingress.annotations) and any(
        f"{prefix}/{name}" in ingress.annotations for name in (ALIASES, WWW)
    )


def _may_have_any(ingress: Ingress) -> bool:
    """Whether hosts of *ingress* are whatever names its certificates have."""
    return any(not entry.hosts for entry in ingress.tls) and (
        not ingress.rules or any(not rule.host for rule in ingress.rules)
    )
