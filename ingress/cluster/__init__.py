"""Where objects come from: the API server or manifests on disk, and the store that keeps them.

Threads of this room read, decode and project; everything past the delta queue belongs to the
reactor thread alone.  The room knows nothing of routes, certificates in use, or HTTP traffic.
"""
