"""libmodsecurity 3 by its C interface (``modsecurity.h``, ``transaction.h``, ``rules_set.h``).

By ctypes, which is there with Python and reads no header when it starts: what is called is a dozen functions, in a process that
does nothing else.  Nobody imports this but a firewall process.

Rules are added in the order in which they are given; where several texts say the same of a whole set, such as
``SecRuleEngine``, the first one counts, as where nginx has several ``modsecurity_rules``.  The core rules are compiled once, and what
several sets have of them is the same memory.
"""

import ctypes
import os
from collections.abc import Sequence
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_void_p
from pathlib import Path
from typing import Any, Final

from ingress.firewall.expressions import expressions_of
from ingress.firewall.messages import MOST_LINE_BYTES, MOST_LINES, Said
from ingress.firewall.serving import RulesRefused
from ingress.model.exchanges.firewall import CORE_RULES, InspectedAnswer, InspectedRequest

LIBRARY: Final = "libmodsecurity.so.3"
EXPRESSIONS: Final = "libpcre2-8.so.0"
"""By which it reads expressions, and which is installed with it."""
CORE_RULE_FILES: Final = (
    # As Debian's modsecurity-crs has it: the setup, what the operator excludes before, the rules, and after.
    ("/etc/modsecurity/crs", "crs-setup.conf"),
    ("/etc/modsecurity/crs", "REQUEST-900-EXCLUSION-RULES-BEFORE-CRS.conf"),
    ("/usr/share/modsecurity-crs/rules", "*.conf"),
    ("/etc/modsecurity/crs", "RESPONSE-999-EXCLUSION-RULES-AFTER-CRS.conf"),
)
_HTTP: Final = b"HTTP/1.1"
_FORBIDDEN: Final = 403
_FOUND: Final = 302
_PLAIN_RULES: Final = b'SecRule "ARGS" "a" "id:1,phase:2,deny,chain"\nSecRule "ARGS" "@streq b" "t:none"\n'
_MOST_TRIES: Final = 8
_DOTALL_MULTILINE: Final = 0x20 | 0x400
"""Of ``pcre2.h``: how the library reads them."""
_MOST_REASON_BYTES: Final = 200
_PIECE_BYTES: Final = 4096
"""Of the body of an answer, as nginx has it in buffers: of one that may be no longer, rules that only tell see all pieces that fit."""
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")


class Missing(Exception):  # noqa: N818 - it is a state of the system
    """The library or the core rules are not installed; the message says which package has them."""


class _Intervention(ctypes.Structure):
    _fields_ = (
        ("status", c_int),
        ("pause", c_int),
        # Memory of the library's, which is given back to it.
        ("url", c_void_p),
        ("log", c_void_p),
        ("disruptive", c_int),
    )


class _Allocated(ctypes.Structure):
    """``struct mallinfo2`` of glibc 2.33 and later."""

    _fields_ = tuple(
        (name, c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    )


_Told: Any = ctypes.CFUNCTYPE(None, c_void_p, c_char_p)

_SIGNATURES: Final[dict[str, tuple[Any, tuple[Any, ...]]]] = {
    "msc_init": (c_void_p, ()),
    "msc_set_connector_info": (None, (c_void_p, c_char_p)),
    "msc_set_log_cb": (None, (c_void_p, _Told)),
    "msc_create_rules_set": (c_void_p, ()),
    "msc_rules_add": (c_int, (c_void_p, c_char_p, POINTER(c_char_p))),
    "msc_rules_add_file": (c_int, (c_void_p, c_char_p, POINTER(c_char_p))),
    "msc_rules_merge": (c_int, (c_void_p, c_void_p, POINTER(c_char_p))),
    "msc_rules_cleanup": (c_int, (c_void_p,)),
    "msc_new_transaction_with_id": (c_void_p, (c_void_p, c_void_p, c_char_p, c_void_p)),
    "msc_process_connection": (c_int, (c_void_p, c_char_p, c_int, c_char_p, c_int)),
    "msc_process_uri": (c_int, (c_void_p, c_char_p, c_char_p, c_char_p)),
    "msc_add_n_request_header": (c_int, (c_void_p, c_char_p, c_size_t, c_char_p, c_size_t)),
    "msc_process_request_headers": (c_int, (c_void_p,)),
    "msc_append_request_body": (c_int, (c_void_p, c_char_p, c_size_t)),
    "msc_process_request_body": (c_int, (c_void_p,)),
    "msc_add_n_response_header": (c_int, (c_void_p, c_char_p, c_size_t, c_char_p, c_size_t)),
    "msc_process_response_headers": (c_int, (c_void_p, c_int, c_char_p)),
    "msc_append_response_body": (c_int, (c_void_p, c_char_p, c_size_t)),
    "msc_process_response_body": (c_int, (c_void_p,)),
    "msc_process_logging": (c_int, (c_void_p,)),
    "msc_intervention": (c_int, (c_void_p, POINTER(_Intervention))),
    "msc_transaction_cleanup": (None, (c_void_p,)),
}


def _bound() -> Any:
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError as error:
        raise Missing(
            f"{LIBRARY} is not there ({error}); Debian has it in the package libmodsecurity3"
        ) from None
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, name, None)
        if function is None:
            raise Missing(f"{LIBRARY} has no {name}; version 3.0.9 and later have it")
        function.restype, function.argtypes = result, arguments
    return library


class _Expressions:
    """Says what is wrong with an expression."""

    def __init__(self) -> None:
        try:
            library = ctypes.CDLL(EXPRESSIONS)
        except OSError as error:
            raise Missing(
                f"{EXPRESSIONS} is not there ({error}); Debian has it in the package libpcre2-8-0"
            ) from None
        self._compile, self._free, self._reason = (
            library.pcre2_compile_8,
            library.pcre2_code_free_8,
            library.pcre2_get_error_message_8,
        )
        self._compile.restype = c_void_p
        self._compile.argtypes = (
            c_char_p, c_size_t, ctypes.c_uint32, POINTER(c_int), POINTER(c_size_t), c_void_p,
        )  # fmt: skip
        self._free.restype, self._free.argtypes = None, (c_void_p,)
        self._reason.argtypes = (c_int, ctypes.c_char_p, c_size_t)

    def check(self, text: str) -> None:
        """Raise ``RulesRefused`` for an expression in rules that is none."""
        for expression in expressions_of(text):
            octets = expression.encode("utf-8")
            error, place = c_int(), c_size_t()
            code = self._compile(octets, len(octets), _DOTALL_MULTILINE, byref(error), byref(place), None)
            if code is None:
                reason = ctypes.create_string_buffer(_MOST_REASON_BYTES)
                self._reason(error, reason, _MOST_REASON_BYTES)
                why = reason.value.decode("utf-8", "replace")
                raise RulesRefused(f"the expression {expression[:100]} cannot be read: {why}")
            self._free(code)


def core_rule_files() -> tuple[Path, ...]:
    """Return the files of the core rules, in the order in which they are read; raises ``Missing``."""
    found = tuple(path for place, name in CORE_RULE_FILES for path in sorted(Path(place).glob(name)))
    for place, name in (CORE_RULE_FILES[0], CORE_RULE_FILES[2]):
        if not any(path.match(f"{place}/{name}") for path in found):
            raise Missing(
                f"{place}/{name} is not there; Debian has the OWASP Core Rule Set in the package modsecurity-crs"
            )
    return found


class ModSecurity:
    """The library; satisfies ``ingress.firewall.serving.Library``.  Raises ``Missing``."""

    def __init__(self) -> None:
        self.calls = _bound()
        self._free = ctypes.CDLL(None).free
        self._free.restype, self._free.argtypes = None, (c_void_p,)
        self._expressions = _Expressions()
        self._allocated = getattr(ctypes.CDLL(None), "mallinfo2", None)
        if self._allocated is not None:
            self._allocated.restype = _Allocated
        self._pages = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
        self.lines: list[bytes] = []
        self.matched = 0
        # What the library calls has to stay alive with it.
        self._tell = _Told(self._told)
        self.handle = self.calls.msc_init()
        self.calls.msc_set_connector_info(self.handle, b"txingress")
        self.calls.msc_set_log_cb(self.handle, self._tell)
        self._core_rules = self.calls.msc_create_rules_set()
        for path in core_rule_files():
            self._check(self.calls.msc_rules_add_file, self._core_rules, bytes(path), str(path))

    def _told(self, data: object, line: bytes) -> None:
        self.matched += 1
        if len(self.lines) < MOST_LINES:
            self.lines.append(line[:MOST_LINE_BYTES])

    def _check(self, call: Any, rules: object, argument: object, where: str) -> None:
        error = c_char_p()
        if call(rules, argument, byref(error)) < 0:
            why = (error.value or b"").decode("utf-8", "replace")
            raise RulesRefused(" ".join(f"{where}: {why}".split()))

    def load(self, parts: Sequence[str | None]) -> "ModSecurityRules":
        """Compile *parts*; raises ``RulesRefused``."""
        for part in parts:
            if part is not CORE_RULES:
                self._expressions.check(part)
        self._settle()
        try:
            return ModSecurityRules(self, self._compiled(parts))
        except RulesRefused:
            # What one text leaves behind must not be what another one, or its author, is blamed for.
            self._settle()
            return ModSecurityRules(self, self._compiled(parts))

    def taken(self) -> int:
        """Return how much address space is taken, but for what was freed and waits for its next use."""
        pages = int(os.pread(self._pages, 64, 0).split()[0])
        free: int = 0 if self._allocated is None else self._allocated().fordblks
        return pages * _PAGE_BYTES - free

    def _settle(self) -> None:
        """Have the library's reader begin anew: it goes on in the state in which some texts, refused ones above all, leave it."""
        for _ in range(_MOST_TRIES):
            rules = self.calls.msc_create_rules_set()
            error = c_char_p()
            is_settled = self.calls.msc_rules_add(rules, _PLAIN_RULES, byref(error)) >= 0
            self.calls.msc_rules_cleanup(rules)
            if is_settled:
                return
        raise RuntimeError("the library reads a plain rule no more")

    def _compiled(self, parts: Sequence[str | None]) -> object:
        rules: object = self.calls.msc_create_rules_set()
        try:
            for part in parts:
                if part is CORE_RULES:
                    self._check(self.calls.msc_rules_merge, rules, self._core_rules, "the core rules")
                else:
                    self._check(self.calls.msc_rules_add, rules, part.encode("utf-8") + b"\n", "the rules")
        except RulesRefused:
            self.calls.msc_rules_cleanup(rules)
            raise
        return rules

    def take_lines(self, transaction: object) -> Said:
        """Return what the rules say of *transaction* now, with all that was told since this was last called."""
        lines, matched = tuple(self.lines), self.matched
        self.lines, self.matched = [], 0
        found = _Intervention(200, 0, None, None, 0)
        acts = self.calls.msc_intervention(transaction, byref(found))
        try:
            if not acts or not found.disruptive:
                return Said(lines=lines, matched=matched)
            url = ctypes.string_at(found.url) if found.url else b""
            log = ctypes.string_at(found.log) if found.log else b""
        finally:
            self._free(found.url)
            self._free(found.log)
        if log:
            lines, matched = (*lines[: MOST_LINES - 1], log), matched + 1
        if url:
            return Said(found.status if 300 <= found.status <= 399 else _FOUND, url, lines, matched)
        return Said(found.status if 400 <= found.status <= 599 else _FORBIDDEN, b"", lines, matched)


class ModSecurityRules:
    """A rule set; satisfies ``ingress.firewall.serving.Rules``."""

    def __init__(self, library: ModSecurity, rules: object) -> None:
        self._library = library
        self._rules = rules

    def begin(self, name: bytes) -> "ModSecurityTransaction":
        """Begin a transaction called *name*."""
        library = self._library
        handle = library.calls.msc_new_transaction_with_id(library.handle, self._rules, name, None)
        return ModSecurityTransaction(library, handle)

    def close(self) -> None:
        """Forget them.  Transactions that are open have a part in them."""
        self._library.calls.msc_rules_cleanup(self._rules)


class ModSecurityTransaction:
    """A request with its answer; satisfies ``ingress.firewall.serving.Transaction``."""

    def __init__(self, library: ModSecurity, handle: object) -> None:
        self._library = library
        self._handle = handle

    def request(self, request: InspectedRequest) -> Said:
        """Judge a request: its head, and then, unless that is refused, its body."""
        calls, handle = self._library.calls, self._handle
        calls.msc_process_connection(handle, request.client, 0, request.server, request.port)
        calls.msc_process_uri(handle, request.target, request.method, b"1.1")
        for name, value in _fields(request.lines):
            calls.msc_add_n_request_header(handle, name, len(name), value, len(value))
        calls.msc_process_request_headers(handle)
        said = self._library.take_lines(handle)
        if said.status:
            return said
        if request.body:
            calls.msc_append_request_body(handle, request.body, len(request.body))
            said = _further(said, self._library.take_lines(handle))
            if said.status:
                return said
        calls.msc_process_request_body(handle)
        return _further(said, self._library.take_lines(handle))

    def answer(self, answer: InspectedAnswer) -> Said:
        """Judge the head of an answer, and then, where it is looked at and that is not refused, its body."""
        calls, handle, body = self._library.calls, self._handle, answer.body
        for name, value in _fields(answer.lines):
            calls.msc_add_n_response_header(handle, name, len(name), value, len(value))
        calls.msc_process_response_headers(handle, answer.status, _HTTP)
        said = self._library.take_lines(handle)
        if said.status or body is None:
            return said
        for at in range(0, len(body), _PIECE_BYTES):
            piece = body[at : at + _PIECE_BYTES]
            calls.msc_append_response_body(handle, piece, len(piece))
        said = _further(said, self._library.take_lines(handle))
        if said.status:
            return said
        calls.msc_process_response_body(handle)
        return _further(said, self._library.take_lines(handle))

    def close(self) -> Said:
        """Have the logging phase run, and forget the transaction."""
        self._library.calls.msc_process_logging(self._handle)
        lines, matched = tuple(self._library.lines), self._library.matched
        self._library.lines, self._library.matched = [], 0
        self._library.calls.msc_transaction_cleanup(self._handle)
        return Said(lines=lines, matched=matched)


def _further(said: Said, further: Said) -> Said:
    return Said(further.status, further.location, said.lines + further.lines, said.matched + further.matched)


def _fields(lines: bytes) -> list[tuple[bytes, bytes]]:
    found = []
    for line in lines.split(b"\r\n"):
        name, colon, value = line.partition(b":")
        if colon:
            found.append((name, value.strip(b" \t")))
    return found
