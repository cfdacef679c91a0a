"""What an Ingress says about external authentication, and what the operator says for all of them."""

from enum import Enum
from typing import Final

from ingress.annotations.contract.asked_urls import ANYWHERE, AllowedTargets
from ingress.annotations.external_auth.cache import USUAL_DURATIONS, Durations
from ingress.annotations.external_auth.check import REQUEST_URI
from ingress.annotations.external_auth.values import RETURN_PARAMETER, AuthSnippet
from ingress.model.cluster.objects import ObjectKey
from ingress.model.frozen import frozen
from ingress.model.requests.templates import Template


class Refused(Enum):
    """Stands for a setting that could not be read, and whose loss might let somebody in."""

    REFUSED = "refused"


REFUSED: Final = Refused.REFUSED


@frozen
class AuthSettings:
    """What the annotations of one Ingress say, or the operator for all of them."""

    url: Template | Refused | None = None
    """Whom to ask; None: nobody."""
    method: str | Refused = ""
    signin: str = ""
    signin_parameter: str = RETURN_PARAMETER
    response_headers: tuple[str, ...] | Refused = ()
    request_redirect: Template = REQUEST_URI
    cache_key: Template | None = None
    durations: Durations = USUAL_DURATIONS
    always_sets_cookie: bool = False
    snippet: AuthSnippet | Refused = AuthSnippet()
    config_map: ObjectKey | Refused | None = None
    """Which ConfigMap has further fields that the service is told."""
    keeps_connections: None = None
    """Connections are always kept, so nothing is to be settled about that."""
    is_global: bool = True
    """Whether what the operator says holds where there is no *url*."""
    global_url: Template | Refused | None = None
    global_method: str | Refused = ""
    global_signin: str = ""
    global_signin_parameter: str = RETURN_PARAMETER
    global_response_headers: tuple[str, ...] | Refused = ()
    global_request_redirect: Template = REQUEST_URI
    global_cache_key: Template | None = None
    global_durations: Durations = USUAL_DURATIONS
    global_always_sets_cookie: bool = False
    global_snippet: AuthSnippet | Refused = AuthSnippet()
    exempt: tuple[str, ...] = ("/.well-known/acme-challenge",)
    """What the paths begin with where nobody asks who a client is, passwords included."""
    allowed: AllowedTargets = ANYWHERE
    """Where URLs of Ingresses may lead."""
    seconds: float = 10.0
    """How long a service may take."""
    verifies: bool = False
    """Whether the certificate at an ``https`` URL must be for its host, and of an authority that this system trusts."""

    @property
    def of_operator(self) -> "AuthSettings":
        """What the operator says, as an Ingress would."""
        return AuthSettings(
            url=self.global_url,
            method=self.global_method,
            signin=self.global_signin,
            signin_parameter=self.global_signin_parameter,
            response_headers=self.global_response_headers,
            request_redirect=self.global_request_redirect,
            cache_key=self.global_cache_key,
            durations=self.global_durations,
            always_sets_cookie=self.global_always_sets_cookie,
            snippet=self.global_snippet,
            seconds=self.seconds,
            verifies=self.verifies,
        )
