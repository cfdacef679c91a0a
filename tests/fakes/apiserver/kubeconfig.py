"""Writes kubeconfig files that lead to the tests' API server."""

from __future__ import annotations

import base64
from typing import Any

import yaml


def kubeconfig(url: str, authority_pem: bytes | None, token: str | None) -> str:
    """Return a kubeconfig with one context, named ``tests``."""
    cluster: dict[str, Any] = {"server": url}
    if authority_pem is not None:
        cluster["certificate-authority-data"] = base64.b64encode(authority_pem).decode()
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "tests",
            "clusters": [{"name": "tests", "cluster": cluster}],
            "contexts": [{"name": "tests", "context": {"cluster": "tests", "user": "tests"}}],
            "users": [{"name": "tests", "user": {} if token is None else {"token": token}}],
        },
        sort_keys=False,
    )
