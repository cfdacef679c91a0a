"""Endpoints that speak HTTP/2, as those of gRPC do."""

from conformance.ingress_nginx.case import Ask, Case, Told, ingress, secret
from conformance.ingress_nginx.cases.certificates import certificate
from conformance.ingress_nginx.cases.documents import CALLS, HTTP2
from conformance.ingress_nginx.cases.guards import BAD, GOOD, USER
from conformance.ingress_nginx.endpoints import Answer

OWN = (Told("answer.status", CALLS),)
"""What controllers say to a call themselves, they say in other words."""
MESSAGE = b"\0\0\0\0\3abc"
GRPC = (("Content-Type", "application/grpc"), ("TE", "trailers"))
SAYS = (("Content-Type", "application/grpc"),)
FINE = Answer(fields=SAYS, body=MESSAGE.decode(), trailers=(("grpc-status", "0"), ("grpc-message", "")))
ANSWERS = {
    "": FINE,
    "/x.S/Failed": Answer(
        fields=SAYS, body=MESSAGE.decode(), trailers=(("grpc-status", "5"), ("grpc-message", "not%20here"))
    ),
    "/x.S/AtOnce": Answer(fields=(*SAYS, ("grpc-status", "12"), ("grpc-message", "no method"))),
    "/x.S/Status": Answer(503, SAYS, body="x"),
    "/x.S/Breaks": Answer(breaks=True),
    "/plain": Answer(body="plain", fields=(("Content-Type", "text/plain"), ("X-A", "1"))),
}


def call(method: str = "Get", *fields: tuple[str, str], **more: str) -> Ask:
    return Ask(f"/x.S/{method}", "POST", fields=(*GRPC, *fields), body=MESSAGE, http2=True, **more)  # type: ignore[arg-type]


def grpc(
    name: str,
    *asks: Ask,
    service: str = "web",
    protocol: str = "GRPC",
    told: tuple[Told, ...] = (),
    **annotations: str,
) -> Case:
    return Case(
        name,
        (
            ingress({"/": service}, tls="own", backend_protocol=protocol, **annotations),
            certificate("own", f"{name}.test"),
        ),
        asks,
        answers={service: ANSWERS},
        told=told,
    )


CASES = (
    grpc(
        "grpc",
        call(),
        call("Failed"),
        call("AtOnce"),
        call("Status"),
        call("Breaks"),
        call("Get", ("grpc-timeout", "5S"), ("X-Custom-bin", "AAEC")),
        call("Get", ("Authorization", "Bearer t"), ("grpc-encoding", "gzip")),
        Ask("/x.S/Get", "POST", fields=GRPC, body=MESSAGE, unsized=True, http2=True),
        Ask(
            "/x.S/Get", "POST", fields=GRPC, body=MESSAGE, unsized=True, trailers=(("x-t", "1"),), http2=True
        ),
        Ask("/x.S/Get", "POST", fields=GRPC, body=MESSAGE * 30_000, http2=True),
        Ask("/plain", http2=True),
        Ask("/plain", "HEAD", http2=True),
        Ask("/plain?a=b%20c", "PUT", body=b"abc", http2=True),
        Ask("/plain", secure=True),
        Ask("/plain", "POST", body=b"abc", secure=True),
        Ask("/x.S/Get", "POST", fields=GRPC, body=MESSAGE, secure=True),
        told=(
            Told("answer.status", CALLS, "* */Breaks *"),
            Told("*", HTTP2, "* with trailers"),
            Told("endpoint.web.field.te", HTTP2, "*:trailers"),
        ),
    ),
    grpc("grpcs", call(), call("Failed"), Ask("/plain", http2=True), service="tls-web", protocol="GRPCS"),
    grpc("grpc-over-tls-endpoint", call(), service="tls-web", told=OWN),
    grpc(
        "grpc-body-size",
        call(),
        Ask("/x.S/Get", "POST", fields=GRPC, body=MESSAGE * 1000, http2=True),
        proxy_body_size="1k",
        told=OWN,
    ),
    grpc("grpc-rewritten", call(), rewrite_target="/plain"),
    grpc("grpc-vhost", call(), upstream_vhost="inside.test"),
    grpc("grpc-denied", call(), denylist_source_range="10.20.1.0/24", told=OWN),
    grpc("grpc-errors", call("Status"), Ask("/404", http2=True), custom_http_errors="404,503"),
    Case(
        "grpc-basic",
        (
            ingress(
                tls="own", backend_protocol="GRPC", auth_type="basic", auth_secret="users", auth_realm="Staff"
            ),
            secret("users", auth=USER),
            certificate("own", "grpc-basic.test"),
        ),
        (call(), call("Get", *GOOD), call("Get", *BAD)),
        answers={"web": ANSWERS},
        told=OWN,
    ),
    Case(
        "grpc-no-endpoint",
        (ingress(tls="own", backend_protocol="GRPC"), certificate("own", "grpc-no-endpoint.test")),
        (call(),),
        replicas={"web": 0},
        told=OWN,
    ),
    Case(
        "grpc-down",
        (ingress(tls="own", backend_protocol="GRPC"), certificate("own", "grpc-down.test")),
        (call(),),
        down=("web",),
        told=(Told("answer.*", CALLS),),
    ),
    Case(
        "grpc-no-path",
        (
            ingress({"/x.T": "web"}, tls="own", backend_protocol="GRPC"),
            certificate("own", "grpc-no-path.test"),
        ),
        (call(),),
        told=OWN,
    ),
    Case(
        "grpc-timeout",
        (
            ingress(tls="own", backend_protocol="GRPC", proxy_read_timeout="1"),
            certificate("own", "grpc-timeout.test"),
        ),
        (call(),),
        answers={"web": {"": Answer(delay=3)}},
        told=OWN,
    ),
    Case(
        "grpc-canary",
        (
            ingress({"/": "main"}, tls="own", backend_protocol="GRPC"),
            ingress(
                {"/": "canary"},
                name="canary",
                backend_protocol="GRPC",
                canary="true",
                canary_by_header="X-Canary",
            ),
            certificate("own", "grpc-canary.test"),
        ),
        (call(), call("Get", ("X-Canary", "always"))),
        answers={"main": ANSWERS, "canary": ANSWERS},
    ),
    Case(
        "grpc-affinity",
        (
            ingress(tls="own", backend_protocol="GRPC", affinity="cookie", session_cookie_name="s"),
            certificate("own", "grpc-affinity.test"),
        ),
        (call(), Ask("/plain", http2=True, keeps=True)),
        answers={"web": ANSWERS},
        replicas={"web": 2},
        sessions=("s",),
    ),
)
