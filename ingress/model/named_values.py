"""The value of one name out of a text that has many: of a cookie, or of a parameter of the query.

Whoever writes such a text is a stranger: a name may come twice, lack its value, or be escaped.  The first
one counts, nothing is decoded, and what is not there is empty, as nginx's ``$cookie_NAME`` and ``$arg_NAME`` are.
"""


def cookie_value(field: bytes, name: bytes) -> bytes:
    """Return the cookie *name* of a ``Cookie`` field (RFC 6265 section 4.2); names are compared as they are."""
    for pair in field.split(b";"):
        called, _, value = pair.strip().partition(b"=")
        if called == name:
            return value
    return b""


def query_value(target: bytes, name: bytes) -> bytes:
    """Return the parameter *name* of the query of *target*; as in nginx, in upper or lower case."""
    lowered = name.lower()
    for pair in target.partition(b"?")[2].split(b"&"):
        called, _, value = pair.strip().partition(b"=")
        if called.lower() == lowered:
            return value
    return b""
