"""Documents as Markdown and HTML: what tenants wrote is words in both, and never markup."""

import re
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from html.parser import HTMLParser
from itertools import pairwise

from twisted.trial.unittest import SynchronousTestCase

from ingress.ctl.pages.document import (
    Code,
    Document,
    Heading,
    Listing,
    Paragraph,
    Points,
    Reference,
    Strong,
    Table,
)
from ingress.ctl.pages.html import as_html
from ingress.ctl.pages.markdown import as_markdown

HOSTILE = (
    "</td><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "$(rm -rf ~)",
    "`rm -rf ~`",
    "```\n</code></pre><script>",
    "a | b || c",
    "one\n\n# two\n| three |",
    "[link](javascript:alert(1)) ![i](http://evil.example/x.png)",
    "http://evil.example/ www.evil.example @everybody",
    "<!-- --> <style>*{display:none}</style>",
    "\x1b[31mred\x1b[0m \u202egnissel",
    "&lt;script&gt; &amp;",
    "$x^2$ *bold* _so_ ~~gone~~ \\",
    "back\\|slash",
    "",
    "   ",
)


def document(text: str) -> Document:
    """A page with *text* in each place where one can stand."""
    return Document(
        "A page",
        (
            Heading(2, ("Of ", Code(text)), "part"),
            Heading(3, (text,)),
            Paragraph((text, Code(text), Strong(text), Reference(text, "part"))),
            Points(((text,), (Code(text),))),
            Points(((text,),), numbered=True),
            Table("Rows", ("Name", "Number"), (((Code(text),), ("1",)), ((text,), ("2",))), frozenset({1})),
            Listing(text, "diff"),
            Listing(text, "sh"),
        ),
    )


class _Elements(HTMLParser):
    """The elements of a page, with their attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            raise AssertionError(f"</{tag}> closes something else")

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")


def skeleton(page: str) -> list[tuple[str, dict[str, str | None]]]:
    """The elements of *page*, which has to be well formed."""
    return _Elements(page).elements


class HtmlTests(SynchronousTestCase):
    def test_no_text_becomes_markup(self) -> None:
        """A page with hostile texts has the elements and attributes of one with a harmless text, and no others."""
        for text in HOSTILE:
            if not text.strip() or "\n" in text:
                continue
            harmless = [tag for tag in skeleton(as_html(document("text"))) if tag[0] != "span"]
            self.assertEqual([tag for tag in skeleton(as_html(document(text))) if tag[0] != "span"], harmless)

    def test_every_text_is_shown_as_it_was_written(self) -> None:
        """What can be shown is in the text of the page letter by letter; what cannot is an escape."""
        for text in HOSTILE:
            shown = "".join(_Elements(as_html(document(text))).texts)
            if text.isprintable():
                self.assertIn(text, shown)
            self.assertNotIn("\x1b", shown)
            self.assertNotIn("\u202e", shown)

    def test_lines_and_blanks_stay_within_their_element(self) -> None:
        """A text of several lines, an empty one and one of blanks leave all elements closed, and make no script."""
        for text in HOSTILE:
            self.assertFalse(
                {"script", "img", "iframe", "link"} & {tag for tag, _ in skeleton(as_html(document(text)))}
            )

    def test_nothing_is_asked_for_from_outside(self) -> None:
        """No element refers to anything but the page itself, and the policy allows the page's own style alone."""
        elements = skeleton(as_html(document(HOSTILE[0])))
        for tag, attributes in elements:
            self.assertFalse({"src", "srcset", "action", "onclick", "style"} & set(attributes), tag)
            if "href" in attributes:
                self.assertTrue((attributes["href"] or "").startswith("#"), attributes)
        [policy] = [a["content"] for t, a in elements if a.get("http-equiv") == "Content-Security-Policy"]
        self.assertRegex(policy or "", r"^default-src 'none'; style-src 'sha256-[A-Za-z0-9+/=]{44}';")

    def test_the_policy_has_the_hash_of_the_style(self) -> None:
        """A browser that obeys it applies the style sheet as it stands between its tags."""
        page = as_html(document("text"))
        [style] = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
        self.assertIn(f"'sha256-{b64encode(sha256(style.encode()).digest()).decode()}'", page)
        self.assertNotRegex(style, r"url\(|@import")

    def test_headings_tables_and_regions_are_said_to_a_screen_reader(self) -> None:
        """The language is named, headings skip no level, header cells have a scope, and what scrolls can be reached by keyboard."""
        elements = skeleton(as_html(document("text")))
        self.assertEqual(dict(elements)["html"], {"lang": "en"})
        levels = [int(tag[1]) for tag, _ in elements if re.fullmatch("h[1-6]", tag)]
        self.assertEqual(levels[0], 1)
        for before, level in pairwise(levels):
            self.assertLessEqual(level, before + 1)
        self.assertEqual({a.get("scope") for tag, a in elements if tag == "th"}, {"col", "row"})
        for tag, attributes in elements:
            if tag == "pre" or attributes.get("class") == "wide":
                self.assertEqual(attributes.get("tabindex"), "0")
                self.assertTrue({"aria-label", "aria-labelledby"} & set(attributes))


def _cells(row: str) -> int:
    """How many cells GitHub sees in a row: bars with a backslash before them are none."""
    return len(re.findall(r"(?<!\\)\|", row)) - 1


class MarkdownTests(SynchronousTestCase):
    def _lines_outside_listings(self, text: str) -> Iterator[str]:
        fence = ""
        for line in text.split("\n"):
            found = re.match("`{3,}", line)
            if fence:
                fence = "" if line == fence else fence
            elif found:
                fence = found[0]
            else:
                yield line
        self.assertEqual(fence, "", "a listing is not closed")

    def test_no_text_leaves_its_line_or_its_cell(self) -> None:
        """A page with hostile texts has as many lines and cells as one with a harmless text."""
        harmless = list(self._lines_outside_listings(as_markdown(document("text"))))
        for text in HOSTILE:
            lines = list(self._lines_outside_listings(as_markdown(document(text))))
            self.assertEqual(len(lines), len(harmless), text)
            for line, expected in zip(lines, harmless, strict=True):
                if expected.startswith("| "):
                    self.assertEqual(_cells(line), _cells(expected), line)

    def test_no_text_is_markup_where_it_is_plain(self) -> None:
        """Marks of Markdown and HTML have a backslash; what becomes a link or a mention by itself is code."""
        shown = as_markdown(Document("T", (Paragraph(("<b> [a](b) *c* _d_ ~~e~~ `f` $g$ &amp; | \\",)),)))
        self.assertIn(r"\<b\> \[a\](b) \*c\* \_d\_ \~\~e\~\~ \`f\` \$g\$ \&amp; \| " + "\\\\", shown)
        shown = as_markdown(
            Document("T", (Paragraph(("see http://a.b/ WWW.c.d and @team, #12 or a/b#3 or GH-4",)),))
        )
        self.assertIn("see `http://a.b/` `WWW.c.d` and `@team,` `#12` or `a/b#3` or `GH-4`", shown)

    def test_what_begins_a_line_makes_no_list_or_heading(self) -> None:
        """A dash, a hash or a number with a dot at the beginning of a paragraph is escaped."""
        for text, expected in (("- a", r"\- a"), ("# a", r"\# a"), ("12. a", r"12\. a"), ("+ a", r"\+ a")):
            self.assertIn(f"\n{expected}\n", as_markdown(Document("T", (Paragraph((text,)),))))

    def test_code_holds_backquotes_and_bars(self) -> None:
        """A span has more backquotes around it than in it; in a table, where bars cut, it is written with entities."""
        self.assertIn("`` a`b ``", as_markdown(Document("T", (Paragraph((Code("a`b"),)),))))
        table = Table("C", ("A",), (((Code("a|`b"),),),))
        self.assertIn("<code>a&#124;&#96;b</code>", as_markdown(Document("T", (table,))))
