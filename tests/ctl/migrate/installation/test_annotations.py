"""What becomes of annotations of Services, provider by provider."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.ctl.migrate.installation.annotations import annotation_fate
from ingress.ctl.migrate.installation.carried import Fate

AWS = "service.beta.kubernetes.io/aws-load-balancer"
AZURE = "service.beta.kubernetes.io/azure"
OTHER = "service.beta.kubernetes.io"


class AnnotationTests(SynchronousTestCase):
    """Which can be one Service's only, and which are nobody's."""

    def fate(self, name: str, value: str = "x") -> Fate | None:
        """What becomes of it."""
        found = annotation_fate(name, value, ())
        return None if found is None else found[0]

    def test_addresses_and_names(self) -> None:
        """Both would claim them."""
        for name in (
            f"{AWS}-name", f"{AWS}-eip-allocations", f"{AWS}-private-ipv4-addresses", f"{AWS}-ipv6-addresses",
            f"{AWS}-source-nat-ipv6-prefixes", f"{AZURE}-pip-name", f"{AZURE}-pip-name-ipv6", f"{AZURE}-dns-label-name",
            f"{AZURE}-load-balancer-ipv4", f"{AZURE}-pls-name", f"{AZURE}-pls-ip-configuration-ip-address", f"{AZURE}-pls-fqdns",
            "networking.gke.io/load-balancer-ip-addresses", f"{OTHER}/do-loadbalancer-name", f"{OTHER}/do-loadbalancer-hostname",
            f"{OTHER}/scw-loadbalancer-id", f"{OTHER}/scw-loadbalancer-ip-ids", f"{OTHER}/exoscale-loadbalancer-id",
            f"{OTHER}/alibaba-cloud-loadbalancer-id", "service.kubernetes.io/tke-existed-lbid", "kubernetes.io/elb.id",
            "kubernetes.io/elb.eip-id", "load-balancer.hetzner.cloud/name", "load-balancer.hetzner.cloud/hostname",
            "load-balancer.hetzner.cloud/private-ipv4", "loadbalancer.openstack.org/load-balancer-id",
            "loadbalancer.openstack.org/port-id", "oci.oraclecloud.com/reserved-ips", "metallb.io/loadBalancerIPs",
            "metallb.universe.tf/allow-shared-ip", "kube-vip.io/loadbalancerIPs", "kube-vip.io/loadbalancerHostname",
            "kube-vip.io/requestedIP", "lbipam.cilium.io/ips", "io.cilium/lb-ipam-ips", "purelb.io/addresses",
            "external-dns.alpha.kubernetes.io/hostname", "external-dns.alpha.kubernetes.io/internal-hostname",
            "external-dns.alpha.kubernetes.io/target", "tailscale.com/hostname",
        ):  # fmt: skip
            self.assertIs(self.fate(name), Fate.LATER, name)

    def test_what_several_balancers_have(self) -> None:
        """Certificates, networks, pools and buckets, without which it is no such balancer; and what is on or off."""
        for name in (
            f"{AWS}-type", f"{AWS}-scheme", f"{AWS}-ssl-cert", f"{AWS}-subnets", f"{AWS}-security-groups",
            f"{AWS}-ip-address-type", f"{AWS}-access-log-s3-bucket-name", f"{AZURE}-pip-prefix-id", f"{AZURE}-load-balancer-internal",
            f"{AZURE}-load-balancer-resource-group", f"{OTHER}/do-loadbalancer-certificate-id", f"{OTHER}/scw-loadbalancer-certificate-ids",
            f"{OTHER}/scw-loadbalancer-pn-ids", f"{OTHER}/exoscale-loadbalancer-service-instancepool-id",
            f"{OTHER}/alibaba-cloud-loadbalancer-cert-id", f"{OTHER}/alibaba-cloud-loadbalancer-vswitch-id",
            "kubernetes.civo.com/firewall-id", "load-balancer.hetzner.cloud/location", "load-balancer.hetzner.cloud/ipv4-rdns",
            "load-balancer.hetzner.cloud/http-managed-certificate-name", "loadbalancer.openstack.org/floating-network-id",
            "loadbalancer.openstack.org/subnet-id", "loadbalancer.openstack.org/flavor-id", "metallb.io/address-pool",
            "cloud.google.com/l4-rbs", "service.kubernetes.io/topology-mode", "svccontroller.k3s.cattle.io/lbpool",
        ):  # fmt: skip
            self.assertIs(self.fate(name), Fate.TAKEN, name)
        for name in ("load-balancer.hetzner.cloud/use-private-ip", f"{OTHER}/scw-loadbalancer-use-hostname"):
            self.assertIs(self.fate(name, "true"), Fate.TAKEN, name)

    def test_what_a_program_wrote(self) -> None:
        """Of what it has made for that Service, or to know what it has written."""
        for name in (
            "cloud.google.com/neg-status", "service.kubernetes.io/backend-service", "service.kubernetes.io/firewall-rule",
            "service.kubernetes.io/firewall-rule-for-hc-ipv6", "service.kubernetes.io/healthcheck",
            "service.kubernetes.io/tcp-forwarding-rule-ipv6", "service.kubernetes.io/loadbalance-id",
            "kubernetes.digitalocean.com/load-balancer-id", "load-balancer.hetzner.cloud/id", "load-balancer.hetzner.cloud/ipv4",
            "loadbalancer.openstack.org/load-balancer-address", "metallb.io/ip-allocated-from-pool", "kube-vip.io/vipHost",
            "kube-vip.io/hwaddr", "purelb.io/allocated-by", "field.cattle.io/publicEndpoints", "objectset.rio.cattle.io/id",
            "argocd.argoproj.io/tracking-id", "kapp.k14s.io/original", "kubectl.kubernetes.io/last-applied-configuration",
            "meta.helm.sh/release-name", "helm.sh/resource-policy",
        ):  # fmt: skip
            self.assertIsNone(self.fate(name), name)

    def test_groups_of_endpoints(self) -> None:
        """One that has a name is one Service's."""
        for value, becomes in (
            ('{"ingress": true}', Fate.TAKEN),
            ('{"exposed_ports": {"443": {}}}', Fate.TAKEN),
            ('{"exposed_ports": {"443": {"name": "edge"}}}', Fate.LATER),
        ):
            self.assertIs(self.fate("cloud.google.com/neg", value), becomes, value)

    def test_what_names_an_object_of_the_namespace(self) -> None:
        """There is none in ours."""
        found = annotation_fate("cloud.google.com/backend-config", '{"default": "a"}', ())
        self.assertEqual(found, (Fate.TAKEN, "copy what it names to the namespace txingress"))
