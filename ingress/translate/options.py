"""The part of the settings that decides what a translation makes of the cluster state."""

from attrs import Factory, frozen

from ingress.model.backends import BackendReference
from ingress.model.objects import ObjectKey
from ingress.settings import (
    ANNOTATIONS_PREFIX,
    CONTROLLER_CLASS,
    INGRESS_CLASS,
    STRICT_TRANSPORT,
    ManualEndpoint,
    StrictTransport,
)
from ingress.translate.endpoint_rules import EndpointRules


@frozen
class TranslateOptions:
    """What the operator decided; see ``ingress.settings.Settings`` for each."""

    ingress_class: str = INGRESS_CLASS
    controller_class: str = CONTROLLER_CLASS
    watch_without_class: bool = False
    annotations_prefix: str = ANNOTATIONS_PREFIX
    default_backend_service: BackendReference | None = None
    default_ssl_certificate: ObjectKey | None = None
    allow_external_name: bool = False
    service_upstream: bool = False
    endpoint_rules: EndpointRules = Factory(EndpointRules)
    https_port: int = 443
    """The port that a redirect to HTTPS sends browsers to."""
    ssl_redirect: bool = True
    force_ssl_redirect: bool = False
    ssl_passthrough: bool = False
    shared_hosts: bool = False
    """Whether all namespaces speak for all hosts (``ingress.translate.ownership``)."""
    strict_transport: StrictTransport | None = STRICT_TRANSPORT
    manual_endpoints: tuple[ManualEndpoint, ...] = ()
    secret_selector: str = ""
    """The field selector by which Secrets are watched; empty where none of them is hidden from the watch."""
    from_manifests: bool = False
    """Whether the objects come from files, where no API server completed them."""
