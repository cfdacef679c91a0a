"""NetworkPolicies that have to do with the pods of a controller: those that let them in elsewhere by name, and those about themselves.  Pure.

Source: ``NetworkPolicyPeer`` of ``networking.k8s.io/v1``.  Each namespace has its name as a label (``kubernetes.io/metadata.name``); where
its other labels are not known, one that has the namespace's name as its value is taken to be there, as ``name: ingress-nginx`` mostly is.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from ingress.ctl.inputs.ingress_nginx.raw_selectors import selector_of
from ingress.ctl.inputs.ingress_nginx.raw_values import namespace_of, object_in, objects_in, texts_in
from ingress.model.cluster.label_selectors import LabelSelector
from ingress.model.frozen import frozen
from ingress.object_fields import RawObject, is_object

_NAME: Final = "kubernetes.io/metadata.name"


@frozen
class Pods:
    """Pods as policies tell them apart: by their *namespace*, its labels, None where they are not known, and their own *labels*."""

    namespace: str
    namespace_labels: Mapping[str, str] | None
    labels: Mapping[str, str]

    def are_from(self, selector: LabelSelector) -> bool:
        """Whether *selector*, of namespaces, selects theirs."""
        labels = {**(self.namespace_labels or {}), _NAME: self.namespace}
        if self.namespace_labels is None:
            taken = (
                one.key
                for one in selector.requirements
                if one.operator == "In" and self.namespace in one.values
            )
            labels = {**dict.fromkeys(taken, self.namespace), **labels}
        return selector.is_met(labels)


@frozen(eq=False)
class Policy:
    """A NetworkPolicy: the *rules* of its ``ingress`` that let the pods in by name, and whether it *is_about_them*."""

    raw: RawObject
    rules: tuple[RawObject, ...]
    is_about_them: bool


def lets_in(rule: RawObject, at: str, pods: Pods) -> bool:
    """Whether *rule*, of a policy in the namespace *at*, lets *pods* in by one of its peers; what has none is for everybody."""
    return any(_is_peer(peer, at, pods) for peer in objects_in(rule, "from"))


def _is_peer(peer: RawObject, at: str, pods: Pods) -> bool:
    of_namespaces, of_pods = peer.get("namespaceSelector"), peer.get("podSelector")
    if not is_object(of_namespaces) and not is_object(of_pods):
        return False
    is_from = pods.are_from(selector_of(of_namespaces)) if is_object(of_namespaces) else pods.namespace == at
    return is_from and (not is_object(of_pods) or selector_of(of_pods).is_met(pods.labels))


def labels_of_namespace(raw: RawObject) -> Mapping[str, str]:
    """Return the labels of a Namespace."""
    return texts_in(object_in(raw, "metadata"), "labels")


class Policies:
    """All of a cluster, for whoever asks about some pods after the other."""

    def __init__(self, policies: Iterable[RawObject], labels: Mapping[str, Mapping[str, str]]) -> None:
        self._all = list(policies)
        self._labels = labels
        # By a text that has to be among the labels of whoever is let in by one of their peers; under the empty one where none has to.
        self._by_text: dict[str, list[int]] = {}
        self._by_namespace: dict[str, list[int]] = {}
        self._found: dict[tuple[str, frozenset[tuple[str, str]]], tuple[Policy, ...]] = {}
        for number, one in enumerate(self._all):
            self._by_namespace.setdefault(namespace_of(one), []).append(number)
            for text in {_needed(peer) for rule in _rules(one) for peer in objects_in(rule, "from")}:
                self._by_text.setdefault(text, []).append(number)

    def about(self, namespace: str, labels: Mapping[str, str]) -> tuple[Policy, ...]:
        """Return those that have to do with pods in *namespace* with *labels*, in the order in which they came."""
        asked = namespace, frozenset(labels.items())
        found = self._found.get(asked)
        if found is None:
            found = self._found[asked] = tuple(
                self._about(Pods(namespace, self._labels.get(namespace), labels))
            )
        return found

    def _about(self, pods: Pods) -> Iterator[Policy]:
        texts = {"", pods.namespace, *pods.labels.values(), *(pods.namespace_labels or {}).values()}
        numbers = {number for text in texts for number in self._by_text.get(text, ())}
        for number in sorted(numbers.union(self._by_namespace.get(pods.namespace, ()))):
            one = self._all[number]
            at = namespace_of(one)
            rules = tuple(rule for rule in _rules(one) if lets_in(rule, at, pods))
            selector = selector_of(object_in(object_in(one, "spec"), "podSelector"))
            is_about_them = at == pods.namespace and selector.is_met(pods.labels)
            if rules or is_about_them:
                yield Policy(one, rules, is_about_them)


def _rules(policy: RawObject) -> Sequence[RawObject]:
    spec = object_in(policy, "spec")
    types = spec.get("policyTypes")
    return () if isinstance(types, list) and "Ingress" not in types else objects_in(spec, "ingress")


def _needed(peer: RawObject) -> str:
    """Return a text that is the value of a label of whoever *peer* lets in; empty where it names none."""
    for field in ("podSelector", "namespaceSelector"):
        for one in selector_of(object_in(peer, field)).requirements:
            if one.operator == "In" and len(one.values) == 1:
                return one.values[0]
    return ""
