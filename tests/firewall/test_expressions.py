"""Expressions in rules, found where the library has them."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.firewall.expressions import expressions_of


class ExpressionsTests(SynchronousTestCase):
    def check(self, line: str, *expected: str) -> None:
        self.assertEqual(list(expressions_of(line)), list(expected), line)

    def test_of_operators(self) -> None:
        """Operators that read one have it, and so has a rule without the name of any."""
        self.check('SecRule "ARGS" "@rx ^a|b$" "id:1"', "^a|b$")
        self.check('SecRule "ARGS" "! @RX a" "id:1"', "a")
        self.check('SecRule "ARGS" "a \\"b" "id:1"', 'a \\"b')
        self.check('SecRule "ARGS" "@verifySSN [0-9]+" "id:1"', "[0-9]+")
        self.check('SecRule "ARGS" "@pm a ( b" "id:1"')
        self.check('SecRule "ARGS" "@rx ^%{tx.a}(" "id:1"')

    def test_of_variables(self) -> None:
        """Names of variables may be expressions, in quotes, too; a path in XML is none."""
        self.check('SecRule "ARGS:/^a/|!ARGS:\'/b|c/\'|XML:/*|XML://@*" "@eq 1" "id:1"', "^a", "b|c")
        self.check('SecRule "ARGS:/a/b/" "@eq 1" "id:1"', "a/b")
        self.check('SecRuleUpdateTargetById 1 "!ARGS:/a/"', "a")
        self.check('SecRuleUpdateTargetByTag "x" "!ARGS:/a/"', "a")

    def test_of_others(self) -> None:
        """Statuses that are audited are one, each line is for itself, and most lines have none."""
        self.check('SecAuditLogRelevantStatus "^5"\nSecRule "ARGS" "x" "id:1"\nSecMarker "("', "^5", "x")
        self.check("")
