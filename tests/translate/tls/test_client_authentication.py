"""Client certificates of hosts: demands, Secrets, and who decides."""

from datetime import UTC, datetime

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.admin.lists.problems import PROBLEMS
from ingress.admin.lists.routes import ROUTES
from ingress.annotations.client_certificates.check import ClientCertificateFields, ClientCheck, HostClosed
from ingress.identity.certificates import CertificateError
from ingress.model.cluster.objects import ClusterObject, Kind, ObjectKey, Secret
from ingress.model.cluster.secrets import CLIENT_AUTHENTICATION_KEYS, TLS_KEYS
from ingress.model.requests.client_authentication import ClientAuthentication, VerifyClient
from ingress.translate.annotation_reading import annotation_reader
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.needs import needs_of
from ingress.translate.readers.ingress.objects import (
    Ingress,
    IngressBackend,
    IngressPath,
    IngressRule,
    ServicePortReference,
)
from ingress.translate.snapshot import Snapshot
from ingress.translate.tls.client_authentication import CRL_KEY, OPEN, load_revocations
from ingress.translate.translate import translate
from tests.admin.listed import text_of
from tests.fakes.certificates import issue, make_authority, revoke
from tests.translate.golden import state_of

PREFIX = "nginx.ingress.kubernetes.io"
OPTIONS = TranslateOptions()
PEOPLE = make_authority("People")
CA = ObjectKey("demo", "people")


def ingress(name: str, *paths: str, host: str = "a.test", **annotations: str) -> Ingress:
    """Return an Ingress; in the names of annotations an underscore stands for a dash."""
    backend = IngressBackend("web", ServicePortReference("", 80))
    return Ingress(
        ObjectKey("demo", name),
        created=f"2020-01-01T00:00:{len(name):02}Z",
        class_name="nginx",
        annotations={f"{PREFIX}/{key.replace('_', '-')}": value for key, value in annotations.items()},
        rules=(IngressRule(host, tuple(IngressPath(path, "Prefix", backend) for path in paths)),),
    )


def secret(**content: bytes) -> Secret:
    """Return the Secret of the people; an underscore stands for a dot."""
    return Secret(CA, "Opaque", {key.replace("_", "."): value for key, value in content.items()})


def snapshot(*objects: ClusterObject) -> Snapshot:
    """Translate these objects."""
    return translate(state_of([*objects]), OPTIONS, datetime.now(UTC))


class RevocationTests(SynchronousTestCase):
    """Revocation lists out of a Secret."""

    def test_lists(self) -> None:
        """There may be none, one or several; they come out as they are."""
        one, two = revoke(PEOPLE), revoke(make_authority("Others"))
        self.assertEqual(load_revocations(secret()), b"")
        self.assertEqual(load_revocations(secret(ca_crl=one)), one)
        self.assertEqual(
            load_revocations(secret(ca_crl=one.rstrip() + b"\n# more\n" + two)), one.rstrip() + b"\n" + two
        )

    def test_read_once(self) -> None:
        """However many Ingresses ask for it, what is long is read once, and kept once."""
        one = revoke(PEOPLE)
        found = {id(load_revocations(secret(ca_crl=bytes(bytearray(one) + b"# aside")))) for _ in range(3)}
        self.assertEqual(len(found), 1)

    def test_fields_before(self) -> None:
        """What else may stand in a list's PEM is left out: nobody behind has to read it."""
        one = revoke(PEOPLE)
        begin, text = one.split(b"\n", 1)
        fields = b"Comment: of today\n\n"
        self.assertEqual(load_revocations(secret(ca_crl=begin + b"\n" + fields + text)), one)
        self.assertEqual(
            load_revocations(secret(ca_crl=one.replace(b"\n", b"\r\n"))).splitlines(), one.splitlines()
        )

    def test_unreadable(self) -> None:
        """What is no list, or not only lists, is refused: to ignore it would let the revoked in."""
        one = revoke(PEOPLE)
        for content in (
            b"",
            b"x",
            PEOPLE.pem,
            one + PEOPLE.pem,
            one.replace(b"\nMI", b"\nXX"),
            one[: len(one) // 2],
            one + one[: len(one) // 2],
            one * 65,
        ):
            with self.assertRaises(CertificateError) as caught:
                load_revocations(secret(ca_crl=content))
            self.assertTrue(caught.exception.message.startswith(CRL_KEY))


class DecisionTests(SynchronousTestCase):
    """Handshake and routes of a host agree."""

    def test_terms_and_routes(self) -> None:
        """What the handshake asks for is what the check of every route believes."""
        crl = revoke(PEOPLE)
        found = snapshot(
            ingress("a", "/a"),
            ingress("bb", "/b", auth_tls_secret="demo/people", auth_tls_verify_depth="3"),
            secret(ca_crt=PEOPLE.pem, ca_crl=crl),
        )
        asked = ClientAuthentication(f"Secret {CA}", PEOPLE.pem, crl, VerifyClient.REQUIRED, 3)
        self.assertEqual(found.handshake_settings.find("a.test").client_authentication, asked)
        self.assertIsNone(found.handshake_settings.find("b.test").client_authentication)
        self.assertEqual(
            [route.filters for route in found.table.routes],
            [(ClientCheck(asked), ClientCertificateFields())] * 2,
        )

    def test_closed(self) -> None:
        """Where nothing can be asked for, nothing is, and nobody passes; a younger demand does not open the host."""
        found = snapshot(
            ingress("a", "/a", auth_tls_secret="demo/missing"),
            ingress("bb", "/b", auth_tls_secret="demo/people"),
            secret(ca_crt=PEOPLE.pem),
        )
        self.assertIsNone(found.handshake_settings.find("a.test").client_authentication)
        self.assertEqual([route.filters for route in found.table.routes], [(HostClosed(),)] * 2)

    def test_wildcards_stand_apart(self) -> None:
        """The demand of a wildcard is not that of a host with an Ingress of its own, nor the other way."""
        found = snapshot(
            ingress("a", "/", host="*.test", auth_tls_secret="demo/people"),
            ingress("bb", "/", host="open.test"),
            secret(ca_crt=PEOPLE.pem),
        )
        for host, is_guarded in ((b"open.test", False), (b"any.test", True)):
            route = found.table.find(host, b"/")
            assert route is not None
            self.assertEqual(bool(route.filters), is_guarded)
            asked = found.handshake_settings.find(host.decode()).client_authentication
            self.assertEqual(asked is not None, is_guarded)

    def test_challenges(self) -> None:
        """Only a route of challenges is spared, however its path is written, and no path that looks like one."""
        paths = (
            "/.well-known/acme-challenge",
            "/.well-known/acme-challenge/x",
            "/.well-known/acme-challenges",
            "/",
        )
        found = snapshot(ingress("a", *paths, auth_tls_secret="demo/missing"))
        spared = {route.path for route in found.table.routes if route.filters == (HostClosed(True),)}
        self.assertEqual(spared, set(paths[:2]))

    def test_challenges_among_expressions(self) -> None:
        """Where paths are regular expressions the route of a challenge is spared, and none that may take other paths."""
        challenge = "/.well-known/acme-challenge/"
        for path, more, is_spared in (
            (f"{challenge}x", {}, True),
            (f"{challenge}x|/", {}, False),
            (f"{challenge}(.*)", {"rewrite_target": "/$1"}, False),
            (f"{challenge}x", {"rewrite_target": "/"}, False),
        ):
            found = snapshot(ingress("a", path, auth_tls_secret="demo/missing", use_regex="true", **more))
            (route,) = found.table.routes
            self.assertEqual(HostClosed(True) in route.filters, is_spared, path)

    def test_nothing(self) -> None:
        """Without a demand there is no guard."""
        (route,) = snapshot(ingress("a", "/")).table.routes
        self.assertEqual(route.filters, ())
        self.assertIsNone(OPEN.check_of("/"))

    def test_too_many_authorities(self) -> None:
        """More authorities than a handshake has time for close the host, with a problem that names Secret and number."""
        found = snapshot(ingress("a", "/", auth_tls_secret="demo/people"), secret(ca_crt=PEOPLE.pem * 1000))
        self.assertIn(
            "auth-tls-secret: Secret demo/people: ca.crt: 1000 certificates, more than 160; its hosts answer 403",
            [problem.message for problem in found.problems],
        )
        (route,) = found.table.routes
        self.assertEqual(route.filters, (HostClosed(),))

    def test_pages(self) -> None:
        """Neither the routes nor the problems of the admin port repeat certificates and lists."""
        found = snapshot(
            ingress("a", "/", auth_tls_secret="demo/people", auth_tls_match_cn="CN=ann"),
            secret(ca_crt=PEOPLE.pem, ca_crl=revoke(PEOPLE)),
        )
        pages = text_of(ROUTES, found) + text_of(PROBLEMS, found)
        self.assertIn("client-certificates", pages)
        self.assertNotIn("BEGIN", pages)


class NeedsTests(SynchronousTestCase):
    """Which Secrets are read for it."""

    def test_keys(self) -> None:
        """Authorities and lists are needed, besides what else the Secret is for."""
        asks = ingress("a", "/", auth_tls_secret="demo/people")
        self.assertEqual(
            needs_of(asks, Kind.SECRET, annotation_reader(OPTIONS)), {CA: CLIENT_AUTHENTICATION_KEYS}
        )
        both = evolve(
            ingress(
                "a",
                "/",
                auth_tls_secret="demo/people",
                proxy_ssl_secret="demo/people",
                backend_protocol="HTTPS",
            )
        )
        self.assertEqual(
            needs_of(both, Kind.SECRET, annotation_reader(OPTIONS)),
            {CA: CLIENT_AUTHENTICATION_KEYS | TLS_KEYS},
        )

    def test_out_of_reach(self) -> None:
        """Secrets of other namespaces, and what is no name, are not read; nor is one below another prefix."""
        for text in ("other/people", "../people", "demo/../people", "", "/people"):
            self.assertEqual(
                needs_of(ingress("a", "/", auth_tls_secret=text), Kind.SECRET, annotation_reader(OPTIONS)), {}
            )
        asks = ingress("a", "/", auth_tls_secret="demo/people")
        self.assertEqual(
            needs_of(
                asks, Kind.SECRET, annotation_reader(TranslateOptions(annotations_prefix="example.com"))
            ),
            {},
        )

    def test_certificates_of_servers_are_authorities_of_nobody(self) -> None:
        """A Secret with a server's certificate alone has no authority to judge by."""
        chain, key = issue(PEOPLE, ["a.test"])
        found = snapshot(ingress("a", "/", auth_tls_secret="people"), secret(tls_crt=chain, tls_key=key))
        (route,) = found.table.routes
        self.assertEqual(route.filters, (HostClosed(),))
