"""The backends behind every proxy, on the generator's CPU: an nginx that answers from memory; for gRPC, grpcio.

Bodies of requests are read to their end before the answer is given, so that a proxy
has to move all of them.
"""

import sys
from pathlib import Path

from bench.loads.catalog import BODY_BYTES

ANSWER = "x" * 99 + "\\n"

_CONFIG = """
daemon off;
worker_processes 1;
worker_rlimit_nofile 16384;
user root;
pid {folder}/backend.pid;
error_log stderr error;
events {{ worker_connections 8192; }}
http {{
    access_log off;
    client_body_temp_path {folder}/backend-body;
    proxy_temp_path {folder}/backend-proxy;
    fastcgi_temp_path {folder}/backend-fastcgi;
    uwsgi_temp_path {folder}/backend-uwsgi;
    scgi_temp_path {folder}/backend-scgi;
    default_type text/plain;
    keepalive_requests 100000000;
    keepalive_timeout 300s;
    sendfile on;
    client_max_body_size 0;
    upstream swallow {{ server unix:{folder}/swallow.sock; keepalive 64; }}
    server {{
        listen 127.0.0.1:{port} backlog=4096;
        location / {{ return 200 "{answer}"; }}
        location /unique/ {{
            add_header Cache-Control "private, max-age=0";
            add_header Vary "Accept-Encoding, Cookie";
            add_header X-Content-Type-Options nosniff;
            add_header Referrer-Policy strict-origin;
            add_header Set-Cookie "session=$request_id; Path=/; HttpOnly";
            add_header X-Request-Id $request_id;
            return 200 "{answer}";
        }}
        location /download/ {{ root {folder}/files; }}
        # The body is buffered whole, then dropped; only then the answer is made.
        location ~ ^/(post|upload) {{
            client_body_buffer_size {body_buffer};
            proxy_pass http://swallow;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Content-Length "";
            proxy_pass_request_body off;
        }}
    }}
    # What a server of gRPC answers, as far as a proxy can tell.
    server {{
        listen 127.0.0.1:{h2c} http2 backlog=4096;
        default_type application/grpc;
        add_trailer grpc-status 0;
        location / {{ return 200 "{answer}"; }}
        location = /bench.Bench/Post {{
            proxy_pass http://swallow;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Content-Length "";
            proxy_pass_request_body off;
            proxy_hide_header Content-Type;
            add_header Content-Type application/grpc;
        }}
    }}
    server {{
        listen unix:{folder}/swallow.sock;
        return 200 "{answer}";
    }}
}}
"""


def backend_command(folder: Path, port: int, h2c: int) -> list[str]:
    """Write configuration and files of the backend into *folder*; return its command.

    It speaks HTTP/1.1 at *port*, and HTTP/2 without TLS at *h2c*.
    """
    files = folder / "files" / "download"
    files.mkdir(parents=True)
    (files / "body").write_bytes(bytes(range(256)) * (BODY_BYTES // 256) + bytes(BODY_BYTES % 256))
    config = folder / "backend.conf"
    text = _CONFIG.format(folder=folder, port=port, h2c=h2c, answer=ANSWER, body_buffer=BODY_BYTES + 4096)
    config.write_text(text)
    return ["nginx", "-e", "stderr", "-p", str(folder), "-c", str(config)]


def grpc_command(port: int) -> list[str]:
    """The command of the server of gRPC."""
    return [sys.executable, "-P", str(Path(__file__).with_name("grpc_server.py")), str(port)]
