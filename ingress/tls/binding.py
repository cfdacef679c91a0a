"""What pyOpenSSL has no public name for: the one module of ours that reaches into its private binding.

Each function has a contract test, so that another pyOpenSSL which changes what is below
fails there, and not in a handshake.
"""

import socket
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any, Final

from mypy_extensions import mypyc_attr
from OpenSSL import SSL, crypto
from OpenSSL._util import ffi, lib
from OpenSSL.SSL import Connection

ACCESS_DENIED = 49
UNRECOGNIZED_NAME = 112
"""Alerts by their numbers (RFC 8446 section 6, RFC 6066 section 9)."""

WANT_READ: Final = int(lib.SSL_ERROR_WANT_READ)
WANT_WRITE: Final = int(lib.SSL_ERROR_WANT_WRITE)

# Filled in by each call that asks; all of this is for one thread.
_agreed = ffi.new("unsigned char **")
_agreed_size = ffi.new("unsigned int *")

_USUAL_MODES: Final = int(lib.SSL_MODE_ENABLE_PARTIAL_WRITE | lib.SSL_MODE_AUTO_RETRY)

RECORD_BYTES: Final = 16 * 1024
"""The most that a record holds (RFC 8446 section 5.1)."""
MOST_RECORDS: Final = 16
"""Those are received at once; then others have their turn.  Each may be of an octet: a peer that sends a message a record is read by the turn, and not by the record."""
# Nothing is written into it before it is used, so it is no memory of a process that receives little.
_ROOM = ffi.new_allocator(should_clear_after_alloc=False)("char[]", MOST_RECORDS * RECORD_BYTES)
_make_memory: Final = lib.BIO_s_mem()
_FLIGHT: Final = ffi.new_allocator(should_clear_after_alloc=False)("char[]", RECORD_BYTES)
_where: Final = ffi.new("char **")
_LENT: Final = memoryview(ffi.buffer(_ROOM))
_is_lent = False
"""Whether somebody still takes what was received last from there."""

MESSAGE: Final = SSL.Error("a message of the handshake")
"""What follows the records that were received, where that is a message of the handshake behind the handshake."""
_LOOP: Final = int(lib.SSL_CB_LOOP)
_EXIT: Final = int(lib.SSL_CB_EXIT)

_SHORT_OFFER: Final = 64
"""Bytes of an offer of protocols that may be remembered."""
_OFFERS: Final = 64

Choose = Callable[[SSL.Connection], int | None]
"""Is told of a server name; returns the alert that ends the handshake, or None."""

Judge = Callable[[SSL.Connection, crypto.X509, int, int, int], bool]
"""Is told of a connection, one of the certificates that its peer shows, OpenSSL's number of what is wrong with it, how many steps above
the peer's own it is, and whether nothing is wrong; returns whether to go on.  It must not raise."""

_stepping: SSL.Connection | None = None
"""Whose handshake takes a step at present."""

_receiving: Final = [False]
"""Whether a connection on a socket is being read (an item of a list is set in a third of the time that a global is), ..."""
_turned: tuple[Any, Any] | None = None
"""... and the memory that it was put on meanwhile, as it has met a message of the handshake, ..."""
_is_amid = False
"""... whether a part of that is still to come, ..."""
_messages = 0
"""... and how many came to their end since it was put there, or was given more."""


@mypyc_attr(native_class=False)
class ServerConnection(Connection):
    """A connection as pyOpenSSL's own; for a socket it takes a quarter of the time to make.

    It reads and writes the socket once it is put on it (``put_on_socket``), and may hear what comes otherwise until then (``hear``).
    There it is in no table by which callbacks would find it: that of ``on_server_name`` finds it where ``step`` takes the
    handshake, and others after ``be_found``.
    """

    _into_ssl = None
    _from_ssl = None

    def __init__(self, context: SSL.Context, sock: socket.socket | None) -> None:
        if sock is None or context._verify_helper is not None:
            SSL.Connection.__init__(self, context, sock)
            return
        context._used = True
        ssl = lib.SSL_new(context._context)
        if ssl == ffi.NULL:
            lib.ERR_clear_error()
            raise MemoryError("OpenSSL makes no connection")
        self._ssl = ffi.gc(ssl, lib.SSL_free)
        self._context = context
        self._socket = sock

    def do_handshake(self) -> None:
        """Take a step as any connection of pyOpenSSL."""
        be_found(self)
        SSL.Connection.do_handshake(self)


# What pyOpenSSL has none of at the beginning is said once, and not for each connection.
for _name, _value in vars(SSL.Connection(SSL.Context(SSL.TLS_METHOD))).items():
    if _value is None:
        setattr(ServerConnection, _name, None)


def be_found(connection: SSL.Connection) -> None:
    """Have pyOpenSSL's callbacks find *connection*, which they do where pyOpenSSL has made it."""
    SSL.Connection._reverse_mapping[connection._ssl] = connection


def restrict_groups(context: SSL.Context, groups: bytes) -> None:
    """Allow only these *groups*, separated by colons, for the key exchange; ``ValueError`` if OpenSSL lacks one.

    By "curves" OpenSSL once meant what it calls groups now; a client also sends a key for those with an asterisk.
    """
    if lib.SSL_CTX_set1_curves_list(context._context, groups) != 1:
        # What is left in the queue would be raised by whatever asks OpenSSL next.
        lib.ERR_clear_error()
        raise ValueError("OpenSSL does not know one of the groups")


def name_authority(context: SSL.Context, authority: crypto.X509) -> None:
    """Name *authority* to clients that are asked for a certificate.

    pyOpenSSL's own method wants another type, and makes this one of it anew, which takes longer than all the rest.
    """
    if lib.SSL_CTX_add_client_CA(context._context, authority._x509) != 1:
        raise ValueError("OpenSSL does not take the name of an authority")


def add_list(store: crypto.X509Store, octets: bytes) -> None:
    """Have *store* go by the revocation list *octets*, in DER; raises ``ValueError`` where OpenSSL does not take it.

    pyOpenSSL reads lists from files in PEM alone, which takes twice as long.
    """
    memory = ffi.gc(lib.BIO_new_mem_buf(ffi.from_buffer(octets), len(octets)), lib.BIO_free)
    crl = ffi.gc(lib.d2i_X509_CRL_bio(memory, ffi.NULL), lib.X509_CRL_free)
    if crl == ffi.NULL or lib.X509_STORE_add_crl(store._store, crl) != 1:
        lib.ERR_clear_error()
        raise ValueError("OpenSSL does not take a revocation list")


def share_store(context: SSL.Context, store: crypto.X509Store) -> None:
    """Have *context* go by *store*, which others may go by as well."""
    if lib.X509_STORE_up_ref(store._store) != 1:
        raise MemoryError("OpenSSL shares no store")
    # It is the context's from now on, in place of the one that it was made with.
    lib.SSL_CTX_set_cert_store(context._context, store._store)


def on_server_name(context: SSL.Context, choose: Choose) -> None:
    """Have *choose* called in each handshake that *context* begins, whether or not a name was sent.

    pyOpenSSL's own callback can refuse a handshake only by an exception, whose traceback it
    prints.  *choose* must not raise.
    """

    def called(ssl: object, alert: Any, _: object) -> int:
        connection = _stepping
        if connection is None or connection._ssl != ssl:
            connection = SSL.Connection._reverse_mapping[ssl]
        refusal = choose(connection)
        if refusal is None:
            return int(lib.SSL_TLSEXT_ERR_OK)
        alert[0] = refusal
        return int(lib.SSL_TLSEXT_ERR_ALERT_FATAL)

    refused = lib.SSL_TLSEXT_ERR_ALERT_FATAL
    # The context keeps the callback alive, in the place where pyOpenSSL has its own, which is of another type.
    keeper: Any = context
    callback = keeper._tlsext_servername_callback = ffi.callback(
        "int (*)(SSL *, int *, void *)", called, refused
    )
    lib.SSL_CTX_set_tlsext_servername_callback(context._context, callback)


def judge_certificates(connection: SSL.Connection, mode: int, judge: Judge) -> None:
    """Have *judge*, a function that lives as long as the process, see the certificates that the peer of *connection* shows.

    pyOpenSSL makes a callback for each connection, which keeps itself, and all that it knows: a cycle, and memory that may be executed.
    """
    judging = _judging(judge)
    # What pyOpenSSL does with a callback of its own.
    connection._verify_helper, connection._verify_callback = judging, judging.callback
    lib.SSL_set_verify(connection._ssl, mode, judging.callback)


@cache
def _judging(judge: Judge) -> Any:
    return SSL._VerifyHelper(judge)


def bind_sessions(context: SSL.Context, whose: bytes) -> None:
    """Have connections that begin on *context* from now on resume only sessions that began with the same *whose*, up to 32 bytes.

    pyOpenSSL changes no context on which a connection has begun, since another thread may begin one meanwhile.  All of
    this is for one thread, and connections that have begun keep what they had.
    """
    if lib.SSL_CTX_set_session_id_context(context._context, whose, len(whose)) != 1:
        lib.ERR_clear_error()
        raise ValueError("OpenSSL takes no more than 32 bytes")


def speak(context: SSL.Context, protocols: tuple[bytes, ...], before_tls_1_3: tuple[bytes, ...]) -> None:
    """Agree with a client on the first of *protocols* that it offers, wherever that stands in its offer.

    Under older versions than TLS 1.3 the choice is among *before_tls_1_3*.  Who offers others only is
    refused (RFC 7301 section 3.2: "the server SHALL send a fatal 'no_application_protocol' alert"),
    and who offers nothing is not asked.  OpenSSL asks the context that the connection was switched to.

    pyOpenSSL's own callback makes a list of all that is offered by copying the rest for each,
    so that an offer of 64 KiB takes as long as dozens of handshakes.
    """
    # The context keeps the callback alive, in the place where pyOpenSSL has its own, which is of another type.
    keeper: Any = context
    callback = keeper._alpn_select_callback = _selection(protocols, before_tls_1_3)
    lib.SSL_CTX_set_alpn_select_cb(context._context, callback, ffi.NULL)


@cache
def _selection(protocols: tuple[bytes, ...], before_tls_1_3: tuple[bytes, ...]) -> Any:
    """Make the callback that chooses; all contexts that choose alike have the same one."""
    memory = {name: ffi.new("unsigned char[]", name) for name in protocols + before_tls_1_3}

    def called(ssl: object, out: Any, size: Any, offered: object, length: int, _: object) -> int:
        is_old = lib.SSL_version(ssl) < SSL.TLS1_3_VERSION
        first = _first_of_short if length <= _SHORT_OFFER else first_offered
        name = first(before_tls_1_3 if is_old else protocols, ffi.buffer(offered, length)[:])
        if name is None:
            return int(lib.SSL_TLSEXT_ERR_ALERT_FATAL)
        out[0], size[0] = memory[name], len(name)
        return int(lib.SSL_TLSEXT_ERR_OK)

    return ffi.callback(
        "int (*)(SSL *, unsigned char **, unsigned char *, const unsigned char *, unsigned int, void *)",
        called,
        lib.SSL_TLSEXT_ERR_ALERT_FATAL,
    )


def first_offered(protocols: Sequence[bytes], offer: bytes) -> bytes | None:
    """Return the first of *protocols* that is in *offer*, names with their lengths before them; None without any."""
    names: set[bytes] = set()
    at = 0
    while at < len(offer):
        end = at + 1 + offer[at]
        names.add(offer[at + 1 : end])
        at = end
    for name in protocols:
        if name in names:
            return name
    return None


_first_of_short = lru_cache(_OFFERS)(first_offered)
"""Browsers and programs offer the same each time."""


def suit_socket(connection: SSL.Connection, accepts: bool = False) -> None:
    """Have *connection*, on a socket that does not block, write all it is given and read no more than there is; if it *accepts*, as a server.

    A write sends all records of what it is given, or is to be repeated with the same bytes: OpenSSL returns after each record otherwise, and
    calling it again for each costs as much as encrypting one.  Where the bytes are may change
    (``SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER``, which pyOpenSSL sets).

    A read returns when it took a record without content, and does not wait for one with it.  OpenSSL goes on by itself otherwise, for as
    long as such records come, and nothing else gets a turn.  Only for who is told by the socket that there is more.
    """
    lib.SSL_clear_mode(connection._ssl, _USUAL_MODES)
    if accepts:
        lib.SSL_set_accept_state(connection._ssl)


def hear(connection: SSL.Connection, octets: bytes) -> tuple[int, bytes, SSL.Error | None]:
    """Have *connection* read *octets* instead of its socket, and take a step of the handshake, which reads all of them unless it fails.

    Return what it waits for, as ``step`` does; what it says; and how the handshake has failed, which is also said.  *octets* are read
    where they are: they are to be kept until the connection hears something else, or is put on its socket.
    """
    read, write = lib.BIO_new_mem_buf(octets, len(octets)), lib.BIO_new(_make_memory)
    if not read or not write:
        lib.ERR_clear_error()
        raise MemoryError("OpenSSL makes no memory to read and write")
    # At the end of the octets there is no end of what is read.
    lib.BIO_set_mem_eof_return(read, -1)
    lib.SSL_set_bio(connection._ssl, read, write)
    try:
        return step(connection), written(write), None
    except SSL.Error as problem:
        # With its traceback it would be a cycle with whoever is told, and keep the connection.
        return WANT_READ, written(write), problem.with_traceback(None)


def _put_on_memory(ssl: Any) -> tuple[Any, Any] | None:
    """Have *ssl* read and write memory instead of its socket; return both, None where there is none.

    They are OpenSSL's, and gone with the connection or once it is put on a socket again.
    """
    read, write = lib.BIO_new(_make_memory), lib.BIO_new(_make_memory)
    if not read or not write:
        return None
    lib.SSL_set_bio(ssl, read, write)
    return read, write


def feed(memory: Any, octets: bytes) -> None:
    """Have *memory*, which a connection reads, hold *octets* behind what it holds."""
    if lib.BIO_write(memory, octets, len(octets)) != len(octets):
        lib.ERR_clear_error()
        raise MemoryError("OpenSSL takes no more")


def written(memory: Any) -> bytes:
    """Take what a connection has written into *memory*."""
    size = int(lib.BIO_read(memory, _FLIGHT, RECORD_BYTES))
    taken: bytes = ffi.unpack(_FLIGHT, size) if size > 0 else b""
    while size == RECORD_BYTES:
        size = int(lib.BIO_read(memory, _FLIGHT, RECORD_BYTES))
        taken += ffi.unpack(_FLIGHT, size) if size > 0 else b""
    return taken


def asks_for_certificate(connection: SSL.Connection) -> bool:
    """Whether the peer of *connection* is to show a certificate, by the context that it has by now."""
    return bool(lib.SSL_get_verify_mode(connection._ssl) != SSL.VERIFY_NONE)


def put_on_socket(connection: SSL.Connection, sock: socket.socket) -> None:
    """Have *connection* read and write *sock*."""
    if lib.SSL_set_fd(connection._ssl, sock.fileno()) != 1:
        lib.ERR_clear_error()
        raise MemoryError("OpenSSL does not take a socket")


def hear_messages(connection: SSL.Connection) -> None:
    """Have ``receive`` stop at messages of the handshake of *connection* that come behind it, which is over.

    OpenSSL reads one to its end in one call, for as long as records come that have a part of it: the hello of a client of TLS 1.2 that wants
    another handshake, or the ticket of a server of TLS 1.3, may have 128 KiB, and each octet a record of its own.  New keys, which either
    side of TLS 1.3 may say, have five octets, and may be said without end.
    """
    lib.SSL_set_info_callback(connection._ssl, _on_progress)


def _progressed(ssl: Any, where: int, result: int) -> None:
    """Have a connection that is being read read memory, which is empty, where the body of a message begins."""
    global _is_amid, _messages, _turned
    if where & _LOOP:
        _is_amid = True
        if _receiving[0] and _turned is None:
            _messages = 0
            _turned = _put_on_memory(ssl)
    elif where & _EXIT:
        _is_amid = result != 1
        _messages += result == 1


_on_progress: Final = ffi.callback("void (*)(const SSL *, int, int)", _progressed)


def receive(
    connection: SSL.Connection, most: int, lends: bool = False
) -> tuple[bytes | memoryview, int, SSL.Error | None]:
    """Receive the next *most* records of *connection*, as far as they have come whole.

    Return their content, how many they were, and what follows them, if that is no record: it would be told only once.
    Where it is ``MESSAGE``, the connection is on memory (``turned``).
    pyOpenSSL's own method makes memory for each read, asks how it went also where it went well, and raises an exception
    where nothing has come yet.  For one thread, whose reads share their memory; what has come is copied out of it once.

    With *lends*, more than a record is returned as this memory itself, which is to be given back (``take_back``).
    """
    global _is_lent
    ssl = connection._ssl
    room = ffi.new("char[]", MOST_RECORDS * RECORD_BYTES) if _is_lent else _ROOM
    _receiving[0] = True
    size = lib.SSL_read(ssl, room, RECORD_BYTES)
    received = records = 0
    while size > 0:
        received += size
        records += 1
        if records == most:
            break
        size = lib.SSL_read(ssl, room + received, RECORD_BYTES)
    _receiving[0] = False
    if size <= 0:
        fault = _fault(connection, size)
        if _turned is not None:
            if fault is None:
                return ffi.unpack(room, received), records, MESSAGE
            _tell_why(connection)
        if fault is not None:
            return ffi.unpack(room, received), records, fault
    if lends and received > RECORD_BYTES and not _is_lent:
        _is_lent = True
        return _LENT[:received], records, None
    return ffi.unpack(room, received), records, None


def _fault(connection: SSL.Connection, size: int) -> SSL.Error | None:
    """Return why a read of *connection* has returned *size*; None where there is just nothing yet."""
    if lib.SSL_get_error(connection._ssl, size) == lib.SSL_ERROR_WANT_READ:
        return None
    try:
        connection._raise_ssl_error(connection._ssl, size)
    except SSL.Error as problem:
        # With its traceback it would be a cycle with whoever is told, and keep the connection.
        return problem.with_traceback(None)
    return None


def _tell_why(connection: SSL.Connection) -> None:
    """Send the alert of *connection*, which a message has ended that it was put on memory for, if the socket takes it."""
    memory, _, _ = turned()
    alert, sock = written(memory[1]), connection._socket
    assert sock is not None, "only who reads a socket is put on memory"
    put_on_socket(connection, sock)
    try:
        sock.send(alert)
    except OSError:
        pass  # It ends, be it without a word.


def turned() -> tuple[tuple[Any, Any], int, bool]:
    """Return what the connection that met a ``MESSAGE`` just now reads, and what it writes.

    Besides, how many messages, its own answers among them, came to their end by that, and whether a part of one is still to come.
    """
    global _turned
    memory, _turned = _turned, None
    assert memory is not None, "a message comes before"
    return memory, _messages, _is_amid


def read_message(
    connection: SSL.Connection, memory: Any, octets: bytes
) -> tuple[SSL.Error | None, int, int, bool]:
    """Have *connection*, which is amid a message and reads *memory* and nothing else, read what *octets* bring of that.

    Return how that has failed, how many octets were not read, how many messages, its own answers among them, came to their end, and
    whether a part of one is still to come.  Content behind it is left to who receives, be it in OpenSSL's hands.
    """
    global _is_amid, _messages
    _is_amid, _messages = True, 0
    feed(memory, octets)
    fault, left, before = None, len(octets), 0
    while _is_amid and fault is None and left and left != before:
        before = left
        size = lib.SSL_peek(connection._ssl, _FLIGHT, 1)
        fault = None if size > 0 else _fault(connection, size)
        if isinstance(fault, SSL.ZeroReturnError):
            # The peer's goodbye behind the message is told again to who receives; amid it, it is none.
            fault = SSL.SysCallError(-1, "Unexpected EOF") if _is_amid else None
        left = unread(memory)
    return fault, left, _messages, _is_amid


def unread(memory: Any) -> int:
    """Return how many octets *memory* holds."""
    return int(lib.BIO_get_mem_data(memory, _where))


def take_back() -> None:
    """Use the memory that was lent for what is received next: nobody looks into it any more."""
    global _is_lent
    _is_lent = False


def send(connection: SSL.Connection, octets: bytes | memoryview) -> int:
    """Encrypt and send what is taken of *octets*, which are not empty; return how much that was, else raise what pyOpenSSL does.

    pyOpenSSL's own method asks how it went also where it went well, and looks at bytes as at any other object.
    """
    if isinstance(octets, bytes):
        size = int(lib.SSL_write(connection._ssl, octets, len(octets)))
    else:
        with ffi.from_buffer(octets) as memory:
            size = int(lib.SSL_write(connection._ssl, memory, len(octets)))
    if size <= 0:
        connection._raise_ssl_error(connection._ssl, size)
    return size


def say_goodbye(connection: SSL.Connection) -> bool:
    """Tell the peer that nothing follows, if there is anybody to tell; return whether that is done, or False if it has to wait."""
    result = lib.SSL_shutdown(connection._ssl)
    if result >= 0:
        return True
    awaited = int(lib.SSL_get_error(connection._ssl, result))
    # Else the peer is gone, or never finished its handshake.
    lib.ERR_clear_error()
    return awaited != WANT_WRITE


def forget_errors() -> None:
    """Empty OpenSSL's list of errors, which is one for all connections of a thread.

    To be called after a ``SSL.Error``: pyOpenSSL leaves in it what a system call failed by, and whatever fails next is
    told to have failed by that; before OpenSSL 4.0, so is the next connection that has nothing to read.
    """
    lib.ERR_clear_error()


def step(connection: SSL.Connection) -> int:
    """Take a step of the handshake; return ``WANT_READ`` or ``WANT_WRITE`` for what it waits for now, and 0 when it is over.

    Raises ``SSL.Error`` as pyOpenSSL does, whose own method raises for what is awaited, too: that takes longer than some steps.
    """
    global _stepping
    _stepping = connection
    result = lib.SSL_do_handshake(connection._ssl)
    _stepping = None
    if result > 0:
        return 0
    awaited = int(lib.SSL_get_error(connection._ssl, result))
    if awaited not in (WANT_READ, WANT_WRITE):
        connection._raise_ssl_error(connection._ssl, result)
    return awaited


def agreed_on(connection: SSL.Connection, protocol: bytes) -> bool:
    """Whether the handshake of *connection*, which is over, agreed on *protocol*."""
    lib.SSL_get0_alpn_selected(connection._ssl, _agreed, _agreed_size)
    size = int(_agreed_size[0])
    return size == len(protocol) and bytes(ffi.buffer(_agreed[0], size)) == protocol


def is_resumed(connection: SSL.Connection) -> bool:
    """Tell whether the handshake goes on with a session of an earlier connection."""
    return bool(lib.SSL_session_reused(connection._ssl))


def words_of(error: int) -> str:
    """Say what OpenSSL's number *error* means, one that the verification of a certificate ended in."""
    text: bytes = ffi.string(lib.X509_verify_cert_error_string(error))
    return text.decode("ascii", "replace")
