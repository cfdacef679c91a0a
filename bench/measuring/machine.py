"""What was measured with: the machine, the interpreter and its build, the versions of all programs."""

import os
import platform
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

VERSION_SECONDS = 20
_DISTRIBUTIONS = ("twisted", "pyOpenSSL", "cryptography", "attrs", "prometheus_client")


def configure_arguments() -> str:
    """What ``configure`` was told when this interpreter was built; with paths of that machine."""
    return str(sysconfig.get_config_var("CONFIG_ARGS") or "")


def is_debians() -> bool:
    """Whether this interpreter is the one of a Debian package."""
    return Path(sys.base_exec_prefix) == Path("/usr") and Path("/etc/debian_version").exists()


def build_options(arguments: str, is_debians: bool = False) -> dict[str, Any]:
    """How an interpreter was built, by its ``configure`` *arguments*: PGO and LTO are what matters most.

    Debian's has both on all usual processors, and its program is linked with the interpreter in it; ``configure`` is told
    another story there, of the library beside (debian/rules and changelog of python3.11).
    """
    switches = re.findall(r"--(?:enable|with|disable|without)-[\w-]+(?:=[\w-]+(?![\w/]))?", arguments)
    return {
        "switches": switches,
        "debian": is_debians,
        "pgo": is_debians or "--enable-optimizations" in switches,
        "lto": is_debians or any(one.startswith("--with-lto") and one != "--with-lto=no" for one in switches),
        "shared": not is_debians and "--enable-shared" in switches,
        "debug": "--with-pydebug" in switches,
        "cflags": str(sysconfig.get_config_var("PY_CFLAGS") or ""),
    }


def python() -> dict[str, Any]:
    """The interpreter that runs ours: the one that made this environment."""
    packages = dict.fromkeys(_DISTRIBUTIONS, "not installed") | distribution_versions(_DISTRIBUTIONS)
    return {
        "version": platform.python_version(),
        "implementation": platform.python_implementation(),
        "compiler": platform.python_compiler(),
        "build": build_options(configure_arguments(), is_debians()),
        "packages": packages,
        "executable_version": sys.version,
    }


def python_line(found: Mapping[str, Any]) -> str:
    """One line about the interpreter, of what ``python`` has returned."""
    build = found["build"]
    words = [
        "with PGO" if build["pgo"] else "without PGO",
        "with LTO" if build["lto"] else "without LTO",
        "shared libpython" if build["shared"] else "static libpython",
    ]
    if build["debug"]:
        words.append("a debug build")
    whose = " of Debian" if build["debian"] else ""
    return f"{found['implementation']} {found['version']}{whose}, {', '.join(words)}"


def code(package: Path | None = None) -> dict[str, Any]:
    """Which of the modules in the folder *package* are compiled; without one, of the package that is installed here."""
    if package is None:
        found = find_spec("ingress")
        package = Path(next(iter(found.submodule_search_locations or ()))) if found is not None else Path()
    compiled = {
        ".".join(path.relative_to(package.parent).with_suffix("").parts).partition(".cpython-")[0]
        for path in package.rglob("*.so")
        # The library of a room, which its modules load.
        if not path.name.partition(".")[0].endswith("__mypyc")
    }
    modules = {
        ".".join(path.relative_to(package.parent).with_suffix("").parts) for path in package.rglob("*.py")
    }
    return {"modules": len(modules | compiled), "compiled": sorted(compiled)}


def code_line(found: Mapping[str, Any]) -> str:
    """A few words on what ``code`` has returned."""
    compiled = found["compiled"]
    if not compiled:
        return "plain Python"
    rooms = sorted({".".join(name.split(".")[:2]) for name in compiled})
    return f"{len(compiled)} of {found['modules']} modules compiled, of {', '.join(rooms)}"


def codes(targets: Iterable[str], compiled: Path | None) -> dict[str, Any]:
    """What ``code`` says of each of *targets* that is ours; *compiled* is the package of the one that is compiled."""
    found = {}
    for name in targets:
        if name == "ours":
            found[name] = code()
        elif name == "ours-compiled" and compiled is not None:
            found[name] = code(compiled)
    return found


def codes_line(found: Mapping[str, Any]) -> str:
    """One line about what ``codes`` has returned."""
    return "; ".join(f"{name} ran as {code_line(one)}" for name, one in found.items())


def machine(load_cpu: int, proxy_cpu: int) -> dict[str, Any]:
    """The machine, and which of its CPUs are used."""
    model = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    congestion = Path("/proc/sys/net/ipv4/tcp_congestion_control")
    return {
        "cpu": model[1] if model else platform.machine(),
        "cpus": os.cpu_count(),
        "load_cpu": load_cpu,
        "proxy_cpu": proxy_cpu,
        "kernel": platform.release(),
        "congestion_control": congestion.read_text().strip() if congestion.exists() else "",
    }


def distribution_versions(names: Sequence[str]) -> dict[str, str]:
    """The versions of the distributions that are installed of *names*."""
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


_VERSION_COMMANDS = {
    "nginx": ["-v"],
    "haproxy": ["-v"],
    "caddy": ["version"],
    "h2load": ["--version"],
    "wrk": ["-v"],
    "envoy": ["--version"],
    "go": ["version"],
}


def program_versions(paths: Mapping[str, str]) -> dict[str, str]:
    """The versions of the programs at *paths*; empty for what does not tell."""
    found = {}
    for name, path in paths.items():
        try:
            done = subprocess.run(
                [path, *_VERSION_COMMANDS[name]], capture_output=True, text=True, timeout=VERSION_SECONDS
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        number = re.search(r"\d+\.\d+(\.\d+)?", done.stdout + done.stderr)
        found[name] = number[0] if number else ""
    return found
