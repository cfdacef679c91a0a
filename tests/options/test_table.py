"""The table of options."""

import re
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any

from attrs import fields, has
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.annotations import FAMILIES
from ingress.annotations.contract.values import Risk
from ingress.annotations.operator_filters import operator_filter
from ingress.model.cluster.label_selectors import LabelRequirement, LabelSelector
from ingress.model.cluster.object_meta import Address
from ingress.model.cluster.objects import ObjectKey
from ingress.model.observability.span_names import SpanName
from ingress.model.serving.log_formats import LineForm, LogForm, LogFormat
from ingress.model.serving.serving_settings import ForwardedHeaders
from ingress.model.upstream.backends import BackendReference, Endpoint, ManualEndpoint
from ingress.model.upstream.balancing import Algorithm
from ingress.options.option import DEFAULTS, settings_with
from ingress.options.table import GROUPS, OPTIONS, SPELLINGS
from ingress.settings import Settings
from ingress.tap import Options
from tests.annotations.test_operator_filters import SAYS
from tests.options.test_installed_filters import install

FILE = __file__
DEFAULTS_OF_ANNOTATIONS = dict(GROUPS)["Defaults of annotations"] + dict(GROUPS)["For all Ingresses"]
REPOSITORY = Path(__file__).parents[2]

# Every spelling that was ever taken: what follows "=", and which field it gives which value.
MEANINGS: dict[str, tuple[str | None, str, object]] = {
    "http": ("tcp:8080", "http", ("tcp:8080",)),
    "https": ("tcp:8443", "https", ("tcp:8443",)),
    "admin": ("tcp:1", "admin", "tcp:1"),
    "probes": ("tcp:2", "probes", "tcp:2"),
    "admission": ("tcp:3", "admission", "tcp:3"),
    "admission-certificate": ("tls.crt", "admission_certificate", "tls.crt"),
    "admission-key": ("tls.key", "admission_key", "tls.key"),
    "admin-token-file": ("tokens", "admin_token_file", "tokens"),
    "admin-host": ("Admin.test", "admin_hosts", ("admin.test",)),
    "metrics-by-ingress-durations": (None, "durations_by_service", True),
    "admin-show-queries": (None, "show_queries", True),
    "trusted-proxies": ("10.0.0.1/8", "serving.trusted_proxies", ("10.0.0.0/8",)),
    "forwarded-headers": ("address", "serving.forwarded_headers", ForwardedHeaders.ADDRESS),
    "forwarded-for-header": ("CF-Connecting-IP", "serving.forwarded_for_header", "CF-Connecting-IP"),
    "compute-full-forwarded-for": ("false", "serving.full_forwarded_for", False),
    "use-forwarded-host": ("true", "serving.forwarded_host", True),
    "enable-underscores-in-headers": (None, "serving.underscores_in_headers", True),
    "use-proxy-protocol": (None, "use_proxy_protocol", True),
    "enable-ssl-passthrough": (None, "translate.ssl_passthrough", True),
    "kubeconfig": (FILE, "kubeconfig", FILE),
    "context": ("kind", "context", "kind"),
    "server": ("https://a.test", "server", "https://a.test"),
    "configmap": ("a/b", "config_map", ObjectKey("a", "b")),
    "tcp-services-configmap": ("a/b", "tcp_services", ObjectKey("a", "b")),
    "udp-services-configmap": ("a/b", "udp_services", ObjectKey("a", "b")),
    "namespace": ("shop", "namespaces", ("shop",)),
    "watch-namespace-selector": (
        "team in (a)",
        "namespace_selector",
        LabelSelector((LabelRequirement("team", "In", ("a",)),)),
    ),
    "secret-mode": ("get", "secret_mode", "get"),
    "secret-field-selector": ("", "secret_field_selector", ""),
    "manifests": (FILE, "manifests", (FILE,)),
    "endpoint": ("*=a:1", "translate.manual_endpoints", (ManualEndpoint(None, "", Endpoint("a", 1)),)),
    "ingress-class": ("edge", "translate.ingress_class", "edge"),
    "controller-class": ("a.test/b", "translate.controller_class", "a.test/b"),
    "ingress-class-by-name": (None, "translate.class_by_name", True),
    "watch-without-class": (None, "translate.watch_without_class", True),
    "disable-catch-all": (None, "translate.disable_catch_all", True),
    "shared-hosts": (None, "translate.shared_hosts", True),
    "no-quirks": (None, "translate.quirks", False),
    "strict-validate-path-type": (None, "translate.strict_path_types", True),
    "allow-snippet-annotations": ("false", "translate.annotation_policy.allows_snippets", False),
    "annotations-risk-level": ("high", "translate.annotation_policy.highest_risk", Risk.HIGH),
    "annotation-value-word-blocklist": ("lua, {,}", "translate.annotation_policy.blocked_words", ("lua", "{", "}")),
    "annotations-prefix": ("a.test", "translate.annotations_prefix", "a.test"),
    "default-backend-service": ("a/b:80", "translate.default_backend_service", BackendReference("a", "b", 80)),
    "default-ssl-certificate": ("a/b", "translate.default_ssl_certificate", ObjectKey("a", "b")),
    "tls-min-version": ("1.3", "tls_min_version", "1.3"),
    "ssl-ciphers": ("ECDHE-RSA-AES128-GCM-SHA256", "translate.ssl_ciphers", ("ECDHE-RSA-AES128-GCM-SHA256",)),
    "tls-groups": ("x25519", "tls_groups", "X25519"),
    "strict-sni": (None, "serving.strict_sni", True),
    "404-page": ("/dev/null", "serving.not_found_page", b""),
    "no-gateway-api": (None, "translate.gateway.is_served", False),
    "gateway-controller-name": ("example.com/it", "translate.gateway.controller_name", "example.com/it"),
    "gateway-address": ("192.0.2.7", "translate.gateway.addresses", ("192.0.2.7",)),
    "gateway-ports": ("8080", "translate.gateway.ports", (8080,)),
    "allow-external-name": (None, "translate.allow_external_name", True),
    "disable-svc-external-name": (None, "translate.disable_external_name", True),
    "service-upstream": (None, "translate.service_upstream", True),
    "allow-endpoint-networks": ("fd00::1", "translate.endpoint_networks", ("fd00::1/128",)),
    "enable-topology-aware-routing": (None, "topology_aware", True),
    "zone": ("eu-1a", "zone", "eu-1a"),
    "load-balance": ("ewma", "serving.load_balance", Algorithm.EWMA),
    "slow-start": ("3", "serving.slow_start_seconds", 3.0),
    "no-ssl-redirect": (None, "translate.operators.redirects.ssl_redirect", False),
    "force-ssl-redirect": (None, "translate.operators.redirects.force_ssl_redirect", True),
    "no-hsts": (None, "translate.strict_transport", None),
    "hsts-max-age": ("7", "translate.strict_transport.max_age_seconds", 7),
    "no-hsts-subdomains": (None, "translate.strict_transport.includes_subdomains", False),
    "hsts-preload": (None, "translate.strict_transport.preload", True),
    "filter": ("says=x", "filters", (operator_filter(SAYS, "x"),)),
    "allow-filter": ("says", "translate.allowed_filters", (SAYS,)),
    "no-http2": (None, "http2", False),
    "http2-prior-knowledge": (None, "http2_prior_knowledge", True),
    "client-header-timeout": ("1", "serving.limits.head_seconds", 1.0),
    "client-body-timeout": ("2", "serving.limits.body_seconds", 2.0),
    "client-body-min-rate": ("3", "serving.limits.body_bytes_per_second", 3),
    "send-timeout": ("4", "serving.limits.send_seconds", 4.0),
    "keep-alive-timeout": ("5", "serving.limits.keep_alive_seconds", 5.0),
    "keep-alive-requests": ("6", "serving.limits.keep_alive_requests", 6),
    "keep-alive-time": ("7", "serving.limits.keep_alive_age_seconds", 7.0),
    "allow-half-close": (None, "serving.limits.allow_half_close", True),
    "proxy-connect-timeout": ("8", "serving.limits.upstream.connect_seconds", 8.0),
    "proxy-buffer-size": ("16k", "serving.limits.upstream.head_bytes", 16384),
    "proxy-read-timeout": ("9", "serving.limits.upstream.read_seconds", 9.0),
    "overload-memory": ("80", "serving.overload_memory_percent", 80),
    "overload-after": ("0.5", "serving.overload_seconds", 0.5),
    "stream-timeout": ("10", "serving.limits.stream_rest_seconds", 10.0),
    "stream-responses": ("2", "serving.limits.stream_responses", 2),
    "firewall-processes": ("3", "translate.firewall.processes", 3),
    "firewall-timeout": ("1.5", "translate.firewall.seconds", 1.5),
    "firewall-body-size": ("2m", "translate.firewall.body_bytes", 2 * 1024**2),
    "firewall-memory": ("1g", "translate.firewall.memory_bytes", 1024**3),
    "enable-modsecurity": ("true", "translate.operators.firewall.operators_on", True),
    "enable-owasp-modsecurity-crs": ("true", "translate.operators.firewall.operators_core_rules", True),
    "modsecurity-snippet": (
        "SecRuleEngine On",
        "translate.operators.firewall.operators_snippet.properties",
        (("SecRuleEngine", "On"),),
    ),
    "no-stream-next-upstream": (None, "serving.limits.stream_tries.is_on", False),
    "stream-next-upstream-tries": ("2", "serving.limits.stream_tries.most", 2),
    "stream-next-upstream-timeout": ("3", "serving.limits.stream_tries.seconds", 3.0),
    "max-udp-sessions": ("9", "serving.limits.max_udp_sessions", 9),
    "proxy-send-timeout": ("10", "serving.limits.upstream.send_seconds", 10.0),
    "max-connections": ("11", "serving.limits.max_connections", 11),
    "limits-shared": (None, "translate.limits_shared", True),
    "max-endpoint-connections": ("12", "serving.limits.max_endpoint_connections", 12),
    "loop-limit": ("9", "serving.limits.loop_limit", 9),
    "publish-status-address": ("a.test,192.0.2.1", "reporting.publish_addresses", (Address("", "a.test"), Address("192.0.2.1"))),
    "publish-service": ("a/b", "reporting.publish_service", ObjectKey("a", "b")),
    "publish-node-addresses": (None, "reporting.publish_node_addresses", True),
    "report-node-internal-ip-address": (None, "reporting.reports_internal_addresses", True),
    "election-id": ("ours", "reporting.election_id", "ours"),
    "election-namespace": ("a", "reporting.election_namespace", "a"),
    "election-ttl": ("30s", "reporting.election_ttl_seconds", 30),
    "clear-status-on-shutdown": (None, "reporting.clear_status_on_shutdown", True),
    "no-plane": (None, "use_epoll", False),
    "workers": ("4", "workers", 4),
    "no-epoll": (None, "use_epoll", False),
    "access-log": ("/log", "serving.access_log.destination", "/log"),
    "log-format": ("json", "log_form", LogForm.JSON),
    "log-level": ("warn", "serving.log_level", "warn"),
    "takeover": ("/run/t", "takeover", "/run/t"),
    "disable-access-log": (None, "serving.access_log.is_on", False),
    "disable-http-access-log": (None, "serving.access_log.has_requests", False),
    "disable-stream-access-log": (None, "serving.access_log.has_streams", False),
    "skip-access-log-urls": ("/healthz", "serving.access_log.skipped_urls", ("/healthz",)),
    "access-log-format": ("json", "serving.access_log.format", LineForm.JSON),
    "access-log-sample": ("0.1", "serving.access_log.share", 0.1),
    "log-format-upstream": ("$status", "serving.access_log.format", LogFormat(("", "status", ""))),
    "log-format-escape-json": (None, "serving.access_log.escapes_json", True),
    "tracing-endpoint": ("http://a.test:4318", "serving.tracing.endpoint", "http://a.test:4318/v1/traces"),
    "tracing-ratio": ("0.5", "serving.tracing.ratio", 0.5),
    "tracing-most-per-second": ("0", "serving.tracing.most_per_second", 0),
    "tracing-trust-parent": ("true", "serving.tracing.trusts_parent", True),
    "tracing-follow-parent": ("false", "serving.tracing.follows_parent", False),
    "tracing-header": ("X-Trace-Me", "serving.tracing.header", "X-Trace-Me"),
    "tracing-by-default": ("false", "serving.tracing.by_default", False),
    "tracing-service": ("edge", "serving.tracing.service", "edge"),
    "tracing-attribute": ("a.b=c d", "serving.tracing.attributes", ("a.b=c d",)),
    "tracing-span-name": ("to $host", "serving.tracing.name", SpanName("to $host", ("to ", "host", ""))),
    "tracing-query": (None, "serving.tracing.shows_query", True),
    "tracing-queue-size": ("9", "serving.tracing.queue_size", 9),
    "tracing-batch-size": ("9", "serving.tracing.batch_size", 9),
    "tracing-delay": ("0.5", "serving.tracing.delay_seconds", 0.5),
    "shutdown-delay": ("1", "serving.shutdown_delay_seconds", 1.0),
    "shutdown-grace": ("2", "serving.shutdown_grace_seconds", 2.0),
}  # fmt: skip


def differing(one: Any, other: Any, path: str = "") -> Iterator[str]:
    """The fields in which two values of the same class differ, those within others by their whole paths."""
    for field in fields(type(one)):
        here, there = getattr(one, field.name), getattr(other, field.name)
        if here != there:
            if has(type(here)) and type(here) is type(there):
                yield from differing(here, there, f"{path}{field.name}.")
            else:
                yield path + field.name


class OptionsAnyhow(Options):
    """Options that may contradict each other."""

    def postOptions(self) -> None:
        pass


def settings_of(*arguments: str) -> Settings:
    """What a command line comes to, contradictions aside."""
    options = OptionsAnyhow()
    options.parseOptions(arguments)
    return options.settings()


class TableTests(SynchronousTestCase):
    """The rows, each by itself."""

    def setUp(self) -> None:
        """Have a package that brings a filter."""
        install(self, says="tests.annotations.test_operator_filters:says")

    def test_meanings(self) -> None:
        """Every option that there ever was is taken, and decides the field that it decided, and no other."""
        self.assertEqual(set(SPELLINGS) - {option.name for option in DEFAULTS_OF_ANNOTATIONS}, set(MEANINGS))
        for spelling, (text, path, value) in MEANINGS.items():
            settings = settings_of(f"--{spelling}" if text is None else f"--{spelling}={text}")
            self.assertEqual(attrgetter(path)(settings), value, spelling)
            self.assertEqual(list(differing(DEFAULTS, settings)), [path], spelling)

    def test_fields(self) -> None:
        """Every row decides a field that ``Settings`` have."""
        for option in OPTIONS.values():
            attrgetter(option.to)(DEFAULTS)

    def test_all_fields(self) -> None:
        """Every field of ``Settings`` is decided by an option, except those that follow from others."""
        decided = {option.to for option in OPTIONS.values()}
        follow = {
            "listeners",
            "endpoint_rules",
            "https_port",
            "own_service",
            "secret_selector",
            "from_manifests",
            "selects_namespaces",
            "names_endpoint_option",
            "gateway.own_ports",
            "gateway.published",
            "tcp_services",
            "udp_services",
            "locality",
        }

        def leaves(value: Any, path: str = "") -> Iterator[str]:
            for field in fields(type(value)):
                inner, name = getattr(value, field.name), path + field.name
                if has(type(inner)) and name not in ("translate.endpoint_rules", "translate.operators"):
                    yield from leaves(inner, f"{name}.")
                else:
                    yield name

        families = {"operators"}
        self.assertEqual(set(leaves(DEFAULTS)) - decided, {f"translate.{name}" for name in follow | families})

    def test_defaults_of_annotations(self) -> None:
        """An option for each setting that a family leaves to the operator, which it decides and no other; it may change at any time."""
        for family in FAMILIES:
            rows = {name: one for name, one in family.annotations.items() if one.operators} | dict(
                family.options
            )
            for name, annotation in rows.items():
                option = OPTIONS[name]
                self.assertTrue(option.running, name)
                if option not in DEFAULTS_OF_ANNOTATIONS:
                    continue
                path = f"translate.operators.{family.name}.{annotation.setting}"
                found = settings_with(DEFAULTS, {option: "said"})
                self.assertEqual(attrgetter(path)(found), "said")
                self.assertEqual(list(differing(DEFAULTS, found)), [path], name)

    def test_names(self) -> None:
        """No two options share a spelling, and those that rows name are there."""
        spellings = [name for option in OPTIONS.values() for name in (option.name, *option.aliases)]
        self.assertEqual(len(spellings), len(set(spellings)))
        self.assertTrue(all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) for name in spellings))
        named = {name for option in OPTIONS.values() for name in (*option.excludes, option.needs) if name}
        self.assertEqual(named - set(OPTIONS), set())

    def test_flags(self) -> None:
        """Exactly flags show no value, and what they set is not the default."""
        for option in OPTIONS.values():
            self.assertEqual(option.read is None, not option.value, option.name)
            if option.read is None:
                self.assertNotEqual(attrgetter(option.to)(DEFAULTS), option.sets, option.name)

    def test_defaults(self) -> None:
        """A default is shown in words that the option takes, and that mean the default."""
        shown = [option for option in OPTIONS.values() if option.default]
        self.assertGreater(len(shown), 20)
        for option in shown:
            assert option.read is not None
            meant = settings_with(DEFAULTS, {option: option.joined([option.read(option.default)])})
            self.assertEqual(meant, DEFAULTS, option.name)


class OptionTests(SynchronousTestCase):
    """``settings_with`` and the spellings."""

    def test_whole_beats_parts(self) -> None:
        """What is said of a whole beats what is said of its parts, in whatever order it is said."""
        for arguments in (("--no-hsts", "--hsts-max-age=7"), ("--hsts-max-age=7", "--no-hsts")):
            self.assertIsNone(settings_of(*arguments).translate.strict_transport)

    def test_parts_of_nothing(self) -> None:
        """Of what there is not, nothing can be decided."""
        without = settings_of("--no-hsts")
        self.assertEqual(settings_with(without, {OPTIONS["hsts-max-age"]: 7}), without)

    def test_other_spelling(self) -> None:
        """Another spelling is the same option, and complaints name what was typed."""
        self.assertEqual(settings_of("--no-plane", "--no-epoll"), settings_of("--no-epoll"))
        told = self.assertRaises(SystemExit, settings_of, "--no-plane=x")
        self.assertIn("--no-plane", str(told))


class HowToTests(SynchronousTestCase):
    """What ``docs/how-to-add.md`` says of options."""

    def setUp(self) -> None:
        page = (REPOSITORY / "docs" / "how-to-add.md").read_text("utf-8")
        self.section = page.partition("## An option\n")[2].partition("\n## ")[0]

    def test_row(self) -> None:
        """The row that it shows stands in the table as it is."""
        [row] = re.findall(r"^ +(Option\(.*?\),)\n\n", self.section, re.MULTILINE | re.DOTALL)
        table = (REPOSITORY / "ingress" / "options" / "table.py").read_text("utf-8")
        self.assertIn(" ".join(row.split()), " ".join(table.split()))

    def test_files_of_fields(self) -> None:
        """It names the file of every field that an option decides."""
        for option in OPTIONS.values():
            whole: Any = DEFAULTS
            for name in option.to.split(".")[:-1]:
                whole = getattr(whole, name)
            path = f"`{type(whole).__module__.replace('.', '/')}.py`"
            if not option.to.startswith("translate.operators."):
                self.assertIn(path, self.section, option.name)
