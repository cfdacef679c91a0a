"""Tests for ``ingress.annotations.contract.asked_urls``: where a URL to ask may lead."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.contract.asked_urls import (
    ANYWHERE,
    AllowedTargets,
    Leave,
    as_target,
    fault_of_host,
    parse_targets,
    parse_url_template,
    split_rendered,
    split_url,
)
from ingress.annotations.contract.values import ValueRefused
from tests.fakes.filter_parts import FakeFacts


class UrlTests(SynchronousTestCase):
    """What is a URL to ask."""

    def test_parts(self) -> None:
        """Scheme, host and port are apart from what is to be asked for there, as far as they are known."""
        for text, base, rest in (
            ("http://authelia.auth.svc", "http://authelia.auth.svc", ""),
            ("HTTP://auth.test:9091/api/verify", "http://auth.test:9091", "/api/verify"),
            ("https://[2001:db8::1]:81?x=$arg_a", "https://[2001:db8::1]:81", "?x=${arg_a}"),
            ("http://auth.test/$host", "http://auth.test", "/${host}"),
            (" http://auth.test/ ", "http://auth.test", "/"),
        ):
            found, target = split_url(parse_url_template(text))
            self.assertEqual((found, str(target)), (base, rest), text)

    def test_variable_hosts(self) -> None:
        """Where the host depends on a variable, the URL is taken apart once it is known."""
        facts = FakeFacts(host=b"a.example.com", target=b"/x?y")
        for text, base, target in (
            ("https://$host/oauth2/auth", "https://a.example.com", b"/oauth2/auth"),
            ("https://auth.${host}:81?a", "https://auth.a.example.com:81", b"?a"),
            ("http://auth.test$request_uri", "http://auth.test", b"/x?y"),
        ):
            template = parse_url_template(text)
            self.assertEqual(split_url(template), ("", template), text)
            self.assertEqual(split_rendered(template.render(facts)), (base, target), text)

    def test_refused(self) -> None:
        """What is no such URL is refused, with the reason."""
        for text, why in (
            ("", "is no URL"),
            ("auth.test/x", "is no URL"),
            ("//auth.test/x", "is no URL"),
            ("ftp://auth.test/", "is no URL"),
            ("$scheme://auth.test/", "is no URL"),
            ("http:///x", "is no URL"),
            ("http://?x", "is no URL"),
            ("http://user:secret@auth.test/", "holds a user"),
            ("http://$host@auth.test/", "holds a user"),
            ("http://auth.test#x", "has a fragment"),
            ("http://auth.test/?a#x", "has a fragment"),
            ("http://auth.test/a b", "has blanks"),
            ("http://auth.test/\r\nX: y", "has blanks"),
            ("http://auth.test/\0", "has blanks"),
            ("http://aüth.test/", "has blanks"),
            ("http://auth.test:0/", "names no host"),
            ("http://auth.test:99999/", "names no host"),
            ("http://a..b/", "names no host"),
            ("http://-a/", "names no host"),
            ("http://{{ host }}/", "has blanks"),
            ("http://auth.test/$nothing", "$nothing"),
            ("http://auth.test/${", "${"),
            ("http://auth.test/" + "a" * 1_000_000, "is longer"),
        ):
            refused = self.assertRaises(ValueRefused, parse_url_template, text)
            self.assertIn(why, str(refused), text[:80])

    def test_hash(self) -> None:
        """Where another URL may stand in the query, its fragment does, too; before the query there is none."""
        self.assertEqual(
            str(parse_url_template("http://auth.test/?rd=https://a.test/#/", has_hash=True)),
            "http://auth.test/?rd=https://a.test/#/",
        )
        self.assertRaises(ValueRefused, parse_url_template, "http://auth.test/#a?b", has_hash=True)

    def test_targets(self) -> None:
        """Whatever variables come to, a target is in origin form, and stays one line."""
        for text, target in (
            (b"", b"/"),
            (b"?a", b"/?a"),
            (b"/a?b=c", b"/a?b=c"),
            (b"/a?b=https://c/#/", b"/a?b=https://c/%23/"),
            (b"/a b\r\nc#d\xff", b"/a%20b%0D%0Ac%23d%FF"),
        ):
            self.assertEqual(as_target(text), target)


class AllowedTests(SynchronousTestCase):
    """What ``--auth-url-allow`` allows."""

    def test_anywhere(self) -> None:
        """With nothing said, any host may be asked that the rules for addresses allow."""
        self.assertEqual(ANYWHERE.leave("auth.test"), Leave())
        self.assertEqual(parse_targets(" , "), ANYWHERE)

    def test_hosts(self) -> None:
        """A host that is named is the operator's word; one below a domain that is named is asked by the rules."""
        allowed = parse_targets("Auth.test., *.svc.cluster.local 127.0.0.1 [::1]")
        self.assertEqual(allowed.leave("auth.test"), Leave(is_trusted=True))
        self.assertEqual(allowed.leave("a.b.svc.cluster.local"), Leave())
        self.assertEqual(allowed.leave("127.0.0.1"), Leave(is_trusted=True))
        self.assertEqual(allowed.leave("::1"), Leave(is_trusted=True))
        for host in ("svc.cluster.local", "x.auth.test", "evil.test", "127.0.0.2", ""):
            self.assertEqual(allowed.leave(host), None, host)

    def test_networks(self) -> None:
        """Any name may be asked that leads into a network that is named, and none but these."""
        allowed = parse_targets("10.0.0.1/8,2001:db8::/32")
        self.assertEqual(allowed.networks, ("10.0.0.0/8", "2001:db8::/32"))
        self.assertEqual(allowed.leave("auth.test"), Leave(within=allowed.networks))
        self.assertEqual(str(allowed), "10.0.0.0/8, 2001:db8::/32")

    def test_refused(self) -> None:
        """What is no host and no network, and too many of them, is refused."""
        for text in (
            "http://a.test",
            "10.0.0.0/33",
            "a_b!",
            "*",
            "a.*.test",
            "ä.test",
            " ".join(["a"] * 257),
        ):
            self.assertRaises(ValueRefused, parse_targets, text)

    def test_known_beforehand(self) -> None:
        """What can be said of a host before anybody asks is said."""
        hosts = AllowedTargets(frozenset(("auth.test", "127.0.0.1")))
        for base, allowed, fault in (
            ("http://auth.test", ANYWHERE, ""),
            ("http://10.0.0.1", ANYWHERE, ""),
            ("http://127.0.0.1:80", ANYWHERE, "leads to 127.0.0.1, which is an address of this host"),
            (
                "http://169.254.169.254",
                ANYWHERE,
                "leads to 169.254.169.254, which is that of a cloud's metadata service",
            ),
            ("http://127.0.0.1:80", hosts, ""),
            ("https://auth.test", hosts, ""),
            (
                "https://other.test",
                hosts,
                "leads to other.test, which is not among what --auth-url-allow names",
            ),
        ):
            self.assertEqual(fault_of_host(base, allowed), fault, base)
