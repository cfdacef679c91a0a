"""What becomes of TLS for each host, kept up to date host by host.

Part of incremental translation.  A Secret is read when somebody names it, and again when it
changes.  What an object asks for is read again when it changes, when one of its
Secrets does, and when the validity of a certificate begins or ends, whichever way the clock went.
"""

from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from datetime import datetime

from ingress.identity.certificates import Certificate, CertificateTable
from ingress.model.cluster.objects import ObjectId, ObjectKey, Owner
from ingress.model.cluster.problems import Problem
from ingress.model.cluster.state import ClusterState
from ingress.model.shared_map import SharedMap
from ingress.translate.age import by_age
from ingress.translate.caches.bookkeeping import Draft, Index, ProblemIndex
from ingress.translate.caches.loaded_certificates import LoadedCertificates
from ingress.translate.claims import ParsedObject
from ingress.translate.hosts.tls import NO_TLS, HostTls, decide_tls, wildcard_problem
from ingress.translate.options import TranslateOptions
from ingress.translate.ownership import wildcard_of
from ingress.translate.tls.certificates import (
    HOSTS_AT_ONCE,
    TLSReading,
    default_problems,
    naming_secrets,
    read_tls,
)

_NONE = TLSReading()
_Certificates = tuple[Certificate, ...]
_Chosen = SharedMap[str, _Certificates]


class CertificateCache:
    """Keeps what was decided about TLS of hosts; tells the problems to *problem_index*.

    *owners* are the owners of all hosts that rules name; whoever keeps them tells of each
    change by ``owner_changed``.  *table* is the name of the table that they are for, *shown*
    counts the hosts of each certificate in all tables.
    """

    def __init__(
        self,
        options: TranslateOptions,
        owners: Mapping[str, Owner],
        problem_index: ProblemIndex,
        shown: Counter[Certificate],
        table: str,
    ) -> None:
        self._options = options
        # Problems are kept by table, and by what brings them up in it.
        of = f" of {table}" if table else ""
        self._tls_source, self._host_source, self._wildcard_source = (
            f"tls{of}",
            f"certificate{of}",
            f"wildcard{of}",
        )
        self._default_secret = options.default_ssl_certificate
        self._owners = owners
        self._problem_index = problem_index
        self._default: Certificate | None = None
        self._default_is_stale = self._default_secret is not None
        self._loaded = LoadedCertificates(options)
        # By Secret, and by host: the objects.
        self._users: Index[ObjectKey, ObjectId] = Index()
        self._claimants: Index[str, ObjectId] = Index()
        # By wildcard: the hosts that it takes and that rules or entries name.
        self._below: Index[str, str] = Index()
        self._parsed: dict[ObjectId, TLSReading] = {}
        # All decisions but NO_TLS; and the hosts that are shown the default certificate, which may cover them.
        self._decisions: dict[str, HostTls] = {}
        self._on_default: set[str] = set()
        # By wildcard: the hosts that it leaves out.
        self._left_out: Index[str, str] = Index()
        self._stale_objects: dict[ObjectId, None] = {}
        # Wildcards are decided first: the hosts below them depend on them.
        self._stale_wildcards: dict[str, None] = {}
        self._stale_hosts: dict[str, None] = {}
        self._exact: Draft[str, _Certificates, _Chosen] = Draft(SharedMap())
        self._wildcard: Draft[str, _Certificates, _Chosen] = Draft(SharedMap())
        self._shown = shown
        self._table = CertificateTable(SharedMap(), SharedMap())

    def begin(self, now: datetime) -> None:
        """Note what time does to certificates."""
        for secret in self._loaded.begin(now):
            self._read_again(secret)

    def seconds_to_next(self, now: datetime) -> float | None:
        """Return in how many seconds a round has to look again; see ``LoadedCertificates.seconds_to_next``."""
        return self._loaded.seconds_to_next(now)

    def secret_changed(self, secret: ObjectKey) -> None:
        """Note that *secret* has to be read again, if anybody names it."""
        self._loaded.forget(secret)
        self._read_again(secret)

    def object_changed(
        self, object_id: ObjectId, before: ParsedObject | None, after: ParsedObject | None
    ) -> Iterator[None]:
        """Note, in steps, that an object asked for *before* and asks for *after*; None where it is not served."""
        if (before is None or not before.certificates) and (after is None or not after.certificates):
            return
        named_before: tuple[ObjectKey, ...] = ()
        named_after: tuple[ObjectKey, ...] = ()
        if before is not None:
            named_before = yield from naming_secrets(before, self._default_secret)
            yield
        if after is not None:
            named_after = yield from naming_secrets(after, self._default_secret)
            yield
        yield from self._users.replacing(object_id, named_before, named_after)
        for number, secret in enumerate(named_before, 1):
            if secret not in self._users and secret != self._default_secret:
                self._loaded.forget(secret)
            if not number % HOSTS_AT_ONCE:
                yield
        self._stale_objects[object_id] = None

    def owner_changed(self, host: str) -> None:
        """Note that *host* belongs to another Ingress, or to one for the first time, or to none any more."""
        if host:
            self._place(host)
            self._decide_again(host)
            # Hosts without rule belong to whom their wildcard belongs.
            for below in self._below.get(host):
                self._decide_again(below)

    def read(
        self, asking: Callable[[ObjectId], ParsedObject | None], state: ClusterState, now: datetime
    ) -> Iterator[None]:
        """Read the entries of the objects whose Secrets or entries changed, an entry a step; *asking* says what each asks for."""
        if self._default_is_stale:
            self._read_default(state, now)
            yield
        while self._stale_objects:
            object_id, _ = self._stale_objects.popitem()
            parsed = asking(object_id)
            before = self._parsed.pop(object_id, _NONE)
            after = _NONE
            if parsed is not None:
                after = yield from read_tls(
                    parsed, lambda secret: self._loaded.load(secret, state), self._default, now
                )
            if after is not _NONE:
                self._parsed[object_id] = after
            hosts_before = {claim.host: None for claim in before.claims}
            hosts_after = {claim.host: None for claim in after.claims}
            yield from self._claimants.replacing(object_id, hosts_before, hosts_after)
            for number, host in enumerate({**hosts_before, **hosts_after}, 1):
                self._place(host)
                self._decide_again(host)
                if not number % HOSTS_AT_ONCE:
                    yield
            yield from self._problem_index.putting((self._tls_source, object_id), after.problems)
            yield

    def decide(self, now: datetime) -> Iterator[tuple[str, HostTls] | None]:
        """Decide about each host that is in question, one a step or in several; yield it with the decision, None amid it."""
        while self._stale_wildcards or self._stale_hosts:
            stale = self._stale_wildcards or self._stale_hosts
            host, _ = stale.popitem()
            before = self._decisions.get(host, NO_TLS)
            after = yield from self._decide(host, now)
            if before.for_others != after.for_others:
                for below in self._below.get(host):
                    self._decide_again(below)
            yield host, after

    def finish(self) -> CertificateTable:
        """Return the certificates as they are now; the same object as long as they are."""
        self._stale_objects, self._stale_wildcards, self._stale_hosts = {}, {}, {}
        exact, wildcard = self._exact.finished(), self._wildcard.finished()
        known = self._table
        if exact is not known.exact or wildcard is not known.wildcard or self._default is not known.default:
            self._table = CertificateTable(exact, wildcard, self._default)
        return self._table

    # Secrets

    def _read_again(self, secret: ObjectKey) -> None:
        self._stale_objects.update(dict.fromkeys(self._users.get(secret)))
        if secret == self._default_secret:
            self._default_is_stale = True

    def _read_default(self, state: ClusterState, now: datetime) -> None:
        self._default_is_stale = False
        secret = self._default_secret
        assert secret is not None
        found = self._loaded.load(secret, state)
        self._default = found if isinstance(found, Certificate) else None
        self._problem_index.put("default certificate", default_problems(secret, found, now))
        for host in self._on_default:
            self._decide_again(host)

    # Hosts

    def _place(self, host: str) -> None:
        """Keep *host* among those below its wildcard, as long as anybody names it."""
        above = wildcard_of(host)
        if above is None:
            return
        if host in self._owners or host in self._claimants:
            self._below.add(above, host)
        else:
            self._below.discard(above, host)

    def _decide_again(self, host: str) -> None:
        (self._stale_wildcards if host.startswith("*") else self._stale_hosts)[host] = None

    def _decide(self, host: str, now: datetime) -> Generator[None, None, HostTls]:
        claimants: Collection[ObjectId] = self._claimants.get(host)
        claims = [claim for one in claimants for claim in self._parsed[one].of_host(host)]
        if len(claimants) > 1:
            claims.sort(key=lambda claim: by_age(claim.owner))
        above = wildcard_of(host)
        wildcard = NO_TLS if above is None else self._decisions.get(above, NO_TLS)
        decision, problems = NO_TLS, list[Problem]()
        if claims or host in self._owners:
            # Of one that nobody names any more there is nothing to decide: it is shown what any host of its wildcard is.
            shares = self._options.shared_hosts
            decision, found = decide_tls(
                host, claims, self._owners, wildcard, self._default, now, is_shared=shares
            )
            for number, problem in enumerate(found, 1):
                problems.append(problem)
                if not number % HOSTS_AT_ONCE:
                    yield
        yield from self._problem_index.putting((self._host_source, host), tuple(problems))
        if decision is NO_TLS:
            self._decisions.pop(host, None)
        else:
            self._decisions[host] = decision
        if decision.redirects and decision.shows_default:
            self._on_default.add(host)
        else:
            self._on_default.discard(host)
        if above is None:
            self._tell_left_out(host)
        else:
            was_told = above in self._left_out
            if decision.is_left_out:
                self._left_out.add(above, host)
            else:
                self._left_out.discard(above, host)
            if (above in self._left_out) is not was_told:
                self._tell_left_out(above)
        self._show(host, decision.entry)
        return decision

    def _tell_left_out(self, wildcard: str) -> None:
        decision = self._decisions.get(wildcard, NO_TLS)
        problem = wildcard_problem(wildcard, decision) if wildcard in self._left_out else None
        self._problem_index.put((self._wildcard_source, wildcard), () if problem is None else (problem,))

    def _show(self, host: str, after: _Certificates | None) -> None:
        draft, name = (self._wildcard, host[1:]) if host.startswith("*") else (self._exact, host)
        before = draft.get(name)
        if after == before:
            return
        draft.put(name, after)
        self._shown.update(after or ())
        for certificate in before or ():
            self._shown[certificate] -= 1
            if not self._shown[certificate]:
                del self._shown[certificate]
