"""What of ingress-nginx's template is changed for the nginx of Debian, which lacks some of what theirs has: few lines, each with its reason.

Their template is read from the Go module cache and changed in memory; nothing of it is kept.
"""

from collections.abc import Sequence

MODULES = (
    "ndk_http_module.so",
    "ngx_http_lua_module.so",
    "ngx_http_headers_more_filter_module.so",
    "ngx_http_set_misc_module.so",
)
"""What their image has compiled in, and Debian as modules, in the order in which they need each other."""


HTTP2 = """{{ if $cfg.UseHTTP2 }}
{{ $port := $all.ListenPorts.HTTPS }}{{ if $all.IsSSLPassthroughEnabled }}{{ $port = $all.ListenPorts.SSLProxy }}{{ end }}
server {
 listen {{ $port }} http2;
 {{ if $IsIPV6Enabled }}listen [::]:{{ $port }} http2;{{ end }}
 server_name http2.invalid;
}
{{ end }}
"""
"""A server that nobody asks for (RFC 6761, section 6.4), which has the others at the port of HTTPS speak HTTP/2."""


class TemplateError(Exception):
    """The template has not what is to be changed in it."""


def adapted(template: str, modules: Sequence[str] = MODULES, folder: str = "/usr/lib/nginx/modules") -> str:
    """The template for nginx 1.22.  Raises TemplateError where it is not the one that this was written for."""
    load = "".join(f"load_module {folder}/{module};\n" for module in modules)
    # Workers run as whoever runs the suite, who owns what the controller writes for them.
    text = _replaced(template, "pid {{ .PID }};", f"pid {{{{ .PID }}}};\n{load}user root;\n")
    # nginx has this directive since 1.25.1, in place of a word of "listen".  One word for an address and port is for all servers there.
    text = _replaced(text, "http2 on;", "")
    # Debian has no module for Lua in streams, so what the controller tells them is thrown away.
    sink = "server {\n listen 127.0.0.1:{{ .StreamPort }};\n access_log off;\n return 444;\n}\n"
    health = "    # default server, used for NGINX healthcheck and access to nginx stats"
    text = _replaced(text, health, f"{sink}{HTTP2}{health}")
    begin, rest = _parted(text, "\nstream {")
    _, end = _parted(rest, "{{/* definition of templates to avoid repetitions */}}")
    return f"{begin}\n{end}"


def _replaced(text: str, old: str, new: str) -> str:
    before, after = _parted(text, old)
    return before + new + after


def _parted(text: str, at: str) -> tuple[str, str]:
    before, found, after = text.partition(at)
    if not found:
        raise TemplateError(f"ingress-nginx's template has no {at!r}")
    return before, after
