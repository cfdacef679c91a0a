"""The command line of ``twistd ingress``."""

import io
import os
import subprocess
import sys
from contextlib import redirect_stdout
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

from twisted.application.app import ServerOptions
from twisted.application.service import IService
from twisted.internet.testing import MemoryReactorClock
from twisted.trial.unittest import SynchronousTestCase

from ingress import tap
from ingress.firewall import process
from ingress.model.cluster.objects import ObjectKey
from ingress.model.upstream.backends import BackendReference, Endpoint, ManualEndpoint
from ingress.model.upstream.balancing import Algorithm
from ingress.options.help import ABOUT
from ingress.options.table import OPTIONS, SPELLINGS
from ingress.options.values import MAX_PAGE_BYTES
from ingress.process.version import running_code
from ingress.settings import Settings
from ingress.tap import Options, makeService
from ingress.tracing import tracing
from ingress.translate.options import TranslateOptions
from tests.fakes.serving import logged_to

PROJECT = Path(__file__).parent.parent
PROCESS_TIMEOUT_SECONDS = 60


def settings_of(*arguments: str) -> Settings:
    options = Options()
    options.parseOptions(arguments)
    return options.settings()


class SettingsTests(SynchronousTestCase):
    """What the command line comes to."""

    def existing_path(self) -> str:
        path: str = self.mktemp()
        Path(path).write_bytes(b"<p>nothing here</p>")
        return path

    def test_defaults(self) -> None:
        """An empty command line gives the default settings."""
        self.assertEqual(settings_of(), Settings())

    def test_cluster(self) -> None:
        """Every option that can stand beside an API server reaches the settings."""
        path = self.existing_path()
        settings = settings_of(
            "--http=tcp:8080",
            "--http=tcp6:8080",
            "--https=tcp:8443:interface=127.0.0.1",
            "--admin=unix:/run/admin.sock",
            f"--kubeconfig={path}",
            "--context=kind-test",
            "--server=https://[::1]:6443/prefix",
            "--namespace=web",
            "--namespace=shop",
            "--secret-mode=get",
            "--secret-field-selector=type!=helm.sh/release.v1",
            "--ingress-class=edge",
            "--controller-class=example.com/edge",
            "--watch-without-class",
            "--shared-hosts",
            "--annotations-prefix=ingress.example.com",
            "--default-backend-service=web/fallback",
            "--default-ssl-certificate=web/edge.tls",
            "--tls-min-version=1.3",
            "--tls-groups=x25519:secp256r1:X25519",
            "--strict-sni",
            f"--404-page={path}",
            "--allow-external-name",
            "--service-upstream",
            "--allow-endpoint-networks=127.0.0.0/8",
            "--allow-endpoint-networks=fd00::1",
            "--load-balance=least_conn",
            "--slow-start=30",
            "--access-log=/var/log/access.log",
            "--shutdown-delay=0",
            "--shutdown-grace=2.5",
        )
        self.assertEqual(
            settings,
            Settings(
                http=("tcp:8080", "tcp6:8080"),
                https=("tcp:8443:interface=127.0.0.1",),
                admin="unix:/run/admin.sock",
                kubeconfig=path,
                context="kind-test",
                server="https://[::1]:6443/prefix",
                namespaces=("web", "shop"),
                secret_mode="get",
                secret_field_selector="type!=helm.sh/release.v1",
                tls_min_version="1.3",
                tls_groups="X25519:P-256",
                translate=TranslateOptions(
                    ingress_class="edge",
                    controller_class="example.com/edge",
                    watch_without_class=True,
                    shared_hosts=True,
                    annotations_prefix="ingress.example.com",
                    default_backend_service=BackendReference("web", "fallback"),
                    default_ssl_certificate=ObjectKey("web", "edge.tls"),
                    allow_external_name=True,
                    service_upstream=True,
                    endpoint_networks=("127.0.0.0/8", "fd00::1/128"),
                ),
                serving=logged_to(
                    "/var/log/access.log",
                    strict_sni=True,
                    not_found_page=b"<p>nothing here</p>",
                    load_balance=Algorithm.LEAST_REQUESTS,
                    slow_start_seconds=30.0,
                    shutdown_delay_seconds=0.0,
                    shutdown_grace_seconds=2.5,
                ),
            ),
        )

    def test_log_of_others(self) -> None:
        """What decides about lines of the log is refused where ``twistd`` has somebody else write them."""
        cases: tuple[tuple[str, Any, str], ...] = (
            ("--log-format=json", {"syslog": 1}, "--log-format has no say where twistd --syslog"),
            ("--log-level=warn", {"logger": "a.b"}, "--log-level has no say where twistd --logger"),
        )
        for given, runner, expected in cases:
            options = Options()
            options.parent = runner
            end = self.assertRaises(SystemExit, options.parseOptions, [given])
            self.assertIn(expected, str(end.code))

    def test_manifests(self) -> None:
        """``--manifests`` and ``--endpoint`` may be given many times; their order is kept."""
        directory, file = os.path.dirname(os.path.abspath(__file__)), self.existing_path()
        settings = settings_of(
            f"--manifests={directory}",
            f"--manifests={file}",
            "--endpoint=*=127.0.0.1:1",
            "--endpoint=a/b=c:2",
        )
        self.assertEqual(settings.manifests, (directory, file))
        self.assertEqual(
            settings.translate.manual_endpoints,
            (
                ManualEndpoint(None, "", Endpoint("127.0.0.1", 1)),
                ManualEndpoint(ObjectKey("a", "b"), "", Endpoint("c", 2)),
            ),
        )

    def test_before_the_protocol(self) -> None:
        """PROXY headers and passthrough are off unless asked for."""
        usual = settings_of()
        self.assertEqual((usual.use_proxy_protocol, usual.translate.ssl_passthrough), (False, False))
        settings = settings_of(
            "--use-proxy-protocol", "--trusted-proxies=10.0.0.0/8", "--enable-ssl-passthrough"
        )
        self.assertEqual((settings.use_proxy_protocol, settings.translate.ssl_passthrough), (True, True))

    def test_last_one_counts(self) -> None:
        """Of an option that is no list, the last one counts."""
        self.assertEqual(
            settings_of("--shutdown-delay=1", "--shutdown-delay=2").serving.shutdown_delay_seconds, 2
        )

    def test_two_parsers(self) -> None:
        """What one command line lists does not leak into the next."""
        settings_of("--http=tcp:8080")
        self.assertEqual(settings_of().http, ("tcp:80",))

    def test_largest_page(self) -> None:
        """A page of just 1 MiB is taken."""
        path = self.mktemp()
        Path(path).write_bytes(b"x" * MAX_PAGE_BYTES)
        page = settings_of(f"--404-page={path}").serving.not_found_page
        assert page is not None
        self.assertEqual(len(page), MAX_PAGE_BYTES)


class MistakeTests(SynchronousTestCase):
    """Mistakes on the command line end the process with one line and status 1."""

    def complaint(self, *arguments: str) -> str:
        """Return the one line that *arguments* are answered with."""
        end = self.assertRaises(SystemExit, settings_of, *arguments)
        # SystemExit with a text prints it to standard error and means status 1.
        line = end.code
        assert isinstance(line, str)
        self.assertEqual(line.splitlines(), [line])
        self.assertTrue(line.startswith("ingress: "), line)
        return line

    def test_proxy_protocol_of_nobody(self) -> None:
        """PROXY headers need somebody who may send them."""
        self.assertIn("--trusted-proxies", self.complaint("--use-proxy-protocol"))

    def test_unknown_option(self) -> None:
        """An unknown option is named."""
        self.assertIn("--bogus", self.complaint("--bogus"))

    def test_stray_argument(self) -> None:
        """An argument that is no option is named, wherever it stands."""
        self.assertIn("'stray'", self.complaint("--http=tcp:1", "stray", "--bogus"))

    def test_missing_value(self) -> None:
        """An option without the value that it needs is named."""
        self.assertIn("--http", self.complaint("--http"))

    def test_value_for_flag(self) -> None:
        """A flag takes no value."""
        self.assertIn("--service-upstream", self.complaint("--service-upstream=yes"))

    def test_wrong_values(self) -> None:
        """The complaint about a wrong value names the option, the value and the reason."""
        for option, value, reason in (
            ("http", "8080", "Unknown endpoint type"),
            ("http", "tcp", "not a listener description"),
            ("http", "tcp:http", "not a listener description"),
            ("https", "tcp:80:bogus=1", "not a listener description"),
            ("https", "ssl:443:privateKey=/nowhere", "--https adds TLS by itself"),
            ("https", "tcp:65536", "65536 is not a port between 0 and 65535"),
            ("admin", "tcp:port=99999", "99999 is not a port"),
            ("admin", "", "not a listener description"),
            ("kubeconfig", "/nowhere/config", "no such file"),
            ("manifests", "/nowhere/manifests", "no such file"),
            ("manifests", "", "must not be empty"),
            ("context", "", "must not be empty"),
            ("server", "10.0.0.1:6443", "not a URL"),
            ("namespace", "Web", "not the name of a namespace"),
            ("ingress-class", "two words", "must not be empty or hold blanks"),
            ("controller-class", "", "must not be empty"),
            ("annotations-prefix", "example.com/", "without the slash"),
            ("endpoint", "web/shop", "not of the form NAMESPACE/SERVICE[:PORT]=HOST:PORT"),
            ("default-backend-service", "shop", "not of the form NAMESPACE/SERVICE[:PORT]"),
            ("default-ssl-certificate", "tls", "not of the form NAMESPACE/NAME"),
            ("404-page", "/nowhere/404.html", "No such file or directory"),
            ("404-page", "/", "Is a directory"),
            ("access-log", "", "must not be empty"),
            ("shutdown-delay", "5s", "not a number of seconds"),
            ("load-balance", "random", "is none of"),
            ("slow-start", "-1", "not a number of seconds"),
            ("shutdown-grace", "-1", "not a number of seconds"),
        ):
            complaint = self.complaint(f"--{option}={value}")
            self.assertTrue(complaint.startswith(f"ingress: --{option} {value!r}: "), complaint)
            self.assertIn(reason, complaint)

    def test_line_break(self) -> None:
        """A value with a line break still makes one line."""
        self.assertIn("no\\nspace", self.complaint("--namespace=no\nspace"))
        self.assertIn("stray\\n", self.complaint("stray\n"))
        self.assertIn("--bo", self.complaint("--bo\ngus"))

    def test_page_too_large(self) -> None:
        """A page over 1 MiB is refused."""
        path = self.mktemp()
        Path(path).write_bytes(b"x" * (MAX_PAGE_BYTES + 1))
        self.assertIn("larger than 1 MiB", self.complaint(f"--404-page={path}"))

    def test_manifests_or_cluster(self) -> None:
        """Objects come from manifests or from an API server, not from both."""
        for other in (f"--kubeconfig={__file__}", "--context=a", "--server=https://a"):
            complaint = self.complaint(f"--manifests={__file__}", other)
            self.assertIn("--manifests", complaint)
            self.assertIn(other.partition("=")[0], complaint)

    def test_endpoint_without_manifests(self) -> None:
        """``--endpoint`` means nothing beside an API server."""
        self.assertIn("--manifests", self.complaint("--endpoint=*=127.0.0.1:80"))


class HelpTests(SynchronousTestCase):
    """``--help`` and ``--version``."""

    def printed(self, *arguments: str) -> str:
        """Return what ``twistd ingress`` prints for *arguments* before it ends with status 0."""
        output = io.StringIO()
        with redirect_stdout(output):
            end = self.assertRaises(SystemExit, Options().parseOptions, arguments)
        self.assertIn(end.code, (None, 0))
        return output.getvalue()

    def test_nobody_has_to_read_all_of_it(self) -> None:
        """Whoever closes a pipe has enough, and there is no traceback."""
        reading, writing = os.pipe()
        os.close(reading)
        self.addCleanup(os.close, writing)
        program = "from ingress.tap import Options; Options().parseOptions(['--help'])"
        done = subprocess.run(
            [sys.executable, "-c", program], stdout=writing, stderr=subprocess.PIPE, check=False
        )
        self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_every_option_once(self) -> None:
        """The help shows every option, and each of them once; other spellings are taken and not shown."""
        self.assertEqual(sorted(name.rstrip("=") for name in Options().longOpt), sorted([*SPELLINGS, *ABOUT]))
        lines = self.printed("--help").splitlines()
        shown = [line.partition("=")[0].strip() for line in lines if line.startswith("  --")]
        self.assertEqual(shown, [f"--{name}" for name in (*OPTIONS, *ABOUT)])

    def test_value_shown(self) -> None:
        """Exactly the options that take a value are shown with one."""
        taking = Options().longOpt
        for spelling, option in SPELLINGS.items():
            self.assertEqual(f"{spelling}=" in taking, bool(option.value), spelling)

    def test_defaults_shown(self) -> None:
        """Defaults are shown as they would be written."""
        text = " ".join(self.printed("--help").split())
        for default in ("tcp:80", "tcp:443", "tcp:10254:interface=127.0.0.1", "nginx", "5", "30"):
            self.assertIn(f"[default: {default}]", text)

    def test_width(self) -> None:
        """No line is wider than asked for."""
        for width in (60, 80, 100):
            for line in Options().getUsage(width).splitlines():
                self.assertLessEqual(len(line), width)

    def test_synopsis(self) -> None:
        """Under twistd, the first line shows how twistd is called."""
        options = Options()
        options.parent = ServerOptions()
        options.parent.subCommand = "ingress"
        self.assertRegex(str(options).splitlines()[0], r"^Usage: .* ingress \[options\]$")

    def test_version(self) -> None:
        """``--version`` prints the version of the installed distribution, and whether it is compiled."""
        metadata = Path(self.mktemp()) / "txingress-9.8.7.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: txingress\nVersion: 9.8.7\n")
        self.patch(sys, "path", [str(metadata.parent), *sys.path])
        self.assertEqual(self.printed("--version"), f"txingress 9.8.7 ({running_code()})\n")


class IdleReactor(MemoryReactorClock):
    """A reactor that never runs."""

    def callFromThread(self, *arguments: object) -> None:
        """No thread runs, either."""


class MakeServiceTests(SynchronousTestCase):
    """``makeService``."""

    def test_service(self) -> None:
        """A service is made from the options, without a cluster and without starting anything."""
        # What is set up once the reactor runs is for a process of its own, and not for that of the tests.
        self.patch(tap, "_global_reactor", IdleReactor)
        self.patch(sys, "stdout", sys.stdout)
        options = Options()
        options.parseOptions(["--manifests", __file__, "--http", "tcp:0", "--https", "tcp:0", "--no-epoll"])
        service = IService(makeService(options))
        self.assertFalse(service.running)

    def test_missing_extra(self) -> None:
        """A collector without the packages for it ends the start in a line that says what to install."""

        def missing(package: str) -> str:
            raise PackageNotFoundError(package)

        self.patch(tap, "_global_reactor", IdleReactor)
        self.patch(tracing, "version", missing)
        self.patch(sys, "stdout", sys.stdout)
        options = Options()
        options.parseOptions(["--manifests", __file__, "--tracing-endpoint=http://a.test", "--no-epoll"])
        told = self.assertRaises(SystemExit, makeService, options)
        wanted = "--tracing-endpoint needs packages of OpenTelemetry's: pip install 'txingress[tracing]'"
        self.assertEqual(str(told), f"ingress: {wanted}")

    def test_missing_firewall(self) -> None:
        """Rules without processes that run them, and processes without the library, end the start in a line that says what to do."""
        self.patch(tap, "_global_reactor", IdleReactor)
        self.patch(sys, "stdout", sys.stdout)
        self.patch(process, "PROGRAM", "tests.firewall.missing_library")
        for argument, wanted in (
            ("--enable-modsecurity=true", "--enable-modsecurity needs --firewall-processes"),
            ("--firewall-processes=2", "Debian has it in the package libmodsecurity3"),
        ):
            options = Options()
            options.parseOptions(["--manifests", __file__, argument, "--no-epoll"])
            self.assertIn(wanted, str(self.assertRaises(SystemExit, makeService, options)))


class ProcessTests(SynchronousTestCase):
    """The command line as the shell sees it."""

    def run_python(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        directory = self.mktemp()
        os.makedirs(directory)
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=directory,
            env={**os.environ, "PYTHONPATH": str(PROJECT)},
            capture_output=True,
            text=True,
            timeout=PROCESS_TIMEOUT_SECONDS,
            check=False,
        )

    def assert_one_line(self, ended: subprocess.CompletedProcess[str], line: str) -> None:
        self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (1, "", line + "\n"))

    def test_twistd(self) -> None:
        """``twistd ingress`` answers an unknown option with one line and status 1."""
        ended = self.run_python(
            "-c", "from twisted.scripts.twistd import run; run()", "-n", "ingress", "--bogus"
        )
        self.assert_one_line(ended, "ingress: option --bogus not recognized")

    def test_twist(self) -> None:
        """So does the other runner of Twisted, and a wrong value is no different."""
        ended = self.run_python("-m", "twisted", "ingress", "--shutdown-delay=soon")
        self.assert_one_line(ended, "ingress: --shutdown-delay 'soon': not a number of seconds, 0 or more")

    def test_light(self) -> None:
        """Loading the options loads neither the proxy nor the Kubernetes client nor a reactor, and nothing of TLS."""
        ended = self.run_python(
            "-c",
            "import sys, ingress.tap as tap; str(tap.Options());"
            "print([name for name in ('ingress.service', 'ingress.proxy', 'kubernetes', 'twisted.internet.reactor', 'OpenSSL', 'cryptography')"
            " if name in sys.modules])",
        )
        self.assertEqual((ended.stdout, ended.stderr), ("[]\n", ""))

    def test_manifests(self) -> None:
        """With manifests and one process, the client of an API server, what reports to one, and workers are not loaded; nor what other options need."""
        self.assertEqual(self.loaded("--manifests=."), ["ingress.cluster.manifests", "yaml"])
        loaded = self.loaded("--manifests=.", "--configmap=a/b", "--tcp-services-configmap=a/c")
        self.assertEqual(
            loaded,
            [
                "ingress.cluster.manifests",
                "ingress.options.config_map",
                "ingress.options.port_services",
                "yaml",
            ],
        )

    def test_what_is_asked_for(self) -> None:
        """They are where they are asked for, of the package of Kubernetes only what asks an API server, and nothing that reads YAML."""
        loaded = self.loaded("--server=http://127.0.0.1:1", "--workers=2")
        self.assertEqual(
            loaded,
            ["ingress.cluster.api_server", "ingress.status.reporting", "ingress.workers.pool", "urllib3"],
        )

    def test_collector(self) -> None:
        """What is imported while the service is made is walked through while it is young, and never all that is there."""
        ended = self.run_python(
            "-c",
            "import gc; from twisted.plugins.ingress_plugin import ingress; walked = lambda: [one['collections'] for one in gc.get_stats()];"
            # What was imported until here may have come from sources, and has brought the next walk nearer.
            "gc.collect(); before = walked(); options = ingress.options(); options.parseOptions(['--manifests=.']);"
            "service = ingress.makeService(options); from twisted.internet import reactor;"
            "tell = lambda: print(*[now - then for now, then in zip(walked(), before)], gc.get_freeze_count(), gc.isenabled());"
            "reactor.callWhenRunning(tell); reactor.callWhenRunning(reactor.stop); reactor.run()",
        )
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        young, middle, old, frozen, is_on = ended.stdout.split()
        self.assertGreater(int(young), 100)
        self.assertGreater(int(frozen), 100_000)
        self.assertEqual((middle, old, is_on), ("0", "0", "True"))

    def loaded(self, *options: str) -> list[str]:
        """Return what of the larger parts is loaded once the service is made, with *options*."""
        heavy = (
            "ingress.cluster.api_server",
            "ingress.cluster.manifests",
            "ingress.ctl",
            "ingress.firewall.process",
            "ingress.options.config_map",
            "ingress.options.port_services",
            "ingress.status.reporting",
            "ingress.workers.pool",
            "kubernetes",
            "oauthlib",
            "opentelemetry",
            "pydantic",
            "urllib3",
            "yaml",
        )
        ended = self.run_python(
            "-c",
            # Walks for garbage, of which there is none, and taking apart what was imported would be half of what this takes.
            "import gc, sys; gc.disable(); from ingress.tap import Options, makeService; options = Options();"
            f"options.parseOptions({list(options)!r}); makeService(options);"
            f"print(*[name for name in {heavy!r} if name in sys.modules]); gc.freeze()",
        )
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        return ended.stdout.split()
