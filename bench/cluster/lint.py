"""What ``ingressctl lint`` costs: ``make bench-lint`` prints it.

10,000 Ingresses as a stream, as a file each, and as the lists of ``kubectl``, each without findings and one of them with a finding for
every Ingress; and one small file, which is how long the command takes to start.  Each is a process of its own, with
bytecode at hand.  Seconds are of the wall and of the processor; what else the machine does is in the former.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Final

import yaml

COUNT: Final = 10_000
STARTS: Final = 15
MOST_SECONDS: Final = 10.0
MOST_MEBIBYTES: Final = 300
MOST_START_SECONDS: Final = 0.25
_PREFIX: Final = "nginx.ingress.kubernetes.io/"


def an_ingress(number: int, annotation: str = "ssl-redirect") -> dict[str, object]:
    """An Ingress as people have them; *annotation* is one of its four."""
    name = f"app-{number}"
    backends = ({"name": name, "port": {"number": 80}}, {"name": f"api-{number}", "port": {"name": "http"}})
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {
            "name": name,
            "namespace": f"team-{number % 100}",
            "labels": {"app.kubernetes.io/name": name},
            "annotations": {
                f"{_PREFIX}{annotation}": "true",
                f"{_PREFIX}proxy-body-size": "8m",
                f"{_PREFIX}proxy-read-timeout": "60",
                "cert-manager.io/cluster-issuer": "letsencrypt",
            },
        },
        "spec": {
            "ingressClassName": "nginx",
            "tls": [{"hosts": [f"{name}.example.com"], "secretName": f"{name}-tls"}],
            "rules": [
                {
                    "host": f"{name}.example.com",
                    "http": {
                        "paths": [
                            {"path": path, "pathType": "Prefix", "backend": {"service": service}}
                            for path, service in zip(("/", "/api"), backends, strict=True)
                        ]
                    },
                }
            ],
        },
    }


def as_of_kubectl(one: dict[str, object], number: int) -> dict[str, object]:
    """Return *one* with what an API server adds, and ``kubectl apply``."""
    applied = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(one)}
    metadata = one["metadata"]
    assert isinstance(metadata, dict)
    return {
        **one,
        "metadata": {
            **metadata,
            "annotations": {**metadata["annotations"], **applied},
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "resourceVersion": str(number),
            "uid": f"{number:08}-0000-4000-8000-000000000000",
        },
        "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}},
    }


INPUTS: Final = {
    "a stream of YAML": "stream.yaml",
    "a finding for each": "findings.yaml",
    f"{COUNT:,} files": "files",
    "a List as JSON": "list.json",
    "a List as YAML": "list.yaml",
}


def write(folder: Path) -> None:
    """Write the inputs into *folder*."""
    objects = [an_ingress(number) for number in range(COUNT)]
    texts = [yaml.dump(one, Dumper=yaml.CSafeDumper) for one in objects]
    (folder / "files").mkdir()
    for number, text in enumerate(texts):
        (folder / "files" / f"{number:05}.yaml").write_text(text)
    (folder / "stream.yaml").write_text("---\n".join(texts))
    slips = [text.replace("/ssl-redirect:", "/ssl-redirct:") for text in texts]
    (folder / "findings.yaml").write_text("---\n".join(slips))
    items = [as_of_kubectl(one, number) for number, one in enumerate(objects)]
    whole = {"apiVersion": "v1", "kind": "List", "items": items}
    (folder / "list.json").write_text(json.dumps(whole, indent=4))
    (folder / "list.yaml").write_text(yaml.dump(whole, Dumper=yaml.CSafeDumper))


def run(path: Path, environment: dict[str, str]) -> tuple[float, float, float]:
    """Lint *path*; return the seconds of the wall and of the processor, and the MiB that it took at most."""
    program = str(Path(sys.executable).parent / "ingressctl")
    began = monotonic()
    devnull = os.open(os.devnull, os.O_RDWR)
    pid = os.posix_spawn(
        program,
        [program, "lint", "--no-config", str(path)],
        environment,
        file_actions=[(os.POSIX_SPAWN_DUP2, devnull, number) for number in range(3)],
    )
    os.close(devnull)
    _, status, used = os.wait4(pid, 0)
    seconds = monotonic() - began
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        raise SystemExit(f"ingressctl lint {path} failed")
    return seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main() -> None:
    """Measure, and print."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        # The bytecode of this tree, wherever the environment would have it, or none of it.
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        small = folder / "small.yaml"
        small.write_text(yaml.safe_dump(an_ingress(0)))
        run(small, environment)
        starts = [run(small, environment) for _ in range(STARTS)]
        wall, processor = (median(one[index] for one in starts) for index in (0, 1))
        print(f"{'':24}{'seconds':>10}{'processor':>12}{'MiB':>8}")
        print(
            f"{'one Ingress':24}{wall:>10.3f}{processor:>12.3f}{starts[0][2]:>8.0f}   at most {MOST_START_SECONDS} s"
        )
        # By another process: the memory of one that starts others counts as theirs.
        subprocess.run([sys.executable, "-m", "bench.cluster.lint", name], check=True)
        for what, path in INPUTS.items():
            wall, processor, mebibytes = run(folder / path, environment)
            print(
                f"{what:24}{wall:>10.1f}{processor:>12.1f}{mebibytes:>8.0f}   at most {MOST_SECONDS:g} s, {MOST_MEBIBYTES} MiB"
            )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        write(Path(sys.argv[1]))
    else:
        main()
