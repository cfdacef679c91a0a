"""Numbers and lists in sentences."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.wording import first_of, number_of, plural_of


class WordingTests(SynchronousTestCase):
    def test_a_number_has_what_there_is_of_it(self) -> None:
        """One, several, none, thousands, and words with a plural of their own."""
        said = [number_of(number, "Ingress") for number in (0, 1, 2, 10_000)]
        self.assertEqual(said, ["0 Ingresses", "1 Ingress", "2 Ingresses", "10,000 Ingresses"])
        self.assertEqual(number_of(2, "Ingress has", "Ingresses have"), "2 Ingresses have")
        kinds = [plural_of(kind) for kind in ("Service", "Gateway", "BackendTLSPolicy")]
        self.assertEqual(kinds, ["Services", "Gateways", "BackendTLSPolicies"])

    def test_of_many_names_the_first_are_said(self) -> None:
        """And how many more there are, of what."""
        self.assertEqual(first_of(["a", "b"], 2), "a, b")
        self.assertEqual(first_of(["a", "b", "c", "d"], 2, "hosts"), "a, b and 2 more hosts")
        self.assertEqual(first_of(["a", "b", "c"], 1), "a and 2 more")
        self.assertEqual(first_of([], 3), "")
