"""What tests of statuses of the Gateway API share: objects and problems to conditions, in short."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.object_meta import Address, Condition
from ingress.model.cluster.objects import ClusterObject, Kind, ObjectId, ObjectKey, Owner
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.cluster.state import ClusterState
from ingress.model.reporting.reports import Report, StatusEntry
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.gateway.objects.gateways import Gateway, GatewayClass, ListenerSet
from ingress.translate.readers.gateway.objects.names import BACKEND_TLS_POLICY, HTTP_ROUTE
from ingress.translate.readers.gateway.objects.policies import BackendTLSPolicy
from ingress.translate.readers.gateway.objects.routes import HTTPRoute, HTTPRule, ParentReference
from ingress.translate.readers.gateway.statuses.reported import (
    REPORTED_CLASSES,
    REPORTED_GATEWAYS,
    REPORTED_HTTP_ROUTES,
    REPORTED_POLICIES,
    REPORTED_SETS,
)
from ingress.translate.readers.gateway.topology.topology import Topology
from ingress.translate.readers.gateway.topology.topology_making import topology_of
from ingress.translate.reports import Attached, ReportedKind, ReportFacts, report_of
from tests.translate.readers.gateway.gateway_values import options_of, state_of

_REPORTED: Mapping[type, ReportedKind] = {
    GatewayClass: REPORTED_CLASSES,
    Gateway: REPORTED_GATEWAYS,
    ListenerSet: REPORTED_SETS,
    HTTPRoute: REPORTED_HTTP_ROUTES,
    BackendTLSPolicy: REPORTED_POLICIES,
}

Short = dict[str, tuple[str, str]]
"""Conditions by type: status and reason."""


def route(
    name: str,
    *parents: ParentReference,
    hostnames: Iterable[str] = (),
    namespace: str = "infra",
    rules: int = 1,
) -> HTTPRoute:
    """An HTTPRoute with so many rules."""
    made = tuple(HTTPRule(f"spec.rules[{at}]") for at in range(rules))
    return HTTPRoute(ObjectKey(namespace, name), "", parents, tuple(hostnames), made)


def short(conditions: Iterable[Condition]) -> Short:
    return {one.type: (one.status, one.reason) for one in conditions}


class StatusCase(SynchronousTestCase):
    """Objects, the problems that the topology has with them, and more."""

    options: TranslateOptions = options_of()
    published: tuple[Address, ...] | None = (Address("192.0.2.1"),)
    attached: Mapping[tuple[Owner, str], int] = {}
    gateways: Mapping[ObjectKey, Collection[Owner]] = {}

    def given(self, *values: ClusterObject, problems: Iterable[Problem] = ()) -> None:
        """Let there be these objects, with these problems besides those of the topology."""
        routes = {one.key: one for one in values if isinstance(one, HTTPRoute)}
        policies = {one.key: one for one in values if isinstance(one, BackendTLSPolicy)}
        state = state_of(*(one for one in values if one.key not in {**routes, **policies}))
        more: dict[Kind, Mapping[ObjectKey, ClusterObject]] = {
            HTTP_ROUTE: routes,
            BACKEND_TLS_POLICY: policies,
        }
        self.state: ClusterState = evolve(state, objects={**state.objects, **more})
        self.topology: Topology = topology_of(self.state, self.options)
        self.problems: dict[ObjectId, list[Problem]] = {}
        told: list[Problem] = []
        for gateway in self.topology.gateways.values():
            told += gateway.problems
        for listener_set in self.topology.listener_sets.values():
            told += listener_set.problems
        for problem in (*told, *problems):
            key = ObjectKey(problem.namespace, problem.name)
            of = next(kind for kind in self.state.objects if kind == problem.kind)
            self.problems.setdefault((of, key), []).append(problem)

    def report(self, value: ClusterObject) -> Report:
        """What is to be reported of *value*."""
        reported = _REPORTED[type(value)]

        def problems_of(one: ObjectId) -> Collection[Problem]:
            return self.problems.get(one, ())

        facts = ReportFacts(
            value.key,
            self.state,
            self.options,
            problems_of((reported.kind, value.key)),
            self.published,
            Attached(self.attached, lambda service: self.gateways.get(service, ())),
            problems_of,
        )
        found = report_of(reported, facts)
        assert found is not None, "there is no such object"
        return found

    def conditions(self, value: ClusterObject) -> Short:
        """The conditions of the object as a whole."""
        return short(self.report(value).document.conditions)

    def message(self, value: ClusterObject, of_type: str) -> str:
        """What a condition of the object says."""
        return next(one.message for one in self.report(value).document.conditions if one.type == of_type)

    def fields(self, value: ClusterObject) -> Mapping[str, Any]:
        return self.report(value).document.fields

    def listeners(self, value: ClusterObject) -> dict[str, StatusEntry]:
        """The entries of its listeners."""
        return {str(one.fields["name"]): one for one in self.report(value).document.lists["listeners"]}

    def listener(self, value: ClusterObject, name: str = "http") -> Short:
        """The conditions of a listener."""
        return short(self.listeners(value)[name].conditions)

    def parents(self, value: HTTPRoute) -> list[tuple[Any, Short]]:
        """The entries of its parents: their references, and their conditions."""
        entries = self.report(value).document.lists["parents"]
        return [(one.fields["parentRef"], short(one.conditions)) for one in entries]

    def accepted(self, value: HTTPRoute) -> tuple[str, str]:
        """Whether its one parent accepts it."""
        [(_, conditions)] = self.parents(value)
        return conditions["Accepted"]


__all__ = ["Reason", "StatusCase", "route", "short"]
