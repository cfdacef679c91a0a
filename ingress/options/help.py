"""The help of ``twistd ingress``: one paragraph an option, in groups."""

import textwrap
from collections.abc import Iterator

from ingress.options.table import GROUPS

INTRODUCTION = (
    "Serve HTTP and HTTPS for the Ingress objects of a Kubernetes cluster, or of manifests on disk. "
    "Without --kubeconfig, --context, --server and --manifests, the service account of the pod is used."
)
ABOUT = {"help": "Print this help and exit.", "version": "Print the version and exit."}
"""What decides nothing."""


def help_text(columns: int) -> str:
    """Return the help, no line of it wider than *columns*."""
    return "\n".join(["", *textwrap.wrap(INTRODUCTION, columns), *_paragraphs(columns), ""])


def _paragraphs(columns: int) -> Iterator[str]:
    def paragraph(form: str, text: str) -> Iterator[str]:
        yield f"  --{form}"
        yield from textwrap.wrap(text, columns, initial_indent="      ", subsequent_indent="      ")

    for title, group in GROUPS:
        yield from ("", f"{title}:")
        for option in group:
            text = option.help
            if option.repeatable:
                text += "  Repeatable."
            if option.default:
                text += f"  [default: {option.default}]"
            yield from paragraph(f"{option.name}={option.value}" if option.value else option.name, text)
    yield from ("", "About:")
    for name, text in ABOUT.items():
        yield from paragraph(name, text)
