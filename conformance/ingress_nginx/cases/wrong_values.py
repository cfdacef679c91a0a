"""Annotations with values that are none, or that are written in an unusual way; each is asked for the same path.

Those that need a request of their own to be seen are in ``odd_values``.
"""

from conformance.ingress_nginx.case import Ask, Case, ingress

CASES = tuple(
    Case(
        f"wrong-{name.replace('_', '-')}-{number}",
        (ingress(**{name: value}),),
        (
            Ask("/a"),
            *((Ask("/a", "OPTIONS", fields=(("Origin", "http://x.test"),)),) if "cors" in name else ()),
        ),
    )
    for name, *values in (
        ("enable_cors", "yes", "TRUE", "1"),
        ("ssl_redirect", "no", "False"),
        ("force_ssl_redirect", "yes", "1", "T"),
        ("proxy_body_size", "1g", "-1", "1 m", ""),
        ("proxy_read_timeout", "0", "1.5", "60s"),
        ("proxy_connect_timeout", "0", "200"),
        ("proxy_buffering", "true", "ON"),
        ("proxy_request_buffering", "maybe"),
        ("proxy_http_version", "2", "1"),
        ("proxy_cookie_path", "~*^/(.*) /$1"),
        ("rewrite_target", "", "x", "/a b", "http://x.test/"),
        ("app_root", "x", "http://x.test", ""),
        ("permanent_redirect", "/x", "//x.test", "https://a b"),
        ("permanent_redirect_code", "301"),
        ("temporal_redirect", "ftp://x.test", ""),
        ("upstream_vhost", "a b", ""),
        ("backend_protocol", "http", "h2c", "GRPC ", "WS"),
        ("custom_http_errors", "abc", "404;503", "40"),
        ("x_forwarded_prefix", "true", "/a b", ""),
        ("connection_proxy_header", "keep-alive, upgrade", "x"),
        ("use_regex", "yes"),
        ("satisfy", "both", "ANY"),
        ("auth_type", "Basic", "digest", ""),
        ("denylist_source_range", "garbage", "10.20.1.1/24", "10.20.1.2;10.20.1.1"),
        ("whitelist_source_range", "garbage", "10.20.1.1/24", "10.20.1.1;10.20.1.2", "2001:db8::/32"),
        ("default_backend", "a/b", ""),
        ("preserve_trailing_slash", "true"),
        ("client_body_buffer_size", "1b", "8k"),
        ("configuration_snippet", ""),
        ("server_alias", "HOST", "a b"),
        ("service_upstream", "maybe"),
        ("no_such_annotation", "true"),
    )
    for number, value in enumerate(values)
)
