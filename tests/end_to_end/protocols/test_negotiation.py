"""Which version of HTTP a client and the controller come to speak: the process by its options, curl as the client."""

from __future__ import annotations

import shutil

from twisted.internet.utils import getProcessOutputAndValue

from tests.end_to_end.end_to_end_case import EndToEndCase
from tests.fakes.certificates import issue, make_authority
from tests.fakes.objects import NAMESPACE, ingress_object, secret_object, service_object

HOST = "shop.test"
CURL = shutil.which("curl")

HTTP_1_1 = "--http1.1"
HTTP_2 = "--http2"
"""By agreement over TLS, else by an upgrade."""
PRIOR_KNOWLEDGE = "--http2-prior-knowledge"


class NegotiationTests(EndToEndCase):
    """Listeners of TLS, and plain ones."""

    if CURL is None:
        skip = "there is no curl"

    async def begin(self, *options: str) -> None:
        """Serve one host over TLS, and another one without."""
        authority = make_authority()
        self.trust = self.directory / "authority.pem"
        self.trust.write_bytes(authority.pem)
        app = self.upstream(b"app")
        self.write(
            "app",
            ingress_object("app", HOST, "cert"),
            ingress_object("plain", "plain.test"),
            service_object("app"),
            service_object("plain"),
            secret_object("cert", *issue(authority, [HOST])),
        )
        controller = self.start_with_manifests(
            f"--endpoint={NAMESPACE}/app={app.endpoint}",
            f"--endpoint={NAMESPACE}/plain={app.endpoint}",
            *options,
        )
        await self.until_ready(controller)

    async def version(self, how: str, secure: bool = True) -> str:
        """Return in which version of HTTP curl got its answer; empty where it got none."""
        host, port = (HOST, self.https) if secure else ("plain.test", self.http)
        url = f"{'https' if secure else 'http'}://{host}:{port}/"
        where = ("--cacert", str(self.trust), "--resolve", f"{host}:{port}:127.0.0.1")
        arguments = ("-s", "-m", "60", *where, "-w", " %{http_version}", how, url)
        out, _, _ = await getProcessOutputAndValue(CURL, arguments, env={})
        body, _, version = bytes(out).decode().partition(" ")
        return version if body == "app" else ""

    async def versions(self, *asked: tuple[str, bool]) -> list[str]:
        """Return the versions for each way to ask, over TLS or not."""
        return [await self.version(how, secure) for how, secure in asked]

    async def test_usual(self) -> None:
        """Over TLS both agree on HTTP/2 unless the client wants HTTP/1.1; without TLS there is no HTTP/2."""
        await self.begin()
        self.assertEqual(
            await self.versions((HTTP_2, True), (HTTP_1_1, True), (HTTP_2, False), (PRIOR_KNOWLEDGE, False)),
            ["2", "1.1", "1.1", ""],
        )

    async def test_off(self) -> None:
        """With ``--no-http2`` there is none at all."""
        await self.begin("--no-http2")
        self.assertEqual(await self.versions((HTTP_2, True), (PRIOR_KNOWLEDGE, False)), ["1.1", ""])

    async def test_prior_knowledge(self) -> None:
        """With ``--http2-prior-knowledge`` clients without TLS may begin with it; an upgrade is not honored."""
        for options in ((), ("--no-epoll",)):
            await self.begin("--http2-prior-knowledge", *options)
            self.assertEqual(
                await self.versions(
                    (PRIOR_KNOWLEDGE, False), (HTTP_2, False), (HTTP_1_1, False), (HTTP_2, True)
                ),
                ["2", "1.1", "1.1", "2"],
                options,
            )
