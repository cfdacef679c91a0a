"""The site of the documents: its navigation, and what is checked of it once it is built."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from scripts.site.checking import faults
from scripts.site.navigation import Part, parts, toctrees


class NavigationTests(SynchronousTestCase):
    """What stands where."""

    def test_parts(self) -> None:
        """A heading is a part, with those below it as parts of their own; pages stand in the order of the lists."""
        text = "# Docs\n\nSee [a](a.md).\n\n## Use\n\n- [`A`](a.md): this\n- [B](../b.md): that\n\n### More\n\n- [C](c.md)\n\n## Not\n"
        self.assertEqual(
            [*parts(text)],
            [Part("Use", [("A", "a.md"), ("B", "../b.md")]), Part("Use: More", [("C", "c.md")])],
        )
        self.assertEqual(
            toctrees(text),
            "```{toctree}\n:caption: Use\n:hidden:\n\nA <a>\nB <../b>\n```\n\n"
            "```{toctree}\n:caption: Use: More\n:hidden:\n\nC <c>\n```\n",
        )


class CheckingTests(SynchronousTestCase):
    """What ``make site`` refuses."""

    def faults_of(self, body: str, css: str = "") -> list[str]:
        """Return what is wrong with a site of two pages, the first of which says *body*."""
        pages = {"docs/a.html": body, "docs/b.html": '<h1 id="top-of-b">B</h1>'}
        return faults(pages, {"s.css": css}, {*pages, "s.css", "docs/file.yaml"})

    def test_good_links(self) -> None:
        """Links to pages, sections, files and other hosts are fine."""
        for link in (
            "b.html",
            "b.html#top-of-b",
            "./file.yaml",
            "#here",
            "#",
            "https://example.com/x",
            "mailto:a@b.c",
        ):
            with self.subTest(link):
                self.assertEqual(self.faults_of(f'<p id="here"><a href="{link}">x</a>'), [])

    def test_dead_links(self) -> None:
        """A page or a section that there is not is a fault, each told once."""
        for link, why in (
            ("c.html", "no such file"),
            ("../b.html", "no such file"),
            ("b.html#nothing", "no such section"),
            ("#nothing", "no such section"),
        ):
            with self.subTest(link):
                twice = f'<a href="{link}">x</a>' * 2
                self.assertEqual(self.faults_of(twice), [f"docs/a.html: link to {link}: {why}"])

    def test_requests_to_other_hosts(self) -> None:
        """Whatever a browser would fetch of another host is a fault; a link that a person may follow is none."""
        for body in (
            '<script src="https://cdn.example/x.js"></script>',
            '<img src="//cdn.example/x.png">',
            '<link rel="stylesheet" href="http://fonts.example/x.css">',
            '<link rel="preconnect" href="https://fonts.example">',
            "<p style=\"background: url('https://cdn.example/x.png')\">",
        ):
            with self.subTest(body):
                [fault] = self.faults_of(body)
                self.assertRegex(fault, r"^docs/a\.html: asks (https?:)?//\w+\.example")
        self.assertEqual(
            self.faults_of(
                "", "@import 'https://fonts.example/x.css'; a { background: url(//cdn.example/y.png) }"
            ),
            ["s.css: asks https://fonts.example/x.css", "s.css: asks //cdn.example/y.png"],
        )
        self.assertEqual(
            self.faults_of('<img src="data:image/png;base64,AA">', "a { background: url(data:x) }"), []
        )

    def test_missing_parts_of_a_page(self) -> None:
        """So is a script or a style sheet of the site's own that is not there."""
        self.assertEqual(
            self.faults_of('<script src="../no.js"></script>'), ["docs/a.html: asks ../no.js: no such file"]
        )
