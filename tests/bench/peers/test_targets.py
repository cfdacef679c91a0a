"""The configurations that are written for the proxies."""

import json
import re
from pathlib import Path

import yaml
from twisted.trial.unittest import SynchronousTestCase

from bench.loads.catalog import GRPC_HOST, H2C_HOST, HOSTS, LOADS, RSA_HOST, SECURE_UPLOAD_HOST, UPLOAD_HOST
from bench.peers import targets
from bench.peers.ingress_nginx import LUA
from bench.peers.targets import COMPILED, OURS, TARGETS, Site, available
from bench.setup.certificate import write_key_pair, write_rsa_pair


class ConfigurationTests(SynchronousTestCase):
    """What each proxy is started with."""

    def setUp(self) -> None:
        """Make a site whose ports can be told apart."""
        folder = Path(self.mktemp()).absolute()
        folder.mkdir()
        pairs = write_key_pair(folder, HOSTS), write_rsa_pair(folder, (RSA_HOST,))
        programs = {"envoy": "/envoy", "goproxy": "/goproxy"}
        self.site = Site(folder, 4001, 4002, 4003, 5001, 5002, 5003, *pairs, programs)

    def text(self, name: str) -> str:
        """The command and all files that the target called *name* writes."""
        (target,) = (one for one in TARGETS if one.name == name)
        words = target.command(self.site)
        files = [Path(found) for word in words for found in re.findall(r"/\S+", word)]
        kept = [path.read_text() for path in files if path.is_file() and self.site.folder in path.parents]
        return "\n".join([*words, *kept])

    def test_all_ports(self) -> None:
        """Every proxy that is asked in HTTP/2 knows both ports of its own and all of the backends."""
        for target in TARGETS:
            ports = (
                ("4001", "4002", "5001")
                if len(target.protocols) == 1
                else ("4001", "4002", "5001", "5002", "5003")
            )
            text = self.text(target.name)
            for port in ports:
                self.assertIn(port, text, target.name)

    def test_hosts_of_grpc(self) -> None:
        """Hosts whose backend speaks HTTP/2 are told to everybody who is asked for them."""
        for target in TARGETS:
            if len(target.protocols) > 1:
                text = self.text(target.name)
                self.assertIn(H2C_HOST, text, target.name)
                self.assertIn(GRPC_HOST, text, target.name)

    def test_envoy(self) -> None:
        """Envoy offers HTTP/2 with TLS, and asks the backends of gRPC in nothing else."""
        self.text("envoy")
        resources = json.loads((self.site.folder / "envoy.json").read_text())["static_resources"]
        (_, secure) = resources["listeners"]
        tls = secure["filter_chains"][0]["transport_socket"]["typed_config"]["common_tls_context"]
        self.assertEqual(tls["alpn_protocols"], ["h2", "http/1.1"])
        http2 = {one["name"] for one in resources["clusters"] if "typed_extension_protocol_options" in one}
        self.assertEqual(http2, {"h2c", "grpc"})

    def test_ingress_nginx(self) -> None:
        """What is configured as ingress-nginx does it has its Lua, its log and its fields; each host has its server, its backend and its certificate."""
        text = self.text("ingress-nginx-like")
        for host in (*HOSTS, RSA_HOST):
            self.assertIn(f"server_name {host};", text)
        for words in (
            "balancer_by_lua_block",
            "log_by_lua_block",
            "rewrite_by_lua_block",
            "proxy_buffering off",
        ):
            self.assertIn(words, text)
        self.assertEqual(text.count("grpc_pass"), 2)
        self.assertIn('["h2c"] = { { "127.0.0.1", 5002 } }', text)
        self.assertIn(f'["{RSA_HOST}"] = {{ "{self.site.rsa_pair.certificate_path}"', text)
        self.assertEqual(text.count("client_max_body_size 20m"), 2)
        self.assertEqual(
            text.count("proxy_set_header X-"), 9 * text.count("proxy_pass http://upstream_balancer;")
        )
        self.assertTrue(LUA.is_file())

    def test_compiled(self) -> None:
        """Ours as machine code is the same command by another interpreter, and is left out where nobody has compiled it."""
        commands = [one.command(self.site) for one in TARGETS if one.name in OURS]
        self.assertEqual(commands[0][1:], commands[1][1:])
        self.assertEqual(commands[1][0], str(COMPILED / "bin" / "python"))
        [compiled] = [one for one in TARGETS if one.name == "ours-compiled"]
        self.assertEqual(compiled.environment, {"PYTHONPATH": ""}, "sources would come before it")
        environment = Path(self.mktemp())
        self.patch(targets, "COMPILED", environment)
        self.assertNotIn("ours-compiled", {one.name for one in available(TARGETS)})
        room = environment / "lib" / "python3.11" / "site-packages" / "ingress" / "http"
        room.mkdir(parents=True)
        (room / "heads.py").write_text("")
        self.assertNotIn("ours-compiled", {one.name for one in available(TARGETS)}, "it is plain")
        (room / "heads.cpython-311-x86_64-linux-gnu.so").write_text("")
        self.assertIn("ours-compiled", {one.name for one in available(TARGETS)})

    def test_ours(self) -> None:
        """Every host of a load has an Ingress; those of gRPC say so, and large bodies are allowed where they go."""
        self.text("ours")
        manifests = list(yaml.safe_load_all((self.site.folder / "manifests.yaml").read_text()))
        ingresses = {
            rule["host"]: one["metadata"].get("annotations", {})
            for one in manifests
            if one["kind"] == "Ingress"
            for rule in one["spec"]["rules"]
        }
        self.assertEqual(set(ingresses), {*HOSTS, RSA_HOST})
        self.assertLessEqual({load.host for load in LOADS}, {*HOSTS, RSA_HOST})
        prefix = "nginx.ingress.kubernetes.io"
        for host in (GRPC_HOST, H2C_HOST):
            self.assertEqual(ingresses[host], {f"{prefix}/backend-protocol": "GRPC"})
        for host in (UPLOAD_HOST, SECURE_UPLOAD_HOST):
            self.assertEqual(ingresses[host], {f"{prefix}/proxy-body-size": "20m"})
