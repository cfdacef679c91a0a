"""Run the tests with the lowest and with the newest versions of what ``setup.cfg`` requires, each in an environment of its own.

``python scripts/versions_check.py PREFIX [JOBS [TEST...]]`` makes ``PREFIX-lowest`` and ``PREFIX-newest``
with the Python that runs it, and asks the package index for what goes in.  Lowest means exactly the
versions that ``install_requires`` begins with; if these do not go together, one of them is wrong.  Newest means
the newest below the upper bounds; what they keep out is told at the end.  A lowest version that the
index has withdrawn is wrong, too, since pip chooses it for nobody.  Tools of the
development environment are the newest in both.  The status is 0 when all tests pass in both.
"""

import json
import re
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from configparser import ConfigParser
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
KINDS = ("lowest", "newest")
_RULE = "=" * 79
_LAST = "-" * 79
_YANKED = re.compile(r"yanked version: '([^']+)' candidate \(version (\S+)")
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)\s*(?:>=\s*([0-9][0-9A-Za-z.]*))?")


def requirements(text: str) -> dict[str, str]:
    """Return the lowest version of each requirement in *text*, the content of ``setup.cfg``; empty where none is named."""
    config = ConfigParser()
    config.read_string(text)
    found: dict[str, str] = {}
    for line in config["options"]["install_requires"].splitlines():
        match = _REQUIREMENT.match(line.strip())
        if match is not None:
            found[match[1]] = match[2] or ""
    return found


def constraints(kind: str, required: dict[str, str]) -> str:
    """Return what pip is held to."""
    if kind == "newest":
        return ""
    missing = [name for name, version in required.items() if not version]
    if missing:
        raise SystemExit(f"setup.cfg names no lowest version of {', '.join(missing)}")
    return "".join(f"{name} == {version}\n" for name, version in required.items())


def install(kind: str, folder: Path, required: dict[str, str]) -> Path:
    """Make the environment *folder* and put everything in; return its interpreter."""
    venv.create(folder, with_pip=True, clear=True)
    python = folder / "bin" / "python"
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(constraints(kind, required))
        file.flush()
        command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        command += ["--constraint", file.name, "--editable", ".[dev]"]
        done = subprocess.run(command, cwd=REPOSITORY, stderr=subprocess.PIPE, text=True)
    sys.stderr.write(done.stderr)
    if done.returncode:
        raise SystemExit(f"the {kind} versions do not go together")
    if gone := withdrawn(done.stderr):
        raise SystemExit(
            f"the package index has withdrawn {', '.join(gone)}: nobody gets that unless it is pinned"
        )
    return python


def withdrawn(told: str) -> list[str]:
    """Return what pip has installed although the index has withdrawn it (PEP 592), as *told* among its errors."""
    return [f"{name} {version}" for name, version in _YANKED.findall(told)]


def listed(python: Path, required: dict[str, str], *options: str) -> list[dict[str, str]]:
    """Return what ``pip list`` says of the requirements."""
    command = [str(python), "-m", "pip", "list", "--format=json", "--disable-pip-version-check", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    names = {_normal(name) for name in required}
    found: list[dict[str, str]] = json.loads(done.stdout)
    return [entry for entry in found if _normal(entry["name"]) in names]


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def passes(python: Path, folder: Path, jobs: str, tests: Sequence[str]) -> bool:
    """Run the tests; their output is shown where they fail."""
    command = [str(python), "-m", "twisted.trial", "--jobs", jobs, "--temp-directory", str(folder / "trial")]
    done = subprocess.run([*command, *tests], cwd=REPOSITORY, capture_output=True, text=True)
    print(
        done.stdout.splitlines()[-1] if done.returncode == 0 else failures(done.stdout, done.stderr),
        flush=True,
    )
    return done.returncode == 0


def failures(told: str, complained: str) -> str:
    """Return of what trial has *told* the tests that failed, and its count; where it names none, all of it and what it *complained*."""
    # Its paragraphs follow the names of all tests, and each begins with a line like this.
    names, *paragraphs = told.split(f"{_RULE}\n")
    if not paragraphs:
        return names + complained
    return _RULE.join(f"\n{one}" for one in paragraphs if not one.startswith("[SKIPPED]") or _LAST in one)


def main() -> int:
    """Install, test and tell."""
    if len(sys.argv) < 2:
        raise SystemExit("usage: python scripts/versions_check.py PREFIX [JOBS [TEST...]]")
    prefix, jobs, tests = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "3", sys.argv[3:] or ["tests"]
    required = requirements((REPOSITORY / "setup.cfg").read_text(encoding="utf-8"))
    failed = []
    for kind in KINDS:
        folder = Path(f"{prefix}-{kind}").resolve()
        python = install(kind, folder, required)
        versions = ", ".join(f"{entry['name']} {entry['version']}" for entry in listed(python, required))
        print(f"{kind}, on Python {sys.version.split()[0]}: {versions}", flush=True)
        if not passes(python, folder, jobs, tests):
            failed.append(kind)
    for entry in listed(python, required, "--outdated"):
        print(f"kept out by setup.cfg: {entry['name']} {entry['latest_version']}")
    if failed:
        print(f"versions: failed with the {' and the '.join(failed)}", file=sys.stderr)
    return bool(failed)


if __name__ == "__main__":
    raise SystemExit(main())
