"""Passwords as nginx judges them: the same file and the same fields, to an nginx that is installed and to our check."""

import os
import socket
from base64 import b64encode
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.passwords.basic_check import credentials
from ingress.annotations.passwords.htpasswd import accounts_of, admits
from tests.annotations.passwords.test_htpasswd import APR1, BCRYPT, MD5, PLAIN, SHA, SSHA
from tests.fakes.nginx import need_nginx, run_nginx
from tests.fakes.processes import free_port

FILE = b"".join(
    line + b"\n"
    for line in (
        b"# a comment",
        b"apr:" + APR1 + b":a comment",
        b"md5:" + MD5,
        b"sha:" + SHA,
        b"ssha:" + SSHA,
        b"plain:" + PLAIN,
        b"bcrypt:" + BCRYPT,
        b"twice:{PLAIN}one",
        b"twice:" + PLAIN,
        b"empty:{PLAIN}",
        b"blank :" + PLAIN,
        b"trailing:" + PLAIN + b" ",
        b"windows:" + PLAIN + b"\r",
        b"nohash:",
        b"\xe9:" + PLAIN,
    )
)
USERS = b"apr md5 sha ssha plain bcrypt twice trailing windows nohash \xe9 nobody #".split()
PASSWORDS = (b"secret", b"wrong", b"", b"secret ", b"x:y", b"one")
GOOD = b64encode(b"plain:secret")
FIELDS = (
    b"Basic",
    b"basic " + GOOD,
    b"BASIC  " + GOOD,
    b"Basic\t" + GOOD,
    b"Basic" + GOOD,
    b"Bearer " + GOOD,
    b"Basic " + GOOD.rstrip(b"="),
    b"Basic " + b64encode(b"apr:secret").rstrip(b"="),
    b"Basic " + GOOD + b" x",
    b"Basic " + GOOD[:-2],
    b"Basic !!" + GOOD,
    b"Basic " + b64encode(b"plain"),
    b"Basic " + b64encode(b":secret"),
    b"Basic " + b64encode(b"blank :secret"),
    b"Basic " + b64encode(b"plain:" + b"x" * 1500),
)
CONFIG = """
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port};
        location / {{ auth_basic "staff"; auth_basic_user_file {folder}/auth; try_files /nothing =204; }}
    }}
}}
"""


class BesideNginxTests(SynchronousTestCase):
    """Both let the same people in."""

    def setUp(self) -> None:
        """Run an nginx."""
        need_nginx()
        folder = Path(self.mktemp()).absolute()
        folder.mkdir(parents=True)
        (folder / "auth").write_bytes(FILE)
        for path in (folder, folder / "auth"):
            path.chmod(0o755)
        self.port = free_port()
        own = "user root;\n" if os.geteuid() == 0 else ""
        run_nginx(self, folder, own + CONFIG.format(folder=folder, port=self.port), self.port)

    def nginx_status(self, field: bytes) -> int:
        """Ask nginx."""
        with socket.create_connection(("127.0.0.1", self.port), 10) as peer:
            peer.sendall(
                b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: %b\r\n\r\n" % field
            )
            answer = b""
            while piece := peer.recv(65536):
                answer += piece
        return int(answer[9:12])

    def test_verdicts(self) -> None:
        """Each of many fields gets the same verdict from both."""
        accounts = accounts_of(FILE)
        fields = [b"Basic " + b64encode(user + b":" + one) for user in USERS for one in PASSWORDS]
        seen = set()
        for field in (*fields, *FIELDS):
            shown = credentials(field)
            ours = 204 if shown is not None and admits(accounts, *shown, 5) else 401
            self.assertEqual(ours, self.nginx_status(field), field)
            seen.add(ours)
        self.assertEqual(seen, {204, 401})
