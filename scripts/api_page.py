"""Print ``docs/api.md``, made from the table of pages of the admin port.

``python -m scripts.api_page > docs/api.md`` brings the page into step after a change of a row; a test says when that is due.
"""

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from ingress.admin.contract.page_row import PageRow
from ingress.admin.contract.parameters import Parameter
from ingress.admin.table import PAGES
from scripts.markdown import cell

_HEAD = """\
# The pages of the admin port

What a controller serves, and how it is, for people and programs: at `--admin` (`http://127.0.0.1:10254` unless it says otherwise). This
page is made by `python -m scripts.api_page` from the rows of `ingress/admin/table.py`; edit these instead. A running controller has
the same as a document of OpenAPI 3.1 at `/api/v1/openapi.json`.

    curl 'http://127.0.0.1:10254/api/v1/routes?namespace=shop&limit=100'

Pages are read alone: `GET` and `HEAD`, nothing else. None shows a key, a password, a token or what else a Secret has.

## Pages of lists

A list comes as `{"NAME": [...], "next": TOKEN, "snapshot": NUMBER}`. With `limit` (1 to 1000) there are at most so many entries in it, and `next`
says what `after` is to be for the next page; it is null on the last one. A token names the place of an entry, and not its number:
whatever is published between two pages, no entry comes twice, and none is left out that was there all the time. Without `limit` all of it
comes, made in slices of 0.15 ms. Of 10,000 routes the first page of 100 takes 0.1 s, since all of them are put in order for it, and each
further one 6 ms, until half a minute after the last look. No list holds the reactor longer than 2 ms: `make bench-admin` prints all that. Entries are sorted, and `snapshot` is the number of the snapshot they are of, so that a
program sees whether two pages are of the same one.

Pages that follow from the snapshot alone have an `ETag`: asked with `If-None-Match` they answer 304 as long as nothing was published.

A query that names a parameter that there is not, or says what one cannot be, is answered 400 with `{"error": SENTENCE}`, which names the
parameter and what it may be. Times are in UTC with milliseconds, as in the logs: `2026-11-22T16:40:00.125Z`; those
that objects of the cluster have, as these have them. Within `/api/v1/`, fields and parameters may join,
and none goes or changes its meaning.

## Who may ask

Whoever gets to the port, as long as it does not say otherwise; so it listens on the loopback address alone, unless `--admin` says more.
Three things hold whatever it says:

- It is asked by an IP address, as `localhost`, or by a name of `--admin-host`; any other name gets 421, so that no web page has its own name lead here.
- Web pages of other origins get 403, by what their browsers say of them (`Sec-Fetch-Site`, `Origin`), and no answer allows them to read it. A
  link that somebody follows to `/` shows it; to follow one to another of these pages, open the address in a tab of its own.
- All answers have `X-Content-Type-Options: nosniff`, `Cross-Origin-Resource-Policy: same-origin`, `Referrer-Policy: no-referrer`, and a
  `Content-Security-Policy` by which nobody embeds them.

`--admin-token-file=PATH` is for ports that others get to. The file has a token in each line: 16 or more printable characters of ASCII, without
spaces; empty lines and those that begin with `#` count for nothing. From then on whoever asks from another machine has to say one of them:

    curl -H "Authorization: Bearer $(head -n1 tokens)" http://10.0.0.7:10254/api/v1/status

Browsers ask for a name and a password: the token is the password, the name may be anything. Whoever asks from a loopback address, or by a UNIX socket, needs none; where `--admin`
begins with `haproxy:`, everybody does, for there a header says who asks. Without a token `/healthz` and `/readyz` alone are answered, for a kubelet has none, and all
else is 401. The file is read again within a second when it is another one, so a Secret that is mounted may be changed. At the start
a file without tokens is an error; later it is told in the log, and nobody gets in by a token until there are some. A token goes over the network as it
is: let a network in which others listen have TLS before the port, or `kubectl port-forward`.

A wrong token is answered after a second. Four of one address wait so at most (of one IPv6 network of 64 bits), 256 in all, and beyond that no token is looked
at, and the answer is 429: so nobody tries more than four tokens a second from one address, however quickly he asks or leaves. `ingress_admin_refused_total` counts who
was refused and why, and the log has a line a minute at most.

The port of `--probes` needs no token: it shows `/healthz`, `/readyz` and `/metrics` to a kubelet and to Prometheus, and nothing else. Whoever wants the
metrics to be seen by some alone leaves `--probes` out and has Prometheus ask the admin port with a token, or says by a NetworkPolicy who may get to it.

"""


def api_page() -> str:
    """Return the whole page."""
    return "".join(_parts())


def _parts() -> Iterator[str]:
    yield _HEAD
    yield "## All pages\n\n| Page | What it is | `--probes` |\n|---|---|---|\n"
    for row in PAGES:
        path = (
            f"[`{row.path}`](#{_anchor(row)})"
            if row.schema and row.schema.get("properties")
            else f"`{row.path}`"
        )
        yield f"| {path} | {cell(row.meaning)} | {'✓' if row.is_probe else ''} |\n"
    for row in PAGES:
        if row.schema and row.schema.get("properties"):
            yield from _section(row)


def _anchor(row: PageRow) -> str:
    return "".join(one for one in row.path.lower() if one.isalnum() or one in "-_")


def _section(row: PageRow) -> Iterator[str]:
    assert row.schema is not None
    yield f"\n## `{row.path}`\n\n{row.meaning[0].upper()}{row.meaning[1:]}.\n"
    if row.parameters:
        yield "\n| Parameter | What it may be | What it means |\n|---|---|---|\n"
        for parameter in row.parameters:
            yield f"| `{parameter.name}` | {cell(_may_be(parameter))} | {cell(parameter.meaning)} |\n"
    yield "\n| Field | What it is | What it means |\n|---|---|---|\n"
    for name, sort, meaning in _fields("", row.schema, set()):
        yield f"| `{name}` | {cell(sort)} | {cell(meaning)} |\n"


def _may_be(parameter: Parameter) -> str:
    often = ", any number of times" if parameter.may_repeat else ""
    always = "; it must be there" if parameter.missing else ""
    if len(parameter.choices) > 8:
        return f"one of {len(parameter.choices)} words{often}{always}"
    return f"{parameter.may_be}{often}{always}"


def _fields(path: str, schema: Mapping[str, Any], told: set[int]) -> Iterator[tuple[str, str, str]]:
    """Yield the path, the sort and the meaning of each field of *schema*, those inside of others behind them.

    What stands in several places is taken apart in the first of them.
    """
    inner = schema
    if "anyOf" in inner:
        inner = inner["anyOf"][0]
    if inner.get("type") == "array" and "items" in inner and isinstance(inner["items"], Mapping):
        yield from _fields(f"{path}[]", inner["items"], told)
    fields = inner.get("properties", {})
    if id(fields) in told:
        return
    told.add(id(fields))
    for name, field in fields.items():
        at = f"{path}.{name}" if path else name
        yield at, _sort(field), field.get("description", "")
        yield from _fields(at, field, told)


def _sort(schema: Mapping[str, Any]) -> str:
    if "anyOf" in schema:
        return f"{_sort(schema['anyOf'][0])} or null"
    sort = schema.get("type", "")
    null = ""
    if isinstance(sort, list):
        sort, null = sort[0], " or null"
    if "enum" in schema:
        words = [f"`{one}`" for one in schema["enum"] if one]
        also = " or nothing" if "" in schema["enum"] else ""
        return (", ".join(words) if len(words) <= 9 else "a word") + also + null
    if sort == "array":
        items = schema.get("items")
        return (f"list of {_sort(items)}" if isinstance(items, Mapping) else "list") + null
    words_of = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}
    if schema.get("format") == "date-time":
        return f"time{null}"
    return words_of.get(sort, "object") + null


if __name__ == "__main__":
    sys.stdout.write(api_page())
