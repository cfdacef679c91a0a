"""Who is let in: passwords, other services, addresses, certificates, redirects to HTTPS."""

from base64 import b64encode

from conformance.ingress_nginx.case import Ask, Case, Told, gets, ingress, secret
from conformance.ingress_nginx.cases.documents import AUTH as AUTH_DIFFERS
from conformance.ingress_nginx.cases.documents import ERRORS, EVERYBODY, PASSWORDS
from conformance.ingress_nginx.endpoints import Answer

USER = "ann:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g="
"""The password is ``password``."""


def basic(account: str) -> tuple[tuple[str, str], ...]:
    return (("Authorization", f"Basic {b64encode(account.encode()).decode()}"),)


GOOD, BAD = basic("ann:password"), basic("ann:wrong")
AUTH = "http://auth.SPACE.svc.cluster.local:8080"
COOKIES = (("Set-Cookie", "session=1; Path=/"), ("X-User", "ann"), ("X-Group", "staff"))
VERIFY = {
    "/ok": Answer(200, COOKIES),
    "/created": Answer(201, COOKIES),
    "/no-content": Answer(204, COOKIES),
    "/moved": Answer(302, (("Location", "/login"),)),
    "/unauthorized": Answer(
        401, (("WWW-Authenticate", 'Bearer realm="x"'), ("Set-Cookie", "why=1"), ("X-User", "no")), "who?"
    ),
    "/forbidden": Answer(403, (("X-User", "no"),), "no!"),
    "/missing": Answer(404),
    "/failed": Answer(500),
    "/busy": Answer(503),
    "/breaks": Answer(breaks=True),
}


ASKED = tuple(
    Told(f"endpoint.auth.field.{name}", AUTH_DIFFERS) for name in ("host", "x-forwarded-*", "x-scheme")
)
"""What is told of each question to a service."""


def asked(name: str, path: str, told: tuple[Told, ...] = ASKED, **annotations: str) -> Case:
    return Case(
        name,
        (ingress(auth_url=f"{AUTH}{path}", **annotations),),
        (
            Ask("/a?b=c"),
            Ask("/p", "POST", body=b"abc"),
            Ask("/a", fields=(("X-User", "evil"), ("Cookie", "c=1"), ("Authorization", "Bearer t"))),
        ),
        answers={"auth": VERIFY},
        told=told,
    )


CASES = (
    Case(
        "basic",
        (
            ingress(auth_type="basic", auth_secret="users", auth_realm="Staff only"),
            secret("users", auth=USER),
        ),
        (
            Ask(),
            Ask(fields=GOOD),
            Ask(fields=BAD),
            Ask(fields=basic("bob:password")),
            Ask(fields=(("Authorization", "Basic !!!"),)),
            Ask(fields=(("Authorization", "Bearer x"),)),
            Ask(method="OPTIONS"),
            Ask("/a", "POST", fields=BAD, body=b"abc"),
        ),
    ),
    Case(
        "basic-no-realm",
        (ingress(auth_type="basic", auth_secret="users"), secret("users", auth=USER)),
        (Ask(), Ask(fields=GOOD)),
    ),
    Case(
        "basic-map",
        (
            ingress(auth_type="basic", auth_secret="users", auth_secret_type="auth-map"),
            secret("users", ann="{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g="),
        ),
        (Ask(), Ask(fields=GOOD), Ask(fields=BAD)),
    ),
    Case("basic-no-secret", (ingress(auth_type="basic", auth_secret="users"),), (Ask(), Ask(fields=GOOD))),
    Case(
        "basic-wrong-key",
        (ingress(auth_type="basic", auth_secret="users"), secret("users", users=USER)),
        (Ask(), Ask(fields=GOOD)),
    ),
    Case(
        "basic-qualified",
        (ingress(auth_type="basic", auth_secret="SPACE/users"), secret("users", auth=USER)),
        (Ask(), Ask(fields=GOOD)),
    ),
    Case(
        "auth-type-unknown",
        (ingress(auth_type="ntlm", auth_secret="users"), secret("users", auth=USER)),
        (Ask(), Ask(fields=GOOD)),
        told=(Told("answer.status", EVERYBODY),),
    ),
    Case(
        "auth-secret-alone",
        (ingress(auth_secret="users"), secret("users", auth=USER)),
        (Ask(), Ask(fields=GOOD)),
        told=(Told("*", PASSWORDS),),
    ),
    Case(
        "satisfy-any",
        (
            ingress(
                auth_type="basic", auth_secret="users", satisfy="any", whitelist_source_range="10.20.1.1/32"
            ),
            secret("users", auth=USER),
        ),
        (Ask(), Ask(client=2), Ask(client=2, fields=GOOD), Ask(client=2, fields=BAD)),
    ),
    Case(
        "satisfy-all",
        (
            ingress(
                auth_type="basic", auth_secret="users", satisfy="all", whitelist_source_range="10.20.1.1/32"
            ),
            secret("users", auth=USER),
        ),
        (Ask(), Ask(fields=GOOD), Ask(client=2), Ask(client=2, fields=GOOD)),
    ),
    Case(
        "allowlist",
        (ingress(whitelist_source_range="10.20.1.1/32, 10.20.1.3"),),
        (Ask(), Ask(client=2), Ask(client=3), Ask(client=2, fields=(("X-Forwarded-For", "10.20.1.1"),))),
    ),
    Case("allowlist-new-name", (ingress(allowlist_source_range="10.20.1.0/31"),), (Ask(), Ask(client=2))),
    Case("denylist", (ingress(denylist_source_range="10.20.1.2/32"),), (Ask(), Ask(client=2))),
    Case(
        "both-lists",
        (ingress(denylist_source_range="10.20.1.2/32", whitelist_source_range="10.20.1.0/24"),),
        (Ask(), Ask(client=2)),
    ),
    Case("allowlist-invalid", (ingress(whitelist_source_range="10.20.1.1/99"),), (Ask(), Ask(client=2))),
    asked("auth-ok", "/ok"),
    asked("auth-created", "/created"),
    asked("auth-no-content", "/no-content"),
    asked("auth-unauthorized", "/unauthorized"),
    asked("auth-forbidden", "/forbidden"),
    asked("auth-missing", "/missing"),
    asked("auth-failed", "/failed"),
    asked("auth-busy", "/busy"),
    asked("auth-moved", "/moved"),
    asked("auth-breaks", "/breaks"),
    asked("auth-query", "/ok?rd=$request_uri&m=$request_method"),
    asked("auth-method", "/ok", auth_method="POST"),
    asked("auth-response-headers", "/ok", auth_response_headers="X-User, X-Group, X-None"),
    asked("auth-always-cookie", "/ok", auth_always_set_cookie="true"),
    asked("auth-signin", "/unauthorized", auth_signin="https://login.test/start"),
    asked("auth-signin-query", "/unauthorized", auth_signin="https://login.test/start?x=y"),
    asked(
        "auth-signin-rd",
        "/unauthorized",
        auth_signin="https://login.test/start?rd=https://$host$escaped_request_uri",
    ),
    asked(
        "auth-signin-rd-raw",
        "/unauthorized",
        auth_signin="https://$host/oauth2/start?rd=$scheme://$host$request_uri",
    ),
    asked(
        "auth-signin-param",
        "/unauthorized",
        auth_signin="https://login.test/start",
        auth_signin_redirect_param="back",
    ),
    asked("auth-signin-forbidden", "/forbidden", auth_signin="https://login.test/start"),
    asked(
        "auth-request-redirect",
        "/ok",
        told=(Told("*", EVERYBODY),),
        auth_request_redirect="https://x.test/$request_uri",
    ),
    asked(
        "auth-snippet", "/ok", auth_snippet="proxy_set_header X-Extra $host;\nproxy_set_header X-Fixed yes;"
    ),
    asked("auth-cors", "/unauthorized", enable_cors="true"),
    Case(
        "auth-unknown-host",
        (ingress(auth_url="http://nobody.SPACE.svc.cluster.local:8080/ok"),),
        gets("/a"),
    ),
    Case("auth-invalid", (ingress(auth_url="not a url"),), gets("/a")),
    Case("auth-refused", (ingress(auth_url="http://10.20.1.1:9/ok"),), gets("/a")),
    Case(
        "auth-and-basic",
        (ingress(auth_url=f"{AUTH}/ok", auth_type="basic", auth_secret="users"), secret("users", auth=USER)),
        (Ask(), Ask(fields=GOOD)),
        answers={"auth": VERIFY},
        told=(Told("endpoint.auth.field.*", AUTH_DIFFERS),),
    ),
    Case(
        "auth-error-pages",
        (ingress(auth_url=f"{AUTH}/unauthorized", custom_http_errors="401", default_backend="errors"),),
        gets("/a"),
        answers={"auth": VERIFY, "errors": {"": Answer(401, body="page")}},
        told=(
            Told("endpoint.auth.field.*", AUTH_DIFFERS),
            Told("endpoint.errors.*", ERRORS),
        ),
    ),
    Case(
        "force-ssl",
        (ingress(force_ssl_redirect="true"),),
        (
            *gets("/", "/a/?b=c", "/a%20b"),
            Ask(method="POST", body=b"abc"),
            Ask(method="HEAD"),
            Ask(host="HOST:8080"),
            Ask(fields=(("X-Forwarded-Proto", "https"),)),
            Ask("/.well-known/acme-challenge/x"),
            Ask(secure=True),
        ),
        told=(
            Told(
                "*",
                "docs/options.md: besides requests below `/.well-known/acme-challenge/`, which never are",
                "*acme*",
            ),
        ),
    ),
    Case(
        "force-ssl-no-slash",
        (ingress(force_ssl_redirect="true", preserve_trailing_slash="true"),),
        gets("/", "/a/"),
    ),
    Case("ssl-redirect-alone", (ingress(ssl_redirect="true"),), gets("/")),
    Case("force-ssl-beside-app-root", (ingress(force_ssl_redirect="true", app_root="/x"),), gets("/")),
    Case(
        "force-ssl-beside-list",
        (ingress(force_ssl_redirect="true", denylist_source_range="10.20.1.1/32"),),
        gets("/"),
    ),
    Case(
        "force-ssl-beside-permanent",
        (ingress(force_ssl_redirect="true", permanent_redirect="https://n.test"),),
        gets("/"),
    ),
)
