"""Selectors of labels, as they are written and as they are met."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.label_selectors import LabelRequirement, LabelSelector
from ingress.options.label_selectors import read_label_selector
from ingress.tap import Options
from tests.properties import examples

A = {"team": "a", "shop.example.com/tier": "x"}
B = {"team": "b", "old": ""}


class ReadLabelSelectorTests(SynchronousTestCase):
    """``read_label_selector``."""

    def test_forms(self) -> None:
        """Each form of kubectl's, with blanks where it has them, and whom it selects of three."""
        for text, selected in {
            "team=a": "A",
            "team==a": "A",
            " team = a ": "A",
            "team!=a": "B-",
            "team": "AB",
            "!team": "-",
            "! team": "-",
            "team in (a, c)": "A",
            "team in(a,b)": "AB",
            "team notin (a)": "B-",
            "old=": "B",
            "old!=": "A-",
            "old in (x,)": "B",
            "shop.example.com/tier in (x),team": "A",
            "team,team!=a,!shop.example.com/tier": "B",
            "in in (in)": "",
            "team=b,team=a": "",
        }.items():
            selector = read_label_selector(text)
            assert selector is not None
            found = "".join(
                name for name, labels in (("A", A), ("B", B), ("-", {})) if selector.is_met(labels)
            )
            self.assertEqual(found, selected, text)

    def test_nothing(self) -> None:
        """An empty text selects everything, as in ingress-nginx."""
        self.assertIsNone(read_label_selector(""))
        self.assertIsNone(read_label_selector("  "))

    def test_mistakes(self) -> None:
        """What is none is refused, with the part that is wrong."""
        for text, word in {
            ",": '","',
            "team=a,": '""',
            "team=a b": '"team=a b"',
            "team in a": '"team in a"',
            "team in ()": "no values",
            "team in (a": '"team in (a"',
            "team in (a b)": '"a b"',
            "team>1": '"team>1"',
            "a,team<1": '"team<1"',
            "-team": '"-team"',
            "team=a-": '"team=a-"',
            "Shop/team=a": '"Shop/team=a"',
            "/team=a": '"/team=a"',
            "team=" + "x" * 64: "cannot be the value",
            "t" * 64: "too long",
            "x" * 254 + "/team": "too long",
            "team=ä": "team=",
            "team\n=a\nb": "no requirement",
        }.items():
            with self.assertRaises(ValueError) as caught:
                read_label_selector(text)
            self.assertIn(word, str(caught.exception), text)

    @given(st.text(alphabet="a1/.!=(), in-\n\u0660", max_size=24))
    @settings(derandomize=True, deadline=None, max_examples=examples(500))
    def test_total(self, text: str) -> None:
        """Whatever is written, it is read or refused, and what is read has requirements."""
        try:
            selector = read_label_selector(text)
        except ValueError:
            return
        self.assertEqual(selector is None, not text.strip())
        if selector is not None:
            self.assertTrue(selector.requirements)

    def test_operator_that_there_is_not(self) -> None:
        """It is met by nothing."""
        self.assertFalse(LabelSelector((LabelRequirement("team", "Like", ("a",)),)).is_met(A))


class OptionTests(SynchronousTestCase):
    """The option."""

    def test_beside_namespaces(self) -> None:
        """It cannot stand beside --namespace: whoever names namespaces may have no right to look at all."""
        options = Options()
        with self.assertRaises(SystemExit) as caught:
            options.parseOptions(["--namespace=shop", "--watch-namespace-selector=team=a"])
        self.assertIn("--watch-namespace-selector and --namespace exclude each other", str(caught.exception))
