"""``python -m compiling FOLDER``: put the compiled package into the environment that runs this, as ``make compiled`` does.

What is made on the way stays in *FOLDER*/build, so that the next time only rooms that have changed are compiled.
*FOLDER*/tree is the repository as it stands, with the installed package in place of the sources: tests that run there
test what is installed, since nothing else is to be found.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from sysconfig import get_path

from compiling.extensions import FOLDER, LIBRARY
from compiling.modules import REPOSITORY, compiled_files
from compiling.wish import SWITCH


def forget_sources(library: Path) -> None:
    """Remove from *library*, where a wheel is collected, all but the machine code of modules that are compiled still."""
    compiled = {file.removesuffix(".py") for file in compiled_files()}
    for path in [path for path in library.rglob("*") if path.is_file()]:
        module = path.relative_to(library).with_name(path.name.partition(".")[0])
        if path.suffix != ".so" or not (module.as_posix() in compiled or module.name == f"{LIBRARY}__mypyc"):
            path.unlink()


def built(folder: Path) -> Path:
    """Build the wheel, and return where it is.  Raises CalledProcessError."""
    made, wheels = folder / "build", folder / "wheels"
    for library in made.glob("lib*"):
        forget_sources(library)
    shutil.rmtree(wheels, ignore_errors=True)
    command = [sys.executable, "setup.py", "--quiet", "build", "--build-base", str(made)]
    command += ["--parallel", str(len(os.sched_getaffinity(0))), "bdist_wheel", "--dist-dir", str(wheels)]
    environment = {**os.environ, SWITCH: "1", FOLDER: str(made)}
    subprocess.run(command, cwd=REPOSITORY, env=environment, check=True)
    (wheel,) = wheels.glob("*.whl")
    return wheel


def install(wheel: Path) -> None:
    """Put *wheel* in the place of whatever version is there; its requirements have been met.  Raises CalledProcessError."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]
    subprocess.run([*pip, "--no-deps", "--force-reinstall", str(wheel)], check=True)


def plant(tree: Path) -> None:
    """Make *tree* anew of the files of the repository that git knows or would take.  Raises CalledProcessError."""
    shutil.rmtree(tree, ignore_errors=True)
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True, text=True).stdout
    for name in listed.split("\0"):
        source = REPOSITORY / name
        if name and not name.startswith("ingress/") and source.is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, tree / name, follow_symlinks=False)
    (tree / "ingress").symlink_to(Path(get_path("platlib"), "ingress"))


def main() -> int:
    """Build, install and plant."""
    if len(sys.argv) != 2:
        raise SystemExit("usage: python -m compiling FOLDER")
    folder = Path(sys.argv[1]).absolute()
    install(built(folder))
    plant(folder / "tree")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
