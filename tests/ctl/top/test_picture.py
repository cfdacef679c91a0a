"""What the screen shows."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.ctl.columns import columns
from ingress.ctl.top.board import Board
from ingress.ctl.top.keys import keys
from ingress.ctl.top.picture import Asked, Order, Sheet, Terminal, picture, printed, rows_seen
from ingress.ctl.top.screen import changed
from ingress.ctl.top.spans import Look, Span, painted
from tests.ctl.top.test_board import board


def shown(made: Board, asked: Asked, width: int = 120, height: int = 30, said: str = "") -> list[str]:
    """Return the lines of a screen without colours."""
    return [painted(one, width, False) for one in picture(made, asked, Terminal(width, height), said)[0]]


class PictureTests(SynchronousTestCase):
    """Lines of a board."""

    def test_header(self) -> None:
        """The first lines say how the controller is, and the numbers of the whole house."""
        first, second, third, fourth, *_ = shown(board(), Asked())
        self.assertEqual(
            first,
            "txingress 0.1.0   txingress-1   ready   leader txingress-2   12 routes of 3 hosts   1 problem",
        )
        self.assertEqual(
            second, "120 requests/s   ▁▄██   p50 3.0 ms   p99 1.25 s   upstream p99 -   late 1.0 ms"
        )
        self.assertEqual(
            third,
            "8 of 8000 connections   5 endpoints   1 ejected   next certificate to end: shop.test 2026-12-24",
        )
        self.assertEqual(fourth, "failed in 5 minutes: bad-gateway 30  no-route 2")

    def test_routes(self) -> None:
        """Routes stand by trouble, or by what a key asks for."""
        rows = shown(board(), Asked())[4:7]
        self.assertEqual(
            rows,
            [
                "INGRESS/SERVICE     REQ/S  FAILING       P99 LAST FAILURE",
                "shop/shop/cart         20    50.0%    1.20 s 10:11:12 502 bad-gateway",
                "shop/shop/web         100             4.0 ms ",
            ],
        )
        for order, first in ((Order.REQUESTS, "web"), (Order.SLOWNESS, "cart"), (Order.NAME, "cart")):
            self.assertTrue(shown(board(), Asked(order=order))[5].startswith(f"shop/shop/{first}"), order)

    def test_news(self) -> None:
        """Below the routes stand the last failures and changes, where there is room; each has a table of its own, too."""
        lines = "\n".join(shown(board(), Asked()))
        failed = (
            "10:11:12  bad-gateway  502 GET shop.test/cart  refused; shop/cart:80; 10.0.0.7:80, 10.0.0.8:80"
        )
        self.assertIn(failed, lines)
        self.assertIn("10:11:11  ejection      Service shop/cart  10.0.0.7:80 is left out for 10 s", lines)
        self.assertNotIn("CHANGED LAST", "\n".join(shown(board(), Asked(), height=20)))
        self.assertIn(failed, shown(board(), Asked(Sheet.FAILURES))[5])
        self.assertIn("ejection", shown(board(), Asked(Sheet.CHANGES))[5])
        self.assertRegex(shown(board(), Asked(Sheet.ENDPOINTS))[5], r"^10\.0\.0\.7:80  ejected +refused")

    def test_nothing(self) -> None:
        """A table without rows says so."""
        for sheet, word in (
            (Sheet.ROUTES, "asked for"),
            (Sheet.FAILURES, "no failure"),
            (Sheet.ENDPOINTS, "in rotation"),
        ):
            self.assertIn(word, shown(Board(), Asked(sheet))[5])

    def test_any_size(self) -> None:
        """Whatever the size, there are as many lines as rows, none wider than the screen."""
        for width in (1, 20, 40, 80, 200):
            for height in (1, 2, 8, 24, 60):
                for sheet in Sheet:
                    lines = shown(board(), Asked(sheet), width, height)
                    self.assertEqual(len(lines), height)
                    self.assertLessEqual(max(map(columns, lines)), width)

    def test_connection(self) -> None:
        """What is wrong with the connection is said in the place of failures, and what was known stays."""
        lines = shown(board(), Asked(), said="no connection is made")
        self.assertEqual(lines[3], "no connection is made")
        self.assertIn("shop/shop/cart", lines[5])

    def test_moving(self) -> None:
        """Keys move within the rows that there are, and no further."""
        made = board()
        made.take("routes", {f"a/b/{number:03}": {"perSecond": 1.0} for number in range(100)})
        asked, terminal = Asked(order=Order.NAME), Terminal(80, 30)
        page = rows_seen(asked, terminal)
        for names, first in (
            (("down",), 1),
            (("up", "up"), 0),
            (("page down",), page),
            (("end",), 102 - page),
            (("down",), 102 - page),
            (("home",), 0),
        ):
            for name in names:
                asked = asked.after(name, page)
            _, asked = picture(made, asked, terminal)
            self.assertEqual(asked.first, first, names)
        self.assertIn(f"1-{page} of 102", shown(made, asked, 80)[-1])

    def test_keys_that_choose(self) -> None:
        """Digits and arrows choose the table, letters the order; others change nothing, q ends."""
        self.assertIs(Asked().after("3", 9).sheet, Sheet.CHANGES)
        self.assertIs(Asked().after("left", 9).sheet, Sheet.ENDPOINTS)
        self.assertIs(Asked().after("right", 9).sheet, Sheet.FAILURES)
        self.assertEqual(Asked(Sheet.CHANGES, first=3).after("p", 9), Asked(order=Order.SLOWNESS))
        self.assertEqual(Asked().after("x", 9), Asked())
        self.assertTrue(Asked().after("q", 9).is_over)

    def test_printed(self) -> None:
        """Who reads it once gets all tables that have something, one after the other."""
        lines = [painted(one, 100, False) for one in printed(board(), 100)]
        heads = [line.split()[:2] for line in lines if line.isupper()]
        self.assertEqual(
            heads, [["INGRESS/SERVICE", "REQ/S"], ["AT", "FAILED"], ["AT", "CHANGED"], ["ENDPOINT", "STATE"]]
        )
        self.assertTrue("\n".join(lines).isascii())


class PaintingTests(SynchronousTestCase):
    """Text with colours."""

    def test_colours(self) -> None:
        """Pieces have colours where these are wanted, and none stays on."""
        spans = (Span("a"), Span("bad", Look.BAD))
        self.assertEqual(painted(spans, 80, True), "a\x1b[31mbad\x1b[0m")
        self.assertEqual(painted(spans, 80, False), "abad")
        self.assertEqual(painted(spans, 3, True), "a\x1b[31mb…\x1b[0m")

    def test_what_changed(self) -> None:
        """Over a slow line only lines go that are different; at first, and in another size, all."""
        self.assertEqual(changed(["a", "b", "c"], ["a", "B", "c"]), "\x1b[2;1HB\x1b[K")
        self.assertEqual(changed(["a"], ["a"]), "")
        for before in (None, ["a"]):
            self.assertEqual(changed(before, ["a", "b"]), "\x1b[2J\x1b[1;1Ha\x1b[2;1Hb")


class KeyTests(SynchronousTestCase):
    """What was typed."""

    def test_keys(self) -> None:
        """Letters, arrows in both modes, pages, Ctrl-C; what is no key is passed over."""
        typed = b"q\x1b[A\x1bOB\x1b[5~\x1b[1;5C\t\x03\x1b[H\xc3\xa4\x1b[99~ "
        self.assertEqual([*keys(typed)], ["q", "up", "down", "page up", "right", "q", "home", "page down"])
