"""The options about reporting to the cluster."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.object_meta import Address
from ingress.model.cluster.objects import ObjectKey
from ingress.model.reporting.reporting import Reporting
from ingress.options.values import read_addresses, read_object_name, read_ttl
from ingress.tap import Options


def reporting_of(*arguments: str) -> Reporting:
    options = Options()
    options.parseOptions(arguments)
    return options.settings().reporting


class ReportingOptionsTests(SynchronousTestCase):
    """What the options come to."""

    def test_all(self) -> None:
        """Every option reaches the settings; addresses may be given several times, and several at once."""
        found = reporting_of(
            "--publish-status-address=192.0.2.1, LB.test.",
            "--publish-status-address=2001:DB8::0:1",
            "--publish-service=ours/txingress",
            "--election-id=ours.leader",
            "--election-namespace=ours",
            "--election-ttl=30",
            "--clear-status-on-shutdown",
        )
        addresses = (Address("192.0.2.1"), Address("", "lb.test"), Address("2001:db8::1"))
        self.assertEqual(
            found, Reporting("ours.leader", "ours", 30, addresses, ObjectKey("ours", "txingress"), True)
        )

    def test_defaults(self) -> None:
        """Without options no address is published, and the lease has a name and lasts a while."""
        self.assertEqual(reporting_of(), Reporting("ingress-leader", None, 15, (), None))

    def test_addresses(self) -> None:
        """What is neither an IP address nor a host name is refused, and so is what only looks like one."""
        for text in (
            "",
            ",",
            "192.0.2.1,",
            "192.0.2.256",
            "1.2.3",
            "fe80::1%eth0",
            "a b",
            "under_score.test",
            "-a.test",
            "a..test",
            "*.test",
            "192.0.2.1:80",
            "http://a.test",
            "a" * 64 + ".test",
        ):
            self.assertRaises(ValueError, read_addresses, text)

    def test_names(self) -> None:
        """The name of a lease is one that the API takes."""
        self.assertEqual(read_object_name("ingress-leader.v1"), "ingress-leader.v1")
        for text in ("", "Leader", "a/b", "a_b", "-a", "a" * 254):
            self.assertRaises(ValueError, read_object_name, text)

    def test_ttl(self) -> None:
        """A lease lasts whole seconds, long enough to be renewed."""
        self.assertEqual((read_ttl("2"), read_ttl("30s")), (2, 30))
        for text in ("s", "1m", "0", "1", "1.5", "-3", "3601", "x", "", "٣"):
            self.assertRaises(ValueError, read_ttl, text)

    def test_complaint(self) -> None:
        """A complaint names the option and what was written."""
        with self.assertRaises(SystemExit) as caught:
            reporting_of("--publish-status-address=300.1.1.1")
        self.assertEqual(
            str(caught.exception),
            "ingress: --publish-status-address '300.1.1.1': '300.1.1.1' is neither an IP address nor a host name",
        )
