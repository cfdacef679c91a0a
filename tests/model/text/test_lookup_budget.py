"""What one lookup may cost, and all lookups of a turn together."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.text.lookup_budget import (
    MAX_MAKING,
    MAX_RUN,
    MAX_WORK,
    UNBOUNDED,
    LookupCost,
    LookupDeferred,
    TurnBudget,
    found_at_last,
    found_in_steps,
)


class Program:
    """An expression whose program is not kept, and counts *making* to be made."""

    is_made = False

    def __init__(self, making: int) -> None:
        self._making = making

    def making(self) -> int:
        """Make it."""
        self.is_made = True
        return self._making


def spent() -> TurnBudget:
    """Return the budget of a turn that has nothing left."""
    budget = TurnBudget()
    budget.making = budget.running = 0
    return budget


class LookupCostTests(SynchronousTestCase):
    """One lookup."""

    def test_work(self) -> None:
        """Steps times bytes are bounded."""
        cost = LookupCost(None)
        self.assertTrue(cost.may_run(MAX_WORK - 1))
        self.assertTrue(cost.may_run(1))
        self.assertFalse(cost.may_run(1))

    def test_runs(self) -> None:
        """So is how many programs run."""
        cost = LookupCost(None)
        self.assertTrue(all(cost.may_run(1) for _ in range(MAX_RUN)))
        self.assertFalse(cost.may_run(1))

    def test_making(self) -> None:
        """What is made is counted once it is made; what is kept, or after the bound is reached, is not."""
        cost = LookupCost(None)
        first, second = Program(MAX_MAKING + 1), Program(1)
        cost.make(first)
        cost.make(first)
        self.assertRaises(LookupDeferred, cost.make, second)
        self.assertFalse(second.is_made)

    def test_no_other_bound_without_a_turn(self) -> None:
        """Who has a turn for itself may look at whatever there is, and is not deferred for it."""
        cost = LookupCost(None)
        cost.look(10 * MAX_WORK)
        self.assertTrue(cost.may_run(1))


class TurnBudgetTests(SynchronousTestCase):
    """All lookups of one turn."""

    def test_shared(self) -> None:
        """What one lookup takes another one does not have, until the turn is over."""
        budget = TurnBudget()
        LookupCost(budget).make(Program(MAX_MAKING))
        self.assertTrue(LookupCost(budget).may_run(MAX_WORK))
        self.assertTrue(LookupCost(budget).may_run(MAX_WORK))
        self.assertRaises(LookupDeferred, LookupCost(budget).make, Program(1))
        self.assertRaises(LookupDeferred, LookupCost(budget).may_run, MAX_WORK)
        budget.renew()
        LookupCost(budget).make(Program(1))
        self.assertTrue(LookupCost(budget).may_run(MAX_WORK))

    def test_cheap_lookups(self) -> None:
        """A lookup of some expressions is made whatever others have cost; more of them, or dearer ones, are too much."""
        self.assertTrue(all(map(LookupCost(spent()).may_run, [500] * 20)))
        self.assertRaises(LookupDeferred, lambda: all(map(LookupCost(spent()).may_run, [500] * 200)))
        LookupCost(spent()).look(100)
        self.assertRaises(LookupDeferred, LookupCost(spent()).look, 1000)

    def test_turn_of_its_own(self) -> None:
        """Where running is unbounded, a lookup is deferred for programs alone."""
        budget = spent()
        budget.running = UNBOUNDED
        cost = LookupCost(budget)
        self.assertTrue(all(cost.may_run(MAX_WORK // MAX_RUN) for _ in range(MAX_RUN)))
        self.assertRaises(LookupDeferred, cost.make, Program(1))


class FoundTests(SynchronousTestCase):
    """Those who keep nobody waiting."""

    def test_steps(self) -> None:
        """Each lookup that is deferred is a step, until one is not."""
        programs = [Program(MAX_MAKING) for _ in range(5)]

        def find() -> str:
            cost = LookupCost(None)
            for program in programs:
                cost.make(program)
            return "found"

        self.assertEqual(sum(1 for _ in found_in_steps(find)), len(programs) - 1)
        self.assertEqual(found_at_last(find), "found")
