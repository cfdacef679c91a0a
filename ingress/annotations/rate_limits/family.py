"""How much one client may ask for: ``limit-rps``, ``limit-rpm``, ``limit-connections`` and what goes with them.

As in ingress-nginx, clients are told apart by address, and an Ingress counts on all of its paths and hosts together.
Requests by the second and by the minute go by a leaky bucket without delay (``limit_req … nodelay``), whose burst is a
multiple of the limit; connections are requests under way (``limit_conn``).  What is beyond a limit gets 503, unless the
operator says otherwise.  Requests are counted before connections, so one that is refused for the latter counts for the former.

Of an IPv6 address only the network counts, since whoever has one has all of it.

What clients have used up outlives the filters: an edit of a limit goes on from where the clients are.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import ClassVar, Final
from weakref import WeakValueDictionary

from ingress.annotations.access.address_ranges import Ranges, parse_ranges
from ingress.annotations.contract.route_facts import RouteFacts
from ingress.annotations.contract.values import Annotation, Family, Remark, ValueRefused
from ingress.annotations.rate_limits.leaky_buckets import LARGEST, ONE, Buckets, BucketStore, Rate, Rates
from ingress.annotations.rate_limits.shared_buckets import zone_prefix
from ingress.filter_parts.judging import status_reply
from ingress.filters import Facts, Filter, FilterSpec, Phase, Record, Reply, Scope, Services
from ingress.model.cluster.problems import Reason
from ingress.model.frozen import frozen
from ingress.model.network.networks import NetworkSet, client_address
from ingress.process.shared.shared_counts import WorkerCounts
from ingress.wording import number_of

MOST: Final = 999_999_999
USUAL_MULTIPLIER: Final = 5
USUAL_STATUS: Final = 503
IPV6_PREFIX: Final = 64
"""What one customer of a provider has, at least."""
MEMO_ADDRESSES: Final = 1024
"""Addresses of which a filter remembers whose they are."""

BUCKETS: Final = "buckets"
COUNTS: Final = "counts"
"""What the states are called that limits have in common with those of other workers."""

_match_number = re.compile(r"[0-9]{1,9}", re.ASCII).fullmatch
_NO_LIMIT: Final = "there is no such limit"


def parse_limit(text: str) -> int:
    """Read a whole number of requests; 0 is no limit."""
    if _match_number(text.strip()) is None:
        raise ValueRefused(f'is not a whole number from 0 to {MOST}; write "10"')
    return int(text)


def parse_multiplier(text: str) -> int:
    """Read how many times the limit may come at once; 0 is no burst."""
    if _match_number(text.strip()) is None:
        raise ValueRefused(f'is not a whole number from 0 to {MOST}; write "5"')
    return int(text)


def parse_status(text: str) -> int:
    """Read the status of what is refused, from 400 to 599, as nginx does."""
    if _match_number(text.strip()) is None or not 400 <= int(text) <= 599:
        raise ValueRefused('is not a status from 400 to 599; write "429"')
    return int(text)


def parse_prefix(text: str) -> int:
    """Read how many bits of an IPv6 address tell clients apart."""
    if _match_number(text.strip()) is None or not 1 <= int(text) <= 128:
        raise ValueRefused('is not a number of bits from 1 to 128; write "64"')
    return int(text)


@frozen
class LimitSettings:
    """What one Ingress, and the operator, say about limits; 0 is no limit."""

    by_second: int = 0
    by_minute: int = 0
    connections: int = 0
    multiplier: int = USUAL_MULTIPLIER
    allowlist: Ranges | None = None
    whitelist: Ranges | None = None
    """The older name of the same."""
    request_status: int = USUAL_STATUS
    connection_status: int = USUAL_STATUS
    ipv6_prefix: int = IPV6_PREFIX


@frozen(cache_hash=True)
class Clients:
    """How clients are told apart, and who is not counted."""

    ipv6_prefix: int = IPV6_PREFIX
    exempt: Ranges = ()

    def naming(self) -> Callable[[bytes], bytes]:
        """Return what says, of an address, the name by which the client is counted; empty for who is not.

        The name of an IPv4 address is its text.
        """
        exempt = NetworkSet(self.exempt) if self.exempt else None
        return lru_cache(MEMO_ADDRESSES)(partial(_name, self.ipv6_prefix, exempt))

    def describe(self) -> str:
        """Say who is not counted, to go behind a sentence."""
        return f", but for {number_of(len(self.exempt), 'range')} of addresses" if self.exempt else ""


def _name(prefix: int, exempt: NetworkSet | None, client: bytes) -> bytes:
    address = client_address(client)
    if address is None:
        return client
    if exempt is not None and exempt.has(address):
        return b""
    if address.version == 4:
        return str(address).encode("ascii")
    return (int(address) >> 128 - prefix).to_bytes(16, "big")


@frozen(cache_hash=True)
class RequestLimit:
    """Refuses requests beyond a rate, for each client and all of *owner*; 0 is no limit."""

    phase: ClassVar[Phase] = Phase.LIMITS
    name: ClassVar[str] = "rate-limit"

    owner: str
    by_second: int = 0
    by_minute: int = 0
    multiplier: int = USUAL_MULTIPLIER
    status: int = USUAL_STATUS
    clients: Clients = Clients()

    def describe(self) -> str:
        """Say what the limits are."""
        limits = [
            f"{limit} a {time} and {limit * self.multiplier} at once"
            for limit, time in ((self.by_second, "second"), (self.by_minute, "minute"))
            if limit
        ]
        said = ", and to ".join(limits)
        return f"answers {self.status} to requests of a client beyond {said}{self.clients.describe()}"

    def rates_of(self, replicas: int, largest: int = LARGEST) -> Rates:
        """Return what is one replica's of the limits, as nginx would have them: thousandths of requests, whole ones.

        *largest* is what may be in a bucket.
        """
        return Rates(
            self._rate(self.by_second, 1, replicas, largest),
            self._rate(self.by_minute, 60, replicas, largest),
        )

    def _rate(self, limit: int, seconds: int, replicas: int, largest: int) -> Rate | None:
        if not limit:
            return None
        burst = limit * self.multiplier * ONE // replicas
        return Rate(max(1, limit * ONE // seconds // replicas), min(burst, largest - ONE))

    def make(self, services: Services) -> Filter:
        """Make the filter that refuses."""
        buckets: BucketStore = services.state(Scope.PROCESS, BUCKETS, partial(Buckets, services.clock))
        return _RequestLimiter(self, buckets, services)


class _RequestLimiter(Filter):
    def __init__(self, spec: RequestLimit, buckets: BucketStore, services: Services) -> None:
        self._name_of = spec.clients.naming()
        self._exempts = bool(spec.clients.exempt)
        self._largest = buckets.largest
        self._rates = spec.rates_of(1, self._largest)
        self._reply = status_reply(
            spec.status, reason="more requests of this client than limit-rps or limit-rpm allows"
        )
        self._take = buckets.take
        self._count = services.count
        self._zone = buckets.zone(spec.owner, self._rates, self)
        self._spec = spec
        self._replicas = services.replicas
        self._sharing = 1
        """How many replicas the rates are divided among."""

    def on_request(self, facts: Facts) -> Reply | None:
        """Count the request, and refuse it where it is one too many."""
        if self._replicas.count != self._sharing:
            self._share(self._replicas.count)
        client = facts.client
        name = self._name_of(client) if self._exempts or b":" in client else client
        if not name or self._take(self._zone, self._rates, name):
            return None
        self._count("refused")
        return self._reply

    def _share(self, count: int) -> None:
        self._sharing = count
        self._zone.rates = self._rates = self._spec.rates_of(count, self._largest)


class SharedUnderWay:
    """How many requests of each client the other workers have under way, and who tells them of ours.

    What one process has it knows by itself, and exactly; the others tell it by memory that all share
    (``ingress.process.shared.shared_counts``).  Workers that judge in the same microsecond may let in one each.
    """

    def __init__(self, counts: WorkerCounts, owner: str, secret: bytes) -> None:
        self._counts = counts
        self._prefix = zone_prefix(owner, secret)

    def of_others(self, name: bytes) -> int:
        """Return how many of the client called *name* the others have."""
        return self._counts.of_others(hash(self._prefix + name) or 1)

    def tell(self, name: bytes, count: int) -> None:
        """Have the others know that *count* of the client called *name* are ours."""
        self._counts.tell(hash(self._prefix + name) or 1, count)


class UnderWay:
    """How many requests of each client are under way; of who has none nothing is kept."""

    def __init__(self, shared: SharedUnderWay | None = None) -> None:
        self.counts: dict[bytes, int] = {}
        self.shared = shared
        """What other workers have besides, if there are any."""


@frozen(cache_hash=True)
class ConnectionLimit:
    """Refuses requests of a client that has *most* under way, for all of *owner*."""

    phase: ClassVar[Phase] = Phase.LIMITS
    name: ClassVar[str] = "connection-limit"

    owner: str
    most: int
    status: int = USUAL_STATUS
    clients: Clients = Clients()

    def describe(self) -> str:
        """Say what the limit is."""
        return f"answers {self.status} to requests of a client beyond {self.most} under way{self.clients.describe()}"

    def make(self, services: Services) -> Filter:
        """Make the filter that refuses."""
        zones: WeakValueDictionary[str, UnderWay] = services.state(Scope.WORKER, "zones", WeakValueDictionary)
        counts: WorkerCounts | None = services.state(Scope.PROCESS, COUNTS, _nobody_else)
        # Whoever has requests under way holds the zone; without any it has nothing to say.
        zone = zones.get(self.owner)
        if zone is None:
            shared = None if counts is None else SharedUnderWay(counts, self.owner, services.secret)
            zone = zones[self.owner] = UnderWay(shared)
        return _ConnectionLimiter(self, zone, services)


def _nobody_else() -> None:
    """Return what a process knows of others that serves alone."""


class _ConnectionLimiter(Filter):
    def __init__(self, spec: ConnectionLimit, zone: UnderWay, services: Services) -> None:
        self._name_of = spec.clients.naming()
        self._most = spec.most
        self._replicas = services.replicas
        self._reply = status_reply(
            spec.status,
            reason=f"more requests of this client under way than the {spec.most} of limit-connections",
        )
        self._count = services.count
        self._zone = zone

    def on_request(self, facts: Facts) -> Reply | None:
        """Count the request as under way, or refuse it."""
        name = self._name_of(facts.client)
        if not name:
            return None
        counts, shared = self._zone.counts, self._zone.shared
        count = counts.get(name, 0)
        # Rounded up: each replica lets at least one in.
        most = -(-self._most // self._replicas.count)
        if count >= most or (shared is not None and count + shared.of_others(name) >= most):
            self._count("refused")
            return self._reply
        counts[name] = count + 1
        if shared is not None:
            shared.tell(name, count + 1)
        facts.notes[self] = name
        return None

    def on_end(self, facts: Facts, record: Record) -> None:
        """Count it no more, if it was."""
        name = facts.notes.pop(self, None)
        if name is None:
            return
        assert isinstance(name, bytes)
        counts, shared = self._zone.counts, self._zone.shared
        left = counts[name] - 1
        if shared is not None:
            shared.tell(name, left)
        if left:
            counts[name] = left
        else:
            del counts[name]


def limit_filters(settings: LimitSettings, facts: RouteFacts) -> tuple[FilterSpec, ...]:
    """Return what stands before the routes of an Ingress that asks for limits."""
    if facts.owner is None or not (settings.by_second or settings.by_minute or settings.connections):
        return ()
    exempt = settings.whitelist if settings.allowlist is None else settings.allowlist
    clients = Clients(settings.ipv6_prefix, exempt or ())
    owner = str(facts.owner)
    specs: list[FilterSpec] = []
    if settings.by_second or settings.by_minute:
        specs.append(
            RequestLimit(
                owner,
                settings.by_second,
                settings.by_minute,
                settings.multiplier,
                settings.request_status,
                clients,
            )
        )
    if settings.connections:
        specs.append(ConnectionLimit(owner, settings.connections, settings.connection_status, clients))
    return tuple(specs)


def limit_remarks(settings: LimitSettings, names: frozenset[str]) -> Iterator[Remark]:
    """Tell of two lists that say who is exempt, where they are not the same."""
    if names.issuperset(("limit-allowlist", "limit-whitelist")) and settings.allowlist != settings.whitelist:
        message = "counts for nothing beside limit-allowlist, which says something else"
        yield Remark("limit-whitelist", message, Reason.INVALID_ANNOTATION)


_EXEMPT: Final = Annotation(
    "allowlist",
    parse_ranges,
    instead="nobody is exempt",
    values="addresses and networks, with commas between them; none by default",
    meaning="clients whose requests are neither counted nor refused",
)

RATE_LIMITS: Final = Family(
    name="rate_limits",
    settings=LimitSettings(),
    acts="how much a client may ask for",
    phases=(Phase.LIMITS,),
    filters=limit_filters,
    remarks=limit_remarks,
    annotations={
        "limit-rps": Annotation(
            "by_second",
            parse_limit,
            instead=_NO_LIMIT,
            values="a whole number; none by default",
            meaning="requests of a client by the second, on all paths of the Ingress; more at once by limit-burst-multiplier",
        ),
        "limit-rpm": Annotation(
            "by_minute",
            parse_limit,
            instead=_NO_LIMIT,
            values="a whole number; none by default",
            meaning="requests of a client by the minute, as limit-rps by the second; both may stand together",
        ),
        "limit-connections": Annotation(
            "connections",
            parse_limit,
            instead=_NO_LIMIT,
            values="a whole number; none by default",
            meaning="requests of a client that may be under way, WebSockets included",
        ),
        "limit-burst-multiplier": Annotation(
            "multiplier",
            parse_multiplier,
            values="a whole number; 5 by default",
            meaning="how many times limit-rps and limit-rpm may come at once",
        ),
        "limit-allowlist": _EXEMPT,
        "limit-whitelist": Annotation(
            "whitelist",
            parse_ranges,
            instead=_EXEMPT.instead,
            values=_EXEMPT.values,
            meaning="clients whose requests are neither counted nor refused; the older name of limit-allowlist",
        ),
    },
    options={
        "limit-req-status-code": Annotation(
            "request_status",
            parse_status,
            values="400 to 599; 503 by default",
            meaning="the status of requests beyond limit-rps and limit-rpm",
        ),
        "limit-conn-status-code": Annotation(
            "connection_status",
            parse_status,
            values="400 to 599; 503 by default",
            meaning="the status of requests beyond limit-connections",
        ),
        "limit-ipv6-prefix": Annotation(
            "ipv6_prefix",
            parse_prefix,
            values="1 to 128; 64 by default",
            meaning="how many bits of an IPv6 address tell clients apart where limits count",
        ),
    },
)
