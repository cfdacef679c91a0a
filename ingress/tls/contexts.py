"""TLS contexts: which certificates and settings a handshake goes by, by the server name that was asked for.

``ServerContexts`` is what the TLS listeners ask for connections.  It reads the
current tables at each handshake.  Publishing them is an
assignment: the next handshake sees them, open connections keep what they have.

Theory of operation.  A connection begins on the *base* (``ingress.tls.bases``), which shows no certificate.  Once the client
has said hello, the connection is switched to the context for the
name that it asked for, or to that of the default certificate.  Such a switch changes certificate, chain, suites of TLS 1.2, protocols and
trusted authorities; what else a host has of its own is set on the connection itself, and
versions and ticket keys stay those of the base.

Whether a session is resumed is decided before any of our code runs: by the ticket keys of the
base, which all hosts share, and by what the session is *bound* to.  So:

1. A host that asks for client certificates gives out no tickets.  Every session that is
   resumed is one that nobody had to show a certificate for.
2. Such a host refuses a session that is resumed (TLS 1.3).  Under TLS 1.2 the connection is one
   for the name that its session was begun with, whatever is asked for now.
3. A session is bound to what all hosts asked of clients when it began, and to the default certificate and the table of listeners.  It is
   resumed where all of that is just the same, and nowhere else.  Each process finds that out from its own tables, so of several
   workers those that know of a change already, and those that do not yet, resume nothing of each other.  Where thousands of hosts
   ask for something else at once that takes steps; in between, sessions are bound to random bytes, and none of them is resumed later.

Of the listeners of Gateways hostnames decide (``CertificateTable.covers_labels``), and a name that no listener has is refused, as is
that of one without usable certificate.  Where they stand beside others, whichever host says more of a name has it.
"""

import socket
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from secrets import token_bytes
from typing import TypeVar
from weakref import ReferenceType, ref

from OpenSSL import SSL, crypto
from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.interfaces import IOpenSSLServerConnectionCreator, IReactorTime
from twisted.logger import Logger
from twisted.protocols.tls import TLSMemoryBIOProtocol
from twisted.python.failure import Failure
from zope.interface import implementer

from ingress.identity.certificates import Certificate, CertificateTable
from ingress.identity.misdirected import ServerNames
from ingress.identity.server_names import PLAIN_HANDSHAKE, HandshakeSettings, HandshakeSettingsTable
from ingress.model.requests.client_authentication import ClientAuthentication
from ingress.model.shared_map import SharedMap
from ingress.model.stepwise import Stepwise, finished
from ingress.process.in_slices import first_at_once
from ingress.tls.bases import Bases, BegunConnection, StreamConnection
from ingress.tls.binding import ACCESS_DENIED, UNRECOGNIZED_NAME, Choose, is_resumed
from ingress.tls.context_building import build_context
from ingress.tls.demands import Demands
from ingress.tls.handshake import Handshake
from ingress.tls.profile import GROUPS, HTTP_1_1, HTTP_2

_log = Logger()

MAX_CONTEXTS = 1024
"""How many are kept, those used last.  One takes some 22 KiB and a quarter of a millisecond to build,
as long as a handshake; ten thousand of them would take 220 MiB."""

SEEN_AT_ONCE = 400
"""Hosts that are looked at in one step, of two tables."""

_NONCE_BYTES = 32

_Key = tuple[tuple[Certificate, ...], tuple[str, ...], ClientAuthentication | None, tuple[bytes, ...]]
_V = TypeVar("_V")


@implementer(IOpenSSLServerConnectionCreator)
class ServerContexts:
    """Makes the server side of TLS connections, with the certificates and settings of the current tables.

    *default_certificate* is shown when neither a name nor the table's own
    default decides otherwise.  It must be usable: what OpenSSL says against it
    is raised.  *least_version* is OpenSSL's number of the oldest version.  *strict_sni*
    refuses handshakes for names that nobody serves, and for none; it may be set anew.  *http2* offers HTTP/2
    before HTTP/1.1, on every host.  *groups* are what keys are agreed on by.  *bases* are what connections begin on; they are
    of the same version and groups.  Sessions are resumed by all who have the same bases and *table*.
    """

    def __init__(
        self,
        default_certificate: Certificate,
        *,
        least_version: int = SSL.TLS1_2_VERSION,
        strict_sni: bool = False,
        http2: bool = False,
        groups: bytes = GROUPS,
        bases: Bases | None = None,
        table: str = "",
        clock: IReactorTime | None = None,
        nonce: Callable[[int], bytes] = token_bytes,
    ) -> None:
        """*clock* delays what takes long, which is done at once without any; *nonce* returns so many random bytes."""
        self._own_default = default_certificate
        self._least_version = least_version
        self._is_strict = strict_sni
        self._protocols = (HTTP_2, HTTP_1_1) if http2 else (HTTP_1_1,)
        self._groups = groups
        self._bases = bases or Bases(least_version, groups)
        self._names = ServerNames()
        self._table = table
        self._demands = Demands(table)
        self._clock = clock
        self._nonce = nonce
        self._counting: deque[Stepwise[None]] = deque()
        """What hosts ask otherwise than before; there while that is counted."""
        self._is_lost = False
        """Whether a bug has left the count wrong."""
        self._contexts: OrderedDict[_Key, SSL.Context | None] = OrderedDict()
        """None where OpenSSL refuses the certificates, so that it is told once."""
        self._chosen: dict[bytes | None, tuple[Handshake, SSL.Context, _Key | None]] = {}
        """What was chosen for names, by the present tables, where nothing is asked of clients."""
        self._default = self._built_default(default_certificate)
        self._whose = self._demands.digest(None)
        """What sessions are bound to."""
        self._chooses: ReferenceType[Choose] | None = None
        """The same for all connections, which have it; whose listener is gone is not to be kept by itself."""

    @property
    def strict_sni(self) -> bool:
        """Whether names that nobody serves are refused."""
        return self._is_strict

    @strict_sni.setter
    def strict_sni(self, is_strict: bool) -> None:
        self._is_strict = is_strict
        self._chosen.clear()

    def publish(
        self,
        certificates: CertificateTable,
        handshake_settings: HandshakeSettingsTable | None = None,
        beside: ServerNames | None = None,
    ) -> None:
        """Make these tables decide from the next handshake on; costs what is different in them.

        *beside* are those of Gateways that have the same listener.
        """
        before = self._names
        self._chosen.clear()
        self._names = ServerNames(certificates, handshake_settings or HandshakeSettingsTable(), beside)
        counted = before
        if self._is_lost:
            self._is_lost, self._demands, counted = False, Demands(self._table), ServerNames()
        self._forget(before.certificates, certificates)
        self._ask(counted.handshake_settings, self._names.handshake_settings)
        if before.beside is not beside or counted is not before:
            was, seen, now = (one or ServerNames() for one in (before.beside, counted.beside, beside))
            self._forget(was.certificates, now.certificates)
            self._ask(seen.handshake_settings, now.handshake_settings, is_beside=True)
        if certificates.default != before.certificates.default:
            self._change_default()
        self._bind()

    def _bind(self) -> None:
        """Bind sessions to what is asked, or to nothing that lasts while that is being counted."""
        self._whose = (
            self._nonce(_NONCE_BYTES)
            if self._counting or self._is_lost
            else self._demands.digest(self._names.certificates.default)
        )

    def _count(self, steps: Stepwise[None]) -> None:
        self._counting.append(steps)
        if len(self._counting) == 1:
            self._take(self._count_all()).addErrback(self._failed)

    def _take(self, steps: Stepwise[None]) -> Deferred[None]:
        """Take *steps*, a few now and the others soon."""
        if self._clock is None:
            return maybeDeferred(finished, steps)
        return maybeDeferred(first_at_once, self._clock, steps)

    def _count_all(self) -> Stepwise[None]:
        while self._counting:
            yield from self._counting[0]
            self._counting.popleft()
        self._bind()

    def _failed(self, failure: Failure) -> None:
        """Tell of a bug; no session is resumed from now on until all is counted anew, with the next publication."""
        self._counting.clear()
        self._is_lost = True
        self._bind()
        _log.failure("What hosts ask of clients could not be counted, which is a bug", failure=failure)

    def _ask(
        self, before: HandshakeSettingsTable, after: HandshakeSettingsTable, *, is_beside: bool = False
    ) -> None:
        """Count what is asked of clients in *after* and was not in *before*, and the other way round."""
        had, has = before.by_host, after.by_host
        if after is not before and (had or _is_anything_asked(has)):
            portions = (
                ((host, _asked(old), _asked(new)) for host, old, new in portion)
                for portion in _portions(had, has)
            )
            self._count(self._demands.changing(portions, is_beside=is_beside))

    def serverConnectionForTLS(self, tlsProtocol: TLSMemoryBIOProtocol | None) -> SSL.Connection:
        """Begin a connection; its certificate is chosen once the client has named a server."""
        return self.connection_on(None)

    def connection_on(self, sock: socket.socket | None, speaks: bool = True) -> SSL.Connection:
        """Begin a connection on a socket of its own, for a transport that is not Twisted's.

        One that never *speaks* is to carry a stream, whose protocol is a matter of others.
        """
        chooses = None if self._chooses is None else self._chooses()
        if chooses is None:
            chooses = self._choose
            self._chooses = ref(chooses)
        return self._bases.begin(BegunConnection if speaks else StreamConnection, sock, chooses, self._whose)

    # The default certificate

    def _change_default(self) -> None:
        for certificate in dict.fromkeys(
            (self._names.certificates.default or self._own_default, self._own_default)
        ):
            try:
                self._default = self._built_default(certificate)
                return
            except _REFUSALS as error:
                _tell(certificate, error)

    def _built_default(self, certificate: Certificate) -> tuple[Certificate, SSL.Context]:
        return certificate, build_context(
            self._least_version, (certificate,), protocols=self._protocols, groups=self._groups
        )

    # The choice

    def _choose(self, connection: SSL.Connection) -> int | None:
        """Switch *connection* to what its server name stands for, or return the alert that refuses it."""
        try:
            sent = connection.get_servername()
            speaks = not isinstance(connection, StreamConnection)
            chosen = self._chosen.get(sent) if speaks else None
            if chosen is not None:
                connection.set_app_data(chosen[0])
                connection.set_context(chosen[1])
                if chosen[2] is not None:
                    self._contexts.move_to_end(chosen[2])
                return None
            name = None if sent is None else sent.decode("ascii", "replace")
            names = self._names if self._names.beside is None else self._names.serving(name)
            certificates = names.certificates.named(name)
            handshake_settings = names.handshake_settings.find(name)
            if certificates is None and (
                names.is_of_gateways or (self._is_strict and not names.handshake_settings.has(name))
            ):
                return UNRECOGNIZED_NAME
            authentication = handshake_settings.client_authentication
            handshake = Handshake(sent, authentication)
            connection.set_app_data(handshake)
            context: SSL.Context | None = self._default[1]
            key: _Key | None = None
            if certificates is not None or handshake_settings is not PLAIN_HANDSHAKE or not speaks:
                protocols = self._protocols if speaks else ()
                key, context = self._context_for(certificates, handshake_settings, protocols)
            if context is not None:
                connection.set_context(context)
            if speaks and authentication is None and context is not None:
                self._remember(sent, handshake, context, key)
            if authentication is not None:
                if is_resumed(connection):
                    return ACCESS_DENIED
                handshake.ask(connection)
        except Exception:
            # Nothing may be raised into OpenSSL.  No evidence is left, so no host that
            # asks for client certificates serves this connection.
            connection.set_app_data(None)
            _log.failure("Choosing a certificate failed; the default certificate is shown.")
            connection.set_context(self._default[1])
        return None

    def _remember(
        self, sent: bytes | None, handshake: Handshake, context: SSL.Context, key: _Key | None
    ) -> None:
        """Choose the same at once for the next one that sends this name; a handshake that asks for nothing is the same for all."""
        if len(self._chosen) >= MAX_CONTEXTS:
            # Whoever invents names pushes out no context by them, and keeps none alive.
            self._chosen.clear()
        self._chosen[sent] = handshake, context, key

    def _context_for(
        self,
        named: tuple[Certificate, ...] | None,
        handshake_settings: HandshakeSettings,
        protocols: tuple[bytes, ...],
    ) -> tuple[_Key, SSL.Context | None]:
        """Return the context of what is *named*, or where OpenSSL refuses that the default's, with what it is kept by."""
        default = (self._default[0],)
        asked = handshake_settings.ciphers, handshake_settings.client_authentication, protocols
        key: _Key = (named or default, *asked)
        context = self._context_of(key)
        if context is None and named:
            key = (default, *asked)
            context = self._context_of(key)
        return key, context

    def _context_of(self, key: _Key) -> SSL.Context | None:
        try:
            self._contexts.move_to_end(key)
            return self._contexts[key]
        except KeyError:
            pass
        context: SSL.Context | None = None
        try:
            context = build_context(self._least_version, *key, self._groups)
        except _REFUSALS as error:
            _tell(key[0][0], error)
        self._contexts[key] = context
        if len(self._contexts) > MAX_CONTEXTS:
            self._contexts.popitem(last=False)
            # Names still have the one that is gone.
            self._chosen.clear()
        return context

    def _forget(self, before: CertificateTable, after: CertificateTable) -> None:
        """Drop the contexts of certificates that a host had in *before* and has no more in *after*, soon: nobody is shown these any more."""
        if self._contexts and after is not before:
            self._take(self._forgetting(before, after)).addErrback(_could_not_forget)

    def _forgetting(self, before: CertificateTable, after: CertificateTable) -> Stepwise[None]:
        gone: set[Certificate] = set()
        for number, portion in enumerate(
            chain(_portions(before.exact, after.exact), _portions(before.wildcard, after.wildcard))
        ):
            if number:
                yield
            for _, old, new in portion:
                if old is not None and old != new:
                    gone.update(old)
        if before.default is not None and before.default != after.default:
            gone.add(before.default)
        if gone:
            for key in [key for key in self._contexts if not gone.isdisjoint(key[0])]:
                del self._contexts[key]
            # Names may have one again whose certificate was gone for a moment.
            self._chosen.clear()

    def __repr__(self) -> str:
        return f"<ServerContexts with {len(self._contexts)} contexts>"


_REFUSALS = (SSL.Error, crypto.Error, ValueError)


def _tell(certificate: Certificate, error: Exception) -> None:
    _log.error(
        "OpenSSL refuses the certificate of Secret {secret}; the default certificate is shown: {error}",
        secret=certificate.secret,
        error=error,
    )


def _asked(handshake_settings: HandshakeSettings | None) -> ClientAuthentication | None:
    return None if handshake_settings is None else handshake_settings.client_authentication


def _is_anything_asked(by_host: Mapping[str, HandshakeSettings]) -> bool:
    """Whether any host asks for client certificates; where none does, no host is looked at, which copies it in a worker."""
    values = by_host.values_alone() if isinstance(by_host, SharedMap) else by_host.values()
    return any(one.client_authentication is not None for one in values)


def _portions(
    before: Mapping[str, _V], after: Mapping[str, _V]
) -> Iterator[Iterable[tuple[str, _V | None, _V | None]]]:
    """Yield each host whose value is another object now, though it may be equal, with both values, in portions."""
    if isinstance(before, SharedMap) and isinstance(after, SharedMap):
        for portion in after.portions_since(before, SEEN_AT_ONCE):
            yield [(host, before.get(host), value) for host, value in portion]
    else:
        yield ((host, before.get(host), after.get(host)) for host in {**before, **after})


def _could_not_forget(failure: Failure) -> None:
    _log.failure(
        "Contexts of certificates that are gone could not be dropped, which is a bug", failure=failure
    )
