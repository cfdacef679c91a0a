"""Whose a host is: what holds for a host as a whole is for one namespace to say.

The rule: *a host belongs to the namespace of the oldest Ingress with a rule for it* (age as in
``ingress.translate.age``).  What holds for the host as a whole speaks from that namespace
alone: ``spec.tls`` with the certificate, the redirect and ``Strict-Transport-Security``, the
client certificates that are demanded, the suites.  Other namespaces may have paths on the host;
what they ask for the whole of it has no effect, and they are told whose it is.  So nobody has
his visitors shown another certificate, sent to HTTPS, or shut out, by an Ingress of a stranger.

Of the cases at the edge:

- A rule is for the host that it names: ``*.example.com`` is a host of its own, and
  ``a.example.com`` belongs to whoever has a rule for exactly that, whatever the age of the wildcard.
- Where no rule names ``a.example.com`` it is served by the rules of ``*.example.com``, and
  belongs to whom that belongs.
- The rules without host are a host of their own, too (its name is empty); without any such rule
  it belongs to the oldest Ingress with a default backend.  They name nobody's host.
- What ``spec.tls`` of another namespace says of ``*.example.com`` is for the hosts below it that
  belong to that namespace, and for no others.
- Where no Ingress has a rule for a host, nor for its wildcard, the oldest Ingress whose
  ``spec.tls`` names it speaks for it (``ingress.translate.hosts.tls``).
- Ingresses of one namespace do not contend here; which of them has the say is settled by age.

With ``--shared-hosts`` all namespaces speak for all hosts, as in ingress-nginx.
Passing TLS through needs no rule of its own: the oldest Ingress of a host decides about it.
"""

from collections.abc import Mapping, Sequence

from ingress.model.cluster.objects import Owner
from ingress.model.cluster.problems import Problem, Reason
from ingress.translate.claims import ParsedObject

OPTION = "--shared-hosts"


def owner_of(host: str, all_parsed: Sequence[ParsedObject]) -> Owner | None:
    """Return the object by which *host* belongs to its namespace, None where nobody has a say.

    *all_parsed* have a say about the host and are sorted oldest first.  All of them have a rule
    for it, but for the empty host, about which default backends have a say as well.
    """
    if not all_parsed:
        return None
    first = all_parsed[0]
    if not host:
        first = next((one for one in all_parsed if host in one.hosts), first)
    return first.owner


def wildcard_of(host: str) -> str | None:
    """Return the wildcard that takes *host*, None for a wildcard and for a host of one label."""
    dot = host.find(".")
    return None if dot <= 0 or host.startswith("*") else f"*{host[dot:]}"


def server_of(host: str, owners: Mapping[str, Owner]) -> tuple[str, Owner] | None:
    """Return the host whose rules serve *host*, itself or its wildcard, and whose that is; None for no rules.

    *owners* are the owners of all hosts that rules name.
    """
    for one in (host, wildcard_of(host)):
        owner = None if one is None else owners.get(one)
        if one is not None and owner is not None:
            return one, owner
    return None


def is_stranger(one: Owner, owner: Owner | None) -> bool:
    """Tell whether *one* must not speak for the whole of a host of *owner*; None stands for nobody."""
    return owner is not None and one.key.namespace != owner.key.namespace


def told(
    stranger: Owner, field: str, what: str, host: str, owner: Owner, *, has: str = "a rule for it"
) -> Problem:
    """Return the problem of *stranger*, whose *what* for the whole of *host* has no effect.

    *has* is what makes *owner* the one to whom the host belongs.
    """
    shown = f"host {host} belongs" if host else "hosts that no rule names belong"
    oldest = f"the oldest with {has}" if host else "the oldest that takes them"
    message = (
        f"{shown} to namespace {owner.key.namespace}, for {owner} is {oldest}; "
        f"{what}, unless the controller is started with {OPTION}"
    )
    return stranger.problem(Reason.HOST_CONFLICT, message, field)
