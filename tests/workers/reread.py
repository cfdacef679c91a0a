"""Read pieces from standard input in a process of its own, look everything up, and write the snapshot's pieces again.

``python -m tests.workers.reread`` is what ``test_feed`` runs with other hashes of texts.  Pieces are lines of hexadecimal digits.
"""

import sys

from ingress.workers.feed.follower import Follower
from ingress.workers.feed.sending import pieces


def main() -> None:
    """Read, look up, write."""
    follower = Follower()
    for line in sys.stdin:
        follower.take(bytes.fromhex(line))
    snapshot = follower.snapshot
    for route in snapshot.table.routes:
        found = snapshot.table.get(route.host)
        assert found is not None and route in found.routes, route
        for backend in route.backends:
            assert backend in snapshot.backends, backend
    for host, settings in snapshot.handshake_settings.by_host.items():
        assert snapshot.handshake_settings.by_host[host] is settings
    for piece in pieces(None, snapshot):
        sys.stdout.write(f"{piece.hex()}\n")


if __name__ == "__main__":
    main()
