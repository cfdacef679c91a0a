"""Host: exactly one, well-formed, and the same for routing and for upstream."""

from tests.corpus.cases import Case, either, forward, got, head, local, refuse


def host(*lines: bytes) -> bytes:
    """A request with these Host lines."""
    return head(b"GET / HTTP/1.1", *lines)


CASES: tuple[Case, ...] = (
    refuse("no Host", host()),
    refuse("empty Host", host(b"Host:")),
    refuse("two Hosts", host(b"Host: shop.test", b"Host: other.test")),
    refuse("the same Host twice", host(b"Host: shop.test", b"Host: shop.test")),
    refuse("two Hosts in different case", host(b"Host: shop.test", b"HOST: shop.test")),
    refuse("a Host and an empty one", host(b"Host: shop.test", b"Host:")),
    refuse("an empty Host and another", host(b"Host:", b"Host: shop.test")),
    refuse("two Hosts in HTTP/1.0", head(b"GET / HTTP/1.0", b"Host: shop.test", b"Host: shop.test")),
    refuse("list of Hosts", host(b"Host: shop.test, other.test")),
    refuse("space in Host", host(b"Host: shop.test other.test")),
    refuse("tab in Host", host(b"Host: shop.test\tother.test")),
    refuse("path in Host", host(b"Host: shop.test/a")),
    refuse("query in Host", host(b"Host: shop.test?a")),
    refuse("fragment in Host", host(b"Host: shop.test#a")),
    refuse("user in Host", host(b"Host: user@shop.test")),
    refuse("scheme in Host", host(b"Host: http://shop.test")),
    refuse("backslash in Host", host(b"Host: shop.test\\a")),
    refuse("two ports", host(b"Host: shop.test:80:80")),
    refuse("port of letters", host(b"Host: shop.test:http")),
    refuse("negative port", host(b"Host: shop.test:-80")),
    refuse("port above 65535", host(b"Host: shop.test:65536")),
    refuse("port of many digits", host(b"Host: shop.test:" + b"0" * 40 + b"80")),
    refuse("port and no name", host(b"Host: :80")),
    refuse("empty label", host(b"Host: shop..test")),
    refuse("dot first", host(b"Host: .shop.test")),
    refuse("dot alone", host(b"Host: .")),
    refuse("escape in Host", host(b"Host: shop%2etest")),
    refuse("control byte in Host", host(b"Host: shop\x01.test")),
    refuse("NUL in Host", host(b"Host: shop.test\0.other.test")),
    refuse("bytes beyond ASCII in Host", host(b"Host: sh\xc3\xb6p.test")),
    refuse("quotes around Host", host(b'Host: "shop.test"')),
    refuse("open bracket", host(b"Host: [::1")),
    refuse("bracket around a name", host(b"Host: [shop.test]")),
    refuse("bracket and a name behind", host(b"Host: [::1]shop.test")),
    refuse("IPv6 without brackets", host(b"Host: ::1")),
    refuse("space before the colon", host(b"Host : shop.test")),
    refuse("Host on a folded line", host(b"Host:", b" shop.test")),
    refuse("Host folded under another field", host(b"A: b", b" Host: shop.test")),
    forward("capitals", host(b"Host: SHOP.Test"), got(host=b"Host: SHOP.Test")),
    forward("name of the field in capitals", host(b"HOST: shop.test"), got()),
    forward("port", host(b"Host: shop.test:8080"), got(host=b"Host: shop.test:8080")),
    either("empty port", host(b"Host: shop.test:"), got(host=b"Host: shop.test:")),
    forward("dot behind", host(b"Host: shop.test."), got(host=b"Host: shop.test.")),
    forward("Host last", head(b"GET / HTTP/1.1", b"A: b", b"Host: shop.test"), got(b"A: b")),
    forward("whitespace around Host", host(b"Host: \t shop.test \t"), got()),
    local("IPv4", host(b"Host: 192.0.2.1"), 404),
    local("IPv6", host(b"Host: [2001:db8::1]:80"), 404),
    local("underscore", host(b"Host: under_score.test"), 404),
    local("name below the one that has a route", host(b"Host: www.shop.test"), 404),
)
