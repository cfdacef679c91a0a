"""What the suite needs of ingress-nginx: its controller, built by Go; its template and Lua, of the same module; and nginx."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from bench.peers.install import ensure_debian_packages, search_system_folders
from conformance.binaries import MODULES, fingerprint
from conformance.compiler import building, go

MODULE = MODULES / "ingress-nginx"
PATH = "k8s.io/ingress-nginx"
LUA = Path(__file__).parent / "lua"
"""Modules of Lua that Debian lacks, as far as the controller's own Lua uses them."""

PACKAGES = {
    "nginx": Path("/usr/sbin/nginx"),
    "libnginx-mod-http-lua": Path("/usr/lib/nginx/modules/ngx_http_lua_module.so"),
    "libnginx-mod-http-headers-more-filter": Path(
        "/usr/lib/nginx/modules/ngx_http_headers_more_filter_module.so"
    ),
    "libnginx-mod-http-set-misc": Path("/usr/lib/nginx/modules/ngx_http_set_misc_module.so"),
    "libnginx-mod-http-brotli-filter": Path("/usr/lib/nginx/modules/ngx_http_brotli_filter_module.so"),
    "libnginx-mod-http-brotli-static": Path("/usr/lib/nginx/modules/ngx_http_brotli_static_module.so"),
    "lua-resty-core": Path("/usr/share/lua/5.1/resty/core.lua"),
    "lua-resty-lrucache": Path("/usr/share/lua/5.1/resty/lrucache.lua"),
    "lua-cjson": Path("/usr/lib/x86_64-linux-gnu/lua/5.1/cjson.so"),
    "lua-nginx-dns": Path("/usr/share/lua/5.1/nginx/dns/resolver.lua"),
}
"""Debian's packages, each with a file that it brings."""


@dataclass(frozen=True)
class ReferencePrograms:
    """``controller`` is the program; ``files`` has what their image has in /etc/nginx; ``nginx`` is Debian's."""

    controller: Path
    files: Path
    nginx: Path


def reference_programs(cache: Path) -> ReferencePrograms:
    """Find or build them.  Raises NotBuiltError, and BenchError where a package is missing and cannot be installed."""
    search_system_folders()
    ensure_debian_packages(PACKAGES)
    folder = cache / f"ingress-nginx-{fingerprint(MODULE)}"
    with building(folder) as unfinished:
        if unfinished is not None:
            command = f"{PATH}/cmd/nginx"
            go(cache, MODULE, "build", "-ldflags", "-s -w", "-o", unfinished / "controller", command)
            source = Path(go(cache, MODULE, "list", "-m", "-f", "{{.Dir}}", PATH).strip())
            # The module cache is read-only, and so would the copy be.
            shutil.copytree(
                source / "rootfs" / "etc" / "nginx", unfinished / "nginx", copy_function=shutil.copyfile
            )
    return ReferencePrograms(folder / "controller", folder / "nginx", PACKAGES["nginx"])
