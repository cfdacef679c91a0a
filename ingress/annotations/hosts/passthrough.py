"""TLS that is not terminated here: ``ssl-passthrough``.

No other annotation has a say about a connection that passes through: nothing of it can be
read here.  The operator has to turn it on, since it looks at every TLS connection before OpenSSL does.

A request for such a host that was decrypted here all the same came over a connection that was made for
another host, or for none.  Its client meant to speak to the backend alone, so it is not passed on.
"""

from typing import ClassVar, Final

from ingress.annotations.contract.values import Annotation, Family, Place, parse_boolean
from ingress.filter_parts.judging import Judging
from ingress.filters import Filter, Phase, Reply, Services
from ingress.model.frozen import frozen
from ingress.model.requests.request_facts import SecuredRequest

ANNOTATION: Final = "ssl-passthrough"
OPTION: Final = "--enable-ssl-passthrough"


@frozen
class PassthroughSettings:
    """What the annotations of one Ingress say about who terminates TLS."""

    passes_tls: bool = False


PASSTHROUGH: Final = Family(
    name="passthrough",
    settings=PassthroughSettings(),
    acts="leaves TLS to the backend",
    phases=(Phase.SERVER,),
    place=Place.HOST,
    annotations={
        ANNOTATION: Annotation(
            "passes_tls",
            parse_boolean,
            values="`true` or `false`; false",
            meaning="leaves TLS of the host to the backend of its path `/`",
            differs="needs `--enable-ssl-passthrough`",
        )
    },
)

_REPLY: Final = Reply(
    421,
    ((b"Content-Type", b"text/plain; charset=utf-8"),),
    b"421 Misdirected Request\nTLS for this site is not terminated here.\n",
    "TLS of this host passes through to its backend, and this request came over a connection for another host",
)


@frozen
class NotTerminatedHere:
    """Answers 421 to what came over TLS of ours (RFC 9110 section 15.5.20)."""

    phase: ClassVar[Phase] = Phase.SERVER
    name: ClassVar[str] = "not-terminated-here"

    def describe(self) -> str:
        """Say what is refused."""
        return "answers 421 to what came over TLS, which passes through to the backend"

    def make(self, services: Services) -> Filter:
        """Make the filter that refuses."""
        return Judging(self.judge)

    def judge(self, request: SecuredRequest) -> Reply | None:
        """Let plain HTTP pass."""
        return None if request.client_evidence is None else _REPLY
