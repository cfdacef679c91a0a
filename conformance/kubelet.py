"""The one call of a kubelet that the API server makes for the tests: the log of a container, over TLS."""

import datetime
import ssl
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs, urlsplit

PORT = 10250
# The log of a pod (namespace, name) from a time on, or None without such a pod.
ReadLog = Callable[[str, str, datetime.datetime | None], str | None]


def serve(address: str, certificate: Path, key: Path, read_log: ReadLog) -> ThreadingHTTPServer:
    """Serves in threads until ``shutdown``."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = urlsplit(self.path)
            parts = url.path.strip("/").split("/")
            since = parse_qs(url.query).get("sinceTime")
            time = datetime.datetime.fromisoformat(since[0]) if since else None
            text = (
                read_log(parts[1], parts[2], time)
                if len(parts) == 4 and parts[0] == "containerLogs"
                else None
            )
            body = (text or "").encode()
            self.send_response(404 if text is None else 200)
            self.send_header("Content-Type", "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            """Whoever wonders looks at the log of the API server."""

    server = ThreadingHTTPServer((address, PORT), Handler)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.daemon_threads = True
    Thread(target=server.serve_forever, daemon=True).start()
    return server
