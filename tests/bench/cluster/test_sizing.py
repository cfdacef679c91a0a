"""What the sizing takes from other measurements."""

import json
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from bench.cluster.sizing import request_rows
from bench.reports.results import RESULTS
from bench.setup.errors import BenchError


class RequestRowsTests(SynchronousTestCase):
    """What requests cost, as it was measured last."""

    def test_all(self) -> None:
        """What is in the repository has all of them."""
        self.assertEqual({len(row) for row in request_rows()}, {2})

    def test_some(self) -> None:
        """Where a part was measured alone, what is missing is told."""
        found = json.loads(RESULTS.read_text())
        found["loads"] = {"get-unique": found["loads"]["get-unique"]}
        file = Path(self.mktemp())
        file.write_text(json.dumps(found))
        error = self.assertRaises(BenchError, list, request_rows(file))
        self.assertIn(", tls-keep-alive, ", str(error))
