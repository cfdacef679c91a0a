"""NetworkPolicies that let this controller in where an ingress-nginx is let in by its name.  Pure.

Policies add up: one beside the other that selects the same pods lets in who stands there, and closes nothing.  So no policy of anybody is
changed, and both controllers get in as long as both are there.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from ingress.ctl.inputs.ingress_nginx.network_policies import Pods, Policy, lets_in
from ingress.ctl.inputs.ingress_nginx.raw_values import name_of, namespace_of, object_in
from ingress.ctl.migrate.installation.carried import CarriedField, Fate, is_sound
from ingress.ctl.migrate.installation.overlays import OWN_LABELS, OWN_NAME
from ingress.ctl.migrate.installation.yaml_text import manifest
from ingress.model.frozen import frozen
from ingress.object_fields import RawObject

MOST_POLICIES: Final = 500
"""Those that are written for one ingress-nginx."""
_OWN: Final = Pods(OWN_NAME, OWN_LABELS, OWN_LABELS)
"""The pods of this controller, in the namespace that ``k8s/`` makes."""
_PEER: Final = {
    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": OWN_NAME}},
    "podSelector": {"matchLabels": dict(OWN_LABELS)},
}
_LONGEST_NAME: Final = 253
_LETS_IN: Final = "another policy beside it lets this controller in, too"
_ABOUT_PODS: Final = f"it is about the pods of ingress-nginx: those of this controller are in the namespace {OWN_NAME}, where it does not hold"
_TOO_MANY: Final = f"no more than {MOST_POLICIES} are written: this one is yours to write"


@frozen(eq=False)
class WrittenPolicies:
    """The manifest of the policies that are to stand beside others, empty for none, and what is said of these."""

    text: str
    fields: tuple[CarriedField, ...]


@lru_cache(maxsize=8)
def policies_written(policies: tuple[Policy, ...]) -> WrittenPolicies:
    """Return the policies that let this controller in where *policies* let in ingress-nginx, and it is not let in anyway.

    Many an ingress-nginx may have pods with the same labels, and is let in by the same ones.
    """
    written: list[RawObject] = []
    fields: list[CarriedField] = []
    for policy in policies:
        owner = f"NetworkPolicy {namespace_of(policy.raw)}/{name_of(policy.raw)}"
        if policy.is_about_them:
            fields.append(CarriedField(owner, "podSelector", Fate.LEFT, _ABOUT_PODS))
        rules = list(_own_rules(policy))
        if not rules:
            continue
        own = _own_policy(policy.raw, rules)
        if len(written) == MOST_POLICIES or not is_sound(own):
            why = _TOO_MANY if is_sound(own) else "no such value is in the API"
            fields.append(CarriedField(owner, "ingress", Fate.LEFT, why))
            continue
        written.append(own)
        fields.append(CarriedField(owner, "ingress", Fate.TAKEN, _LETS_IN))
    return WrittenPolicies(manifest(written), tuple(fields))


def _own_rules(policy: Policy) -> Iterator[RawObject]:
    """Yield a rule for the same ports for each of those that let ingress-nginx in, but not this controller; each once."""
    known: list[RawObject] = []
    for rule in policy.rules:
        own = {"from": [_PEER], **({"ports": rule["ports"]} if rule.get("ports") else {})}
        if own not in known and not lets_in(rule, namespace_of(policy.raw), _OWN):
            known.append(own)
            yield own


def _own_policy(raw: RawObject, rules: list[RawObject]) -> dict[str, Any]:
    ending = f"-{OWN_NAME}"
    name = f"{name_of(raw)[: _LONGEST_NAME - len(ending)].rstrip('-.')}{ending}"
    metadata = {"name": name, "namespace": namespace_of(raw), "labels": dict(OWN_LABELS)}
    selector = object_in(object_in(raw, "spec"), "podSelector")
    spec = {"podSelector": selector, "policyTypes": ["Ingress"], "ingress": rules}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": metadata, "spec": spec}
