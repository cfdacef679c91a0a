"""The check of client certificates: which requests pass to the routes of a host, and what upstream is told.

The handshake asked for the certificate and judged it; this obeys its judgment, and trusts
nothing but evidence of a handshake with this host's own settings.  A connection that was made
for another host, or for none, has other evidence, and gets no further.  Answers are nginx's:
400 for a certificate that is missing or bad, 403 for one of the wrong name.
"""

from typing import ClassVar, Final

from ingress.annotations.client_certificates.common_names import CommonNames
from ingress.filter_parts.judging import Judging
from ingress.filters import Facts, Filter, Phase, Reply, RequestEdit, Services
from ingress.model.frozen import frozen
from ingress.model.requests.client_authentication import (
    VERIFIED,
    ClientAuthentication,
    ClientEvidence,
    VerifyClient,
    tolerates,
)
from ingress.model.requests.request_facts import SecuredRequest
from ingress.model.requests.shown_certificates import read_certificate

_TEXT: Final = ((b"Content-Type", b"text/plain; charset=utf-8"),)
_NONE_SENT: Final = Reply(
    400,
    _TEXT,
    b"400 Bad Request\nNo required SSL certificate was sent.\n",
    "the client showed no certificate",
)
_NOT_ACCEPTED: Final = Reply(
    400, _TEXT, b"400 Bad Request\nThe SSL certificate error.\n", "the client certificate is not accepted"
)
_WRONG_NAME: Final = Reply(
    403,
    _TEXT,
    b"403 Forbidden\nThe name of the client certificate is not accepted.\n",
    "the name in the client certificate is not among those of auth-tls-match-cn",
)
_ONLY_TLS: Final = Reply(
    403,
    _TEXT,
    b"403 Forbidden\nThis site needs HTTPS and a client certificate.\n",
    "the host asks for client certificates, and the request came without TLS",
)
_OTHER_CONNECTION: Final = Reply(
    421,
    _TEXT,
    b"421 Misdirected Request\nThis site needs a connection of its own.\n",
    "the connection was made for another host, which asks for other client certificates or for none",
)
_CLOSED: Final = Reply(
    403,
    _TEXT,
    b"403 Forbidden\n",
    "client certificates are asked for, and cannot be judged, so the host is closed",
)


@frozen
class ClientCheck:
    """Lets pass who showed what *authentication* asks for, with one of the *names* if there are any.

    *serves_challenges* is for the route of an ACME challenge (RFC 8555 section 8.3), which an
    authority asks for over plain HTTP.
    """

    phase: ClassVar[Phase] = Phase.ACCESS
    name: ClassVar[str] = "client-certificates"

    authentication: ClientAuthentication
    names: CommonNames | None = None
    error_page: bytes = b""
    serves_challenges: bool = False

    def describe(self) -> str:
        """Say who gets in."""
        mode, source = self.authentication.mode.value, self.authentication.source
        names = "" if self.names is None else ", with some of their names"
        return f"asks for client certificates ({mode}) by the authorities of {source}{names}"

    def make(self, services: Services) -> Filter:
        """Make the filter that refuses."""
        return Judging(self.judge)

    def judge(self, request: SecuredRequest) -> Reply | None:
        """Refuse *request* unless its connection is evidence enough."""
        evidence = request.client_evidence
        if evidence is None:
            return self._judge_plain()
        if evidence.authentication != self.authentication:
            return _OTHER_CONNECTION
        if not evidence.certificate:
            if self.authentication.mode is VerifyClient.REQUIRED:
                return self._refused(_NONE_SENT)
            return None if self.names is None else _WRONG_NAME
        if evidence.error != VERIFIED and not tolerates(self.authentication, evidence.error):
            return self._refused(_NOT_ACCEPTED)
        shown = read_certificate(evidence.certificate)
        if shown is None:
            return self._refused(_NOT_ACCEPTED)
        if self.names is not None and not any(name in self.names for name in shown.common_names):
            return _WRONG_NAME
        return None

    def _judge_plain(self) -> Reply | None:
        if self.serves_challenges:
            return None
        is_open = self.authentication.mode is not VerifyClient.REQUIRED and self.names is None
        return None if is_open else _ONLY_TLS

    def _refused(self, reply: Reply) -> Reply:
        return Reply(302, (*_TEXT, (b"Location", self.error_page)), reply.body) if self.error_page else reply


@frozen
class HostClosed:
    """Answers 403: the host asks for client certificates, and nothing can tell good ones from bad ones."""

    phase: ClassVar[Phase] = Phase.ACCESS
    name: ClassVar[str] = "host-closed"

    serves_challenges: bool = False

    def describe(self) -> str:
        """Say why nobody gets in."""
        return "answers 403: client certificates are asked for, and cannot be judged"

    def make(self, services: Services) -> Filter:
        """Make the filter that refuses."""
        return Judging(self.judge)

    def judge(self, request: SecuredRequest) -> Reply | None:
        """Let nothing pass, but for ACME challenges over plain HTTP where this is their route."""
        return None if self.serves_challenges and request.client_evidence is None else _CLOSED


@frozen
class EarlyCheck:
    """Has *check* judge what came by TLS before anything of the host or its paths can answer, as nginx does ahead of all phases.

    What came without TLS is left to *check* in its own place, behind the redirect to HTTPS.
    """

    phase: ClassVar[Phase] = Phase.HANDSHAKE
    name: ClassVar[str] = "client-certificates-first"

    check: ClientCheck | HostClosed

    def describe(self) -> str:
        """Say who gets in."""
        return f"{self.check.describe()}, ahead of what else may answer"

    def make(self, services: Services) -> Filter:
        """Make the filter that refuses."""
        return Judging(self.judge)

    def judge(self, request: SecuredRequest) -> Reply | None:
        """Refuse *request* if it came by TLS, and *check* does."""
        return None if request.client_evidence is None else self.check.judge(request)


@frozen
class ClientCertificateFields:
    """Tells upstream what a client showed, in the fields that ingress-nginx sends.

    What the client itself says under these names never gets here: it is dropped with the
    other fields that are ours to set (``ingress.http.request_head``).
    """

    phase: ClassVar[Phase] = Phase.EDITS
    name: ClassVar[str] = "client-certificate-fields"

    passes_certificate: bool = False

    def describe(self) -> str:
        """Say what upstream is told."""
        what = "the client certificate and " if self.passes_certificate else ""
        return f"tells upstream {what}what the client certificate showed"

    def make(self, services: Services) -> Filter:
        """Make the filter that tells."""
        return _TellsUpstream(self)

    def fields(self, evidence: ClientEvidence | None) -> tuple[tuple[bytes, bytes], ...]:
        """Return the fields for a request with *evidence*, which has passed the check."""
        if evidence is None or not evidence.certificate:
            return ((b"ssl-client-verify", b"NONE"),)
        shown = read_certificate(evidence.certificate)
        assert shown is not None
        verdict = b"SUCCESS"
        if evidence.error != VERIFIED:
            reason = "".join(one for one in evidence.reason if " " <= one <= "~")
            verdict = b"FAILED:" + reason.encode("ascii")
        fields = (
            (b"ssl-client-verify", verdict),
            (b"ssl-client-subject-dn", shown.subject),
            (b"ssl-client-issuer-dn", shown.issuer),
        )
        return (*fields, (b"ssl-client-cert", shown.escaped_pem)) if self.passes_certificate else fields


class _TellsUpstream(Filter):
    def __init__(self, spec: ClientCertificateFields) -> None:
        self._spec = spec

    def on_upstream(self, facts: Facts, edit: RequestEdit) -> None:
        for name, value in self._spec.fields(facts.client_evidence):
            edit.put(name, value)
