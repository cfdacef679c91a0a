"""Print ``docs/configmap.md``, made from the tables of keys and of options.

``python -m scripts.config_map_page > docs/configmap.md`` brings the page into step after a change of either; a test
says when that is due.
"""

import sys
from collections.abc import Iterator

from ingress.annotations.firewall.family import OPTION
from ingress.options.config_map_keys import KEYS, NEVER_WERE, OTHER_DEFAULTS, ConfigMapKey
from ingress.options.firewall_options import RUNNING
from ingress.options.option import Option
from ingress.options.table import OPTIONS

_HEAD = """\
# The ConfigMap

`--configmap=NAMESPACE/NAME` names a ConfigMap with options, in the words of ingress-nginx: a cluster that comes from there brings
its own along. It is read from the API server, or from `--manifests`, and followed: what is written there is in force within a
second, for all connections and requests to come, and nothing is restarted. What each option does, and its values, is in
[options.md](options.md); what an annotation of the same name does, in [annotations.md](annotations.md). This page is made by
`python -m scripts.config_map_page`; edit `ingress/options/config_map_keys.py` instead.

    apiVersion: v1
    kind: ConfigMap
    metadata: {name: txingress, namespace: txingress}
    data:
      proxy-body-size: 8m
      use-forwarded-headers: "true"
      proxy-real-ip-cidr: 10.0.0.0/8
      hsts-max-age: "31536000"

Values are text, so numbers and booleans stand in quotes. A list has commas or blanks between its values.
A boolean with nothing in it is a problem, and without effect; ingress-nginx takes it for `false`. Blanks around a value do not matter, and seconds may have
fractions, both of which ingress-nginx does not read: it goes on with its default.

## Who has the last word

The default, the ConfigMap, the command line, an annotation: each beats those before it. A key that the command line overrides is
told, unless both say the same. Every key stands for itself: a value that cannot be read costs that key alone, which is then as if it
were not there; where that would let somebody in, everything that it would guard is closed instead. Nothing is remembered of values that
were good before, so a replica that starts anew goes by the same as all others.

- **It is not there at the start**: the command line and the defaults count, and nobody waits. It counts as soon as it is there.
- **It is deleted**: what it said goes on to count until it is there again, since one that is replaced is gone for a moment. A process
  that starts meanwhile knows nothing of it.
- **It must not be read**: no replica is ready before it may; `/readyz` and the log say which right is missing. A right
  that is taken away later changes nothing.
- **It changes all the time**: options are put in force at most once a second, the last word in any case.

All of this is shown at `/api/v1/problems` and in the log, with ConfigMap, key, value and reason; there are no Events, for these are read by
tenants. The reasons are `InvalidOption`, `OptionOverridden`, `OptionAtStart`, `UnsupportedOption`, `OptionNote` and
`ConfigMapNotFound` ([problems.md](problems.md)). A key that there is not is told with the one that is probably meant.

The right to it is `get`, `list` and `watch` of this ConfigMap alone; the Role in `k8s/base/rbac.yaml` has it.

## Where a request comes from

In ingress-nginx five keys say who is believed, and they mean something together; so they do here.

| Said | Believed of the networks in `proxy-real-ip-cidr` |
|---|---|
| nothing | nothing: `X-Forwarded-*` of anybody is replaced |
| `use-forwarded-headers: "true"` | client, scheme, host and port |
| `enable-real-ip: "true"` | who the client is, and nothing else |
| `use-proxy-protocol: "true"` | the PROXY header, which is then required of every connection |
| that, and `use-forwarded-headers: "true"` | the PROXY header; where the address in it is of these networks, too, client, scheme, host and port |

In ingress-nginx `proxy-real-ip-cidr` is about who the client is alone: with `use-forwarded-headers` scheme, host and port are believed of everybody there.

With `use-forwarded-headers`, the host that they say in `X-Forwarded-Host`, of several the first, is also the `Host` that endpoints get, and that of
redirects to HTTPS, as in ingress-nginx: a CDN may ask by another host than its visitors (Azure Front Door, CloudFront). Routes are found by the
`Host` that came. Load balancers that pass on whatever clients say there (AWS's do) let each client choose the `Host` of endpoints; behind these,
`use-forwarded-host: "false"` leaves `Host` as it came. By options it is `--use-forwarded-host=true`. `$http_host` is the host that came, `$best_http_host` the other.

The scheme that they say in `X-Forwarded-Proto` is `http` or `https`; `ws` and `wss`, as Traefik calls those of WebSockets, count as these. Of several,
with commas between them, the first counts, as of ports in `X-Forwarded-Port`. Anything else is as if it were not there, while ingress-nginx passes it on, and so is an empty
`X-Forwarded-Host`. The redirect of `app-root`, and one to a path by a snippet, have that scheme, too; in ingress-nginx they have that of the connection.

So the last two together are for a CDN in front of a load balancer that sends a PROXY header: name the networks of both. Where `proxy-real-ip-cidr` names none, or all
addresses (`0.0.0.0/0`), the client is the one in the PROXY header, while ingress-nginx, in its last releases, takes whoever stands in `X-Forwarded-For`, which any client may write there.
A PROXY header that says nobody (`UNKNOWN`) leaves client and port those of the connection; ingress-nginx tells no port then.

The client is found in `X-Forwarded-For`, or in the field that `forwarded-for-header` names (`CF-Connecting-IP`). Endpoints are told the
client alone in `X-Forwarded-For`, unless `compute-full-forwarded-for` has the list go on; what came is in
`X-Original-Forwarded-For` (in ingress-nginx, what came in the field that is named). Who says a scheme and no port has come to the usual port of that
scheme; in ingress-nginx to ours. Without `proxy-real-ip-cidr` everybody is believed, as in ingress-nginx, and a note says so: name the load
balancers. The same by options is `--trusted-proxies`, `--forwarded-headers`, `--forwarded-for-header` and
`--compute-full-forwarded-for`, where the list goes on unless told otherwise.
"""

_DEFAULTS = """
## Where nothing is said

Most keys have the defaults of ingress-nginx. Of these the value there is another; who depends on it writes it down:

| Key | In ingress-nginx | Here |
|---|---|---|
"""

_HONORED = """
## Keys that are honored

By ingress-nginx's name, or by that of any option that may change while the process runs. *At the start* means that it is decided by
what the ConfigMap says before the first connection.

| Key | Option | Remark |
|---|---|---|
"""

_OTHERS = """
## Keys that are not

Those on the left are told, as a problem or, where nothing is lost, as a note. Values by which nothing is asked for that is not so in any case are silent.

| Key | What is said | Silent |
|---|---|---|
"""

_SILENT = """
These are about the insides of nginx, or of what is told already, and change nothing here, in silence: {names}.

Names that never were are told with the one that is meant: {never}.
"""


def config_map_page() -> str:
    """Return the whole page."""
    return "".join(_parts())


def _parts() -> Iterator[str]:
    yield _HEAD
    yield _DEFAULTS
    yield from (
        f"| `{key}` | `{there}` | `{here}` |\n" for key, (there, here) in sorted(OTHER_DEFAULTS.items())
    )
    yield _HONORED
    rows = {option.name: _own_row(option) for option in OPTIONS.values() if option.running or option.at_start}
    others = {key: row for key, row in KEYS.items() if key not in OPTIONS}
    rows |= {key: _other_row(key, row) for key, row in others.items() if row.option}
    yield from (rows[key] for key in sorted(rows))
    yield _OTHERS
    for key in sorted(others):
        row = others[key]
        if row.told:
            silent = ", ".join(f"`{value}`" for value in row.silent if value)
            yield f"| `{key}` | {row.told}{' (a note)' if row.is_note else ''} | {silent} |\n"
        elif row.remark and not row.option:
            yield f"| `{key}` | {row.remark} | |\n"
    names = ", ".join(f"`{key}`" for key in sorted(others) if others[key] == ConfigMapKey())
    never = ", ".join(f"`{key}` (`{meant}`)" for key, meant in sorted(NEVER_WERE.items()))
    yield _SILENT.format(names=names, never=never)


def _own_row(option: Option) -> str:
    remark = "" if option.running else "at the start"
    if option.name in RUNNING:
        remark = f"without `--{OPTION}` on the command line nothing is inspected, which is a problem of the key ([firewall.md](firewall.md))"
    return f"| `{option.name}` | `--{option.name}` | {remark} |\n"


def _other_row(key: str, row: ConfigMapKey) -> str:
    remarks = filter(None, ("" if OPTIONS[row.option].running else "at the start", row.remark))
    return f"| `{key}` | `--{row.option}` | {'; '.join(remarks)} |\n"


if __name__ == "__main__":
    sys.stdout.write(config_map_page())
