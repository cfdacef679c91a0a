"""Run the Dockerfile's commands in an empty folder, without a container engine: ``image_check.py [NAME=VALUE...]``, as ``--build-arg``.

What it proves: the wheel builds from only the files that ``.dockerignore`` lets in, it
installs into a fresh environment, the plug-in cache is written, the ENTRYPOINT starts
without a shell and shows the controller's options from an empty folder, and ``ingressctl``
starts beside it and says that it is compiled.

What it cannot prove: that the base image exists, and what ``apt-get`` does there.  The
folders of the image are mapped into one temporary folder, so both stages share a file
system; a COPY from one stage to another must keep its path, which an environment with
absolute paths in its scripts needs anyway.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
IMAGE_FOLDERS = ("src", "dist", "opt")
"""The folders at the image's root that the Dockerfile makes; others belong to the base image."""
SYSTEM_COMMANDS = ("apt-get", "rm -rf /var/lib/apt")
"""Commands on the base image's own packages; they have no meaning outside of a container."""
_CONDITION = re.compile(r'if \[ "\$(\w+)" = (\w+) \]; then (.*); fi')
"""What a RUN instruction does for one value of an ARG alone."""
SHELLS = ("sh", "bash", "dash", "ash", "env")
USER_ID = 65532


class CheckError(Exception):
    """The image would not be what it promises."""


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """The instructions of a Dockerfile, continuation lines joined and comments dropped."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    for line in re.sub(r"\\\n", " ", "\n".join(lines)).splitlines():
        word, _, rest = line.strip().partition(" ")
        if word:
            yield word.upper(), rest.strip()


def is_ignored(path: str, patterns: list[str]) -> bool:
    """What ``.dockerignore`` says of a file: the last pattern that matches it, or a folder above it, wins."""
    ignored = False
    for pattern in patterns:
        expression = re.escape(pattern.removeprefix("!").strip("/"))
        expression = expression.replace(r"\*\*/", "(?:.*/)?").replace(r"\*", "[^/]*")
        if re.fullmatch(expression + "(?:/.*)?", path):
            ignored = not pattern.startswith("!")
    return ignored


def copy_context(destination: Path) -> None:
    """Copy what the build context holds: every file of the repository that is not ignored."""
    lines = (REPOSITORY / ".dockerignore").read_text().splitlines()
    patterns = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    for top in REPOSITORY.iterdir():
        if is_ignored(top.name, patterns):
            continue
        for source in [top, *top.rglob("*")]:
            name = source.relative_to(REPOSITORY)
            if source.is_file() and not is_ignored(name.as_posix(), patterns):
                (destination / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, destination / name)


def commands(text: str, arguments: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """The commands of a RUN instruction, one after another, and those that these *arguments* of the build leave out."""
    condition = _CONDITION.fullmatch(" ".join(text.split()))
    parts = [part.strip() for part in (condition[3] if condition else text).split("&&")]
    if condition and arguments[condition[1]] != condition[2]:
        return [], parts
    return parts, []


class ImageCheck:
    """One pass through the Dockerfile, with the image's folders under *root*, and with these *arguments* of the build."""

    def __init__(self, root: Path, arguments: Mapping[str, str] | None = None) -> None:
        self.root = root
        self.given = arguments or {}
        self.arguments: dict[str, str] = {}
        self.directory = root
        self.entrypoint: list[str] = []
        self.user = ""
        self.environment = {"PATH": f"{root}/base/bin:{os.environ['PATH']}", "HOME": str(root / "home")}
        for name, value in os.environ.items():
            if name.startswith(("PIP_", "SSL_", "HTTP", "http", "NO_PROXY", "no_proxy")):
                self.environment[name] = value

    def mapped(self, text: str) -> str:
        """*text* with the image's folders replaced by those under the root."""
        return re.sub(rf"(?<![\w./-])/({'|'.join(IMAGE_FOLDERS)})(?=/|\s|$)", rf"{self.root}/\1", text)

    def run(self, command: str) -> None:
        """Run one RUN instruction, part by part; system packages are left out, in words."""
        parts, others = commands(command, self.arguments)
        for part in others:
            print(f"left out (argument):  {part}")
        for part in parts:
            if part.startswith(SYSTEM_COMMANDS):
                print(f"left out (base image):  {part}")
            elif part.startswith("setcap") and (os.geteuid() != 0 or not shutil.which("setcap")):
                print(f"left out (needs root):  {part}")
            else:
                print(f"run:  {part}", flush=True)
                done = subprocess.run(self.mapped(part), shell=True, cwd=self.directory, env=self.environment)
                if done.returncode:
                    raise CheckError(f"status {done.returncode} from: {part}")

    def copy(self, arguments: list[str]) -> None:
        """COPY the build context, or check that a copy between the stages keeps its path."""
        if arguments[0].startswith("--from="):
            if arguments[1] != arguments[2]:
                raise CheckError(f"COPY {' '.join(arguments)}: an environment works only where it was made")
            for folder in ("src", "dist"):
                shutil.rmtree(self.root / folder, ignore_errors=True)
        elif arguments == [".", "."]:
            copy_context(self.directory)
        else:
            raise CheckError(f"COPY {' '.join(arguments)}: this check knows only 'COPY . .' and '--from'")

    def obey(self, word: str, rest: str) -> None:
        """Do what one instruction asks for."""
        match word:
            case "RUN":
                self.run(rest)
            case "COPY":
                self.copy(shlex.split(rest))
            case "WORKDIR":
                self.directory = Path(self.mapped(rest)) if rest != "/" else self.root / "empty"
                self.directory.mkdir(parents=True, exist_ok=True)
            case "FROM":
                self.directory = self.root / "empty"
                self.directory.mkdir(exist_ok=True)
            case "USER":
                self.user = rest
            case "ENTRYPOINT":
                if not rest.startswith("["):
                    raise CheckError("the ENTRYPOINT is in the shell form; write it as a JSON list")
                self.entrypoint = json.loads(rest)
            case "ARG":
                name, _, default = rest.partition("=")
                self.arguments[name] = self.given.get(name, default)
            case "ENV" | "EXPOSE":
                pass
            case _:
                raise CheckError(f"{word}: this check does not know the instruction")

    def check_result(self) -> None:
        """Check arguments, user, plug-in cache and ENTRYPOINT of the finished image."""
        if unknown := self.given.keys() - self.arguments.keys():
            raise CheckError(f"there is no ARG {', '.join(sorted(unknown))}")
        if not re.fullmatch(r"[1-9]\d*:[1-9]\d*", self.user):
            raise CheckError(f"USER {self.user!r} is not a numeric, non-root user and group")
        if not list(self.root.glob("opt/*/lib/python*/site-packages/twisted/plugins/dropin.cache")):
            raise CheckError("Twisted's plug-in cache was not written")
        program = self.entrypoint[0] if self.entrypoint else ""
        if not program.startswith("/") or os.path.basename(program) in SHELLS:
            raise CheckError(
                f"the ENTRYPOINT {self.entrypoint} does not start a program by its absolute path"
            )
        beside = f"{os.path.dirname(program)}/ingressctl"
        done = subprocess.run(
            [self.mapped(beside), "version"],
            cwd=self.root / "empty",
            env={"PATH": "/nowhere"},
            capture_output=True,
            text=True,
        )
        if done.returncode or not re.fullmatch(r"txingress \S+ \(compiled\)\n", done.stdout):
            raise CheckError(f"status {done.returncode} from {beside} version:\n{done.stdout}{done.stderr}")
        command = [self.mapped(word) for word in self.entrypoint] + ["--help"]
        for prefix in self.ways_to_start():
            print("run:  " + shlex.join([*prefix, *self.entrypoint, "--help"]), flush=True)
            done = subprocess.run(
                [*prefix, *command],
                cwd=self.root / "empty",
                env={"PATH": "/nowhere"},
                capture_output=True,
                text=True,
            )
            if done.returncode or "--ingress-class" not in done.stdout or done.stderr:
                raise CheckError(f"status {done.returncode}, no options shown:\n{done.stdout}{done.stderr}")

    def ways_to_start(self) -> Iterator[list[str]]:
        """As ourselves; and, where root can, as a restricted pod starts it."""
        yield []
        if os.geteuid() == 0 and (setpriv := shutil.which("setpriv")):
            restricted = [
                setpriv, f"--reuid={USER_ID}", f"--regid={USER_ID}", "--clear-groups", "--no-new-privs",
                "--inh-caps=-all", "--bounding-set=-all,+net_bind_service",
            ]  # fmt: skip
            if subprocess.run([*restricted, "test", "-x", sys.base_prefix]).returncode == 0:
                yield restricted
            else:
                print(f"left out (user {USER_ID} cannot read {sys.base_prefix}):  start as that user")


def main() -> int:
    """Check the image; 1 with a line on standard error if it is not as promised."""
    text = (REPOSITORY / "Dockerfile").read_text()
    with tempfile.TemporaryDirectory(prefix="image-check-") as folder:
        root = Path(folder)
        root.chmod(0o755)
        # Stands in for the base image's interpreter.
        subprocess.run([sys.executable, "-m", "venv", root / "base"], check=True)
        check = ImageCheck(root, dict(argument.split("=", 1) for argument in sys.argv[1:]))
        try:
            for word, rest in instructions(text):
                check.obey(word, rest)
            check.check_result()
        except CheckError as error:
            print(f"image check: {error}", file=sys.stderr)
            return 1
    print("image check: as promised")
    return 0


if __name__ == "__main__":
    sys.exit(main())
