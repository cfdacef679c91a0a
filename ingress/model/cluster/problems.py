"""Problems: why part of an object has no effect.

A problem is a value, not an exception: one bad object spoils only itself, and
what it meant and did not get is shown in the log, in ``/api/v1/problems``, in a
metric and wherever else problems are reported.
"""

from enum import StrEnum
from operator import attrgetter

from ingress.model.frozen import frozen


class Reason(StrEnum):
    """Reason codes, CamelCase as in Kubernetes Events.  Documented in ``docs/problems.md``."""

    MALFORMED_OBJECT = "MalformedObject"
    """The object's shape is not that of its kind; the field named, or else all of it, is ignored."""
    MALFORMED_MANIFEST = "MalformedManifest"
    """A manifest file cannot be read; its last good content stays in force."""
    UNRENDERED_MANIFEST = "UnrenderedManifest"
    """Manifests that another program has to make whole first; they are read as they stand."""
    DUPLICATE_OBJECT = "DuplicateObject"
    """Two manifests hold the same object; the first in file order is used."""
    DEPRECATED_VERSION = "DeprecatedVersion"
    """An Ingress written as ``v1beta1``; read all the same."""
    MISSING_PATH_TYPE = "MissingPathType"
    """``pathType`` is absent; ImplementationSpecific is assumed."""
    INVALID_HOST = "InvalidHost"
    INVALID_PATH = "InvalidPath"
    UNSUPPORTED_PATH = "UnsupportedPath"
    """A path that ingress-nginx takes for a regular expression, which this controller does not honor."""
    TOO_MANY_EXPRESSIONS = "TooManyExpressions"
    """A path that is a regular expression and is asked behind more of them than one request may be compared with."""
    INVALID_BACKEND = "InvalidBackend"
    INVALID_RULE = "InvalidRule"
    """A rule, or the absence of any rule and default backend, that can have no meaning."""
    PATH_CONFLICT = "PathConflict"
    """Another, older Ingress holds the same host and path, or all those that a rule without paths would answer."""
    DEFAULT_BACKEND_CONFLICT = "DefaultBackendConflict"
    """Another, older Ingress holds the default backend."""
    SERVICE_NOT_FOUND = "ServiceNotFound"
    SERVICE_PORT_NOT_FOUND = "ServicePortNotFound"
    TARGET_PORT_NAMED = "TargetPortNamed"
    """A backend names the ``targetPort`` of a port of its Service; it is served as that port."""
    EXTERNAL_NAME_FORBIDDEN = "ExternalNameForbidden"
    ENDPOINT_FORBIDDEN = "EndpointForbidden"
    """An endpoint is where no tenant may have us connect to; no request goes there."""
    RESOURCE_BACKEND = "ResourceBackend"
    """Resource backends are not implemented; the route answers 503."""
    SECRET_NOT_FOUND = "SecretNotFound"
    SECRET_FORBIDDEN = "SecretForbidden"
    """The controller has no right to read the Secret; a matter of the operator."""
    INVALID_PASSWORDS = "InvalidPasswords"
    """A Secret with passwords has lines, or a key, that let nobody in."""
    CONFIG_MAP_NOT_FOUND = "ConfigMapNotFound"
    CONFIG_MAP_FORBIDDEN = "ConfigMapForbidden"
    """The controller has no right to read the ConfigMap; a matter of the operator."""
    INVALID_CERTIFICATE = "InvalidCertificate"
    CERTIFICATE_EXPIRED = "CertificateExpired"
    """It is shown all the same."""
    CERTIFICATE_NOT_YET_VALID = "CertificateNotYetValid"
    CERTIFICATE_NAME_MISMATCH = "CertificateNameMismatch"
    CERTIFICATE_CONFLICT = "CertificateConflict"
    """Another, older Ingress brings the certificate of this host, and this one cannot stand beside it."""
    CLIENT_AUTHENTICATION_CONFLICT = "ClientAuthenticationConflict"
    """Another, older Ingress decides which client certificates this host demands."""
    CANARY_WITHOUT_PRIMARY = "CanaryWithoutPrimary"
    """A canary stands behind no path of another Ingress, so it gets no requests."""
    HOST_CONFLICT = "HostConflict"
    """The host belongs to another namespace, so this one has no say about it as a whole."""
    PASSTHROUGH_CONFLICT = "PassthroughConflict"
    """TLS is to pass through, and to be terminated, for one host."""
    LISTENER_CONFLICT = "ListenerConflict"
    """Another, older object or the command line has the address of a listener."""
    NOT_ALLOWED_BY_LISTENERS = "NotAllowedByListeners"
    """No listener of the parent takes routes of this kind or namespace."""
    NO_MATCHING_PARENT = "NoMatchingParent"
    """The parent has no listener of the name or port that the route asks for."""
    NO_MATCHING_LISTENER_HOSTNAME = "NoMatchingListenerHostname"
    """No host of the route is one of the listener's."""
    UNSUPPORTED_VALUE = "UnsupportedValue"
    """Part of the object asks for what this controller does not do, or what makes no sense."""
    INCOMPATIBLE_FILTERS = "IncompatibleFilters"
    """Filters stand together that contradict each other."""
    REFERENCE_NOT_PERMITTED = "RefNotPermitted"
    """A reference to another namespace that no ReferenceGrant there permits."""
    INVALID_KIND = "InvalidKind"
    """A reference to an object of a kind that cannot stand there."""
    UNSUPPORTED_PROTOCOL = "UnsupportedProtocol"
    """A protocol that this controller does not speak."""
    PROTOCOL_CONFLICT = "ProtocolConflict"
    """An older listener has the port for another protocol."""
    HOSTNAME_CONFLICT = "HostnameConflict"
    """An older listener has the same port and hostname."""
    INVALID_ROUTE_KINDS = "InvalidRouteKinds"
    """A listener allows kinds of routes that it cannot take."""
    INVALID_CERTIFICATE_REF = "InvalidCertificateRef"
    """A listener has no usable certificate."""
    INVALID_CLIENT_CERTIFICATE_REF = "InvalidClientCertificateRef"
    """What a Gateway is to show to endpoints is missing or malformed."""
    UNKNOWN_TLS_OPTION = "UnknownTlsOption"
    """A listener has TLS options, of which this controller knows none; it is served without them."""
    PORT_UNAVAILABLE = "PortUnavailable"
    """The port of a listener cannot be had."""
    UNSUPPORTED_ADDRESS = "UnsupportedAddress"
    """An address of a type that this controller does not know."""
    ADDRESS_NOT_USABLE = "AddressNotUsable"
    """An address that this controller does not have."""
    ADDRESS_NOT_ASSIGNED = "AddressNotAssigned"
    """All addresses for Gateways are taken."""
    SERVICE_CONFLICT = "ServiceConflict"
    """The Service that is to be kept for a Gateway is somebody else's."""
    INVALID_PARAMETERS = "InvalidParameters"
    """Parameters that nothing is known of."""
    NOT_ALLOWED = "NotAllowed"
    """The Gateway takes no listeners of this ListenerSet's namespace."""
    PARENT_NOT_ACCEPTED = "ParentNotAccepted"
    """The Gateway of a ListenerSet is not accepted itself."""
    INVALID_CA_REF = "InvalidCACertificateRef"
    """Authorities that are missing or malformed."""
    INVALID_CA_KIND = "InvalidCACertificateKind"
    """Authorities of a kind that cannot hold them."""
    NO_VALID_CA = "NoValidCACertificate"
    """None of the authorities can be used."""
    POLICY_CONFLICTED = "Conflicted"
    """An older policy has the same target."""
    TARGET_NOT_FOUND = "TargetNotFound"
    """The target of a policy does not exist."""
    UNSUPPORTED_VERSION = "UnsupportedVersion"
    """The definitions of the Gateway API in the cluster are of another version."""
    CLASS_CONFLICT = "ClassConflict"
    """``ingressClassName`` and the old annotation disagree; the field is used."""
    CATCH_ALL_DISABLED = "CatchAllDisabled"
    """The Ingress has a default backend, and the operator wants none of these served."""
    INVALID_ANNOTATION = "InvalidAnnotation"
    UNSUPPORTED_ANNOTATION = "UnsupportedAnnotation"
    """The annotation has our prefix, and this controller does not honor it."""
    UNKNOWN_ANNOTATION = "UnknownAnnotation"
    """The annotation has our prefix, and ingress-nginx has none of its name either; nothing was ever asked for by it."""
    ANNOTATION_NOTE = "AnnotationNote"
    """The annotation is honored, or changes nothing here; what else there is to know about it is said for information."""
    INVALID_OPTION = "InvalidOption"
    """An option that does not exist, or a value that it does not take; the command line or the default counts."""
    OPTION_AT_START = "OptionAtStart"
    """The option is decided when the process starts; what is said of it meanwhile has no effect."""
    UNSUPPORTED_OPTION = "UnsupportedOption"
    """A key of ingress-nginx's ConfigMap that this controller does not honor."""
    OPTION_NOTE = "OptionNote"
    """The option is honored, or changes nothing here; what else there is to know about it is said for information."""
    OPTION_OVERRIDDEN = "OptionOverridden"
    """The command line says something else about the option, and counts."""
    WATCH_REFUSED = "WatchRefused"
    """The API server has refused for a minute to have a kind listed or watched; a matter of the operator."""
    TICKET_KEYS_USED_UP = "TicketKeysUsedUp"
    """Workers have no keys in common any more by which TLS sessions are resumed; a matter of the operator."""
    WORKERS_ENDING = "WorkersEnding"
    """Several workers ended within half a minute, and those that follow have to wait; a matter of the operator."""


_ABSENT = frozenset(
    {
        Reason.SECRET_FORBIDDEN,
        Reason.SECRET_NOT_FOUND,
        Reason.CONFIG_MAP_FORBIDDEN,
        Reason.CONFIG_MAP_NOT_FOUND,
    }
)
_OF_OPTIONS = frozenset(
    {
        Reason.INVALID_OPTION,
        Reason.OPTION_AT_START,
        Reason.UNSUPPORTED_OPTION,
        Reason.OPTION_NOTE,
        Reason.OPTION_OVERRIDDEN,
    }
)
_NOTES = frozenset({Reason.ANNOTATION_NOTE, Reason.OPTION_NOTE})


@frozen(order=True)
class Problem:
    """Why part of the object *kind* *namespace*/*name* has no effect.

    *field* is the path of the offending field (``spec.rules[0].host``), empty
    when the object as a whole is meant.
    """

    kind: str
    namespace: str
    name: str
    reason: Reason
    message: str
    field: str = ""
    elsewhere: str = ""
    """The namespace of the Service or Secret that it is about, where that is not the object's own."""

    @property
    def looked_in(self) -> str:
        """The namespace in which was looked for what it is about."""
        return self.elsewhere or self.namespace

    @property
    def is_note(self) -> bool:
        """Whether all that was asked for is done, and this is for information."""
        return self.reason in _NOTES

    @property
    def is_the_operators(self) -> bool:
        """Whether only the operator of the controller can do anything about it.

        Events are read by tenants, who are told of the Ingress that suffers, where there is one.
        """
        return (
            self.kind in ("Manifest", "Watch", "Process")
            or self.reason in _OF_OPTIONS
            or (self.reason in _ABSENT and self.kind in ("Secret", "ConfigMap"))
        )

    def __str__(self) -> str:
        where = f"{self.namespace}/{self.name}" if self.namespace else self.name
        at = f" {self.field}:" if self.field else ""
        return f"{self.kind} {where}:{at} {self.message} ({self.reason})"


ORDER = attrgetter("kind", "namespace", "name", "reason", "message", "field")
"""The order of problems, as a key to sort by: that of themselves, in a third of the time."""
