"""Upgrades to WebSocket and to others, and limits of what a client may have at once and how fast."""

from conformance.ingress_nginx.case import Ask, Case, Told, ingress
from conformance.ingress_nginx.cases.certificates import certificate
from conformance.ingress_nginx.cases.documents import EVERYBODY, FAILING
from conformance.ingress_nginx.endpoints import Answer

HANDSHAKE = (
    ("Connection", "Upgrade"),
    ("Upgrade", "websocket"),
    ("Sec-WebSocket-Version", "13"),
    ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
)
AGREES = Answer(
    101,
    (
        ("Upgrade", "websocket"),
        ("Connection", "Upgrade"),
        ("Sec-WebSocket-Accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="),
        ("Sec-WebSocket-Protocol", "chat"),
    ),
)
FRAME = b"\x81\x83\0\0\0\0abc"
ANSWERS = {
    "": AGREES,
    "/no": Answer(403, body="no"),
    "/old": Answer(426, (("Sec-WebSocket-Version", "13"),), "old"),
    "/plain": Answer(body="plain"),
    "/breaks": Answer(breaks=True),
    "/other": Answer(101, (("Upgrade", "tls-of-ours"), ("Connection", "Upgrade"))),
    "/spdy": Answer(
        101,
        (
            ("Upgrade", "SPDY/3.1"),
            ("Connection", "Upgrade"),
            ("X-Stream-Protocol-Version", "v4.channel.k8s.io"),
        ),
    ),
    "/tcp": Answer(101, (("Upgrade", "tcp"), ("Connection", "Upgrade"), ("Content-Type", "application/raw"))),
}
SPDY = (
    ("Connection", "Upgrade"),
    ("Upgrade", "SPDY/3.1"),
    ("X-Stream-Protocol-Version", "v4.channel.k8s.io"),
    ("X-Stream-Protocol-Version", "v3.channel.k8s.io"),
)
TCP = (("Connection", "Upgrade"), ("Upgrade", "tcp"))


def opens(target: str = "/", *fields: tuple[str, str], says: bytes = FRAME, secure: bool = False) -> Ask:
    named = {name.lower() for name, _ in fields}
    usual = (one for one in HANDSHAKE if one[0].lower() not in named)
    return Ask(target, fields=(*usual, *fields), says=says, secure=secure)


OPENINGS = (
    opens(),
    opens("/a?b=c"),
    opens("/", ("Sec-WebSocket-Protocol", "chat, superchat")),
    opens("/", ("Sec-WebSocket-Extensions", "permessage-deflate; client_max_window_bits")),
    opens("/", ("Origin", "https://a.test"), ("Cookie", "a=1")),
    opens("/", ("Connection", "keep-alive, Upgrade")),
    opens("/", ("Connection", "upgrade")),
    opens("/", ("Upgrade", "WebSocket")),
    opens("/", says=FRAME * 5000),
    *(opens(path) for path in ("/no", "/old", "/plain", "/breaks")),
    opens("/other", ("Upgrade", "tls-of-ours")),
    opens("/plain", ("Upgrade", "h2c")),
    Ask("/plain", fields=(("Connection", "Upgrade"),)),
    Ask("/plain", fields=(("Upgrade", "websocket"),)),
    Ask("/plain", "POST", fields=HANDSHAKE, body=b"abc"),
)


OTHERS = (
    Ask("/spdy?command=ls", "POST", fields=(*SPDY, ("Content-Length", "0")), says=FRAME),
    Ask("/spdy", "GET", fields=SPDY, says=FRAME * 5000),
    Ask("/plain", "POST", fields=(*SPDY, ("Content-Length", "0"))),
    Ask("/no", "POST", fields=(*SPDY, ("Content-Length", "0"))),
    Ask("/tcp", "POST", fields=(*TCP, ("Content-Type", "application/json")), body=b"{}", says=FRAME),
    Ask(
        "/tcp",
        "POST",
        fields=(*TCP, ("Transfer-Encoding", "chunked")),
        body=b"2\r\n{}\r\n0\r\n\r\n",
        says=FRAME,
    ),
    Ask("/plain", fields=(("Connection", "Upgrade"), ("Upgrade", "SPDY/3.1, websocket"))),
    Ask("/tcp", fields=(("Connection", "Upgrade"), ("Upgrade", "spdy/3.1, TCP")), says=FRAME),
    Ask("/tcp", fields=SPDY, says=FRAME),
    Ask("/tcp", fields=(("Upgrade", "tcp"),), says=FRAME),
    Ask("/tcp", fields=(("Connection", "Upgrade"), ("Upgrade", "tcp, h2c")), says=FRAME),
    Ask("/tcp", says=FRAME),
    Ask("/tcp", raw=b"GET /tcp HTTP/1.0\r\nHost: HOST\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"),
)


def web_socket(name: str, *asks: Ask, told: tuple[Told, ...] = (), **annotations: str) -> Case:
    return Case(
        name,
        (ingress(**annotations),),
        asks or OPENINGS,
        answers={"web": ANSWERS},
        told=told,
        sessions=("s",),
    )


ODD = (
    Told("endpoints", FAILING, "* */breaks *"),
    Told("*", EVERYBODY, "* Upgrade:tls-of-ours *"),
    Told("endpoint.web.field.upgrade", EVERYBODY, "* Upgrade:h2c *"),
    Told("endpoint.web.field.upgrade", EVERYBODY, "* */plain Upgrade:websocket"),
)
"""Upgrades to what hides requests, and what is no handshake."""

REFUSED = tuple(
    Told("*", EVERYBODY, ask.name)
    for ask in OTHERS
    if ask.target == "/tcp" and ask.method == "GET" and ("Upgrade", "spdy/3.1, TCP") not in ask.fields
)
"""Answers that switch to what was not asked for, or not in a way that counts."""

CASES = (
    web_socket("websocket", told=ODD),
    web_socket("upgrades", *OTHERS, told=REFUSED),
    web_socket("upgrades-unbuffered", *OTHERS[:6], proxy_request_buffering="off"),
    web_socket("websocket-buffered", opens(), proxy_buffering="on", proxy_request_buffering="on"),
    web_socket("websocket-timeouts", opens(), proxy_read_timeout="3600", proxy_send_timeout="3600"),
    web_socket("websocket-connection-field", opens(), opens("/plain"), connection_proxy_header="keep-alive"),
    web_socket("websocket-denied", opens(), denylist_source_range="10.20.1.0/24"),
    web_socket("websocket-rewritten", opens("/a"), rewrite_target="/x"),
    web_socket("websocket-cors", opens("/", ("Origin", "https://a.test")), enable_cors="true"),
    web_socket("websocket-cookie", opens("/plain"), affinity="cookie", session_cookie_name="s"),
    Case(
        "websocket-tls",
        (ingress(tls="own"), certificate("own", "websocket-tls.test")),
        (opens(secure=True), opens("/plain", secure=True), opens("/no", secure=True)),
        answers={"web": ANSWERS},
    ),
    Case(
        "websocket-to-tls",
        (ingress({"/": "tls-web"}, backend_protocol="HTTPS"),),
        (opens(), opens("/plain")),
        answers={"tls-web": ANSWERS},
    ),
    Case(
        "websocket-affinity",
        (ingress(affinity="cookie", session_cookie_name="s"),),
        (opens(), Ask("/plain", keeps=True)),
        answers={"web": ANSWERS},
        replicas={"web": 2},
        sessions=("s",),
    ),
    *(
        Case(
            f"limit-connections-{limit}",
            (ingress(limit_connections=limit, **more),),
            (Ask(times=6, at_once=True), Ask()),
            answers={"web": {"": Answer(delay=1.0)}},
            once=True,
        )
        for limit, more in (("1", {}), ("3", {}), ("0", {}), ("2", {"limit_allowlist": "10.20.1.2/32"}))
    ),
    Case(
        "limit-connections-allowed",
        (ingress(limit_connections="1", limit_whitelist="10.20.1.0/24"),),
        (Ask(times=6, at_once=True),),
        answers={"web": {"": Answer(delay=1.0)}},
        once=True,
    ),
    Case(
        "limit-connections-status",
        (ingress(limit_connections="1"),),
        (Ask(times=4, at_once=True),),
        answers={"web": {"": Answer(delay=1.0)}},
        config={"limit-conn-status-code": "429"},
        once=True,
    ),
    Case(
        "limit-connections-of-clients",
        (ingress(limit_connections="1"),),
        (Ask(client=2), Ask(client=3)),
        answers={"web": {"": Answer(body="a")}},
    ),
    Case(
        "limit-all-three",
        (ingress(limit_connections="2", limit_rps="1", limit_burst_multiplier="1", limit_rpm="10"),),
        (Ask(times=6, at_once=True),),
        answers={"web": {"": Answer(delay=1.0)}},
        once=True,
    ),
    Case(
        "limit-rps-and-rpm",
        (ingress(limit_rps="5", limit_rpm="4", limit_burst_multiplier="2"),),
        (Ask(times=20),),
        once=True,
    ),
    Case(
        "limit-two-paths",
        (ingress({"/a": "a", "/b": "b"}, limit_rpm="1", limit_burst_multiplier="3"),),
        (Ask("/a", times=3), Ask("/b", times=3)),
        once=True,
    ),
    Case(
        "limit-rate-of-large",
        (ingress(limit_rate="20", limit_rate_after="1"),),
        (Ask(),),
        answers={"web": {"": Answer(body="a" * 40_000)}},
    ),
)
