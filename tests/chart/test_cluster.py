"""What is rendered, at a real API server; and the way from a release of ingress-nginx to one of this chart, as it is documented."""

import json
import os
import subprocess
from pathlib import Path
from textwrap import dedent
from typing import Any

import yaml
from twisted.trial.unittest import SkipTest

from tests.chart.api_server import KUBECONFIG
from tests.chart.chart_case import IMAGE, ChartTestCase, helm_program
from tests.chart.test_environments import NAMES, values
from tests.k8s_case import CHART

OTHERS_KINDS = ("monitoring.coreos.com", "cert-manager.io", "keda.sh")
"""Groups whose kinds a bare API server does not have."""
SELECTOR = {
    "app.kubernetes.io/name": "txingress",
    "app.kubernetes.io/instance": "txingress",
    "app.kubernetes.io/component": "controller",
}
THEIRS = {
    "Chart.yaml": "apiVersion: v2\nname: ingress-nginx\nversion: 4.14.0\n",
    "values.yaml": "serviceAnnotations: {}\nclassAnnotations: {}\n",
    "templates/all.yaml": dedent(
        """\
        apiVersion: v1
        kind: Service
        metadata:
          name: ingress-nginx-controller
          namespace: {{ .Release.Namespace }}
          annotations: {{ toJson .Values.serviceAnnotations }}
          labels: {app.kubernetes.io/name: ingress-nginx, app.kubernetes.io/managed-by: Helm}
        spec:
          type: LoadBalancer
          ipFamilyPolicy: SingleStack
          ipFamilies: [IPv4]
          ports:
            - {name: http, port: 80, protocol: TCP, targetPort: http, appProtocol: http}
            - {name: https, port: 443, protocol: TCP, targetPort: https, appProtocol: https}
          selector:
            app.kubernetes.io/name: ingress-nginx
            app.kubernetes.io/instance: ingress-nginx
            app.kubernetes.io/component: controller
        ---
        apiVersion: networking.k8s.io/v1
        kind: IngressClass
        metadata:
          name: nginx
          annotations: {{ toJson .Values.classAnnotations }}
        spec: {controller: k8s.io/ingress-nginx}
        """
    ),
}
"""A chart with what a release of ingress-nginx has that is to be kept."""


class ClusterTestCase(ChartTestCase):
    """A test at the API server of ``tests.chart.api_server``."""

    def setUp(self) -> None:
        """Without one there is nothing to test."""
        if KUBECONFIG not in os.environ:
            raise SkipTest("there is no API server; make test-helm CLUSTER=1 starts one")
        self.environment = {
            **os.environ,
            "KUBECONFIG": os.environ[KUBECONFIG],
            "HOME": str(Path(self.mktemp()).resolve()),
        }

    def run_ok(self, *command: str, text: str = "") -> str:
        """The output of a command that has to succeed."""
        done = subprocess.run(
            command, input=text, capture_output=True, text=True, env=self.environment, timeout=120
        )
        self.assertEqual(done.returncode, 0, f"{' '.join(command)}: {done.stderr}")
        return done.stdout

    def kubectl(self, *arguments: str, text: str = "") -> str:
        return self.run_ok("kubectl", *arguments, text=text)

    def helm(self, *arguments: str) -> str:
        return self.run_ok(helm_program(), *arguments)

    def get(self, *arguments: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.kubectl("get", *arguments, "--output=json"))
        return found

    def make_namespace(self, name: str) -> None:
        manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        self.kubectl("apply", "--filename=-", text=json.dumps(manifest))


class AppliedTests(ClusterTestCase):
    """Server side dry runs."""

    def test_every_file_of_values(self) -> None:
        """The API server takes all that is rendered of each file, by its own schemas and checks."""
        for namespace in ("txingress", "shop"):
            self.make_namespace(namespace)
        for name in NAMES:
            found = [
                one
                for one in self.rendered(values(name))
                if one["apiVersion"].partition("/")[0] not in OTHERS_KINDS
            ]
            self.kubectl(
                "apply", "--server-side", "--dry-run=server", "--validate=strict", "--filename=-",
                text=yaml.safe_dump_all(found),
            )  # fmt: skip


class GoingOverTests(ClusterTestCase):
    """From a release of ingress-nginx (docs/from-ingress-nginx.md)."""

    def test_address_and_class_stay(self) -> None:
        """The Service and the IngressClass of the other release go over to this one, and are the same objects all the time."""
        theirs = Path(self.mktemp()).resolve()
        for name, text in THEIRS.items():
            path = theirs / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        where = "--namespace=ingress-nginx"
        named = f"--set=image.repository={IMAGE['image']['repository']}"
        mine = Path(self.mktemp()).resolve()
        mine.write_text(
            "controller: {service: {externalTrafficPolicy: Cluster, appProtocol: true}}\n", "utf-8"
        )
        self.make_namespace("ingress-nginx")
        self.helm("install", "ingress-nginx", str(theirs), where)
        service = ("service", "ingress-nginx-controller", where)
        before = self.get(*service)
        status = {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.10"}]}}}
        self.kubectl(
            "patch", *service, "--subresource=status", "--type=merge", f"--patch={json.dumps(status)}"
        )

        # What is to stay is said while its own release writes it: helm uninstall reads what that has written, and nothing else.
        keep = r"helm\.sh/resource-policy"
        self.helm(
            "upgrade", "ingress-nginx", str(theirs), where, "--reuse-values",
            f"--set-string=serviceAnnotations.{keep}=keep", f"--set-string=classAnnotations.{keep}=keep",
        )  # fmt: skip

        # Beside, it takes nothing.
        self.helm(
            "install", "txingress", str(CHART), where, f"--values={mine}", named, "--set=beside.enabled=true"
        )
        self.assertEqual(self.get("ingressclass", "txingress")["spec"]["controller"], "txingress/ingress")

        # It serves the class of the other one, and the address leads to it.
        self.helm(
            "upgrade", "txingress", str(CHART), where, f"--values={mine}", named, "--set=beside.enabled=true",
            "--set=beside.ingressClass=nginx", "--set=beside.controllerValue=k8s.io/ingress-nginx",
            "--set=controller.ingressClassResource.enabled=false", "--set=controller.publishService.enabled=false",
            "--set=controller.publishNodeAddresses=false",
        )  # fmt: skip
        self.kubectl(
            "patch", *service, "--type=merge", f"--patch={json.dumps({'spec': {'selector': SELECTOR}})}"
        )
        pods = self.get("deployment", "txingress", where)["spec"]["template"]["metadata"]["labels"]
        self.assertLessEqual(SELECTOR.items(), pods.items())

        # The other release goes, and leaves both; then this one takes them.
        self.helm("uninstall", "ingress-nginx", where)
        self.helm(
            "upgrade", "txingress", str(CHART), where, f"--values={mine}", named,
            "--set=controller.service.nameOverride=ingress-nginx-controller", "--take-ownership",
        )  # fmt: skip
        after = self.get(*service)
        self.assertEqual(after["metadata"]["uid"], before["metadata"]["uid"])
        (address,) = after["status"]["loadBalancer"]["ingress"]
        self.assertEqual(address["ip"], "192.0.2.10")
        self.assertEqual(after["spec"]["clusterIP"], before["spec"]["clusterIP"])
        self.assertEqual(
            [one["nodePort"] for one in after["spec"]["ports"]],
            [one["nodePort"] for one in before["spec"]["ports"]],
        )
        self.assertEqual(after["spec"]["selector"], SELECTOR)
        self.assertEqual(after["metadata"]["annotations"]["meta.helm.sh/release-name"], "txingress")
        nginx = self.get("ingressclass", "nginx")
        self.assertEqual(nginx["metadata"]["annotations"]["meta.helm.sh/release-name"], "txingress")
        names = [one["metadata"]["name"] for one in self.get("services", where)["items"]]
        self.assertEqual(names, ["ingress-nginx-controller"])
        (container,) = self.get("deployment", "txingress", where)["spec"]["template"]["spec"]["containers"]
        self.assertIn("--publish-service=ingress-nginx/ingress-nginx-controller", container["args"])

    def test_webhook_keeps_its_certificate(self) -> None:
        """The certificate that Helm has made goes on through an upgrade."""
        self.make_namespace("webhook")
        arguments = (
            "txingress", str(CHART), "--namespace=webhook", "--set=image.repository=a/b", "--set=controller.admissionWebhooks.enabled=true",
            "--set=fullnameOverride=judging", "--set=controller.ingressClassResource.enabled=false",
        )  # fmt: skip
        self.helm("install", *arguments)
        secret = ("secret", "judging-admission-tls", "--namespace=webhook")
        before = self.get(*secret)["data"]
        self.helm("upgrade", *arguments)
        self.assertEqual(self.get(*secret)["data"], before)
        (webhook,) = self.get("validatingwebhookconfiguration", "judging")["webhooks"]
        self.assertEqual(webhook["clientConfig"]["caBundle"], before["tls.crt"])
