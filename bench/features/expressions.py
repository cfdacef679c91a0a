"""What regular expressions of paths cost: ``make bench-expressions`` prints it, in microseconds of this thread.

Lookups are those of hosts with a few and with many expressions, and of the worst that a tenant may write; a rewrite is what
its filter adds; a decision is the one step of translation that a host is.  The least of several batches is shown.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from time import thread_time
from typing import Final

from attrs import frozen

from ingress.annotations.requests.rewrite_targets import Rewriting, parse_rewrite_target
from ingress.model.cluster.objects import Kind, ObjectKey
from ingress.model.cluster.state import ClusterState
from ingress.model.requests.client_authentication import ClientEvidence
from ingress.model.text.lookup_budget import MAX_WORK
from ingress.model.text.path_expressions import Capturing, read_path_expression
from ingress.routing.expression_routes import PathTooLong
from ingress.routing.table import RouteTable
from ingress.translate.incremental import Translation
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.objects import (
    Ingress,
    IngressBackend,
    IngressPath,
    IngressRule,
    ServicePortReference,
)

HOST: Final = "a.test"
_BATCHES: Final = 5


def least(call: Callable[[], object], times: int) -> float:
    """Return the microseconds of one call."""
    found = []
    for _ in range(_BATCHES):
        began = thread_time()
        for _ in range(times):
            call()
        found.append((thread_time() - began) / times)
    return min(found) * 1e6


def ingress_of(paths: list[str], *, asks: bool = True) -> Ingress:
    """Return an Ingress of these paths."""
    backend = IngressBackend("web", ServicePortReference("", 80))
    annotations = {f"{TranslateOptions().annotations_prefix}/use-regex": "true"} if asks else {}
    rule = IngressRule(HOST, tuple(IngressPath(path, "ImplementationSpecific", backend) for path in paths))
    return Ingress(ObjectKey("demo", "web"), class_name="nginx", annotations=annotations, rules=(rule,))


def translated(one: Ingress) -> tuple[RouteTable, float]:
    """Return the table of *one*, and the milliseconds of the longest step that it took."""
    state = ClusterState({Kind.INGRESS: {one.key: one}})
    translation = Translation(TranslateOptions())
    translation.mark_everything(state)
    longest, began = 0.0, thread_time()
    for _ in translation.round(state, datetime.now(UTC)):
        longest, began = max(longest, thread_time() - began), thread_time()
    longest = max(longest, thread_time() - began)
    assert translation.snapshot is not None
    return translation.snapshot.table, longest * 1e3


def show_lookup(what: str, paths: list[str], path: bytes, times: int = 2000, *, asks: bool = True) -> None:
    """Print what it costs to find the route of *path* on a host of *paths*."""
    table, longest = translated(ingress_of(paths, asks=asks))

    def find() -> None:
        try:
            table.find(HOST.encode(), path)
        except PathTooLong:
            pass

    find()
    print(f"  {what:<58} {least(find, times):9.2f} us   {longest:6.2f} ms")


def show_rewrite(path: str, target: str, asked: bytes) -> None:
    """Print what it costs to make the target of a request."""
    read = parse_rewrite_target(target)
    capturing, rewriting = Capturing(read_path_expression(path), read.captures), Rewriting(read)
    facts = Asked(asked)
    took = least(lambda: rewriting.target(facts, capturing.captured(asked) or {}), 2000)
    print(f"  {path + ' to ' + target:<58} {took:9.2f} us")


@frozen
class Asked:
    """The facts of a request, as far as targets are made of them."""

    path: bytes
    id: bytes = b""
    scheme: bytes = b"http"
    host: bytes = b"a.test"
    authority: bytes = b"a.test"
    public_host: bytes = b"a.test"
    method: bytes = b"GET"
    client: bytes = b"192.0.2.1"
    forwarded_for: bytes = b"192.0.2.1"
    client_port: int = 50123
    server_address: bytes = b"192.0.2.1"
    protocol: bytes = b"HTTP/1.1"
    now: float = 0.0
    hostname: bytes = b""
    upgrade: bytes = b""
    content_length: bytes = b""
    port: int = 80
    client_evidence: ClientEvidence | None = None

    @property
    def target(self) -> bytes:
        """The path, with a query."""
        return self.path + b"?a=b"

    def field(self, name: bytes) -> bytes:
        """Return nothing."""
        return b""


def main() -> None:
    """Print all of it."""
    worst = "/" + "(.*[ab])" * 30 + ".*a" * 300 + "x"
    size = read_path_expression(worst).size
    text = (b"ab" * 5000)[: MAX_WORK // size - 1]
    print("A lookup, and the longest step of the translation of its host:")
    show_lookup("no expression, 2 paths", ["/", "/api"], b"/api/users", asks=False)
    show_lookup("1 expression", ["/api(/|$)(.*)"], b"/api/users")
    show_lookup(
        "20 expressions that begin alike, the last one takes it",
        [f"/[a-z]+/{n:02}x" for n in range(20)] + ["/(.*)"],
        b"/api/users",
    )
    show_lookup(
        "1,000 expressions that begin differently",
        [f"/app{n:04}(/|$)(.*)" for n in range(1000)],
        b"/app0500/x",
    )
    show_lookup(
        "1,000 expressions that begin alike, none takes it",
        [f"/[a-z]+/{n:04}x" for n in range(1000)],
        b"/api/users",
        50,
    )
    show_lookup(f"the worst expression, {size} steps, of {len(text):,} bytes", [worst], b"/" + text, 3)
    show_lookup("200 of these", [f"{worst}{n}" for n in range(200)], b"/" + text[:100], 3)
    print("A target:")
    show_rewrite("/api(/|$)(.*)", "/$2", b"/api/users/17")
    show_rewrite("/api", "/", b"/api/users/17")
    show_rewrite("/(.*)", "/new/$1", b"/" + "é".encode() * 20)


if __name__ == "__main__":
    main()
