"""What becomes of a request on its way to an endpoint.

    upstream_requests.py ──▶ path_rewrites.py ──▶ rewrite_targets.py    fields told in other words; paths that are expressions, and what replaces these
    buffers.py ──▶ bodies.py                                            what is held of requests and answers; how large a body may be
    mirrors.py                                                          who gets a copy

How the endpoint is chosen and spoken to is decided apart from that.
"""
