"""The command line of ``twistd ingress``: text to ``Settings``, and settings to a service.

Nothing but parsing happens here.  What is wrong with the command line is told in
one line on standard error, and the process ends with status 1; twistd would
print its whole help first.  This is the only module that names the global
reactor, and it imports the rest of the house only when a service is made, so
that ``twistd --help`` stays quick.
"""

import shutil
import textwrap
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, ClassVar

from attrs import frozen
from twisted.python import usage

from ingress.cli import (
    backend_options,
    class_options,
    http2_options,
    https_options,
    limit_options,
    option_values,
    reporting_options,
    running_options,
    source_options,
)
from ingress.cli.option_rows import parameter
from ingress.settings import Settings

if TYPE_CHECKING:
    from twisted.application.service import IService

_DEFAULTS = Settings()


def _read_description(text: str) -> str:
    return option_values.read_description(text, _global_reactor())


@frozen
class DescribedOption:
    """One option as the help and ``docs/options.md`` show it; *value* is empty for a flag."""

    name: str
    value: str
    default: str
    text: str
    repeatable: bool


_GROUPS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "Listening",
        (
            ("http", "DESCRIPTION"),
            ("https", "DESCRIPTION"),
            ("admin", "DESCRIPTION"),
            ("probes", "DESCRIPTION"),
            ("admin-host", "NAME"),
            ("trusted-proxies", "CIDR"),
            ("use-proxy-protocol", ""),
            ("enable-ssl-passthrough", ""),
        ),
    ),
    *source_options.GROUPS,
    class_options.GROUP,
    (
        "Backends and certificates",
        (
            ("default-backend-service", option_values.SERVICE_FORM),
            ("default-ssl-certificate", "NAMESPACE/NAME"),
            ("tls-min-version", "VERSION"),
            ("tls-groups", "LIST"),
            ("strict-sni", ""),
            ("404-page", "FILE"),
            ("allow-external-name", ""),
            ("service-upstream", ""),
            ("allow-endpoint-networks", "CIDR"),
            ("load-balance", "ALGORITHM"),
            ("slow-start", "SECONDS"),
        ),
    ),
    https_options.GROUP,
    http2_options.GROUP,
    limit_options.GROUP,
    reporting_options.GROUP,
    running_options.GROUP,
    ("About", (("help", ""), ("version", ""))),
)


class Options(
    class_options.ClassOptions,
    reporting_options.ReportingOptions,
    backend_options.BackendOptions,
    https_options.HttpsOptions,
    http2_options.Http2Options,
    limit_options.LimitOptions,
    running_options.RunningOptions,
    source_options.SourceOptions,
):
    """The options of ``twistd ingress``.  ``settings()`` is what they come to."""

    synopsis = "[options]"
    longdesc = (
        "Serve HTTP and HTTPS for the Ingress objects of a Kubernetes cluster, or of manifests on disk. "
        "Without --kubeconfig, --context, --server and --manifests, the service account of the pod is used."
    )

    optFlags: ClassVar[list[list[object]]] = [  # noqa: N815 - Twisted's name
        [
            "use-proxy-protocol",
            None,
            "Expect a PROXY header (v1 or v2) on every connection; only --trusted-proxies may connect then.",
        ],
        [
            "enable-ssl-passthrough",
            None,
            "Honor ssl-passthrough: look for the server name before TLS begins.",
        ],
        ["strict-sni", None, "Refuse TLS handshakes that name no server, or one that no Ingress serves."],
    ]

    optParameters: ClassVar[list[list[object]]] = [  # noqa: N815 - Twisted's name
        parameter("admin", _DEFAULTS.admin, "Where health, readiness, metrics and the live routes are shown.", _read_description),
        parameter("probes", None, "Where health, readiness and metrics are shown besides, and nothing else.", _read_description),
        parameter(
            "default-backend-service",
            None,
            "Service for requests that no Ingress claims; without PORT, the first port of the Service.",
            option_values.read_backend_service,
        ),
        parameter(
            "default-ssl-certificate",
            None,
            "Secret with the certificate for names that no other covers; without it, one is generated at start.",
            option_values.read_key,
        ),
        parameter(
            "load-balance",
            _DEFAULTS.load_balance,
            "How requests are shared among endpoints where no Ingress says so: round_robin, least_requests or ewma.",
            option_values.read_algorithm,
        ),
        parameter(
            "slow-start",
            _DEFAULTS.slow_start_seconds,
            "Seconds in which the share of a new endpoint grows from nothing to that of the others.",
            option_values.read_seconds,
        ),
        parameter(
            "tls-min-version",
            _DEFAULTS.tls_min_version,
            "Oldest version of TLS that is spoken, on all hosts: 1.2 or 1.3.",
            option_values.read_tls_version,
        ),
        parameter(
            "tls-groups",
            _DEFAULTS.tls_groups,
            "Groups of the key exchange, to clients and to endpoints, the first ones preferred.",
            option_values.read_tls_groups,
        ),
        parameter("404-page", None, "HTML page for requests that no route matches, at most 1 MiB.", option_values.read_page),
    ]  # fmt: skip

    repeatables: ClassVar[tuple[str, ...]] = (
        *reporting_options.ReportingOptions.repeatables,
        *backend_options.BackendOptions.repeatables,
        *source_options.SourceOptions.repeatables,
        "http",
        "https",
        "admin-host",
        "trusted-proxies",
    )

    def opt_http(self, text: str) -> None:
        """Where to accept HTTP, as a Twisted endpoint description."""
        self._add("http", _read_description, text)

    def opt_https(self, text: str) -> None:
        """Where to accept HTTPS, as a Twisted endpoint description without certificates."""
        self._add("https", _read_description, text)

    def opt_trusted_proxies(self, text: str) -> None:
        """Network of load balancers in front of us, whose X-Forwarded-* are believed."""
        self._add("trusted-proxies", option_values.read_network, text)

    def opt_admin_host(self, text: str) -> None:
        """Name by which the admin port and --probes are asked, besides IP addresses and localhost."""
        self._add("admin-host", option_values.read_host_name, text)

    def opt_help(self) -> None:
        """Print this help and exit."""
        super().opt_help()

    def opt_version(self) -> None:
        """Print the version and exit."""
        try:
            print(f"txingress {version('txingress')}")  # noqa: T201 - the answer to --version
        except PackageNotFoundError:
            raise usage.UsageError(
                "--version: txingress is not installed, so its version is unknown"
            ) from None
        raise SystemExit(0)

    def parseArgs(self, *arguments: str) -> None:
        """Refuse what is not an option."""
        if arguments:
            raise usage.UsageError(f"unexpected argument {arguments[0]!r}; every setting is an option")

    def parseOptions(self, options: Sequence[str] | None = None) -> None:
        """Parse; what is wrong ends the process with one line on standard error, status 1."""
        try:
            super().parseOptions(options)
        except usage.UsageError as error:
            # What was typed may hold line breaks, and the parser quotes it as it is.
            raise SystemExit(f"ingress: {' '.join(str(error).splitlines())}") from None

    def postOptions(self) -> None:
        """Refuse options that contradict each other."""
        super().postOptions()
        if self["use-proxy-protocol"] and not self._repeated["trusted-proxies"]:
            raise usage.UsageError("--use-proxy-protocol needs --trusted-proxies, which say who may connect")

    def settings(self) -> Settings:
        """Return everything that was decided, frozen."""
        repeated = {name: tuple(values) for name, values in self._repeated.items()}
        return Settings(
            http=repeated["http"] or _DEFAULTS.http,
            https=repeated["https"] or _DEFAULTS.https,
            admin=self["admin"],
            probes=self["probes"],
            admin_hosts=repeated["admin-host"],
            kubeconfig=self["kubeconfig"],
            context=self["context"],
            server=self["server"],
            namespaces=repeated["namespace"],
            watch_secrets=self["secret-mode"] == "watch",
            secret_field_selector=self["secret-field-selector"],
            manifests=repeated["manifests"],
            endpoints=repeated["endpoint"],
            ingress_class=self["ingress-class"],
            controller_class=self["controller-class"],
            watch_without_class=bool(self["watch-without-class"]),
            shared_hosts=bool(self["shared-hosts"]),
            annotations_prefix=self["annotations-prefix"],
            default_backend_service=self["default-backend-service"],
            default_ssl_certificate=self["default-ssl-certificate"],
            tls_min_version=self["tls-min-version"],
            tls_groups=self["tls-groups"],
            strict_sni=bool(self["strict-sni"]),
            http2=not self["no-http2"],
            http2_prior_knowledge=bool(self["http2-prior-knowledge"]),
            ssl_redirect=not self["no-ssl-redirect"],
            force_ssl_redirect=bool(self["force-ssl-redirect"]),
            strict_transport=self.strict_transport(),
            allow_external_name=bool(self["allow-external-name"]),
            service_upstream=bool(self["service-upstream"]),
            endpoint_networks=repeated["allow-endpoint-networks"],
            load_balance=self["load-balance"],
            slow_start_seconds=self["slow-start"],
            not_found_page=self["404-page"],
            trusted_proxies=repeated["trusted-proxies"],
            use_proxy_protocol=bool(self["use-proxy-protocol"]),
            ssl_passthrough=bool(self["enable-ssl-passthrough"]),
            use_epoll=not self["no-epoll"],
            access_log=self["access-log"],
            limits=self.limits(),
            reporting=self.reporting(),
            shutdown_delay_seconds=self["shutdown-delay"],
            shutdown_grace_seconds=self["shutdown-grace"],
        )

    def described(self) -> tuple[tuple[str, tuple[DescribedOption, ...]], ...]:
        """Return all options by group, in the order in which they are shown."""
        return tuple(
            (title, tuple(self._describe(name, value) for name, value in group)) for title, group in _GROUPS
        )

    def getUsage(self, width: int | None = None) -> str:
        """Return the help: one paragraph an option, in groups."""
        columns = width or min(shutil.get_terminal_size().columns, 100)
        lines = ["", *textwrap.wrap(self.longdesc, columns)]
        for title, group in self.described():
            lines += ["", f"{title}:"]
            for option in group:
                equals = f"={option.value}" if option.value else ""
                lines.append(f"  --{option.name}{equals}")
                text = option.text
                if option.repeatable:
                    text += "  Repeatable."
                if option.default:
                    text += f"  [default: {option.default}]"
                lines += textwrap.wrap(text, columns, initial_indent="      ", subsequent_indent="      ")
        return "\n".join([*lines, ""])

    def _describe(self, name: str, value: str) -> DescribedOption:
        repeatable = name in self._repeated
        default = " ".join(getattr(_DEFAULTS, name, ())) if repeatable else self.defaults.get(name)
        shown = f"{default:g}" if isinstance(default, float) else str(default or "")
        text = " ".join(self.docs[name].split())
        return DescribedOption(name, value, shown, text, repeatable)


def makeService(options: Options) -> "IService":
    """Make the service that twistd runs; what makes that impossible ends the process in one line."""
    from ingress.errors import StartError
    from ingress.metrics.metrics import Metrics
    from ingress.process.interpreter import Interpreter
    from ingress.process.lifecycle import end_with, is_to_be_a_daemon, reopen_on_signals, stop_on_signals
    from ingress.process.log_output import reopen_log_files, spare_the_reactor
    from ingress.process.steady_time import keep_steady_time
    from ingress.service import IngressService, source_of

    reactor = _global_reactor()
    keep_steady_time(reactor)
    settings = options.settings()
    try:
        metrics = Metrics()
        source = source_of(settings, reactor, metrics)
        output = spare_the_reactor()
        metrics.log_lines_dropped = output.dropped

        def failed(error: StartError) -> None:
            end_with(reactor, error, output.drain)

        if settings.access_log is None and is_to_be_a_daemon(options.parent):
            raise StartError(
                "a daemon has no standard output: name a file by --access-log, or run twistd with -n"
            )
        interpreter = Interpreter(reactor)
        service = IngressService(settings, reactor, source, failed, metrics, interpreter.settle)
    except StartError as error:
        raise SystemExit(f"ingress: {error}") from None
    reopen_on_signals(reactor, reopen_log_files, service.reopen_files)
    reactor.callWhenRunning(interpreter.set_up)
    reactor.callWhenRunning(stop_on_signals, reactor, service.hurry)
    made: IService = service
    return made


def _global_reactor() -> Any:
    """Return the reactor that twistd runs; importing it earlier would choose it too soon."""
    from twisted.internet import reactor  # noqa: TID251 - the one place that may name it

    return reactor
