"""Which Gateway has which addresses.

Without addresses of the operator's all Gateways share those of the process, and may name those that are published of it.  With
some, each Gateway has its own:

1. one that a Gateway has already, and may keep, stays with it: what it was given by this process, or else what its status
   says, for that may be late, or somebody else's word;
2. one that it asks for by name (``spec.addresses``) is its own if the operator has it, and no other Gateway;
3. what it asks for without a name, or without asking, is the first that nobody has.

Older Gateways come before younger ones in each of these steps.

Source: ``GatewaySpec.addresses`` of ``gateway.networking.k8s.io/v1``.
"""

from collections.abc import Callable, Iterator, Sequence
from ipaddress import ip_address
from itertools import islice
from typing import Final, NamedTuple

from ingress.annotations.contract.values import quoted
from ingress.model.cluster.objects import ObjectKey, Owner
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.stepwise import Stepwise
from ingress.translate.readers.gateway.objects.gateways import Gateway

AT_ONCE: Final = 50
"""Gateways that are looked at in one step."""
_IP_ADDRESS: Final = "IPAddress"


class Assigned(NamedTuple):
    """The addresses of one Gateway, and what it asks for in vain."""

    addresses: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    is_accepted: bool = True
    """Whether it asks for nothing that there cannot be."""
    is_shared: bool = False
    """Whether it is reached at the addresses of the process, as others are."""


_SHARED = Assigned(is_shared=True)


def assign(
    gateways: Sequence[Gateway],
    pool: Sequence[str],
    published: Sequence[str] = (),
    last: Callable[[Owner], Sequence[str]] = lambda owner: (),
) -> Stepwise[dict[ObjectKey, Assigned]]:
    """Return the addresses of each of *gateways*, which are sorted oldest first.

    *pool* has those of the operator, *published* those by which the process is reached, *last* those that a Gateway was given
    when this was last worked out.
    """
    known = frozenset(map(_plain, published))
    found: dict[ObjectKey, Assigned] = {}
    asking = []
    for number, gateway in enumerate(gateways, 1):
        if not number % AT_ONCE:
            yield
        problems = _type_problems(gateway)
        if problems:
            found[gateway.key] = Assigned(problems=problems, is_accepted=False)
        elif pool:
            asking.append(_Asking(gateway, last(gateway.owner)))
        elif any(one.value for one in gateway.addresses):
            refused = tuple(
                _unusable(gateway, lambda value: None if value in known else _none_there(bool(known)))
            )
            # At none that it asks for, it is served nowhere.
            is_shared = len(refused) < len(gateway.addresses)
            found[gateway.key] = Assigned(problems=refused, is_shared=is_shared)
        else:
            found[gateway.key] = _SHARED
    if asking:
        found.update((yield from _from_pool(asking, [_plain(one) for one in pool])))
    return found


class _Asking:
    """A Gateway that asks for addresses of the operator's, and what it has got of them."""

    def __init__(self, gateway: Gateway, last: Sequence[str]) -> None:
        self.gateway = gateway
        self.last = last
        self.values = tuple(dict.fromkeys(_plain(one.value) for one in gateway.addresses if one.value))
        self.any = sum(not one.value for one in gateway.addresses) if gateway.addresses else 1
        self.named: dict[str, None] = {}
        self.others: dict[str, None] = {}


def _from_pool(asking: Sequence[_Asking], pool: Sequence[str]) -> Stepwise[dict[ObjectKey, Assigned]]:
    holders: dict[str, _Asking] = {}
    known = frozenset(pool)
    # Those of this process come first, and need no older Gateway's consent.
    for number, one in enumerate(sorted(asking, key=lambda one: not one.last), 1):
        if not number % AT_ONCE:
            yield
        for address in map(_plain, one.last or one.gateway.given):
            if address in known and address not in holders:
                if address in one.values:
                    one.named[address] = None
                elif len(one.others) < one.any:
                    one.others[address] = None
                else:
                    continue
                holders[address] = one
    for number, one in enumerate(asking, 1):
        if not number % AT_ONCE:
            yield
        for address in one.values:
            if address in known and holders.setdefault(address, one) is one:
                one.named[address] = None
    free = iter([address for address in dict.fromkeys(pool) if address not in holders])
    found: dict[ObjectKey, Assigned] = {}
    for number, one in enumerate(asking, 1):
        if not number % AT_ONCE:
            yield
        one.others.update(dict.fromkeys(islice(free, one.any - len(one.others))))
        found[one.gateway.key] = _assigned(one, known)
    return found


def _assigned(one: _Asking, known: frozenset[str]) -> Assigned:
    problems = list(
        _unusable(
            one.gateway,
            lambda value: (
                None
                if value in one.named
                else "belongs to another Gateway"
                if value in known
                else "is none of those for Gateways (--gateway-address)"
            ),
        )
    )
    if len(one.others) < one.any:
        all_of_them = (
            "the only address for Gateways is"
            if len(known) == 1
            else f"all {len(known)} addresses for Gateways are"
        )
        message = f"{all_of_them} taken; --gateway-address adds one"
        problems.append(one.gateway.owner.problem(Reason.ADDRESS_NOT_ASSIGNED, message, "spec.addresses"))
    named = [address for address in one.values if address in one.named]
    return Assigned((*named, *one.others), tuple(problems))


def _none_there(are_some_published: bool) -> str:
    if are_some_published:
        return "is none of those that are published (--publish-status-address)"
    return "is not had: no address is there for Gateways alone (--gateway-address)"


def _unusable(gateway: Gateway, fault_of: Callable[[str], str | None]) -> Iterator[Problem]:
    """Yield the problems of the addresses that *gateway* names and of which *fault_of* says why they are not had."""
    for at, one in enumerate(gateway.addresses):
        fault = fault_of(_plain(one.value)) if one.value else None
        if fault is not None:
            field = f"spec.addresses[{at}].value"
            yield gateway.owner.problem(Reason.ADDRESS_NOT_USABLE, f"{quoted(one.value)} {fault}", field)


def _type_problems(gateway: Gateway) -> tuple[Problem, ...]:
    """Return the problems of addresses of *gateway* that are no IP addresses: nobody here knows another type."""
    return tuple(
        gateway.owner.problem(
            Reason.UNSUPPORTED_ADDRESS,
            f"the type {quoted(one.type)} is not known; {_IP_ADDRESS} is",
            f"spec.addresses[{at}].type",
        )
        for at, one in enumerate(gateway.addresses)
        if one.type != _IP_ADDRESS
    )


def _plain(text: str) -> str:
    """Return *text* as addresses are compared: in one spelling, if it is one."""
    try:
        return str(ip_address(text))
    except ValueError:
        return text
