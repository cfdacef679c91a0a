"""The controller as a process without the right to read Secrets: it does not become ready, and takes nobody's place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tests.end_to_end.cluster.test_watch_process import HOST, WatchProcessCase, ingress_to
from tests.end_to_end.end_to_end_case import NO_ANSWER, PATIENCE
from tests.fakes.apiserver.access import Grant, grants_from_manifests
from tests.fakes.certificates import Authority, issue, make_authority
from tests.fakes.objects import ingress_object, secret_object, service_object, slice_object
from tests.fakes.processes import ControllerProcess

K8S = Path(__file__).resolve().parents[3] / "k8s"
ACCOUNT = ("txingress", "txingress")

SOON = 35.0
"""Seconds within which a right that was granted counts, by the documents half a minute."""


def shipped(*, secrets: bool) -> tuple[Grant, ...]:
    """The grants of the ClusterRole that ships with the program, with or without those to Secrets."""
    objects = list(yaml.safe_load_all((K8S / "base" / "rbac.yaml").read_text("utf-8")))
    for one in objects:
        if one["kind"] == "ClusterRole" and not secrets:
            one["rules"] = [rule for rule in one["rules"] if "secrets" not in rule["resources"]]
    return grants_from_manifests(objects, *ACCOUNT)


class RightsCase(WatchProcessCase):
    """An API server with rights, and one application over HTTPS."""

    def grant(self, grants: tuple[Grant, ...]) -> None:
        self.server.access.tokens = {str(self.server.token): grants}

    def create(self, *secrets: str, secret_type: str = "kubernetes.io/tls") -> Authority:
        """Make an application that is served over HTTPS with each of these Secrets; return who signed."""
        authority = make_authority()
        app = self.upstream(b"hello")
        self.server.create(service_object("app"))
        self.server.create(slice_object("app", app.endpoint))
        for number, name in enumerate(secrets):
            host = HOST if not number else f"{name}.test"
            raw = ingress_to("app", f"app-{name}", host)
            raw["spec"]["tls"] = [{"hosts": [host], "secretName": name}]
            self.server.create(raw)
            secret = secret_object(name, *issue(authority, [host]))
            secret["type"] = secret_type
            self.server.create(secret)
        return authority

    async def until_missing(self, controller: ControllerProcess, words: bytes) -> None:
        """Wait until the controller says what right is missing; it has no listeners then."""
        missing = b""
        deadline = self.reactor.seconds() + PATIENCE
        while words not in missing:
            self.assertLess(self.reactor.seconds(), deadline, (missing, controller.output))
            status, missing = await self.get(self.admin, "/readyz")
            self.assertIn(status, (503, NO_ANSWER))
            await self.turn(0.05)
        for port in (self.http, self.https):
            self.assertEqual((await self.get(port))[0], NO_ANSWER)

    async def until_ready_soon(self, controller: ControllerProcess) -> None:
        began = self.reactor.seconds()
        await self.until_ready(controller)
        self.assertLess(self.reactor.seconds() - began, SOON)


class ClusterRoleTests(RightsCase):
    """A ClusterRole that comes late."""

    async def test_late_role(self) -> None:
        """A replica without the right to Secrets opens no port and names the right; granted, it serves the certificate."""
        self.grant(shipped(secrets=False))
        authority = self.create("cert")
        controller = self.start_watching()
        await self.until_missing(
            controller,
            b"Secret: no right to list and watch secrets in all namespaces, "
            b"and none to get secrets in namespace shop (cert)\n",
        )
        await self.until(
            lambda: b"Not ready. Secret: no right to list and watch secrets" in controller.output
        )
        self.grant(shipped(secrets=True))
        await self.until_ready_soon(controller)
        self.assertEqual(await self.get(self.https, trust=authority), (200, b"hello"))
        self.assertEqual((await self.get(self.http))[0], 308)
        await self.end(controller)

    async def test_late_role_for_names(self) -> None:
        """The same where each Secret is read by its name."""
        self.grant(shipped(secrets=False))
        authority = self.create("cert", "more")
        controller = self.start_watching("--secret-mode=get")
        await self.until_missing(
            controller, b"Secret: no right to get secrets in namespace shop (cert, more)\n"
        )
        self.grant(shipped(secrets=True))
        await self.until_ready_soon(controller)
        self.assertEqual(await self.get(self.https, trust=authority), (200, b"hello"))
        self.assertNotIn(b"SecretForbidden", controller.output)
        await self.end(controller)

    async def test_nothing_to_wait_for(self) -> None:
        """Where no Ingress names a Secret, the right to them is not waited for."""
        self.grant(shipped(secrets=False))
        app = self.upstream(b"hello")
        for one in (ingress_object("app", HOST), service_object("app"), slice_object("app", app.endpoint)):
            self.server.create(one)
        controller = self.start_watching()
        await self.until_ready(controller)
        self.assertEqual(await self.get(self.http), (200, b"hello"))
        await self.end(controller)

    async def test_one_forbidden(self) -> None:
        """Of Secrets that are read by name, one that is forbidden is a problem, and all others are served."""
        named = Grant(
            {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"], "resourceNames": ["cert"]}
        )
        self.grant((*shipped(secrets=False), named))
        authority = self.create("cert", "more")
        controller = self.start_watching("--secret-mode=get", "--election-namespace=txingress")
        await self.until_ready(controller)
        self.assertEqual(await self.get(self.https, trust=authority), (200, b"hello"))
        shown = (await self.get(self.admin, "/api/problems"))[1]
        self.assertIn(b"no right to get secrets in namespace shop", shown)
        self.assertNotIn(b"SecretNotFound", shown)
        metrics = (await self.get(self.admin, "/metrics"))[1]
        self.assertIn(b'ingress_problems{reason="SecretForbidden"} 2.0', metrics)
        # The tenant learns of the Ingress, and the operator alone of the right.

        def events() -> list[dict[str, Any]]:
            return [one for one in self.server.list("Event") if one["reason"] == "SecretForbidden"]

        await self.until(events)
        (event,) = events()
        self.assertEqual(event["regarding"]["kind"], "Ingress")
        await self.end(controller)

    async def test_right_taken_away(self) -> None:
        """Without a right that there was at the start, what is known is served on, and new Ingresses, too."""
        self.grant(shipped(secrets=True))
        authority = self.create("cert")
        for mode in ("watch", "get"):
            controller = self.start_watching(f"--secret-mode={mode}")
            await self.until_ready(controller)
            self.grant(shipped(secrets=False))
            self.server.close_watches()
            self.server.apply(ingress_to("app", f"new-{mode}", f"{mode}.test"))
            await self.until_answer(b"hello", f"{mode}.test")
            self.assertEqual(await self.get(self.https, trust=authority), (200, b"hello"))
            self.assertEqual((await self.get(self.admin, "/readyz"))[0], 200)
            await self.end(controller)
            self.grant(shipped(secrets=True))

    async def until_answer(self, body: bytes, host: str) -> None:
        deadline = self.reactor.seconds() + PATIENCE
        while (answer := await self.get(self.http, host=host)) != (200, body):
            self.assertLess(self.reactor.seconds(), deadline, answer)
            await self.turn(0.05)


class RoleTests(RightsCase):
    """Roles in namespaces."""

    async def test_one_namespace_late(self) -> None:
        """With ``--namespace``, a namespace without the right is named, and waited for by itself."""

        def grants(namespace: str, *resources: str) -> Grant:
            return Grant(
                {"apiGroups": ["*"], "resources": resources, "verbs": ["get", "list", "watch"]}, namespace
            )

        kinds = ("ingresses", "services", "endpointslices")
        other = (grants("blog", *kinds, "secrets"), grants("shop", *kinds))
        self.grant(other)
        authority = self.create("cert")
        controller = self.start_watching("--namespace=shop", "--namespace=blog")
        await self.until_missing(
            controller,
            b"Secret: no right to list and watch secrets in namespace shop, "
            b"and none to get secrets in namespace shop (cert)\n",
        )
        self.grant((*other, grants("shop", "secrets")))
        await self.until_ready_soon(controller)
        self.assertEqual(await self.get(self.https, trust=authority), (200, b"hello"))
        await self.end(controller)
