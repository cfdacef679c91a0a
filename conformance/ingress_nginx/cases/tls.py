"""TLS: certificates by name, redirects to HTTPS, HSTS, certificates of clients."""

from conformance.ingress_nginx.case import Ask, Case, Told, also, ingress
from conformance.ingress_nginx.cases.certificates import authority, certificate
from conformance.ingress_nginx.cases.documents import CLIENTS, CLIENTS_ARE_ASKED, EVERYBODY

HTTPS = Ask(secure=True)


def mutual(name: str, *told: Told, **annotations: str) -> Case:
    return Case(
        name,
        (
            ingress(tls="own", auth_tls_secret="SPACE/clients", **annotations),
            certificate("own", f"{name}.test"),
            authority("clients"),
        ),
        (
            *(Ask("/a", secure=True, certificate=who) for who in ("", "ann", "bob", "eve")),
            Ask("/a"),
            Ask("/a", secure=True, server_name="other.test"),
            Ask(
                "/a",
                secure=True,
                fields=(("ssl-client-verify", "SUCCESS"), ("ssl-client-subject-dn", "CN=x")),
            ),
        ),
        told=(Told("*", CLIENTS, "* by the name 'other.test'"), *told),
    )


CASES = (
    Case(
        "tls",
        (ingress(tls="own"), certificate("own", "tls.test")),
        (
            HTTPS,
            Ask("/a?b=c", secure=True),
            Ask("/a?b=c"),
            Ask("/a", "POST", body=b"abc"),
            Ask("/a/"),
            Ask(host="HOST:8080"),
            Ask(fields=(("X-Forwarded-Proto", "https"),)),
            Ask("/.well-known/acme-challenge/x"),
            Ask(secure=True, server_name=""),
            Ask(secure=True, server_name="nobody.test", host="nobody.test"),
            Ask(secure=True, server_name="TLS.test"),
            Ask(secure=True, server_name="nobody.test"),
            Ask(secure=True, host="nobody.test"),
            Ask(secure=True, fields=(("X-Forwarded-Proto", "http"),)),
        ),
        told=(
            Told(
                "*",
                "docs/options.md: besides requests below `/.well-known/acme-challenge/`, which never are",
                "*acme*",
            ),
            Told("*", "docs/tls.md#one-connection-several-hosts", "* https://*"),
        ),
    ),
    Case(
        "tls-no-redirect",
        (ingress(tls="own", ssl_redirect="false"), certificate("own", "tls-no-redirect.test")),
        (Ask(), HTTPS),
    ),
    Case(
        "tls-force",
        (
            ingress(tls="own", force_ssl_redirect="true", ssl_redirect="false"),
            certificate("own", "tls-force.test"),
        ),
        (Ask(), HTTPS),
    ),
    Case("tls-no-secret", (ingress(tls="none"),), (Ask(), HTTPS)),
    Case("tls-wrong-name", (ingress(tls="own"), certificate("own", "another.test")), (Ask(), HTTPS)),
    Case("tls-no-secret-name", (also(ingress(), tls=[{"hosts": ["HOST"]}]),), (Ask(), HTTPS)),
    Case(
        "tls-wildcard",
        (
            ingress(host="*.HOST", tls="wild", name="wild"),
            certificate("wild", "*.tls-wildcard.test"),
            ingress({"/": "own"}, host="a.HOST", tls="own", name="own"),
            certificate("own", "a.tls-wildcard.test"),
        ),
        (
            Ask(secure=True, host="x.HOST", server_name="x.HOST"),
            Ask(secure=True, host="a.HOST", server_name="a.HOST"),
            Ask(secure=True, host="x.y.HOST", server_name="x.y.HOST"),
            Ask(host="x.HOST"),
            Ask(host="a.HOST"),
        ),
    ),
    Case(
        "tls-two-ingresses",
        (
            ingress({"/a": "a"}, name="a", tls="own"),
            ingress({"/b": "b"}, name="b"),
            certificate("own", "tls-two-ingresses.test"),
        ),
        (Ask("/a"), Ask("/b"), Ask("/b", secure=True), Ask("/a", secure=True)),
    ),
    Case(
        "tls-www",
        (
            also(
                ingress(host="www.HOST", from_to_www_redirect="true"),
                tls=[{"hosts": ["www.HOST", "HOST"], "secretName": "own"}],
            ),
            certificate("own", "www.tls-www.test", "tls-www.test"),
        ),
        (
            Ask(host="HOST"),
            Ask("/a", secure=True),
            Ask("/a", host="www.HOST"),
            Ask("/a", secure=True, host="www.HOST", server_name="www.HOST"),
        ),
    ),
    Case(
        "tls-app-root",
        (ingress(tls="own", app_root="/x"), certificate("own", "tls-app-root.test")),
        (Ask(), HTTPS),
    ),
    Case(
        "tls-rewrite",
        (
            ingress({"/a(/|$)(.*)": "web"}, kind="ImplementationSpecific", rewrite_target="/$2", tls="own"),
            certificate("own", "tls-rewrite.test"),
        ),
        (Ask("/a/b"), Ask("/a/b", secure=True)),
    ),
    Case(
        "tls-cookie",
        (ingress(tls="own", affinity="cookie"), certificate("own", "tls-cookie.test")),
        (HTTPS,),
        sessions=("INGRESSCOOKIE",),
    ),
    Case(
        "tls-hsts-off",
        (ingress(tls="own"), certificate("own", "tls-hsts-off.test")),
        (HTTPS, Ask("/a", secure=True)),
        config={"hsts": "false"},
    ),
    Case(
        "tls-hsts-set",
        (ingress(tls="own"), certificate("own", "tls-hsts-set.test")),
        (HTTPS,),
        config={"hsts-max-age": "60", "hsts-include-subdomains": "false", "hsts-preload": "true"},
    ),
    Case(
        "tls-redirect-code",
        (ingress(tls="own"), certificate("own", "tls-redirect-code.test")),
        (Ask("/a"),),
        config={"http-redirect-code": "301"},
    ),
    Case(
        "tls-redirect-off",
        (ingress(tls="own"), certificate("own", "tls-redirect-off.test")),
        (Ask("/a"),),
        config={"ssl-redirect": "false"},
    ),
    Case("tls-redirect-forced", (ingress(),), (Ask("/a"),), config={"force-ssl-redirect": "true"}),
    mutual("mutual"),
    mutual("mutual-pass", auth_tls_pass_certificate_to_upstream="true"),
    mutual("mutual-optional", auth_tls_verify_client="optional"),
    mutual("mutual-no-ca", auth_tls_verify_client="optional_no_ca"),
    mutual(
        "mutual-off",
        Told("endpoint.web.field.ssl-client-verify", CLIENTS_ARE_ASKED),
        auth_tls_verify_client="off",
    ),
    mutual("mutual-error-page", auth_tls_error_page="https://errors.test/cert"),
    mutual(
        "mutual-match",
        Told("answer.*", EVERYBODY, "* as bob"),
        Told("answer.status", CLIENTS, "GET http://*"),
        auth_tls_match_cn="CN=ann",
    ),
    Case(
        "mutual-no-secret",
        (ingress(tls="own", auth_tls_secret="SPACE/none"), certificate("own", "mutual-no-secret.test")),
        (Ask("/a", secure=True), Ask("/a", secure=True, certificate="ann")),
    ),
    Case(
        "plain-to-tls-port",
        (ingress(tls="own"), certificate("own", "plain-to-tls-port.test")),
        (),
    ),
)
