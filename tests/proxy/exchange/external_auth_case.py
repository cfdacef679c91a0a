"""A proxy whose requests another service decides about, in memory."""

from __future__ import annotations

from datetime import UTC, datetime

from ingress.annotations.external_auth.family import EXTERNAL_AUTH
from ingress.annotations.external_auth.settings import AuthSettings
from ingress.filters import FilterSpec, Phase
from ingress.model.upstream.backends import Endpoint
from ingress.model.upstream.upstream_tls import LinkSettings
from ingress.translate.options import TranslateOptions
from ingress.translate.translate import translate
from tests.fakes.transports import Peer
from tests.operator_settings import operator_settings
from tests.proxy.filter_case import FilterCase
from tests.proxy.playing import ONE
from tests.translate.golden import state_of
from tests.translate.tls.test_client_authentication import ingress

AUTH = Endpoint("auth.test", 4180, LinkSettings(is_external=True))
URL = "http://auth.test:4180/oauth2/auth"
NOTHING = AuthSettings()
ALLOWED = b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"
UNKNOWN = b'HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm="a"\r\nWWW-Authenticate: Bearer\r\nSet-Cookie: state=1\r\nContent-Length: 4\r\n\r\nbody'


def filters(operators: AuthSettings = NOTHING, /, **written: str) -> tuple[FilterSpec, ...]:
    """Return what an Ingress with these annotations, whose names have underscores here, has in the ACCESS phase."""
    named = {name.replace("_", "-"): value for name, value in written.items()}
    options = TranslateOptions(operators=operator_settings((EXTERNAL_AUTH, operators)))
    (route,) = translate(state_of([ingress("a", "/", **named)]), options, datetime.now(UTC)).table.routes
    return tuple(spec for spec in route.filters if spec.phase is Phase.ACCESS)


class AuthCase(FilterCase):
    """A route whose requests are asked about."""

    def serve(self, operators: AuthSettings = NOTHING, /, **written: str) -> None:
        """Have these annotations, and a URL if none is among them."""
        written.setdefault("auth_url", URL)
        self.stage.publish((ONE,), filters=filters(operators, **written))

    def peers(self, endpoint: Endpoint = AUTH) -> list[Peer]:
        """The connections to an endpoint, in their order."""
        return [peer for peer in self.connector.peers if peer.protocol.endpoint == endpoint]  # type: ignore[attr-defined]

    def asked(self, answer: bytes = b"", endpoint: Endpoint = AUTH) -> bytes:
        """Return what the service was asked since the last time, and have it answer."""
        service = self.peers(endpoint)[-1]
        heard = service.take()
        if answer:
            service.say(answer)
        return heard

    def events(self, event: str) -> float:
        """How often the filter counted this."""
        return self.metrics.value("ingress_filter_events_total", filter="external-auth", event=event)
