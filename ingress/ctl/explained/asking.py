"""Explanations asked of a running controller, at its admin port."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlencode

from ingress.ctl.admin_port import AdminPort
from ingress.ctl.errors import Mistake
from ingress.ctl.terminal import printable

PAGE: Final = "/api/v1/explain"
_BACKEND: Final = frozenset(("backend", "kind", "namespace", "name", "port"))


def ask_controller(
    port: AdminPort, url: str, method: str, headers: Sequence[str], client: str
) -> dict[str, Any]:
    """Return what the controller at *port* says; raises ``Mistake``."""
    query = [("url", url), ("method", method), ("client", client), *(("header", one) for one in headers)]
    status, body = port.get(f"{PAGE}?{urlencode(query)}")
    try:
        data = json.loads(body)
    except ValueError:
        data = None
    if status == 400 and isinstance(data, dict) and isinstance(data.get("error"), str):
        raise Mistake(printable(data["error"]))
    port.refuse(status, PAGE)
    if status != 200 or not isinstance(data, dict) or not _is_explanation(data):
        raise Mistake(f"{port.name} answers {status}, and no explanation")
    return data


def _is_explanation(data: Mapping[str, Any]) -> bool:
    """Whether *data* has what is looked at beside the text."""
    outcome, backends = data.get("outcome"), data.get("backends")
    return (
        isinstance(outcome, dict)
        and isinstance(outcome.get("isTaken"), bool)
        and {"end", "status", "sentence"} <= outcome.keys()
        and isinstance(backends, list)
        and all(isinstance(one, dict) and _is_backend(one) for one in backends)
    )


def _is_backend(data: Mapping[str, Any]) -> bool:
    return all(isinstance(data.get(name), str) for name in _BACKEND)
