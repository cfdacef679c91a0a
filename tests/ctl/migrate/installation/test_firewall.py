"""What is written for somebody who has requests inspected by ModSecurity."""

from ingress.ctl.inputs.ingress_nginx.installation import Surroundings
from ingress.ctl.migrate.arguments import arguments_report
from tests.ctl.inputs.controllers import workload
from tests.ctl.migrate.installation.installation_case import InstallationCase
from tests.k8s_case import options_of, pod


class FirewallTests(InstallationCase):
    """The component ``firewall``, as ``kubectl kustomize`` builds it."""

    def test_it_is_there_once(self) -> None:
        """The processes are asked for once, before and after ingress-nginx is gone, and have the memory of the component."""
        report = arguments_report(workload(), Surroundings(()), inspects=True)
        for is_gone in (False, True):
            (container,) = pod(self.build(report, is_gone=is_gone)["Deployment", "txingress"])["containers"]
            given = [one for one in container["args"] if one.startswith("--firewall")]
            self.assertEqual(given, ["--firewall-processes=2"])
            self.assertEqual(options_of(container).settings().translate.firewall.processes, 2)
            self.assertEqual(container["resources"]["limits"]["memory"], "1536Mi")
