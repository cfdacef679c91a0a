"""A real Prometheus as a process, which scrapes targets once a second and evaluates our rules as often."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import yaml
from twisted.internet.defer import Deferred
from twisted.internet.protocol import ProcessProtocol
from twisted.python.failure import Failure

from tests.monitoring.files import THEIR_NAMES, rules

LOOKED_BACK: Final = "10s"
"""What becomes of the hour that problems are compared over."""
_LONGEST: Final = {"3m": "10s", "5m": "10s", "10m": "15s", "15m": "20s", "2m": "10s", "1h": LOOKED_BACK}
"""What becomes of times in expressions, so that nobody has to wait for them."""
LASTING: Final = "3s"
"""How long things have to be so in place of ``for``."""
_BOUNDS: Final = {"TxingressWatchSilent": ("> 90", "> 8")}
"""Bounds in seconds of which nobody waits for the end."""
_DURATION: Final = re.compile(r"(?<=\[)\d+[mh](?=\])|(?<=offset )\d+[mh]")

Get = Callable[[int, str], Awaitable[bytes]]
"""Asks a port for a path."""


def hurried_rules() -> dict[str, Any]:
    """Return all rules with times of seconds in place of minutes and hours."""
    hurried = []
    for rule in rules():
        name = rule.get("alert", "")
        expression = _DURATION.sub(lambda found: _LONGEST[found[0]], rule["expr"])
        if name in _BOUNDS:
            before, after = _BOUNDS[name]
            assert before in expression
            expression = expression.replace(before, after)
        one = {**rule, "expr": expression}
        if "for" in rule:
            one["for"] = LASTING
        hurried.append(one)
    theirs = {"name": "ingress-nginx", "interval": "1s", "rules": [*rules(THEIR_NAMES)]}
    return {"groups": [{"name": "txingress", "interval": "1s", "rules": hurried}, theirs]}


def configuration(targets: Mapping[str, int]) -> dict[str, Any]:
    """Return what scrapes *targets*, ports of this machine by names of pods, as the PodMonitor has it done."""
    found = [
        {
            "targets": [f"127.0.0.1:{port}"],
            "labels": {"namespace": "txingress", "pod": pod, "container": "txingress", "endpoint": "probes"},
        }
        for pod, port in targets.items()
    ]
    job = {"job_name": "txingress", "honor_labels": True, "static_configs": found}
    return {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
        "rule_files": ["rules.yaml"],
        "scrape_configs": [job],
    }


class Prometheus(ProcessProtocol):
    """The process *program*, below *directory*, on *port* of the loopback address; *get* asks it."""

    def __init__(self, reactor: Any, program: str, directory: Path, port: int, get: Get) -> None:
        self.log = b""
        """What it wrote."""
        self._get = get
        self._port = port
        self._ended: Deferred[None] = Deferred()
        self._is_over = False
        self._directory = directory
        command = [
            program,
            f"--config.file={directory}/prometheus.yaml",
            f"--storage.tsdb.path={directory}/data",
            f"--web.listen-address=127.0.0.1:{port}",
            "--enable-feature=exemplar-storage",
        ]
        self._process = reactor.spawnProcess(self, program, command, env={}, path=str(directory))

    @classmethod
    def write_files(cls, directory: Path, targets: Mapping[str, int]) -> None:
        """Write what a process reads when it starts."""
        directory.mkdir()
        (directory / "prometheus.yaml").write_text(yaml.safe_dump(configuration(targets)), "utf-8")
        (directory / "rules.yaml").write_text(yaml.safe_dump(hurried_rules()), "utf-8")

    def outReceived(self, data: bytes) -> None:
        self.log += data

    def errReceived(self, data: bytes) -> None:
        self.log += data

    def processEnded(self, reason: Failure) -> None:
        self._is_over = True
        self._ended.callback(None)

    async def stop(self) -> None:
        """End it, and wait for that."""
        if not self._is_over:
            self._process.signalProcess(signal.SIGKILL)
        await self._ended

    async def is_ready(self) -> bool:
        """Whether it answers."""
        return await self._get(self._port, "/-/ready") != b""

    async def ask(self, what: str, **parameters: str) -> Any:
        """Return the data of an answer of its HTTP API."""
        query = f"?{urlencode(parameters)}" if parameters else ""
        answer = json.loads(await self._get(self._port, f"/api/v1/{what}{query}"))
        if answer["status"] != "success":
            raise AssertionError(answer)
        return answer["data"]

    async def query(self, expression: str) -> list[tuple[dict[str, str], float]]:
        """Return the labels and the value of each result of *expression*."""
        data = await self.ask("query", query=expression)
        return [(one["metric"], float(one["value"][1])) for one in data["result"]]

    async def alerts(self, *states: str) -> Sequence[dict[str, str]]:
        """Return the labels of all alerts that are in one of *states*."""
        data = await self.ask("alerts")
        return [one["labels"] for one in data["alerts"] if one["state"] in states]
