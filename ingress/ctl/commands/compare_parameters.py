"""The parameters of ``ingressctl migrate --compare``; what runs is in ``ingress.ctl.commands.comparing``."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Final, TypeVar, cast

import click
from attrs import fields
from click.core import ParameterSource

from ingress.ctl.errors import Mistake
from ingress.model.frozen import frozen

F = TypeVar("F", bound=Callable[..., Any])

RATE: Final = 10.0
LIMIT: Final = 3000
TIMEOUT: Final = 10.0
METHODS: Final = "GET,HEAD"
OPTIONS: Final = (
    click.option("--compare", is_flag=True, help="Send requests to both controllers, and show where answers differ."),
    click.option("--theirs", metavar="ADDRESS", help="Where ingress-nginx is: IP address, IP:PORT for http alone, or http=IP:PORT,https=IP:PORT."),
    click.option("--ours", metavar="ADDRESS", help="Where this controller is, in the same form."),
    click.option("--requests", "requests_file", metavar="FILE", type=click.Path(), help="Requests to send in place of those made of the rules: URLs, an access log, JSON lines, or HAR; - for standard input."),
    click.option("--host", "hosts", metavar="HOST", multiple=True, help="The host of lines of --requests that name none; repeatable."),
    click.option("--methods", metavar="LIST", default=METHODS, show_default=True, help="The methods that may be sent."),
    click.option("--rate", metavar="NUMBER", type=float, default=RATE, show_default=True, help="Requests a second, of both sides together."),
    click.option("--limit", metavar="NUMBER", type=int, default=LIMIT, show_default=True, help="Requests at most to each side."),
    click.option("--timeout", metavar="SECONDS", type=float, default=TIMEOUT, show_default=True, help="How long an answer may take."),
    click.option("--credentials", metavar="FILE", type=click.Path(), help="Fields to send, by host: TOML that nobody else may read."),
    click.option("--backend-header", metavar="NAME", default="", help="The field of answers in which backends say who they are."),
    click.option("--accept", metavar="FILE", type=click.Path(), help="Differences that are accepted: TOML."),
    click.option("--verify", is_flag=True, help="Verify certificates; without it none is."),
    click.option("--ca-file", metavar="FILE", type=click.Path(), help="Verify certificates against these authorities, in place of the system's."),
    click.option("--dry-run", is_flag=True, help="Print the requests, and send none."),
)  # fmt: skip


@frozen
class AskedComparison:
    """What is asked for, as it was given."""

    theirs: str | None
    ours: str | None
    requests_file: str | None
    hosts: tuple[str, ...]
    methods: str
    rate: float
    limit: int
    timeout: float
    credentials: str | None
    backend_header: str
    accept: str | None
    verify: bool
    ca_file: str | None
    dry_run: bool


FIELDS: Final = tuple(one.name for one in fields(AskedComparison))


def compare_parameters(command: F) -> F:
    """Give *command* the parameters of a comparison, as ``comparison``: a ``AskedComparison``, None without ``--compare``."""

    @wraps(command)
    def run(*, compare: bool, **others: Any) -> Any:
        given = {name: others.pop(name) for name in FIELDS}
        if not compare:
            context = click.get_current_context()
            for parameter in context.command.params:
                source = context.get_parameter_source(parameter.name or "")
                if parameter.name in FIELDS and source is ParameterSource.COMMANDLINE:
                    raise Mistake(f"{parameter.opts[-1]} is for a comparison: add --compare")
            return command(comparison=None, **others)
        return command(comparison=AskedComparison(**given), **others)

    result: Any = run
    for option in reversed(OPTIONS):
        result = option(result)
    return cast("F", result)
