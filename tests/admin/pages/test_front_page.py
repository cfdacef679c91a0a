"""The page for browsers: when it is shown, and what a browser holds it to."""

import base64
import hashlib
import re
from importlib.resources import files

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.admin.pages.front_page import front_page, policy_of, wants_page
from ingress.admin.port.site import admin_site
from ingress.live.counted import NOT_THE_SERVICES
from ingress.model.exchanges.causes import Cause
from tests.admin.live_case import live_of
from tests.admin.site_case import SiteCase

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
TEXT = files("ingress.admin").joinpath("pages/page.html").read_text("utf-8")


class FrontPageTests(SiteCase):
    """What the root of the admin port answers."""

    def setUp(self) -> None:
        super().setUp()
        self.shown = evolve(self.known(), live=live_of(self.known(), self.clock))
        self.site = admin_site(self.shown, self.clock)

    def test_browsers(self) -> None:
        """A browser gets the page, under a policy that names its program and its style by their hashes, and nothing else."""
        status, fields, body = self.ask("/", Accept=BROWSER)
        self.assertEqual((status, fields["content-type"], body), (200, "text/html; charset=utf-8", TEXT))
        self.assertEqual((fields["vary"], fields["x-content-type-options"]), ("Accept", "nosniff"))
        (script,) = re.findall(r"<script>(.*?)</script>", TEXT, re.DOTALL)
        (style,) = re.findall(r"<style>(.*?)</style>", TEXT, re.DOTALL)
        self.assertEqual(
            fields["content-security-policy"],
            f"default-src 'none'; script-src 'sha256-{_hash(script)}'; style-src 'sha256-{_hash(style)}'; "
            "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        )

    def test_causes(self) -> None:
        """The page counts each cause, as trouble just where the share of a route that fails has it."""
        trouble, refused = (
            {bare or quoted for quoted, bare in re.findall(r'(?:"([a-z-]+)"|(\b[a-z]+)): "', listed)}
            for listed in re.findall(r"const (?:TROUBLE|REFUSED) = \{(.*?)\};", TEXT)
        )
        self.assertEqual(refused, {cause.value for cause in NOT_THE_SERVICES})
        self.assertEqual(trouble, {cause.value for cause in Cause} - refused)

    def test_everybody_else(self) -> None:
        """``curl``, and whoever does not ask for HTML, gets the list of pages."""
        for accept in ("*/*", "text/plain", "application/json, */*"):
            status, fields, body = self.ask("/", Accept=accept)
            self.assertEqual((status, fields["content-type"]), (200, "text/plain; charset=utf-8"))
            self.assertIn("\n/api/v1/live ", body)
            self.assertEqual(fields["vary"], "Accept")

    def test_probes(self) -> None:
        """The port for probes alone has neither page nor stream."""
        self.site = admin_site(self.shown, self.clock, only_probes=True)
        self.assertEqual(self.ask("/", Accept=BROWSER)[1]["content-type"], "text/plain; charset=utf-8")
        self.assertEqual(self.ask("/api/v1/live")[0], 404)

    def test_accept(self) -> None:
        """HTML has to be named."""
        self.assertTrue(wants_page("application/xml, Text/HTML;q=0.5"))
        for accept in ("", "*/*", "text/*", "text/htmlx"):
            self.assertFalse(wants_page(accept), accept)


class PageFileTests(SynchronousTestCase):
    """The file itself, as far as it can be judged without a browser."""

    def test_text_is_never_markup(self) -> None:
        """Nothing in the program makes markup, or a program, of a text."""
        for word in (
            "innerHTML", "outerHTML", "insertAdjacent", "document.write", "createContextualFragment", "DOMParser", "setHTML",
            "eval(", "Function(", "srcdoc", "javascript:", "setAttribute(\"on", "setAttribute(\"style", "setAttribute(\"href",
        ):  # fmt: skip
            self.assertNotIn(word, TEXT)
        self.assertIsNone(re.search(r"setTimeout\(\s*[\"'`]", TEXT))

    def test_one_file(self) -> None:
        """It refers to nothing outside of itself but to pages of the same port; and nothing in it is run or styled by an attribute."""
        self.assertIsNone(
            re.search(r"<(?:script|link|img|iframe|object|embed)\b[^>]*\b(?:src|href)=(?![\"']?data:)", TEXT)
        )
        self.assertIsNone(re.search(r"@import|url\(", TEXT))
        self.assertEqual(
            set(re.findall(r"https?://[^\s\"'`$<]+", TEXT)) - {"http://www.w3.org/2000/svg"},
            {"https://shop.example.com/cart?x=1"},
        )
        self.assertIsNone(re.search(r"<[a-z][^>]*\s(?:on[a-z]+|style)=", TEXT.partition("<script>")[0]))

    def test_policy_of_no_program(self) -> None:
        """What has neither program nor style may run and style nothing."""
        self.assertIn("script-src ; style-src ;", policy_of("<p>"))

    def test_read_once(self) -> None:
        """The file is read once."""
        self.assertIs(front_page(), front_page())


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
