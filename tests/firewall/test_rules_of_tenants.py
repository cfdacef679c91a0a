"""More rule sets of tenants than fit into memory, with the real library: nobody else's requests suffer.

``make firewall`` runs these.
"""

from __future__ import annotations

import os
from random import Random
from resource import RLIMIT_NOFILE, prlimit
from string import ascii_lowercase
from typing import Final

from ingress.firewall.main import run
from ingress.model.exchanges.firewall import RuleSet, Verdict
from tests.firewall.test_modsecurity import WANTED
from tests.firewall.test_process import StartedCase, request

HEAD: Final = "SecRuleEngine On"


class RulesOfTenantsTests(StartedCase):
    skip = None if os.environ.get(WANTED) else f"needs libmodsecurity; {WANTED}=1 runs it"
    program = run.__module__

    async def test_more_than_fit(self) -> None:
        """Rule sets that take more memory together than a process may are all judged by, and no process ends over them."""
        for pid in self.pids():
            used = {int(name) for name in os.listdir(f"/proc/{pid}/fd")}
            # The one that is left is for its output as the audit log.
            self.assertLessEqual(prlimit(pid, RLIMIT_NOFILE)[1], len(used) + 1)
        random = Random(1)
        held = []
        for number in range(200):
            words = " ".join("".join(random.choices(ascii_lowercase, k=40)) for _ in range(395))
            rule = f'SecRule "ARGS" "@pm {words}" "id:{number + 1},phase:1,deny"'
            held.append(self.firewall.load(RuleSet((HEAD, rule), blocks=True, is_operators=False)))
        for _ in range(2):
            for loaded in held:
                self.assertEqual(await self.firewall.inspect(loaded, request(b"/?a=b")), Verdict())
        self.assertNotIn("process-ended", self.counted)
