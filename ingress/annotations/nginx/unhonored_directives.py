"""What is said of directives that no data is made of: those that change nothing here, and those that are refused.

A directive that nobody needs is accepted in silence.  One whose absence somebody should know of is a note, or is refused,
with the annotation or option that does the same.  A directive that may keep somebody out is a guard: where that is
refused, nobody comes in.
"""

import re
from typing import Final

from ingress.annotations.contract.snippet_blocks import Sort
from ingress.annotations.nginx.grammar import Directive

_SILENT: Final = frozenset(
    (
        "aio",
        "chunked_transfer_encoding",
        "client_body_buffer_size",
        "client_body_temp_path",
        "client_header_buffer_size",
        "directio",
        "keepalive_requests",
        "keepalive_timeout",
        "log_not_found",
        "log_subrequest",
        "map_hash_bucket_size",
        "map_hash_max_size",
        "open_file_cache",
        "proxy_buffer_size",
        "proxy_buffering",
        "proxy_buffers",
        "proxy_busy_buffers_size",
        "proxy_force_ranges",
        "proxy_headers_hash_bucket_size",
        "proxy_headers_hash_max_size",
        "proxy_http_version",
        "proxy_ignore_headers",
        "proxy_max_temp_file_size",
        "proxy_pass_header",
        "proxy_request_buffering",
        "proxy_socket_keepalive",
        "proxy_temp_file_write_size",
        "proxy_temp_path",
        "reset_timedout_connection",
        "sendfile",
        "server_names_hash_bucket_size",
        "server_names_hash_max_size",
        "server_tokens",
        "tcp_nodelay",
        "tcp_nopush",
        "types_hash_max_size",
        "variables_hash_bucket_size",
        "variables_hash_max_size",
    )
)
"""Bodies stream, and what nginx keeps in buffers, files and tables of its own has no counterpart."""
_OFF: Final = frozenset(
    (
        "error_page",
        "etag",
        "gzip",
        "brotli",
        "modsecurity",
        "proxy_cache",
        "proxy_intercept_errors",
        "rewrite_log",
        "ssi",
        "sub_filter_once",
    )
)
"""What is not there unless it is asked for, so that ``off`` changes nothing."""

_NOTES: Final = (
    ("gzip", "changes nothing: compression is for the operator, by use-gzip"),
    ("brotli", "changes nothing: compression is for the operator, by enable-brotli"),
    ("access_log", "changes nothing: what is logged is for enable-access-log and the operator"),
    ("error_log", "changes nothing: what is logged is for the operator"),
    ("log_format", "changes nothing: what is logged is for the operator"),
    ("proxy_cache", "changes nothing: answers are not kept, and each request goes to an endpoint"),
    ("proxy_no_cache", "changes nothing: answers are not kept, and each request goes to an endpoint"),
)
"""By how names begin."""

_OF_LOCATIONS: Final = {
    "client_max_body_size": "proxy-body-size",
    "grpc_connect_timeout": "proxy-connect-timeout",
    "grpc_read_timeout": "proxy-read-timeout",
    "grpc_send_timeout": "proxy-send-timeout",
    "proxy_connect_timeout": "proxy-connect-timeout",
    "proxy_cookie_domain": "proxy-cookie-domain",
    "proxy_cookie_path": "proxy-cookie-path",
    "proxy_next_upstream": "proxy-next-upstream",
    "proxy_next_upstream_timeout": "proxy-next-upstream-timeout",
    "proxy_next_upstream_tries": "proxy-next-upstream-tries",
    "proxy_read_timeout": "proxy-read-timeout",
    "proxy_redirect": "proxy-redirect-from",
    "proxy_send_timeout": "proxy-send-timeout",
}
"""What each location of ingress-nginx says itself: around it, it has no effect; within, nginx refuses it twice."""

_HINTS: Final = (
    ("set_real_ip_from", "which proxies are believed is for --trusted-proxies"),
    ("real_ip_", "which proxies are believed is for --trusted-proxies"),
    ("limit_rate", "the annotation limit-rate does that"),
    ("limit_conn", "the annotation limit-connections does that"),
    ("limit_req", "the annotations limit-rps and limit-rpm do that"),
    ("proxy_intercept_errors", "the annotation custom-http-errors does that"),
    ("error_page", "the annotations custom-http-errors and default-backend do that"),
    ("auth_basic", "the annotations auth-type and auth-secret do that"),
    ("auth_request", "the annotation auth-url does that"),
    ("satisfy", "the annotation satisfy does that"),
    ("proxy_pass", "a backend is what a path names"),
    ("mirror", "the annotation mirror-target does that"),
    ("proxy_ssl_", "the annotations proxy-ssl-... do that"),
    ("grpc_ssl_", "the annotations proxy-ssl-... do that"),
    ("grpc_next_upstream", "the annotations proxy-next-upstream... do that"),
    ("client_body_timeout", "--client-body-timeout is for the operator to say"),
    ("ssl_", "TLS is for spec.tls, annotations and the operator"),
)
"""By how names begin, the first one counts."""

_GUARDS: Final = (
    "auth_",
    "modsecurity",
    "satisfy",
    "internal",
    "include",
    "naxsi",
    "sec_",
    "secrules",
    "checkrule",
)
"""How the names of guards begin, ..."""
_NO_GUARD: Final = "auth_request_set"
"""... but that of this one, which keeps nobody out, ..."""
_HONORED_GUARDS: Final = frozenset(("allow", "deny", "limit_except"))
"""... and those which are guards where they are refused."""
_DECIDING_LUA: Final = ("rewrite_by_lua", "content_by_lua", "server_rewrite_by_lua")
_EXITS: Final = ("exit", "redirect")
_sets_cookies = re.compile(
    r'(?:if ngx\.var\.\w+ ~= "" then ngx\.header\["Set-Cookie"\] = "[^"\\]*" \.\. ngx\.var\.\w+'
    r' \.\. ngx\.var\.auth_cookie:match\("\(; \.\*\)"\) end ?)+',
    re.ASCII,
).fullmatch
"""What guides to oauth2-proxy have in access_by_lua_block, with single blanks: it hands on a second cookie of the service, and keeps nobody out."""

DECIDES: Final = frozenset(
    (
        "break",
        "geo",
        "if",
        "location",
        "map",
        "real_ip_header",
        "real_ip_recursive",
        "return",
        "rewrite",
        "set",
        "set_if_empty",
        "set_real_ip_from",
    )
)
"""Directives upon which it may depend whether another one lets somebody in."""

INSTEAD: Final = "is not honored by this controller"


def said_of(directive: Directive, *, in_location: bool) -> tuple[Sort | None, str]:
    """Return what is to be told of a directive that no data is made of; None for nothing."""
    name, arguments = directive.name, directive.arguments
    if (
        name in _SILENT
        or (name in _OFF and arguments == ("off",))
        or (arguments == ("all",) and name == "satisfy")
    ):
        return None, ""
    for beginning, message in _NOTES:
        if name.startswith(beginning):
            return Sort.NOTE, message
    if _only_sets_cookies(directive):
        return Sort.NOTE, "changes nothing: each cookie that the service of auth-url sets is handed on"
    annotation = _OF_LOCATIONS.get(name)
    if annotation is not None:
        if in_location:
            return Sort.REFUSED, f"{INSTEAD}: the annotation {annotation} does that"
        return Sort.NOTE, f"changes nothing here, nor in ingress-nginx: the annotation {annotation} does that"
    hint = next((f": {said}" for beginning, said in _HINTS if name.startswith(beginning)), "")
    return (Sort.GUARD if is_guard(directive) else Sort.REFUSED), INSTEAD + hint


def _only_sets_cookies(directive: Directive) -> bool:
    return (
        directive.name == "access_by_lua_block" and _sets_cookies(" ".join(directive.lua.split())) is not None
    )


def is_guard(directive: Directive) -> bool:
    """Whether *directive*, or one in its block, may keep somebody out."""
    name, arguments = directive.name.lower(), directive.arguments
    if "_by_lua" in name:
        code = f"{directive.lua} {' '.join(arguments)}"
        return (name.startswith("access_by_lua") and not _only_sets_cookies(directive)) or (
            name.startswith(_DECIDING_LUA) and any(word in code for word in _EXITS)
        )
    if name == "return":
        return bool(arguments) and arguments[0][:1] == "4"
    if name in _HONORED_GUARDS:
        return arguments != ("all",) or name == "deny"
    if name.startswith(_GUARDS) and name != _NO_GUARD:
        return arguments not in (("off",), ("all",))
    return any(map(is_guard, directive.block or ()))
