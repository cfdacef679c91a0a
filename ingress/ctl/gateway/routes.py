"""Rules of hosts as HTTPRoutes, GRPCRoutes and TLSRoutes: who has which, in the sizes that the API takes.

Hosts of one owner that have the same rules share a route.

Sources: ``HTTPRouteSpec``, ``CommonRouteSpec``.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import Final

from attrs import Factory, define, field

from ingress.ctl.gateway.listeners import Section, slug
from ingress.ctl.gateway.rendering_values import API_VERSION, GatewayOptions, Json, meta, without_empty
from ingress.ctl.gateway.rules import MOST_RULES
from ingress.model.cluster.objects import ObjectId
from ingress.model.frozen import frozen

GRPC_ROUTE: Final = "GRPCRoute"
TLS_ROUTE: Final = "TLSRoute"
MOST_HOSTNAMES: Final = 16
MOST_PARENTS: Final = 32
_MOST_NAME: Final = 230
_NOT_IN_NAMES: Final = re.compile(r"[^a-z0-9.-]|(?<=[.-])\.|\.(?=-)")


@frozen
class Served:
    """Rules that a host has at some listeners."""

    kind: str
    asking: ObjectId
    namespace: str
    host: str
    sections: tuple[Section, ...]
    rules: list[Json] = field(eq=False)
    scheme: str = ""
    """Where they hold for one scheme alone: which."""


@define
class _Group:
    first: Served
    hosts: list[tuple[str, tuple[Section, ...]]] = Factory(list)


class Routes:
    """Makes routes of what is served; *owners* says afterwards whose each one is, by kind, namespace and name."""

    def __init__(self, options: GatewayOptions) -> None:
        self._options = options
        self.owners: dict[tuple[str, str, str], ObjectId] = {}

    def made(self, served: Iterable[Served]) -> list[Json]:
        """Return the routes, by namespace, owner and host."""
        groups: dict[tuple[str, ObjectId, str, str], _Group] = {}
        for one in served:
            key = (one.kind, one.asking, one.scheme, json.dumps(one.rules, sort_keys=True))
            groups.setdefault(key, _Group(one)).hosts.append((one.host, one.sections))
        found: list[Json] = []
        for group in sorted(groups.values(), key=_place):
            for hosts, sections in _packed(group.hosts):
                parts = (
                    [group.first.rules]
                    if group.first.kind == TLS_ROUTE
                    else list(_portions(group.first.rules))
                )
                for number, rules in enumerate(parts, 1):
                    part = f"-{number:0{len(str(len(parts)))}}" if len(parts) > 1 else ""
                    found.append(self._route(group.first, hosts, sections, rules, part))
        return found

    def _route(
        self, served: Served, hosts: list[str], sections: list[Section], rules: list[Json], part: str
    ) -> Json:
        gateway = self._options.gateway
        parents: list[Json] = [
            without_empty(
                (
                    ("name", one.gateway),
                    ("namespace", "" if served.namespace == gateway.namespace else gateway.namespace),
                    ("sectionName", one.name),
                )
            )
            for one in sections
        ]
        name = self._name(served, hosts[0], part)
        named = [host for host in hosts if host]
        return {
            "apiVersion": API_VERSION,
            "kind": served.kind,
            "metadata": meta(name, served.namespace),
            "spec": without_empty((("parentRefs", parents), ("hostnames", named), ("rules", rules))),
        }

    def _name(self, served: Served, host: str, part: str) -> str:
        base = _NOT_IN_NAMES.sub("-", served.asking[1].name.lower())[:_MOST_NAME].strip("-.") or "route"
        end = f"-{served.scheme}" if served.scheme else ""
        for middle in _middles(slug(host)):
            name = f"{base}{middle}{end}"
            if len(name) > _MOST_NAME:
                name = f"{base[: _MOST_NAME // 2]}{middle[: _MOST_NAME // 2 - 10]}{end}".rstrip("-.")
            key = (served.kind, served.namespace, f"{name}{part}")
            if key not in self.owners:
                self.owners[key] = served.asking
                return key[2]
        raise AssertionError("there is always another name")


def _middles(host: str) -> Iterator[str]:
    """Yield what may stand behind the name of an owner, until a name is free."""
    yield ""
    yield f"-{host}"
    for number in count(2):
        yield f"-{host}-{number}"


def _place(group: _Group) -> tuple[str, str, str, str, str]:
    one = group.first
    return one.namespace, one.asking[1].name, one.kind, one.host, one.scheme


def _packed(hosts: list[tuple[str, tuple[Section, ...]]]) -> Iterator[tuple[list[str], list[Section]]]:
    """Yield hosts with their listeners, as many as one route may name."""
    names: list[str] = []
    sections: dict[Section, None] = {}
    for host, some in hosts:
        for at in range(0, max(len(some), 1), MOST_PARENTS):
            more = some[at : at + MOST_PARENTS]
            together = {**sections, **dict.fromkeys(more)}
            # A route without hostnames takes them all, so that one must not have others beside it.
            if names and (
                len(names) == MOST_HOSTNAMES or len(together) > MOST_PARENTS or not (host and names[0])
            ):
                yield names, list(sections)
                names, together = [], dict.fromkeys(more)
            names.append(host)
            sections = together
    if names:
        yield names, list(sections)


def _portions(rules: Sequence[Json]) -> Iterator[list[Json]]:
    """Yield *rules* in portions that one route takes; those of one path stay together, as their order may decide."""
    portion: list[Json] = []
    block: list[Json] = []
    path: object = None
    for rule in rules:
        here = rule["matches"][0].get("path") if rule.get("matches") else None
        if block and here != path:
            if len(portion) + len(block) > MOST_RULES:
                yield portion
                portion = []
            portion += block
            block = []
        block.append(rule)
        path = here
    if portion and len(portion) + len(block) > MOST_RULES:
        yield portion
        portion = []
    yield [*portion, *block]
