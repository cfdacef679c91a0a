"""The options about which Ingresses are served, and what they may speak for."""

from typing import ClassVar

from twisted.python import usage

from ingress.cli import option_values
from ingress.cli.option_rows import parameter
from ingress.settings import ANNOTATIONS_PREFIX, CONTROLLER_CLASS, INGRESS_CLASS

GROUP: tuple[str, tuple[tuple[str, str], ...]] = (
    "Which Ingresses are served",
    (
        ("ingress-class", "NAME"),
        ("controller-class", "NAME"),
        ("watch-without-class", ""),
        ("shared-hosts", ""),
        ("annotations-prefix", "PREFIX"),
    ),
)
"""Title and options, in the order in which they are shown."""


class ClassOptions(usage.Options):
    """Which Ingresses are ours."""

    optFlags: ClassVar[list[list[object]]] = [  # noqa: N815 - Twisted's name
        ["watch-without-class", None, "Serve Ingresses that name no class, too."],
        [
            "shared-hosts",
            None,
            "Let every namespace speak for whole hosts of others (TLS, client certificates), as ingress-nginx does.",
        ],
    ]

    optParameters: ClassVar[list[list[object]]] = [  # noqa: N815 - Twisted's name
        parameter(
            "ingress-class",
            INGRESS_CLASS,
            "Class to serve where no IngressClass object of that name exists.",
            option_values.read_word,
        ),
        parameter(
            "controller-class",
            CONTROLLER_CLASS,
            "Serve the classes of all IngressClass objects whose spec.controller is this.",
            option_values.read_word,
        ),
        parameter(
            "annotations-prefix",
            ANNOTATIONS_PREFIX,
            "Prefix of the annotations to honor.",
            option_values.read_prefix,
        ),
    ]
