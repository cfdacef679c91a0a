"""The operator's ConfigMap among what is read, and options that a process needs a source for."""

import json

from ingress.ctl.inputs.files.choices import How
from ingress.ctl.inputs.input import object_of
from tests.ctl.inputs.files.files_case import FilesCase, an_ingress

CONFIG_MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: controller, namespace: ingress-nginx}
data:
  proxy-body-size: 8m
  hsts: "false"
  proxy-read-timeout: soon
"""
TCP_SERVICES = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: tcp, namespace: infra}
data:
  "5432": shop/database:5432
  "6379": shop/cache:redis
  "80": nonsense
---
apiVersion: v1
kind: Service
metadata: {name: cache, namespace: shop}
spec: {ports: [{port: 6379}]}
"""
NAMED = "configmap=ingress-nginx/controller"


class ConfigMapTests(FilesCase):
    """Options are what the running process would make of the same ConfigMap."""

    def test_it_decides_options(self) -> None:
        """What it says counts, for all layers, and what is wrong with it is a problem of the ConfigMap."""
        self.manifest(CONFIG_MAP, "controller.yaml")
        self.manifest(an_ingress(), "a/a.yaml")
        self.manifest(an_ingress(), "b/a.yaml")
        given = self.read(options=(NAMED,))
        self.assertEqual(len(given.layers), 2)
        for layer in given.layers:
            self.assertIsNone(layer.settings.translate.strict_transport)
        (problem,) = given.problems
        self.assertEqual((problem.kind, problem.field), ("ConfigMap", "data.proxy-read-timeout"))
        self.assertEqual(str(given.place(object_of(problem))), f"{self.folder}/controller.yaml:1")
        result = self.run_command("lint", "--output", "json", "-o", NAMED, str(self.folder))
        self.assertIn('"data.proxy-read-timeout"', result.stdout)

    def test_the_command_line_beats_it(self) -> None:
        """An option that is given is not the ConfigMap's to decide, and that is told where it says otherwise."""
        self.manifest(CONFIG_MAP)
        given = self.read(options=(NAMED, "hsts-max-age=7"))
        assert given.settings.translate.strict_transport is not None
        self.assertEqual(given.settings.translate.strict_transport.max_age_seconds, 7)
        self.assertIn("data.hsts", [problem.field for problem in given.problems])

    def test_it_is_read_whatever_namespaces_are_asked_for(self) -> None:
        """``-n`` does not hide it."""
        self.manifest(CONFIG_MAP)
        given = self.read(options=(NAMED,), how=How(("shop",)))
        self.assertIsNone(given.settings.translate.strict_transport)

    def test_it_is_not_there(self) -> None:
        """Where the input does not have it, options stay as they are, and a line says so."""
        self.manifest(an_ingress())
        given = self.read(options=(NAMED,))
        self.assertEqual(given.problems, ())
        ((what, why),) = self.unread(given)
        self.assertEqual(what, "ConfigMap ingress-nginx/controller")
        self.assertIn("is not in the input", why)


class PortServicesTests(FilesCase):
    """The ConfigMaps of ``--tcp-services-configmap`` and ``--udp-services-configmap`` among what is read."""

    def test_entries_have_lines(self) -> None:
        """What is wrong with an entry is told where it stands, be it nonsense or a Service that there is not."""
        path = self.manifest(TCP_SERVICES)
        found = self.run_command("lint", "-o", "tcp-services-configmap=infra/tcp", "--output", "json", path)
        told = [(one["field"], one["line"], one["rule"]) for one in json.loads(found.stdout)["findings"]]
        self.assertEqual(
            sorted(told),
            [
                ("data[5432]", 5, "ServiceNotFound"),
                ("data[6379]", 6, "ServicePortNotFound"),
                ("data[80]", 7, "InvalidOption"),
            ],
        )

    def test_udp(self) -> None:
        """Those of UDP are read alike, and mean ports of UDP; where the input has no such ConfigMap that is told."""
        cases: tuple[tuple[str, list[str], str], ...] = (
            (
                "udp",
                ["ServiceNotFound", "ServicePortNotFound", "InvalidOption"],
                "port 6379 of Service shop/cache is not a UDP port",
            ),
            ("gone", [], "ConfigMap infra/gone: is not in the input, so no UDP service is served"),
        )
        entries = TCP_SERVICES.replace("cache:redis", "cache:6379").replace("name: tcp", "name: udp")
        path = self.manifest(entries)
        for name, rules, told in cases:
            options = ("lint", "-o", f"udp-services-configmap=infra/{name}")
            found = self.run_command(*options, "--output", "json", path)
            self.assertEqual(
                sorted(one["rule"] for one in json.loads(found.stdout)["findings"]), sorted(rules)
            )
            self.assertIn(told, " ".join(self.run_command(*options, path).stdout.split()))


class EndpointTests(FilesCase):
    """Options that say how manifests are served mean something here without ``--manifests``."""

    def test_endpoints(self) -> None:
        """``-o endpoint`` says where a Service runs."""
        self.manifest(an_ingress())
        given = self.read(options=("endpoint=default/web=127.0.0.1:8080",))
        addresses = [
            endpoint.address for state in given.snapshot.backends.values() for endpoint in state.endpoints
        ]
        self.assertEqual(addresses, ["127.0.0.1"])
