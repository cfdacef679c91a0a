"""``python -m bench.disruptions.faults.subject``: ``twistd ingress`` with a mistake planted in it.

The arguments are the options of ``twistd ingress``.  The request for ``/bug`` raises in the middle of the
proxy, as a mistake of ours would.
"""

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ingress.proxy.dispatch.resource import IngressProxyResource
    from ingress.proxy.exchange.exchange import Exchange

BUG = "a bug planted by the fault scripts"


def plant_bug() -> None:
    """Let requests for ``/bug`` raise where the route is looked up."""
    # Not above: the scripts read this module, too, and need no proxy in their process.
    from ingress.proxy.dispatch.resource import IngressProxyResource

    render = IngressProxyResource.render

    def mistaken(resource: "IngressProxyResource", exchange: "Exchange") -> int:
        if exchange.path == b"/bug":
            raise RuntimeError(BUG)
        return render(resource, exchange)

    IngressProxyResource.render = mistaken  # type: ignore[method-assign,assignment]


def main() -> None:
    """Plant the bug, and run."""
    plant_bug()
    from twisted.scripts.twistd import run

    sys.argv[1:] = ["--nodaemon", "--pidfile=", "ingress", *sys.argv[1:]]
    run()


if __name__ == "__main__":
    main()
