"""Keys of the ConfigMap."""

from conformance.ingress_nginx.case import Ask, Case, Told, config_map, gets, ingress
from conformance.ingress_nginx.cases.documents import ERRORS, EVERYBODY, OTHER_KEYS, TRUST
from conformance.ingress_nginx.endpoints import Answer

CLIENTS = "10.20.1.0/24"
SAID = (
    ("X-Forwarded-For", "1.2.3.4"),
    ("X-Forwarded-Proto", "https"),
    ("X-Forwarded-Host", "said.test"),
    ("X-Forwarded-Port", "444"),
)


def config(
    name: str,
    *asks: Ask,
    keys: dict[str, str],
    objects: tuple[dict[str, object], ...] = (),
    answer: Answer | None = None,
    told: tuple[Told, ...] = (),
    **annotations: str,
) -> Case:
    return Case(
        name,
        (ingress(**annotations), *objects),
        asks or (Ask(),),
        config=keys,
        answers={"web": {"": answer}} if answer else {},
        told=told,
    )


CASES = (
    config(
        "forwarded",
        Ask(),
        Ask(fields=SAID),
        Ask(fields=(("X-Forwarded-For", "1.2.3.4, 5.6.7.8"),)),
        Ask(fields=(("X-Forwarded-For", "1.2.3.4, 10.20.1.9"),)),
        Ask(fields=(("X-Forwarded-For", "garbage"),)),
        Ask(fields=(("X-Forwarded-For", "2001:db8::1"),)),
        Ask(fields=(("X-Forwarded-For", "1.2.3.4:5555"),)),
        Ask(fields=(("X-Forwarded-For", "1.2.3.4"), ("X-Forwarded-For", "5.6.7.8"))),
        Ask(fields=(("X-Forwarded-Proto", "HTTPS"),)),
        Ask(fields=(("X-Forwarded-Proto", "http"),)),
        Ask(fields=(("X-Forwarded-Host", "a.test, b.test"),)),
        Ask(fields=(("X-Forwarded-Prefix", "/p"), ("Forwarded", "for=1.1.1.1"))),
        Ask(secure=True, fields=(("X-Forwarded-Proto", "http"),)),
        keys={"use-forwarded-headers": "true", "proxy-real-ip-cidr": CLIENTS},
        told=(
            Told("endpoint.web.field.x-*", TRUST),
            Told("endpoint.web.field.forwarded", EVERYBODY),
        ),
    ),
    config(
        "forwarded-force",
        Ask(),
        Ask(fields=SAID),
        Ask(fields=(("X-Forwarded-Proto", "http"),)),
        keys={"use-forwarded-headers": "true", "proxy-real-ip-cidr": CLIENTS},
        force_ssl_redirect="true",
    ),
    config(
        "forwarded-allow",
        Ask(fields=(("X-Forwarded-For", "1.2.3.4"),)),
        Ask(fields=(("X-Forwarded-For", "9.9.9.9"),)),
        Ask(),
        keys={"use-forwarded-headers": "true", "proxy-real-ip-cidr": CLIENTS},
        whitelist_source_range="1.2.3.0/24",
    ),
    config(
        "forwarded-full",
        Ask(),
        Ask(fields=SAID),
        Ask(fields=(("X-Forwarded-For", "1.2.3.4, 5.6.7.8"),)),
        keys={
            "use-forwarded-headers": "true",
            "proxy-real-ip-cidr": CLIENTS,
            "compute-full-forwarded-for": "true",
        },
    ),
    config(
        "forwarded-stranger",
        Ask(fields=SAID),
        keys={"use-forwarded-headers": "true", "proxy-real-ip-cidr": "192.0.2.0/24"},
        told=(Told("endpoint.web.field.*", TRUST),),
    ),
    config("forwarded-everybody", Ask(fields=SAID), keys={"use-forwarded-headers": "true"}),
    config(
        "forwarded-field",
        Ask(fields=(("CF-Connecting-IP", "1.2.3.4"), ("X-Forwarded-For", "5.6.7.8"))),
        keys={
            "use-forwarded-headers": "true",
            "proxy-real-ip-cidr": CLIENTS,
            "forwarded-for-header": "CF-Connecting-IP",
        },
        told=(Told("endpoint.web.field.x-original-forwarded-for", TRUST),),
    ),
    config("real-ip-alone", Ask(fields=SAID), keys={"enable-real-ip": "true", "proxy-real-ip-cidr": CLIENTS}),
    config("underscores", Ask(fields=(("X_Under", "1"),)), keys={"enable-underscores-in-headers": "true"}),
    config("invalid-fields", Ask(fields=(("X.Dot", "1"),)), keys={"ignore-invalid-headers": "false"}),
    config(
        "hide-headers",
        keys={"hide-headers": "X-Powered-By,Server"},
        answer=Answer(fields=(("X-Powered-By", "php"), ("Server", "mine"), ("X-Stay", "1"))),
    ),
    config(
        "server-header",
        keys={"allow-backend-server-header": "true"},
        answer=Answer(fields=(("Server", "mine"),)),
    ),
    config(
        "server-tokens",
        Ask(),
        Ask(host="nobody.test"),
        keys={"server-tokens": "true"},
        told=(Told("answer.field.server", OTHER_KEYS),),
    ),
    config(
        "add-headers",
        Ask(),
        Ask(host="nobody.test"),
        keys={"add-headers": "ingress-nginx/added"},
        objects=(
            {
                **config_map("added", {"X-Frame-Options": "DENY", "X-Multi": "a, b"}),
                "metadata": {"name": "added", "namespace": "ingress-nginx"},
            },
        ),
        answer=Answer(fields=(("X-Frame-Options", "SAMEORIGIN"),)),
        told=(
            Told(
                "answer.field.x-*",
                "docs/configured-fields.md: the 404 of hosts that nobody names",
                "* http://nobody.test/",
            ),
        ),
    ),
    config(
        "set-headers",
        Ask(),
        Ask(fields=(("X-Set", "mine"),)),
        keys={"proxy-set-headers": "ingress-nginx/set"},
        objects=(
            {
                **config_map("set", {"X-Set": "fixed", "X-Host": "$host", "X-Uri": "$request_uri"}),
                "metadata": {"name": "set", "namespace": "ingress-nginx"},
            },
        ),
    ),
    config(
        "no-request-id",
        Ask(),
        Ask(fields=(("X-Request-ID", "mine"),)),
        keys={"generate-request-id": "false"},
        told=(Told("endpoint.web.field.x-request-id", OTHER_KEYS, "GET http://HOST/"),),
    ),
    config("original-uri", Ask("/a%20b?c"), keys={"proxy-add-original-uri-header": "true"}),
    config(
        "body-size-of-all",
        Ask(method="POST", body=b"a" * 200),
        Ask(method="POST", body=b"a" * 20),
        keys={"proxy-body-size": "100"},
    ),
    config("block-cidrs", Ask(), Ask(client=2), keys={"block-cidrs": "10.20.1.2/32"}),
    config(
        "block-agents",
        Ask(fields=()),
        Ask(raw=b"GET / HTTP/1.1\r\nHost: HOST\r\nUser-Agent: evil-bot/1\r\n\r\n"),
        Ask(raw=b"GET / HTTP/1.1\r\nHost: HOST\r\nUser-Agent: Good\r\n\r\n"),
        keys={"block-user-agents": "~*evil.*,Exact"},
    ),
    config(
        "block-referers",
        Ask(fields=(("Referer", "http://evil.test/x"),)),
        Ask(fields=(("Referer", "http://good.test"),)),
        keys={"block-referers": "~*evil.*"},
    ),
    config(
        "gzip",
        Ask(fields=(("Accept-Encoding", "gzip"),)),
        Ask(),
        Ask(fields=(("Accept-Encoding", "identity"),)),
        keys={"use-gzip": "true"},
        answer=Answer(body="a" * 2000),
    ),
    config(
        "gzip-small",
        Ask(fields=(("Accept-Encoding", "gzip"),)),
        keys={"use-gzip": "true"},
        answer=Answer(body="a" * 100),
    ),
    config(
        "gzip-type",
        Ask(fields=(("Accept-Encoding", "gzip"),)),
        keys={"use-gzip": "true"},
        answer=Answer(fields=(("Content-Type", "image/png"),), body="a" * 2000),
    ),
    config(
        "errors-of-all",
        Ask("/a"),
        Ask("/b", host="nobody.test"),
        keys={"custom-http-errors": "404,503"},
        answer=Answer(404, body="gone"),
        told=(Told("answer.status", ERRORS),),
    ),
    config("whitelist-of-all", Ask(), Ask(client=2), keys={"whitelist-source-range": "10.20.1.1/32"}),
    config("denylist-of-all", Ask(), Ask(client=2), keys={"denylist-source-range": "10.20.1.2/32"}),
    config(
        "retry-non-idempotent",
        Ask(method="POST", body=b"a"),
        keys={"retry-non-idempotent": "true"},
        answer=Answer(breaks=True),
        told=(Told("endpoints", OTHER_KEYS),),
    ),
    config("app-root-port", Ask(host="HOST:8080"), keys={"use-port-in-redirects": "true"}, app_root="/x"),
    config(
        "force-port",
        Ask("/a"),
        keys={"use-port-in-redirects": "true"},
        force_ssl_redirect="true",
        told=(Told("answer.field.location", OTHER_KEYS),),
    ),
    config("strict-path-type", *gets("/a"), keys={"strict-validate-path-type": "true"}),
    config("keepalive-none", keys={"upstream-keepalive-connections": "0"}),
    config("location-snippet", Ask(), keys={"location-snippet": 'more_set_headers "X-Loc: yes";'}),
    config(
        "server-snippet-of-all",
        Ask("/blocked"),
        Ask("/a"),
        keys={"server-snippet": "location /blocked { return 403; }"},
    ),
    config("http-snippet", Ask(), keys={"http-snippet": 'more_set_headers "X-Http: yes";'}),
    config("global-auth", Ask(), keys={"global-auth-url": "http://10.20.1.1:9/x"}),
    config(
        "global-auth-off", Ask(), keys={"global-auth-url": "http://10.20.1.1:9/x"}, enable_global_auth="false"
    ),
    config(
        "no-snippets",
        Ask(),
        keys={"allow-snippet-annotations": "false"},
        configuration_snippet='more_set_headers "X-A: b";',
    ),
    config("proxy-buffers", Ask(), keys={"proxy-buffering": "on", "proxy-buffer-size": "8k"}),
    config(
        "large-headers", Ask(fields=(("X-Long", "a" * 12000),)), keys={"large-client-header-buffers": "4 16k"}
    ),
)
