"""What sessions, canaries, hashing and limits come to together."""

from conformance.ingress_nginx.case import Ask, Case, gets, ingress
from conformance.ingress_nginx.cases.answers import answer
from conformance.ingress_nginx.cases.certificates import certificate
from conformance.ingress_nginx.cases.traffic import ALWAYS, NEVER, pair
from conformance.ingress_nginx.endpoints import Answer

COOKIE = "INGRESSCOOKIE"
ALTERNATIVE = {"canary_by_header": "X-Canary"}


def sticky(name: str, main: dict[str, str], canary: dict[str, str], *asks: Ask) -> Case:
    """A main Ingress with sessions, and a canary."""
    objects = (
        ingress({"/": "main"}, affinity="cookie", session_cookie_name="s", **main),
        ingress({"/": "canary"}, name="canary", canary="true", **canary),
    )
    return Case(name, objects, asks, sessions=("s",), replicas={"main": 2, "canary": 2})


def session(name: str, *asks: Ask, replicas: int = 2, **annotations: str) -> Case:
    return Case(
        name,
        (ingress(affinity="cookie", **annotations),),
        asks or (Ask("/a"), Ask("/a", keeps=True)),
        replicas={"web": replicas},
        sessions=(annotations.get("session_cookie_name") or COOKIE,),
    )


CANARIES = (
    sticky(
        "sticky-canary",
        {},
        {**ALTERNATIVE, "canary_weight": "0"},
        Ask(fields=ALWAYS),
        Ask(keeps=True),
        Ask(keeps=True, fields=NEVER),
    ),
    sticky(
        "sticky-main",
        {},
        {**ALTERNATIVE, "canary_weight": "0"},
        Ask(fields=NEVER),
        Ask(keeps=True),
        Ask(keeps=True, fields=ALWAYS),
    ),
    sticky(
        "sticky-explicit",
        {},
        {**ALTERNATIVE, "affinity_canary_behavior": "sticky"},
        Ask(fields=ALWAYS),
        Ask(keeps=True),
        Ask(keeps=True, fields=NEVER),
    ),
    sticky(
        "legacy-canary",
        {},
        {**ALTERNATIVE, "affinity_canary_behavior": "legacy"},
        Ask(fields=ALWAYS),
        Ask(keeps=True),
        Ask(keeps=True, fields=NEVER),
    ),
    sticky(
        "legacy-main",
        {},
        {**ALTERNATIVE, "affinity_canary_behavior": "legacy"},
        Ask(fields=NEVER),
        Ask(keeps=True),
        Ask(keeps=True, fields=ALWAYS),
    ),
    sticky(
        "legacy-weight",
        {},
        {"canary_weight": "100", "affinity_canary_behavior": "legacy"},
        Ask(),
        Ask(keeps=True),
    ),
    sticky(
        "legacy-of-main",
        {"affinity_canary_behavior": "legacy"},
        ALTERNATIVE,
        Ask(fields=ALWAYS),
        Ask(keeps=True),
        Ask(keeps=True, fields=NEVER),
    ),
    sticky(
        "legacy-own-sessions",
        {},
        {
            **ALTERNATIVE,
            "affinity_canary_behavior": "legacy",
            "affinity": "cookie",
            "session_cookie_name": "c",
        },
        Ask(fields=ALWAYS),
        Ask(keeps=True, fields=ALWAYS),
    ),
    Case(
        "canary-own-hash",
        pair(canary_weight="100", upstream_hash_by="$request_uri"),
        (Ask("/a", times=12),),
        replicas={"canary": 3},
        which_endpoint=True,
    ),
    Case(
        "canary-hash-of-main",
        (
            ingress({"/": "main"}, upstream_hash_by="$request_uri"),
            ingress({"/": "canary"}, name="canary", canary="true", canary_weight="100"),
        ),
        (Ask("/a", times=12),),
        replicas={"canary": 3},
    ),
    Case(
        "canary-two-paths",
        (
            ingress({"/": "main", "/a": "main"}),
            ingress({"/": "canary", "/a": "canary"}, name="canary", canary="true", canary_weight="100"),
        ),
        gets("/", "/a"),
    ),
    Case(
        "canary-same-service-elsewhere",
        (
            ingress({"/": "main"}),
            ingress(
                {"/nothing": "canary", "/other": "canary"}, name="canary", canary="true", canary_weight="50"
            ),
        ),
        gets("/", "/nothing", "/other"),
    ),
    Case(
        "canary-two",
        (
            *pair(canary_by_header="X-Canary"),
            ingress({"/": "second"}, name="second", canary="true", canary_by_header="X-Second"),
        ),
        (Ask(), Ask(fields=ALWAYS), Ask(fields=(("X-Second", "always"),))),
    ),
    Case(
        "canary-pattern-wrong",
        pair(canary_by_header="X-Canary", canary_by_header_pattern="[[["),
        (Ask(fields=ALWAYS), Ask()),
    ),
    Case("canary-weight-over", pair(canary_weight="150"), (Ask(times=20),)),
    Case("canary-weight-wrong", pair(canary_weight="half"), (Ask(times=20),)),
    Case("canary-total-small", pair(canary_weight="40", canary_weight_total="50"), (Ask(times=200),)),
    Case(
        "canary-header-value-never",
        pair(canary_by_header="X-Canary", canary_by_header_value="beta", canary_weight="0"),
        (Ask(fields=ALWAYS), Ask(fields=(("X-Canary", "beta"),)), Ask(fields=NEVER)),
    ),
    Case(
        "canary-default-backend",
        (
            ingress({"/": "main"}),
            ingress(None, default="canary", name="canary", canary="true", canary_weight="100"),
        ),
        gets("/a"),
    ),
    Case(
        "canary-other-host",
        (
            ingress({"/": "main"}),
            ingress({"/": "canary"}, host="c.HOST", name="canary", canary="true", canary_weight="100"),
        ),
        (Ask(), Ask(host="c.HOST")),
    ),
    Case(
        "canary-timeouts",
        (
            ingress({"/": "main"}),
            ingress(
                {"/": "canary"},
                name="canary",
                canary="true",
                canary_weight="100",
                proxy_read_timeout="1",
                whitelist_source_range="192.0.2.0/24",
                backend_protocol="HTTPS",
            ),
        ),
        gets("/a"),
    ),
)

SESSIONS = (
    session("session-change-on-failure", session_cookie_change_on_failure="true"),
    session("session-zero-age", session_cookie_max_age="0300", session_cookie_expires="0300"),
    session("session-age-wrong", session_cookie_max_age="1h", session_cookie_expires="soon"),
    session("session-negative-age", session_cookie_max_age="-1", session_cookie_expires="-1"),
    session("session-secure-off", Ask("/a"), session_cookie_secure="false"),
    session("session-samesite-lax", Ask("/a"), session_cookie_samesite="Lax"),
    session("session-hash", Ask("/a"), session_cookie_hash="sha1"),
    session("session-name-odd", Ask("/a"), Ask("/a", keeps=True), session_cookie_name="a.b-c"),
    session(
        "session-unknown",
        Ask("/a", fields=(("Cookie", "INGRESSCOOKIE=garbage"),)),
        Ask("/a", fields=(("Cookie", "INGRESSCOOKIE="),)),
    ),
    session("session-unknown-mode", Ask("/a"), affinity_mode="other"),
    session("session-path-dollar", Ask("/a"), session_cookie_path="/a;x"),
    session("session-empty-name", Ask("/a"), session_cookie_name=""),
    session(
        "session-balanced", Ask("/a"), Ask("/a", keeps=True, times=8), affinity_mode="balanced", replicas=3
    ),
    Case("session-wrong-kind", (ingress(affinity="ip"),), (Ask("/a"),)),
    Case(
        "session-two-paths",
        (ingress({"/a": "web", "/b": "web"}, affinity="cookie"),),
        gets("/a", "/b"),
        sessions=(COOKIE,),
    ),
    Case(
        "session-two-ingresses",
        (ingress({"/a": "web"}, affinity="cookie", name="a"), ingress({"/b": "other"}, name="b")),
        gets("/a", "/b"),
        sessions=(COOKIE,),
    ),
    Case(
        "session-one-service-twice",
        (ingress({"/a": "web"}, affinity="cookie", name="a"), ingress({"/b": "web"}, name="b")),
        gets("/a", "/b"),
        sessions=(COOKIE,),
    ),
    Case(
        "session-alias",
        (ingress(affinity="cookie", server_alias="alias.HOST"),),
        (Ask(), Ask(host="alias.HOST")),
        sessions=(COOKIE,),
    ),
    Case(
        "session-wildcard",
        (ingress(host="*.HOST", affinity="cookie"),),
        (Ask(host="a.HOST"),),
        sessions=(COOKIE,),
    ),
    Case(
        "session-no-host",
        (ingress({"/sessions": "web"}, host="", affinity="cookie"),),
        (Ask("/sessions", host="nobody.test"),),
        sessions=(COOKIE,),
        alone=True,
    ),
    Case(
        "session-tls",
        (
            ingress(tls="own", affinity="cookie", session_cookie_secure="false"),
            certificate("own", "session-tls.test"),
        ),
        (Ask("/a", secure=True),),
        sessions=(COOKIE,),
    ),
    Case(
        "session-of-errors",
        (ingress(affinity="cookie"),),
        (Ask("/500"), Ask("/404")),
        answers={"web": {"/500": answer(500), "/404": answer(404)}},
        sessions=(COOKIE,),
    ),
    Case(
        "session-beside-app-cookie",
        (ingress(affinity="cookie"),),
        (Ask("/a"),),
        answers={"web": {"": answer(Set_Cookie="own=1")}},
        sessions=(COOKIE,),
    ),
    Case(
        "session-no-endpoints",
        (ingress(affinity="cookie"),),
        (Ask("/a"),),
        replicas={"web": 0},
        sessions=(COOKIE,),
    ),
    Case(
        "session-breaks",
        (ingress(affinity="cookie"),),
        (Ask("/a"),),
        replicas={"web": 2},
        answers={"web": {"": Answer(breaks=True)}},
        sessions=(COOKIE,),
    ),
    Case(
        "session-and-hash",
        (ingress(affinity="cookie", upstream_hash_by="$request_uri"),),
        (Ask("/a"),),
        replicas={"web": 2},
        sessions=(COOKIE,),
    ),
)

HASHES = (
    Case(
        "hash-subset",
        (
            ingress(
                upstream_hash_by="$arg_x", upstream_hash_by_subset="true", upstream_hash_by_subset_size="2"
            ),
        ),
        (Ask("/a?x=1", times=9),),
        replicas={"web": 5},
    ),
    Case(
        "hash-text",
        (ingress(upstream_hash_by="$host$remote_addr"),),
        (Ask("/a", times=5),),
        replicas={"web": 3},
    ),
    Case(
        "hash-nothing",
        (ingress(upstream_hash_by="$http_x_none"),),
        (Ask("/a", times=5),),
        replicas={"web": 3},
    ),
    Case(
        "hash-wrong", (ingress(upstream_hash_by="no variable"),), (Ask("/a", times=5),), replicas={"web": 3}
    ),
    Case("balance-wrong-own", (ingress(load_balance="ip_hash"),), (Ask("/a", times=4),), replicas={"web": 2}),
    Case("limit-connections", (ingress(limit_connections="1"),), (Ask(times=3),)),
    Case("limit-wrong", (ingress(limit_rps="many", limit_connections="-1"),), (Ask(times=8),)),
    Case(
        "limit-both",
        (ingress(limit_rps="50", limit_rpm="1", limit_burst_multiplier="1"),),
        (Ask(times=8),),
        once=True,
    ),
    Case(
        "limit-of-paths",
        (ingress({"/a": "web", "/b": "web"}, limit_rpm="1", limit_burst_multiplier="1"),),
        (Ask("/a", times=3), Ask("/b", times=3)),
        once=True,
    ),
    Case(
        "limit-allow-wrong",
        (ingress(limit_rpm="1", limit_burst_multiplier="1", limit_whitelist="nobody"),),
        (Ask(times=8),),
        once=True,
    ),
    Case(
        "limit-burst-wrong",
        (ingress(limit_rpm="1", limit_burst_multiplier="x"),),
        (Ask(times=12),),
        once=True,
    ),
    Case(
        "mirror-host-variable",
        (
            ingress(
                mirror_target="http://shadow.SPACE.svc.cluster.local:8080$request_uri", mirror_host="$host"
            ),
        ),
        gets("/a?b"),
        answers={"shadow": {}},
        settles=0.4,
    ),
    Case(
        "mirror-no-uri",
        (ingress(mirror_target="http://shadow.SPACE.svc.cluster.local:8080"),),
        gets("/a?b"),
        answers={"shadow": {}},
        settles=0.4,
    ),
    Case(
        "mirror-fixed",
        (ingress(mirror_target="http://shadow.SPACE.svc.cluster.local:8080/m/$request_uri"),),
        gets("/a?b"),
        answers={"shadow": {}},
        settles=0.4,
    ),
    Case(
        "mirror-slow",
        (ingress(mirror_target="http://shadow.SPACE.svc.cluster.local:8080$request_uri"),),
        gets("/a"),
        answers={"shadow": {"": Answer(delay=2)}},
        settles=0.4,
    ),
)

CASES = (*CANARIES, *SESSIONS, *HASHES)
