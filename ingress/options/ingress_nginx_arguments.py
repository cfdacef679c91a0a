"""The command-line arguments of ingress-nginx's controller, and what each comes to here: one table.

These are all that its releases 1.12 to 1.14 take, those of the library that writes its log included.  A name that is none of
them is told, with the one that is probably meant.
"""

import re
from collections.abc import Callable
from enum import Enum
from typing import Final

from ingress.model.frozen import frozen


class Becomes(Enum):
    """What an argument comes to."""

    SAME = "the same option"
    OTHER = "another option"
    OWN = "the same option, of this controller's own"
    """It names what ingress-nginx has for itself; the manifests in ``k8s/`` name what this controller has."""
    NEEDLESS = "not needed"
    NOT_HONORED = "not honored"


class ArgumentType(Enum):
    """How the text of an argument is read there, by the name of the type in Go's ``pflag``."""

    TEXT = "string"
    BOOLEAN = "bool"
    """It may stand without a value, and takes none that stands behind it as a word of its own."""
    WHOLE = "int"
    COUNT = "uint32"
    NUMBER = "float"
    NUMBERS = "float64Slice"
    DURATION = "duration"
    ADDRESS = "ip"


@frozen
class Argument:
    """What becomes of one argument."""

    becomes: Becomes
    type: ArgumentType = ArgumentType.TEXT
    option: str = ""
    """The option that does the same here; empty for none."""
    turn: Callable[[str], str] = str
    """Returns the text of that option for that of the argument; raises ``ValueError`` with a reason."""
    silent: tuple[str, ...] = ()
    """Values by which nothing is asked for that is not so in any case."""
    told: str = ""
    """What there is to know of it besides, or why it is not needed or not honored: a clause without a full stop."""
    is_secret: bool = False
    """Whether its value is nobody's to know."""


_UNITS: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART: Final = re.compile(r"([0-9]{1,12}(?:\.[0-9]{0,9})?|\.[0-9]{1,9})(ns|us|µs|μs|ms|s|m|h)")


def seconds_of(text: str) -> float:
    """Read a duration as Go writes it, such as ``1m30s``; raises ``ValueError``."""
    digits = text.lstrip("+-")
    if digits == "0":
        return 0.0
    parts = _PART.findall(digits)
    if len(text) - len(digits) > 1 or not parts or "".join(map("".join, parts)) != digits:
        raise ValueError('is not a duration; write "30s" or "1m30s"')
    seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
    return -seconds if text.startswith("-") else seconds


def _seconds(text: str) -> str:
    return f"{seconds_of(text):.9f}".rstrip("0").rstrip(".")


def _port(text: str) -> str:
    return f"tcp:{int(text)}"


_DEBUG: Final = 3
"""The verbosity from which on ingress-nginx tells of each object that it reads."""


def _log_level(text: str) -> str:
    return "debug" if int(text) >= _DEBUG else "info"


def _same(
    told: str = "",
    type: ArgumentType = ArgumentType.TEXT,
    turn: Callable[[str], str] = str,
    silent: tuple[str, ...] = ("",),
) -> Argument:
    return Argument(Becomes.SAME, type, turn=turn, silent=silent, told=told)


def _other(
    option: str,
    told: str = "",
    type: ArgumentType = ArgumentType.TEXT,
    turn: Callable[[str], str] = str,
    silent: tuple[str, ...] = (),
) -> Argument:
    return Argument(Becomes.OTHER, type, option, turn, silent, told)


def _own(told: str) -> Argument:
    return Argument(Becomes.OWN, silent=("",), told=told)


def _needless(told: str, type: ArgumentType = ArgumentType.TEXT) -> Argument:
    return Argument(Becomes.NEEDLESS, type, told=told)


def _missing(
    told: str,
    type: ArgumentType = ArgumentType.TEXT,
    silent: tuple[str, ...] = ("",),
    *,
    is_secret: bool = False,
) -> Argument:
    return Argument(Becomes.NOT_HONORED, type, silent=silent, told=told, is_secret=is_secret)


_BOOLEAN, _WHOLE, _DURATION = ArgumentType.BOOLEAN, ArgumentType.WHOLE, ArgumentType.DURATION
_NO: Final = ("false",)
_YES: Final = ("true",)
_INSIDE: Final = "it is between nginx and the process beside it, and here is one process"
_WEBHOOK: Final = "the webhook of k8s/components/admission has a certificate of its own"
_METRICS: Final = "metrics have names, labels and buckets of their own (docs/metrics.md)"
_GEO: Final = "nothing is looked up about addresses"
_LOG: Final = "the log goes to standard output in one form, or as JSON by --log-format"
_LOG_FILE: Final = "twistd --logfile names a file for the log, which otherwise goes to standard output"
_PROFILE: Final = "there is no port for a profiler"
_ON_NODES: Final = (
    "as tcp:PORT, where pods are on the network of nodes; elsewhere a Service finds the ports by their names"
)
_BESIDE: Final = "beside ingress-nginx the overlay has a class of its own"
_CYCLES: Final = "each change is in force as soon as it is read, and nothing is reloaded"

ARGUMENTS: Final[dict[str, Argument]] = {
    # Which objects are served, and where they are read.
    "annotations-prefix": _same(),
    "controller-class": _same(_BESIDE, silent=()),
    "ingress-class": _same(_BESIDE, silent=()),
    "ingress-class-by-name": _same(
        "those of controller-class count besides, as there; a class that is deleted or changed is followed at once", _BOOLEAN, silent=_NO
    ),
    "watch-ingress-without-class": _other("watch-without-class", type=_BOOLEAN),
    "watch-namespace": _other("namespace", "may stand once for each namespace", silent=("",)),
    "watch-namespace-selector": _same("not beside --namespace, as there; labels that change are followed at once, and comparisons by size are not taken"),
    "disable-catch-all": _same("an Ingress with a defaultBackend is left alone, whether it has rules or not; rules without a host are served", _BOOLEAN),
    "apiserver-host": _other("server", silent=("",)),
    "certificate-authority": _missing("a kubeconfig names the certificate authority, by --kubeconfig"),
    "kubeconfig": _same("the file has to be in this container, too"),
    "sync-period": _needless("what is watched is listed again where the watch has lost its place", _DURATION),
    "sync-rate-limit": _needless(_CYCLES, ArgumentType.NUMBER),
    "dynamic-configuration-retries": _needless(_CYCLES, _WHOLE),
    "deep-inspect": _missing(
        "nothing of an Ingress becomes the text of a configuration, and what there is to be checked is checked in any case",
        _BOOLEAN, _YES,
    ),
    "enable-annotation-validation": _missing("values of annotations are checked in any case", _BOOLEAN, _YES),
    # What is served.
    "configmap": _own("copy what ingress-nginx's has into the one that is named here"),
    "default-backend-service": _same(),
    "default-ssl-certificate": _same(),
    "enable-ssl-chain-completion": _missing("a Secret has to have the whole chain", _BOOLEAN, _NO),
    "disable-svc-external-name": _same(
        "without it, Services of type ExternalName are asked there, and here they answer 503 unless --allow-external-name is given",
        _BOOLEAN,
    ),
    "enable-topology-aware-routing": _same(
        "k8s/components/topology has what it takes besides; trafficDistribution of a Service counts here, too", _BOOLEAN
    ),
    "enable-ssl-passthrough": _same(type=_BOOLEAN),
    "ssl-passthrough-proxy-port": _needless("TLS that passes through needs no port of its own", _WHOLE),
    "tcp-services-configmap": _same("needs the right to get, list and watch that ConfigMap, where it is"),
    "udp-services-configmap": _same("needs the right to get, list and watch that ConfigMap, where it is"),
    "maxmind-edition-ids": _missing(_GEO, silent=("", "GeoLite2-City,GeoLite2-ASN")),
    "maxmind-license-key": _missing(_GEO, is_secret=True),
    "maxmind-mirror": _missing(_GEO),
    "maxmind-retries-count": _needless(_GEO, _WHOLE),
    "maxmind-retries-timeout": _needless(_GEO, _DURATION),
    # Ports.
    "http-port": _other("http", _ON_NODES, _WHOLE, _port, ("80",)),
    "https-port": _other("https", f"{_ON_NODES}; redirects to HTTPS, and X-Forwarded-Port, name a port other than 443", _WHOLE, _port, ("443",)),
    "default-server-port": _needless(_INSIDE, _WHOLE),
    "status-port": _needless(_INSIDE, _WHOLE),
    "stream-port": _needless(_INSIDE, _WHOLE),
    "internal-logger-address": _needless("the access log is written by the process itself"),
    # Health, metrics, log.
    "healthz-port": _other("probes", "as tcp:PORT; probes and metrics are asked there", _WHOLE, _port, ("10254",)),
    "healthz-host": _needless("the manifests in k8s/ say by --probes at which address probes and metrics are asked"),
    "health-check-path": _missing(
        "it is /healthz, for the ports of the traffic, too, at hosts that no rule names; have load balancers ask that",
        silent=("", "/healthz"),
    ),
    "health-check-timeout": _needless("the process is asked itself, and nobody behind it", _WHOLE),
    "enable-metrics": _missing("metrics are always shown, where probes are", _BOOLEAN, _YES),
    "metrics-per-host": _missing("metrics are by Ingress and Service, and never by host", _BOOLEAN, _NO),
    "metrics-per-undefined-host": _missing("metrics are by Ingress and Service, and never by host", _BOOLEAN, _NO),
    "report-status-classes": _missing("metrics are by class of the status in any case", _BOOLEAN, _YES),
    "time-buckets": _missing(_METRICS, ArgumentType.NUMBERS),
    "length-buckets": _missing(_METRICS, ArgumentType.NUMBERS),
    "size-buckets": _missing(_METRICS, ArgumentType.NUMBERS),
    "bucket-factor": _missing(_METRICS, ArgumentType.NUMBER, ("0",)),
    "max-buckets": _needless("there are no native histograms", ArgumentType.COUNT),
    "exclude-socket-metrics": _missing(_METRICS),
    "monitor-max-batch-size": _needless("requests are counted where they are served", _WHOLE),
    "profiling": _needless(_PROFILE, _BOOLEAN),
    "profiler-address": _needless(_PROFILE, ArgumentType.ADDRESS),
    "profiler-port": _needless(_PROFILE, _WHOLE),
    "v": _other(
        "log-level", f"from {_DEBUG} on it is debug; below, info tells what changed", _WHOLE, _log_level, ("0", "1", "2")
    ),
    "vmodule": _missing("the log has one level, by --log-level"),
    "add_dir_header": _needless(_LOG, _BOOLEAN),
    "alsologtostderr": _needless(_LOG, _BOOLEAN),
    "log_backtrace_at": _needless(_LOG),
    "log_dir": _missing(_LOG_FILE),
    "log_file": _missing(_LOG_FILE),
    "log_file_max_size": _needless(_LOG_FILE, _WHOLE),
    "logtostderr": _needless(_LOG, _BOOLEAN),
    "one_output": _needless(_LOG, _BOOLEAN),
    "skip_headers": _needless(_LOG, _BOOLEAN),
    "skip_log_headers": _needless(_LOG, _BOOLEAN),
    "stderrthreshold": _needless(_LOG),
    "version": _needless("--version shows it, and ends", _BOOLEAN),
    # What is written into the cluster.
    "publish-service": _own("names the Service in front of this controller"),
    "publish-status-address": _same(),
    "report-node-internal-ip-address": _same(
        "with --publish-node-addresses, by which Ingresses show addresses of nodes: there they do where neither publish-service nor"
        " publish-status-address is given", _BOOLEAN, silent=_NO
    ),
    "update-status": _other(
        "", "false is none of --publish-service, --publish-status-address and --publish-node-addresses: then no address is written", _BOOLEAN, silent=_YES
    ),
    "update-status-on-shutdown": _other(
        "clear-status-on-shutdown", "there it is so unless it is said otherwise, here if it is said", _BOOLEAN
    ),
    "status-update-interval": _needless("a status is written when it is another", _WHOLE),
    "election-id": _own("the lease of this controller is another, and the Role in k8s/ names it"),
    "election-ttl": _same("in whole seconds: 1m is 60", _DURATION, _seconds),
    "disable-leader-election": _missing(
        "one replica writes statuses and Events, and needs the right to a lease for that", _BOOLEAN, _NO
    ),
    "disable-sync-events": _needless("Events tell of problems alone", _BOOLEAN),
    "validating-webhook": _missing(
        "the admission webhook here warns whoever applies an Ingress, and refuses nothing; k8s/components/admission turns it on"
    ),
    "validating-webhook-certificate": _needless(_WEBHOOK),
    "validating-webhook-key": _needless(_WEBHOOK),
    "disable-full-test": _needless("there is no configuration to test", _BOOLEAN),
    # The end.
    "shutdown-grace-period": _other(
        "shutdown-delay", "raise terminationGracePeriodSeconds, and failureThreshold of the readiness probe, with it", _WHOLE,
        silent=("0",),
    ),
    "post-shutdown-grace-period": _needless("the process ends with its last request, or after --shutdown-grace", _WHOLE),
}  # fmt: skip
ARGUMENTS.update(
    {
        name: Argument(row.becomes, row.type, name, row.turn, row.silent, row.told)
        for name, row in ARGUMENTS.items()
        if row.becomes in (Becomes.SAME, Becomes.OWN)
    }
)
