"""Tests of telling very many problems some at a time."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.problems import ORDER, Problem, Reason
from ingress.news.problem_portions import AT_ONCE, portions


def problem(name: str, field: int, message: str = "") -> Problem:
    return Problem("Ingress", "shop", name, Reason.SERVICE_NOT_FOUND, message, f"{field:04}")


class PortionsTests(SynchronousTestCase):
    """What each portion has."""

    def test_few(self) -> None:
        """Few are one portion, as they came."""
        came, went = [problem("a", 1)], [problem("a", 2)]
        self.assertEqual(list(portions(came, went)), [(came, went)])
        self.assertEqual(list(portions([], [])), [([], [])])

    def test_many(self) -> None:
        """Many are several portions; all of an object, what came and what went, is in one of them."""
        count = AT_ONCE // 2
        came = sorted((problem(name, at) for name in "abcd" for at in range(count)), key=ORDER)
        went = sorted((problem(name, at, "before") for name in "abce" for at in range(count)), key=ORDER)
        found = list(portions(came, went))
        self.assertEqual([one for some, _ in found for one in some], came)
        self.assertEqual([one for _, some in found for one in some], went)
        self.assertEqual(
            [{one.name for some in portion for one in some} for portion in found],
            [{"a"}, {"b"}, {"c"}, {"d", "e"}],
        )
