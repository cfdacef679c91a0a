"""What is meant by options that other programs have: somebody who types them is told what it is called here.

Pure, but for a look whether a file is there.
"""

import os
from collections.abc import Collection, Mapping
from typing import Final

_FORMATS: Final = ("json", "yaml", "table", "sarif", "github", "junit", "text", "markdown", "html", "wide")
_OTHER_NAMES: Final = {
    "--format": "--output",
    "--file": "",
    "--filename": "",
    "-f": "",
    "--manifests": "",
    "-m": "",
    "--manifest": "",
    "--directory": "",
    "--path": "",
    "--input": "",
    "-i": "",
    "-R": "",
    "--recursive": "",
    "-l": "",
    "--selector": "",
    "--ignore": "",
    "--strict": "--fail-on",
    "--error-on": "--fail-on",
    "--severity": "--fail-on",
}
"""Options of kubectl, of linters and the like, each with that of ours which does this, if any."""
_SENTENCES: Final = {
    "-f": "name files and folders without an option, as in ingressctl {command} {paths}",
    "-R": "folders are looked through anyway",
    "-l": "objects are chosen by files, and by -n NAMESPACE",
    "--ignore": "what is accepted stands in .ingressctl.toml",
}
_SAME: Final = {
    "--file": "-f",
    "--filename": "-f",
    "--manifests": "-f",
    "-m": "-f",
    "--manifest": "-f",
    "--directory": "-f",
    "--path": "-f",
    "--input": "-f",
    "-i": "-f",
    "--recursive": "-R",
    "--selector": "-l",
}
_PATHS: Final = {"diff": "OLD NEW", "explain": "URL PATH", "render": "--as gateway PATH"}
"""What stands behind a command that takes more than a path."""
_OTHER_COMMANDS: Final = {
    **dict.fromkeys(("validate", "check", "verify", "test", "analyze", "audit", "scan"), "lint PATH"),
    **dict.fromkeys(("convert", "translate", "print", "export"), "render --as gateway PATH"),
    **dict.fromkeys(("why", "trace", "curl", "route", "resolve"), "explain URL PATH"),
    **dict.fromkeys(("report", "assess", "move"), "migrate PATH"),
    "compare": "migrate --compare --help",
    "plan": "diff OLD NEW",
    "watch": "top",
    # Commands of the kubectl plugin of ingress-nginx.
    "conf": "render --as served PATH",
    "general": "render --as served PATH",
    "ingresses": "lint --verbose PATH",
}
"""What other programs call what is done here, each with what to write."""
_LISTS: Final = {
    "backends": "endpoints",
    "certs": "certificates",
    "endpoints": "endpoints",
    "certificates": "certificates",
    "routes": "routes",
    "problems": "problems",
}
"""What is asked for of a running process, each with the page that has it: as commands of that plugin, or by its name."""
_SERVING: Final = frozenset({"run", "serve", "start"})


def hint(option: str, command: str, own: Collection[str], of_controller: Mapping[str, str]) -> str:
    """Return what somebody who gave *command* the unknown *option* should write; empty where that is not known.

    *own* are the options that *command* has, *of_controller* those of the controller, without dashes, each with what stands
    for its value; that is empty for a flag.
    """
    name = option.lstrip("-")
    if name in _FORMATS and "--output" in own:
        return f"write --output {name}"
    other = _OTHER_NAMES.get(option)
    if other and other in own:
        return f"here it is {other}"
    sentence = _SENTENCES.get(_SAME.get(option, option))
    if other is not None and sentence:
        return sentence.format(command=command, paths=_PATHS.get(command, "PATH"))
    if option.startswith("--") and name in of_controller:
        value = of_controller[name]
        return f"it is one of the controller: write -o {name}{value and f'={value}'}"
    return ""


def format_hint(text: str) -> str:
    """Return what is meant by the option of the controller *text* if it is the name of a format, as kubectl has it."""
    return (
        f"; -o is for options of the controller: for a format, write --output {text}"
        if text in _FORMATS
        else ""
    )


def called_here(name: str) -> str:
    """Say what to write in the place of the command *name* of another program; empty where that is not known."""
    if name in _SERVING:
        return "; nothing is served by ingressctl: write twistd --nodaemon ingress --manifests PATH"
    if name in _LISTS:
        return f"; the admin port of a running controller has it, at /api/v1/{_LISTS[name]}"
    return f"; write ingressctl {_OTHER_COMMANDS[name]}" if name in _OTHER_COMMANDS else ""


def instead_of_command(name: str) -> str:
    """Say what to write in the place of *name*, which is no command and like none."""
    if os.path.exists(name):
        return f"; to look at what is there, write ingressctl lint {name}"
    return "; ingressctl --help lists them"
