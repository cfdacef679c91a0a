"""The redirect from HTTP to HTTPS."""

from attrs import evolve, frozen
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.contract.host_facts import CertifiedHosts
from ingress.annotations.contract.values import ValueRefused
from ingress.annotations.redirects.https_redirect import (
    REDIRECTS,
    HttpsRedirect,
    RedirectSettings,
    parse_exempt,
)
from ingress.model.exchanges.reply import Reply
from ingress.model.requests.client_authentication import ClientEvidence
from ingress.translate.options import TranslateOptions
from tests.annotations.served_case import ServedCase
from tests.fakes.filter_parts import FakeServices
from tests.operator_settings import operator_settings
from tests.translate.tls.test_client_authentication import ingress


@frozen
class Facts:
    """What a policy sees of a request."""

    scheme: bytes = b"http"
    host: bytes = b"a.example.com"
    target: bytes = b"/a%20b?x=1"
    path: bytes = b"/a b"
    client_evidence: ClientEvidence | None = None
    forwarded: bytes = b""

    @property
    def authority(self) -> bytes:
        """The host by which the client knows us, ..."""
        return self.public_host + b":8080"

    @property
    def public_host(self) -> bytes:
        """... and without port."""
        return self.forwarded or self.host


def location(reply: Reply | None) -> bytes:
    """Return where *reply* leads to."""
    assert reply is not None
    return dict(reply.fields)[b"Location"]


class HttpsRedirectTests(SynchronousTestCase):
    """Plain HTTP is answered with 308 to the same host and target."""

    def test_who_is_asked(self) -> None:
        """It is not even asked about requests over HTTPS, which are nearly all and pay nothing for it."""
        self.assertEqual(HttpsRedirect().make(FakeServices()).asked_schemes, {b"http"})

    def test_description(self) -> None:
        """It stands before one route, and says nothing of hosts unless it goes by their certificates."""
        hosts = CertifiedHosts(frozenset({b"a.example.com"}))
        for redirect, expected in (
            (HttpsRedirect(), "sends plain HTTP to HTTPS"),
            (HttpsRedirect(8443, status=301), "sends plain HTTP to HTTPS on port 8443 with 301"),
            (HttpsRedirect(hosts=hosts), "sends plain HTTP for the hosts that have certificates to HTTPS"),
        ):
            self.assertEqual(redirect.describe(), expected)

    def test_same_host_and_target(self) -> None:
        """The target is repeated as received, escapes and query included."""
        reply = HttpsRedirect().judge(Facts())
        assert reply is not None
        self.assertEqual(reply.status, 308)
        self.assertEqual(location(reply), b"https://a.example.com/a%20b?x=1")
        self.assertIn((b"Content-Type", b"text/plain"), reply.fields)
        self.assertLess(len(reply.body), 100)

    def test_slash_at_the_end_is_not_repeated(self) -> None:
        """The last slash of a path is dropped, and no more than that."""
        for target, repeated in (
            (b"/", b""),
            (b"/a/", b"/a"),
            (b"/a//", b"/a/"),
            (b"/a/?x=1", b"/a/?x=1"),
            (b"/a?next=/", b"/a?next=/"),
        ):
            reply = HttpsRedirect().judge(Facts(target=target))
            self.assertEqual(location(reply), b"https://a.example.com" + repeated)

    def test_slash_at_the_end_is_kept_on_request(self) -> None:
        """With preserve-trailing-slash the target is repeated as it is."""
        for target in (b"/", b"/a/", b"/a//", b"/a/?x=1"):
            reply = HttpsRedirect(keeps_slash=True).judge(Facts(target=target))
            self.assertEqual(location(reply), b"https://a.example.com" + target)

    def test_https_passes(self) -> None:
        """What came over HTTPS is not redirected."""
        self.assertIsNone(HttpsRedirect().judge(Facts(scheme=b"https")))

    def test_port_is_named_unless_it_is_443(self) -> None:
        """A port other than the scheme's own stands in the location."""
        self.assertEqual(
            location(HttpsRedirect(8443).judge(Facts())), b"https://a.example.com:8443/a%20b?x=1"
        )

    def test_ipv6_literal_keeps_its_brackets(self) -> None:
        """An IPv6 address stands in brackets, so that a port can follow it."""
        reply = HttpsRedirect(8443).judge(Facts(host=b"[2001:db8::1]", target=b"/"))
        self.assertEqual(location(reply), b"https://[2001:db8::1]:8443")

    def test_acme_challenges_pass(self) -> None:
        """The path that an ACME authority asks for is served over HTTP."""
        token = b"/.well-known/acme-challenge/token"
        self.assertIsNone(HttpsRedirect().judge(Facts(target=token, path=token)))

    def test_acme_exemption_goes_by_the_normal_path(self) -> None:
        """A path that only begins like a challenge before it is resolved is redirected."""
        facts = Facts(target=b"/.well-known/acme-challenge/../admin", path=b"/.well-known/admin")
        self.assertIsNotNone(HttpsRedirect().judge(facts))
        self.assertIsNotNone(HttpsRedirect().judge(evolve(facts, path=b"/.well-known/acme-challenges")))

    def test_target_cannot_change_the_authority(self) -> None:
        """A target that is no path is not put behind the host."""
        for target in (b"*", b"@evil.example.com/", b".evil.example.com/", b""):
            reply = HttpsRedirect().judge(Facts(target=target, path=b"/"))
            self.assertEqual(location(reply), b"https://a.example.com")
        reply = HttpsRedirect().judge(Facts(target=b"//evil.example.com/x", path=b"/evil.example.com/x"))
        self.assertEqual(location(reply), b"https://a.example.com//evil.example.com/x")

    def test_request_without_host_is_refused(self) -> None:
        """Without a host there is nowhere to redirect to, and passing would defeat the redirect."""
        reply = HttpsRedirect().judge(Facts(host=b""))
        assert reply is not None
        self.assertEqual(reply.status, 400)

    def test_only_hosts_with_certificate(self) -> None:
        """With a list of hosts, the others pass."""
        policy = HttpsRedirect(443, CertifiedHosts(frozenset({b"a.example.com"})))
        self.assertIsNotNone(policy.judge(Facts()))
        self.assertIsNone(policy.judge(Facts(host=b"b.example.com")))
        self.assertIsNone(policy.judge(Facts(host=b"")))

    def test_public_host(self) -> None:
        """Whether there is a certificate is known of the host asked for; clients are sent to the one they know."""
        policy = HttpsRedirect(443, CertifiedHosts(frozenset({b"a.example.com"})))
        reply = policy.judge(Facts(forwarded=b"www.example.com", target=b"/x"))
        self.assertEqual(location(reply), b"https://www.example.com/x")
        self.assertIsNone(policy.judge(Facts(host=b"www.example.com", forwarded=b"a.example.com")))

    def test_equal_settings_make_equal_policies(self) -> None:
        """Policies are values."""
        self.assertEqual(
            HttpsRedirect(443, CertifiedHosts(frozenset({b"a"}))),
            HttpsRedirect(443, CertifiedHosts(frozenset({b"a"}))),
        )


class CertifiedHostsTests(SynchronousTestCase):
    """Names and one-label wildcards."""

    def test_wildcard_stands_for_one_label(self) -> None:
        """A suffix takes one label more: not none, not two, not an empty one."""
        hosts = CertifiedHosts(suffixes=frozenset({b".example.com"}))
        self.assertIn(b"a.example.com", hosts)
        for host in (b"example.com", b"a.b.example.com", b".example.com", b""):
            self.assertNotIn(host, hosts)

    def test_excepted(self) -> None:
        """A host that is excepted is not meant by a suffix."""
        hosts = CertifiedHosts(frozenset(), frozenset({b".example.com"}), frozenset({b"a.example.com"}))
        self.assertNotIn(b"a.example.com", hosts)
        self.assertIn(b"b.example.com", hosts)


class ExemptTests(ServedCase):
    """``no-tls-redirect-locations``."""

    def test_values(self) -> None:
        """Beginnings of paths; that of challenges needs no word, and what all paths begin with is refused."""
        self.assertEqual(parse_exempt("/check, /.well-known/acme-challenge,/a/"), ("/check", "/a/"))
        self.assertEqual(parse_exempt(""), ())
        for text in ("/", "check", "/check,a"):
            self.assertRaises(ValueRefused, parse_exempt, text)

    def test_by_the_paths_of_rules(self) -> None:
        """Of one Ingress the paths that begin so are served in the clear, whatever is asked for below them, and others are not."""
        settings = RedirectSettings(force_ssl_redirect=True, exempt=("/check",))
        options = TranslateOptions(operators=operator_settings((REDIRECTS, settings)))
        self.serve(ingress("a", "/", "/check", "/checkout", host="shop.test"), options=options)
        redirected = {
            target: self.get(target=target).heard().status == 308
            for target in (b"/", b"/x/check", b"/checks", b"/.well-known/acme-challenge")
        }
        self.assertEqual(set(redirected.values()), {True})
        self.assert_upstreams(0)
        for number, target in enumerate((b"/check", b"/check/1", b"/checkout")):
            self.get(target=target)
            self.assertIn(b"GET %b " % target, self.upstream(number).take())
