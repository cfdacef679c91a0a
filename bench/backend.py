"""The backend behind every proxy: an nginx that answers from memory, on the generator's CPU.

Bodies of requests are read to their end before the answer is given, so that a proxy
has to move all of them.
"""

from pathlib import Path

from bench.loads import BODY_BYTES

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
    server {{
        listen unix:{folder}/swallow.sock;
        return 200 "{answer}";
    }}
}}
"""


def backend_command(folder: Path, port: int) -> list[str]:
    """Write configuration and files of the backend into *folder*; return its command."""
    files = folder / "files" / "download"
    files.mkdir(parents=True)
    (files / "body").write_bytes(bytes(range(256)) * (BODY_BYTES // 256) + bytes(BODY_BYTES % 256))
    config = folder / "backend.conf"
    config.write_text(_CONFIG.format(folder=folder, port=port, answer=ANSWER, body_buffer=BODY_BYTES + 4096))
    return ["nginx", "-e", "stderr", "-p", str(folder), "-c", str(config)]
