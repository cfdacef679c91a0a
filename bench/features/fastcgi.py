"""What a request to PHP-FPM costs beside nginx's ``fastcgi_pass``: ``make fastcgi`` prints it.

One PHP-FPM, on the other CPU, runs the same small script for all.  Measured is the processor time of the proxy alone, as by
``bench.features.auth``: with a connection for each request, which is what ingress-nginx makes of ``backend-protocol: FCGI``, and with connections
that are kept; beside a GET to an endpoint of HTTP with the same answer, which is an nginx there.
"""

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from attrs import frozen

from bench.features.auth import (
    CANDIDATES,
    OTHER_CPU,
    PEER,
    PROXY_CPU,
    REQUESTS,
    RUNS,
    SETTLE_SECONDS,
    SITE,
    load,
    nginx_command,
    our_command,
)
from bench.measuring.gauges import cpu_seconds
from bench.peers.install import ensure_programs, search_system_folders
from bench.setup.ending import status_of
from bench.setup.processes import (
    HOST,
    Processes,
    Running,
    free_ports,
    pause,
    wait_until_it_answers,
    wait_until_it_listens,
)
from tests.fakes.fastcgi.php_fpm import SETTINGS, need_php_fpm

CHILDREN = 12
"""More than connections that may be kept: a process that waits at one is there for nobody else."""
_BELOW = "nginx.ingress.kubernetes.io"
_SCRIPT = "<?php header('Content-Length: 100'); echo str_repeat('x', 100);"
_CONFIG_MAP = """
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: php, namespace: bench}}
data: {{SCRIPT_FILENAME: {script}}}
"""
_PASSES = """
    upstream php {{ server {host}:{fpm}; {keeps} }}
    server {{
        listen {host}:{port} backlog=4096;
        location / {{
            include /etc/nginx/fastcgi_params;
            fastcgi_param SCRIPT_FILENAME {script};
            {keep_conn}
            fastcgi_pass php;
        }}
    }}
"""


@frozen
class _Measured:
    title: str
    command: list[str]
    port: int


def _nginx(folder: Path, port: int, fpm: int, script: Path, *, keeps: bool) -> list[str]:
    kept = ("keepalive 8; keepalive_requests 100000000;", "fastcgi_keep_conn on;") if keeps else ("", "")
    text = _PASSES.format(host=HOST, fpm=fpm, port=port, script=script, keeps=kept[0], keep_conn=kept[1])
    return nginx_command(folder, f"nginx-{port}", text, f"{folder}/nginx-{port}.access")


def _ours(folder: Path, port: int, fpm: int, script: Path, *options: str) -> list[str]:
    asked = f'{{{{"{_BELOW}/backend-protocol": FCGI, "{_BELOW}/fastcgi-params-configmap": php}}}}'
    command = our_command(asked, *options)(folder, port, fpm)
    manifests = folder / f"ours-{port}.yaml"
    manifests.write_text(manifests.read_text() + _CONFIG_MAP.format(script=script))
    return command


def _microseconds(running: Running, port: int) -> float:
    before = cpu_seconds(running.pid)
    load(port, REQUESTS // 4)
    pause(SETTLE_SECONDS)
    return (cpu_seconds(running.pid) - before) / (REQUESTS // 4) * 1e6


def measure(folder: Path) -> dict[str, float]:
    """Return how many microseconds of the processor a request takes, the least of some runs."""
    folder.chmod(0o755)
    script = folder / "page.php"
    script.write_text(_SCRIPT)
    peer, fpm, *ports = free_ports(7)
    user = "user = nobody\ngroup = nogroup" if os.geteuid() == 0 else ""
    settings = folder / "fpm.conf"
    settings.write_text(SETTINGS.format(folder=folder, port=fpm, user=user, children=CHILDREN))
    measured = [
        _Measured("nginx, fastcgi_pass", _nginx(folder, ports[0], fpm, script, keeps=False), ports[0]),
        _Measured("nginx, fastcgi_pass, kept", _nginx(folder, ports[1], fpm, script, keeps=True), ports[1]),
        _Measured("ours, FCGI", _ours(folder, ports[2], fpm, script), ports[2]),
        _Measured(
            "ours, FCGI, kept",
            _ours(folder, ports[3], fpm, script, "--fastcgi-keep-connections=true"),
            ports[3],
        ),
        _Measured("ours, HTTP, kept", CANDIDATES[3].command(folder, ports[4], peer), ports[4]),
    ]
    least: dict[str, float] = {}
    with Processes.logging_to(folder) as processes:
        content = PEER.format(host=HOST, peer=peer, answer="x" * 99 + "\\n")
        endpoint = processes.start("peer", nginx_command(folder, "peer", content), OTHER_CPU)
        wait_until_it_answers(endpoint, peer, SITE)
        php = processes.start("php", [need_php_fpm(), "-n", "-F", "-y", str(settings)], OTHER_CPU)
        wait_until_it_listens(php, fpm)
        for one in measured:
            # One at a time: connections that one keeps are processes of PHP-FPM which the next would wait for.
            environment = {"PYTHONPATH": os.pathsep.join(sys.path)}
            with Processes.logging_to(folder) as alone:
                running = alone.start(f"candidate-{one.port}", one.command, PROXY_CPU, environment)
                wait_until_it_answers(running, one.port, SITE)
                load(one.port, REQUESTS // 20)
                least[one.title] = min(_microseconds(running, one.port) for _ in range(RUNS))
    return least


def main() -> None:
    """Print what was measured."""
    search_system_folders()
    ensure_programs(["nginx", "h2load", "taskset"])
    with TemporaryDirectory() as name:
        for title, taken in measure(Path(name)).items():
            print(f"{title:28}{taken:8.1f} µs of the processor for a request")


if __name__ == "__main__":
    sys.exit(status_of("bench", main))
