"""The settings of one process: everything the operator decided, frozen.

``ingress.options`` makes a ``Settings`` of options; every part gets the two or three
values that it needs, never the whole.  What a room needs as a whole is a value of its own, nested here.
"""

from ipaddress import ip_network

from attrs import Factory, evolve

from ingress.annotations.operator_filters import OperatorFilter
from ingress.model.cluster.label_selectors import LabelSelector
from ingress.model.cluster.locality import Locality
from ingress.model.cluster.objects import ObjectKey
from ingress.model.frozen import frozen
from ingress.model.network.listeners import Listener, port_of
from ingress.model.reporting.reporting import Reporting
from ingress.model.serving.log_formats import LogForm
from ingress.model.serving.serving_settings import ServingSettings
from ingress.translate.endpoints.endpoint_rules import EndpointRules
from ingress.translate.options import SECRET_SELECTOR, TranslateOptions


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
    admission: str | None = None
    """Where reviews of Ingresses are answered, over TLS; None for nowhere."""
    admission_certificate: str | None = None
    admission_key: str | None = None
    """The PEM files by which TLS is spoken there."""
    durations_by_service: bool = False
    """Whether metrics have histograms of each Ingress and Service."""
    show_queries: bool = False
    """Whether failures on the admin port have what may be personal: the id, query and client of the request."""
    admin_token_file: str | None = None
    """The file with the tokens of whoever asks the admin port from another machine; None lets all in."""
    use_proxy_protocol: bool = False
    """Whether connections begin with a PROXY header, which only the trusted proxies may send."""

    takeover: str | None = None
    """The UNIX socket at which this process takes over from the one before, and the next one from this; absolute."""

    kubeconfig: str | None = None
    context: str | None = None
    server: str | None = None
    namespaces: tuple[str, ...] = ()
    """Namespaces to read; empty means all."""

    namespace_selector: LabelSelector | None = None
    """What the labels of namespaces have to be like for route objects in them to be read; None reads all."""

    secret_mode: str = "watch"
    """Whether Secrets are watched (``watch``), or read each by its name (``get``)."""
    secret_field_selector: str = SECRET_SELECTOR
    """What of the Secrets is watched; the type of a Secret cannot be changed.  Empty means all."""

    manifests: tuple[str, ...] = ()
    """Files and directories to read instead of an API server."""

    config_map: ObjectKey | None = None
    """The ConfigMap that says options besides the command line, as ingress-nginx has them."""

    tcp_services: ObjectKey | None = None
    """The ConfigMap that lists TCP services, as ingress-nginx has it."""
    udp_services: ObjectKey | None = None
    """The one that lists UDP services."""

    tls_min_version: str = "1.2"
    """Oldest version of TLS that is spoken downstream: ``1.2`` or ``1.3``."""
    tls_groups: str = "X25519MLKEM768:X25519:P-256:P-384"
    """What keys are agreed on by, downstream and upstream, the first ones preferred."""
    http2: bool = True
    """Whether TLS connections of clients may agree on HTTP/2."""
    http2_prior_knowledge: bool = False
    """Whether plain connections may begin with it."""

    use_epoll: bool = True
    """Run the data path on sockets of its own where the system has epoll."""
    workers: int | None = None
    """How many processes serve, beside the one that watches; None for this one alone, 0 for whatever is of use here."""
    log_form: LogForm = LogForm.TEXT
    """What lines of the program's own log look like."""

    topology_aware: bool = False
    """Whether hints of EndpointSlices count."""
    zone: str = ""
    """The zone of this process; empty where the Node that it runs on says it."""

    filters: tuple[OperatorFilter, ...] = ()
    """What stands before all requests, of packages that the operator installed."""

    translate: TranslateOptions = Factory(TranslateOptions)
    serving: ServingSettings = Factory(ServingSettings)
    reporting: Reporting = Factory(Reporting)

    @property
    def config_maps(self) -> tuple[ObjectKey, ...]:
        """The ConfigMaps that are followed, each once."""
        named = (self.config_map, self.tcp_services, self.udp_services)
        return tuple(dict.fromkeys(one for one in named if one is not None))

    @property
    def listeners(self) -> tuple[str, ...]:
        """The descriptions of all that is listened on, the pages for operators included."""
        return (*self.http, *self.https, *self.own_listeners)

    @property
    def own_listeners(self) -> tuple[str, ...]:
        """Those of them that are for operators and API servers, and serve no route."""
        return (self.admin, *(one for one in (self.probes, self.admission) if one is not None))


def translate_options(settings: Settings) -> TranslateOptions:
    """Return what translation needs: its part of *settings*, and what follows from others."""
    own_ports = tuple(port for one in settings.own_listeners if (port := port_of(one)))
    published = tuple(one.ip for one in settings.reporting.publish_addresses if one.ip)
    watches_secrets = settings.secret_mode == "watch" and not settings.manifests
    return evolve(
        settings.translate,
        listeners=(
            *(Listener(description, is_required=True) for description in settings.http),
            *(Listener(description, is_secure=True, is_required=True) for description in settings.https),
        ),
        own_service=settings.reporting.publish_service,
        https_port=port_of(settings.https[0]) or 443,
        secret_selector=settings.secret_field_selector if watches_secrets else "",
        selects_namespaces=settings.namespace_selector is not None,
        from_manifests=bool(settings.manifests),
        locality=Locality(settings.zone) if settings.topology_aware and settings.zone else None,
        gateway=evolve(settings.translate.gateway, own_ports=own_ports, published=published),
    )


def options_elsewhere(settings: Settings) -> TranslateOptions:
    """Return what translation goes by in a controller that runs elsewhere, whose own addresses nobody knows here.

    Whether the objects are from files is for ``settings.translate`` to say.
    """
    from_manifests = settings.translate.from_manifests
    options = translate_options(settings)
    rules = EndpointRules(
        allowed=tuple(map(ip_network, options.endpoint_networks)), allows_local=from_manifests
    )
    return evolve(
        options,
        from_manifests=from_manifests,
        secret_selector="" if from_manifests else options.secret_selector,
        endpoint_rules=rules,
    )
