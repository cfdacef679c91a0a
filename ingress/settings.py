"""The settings of one process: everything the command line decided, frozen.

``ingress.tap.Options`` makes a ``Settings``; every part gets the two or three
values that it needs, never the whole.
"""

from attrs import Factory, frozen

from ingress.model.backends import BackendReference, Endpoint
from ingress.model.balancing import Algorithm
from ingress.model.limits import Limits
from ingress.model.object_meta import Address
from ingress.model.objects import ObjectKey

ANNOTATIONS_PREFIX = "nginx.ingress.kubernetes.io"
CONTROLLER_CLASS = "k8s.io/ingress-nginx"
INGRESS_CLASS = "nginx"


@frozen
class ManualEndpoint:
    """``--endpoint``: where a Service of the manifests runs when no EndpointSlice says so.

    *service* None means any Service, *port* empty any of its ports (else the
    Service port's number or name).
    """

    service: ObjectKey | None
    port: int | str
    endpoint: Endpoint


@frozen
class StrictTransport:
    """What ``Strict-Transport-Security`` says to browsers (RFC 6797), for hosts with a certificate."""

    max_age_seconds: int = 31536000
    """A year, as in ingress-nginx."""
    includes_subdomains: bool = True
    preload: bool = False
    """Whether browser vendors may build the host into their lists; it is hard to get out of these."""


STRICT_TRANSPORT = StrictTransport()


@frozen
class Reporting:
    """What is reported back to the cluster, and by which of the replicas."""

    election_id: str = "ingress-leader"
    """Name of the Lease by which the replicas agree on a leader."""
    election_namespace: str | None = None
    """None means the namespace that we are in."""
    election_ttl_seconds: int = 15
    """Seconds after which a leader that says nothing is replaced."""
    publish_addresses: tuple[Address, ...] = ()
    """Addresses that the Ingresses show; they come before those of the Service."""
    publish_service: ObjectKey | None = None
    """Service whose addresses the Ingresses show."""
    clear_status_on_shutdown: bool = False
    """Whether the addresses are removed at the end, when no other replica is there."""


@frozen
class Settings:
    """What the operator asked for.  Listener descriptions are Twisted endpoint texts."""

    http: tuple[str, ...] = ("tcp:80",)
    https: tuple[str, ...] = ("tcp:443",)
    admin: str = "tcp:10254:interface=127.0.0.1"
    probes: str | None = None
    """Where health, readiness and metrics alone are shown, besides the admin port."""
    admin_hosts: tuple[str, ...] = ()
    """Names, in lower case, by which either may be asked."""

    kubeconfig: str | None = None
    context: str | None = None
    server: str | None = None
    namespaces: tuple[str, ...] = ()
    """Namespaces to read; empty means all."""

    watch_secrets: bool = True
    """Whether Secrets are watched, or read each by its name (``--secret-mode``)."""
    secret_field_selector: str = "type=kubernetes.io/tls"
    """What of the Secrets is watched; the type of a Secret cannot be changed.  Empty means all."""

    manifests: tuple[str, ...] = ()
    """Files and directories to read instead of an API server."""
    endpoints: tuple[ManualEndpoint, ...] = ()

    ingress_class: str = INGRESS_CLASS
    controller_class: str = CONTROLLER_CLASS
    watch_without_class: bool = False
    shared_hosts: bool = False
    """Whether Ingresses speak for hosts that belong to other namespaces."""
    annotations_prefix: str = ANNOTATIONS_PREFIX

    default_backend_service: BackendReference | None = None
    default_ssl_certificate: ObjectKey | None = None
    tls_min_version: str = "1.2"
    """Oldest version of TLS that is spoken downstream: ``1.2`` or ``1.3``."""
    tls_groups: str = "X25519MLKEM768:X25519:P-256:P-384"
    """What keys are agreed on by, downstream and upstream, the first ones preferred."""
    strict_sni: bool = False
    """Whether a handshake must name a server that an Ingress serves."""
    http2: bool = True
    """Whether TLS connections of clients may agree on HTTP/2."""
    http2_prior_knowledge: bool = False
    """Whether plain connections may begin with it."""
    ssl_redirect: bool = True
    """Whether hosts that ``spec.tls`` names redirect to HTTPS, where an Ingress says nothing about it."""
    force_ssl_redirect: bool = False
    """Whether all other hosts do so, too."""
    ssl_passthrough: bool = False
    """Whether the annotation ``ssl-passthrough`` is honored."""
    strict_transport: StrictTransport | None = STRICT_TRANSPORT
    """None says nothing to browsers."""
    allow_external_name: bool = False
    service_upstream: bool = False
    endpoint_networks: tuple[str, ...] = ()
    """Networks in which endpoints may be, whatever else speaks against them."""

    load_balance: Algorithm = Algorithm.ROUND_ROBIN
    """How requests are shared among endpoints, where an Ingress does not say so."""
    slow_start_seconds: float = 0.0
    """How long a new endpoint takes to get its whole share; 0 means that it has it at once."""

    not_found_page: bytes | None = None
    """Content of ``--404-page``; None means the built-in page."""
    trusted_proxies: tuple[str, ...] = ()
    """Networks whose peers are believed when they say who the client is."""
    use_proxy_protocol: bool = False
    """Whether connections begin with a PROXY header, which only those networks may send."""
    use_epoll: bool = True
    """Run the data path on sockets of its own where the system has epoll."""
    access_log: str | None = None
    """File for the access log; None means standard output."""
    limits: Limits = Factory(Limits)
    reporting: Reporting = Reporting()
    shutdown_delay_seconds: float = 5.0
    shutdown_grace_seconds: float = 30.0
