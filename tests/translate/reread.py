"""Read a snapshot's bytes from standard input in a process of its own, look everything up, and write it again.

``python -m tests.translate.reread`` is what ``test_snapshot_bytes`` runs with other hashes of texts.
"""

import sys

from ingress.translate.snapshot_bytes import snapshot_from_bytes, snapshot_to_bytes


def main() -> None:
    """Read, look up, write."""
    snapshot = snapshot_from_bytes(sys.stdin.buffer.read())
    for route in snapshot.table.routes:
        found = snapshot.table.get(route.host)
        assert found is not None and route in found.routes, route
        for backend in route.backends:
            assert backend in snapshot.backends, backend
    for host, settings in snapshot.handshake_settings.by_host.items():
        assert snapshot.handshake_settings.by_host[host] is settings
    sys.stdout.buffer.write(snapshot_to_bytes(snapshot))


if __name__ == "__main__":
    main()
