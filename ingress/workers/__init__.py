"""Worker processes: several data planes beside each other, of which their parent is the control plane.

    parent ──fork──▶ fork server ──fork──▶ worker 0, worker 1, …
      │  snapshots in pieces (feed/)     ▲         ▲
      └──────────────────────────────────┴─────────┘

The parent holds the listening sockets, watches the cluster and translates once.

    pool.py         the parent's side: all workers as one data plane      worker_link.py: one of them
    worker.py       the worker's own side
    messages.py     what they say to each other                           shared_page.py: what they need not say
    forking/        how workers come to be
    feed/           snapshots on their way to them
    accepting/      which of them takes a connection
    slots/          that each place has a worker: one is started, makes way, hangs, ends   supervising.py: when
    telling/        what they counted, logged and failed at, on its way to the parent
"""
