"""The whole controller as a process: certificates that end or are missing, and whose a host is."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from attrs import frozen
from cryptography.x509.oid import ExtensionOID
from twisted.internet.endpoints import TCP4ClientEndpoint, connectProtocol, wrapClientTLS

from tests.end_to_end.end_to_end_case import PATIENCE, EndToEndCase
from tests.fakes.certificates import issue, make_authority
from tests.fakes.objects import ingress_object, secret_object, service_object, slice_object
from tests.fakes.peers.downstreams import DownstreamWire
from tests.fakes.peers.tls_clients import TLSClient

HOST = "bank.example.com"
OLD, MIDDLE, YOUNG = "2021-01-01T00:00:00Z", "2021-07-01T00:00:00Z", "2022-01-01T00:00:00Z"


@frozen
class Visit:
    """What a visitor meets at one host: over plain HTTP, and over TLS."""

    plain: int
    shown: frozenset[str]
    """The names that the certificate is for."""
    status: int
    insists: bool


def of(namespace: str, created: str, manifest: dict[str, Any]) -> dict[str, Any]:
    """Put an object into a namespace, and date it."""
    manifest["metadata"] |= {"namespace": namespace, "creationTimestamp": created}
    return manifest


class HostsCase(EndToEndCase):
    """A bank, whose objects are manifests."""

    def setUp(self) -> None:
        super().setUp()
        self.authority = make_authority()
        app = self.upstream(b"bank")
        self.write(
            "bank",
            of("bank", OLD, service_object("app")),
            of("bank", OLD, slice_object("app", app.endpoint)),
        )

    def write_secret(self, namespace: str, name: str, *hosts: str, **validity: datetime) -> None:
        """Write a Secret with a new certificate for *hosts*."""
        pair = issue(self.authority, hosts, **validity)  # type: ignore[arg-type]
        self.write(f"{namespace}-{name}", of(namespace, OLD, secret_object(name, *pair)))

    async def visit(self, host: str = HOST, path: str = "/") -> Visit:
        """Ask for a host over plain HTTP and over TLS, whatever the certificate."""
        plain, _ = await self.get(self.http, path, host)
        client = TLSClient().to(host.encode())
        wire = DownstreamWire()
        endpoint = TCP4ClientEndpoint(self.reactor, "127.0.0.1", self.https)
        await connectProtocol(wrapClientTLS(client, endpoint), wire)
        self.clients.append(wire)
        wire.get(path.encode(), host.encode(), b"Connection: close\r\n")
        await wire.answer().addTimeout(PATIENCE, self.reactor)
        wire.transport.abortConnection()
        assert client.connection is not None
        leaf = client.connection.get_peer_certificate(as_cryptography=True)
        assert leaf is not None
        extension: Any = leaf.extensions.get_extension_for_oid(ExtensionOID.SUBJECT_ALTERNATIVE_NAME).value
        answer = wire.answers[0]
        return Visit(
            plain,
            frozenset(str(name.value) for name in extension),
            answer.status,
            b"strict-transport-security" in answer.head.lower(),
        )

    async def problems(self) -> dict[str, dict[str, Any]]:
        """The problems of TLS that the admin port shows, by reason."""
        found = json.loads((await self.get(self.admin, "/api/problems"))[1])["problems"]
        return {one["reason"]: one for one in found}

    async def until_problems(self, *reasons: str) -> dict[str, dict[str, Any]]:
        """Wait until there are problems for just these reasons."""
        deadline = self.reactor.seconds() + PATIENCE
        while set(found := await self.problems()) != set(reasons):
            if self.reactor.seconds() > deadline:
                self.fail(f"these are all problems: {found}")
            await self.turn(0.02)
        return found


class ValidityTests(HostsCase):
    """Certificates in the course of time, and without any."""

    async def test_begins_and_ends(self) -> None:
        """The header comes and goes with the validity, while no object changes; certificate and redirect stay."""
        self.write("site", of("bank", OLD, ingress_object("app", HOST, "tls")))
        controller = self.start_with_manifests()
        await self.until_ready(controller)
        now = datetime.now(UTC).replace(microsecond=0)
        begins, ends = now + timedelta(seconds=8), now + timedelta(seconds=16)
        self.write_secret("bank", "tls", HOST, not_before=begins, not_after=ends)
        expected = Visit(308, frozenset({HOST}), 200, insists=False)

        found = await self.until_problems("CertificateNotYetValid")
        self.assertEqual(await self.visit(), expected)
        self.assertIn(f"{begins:%Y-%m-%dT%H:%M:%SZ}", found["CertificateNotYetValid"]["message"])

        await self.until_problems()
        self.assertEqual(await self.visit(), Visit(308, frozenset({HOST}), 200, insists=True))
        self.assertGreaterEqual(datetime.now(UTC), begins)

        found = await self.until_problems("CertificateExpired")
        self.assertGreaterEqual(datetime.now(UTC), ends)
        problem = found["CertificateExpired"]
        self.assertEqual((problem["kind"], problem["namespace"], problem["name"]), ("Ingress", "bank", "app"))
        self.assertEqual(problem["field"], "spec.tls[0].secretName")
        self.assertEqual(await self.visit(), expected)

        # Whatever else changes, and whoever starts anew, comes to the same.
        other = ingress_object("app", "other.example.com")
        other["metadata"]["name"] = "other"
        self.write("other", of("bank", OLD, other))
        while (await self.get(self.http, host="other.example.com"))[0] != 200:
            await self.turn(0.02)
        self.assertEqual(await self.visit(), expected)
        another = self.start_with_manifests()
        await self.until_ready(another)
        await self.until_problems("CertificateExpired")
        self.assertEqual(await self.visit(), expected)

    async def test_without_secret(self) -> None:
        """A host whose Secret is missing, of another name or deleted redirects on, and is shown the default certificate."""
        self.write("site", of("bank", OLD, ingress_object("app", HOST, "tls")))
        self.write_secret("bank", "default", "default.example.com")
        controller = self.start_with_manifests("--default-ssl-certificate=bank/default")
        await self.until_ready(controller)
        bare = Visit(308, frozenset({"default.example.com"}), 200, insists=False)
        await self.until_problems("SecretNotFound")
        self.assertEqual(await self.visit(), bare)
        self.write_secret("bank", "tls", "elsewhere.example.com")
        await self.until_problems("CertificateNameMismatch")
        self.assertEqual(await self.visit(), bare)
        self.write_secret("bank", "tls", HOST)
        await self.until_problems()
        self.assertEqual(await self.visit(), Visit(308, frozenset({HOST}), 200, insists=True))
        (self.manifests / "bank-tls.yaml").unlink()
        await self.until_problems("SecretNotFound")
        self.assertEqual(await self.visit(), bare)
        # An entry of nothing at all asks for the default certificate.
        empty = ingress_object("app", HOST)
        empty["spec"]["tls"] = [{}]
        self.write("site", of("bank", OLD, empty))
        await self.until_problems()
        self.assertEqual(await self.visit(), bare)


class OwnerTests(HostsCase):
    """A host, and what a younger Ingress of another namespace does about it."""

    def write_strangers(self) -> None:
        """Name the host of the bank in every way that is a stranger's."""
        by_name = ingress_object("app", "own.example.net", "own")
        by_name["spec"] |= {"tls": [{"hosts": [HOST], "secretName": "own"}]}
        backend = by_name["spec"]["rules"][0]["http"]["paths"][0]["backend"]
        by_default = ingress_object("default", "")
        by_default["spec"] = {
            "ingressClassName": "nginx",
            "defaultBackend": backend,
            "tls": [{"hosts": [HOST], "secretName": "own"}],
        }
        by_wildcard = ingress_object("wild", "x.team-b.example")
        by_wildcard["spec"]["tls"] = [{"hosts": ["*.example.com"], "secretName": "wild"}]
        by_path = ingress_object("path", HOST)
        by_path["spec"]["rules"][0]["http"]["paths"][0] |= {"path": "/theirs"}
        by_path["metadata"]["annotations"] = {"nginx.ingress.kubernetes.io/auth-tls-secret": "nobody"}
        some = (by_name, by_default, by_wildcard, by_path)
        self.write("strangers", *(of("thief", YOUNG, one) for one in some))
        self.write_secret("thief", "own", HOST)
        self.write_secret("thief", "wild", "*.example.com")

    async def test_strangers(self) -> None:
        """The bank is served as before: its certificate, no redirect, no header, open; and each stranger is told."""
        self.write("site", of("bank", OLD, ingress_object("app", HOST)))
        self.write_secret("bank", "default", "default.example.com")
        controller = self.start_with_manifests("--default-ssl-certificate=bank/default")
        await self.until_ready(controller)
        expected = Visit(200, frozenset({"default.example.com"}), 200, insists=False)
        self.assertEqual(await self.visit(), expected)
        self.write_strangers()
        deadline = self.reactor.seconds() + PATIENCE
        wanted = {"app", "default", "wild", "path"}
        while (found := await self.conflicts()).keys() != wanted:
            if self.reactor.seconds() > deadline:
                self.fail(f"told are {sorted(found)}")
            await self.turn(0.02)
        self.assertEqual(await self.visit(), expected)
        self.assertEqual((await self.visit(path="/theirs")).plain, 403)
        for name in ("app", "default", "path"):
            self.assertIn("Ingress bank/app", found[name])
        for message in found.values():
            self.assertIn("--shared-hosts", message)

    async def conflicts(self) -> dict[str, str]:
        """The messages about hosts of others, by the name of the Ingress."""
        found = json.loads((await self.get(self.admin, "/api/problems"))[1])["problems"]
        return {one["name"]: one["message"] for one in found if one["reason"] == "HostConflict"}

    async def test_older_entry(self) -> None:
        """A certificate of the owner is not taken away by an older Ingress that names the host in spec.tls alone."""
        self.write("site", of("bank", MIDDLE, ingress_object("app", HOST, "tls")))
        self.write_secret("bank", "tls", HOST, "second.example.com")
        self.write_strangers()
        controller = self.start_with_manifests()
        await self.until_ready(controller)
        expected = Visit(308, frozenset({HOST, "second.example.com"}), 200, insists=True)
        self.assertEqual(await self.visit(), expected)

    async def test_shared(self) -> None:
        """With --shared-hosts a stranger's certificate is shown and brings the redirect, as in ingress-nginx."""
        self.write("site", of("bank", OLD, ingress_object("app", HOST)))
        self.write_strangers()
        controller = self.start_with_manifests("--shared-hosts")
        await self.until_ready(controller)
        visit = await self.visit()
        self.assertEqual((visit.plain, visit.shown), (308, frozenset({HOST})))
        self.assertEqual(await self.conflicts(), {})
