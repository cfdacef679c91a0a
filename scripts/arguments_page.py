"""Print ``docs/arguments.md``, made from the table of ingress-nginx's arguments.

``python -m scripts.arguments_page > docs/arguments.md`` brings the page into step after a change of that; a test says when that
is due.
"""

import re
import sys
from collections.abc import Iterator

from ingress.options.ingress_nginx_arguments import ARGUMENTS, Argument, Becomes
from scripts.markdown import cell

_HEAD = """\
# The arguments of ingress-nginx

All command-line arguments of ingress-nginx's controller, of its releases 1.12 to 1.14, and what each comes to here. This page is made
by `python -m scripts.arguments_page`; edit `ingress/options/ingress_nginx_arguments.py` instead. The options themselves are in
[options.md](options.md); what its ConfigMap says is in [configmap.md](configmap.md).

Nobody has to apply this by hand: [`ingressctl migrate`](ingressctl.md#the-arguments-of-ingress-nginx) finds the Deployment or DaemonSet of
ingress-nginx, says of each argument of it what becomes of it, and writes the whole list for this controller.

| Here | |
|---|---|
| the same | the option has the same name, and takes the same value |
| an option | it has another name, or another form of value, as the remark says |
| its own | the option has the same name, and names what ingress-nginx has for itself. The manifests in [`k8s/`](../k8s/README.md) have what is this controller's |
| not needed | what it is about is otherwise here, and nothing is lost |
| not honored | what it asks for is not done; the remark says what happens instead |

*Without words* are values for which nothing has to be written, since they ask for nothing that is missed here.

Values are read as ingress-nginx reads them. A boolean stands alone, or has its value behind an equals sign: `enable-metrics false`, as two
words, is true there. Numbers may be hexadecimal, and durations are like `1m30s`. Of an argument that stands twice the last one counts. A name
that there is not, and a value that cannot be read, keep ingress-nginx from starting.

| Argument | Here | Remark | Without words |
|---|---|---|---|
"""

_HERE = {
    Becomes.SAME: "the same",
    Becomes.OWN: "its own",
    Becomes.NEEDLESS: "not needed",
    Becomes.NOT_HONORED: "not honored",
}
_OPTION = re.compile(r"(?:twistd )?--[a-z0-9-]+")
_PATH = re.compile(r"k8s/[a-z]+/[a-z]+")
_PAGE = re.compile(r"docs/([a-z-]+\.md)")


def arguments_page() -> str:
    """Return the whole page."""
    return "".join(_parts())


def _parts() -> Iterator[str]:
    yield _HEAD
    for name, row in sorted(ARGUMENTS.items()):
        silent = ", ".join(f"`{value}`" for value in row.silent if value)
        yield f"| `{name}` | {_here(row)} | {_remark(row.told)} | {silent} |\n"


def _here(row: Argument) -> str:
    if row.becomes is Becomes.OTHER:
        return f"`--{row.option}`" if row.option else "an option"
    return _HERE[row.becomes]


def _remark(told: str) -> str:
    named = _PATH.sub(_code, _OPTION.sub(_code, told))
    return cell(_PAGE.sub(r"[\1](\1)", named))


def _code(found: re.Match[str]) -> str:
    return f"`{found[0]}`"


if __name__ == "__main__":
    sys.stdout.write(arguments_page())
