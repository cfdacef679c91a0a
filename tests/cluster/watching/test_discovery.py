"""Tests of finding out by discovery which kinds there are, where definitions may not be read."""

from __future__ import annotations

import json
from typing import Any, cast

from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.api.api_client import ApiResponse
from ingress.cluster.watching.defined_kinds import Discovery
from ingress.errors import KubernetesError
from ingress.model.cluster.objects import Batch

ABSENT = KubernetesError(404, "NotFound", "no page")
AWAY = KubernetesError(503, "Unavailable", "busy")


class _Connection:
    """Answers each look with plurals, or an error."""

    def __init__(self) -> None:
        self.answer: tuple[str, ...] | KubernetesError = ()

    def get(self, path: str, query: list[tuple[str, str]]) -> ApiResponse:
        """Answer for *path*."""
        if isinstance(self.answer, KubernetesError):
            raise self.answer
        return cast("ApiResponse", self)

    def read_all(self) -> bytes:
        """Return the list."""
        assert not isinstance(self.answer, KubernetesError)
        return json.dumps({"resources": [{"name": name} for name in self.answer]}).encode()

    def close(self) -> None:
        """Nothing is open."""


class DiscoveryTests(SynchronousTestCase):
    """What is handed over."""

    def setUp(self) -> None:
        self.connection = _Connection()
        self.told: list[Batch] = []
        self.discovery = Discovery(self.connection, "v1", self.told.append)

    def look(self, answer: tuple[str, ...] | KubernetesError) -> dict[str, bool]:
        """Look once; return which kinds came, and which went."""
        self.connection.answer = answer
        self.told.clear()
        self.discovery.look()
        found: dict[Any, Any] = dict(self.told[0]) if self.told else {}
        return {key.name.partition(".")[0]: value is not None for (_, key), value in found.items()}

    def test_comes_and_goes(self) -> None:
        """A kind comes at once, and goes when several looks in a row say so."""
        self.assertEqual(self.look(("gateways", "httproutes")), {"gateways": True, "httproutes": True})
        self.assertEqual(self.look(("gateways",)), {})
        self.assertEqual(self.look(("gateways",)), {})
        self.assertEqual(self.look(("gateways",)), {"httproutes": False})
        self.assertEqual(self.look(("gateways", "httproutes")), {"httproutes": True})

    def test_page_in_between(self) -> None:
        """One answer of something in between takes nothing away; an API without the group does, after a while."""
        self.look(("gateways",))
        self.assertEqual(
            [self.look(one) for one in (ABSENT, ABSENT, ("gateways",), ABSENT, ABSENT)], [{}] * 5
        )
        self.assertEqual(self.look(ABSENT), {"gateways": False})

    def test_away(self) -> None:
        """An API server that does not answer says nothing of kinds."""
        self.look(("gateways",))
        self.assertEqual([self.look(AWAY) for _ in range(5)], [{}] * 5)
        self.assertEqual(self.look(()), {})
