"""The proxies that the scripts are played to: how each is told its endpoints and its deadlines, and started.

nginx and HAProxy have what their users have by default, but for the deadlines, which are the same for
all, and for what a comment gives the reason of.
"""

import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from attrs import asdict, frozen

from bench.disruptions.faults import objects
from bench.setup.processes import HOST

REPOSITORY = Path(__file__).parents[3]
TITLES = {"ours": "ours", "nginx": "nginx", "haproxy": "HAProxy"}


@frozen
class Deadlines:
    """Seconds that each phase may take; these are our defaults, and a script may shorten them."""

    head: float = 10.0
    body_gap: float = 30.0
    connect: float = 5.0
    silence: float = 60.0
    send_gap: float = 60.0
    idle: float = 75.0


DEFAULT_DEADLINES = Deadlines()

# The option of ours for each.
_OPTIONS = {
    "head": "client-header-timeout",
    "body_gap": "client-body-timeout",
    "connect": "proxy-connect-timeout",
    "silence": "proxy-read-timeout",
    "send_gap": "send-timeout",
    "idle": "keep-alive-timeout",
}
_TWISTD = "from twisted.scripts.twistd import run; run()"


@frozen
class Site:
    """What a proxy is told."""

    folder: Path
    http: int
    https: int
    admin: int
    ports: tuple[int, ...]
    """Of its endpoints."""
    deadlines: Deadlines = DEFAULT_DEADLINES
    options: tuple[str, ...] = ()
    """More options of ``twistd ingress``; the others do not get them."""
    source: tuple[str, ...] = ()
    """Options that say where ours reads objects, if not from the manifests of this site."""
    plants_bug: bool = False
    max_files: int | None = None
    """How many files ours may open; None means as many as this process."""

    @property
    def manifests(self) -> Path:
        """The folder that ours reads."""
        return self.folder / "manifests"

    def write(self, all_objects: Sequence[objects.Object]) -> None:
        """Let ours read *all_objects* and no others, as one change."""
        self.manifests.mkdir(exist_ok=True)
        draft = self.folder / "draft"
        draft.write_text(objects.manifest(all_objects), encoding="ascii")
        draft.rename(self.manifests / "all.json")


_NGINX = """
daemon off;
worker_processes 1;
worker_rlimit_nofile {files};
user root;
pid {folder}/nginx.pid;
error_log stderr error;
events {{ worker_connections 12000; }}
http {{
    access_log {folder}/nginx.access;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    client_header_timeout {head:.0f}s;
    client_body_timeout {body_gap:.0f}s;
    send_timeout {send_gap:.0f}s;
    keepalive_timeout {idle:.0f}s;
    client_max_body_size 0;
    proxy_connect_timeout {connect:.0f}s;
    proxy_read_timeout {silence:.0f}s;
    upstream pods {{ {servers} keepalive 320; }}
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    proxy_set_header Host $http_host;
    server {{
        listen {host}:{http} backlog=4096;
        location / {{ proxy_pass http://pods; }}
    }}
}}
"""

# Without redispatch HAProxy would try a dead server three times; without checks it would never leave it.
_HAPROXY = """
global
    nbthread 1
    maxconn 9500
    log stdout format raw local0
defaults
    mode http
    log global
    option httplog
    option forwardfor
    option redispatch
    timeout http-request {head:.0f}s
    timeout http-keep-alive {idle:.0f}s
    timeout client {send_gap:.0f}s
    timeout connect {connect:.0f}s
    timeout server {silence:.0f}s
frontend all
    bind {host}:{http} backlog 4096
    default_backend pods
backend pods
    default-server check inter 2s
{servers}
"""


def _nginx(site: Site, files: int) -> list[str]:
    servers = " ".join(f"server {HOST}:{port};" for port in site.ports)
    config = site.folder / "nginx.conf"
    config.write_text(
        _NGINX.format(
            folder=site.folder,
            host=HOST,
            http=site.http,
            servers=servers,
            files=files,
            **asdict(site.deadlines),
        )
    )
    return ["nginx", "-e", "stderr", "-p", str(site.folder), "-c", str(config)]


def _haproxy(site: Site, files: int) -> list[str]:
    servers = "\n".join(f"    server pod{port} {HOST}:{port}" for port in site.ports)
    config = site.folder / "haproxy.cfg"
    config.write_text(
        _HAPROXY.format(host=HOST, http=site.http, servers=servers, files=files, **asdict(site.deadlines))
    )
    return ["haproxy", "-db", "-f", str(config)]


def deadline_options(deadlines: Deadlines) -> list[str]:
    """The options of ours for those of *deadlines* that are not the defaults."""
    chosen, usual = asdict(deadlines), asdict(DEFAULT_DEADLINES)
    return [
        f"--{option}={chosen[name]:g}" for name, option in _OPTIONS.items() if chosen[name] != usual[name]
    ]


def _ours(site: Site, files: int) -> list[str]:
    if not site.manifests.exists() and not site.source:
        site.write(objects.one_service(site.ports))
    twistd = ["-c", _TWISTD, "--nodaemon", "--pidfile=", "ingress"]
    return [
        *(["prlimit", f"--nofile={site.max_files}:{site.max_files}"] if site.max_files else []),
        sys.executable,
        *(["-m", "bench.disruptions.faults.subject"] if site.plants_bug else twistd),
        *deadline_options(site.deadlines),
        *(site.source or (f"--manifests={site.manifests}",)),
        f"--http=tcp:{site.http}:interface={HOST}",
        f"--https=tcp:{site.https}:interface={HOST}",
        f"--admin=tcp:{site.admin}:interface={HOST}",
        f"--access-log={site.folder / 'ours.access'}",
        "--shutdown-delay=0",
        "--shutdown-grace=1",
        *site.options,
    ]


COMMANDS: dict[str, Callable[[Site, int], list[str]]] = {"ours": _ours, "nginx": _nginx, "haproxy": _haproxy}
"""What starts each proxy, given its site and how many files it may open."""


def installed() -> tuple[str, ...]:
    """The names of the proxies that this machine has: ours, and what else is on the path."""
    return tuple(name for name in COMMANDS if name == "ours" or shutil.which(name))
