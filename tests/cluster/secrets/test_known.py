"""What is known of Secrets: those that are referred to, whether they are there or not, and of no others anything."""

from ingress.cluster.api_server import ApiServerSource
from ingress.model.cluster.objects import Kind, ObjectKey
from ingress.model.cluster.secrets import TLS_KEYS
from tests.cluster.secrets.test_needed_secrets import SecretsTestCase
from tests.cluster.source_case import ingress, secret
from tests.fakes.apiserver.faults import Hang


class KnownTests(SecretsTestCase):
    """``ApiServerSource.knows``."""

    watches = True

    def knows(self, name: str, keys: frozenset[str] = TLS_KEYS, kind: Kind = Kind.SECRET) -> bool:
        """Whether it is known what there is under *keys* of an object."""
        assert isinstance(self.running, ApiServerSource)
        return self.running.knows(kind, ObjectKey("shop", name), keys)

    async def test_known(self) -> None:
        """One that is referred to is known, be it there or missing, but for keys that nobody needs of it."""
        for name in ("tls", "other", "foreign"):
            self.server.create(secret(name))
        self.server.create(ingress("ours", "tls"))
        self.server.create(ingress("in-vain", "missing"))
        self.server.create(ingress("theirs", "foreign", class_name="other"))
        await self.synced(watch_secrets=self.watches)
        await self.until(lambda: self.knows("missing"))
        self.assertTrue(self.knows("tls"))
        self.assertFalse(self.knows("tls", TLS_KEYS | {"ca.crt"}))
        self.assertFalse(self.knows("tls", kind=Kind.CONFIG_MAP))
        for name in ("other", "foreign", "nowhere"):
            self.assertFalse(self.knows(name), name)

    async def test_not_yet(self) -> None:
        """One that somebody refers to since a moment is known once it was asked for, and no more once nobody does."""
        content = await self.synced(watch_secrets=self.watches)
        self.server.faults.add(Hang(), resource="secrets", verb="get")
        self.server.create(ingress("ours", "missing"))
        await self.until(lambda: bool(self.server.requests_of("get", "secrets")))
        self.assertFalse(self.knows("missing"))
        self.server.faults.clear()
        self.server.reset_connections()
        await self.until(lambda: self.knows("missing"))
        self.assertIsNone(self.content_of(content, "missing"))
        self.server.delete("Ingress", "ours", "shop")
        await self.until(lambda: not self.knows("missing"))


class KnownByNameTests(KnownTests):
    """The same where no Secret is watched."""

    watches = False
