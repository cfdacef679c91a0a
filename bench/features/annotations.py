"""What annotations cost a GET: ``make bench-annotations`` prints it, in calls and beside a route that has none.

One controller serves all routes, whose requests take turns in batches, so that whatever else the machine does is the same for
all.  Times are what the reactor's thread needs of the processor; of each route the least of several batches counts.
"""

import socket
from collections.abc import Mapping
from threading import Thread
from types import MappingProxyType
from typing import Any, Final

from attrs import field, frozen

from bench.features.filters import answer_gets, thread_time_of
from bench.requests.calls import Conversation, Http1Peer, Measured, measure_here, run_here
from bench.setup.own_process import forked_processes, fresh_process
from bench.setup.processes import HOST

REQUESTS = 300
BATCHES = 40
CALL_ROUNDS = 9
_BODY = b"<h1>One of the pages that a shop has</h1>\n"
_ORIGIN = b"https://page.bench.test"
_TWO_FIELDS = 'more_set_headers "X-Frame-Options: DENY" "X-Content-Type-Options: nosniff";'
_LISTED = {"enable-cors": "true", "cors-allow-origin": "https://a.bench.test, https://*.bench.test"}


@frozen
class Route:
    """A route with annotations, by name without prefix."""

    title: str
    annotations: Mapping[str, str] = field(factory=dict)

    @property
    def manifest(self) -> str:
        """Its Ingress, for the Service that all have."""
        annotations = "".join(
            f"    nginx.ingress.kubernetes.io/{name}: '{value}'\n" for name, value in self.annotations.items()
        )
        return f"""
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: {self.name}
  namespace: bench
  annotations:
    kubernetes.io/ingress.class: nginx
{annotations}spec:
  rules:
  - host: {self.name}.bench.test
    http: {{paths: [{{path: /, pathType: Prefix, backend: {{service: {{name: one, port: {{number: 80}}}}}}}}]}}
"""

    @property
    def name(self) -> str:
        """That of its Ingress, and of its host."""
        return self.title.replace(" ", "-").replace(",", "").lower()


PLAIN: Final = Route("plain")
CORS_AND_HEADERS: Final = Route(
    "CORS and two headers", {"enable-cors": "true", "configuration-snippet": _TWO_FIELDS}
)
LISTED_AND_HEADERS: Final = Route(
    "CORS of a list and two headers", {**_LISTED, "configuration-snippet": _TWO_FIELDS}
)
ROUTES: Final = MappingProxyType(
    {
        route.name: route
        for route in (
            PLAIN,
            Route("CORS", {"enable-cors": "true"}),
            CORS_AND_HEADERS,
            Route("CORS of a list", _LISTED),
            LISTED_AND_HEADERS,
            Route("another host", {"upstream-vhost": "$service_name.$namespace.svc"}),
            Route("a rate limit", {"limit-rps": "1000000"}),
        )
    }
)
"""By name."""
MANIFESTS: Final = "---".join(
    (
        "\napiVersion: v1\nkind: Service\nmetadata: {name: one, namespace: bench}\nspec: {ports: [{port: 80}]}\n",
        *(route.manifest for route in ROUTES.values()),
    )
)


def request_of(route: Route) -> bytes:
    """Return the GET of a browser for a page of another origin."""
    host = f"{route.name}.bench.test".encode()
    return b"GET / HTTP/1.1\r\nHost: %b\r\nAccept: */*\r\nOrigin: %b\r\n\r\n" % (host, _ORIGIN)


def count_here(names: list[str]) -> list[Measured]:
    """Count the calls of a GET of these routes, in this process."""
    conversations = [Conversation(name, over_http2=False, request=request_of(ROUTES[name])) for name in names]
    return measure_here(conversations, CALL_ROUNDS, (), MANIFESTS)


def count(*routes: Route) -> list[Measured]:
    """Count the calls of a GET of each route, in a process of its own."""
    with forked_processes() as pool:
        return pool.submit(count_here, [route.name for route in routes]).result()


def time_here() -> dict[str, float]:
    """Return how many microseconds a GET of each route takes of the processor, in this process."""

    def drive(reactor: Any, port: int, endpoints: tuple[socket.socket, socket.socket]) -> dict[str, float]:
        Thread(target=answer_gets, args=endpoints[:1], daemon=True).start()
        clients = {
            name: Http1Peer(socket.create_connection((HOST, port), 10), request_of(route), _BODY)
            for name, route in ROUTES.items()
        }
        least: dict[str, float] = {}
        for _ in range(BATCHES):
            for name, client in clients.items():
                before = thread_time_of(reactor)
                for _ in range(REQUESTS):
                    client.say()
                    client.hear()
                taken = (thread_time_of(reactor) - before) / REQUESTS * 1e6
                least[name] = min(least.get(name, taken), taken)
        return least

    return run_here(["--keep-alive-requests=1000000000"], drive, MANIFESTS)


def table(counted: list[Measured], times: dict[str, float]) -> str:
    """Return all of it as lines, each beside the plain route."""
    lines = [f"{'':34}{'calls in':>9}{'out':>5}{'µs':>8}{'of plain':>10}"]
    for measured in counted:
        name, figures = measured.conversation.title, measured.figures()
        times_plain = times[name] / times[PLAIN.name]
        lines.append(
            f"{ROUTES[name].title:34}{figures['in']:9}{figures['out']:5}{times[name]:8.1f}{times_plain:9.2f} x"
        )
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    with fresh_process() as pool:
        times = pool.submit(time_here).result()
    print(table(count(*ROUTES.values()), times))


if __name__ == "__main__":
    main()
