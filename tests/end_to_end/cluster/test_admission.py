"""The admission webhook of a whole controller: what it says beforehand is what the controller says afterwards."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from signal import SIGTERM
from typing import Any

from twisted.internet.defer import Deferred

from ingress.admission.review import warnings_of
from ingress.model.cluster.problems import Problem
from tests.admission.asking import UID, review
from tests.admission.secret_folder import SecretFolder
from tests.admission.site_case import response
from tests.end_to_end.end_to_end_case import EndToEndCase
from tests.end_to_end.takeover.takeover_case import TakeoverCase
from tests.end_to_end.tls.test_https import annotated
from tests.end_to_end.workers.workers_case import WorkersCase
from tests.fakes.apiserver.server import ApiServer
from tests.fakes.certificates import Authority, issue, make_authority
from tests.fakes.objects import NAMESPACE, ingress_object, service_object
from tests.fakes.processes import ControllerProcess, free_port

HOST = "txingress-admission.txingress.svc"
NO_SERVICE = f"there is no Service {NAMESPACE}/gone (ServiceNotFound)"


class AdmissionCase(EndToEndCase):
    """Has the files of a Secret, and a port for the webhook."""

    def setUp(self) -> None:
        super().setUp()
        self.port = free_port()
        self.secret = SecretFolder(self.directory / "secret")
        self.put = self.secret.swap
        self.authority = make_authority()

    @property
    def webhook(self) -> tuple[str, ...]:
        """The options of the webhook."""
        return (
            f"--admission=tcp:{self.port}:interface=127.0.0.1",
            f"--admission-certificate={self.secret.certificate}",
            f"--admission-key={self.secret.key}",
        )

    async def reviewed(self, raw: Any, trust: Authority | None = None, **more: Any) -> dict[str, Any]:
        """Return the response to a review of *raw*; nothing where there is no answer."""
        try:
            client = await self.connect(self.port, HOST, trust or self.authority)
        except Exception:
            return {}
        asked = {"name": "shop", "namespace": NAMESPACE, **more}
        body = json.dumps(review(raw, **asked)).encode()
        client.post(body, b"/?timeout=5s", b"Content-Type: application/json\r\n")
        await client.answer()
        if not client.answers:
            return {}
        return response(client.answers[-1].body)

    async def end(self, controller: ControllerProcess) -> None:
        """Have a controller stop, which it does at once."""
        controller.signal(SIGTERM)
        await self.stopped(controller)

    async def until_reviewed(self, raw: Any, trust: Authority) -> dict[str, Any]:
        """Ask until there is an answer from somebody whom *trust* vouches for."""
        found: dict[str, Any] = {}
        deadline = self.reactor.seconds() + 60
        while not found and self.reactor.seconds() < deadline:
            found = await self.reviewed(raw, trust)
            await self.turn(0.05)
        return found


class ClusterTests(AdmissionCase):
    """A controller that reads an API server."""

    async def setUp(self) -> None:  # type: ignore[override]
        """Start an API server with a Service."""
        super().setUp()
        self.server = ApiServer(self.reactor, tls=True)
        await self.server.listen()
        self.addCleanup(lambda: Deferred.fromCoroutine(self.server.stop()))
        self.kubeconfig = self.directory / "kubeconfig"
        self.server.write_kubeconfig(self.kubeconfig)
        self.server.create(service_object("app"))
        self.put(*issue(self.authority, [HOST]))

    async def start_webhook(self) -> ControllerProcess:
        """Start a controller, and wait until it is ready."""
        controller = self.start(f"--kubeconfig={self.kubeconfig}", "--shutdown-delay=0", *self.webhook)
        await self.until_ready(controller)
        return controller

    async def problems(self) -> list[str]:
        """Return the problems of the Ingress at the admin port, as warnings have them."""
        _, body = await self.get(self.admin, "/api/v1/problems")
        return [
            warning
            for one in json.loads(body)["problems"]
            if one["name"] == "shop" and one["reason"] != "AnnotationNote"
            for warning in warnings_of([Problem(**one)])
        ]

    async def test_before_and_after(self) -> None:
        """An Ingress is told beforehand what is its problem afterwards, and nothing of Secrets that nobody referred to."""
        controller = await self.start_webhook()
        raw = ingress_object("gone", "shop.test", "cert")
        raw["metadata"]["name"] = "shop"
        annotated(raw, proxy_read_timeout="60s", auth_type="basic", auth_secret="passwords")
        found = await self.reviewed(raw)
        self.assertTrue(found.pop("allowed"))
        self.assertEqual(found.pop("uid"), UID)
        warnings = found.pop("warnings")
        self.assertEqual(found, {})
        self.assertEqual(len(warnings), 2)
        self.assertIn("proxy-read-timeout", warnings[0])
        self.assertTrue(warnings[1].endswith(NO_SERVICE), warnings)
        # Neither was anything made of it, nor anything asked for.
        self.assertEqual(await self.problems(), [])
        self.assertEqual(self.server.requests_of("get", "secrets"), ())

        self.server.create(raw)
        await self.until_shown(b"passwords", "/api/v1/problems")
        after = await self.problems()
        self.assertLessEqual(set(warnings), set(after))
        self.assertEqual(len(after), 4)
        # What was looked for in vain is known to be missing.
        again = await self.reviewed(raw, operation="UPDATE")
        self.assertEqual(sorted(again["warnings"]), sorted(after))
        await self.end(controller)

    async def test_rotation(self) -> None:
        """A new pair is shown within a second or two, a broken one never; the log tells of it."""
        controller = await self.start_webhook()
        raw = ingress_object("shop", "shop.test")
        self.assertTrue((await self.reviewed(raw))["allowed"])
        chain, _ = issue(self.authority, [HOST])
        other = make_authority()
        self.put(chain, issue(other, [HOST])[1])
        await self.until(lambda: b"the last good ones stay in use" in controller.output or self.poke())
        self.assertTrue((await self.reviewed(raw))["allowed"])
        self.put(*issue(other, [HOST]))
        self.assertTrue((await self.until_reviewed(raw, other))["allowed"])
        self.assertEqual(await self.reviewed(raw), {})
        page = await self.until_shown(b"ingress_admission_reviews_total")
        self.assertIn(b'ingress_admission_reviews_total{outcome="warned"} 3.0', page)
        await self.end(controller)

    def poke(self) -> bool:
        """Connect, for the files to be looked at."""
        Deferred.fromCoroutine(self.reviewed(None)).addErrback(lambda _: None)
        return False


class ManifestTests(AdmissionCase):
    """What does not depend on where objects come from."""

    async def test_without_certificate(self) -> None:
        """A pair that is not there yet keeps nobody from being served; once it comes reviews are answered."""
        controller = self.start_with_manifests(*self.webhook)
        await self.until_ready(controller)
        self.assertIn(b"nobody can ask the webhook until they can", controller.output)
        raw = ingress_object("gone", "shop.test")
        self.assertEqual(await self.reviewed(raw), {})
        self.put(*issue(self.authority, [HOST]))
        found = await self.until_reviewed(raw, self.authority)
        self.assertEqual(len(found["warnings"]), 1)
        await self.end(controller)

    async def test_expired(self) -> None:
        """A certificate that has ended is told of without anybody asking: as a problem, in the log, and by the metric."""
        ended = datetime.now(UTC) - timedelta(hours=1)
        self.put(*issue(self.authority, [HOST], not_before=ended - timedelta(days=90), not_after=ended))
        controller = self.start_with_manifests(*self.webhook)
        await self.until_ready(controller)
        page = await self.until_shown(b"CertificateExpired", "/api/v1/problems")
        (problem,) = json.loads(page)["problems"]
        self.assertEqual((problem["kind"], problem["name"]), ("Process", "admission"))
        self.assertIn(f"{self.secret.certificate} ended at", problem["message"])
        self.assertIn(
            f"file {self.secret.certificate}, shown for {HOST}, ended at".encode(), controller.output
        )
        labels = f'host="{HOST}",key_type="ECDSA",namespace="",secret="{self.secret.certificate}"'
        self.assertIn(
            f"ingress_certificate_expiry_timestamp_seconds{{{labels}}}".encode(),
            await self.until_shown(b"ingress_certificate_expiry"),
        )
        await self.end(controller)

    async def test_needs_all(self) -> None:
        """The port, the certificate and the key are given together, or the start ends in one line."""
        for given in (self.webhook[:1], self.webhook[:2], self.webhook[1:]):
            controller = self.start_with_manifests(*given)
            self.assertEqual(await self.end_of(controller), 1)
            self.assertIn(b" needs --admission", controller.errors)


class WorkerTests(AdmissionCase, WorkersCase):
    """Several processes."""

    async def test_workers(self) -> None:
        """The parent, which knows all objects, answers."""
        self.put(*issue(self.authority, [HOST]))
        controller = self.start_workers(*self.webhook)
        await self.until_ready(controller)
        found = await self.reviewed(ingress_object("gone", "another.test"))
        self.assertEqual(len(found["warnings"]), 1)
        await self.end(controller)


class TakeoverTests(AdmissionCase, TakeoverCase):
    """One process after the other."""

    async def test_takeover(self) -> None:
        """The next process has the port of the one before, which answers until it has gone."""
        self.put(*issue(self.authority, [HOST]))
        old = await self.serving(*self.webhook, "--shutdown-delay=0")
        raw = ingress_object("gone", "another.test")
        self.assertTrue((await self.reviewed(raw))["warnings"])
        new = self.start_next(*self.options)
        await self.taken_over(old)
        self.assertTrue((await self.reviewed(raw))["warnings"])
        await self.end(new)
