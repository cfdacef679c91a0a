"""Regular expressions that no request gets to."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.stepwise import finished
from ingress.model.text.lookup_budget import MAX_RUN, MAX_WORK, found_at_last
from ingress.routing.expression_routes import PathTooLong
from ingress.routing.out_of_reach import USUAL_BYTES, OutOfReach, out_of_reach
from ingress.routing.route import Route
from ingress.routing.table import HostRoutes
from tests.fakes.counting import longest_step
from tests.routing.test_expression_routes import expression, plain


def found(*routes: Route) -> list[OutOfReach]:
    """Return those of *routes* that are out of reach."""
    return finished(out_of_reach(routes))


class OutOfReachTests(SynchronousTestCase):
    """Which expressions are asked too late."""

    def test_as_requests_find(self) -> None:
        """Those behind as many as one lookup runs are told, and requests that no other takes are answered 414."""
        few = [expression(f"/x{one:05}.", "demo", one) for one in range(MAX_RUN)]
        alike = [expression(f"/.{one:05}", "demo", one) for one in range(MAX_RUN)]
        last = expression("/.", "demo", MAX_RUN)
        self.assertEqual(found(*few, last), [])
        self.assertEqual(found(*alike), [])
        told = found(last, *alike)
        self.assertEqual(told, [OutOfReach(0, MAX_RUN, 0)])
        routes = HostRoutes((last, *alike))
        with self.assertRaises(PathTooLong):
            found_at_last(lambda: routes.find(b"/x"))
        taken = found_at_last(lambda: routes.find(b"/x00007"))
        self.assertEqual(getattr(taken, "path", None), "/.00007")

    def test_shorter_beginnings_count(self) -> None:
        """What begins with less is run, too, for paths that begin with more: there it is out of reach, though not elsewhere."""
        some = [expression(f"/.{one:05}", "demo", one) for one in range(2000)]
        more = [expression(f"/api/.{one:05}", "demo", 2000 + one) for one in range(2000)]
        told = found(*some, *more)
        # The longer ones are asked first, of those of one length the later one.
        self.assertEqual([one.number for one in told], list(range(1000)))
        with self.assertRaises(PathTooLong):
            found_at_last(lambda: HostRoutes((*some, *more)).find(b"/api/x"))

    def test_other_realms_count(self) -> None:
        """Expressions of an older realm are asked first and count, text that is compared as it is does not."""
        old = [expression(f"/.{one:05}", "old", one) for one in range(MAX_RUN)]
        texts = [expression(f"/{one}", "old", one) for one in range(10)]
        new = expression("/(.*)/longer-than-all-of-them", "new", MAX_RUN)
        self.assertEqual([one.number for one in found(new, *texts, *old, plain("/"))], [0])

    def test_large_programs(self) -> None:
        """Where programs have many steps, fewer are run of a path of usual length, and from which length on that is so is told."""
        some = [
            expression(f"/.*({'|'.join(f'a{n}b' for n in range(40))}){one:03}", "demo", one)
            for one in range(400)
        ]
        sizes = [one.expressions[0].size for one in some]
        told = found(*some)
        self.assertTrue(told)
        for one in told:
            self.assertGreaterEqual(USUAL_BYTES, one.path_bytes)
            self.assertEqual(one.path_bytes, MAX_WORK // sum(sizes[: one.runs + 1]) + 1)
        routes = HostRoutes(tuple(some))
        with self.assertRaises(PathTooLong):
            found_at_last(lambda: routes.find(b"/" + b"x" * USUAL_BYTES))
        self.assertIsNone(found_at_last(lambda: routes.find(b"/x")))

    def test_whole_paths(self) -> None:
        """An expression that takes one path alone is judged by that path: as short as it is, more are run for it than for one of usual length."""
        some = [
            expression(f"/.*({'|'.join(f'a{n}b' for n in range(40))}){one:03}", "demo", one)
            for one in range(400)
        ]
        whole = expression("/x$", "demo", 400)
        told = found(*some, whole)
        self.assertTrue(told)
        self.assertNotIn(400, [one.number for one in told])
        self.assertIs(found_at_last(lambda: HostRoutes((*some, whole)).find(b"/x")), whole)

    def test_two_beginnings_of_one(self) -> None:
        """What begins like two beginnings of one expression runs that once: those that just fit are none too many."""
        many = "|".join(f"q{one}w" for one in range(200))
        large = [expression(f"/a.*{one:02}({many})", "demo", one) for one in range(19)]
        besides = [expression(f"/zz.*{one}({many[:300]})", "demo", 500 + one) for one in range(5)]
        # A dot is any character, and hardly ever meant as one: these begin with what is before it, and with all of it.
        small = [expression(f"/a.{one:03}{'b.' * 124}", "demo", 100 + one) for one in range(60)]
        sizes = [one.expressions[0].size for one in (*large, *small)]
        fit = next(
            count for count in range(60) if sum(sizes[: 19 + count + 1]) > MAX_WORK // len(small[0].path)
        )
        path = small[0].path.encode()
        some = (*large, *small[:fit], *besides)
        self.assertEqual(found(*some), [])
        self.assertIs(found_at_last(lambda: HostRoutes(some).find(path)), small[0])
        more = (*large, *small[: fit + 1], *besides)
        self.assertEqual([one.number for one in found(*more)], [len(large)])
        with self.assertRaises(PathTooLong):
            found_at_last(lambda: HostRoutes(more).find(path))

    def test_in_steps(self) -> None:
        """That is found in steps, however many there are and however many beginnings."""
        routes = [expression(f"/.{one:05}", "demo", one) for one in range(MAX_RUN + 10)]
        routes += [expression(f"/b{one}/.", "demo", MAX_RUN + 10 + one) for one in range(2000)]
        self.assertTrue(found(*routes))
        self.assertLess(longest_step(out_of_reach(routes)), 20_000)
        # So is whether there are too many, where nothing is run of most of them.
        self.assertLess(longest_step(out_of_reach([expression("/text", "demo", 1)] * 5000)), 2000)
