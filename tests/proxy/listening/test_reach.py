"""What this process listens on is no endpoint."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.proxy.listening.reach import endpoint_rules
from ingress.settings import Settings


class EndpointRulesTests(SynchronousTestCase):
    """The settings as rules."""

    def test_listeners(self) -> None:
        """Every listener counts: HTTP, HTTPS, the admin port, and that of the probes."""
        settings = Settings(
            http=("tcp:80",), https=("tcp:443:interface=192.0.2.1",), admin="tcp:10254", probes="tcp:10255"
        )
        found = endpoint_rules(settings.listeners, (), tuple, allows_local=False)
        self.assertEqual(found.listeners, (("", 80), ("192.0.2.1", 443), ("", 10254), ("", 10255)))
