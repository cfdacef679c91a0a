"""Explanations asked of a running controller, at its admin port."""

import json
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from ingress.ctl.errors import Mistake
from ingress.ctl.terminal import printable

PAGE: Final = "/api/v1/explain"
SECONDS: Final = 5.0
MAX_BYTES: Final = 4 * 1024 * 1024
_PIECE: Final = 64 * 1024
_BACKEND: Final = frozenset(("backend", "kind", "namespace", "name", "port"))


def ask_controller(admin: str, url: str, method: str, headers: Sequence[str], client: str) -> dict[str, Any]:
    """Return what the controller at *admin*, the URL of its admin port, says; raises ``Mistake``."""
    query = [("url", url), ("method", method), ("client", client), *(("header", one) for one in headers)]
    status, body = _get(f"{_base(admin)}{PAGE}?{urlencode(query)}", admin)
    try:
        data = json.loads(body)
    except ValueError:
        data = None
    if status == 400 and isinstance(data, dict) and isinstance(data.get("error"), str):
        raise Mistake(printable(data["error"]))
    if status == 404:
        raise Mistake(
            f"{admin} has no page {PAGE}; is that the admin port (--admin) of a txingress that explains?"
        )
    if status == 421:
        raise Mistake(
            f"{admin} is asked by a name that its controller does not know; use an IP address or localhost,"
            " or start the controller with --admin-host=NAME"
        )
    if status != 200 or not isinstance(data, dict) or not _is_explanation(data):
        raise Mistake(f"{admin} answers {status}, and no explanation")
    return data


def _is_explanation(data: Mapping[str, Any]) -> bool:
    """Whether *data* has what is looked at beside the text."""
    outcome, backends = data.get("outcome"), data.get("backends")
    return (
        isinstance(outcome, dict)
        and isinstance(outcome.get("isTaken"), bool)
        and {"end", "status", "sentence"} <= outcome.keys()
        and isinstance(backends, list)
        and all(isinstance(one, dict) and one.keys() >= _BACKEND for one in backends)
    )


def _base(admin: str) -> str:
    text = admin if "://" in admin else f"http://{admin}"
    try:
        parts = urlsplit(text)
        is_good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_good = False
    if not is_good or parts.query or parts.fragment or "@" in parts.netloc:
        raise Mistake(
            f"--admin {admin!r} is no address of an admin port; write it like http://127.0.0.1:10254"
        )
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def _get(url: str, admin: str) -> tuple[int, bytes]:
    from urllib3 import PoolManager, Timeout
    from urllib3.exceptions import HTTPError

    ends = monotonic() + SECONDS
    try:
        with PoolManager() as pool:
            answer = pool.request(
                "GET",
                url,
                timeout=Timeout(total=SECONDS),
                retries=False,
                redirect=False,
                preload_content=False,
            )
            body = b""
            while len(body) <= MAX_BYTES and (piece := answer.read1(_PIECE)):
                body += piece
                if monotonic() > ends:
                    raise Mistake(f"{admin} cannot be asked: its answer takes longer than {SECONDS:g} s")
            answer.release_conn()
    except HTTPError as error:
        raise Mistake(f"{admin} cannot be asked: {_why(error)}") from None
    if len(body) > MAX_BYTES:
        raise Mistake(f"{admin} answers with more than {MAX_BYTES} bytes, and no explanation")
    return answer.status, body


def _why(error: Exception) -> str:
    from urllib3.exceptions import NewConnectionError, TimeoutError

    if isinstance(error, NewConnectionError):
        return "no connection is made; is the admin port open there, or forwarded (kubectl port-forward)?"
    if isinstance(error, TimeoutError):
        return f"it does not answer within {SECONDS:g} s"
    return printable(f"{type(error).__name__}: {error}")
