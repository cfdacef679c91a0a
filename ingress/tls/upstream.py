"""Our side of TLS to endpoints: contexts by settings, sessions by endpoint, and whose certificate it is.

A context is built once for equal settings and kept while anybody has these (``held_settings``).  It offers one protocol alone,
HTTP/1.1 or HTTP/2: which of them is one of the settings.  With it are kept sessions,
one for each endpoint, and an endpoint is its address, its port *and* its settings.  So neither a
context nor a session made on some settings ever serves others, and resumption skips no check:
what the session was made by is what would be checked again.  A session of TLS 1.3 comes in a
ticket after the handshake (RFC 8446 section 4.6.1), so it is asked for when something was received.

The chain of a certificate is for OpenSSL to judge, and whether it is for the endpoint's name
for service_identity (RFC 9525).  Everything here is about one connection; the sockets are
elsewhere.
"""

import socket
from collections import OrderedDict
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address
from os import strerror
from typing import NamedTuple
from weakref import WeakKeyDictionary

from cryptography import x509
from OpenSSL import SSL, crypto
from service_identity import CertificateError, VerificationError
from service_identity.hazmat import (
    DNS_ID,
    CertificatePattern,
    DNSPattern,
    IPAddress_ID,
    IPAddressPattern,
    verify_service_identity,
)
from twisted.internet.error import ConnectionClosed
from twisted.internet.interfaces import IReactorTime

from ingress.annotations.contract.values import quoted
from ingress.identity.key_pairs import DAMAGED
from ingress.model.requests.client_authentication import MOST_DEPTH
from ingress.model.stepwise import Stepwise
from ingress.model.upstream.backends import Endpoint
from ingress.model.upstream.upstream_tls import PeerName, PeerNameType, TlsSettings, TlsVersion
from ingress.tls.binding import words_of
from ingress.tls.held_settings import HeldSettings, Offer
from ingress.tls.peer_keys import is_taken
from ingress.tls.profile import GROUPS, HTTP_1_1, HTTP_2, TLS_1_2_SUITES, TLS_1_3_SUITES, offer_groups

MAX_IDENTITIES = 1024
MAX_SESSIONS = 2048
"""Of endpoints whatever their settings: one takes more than six KiB, with the certificates that were shown, and endpoints come and go
with every rollout."""
FORGOTTEN_AT_ONCE = 20
"""Sessions in one step: to free one takes nearly a hundredth of a millisecond."""

_SHOWN_NAMES = 5
_VERSIONS = {TlsVersion.TLS_1_2: SSL.TLS1_2_VERSION, TlsVersion.TLS_1_3: SSL.TLS1_3_VERSION}

_NoteFault = Callable[[SSL.Connection, crypto.X509, int, int, int], bool]


class _Identity(NamedTuple):
    """What is kept for equal offers."""

    context: SSL.Context
    number: int
    """Which no other one has: by it sessions are known that were made with this context."""


class _Whose(NamedTuple):
    """Whose a session is: that of an endpoint, and of a context, which stands for most of its settings and keeps none of them."""

    identity: int
    address: str
    port: int
    is_external: bool
    within: tuple[str, ...]


class _Named(NamedTuple):
    """Whom a certificate is for, by its subject alternative names."""

    patterns: Sequence[CertificatePattern] = ()
    """Names and addresses."""
    uris: Sequence[str] = ()
    """Such as SPIFFE identities."""
    unread: str = ""
    """Why a name of it does not count; of several, the first."""


class UpstreamContexts:
    """Begins TLS connections to endpoints that have ``tls_settings.tls``, and judges who answered."""

    def __init__(self, groups: bytes = GROUPS, clock: IReactorTime | None = None) -> None:
        """*groups* are what keys are agreed on by, the first ones preferred; *clock* delays letting go of what nobody has."""
        self._groups = groups
        self._identities: HeldSettings[_Identity] = HeldSettings(MAX_IDENTITIES, clock, self._forget_sessions)
        self._made = 0
        """How many of these there were."""
        self._sessions: OrderedDict[_Whose, SSL.Session] = OrderedDict()
        # What OpenSSL said first against the chain of a connection.
        self._faults: WeakKeyDictionary[SSL.Connection, str] = WeakKeyDictionary()

    def __repr__(self) -> str:
        return f"<UpstreamContexts of {len(self._identities)} identities>"

    def stop(self) -> None:
        """Let go of nothing any more."""
        self._identities.stop()

    def begin(self, endpoint: Endpoint, sock: socket.socket | None = None) -> SSL.Connection:
        """Begin the client side of a connection to *endpoint*, on a socket or in memory.

        Raises ``ValueError`` where OpenSSL refuses the settings.
        """
        offer = _offer_to(endpoint)
        identity = self._identities.get(offer)
        if identity is None:
            try:
                identity = _Identity(_build(offer, self._note_fault, self._groups), self._made)
            except (SSL.Error, crypto.Error) as error:
                raise ValueError(words_of_error(error)) from None
            self._made += 1
            self._identities.put(offer, identity)
        connection = SSL.Connection(identity.context, sock)
        connection.set_connect_state()
        name = _sent_name(endpoint, offer.tls.tls_settings)
        if name:
            connection.set_tlsext_host_name(name.encode("ascii"))
        whose = _whose(identity, endpoint)
        session = self._sessions.get(whose)
        if session is not None:
            self._sessions.move_to_end(whose)
            connection.set_session(session)
        return connection

    def judge(self, endpoint: Endpoint, connection: SSL.Connection) -> str:
        """Return why a connection whose handshake is done must not be used; empty when it may."""
        tls, is_http2 = _offer_to(endpoint)
        fault = _judge_certificate(endpoint, tls.tls_settings, connection) if tls.tls_settings.verify else ""
        if not fault and is_http2 and connection.get_alpn_proto_negotiated() != HTTP_2:
            # Whoever selects nothing may take what is said next for HTTP/1.1 (RFC 9113 section 3.2).
            return "TLS: the endpoint does not speak HTTP/2"
        return fault

    def keep_session(self, endpoint: Endpoint, connection: SSL.Connection) -> None:
        """Keep the session of a connection that may be used, for the next one to the same endpoint."""
        identity = self._identities.get(_offer_to(endpoint))
        session = connection.get_session()
        # A context that was dropped and built again has no use for sessions of the old one.
        if session is not None and identity is not None and identity.context is connection.get_context():
            whose = _whose(identity, endpoint)
            self._sessions[whose] = session
            self._sessions.move_to_end(whose)
            if len(self._sessions) > MAX_SESSIONS:
                self._sessions.popitem(last=False)

    def _forget_sessions(self) -> Stepwise[None]:
        """Keep no sessions of contexts that are gone."""
        present = {identity.number for identity in self._identities.values()}
        gone = [whose for whose in self._sessions if whose.identity not in present]
        for number, whose in enumerate(gone, 1):
            self._sessions.pop(whose, None)
            if not number % FORGOTTEN_AT_ONCE:
                yield

    def why_failed(self, connection: SSL.Connection, error: BaseException | None) -> str:
        """Say why a handshake failed, for the log: what was wrong with the certificate, or what was said."""
        fault = self._faults.get(connection)
        if fault:
            return f"TLS: {fault}"
        if isinstance(error, SSL.SysCallError | SSL.ZeroReturnError | ConnectionClosed | OSError):
            return "TLS: the connection was closed during the handshake"
        return words_of_error(error)

    def _note_fault(
        self, connection: SSL.Connection, certificate: crypto.X509, number: int, depth: int, is_fine: int
    ) -> bool:
        which = "the certificate" if depth == 0 else f"certificate {depth + 1} of the chain"
        if not is_fine:
            self._faults.setdefault(connection, f"{which} cannot be trusted: {words_of(number)}")
        elif not is_taken(certificate):
            self._faults.setdefault(connection, f"{which} has a key that is not taken, or takes too long")
            return False
        return bool(is_fine)


def words_of_error(error: BaseException | None) -> str:
    """Say in words what ended a connection: OpenSSL's reasons, where it has any."""
    first = error.args[0] if error is not None and error.args else ""
    if isinstance(error, SSL.SysCallError):
        # Its arguments are a number and its name.
        return strerror(first) if isinstance(first, int) and first > 0 else "closed without a word"
    if isinstance(error, SSL.Error | crypto.Error) and isinstance(first, list):
        return f"TLS: {', '.join(part[-1] for part in first if part[-1]) or 'the handshake failed'}"
    return str(first) or "closed without a word"


def _offer_to(endpoint: Endpoint) -> Offer:
    tls_settings = endpoint.link_settings
    if tls_settings is None or tls_settings.tls is None:
        raise ValueError(f"no TLS is spoken to {endpoint}")
    return Offer(tls_settings.tls, tls_settings.is_http2)


def _whose(identity: _Identity, endpoint: Endpoint) -> _Whose:
    """Return whose sessions are those of *endpoint* that were made with *identity*."""
    settings = endpoint.link_settings
    is_external, within = (False, ()) if settings is None else (settings.is_external, settings.within)
    return _Whose(identity.number, endpoint.address, endpoint.port, is_external, within)


def _judge_certificate(endpoint: Endpoint, tls_settings: TlsSettings, connection: SSL.Connection) -> str:
    """Return why the certificate that was shown is not that of *endpoint*; empty when it is."""
    certificate = connection.get_peer_certificate()
    if certificate is None:
        return "TLS: no certificate was shown"
    name = tls_settings.name or endpoint.address
    try:
        named = _names_of(certificate.to_cryptography())
        if tls_settings.peer_names:
            if any(_is_for(named, one) for one in tls_settings.peer_names):
                return ""
            return _for_others(named, quoted(" or ".join(map(str, tls_settings.peer_names))))
        if named.unread and not named.patterns:
            raise CertificateError(named.unread)
        wanted = IPAddress_ID(name) if _is_address(name) else DNS_ID(name)
        verify_service_identity(named.patterns, obligatory_ids=[wanted], optional_ids=[])
    except VerificationError:
        return _for_others(named, name)
    except (CertificateError, *DAMAGED) as error:
        # The certificate is the endpoint's own: whatever is wrong with it must end here.
        return f"TLS: the certificate names nobody that {name} could be: {quoted(str(error))}"
    return ""


def _names_of(certificate: x509.Certificate) -> _Named:
    """Return whom *certificate* is for; a name that cannot be anybody's is left out, and the others count all the same.

    What service_identity reads of a certificate has no URI with a path, and it refuses certificates that do.
    """
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return _Named()
    patterns: list[CertificatePattern] = []
    unread = ""
    for name in found.get_values_for_type(x509.DNSName):
        try:
            patterns.append(DNSPattern.from_bytes(name.encode()))
        except CertificateError as error:
            unread = unread or str(error)
    patterns += [
        IPAddressPattern(one)
        for one in found.get_values_for_type(x509.IPAddress)
        if isinstance(one, IPv4Address | IPv6Address)
    ]
    return _Named(patterns, found.get_values_for_type(x509.UniformResourceIdentifier), unread)


def _is_for(named: _Named, peer: PeerName) -> bool:
    """Whether *peer* is one of the names or of the URIs, which are compared as they are; a wildcard is just itself."""
    if peer.type is PeerNameType.URI:
        return peer.value in named.uris
    name = peer.value.lower()
    if name.startswith("*."):
        return any(isinstance(one, DNSPattern) and one.pattern == name.encode() for one in named.patterns)
    try:
        verify_service_identity(named.patterns, obligatory_ids=[DNS_ID(name)], optional_ids=[])
    except (VerificationError, CertificateError):
        # The latter where there are no names at all.
        return False
    return True


def _build(offer: Offer, note_fault: _NoteFault, groups: bytes) -> SSL.Context:
    tls = offer.tls
    tls_settings = tls.tls_settings
    context = SSL.Context(SSL.TLS_CLIENT_METHOD)
    context.set_options(SSL.OP_NO_COMPRESSION | SSL.OP_NO_RENEGOTIATION)
    # Idle connections give their read and write buffers back.
    context.set_mode(SSL.MODE_RELEASE_BUFFERS)
    context.set_min_proto_version(_VERSIONS[tls_settings.versions[0]])
    context.set_max_proto_version(_VERSIONS[tls_settings.versions[-1]])
    context.set_tls13_ciphersuites(TLS_1_3_SUITES)
    context.set_cipher_list((tls_settings.ciphers or ":".join(TLS_1_2_SUITES)).encode("ascii"))
    offer_groups(context, groups)
    context.set_alpn_protos([HTTP_2 if offer.is_http2 else HTTP_1_1])
    if tls_settings.verify:
        context.set_verify(SSL.VERIFY_PEER, note_fault)
        context.set_verify_depth(min(tls_settings.depth, MOST_DEPTH))
        if tls.ca_pem:
            _trust(context, tls.ca_pem)
        else:
            context.set_default_verify_paths()
    if tls.chain_pem:
        leaf, *issuers = x509.load_pem_x509_certificates(tls.chain_pem)
        context.use_certificate(leaf)
        for issuer in issuers:
            context.add_extra_chain_cert(issuer)
        context.use_privatekey(crypto.load_privatekey(crypto.FILETYPE_PEM, tls.key_pem))
    return context


def _trust(context: SSL.Context, ca_pem: bytes) -> None:
    store = context.get_cert_store()
    if store is None:
        raise ValueError("the context has no store of certificates")
    for authority in x509.load_pem_x509_certificates(ca_pem):
        store.add_cert(crypto.X509.from_cryptography(authority))


def _sent_name(endpoint: Endpoint, tls_settings: TlsSettings) -> str:
    """Return the name that the handshake tells; an address is never told (RFC 6066 section 3)."""
    is_external = endpoint.link_settings is not None and endpoint.link_settings.is_external
    if not (is_external if tls_settings.send_name is None else tls_settings.send_name):
        return ""
    name = tls_settings.name or endpoint.address
    return "" if _is_address(name) else name


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _for_others(named: _Named, wanted: str) -> str:
    """Say that a certificate is not for *wanted*, whom it is for, and why a name of it does not count."""
    names: list[str] = []
    for pattern in named.patterns:
        if isinstance(pattern, DNSPattern):
            names.append(quoted(pattern.pattern.decode("ascii", "backslashreplace")))
        elif isinstance(pattern, IPAddressPattern):
            names.append(str(pattern.pattern))
    names += map(quoted, named.uris)
    more = ", …" if len(names) > _SHOWN_NAMES else ""
    shown = ", ".join(names[:_SHOWN_NAMES]) + more if names else "nobody"
    left_out = f" ({quoted(named.unread)})" if named.unread else ""
    return f"TLS: the certificate is for {shown}, not for {wanted}{left_out}"
