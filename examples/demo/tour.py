"""What to try while the demo runs: commands to paste, and what each one shows.

Each stop names what its answer must contain, so that a test can paste the
commands too.  The objects behind it are in ``examples/demo``.
"""

from attrs import frozen

WEBSOCKET_KEY = "dGhlIHNhbXBsZSBub25jZQ=="
"""The example key of RFC 6455 section 1.3; any 16 bytes would do."""


@frozen
class Ports:
    """The ports of 127.0.0.1 that the demo's controller listens on."""

    http: int = 8080
    https: int = 8443
    admin: int = 10254


@frozen
class Stop:
    """One thing to try: what it shows, the command, and what the output contains."""

    title: str
    command: str
    expected: tuple[str, ...]


def stops(ports: Ports, manifests: str) -> tuple[Stop, ...]:
    """All stops of the tour; *manifests* is the demo's directory as seen from here."""
    http = f"http://127.0.0.1:{ports.http}"
    secure = f"secure.demo.localhost:{ports.https}"
    return (
        Stop(
            "A host. Try it again: two endpoints take turns, shop-1 and shop-2.",
            f"curl -H 'Host: shop.demo.localhost' {http}/",
            ("name: shop-", "Host: shop.demo.localhost", "X-Forwarded-For: 127.0.0.1"),
        ),
        Stop(
            "A path of that host: Prefix /cart. The path is forwarded as it is.",
            f"curl -H 'Host: shop.demo.localhost' {http}/cart/1",
            ("name: cart-1", "GET /cart/1 HTTP/1.1"),
        ),
        Stop(
            "Exact beats Prefix: /cart/help goes back to the shop ...",
            f"curl -H 'Host: shop.demo.localhost' {http}/cart/help",
            ("name: shop-",),
        ),
        Stop(
            "... and Prefix compares whole elements: /cartoon is not below /cart.",
            f"curl -H 'Host: shop.demo.localhost' {http}/cartoon",
            ("name: shop-",),
        ),
        Stop(
            "A wildcard host: *.sites.demo.localhost.",
            f"curl -H 'Host: anna.sites.demo.localhost' {http}/",
            ("name: sites-1", "Host: anna.sites.demo.localhost"),
        ),
        Stop(
            "A host that no rule names: the default backend.",
            f"curl {http}/",
            ("name: welcome-1",),
        ),
        Stop(
            "A host with rules, but none for this path: 404.",
            f"curl -i -H 'Host: api.demo.localhost' {http}/v2",
            ("HTTP/1.1 404 Not Found",),
        ),
        Stop(
            "A host with a certificate: plain HTTP is redirected ...",
            f"curl -i -H 'Host: secure.demo.localhost' '{http}/basket?id=7'",
            ("HTTP/1.1 308 Permanent Redirect", f"https://{secure}/basket?id=7"),
        ),
        Stop(
            "... to HTTPS, which the demo's authority vouches for.",
            f"curl --cacert {manifests}/ca.crt --resolve {secure}:127.0.0.1 'https://{secure}/basket?id=7'",
            ("name: shop-", "GET /basket?id=7 HTTP/1.1", "X-Forwarded-Proto: https"),
        ),
        Stop(
            "The same certificate, and an annotation that turns the redirect off.",
            f"curl -H 'Host: both.demo.localhost' {http}/",
            ("name: shop-", "X-Forwarded-Proto: http"),
        ),
        Stop(
            "A WebSocket: 101, then a tunnel to the backend's echo (curl cannot talk to it; two seconds suffice).",
            "curl -i -N --http1.1 --max-time 2 -H 'Host: shop.demo.localhost' -H 'Connection: Upgrade' "
            f"-H 'Upgrade: websocket' -H 'Sec-WebSocket-Version: 13' -H 'Sec-WebSocket-Key: {WEBSOCKET_KEY}' {http}/",
            ("HTTP/1.1 101 Switching Protocols", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="),
        ),
        Stop(
            "The Gateway API on the same port: an HTTPRoute ...",
            f"curl -H 'Host: preview.demo.localhost' {http}/",
            ("name: shop-", "Host: preview.demo.localhost"),
        ),
        Stop(
            "... whose other backend a field of the request chooses, and a filter tells of it.",
            f"curl -H 'Host: preview.demo.localhost' -H 'X-Version: next' {http}/",
            ("name: cart-1", "X-Preview: yes"),
        ),
        Stop(
            "A redirect of a part of its paths.",
            f"curl -i -H 'Host: preview.demo.localhost' {http}/old/hat",
            ("HTTP/1.1 301 Moved Permanently", "/new/hat"),
        ),
        Stop(
            "What the controller made of the objects.",
            f"curl http://127.0.0.1:{ports.admin}/api/v1/routes",
            ("shop.demo.localhost", "*.sites.demo.localhost"),
        ),
        Stop(
            "What is wrong with them: nothing yet.",
            f"curl http://127.0.0.1:{ports.admin}/api/v1/problems",
            (),
        ),
    )


def tour(ports: Ports, manifests: str) -> str:
    """The text to print when the controller is ready."""
    shown = "\n".join(f"# {stop.title}\n{stop.command}\n" for stop in stops(ports, manifests))
    return f"""
Look at what happens:  http://127.0.0.1:{ports.admin}/

The controller serves http://127.0.0.1:{ports.http} and https://127.0.0.1:{ports.https}. In another terminal, here:

{shown}
# Now edit {manifests}/*.yaml and ask again: a change is served within a second.
# A mistake is shown at /api/v1/problems and spoils nothing else. Ctrl-C stops everything.

"""
