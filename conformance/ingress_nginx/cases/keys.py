"""Keys of the ConfigMap: where a request comes from, fields, redirects, HSTS, and what is handed to endpoints."""

from collections.abc import Mapping

from conformance.cluster import Object
from conformance.ingress_nginx.case import Ask, Case, config_map, gets, ingress
from conformance.ingress_nginx.cases.answers import answer
from conformance.ingress_nginx.cases.certificates import certificate
from conformance.ingress_nginx.cases.config import CLIENTS, SAID, config
from conformance.ingress_nginx.endpoints import Answer

TRUSTED = {"use-forwarded-headers": "true", "proxy-real-ip-cidr": CLIENTS}
PLAIN = Answer()
GZIP = (("Accept-Encoding", "gzip"),)
SECURE = Ask("/a", secure=True)


def of_operator(name: str, data: Mapping[str, str]) -> Object:
    """A ConfigMap where the controllers are."""
    made = config_map(name, data)
    return {**made, "metadata": {**made["metadata"], "namespace": "ingress-nginx"}}


def secure(name: str, *asks: Ask, keys: Mapping[str, str], **annotations: str) -> Case:
    """With a certificate of its own."""
    objects = (ingress(tls="own", **annotations), certificate("own", f"{name}.test"))
    return Case(name, objects, asks, config=keys)


FORWARDED = (
    config(
        "forwarded-protocols",
        Ask(fields=(("X-Forwarded-Proto", "https, http"),)),
        Ask(fields=(("X-Forwarded-Proto", "ftp"),)),
        Ask(fields=(("X-Forwarded-Proto", "https"), ("X-Forwarded-Port", "8443"))),
        Ask(fields=(("X-Forwarded-Port", "8443, 80"),)),
        Ask(fields=(("X-Forwarded-Port", "no"),)),
        Ask(fields=(("X-Forwarded-Host", "said.test:8080"),)),
        Ask(fields=(("X-Forwarded-Host", ""),)),
        Ask(fields=(("X-Forwarded-Scheme", "https"), ("X-Scheme", "https"))),
        Ask(fields=(("X-Real-IP", "1.2.3.4"),)),
        Ask(fields=(("X-Forwarded-For", "unknown, 1.2.3.4"),)),
        Ask(fields=(("X-Forwarded-For", "[2001:db8::1]:80"),)),
        Ask(fields=(("X-Forwarded-For", ""),)),
        Ask(fields=(("X-Forwarded-For", "1.2.3.4,5.6.7.8"),)),
        Ask(fields=(("X-Forwarded-For", "10.20.1.8, 10.20.1.9"),)),
        Ask(fields=(("X-Original-Forwarded-For", "7.7.7.7"), ("X-Forwarded-For", "1.2.3.4"))),
        keys=TRUSTED,
    ),
    config(
        "forwarded-app-root",
        Ask("/", fields=SAID),
        Ask("/", fields=(("X-Forwarded-Proto", "https"),)),
        Ask("/", fields=(("X-Forwarded-Host", "said.test"),)),
        keys=TRUSTED,
        app_root="/x",
    ),
    config(
        "forwarded-auth",
        Ask("/a", fields=SAID),
        keys=TRUSTED,
        auth_url="http://10.20.1.1:9/ok",
        auth_signin="https://$host/start?rd=$scheme://$http_host$request_uri",
    ),
    Case(
        "forwarded-auth-ok",
        (ingress(auth_url="http://auth.SPACE.svc.cluster.local:8080/ok"),),
        (Ask("/a?b", fields=SAID),),
        config=TRUSTED,
        answers={"auth": {}},
    ),
    Case(
        "forwarded-full-auth",
        (ingress(auth_url="http://auth.SPACE.svc.cluster.local:8080/ok"),),
        (Ask("/a?b", fields=SAID), Ask("/a")),
        config={**TRUSTED, "compute-full-forwarded-for": "true"},
        answers={"auth": {}},
    ),
    Case(
        "forwarded-www",
        (ingress(host="www.HOST", from_to_www_redirect="true"),),
        (
            Ask("/a", host="HOST", fields=(("X-Forwarded-Proto", "https"),)),
            Ask("/a", host="HOST", fields=SAID),
        ),
        config=TRUSTED,
    ),
    Case(
        "forwarded-tls",
        (ingress(tls="own"), certificate("own", "forwarded-tls.test")),
        (
            Ask("/a"),
            Ask("/a", fields=SAID),
            Ask("/a", fields=(("X-Forwarded-Proto", "http"),)),
            Ask("/a", fields=(("X-Forwarded-Host", "said.test"),)),
            Ask("/a", secure=True, fields=(("X-Forwarded-Proto", "http"),)),
        ),
        config=TRUSTED,
    ),
    Case(
        "forwarded-errors",
        (ingress(custom_http_errors="404", default_backend="errors"),),
        (Ask("/a", fields=SAID),),
        config=TRUSTED,
        answers={"web": {"": answer(404)}, "errors": {"": answer(404, "page")}},
    ),
    Case(
        "forwarded-limit",
        (ingress(limit_rpm="1", limit_burst_multiplier="1"),),
        (
            Ask(fields=(("X-Forwarded-For", "1.2.3.4"),), times=6),
            Ask(fields=(("X-Forwarded-For", "1.2.3.5"),), times=6),
        ),
        config=TRUSTED,
        once=True,
    ),
    config(
        "forwarded-block",
        Ask(fields=(("X-Forwarded-For", "1.2.3.4"),)),
        Ask(fields=(("X-Forwarded-For", "1.2.4.4"),)),
        keys={**TRUSTED, "block-cidrs": "1.2.3.0/24"},
    ),
    config(
        "real-ip-field",
        Ask(fields=(("X-Real-IP", "1.2.3.4"), ("X-Forwarded-For", "5.6.7.8"))),
        Ask(fields=(("X-Forwarded-For", "5.6.7.8"),)),
        keys={**TRUSTED, "forwarded-for-header": "X-Real-IP"},
    ),
    config(
        "forwarded-field-full",
        Ask(fields=(("CF-Connecting-IP", "1.2.3.4"), ("X-Forwarded-For", "5.6.7.8"))),
        keys={**TRUSTED, "forwarded-for-header": "CF-Connecting-IP", "compute-full-forwarded-for": "true"},
    ),
    config("cidr-alone", Ask(fields=SAID), keys={"proxy-real-ip-cidr": CLIENTS}),
    config("full-alone", Ask(fields=SAID), keys={"compute-full-forwarded-for": "true"}),
    config(
        "cidr-several",
        Ask(fields=(("X-Forwarded-For", "1.2.3.4, 192.0.2.7"),)),
        keys={"use-forwarded-headers": "true", "proxy-real-ip-cidr": f"192.0.2.0/24, {CLIENTS}"},
    ),
    config(
        "cidr-addresses",
        Ask(fields=(("X-Forwarded-For", "1.2.3.4"),)),
        Ask(client=2, fields=(("X-Forwarded-For", "1.2.3.4"),)),
        keys={"use-forwarded-headers": "true", "proxy-real-ip-cidr": "10.20.1.1"},
    ),
)

FIELDS = (
    config(
        "hide-several",
        keys={"hide-headers": "x-powered-by, X-AspNet-Version,,X-Request-ID,Set-Cookie,Content-Type"},
        answer=answer(
            X_Powered_By="php",
            X_AspNet_Version="4",
            X_Request_ID="own",
            Set_Cookie="a=b",
            Content_Type="text/x",
        ),
    ),
    config(
        "add-variables",
        Ask("/a?b"),
        Ask(secure=True),
        keys={"add-headers": "ingress-nginx/varied"},
        objects=(
            of_operator(
                "varied",
                {
                    "X-Host": "$host",
                    "X-Uri": "$request_uri",
                    "X-Upstream": "$upstream_status",
                    "X-Namespace": "$namespace/$ingress_name/$service_name",
                    "X-Quoted": 'a "b" c',
                    "X-Empty": "",
                    "Server": "mine",
                    "Content-Security-Policy": "default-src 'self'; img-src *",
                },
            ),
        ),
        answer=answer(X_Empty="full", X_Host="own"),
    ),
    config(
        "add-beside-snippet",
        keys={"add-headers": "ingress-nginx/twice"},
        objects=(of_operator("twice", {"X-A": "operator", "X-B": "operator"}),),
        configuration_snippet='more_set_headers "X-A: ingress";\nadd_header X-B ingress always;',
    ),
    Case(
        "add-on-answers",
        (
            ingress(denylist_source_range="10.20.1.2/32", custom_http_errors="418"),
            ingress({"/moved": "web"}, name="moved", permanent_redirect="https://new.test"),
            ingress({"/none": "none"}, name="none"),
            ingress({"/root": "web"}, host="root.HOST", name="root", app_root="/root"),
        ),
        (
            Ask("/a", client=2),
            Ask("/moved"),
            Ask("/none"),
            Ask("/", host="root.HOST"),
            Ask("/x", host="root.HOST"),
            Ask("/418"),
            Ask("/500"),
        ),
        config={"add-headers": "ingress-nginx/always"},
        answers={"web": {"/418": answer(418), "/500": answer(500)}},
        replicas={"none": 0},
    ),
    config("add-missing", keys={"add-headers": "ingress-nginx/nowhere"}),
    config("add-unqualified", keys={"add-headers": "nowhere"}),
    config(
        "set-odd-fields",
        Ask("/a", fields=(("X-Empty", "1"), ("X-Forwarded-Proto", "https"))),
        Ask("/a", secure=True),
        keys={"proxy-set-headers": "ingress-nginx/odd"},
        objects=(
            of_operator(
                "odd",
                {
                    "X-Empty": "",
                    "X-Forwarded-Proto": "https",
                    "X-Quoted": 'a "b"',
                    "X-Using-Nginx-Controller": "true",
                    "X-Port": "$server_port",
                    "X-Addr": "$remote_addr",
                    "X-Real-IP": "$http_x_my",
                    "Connection": "close",
                    "Accept-Encoding": "",
                    "X-Ns": "$namespace-$service_name-$service_port",
                },
            ),
        ),
    ),
    config("set-missing", keys={"proxy-set-headers": "ingress-nginx/nowhere"}),
    config("original-uri-off", Ask("/a"), keys={"proxy-add-original-uri-header": "false"}),
    config(
        "underscores-both",
        Ask(fields=(("X_Under", "1"), ("X-Under", "2"))),
        Ask(fields=(("x_forwarded_for", "9.9.9.9"), ("X_Real_IP", "9.9.9.9"))),
        keys={"enable-underscores-in-headers": "true"},
    ),
    config("server-header-off", keys={"allow-backend-server-header": "false"}, answer=answer(Server="mine")),
    config(
        "large-head",
        Ask(fields=(("X-Long", "a" * 7000),)),
        Ask(fields=(("X-Long", "a" * 20000),)),
        Ask(f"/{'a' * 7900}"),
        keys={"large-client-header-buffers": "4 32k"},
    ),
    config("small-head", Ask(fields=(("X-Long", "a" * 3000),)), keys={"large-client-header-buffers": "2 2k"}),
    config("default-type", keys={"default-type": "application/x"}, answer=Answer(fields=(), body="x")),
)

REDIRECTS = (
    secure("ssl-redirect-0", Ask("/a"), keys={"ssl-redirect": "0"}),
    secure("redirect-code-307", Ask("/a"), Ask("/a", "POST", body=b"a"), keys={"http-redirect-code": "307"}),
    secure("redirect-code-wrong", Ask("/a"), keys={"http-redirect-code": "303"}),
    secure(
        "no-tls-redirect",
        *gets("/public", "/public/a", "/publicly", "/a", "/.well-known/acme-challenge/x", "/p"),
        keys={"no-tls-redirect-locations": "/public, /p"},
    ),
    config(
        "no-tls-redirect-forced",
        *gets("/public/a", "/.well-known/acme-challenge/x", "/a"),
        keys={"no-tls-redirect-locations": "/public", "force-ssl-redirect": "true"},
    ),
    Case(
        "no-tls-redirect-paths",
        (
            ingress({"/public": "web", "/": "web", "/pub": "web"}, tls="own"),
            certificate("own", "no-tls-redirect-paths.test"),
        ),
        gets("/public", "/public/a", "/publicly", "/pub/a", "/a"),
        config={"no-tls-redirect-locations": "/pub"},
    ),
    config("force-but-off", Ask("/a"), keys={"force-ssl-redirect": "true"}, force_ssl_redirect="false"),
    config("force-but-no-redirect", Ask("/a"), keys={"force-ssl-redirect": "true"}, ssl_redirect="false"),
    secure("redirect-off-but-on", Ask("/a"), keys={"ssl-redirect": "false"}, ssl_redirect="true"),
    config(
        "relative",
        Ask("/"),
        Ask("/", host="HOST:8080"),
        keys={"relative-redirects": "true"},
        app_root="/x",
    ),
    config("relative-forced", Ask("/a"), keys={"relative-redirects": "true"}, force_ssl_redirect="true"),
    config(
        "relative-permanent",
        Ask("/a"),
        keys={"relative-redirects": "true"},
        permanent_redirect="/new",
    ),
    config(
        "relative-snippet",
        Ask("/a"),
        keys={"relative-redirects": "true"},
        configuration_snippet="return 302 /b;",
    ),
    config(
        "trailing-slash",
        *gets("/a/", "/", "/a"),
        keys={"preserve-trailing-slash": "true", "force-ssl-redirect": "true"},
    ),
    config(
        "cookie-of-all",
        Ask("/a"),
        keys={"proxy-cookie-domain": "in.test out.test", "proxy-cookie-path": "/a /b"},
        answer=answer(Set_Cookie="a=b; Domain=in.test; Path=/a/c"),
    ),
)

HSTS = (
    secure("hsts-default", SECURE, Ask("/a"), Ask("/none", secure=True), keys={}),
    secure("hsts-off", SECURE, keys={"hsts": "false"}),
    secure("hsts-set", SECURE, keys={"hsts-max-age": "86400", "hsts-preload": "true"}),
    secure("hsts-no-subdomains", SECURE, keys={"hsts-include-subdomains": "false"}),
    secure("hsts-zero", SECURE, keys={"hsts-max-age": "0"}),
    Case(
        "hsts-own",
        (ingress(tls="own"), certificate("own", "hsts-own.test")),
        (SECURE,),
        answers={"web": {"": answer(Strict_Transport_Security="max-age=5")}},
        config={"hsts-max-age": "60"},
    ),
    secure(
        "hsts-404", Ask("/b", secure=True), keys={"hsts-max-age": "60"}, denylist_source_range="10.20.1.1/32"
    ),
    config("hsts-without-tls", Ask("/a", secure=True), keys={"hsts-max-age": "60"}),
    config(
        "hsts-forwarded",
        Ask("/a", fields=(("X-Forwarded-Proto", "https"),)),
        keys={**TRUSTED, "hsts-max-age": "60"},
    ),
)

BOOLEANS = tuple(
    secure(f"boolean-{number}-{key}", SECURE, Ask("/a"), keys={key: value})
    for key, values in (
        ("hsts", ("off", "no", "", "FALSE", "f")),
        ("ssl-redirect", ("off", "no", "", "False", " false")),
        ("hsts-include-subdomains", ("0", "disabled")),
    )
    for number, value in enumerate(values)
)
NUMBERS = (
    secure("number-hex", SECURE, keys={"hsts-max-age": "0x10"}),
    secure("number-blanks", SECURE, keys={"hsts-max-age": " 60 "}),
    config("number-timeout", Ask(), keys={"proxy-read-timeout": "1.5"}, answer=Answer(delay=2)),
    config("number-size", Ask(method="POST", body=b"a" * 2000), keys={"proxy-body-size": "1Ki"}),
    config("number-none", Ask(method="POST", body=b"a" * 2000), keys={"proxy-body-size": ""}),
)

CASES = (*FORWARDED, *FIELDS, *REDIRECTS, *HSTS, *BOOLEANS, *NUMBERS)
