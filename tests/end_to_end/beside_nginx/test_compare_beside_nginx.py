"""``ingressctl migrate --compare`` between a real nginx, told what ingress-nginx would tell it, and the controller."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

import yaml
from twisted.internet.defer import Deferred
from twisted.internet.protocol import ProcessProtocol
from twisted.internet.utils import getProcessOutputAndValue
from twisted.python.failure import Failure

from tests.end_to_end.end_to_end_case import PATIENCE, EndToEndCase
from tests.fakes.certificates import issue, key_as_pem, make_authority
from tests.fakes.nginx import need_nginx, run_nginx
from tests.fakes.objects import NAMESPACE, ingress_object, secret_object, service_object
from tests.fakes.peers.upstreams import UpstreamWire
from tests.fakes.processes import ROOT, free_port

PREFIX = "nginx.ingress.kubernetes.io"
ELSEWHERE = "https://elsewhere.test/"
RATE = 200
SECRETS = ("abcdef-123456", "s3cr3t-one")
SERVER = """
worker_processes 1;
events {{}}
http {{
  log_format asked '$request_method $http_host $scheme $msec $request_uri';
  access_log {home}/access asked;
  client_body_temp_path {home}/a; proxy_temp_path {home}/b; fastcgi_temp_path {home}/c;
  uwsgi_temp_path {home}/d; scgi_temp_path {home}/e;
  proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $http_host;
  proxy_set_header X-Scheme $scheme;
  ssl_certificate {home}/fake.pem; ssl_certificate_key {home}/fake-key.pem;
  map $request_uri $slashless {{ ~^(?<begun>.*)/$ $begun; default $request_uri; }}
  map $scheme $insists {{ https "max-age=31536000; includeSubDomains"; default ""; }}
  upstream shop {{ server {shop}; }}
  upstream cart {{ server {cart}; }}
  server {{ {listen_default} server_name _; location / {{ return 404; }} }}
  {servers}
}}
"""
PLAIN = """
  server {{ {listen} server_name shop.test;
    location = /cart/help {{ proxy_pass http://shop; }}
    location /cart/ {{ proxy_pass http://cart; }}
    location = /cart {{ proxy_pass http://cart; }}
    location / {{ proxy_pass http://shop; }}
  }}
  server {{ {listen} server_name api.test;
    location ~* "^/v1(/|$)(.*)" {{ rewrite "(?i)/v1(/|$)(.*)" /$2 break; proxy_pass http://cart; }}
    location ~* "^/" {{ return 404; }}
  }}
  server {{ {listen} server_name ~^[^.]+\\.sites\\.test$;
    location / {{ proxy_pass http://cart; }}
  }}
  server {{ {listen} server_name secure.test;
    ssl_certificate chain.pem; ssl_certificate_key key.pem;
    location / {{
      if ($scheme = http) {{ return 308 https://$host$slashless; }}
      add_header Strict-Transport-Security $insists always;
      proxy_pass http://shop;
    }}
  }}
  server {{ {listen} server_name gone.test;
    location / {{ return 301 {elsewhere}; }}
  }}
"""
PLANTED = """
  server {{ {listen} server_name code.test;
    location / {{ return 302 {elsewhere}; }}
  }}
  server {{ {listen} server_name path.test;
    location = /kept {{ proxy_pass http://shop; }}
    location /kept/ {{ proxy_pass http://shop; }}
    location / {{ return 404; }}
  }}
  server {{ {listen} server_name backend.test;
    location / {{ proxy_pass http://shop; }}
  }}
  server {{ {listen} server_name field.test;
    location / {{ add_header X-Team shop always; proxy_pass http://shop; }}
  }}
"""


def ingress(name: str, *paths: tuple[str, str, str], host: str = "", **annotations: str) -> dict[str, Any]:
    """An Ingress for *host*, ``NAME.test`` unless said otherwise, with *paths*: path, type and Service."""
    made = ingress_object(name, host or f"{name}.test")
    made["metadata"]["annotations"] = {
        f"{PREFIX}/{key.replace('_', '-')}": value for key, value in annotations.items()
    }
    made["spec"]["rules"][0]["http"]["paths"] = [
        {"path": path, "pathType": kind, "backend": {"service": {"name": service, "port": {"number": 80}}}}
        for path, kind, service in paths
    ]
    return made


ALIKE = (
    ingress("shop", ("/cart/help", "Exact", "shop"), ("/cart", "Prefix", "cart"), ("/", "Prefix", "shop")),
    ingress(
        "api", ("/v1(/|$)(.*)", "ImplementationSpecific", "cart"), rewrite_target="/$2", use_regex="true"
    ),
    ingress("sites", ("/", "Prefix", "cart"), host="*.sites.test"),
    ingress("gone", ("/", "Prefix", "shop"), permanent_redirect=ELSEWHERE),
)
UNLIKE = (
    ingress("code", ("/", "Prefix", "shop"), permanent_redirect=ELSEWHERE),
    ingress("path", ("/kept", "Prefix", "shop"), ("/lost", "Exact", "cart")),
    ingress("backend", ("/", "Prefix", "cart")),
    ingress("field", ("/", "Prefix", "shop")),
)


def play(name: bytes) -> Any:
    """Return a script that says who answers, at what path, and what is another value each time."""

    def answer(wire: UpstreamWire) -> None:
        method, target, _ = wire.heads[-1].split(b"\r\n")[0].split(b" ")
        body = name + b" " + target
        wire.write(
            b"HTTP/1.1 200 OK\r\nX-Pod: %b-7d4b9c6f5-x2x9k\r\nSet-Cookie: seen=%d; Path=/\r\nX-Request-ID: %d\r\n"
            b"Content-Type: text/plain\r\nX-Target: %b\r\nContent-Length: %d\r\n\r\n%b"
            % (name, id(wire), id(wire), target, len(body), b"" if method == b"HEAD" else body)
        )

    return answer


class Command(ProcessProtocol):
    """One run of the command."""

    transport: Any

    def __init__(self, reactor: Any, arguments: list[str]) -> None:
        self.output = self.errors = b""
        self.ended: Deferred[int] = Deferred()
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        reactor.spawnProcess(self, sys.executable, [sys.executable, *arguments], env=environment)

    def outReceived(self, data: bytes) -> None:
        self.output += data

    def errReceived(self, data: bytes) -> None:
        self.errors += data

    def processEnded(self, reason: Failure) -> None:
        value: Any = reason.value
        self.ended.callback(value.exitCode)

    def signal(self, name: str) -> None:
        """Send the signal SIG*name*."""
        self.transport.signalProcess(name)


class CompareBesideNginxTests(EndToEndCase):
    """Both stand before the same backends, and the command asks them."""

    async def begin(self, servers: str, *ingresses: dict[str, Any]) -> None:
        """Start nginx with *servers*, and the controller with *ingresses*."""
        need_nginx()
        self.home = Path(mkdtemp())
        self.addCleanup(rmtree, self.home)
        self.home.chmod(0o755)
        shop, cart = self.upstream(b"shop"), self.upstream(b"cart")
        shop.on_request, cart.on_request = play(b"shop"), play(b"cart")
        self.heads: list[bytes] = []
        shop.on_head = cart.on_head = lambda wire: self.heads.append(wire.heads[-1])
        chain, key = issue(make_authority(), ["secure.test"])
        fake = make_authority("Kubernetes Ingress Controller Fake Certificate")
        for name, octets in (
            ("chain.pem", chain),
            ("key.pem", key),
            ("fake.pem", fake.pem),
            ("fake-key.pem", key_as_pem(fake.key)),
        ):
            (self.home / name).write_bytes(octets)
        self.write(
            "all",
            *ingresses,
            service_object("shop"),
            service_object("cart"),
            secret_object("tls", chain, key),
        )
        ours = self.start_with_manifests(
            f"--endpoint={NAMESPACE}/shop={shop.endpoint}", f"--endpoint={NAMESPACE}/cart={cart.endpoint}"
        )
        plain, secure = free_port(), free_port()
        listen = f"listen 127.0.0.1:{plain}{{0}}; listen 127.0.0.1:{secure} ssl{{0}};"
        settings = SERVER.format(
            home=self.home,
            shop=shop.endpoint,
            cart=cart.endpoint,
            listen_default=listen.format(" default_server"),
            servers=servers.format(listen=listen.format(""), elsewhere=ELSEWHERE),
        )
        run_nginx(self, self.home, settings, plain)
        await self.until_ready(ours)
        self.theirs = f"http=127.0.0.1:{plain},https=127.0.0.1:{secure}"

    def arguments(self, *more: str) -> list[str]:
        """Return the command as Python runs it."""
        return [
            "-c",
            "from ingress.ctl.main import run; run()",
            "migrate",
            "--compare",
            str(self.manifests),
            f"--theirs={self.theirs}",
            f"--ours=http=127.0.0.1:{self.http},https=127.0.0.1:{self.https}",
            "--output=json",
            *more,
        ]

    async def compare(self, *more: str) -> tuple[dict[str, Any], int, str]:
        """Run the command; return its report, its status, and what it said beside it."""
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "HTTP_PROXY": "http://127.0.0.1:9"}
        out, beside, status = await getProcessOutputAndValue(
            sys.executable, self.arguments(f"--rate={RATE}", *more), environment, reactor=self.reactor
        )
        return json.loads(out), status, beside.decode()

    def asked(self) -> tuple[list[list[str]], list[list[str]]]:
        """Return the lines that the access logs of both have."""
        theirs = (self.home / "access").read_text().splitlines()
        ours = self.access_log.read_text().splitlines()
        return [line.split(" ", 4) for line in theirs], [line.split(" ") for line in ours]

    def secured(self) -> dict[str, Any]:
        """Return the Ingress with a certificate."""
        made = ingress("secure", ("/", "Prefix", "shop"))
        made["spec"]["tls"] = [{"hosts": ["secure.test"], "secretName": "tls"}]
        return made

    async def test_alike(self) -> None:
        """Where both do the same nothing differs, but that paths which can be read in two ways are refused here.

        Both get the same requests, by GET and HEAD alone, within the rate, for the hosts of the rules and those beside
        them; and credentials, which are nowhere in the report.
        """
        await self.begin(PLAIN, *ALIKE, self.secured())
        given = self.directory / "given.toml"
        given.write_text(
            f'["secure.test"]\nX-Key = "{SECRETS[0]}"\n["http://shop.test"]\nCookie = "sid={SECRETS[1]}"\n'
        )
        given.chmod(0o600)
        report, status, beside = await self.compare("--backend-header=X-Pod", f"--credentials={given}")
        (cause,) = report["causes"]
        self.assertEqual((cause["title"], status), ("a path that can be read in two ways", 1))
        self.assertEqual(
            {one["url"] for one in cause["requests"]},
            {f"http://{one}%2Fbelow" for one in ("shop.test/cart", "api.test/v1")},
        )
        self.assertEqual(
            (report["asked"], report["unsteady"], report["bodies"]), (report["equal"] + 2, [], [])
        )
        self.assertEqual(report["asked"], report["samples"])
        self.assertGreater(report["asked"], 70)
        self.assertIn("answered alike", beside)
        await self.check_bounds(report)
        for secret in SECRETS:
            self.assertIn(secret.encode(), b"".join(self.heads))
            self.assertNotIn(secret, json.dumps(report) + beside)

    async def check_bounds(self, report: dict[str, Any]) -> None:
        """Check what both were asked by their access logs; those that differ were asked for twice."""
        count = report["asked"] + len(report["causes"][0]["requests"])
        # A line is written once its answer is sent.
        await self.until(lambda: all(len(lines) >= count for lines in self.asked()))
        theirs, ours = self.asked()
        self.assertEqual((len(theirs), len(ours)), (count, count))
        self.assertEqual({line[0] for line in theirs} | {line[2] for line in ours}, {"GET", "HEAD"})
        hosts = {
            "shop.test",
            "api.test",
            "secure.test",
            "gone.test",
            "unknown.ingressctl.invalid",
            "sites.test",
        }
        hosts |= {"ingressctl.sites.test", "a.ingressctl.sites.test"}
        self.assertEqual({line[1].lower() for line in theirs}, hosts)
        # What is refused before it is read has no host in the log.
        self.assertEqual({line[3] for line in ours if line[5] != "400"}, hosts)
        self.assertEqual(Counter(line[4] for line in theirs), Counter(line[4].strip('"') for line in ours))
        moments = [float(line[3]) for line in theirs]
        # Each has half of all requests; a moment is that of the log, so the first one may be late on a busy machine.
        self.assertLessEqual(len(theirs) - 1, (moments[-1] - moments[0] + 0.5) * RATE / 2)

    async def test_planted(self) -> None:
        """Another redirect code, a missing path, another backend and another field are each found, and nothing else."""
        await self.begin(PLAIN + PLANTED, *ALIKE, self.secured(), *UNLIKE)
        report, status, _ = await self.compare("--backend-header=X-Pod")
        found = {
            (one["objects"][0]["object"].removeprefix("Ingress shop/"), one["title"])
            for one in report["causes"]
            if not one["known"]
        }
        self.assertEqual(
            found,
            {
                ("code", "status 302 there, 301 here"),
                ("path", "status 404 there, 200 here; backend (none) there, cart here"),
                ("backend", "backend shop there, cart here"),
                ("field", "x-team shop there, (none) here"),
            },
            yaml.dump(report["causes"]),
        )
        self.assertEqual(status, 1)

    async def test_interrupted(self) -> None:
        """Ctrl-C ends it in good order: what was asked until then is reported, and the status says that it is not all."""
        await self.begin(PLAIN, *ALIKE)
        command = Command(self.reactor, self.arguments("--rate=8"))
        await self.until(lambda: len(self.heads) > 10)
        command.signal("INT")
        status = await command.ended.addTimeout(PATIENCE, self.reactor)
        report = json.loads(command.output)
        self.assertEqual((status, report["ended"], report["causes"]), (2, "interrupted", []))
        self.assertTrue(3 < report["asked"] < report["samples"], report["summary"])
        self.assertNotIn(b"Traceback", command.errors)
