"""The proxies: how each is configured and started.

Each runs with one worker and with what its users get by default.  What differs from
the defaults stands in its configuration with the reason beside it.
"""

import json
import sys
from base64 import b64encode
from collections.abc import Callable, Mapping
from pathlib import Path

from attrs import field, frozen

from bench.loads.catalog import (
    GRPC_HOST,
    H2C_HOST,
    PLAIN_HOST,
    RSA_HOST,
    SECURE_HOST,
    SECURE_UPLOAD_HOST,
    UPLOAD_HOST,
    Protocol,
)
from bench.peers import ingress_nginx
from bench.peers.configurations import CADDY, HAPROXY, MANIFESTS, NGINX
from bench.peers.envoy import envoy_bootstrap, envoy_cluster, envoy_listener
from bench.setup.certificate import KeyPair
from bench.setup.processes import HOST


@frozen
class Site:
    """What a proxy is told: where to listen, what to present, where to send requests."""

    folder: Path
    http: int
    https: int
    admin: int
    backend: int
    h2c: int
    """The same backend, over HTTP/2 in the clear."""
    grpc: int
    pair: KeyPair = field(repr=False)
    rsa_pair: KeyPair = field(repr=False)
    """Of ``RSA_HOST``."""
    programs: Mapping[str, str]
    """Where the programs are that are not on the path: ``envoy`` and ``goproxy``."""

    def shown_to(self, host: str) -> KeyPair:
        """Return the certificate that visitors of *host* are shown."""
        return self.rsa_pair if host == RSA_HOST else self.pair


@frozen
class Target:
    """One proxy.  *speed* is roughly its share of nginx's requests per CPU-second; slow ones get less to do."""

    name: str
    title: str
    access_log: str
    command: Callable[[Site], list[str]]
    speed: float = 1.0
    environment: Mapping[str, str] = {}
    protocols: frozenset[Protocol] = frozenset(Protocol)
    """What it is asked in."""
    is_quick: bool = False
    most_rounds: int | None = None
    """It is left out of later rounds."""
    when_slow: tuple[str, ...] = ()
    """What it is told besides where it runs many times slower than usual."""


def _write(site: Site, name: str, text: str) -> str:
    path = site.folder / name
    path.write_text(text)
    return str(path)


def _places(site: Site) -> dict[str, int | str]:
    """The ports, and the hosts with an endpoint of their own, by what the configurations call them."""
    return {
        "http": site.http,
        "https": site.https,
        "backend": site.backend,
        "h2c": site.h2c,
        "grpc": site.grpc,
        "h2c_host": H2C_HOST,
        "grpc_host": GRPC_HOST,
    }


def _nginx(log: str) -> Callable[[Site], list[str]]:
    def command(site: Site) -> list[str]:
        name = f"nginx-{site.http}"
        text = NGINX.format(
            folder=site.folder,
            name=name,
            access_log=f"access_log {site.folder}/{name}.access;" if log else "access_log off;",
            **_places(site),
            upload_host=UPLOAD_HOST,
            secure_upload_host=SECURE_UPLOAD_HOST,
            certificate=site.pair.certificate_path,
            key=site.pair.key_path,
            rsa_host=RSA_HOST,
            rsa_certificate=site.rsa_pair.certificate_path,
            rsa_key=site.rsa_pair.key_path,
        )
        return ["nginx", "-e", "stderr", "-p", str(site.folder), "-c", _write(site, f"{name}.conf", text)]

    return command


def _ingress_nginx(site: Site) -> list[str]:
    pair = (site.pair.certificate_path, site.pair.key_path)
    rsa_pair = (site.rsa_pair.certificate_path, site.rsa_pair.key_path)
    secure = (SECURE_HOST, SECURE_UPLOAD_HOST, H2C_HOST, GRPC_HOST)
    ports = (site.http, site.https)
    servers = [
        ingress_nginx.server("_", *ports, "backend", is_default=True),
        ingress_nginx.server(PLAIN_HOST, *ports, "backend"),
        ingress_nginx.server(SECURE_HOST, *ports, "backend"),
        ingress_nginx.server(RSA_HOST, *ports, "backend"),
        ingress_nginx.server(UPLOAD_HOST, *ports, "backend", body="20m"),
        ingress_nginx.server(SECURE_UPLOAD_HOST, *ports, "backend", body="20m"),
        ingress_nginx.server(H2C_HOST, *ports, "h2c"),
        ingress_nginx.server(GRPC_HOST, *ports, "grpc"),
    ]
    text = ingress_nginx.configuration(
        site.folder,
        {"backend": site.backend, "h2c": site.h2c, "grpc": site.grpc},
        {"_": pair, **dict.fromkeys(secure, pair), RSA_HOST: rsa_pair},
        "".join(servers),
    )
    config = _write(site, "ingress-nginx.conf", text)
    return ["nginx", "-e", "stderr", "-p", str(site.folder), "-c", config]


def _haproxy(site: Site) -> list[str]:
    text = HAPROXY.format(
        **_places(site),
        pem=site.pair.both_path,
        rsa_pem=site.rsa_pair.both_path,
    )
    return ["haproxy", "-db", "-f", _write(site, "haproxy.cfg", text)]


def _caddy(site: Site) -> list[str]:
    text = CADDY.format(
        **_places(site),
        certificate=site.pair.certificate_path,
        key=site.pair.key_path,
        rsa_host=RSA_HOST,
        rsa_certificate=site.rsa_pair.certificate_path,
        rsa_key=site.rsa_pair.key_path,
    )
    return ["caddy", "run", "--adapter", "caddyfile", "--config", _write(site, "Caddyfile", text)]


def _envoy(site: Site) -> list[str]:
    clusters = [
        envoy_cluster("backend", site.backend),
        envoy_cluster("h2c", site.h2c, is_http2=True),
        envoy_cluster("grpc", site.grpc, is_http2=True),
    ]
    plain = envoy_listener(site.http, {})
    secure = envoy_listener(site.https, {H2C_HOST: "h2c", GRPC_HOST: "grpc"}, (site.pair, site.rsa_pair))
    text = json.dumps(envoy_bootstrap(clusters, [plain, secure]), indent=1)
    config = _write(site, "envoy.json", text)
    return [
        site.programs["envoy"],
        "--concurrency",
        "1",
        "--disable-hot-restart",
        "--log-level",
        "error",
        "-c",
        config,
    ]


def _go(site: Site) -> list[str]:
    return [
        site.programs["goproxy"],
        f"-http={HOST}:{site.http}",
        f"-https={HOST}:{site.https}",
        f"-cert={site.pair.certificate_path}",
        f"-key={site.pair.key_path}",
        f"-cert={site.rsa_pair.certificate_path}",
        f"-key={site.rsa_pair.key_path}",
        f"-backend=http://{HOST}:{site.backend}",
        f"-h2c={H2C_HOST}=http://{HOST}:{site.h2c}",
        f"-h2c={GRPC_HOST}=http://{HOST}:{site.grpc}",
    ]


def _stock(site: Site) -> list[str]:
    return [
        sys.executable,
        "-P",  # this folder is no place to import from
        str(Path(__file__).with_name("stock_proxy.py")),
        str(site.http),
        str(site.https),
        str(site.pair.key_path),
        str(site.pair.certificate_path),
        str(site.backend),
    ]


def _ours(site: Site) -> list[str]:
    return _ours_by(sys.executable, site)


def _ours_compiled(site: Site) -> list[str]:
    return _ours_by(str(COMPILED / "bin" / "python"), site)


def _ours_by(interpreter: str, site: Site) -> list[str]:
    text = MANIFESTS.format(
        plain_host=PLAIN_HOST,
        upload_host=UPLOAD_HOST,
        secure_host=SECURE_HOST,
        secure_upload_host=SECURE_UPLOAD_HOST,
        h2c_host=H2C_HOST,
        grpc_host=GRPC_HOST,
        certificate=b64encode(site.pair.certificate_pem).decode("ascii"),
        key=b64encode(site.pair.key_pem).decode("ascii"),
        rsa_host=RSA_HOST,
        rsa_certificate=b64encode(site.rsa_pair.certificate_pem).decode("ascii"),
        rsa_key=b64encode(site.rsa_pair.key_pem).decode("ascii"),
    )
    return [
        interpreter,
        "-c",
        "from twisted.scripts.twistd import run; run()",
        "--nodaemon",
        "--pidfile=",
        "ingress",
        f"--manifests={_write(site, 'manifests.yaml', text)}",
        f"--endpoint=bench/backend={HOST}:{site.backend}",
        f"--endpoint=bench/h2c={HOST}:{site.h2c}",
        f"--endpoint=bench/grpc={HOST}:{site.grpc}",
        f"--http=tcp:{site.http}:interface={HOST}",
        f"--https=tcp:{site.https}:interface={HOST}",
        f"--admin=tcp:{site.admin}:interface={HOST}",
        f"--access-log={site.folder}/ours-{site.http}.access",
        "--shutdown-delay=0",
        "--shutdown-grace=1",
    ]


COMPILED = Path(f"{sys.prefix}-compiled")
"""Where ``make compiled`` installs the package with machine code, beside the environment that measures it: by the same interpreter."""
OURS_COMPILED = "ours-compiled"
OURS = ("ours", OURS_COMPILED)


def compiled_package() -> Path | None:
    """The folder of the package that ``make compiled`` has installed, if it has; its environment holds a plain one before."""
    found = next(COMPILED.glob("lib/python*/site-packages/ingress"), None)
    return found if found is not None and any(found.rglob("*.so")) else None


def available(targets: tuple[Target, ...]) -> tuple[Target, ...]:
    """*targets*, without ours as machine code where nobody has compiled it."""
    return tuple(one for one in targets if one.name != OURS_COMPILED or compiled_package() is not None)


CONTEXT_ROUNDS = 2
"""For those that no goal is about: all of them in all rounds would take too long."""
_ONE_CORE = {"GOMAXPROCS": "1"}
_FILE = "file"
# Who has no HTTP/2 of its own; and where another row would tell nothing new.
_HTTP1 = frozenset({Protocol.HTTP1})

TARGETS: tuple[Target, ...] = (
    # Slowed down it would find that there is more to do than it can, and refuse some of it.
    Target("ours", "ours", _FILE, _ours, 0.8, is_quick=True, when_slow=("--overload-after=0",)),
    Target(
        OURS_COMPILED,
        "ours, compiled",
        _FILE,
        _ours_compiled,
        0.8,
        # Whatever is found there would come before what is installed.
        {"PYTHONPATH": ""},
        is_quick=True,
        when_slow=("--overload-after=0",),
    ),
    Target("nginx", "nginx", _FILE, _nginx("on"), is_quick=True),
    Target("ingress-nginx-like", "nginx as ingress-nginx has it", _FILE, _ingress_nginx, 0.7),
    Target(
        "nginx-no-log",
        "nginx, access log off",
        "off",
        _nginx(""),
        protocols=_HTTP1,
        most_rounds=CONTEXT_ROUNDS,
    ),
    Target("haproxy", "HAProxy", _FILE, _haproxy, most_rounds=CONTEXT_ROUNDS),
    Target("go", "Go net/http/httputil", "none", _go, 0.5, _ONE_CORE, is_quick=True),
    Target("envoy", "Envoy", "off by default", _envoy, 0.4, most_rounds=CONTEXT_ROUNDS),
    Target(
        "caddy",
        "Caddy",
        "off by default",
        _caddy,
        0.3,
        # Otherwise it would keep its state in the home directory.  All run in a folder of their own.
        {**_ONE_CORE, "XDG_DATA_HOME": "caddy", "XDG_CONFIG_HOME": "caddy"},
        most_rounds=CONTEXT_ROUNDS,
    ),
    Target(
        "stock",
        "stock ReverseProxyResource",
        _FILE,
        _stock,
        0.08,
        protocols=_HTTP1,
        most_rounds=CONTEXT_ROUNDS,
    ),
)
