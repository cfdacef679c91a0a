"""Tests for ``ingress.admin.contract.parameters``."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.admin.contract.parameters import Parameter, QueryRefusedError, Sort, read_query

PARAMETERS = (
    Parameter("limit", "", Sort.NUMBER, 1, 1000),
    Parameter("state", "", choices=("ejected", "terminating")),
    Parameter("host", "", most=8),
    Parameter("header", "", may_repeat=True),
)


class ReadQueryTests(SynchronousTestCase):
    """``read_query``."""

    def test_values(self) -> None:
        """Texts and numbers are read as what they are; what is not there is None, or no text at all."""
        found = read_query({b"limit": [b"0100"[1:]], b"host": [b""], b"header": [b"a", b"b"]}, PARAMETERS)
        self.assertEqual((found.number("limit"), found.text("host"), found.text("state")), (100, "", None))
        self.assertEqual(
            (found.texts("header"), found.texts("state"), found.number("no")), (["a", "b"], (), None)
        )

    def test_refused(self) -> None:
        """Whatever cannot be is refused by the name of its parameter, with what it may be."""
        for query, said in (
            ({b"limit": [b"0"]}, "limit is '0'; it may be a whole number from 1 to 1000"),
            ({b"limit": [b"1001"]}, "limit is '1001'; it may be a whole number from 1 to 1000"),
            ({b"limit": [b"-1"]}, "limit is '-1'; it may be"),
            ({b"limit": [b""]}, "limit is ''; it may be"),
            ({b"limit": ["\u0661".encode()]}, "it may be a whole number"),
            ({b"limit": [b"9" * 5000]}, "…; it may be a whole number"),
            ({b"limit": [b"1", b"1"]}, "the parameter limit comes 2 times; it may come once"),
            ({b"header": [b""] * 201}, "comes 201 times; it may come at most 200 times"),
            ({b"state": [b"well"]}, "state is 'well'; it may be one of ejected, terminating"),
            ({b"host": [b"123456789"]}, "host is '123456789'; it may be a text of at most 8 characters"),
            ({b"host": [b"\xff"]}, "the parameter host is no UTF-8"),
            ({b"hots": [b""]}, "there is no parameter 'hots'; there are limit, state, host, header"),
        ):
            with self.assertRaises(QueryRefusedError) as caught:
                read_query(query, PARAMETERS)
            self.assertIn(said, str(caught.exception))
            self.assertLess(len(str(caught.exception)), 300)

    def test_required(self) -> None:
        """What a page cannot do without is asked for in the words of its row."""
        with self.assertRaisesRegex(QueryRefusedError, "^say which$"):
            read_query({}, (Parameter("url", "", missing="say which"),))

    def test_page_without_any(self) -> None:
        """A page that has no parameters says so."""
        with self.assertRaisesRegex(QueryRefusedError, "there is no parameter 'x'; this page has none"):
            read_query({b"x": [b""]}, ())

    @given(st.dictionaries(st.sampled_from([b"limit", b"state", b"host"]), st.lists(st.binary(), max_size=3)))
    def test_total(self, query: dict[bytes, list[bytes]]) -> None:
        """Any query is read, or refused in a line."""
        try:
            found = read_query(query, PARAMETERS)
        except QueryRefusedError as refused:
            self.assertTrue(str(refused).isprintable())
        else:
            self.assertIn(found.number("limit"), (None, *range(1, 1001)))
