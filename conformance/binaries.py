"""The programs that a run needs: found, or built once by Go and kept.

What is built is named after the module files it was built from, so another version is another folder and nothing is ever
built twice, also when several runs share one cache (``CONFORMANCE_CACHE``).
"""

import hashlib
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from conformance.compiler import NotBuiltError, building, copy_files, go

SUITE = "sigs.k8s.io/gateway-api/conformance"
IMAGES = "sigs.k8s.io/gateway-api-conformance-images"
HERE = Path(__file__).parent
MODULES = HERE / "go"
API_SERVER_MODULE = MODULES / "apiserver"
RELEASE_MODULE = MODULES / "suite"
NEXT_MODULE = MODULES / "suite-next"
IMAGES_MODULE = MODULES / "images"
SUITE_MODULES = {"release": RELEASE_MODULE, "next": NEXT_MODULE}


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
            build = partial(go, cache, API_SERVER_MODULE, "build", "-ldflags")
            flags = f"-s -w {version_flags(version)}"
            build(flags, "-o", unfinished / "kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver")
            build("-s -w", "-o", unfinished / "etcd", "go.etcd.io/etcd/server/v3")
    return ApiServerPrograms(
        Path(etcd) if etcd else folder / "etcd",
        Path(kube_apiserver) if kube_apiserver else folder / "kube-apiserver",
    )


def suite_programs(cache: Path, of: str) -> SuitePrograms:
    """The suite of the ``release`` or of the ``next`` one."""
    module = SUITE_MODULES[of]
    folder = cache / f"suite-{of}-{fingerprint(module, RELEASE_MODULE, IMAGES_MODULE)}"
    with building(folder) as unfinished:
        if unfinished is not None:
            sources = unfinished / "sources"
            place = suite_sources(cache, module, sources)
            run = partial(go, cache, place)
            run("test", "-c", "-ldflags", "-s -w", "-o", unfinished / "conformance.test", ".")
            release = partial(go, cache, RELEASE_MODULE)
            echo = f"{SUITE}/echo-basic"
            release("build", "-ldflags", "-s -w", "-o", unfinished / "echo-basic", echo)
            api = Path(run("list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api").strip())
            for channel in ("standard", "experimental"):
                copy_files(
                    api / "config" / "crd" / channel, unfinished / "crds" / channel, "*.networking*.yaml"
                )
            shutil.rmtree(sources)
    return SuitePrograms(
        required_version(module, SUITE), folder / "conformance.test", folder / "echo-basic", folder / "crds"
    )


def suite_sources(cache: Path, module: Path, sources: Path) -> Path:
    """Where to build the tests: our test program, the module file, and the packages that the proxy may lack."""
    place = sources / "suite"
    copy_files(RELEASE_MODULE, place, "*.go")
    copy_files(module, place, "go.*")
    images = sources / "images"
    copy_files(IMAGES_MODULE, images, "go.mod")
    release = Path(go(cache, RELEASE_MODULE, "list", "-m", "-f", "{{.Dir}}", SUITE).strip())
    for file in sorted((release / "echo-basic").rglob("*.go")):
        if not file.name.endswith("_test.go"):
            text = file.read_text().replace(f'"{SUITE}/echo-basic', f'"{IMAGES}/echo-basic')
            target = images / file.relative_to(release)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
    return place


def fingerprint(*modules: Path) -> str:
    """Short, of all that decides what Go makes of modules of ours."""
    digest = hashlib.sha256()
    for file in [file for module in modules for file in sorted([*module.glob("go.*"), *module.glob("*.go")])]:
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
