"""``python -m bench.faults.subject``: ``twistd ingress`` with shorter deadlines, or with a mistake planted in it.

What follows ``--`` are the options of ``twistd ingress``.  ``--limit=NAME=SECONDS`` changes a bound of
``ingress.proxy.limits`` before anything else is imported, so that a script need not wait a minute.
With ``--planted-bug`` the request for ``/bug`` raises in the middle of the proxy, as a mistake of ours would.
"""

import argparse
import sys
from typing import TYPE_CHECKING

from ingress.proxy import limits

if TYPE_CHECKING:
    from ingress.proxy.exchange import Exchange
    from ingress.proxy.resource import IngressProxyResource

BUG = "a bug planted by the fault scripts"


def set_limit(text: str) -> None:
    """Change a bound, given as ``NAME=SECONDS``; one that does not exist is an error."""
    name, _, seconds = text.partition("=")
    if not hasattr(limits, name):
        raise SystemExit(f"there is no limit {name}")
    setattr(limits, name, float(seconds))


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
    parser.add_argument("--limit", action="append", default=[], metavar="NAME=SECONDS")
    parser.add_argument("--planted-bug", action="store_true")
    at = sys.argv.index("--")
    known = parser.parse_args(sys.argv[1:at])
    for limit in known.limit:
        set_limit(limit)
    if known.planted_bug:
        plant_bug()
    from twisted.scripts.twistd import run

    sys.argv[1:] = ["--nodaemon", "--pidfile=", "ingress", *sys.argv[at + 1 :]]
    run()


if __name__ == "__main__":
    main()
