"""
The tests' API server as a process.

Prints one line with its URL when it listens, and stops with status 0 on SIGTERM
or SIGINT. Objects come from ``--load`` and over HTTP.
"""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path
from typing import Any

import yaml
from twisted.internet.defer import Deferred
from twisted.internet.task import react

from tests.fakes.apiserver.server import DEFAULT_TOKEN, ApiServer, load_all


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fakes.apiserver", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="TCP port of 127.0.0.1; 0 picks a free one")
    parser.add_argument("--kubeconfig-out", type=Path, help="file to write a kubeconfig to")
    parser.add_argument("--tls", action="store_true", help="serve HTTPS with a certificate made at start")
    parser.add_argument("--token", default=DEFAULT_TOKEN, help="the bearer token; empty asks for none")
    parser.add_argument(
        "--load", type=Path, action="append", default=[], help="YAML file of objects to serve"
    )
    parser.add_argument("--no-streaming-list", action="store_true", help="answer sendInitialEvents with 422")
    parser.add_argument("--bookmark-seconds", type=float, default=60.0, help="seconds between bookmarks")
    return parser.parse_args()


async def _run(reactor: Any, arguments: argparse.Namespace) -> None:
    stopped: Deferred[None] = Deferred()

    def stop(*_: object) -> None:
        reactor.callFromThread(lambda: None if stopped.called else stopped.callback(None))

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    server = ApiServer(reactor, tls=arguments.tls, token=arguments.token or None)
    server.streaming_list = not arguments.no_streaming_list
    server.bookmark_seconds = arguments.bookmark_seconds
    for path in arguments.load:
        with path.open(encoding="utf-8") as file:
            load_all(server, yaml.safe_load_all(file))
    await server.listen(arguments.port)
    if arguments.kubeconfig_out is not None:
        server.write_kubeconfig(arguments.kubeconfig_out)
    sys.stdout.write(f"{server.url}\n")
    sys.stdout.flush()
    await stopped
    await server.stop()


if __name__ == "__main__":
    known = _arguments()
    react(lambda reactor: Deferred.fromCoroutine(_run(reactor, known)))
