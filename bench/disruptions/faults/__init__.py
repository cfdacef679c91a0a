"""What happens when something breaks: fault scripts against ours, and nginx and HAProxy beside it.

``make faults`` plays them and prints what is required and what was measured; ``make soak``
plays the long one.  ``docs/faults.md`` says how they work.  A script breaks one thing and
is one function in ``scripts``; everything else here only helps it to break that, and to count.
The proxies are only ever met over their sockets.
"""
