"""``python -m bench.faults.subject``: ``twistd ingress`` with other limits, or with a mistake planted in it.

What follows ``--`` are the options of ``twistd ingress``.  ``--limit=NAME=VALUE`` changes a value of
``ingress.model.limits.Limits``, or ``upstream.NAME`` one of its timeouts for endpoints, so that a script need
not wait a minute.  With ``--planted-bug`` the request for ``/bug`` raises in the middle of the proxy, as a
mistake of ours would.
"""

import argparse
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attrs import asdict, evolve, fields

from ingress.model.limits import Limits
from ingress.settings import Settings

if TYPE_CHECKING:
    from ingress.proxy.exchange import Exchange
    from ingress.proxy.resource import IngressProxyResource

BUG = "a bug planted by the fault scripts"
_UPSTREAM = "upstream."


def limited(limits: Limits, chosen: Mapping[str, float]) -> Limits:
    """Return *limits* with the values that are *chosen*.  Raises ValueError for a limit that does not exist."""
    own = {name: value for name, value in chosen.items() if not name.startswith(_UPSTREAM)}
    upstream = {name.removeprefix(_UPSTREAM): chosen[name] for name in chosen if name not in own}
    for names, known in ((own, limits), (upstream, limits.upstream)):
        for name in names:
            if name not in asdict(known):
                raise ValueError(f"there is no limit {name}")
    changes: dict[str, Any] = {**own, "upstream": evolve(limits.upstream, **upstream)}
    return evolve(limits, **changes)


def with_limits(settings: Settings, chosen: Mapping[str, float]) -> Settings:
    """Return *settings* with other limits, wherever they hold them."""
    for field in fields(Settings):
        value = getattr(settings, field.name)
        if isinstance(value, Limits):
            changes: dict[str, Any] = {field.name: limited(value, chosen)}
            return evolve(settings, **changes)
    raise ValueError("there are no limits in the settings")


def set_limits(texts: list[str]) -> None:
    """Let ``twistd ingress`` have these limits, each given as ``NAME=VALUE``."""
    from ingress.tap import Options

    chosen = {name: float(value) for name, _, value in (text.partition("=") for text in texts)}
    settings = Options.settings

    def changed(options: Options) -> Settings:
        return with_limits(settings(options), chosen)

    Options.settings = changed  # type: ignore[method-assign,assignment]


def plant_bug() -> None:
    """Let requests for ``/bug`` raise where the route is looked up."""
    from ingress.proxy.resource import IngressProxyResource

    render = IngressProxyResource.render

    def mistaken(resource: "IngressProxyResource", exchange: "Exchange") -> int:
        if exchange.path == b"/bug":
            raise RuntimeError(BUG)
        return render(resource, exchange)

    IngressProxyResource.render = mistaken  # type: ignore[method-assign,assignment]


def main() -> None:
    """Change what is asked for, and run."""
    parser = argparse.ArgumentParser(prog="python -m bench.faults.subject", description=__doc__)
    parser.add_argument("--limit", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--planted-bug", action="store_true")
    at = sys.argv.index("--")
    known = parser.parse_args(sys.argv[1:at])
    if known.limit:
        set_limits(known.limit)
    if known.planted_bug:
        plant_bug()
    from twisted.scripts.twistd import run

    sys.argv[1:] = ["--nodaemon", "--pidfile=", "ingress", *sys.argv[at + 1 :]]
    run()


if __name__ == "__main__":
    main()
