"""What Services get of those that lead to an ingress-nginx."""

from typing import Any

import yaml

from tests.ctl.inputs.controllers import LABELS, PORTS, container, service
from tests.ctl.migrate.installation.installation_case import InstallationCase, fates, report_of, said
from tests.k8s_case import pod

SERVICE = ("Service", "txingress")
INTERNAL = "ingress-nginx-controller-internal"


class ServiceTests(InstallationCase):
    """The one in front."""

    def spec(self, *around: dict[str, Any], **fields: Any) -> dict[str, Any]:
        """That of the Service that comes of it."""
        found: dict[str, Any] = self.build(report_of(*around, **fields))[SERVICE]["spec"]
        return found

    def test_a_load_balancer(self) -> None:
        """Its policy and whom it lets in; nothing else is another."""
        usual = self.overlay("deployment-loadbalancer")[SERVICE]["spec"]
        self.assertEqual(self.spec(service()), {**usual, "externalTrafficPolicy": "Cluster"})
        more: dict[str, Any] = {
            "loadBalancerSourceRanges": ["10.0.0.0/8"],
            "loadBalancerClass": "a/b",
            "ipFamilyPolicy": "PreferDualStack",
        }
        self.assertEqual(self.spec(service(**more)), {**usual, "externalTrafficPolicy": "Cluster", **more})

    def test_rights_on_the_config_maps_of_streams(self) -> None:
        """Those of TCP and UDP services may be followed where they are, and no other; without any there is no such file."""
        self.assertNotIn("rights.yaml", report_of(service()).files)
        args = ("--tcp-services-configmap=a/tcp", "--udp-services-configmap=a/udp")
        built = self.build(report_of(service(), args=args))
        role, binding = (built[kind, "txingress-services"] for kind in ("Role", "RoleBinding"))
        self.assertEqual((role["metadata"]["namespace"], binding["metadata"]["namespace"]), ("a", "a"))
        self.assertEqual(
            role["rules"],
            [
                {
                    "apiGroups": [""],
                    "resources": ["configmaps"],
                    "resourceNames": ["tcp", "udp"],
                    "verbs": ["get", "list", "watch"],
                }
            ],
        )
        self.assertEqual(binding["roleRef"]["name"], "txingress-services")
        account = {"kind": "ServiceAccount", "name": "txingress", "namespace": "txingress"}
        self.assertEqual(binding["subjects"], [account])
        self.assertIn(("ServiceAccount", "txingress"), built)
        args = ("--tcp-services-configmap=a/tcp", "--udp-services-configmap=b/udp")
        apart = yaml.safe_load_all(report_of(service(), args=args).files["rights.yaml"])
        self.assertEqual(
            [(one["kind"], one["metadata"]["namespace"]) for one in apart],
            [("Role", "a"), ("RoleBinding", "a"), ("Role", "b"), ("RoleBinding", "b")],
        )

    def test_what_one_service_alone_can_have_waits(self) -> None:
        """As a comment: an address, names; with the comment's marks taken away, it is there."""
        waiting = {
            "external-dns.alpha.kubernetes.io/hostname": "a.example.com",
            "metallb.universe.tf/loadBalancerIPs": "192.0.2.1",
            "service.beta.kubernetes.io/aws-load-balancer-eip-allocations": "eipalloc-1",
            "service.beta.kubernetes.io/aws-load-balancer-name": "edge",
        }
        shared = {"service.beta.kubernetes.io/aws-load-balancer-type": "nlb"}
        left = {"kubectl.kubernetes.io/last-applied-configuration": "{}", "cloud.google.com/neg-status": "{}"}
        report = report_of(service(annotations={**waiting, **shared, **left}, loadBalancerIP="192.0.2.1"))
        found = fates(report)
        self.assertEqual({name for name, fate in found.items() if fate == "LATER"}, {
            "loadBalancerIP", *(f"annotation {name}" for name in waiting)
        })  # fmt: skip
        built = self.build(report)[SERVICE]
        self.assertEqual(built["metadata"]["annotations"], shared)
        self.assertNotIn("loadBalancerIP", built["spec"])
        text = (
            report.files["kustomization.yaml"]
            .replace("      # - op", "      - op")
            .replace("      #   ", "        ")
        )
        (patch,) = (one for one in yaml.safe_load(text)["patches"] if one["target"]["kind"] == "Service")
        values = {
            one["path"].rpartition("/")[2].replace("~1", "/"): one["value"]
            for one in yaml.safe_load(patch["patch"])
        }
        self.assertEqual(values["loadBalancerIP"], "192.0.2.1")
        self.assertEqual({name: values[name] for name in waiting}, waiting)

    def test_ports(self) -> None:
        """TLS that ends before it, services of TCP and UDP by number; not those for metrics and the webhook."""
        ports = [
            {"name": "http", "port": 80, "targetPort": 80, "nodePort": 31080},
            {"name": "https", "port": 443, "targetPort": "http", "appProtocol": "http"},
            {"name": "5432-tcp", "port": 5432, "targetPort": "5432-tcp"},
            {"port": 9000},
            {"name": "lost", "port": 1, "targetPort": "nowhere"},
            {"name": "443-udp", "port": 443, "protocol": "UDP", "targetPort": 443},
            {"name": "sctp", "port": 3868, "protocol": "SCTP"},
            {"name": "metrics", "port": 10254, "targetPort": "metrics"},
            {"name": "webhook", "port": 8443, "targetPort": 8443},
        ]
        named = [*PORTS, {"name": "5432-tcp", "containerPort": 5432}]
        web = [
            {"name": "http", "port": 80, "targetPort": "http"},
            {"name": "https", "port": 443, "targetPort": "http", "appProtocol": "http"},
        ]
        tcp = [
            {"name": "5432-tcp", "port": 5432, "targetPort": 5432},
            {"name": "port-9000", "port": 9000, "targetPort": 9000},
        ]
        udp = [{"name": "443-udp", "port": 443, "targetPort": 443, "protocol": "UDP"}]
        for args, own, left in (
            ((), web, {"5432-tcp", "port-9000", "443-udp"}),
            (("--tcp-services-configmap=a/tcp",), [*web, *tcp], {"443-udp"}),
            (("--udp-services-configmap=a/udp",), [*web, *udp], {"5432-tcp", "port-9000"}),
            (("--tcp-services-configmap=a/b", "--udp-services-configmap=a/b"), [*web, *tcp, *udp], set()),
        ):
            report = report_of(service(ports=ports), containers=[container(*args, ports=named)])
            found = {field for field, (fate, _) in said(report).items() if fate.name == "LEFT"}
            self.assertEqual(found, {f"port {name}" for name in ("lost", "sctp", *left)})
            self.assertEqual(self.build(report)[SERVICE]["spec"]["ports"], own)

    def test_tls_that_ends_at_the_load_balancer(self) -> None:
        """As ingress-nginx has it for AWS: HTTPS leads to the port of HTTP, and what a snippet listens at leads nowhere here."""
        named = [
            {"name": "http", "containerPort": 80},
            {"name": "https", "containerPort": 80},
            {"name": "tohttps", "containerPort": 2443},
        ]
        ports = [
            {"name": "http", "port": 80, "targetPort": "tohttps"},
            {"name": "https", "port": 443, "targetPort": "http"},
        ]
        report = report_of(service(ports=ports), containers=[container(ports=named)])
        fate, why = said(report)["port http"]
        self.assertEqual(fate.name, "LEFT")
        self.assertIn("nothing listens at 2443 here", why)
        self.assertIn("let it send the PROXY protocol, and port 80 lead to http", why)
        own = [{"name": "https", "port": 443, "targetPort": "http"}]
        self.assertEqual(self.build(report)[SERVICE]["spec"]["ports"], own)

    def test_nothing_listens_but_for_services_of_tcp(self) -> None:
        """There is no port for these without the argument that has them."""
        ports = [
            {"name": "http", "port": 80, "targetPort": "http"},
            {"name": "db", "port": 5432, "targetPort": 5432},
        ]
        report = report_of(service(ports=ports))
        fate, why = said(report)["port db"]
        self.assertEqual(fate.name, "LEFT")
        self.assertNotIn("PROXY", why)
        taken = report_of(service(ports=ports), args=("--tcp-services-configmap=a/tcp",))
        self.assertNotIn("port db", said(taken))

    def test_other_ports_of_the_container(self) -> None:
        """It may listen at others, by its arguments; the Service finds ours by their names."""
        ports = [
            {"name": "web", "port": 80, "targetPort": 8080},
            {"name": "tls", "port": 443, "targetPort": 8443},
        ]
        named = [{"name": "http", "containerPort": 8080}, {"name": "https", "containerPort": 8443}]
        args = ("--http-port=8080", "--https-port=8443")
        found = self.spec(service(ports=ports), containers=[container(*args, ports=named)])
        self.assertEqual([one["targetPort"] for one in found["ports"]], ["http", "https"])

    def test_a_port_that_is_no_number(self) -> None:
        """However many digits it has: ingress-nginx does not start with it, so the usual one counts."""
        for text in ("http", "9" * 5000, "0x1_"):
            report = report_of(service(), args=(f"--http-port={text}",))
            self.assertEqual(report.arguments[0].taken.becomes, "refused")
            self.assertEqual(fates(report), fates(report_of(service())))

    def test_a_node_port(self) -> None:
        """Of that overlay; the numbers are free when the other one is gone."""
        ports = [
            {"name": "http", "port": 80, "targetPort": "http", "nodePort": 32080},
            {"name": "https", "port": 443, "targetPort": "https", "nodePort": 32443},
        ]
        report = report_of(service(type="NodePort", ports=ports))
        self.assertIn("overlays/deployment-nodeport]", report.files["kustomization.yaml"])
        self.assertNotIn("--publish-service=txingress/txingress", report.own)
        self.assertEqual(fates(report)["nodePort 32443"], "LATER")
        self.assertIn(
            "      #   path: /spec/ports/1/nodePort\n      #   value: 32443\n",
            report.files["kustomization.yaml"],
        )
        for is_gone, numbers in ((False, [None, None]), (True, [32080, 32443])):
            spec = self.build(report, is_gone=is_gone)[SERVICE]["spec"]
            self.assertEqual(spec["type"], "NodePort")
            self.assertEqual([one.get("nodePort") for one in spec["ports"]], numbers)

    def test_ports_on_nodes_that_somebody_wished_for(self) -> None:
        """Of a load balancer, too, as Helm writes it; as it is read from a cluster, the API server may have given them."""
        ports = [{"name": "http", "port": 80, "targetPort": "http", "nodePort": 32080}]
        given: dict[str, Any] = {"ports": ports, "clusterIP": "10.0.0.1", "healthCheckNodePort": 32000}
        written = service(**given)
        read = service(**given)
        read["metadata"]["uid"] = "1"
        found = fates(report_of(written))
        self.assertEqual((found["nodePort 32080"], found["clusterIP"]), ("LATER", "LEFT"))
        self.assertEqual(found["healthCheckNodePort"], "LEFT")
        self.assertEqual(fates(report_of(read)).keys(), {"externalTrafficPolicy", "ports"})

    def test_the_number_of_a_port_on_nodes_in_an_annotation(self) -> None:
        """Where the load balancer asks who is healthy: there is nobody at that number of another Service."""
        name = "service.beta.kubernetes.io/aws-load-balancer-healthcheck-port"
        for value, becomes in (("32000", "LEFT"), ("10254", "TAKEN"), ("traffic-port", "TAKEN")):
            report = report_of(service(annotations={name: value}, healthCheckNodePort=32000))
            self.assertEqual(fates(report)[f"annotation {name}"], becomes)

    def test_inside_of_the_cluster(self) -> None:
        """It has no policy for what comes from outside, which the API would refuse."""
        found = self.spec(service(type="ClusterIP"))
        self.assertEqual(found["type"], "ClusterIP")
        self.assertNotIn("externalTrafficPolicy", found)

    def test_addresses_of_nodes(self) -> None:
        """The policy waits with them: the API refuses it of what is not reached from outside."""
        report = report_of(
            service(type="ClusterIP", externalIPs=["192.0.2.1"], externalTrafficPolicy="Local")
        )
        self.assertEqual(fates(report)["externalTrafficPolicy"], "LATER")
        found = self.build(report)[SERVICE]["spec"]
        self.assertFalse(found.keys() & {"externalIPs", "externalTrafficPolicy"})
        found = self.build(report, is_gone=True)[SERVICE]["spec"]
        self.assertEqual((found["externalIPs"], found["externalTrafficPolicy"]), (["192.0.2.1"], "Local"))

    def test_a_policy_that_nobody_says(self) -> None:
        """It is the API's in a file of Helm's, as it would be in the cluster, and not that of the overlay."""
        silent = service()
        del silent["spec"]["externalTrafficPolicy"]
        self.assertEqual(self.spec(silent)["externalTrafficPolicy"], "Cluster")
        silent["spec"]["type"] = "NodePort"
        self.assertNotIn("externalTrafficPolicy", fates(report_of(silent)))

    def test_one_client_to_one_pod(self) -> None:
        """How long goes with that alone, or the API refuses it."""
        config = {"clientIP": {"timeoutSeconds": 60}}
        found = self.spec(service(sessionAffinity="ClientIP", sessionAffinityConfig=config))
        self.assertEqual((found["sessionAffinity"], found["sessionAffinityConfig"]), ("ClientIP", config))
        self.assertNotIn("sessionAffinityConfig", self.spec(service(sessionAffinityConfig=config)))

    def test_labels(self) -> None:
        """By which providers of addresses select Services; not those of whoever installed it."""
        labelled = service()
        labelled["metadata"]["labels"] = {
            **LABELS, "helm.sh/chart": "a", "kapp.k14s.io/app": "1", "app.kubernetes.io/version": "1", "pool": "public",
        }  # fmt: skip
        inside = {**labelled, "metadata": {**labelled["metadata"], "name": INTERNAL}}
        built = self.build(report_of(labelled, inside))
        own = {"app.kubernetes.io/name": "txingress", "pool": "public"}
        self.assertEqual(built[SERVICE]["metadata"]["labels"], own)
        self.assertEqual(built["Service", "txingress-internal"]["metadata"]["labels"], own)

    def test_two(self) -> None:
        """The one whose address is published comes first; the other one gets a file, with all that it has."""
        inside = service(INTERNAL, annotations={"a/internal": "true"}, loadBalancerIP="10.0.0.1")
        report = report_of(
            inside,
            service(),
            service("ingress-nginx-controller-metrics", ports=[{"port": 10254, "targetPort": "metrics"}]),
        )
        self.assertEqual(list(report.files), ["kustomization.yaml", "service-internal.yaml"])
        built = self.build(report)["Service", "txingress-internal"]
        self.assertEqual(built["metadata"]["annotations"], {"a/internal": "true"})
        self.assertEqual(built["spec"]["selector"], {"app.kubernetes.io/name": "txingress"})
        self.assertEqual(
            (built["spec"]["type"], built["spec"]["externalTrafficPolicy"]), ("LoadBalancer", "Cluster")
        )
        self.assertIn('\n# spec.loadBalancerIP: "10.0.0.1"\n', report.files["service-internal.yaml"])
        args = (f"--publish-service=ingress-nginx/{INTERNAL}",)
        other = report_of(service(), inside, args=args)
        self.assertEqual(self.build(other)[SERVICE]["metadata"]["annotations"], {"a/internal": "true"})

    def test_beside_the_network_of_nodes(self) -> None:
        """There is no Service in that overlay, so it is a file; its address is published if it was."""
        fields: dict[str, Any] = {"kind": "DaemonSet", "hostNetwork": True}
        args = ("--publish-service=ingress-nginx/ingress-nginx-controller",)
        report = report_of(service(), args=args, **fields)
        built = self.build(report)
        self.assertEqual(built[SERVICE]["spec"]["type"], "LoadBalancer")
        found = pod(built["DaemonSet", "txingress"])["containers"][0]["args"]
        self.assertIn("--publish-service=txingress/txingress", found)
        self.assertNotIn("--publish-service=txingress/txingress", report_of(service(), **fields).own)
        self.assertNotIn("--publish-service=txingress/txingress", report_of(args=args, **fields).own)

    def test_those_of_others(self) -> None:
        """By what they select, and where they are."""
        elsewhere = service()
        elsewhere["metadata"]["namespace"] = "shop"
        for other in (service(selector={**LABELS, "instance": "b"}), service(selector={}), elsewhere):
            self.assertEqual(report_of(other).around, ())

    def test_what_waits_in_a_file_stays_in_its_line(self) -> None:
        """Whatever an annotation is called."""
        hostile = "x: y\nkind: Secret\n#/ip"
        report = report_of(
            service(),
            service(INTERNAL, annotations={hostile: "a\nb", "metallb.io/loadBalancerIPs": "192.0.2.1"}),
        )
        self.assertEqual(fates(report)[f"annotation {hostile}"], "LATER")
        text = report.files["service-internal.yaml"]
        self.assertEqual(yaml.safe_load(text)["kind"], "Service")
        self.assertIn('\n# metadata.annotations.metallb.io/loadBalancerIPs: "192.0.2.1"\n', text)
        self.assertIn('\n# metadata.annotations."x: y\\nkind: Secret\\n#/ip": "a\\nb"\n', text)

    def test_a_name_that_another_has(self) -> None:
        """The Service of the component for the webhook."""
        report = report_of(service("a"), service("a-admission"))
        self.assertEqual(list(report.files), ["kustomization.yaml", "service-admission-1.yaml"])

    def test_names_that_are_no_names_of_files(self) -> None:
        """They lead nowhere else, and no two are alike."""
        names = (
            "ingress-nginx-controller/../../x",
            "ingress-nginx-controller-x",
            "ingress-nginx-controller-X",
            "😀",
        )
        report = report_of(service(), *(service(name) for name in names))
        self.assertEqual(len(report.files), 5)
        for name in report.files:
            self.assertRegex(name, r"\A[a-z0-9-]+\.yaml\Z")
        self.build(report)

    def test_odd_shapes(self) -> None:
        """Whatever stands where something else is meant leads nowhere, or is not taken over."""
        odd: Any
        for odd in (
            None,
            1,
            "x",
            [],
            {},
            [1],
            {"a": 1},
            [[]],
            [{"name": 1, "port": []}],
            True,
            [{"targetPort": {}}],
        ):
            report_of(service(annotations=odd))
            report_of(service(annotations={"a/b": odd}))
            for name in (
                "type", "selector", "ports", "externalIPs", "loadBalancerIP", "externalTrafficPolicy", "ipFamilies",
                "sessionAffinity", "loadBalancerSourceRanges",
            ):  # fmt: skip
                report_of(service(**{name: odd}))
