"""Tests for ``ingress.cluster.secrets.needed_secrets``: which Secrets come, by which way, and when."""

from twisted.internet.task import deferLater

from ingress.cluster.store import Store
from ingress.model.cluster.objects import Kind, ObjectKey, Secret
from ingress.model.cluster.problems import Reason
from ingress.translate.options import TranslateOptions
from tests.cluster.api_server_case import SOON_SECONDS, reactor
from tests.cluster.source_case import Content, SourceTestCase, ingress, running_threads, secret, service
from tests.fakes.apiserver.access import Grant
from tests.fakes.apiserver.faults import Answer, Delay, Hang


class SecretsTestCase(SourceTestCase):
    """A source whose Secrets are of interest."""

    def content_of(
        self, content: Content, name: str = "tls", namespace: str = "shop"
    ) -> dict[str, bytes] | None:
        """What was handed over of a Secret; None when it was not, or is gone."""
        projection = content.objects.get((Kind.SECRET, ObjectKey(namespace, name)))
        if projection is None:
            return None
        assert isinstance(projection.value, Secret)
        return dict(projection.value.content)

    async def until_content(self, content: Content, value: bytes | None, name: str = "tls") -> None:
        wanted = None if value is None else {"tls.crt": value, "tls.key": value}
        await self.until(lambda: self.content_of(content, name) == wanted)

    def gets(self, name: str | None = None) -> int:
        """How often Secrets were asked for by name."""
        return len([call for call in self.server.requests_of("get", "secrets") if name in (None, call.name)])

    def grant(self, *rules: tuple[str, str, str]) -> None:
        """Permit only these pairs of resources and verbs, the last part being names."""
        self.server.access.tokens = {
            str(self.server.token): tuple(
                Grant(
                    {
                        "apiGroups": ["*"],
                        "resources": resources.split(),
                        "verbs": verbs.split(),
                        "resourceNames": names.split(),
                    }
                )
                for resources, verbs, names in rules
            )
        }


OTHERS = ("ingresses ingressclasses services endpointslices", "list watch", "")


class WatchModeTests(SecretsTestCase):
    """Secrets that are watched."""

    async def test_needed_and_others(self) -> None:
        """Of the Secrets listed only needed ones are kept, with the keys needed, and none is read by name."""
        for name in ("tls", "other", "foreign"):
            self.server.create(secret(name))
        self.server.create(ingress("ours", "tls"))
        self.server.create(ingress("theirs", "foreign", class_name="other"))
        content = await self.synced()
        self.assertEqual(content.names(Kind.SECRET), {"tls"})
        self.assertEqual(self.content_of(content), {"tls.crt": b"1", "tls.key": b"1"})
        self.assertEqual(self.gets(), 0)

    async def test_list_comes_last(self) -> None:
        """Secrets are listed when all Ingresses and classes are known, which decide what is needed."""
        self.server.faults.add(Delay(0.1), resource="ingressclasses")
        await self.synced()
        order = [call.plural for call in self.server.requests_of("watch")]
        self.assertEqual((order[-1], len(order)), ("secrets", 6))

    async def test_changes(self) -> None:
        """A needed Secret that changes or goes is handed over; of another one nothing is."""
        self.server.create(ingress("ours", "tls"))
        self.server.create(secret("tls"))
        content = await self.synced()
        self.server.apply(secret("tls", content=b"2"))
        self.server.apply(secret("other", content=b"2"))
        await self.until_content(content, b"2")
        self.server.delete("Secret", "tls", "shop")
        await self.until_content(content, None)
        self.assertEqual(content.names(Kind.SECRET), set())

    async def test_newly_referenced(self) -> None:
        """A Secret that a new Ingress refers to is read by name, once; later changes come by the watch."""
        self.server.create(secret("tls"))
        content = await self.synced(refresh_seconds=0.01)
        self.assertEqual(content.names(Kind.SECRET), set())
        self.server.create(ingress("ours", "tls"))
        await self.until_content(content, b"1")
        self.server.apply(secret("tls", content=b"2"))
        await self.until_content(content, b"2")
        await deferLater(reactor, 0.05, lambda: None)
        self.assertEqual(self.gets(), 1)

    async def test_no_longer_referenced(self) -> None:
        """The content of a Secret goes when the last Ingress that refers to it goes."""
        self.server.create(secret("tls"))
        self.server.create(ingress("ours", "tls"))
        content = await self.synced()
        self.assertEqual(content.names(Kind.SECRET), {"tls"})
        self.server.apply(ingress("ours"))
        await self.until_content(content, None)
        self.server.apply(secret("tls", content=b"2"))
        await self.arrives(content, "web")
        self.assertEqual(content.names(Kind.SECRET), set())

    async def test_other_type(self) -> None:
        """A referenced Secret that the selector hides is read by name before the sync, and refreshed."""
        self.server.create(secret("tls", "Opaque"))
        self.server.create(ingress("ours", "tls"))
        content = await self.synced(refresh_seconds=0.02)
        self.assertEqual(self.content_of(content), {"tls.crt": b"1", "tls.key": b"1"})
        self.server.apply(secret("tls", "Opaque", b"2"))
        await self.until_content(content, b"2")
        self.assertGreater(self.gets("tls"), 1)

    async def test_another_type_under_the_same_name(self) -> None:
        """When a watched Secret is replaced by one that the selector hides, that one is read by name."""
        self.server.create(secret("tls"))
        self.server.create(ingress("ours", "tls"))
        content = await self.synced()
        self.server.delete("Secret", "tls", "shop")
        self.server.create(secret("tls", "Opaque", b"2"))
        await self.until_content(content, b"2")
        self.server.delete("Secret", "tls", "shop")
        self.server.create(secret("tls", content=b"3"))
        await self.until_content(content, b"3")

    async def test_selector(self) -> None:
        """Another field selector, or none, decides what is watched."""
        self.server.create(secret("tls", "Opaque"))
        self.server.create(ingress("ours", "tls"))
        content = await self.synced(secret_selector="")
        self.assertEqual(self.content_of(content), {"tls.crt": b"1", "tls.key": b"1"})
        self.assertEqual(self.gets(), 0)
        (call,) = self.server.requests_of("watch", "secrets")
        self.assertNotIn("fieldSelector", call.query)

    async def test_selector_is_sent(self) -> None:
        """A selector other than the default is sent as it was written."""
        await self.synced(secret_selector="type!=helm.sh/release.v1")
        (call,) = self.server.requests_of("watch", "secrets")
        self.assertEqual(call.query["fieldSelector"], "type!=helm.sh/release.v1")

    async def test_list_forbidden(self) -> None:
        """Where listing Secrets is forbidden, those referred to are read by name before the sync."""
        self.grant(OTHERS, ("secrets", "get", ""))
        self.server.create(secret("tls"))
        self.server.create(ingress("ours", "tls"))
        content = await self.synced()
        self.assertEqual(self.content_of(content), {"tls.crt": b"1", "tls.key": b"1"})

    async def test_relist(self) -> None:
        """After a relist, needed Secrets that changed meanwhile are new, and others stay unknown."""
        for name in ("tls", "other"):
            self.server.create(secret(name))
        self.server.create(ingress("ours", "tls"))
        content = await self.synced()
        port = self.server.port
        await self.server.stop_listening()
        self.server.reset_connections()
        for name in ("tls", "other"):
            self.server.apply(secret(name, content=b"2"))
        self.server.compact()
        await self.server.listen(port)
        await self.until_content(content, b"2")
        self.assertEqual(content.names(Kind.SECRET), {"tls"})

    async def test_default_certificate(self) -> None:
        """The Secret that the operator named is needed without any Ingress."""
        self.server.create(secret("tls"))
        options = TranslateOptions(default_ssl_certificate=ObjectKey("shop", "tls"))
        content = await self.synced(options=options)
        self.assertEqual(content.names(Kind.SECRET), {"tls"})

    async def test_class_changes(self) -> None:
        """When a class comes to be ours, the Secrets of its Ingresses come; when it ceases to be, they go."""
        self.server.create(secret("tls"))
        self.server.create(ingress("ours", "tls", class_name="edge"))
        content = await self.synced()
        edge = {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "IngressClass",
            "metadata": {"name": "edge"},
            "spec": {"controller": "k8s.io/ingress-nginx"},
        }
        self.server.create(edge)
        await self.until_content(content, b"1")
        self.server.delete("IngressClass", "edge")
        await self.until_content(content, None)


class TLSWatchModeTests(WatchModeTests):
    """The same over TLS."""

    tls = True


class GetModeTests(SecretsTestCase):
    """Secrets that are read by name."""

    async def test_named_secrets_only(self) -> None:
        """Nothing is listed or watched; what Ingresses refer to is there before the sync, by named rights."""
        self.grant(OTHERS, ("secrets", "get", "tls"))
        for name in ("tls", "other"):
            self.server.create(secret(name))
        self.server.create(ingress("ours", "tls"))
        self.server.create(ingress("more", "forbidden"))
        content = await self.synced(watch_secrets=False)
        self.assertEqual(self.content_of(content), {"tls.crt": b"1", "tls.key": b"1"})
        self.assertEqual(self.server.requests_of("list", "secrets"), ())
        self.assertEqual(self.server.requests_of("watch", "secrets"), ())
        # A second refusal counts; there may be more of them until the other one is there.
        refused = self.gets("forbidden")
        self.assertGreaterEqual(refused, 2)
        self.assertEqual((self.gets("tls"), self.gets()), (1, 1 + refused))

    async def test_refresh(self) -> None:
        """What was read is read again after the interval; what went meanwhile goes."""
        self.server.create(secret("tls"))
        self.server.create(ingress("ours", "tls"))
        content = await self.synced(watch_secrets=False, refresh_seconds=0.05)
        self.server.apply(secret("tls", content=b"2"))
        await self.until_content(content, b"2")
        self.server.delete("Secret", "tls", "shop")
        await self.until_content(content, None)

    async def test_change_of_the_ingress(self) -> None:
        """When an Ingress changes, what it refers to is read again."""
        self.server.create(secret("tls"))
        self.server.create(ingress("ours", "tls"))
        content = await self.synced(watch_secrets=False)
        self.server.apply(secret("tls", content=b"2"))
        changed = ingress("ours", "tls")
        changed["spec"]["rules"] = [{"host": "a.example"}]
        self.server.apply(changed)
        await self.until_content(content, b"2")
        self.assertEqual(self.gets(), 2)

    async def test_sync_waits(self) -> None:
        """The sync waits for Secrets that are referred to, and says so."""
        self.server.create(ingress("ours", "tls"))
        self.server.faults.add(Hang(), times=None, verb="get")
        content = await self.start(watch_secrets=False)
        await self.until(lambda: self.running.missing() == ("1 referenced Secret",))
        self.assertEqual(content.synced_times, 0)

    async def test_trouble_is_told(self) -> None:
        """What keeps Secrets from being read is said with what is missing, and is not for ever."""
        self.server.create(ingress("ours", "tls", "other"))
        self.server.faults.add(Answer(503, message="busy"), times=4, verb="get")
        content = await self.start(watch_secrets=False, backoff_seconds=0.05)
        await self.until(lambda: any("referenced Secrets: shop/" in one for one in self.running.missing()))
        await self.until(lambda: content.synced_times == 1)

    async def test_broken_secret(self) -> None:
        """A Secret that the API server cannot read does not hold back everything else for ever."""
        self.server.create(secret("tls"))
        self.server.create(ingress("ours", "tls", "broken"))
        self.server.faults.add(Answer(500), times=None, verb="get", name="broken")
        content = await self.synced(watch_secrets=False)
        self.assertEqual(content.names(Kind.SECRET), {"tls"})

    async def test_page_in_between(self) -> None:
        """A 404 that does not name the Secret, as of something before the API server, takes nothing away."""
        self.server.create(secret("tls"))
        self.server.create(ingress("ours", "tls"))
        content = await self.synced(watch_secrets=False, refresh_seconds=0.02, backoff_seconds=0.02)
        self.server.faults.add(Answer(404, body=b"<html>no page"), times=None, verb="get")
        before = self.gets()
        await self.until(lambda: self.gets() > before + 1)
        self.assertEqual(self.content_of(content), {"tls.crt": b"1", "tls.key": b"1"})
        self.server.faults.clear()
        self.server.delete("Secret", "tls", "shop")
        await self.until_content(content, None)

    async def test_api_server_away(self) -> None:
        """While the API server is away, what was read stays."""
        self.server.create(secret("tls"))
        self.server.create(ingress("ours", "tls"))
        content = await self.synced(watch_secrets=False, refresh_seconds=0.02)
        port = self.server.port
        await self.server.stop_listening()
        self.server.reset_connections()
        self.server.apply(secret("tls", content=b"2"))
        await deferLater(reactor, 0.1, lambda: None)
        self.assertEqual(content.names(Kind.SECRET), {"tls"})
        await self.server.listen(port)
        await self.until_content(content, b"2")

    async def test_new_token(self) -> None:
        """After 401 Secrets are read with new credentials."""
        self.server.create(secret("tls"))
        content = await self.synced(
            watch_secrets=False, clock=lambda: reactor.seconds() * 1000, refresh_seconds=0.02
        )
        self.server.access.tokens = {"new": None}
        self.server.write_kubeconfig(self.kubeconfig, token="new")
        self.server.close_watches()
        self.server.create(ingress("ours", "tls"))
        await self.until_content(content, b"1")

    async def test_stop_while_asking(self) -> None:
        """A Secret that is asked for and does not come does not hold up the end."""
        self.server.create(ingress("ours", "tls"))
        self.server.faults.add(Hang(), times=None, verb="get")
        await self.start(watch_secrets=False)
        await self.server.when(lambda: self.gets() > 0)
        before = reactor.seconds()
        await self.running.stop()
        self.assertLess(reactor.seconds() - before, SOON_SECONDS)
        self.assertEqual(running_threads(), [])

    async def test_nothing_to_wait_for(self) -> None:
        """Without references the sync waits for no Secret."""
        self.server.create(service("web"))
        await self.synced(watch_secrets=False)
        self.assertEqual(self.gets(), 0)


class TLSGetModeTests(GetModeTests):
    """The same over TLS."""

    tls = True


class LateTests(SecretsTestCase):
    """Secrets and rights that come after what needs them."""

    async def test_other_type_after_its_ingress(self) -> None:
        """A Secret that the selector hides, made after its Ingress, is found within seconds."""
        content = await self.synced()
        self.server.create(ingress("ours", "tls"))
        await self.until(lambda: self.gets("tls") == 1)
        self.server.create(secret("tls", "Opaque"))
        await self.until_content(content, b"1")
        self.assertEqual(self.gets("tls"), 2)

    async def test_right_to_the_list_comes_first(self) -> None:
        """Once the list is permitted, a Secret that is forbidden by name is not waited for; it has a problem."""
        self.grant(OTHERS)
        self.server.create(secret("tls"))
        self.server.create(secret("hidden", "Opaque"))
        self.server.create(ingress("ours", "tls", "hidden"))
        content = await self.start()
        await self.until(lambda: any("no right to list" in one for one in self.running.missing()))
        self.assertEqual(content.synced_times, 0)
        self.grant(OTHERS, ("secrets", "list watch", ""))
        await self.until(lambda: content.synced_times == 1)
        self.assertEqual(self.content_of(content), {"tls.crt": b"1", "tls.key": b"1"})
        projection = content.objects[Kind.SECRET, ObjectKey("shop", "hidden")]
        self.assertEqual([one.reason for one in projection.problems], [Reason.SECRET_FORBIDDEN])

    async def test_right_to_names_comes_first(self) -> None:
        """While the list stays forbidden, it is enough that everything may be read by name, or does not exist."""
        self.grant(OTHERS)
        self.server.create(secret("tls"))
        self.server.create(ingress("ours", "tls", "missing"))
        content = await self.start()
        await self.until(lambda: any("no right to list" in one for one in self.running.missing()))
        self.grant(OTHERS, ("secrets", "get", ""))
        await self.until(lambda: content.synced_times == 1)
        self.assertEqual(content.names(Kind.SECRET), {"tls"})

    async def test_ingress_that_waits_goes(self) -> None:
        """When no Ingress names the forbidden Secret any more, nothing waits for it."""
        self.grant(OTHERS)
        self.server.create(ingress("ours", "tls"))
        content = await self.start()
        await self.until(lambda: any("no right to list" in one for one in self.running.missing()))
        self.server.apply(ingress("ours"))
        await self.until(lambda: content.synced_times == 1)

    async def test_default_certificate_forbidden(self) -> None:
        """The Secret that the operator named is waited for, wherever it is and however it is read."""
        self.server.create(secret("tls"))
        self.server.create(ingress("ours", "tls"))
        options = TranslateOptions(default_ssl_certificate=ObjectKey("web", "default"))
        named = Grant({"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}, "shop")
        for watch_secrets in (True, False):
            self.server.access.tokens = {str(self.server.token): (named,)}
            content = await self.start(namespaces=("shop",), options=options, watch_secrets=watch_secrets)
            wanted = ("Secret: no right to get secrets in namespace web (default)",)
            await self.until(lambda wanted=wanted: self.running.missing() == wanted)  # type: ignore[misc]
            self.assertEqual(content.synced_times, 0)
            self.server.access.tokens = {}
            await self.until(lambda content=content: content.synced_times == 1)  # type: ignore[misc]
            await self.running.stop()

    async def test_right_taken_away(self) -> None:
        """A Secret that may not be read any more keeps its content, with a problem."""
        self.server.create(secret("tls"))
        self.server.create(ingress("ours", "tls"))
        store = Store()
        content = await self.synced(watch_secrets=False, refresh_seconds=0.02)
        store.changed(content.objects)
        self.grant(OTHERS)
        await self.until(lambda: bool(content.objects[Kind.SECRET, ObjectKey("shop", "tls")].problems))
        store.changed(content.objects)
        state = store.state()
        self.assertEqual(state.secrets[ObjectKey("shop", "tls")].content["tls.crt"], b"1")
        self.assertEqual([one.reason for one in state.problems], [Reason.SECRET_FORBIDDEN])
        self.server.access.tokens = {}
        await self.until(lambda: not content.objects[Kind.SECRET, ObjectKey("shop", "tls")].problems)
        store.changed(content.objects)
        self.assertEqual(store.state().problems, ())


class NamespaceTests(SecretsTestCase):
    """Namespaces, with Roles only."""

    async def test_roles_only(self) -> None:
        """With rights in two namespaces and none in the cluster, these two are served, by the name of the class."""
        rule = {
            "apiGroups": ["*"],
            "resources": ["ingresses", "services", "endpointslices", "secrets"],
            "verbs": ["get", "list", "watch"],
        }
        self.server.access.tokens = {str(self.server.token): (Grant(rule, "one"), Grant(rule, "two"))}
        for namespace in ("one", "two", "three"):
            self.server.create(service(namespace, namespace))
            self.server.create(ingress(namespace, "tls", namespace=namespace))
            one = secret("tls")
            one["metadata"]["namespace"] = namespace
            self.server.create(one)
        content = await self.synced(namespaces=("one", "two"))
        self.assertEqual(content.names(), {"one", "two"})
        self.assertEqual(content.names(Kind.INGRESS), {"one", "two"})
        for namespace, wanted in (("one", True), ("two", True), ("three", False)):
            self.assertEqual(self.content_of(content, "tls", namespace) is not None, wanted)
        self.assertEqual(content.names(Kind.INGRESS_CLASS), set())
        refused = [call for call in self.server.requests if call.status == 403]
        self.assertEqual({call.plural for call in refused}, {"ingressclasses", "customresourcedefinitions"})


class TLSNamespaceTests(NamespaceTests):
    """The same over TLS."""

    tls = True
