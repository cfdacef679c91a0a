"""What each proxy is told: one host, all of it to one endpoint, in plain text, over TLS and HTTP/2; and a second host later on."""

from base64 import b64encode
from pathlib import Path
from typing import Any

from attrs import field, frozen

from bench.disruptions.faults import objects
from bench.disruptions.takeover.loads import NAME, Ports
from bench.setup.certificate import KeyPair
from bench.setup.processes import HOST

ADDED = "added.test"
"""The host that a changed configuration adds; nobody answers with 200 for it before."""
GRACE_SECONDS = 5
"""How long what runs may go on, for all proxies: longer than two transfers, as one more may begin on a kept connection."""


@frozen
class Site:
    """Where one proxy listens, what it presents, and where it has its files."""

    folder: Path
    ports: Ports
    admin: int
    backend: int
    pair: KeyPair = field(repr=False)


_NGINX = """
daemon off;
worker_processes 2;
worker_shutdown_timeout {grace}s;
worker_rlimit_nofile 8192;
user root;
pid {folder}/nginx.pid;
error_log stderr error;
events {{ worker_connections 2048; }}
http {{
    access_log {folder}/nginx.access;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    upstream pod {{ server {host}:{backend}; keepalive 320; }}
    ssl_certificate {certificate};
    ssl_certificate_key {key};
    client_max_body_size 0;
    proxy_http_version 1.1;
    proxy_set_header Host $http_host;
    server {{
        listen {host}:{http} backlog=4096 default_server;
        listen {host}:{https} ssl http2 backlog=4096 default_server;
        return 404;
    }}
    server {{
        listen {host}:{http};
        listen {host}:{https} ssl http2;
        server_name {names};
        location / {{
            proxy_set_header Connection "";
            proxy_pass http://pod;
        }}
        location /chat {{
            proxy_set_header Connection upgrade;
            proxy_set_header Upgrade $http_upgrade;
            proxy_pass http://pod;
        }}
    }}
}}
"""

_HAPROXY = """
global
    nbthread 2
    maxconn 2048
    hard-stop-after {grace}s
    log stdout format raw local0
defaults
    mode http
    log global
    option httplog
    option forwardfor
    timeout connect 5s
    timeout client 75s
    timeout server 60s
    timeout tunnel 1h
frontend all
    bind {host}:{http} backlog 4096
    bind {host}:{https} backlog 4096 ssl crt {pem} alpn h2,http/1.1
    http-request deny deny_status 404 unless {{ hdr(host) -i {names} }}
    default_backend pod
backend pod
    server pod {host}:{backend}
"""


def _filled(text: str, site: Site, names: tuple[str, ...]) -> str:
    return text.format(
        folder=site.folder,
        host=HOST,
        http=site.ports.http,
        https=site.ports.https,
        backend=site.backend,
        names=" ".join(names),
        grace=GRACE_SECONDS,
        certificate=site.pair.certificate_path,
        key=site.pair.key_path,
        pem=site.pair.both_path,
    )


def write_nginx(site: Site, *names: str) -> Path:
    """Write the configuration of nginx for these hosts."""
    path = site.folder / "nginx.conf"
    path.write_text(_filled(_NGINX, site, names or (NAME,)), encoding="ascii")
    return path


def write_haproxy(site: Site, *names: str) -> Path:
    """Write the configuration of HAProxy for these hosts."""
    path = site.folder / "haproxy.cfg"
    path.write_text(_filled(_HAPROXY, site, names or (NAME,)), encoding="ascii")
    return path


def write_manifests(site: Site, *names: str) -> Path:
    """Write the objects that ours reads, for these hosts, as one change."""
    all_objects = [*objects.one_service((site.backend,), NAME), _secret(site.pair)]
    all_objects += [objects.ingress(name, name, "pods") for name in names if name != NAME]
    for place, one in enumerate(all_objects):
        if one["kind"] == "Ingress":
            tls = [{"hosts": [one["spec"]["rules"][0]["host"]], "secretName": "pair"}]
            all_objects[place] = {**one, "spec": {**one["spec"], "tls": tls}}
    manifests = site.folder / "manifests"
    manifests.mkdir(exist_ok=True)
    draft = site.folder / "draft"
    draft.write_text(objects.manifest(all_objects), encoding="ascii")
    draft.rename(manifests / "all.json")
    return manifests


def _secret(pair: KeyPair) -> objects.Object:
    content: dict[str, Any] = {
        "tls.crt": b64encode(pair.certificate_pem).decode("ascii"),
        "tls.key": b64encode(pair.key_pem).decode("ascii"),
    }
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "pair", "namespace": objects.NAMESPACE},
        "type": "kubernetes.io/tls",
        "data": content,
    }
