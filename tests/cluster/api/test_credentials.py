"""Tests for ``ingress.cluster.api.credentials``."""

import json
import sys
from pathlib import Path
from typing import Any

import yaml
from kubernetes.config import ConfigException
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.api.credentials import CredentialSource
from ingress.errors import StartError
from tests.fakes.apiserver.kubeconfig import kubeconfig
from tests.fakes.certificates import make_authority

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


class CredentialSourceTests(CredentialCase):
    """Finding the API server."""

    def token(self, configuration: Any) -> str | None:
        """The header value that a request would carry."""
        key = configuration.auth_settings().get("BearerToken")
        return None if key is None else key["value"]

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
        """A token file with nothing in it is refused, by name; one that is emptied later keeps requests from going without a token."""
        environ = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
        self.write(make_authority("A").pem.decode(), "account/ca.crt")
        self.write(" \n", "account/token")
        self.assertIn("account/token has no token", self.refusal(self.pod(environ)))
        self.write("one", "account/token")
        clock = Clock()
        configuration = self.pod(environ, clock=clock.seconds).load()
        for text in ("", "\n"):
            self.write(text, "account/token")
            clock.advance(60)
            self.assertRaises(ConfigException, self.token, configuration)
        self.write("two", "account/token")
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
        self.assertIn("name a kubeconfig", message)
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
