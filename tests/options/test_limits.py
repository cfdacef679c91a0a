"""The options about limits."""

from __future__ import annotations

import re
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.serving.limits import Limits, StreamTries, Timeouts
from ingress.options.table import GROUPS
from ingress.tap import Options

NO_LIMIT = "stream-next-upstream-timeout"
"""0 of which means no limit."""
LIMITS = [(option.name, option.value) for option in dict(GROUPS)["Limits"]]


class LimitOptionsTests(SynchronousTestCase):
    """From the command line to ``Limits``."""

    def limits(self, *arguments: str) -> Limits:
        """Return what the command line comes to."""
        options = Options()
        options.parseOptions(list(arguments))
        return options.settings().serving.limits

    def test_defaults(self) -> None:
        """Without options the limits are the usual ones."""
        self.assertEqual(self.limits(), Limits())

    def test_all(self) -> None:
        """Each option is one limit."""
        units = [(name, "k" if value == "SIZE" else "") for name, value in LIMITS if value]
        arguments = [f"--{name}={number}{unit}" for number, (name, unit) in enumerate(units, 11)]
        expected = Limits(
            11.0,
            12.0,
            13,
            14.0,
            15.0,
            16,
            17.0,
            Timeouts(18.0, 19.0, 20.0, 21 * 1024),
            22,
            23,
            24,
            stream_rest_seconds=25.0,
            stream_responses=26,
            stream_tries=StreamTries(most=27, seconds=28.0),
            max_udp_sessions=29,
        )
        self.assertEqual(self.limits(*arguments), expected)
        self.assertEqual(self.limits("--allow-half-close"), Limits(allow_half_close=True))
        nothing = Limits(stream_tries=StreamTries(is_on=False))
        self.assertEqual(self.limits("--no-stream-next-upstream"), nothing)

    def test_refused(self) -> None:
        """What is no bounded number ends the start in one line that names the option."""
        of_sort = {"SECONDS": ["0", "0.0"], "": ["1", "yes"], "SIZE": ["0", "1023", "1.5k", "4 k"]}
        for name, value in LIMITS:
            more = [] if name == NO_LIMIT else of_sort.get(value, ["1.5"])
            wrong = ["-1", "x", "", "1e3", "9" * 13, "nan", *more]
            for text in wrong:
                told = self.assertRaises(SystemExit, self.limits, f"--{name}={text}")
                self.assertIn(f"--{name}", str(told))

    def test_described(self) -> None:
        """``docs/limits.md`` names each of them, and none that there is not; three it mentions are of other groups."""
        page = (Path(__file__).resolve().parents[2] / "docs" / "limits.md").read_text("utf-8")
        named = set(re.findall(r"`--([a-z-]+)`", page)) - {
            "firewall-body-size",
            "no-epoll",
            "trusted-proxies",
        }
        self.assertEqual(named, {name for name, _ in LIMITS})
