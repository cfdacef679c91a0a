"""A cluster as an input: what is read of it, and what is said of what may not be read."""

import json
import sys
from itertools import count
from pathlib import Path
from typing import Any

import yaml

from ingress.ctl.errors import Mistake
from ingress.ctl.inputs.input import Input
from ingress.ctl.inputs.live.api_server import PAGE_OBJECTS
from ingress.ctl.inputs.live.live_cluster import SecretReading
from ingress.model.cluster.objects import Kind, ObjectKey
from ingress.model.cluster.problems import Reason
from ingress.model.upstream.backends import Endpoint
from tests.ctl.inputs.live_case import LiveCase, grant, lists
from tests.fakes.apiserver.faults import Answer, Drop, Hang, RawBody
from tests.fakes.apiserver.kinds import KINDS, Json, KindTable, ResourceType
from tests.fakes.certificates import issue, make_authority
from tests.fakes.objects import ingress_object, secret_object, service_object, slice_object

WEB = ObjectKey("shop", "web")
DISCOVERY = "/apis/gateway.networking.k8s.io/v1"


def in_namespace(namespace: str, obj: Json) -> Json:
    """The same object in another namespace."""
    return {**obj, "metadata": {**obj["metadata"], "namespace": namespace}}


def reasons(found: Input, kind: Kind = Kind.INGRESS) -> set[Reason]:
    """The reasons of what the input can tell of objects of *kind*."""
    problems = found.snapshot.problems
    return {one.reason for one in problems if one.kind == kind and found.coverage.unknown(one) is None}


def unread(found: Input) -> list[str]:
    return [one.what for one in found.unread]


class ReadingTests(LiveCase):
    """With all rights."""

    async def test_everything_that_is_served_is_read_once(self) -> None:
        """Ingresses, classes, Services and slices come by one list each, and are served by the snapshot."""
        self.server.create(ingress_object("web", "shop.example.com"))
        self.server.create(service_object("web"))
        self.server.create(slice_object("web", Endpoint("10.0.0.1", 8080)))
        found = await self.read()
        self.assertEqual(found.snapshot.route_count, 1)
        (backend,) = found.snapshot.backends.values()
        self.assertEqual([str(one.address) for one in backend.endpoints], ["10.0.0.1"])
        asked = sorted(call.plural or call.path for call in self.server.requests)
        self.assertEqual(asked, [DISCOVERY, "endpointslices", "ingressclasses", "ingresses", "services"])
        self.assertEqual(self.server.watches, [])

    async def test_labels_of_ingresses_are_kept(self) -> None:
        """Reports are made by the label of an owner."""
        web = ingress_object("web", "shop.example.com")
        web["metadata"]["labels"] = {"team": "checkout"}
        self.server.create(web)
        found = await self.read()
        self.assertEqual(found.labels, {(Kind.INGRESS, WEB): {"team": "checkout"}})

    async def test_annotations_behind_another_prefix_are_kept(self) -> None:
        """lint tells of those that nobody reads, of a cluster as of files."""
        web = ingress_object("web", "shop.example.com")
        web["metadata"]["annotations"] = {"ingress.kubernetes.io/ssl-redirect": "true", "team": "checkout"}
        self.server.create(web)
        found = await self.read()
        self.assertEqual(found.strays, {(Kind.INGRESS, WEB): {"ingress.kubernetes.io/ssl-redirect": "true"}})

    async def test_a_list_comes_in_pages(self) -> None:
        """All of them are read; no answer has more than a page."""
        for number in range(PAGE_OBJECTS + 1):
            self.server.create(ingress_object(f"web-{number}", f"shop-{number}.example.com"))
        found = await self.read()
        self.assertEqual(len(found.state.of(Kind.INGRESS)), PAGE_OBJECTS + 1)
        pages = self.server.requests_of("list", "ingresses")
        self.assertEqual([call.query["limit"] for call in pages], [str(PAGE_OBJECTS)] * 2)
        self.assertEqual([call.query.get("resourceVersion") for call in pages], [None, None])

    async def test_a_list_that_expires_is_begun_again_without_what_was_seen(self) -> None:
        """Pages of a list that the API server has forgotten are thrown away, and at last it is read in one piece."""
        for number in range(PAGE_OBJECTS + 1):
            self.server.create(ingress_object(f"web-{number}", f"shop-{number}.example.com"))
        self.server.faults.add(Answer(410), times=2, verb="list", resource="ingresses")
        found = await self.read()
        self.assertEqual(len(found.state.of(Kind.INGRESS)), PAGE_OBJECTS + 1)
        self.assertNotIn("limit", self.server.requests_of("list", "ingresses")[-1].query)

    async def test_a_missing_service_is_missing_and_one_that_may_not_be_read_is_not(self) -> None:
        """Absence counts once the API server told of all Services."""
        self.server.create(ingress_object("web", "shop.example.com"))
        self.assertIn(Reason.SERVICE_NOT_FOUND, reasons(await self.read()))
        self.permit(*lists("services"))
        found = await self.read()
        self.assertNotIn(Reason.SERVICE_NOT_FOUND, reasons(found))
        self.assertEqual(unread(found), ["Services in default"])

    async def test_the_gateway_api_is_read_where_it_is_defined(self) -> None:
        """Its kinds are listed once somebody installed them, but for the definitions themselves."""
        self.server.define()
        route = {
            "apiVersion": "gateway.networking.k8s.io/v1",
            "kind": "HTTPRoute",
            "metadata": {"name": "web", "namespace": "shop"},
            "spec": {"parentRefs": [{"name": "main"}]},
        }
        self.server.create(route)
        found = await self.read()
        self.assertEqual(set(found.state.of(Kind("HTTPRoute"))), {WEB})
        self.assertNotIn("customresourcedefinitions", {call.plural for call in self.server.requests})

    async def test_named_namespaces_are_read_and_no_others(self) -> None:
        """With ``--namespace`` nothing is asked of the whole cluster but what belongs to no namespace."""
        self.server.create(ingress_object("web", "shop.example.com"))
        self.server.create(in_namespace("desk", ingress_object("desk", "desk.example.com")))
        found = await self.read(namespaces=("desk",))
        self.assertEqual(set(found.state.of(Kind.INGRESS)), {ObjectKey("desk", "desk")})
        everywhere = {call.plural or call.path for call in self.server.requests if not call.namespace}
        self.assertEqual(everywhere, {"ingressclasses", DISCOVERY})

    async def test_a_namespace_that_does_not_exist_is_a_mistake(self) -> None:
        """A slip in its name must not look like a clean namespace."""
        with self.assertRaisesRegex(Mistake, "there is no namespace shpo"):
            await self.read(namespaces=("shpo",))
        self.server.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "empty"}})
        self.assertEqual((await self.read(namespaces=("empty",))).snapshot.route_count, 0)

    async def test_all_namespaces_may_be_said(self) -> None:
        """It is so anyway, and what people type; beside a namespace it is a contradiction."""
        self.server.create(ingress_object("web", "shop.example.com"))
        self.assertIn("1 Ingress", (await self.run_command("lint", "--live", "-A")).stdout)
        result = await self.run_command("lint", "--live", "-A", "-n", "shop")
        self.assertEqual((result.exit_code, "not both" in result.stderr), (2, True))

    async def test_the_operators_config_map_is_read(self) -> None:
        """Its options count as they do for the controller."""
        self.server.create(ingress_object("web", "shop.example.com", "shop-tls"))
        data = {"ssl-redirect": "false"}
        metadata = {"name": "options", "namespace": "system"}
        self.server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
        result = await self.run_command(
            "render", "--as", "gateway", "--live", "-o", "configmap=system/options"
        )
        self.assertIn("sectionName: http\n", result.stdout)
        self.assertNotIn("RequestRedirect", result.stdout)

    async def test_what_is_no_name_of_a_namespace_is_not_asked_for(self) -> None:
        """It would be a part of the path of a request."""
        with self.assertRaisesRegex(Mistake, "no name of a namespace"):
            await self.read(namespaces=("../secrets",))
        self.assertEqual(self.server.requests, [])


class RightsTests(LiveCase):
    """With the rights of a person."""

    def setUp(self) -> Any:
        started = super().setUp()
        for namespace in ("shop", "desk"):
            self.server.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
            self.server.create(in_namespace(namespace, ingress_object("web", f"{namespace}.example.com")))
        return started

    async def test_where_the_cluster_is_forbidden_each_visible_namespace_is_tried(self) -> None:
        """What one namespace allows is read, and the others are told, once."""
        self.permit(grant("", "namespaces", "list"), *lists(namespace="shop"))
        found = await self.read()
        self.assertEqual(set(found.state.of(Kind.INGRESS)), {WEB})
        self.assertTrue(found.coverage.knows(Kind.SERVICE, "shop"))
        self.assertFalse(found.coverage.knows(Kind.SERVICE, "desk"))
        self.assertIn(Reason.SERVICE_NOT_FOUND, reasons(found))
        self.assertIn("Ingresses in desk", unread(found))
        self.assertIn("IngressClasses", unread(found))

    async def test_where_no_namespaces_are_seen_that_of_the_context_is_tried(self) -> None:
        """It is what kubectl would look at."""
        self.permit(*lists(namespace="shop"))
        text = Path(self.kubeconfig).read_text("utf-8")
        Path(self.kubeconfig).write_text(text.replace("user: tests\n", "user: tests\n    namespace: shop\n"))
        found = await self.read()
        self.assertEqual(set(found.state.of(Kind.INGRESS)), {WEB})

    async def test_a_namespace_that_was_named_needs_no_right_for_the_cluster(self) -> None:
        """Nobody is told of namespaces that he did not ask about."""
        self.permit(*lists(namespace="shop"))
        found = await self.read(namespaces=("shop",))
        self.assertEqual(set(found.state.of(Kind.INGRESS)), {WEB})
        self.assertEqual(unread(found), ["IngressClasses"])

    async def test_who_may_read_no_ingress_is_told_so(self) -> None:
        """There is nothing to say then, which is not the same as nothing to find."""
        self.permit(*lists("ingresses"))
        with self.assertRaisesRegex(Mistake, "Ingresses may not be read in desk, shop: .*--namespace"):
            await self.read()

    async def test_expired_credentials_are_one_line(self) -> None:
        """A token that is not known any more is told with what helps."""
        self.server.access.tokens = {"another": None}
        result = await self.run_command("lint", "--live")
        self.assertEqual(result.exit_code, 2)
        self.assertIn("does not take the credentials", result.stderr)
        self.assertIn("log in again", result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1)


class SecretTests(LiveCase):
    """What is asked of Secrets."""

    def setUp(self) -> Any:
        started = super().setUp()
        self.server.create(ingress_object("web", "shop.example.com", "shop-tls"))
        self.server.create(service_object("web"))
        return started

    def create_secret(self, name: str = "shop-tls") -> None:
        self.server.create(secret_object(name, *issue(make_authority(), ["other.example.com"])))

    async def test_unless_asked_only_their_existence_is_known(self) -> None:
        """One that is missing is told; of one that is there nothing but its name leaves the API server."""
        found = await self.read()
        self.assertIn(Reason.SECRET_NOT_FOUND, reasons(found))
        self.assertNotIn("selector", " ".join(one.message for one in found.snapshot.problems))
        self.create_secret()
        self.server.requests.clear()
        found = await self.read()
        self.assertEqual(reasons(found), set())
        self.assertEqual(unread(found), ["the content of one Secret that is referred to"])
        (call,) = (call for call in self.server.requests if call.plural == "secrets")
        self.assertIn("as=Table", call.headers["accept"])
        self.assertEqual((call.verb, call.query), ("get", {"includeObject": "None"}))

    async def test_of_many_in_a_namespace_the_names_are_listed(self) -> None:
        """It is one list for each namespace, without content, and tells who is missing."""
        for number in range(6):
            self.server.create(ingress_object(f"more-{number}", f"m{number}.example.com", f"more-{number}"))
            if number:
                self.create_secret(f"more-{number}")
        found = await self.read()
        missing = [one for one in found.snapshot.problems if one.reason is Reason.SECRET_NOT_FOUND]
        self.assertEqual({one.name for one in missing}, {"web", "more-0"})
        (call,) = (call for call in self.server.requests if call.plural == "secrets")
        self.assertEqual((call.verb, call.namespace, call.query["includeObject"]), ("list", "shop", "None"))
        self.assertIn("as=Table", call.headers["accept"])

    async def test_with_content_a_certificate_is_judged(self) -> None:
        """A certificate for another host is told."""
        self.create_secret()
        found = await self.read(secrets=SecretReading.CONTENT)
        self.assertEqual(reasons(found), {Reason.CERTIFICATE_NAME_MISMATCH})
        self.assertEqual(found.unread, ())

    async def test_only_secrets_that_are_referred_to_are_kept_and_of_them_what_is_needed(self) -> None:
        """Neither another Secret of the namespace nor another key of a Secret is in what was read."""
        for number in range(6):
            self.server.create(ingress_object(f"more-{number}", f"m{number}.example.com", f"more-{number}"))
            self.create_secret(f"more-{number}")
        secret = secret_object("shop-tls", b"chain", b"key")
        secret["data"]["password"] = "aHVudGVyMg=="
        self.server.create(secret)
        self.create_secret("of-nobody")
        found = await self.read(secrets=SecretReading.CONTENT)
        self.assertNotIn(ObjectKey("shop", "of-nobody"), found.state.secrets)
        self.assertEqual(len(found.state.secrets), 7)
        self.assertEqual(
            set(found.state.secrets[ObjectKey("shop", "shop-tls")].content), {"tls.crt", "tls.key"}
        )

    async def test_where_lists_are_forbidden_they_are_read_by_name(self) -> None:
        """A right to get some by name is used, and one that may not be read is not missing."""
        for number in range(6):
            self.server.create(ingress_object(f"more-{number}", f"m{number}.example.com", f"more-{number}"))
        self.create_secret("more-1")
        allowed = ("more-1", "more-2")
        self.permit(*lists(), grant("", "secrets", "get", names=allowed))
        for reading in (SecretReading.NAMES, SecretReading.CONTENT):
            found = await self.read(secrets=reading)
            told = [one for one in found.snapshot.problems if found.coverage.unknown(one) is None]
            missing = [one.name for one in told if one.reason is Reason.SECRET_NOT_FOUND]
            self.assertEqual(missing, ["more-2"])
            self.assertIn("Secret shop/more-0 and 4 more", unread(found))

    async def test_they_can_be_left_alone(self) -> None:
        """No request names a Secret, and none is missing."""
        found = await self.read(secrets=SecretReading.NONE)
        self.assertEqual(self.server.requests_of("list", "secrets"), ())
        self.assertEqual([call.path for call in self.server.requests_of("get")], [DISCOVERY])
        self.assertEqual(reasons(found), set())
        self.assertEqual(unread(found), ["one Secret that is referred to"])

    async def test_what_another_controllers_ingress_refers_to_is_not_asked_for(self) -> None:
        """It is no business of ours."""
        other = ingress_object("other", "other.example.com", "other-tls")
        other["spec"]["ingressClassName"] = "traefik"
        self.server.create(other)
        await self.read(secrets=SecretReading.CONTENT)
        self.assertEqual(
            {call.name or call.path for call in self.server.requests_of("get")}, {"shop-tls", DISCOVERY}
        )

    async def test_a_config_map_that_an_annotation_names_is_read_by_its_name(self) -> None:
        """One that is not there is missing; one that may not be read is not."""
        web = ingress_object("fields", "fields.example.com")
        web["metadata"]["annotations"] = {"nginx.ingress.kubernetes.io/custom-headers": "shop/fields"}
        self.server.create(web)
        self.assertIn(Reason.CONFIG_MAP_NOT_FOUND, reasons(await self.read()))
        self.permit(*lists(), grant("", "secrets", "get"))
        found = await self.read()
        self.assertNotIn(Reason.CONFIG_MAP_NOT_FOUND, reasons(found))
        self.assertEqual(unread(found)[0], "ConfigMap shop/fields")

    async def test_no_content_is_ever_printed(self) -> None:
        """Not even of a Secret that holds something else than a certificate."""
        secret = secret_object("shop-tls", b"hunter2-chain", b"hunter2-key")
        self.server.create(secret)
        result = await self.run_command("lint", "--live", "--secrets", "content")
        self.assertIn("InvalidCertificate", result.stdout)
        self.assertNotIn("hunter2", result.output)
        self.assertNotIn(secret["data"]["tls.key"], result.output)


class MistakeTests(LiveCase):
    """What is wrong is said in one line."""

    async def mistake(self, *arguments: str) -> str:
        result = await self.run_command("lint", "--live", *arguments)
        self.assertEqual(result.exit_code, 2)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        return result.stderr

    async def test_a_kubeconfig_that_is_not_there(self) -> None:
        """The file is named."""
        self.kubeconfig = Path("absent-kubeconfig")
        self.assertIn("absent-kubeconfig: no such file", await self.mistake())

    async def test_a_context_that_is_not_there(self) -> None:
        """Those that are there are named."""
        said = await self.mistake("--context", "nope")
        self.assertIn("there is no context nope", said)
        self.assertIn("tests", said)

    async def test_a_server_that_refuses_connections(self) -> None:
        """The address is named."""
        await self.server.stop_listening()
        said = await self.mistake()
        self.assertRegex(
            said, r"the API server http://127\.0\.0\.1:\d+ cannot be reached: Connection refused"
        )

    async def test_a_proxy_that_refuses_connections(self) -> None:
        """It is named beside the address: it may be the proxy that is not there."""
        config = yaml.safe_load(self.kubeconfig.read_text(encoding="utf-8"))
        config["clusters"][0]["cluster"]["proxy-url"] = "http://user:password@127.0.0.2:1"
        self.kubeconfig.write_text(yaml.safe_dump(config), encoding="utf-8")
        said = await self.mistake()
        self.assertRegex(said, r"http://127\.0\.0\.1:\d+ cannot be reached through the proxy 127\.0\.0\.2")
        self.assertIn("127.0.0.2:1: ", said)
        self.assertNotIn("password", said)

    async def test_what_is_no_api_server(self) -> None:
        """A page of HTML is no list, nor is JSON of another shape."""
        for body in (b"<html>", b"[]", b'{"items": []}', b"\xff\xfe", b'{"metadata":' * 5000):
            self.server.faults.clear()
            self.server.faults.add(RawBody(body), times=None)
            self.assertIn("does not answer as an API server does", await self.mistake())

    async def test_an_error_that_lasts(self) -> None:
        """It is tried again a few times, and then told."""
        self.server.faults.add(Answer(503, message="etcd is away"), times=None)
        with self.assertRaisesRegex(Mistake, "answers 503: etcd is away"):
            await self.read()
        self.assertEqual(len(self.waited), 3)

    async def test_an_error_that_passes(self) -> None:
        """Who is asked to wait does, and no longer than is bearable."""
        self.server.faults.add(Answer(429, {"Retry-After": "7"}))
        self.server.faults.add(Answer(429, {"Retry-After": "86400"}))
        self.server.faults.add(RawBody(b'{"metadata"', "cut"))
        await self.read()
        self.assertEqual(self.waited, [7.0, 10.0, 3])

    async def test_an_api_server_that_says_nothing(self) -> None:
        """It is not waited for longer than the time that silence may take."""
        self.silence_seconds = 0.05
        self.server.faults.add(Hang(), times=None)
        with self.assertRaisesRegex(Mistake, "cannot be reached: no answer in time"):
            await self.read()

    async def test_an_answer_that_stops_in_its_middle(self) -> None:
        """Silence after the first bytes ends it, too."""
        self.silence_seconds = 0.05
        self.server.faults.add(RawBody(b'{"metadata"', "stay"), times=None)
        with self.assertRaisesRegex(Mistake, "no byte in time"):
            await self.read()

    async def test_an_answer_that_comes_by_drops(self) -> None:
        """However often a byte comes, an answer has a time of its own."""
        self.clock = count(0, 200).__next__
        self.server.create(ingress_object("web", "shop.example.com"))
        with self.assertRaisesRegex(Mistake, "an answer took longer than 120 seconds"):
            await self.read()

    async def test_a_list_that_has_lost_its_objects(self) -> None:
        """It is not taken for an empty one."""
        for entries in (b"", b', "items": "x"', b', "items": [null, 5]'):
            self.server.faults.add(RawBody(b'{"metadata": {}%s}' % entries), times=1)
            self.assertIn("a list without objects in it", await self.mistake())

    async def test_a_list_that_goes_in_a_circle(self) -> None:
        """However long the circle is."""
        for token in (b"a", b"b", b"a"):
            self.server.faults.add(RawBody(b'{"metadata": {"continue": "%s"}, "items": []}' % token), times=1)
        self.assertIn("a list that has no end", await self.mistake())

    async def test_a_list_without_end(self) -> None:
        """Pages that lead to themselves are told for what they are."""
        self.server.faults.add(RawBody(b'{"metadata": {"continue": "again"}, "items": []}'), times=None)
        self.assertIn("a list that has no end", await self.mistake())

    async def test_objects_without_a_usable_name(self) -> None:
        """They are counted, and it is said what is wrong; the others are read."""
        web = ingress_object("web", "shop.example.com")
        odd: list[Json] = [
            {"spec": 1},
            *({**web, "metadata": {"name": "web", "namespace": one}} for one in (["x"], "s\ud800p")),
        ]
        answer = json.dumps({"metadata": {}, "items": [*odd, web]}).encode()
        self.server.faults.add(Answer(200, body=answer), resource="ingresses")
        found = await self.read()
        self.assertEqual(set(found.state.of(Kind.INGRESS)), {WEB})
        (told,) = found.unread
        self.assertEqual(told.what, "3 Ingresses")
        self.assertIn("metadata.name is missing", told.why)
        self.assertIn("web: metadata.namespace holds control or other unprintable characters", told.why)
        self.server.faults.add(Answer(200, body=answer), resource="ingresses")
        lines = (await self.run_command("lint", "--live")).stdout
        self.assertIn("3 Ingresses", lines)

    async def test_a_next_page_of_any_name(self) -> None:
        """What stands for it is given back as it came; nothing is wrong with the credentials."""
        self.server.faults.add(
            RawBody(rb'{"metadata": {"continue": "\ud800 &x=\u00e9"}, "items": []}'), resource="ingresses"
        )
        self.server.faults.add(RawBody(b'{"metadata": {}, "items": []}'), resource="ingresses")
        await self.read()
        # The server of the tests shows three octets that are no UTF-8 as three marks.
        pages = self.server.requests_of("list", "ingresses")
        self.assertEqual(
            [call.query.get("continue") for call in pages], [None, "\ufffd\ufffd\ufffd &x=\u00e9"]
        )

    async def test_no_tables(self) -> None:
        """Where the API server has none, the existence of Secrets is not checked, and everything else is."""
        self.server.create(ingress_object("web", "shop.example.com", "shop-tls"))
        self.server.faults.add(Answer(406), times=None, resource="secrets")
        found = await self.read()
        self.assertEqual(reasons(found), {Reason.SERVICE_NOT_FOUND})
        self.assertEqual(unread(found), ["Secret shop/shop-tls"])

    async def test_a_connection_that_ends(self) -> None:
        """An API server that takes connections and drops them is not reached."""
        self.server.faults.add(Drop(), times=None)
        self.assertIn("cannot be reached", await self.mistake())

    async def test_options_of_a_cluster_without_it(self) -> None:
        """They would do nothing for files, so they are refused."""
        result = await self.run_command("lint", "objects.yaml")
        self.assertEqual(result.exit_code, 2)
        self.assertIn("--kubeconfig is for a cluster: add --live", result.stderr)

    async def test_files_beside_a_cluster(self) -> None:
        """It is one or the other."""
        self.assertIn("not both", await self.mistake("objects.yaml"))

    async def test_a_plugin_that_fails(self) -> None:
        """How it ended and what it said is told, and not printed by itself; nothing is asked as nobody."""
        script = "import sys; sys.exit('the session of the cloud is over')"
        plugin = {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": sys.executable,
            "args": ["-c", script],
        }
        self.use_plugin(plugin)
        said = await self.mistake()
        self.assertIn("the credential plugin", said)
        self.assertIn("ended with status 1: the session of the cloud is over", said)

    async def test_a_plugin_that_gives_a_token(self) -> None:
        """It is used as kubectl would use it."""
        status = {"token": self.server.token}
        answer = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}
        script = f"import json; print(json.dumps({answer!r}))"
        plugin = {**answer, "command": sys.executable, "args": ["-c", script]}
        self.use_plugin(plugin)
        self.assertEqual((await self.run_command("lint", "--live")).exit_code, 0)

    def use_plugin(self, plugin: Json) -> None:
        config = yaml.safe_load(Path(self.kubeconfig).read_text("utf-8"))
        config["users"][0]["user"] = {"exec": plugin}
        Path(self.kubeconfig).write_text(yaml.safe_dump(config), "utf-8")


class CertificateMistakeTests(LiveCase):
    """An API server over TLS."""

    tls = True

    async def test_a_certificate_that_nobody_vouches_for(self) -> None:
        """It is not spoken to, and why is said."""
        self.assertEqual((await self.run_command("lint", "--live")).exit_code, 0)
        text = [
            line for line in Path(self.kubeconfig).read_text("utf-8").splitlines() if "authority" not in line
        ]
        Path(self.kubeconfig).write_text("\n".join(text), "utf-8")
        result = await self.run_command("lint", "--live")
        self.assertEqual(result.exit_code, 2)
        self.assertRegex(result.stderr, "cannot be reached: .*(certificate|self-signed)")


class LikeTests(LiveCase):
    """The options of a controller that runs in the cluster."""

    kinds = KindTable(
        (
            *KINDS,
            ResourceType("apps", "v1", "deployments", "Deployment"),
            ResourceType("apps", "v1", "daemonsets", "DaemonSet"),
        )
    )

    def workload(self, kind: str, *arguments: str) -> None:
        containers = [{"name": "proxy", "args": ["--quiet"]}, {"name": "controller", "args": list(arguments)}]
        metadata = {"name": "controller", "namespace": "system"}
        spec = {"template": {"spec": {"containers": containers}}}
        self.server.create({"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec})

    async def test_those_of_ingress_nginx_count_as_far_as_they_are_the_same(self) -> None:
        """Its class is served, and its ConfigMap read; what it has and we have not is told."""
        self.workload(
            "Deployment",
            "/nginx-ingress-controller",
            "--ingress-class=edge",
            "--configmap=$(POD_NAMESPACE)/options",
            "--enable-ssl-passthrough=false",
            "--validating-webhook=:8443",
        )
        metadata = {"name": "options", "namespace": "system"}
        self.server.create(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"no-such-key": "1"}}
        )
        web = ingress_object("web", "shop.example.com")
        web["spec"]["ingressClassName"] = "edge"
        self.server.create(web)
        result = await self.run_command("lint", "--live", "--like", "system/controller", "-v")
        self.assertIn("there is no Service shop/web", result.stdout)
        self.assertIn("no-such-key", result.stdout)
        self.assertIn("not taken over: validating-webhook", result.output)

    async def test_arguments_that_are_options_of_another_name_count(self) -> None:
        """What is not needed here is not told, and false as a word of its own is no value of a boolean."""
        self.workload(
            "Deployment",
            "/nginx-ingress-controller",
            "--watch-ingress-without-class",
            "false",
            "--sync-period=10m",
            "--health-check-path=/alive",
        )
        web = ingress_object("web", "shop.example.com")
        del web["spec"]["ingressClassName"]
        self.server.create(web)
        self.assertIn("NoClass", (await self.run_command("lint", "--live")).stdout)
        result = await self.run_command("lint", "--live", "--like", "system/controller")
        self.assertNotIn("NoClass", result.stdout)
        self.assertIn("not taken over: health-check-path\n", result.output)

    async def test_what_is_said_by_hand_comes_before(self) -> None:
        """A DaemonSet is as good; its options are those of twistd ingress."""
        self.workload(
            "DaemonSet", "twistd", "-n", "ingress", "--ingress-class", "edge", "--watch-without-class"
        )
        web = ingress_object("web", "shop.example.com")
        self.server.create(web)
        line = ("render", "--as", "gateway", "--live", "--like", "system/controller")
        self.assertIn("one of another class is left out", (await self.run_command(*line)).stdout)
        self.assertIn("shop.example.com", (await self.run_command(*line, "-o", "ingress-class=nginx")).stdout)

    async def test_what_is_not_there_is_a_mistake(self) -> None:
        """So is a name of another form."""
        for like, said in (
            ("system/absent", "neither a Deployment nor a DaemonSet"),
            ("absent", "of the form"),
        ):
            result = await self.run_command("lint", "--live", "--like", like)
            self.assertEqual((result.exit_code, said in result.stderr), (2, True), result.stderr)
