"""Values that mean nothing, or not what they seem to, each with the request that shows what becomes of it.

Those that any request shows are in ``wrong_values``.
"""

from conformance.ingress_nginx.case import Ask, Case, Told, gets, ingress
from conformance.ingress_nginx.cases.documents import ANNOTATIONS, EVERYBODY, ORIGINS, TARGETS
from conformance.ingress_nginx.endpoints import Answer

UPLOAD = Ask("/a", "POST", body=b"a" * 2_000_000)
SLOW = {"web": {"": Answer(delay=2.5)}}
OUT = (Told("*", EVERYBODY),)
"""ingress-nginx leaves the whole Ingress out."""


def odd(
    name: str,
    *asks: Ask,
    answers: dict[str, dict[str, Answer]] | None = None,
    told: tuple[Told, ...] = (),
    **annotations: str,
) -> Case:
    return Case(
        f"odd-{name}", (ingress(**annotations),), asks or (Ask("/a"),), answers=answers or {}, told=told
    )


CASES = (
    odd("timeout-unit", answers=SLOW, proxy_read_timeout="1s"),
    odd("timeout-zero", answers=SLOW, told=OUT, proxy_read_timeout="0"),
    odd("timeout-fraction", answers=SLOW, proxy_read_timeout="1.5"),
    odd("body-size-unit", UPLOAD, proxy_body_size="10mb"),
    odd("body-size-large-letter", UPLOAD, proxy_body_size="10M"),
    odd("body-size-space", UPLOAD, proxy_body_size="10 m"),
    odd("body-size-gigabytes", UPLOAD, proxy_body_size="1g"),
    odd("body-size-gi", UPLOAD, proxy_body_size="10Mi"),
    odd("body-size-negative", UPLOAD, proxy_body_size="-1"),
    odd("limit", Ask("/a", times=10), told=OUT, limit_rps="many"),
    odd("limit-zero", Ask("/a", times=10), limit_rps="0"),
    odd("redirect-word", ssl_redirect="yes", force_ssl_redirect="yes"),
    odd("redirect-number", force_ssl_redirect="1"),
    odd("redirect-case", force_ssl_redirect="True"),
    odd("redirect-letter", force_ssl_redirect="t"),
    odd("protocol", backend_protocol="FTP"),
    odd("protocol-case", backend_protocol="http"),
    odd("addresses-empty", whitelist_source_range=""),
    odd("addresses-host-bits", Ask("/a"), Ask("/a", client=2), whitelist_source_range="10.20.1.1/24"),
    odd("addresses-words", whitelist_source_range="everybody"),
    odd("addresses-partly", Ask("/a"), Ask("/a", client=2), whitelist_source_range="10.20.1.1,nonsense"),
    odd("target-empty", rewrite_target=""),
    odd("target-relative", told=(Told("*", TARGETS),), rewrite_target="new"),
    odd("target-expression", rewrite_target="/$10"),
    odd("root-relative", *gets("/", "/a"), app_root="home"),
    odd("root-url", *gets("/", "/a"), app_root="https://x.test/home"),
    odd("errors-words", told=OUT, custom_http_errors="all"),
    odd("errors-range", told=OUT, custom_http_errors="200,999"),
    odd("affinity", affinity="ip"),
    odd("cors-word", Ask(fields=(("Origin", "https://a.test"),)), enable_cors="on"),
    odd(
        "cors-origin",
        Ask(fields=(("Origin", "https://a.test"),)),
        told=(Told("answer.field.vary", ORIGINS),),
        enable_cors="true",
        cors_allow_origin="a.test",
    ),
    odd(
        "cors-methods",
        Ask(fields=(("Origin", "https://a.test"),)),
        enable_cors="true",
        cors_allow_methods="GET;POST",
    ),
    odd("hash", upstream_hash_by="$nonsense"),
    odd("alias", Ask(host="alias.HOST"), Ask("/a"), told=OUT, server_alias="alias.HOST;other"),
    odd("www", Ask(host="www.HOST"), from_to_www_redirect="on"),
    odd("next-upstream", proxy_next_upstream="always"),
    odd("buffering", proxy_buffering="yes"),
    odd("buffer-size", proxy_buffer_size="8kb"),
    odd("vhost-empty", upstream_vhost=""),
    odd("vhost-space", told=OUT, upstream_vhost="a b"),
    odd(
        "prefix",
        told=(
            Told(
                "endpoint.web.field.x-forwarded-prefix",
                f"{ANNOTATIONS}: it is sent where no path is rewritten, too",
            ),
        ),
        x_forwarded_prefix="true",
    ),
    odd("load-balance", told=OUT, load_balance="least_conn"),
    odd("auth-method", auth_url="http://10.20.1.1:9/x", auth_method="FETCH"),
    odd("satisfy", satisfy="some"),
    odd("unknown", rate_limit="1", websocket_services="web", proxy_timeout="1"),
)
