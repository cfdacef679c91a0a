"""``python -m bench.cluster.admin``: how long the pages of the admin port keep everybody else waiting.

A controller reads 10,000 Ingresses from manifests, each with a host, a certificate and a problem, and
answers a request for each.  Then every page is asked for, alone and by several clients at once, while
a timer of a millisecond in the process notes how long its reactor stands still.
"""

import argparse
import asyncio
import gc
import json
import sys
import tempfile
from pathlib import Path
from time import monotonic, process_time
from typing import Any

from bench.cluster.watch.__main__ import Child
from bench.cluster.watch.traffic import Client, start_pod
from bench.setup.ending import status_of
from bench.setup.processes import free_ports
from ingress.metrics.exchanges.exchanges import MOST_ROWS, ExchangeMetrics
from ingress.model.cluster.objects import ObjectKey
from scripts.sslyze_check import Authority
from tests.fakes.records import record_of

PAGES = (
    "/metrics",
    # The first page has all of them put in order, the next one finds that done.
    "/api/v1/routes?limit=100",
    "/api/v1/routes?limit=100",
    "/api/v1/routes",
    "/api/v1/routes?limit=100&namespace=other",
    "/api/v1/routes?host=h5000.bench.test",
    "/api/v1/problems",
    "/api/v1/problems?limit=100",
    "/api/v1/certificates",
    "/api/v1/endpoints",
    "/api/v1/endpoints?limit=100",
    "/api/v1/endpoints?state=ejected",
    "/api/v1/openapi.json",
)
OPEN_METRICS = "Accept: application/openmetrics-text; version=1.0.0"
GZIP = "Accept-Encoding: gzip"
ANYTHING = "Accept: */*"
BOUND_MS = 5.0
_START_SECONDS = 120.0
_CLIENTS = 20
_HOST = "h{index}.bench.test"


def manifests(count: int) -> list[dict[str, Any]]:
    """*count* Ingresses with a Service each, and one Secret that covers all hosts."""
    objects: list[dict[str, Any]] = [
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "kubernetes.io/tls",
            "metadata": {"name": "all", "namespace": "bench"},
            "stringData": Authority().key_pair("ecdsa", "*.bench.test"),
        }
    ]
    for index in range(count):
        name, host = f"i{index}", _HOST.format(index=index)
        backend = {"service": {"name": name, "port": {"number": 80}}}
        objects += [
            {
                "apiVersion": "networking.k8s.io/v1",
                "kind": "Ingress",
                "metadata": {
                    "name": name,
                    "namespace": "bench",
                    "annotations": {
                        "nginx.ingress.kubernetes.io/ssl-redirect": "false",
                        "nginx.ingress.kubernetes.io/no-such-annotation": "true",
                    },
                },
                "spec": {
                    "ingressClassName": "nginx",
                    "tls": [{"hosts": [host], "secretName": "all"}],
                    "rules": [
                        {
                            "host": host,
                            "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]},
                        }
                    ],
                },
            },
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": name, "namespace": "bench"},
                "spec": {"ports": [{"port": 80}]},
            },
        ]
    return objects


async def page(port: int, path: str, field: str = ANYTHING) -> int:
    """Ask for a page of the admin port; return its size."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.0\r\n{field}\r\n\r\n".encode())
    head = await reader.readuntil(b"\r\n\r\n")
    body = await reader.read(-1)
    writer.close()
    return len(body) if b" 200 " in head.split(b"\r\n", 1)[0] else 0


def show_dropping() -> None:
    """Print how long the reactor is held where half of as many rows as there may be leave the snapshot."""
    keys = [ObjectKey("bench", f"i{index}") for index in range(MOST_ROWS)]
    services = frozenset((ObjectKey("bench", "web"),))
    followed, steps = [], []
    for _ in range(9):
        exchanges = ExchangeMetrics()
        exchanges.follow(frozenset(keys), services)
        for key in keys:
            exchanges.ended(record_of(key))
        half = frozenset(keys[::2])
        gc.collect()
        gc.freeze()
        began = process_time()
        exchanges.follow(half, services)
        followed.append((process_time() - began) * 1e3)
        dropping, is_over = exchanges.drop(), False
        while not is_over:
            began = process_time()
            is_over = next(dropping, dropping) is dropping
            steps.append((process_time() - began) * 1e3)
    print(
        f"half of {MOST_ROWS} rows of metrics dropped: {sum(steps) / 9:.1f} ms in steps, the longest {max(steps):.1f} ms;"
        f" begun in {max(followed):.1f} ms"
    )


async def _run(count: int, workers: int, durations: bool, folder: Path) -> bool:
    pod = await start_pod(b"a")
    (folder / "manifests").mkdir()
    text = "\n---\n".join(map(json.dumps, manifests(count)))
    (folder / "manifests" / "all.yaml").write_text(text, encoding="utf-8")
    http, https, admin = free_ports(3)
    options = {"http": http, "https": https, "admin": admin}
    controller = await Child.start(
        1,
        "bench.cluster.watch.subject",
        "ticking",
        str(folder / "log"),
        f"--manifests={folder / 'manifests'}",
        f"--endpoint=*=127.0.0.1:{pod}",
        "--access-log=/dev/null",
        *([f"--workers={workers}"] if workers else []),
        *(["--metrics-by-ingress-durations"] if durations else []),
        *(f"--{name}=tcp:{number}:interface=127.0.0.1" for name, number in options.items()),
    )
    try:
        deadline = monotonic() + _START_SECONDS
        while (await controller.report("look"))["ready"] is None:
            if monotonic() > deadline:
                raise SystemExit(f"bench.cluster.admin: not ready; see {folder / 'log'}")
            await asyncio.sleep(0.2)
        client = Client(http)
        for index in range(count):
            status, _ = await client.get(_HOST.format(index=index))
            assert status == 200, status
        return await _measure(controller, admin)
    finally:
        await controller.stop()


async def _measure(controller: Child, admin: int) -> bool:
    print(
        f"{'page':44} {'bytes':>10} {'answered':>9} {'seconds':>8} {'longest stall':>14} {'of it ours':>11}"
    )
    worst = 0.0
    asked = [(path, 1, ANYTHING) for path in PAGES] + [
        (path, _CLIENTS, ANYTHING) for path in ("/metrics", "/api/v1/routes")
    ]
    formats = [
        ("/metrics", clients, field) for clients, field in ((1, OPEN_METRICS), (1, GZIP), (_CLIENTS, GZIP))
    ]
    for path, clients, field in formats + asked:
        await controller.report()
        began = monotonic()
        sizes = await asyncio.gather(*(page(admin, path, field) for _ in range(clients)))
        seconds = monotonic() - began
        now = (await controller.report())["now"]
        worst = max(worst, now["stall_cpu_ms"])
        name = path if clients == 1 else f"{path}, {clients} at once"
        name += {OPEN_METRICS: ", OpenMetrics", GZIP: ", gzip"}.get(field, "")
        answered = sum(map(bool, sizes))
        print(
            f"{name:44} {max(sizes):10} {answered:9} {seconds:8.3f}"
            f" {now['stall_ms']:11.1f} ms {now['stall_cpu_ms']:8.1f} ms"
        )
    return worst <= BOUND_MS


def main() -> None:
    """Measure and print; status 1 when a stall of ours exceeds ``BOUND_MS``."""
    parser = argparse.ArgumentParser(prog="python -m bench.cluster.admin", description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="Ingresses")
    parser.add_argument(
        "--workers", type=int, default=0, help="processes that serve; what is measured is their parent"
    )
    parser.add_argument("--durations", action="store_true", help="with histograms for each Ingress")
    known = parser.parse_args()
    show_dropping()
    with tempfile.TemporaryDirectory(prefix="txingress-admin-") as folder:
        is_good = asyncio.run(_run(known.count, known.workers, known.durations, Path(folder)))
    raise SystemExit(0 if is_good else f"bench.cluster.admin: a stall was longer than {BOUND_MS:g} ms")


if __name__ == "__main__":
    sys.exit(status_of("bench", main))
