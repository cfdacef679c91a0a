"""Tests for ``ingress.cluster.secrets.secret_rights``."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.secrets.secret_rights import rights_awaited
from ingress.model.cluster.objects import ObjectKey

A, B, C = ObjectKey("shop", "a"), ObjectKey("shop", "b"), ObjectKey("blog", "c")
OPERATORS = ObjectKey("web", "default")


class WatchTests(SynchronousTestCase):
    """Secrets that are watched."""

    def test_nothing_is_referred_to(self) -> None:
        """Without references nothing is awaited, whatever is refused."""
        self.assertEqual(rights_awaited((), frozenset(), refused_lists={""}), ())

    def test_refused_and_forbidden(self) -> None:
        """Where the list is refused, one Secret that is forbidden by name, too, is enough to wait; the rights are named."""
        self.assertEqual(
            rights_awaited((A, B), {A}, refused_lists={""}),
            (
                "Secret: no right to list and watch secrets in all namespaces, "
                "and none to get secrets in namespace shop (a)",
            ),
        )

    def test_listed_and_forbidden(self) -> None:
        """Where the list is permitted, nothing waits for one that is forbidden by name."""
        self.assertEqual(rights_awaited((A, B), {A, B}, refused_lists=()), ())

    def test_refused_and_permitted(self) -> None:
        """Where the list is refused and all may be read by name, or do not exist, nothing waits."""
        self.assertEqual(rights_awaited((A, B), frozenset(), refused_lists={""}), ())

    def test_namespaces(self) -> None:
        """Each namespace waits for rights of its own."""
        (line,) = rights_awaited((A, C), {A, C}, namespaces=("shop", "blog"), refused_lists={"blog"})
        self.assertEqual(
            line,
            "Secret: no right to list and watch secrets in namespace blog, "
            "and none to get secrets in namespace blog (c)",
        )
        self.assertEqual(
            len(rights_awaited((A, C), {A, C}, namespaces=("shop", "blog"), refused_lists={"blog", "shop"})),
            2,
        )

    def test_named_by_the_operator(self) -> None:
        """The Secret that the operator named is awaited wherever it is, and alone."""
        lines = rights_awaited(
            (A, OPERATORS),
            {A, OPERATORS},
            operators={OPERATORS},
            namespaces=("shop",),
            refused_lists=(),
        )
        self.assertEqual(lines, ("Secret: no right to get secrets in namespace web (default)",))

    def test_many(self) -> None:
        """However many are forbidden, the line stays short."""
        keys = {ObjectKey(f"n{space}", f"s{name}") for space in range(50) for name in range(50)}
        (line,) = rights_awaited(keys, keys, refused_lists={""})
        self.assertLess(len(line), 300)
        self.assertIn("secrets in namespace n0 (s0, s1, s10 and 47 more)", line)
        self.assertTrue(line.endswith("and 47 more"))


class GetTests(SynchronousTestCase):
    """Secrets that are read by name alone."""

    def test_all_forbidden(self) -> None:
        """While all are forbidden, they are awaited."""
        (line,) = rights_awaited((A, B, C), {A, B, C})
        self.assertEqual(
            line, "Secret: no right to get secrets in namespace blog (c), secrets in namespace shop (a, b)"
        )

    def test_one_forbidden(self) -> None:
        """One that is forbidden beside one that may be read, or does not exist, is not awaited."""
        self.assertEqual(rights_awaited((A, B), {A}), ())

    def test_namespaces(self) -> None:
        """Each namespace is judged by itself."""
        (line,) = rights_awaited((A, B, C), {A, C}, namespaces=("shop", "blog"))
        self.assertEqual(line, "Secret: no right to get secrets in namespace blog (c)")

    def test_named_by_the_operator(self) -> None:
        """The Secret that the operator named is awaited, also beside others that may be read."""
        lines = rights_awaited((A, OPERATORS), {OPERATORS}, operators={OPERATORS})
        self.assertEqual(lines, ("Secret: no right to get secrets in namespace web (default)",))
