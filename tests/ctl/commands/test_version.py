"""``ingressctl version``."""

from tests.ctl.ctl_case import CtlCase


class VersionTests(CtlCase):
    """What it says."""

    def test_it_is_that_of_the_package(self) -> None:
        """One line with name, version, and whether the hot path is compiled."""
        self.assertRegex(
            self.run_command("version").stdout, r"^txingress \d+\.\d+\.\d+ \((compiled|plain)\)\n$"
        )

    def test_the_option_is_the_command(self) -> None:
        """``--version``, which most programs have, prints the same."""
        self.assertEqual(self.run_command("--version").stdout, self.run_command("version").stdout)
