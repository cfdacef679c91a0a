"""What decides what a translation makes of the cluster state: the operator's part, and what follows from other options."""

from attrs import AttrsInstance, Factory, evolve

from ingress.annotations.hosts.transport_security import STRICT_TRANSPORT, StrictTransport
from ingress.annotations.operator_filters import InstalledFilter
from ingress.annotations.operator_settings import NOTHING_SAID
from ingress.annotations.policy import EVERYTHING, AnnotationPolicy
from ingress.model.cluster.locality import Locality
from ingress.model.cluster.objects import ObjectKey
from ingress.model.cluster.port_services import PortServices
from ingress.model.exchanges.firewall import FirewallPlan
from ingress.model.frozen import frozen
from ingress.model.network.listeners import Listener
from ingress.model.upstream.backends import BackendReference, ManualEndpoint
from ingress.translate.endpoints.endpoint_rules import EndpointRules
from ingress.translate.gateway_options import GatewayOptions

ANNOTATIONS_PREFIX = "nginx.ingress.kubernetes.io"
SECRET_SELECTOR = "type=kubernetes.io/tls"


@frozen
class TranslateOptions:
    """What the operator decided."""

    ingress_class: str = "nginx"
    controller_class: str = "k8s.io/ingress-nginx"
    class_by_name: bool = False
    """Whether the IngressClass that is called as ``ingress_class`` is ours whatever its controller, besides those of ``controller_class``."""
    watch_without_class: bool = False
    disable_catch_all: bool = False
    """Whether Ingresses with a default backend are left alone."""
    shared_hosts: bool = False
    """Whether all namespaces speak for all hosts (``ingress.translate.ownership``)."""
    annotations_prefix: str = ANNOTATIONS_PREFIX
    quirks: bool = True
    """Whether hosts are served with the quirks of ingress-nginx where an Ingress with such annotations names them."""
    strict_path_types: bool = False
    """Whether paths of the types Exact and Prefix must be plain."""
    default_backend_service: BackendReference | None = None
    default_ssl_certificate: ObjectKey | None = None
    annotation_policy: AnnotationPolicy = EVERYTHING
    """What Ingresses may ask for."""
    operators: AttrsInstance = NOTHING_SAID
    """What holds where an Ingress says nothing by annotation, family by family."""
    strict_transport: StrictTransport | None = STRICT_TRANSPORT
    """None says nothing to browsers."""
    ssl_ciphers: tuple[str, ...] = ()
    """The suites of hosts that no Ingress says any for."""
    ssl_passthrough: bool = False
    """Whether the annotation ``ssl-passthrough`` is honored."""
    firewall: FirewallPlan = Factory(FirewallPlan)
    """The processes that requests are inspected by, if there are any."""
    allow_external_name: bool = False
    disable_external_name: bool = False
    """Whether no ExternalName Service is served, whoever allows these."""
    service_upstream: bool = False
    endpoint_networks: tuple[str, ...] = ()
    """Networks in which endpoints may be, whatever else speaks against them."""
    manual_endpoints: tuple[ManualEndpoint, ...] = ()
    allowed_filters: tuple[InstalledFilter, ...] = ()
    """Filters that Ingresses may ask for by annotation."""

    gateway: GatewayOptions = Factory(GatewayOptions)

    tcp_services: PortServices | None = None
    """What the ConfigMap of ``--tcp-services-configmap`` lists; None without that option."""
    udp_services: PortServices | None = None
    """The same of ``--udp-services-configmap``."""

    limits_shared: bool = False
    """Whether limits are divided by the number of our replicas."""

    # What follows from other settings, and from where the process runs; ``ingress.service`` adds it.
    endpoint_rules: EndpointRules = Factory(EndpointRules)
    listeners: tuple[Listener, ...] = ()
    """Those of the command line."""
    locality: Locality | None = None
    """Where this process runs, if endpoints that are near by are preferred."""
    own_service: ObjectKey | None = None
    """The Service that leads to this controller."""
    https_port: int = 443
    """The port that a redirect to HTTPS sends browsers to."""
    secret_selector: str = ""
    """The field selector by which Secrets are watched; empty where none of them is hidden from the watch."""
    selects_namespaces: bool = False
    """Whether no more is known of the cluster than what lies in namespaces with certain labels."""
    from_manifests: bool = False
    """Whether the objects come from files, where no API server completed them."""
    names_endpoint_option: bool = True
    """Whether what lacks an endpoint is told of the option ``--endpoint``, which helps where a process serves manifests."""

    @property
    def port_services(self) -> tuple[PortServices, ...]:
        """What the operator's ConfigMaps list, of TCP first."""
        return tuple(one for one in (self.tcp_services, self.udp_services) if one is not None)

    @property
    def serves_external_names(self) -> bool:
        """Whether requests are sent to ExternalName Services."""
        return self.allow_external_name and not self.disable_external_name

    def is_alike(self, other: "TranslateOptions") -> bool:
        """Whether nothing is different but the port services, of which each is a matter of itself."""
        return evolve(self, tcp_services=None, udp_services=None) == evolve(
            other, tcp_services=None, udp_services=None
        )
