"""The programs that a run needs: found, or built once by Go and kept.

What is built is named after the module files it was built from, so another version is another folder and nothing is ever
built twice, also when several runs share one cache (``CONFORMANCE_CACHE``).
"""

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
MODULES = HERE / "go"
API_SERVER_MODULE = MODULES / "apiserver"
SUITE_MODULES = {"release": MODULES / "suite", "main": MODULES / "suite-main"}


class NotBuiltError(Exception):
    """A program is neither here nor can it be built; the text says what to do."""


@dataclass(frozen=True)
class ApiServerPrograms:
    etcd: Path
    kube_apiserver: Path


@dataclass(frozen=True)
class SuitePrograms:
    """One version of the Gateway API: its tests as a program, the server its pods run, and its CRDs by channel."""

    version: str
    tests: Path
    echo: Path
    crds: Path


def api_server_programs(cache: Path, environment: Mapping[str, str]) -> ApiServerPrograms:
    """``KUBE_APISERVER`` and ``ETCD`` or what is on the PATH, else what Go builds in about three minutes."""
    kube_apiserver = environment.get("KUBE_APISERVER") or shutil.which("kube-apiserver")
    etcd = environment.get("ETCD") or shutil.which("etcd")
    if kube_apiserver and etcd:
        return ApiServerPrograms(Path(etcd), Path(kube_apiserver))
    folder = cache / f"apiserver-{fingerprint(API_SERVER_MODULE)}"
    version = required_version(API_SERVER_MODULE, "k8s.io/kubernetes")
    with building(folder) as unfinished:
        if unfinished is not None:
            flags = f"-s -w {version_flags(version)}"
            go(
                API_SERVER_MODULE,
                "build",
                "-ldflags",
                flags,
                "-o",
                unfinished / "kube-apiserver",
                "k8s.io/kubernetes/cmd/kube-apiserver",
            )
            go(
                API_SERVER_MODULE,
                "build",
                "-ldflags",
                "-s -w",
                "-o",
                unfinished / "etcd",
                "go.etcd.io/etcd/server/v3",
            )
    return ApiServerPrograms(
        Path(etcd) if etcd else folder / "etcd",
        Path(kube_apiserver) if kube_apiserver else folder / "kube-apiserver",
    )


def suite_programs(cache: Path, of: str) -> SuitePrograms:
    """The suite of the ``release`` or of ``main``."""
    module = SUITE_MODULES[of]
    folder = cache / f"suite-{of}-{fingerprint(module)}"
    with building(folder) as unfinished:
        if unfinished is not None:
            go(module, "test", "-c", "-ldflags", "-s -w", "-o", unfinished / "conformance.test", ".")
            go(
                module,
                "build",
                "-ldflags",
                "-s -w",
                "-o",
                unfinished / "echo-basic",
                "sigs.k8s.io/gateway-api/conformance/echo-basic",
            )
            source = go(module, "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api").strip()
            for channel in ("standard", "experimental"):
                # The module cache is read-only; these are ordinary files.
                target = unfinished / "crds" / channel
                target.mkdir(parents=True)
                for crd in sorted((Path(source) / "config" / "crd" / channel).glob("*.networking*.yaml")):
                    target.joinpath(crd.name).write_bytes(crd.read_bytes())
    version = required_version(module, "sigs.k8s.io/gateway-api/conformance")
    return SuitePrograms(version, folder / "conformance.test", folder / "echo-basic", folder / "crds")


def fingerprint(module: Path) -> str:
    """Short, of all that decides what Go makes of a module of ours."""
    digest = hashlib.sha256()
    for file in sorted([module / "go.mod", module / "go.sum", *module.glob("*.go")]):
        digest.update(f"{file.name}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def required_version(module: Path, path: str) -> str:
    """The version at which a go.mod requires a module, such as ``v1.36.1``; raises NotBuiltError without one."""
    found = re.search(
        rf"^\s*(?:require\s+)?{re.escape(path)}\s+(v\S+)", (module / "go.mod").read_text(), re.MULTILINE
    )
    if not found:
        raise NotBuiltError(f"{module / 'go.mod'} does not require {path}")
    return found[1]


def version_flags(version: str) -> str:
    """Linker flags by which an API server says its version, which clients and CRDs' expressions ask."""
    major, minor, _ = version.removeprefix("v").split(".", 2)
    package = "k8s.io/component-base/version"
    return f"-X {package}.gitVersion={version} -X {package}.gitMajor={major} -X {package}.gitMinor={minor}"


@contextlib.contextmanager
def building(folder: Path) -> Iterator[Path | None]:
    """A folder to build in, which becomes ``folder`` when all went well; None if that is there already."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if folder.is_dir():
            yield None
            return
        unfinished = folder.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir()
        print(f"building {folder.name} in {folder.parent}, once")
        begin = time.monotonic()
        yield unfinished
        unfinished.rename(folder)
        print(f"built {folder.name} in {time.monotonic() - begin:.0f} s")


def go(module: Path, *arguments: str | Path) -> str:
    """Run Go in a module and return what it prints; raises NotBuiltError."""
    program = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    if program is None:
        raise NotBuiltError(
            "Go is not here; install go 1.26 or later, or name programs by KUBE_APISERVER and ETCD"
        )
    command = [program, *map(str, arguments)]
    done = subprocess.run(
        command, cwd=module, env={**os.environ, "GOFLAGS": "-mod=readonly"}, capture_output=True, text=True
    )
    if done.returncode:
        raise NotBuiltError(f"{' '.join(command)} failed in {module}:\n{done.stderr[-4000:]}")
    return done.stdout
