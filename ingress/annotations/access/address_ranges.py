"""Who may come in by address: ``whitelist-source-range``, ``allowlist-source-range``, ``denylist-source-range``.

As in ingress-nginx: whose address is denied, or is not among those that are allowed where any are, gets 403.  The
address is the client's, as a PROXY header or a trusted proxy tells it, and nobody else.  A list with
a member that is no address is no list, and its Ingress answers 503: what is left of it might be open to others than was meant.
So it does where a list has nothing in it, but for the older name ``whitelist-source-range``, which asks for nothing then.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import ClassVar, Final

from ingress.annotations.access.guards import GuardMissing
from ingress.annotations.contract.route_facts import NO_FACTS, RouteFacts
from ingress.annotations.contract.values import Annotation, Family, Remark, Risk, ValueRefused, quoted
from ingress.filter_parts.judging import Judging, status_reply
from ingress.filters import Facts, Filter, FilterSpec, Phase, Reply, Services
from ingress.model.cluster.problems import Reason
from ingress.model.frozen import frozen
from ingress.model.network.networks import Network, NetworkSet, client_address, read_network

MOST_RANGES: Final = 2048
"""Of one list."""
MEMO_ADDRESSES: Final = 1024
"""Addresses of which a filter remembers whether they are let in."""

Ranges = tuple[Network, ...]

REFUSED: Final[Ranges] = (Network(0, 0, 0),)
"""Stands for a list that could not be read."""
NOTHING: Final[Ranges] = ()
"""Stands for a list that has nothing in it."""

_EVERYBODY: Final = frozenset(map(read_network, ("0.0.0.0/0", "::/0")))
_CLOSED: Final = (GuardMissing(),)
_FORBIDDEN: Final = status_reply(
    403, reason="the client's address is not let in (whitelist-source-range, denylist-source-range)"
)
_INSTEAD: Final = "the Ingress answers 503 rather than be open"


def parse_ranges(text: str) -> Ranges:
    """Read addresses and networks with commas between them; return each once, sorted."""
    if text.count(",") >= MOST_RANGES:
        raise ValueRefused(f"has more than {MOST_RANGES} members")
    found = set()
    for member in text.split(","):
        member = member.strip()
        try:
            found.add(read_network(member))
        except ValueError:
            shown = quoted(member) if member else "an empty member"
            raise ValueRefused(
                f'has {shown}, which is neither an address nor a network; write "192.0.2.1" or "10.0.0.0/8", '
                "with commas between them"
            ) from None
    return tuple(sorted(found))


def parse_allowlist(text: str) -> Ranges:
    """Read the same; what has nothing in it is ``NOTHING``, beside which the older name may say who is let in."""
    return parse_ranges(text) if text else NOTHING


@frozen(cache_hash=True)
class RangeSettings:
    """What the annotations of one Ingress say; None for what they do not mention."""

    allowlist: Ranges | None = None
    whitelist: Ranges | None = None
    """The older name of the same."""
    denylist: Ranges | None = None

    @property
    def allowed(self) -> Ranges | None:
        """Who is let in, by the name that counts."""
        return self.whitelist if self.allowlist is None or self.is_left_to_older_name else self.allowlist

    @property
    def is_left_to_older_name(self) -> bool:
        """Whether the newer name has nothing in it, and the older one something."""
        return self.allowlist == NOTHING and self.whitelist is not None


@frozen(cache_hash=True)
class AddressRanges:
    """Answers 403 to clients whose addresses are in *denied*, or not in *allowed*; None allows all."""

    phase: ClassVar[Phase] = Phase.ACCESS
    name: ClassVar[str] = "address-ranges"

    allowed: Ranges | None = None
    denied: Ranges = ()

    def describe(self) -> str:
        """Say whom it lets in."""
        parts = []
        if self.denied:
            parts.append(f"from {_some(self.denied)}")
        if self.allowed is not None:
            parts.append(f"not from {_some(self.allowed)}")
        return f"answers 403 to clients {', and to those '.join(parts)}"

    def make(self, services: Services) -> Filter:
        """Make the filter that refuses."""
        allowed = None if self.allowed is None else NetworkSet(self.allowed)
        refuses = partial(_refuses, allowed, NetworkSet(self.denied))
        return Judging(partial(_judge, lru_cache(MEMO_ADDRESSES)(refuses)))


def _refuses(allowed: NetworkSet | None, denied: NetworkSet, client: bytes) -> bool:
    """Whether *client* is not let in; what is no address is in no range."""
    address = client_address(client)
    if address is None:
        return allowed is not None
    return denied.has(address) or (allowed is not None and not allowed.has(address))


def _judge(refuses: Callable[[bytes], bool], facts: Facts) -> Reply | None:
    return _FORBIDDEN if refuses(facts.client) else None


def _some(ranges: Ranges) -> str:
    return str(ranges[0]) if len(ranges) == 1 else f"{ranges[0]} and {len(ranges) - 1} more"


def range_filters(settings: RangeSettings, facts: RouteFacts) -> tuple[FilterSpec, ...]:
    """Return what stands before the routes of an Ingress."""
    return _filters_of(settings)


@lru_cache(maxsize=64)
def _filters_of(settings: RangeSettings) -> tuple[FilterSpec, ...]:
    """Return the filters for *settings*: the same ones for all routes, since lists may be long, and the operator's are everybody's."""
    allowed, denied = settings.allowed, settings.denylist or ()
    if REFUSED in (allowed, denied) or allowed == NOTHING:
        return _CLOSED
    if allowed is not None and _EVERYBODY.issubset(allowed):
        allowed = None
    return () if allowed is None and not denied else (AddressRanges(allowed, denied),)


def range_remarks(settings: RangeSettings, names: frozenset[str]) -> Iterator[Remark]:
    """Tell of two lists that say who is allowed, where they are not the same, and of one with nothing in it."""
    if settings.allowed == NOTHING:
        message = f"has nothing in it; {_INSTEAD}, as in ingress-nginx"
        yield Remark("allowlist-source-range", message, Reason.INVALID_ANNOTATION)
    elif (
        names.issuperset(("allowlist-source-range", "whitelist-source-range"))
        and settings.allowlist != settings.whitelist
        and not settings.is_left_to_older_name
    ):
        message = "counts for nothing beside allowlist-source-range, which says something else"
        yield Remark("whitelist-source-range", message, Reason.INVALID_ANNOTATION)


def _is_about_all(spec: FilterSpec) -> bool:
    """Whether ``satisfy`` joins *spec*: who is only not denied is not let in by that, as in nginx."""
    return isinstance(spec, AddressRanges) and spec.allowed is not None


def range_guards(settings: RangeSettings) -> bool:
    """Whether anybody is kept out by *settings*."""
    return bool(range_filters(settings, NO_FACTS))


_VALUES: Final = "addresses and networks, with commas between them; none by default"

ADDRESS_RANGES: Final = Family(
    name="address_ranges",
    settings=RangeSettings(),
    acts="lets in by the address of the client",
    phases=(Phase.ACCESS,),
    filters=range_filters,
    filters_unasked=True,
    remarks=range_remarks,
    guards=range_guards,
    satisfies=_is_about_all,
    annotations={
        "allowlist-source-range": Annotation(
            "allowlist",
            parse_allowlist,
            refused=REFUSED,
            instead=_INSTEAD,
            values=_VALUES,
            meaning="answers 403 to clients whose address is in none of them, and is what counts beside `whitelist-source-range`;"
            " with nothing in it, the paths answer 503",
            risk=Risk.MEDIUM,
            needs_value=True,
        ),
        "whitelist-source-range": Annotation(
            "whitelist",
            parse_ranges,
            refused=REFUSED,
            instead=_INSTEAD,
            values=_VALUES,
            meaning="answers 403 to clients whose address is in none of them",
            risk=Risk.MEDIUM,
            operators=True,
        ),
        "denylist-source-range": Annotation(
            "denylist",
            parse_ranges,
            refused=REFUSED,
            instead=_INSTEAD,
            values=_VALUES,
            meaning="answers 403 to clients whose address is in one of them, allowed or not; with nothing in it, the paths of an"
            " Ingress answer 503",
            risk=Risk.MEDIUM,
            operators=True,
            needs_value=True,
        ),
    },
)
