"""Worker processes: several data planes beside each other, of which their parent is the control plane.

    parent ──fork──▶ fork server ──fork──▶ worker 0, worker 1, …
      │  snapshots in pieces (feed/)     ▲         ▲
      └──────────────────────────────────┴─────────┘

The parent holds the listening sockets, watches the cluster and translates once.
"""
