"""``ingressctl migrate --compare``: what is asked, and what is printed."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from threading import Event
from time import monotonic
from typing import Final, TextIO

from ingress.ctl.commands.compare_parameters import AskedComparison
from ingress.ctl.comparing.accepted import read_accepted
from ingress.ctl.comparing.addresses import SideAddresses, read_addresses
from ingress.ctl.comparing.answers import SideDownError
from ingress.ctl.comparing.asking_both import AskingBoth
from ingress.ctl.comparing.causes import Attribution
from ingress.ctl.comparing.client import Client, client_context
from ingress.ctl.comparing.credentials import NO_CREDENTIALS, Hidden, read_credentials
from ingress.ctl.comparing.differences import Comparing
from ingress.ctl.comparing.generating import generate
from ingress.ctl.comparing.given_requests import Hosts, lines_of, read_requests
from ingress.ctl.comparing.pace import Pace
from ingress.ctl.comparing.report import Report, as_data, as_document, summary
from ingress.ctl.comparing.samples import METHOD, Chooser, Chosen, Sample, only_schemes
from ingress.ctl.comparing.tally import Result, Tally
from ingress.ctl.errors import FINE, FOUND, MISTAKEN, Mistake
from ingress.ctl.inputs.input import Input
from ingress.ctl.lint.linting import lint
from ingress.ctl.pages.html import as_html
from ingress.ctl.pages.markdown import as_markdown
from ingress.ctl.terminal import printable, tell
from ingress.plain_data.secret_fields import tells_of_secrets
from ingress.wording import number_of

_TELL_EVERY: Final = 10.0
"""Seconds between two words on how far it is."""
_wait: Final = Event().wait


def compare(
    asked: AskedComparison,
    given: Input | None,
    output: str,
    clock: Callable[[], float] = monotonic,
    sleep: Callable[[float], object] = _wait,
) -> tuple[str, int]:
    """Send the requests; return the report in the form *output* (``markdown``, ``html`` or ``json``), and the exit status.

    *given* has the objects, None where there are none.  Raises ``Mistake``.
    """
    chosen = _chosen(asked, given, _checked_methods(asked))
    if asked.dry_run:
        return _listed(chosen), FINE
    if not asked.theirs or not asked.ours:
        raise Mistake("--compare needs --theirs ADDRESS and --ours ADDRESS")
    theirs, ours = read_addresses(asked.theirs, "--theirs"), read_addresses(asked.ours, "--ours")
    if {theirs.http, theirs.https} & {ours.http, ours.https} - {None}:
        raise Mistake("--theirs and --ours have an address in common")
    chosen = only_schemes(chosen, [one for one in ("http", "https") if theirs.of(one) and ours.of(one)])
    if not chosen.samples:
        left = "; ".join(f"{count} {why}" for why, count in chosen.left_out)
        raise Mistake(f"there is no request to send{f'; left out: {left}' if left else ''}")
    result, ended, was_slowed = _ask(asked, chosen, theirs, ours, clock, sleep)
    attribution = Attribution(given, None if given is None else lint(given))
    report = Report(
        str(theirs), str(ours), chosen, result, attribution, asked.backend_header, ended, was_slowed
    )
    tell(printable(summary(report)))
    if result.differing:
        return _text(report, output), FOUND
    return _text(report, output), MISTAKEN if ended else FINE


def _ask(
    asked: AskedComparison,
    chosen: Chosen,
    theirs: SideAddresses,
    ours: SideAddresses,
    clock: Callable[[], float],
    sleep: Callable[[float], object],
) -> tuple[Result, str, bool]:
    """Send all of *chosen*; return what came of it, why it ended before the last, and whether it was slowed down."""
    credentials = NO_CREDENTIALS if asked.credentials is None else read_credentials(asked.credentials)
    tally = Tally(() if asked.accept is None else read_accepted(asked.accept))
    try:
        context = client_context(asked.verify or asked.ca_file is not None, asked.ca_file)
    except OSError as error:
        raise Mistake(f"--ca-file {asked.ca_file}: {_why(error)}") from None
    hidden = Hidden(credentials, chosen.samples)
    they, we = (
        Client(name, one, context, asked.timeout, clock, credentials, hidden)
        for name, one in (("theirs", theirs), ("ours", ours))
    )
    comparing = Comparing(theirs.ports | ours.ports, asked.backend_header)
    pace = Pace(asked.rate, clock, sleep)
    pairs = AskingBoth(they, we, pace, comparing.differ).pairs(chosen.samples)
    count = len(chosen.samples)
    tell(
        f"{number_of(count, 'request')} to each side, at most {asked.rate:g} a second of both together:"
        f" {_duration(2 * count / asked.rate)}; Ctrl-C ends it with what there is"
    )
    told = clock()
    ended = ""
    try:
        for number, pair in enumerate(pairs, 1):
            tally.add(comparing.compare(pair))
            if clock() - told >= _TELL_EVERY:
                told = clock()
                tell(f"{number} of {count}")
    except SideDownError as error:
        ended = str(error)
    except KeyboardInterrupt:
        ended = "interrupted"
    return tally.result(), ended, pace.was_slowed


def _why(error: OSError) -> str:
    return (
        error.strerror
        if isinstance(error.strerror, str) and error.filename
        else "there are no certificates of authorities in it"
    )


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"about {seconds / 60:.0f} minutes"


def _checked_methods(asked: AskedComparison) -> list[str]:
    """Return the methods that may be sent; raises ``Mistake`` for these, and for numbers that are none to go by."""

    methods = [one.strip().upper() for one in asked.methods.split(",") if one.strip()]
    if not methods or not all(METHOD.fullmatch(one) and one != "CONNECT" for one in methods):
        raise Mistake(f"--methods {asked.methods!r}: write methods such as GET,HEAD,OPTIONS")
    for name, value, least, most in (
        ("--rate", asked.rate, 0.01, 1000),
        ("--limit", asked.limit, 1, 1_000_000),
        ("--timeout", asked.timeout, 0.01, 600),
    ):
        if not least <= value <= most:
            raise Mistake(f"{name} {value:g}: it may be from {least:g} to {most:g}")
    return methods


def _chosen(asked: AskedComparison, given: Input | None, methods: list[str]) -> Chosen:
    if asked.requests_file is None:
        if given is None:
            raise Mistake("name manifests or --live, of whose rules requests are made, or --requests FILE")
        return generate(given, methods, asked.limit)
    name = f"--requests {asked.requests_file}"
    with _opened(asked.requests_file) as file:
        return read_requests(lines_of(file), Hosts(asked.hosts, given), Chooser(asked.limit, methods), name)


@contextmanager
def _opened(path: str) -> Iterator[TextIO]:
    """Open *path*, ``-`` for standard input; what is no UTF-8 is read as something that is never sent."""
    if path == "-":
        if sys.stdin is None:
            raise Mistake("--requests -: standard input is closed")
        yield TextIOWrapper(sys.stdin.buffer, encoding="utf-8", errors="replace")
        return
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            yield file
    except OSError as error:
        raise Mistake(f"--requests {path}: {error.strerror}") from None


def _listed(chosen: Chosen) -> str:
    """Return the requests, a line each, and tell what is left out."""
    for why, count in chosen.left_out:
        tell(printable(f"left out: {count} {why}"))
    return "\n".join(map(_line, chosen.samples))


def _line(sample: Sample) -> str:
    """Return *sample* as ``--requests`` reads it; but for values of fields that are secret."""
    if sample.fields:
        fields = {name: "(hidden)" if tells_of_secrets(name) else value for name, value in sample.fields}
        return json.dumps({"method": sample.method, "url": sample.url, "headers": fields})
    return printable(sample.url if sample.method == "GET" else f"{sample.method} {sample.url}")


def _text(report: Report, output: str) -> str:
    if output == "json":
        return json.dumps(as_data(report), indent=2)
    document = as_document(report)
    return as_html(document) if output == "html" else as_markdown(document)
