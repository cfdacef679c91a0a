"""Tests for ``ingress.cluster.api.credentials``."""

import base64
import json
import os
import sys
from pathlib import Path
from typing import Any

import yaml
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.api import credentials
from ingress.cluster.api.credentials import CredentialSource
from ingress.errors import StartError
from tests.fakes.apiserver.kubeconfig import kubeconfig
from tests.fakes.certificates import issue, make_authority

SECRET = "c2VjcmV0LXRva2Vu"


class CredentialCase(SynchronousTestCase):
    """A folder for what credentials are read from."""

    def setUp(self) -> None:
        self.folder = Path(self.mktemp())
        self.folder.mkdir()

    def write(self, text: str, name: str = "config") -> str:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return str(path)

    def pod(self, environ: dict[str, str], **more: Any) -> CredentialSource:
        return CredentialSource(environ=environ, service_account_directory=self.folder / "account", **more)

    def token(self, configuration: Any) -> str | None:
        """The header value that a request would carry."""
        key = configuration.auth_settings().get("BearerToken")
        return None if key is None else key["value"]


class CredentialSourceTests(CredentialCase):
    """Finding the API server."""

    def refusal(self, source: CredentialSource) -> str:
        error = self.assertRaises(StartError, source.load)
        self.assertNotIn("\n", str(error))
        self.assertNotIn(SECRET, str(error))
        return str(error)

    def test_kubeconfig(self) -> None:
        """A named kubeconfig gives address and token; retries of the package are off."""
        path = self.write(kubeconfig("https://10.0.0.1:6443", make_authority("A").pem, "t"))
        configuration = CredentialSource(path, environ={}).load()
        self.assertEqual(configuration.host, "https://10.0.0.1:6443")
        self.assertEqual(self.token(configuration), "Bearer t")
        self.assertIs(configuration.retries, False)
        self.assertIs(configuration.keep_alive, True)
        self.assertTrue(configuration.verify_ssl)

    def test_environment(self) -> None:
        """KUBECONFIG comes before the service account, and that before the home folder."""
        here = self.write(kubeconfig("http://here", None, None))
        self.write(kubeconfig("http://home", None, None), ".kube/config")
        environ = {"KUBECONFIG": here, "HOME": str(self.folder)}
        self.assertEqual(CredentialSource(environ=environ).load().host, "http://here")
        del environ["KUBECONFIG"]
        self.assertEqual(CredentialSource(environ=environ).load().host, "http://home")
        environ["KUBERNETES_SERVICE_HOST"] = "10.0.0.1"
        self.assertIn("service account", self.refusal(self.pod(environ)))

    def test_service_account(self) -> None:
        """In a pod, the mounted account is used; a line end after its token does no harm."""
        self.write("t\n", "account/token")
        self.write(make_authority("A").pem.decode(), "account/ca.crt")
        environ = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
        configuration = self.pod(environ).load()
        self.assertEqual(configuration.host, "https://[fd00::1]:443")
        self.assertEqual(self.token(configuration), "bearer t")

    def test_service_account_that_is_no_text(self) -> None:
        """Files of the account that are not UTF-8 end in one line, as those do that are not there."""
        environ = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
        for name in ("token", "ca.crt"):
            self.write("t", "account/token")
            self.write(make_authority("A").pem.decode(), "account/ca.crt")
            self.pod(environ).load()
            (self.folder / "account" / name).write_bytes(b"# Autorit\xe9")
            message = self.refusal(self.pod(environ))
            self.assertIn(f"account/{name} is not UTF-8", message)

    def test_token_of_blanks(self) -> None:
        """A token file with nothing in it is refused, by name; where it is emptied later, or gone, the last token stays in use."""
        environ = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
        self.write(make_authority("A").pem.decode(), "account/ca.crt")
        self.write(" \n", "account/token")
        self.assertIn("account/token has no token", self.refusal(self.pod(environ)))
        self.write("one", "account/token")
        clock = Clock()
        configuration = self.pod(environ, clock=clock.seconds).load()
        for text, said in (("", "has no token in it"), ("\n", "has no token in it"), (None, "No such file")):
            if text is None:
                (self.folder / "account" / "token").unlink()
            else:
                self.write(text, "account/token")
            clock.advance(60)
            with capturedLogs() as events:
                self.assertEqual([self.token(configuration), self.token(configuration)], ["bearer one"] * 2)
            (event,) = events
            self.assertIn(said, formatEvent(event))
        self.write("two", "account/token")
        clock.advance(60)
        self.assertEqual(self.token(configuration), "bearer two")

    def test_server(self) -> None:
        """Another server URL holds against the loaders, which write theirs before each request."""
        self.write("t\n", "account/token")
        self.write(make_authority("A").pem.decode(), "account/ca.crt")
        environ = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
        configuration = self.pod(environ, server="https://localhost:1234/").load()
        for _ in range(2):
            self.assertEqual(self.token(configuration), "bearer t")
            self.assertEqual(configuration.host, "https://localhost:1234")

    def test_server_alone(self) -> None:
        """A server URL alone is enough, for a proxy that has the credentials."""
        configuration = CredentialSource(server="http://127.0.0.1:8001", environ={}).load()
        self.assertEqual(configuration.host, "http://127.0.0.1:8001")
        self.assertIsNone(self.token(configuration))

    def test_token_file(self) -> None:
        """A token from a file loses its line end, and is read anew with the configuration."""
        config = yaml.safe_load(kubeconfig("http://here", None, None))
        config["users"][0]["user"] = {"tokenFile": "token"}
        path = self.write(yaml.safe_dump(config))
        for token in ("one", "two"):
            self.write(f"{token}\n", "token")
            self.assertEqual(self.token(CredentialSource(path, environ={}).load()), f"Bearer {token}")

    def test_plugin(self) -> None:
        """A credential plugin is run, and run again when the configuration is loaded anew."""
        counter = self.folder / "runs"
        status = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential"}
        program = (
            "import json, pathlib;"
            f"runs = pathlib.Path({str(counter.resolve())!r});"
            "count = len(runs.read_text()) if runs.exists() else 0;"
            "runs.write_text('x' * (count + 1));"
            f"print(json.dumps({{**{json.dumps(status)}, 'status': {{'token': f'token{{count}}'}}}}))"
        )
        config = yaml.safe_load(kubeconfig("http://here", None, None))
        config["users"][0]["user"] = {
            "exec": {
                "apiVersion": "client.authentication.k8s.io/v1",
                "command": sys.executable,
                "args": ["-S", "-c", program],
                "interactiveMode": "Never",
            }
        }
        source = CredentialSource(self.write(yaml.safe_dump(config)), environ={})
        self.assertEqual(self.token(source.load()), "Bearer token0")
        self.assertEqual(self.token(source.load()), "Bearer token1")

    def test_nothing_found(self) -> None:
        """Without anything to go by, the one line says what could be named."""
        message = self.refusal(CredentialSource(environ={"HOME": str(self.folder)}))
        self.assertIn("name a kubeconfig by --kubeconfig or KUBECONFIG", message)
        self.assertIn("manifests", message)

    def test_missing_file(self) -> None:
        """A kubeconfig that does not exist is named."""
        self.assertEqual(
            self.refusal(CredentialSource("/no/such/config", environ={})),
            "kubeconfig /no/such/config: no such file",
        )

    def test_unknown_context(self) -> None:
        """A context that the file does not have is named."""
        path = self.write(kubeconfig("http://here", None, SECRET))
        message = self.refusal(CredentialSource(path, "elsewhere", environ={}))
        self.assertIn("elsewhere", message)
        self.assertIn(path, message)

    def test_broken_files(self) -> None:
        """Whatever is wrong with a kubeconfig, it ends in one line that quotes no credentials."""
        good = yaml.safe_load(kubeconfig("http://here", None, SECRET))
        broken: list[Any] = [
            [],
            "text",
            {},
            {**good, "users": {"name": SECRET}},
            {**good, "clusters": [{"name": "tests"}]},
            {**good, "clusters": [{"name": "tests", "cluster": {}}]},
            {**good, "clusters": [{"name": "tests", "cluster": {"server": "ftp://x"}}]},
            {**good, "clusters": [{"name": "tests", "cluster": {"server": 5}}]},
            {**good, "clusters": [{"name": "tests", "cluster": {"server": "https://x:port"}}]},
            {**good, "contexts": [{"name": "tests"}]},
            {**good, "contexts": [{"name": "tests", "context": {"cluster": "nowhere"}}]},
            {**good, "users": [{"name": "tests", "token": SECRET}]},
            {**good, "users": [{"name": "tests", "user": {"tokenFile": "/no/such/token"}}]},
        ]
        for config in broken:
            message = self.refusal(CredentialSource(self.write(yaml.safe_dump(config)), environ={}))
            self.assertIn("kubeconfig", message)
        for text in ("", "a: [", f"token: {SECRET}\n  x: - y", "\t", "\x00"):
            self.refusal(CredentialSource(self.write(text), environ={}))

    def test_bad_server(self) -> None:
        """A server that is no http or https URL is refused."""
        for server in ("localhost:6443", "ftp://x", "https://", "https://x:99999", "https://[::1"):
            self.assertIn("--server", self.refusal(CredentialSource(server=server, environ={})))


class KubeconfigShapeTests(CredentialCase):
    """What is wrong with a kubeconfig is told with file, field and reason."""

    def refusal(self, config: object, context: str | None = None) -> str:
        """Return what is said of a kubeconfig, without its name."""
        path = self.write(config if isinstance(config, str) else yaml.safe_dump(config))
        error = self.assertRaises(StartError, CredentialSource(path, context, environ={}).load)
        self.assertTrue(str(error).startswith(f"kubeconfig {path}: "), str(error))
        self.assertNotIn(SECRET, str(error))
        return str(error).removeprefix(f"kubeconfig {path}: ")

    def test_fields(self) -> None:
        """Each field that is missing, of another type or leads nowhere is named, with what there is."""
        server = {"server": "https://10.0.0.1"}
        good = {
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
            "clusters": [{"name": "k", "cluster": server}],
            "users": [{"name": "u", "user": {"token": SECRET}}],
        }

        def context(value: object) -> dict[str, object]:
            return {**good, "contexts": [{"name": "c", "context": value}]}

        def cluster(**more: object) -> dict[str, object]:
            fields = {name.replace("_", "-"): value for name, value in more.items()}
            return {**good, "clusters": [{"name": "k", "cluster": {**server, **fields}}]}

        def user(value: object) -> dict[str, object]:
            return {**good, "users": [{"name": "u", "user": value}]}

        for config, message in (
            ("", "it is empty"),
            ([SECRET], "an object is wanted, but this is a list"),
            ({**good, "current-context": 5}, "current-context: text is wanted, but this is a number"),
            ({**good, "current-context": "d"}, "current-context: there is no context d; there are c"),
            ({**good, "current-context": ""}, "it has no current-context, and none was named; there are c"),
            ({**good, "contexts": {}}, "contexts: a list is wanted, but this is an object"),
            ({**good, "contexts": [{}]}, "contexts[0].name is missing"),
            ({**good, "contexts": [{"name": "c"}]}, "contexts[0].context is missing"),
            (context(None), "contexts[0].context.cluster is missing"),
            (context({"user": "u"}), "contexts[0].context.cluster is missing"),
            (context({"cluster": "x"}), "contexts[0].context.cluster: there is no cluster x; there are k"),
            (
                context({"cluster": "k", "user": "x"}),
                "contexts[0].context.user: there is no user x; there are u",
            ),
            (cluster(server=5), "clusters[0].cluster.server: text is wanted, but this is a number"),
            (cluster(server=None), "clusters[0].cluster.server is missing: the cluster has no server"),
            (
                cluster(proxy_url=SECRET),
                "clusters[0].cluster.proxy-url is no URL of a proxy, such as http://proxy.example.com:3128",
            ),
            ({**good, "users": [{"name": "u", "token": SECRET}]}, "users[0].user is missing"),
            (user({"token": 5}), "users[0].user.token: text is wanted, but this is a number"),
            (
                user({"token": f"{SECRET}\n{SECRET}"}),
                "users[0].user.token has other characters than printable ones of ASCII",
            ),
            (user({"exec": SECRET}), "users[0].user.exec: an object is wanted, but this is text"),
            (user({"exec": {"command": SECRET}}), "users[0].user.exec.apiVersion is missing"),
            (
                cluster(insecure_skip_tls_verify="false"),
                "clusters[0].cluster.insecure-skip-tls-verify: true or false is wanted, but this is text",
            ),
            (
                cluster(extensions=5),
                "clusters[0].cluster.extensions: a list is wanted, but this is a number",
            ),
            (
                user({"exec": {"command": "x", "apiVersion": "v1", "provideClusterInfo": "no"}}),
                "users[0].user.exec.provideClusterInfo: true or false is wanted, but this is text",
            ),
            (
                user({"exec": {"command": "x", "apiVersion": "v1", "interactiveMode": 5}}),
                "users[0].user.exec.interactiveMode: text is wanted, but this is a number",
            ),
            (
                user({"auth-provider": SECRET}),
                "users[0].user.auth-provider: an object is wanted, but this is text",
            ),
            (
                user({"auth-provider": {"name": "azure"}}),
                "users[0].user.auth-provider.name: there is no auth provider 'azure'; there are gcp, oidc."
                " A credential plugin (exec) does the same",
            ),
            (
                user({"auth-provider": {"name": "oidc", "config": {"id-token": SECRET}}}),
                "the auth-provider of the user has no token that can be used",
            ),
            (
                user({"auth-provider": {"name": "oidc", "config": {"id-token": 5}}}),
                "not the shape of a kubeconfig, or of its auth-provider (TypeError)",
            ),
            (
                cluster(certificate_authority_data="x"),
                "clusters[0].cluster.certificate-authority-data is no base64",
            ),
            (user({"as": 5}), "users[0].user.as: text is wanted, but this is a number"),
            (user({"as": "a\nb"}), "users[0].user.as has control characters"),
            (
                user({"as-groups": ["g"]}),
                "users[0].user.as is missing, the user whom as-groups belongs to",
            ),
            (user({"as-uid": "5"}), "users[0].user.as is missing, the user whom as-uid belongs to"),
            (
                user({"as": "a", "as-groups": "g"}),
                "users[0].user.as-groups: a list is wanted, but this is text",
            ),
            (
                user({"as": "a", "as-groups": [5]}),
                "users[0].user.as-groups: texts are wanted, but here is a number",
            ),
            (
                user({"as": "a", "as-user-extra": ["x"]}),
                "users[0].user.as-user-extra: an object is wanted, but this is a list",
            ),
            (
                user({"as": "a", "as-user-extra": {"x": "y"}}),
                "users[0].user.as-user-extra: a list is wanted, but this is text",
            ),
            (user({"client-key-data": "äö"}), "users[0].user.client-key-data is no base64"),
            ("a: 2026-99-99\n", "it has a value that cannot be read"),
            ("a: 1\n---\nb: 2\n", "another document begins in line 2"),
        ):
            self.assertEqual(self.refusal(config), message)
        self.assertEqual(self.refusal(good, "d"), "there is no context d; there are c")

    def test_what_is_not_in_use_is_not_judged(self) -> None:
        """Other contexts, clusters and users may be whatever they are."""
        config = yaml.safe_load(kubeconfig("http://here", None, "t"))
        config["contexts"].append({"name": "other", "context": {"cluster": "none"}})
        config["users"].append({"name": "other", "user": 5})
        source = CredentialSource(self.write(yaml.safe_dump(config)), environ={})
        self.assertEqual(source.load().host, "http://here")

    def test_certificates(self) -> None:
        """Certificates and keys with which no handshake can succeed are told before one is tried."""
        authority = make_authority("A")
        (chain, key), (_, other_key) = issue(authority, ["one"]), issue(authority, ["other"])

        def encoded(pem: bytes) -> str:
            return base64.b64encode(pem).decode()

        for cluster, user, message in (
            (
                {"certificate-authority-data": encoded(b"x")},
                {},
                "the certificate-authority of the cluster is no PEM",
            ),
            (
                {},
                {"client-certificate-data": encoded(chain)},
                "the user has a client-certificate, and no client-key",
            ),
            (
                {},
                {
                    "client-certificate-data": encoded(chain),
                    "client-key-data": encoded(other_key),
                },
                "the client-key of the user is not that of the client-certificate",
            ),
            (
                {},
                {"client-certificate-data": encoded(b"x"), "client-key-data": encoded(key)},
                "the client-certificate or the client-key of the user is no PEM, or has a password",
            ),
        ):
            config = yaml.safe_load(kubeconfig("https://10.0.0.1", None, None))
            config["clusters"][0]["cluster"].update(cluster)
            config["users"][0]["user"] = user
            self.assertEqual(self.refusal(config), message)

    def test_of_several_files_the_first_current_context_counts(self) -> None:
        """As in kubectl: a file that is added behind another does not lead to another cluster."""
        first = self.write(kubeconfig("http://first", None, None), "first")
        second = self.write(kubeconfig("http://second", None, None).replace("tests", "others"), "second")
        self.assertEqual(CredentialSource(f"{first}:{second}", environ={}).load().host, "http://first")
        self.assertEqual(CredentialSource(f"{second}:{first}", environ={}).load().host, "http://second")

    def test_of_several_files_the_one_is_named(self) -> None:
        """What is wrong in one of several files names it."""
        first = self.write(kubeconfig("http://first", None, None), "first")
        second = self.write("users: 5", "second")
        error = self.assertRaises(StartError, CredentialSource(f"{first}:{second}", environ={}).load)
        self.assertTrue(
            str(error).endswith(f": {second}: users: a list is wanted, but this is a number"), error
        )

    def test_of_several_files_one_may_be_empty(self) -> None:
        """As in kubectl, also the first."""
        first = self.write("", "first")
        second = self.write(kubeconfig("http://second", None, None), "second")
        for files in (f"{first}:{second}", f"{second}:{first}"):
            self.assertEqual(CredentialSource(files, environ={}).load().host, "http://second")

    def test_fields_without_a_value(self) -> None:
        """What is null, or an empty text, is as what is not there, as in kubectl; and so is a user who is null."""
        authority = make_authority("A").pem
        self.write(authority.decode(), "ca.crt")
        config = yaml.safe_load(kubeconfig("https://10.0.0.1", None, None))
        cluster = config["clusters"][0]["cluster"]
        (user,) = config["users"]
        for nothing in (None, ""):
            cluster.update({"certificate-authority": "ca.crt", "certificate-authority-data": nothing})
            cluster.update(
                {"insecure-skip-tls-verify": nothing, "tls-server-name": nothing, "proxy-url": nothing}
            )
            names = ("client-certificate", "client-certificate-data", "client-key", "token", "tokenFile")
            user["user"] = dict.fromkeys((*names, "username", "password", "exec", "auth-provider"), nothing)
            loaded = CredentialSource(self.write(yaml.safe_dump(config)), environ={}).load()
            self.assertEqual(loaded.ssl_ca_cert, str(self.folder.absolute() / "ca.crt"))
            self.assertIsNone(loaded.cert_file)
            self.assertNotIn("BearerToken", loaded.api_key)
            self.assertTrue(loaded.verify_ssl)
        user["user"] = None
        self.assertEqual(
            CredentialSource(self.write(yaml.safe_dump(config)), environ={}).load().host, "https://10.0.0.1"
        )

    def test_files_are_beside_the_one_that_names_them(self) -> None:
        """Those of a user, too, whose cluster is in another folder; so is the program for credentials, unless it is looked for everywhere."""
        authority = make_authority("A")
        chain, key = issue(authority, ["one"])
        self.write(authority.pem.decode(), "clusters/ca.crt")
        self.write(chain.decode(), "users/me.crt")
        self.write(key.decode(), "users/me.key")
        config = yaml.safe_load(kubeconfig("https://10.0.0.1", None, None))
        config["clusters"][0]["cluster"]["certificate-authority"] = "ca.crt"
        user = {"name": config["users"][0]["name"], "user": {}}
        del config["users"]
        first = self.write(yaml.safe_dump(config), "clusters/config")
        user["user"] = {"client-certificate": "me.crt", "client-key": "./me.key"}
        second = self.write(yaml.safe_dump({"users": [user]}), "users/config")
        loaded = CredentialSource(f"{first}:{second}", environ={}).load()
        self.assertEqual(loaded.ssl_ca_cert, str(self.folder.absolute() / "clusters" / "ca.crt"))
        self.assertEqual(loaded.cert_file, str(self.folder.absolute() / "users" / "me.crt"))
        program = Path(
            self.write(
                '#!/bin/sh\necho \'{"apiVersion": "client.authentication.k8s.io/v1beta1", "kind": "ExecCredential", "status": {"token": "made"}}\'\n',
                "users/bin/program",
            )
        )
        program.chmod(0o700)
        for command in ("./bin/program", "bin/program", str(program.absolute())):
            plugin = {
                "apiVersion": "client.authentication.k8s.io/v1beta1",
                "command": command,
                "args": None,
                "env": None,
                "provideClusterInfo": True,
                "installHint": "x",
            }
            user["user"] = {"exec": plugin}
            second = self.write(yaml.safe_dump({"users": [user]}), "users/config")
            self.assertEqual(
                self.token(CredentialSource(f"{first}:{second}", environ={}).load()), "Bearer made"
            )

    def test_socks(self) -> None:
        """A proxy of SOCKS needs a package that not everybody has, be it a kubeconfig or the environment that names it."""
        config = yaml.safe_load(kubeconfig("https://10.0.0.1", None, None))
        config["clusters"][0]["cluster"]["proxy-url"] = "socks5://10.0.0.2:1080"
        asked: list[str] = []
        self.patch(credentials, "find_spec", asked.append)
        self.assertEqual(
            self.refusal(config), "its proxy is one of SOCKS, for which the Python package PySocks is missing"
        )
        self.patch(credentials, "find_spec", lambda name: name)
        loaded = CredentialSource(self.write(yaml.safe_dump(config)), environ={}).load()
        self.assertEqual((loaded.proxy, asked), ("socks5://10.0.0.2:1080", ["socks"]))

    def test_proxy_of_the_environment(self) -> None:
        """What is no URL is told, unless the API server is reached without it; the package reads these variables itself."""
        config = yaml.safe_load(kubeconfig("https://10.0.0.1", None, None))
        path = self.write(yaml.safe_dump(config))
        left = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
        self.patch(os, "environ", {**left, "HTTPS_PROXY": f"{SECRET}:3128"})
        message = self.refusal(config)
        self.assertIn("the environment", message)
        self.assertIn("such as http://proxy.example.com:3128", message)
        os.environ["NO_PROXY"] = "10.0.0.1"
        CredentialSource(path, environ={}).load()

    def test_a_folder(self) -> None:
        """A folder is there, and no kubeconfig."""
        error = self.assertRaises(StartError, CredentialSource(str(self.folder), environ={}).load)
        self.assertEqual(str(error), f"kubeconfig {self.folder}: it is no file")


class NamespaceTests(CredentialCase):
    """The namespace that we are in."""

    def context(self, namespace: str | None) -> str:
        """A kubeconfig with two contexts, the current one with this namespace."""
        config = yaml.safe_load(kubeconfig("http://here", None, None))
        other = {**config["contexts"][0], "name": "other"}
        other["context"] = {**other["context"], "namespace": "there"}
        if namespace is not None:
            config["contexts"][0]["context"]["namespace"] = namespace
        config["contexts"].append(other)
        return self.write(yaml.safe_dump(config))

    def test_environment_first(self) -> None:
        """POD_NAMESPACE comes before all others."""
        source = CredentialSource(self.context("here"), environ={"POD_NAMESPACE": "mine"})
        self.assertEqual(source.namespace(), "mine")

    def test_of_the_kubeconfig(self) -> None:
        """A kubeconfig says it in the context in use."""
        path = self.context("here")
        self.assertEqual(CredentialSource(path, environ={}).namespace(), "here")
        self.assertEqual(CredentialSource(path, "other", environ={}).namespace(), "there")
        self.assertEqual(CredentialSource(self.context(None), environ={}).namespace(), "default")

    def test_without_current_context(self) -> None:
        """A context that is named needs no current one, and of several files the first one counts."""
        config = yaml.safe_load(Path(self.context("here")).read_text(encoding="utf-8"))
        del config["current-context"]
        path = self.write(yaml.safe_dump(config), "first")
        self.assertEqual(CredentialSource(path, "other", environ={}).namespace(), "there")
        config["contexts"][1]["context"]["namespace"] = "elsewhere"
        second = self.write(yaml.safe_dump(config | {"current-context": "other"}), "second")
        files = f"{path}:/no/such/file:{second}"
        self.assertEqual(CredentialSource(files, environ={}).namespace(), "there")

    def test_of_the_service_account(self) -> None:
        """A service account says it in its file, whose line end does no harm."""
        environ = {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}
        self.write("ours\n", "account/namespace")
        self.assertEqual(self.pod(environ).namespace(), "ours")

    def test_unknown(self) -> None:
        """Where nobody says it, or nothing that can be a namespace, it is the default one."""
        environ = {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}
        self.assertEqual(self.pod(environ).namespace(), "default")
        self.write("../kube-system", "account/namespace")
        self.assertEqual(self.pod(environ).namespace(), "default")
        self.assertEqual(CredentialSource(environ={}).namespace(), "default")
        self.assertEqual(CredentialSource(self.write("[]"), environ={}).namespace(), "default")
