"""What endpoints answer, and what is made of it: fields, redirects, cookies, error pages."""

from conformance.ingress_nginx.case import Ask, Case, Told, config_map, gets, ingress
from conformance.ingress_nginx.cases.documents import ERRORS, EVERYBODY, ORIGINS
from conformance.ingress_nginx.endpoints import Answer


def answer(status: int = 200, body: str = "", **fields: str) -> Answer:
    return Answer(status, tuple((name.replace("_", "-"), value) for name, value in fields.items()), body)


STATUSES = (
    200,
    201,
    202,
    203,
    204,
    206,
    301,
    302,
    303,
    304,
    307,
    308,
    400,
    401,
    402,
    403,
    404,
    405,
    409,
    410,
    413,
    416,
    418,
    421,
    422,
    429,
    431,
    451,
    500,
    501,
    502,
    503,
    504,
    505,
    507,
    511,
    599,
)

CASES = (
    Case(
        "statuses",
        (ingress(),),
        tuple(Ask(f"/{status}", method) for status in STATUSES for method in ("GET", "HEAD")),
        answers={
            "web": {
                f"/{status}": answer(status, Content_Type="text/plain", X_From="web") for status in STATUSES
            }
        },
    ),
    Case(
        "answer-fields",
        (ingress(),),
        gets(
            "/server",
            "/twice",
            "/cookies",
            "/accel",
            "/status",
            "/location",
            "/hop",
            "/type",
            "/empty",
            "/hsts",
            "/date",
            "/age",
        ),
        answers={
            "web": {
                "/server": answer(Server="mine", X_Powered_By="php", Via="1.1 x"),
                "/twice": Answer(
                    fields=(
                        ("X-A", "1"),
                        ("X-A", "2"),
                        ("Vary", "a"),
                        ("Vary", "b"),
                        ("Cache-Control", "no-cache"),
                        ("Cache-Control", "private"),
                    )
                ),
                "/cookies": Answer(fields=(("Set-Cookie", "a=1; Path=/; HttpOnly"), ("Set-Cookie", "b=2"))),
                "/accel": answer(
                    X_Accel_Buffering="no",
                    X_Accel_Expires="0",
                    X_Accel_Limit_Rate="0",
                    X_Accel_Charset="utf-8",
                ),
                "/status": answer(Status="404", X_Status="1"),
                "/location": answer(302, Location="http://HOST/x"),
                "/hop": answer(Keep_Alive="timeout=5", Proxy_Authenticate="Basic", Trailer="X", Upgrade="h2"),
                "/type": answer(Content_Type="text/html; charset=ISO-8859-1", Content_Language="de"),
                "/empty": answer(X_Empty=""),
                "/hsts": answer(Strict_Transport_Security="max-age=5"),
                "/date": answer(Last_Modified="Mon, 01 Jan 2024 00:00:00 GMT", ETag='"x"', Expires="0"),
                "/age": answer(Age="5", Warning="199 a b"),
            }
        },
        told=(Told("answer.field.*", EVERYBODY),),
    ),
    Case(
        "proxy-redirect",
        (ingress(proxy_redirect_from="http://inside.test/", proxy_redirect_to="https://HOST/"),),
        gets("/a", "/b", "/c", "/d"),
        answers={
            "web": {
                "/a": answer(302, Location="http://inside.test/x?y"),
                "/b": answer(302, Location="http://other.test/x"),
                "/c": answer(201, Location="http://inside.test/"),
                "/d": answer(200, Refresh="5; url=http://inside.test/r"),
            }
        },
    ),
    Case(
        "proxy-redirect-default",
        (ingress(proxy_redirect_from="default"),),
        gets("/a", "/b"),
        answers={
            "web": {
                "/a": answer(302, Location="http://a.test/x"),
                "/b": answer(302, Location="/x"),
            }
        },
    ),
    Case(
        "proxy-redirect-off",
        (ingress(proxy_redirect_from="off", proxy_redirect_to="/"),),
        gets("/a"),
        answers={"web": {"": answer(302, Location="http://a.test/x")}},
    ),
    Case(
        "cookie-domain",
        (ingress(proxy_cookie_domain="inside.test outside.test", proxy_cookie_path="/in/ /out/"),),
        gets("/a", "/b", "/c"),
        answers={
            "web": {
                "/a": Answer(fields=(("Set-Cookie", "a=1; Domain=inside.test; Path=/in/x; Secure"),)),
                "/b": Answer(fields=(("Set-Cookie", "a=1; domain=.inside.test; path=/other"),)),
                "/c": Answer(fields=(("Set-Cookie", "a=1"), ("Set-Cookie", "b=2; Domain=INSIDE.test"))),
            }
        },
    ),
    Case(
        "custom-errors",
        (ingress(custom_http_errors="404,503", default_backend="errors"),),
        (
            *gets("/404?a=b", "/503", "/500", "/200"),
            Ask("/404", "POST", body=b"abc"),
            Ask("/404", "HEAD"),
            Ask("/404", fields=(("Accept", "application/json"), ("X-Request-ID", "mine"))),
            Ask("/404", fields=(("X-Code", "1"), ("X-Forwarded-For", "1.2.3.4"))),
        ),
        answers={
            "web": {"/404": answer(404, "gone", X_From="web"), "/503": answer(503), "/500": answer(500)},
            "errors": {"": answer(404, "<html>error page</html>", Content_Type="text/html", X_From="errors")},
        },
        told=(Told("endpoint*", ERRORS),),
    ),
    Case(
        "custom-errors-200",
        (ingress(custom_http_errors="404", default_backend="errors"),),
        gets("/404"),
        answers={"web": {"/404": answer(404)}, "errors": {"": answer(200, "fine", Content_Type="text/html")}},
        told=(Told("endpoint*", ERRORS),),
    ),
    Case(
        "custom-errors-no-endpoints",
        (ingress(custom_http_errors="503", default_backend="errors"),),
        gets("/a"),
        replicas={"web": 0},
        answers={"errors": {"": answer(503, "down", Content_Type="text/html")}},
        told=(Told("endpoint*", ERRORS),),
    ),
    Case(
        "custom-errors-not-ours",
        (
            ingress(
                custom_http_errors="413,405,403",
                default_backend="errors",
                proxy_body_size="1",
                denylist_source_range="10.20.1.2/32",
            ),
        ),
        (Ask("/a", "POST", body=b"abc"), Ask("/a", client=2)),
        answers={"errors": {"": answer(200, "page", Content_Type="text/html")}},
        told=(Told("endpoint*", ERRORS),),
    ),
    Case(
        "custom-errors-without-backend",
        (ingress(custom_http_errors="404"),),
        gets("/404"),
        answers={"web": {"/404": answer(404, "gone")}},
    ),
    Case(
        "default-backend",
        (ingress(default_backend="rest"),),
        gets("/a"),
        replicas={"web": 0, "rest": 1},
        told=(Told("endpoint.rest.field.x-request-id", ERRORS),),
    ),
    Case("default-backend-missing", (ingress(default_backend="nothing"),), gets("/a"), replicas={"web": 0}),
    Case(
        "custom-headers",
        (
            ingress(custom_headers="SPACE/extra"),
            config_map("extra", {"X-Custom": "one", "X-Other": "two words"}),
        ),
        gets("/a"),
        config={"global-allowed-response-headers": "X-Custom,X-Other"},
        answers={"web": {"": answer(X_Custom="own", X_Third="three")}},
    ),
    Case(
        "cors",
        (ingress(enable_cors="true"),),
        (
            Ask(),
            Ask(fields=(("Origin", "https://a.test"),)),
            Ask(method="OPTIONS"),
            Ask(
                method="OPTIONS",
                fields=(("Origin", "https://a.test"), ("Access-Control-Request-Method", "PUT")),
            ),
            Ask("/404", fields=(("Origin", "https://a.test"),)),
        ),
        answers={"web": {"/404": answer(404, Access_Control_Allow_Origin="own", Vary="Accept")}},
    ),
    Case(
        "cors-settings",
        (
            ingress(
                enable_cors="true",
                cors_allow_origin="https://a.test, https://*.b.test, http://c.test:8080",
                cors_allow_methods="GET, PUT",
                cors_allow_headers="X-One,X-Two",
                cors_expose_headers="X-Three",
                cors_max_age="60",
                cors_allow_credentials="false",
            ),
        ),
        tuple(
            Ask(method=method, fields=(("Origin", origin),))
            for method in ("GET", "OPTIONS", "POST")
            for origin in (
                "https://a.test",
                "http://a.test",
                "https://x.b.test",
                "https://x.y.b.test",
                "https://b.test",
                "http://c.test:8080",
                "http://c.test",
                "null",
                "https://A.test",
                "https://a.test.evil",
            )
        ),
        answers={"web": {"": answer(Access_Control_Allow_Origin="*", Access_Control_Max_Age="1")}},
        told=(Told("answer.field.vary", ORIGINS),),
    ),
    Case(
        "cors-credentials-any",
        (ingress(enable_cors="true", cors_allow_origin="*"),),
        (Ask(fields=(("Origin", "https://a.test"),)), Ask()),
    ),
    Case(
        "x-forwarded",
        (ingress(),),
        (Ask(), Ask(secure=True), Ask(host="HOST:8443"), Ask(secure=True, host="HOST:443"), Ask(client=2)),
    ),
    Case(
        "proxy-redirect-expression",
        (
            ingress(
                proxy_redirect_from="~^http://([a-z]+)\\.inside/(.*)$",
                proxy_redirect_to="https://$1.outside/$2",
            ),
        ),
        gets("/a", "/b", "/c"),
        answers={
            "web": {
                "/a": answer(302, Location="http://shop.inside/x?y=1"),
                "/b": answer(302, Location="http://other.test/x"),
                "/c": answer(302, Location="/relative"),
            }
        },
        told=(Told("answer.field.location", EVERYBODY),),
    ),
    Case(
        "cookie-path-expression",
        (ingress(proxy_cookie_path="~^/app(/.*)?$ $1"),),
        gets("/a", "/b"),
        answers={
            "web": {
                "/a": Answer(fields=(("Set-Cookie", "a=1; Path=/app/x; HttpOnly"),)),
                "/b": Answer(fields=(("Set-Cookie", "a=1; Path=/other"),)),
            }
        },
        told=(Told("answer.field.set-cookie", EVERYBODY),),
    ),
    Case(
        "cookie-path-flags",
        (ingress(proxy_cookie_path='/ "/; Secure; SameSite=None"'),),
        gets("/a", "/b"),
        answers={
            "web": {
                "/a": Answer(fields=(("Set-Cookie", "a=1; Path=/"),)),
                "/b": Answer(fields=(("Set-Cookie", "a=1"), ("Set-Cookie", "b=1; Path=/x; HttpOnly"))),
            }
        },
        told=(Told("answer.field.set-cookie", EVERYBODY),),
    ),
    Case(
        "locations",
        (ingress(ssl_redirect="false"),),
        gets("/1", "/2", "/3", "/4"),
        answers={
            "web": {
                "/1": answer(301, Location="/relative"),
                "/2": answer(302, Location="relative"),
                "/3": answer(307, Location="https://HOST:8443/x"),
                "/4": answer(201, Location="//other.test/x", Refresh="0; url=/x"),
            }
        },
    ),
    Case(
        "cors-of-endpoint",
        (ingress(),),
        (
            Ask(method="OPTIONS", fields=(("Origin", "https://a.test"),)),
            Ask(fields=(("Origin", "https://a.test"),)),
        ),
        answers={"web": {"": answer(Access_Control_Allow_Origin="https://a.test", Vary="Origin")}},
    ),
    Case(
        "cors-beside-guards",
        (
            ingress(
                enable_cors="true", cors_allow_origin="https://a.test", denylist_source_range="10.20.1.2/32"
            ),
        ),
        (
            Ask(method="OPTIONS", client=2, fields=(("Origin", "https://a.test"),)),
            Ask(client=2, fields=(("Origin", "https://a.test"),)),
            Ask(client=2),
        ),
        told=(Told("answer.field.vary", ORIGINS),),
    ),
    Case(
        "cors-wildcards",
        (
            ingress(
                enable_cors="true",
                cors_allow_origin="https://*.a.test:8443, *",
                cors_allow_headers="*",
                cors_allow_methods="*",
            ),
        ),
        (
            Ask(fields=(("Origin", "https://x.a.test:8443"),)),
            Ask(method="OPTIONS", fields=(("Origin", "https://b.test"),)),
        ),
    ),
)
