"""Tests for ingress.ctl.comparing.given_requests."""

import json
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from ingress.ctl.comparing.given_requests import Hosts, read_requests
from ingress.ctl.comparing.samples import Chooser, Chosen, why_not_sent
from ingress.ctl.errors import Mistake
from ingress.ctl.inputs.controller_options import options_from
from ingress.ctl.inputs.files.manifests import read_manifests
from tests.ctl.comparing.test_generating import manifest
from tests.ctl.ctl_case import CtlCase

COMBINED = '10.1.2.3 - - [22/Nov/2026:10:00:00 +0000] "{} HTTP/1.1" 200 5 "-" "curl/8"'
UPSTREAM_INFO = COMBINED + " 90 0.004 [{}] [] 10.0.4.17:8080 5 0.004 200 0a1b2c"


def read(text: str, hosts: Hosts | None = None, methods: str = "GET,HEAD", limit: int = 100) -> Chosen:
    """Read *text* as the lines of a file."""
    return read_requests(text.splitlines(True), hosts or Hosts(), Chooser(limit, methods.split(",")))


def lines(chosen: Chosen) -> list[str]:
    """What was chosen, as methods and URLs."""
    return [f"{one.method} {one.url}" for one in chosen.samples]


class GivenRequestsTests(CtlCase):
    """Files of requests."""

    def test_urls(self) -> None:
        """URLs stand for GET, or for the method before them; comments and empty lines for nothing."""
        text = "# mine\n\nhttps://shop.test/a?b=1\nHEAD http://shop.test:81/\nhttp://shop.test?x#part\n"
        self.assertEqual(
            lines(read(text)),
            ["GET https://shop.test/a?b=1", "HEAD http://shop.test:81/", "GET http://shop.test/?x"],
        )

    def test_targets_stay(self) -> None:
        """Nothing of a target is changed: no escape, no dot segment, no empty segment."""
        for target in ("/a/../b", "/a//b", "/%2e%2E/%7Ex", "/a%zz", "/a?b=[1]|{2}", "/A;b=c", "/..", "/\\x"):
            (sample,) = read(f"http://shop.test{target}").samples
            self.assertEqual(sample.target, target)

    def test_json_lines(self) -> None:
        """JSON lines have URL, and method and headers if they like; what frames a request is ours to write."""
        headers = {"Accept": "text/html", "Content-Length": "9", "Host": "x", ":authority": "y"}
        text = json.dumps({"url": "https://shop.test/"}) + "\n"
        text += json.dumps({"url": "http://shop.test/b", "method": "HEAD", "headers": headers})
        one, other = read(text).samples
        self.assertEqual((one.method, one.fields), ("GET", ()))
        self.assertEqual((other.method, other.fields), ("HEAD", (("Accept", "text/html"),)))

    def test_har(self) -> None:
        """Of a HAR file there are the requests, however it is broken into lines."""
        request = {
            "method": "GET",
            "url": "https://shop.test/",
            "headers": [{"name": "Accept", "value": "*/*"}],
        }
        entries = [{"request": request}, {"request": {**request, "method": "POST"}}, {"request": 7}]
        for indent in (None, 2):
            chosen = read(json.dumps({"log": {"entries": entries}}, indent=indent))
            self.assertEqual(lines(chosen), ["GET https://shop.test/"])
            self.assertEqual(sum(count for _, count in chosen.left_out), 2)

    def test_own_access_log(self) -> None:
        """Our own access log names hosts."""
        text = '2026-11-20T16:40:00.125Z 203.0.113.9 GET shop.test "/cart?id=7" 200 5120 0.018 10.0.4.17:8080 shop/web HTTP/1.1'
        # The second one has what a later version added, the third is of --access-log-format json.
        entry = '{"client":"203.0.113.9","method":"GET","host":"shop.test","path":"/cart?id=7","status":200}'
        for one in (text, f"{text} 0123456789abcdef0123456789abcdef", entry):
            self.assertEqual(lines(read(one)), ["GET http://shop.test/cart?id=7"])

    def test_json_log(self) -> None:
        """A log in JSON has host, path, query and method by the names of ingress-nginx's documents, or of variables."""
        for entry in (
            {"vhost": "shop.test", "path": "/a", "request_query": "b=1", "method": "GET", "status": 200},
            {"host": "shop.test", "request_uri": "/a?b=1", "args": "b=1", "request_method": "GET"},
        ):
            self.assertEqual(lines(read(json.dumps(entry))), ["GET http://shop.test/a?b=1"])

    def test_escapes_of_logs(self) -> None:
        """What a log has escaped is sent as it came, and left out where it cannot be."""
        text = COMBINED.format(r"GET /a?b=\x22c\x5Cd\x22") + "\n" + COMBINED.format(r"GET /\xD0\xB0")
        chosen = read(text, Hosts(["a.test"]))
        self.assertEqual([one.target for one in chosen.samples], ['/a?b="c\\d"'])
        self.assertEqual(sum(count for _, count in chosen.left_out), 1)

    def test_combined(self) -> None:
        """A line of the combined format goes to the hosts that are named, and to nobody where none is."""
        text = COMBINED.format("GET /a")
        self.assertEqual(
            lines(read(text, Hosts(["a.test", "b.test"]))), ["GET http://a.test/a", "GET http://b.test/a"]
        )
        chosen = read(text)
        self.assertEqual(chosen.samples, ())
        self.assertIn("no host is known", chosen.left_out[0][0])

    def test_upstream_info(self) -> None:
        """A line of ingress-nginx's goes to the host whose rule for that path leads to the backend of the line."""
        text = manifest("/cart", tls="{secretName: x}") + manifest(
            "/", host="other.test", name="other"
        ).replace("name: web, port", "name: other, port")
        objects = read_manifests(
            [self.manifest(text)], options_from(()).settings, datetime(2026, 11, 22, tzinfo=UTC)
        )
        hosts = Hosts(["named.test"], objects)
        for name, target, url in (
            ("shop-web-80", "/cart/1", "https://shop.test/cart/1"),
            ("shop-other-80", "/cart/1", "http://other.test/cart/1"),
            ("shop-web-80", "/elsewhere", "http://named.test/elsewhere"),
            ("upstream-default-backend", "/x", "http://named.test/x"),
        ):
            line = UPSTREAM_INFO.format(f"GET {target}", name)
            self.assertEqual(lines(read(line, hosts)), [f"GET {url}"])

    def test_methods(self) -> None:
        """What is of another method is left out, and counted."""
        chosen = read("POST http://a.test/\nDELETE http://a.test/\nhttp://a.test/\n")
        self.assertEqual(lines(chosen), ["GET http://a.test/"])
        self.assertEqual([count for _, count in chosen.left_out], [1, 1])

    def test_once(self) -> None:
        """What comes again is sent once."""
        self.assertEqual(len(read("http://a.test/\n" * 5).samples), 1)

    def test_limit(self) -> None:
        """What is beyond the limit is counted."""
        chosen = read("".join(f"http://a.test/{number}\n" for number in range(7)), limit=3)
        self.assertEqual((len(chosen.samples), chosen.left_out), (3, (("beyond --limit=3", 4),)))

    def test_users_in_urls(self) -> None:
        """A URL with a password is not sent, and nothing of it is said."""
        chosen = read("https://me:s3cret@a.test/")
        self.assertEqual(chosen.samples, ())
        self.assertNotIn("s3cret", str(chosen.left_out))

    def test_bad_lines(self) -> None:
        """Lines that are nothing are counted, and harm no others."""
        bad = [
            "rubbish",
            '{"url": 7}',
            '{"url": "http://a.test/", "headers": {"A": 1}}',
            "{",
            "x" * 70000,
            "[" * 9999,
        ]
        bad += [
            '{"a":' * 20000,
            '{"url": "ftp://a.test/"}',
            "http://a.test/\x07",
            "http:///x",
            '{"url": "http://a b/"}',
        ]
        chosen = read("http://a.test/\n" + "\n".join(bad))
        self.assertEqual(lines(chosen), ["GET http://a.test/"])
        self.assertEqual(sum(count for _, count in chosen.left_out), len(bad))

    def test_empty(self) -> None:
        """A file without any request is a mistake, and so is JSON that is nothing of the kind."""
        for text in ("", "\n\n# nothing\n", '{\n "log": 7}', "{\n", '{\n "a": 1\n}'):
            self.assertRaises(Mistake, read, text)

    @given(st.text(max_size=200))
    def test_anything(self, text: str) -> None:
        """Whatever stands in a file, what is chosen can be sent."""
        try:
            chosen = read(text)
        except Mistake:
            return
        self.assertEqual([why_not_sent(one) for one in chosen.samples], [""] * len(chosen.samples))
