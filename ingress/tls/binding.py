"""What pyOpenSSL has no public name for: the one module of ours that reaches into its private binding.

Each function has a contract test, so that another pyOpenSSL which changes what is below
fails there, and not in a handshake.
"""

from collections.abc import Callable

from OpenSSL import SSL
from OpenSSL._util import ffi, lib

ACCESS_DENIED = 49
INTERNAL_ERROR = 80
UNRECOGNIZED_NAME = 112
"""Alerts by their numbers (RFC 8446 section 6, RFC 6066 section 9)."""

Choose = Callable[[SSL.Connection], int | None]
"""Is told of a server name; returns the alert that ends the handshake, or None."""


def restrict_groups(context: SSL.Context, groups: bytes) -> None:
    """Allow only these *groups*, separated by colons, for the key exchange."""
    if lib.SSL_CTX_set1_curves_list(context._context, groups) != 1:
        raise ValueError("OpenSSL does not know one of the groups")


def on_server_name(context: SSL.Context, choose: Choose) -> None:
    """Have *choose* called in each handshake that *context* begins, whether or not a name was sent.

    pyOpenSSL's own callback can refuse a handshake only by an exception, whose traceback it
    prints.  *choose* must not raise.
    """

    def called(ssl: object, alert: list[int], _: object) -> int:
        refusal = choose(SSL.Connection._reverse_mapping[ssl])
        if refusal is None:
            return int(lib.SSL_TLSEXT_ERR_OK)
        alert[0] = refusal
        return int(lib.SSL_TLSEXT_ERR_ALERT_FATAL)

    refused = lib.SSL_TLSEXT_ERR_ALERT_FATAL
    # The context keeps the callback alive, in the place where pyOpenSSL has its own.
    context._tlsext_servername_callback = ffi.callback("int (*)(SSL *, int *, void *)", called, refused)
    lib.SSL_CTX_set_tlsext_servername_callback(context._context, context._tlsext_servername_callback)


def speak_only(context: SSL.Context, protocol: bytes) -> None:
    """Agree on *protocol* with clients that offer it among others, and refuse those that offer others only.

    RFC 7301 section 3.2: without overlap "the server SHALL send a fatal 'no_application_protocol'
    alert".  pyOpenSSL's own callback makes a list of all that is offered by copying
    the rest for each, so that an offer of 64 KiB takes as long as dozens of handshakes.
    """
    entry = bytes((len(protocol),)) + protocol
    chosen = ffi.new("unsigned char[]", protocol)

    def called(
        _: object, out: list[object], size: list[int], offered: object, length: int, __: object
    ) -> int:
        offer = ffi.buffer(offered, length)[:]
        if not _has_entry(offer, entry):
            return int(lib.SSL_TLSEXT_ERR_ALERT_FATAL)
        out[0], size[0] = chosen, len(protocol)
        return int(lib.SSL_TLSEXT_ERR_OK)

    # The context keeps the callback alive, in the place where pyOpenSSL has its own.
    context._alpn_select_callback = ffi.callback(
        "int (*)(SSL *, unsigned char **, unsigned char *, const unsigned char *, unsigned int, void *)",
        called,
        lib.SSL_TLSEXT_ERR_ALERT_FATAL,
    )
    lib.SSL_CTX_set_alpn_select_cb(context._context, context._alpn_select_callback, ffi.NULL)


def _has_entry(offer: bytes, entry: bytes) -> bool:
    """Whether *offer*, names with their lengths before them, has this one."""
    if entry not in offer:
        return False
    at = 0
    while at < len(offer):
        if offer.startswith(entry, at):
            return True
        at += 1 + offer[at]
    return False


def return_after_each_record(connection: SSL.Connection) -> None:
    """Have a read of *connection* return when it took a record without content, and not wait for one with it.

    OpenSSL goes on by itself otherwise, for as long as such records come, and nothing else
    gets a turn.  Only for who is told by the socket that there is more.
    """
    lib.SSL_clear_mode(connection._ssl, lib.SSL_MODE_AUTO_RETRY)


def is_resumed(connection: SSL.Connection) -> bool:
    """Tell whether the handshake goes on with a session of an earlier connection."""
    return bool(lib.SSL_session_reused(connection._ssl))


def words_of(error: int) -> str:
    """Say what OpenSSL's number *error* means, one that the verification of a certificate ended in."""
    text: bytes = ffi.string(lib.X509_verify_cert_error_string(error))
    return text.decode("ascii", "replace")
