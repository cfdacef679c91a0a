"""Real PHP scripts behind PHP-FPM, asked by us and by a real nginx that is told what ingress-nginx would tell it: ``make fastcgi``."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

from twisted.internet.defer import Deferred

from tests.end_to_end.end_to_end_case import PATIENCE, EndToEndCase
from tests.fakes.fastcgi.php_fpm import need_php_fpm, run_php_fpm
from tests.fakes.nginx import need_nginx, run_nginx
from tests.fakes.objects import NAMESPACE, ingress_object, service_object
from tests.fakes.peers.downstreams import Answer
from tests.fakes.processes import ControllerProcess, free_port

PREFIX = "nginx.ingress.kubernetes.io"
SCRIPTS = {
    "echo.php": """<?php
header('Content-Type: application/json');
$files = [];
foreach ($_FILES as $name => $file)
    $files[$name] = [$file['name'], $file['size'], md5_file($file['tmp_name'])];
echo json_encode(['server' => $_SERVER, 'get' => $_GET, 'post' => $_POST, 'cookie' => $_COOKIE, 'files' => $files,
    'md5' => md5(file_get_contents('php://input'))]);
""",
    "index.php": "<?php echo 'index of ', $_SERVER['SCRIPT_NAME'];",
    "status.php": "<?php http_response_code((int) $_GET['code']); echo 'said';",
    "redirect.php": "<?php header('Location: /elsewhere?x=1');",
    "cookies.php": "<?php setcookie('a', '1'); setcookie('b', '2'); header('X-Long: '.str_repeat('x', 2000));",
    "length.php": "<?php header('Content-Length: 5'); echo 'hello';",
    "empty.php": "<?php",
    "fatal.php": "<?php ini_set('display_errors', '0'); undefined_function();",
    "stderr.php": "<?php error_log('something to complain of'); echo 'fine';",
    "slow.php": """<?php
while (ob_get_level()) ob_end_flush();
foreach (['one', 'two', 'three'] as $word) { echo $word; flush(); usleep(300000); }
""",
    "large.php": "<?php for ($i = 0; $i < 3000; $i++) echo str_repeat(chr(97 + $i % 26), 1000);",
    "pid.php": "<?php echo getmypid();",
}
PARAMS = {
    "SCRIPT_FILENAME": "{folder}/www$fastcgi_script_name",
    "HTTP_PROXY": "",
    "APP_ENV": "at $namespace of $host$is_args$args",
    "PHP_VALUE": "memory_limit=77M\\nprecision=3",
}
CONFIGURATION = """
worker_processes 1;
user root;
events {{}}
http {{
  access_log off;
  client_body_temp_path {home}/a; proxy_temp_path {home}/b; fastcgi_temp_path {home}/c;
  uwsgi_temp_path {home}/d; scgi_temp_path {home}/e;
  client_max_body_size 64m;
  server {{
    listen 127.0.0.1:{port};
    server_name shop.test;
    root /usr/local/nginx/html;
    set $namespace {namespace};
    location /old/ {{ rewrite "(?i)^/old/(.*)" /$1 break; {passes} }}
    location / {{ {passes} }}
  }}
}}
"""
PASSES = """
      fastcgi_param QUERY_STRING $query_string; fastcgi_param REQUEST_METHOD $request_method;
      fastcgi_param CONTENT_TYPE $content_type; fastcgi_param CONTENT_LENGTH $content_length;
      fastcgi_param SCRIPT_NAME $fastcgi_script_name; fastcgi_param REQUEST_URI $request_uri;
      fastcgi_param DOCUMENT_URI $document_uri; fastcgi_param DOCUMENT_ROOT $document_root;
      fastcgi_param SERVER_PROTOCOL $server_protocol; fastcgi_param REQUEST_SCHEME $scheme;
      fastcgi_param HTTPS $https if_not_empty; fastcgi_param GATEWAY_INTERFACE CGI/1.1;
      fastcgi_param SERVER_SOFTWARE nginx/$nginx_version; fastcgi_param REMOTE_ADDR $remote_addr;
      fastcgi_param REMOTE_PORT $remote_port; fastcgi_param SERVER_ADDR $server_addr;
      fastcgi_param SERVER_PORT $server_port; fastcgi_param SERVER_NAME $server_name;
      fastcgi_param REDIRECT_STATUS 200;
      fastcgi_index index.php; {params} fastcgi_pass 127.0.0.1:{fpm};
"""
OUR_FIELDS = frozenset(
    (
        "HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_HOST", "HTTP_X_FORWARDED_PORT", "HTTP_X_FORWARDED_PROTO",
        "HTTP_X_FORWARDED_SCHEME", "HTTP_X_REAL_IP", "HTTP_X_REQUEST_ID", "HTTP_X_SCHEME",
    )
)  # fmt: skip
"""What we tell and nginx does not: docs/fastcgi.md."""
OTHERS = frozenset(
    (
        "SERVER_PORT",
        "SERVER_SOFTWARE",
        "REMOTE_PORT",
        "REQUEST_TIME",
        "REQUEST_TIME_FLOAT",
        "HTTP_CONNECTION",
        "HTTP_TRANSFER_ENCODING",
    )
)
"""What is another one for each, each time, or of the connection alone."""


def is_about_content(line: bytes) -> bool:
    """Whether a field says the same whoever passes it on."""
    name = line.partition(b":")[0].lower()
    return name not in (b"server", b"date", b"connection", b"transfer-encoding", b"x-powered-by")


def normal(line: bytes) -> bytes:
    """Return a field line with its name in lower case."""
    name, colon, value = line.partition(b":")
    return name.lower() + colon + value


class FastCgiBesideNginxTests(EndToEndCase):
    """The same requests to both."""

    timeout = 120

    async def begin(self, *options: str) -> ControllerProcess:
        """Start both before the same PHP-FPM."""
        need_nginx()
        need_php_fpm()
        home = Path(mkdtemp())
        home.chmod(0o777)
        self.addCleanup(rmtree, home)
        scripts = home / "www"
        (scripts / "folder").mkdir(parents=True)
        for name, text in SCRIPTS.items():
            (scripts / name).write_text(text, "utf-8")
        (scripts / "folder" / "index.php").write_text(SCRIPTS["index.php"], "utf-8")
        self.fpm, self.nginx = free_port(), free_port()
        run_php_fpm(self, home, self.fpm)
        params = {name: value.format(folder=home) for name, value in PARAMS.items()}
        config_map = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "php", "namespace": NAMESPACE},
            "data": {name: value.replace("\\n", "\n") for name, value in params.items()},
        }
        asked = {
            "backend-protocol": "FCGI",
            "fastcgi-index": "index.php",
            "fastcgi-params-configmap": "php",
            "proxy-body-size": "64m",
        }
        main: dict[str, Any] = ingress_object("app", "shop.test")
        main["metadata"]["annotations"] = {f"{PREFIX}/{name}": value for name, value in asked.items()}
        old: dict[str, Any] = ingress_object("old", "shop.test")
        old["metadata"]["annotations"] = {
            **main["metadata"]["annotations"],
            f"{PREFIX}/rewrite-target": "/$1",
        }
        old["spec"]["rules"][0]["http"]["paths"][0].update(
            path="/old/(.*)", pathType="ImplementationSpecific"
        )
        old["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]["name"] = "app"
        self.write("app", main, old, service_object("app"), config_map)
        ours = self.start_with_manifests(f"--endpoint={NAMESPACE}/app=127.0.0.1:{self.fpm}", *options)
        lines = " ".join(
            f'fastcgi_param {name} "{value}";'
            if "\\n" not in value
            else f'fastcgi_param {name} "{value.replace(chr(92) + "n", chr(10))}";'
            for name, value in params.items()
        )
        passes = PASSES.format(params=lines, fpm=self.fpm)
        settings = CONFIGURATION.format(home=home, port=self.nginx, passes=passes, namespace=NAMESPACE)
        run_nginx(self, home, settings, self.nginx)
        await self.until_ready(ours)
        return ours

    async def answered(
        self, port: int, path: str, method: str = "GET", body: bytes = b"", fields: bytes = b""
    ) -> Answer:
        """Ask once, and return the answer."""
        client = await self.connect(port)
        framing = b"Content-Length: %d\r\n" % len(body) if body and b"Transfer-" not in fields else b""
        head = b"%b %b HTTP/1.1\r\nHost: shop.test\r\n%b%b\r\n" % (
            method.encode(),
            path.encode(),
            framing,
            fields,
        )
        client.send(head + body)
        await client.answer().addTimeout(PATIENCE, self.reactor)
        (answer,) = client.answers
        client.transport.loseConnection()
        return answer

    async def both(self, path: str, **asked: Any) -> Answer:
        """Ask both, check that they say the same, and return ours."""
        ours = await self.answered(self.http, path, **asked)
        theirs = await self.answered(self.nginx, path, **asked)
        self.assertEqual(ours.status, theirs.status, path)
        lines = [
            sorted(map(normal, filter(is_about_content, one.head.split(b"\r\n")[1:])))
            for one in (ours, theirs)
        ]
        self.assertEqual(lines[0], lines[1], path)
        if not ours.body.startswith(b'{"server"'):
            self.assertEqual((ours.body, ours.digest), (theirs.body, theirs.digest), path)
        return ours

    async def told(self, path: str, **asked: Any) -> dict[str, Any]:
        """Have both tell what they were asked, check that it is the same, and return what we made of it."""
        found = []
        for port in (self.http, self.nginx):
            answer = await self.answered(port, path, **asked)
            self.assertEqual(answer.status, 200, answer.body)
            found.append(json.loads(answer.body))
        ours, theirs = found
        more = ours["server"].keys() - theirs["server"].keys()
        self.assertEqual(more, OUR_FIELDS)
        for server in (ours["server"], theirs["server"]):
            for name in OTHERS | OUR_FIELDS:
                server.pop(name, None)
        self.assertEqual(ours, theirs)
        return ours  # type: ignore[no-any-return]

    async def test_params(self) -> None:
        """A script is told the same by both, but for our forwarding fields."""
        await self.begin()
        ours = await self.told("/echo.php?x=1&y=%C3%A4", fields=b"Cookie: a=1; b=2\r\nX-Team: blue\r\n")
        self.assertEqual((ours["get"]["x"], ours["cookie"]), ("1", {"a": "1", "b": "2"}))
        self.assertEqual(ours["server"]["APP_ENV"], f"at {NAMESPACE} of shop.test?x=1&y=%C3%A4")
        await self.told("//echo.php")
        await self.told("/./echo.php")
        await self.told(
            "/ech%6f.php?a=%0D%0A",
            fields=b"Proxy: evil\r\nX_Under: 1\r\nX.Dot: 1\r\nAuthorization: Basic YTpi\r\n",
        )
        await self.told("/old/echo.php?y=2")

    async def test_repeated_fields(self) -> None:
        """Of a field that comes twice all values are told, as by nginx since 1.23; before, PHP saw the last one alone."""
        await self.begin()
        fields = b"Cookie: a=1\r\nCookie: b=2\r\nX-Team: blue\r\nX-Team: red\r\n"
        told = json.loads((await self.answered(self.http, "/echo.php", fields=fields)).body)
        self.assertEqual((told["cookie"], told["server"]["HTTP_X_TEAM"]), ({"a": "1", "b": "2"}, "blue, red"))

    async def test_bodies(self) -> None:
        """Forms, files and bodies of any sort arrive the same, with a length and without."""
        await self.begin()
        form = b"Content-Type: application/x-www-form-urlencoded\r\n"
        ours = await self.told("/echo.php", method="POST", body=b"a=1&b=%20x", fields=form)
        self.assertEqual(ours["post"], {"a": "1", "b": " x"})
        chunked = b"5\r\na=1&b\r\n3\r\n=%2\r\n2\r\n0x\r\n0\r\n\r\n"
        ours = await self.told(
            "/echo.php", method="POST", body=chunked, fields=form + b"Transfer-Encoding: chunked\r\n"
        )
        self.assertEqual(ours["post"], {"a": "1", "b": " x"})
        content = bytes(range(256)) * 20_000
        part = (
            b'--cut\r\nContent-Disposition: form-data; name="f"; filename="a.bin"\r\n\r\n'
            + content
            + b"\r\n--cut--\r\n"
        )
        ours = await self.told(
            "/echo.php",
            method="POST",
            body=part,
            fields=b"Content-Type: multipart/form-data; boundary=cut\r\n",
        )
        self.assertEqual(ours["files"]["f"][:2], ["a.bin", len(content)])
        await self.told("/echo.php", method="PUT", body=content, fields=b"Content-Type: a/b\r\n")

    async def test_answers(self) -> None:
        """Statuses, redirects, cookies, lengths, errors and what is large come out the same."""
        await self.begin()
        for code in (200, 201, 204, 304, 400, 404, 410, 500, 503):
            await self.both(f"/status.php?code={code}")
        for path in (
            "/redirect.php",
            "/cookies.php",
            "/length.php",
            "/empty.php",
            "/fatal.php",
            "/none.php",
            "/",
            "/folder/",
        ):
            await self.both(path)
        self.assertEqual((await self.both("/large.php")).size, 3_000_000)
        self.assertEqual((await self.both("/folder/")).body, b"index of /folder/index.php")

    async def test_streaming(self) -> None:
        """What a script flushes is on its way while it goes on."""
        await self.begin()
        client = await self.connect(self.http)
        began = self.reactor.seconds()
        client.send(b"GET /slow.php HTTP/1.1\r\nHost: shop.test\r\n\r\n")
        await self.until(lambda: client.answers and client.answers[0].body == b"one")
        first = self.reactor.seconds() - began
        await client.answer().addTimeout(PATIENCE, self.reactor)
        self.assertEqual(client.answers[0].body, b"onetwothree")
        self.assertGreater(self.reactor.seconds() - began - first, 0.3)

    async def test_complaints(self) -> None:
        """What a script writes to STDERR is in the log, and not in the answer."""
        ours = await self.begin()
        self.assertEqual((await self.both("/stderr.php")).body, b"fine")
        await self.until(lambda: b"something to complain of" in ours.output)
        self.assertEqual((await self.both("/fatal.php")).status, 500)
        await self.until(lambda: b"undefined_function" in ours.output)

    async def test_kept_connections(self) -> None:
        """Where connections are kept, one process of PHP-FPM has all requests that come one after another; else they take turns."""
        await self.begin("--fastcgi-keep-connections=true")
        kept = {(await self.answered(self.http, "/pid.php")).body for _ in range(12)}
        self.assertEqual(len(kept), 1)
        await self.until(lambda: self.connections() == 1)

    async def test_connections_that_are_not_kept(self) -> None:
        """No process of PHP-FPM waits for us."""
        await self.begin()
        await self.answered(self.http, "/pid.php")
        # One that is kept ends, too, after a minute.
        closed = Deferred.fromCoroutine(self.until(lambda: not self.connections()))
        await closed.addTimeout(PATIENCE / 2, self.reactor)

    def connections(self) -> int:
        """Return how many connections to PHP-FPM are open."""
        of_port, established = f":{self.fpm:04X}", "01"
        lines = [line.split() for line in Path("/proc/net/tcp").read_text("ascii").splitlines()]
        # While others come and go, the system lists some several times.
        return len(
            {ours for _, ours, peer, state, *_ in lines if peer.endswith(of_port) and state == established}
        )
