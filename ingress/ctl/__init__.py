"""``ingressctl``: what the controller would do with objects, said before they are served.

It reads the same objects, translates them by the same functions, and prints what comes of it; it serves nothing.
"""
