"""Where the access log goes, as options say it."""

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.objects import ObjectKey
from ingress.model.serving.log_destinations import SyslogAddress, SyslogTransport
from ingress.options.config_map import read_config_map
from ingress.options.log_destinations import read_access_log
from ingress.options.merging import merge
from ingress.options.option import DEFAULTS

UDP = SyslogAddress(SyslogTransport.UDP, "10.0.0.7", 1514)


class ReadingTests(SynchronousTestCase):
    """``--access-log``."""

    def test_meanings(self) -> None:
        """A file by its name, and a collector with what its messages say."""
        cases: tuple[tuple[str, Any], ...] = (
            ("/var/log/a", "/var/log/a"),
            ("syslog", "syslog"),
            ("syslog:/dev/log", SyslogAddress(SyslogTransport.UNIX, "/dev/log")),
            ("syslog:udp:10.0.0.7:1514", UDP),
            ("syslog:tcp:[2001:db8::1]:601", SyslogAddress(SyslogTransport.TCP, "2001:db8::1", 601)),
            (
                "syslog:tcp:logs.test:601,facility=user,tag=edge,rfc=3164",
                SyslogAddress(SyslogTransport.TCP, "logs.test", 601, 1, "edge", is_old=True),
            ),
        )
        for text, expected in cases:
            self.assertEqual(read_access_log(text), expected)

    def test_refused(self) -> None:
        """What is no collector is refused with what would be one."""
        for text, expected in (
            ("syslog:", "not of the form"),
            ("syslog:dev/log", "not of the form"),
            ("syslog:udp:logs.test", "HOST:PORT"),
            ("syslog:udp:logs.test:0", "port"),
            ("syslog:/dev/log,facility=loud", "facilities kern"),
            ("syslog:/dev/log,tag=a b", "no tag"),
            ("syslog:/dev/log,rfc=1", "neither 5424 nor 3164"),
            ("syslog:/dev/log,speed=1", "none of facility"),
            ("syslog:/" + "a" * 108, "107 bytes"),
        ):
            with self.assertRaisesRegex(ValueError, expected):
                read_access_log(text)


class ConfigMapTests(SynchronousTestCase):
    """The keys of ingress-nginx, and our own."""

    def destination(self, *expected: str, given: tuple[str, ...] = (), **data: str) -> object:
        """Return where a ConfigMap has the log go, and check the problems that it has."""
        content = {name.replace("_", "-"): text for name, text in data.items()}
        found = merge(DEFAULTS, given, read_config_map(ObjectKey("a", "b"), content, given))
        self.assertEqual(
            [one.field.rpartition(".")[2] for one in found.problems], list(expected), found.problems
        )
        return found.settings.serving.access_log.destination

    def test_syslog(self) -> None:
        """``enable-syslog`` has it go to ``syslog-host`` over UDP, as in ingress-nginx; ``access-log`` says it in one."""
        self.assertEqual(
            self.destination(enable_syslog="true", syslog_host="10.0.0.7", syslog_port="1514"), UDP
        )
        found = self.destination(enable_syslog="true", syslog_host="2001:db8::1")
        self.assertEqual(found, SyslogAddress(SyslogTransport.UDP, "2001:db8::1", 514))
        self.assertEqual(self.destination(access_log="syslog:udp:10.0.0.7:1514"), UDP)
        self.assertIsNone(self.destination(enable_syslog="false", syslog_port="514"))

    def test_refused(self) -> None:
        """A collector without a name, a port that is none, and a file are told, and the log stays where it is."""
        self.assertIsNone(self.destination("enable-syslog", enable_syslog="true"))
        self.assertIsNone(self.destination("syslog-host", syslog_host="a.test"))
        self.assertIsNone(
            self.destination("syslog-host", enable_syslog="true", syslog_host="a.test", syslog_port="x")
        )
        self.assertIsNone(self.destination("access-log", access_log="/etc/passwd"))
        self.assertIsNone(self.destination("access-log-path", access_log_path="/tmp/x"))
        self.assertIsNone(
            self.destination("syslog-host", given=("access-log",), enable_syslog="true", syslog_host="a.test")
        )
