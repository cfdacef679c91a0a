"""What routes of Gateways are told where they share a port with Ingresses, which come first at a host that both name.

The proxy decides request by request (``ingress.routing.side_by_side``); here it is told, once for each host.
"""

from collections.abc import Iterable, Iterator, Mapping

from ingress.model.cluster.objects import Owner
from ingress.model.cluster.problems import Problem, Reason
from ingress.routing.table import RouteTable
from ingress.translate.age import by_age
from ingress.translate.caches.bookkeeping import ProblemIndex

AT_ONCE = 100
"""Hosts that are looked at in one step."""
_FIELD = "spec.hostnames"


def lost_hosts(main: RouteTable, beside: RouteTable) -> Iterator[Problem]:
    """Yield the problems of routes of *beside* whose hosts are in the table *main* of Ingresses, too."""
    for host, _ in beside.by_host():
        yield from _lost(host, main, beside)


def _lost(host: str, main: RouteTable, beside: RouteTable) -> tuple[Problem, ...]:
    ours, theirs = main.get(host), beside.get(host)
    if ours is None or theirs is None:
        return ()
    winner = min(_owners(route.owner for route in ours.routes), key=by_age, default=None)
    whose = "the controller's default backend" if winner is None else str(winner)
    if not host:
        what = "requests for hosts that nobody names"
    else:
        what = f"{host}: requests for {'names of one more label' if host.startswith('*.') else 'it'}"
    message = f"{what} go to {whose}, since Ingresses come first on the ports of the command line"
    losers = _owners(route.owner for route in theirs.routes)
    return tuple(owner.problem(Reason.HOST_CONFLICT, message, _FIELD) for owner in losers)


def _owners(owners: Iterable[Owner | None]) -> tuple[Owner, ...]:
    return tuple(dict.fromkeys(owner for owner in owners if owner is not None))


class SideBySideProblems:
    """Keeps these problems up to date, host by host; tells them to *problem_index*."""

    def __init__(self, problem_index: ProblemIndex) -> None:
        self._problem_index = problem_index
        # By name of a table: both tables as they were, and the hosts that were told of.
        self._known: dict[str, tuple[RouteTable, RouteTable]] = {}
        self._told: dict[str, set[str]] = {}

    @property
    def is_needed(self) -> bool:
        """Whether there were tables side by side when this was last looked at."""
        return bool(self._known)

    def round(self, main: RouteTable, tables: Mapping[str, RouteTable]) -> Iterator[None]:
        """Look at what is different in *main* and in the *tables* that stand beside it, some hosts a step."""
        number = 0
        for name in [name for name in self._known if name not in tables]:
            del self._known[name]
            for host in self._told.pop(name, ()):
                self._problem_index.put(("side by side", name, host), ())
        for name, table in tables.items():
            told = self._told.setdefault(name, set())
            for host in self._concerned(name, main, table):
                number += 1
                if not number % AT_ONCE:
                    yield
                problems = _lost(host, main, table)
                if problems:
                    told.add(host)
                elif host in told:
                    told.remove(host)
                else:
                    continue
                self._problem_index.put(("side by side", name, host), problems)
            self._known[name] = main, table

    def _concerned(self, name: str, main: RouteTable, table: RouteTable) -> Iterator[str]:
        known = self._known.get(name)
        if known is None:
            yield from (host for host, _ in table.by_host())
            return
        if main is not known[0]:
            yield from (host for host, _ in main.changes_since(known[0]))
        if table is not known[1]:
            yield from (host for host, _ in table.changes_since(known[1]))
