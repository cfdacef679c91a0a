"""The cases of the comparison with ingress-nginx, the objects that are made of them, and what stands around both."""

import asyncio
import re
import struct
from collections.abc import Iterator
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, cast

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, TrailersReceived
from twisted.trial.unittest import SynchronousTestCase

from conformance.ingress_nginx import cases, making, names, of_files, play, table, template
from conformance.ingress_nginx.case import Ask, Case, Told, ingress, meant
from conformance.ingress_nginx.client import ask_of
from conformance.ingress_nginx.client_http2 import head_of
from conformance.ingress_nginx.comparing import Difference
from conformance.ingress_nginx.endpoint_http2 import Http2Answer, Http2Connection, Http2Request
from conformance.ingress_nginx.endpoints import Answer, Arrival, answer_bytes, field_of, http2_answer
from conformance.ingress_nginx.play import Row

REPOSITORY = Path(__file__).parents[2]


def anchors(text: str) -> set[str]:
    """Of the headings of a document, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


class CasesTests(SynchronousTestCase):
    """All cases."""

    def test_each_has_a_name_of_its_own(self) -> None:
        """Hosts and namespaces are made of it."""
        found = [case.name for case in cases.CASES]
        self.assertEqual(len(found), len(set(found)))
        for name in found:
            self.assertRegex(name, r"^[a-z0-9]+(-[a-z0-9]+)*$")

    def test_what_several_cases_may_see_is_the_same_for_all(self) -> None:
        """An object that is not in the namespace of its case has a name of its own, or the same content wherever it comes again."""
        seen: dict[tuple[str, str, str], object] = {}
        for case in cases.CASES:
            for thing in case.objects:
                there = thing["metadata"].get("namespace")
                if there is not None:
                    key = (thing["kind"], there, thing["metadata"]["name"])
                    self.assertEqual(seen.setdefault(key, thing), thing, case.name)
        self.assertIn(("ConfigMap", "ingress-nginx", "added-1"), seen)

    def test_what_is_told_is_told_where_it_says(self) -> None:
        """Each difference that counts as told names a heading of a document that there is, or words that stand in it."""
        for told in (*cases.EVERYWHERE, *(one for case in cases.CASES for one in case.told)):
            file, _, words = told.where.partition(": ")
            file, _, anchor = file.partition("#")
            text = (REPOSITORY / file).read_text("utf-8")
            self.assertTrue(anchor or words, told.where)
            if anchor:
                self.assertIn(anchor, anchors(text), told.where)
            self.assertIn(words, text, told.where)

    def test_what_is_told_is_about_a_request_of_the_case(self) -> None:
        """A pattern that no request of its case has would never be seen."""
        for case in cases.CASES:
            asked = [Ask.name.fget(ask) for ask in case.asks]  # type: ignore[attr-defined]
            for told in case.told:
                self.assertTrue(
                    any(fnmatchcase(name, told.asks) for name in asked), f"{case.name}: {told.asks}"
                )

    def test_some_are_chosen_by_name(self) -> None:
        """By words with commas between, and * in them."""
        self.assertEqual([case.name for case in cases.chosen("plain, basic-map")], ["plain", "basic-map"])
        self.assertIn("basic-map", [case.name for case in cases.chosen("basic-*")])
        self.assertEqual(len(cases.chosen("")), len(cases.CASES))


class MakingTests(SynchronousTestCase):
    """Objects of a case."""

    def test_services_are_made_for_what_ingresses_name(self) -> None:
        """With all ports that are named, an endpoint each, and none for those that are missing."""
        case = Case(
            "x",
            (ingress({"/": "web", "/b": "web:http", "/c": "gone"}),),
            (),
            replicas={"web": 2},
            missing=("gone",),
        )
        made = making.made(case, making.addresses())
        self.assertEqual(made.addresses, {"web#0": "10.30.0.1", "web#1": "10.30.0.2"})
        kinds = [thing["kind"] for thing in made.objects]
        self.assertEqual(kinds, ["Namespace", "Service", "EndpointSlice", "Ingress"])
        ports = made.objects[1]["spec"]["ports"]
        self.assertEqual([port["name"] for port in ports], ["p80", "http"])
        self.assertTrue(
            all(thing["metadata"].get("namespace", "parity-x") == "parity-x" for thing in made.objects)
        )

    def test_endpoints_that_are_down_listen_nowhere(self) -> None:
        """Their port is one that nobody has."""
        made = making.made(Case("x", (ingress(),), (), down=("web",)), making.addresses())
        self.assertEqual(made.objects[2]["ports"][0]["port"], making.NOBODY_LISTENS)

    def test_addresses_do_not_come_twice(self) -> None:
        """Also beyond a hundred."""
        free: Iterator[str] = making.addresses()
        found = [next(free) for _ in range(600)]
        self.assertEqual(len(set(found)), 600)
        self.assertEqual(found[255], "10.30.1.0")

    def test_words_of_a_case_stand_for_its_own(self) -> None:
        """Host and namespace, in texts, bytes and all below."""
        case = Case("x", (), ())
        self.assertEqual(
            meant({"a": ["HOST", b"SPACE", ("b.HOST",), 1]}, case),
            {"a": ["x.test", b"parity-x", ("b.x.test",), 1]},
        )

    def test_ingress_has_types_and_ports(self) -> None:
        """As they are written before and behind."""
        path = ingress({"Exact:/a": "web:8080"})["spec"]["rules"][0]["http"]["paths"][0]
        self.assertEqual(path["pathType"], "Exact")
        self.assertEqual(path["path"], "/a")
        self.assertEqual(path["backend"], {"service": {"name": "web", "port": {"number": 8080}}})


class OfFilesTests(SynchronousTestCase):
    """Cases of manifests."""

    def test_ingresses_get_hosts_and_a_class_of_the_case(self) -> None:
        """Whatever namespace and class they were of; requests are for what their paths begin with."""
        things: list[dict[str, Any]] = [
            {"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {"name": "a"}},
            {
                "kind": "Ingress",
                "apiVersion": "networking.k8s.io/v1",
                "metadata": {
                    "name": "a",
                    "namespace": "shop",
                    "annotations": {"kubernetes.io/ingress.class": "nginx", "x": True},
                },
                "spec": {
                    "tls": [{"hosts": ["a.example"]}],
                    "rules": [
                        {"host": "a.example", "http": {"paths": [{"path": "/api(/|$)(.*)"}]}},
                        {"host": "*.b.example"},
                    ],
                },
                "status": {},
            },
        ]
        case = of_files.case_of("x", things)
        assert case is not None
        (ingress,) = case.objects
        self.assertEqual(ingress["metadata"], {"name": "a", "annotations": {"x": "True"}})
        self.assertEqual(ingress["spec"]["ingressClassName"], "nginx")
        self.assertEqual(ingress["spec"]["tls"], [{"hosts": ["a.example.HOST"]}])
        self.assertEqual(
            [(ask.host, ask.target, ask.secure) for ask in case.asks],
            [
                ("a.example.HOST", "/api", False),
                ("a.example.HOST", "/api/x?y=1", False),
                ("a.example.HOST", "/api", True),
                ("any.b.example.HOST", "/", False),
                ("any.b.example.HOST", "/x?y=1", False),
                ("any.b.example.HOST", "/", True),
            ],
        )

    def test_documents(self) -> None:
        """Lists are what is in them, also nothing; what has no name, as what is made of templates, is left out."""
        file = Path(self.mktemp())
        file.write_text(
            "metadata: {name: a}\n---\nkind: List\nitems: [{metadata: {name: b}}, {metadata: {generateName: c}}]\n"
            "---\nkind: List\n---\nkind: Kustomization\n---\njust words\n---\n"
        )
        self.assertEqual([one["metadata"]["name"] for one in of_files.documents(file)], ["a", "b"])

    def test_nothing_without_an_ingress(self) -> None:
        """Also none of a version that no API server has any more."""
        old = {"kind": "Ingress", "apiVersion": "extensions/v1beta1", "metadata": {"name": "a"}, "spec": {}}
        self.assertIsNone(of_files.case_of("x", [old]))


class RequestTests(SynchronousTestCase):
    """Bytes that are sent."""

    def test_body_has_a_length_unless_it_says_otherwise(self) -> None:
        """One Content-Length, or the framing that the request has."""
        self.assertTrue(ask_of(Ask(method="POST", body=b"abc")).endswith(b"Content-Length: 3\r\n\r\nabc"))
        chunked = ask_of(Ask(method="POST", fields=(("Transfer-Encoding", "chunked"),), body=b"0\r\n\r\n"))
        self.assertNotIn(b"Content-Length", chunked)

    def test_head_of_http2(self) -> None:
        """Names in lower case behind what HTTP/2 has of the first line; a body may have no length."""
        ask = Ask(
            "/a", "POST", host="a.test", fields=(("X-A", "1"), ("Accept", "b")), body=b"abc", http2=True
        )
        head = [(":method", "POST"), (":scheme", "https"), (":path", "/a"), (":authority", "a.test")]
        fields = [("user-agent", "parity"), ("x-a", "1"), ("accept", "b")]
        self.assertEqual(head_of(ask), [*head, *fields, ("content-length", "3")])
        self.assertEqual(head_of(replace(ask, unsized=True)), [*head, *fields])
        self.assertEqual(ask.name, "POST https://a.test/a X-A:1 Accept:b by the name 'HOST' by HTTP/2")

    def test_raw_is_sent_as_it_is(self) -> None:
        """Nothing is added."""
        self.assertEqual(ask_of(Ask(raw=b"GET /\r\n")), b"GET /\r\n")

    def test_cookies_and_no_host(self) -> None:
        """What is kept goes along; an empty host is no field."""
        sent = ask_of(Ask(host=""), "a=1; b=2")
        self.assertIn(b"Cookie: a=1; b=2\r\n", sent)
        self.assertNotIn(b"Host:", sent)


class EndpointTests(SynchronousTestCase):
    """Answers of endpoints."""

    arrival = Arrival("10.30.0.1", "GET / HTTP/1.1", (), b"", False, "")

    def test_answer_has_what_the_case_says(self) -> None:
        """Status, fields, and the body with its length."""
        said = answer_bytes(Answer(404, (("X-A", "1"),), "gone"), self.arrival, "GET", False)
        self.assertEqual(said, b"HTTP/1.1 404 Told\r\nX-A: 1\r\nContent-Length: 4\r\n\r\ngone")

    def test_head_and_bodyless_statuses_have_no_body(self) -> None:
        """Their length is that of the body which is left out, or none."""
        self.assertTrue(
            answer_bytes(Answer(body="abc"), self.arrival, "HEAD", False).endswith(
                b"Content-Length: 3\r\n\r\n"
            )
        )
        self.assertNotIn(b"Content-Length", answer_bytes(Answer(204), self.arrival, "GET", False))

    def test_fields_lose_their_space(self) -> None:
        """Around the value alone."""
        self.assertEqual(field_of("X-A:  a b "), ("X-A", "a b"))


class Written(list[bytes]):
    """What is written to whoever asked."""

    def write(self, data: bytes) -> None:
        self.append(data)

    async def drain(self) -> None:
        """Nothing is held."""


class Http2EndpointTests(SynchronousTestCase):
    """An endpoint that speaks HTTP/2."""

    def test_answer_has_trailers_but_where_a_call_fails_at_once(self) -> None:
        """Then its fields are all there is."""
        arrival = Arrival("10.30.0.1", "POST /x HTTP/2", (), b"", False, "")
        said = http2_answer(Answer(fields=(("A", "b"),), body="x", trailers=(("grpc-status", "0"),)), arrival)
        self.assertEqual(said, Http2Answer(((":status", "200"), ("a", "b")), b"x", (("grpc-status", "0"),)))
        self.assertEqual(http2_answer(Answer(fields=(("grpc-status", "12"),)), arrival).body, b"")
        self.assertEqual(http2_answer(Answer(204), arrival).body, b"")

    def test_request_is_written_down_and_answered(self) -> None:
        """With its host, trailers last, and the body of all pieces."""
        client = H2Connection(H2Configuration(client_side=True))
        client.initiate_connection()
        head = [
            (":method", "POST"),
            (":scheme", "http"),
            (":path", "/a?b"),
            (":authority", "a.test"),
            ("x", "1"),
        ]
        client.send_headers(1, head)
        client.send_data(1, b"ab")
        client.send_data(1, b"c")
        client.send_headers(1, [("sum", "2")], end_stream=True)
        seen: list[Http2Request] = []
        written = Written()

        async def answer(writer: object, request: Http2Request) -> Http2Answer:
            seen.append(request)
            return Http2Answer(((":status", "200"),), b"yes", (("grpc-status", "0"),))

        async def serve() -> None:
            reader = asyncio.StreamReader()
            connection = Http2Connection(
                reader, cast(asyncio.StreamWriter, written), client.data_to_send(), answer
            )
            serving = asyncio.ensure_future(connection.serve())
            while b"yes" not in b"".join(written):
                await asyncio.sleep(0)
            reader.feed_eof()
            await serving

        asyncio.run(serve())
        self.assertEqual(
            seen,
            [
                Http2Request(
                    "POST /a?b HTTP/2", (("host", "a.test"), ("x", "1"), ("trailer: sum", "2")), b"abc"
                )
            ],
        )
        events = client.receive_data(b"".join(written))
        self.assertEqual([one.data for one in events if isinstance(one, DataReceived)], [b"yes"])
        self.assertTrue(any(isinstance(one, TrailersReceived) for one in events))


class TemplateTests(SynchronousTestCase):
    """What of the template is changed; the text here is in the shape of theirs."""

    text = (
        "pid {{ .PID }};\ndaemon off;\nhttp {\n server {\n http2 on;\n }\n"
        "    # default server, used for NGINX healthcheck and access to nginx stats\n server { }\n}\n"
        "\nstream {\n lua_package_path x;\n}\n{{/* definition of templates to avoid repetitions */}}\n{{ define }}\n"
    )

    def test_modules_are_loaded_and_streams_are_gone(self) -> None:
        """And what the controller says to streams has a listener."""
        text = template.adapted(self.text, ["a.so", "b.so"], "/m")
        self.assertIn("pid {{ .PID }};\nload_module /m/a.so;\nload_module /m/b.so;\nuser root;\n", text)
        self.assertNotIn("http2 on", text)
        self.assertIn("{{ if $cfg.UseHTTP2 }}", text)
        self.assertIn(" listen {{ $port }} http2;", text)
        self.assertNotIn("lua_package_path", text)
        self.assertIn("listen 127.0.0.1:{{ .StreamPort }};", text)
        self.assertTrue(text.endswith("{{ define }}\n"))

    def test_another_template_is_refused(self) -> None:
        """Rather than served with what was not meant."""
        error = self.assertRaises(
            template.TemplateError, template.adapted, self.text.replace("http2 on;", "")
        )
        self.assertIn("http2 on", str(error))


class NamesTests(SynchronousTestCase):
    """The resolver."""

    def question(self, name: str, kind: int) -> bytes:
        labels = b"".join(bytes((len(part),)) + part.encode() for part in name.split("."))
        return (
            b"\x12\x34"
            + struct.pack("!HHHHH", 0x0100, 1, 0, 0, 0)
            + labels
            + b"\0"
            + struct.pack("!HH", kind, 1)
        )

    def test_known_name_has_its_address(self) -> None:
        """Once, for a question of type A; the others have nothing, and no error."""
        answer = names.answer_to(self.question("Web.x.test", 1), {"web.x.test": "10.30.0.1"})
        assert answer is not None
        self.assertTrue(answer.startswith(b"\x12\x34"))
        self.assertTrue(answer.endswith(bytes((10, 30, 0, 1))))
        other = names.answer_to(self.question("web.x.test", 28), {"web.x.test": "10.30.0.1"})
        assert other is not None
        self.assertEqual((other[3] & 15, other[7]), (0, 0))

    def test_unknown_name_is_said_to_be_none(self) -> None:
        """NXDOMAIN; and what is no question has no answer."""
        answer = names.answer_to(self.question("a.test", 1), {})
        assert answer is not None
        self.assertEqual(answer[3] & 15, 3)
        self.assertIsNone(names.answer_to(answer, {}))
        self.assertIsNone(names.answer_to(b"short", {}))
        self.assertIsNone(names.answer_to(self.question("a.test", 1)[:20], {}))


class TableTests(SynchronousTestCase):
    """What is printed."""

    def test_verdicts(self) -> None:
        """Different is more than told, and told more than the same."""
        one, told = Difference("answer.status", "200", "404"), Told("answer.*", "docs/a.md#b")
        rows = [
            Row("a", "GET /"),
            Row("a", "GET /", ((one, told),)),
            Row("a", "GET /", ((one, told),), (one,)),
        ]
        self.assertEqual([row.verdict for row in rows], ["same", "told", "DIFFERENT"])
        lines = table.lines_of(rows[2])
        self.assertEqual(
            lines[1:],
            ["    answer.status: told in docs/a.md#b", "    answer.status: ingress-nginx '200', ours '404'"],
        )

    def test_judged_by_what_is_told(self) -> None:
        """A difference that is told counts as such, and one that is told and not seen is named."""
        told = (Told("answer.status", "docs/a.md#b", "GET http://HOST/a"), Told("*", "docs/c.md#d", "POST *"))
        case = Case("x", (), (), told=told)
        one = Difference("answer.status", "200", "404")
        self.assertEqual(play.judge(case, Ask("/a"), told, [one]).verdict, "told")
        self.assertEqual(play.judge(case, Ask("/b"), told, [one]).verdict, "DIFFERENT")
        self.assertEqual(play.judge(case, Ask("/b"), told, []).verdict, "same")
        self.assertEqual(play.unseen(case, ["docs/a.md#b"]), ["docs/c.md#d"])

    def test_what_nginx_refuses_is_read(self) -> None:
        """The line of its log that says why, unless it has taken a configuration since."""
        log = b'E1 controller.go:208] Unexpected failure reloading the backend:\n\n----\nError: exit status 1\n2026/01/01 [emerg] 7#7: no "x" here\n'
        self.assertEqual(play.refusal_in(log), 'no "x" here')
        self.assertEqual(play.refusal_in(log + b"I1 controller.go:213] Backend successfully reloaded\n"), "")
        self.assertEqual(
            play.refusal_in(b"I1 controller.go:213] Backend successfully reloaded\n" + log), 'no "x" here'
        )

    def test_status_and_sum(self) -> None:
        """Non-zero where anything is different, and where nothing was asked."""
        folder = Path(self.mktemp())
        folder.mkdir()
        one = Difference("answer.status", "200", "404")
        for rows, status in (([Row("a", "b")], 0), ([Row("a", "b"), Row("a", "b", (), (one,))], 1), ([], 1)):
            self.assertEqual(table.tell(rows, folder, lambda line: None), status)

    def test_nothing_of_a_request_reaches_the_terminal(self) -> None:
        """Bytes that would move the cursor are written out."""
        self.assertEqual(table.printable("a\x1bb"), "a\\x1bb")
