"""By which table a request is explained: that of the command line's listeners, or that of Gateways on its port.

The more specific host decides, as on a port that both share.  Where Gateways have addresses of their own, and several of them have the
host on that port, a client has chosen among these by the address: then the first of them by name is explained.
"""

from attrs import evolve

from ingress.model.network.listeners import MAIN
from ingress.routing.side_by_side import how_specific
from ingress.translate.gateway.claims import is_of_gateways
from ingress.translate.snapshot import Snapshot


def table_for(snapshot: Snapshot, port: int, host: bytes) -> str:
    """Return the name of the table by which requests for *host*, in normal form, that come to *port* are answered."""
    found, says = MAIN, how_specific(snapshot.table.host_of(host))
    for name in sorted(snapshot.others):
        if is_of_gateways(name) and name.endswith(f":{port}"):
            other = how_specific(snapshot.others[name].routes.host_of(host))
            if other > says:
                found, says = name, other
    return found


def served_by_table(snapshot: Snapshot, name: str) -> Snapshot:
    """Return *snapshot* as it would be if the table *name* were that of the command line's listeners."""
    if name == MAIN:
        return snapshot
    table = snapshot.others[name]
    return evolve(
        snapshot,
        table=table.routes,
        certificates=table.certificates,
        handshake_settings=table.handshake_settings,
    )
