"""What keys are agreed on by, of the whole controller as a process: with visitors and with endpoints."""

from __future__ import annotations

import signal

from twisted.trial.unittest import SkipTest

from ingress.tls.profile import GROUPS, known_groups
from tests.end_to_end.end_to_end_case import EndToEndCase
from tests.fakes.certificates import issue, make_authority
from tests.fakes.objects import ingress_object, secret_object, service_object, slice_object
from tests.fakes.peers.tls_upstreams import TlsUpstream

HOST = "shop.test"


class GroupsTests(EndToEndCase):
    """A host with a certificate, and an endpoint that speaks TLS."""

    def setUp(self) -> None:
        super().setUp()
        self.authority = make_authority()
        self.app = TlsUpstream(self.reactor, issue(self.authority, ["app.internal"]))
        endpoint = self.app.listen()
        self.addCleanup(self.app.stop)
        ingress = ingress_object("app", HOST, "cert")
        ingress["metadata"]["annotations"] = {"nginx.ingress.kubernetes.io/backend-protocol": "HTTPS"}
        self.write(
            "all",
            ingress,
            service_object("app"),
            slice_object("app", endpoint),
            secret_object("cert", *issue(self.authority, [HOST])),
        )

    async def agreed(self, *options: str) -> tuple[str | None, str | None]:
        """Return what a visitor agrees on with the controller, and that with the endpoint; all is well otherwise."""
        self.controller = controller = self.start_with_manifests(*options)
        await self.until_ready(controller)
        client = await self.connect(self.https, HOST, self.authority)
        client.get(host=HOST.encode())
        await client.answer()
        self.assertEqual((client.answers[0].status, client.answers[0].body), (200, b"ok"))
        group = client.transport.getHandle().get_group_name()
        await self.disconnect()
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)
        return group, self.app.groups[-1]

    async def test_default(self) -> None:
        """Both agree on X25519MLKEM768, on either network."""
        if b"MLKEM" not in known_groups(GROUPS):
            raise SkipTest("this OpenSSL has no ML-KEM")
        for options in ((), ("--no-epoll",)):
            self.assertEqual(await self.agreed(*options), ("X25519MLKEM768", "X25519MLKEM768"))

    async def test_option(self) -> None:
        """The operator's list holds on both sides."""
        self.assertEqual(await self.agreed("--tls-groups=secp384r1:P-521"), ("secp384r1", "secp384r1"))

    async def test_nothing_known(self) -> None:
        """A list that is wrong ends the start in one line, which names what there is."""
        controller = self.start_with_manifests("--tls-groups=X25519:ffdhe2048")
        self.assertEqual(await self.end_of(controller), 1)
        self.assertIn(b"'ffdhe2048' is none of X25519MLKEM768, ", controller.errors)
        self.assertEqual(controller.errors.count(b"\n"), 1)
        self.assertNotIn(b"Traceback", controller.errors)
