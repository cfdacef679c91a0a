"""An nginx that is configured as ingress-nginx configures it: the costs of its template, without its controller.

Written from what is known of its defaults, not copied.  In Lua, which stands in ``lua/ingress_nginx.lua``: the choice of the endpoint, the
variables of each request, a record of it for metrics, the certificate by server name.  Its log format, the many fields that it sets for the
backend, buffers of 4 KiB that are sent on as they fill (``proxy_buffering off``), request bodies that are read whole first, its pool of
connections, no gzip.  Left out are what no request passes: the default backend, the status page, the controller itself.
"""

from collections.abc import Mapping
from pathlib import Path

LUA = Path(__file__).parent / "lua" / "ingress_nginx.lua"
MODULES = Path("/usr/lib/nginx/modules")
NEEDED_MODULES = ("ndk_http_module.so", "ngx_http_lua_module.so")

_MAIN = """
daemon off;
{modules}
worker_processes 1;
worker_rlimit_nofile 16384;
user root;
pid {folder}/ingress-nginx.pid;
error_log stderr error;
events {{ multi_accept on; worker_connections 8192; use epoll; }}
http {{
    lua_package_path "{lua_folder}/?.lua;/usr/share/lua/5.1/?.lua;;";
    init_by_lua_block {{
        ingress = require "{lua_name}"
        ingress.init({{ {backends} }}, {{ {certificates} }})
    }}
    init_worker_by_lua_block {{ ingress.init_worker() }}
    client_body_temp_path {folder}/ingress-nginx-body;
    proxy_temp_path {folder}/ingress-nginx-proxy;
    fastcgi_temp_path {folder}/ingress-nginx-fastcgi;
    uwsgi_temp_path {folder}/ingress-nginx-uwsgi;
    scgi_temp_path {folder}/ingress-nginx-scgi;

    aio threads;
    aio_write on;
    tcp_nopush on;
    tcp_nodelay on;
    log_subrequest on;
    reset_timedout_connection on;
    keepalive_timeout 75s;
    keepalive_requests 1000;
    client_header_buffer_size 1k;
    client_header_timeout 60s;
    large_client_header_buffers 4 8k;
    client_body_buffer_size 8k;
    client_body_timeout 60s;
    http2_max_concurrent_streams 128;
    variables_hash_bucket_size 256;
    variables_hash_max_size 2048;
    underscores_in_headers off;
    ignore_invalid_headers on;
    server_tokens off;
    uninitialized_variable_warn off;
    gzip off;

    log_format upstreaminfo '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" '
        '"$http_user_agent" $request_length $request_time [$proxy_upstream_name] [$proxy_alternative_upstream_name] '
        '$upstream_addr $upstream_response_length $upstream_response_time $upstream_status $req_id';
    map $request_uri $loggable {{ default 1; }}
    access_log {folder}/ingress-nginx.access upstreaminfo if=$loggable;
    map $http_upgrade $connection_upgrade {{ default upgrade; '' ''; }}
    map $http_x_request_id $req_id {{ default $http_x_request_id; '' $request_id; }}

    ssl_protocols TLSv1.2 TLSv1.3;
    ssl_early_data off;
    ssl_session_cache shared:SSL:10m;
    ssl_session_timeout 10m;
    ssl_session_tickets off;
    ssl_buffer_size 4k;
    ssl_prefer_server_ciphers on;
    ssl_ecdh_curve auto;
    # To begin with; the one of the server name is found in Lua.
    ssl_certificate {certificate};
    ssl_certificate_key {key};

    upstream upstream_balancer {{
        server 0.0.0.1;
        balancer_by_lua_block {{ ingress.balance() }}
        keepalive 320;
        keepalive_time 1h;
        keepalive_timeout 60s;
        keepalive_requests 10000;
    }}
{servers}
}}
"""

_SERVER = """
    server {{
        server_name {host};
        listen 127.0.0.1:{http}{default};
        listen 127.0.0.1:{https} ssl http2{default};
        set $proxy_upstream_name "-";
        ssl_certificate_by_lua_block {{ ingress.certificate() }}
        location / {{
            set $namespace "bench";
            set $ingress_name "{backend}";
            set $service_name "{backend}";
            set $service_port "80";
            set $location_path "/";
            set $global_rate_limit_exceeding n;
            rewrite_by_lua_block {{ ingress.rewrite({{ ssl_redirect = {redirect}, use_port_in_redirects = false }}) }}
            log_by_lua_block {{ ingress.log() }}
            port_in_redirect off;
            set $balancer_ewma_score -1;
            set $proxy_upstream_name "{backend}";
            set $proxy_host $proxy_upstream_name;
            set $pass_access_scheme $scheme;
            set $pass_server_port $server_port;
            set $best_http_host $http_host;
            set $pass_port $pass_server_port;
            set $proxy_alternative_upstream_name "";
            client_max_body_size {body};
            {protocol}_set_header Host $best_http_host;
            {protocol}_set_header X-Request-ID $req_id;
            {protocol}_set_header X-Real-IP $remote_addr;
            {protocol}_set_header X-Forwarded-For $remote_addr;
            {protocol}_set_header X-Forwarded-Host $best_http_host;
            {protocol}_set_header X-Forwarded-Port $pass_port;
            {protocol}_set_header X-Forwarded-Proto $pass_access_scheme;
            {protocol}_set_header X-Forwarded-Scheme $pass_access_scheme;
            {protocol}_set_header X-Scheme $pass_access_scheme;
            {protocol}_set_header X-Original-Forwarded-For $http_x_forwarded_for;
            {protocol}_set_header Proxy "";
            {protocol}_connect_timeout 5s;
            {protocol}_send_timeout 60s;
            {protocol}_read_timeout 60s;
            {protocol}_next_upstream error timeout;
            {protocol}_next_upstream_timeout 0;
            {protocol}_next_upstream_tries 3;
            {protocol}_buffer_size 4k;
{passing}
        }}
    }}
"""

_HTTP = """\
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection $connection_upgrade;
            proxy_buffering off;
            proxy_buffers 4 4k;
            proxy_max_temp_file_size 1024m;
            proxy_request_buffering on;
            proxy_http_version 1.1;
            proxy_cookie_domain off;
            proxy_cookie_path off;
            proxy_pass http://upstream_balancer;
            proxy_redirect off;"""
_GRPC = "            grpc_pass grpc://upstream_balancer;"


def server(host: str, http: int, https: int, backend: str, is_default: bool = False, body: str = "1m") -> str:
    """The block of *host*, whose requests go to *backend*; what is called ``backend`` speaks HTTP/1.1, all others gRPC."""
    is_grpc = backend != "backend"
    return _SERVER.format(
        host=host,
        http=http,
        https=https,
        backend=backend,
        default=" default_server backlog=4096" if is_default else "",
        redirect="true",
        body=body,
        protocol="grpc" if is_grpc else "proxy",
        passing=_GRPC if is_grpc else _HTTP,
    )


def configuration(
    folder: Path,
    backends: Mapping[str, int],
    certificates: Mapping[str, tuple[Path, Path]],
    servers: str,
) -> str:
    """The whole text; *backends* are ports of 127.0.0.1 by name, *certificates* the files of certificate and key by host, ``_`` for all others."""
    certificate, key = certificates["_"]
    return _MAIN.format(
        folder=folder,
        modules="\n".join(f"load_module {MODULES / name};" for name in NEEDED_MODULES),
        lua_folder=LUA.parent,
        lua_name=LUA.stem,
        backends=", ".join(
            f'["{name}"] = {{ {{ "127.0.0.1", {port} }} }}' for name, port in backends.items()
        ),
        certificates=", ".join(
            f'["{host}"] = {{ "{pair[0]}", "{pair[1]}" }}' for host, pair in certificates.items()
        ),
        certificate=certificate,
        key=key,
        servers=servers,
    )
