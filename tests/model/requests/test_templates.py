"""Tests for ``ingress.model.requests.templates``."""

import pickle
import re
from base64 import b64encode
from functools import partial
from hashlib import sha1
from pathlib import Path
from urllib.parse import quote

from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import load_pem_x509_certificate
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.requests.client_authentication import ClientEvidence
from ingress.model.requests.templates import (
    ANSWER_NAMES,
    ANSWER_VARIABLES,
    CONSTANTS,
    MAX_CHARACTERS,
    MAX_VARIABLES,
    NO_TEXT,
    REQUEST_NAMES,
    REQUEST_VARIABLES,
    Part,
    Template,
    TemplateRefused,
    read_template,
)
from tests.fakes.certificates import issue, make_authority
from tests.fakes.counting import calls
from tests.fakes.filter_parts import FakeEdit, FakeFacts

FACTS = FakeFacts(
    id=b"r1",
    scheme=b"https",
    host=b"shop.test",
    path=b"/b",
    target=b"/a/../b?user=7&Page=2&user=8",
    client=b"192.0.2.9",
    forwarded_for=b"192.0.2.9, 10.0.0.1",
    port=8443,
    client_port=50123,
    server_address=b"10.0.0.9",
    protocol=b"HTTP/2.0",
    content_length=b"3",
    hostname=b"pod-1",
    upgrade=b"websocket",
    now=1767225600.5,
    client_evidence=ClientEvidence(certificate=b"der"),
    fields={
        b"host": b"Shop.test:8443",
        b"x-user": b"ann",
        b"authorization": b"Basic YW5uOnB3",
        b"cookie": b"a=1; session=xyz; Session=no",
        b"content-type": b"text/css",
    },
)
ANSWER = FakeEdit(status=404, fields=[(b"ETag", b'"e"')])
VALUES = {
    "args": b"user=7&Page=2&user=8",
    "best_http_host": b"Shop.test:8443",
    "binary_remote_addr": b"192.0.2.9",
    "content_length": b"3",
    "content_type": b"text/css",
    "document_uri": b"/b",
    "escaped_request_uri": b"%2Fa%2F..%2Fb%3Fuser%3D7%26Page%3D2%26user%3D8",
    "host": b"shop.test",
    "https": b"on",
    "hostname": b"pod-1",
    "is_args": b"?",
    "msec": b"1767225600.500",
    "pass_access_scheme": b"https",
    "pass_port": b"8443",
    "pass_server_port": b"8443",
    "proxy_add_x_forwarded_for": b"192.0.2.9, 10.0.0.1",
    "query_string": b"user=7&Page=2&user=8",
    "remote_addr": b"192.0.2.9",
    "remote_port": b"50123",
    "remote_user": b"ann",
    "ssl_client_escaped_cert": b"",
    "ssl_client_fingerprint": b"",
    "ssl_client_i_dn": b"",
    "ssl_client_s_dn": b"",
    "ssl_client_serial": b"",
    "ssl_client_verify": b"SUCCESS",
    "req_id": b"r1",
    "request": b"GET /a/../b?user=7&Page=2&user=8 HTTP/2.0",
    "request_id": b"r1",
    "request_method": b"GET",
    "request_uri": b"/a/../b?user=7&Page=2&user=8",
    "scheme": b"https",
    "server_addr": b"10.0.0.9",
    "server_port": b"8443",
    "server_protocol": b"HTTP/2.0",
    "the_real_ip": b"192.0.2.9",
    "time_iso8601": b"2026-01-01T00:00:00+00:00",
    "time_local": b"01/Jan/2026:00:00:00 +0000",
    "uri": b"/b",
}
NAMED = {
    "http_x_user": b"ann",
    "http_X_User": b"ann",
    "http_host": b"Shop.test:8443",
    "http_none": b"",
    "http_content_length": b"3",
    "http_upgrade": b"websocket",
    "http_connection": b"Upgrade",
    "arg_user": b"7",
    "arg_page": b"2",
    "arg_none": b"",
    "cookie_session": b"xyz",
    "cookie_none": b"",
}
PAGE = Path(__file__).resolve().parents[3] / "docs" / "variables.md"


def rendered(text: str, facts: FakeFacts = FACTS) -> bytes:
    """What *text* comes to."""
    return read_template(text, answers=True).render(facts, ANSWER)


class RemoteUserTests(SynchronousTestCase):
    """The user that a password is sent for."""

    def test_users(self) -> None:
        """It is what stands before the colon, with nothing that could end a line; nobody where there is none."""
        for value, user in (
            (b"Basic " + b64encode(b"ann:geheim:2"), b"ann"),
            (b"bASIC  " + b64encode(b"ann:"), b"ann"),
            (b"Basic " + b64encode(b"a\r\nb:c"), b"a%0D%0Ab"),
            (b"Basic " + b64encode(b"\xff:c"), b"\xff"),
            (b"Basic " + b64encode(b"ann"), b""),
            (b"Bearer " + b64encode(b"ann:x"), b""),
            (b"Basic !!!", b""),
            (b"Basic", b""),
            (b"", b""),
        ):
            facts = FakeFacts(fields={b"authorization": value})
            self.assertEqual(rendered("$remote_user", facts), user, value)


class ReadTests(SynchronousTestCase):
    """What a template may be."""

    def test_parts(self) -> None:
        """Text and variables follow each other as they were written."""
        self.assertEqual(
            read_template("a${host}b:$http_X_User").parts,
            (Part("", b"a"), Part("host"), Part("", b"b:"), Part("http_", b"x-user")),
        )
        self.assertEqual(read_template(""), NO_TEXT)

    def test_dollars(self) -> None:
        """A dollar that no name follows stands for itself; a brace that is opened must hold a name and be closed."""
        for text in ("$", "5 $", "$$", "a$-b", "^x$|y", "$ä"):
            self.assertEqual(read_template(text).text, text.encode(), text)
        self.assertEqual(read_template("$$host").parts, (Part("", b"$"), Part("host")))
        for text in ("${", "${}", "${host", "${ho st}", "${host }", "${$host}", "${a.b}"):
            self.assertRaises(TemplateRefused, read_template, text)

    def test_unknown_variables(self) -> None:
        """A variable that is not known is refused by its name, which is cut where it is long."""
        for name in ("nginx_version", "upstream_addr", "http_", "arg_", "1", "status", "sent_http_x", "Host"):
            refusal = self.assertRaises(TemplateRefused, read_template, f"x${name}")
            self.assertIn(f"${name},", str(refusal))
        long = self.assertRaises(TemplateRefused, read_template, f"$x{'y' * 5000}")
        self.assertLess(len(str(long)), 120)

    def test_what_no_field_holds(self) -> None:
        """No control character but a tab is part of a template, and with lines, no other than line ends besides."""
        for control in ("\0", "\r", "\n", "\x1b", "\x7f"):
            self.assertRaises(TemplateRefused, read_template, f"a{control}b")
        self.assertEqual(read_template("a\tb").text, b"a\tb")
        self.assertEqual(read_template("a\r\nb\n", lines=True).text, b"a\r\nb\n")
        self.assertRaises(TemplateRefused, read_template, "a\0b", lines=True)

    def test_other_texts(self) -> None:
        """Any Unicode is taken as UTF-8; half a surrogate pair, too long a text, and too many variables are refused."""
        self.assertEqual(read_template("Grüße").text, "Grüße".encode())
        self.assertRaises(TemplateRefused, read_template, "\ud800")
        self.assertRaises(TemplateRefused, read_template, "x" * (MAX_CHARACTERS + 1))
        self.assertEqual(len(read_template("$host" * MAX_VARIABLES).parts), MAX_VARIABLES)
        self.assertRaises(TemplateRefused, read_template, "$host" * (MAX_VARIABLES + 1))

    def test_own_variables(self) -> None:
        """Whoever brings values of its own names them; digits are one at a time."""
        template = read_template("/$1-$12-$mine", own=frozenset({"1", "mine"}))
        self.assertEqual(template.render(FACTS, values={"1": b"a", "mine": b"m"}), b"/a-a2-m")
        self.assertEqual(template.render(FACTS), b"/-2-")

    def test_plain_data(self) -> None:
        """Templates are equal by value, and can be pickled and written again."""
        template = read_template("a$http_x${host}b")
        self.assertEqual(pickle.loads(pickle.dumps(template)), template)
        self.assertEqual(read_template(str(template)), template)
        self.assertEqual(hash(read_template("a${http_X}${host}b")), hash(template))


class RenderTests(SynchronousTestCase):
    """What a template comes to."""

    def test_each_variable(self) -> None:
        """Every variable of requests has its value, and none is left out of this table."""
        self.assertEqual({name: rendered(f"${name}") for name in VALUES}, VALUES)
        self.assertEqual(set(VALUES), set(REQUEST_VARIABLES))

    def test_values_have_the_last_word(self) -> None:
        """What comes with a rendering counts more than what the variable is elsewhere."""
        template = read_template("$uri-$mine-$host", own=frozenset(("uri", "mine")))
        self.assertEqual(template.render(FACTS, None, {"uri": b"/new", "mine": b"1"}), b"/new-1-shop.test")
        self.assertEqual(template.render(FACTS), b"/b--shop.test")

    def test_each_name(self) -> None:
        """Fields, parameters and cookies are found by name, and empty where they are missing."""
        self.assertEqual({name: rendered(f"${{{name}}}") for name in NAMED}, NAMED)

    def test_without(self) -> None:
        """Without a query, its variables are empty; nor is a plain request ``$https``."""
        plain = FakeFacts(target=b"/b", scheme=b"http")
        self.assertEqual(rendered("[$args$is_args$arg_user$https]", plain), b"[]")
        self.assertEqual(rendered("$best_http_host", plain), b"a.example.com")

    def test_certificates(self) -> None:
        """A certificate of the client was verified, or it was not, or there is none."""
        for evidence, verdict in (
            (None, b"NONE"),
            (ClientEvidence(), b"NONE"),
            (ClientEvidence(certificate=b"der", error=10, reason="expired"), b"FAILED:expired"),
        ):
            self.assertEqual(rendered("$ssl_client_verify", FakeFacts(client_evidence=evidence)), verdict)

    def test_what_a_certificate_says(self) -> None:
        """Whose it is, by whom, its number and its text are empty where there is none, and where it cannot be read."""
        text = "$ssl_client_s_dn;$ssl_client_i_dn;$ssl_client_serial;$ssl_client_fingerprint;$ssl_client_escaped_cert"
        pem = issue(make_authority("People"), [], common_name="ann, A", is_client=True)[0]
        certificate = load_pem_x509_certificate(pem)
        number = certificate.serial_number
        said = (
            rb"CN=ann\, A",
            b"CN=People",
            number.to_bytes((number.bit_length() + 7) // 8, "big").hex().upper().encode(),
            sha1(certificate.public_bytes(Encoding.DER), usedforsecurity=False).hexdigest().encode(),
            quote(pem, safe="").encode(),
        )
        for der, values in (
            (certificate.public_bytes(Encoding.DER), said),
            (b"der", (b"",) * 5),
            (b"", (b"",) * 5),
        ):
            facts = FakeFacts(client_evidence=ClientEvidence(certificate=der))
            self.assertEqual(rendered(text, facts).split(b";"), [*values])
        self.assertEqual(rendered(text, FakeFacts()), b";;;;")

    def test_answers(self) -> None:
        """Variables of answers have their values where there is an answer."""
        text = "$upstream_cache_status$status $upstream_status $sent_http_etag $upstream_http_etag"
        template = read_template(text, answers=True)
        self.assertEqual(template.render(FACTS, ANSWER), b'404 404 "e" "e"')
        self.assertEqual(template.render(FACTS), b"   ")
        self.assertEqual((template.needs_answer, read_template("$host").needs_answer), (True, False))

    def test_constants(self) -> None:
        """A constant becomes text when it is bound, and is empty before."""
        template = read_template("$service_name.$namespace.svc:$service_port/$host")
        bound = template.bound({"service_name": "web", "namespace": "a", "service_port": "80"})
        self.assertEqual(bound.parts, (Part("", b"web.a.svc:80/"), Part("host")))
        self.assertEqual(template.render(FACTS), b"..svc:/shop.test")
        self.assertIs(bound.bound({"namespace": "b"}), bound)
        self.assertEqual(read_template("$location_path").bound({"location_path": "/a\nb"}).text, b"/a%0Ab")

    def test_values_of_fields(self) -> None:
        """The value of a field has no space around it, and what comes with the rendering ends no line of it."""
        template = read_template(" $mine\t$1 ", own=frozenset({"1", "mine"}))
        values = {"mine": b"a\r\nb", "1": b"c\0 "}
        self.assertEqual(template.field_value(FACTS, values=values), b"a%0D%0Ab\tc%00")
        long = FakeFacts(target=b"/" + b"a" * 2048)
        self.assertEqual(len(read_template("$uri$request_uri").field_value(long)), 2050)
        self.assertEqual(read_template("$request_uri" * 9).field_value(long), b"")

    def test_no_variable_ends_a_line(self) -> None:
        """Whatever a path decodes to, what it comes to holds no control character."""
        facts = FakeFacts(path=bytes(range(33)) + b"\x7f\xff")
        found = rendered("$uri", facts)
        self.assertIsNone(re.search(rb"[\x00-\x1f\x7f]", found))
        self.assertIn(b"%0D", found)
        self.assertEqual(read_template("x").text, b"x")
        self.assertIsNone(Template((Part("host"),)).text)


class ManyTests(SynchronousTestCase):
    """Hundreds of templates of one request, as a snippet may have them."""

    def test_what_takes_long(self) -> None:
        """What has to be escaped or decoded is so once of each request, whoever asks in between for another variable."""
        credentials = b64encode(b"\x01" * 6000 + b":x")
        facts = FakeFacts(
            path=b"/" + b"\x01" * 6000,
            target=b"/" + b'"' * 6000,
            fields={b"authorization": b"Basic " + credentials},
        )
        template = read_template("$uri$remote_user$escaped_request_uri")
        once = calls(partial(template.render, facts))
        self.assertGreater(once, 12_000)
        self.assertLess(calls(lambda: [template.render(facts) for _ in range(200)]), once + 200 * 30)

    def test_another_request(self) -> None:
        """What was remembered of one request is not said of another."""
        for octet in (b"\x01", b"\x02", b"\x01"):
            facts = FakeFacts(
                path=octet, target=octet, fields={b"authorization": b"Basic " + b64encode(octet + b":")}
            )
            self.assertEqual(
                rendered("$uri $remote_user $escaped_request_uri", facts),
                b" ".join([b"%%%02X" % octet[0]] * 3),
            )


class DocumentTests(SynchronousTestCase):
    """``docs/variables.md`` names what is accepted."""

    def test_names(self) -> None:
        """Every variable is described, and no other one."""
        rows = [
            line.split(" | ")[0] for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| `")
        ]
        shown = {name for row in rows for name in re.findall(r"`\$([^`]+)`", row)}
        open_names = {f"{name}NAME" for name in (*REQUEST_NAMES, *ANSWER_NAMES)}
        self.assertEqual(shown, {*REQUEST_VARIABLES, *ANSWER_VARIABLES, *CONSTANTS} | open_names)
