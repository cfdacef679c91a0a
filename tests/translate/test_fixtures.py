"""Each golden fixture is a test; see ``tests.translate.golden`` for what it holds.

``INGRESS_REWRITE_FIXTURES=1`` writes what came out in place of what was expected; the
difference is then to be reviewed by eye.
"""

import os
from collections.abc import Callable
from pathlib import Path

import yaml
from twisted.trial.unittest import SynchronousTestCase

from tests.translate import golden

REWRITE = os.environ.get("INGRESS_REWRITE_FIXTURES") == "1"


class FixtureTests(SynchronousTestCase):
    """Manifests become the routes, backends, certificates and problems that stand beside them."""

    maxDiff = None

    def check(self, case: Path) -> None:
        """Compare what the manifests of *case* become with ``expected.yaml``."""
        written = case / "expected.yaml"
        expected = golden.read_mapping(written)
        found = golden.outcome(case, list(expected.get("requests", {})))
        if REWRITE:
            text = yaml.safe_dump(found, sort_keys=False, width=110, allow_unicode=True)
            written.write_text(text, "utf-8")
        else:
            self.assertEqual(expected, found)

    def test_there_are_fixtures(self) -> None:
        """The fixtures are found, so that this class cannot pass by testing nothing."""
        self.assertGreater(len(golden.cases()), 60)


def _test(case: Path) -> Callable[[FixtureTests], None]:
    def test(self: FixtureTests) -> None:
        self.check(case)

    test.__doc__ = f"{case.name.replace('-', ' ')}."
    return test


for _case in golden.cases():
    _name = f"test_{_case.name.replace('-', '_')}"
    setattr(FixtureTests, _name, _test(_case))
