"""TLS that passes through to endpoints, and clients that come by IPv6."""

from conformance.cluster import Object
from conformance.ingress_nginx.case import Ask, Case, Told, ingress, secret
from conformance.ingress_nginx.cases.certificates import certificate
from conformance.ingress_nginx.cases.documents import PASSING, SEVERAL_HOSTS
from conformance.ingress_nginx.cases.guards import GOOD, USER

OPTIONS = ("--enable-ssl-passthrough",)
TO_ENDPOINT = {"/": "tls-web:8443"}
"""The port is that of endpoints, since ingress-nginx hands TLS to the address of the Service."""
SECURE, PLAIN = Ask("/a", secure=True), Ask("/a")
AT_ENDPOINT = Told("endpoints", PASSING, "* https://*")
"""Here an endpoint is asked, and there the address of its Service."""
IN_THE_CLEAR = Told("*", PASSING, "* http://*")
"""Here it is redirected, and there handed on."""
CLIENTS = Told("endpoint.web.field.x-*", PASSING, "* https://*")
"""Whose TLS does not pass: ingress-nginx is another client to itself then."""
GUARDED = Told("*", PASSING, "* https://*")


def passing(
    name: str, *objects: Object, asks: tuple[Ask, ...] = (SECURE, PLAIN), told: tuple[Told, ...] = ()
) -> Case:
    return Case(name, objects, asks, told=told, options=OPTIONS)


CASES = (
    passing(
        "passthrough",
        ingress(TO_ENDPOINT, ssl_passthrough="true"),
        asks=(
            SECURE,
            PLAIN,
            Ask("/a", "POST", secure=True, body=b"abc"),
            Ask("/a", http2=True),
            Ask("/a", secure=True, server_name="PASSTHROUGH.test"),
            Ask("/a", secure=True, server_name=""),
            Ask("/a", secure=True, server_name="nobody.test"),
            Ask("/a", secure=True, host="nobody.test"),
            Ask("/a", secure=True, highest="TLSv1_2"),
            Ask("/a", secure=True, certificate="ann"),
        ),
        told=(
            Told("*", PASSING, "*by the name 'PASSTHROUGH.test'"),
            Told("answer.status", SEVERAL_HOSTS, "*by the name *"),
            AT_ENDPOINT,
            IN_THE_CLEAR,
        ),
    ),
    passing(
        "passthrough-off",
        ingress({"/": "web"}, ssl_passthrough="false", tls="own"),
        certificate("own", "passthrough-off.test"),
        told=(CLIENTS,),
    ),
    passing(
        "passthrough-beside",
        ingress(tls="own"),
        certificate("own", "passthrough-beside.test"),
        asks=(SECURE, PLAIN, Ask("/a", http2=True)),
        told=(CLIENTS,),
    ),
    passing(
        "passthrough-tls",
        ingress(TO_ENDPOINT, ssl_passthrough="true", tls="own"),
        certificate("own", "passthrough-tls.test"),
        told=(AT_ENDPOINT,),
    ),
    passing(
        "passthrough-two-paths",
        ingress({**TO_ENDPOINT, "/b": "web"}, ssl_passthrough="true"),
        asks=(SECURE, Ask("/b", secure=True), Ask("/b"), PLAIN),
        told=(
            AT_ENDPOINT,
            IN_THE_CLEAR,
        ),
    ),
    passing(
        "passthrough-no-root",
        ingress({"/b": "tls-web:8443"}, ssl_passthrough="true"),
        asks=(SECURE, Ask("/b", secure=True), Ask("/b")),
        told=(GUARDED,),
    ),
    passing(
        "passthrough-of-younger",
        ingress({"/b": "web"}, name="a"),
        ingress(TO_ENDPOINT, name="b", ssl_passthrough="true"),
        asks=(SECURE, Ask("/b", secure=True), Ask("/b"), PLAIN),
        told=(
            AT_ENDPOINT,
            IN_THE_CLEAR,
        ),
    ),
    passing(
        "passthrough-of-older",
        ingress(TO_ENDPOINT, name="a", ssl_passthrough="true"),
        ingress({"/b": "web"}, name="b"),
        asks=(SECURE, Ask("/b", secure=True), Ask("/b"), PLAIN),
        told=(CLIENTS,),
    ),
    passing(
        "passthrough-allowed",
        ingress(TO_ENDPOINT, ssl_passthrough="true", whitelist_source_range="10.20.1.2/32"),
        asks=(SECURE, Ask("/a", secure=True, client=2), PLAIN),
        told=(GUARDED,),
    ),
    passing(
        "passthrough-password",
        ingress(TO_ENDPOINT, ssl_passthrough="true", auth_type="basic", auth_secret="users"),
        secret("users", auth=USER),
        asks=(SECURE, Ask("/a", secure=True, fields=GOOD), PLAIN),
        told=(GUARDED,),
    ),
    passing(
        "passthrough-wildcard",
        ingress(TO_ENDPOINT, host="*.HOST", ssl_passthrough="true"),
        asks=(Ask("/a", secure=True, host="a.HOST", server_name="a.HOST"), Ask("/a", host="a.HOST")),
        told=(
            GUARDED,
            IN_THE_CLEAR,
        ),
    ),
    passing(
        "passthrough-redirect",
        ingress(TO_ENDPOINT, ssl_passthrough="true", force_ssl_redirect="true"),
        asks=(SECURE, PLAIN),
        told=(AT_ENDPOINT,),
    ),
    passing(
        "passthrough-https",
        ingress(TO_ENDPOINT, ssl_passthrough="true", backend_protocol="HTTPS"),
        asks=(SECURE, PLAIN),
        told=(
            AT_ENDPOINT,
            IN_THE_CLEAR,
        ),
    ),
    Case(
        "ipv6",
        (ingress(tls="own", ssl_redirect="false"), certificate("own", "ipv6.test")),
        (
            Ask(ipv6=True),
            Ask("/a", "POST", ipv6=True, body=b"abc"),
            Ask(ipv6=True, secure=True),
            Ask(ipv6=True, http2=True),
            Ask(ipv6=True, fields=(("X-Forwarded-For", "1.2.3.4"),)),
        ),
    ),
    *(
        Case(f"ipv6-{name}", (ingress(**annotations),), (Ask(ipv6=True), Ask()))
        for name, annotations in (
            ("allowed", {"whitelist_source_range": "fd00:10:244::/64"}),
            ("not-allowed", {"whitelist_source_range": "10.0.0.0/8"}),
            ("denied", {"denylist_source_range": "fd00:10:244::1"}),
            ("denied-other", {"denylist_source_range": "fd00:10:244::2/128"}),
        )
    ),
    Case(
        "ipv6-limit",
        (ingress(limit_rpm="1", limit_burst_multiplier="3"),),
        (Ask(ipv6=True, times=12),),
        once=True,
    ),
)
