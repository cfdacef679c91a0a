"""Which filters stand before the routes of a host, and before the host itself."""

from datetime import UTC, datetime

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.objects import ClusterObject, ObjectKey, Secret
from ingress.routing.table import RouteTable
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.objects import IngressTLS
from ingress.translate.translate import translate
from tests.fakes.certificates import issue, make_authority
from tests.translate.golden import state_of
from tests.translate.tls.test_client_authentication import PEOPLE, ingress, secret

CHAIN, KEY = issue(make_authority("Sites"), ["a.test"])
SECURED = Secret(ObjectKey("demo", "site"), "kubernetes.io/tls", {"tls.crt": CHAIN, "tls.key": KEY})
TLS = (IngressTLS(("a.test",), "site"),)


def table(*objects: ClusterObject, passes: bool = False) -> RouteTable:
    """Translate these objects to a table."""
    options = TranslateOptions(ssl_passthrough=passes)
    return translate(state_of([*objects]), options, datetime.now(UTC)).table


def names(found: RouteTable, path: bytes = b"/") -> list[str]:
    """Return the names of the filters of the route of *path*, in order."""
    route = found.find(b"a.test", path)
    assert route is not None
    return [spec.name for spec in route.filters]


def host_names(found: RouteTable) -> list[str]:
    """Return the names of the filters of the host, in order."""
    return [spec.name for spec in found.host_filters(b"a.test")]


class RouteFilterTests(SynchronousTestCase):
    """The filters of a route."""

    def test_none(self) -> None:
        """A plain route has none, and neither has its host."""
        found = table(ingress("a", "/"))
        self.assertEqual((names(found), host_names(found)), ([], []))

    def test_https(self) -> None:
        """A host with a certificate redirects and insists; where no route matches it insists alone."""
        found = table(evolve(ingress("a", "/x"), tls=TLS), SECURED)
        self.assertEqual(names(found, b"/x"), ["https-redirect", "hsts"])
        self.assertEqual(host_names(found), ["hsts"])

    def test_order(self) -> None:
        """The order is that of phases, and within a phase that of places: the host's before the route's."""
        asking = ingress(
            "a", "/(?!b)", auth_tls_secret="demo/people", modsecurity_snippet="x", use_regex="true"
        )
        people = secret(ca_crt=PEOPLE.pem)
        found = table(evolve(asking, tls=TLS), SECURED, people)
        expected = (
            "https-redirect client-certificates guard-missing regex-missing client-certificate-fields hsts"
        )
        self.assertEqual(names(found), expected.split())
        self.assertEqual(host_names(found), ["client-certificates", "hsts"])

    def test_certificates_come_first(self) -> None:
        """Where a snippet or a redirect may answer, certificates are judged before it, and plain HTTP where it always is."""
        people = secret(ca_crt=PEOPLE.pem)
        for asked in (
            {"server_snippet": 'return 200 "secret";'},
            {"server_snippet": 'location /a { return 200 "secret"; }'},
            {"configuration_snippet": 'if ($ssl_client_s_dn = "CN=ann") { return 200 "secret"; }'},
            {"permanent_redirect": "https://b.test/secret"},
            {"rewrite_target": "https://b.test/secret"},
        ):
            asking = ingress("a", "/", auth_tls_secret="demo/people", **asked)
            found = names(table(evolve(asking, tls=TLS), SECURED, people))
            first, second = map(found.index, ("client-certificates-first", "client-certificates"))
            self.assertEqual((first, second > found.index("https-redirect")), (0, True), asked)
        closed = evolve(ingress("a", "/", auth_tls_secret="demo/none", server_snippet="return 204;"), tls=TLS)
        self.assertEqual(names(table(closed, SECURED))[0], "client-certificates-first")

    def test_passthrough(self) -> None:
        """A host whose TLS passes through refuses what was decrypted here, before anything else and on all paths."""
        found = table(ingress("a", "/", ssl_passthrough="true"), passes=True)
        self.assertEqual(names(found)[0], "not-terminated-here")
        self.assertEqual(host_names(found), ["not-terminated-here"])

    def test_guard_of_the_host(self) -> None:
        """A guard in a snippet of the whole host stands where no route matches, too."""
        found = table(ingress("a", "/x", server_snippet="internal;"))
        self.assertEqual((names(found, b"/x"), host_names(found)), (["guard-missing"], ["guard-missing"]))
        found = table(ingress("a", "/x", modsecurity_snippet="x"))
        self.assertEqual((names(found, b"/x"), host_names(found)), (["guard-missing"], []))

    def test_challenges(self) -> None:
        """The check of client certificates lets challenges of an authority pass on their route, not on others."""
        people = secret(ca_crt=PEOPLE.pem)
        path = "/.well-known/acme-challenge/"
        found = table(ingress("a", "/", path, auth_tls_secret="demo/people"), people)
        routes = [found.find(b"a.test", one) for one in (b"/", path.encode() + b"x")]
        assert routes[0] is not None and routes[1] is not None
        self.assertNotEqual(routes[0].filters, routes[1].filters)
        self.assertEqual(found.host_filters(b"a.test"), routes[0].filters[:1])
