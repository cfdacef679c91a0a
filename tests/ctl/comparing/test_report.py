"""Tests for ingress.ctl.comparing.causes and report: what is told of differences, without any request."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from ingress.ctl.comparing.answers import Answer
from ingress.ctl.comparing.asking_both import Pair
from ingress.ctl.comparing.causes import Attribution, causes
from ingress.ctl.comparing.differences import Compared, Comparing, Difference, Weight
from ingress.ctl.comparing.report import EXAMPLES, Report, as_data, as_document, summary
from ingress.ctl.comparing.samples import Chosen, Sample
from ingress.ctl.comparing.tally import Tally
from ingress.ctl.inputs.controller_options import options_from
from ingress.ctl.inputs.files.manifests import read_manifests
from ingress.ctl.lint.linting import lint
from ingress.ctl.pages.html import as_html
from ingress.ctl.pages.markdown import as_markdown
from tests.ctl.comparing.test_generating import manifest
from tests.ctl.ctl_case import CtlCase

STATUS = Difference("status", "301", "308", Weight.STATUS)


def sample(target: str, host: str = "shop.test", **fields: str) -> Sample:
    """A sample over http."""
    return Sample("http", "GET", host, target, tuple(fields.items()), what="below")


class ReportCase(CtlCase):
    """Reports of differences, with the objects of manifests."""

    def attribution(self, text: str) -> Attribution:
        """Return what knows the objects of *text*."""
        given = read_manifests(
            [self.manifest(text)], options_from(()).settings, datetime(2026, 11, 22, tzinfo=UTC)
        )
        return Attribution(given, lint(given))

    def report(
        self, *compared: Compared, attribution: Attribution | None = None, ended: str = "", field: str = ""
    ) -> Report:
        """Return the report of *compared*."""
        tally = Tally()
        for one in compared:
            tally.add(one)
        chosen = Chosen(
            tuple(one.sample for one in compared), (("of the method POST, which --methods does not name", 2),)
        )
        known = attribution or Attribution(None, None)
        return Report(
            "http to 10.0.0.1:80", "http to 10.0.0.2:80", chosen, tally.result(), known, field, ended
        )


class CauseTests(ReportCase):
    """Differences by cause."""

    def test_by_object(self) -> None:
        """Differences of one sort are told once for each object that takes the requests; the worst come first."""
        text = manifest("/a", name="a") + manifest("/b", name="b")
        lost = Difference("status", "200", "503", Weight.LOST)
        found = [Compared(sample(f"/a/{number}"), (STATUS,)) for number in range(3)]
        found += [
            Compared(sample("/b"), (STATUS,)),
            Compared(sample("/b/1"), (lost,)),
            Compared(sample("/c"), (STATUS,)),
        ]
        self.assertEqual(
            [
                (*map(str, one.taken), one.title, len(one.compared))
                for one in causes(found, self.attribution(text))
            ],
            [
                ("Ingress shop/b", "status 200 there, 503 here", 1),
                ("Ingress shop/a", "status 301 there, 308 here", 3),
                ("Ingress shop/b", "status 301 there, 308 here", 1),
                ("no rule", "status 301 there, 308 here", 1),
            ],
        )

    def test_many_objects(self) -> None:
        """What is so for many objects has nothing to do with each of them, and is told once, with all of them."""
        text = "".join(manifest(f"/{name}", name=name) for name in "abcde")
        field = Difference("x-a", "1", "2", Weight.FIELD)
        found = [Compared(sample(f"/{name}"), (field,)) for name in "edcba"]
        (cause,) = causes(found, self.attribution(text))
        self.assertEqual([str(one) for one in cause.taken], [f"Ingress shop/{name}" for name in "abcde"])
        self.assertEqual(len(causes(found[:4], self.attribution(text))), 4)

    def test_titles(self) -> None:
        """Values stand in a title where they are the same in all requests, and short."""
        for values, title in (
            ([("1", "2"), ("1", "2")], "x-a 1 there, 2 here"),
            ([("1", "2"), ("1", "3")], "x-a differs"),
            ([("1", "2" * 80)], "x-a differs"),
        ):
            found = [
                Compared(sample(f"/{theirs}{ours}"), (Difference("x-a", theirs, ours, Weight.FIELD),))
                for theirs, ours in values
            ]
            (cause,) = causes(found, Attribution(None, None))
            self.assertEqual(cause.title, title)

    def test_certificates_apart(self) -> None:
        """Another certificate is told by itself, for it is the host's and not the request's."""
        shown = Difference("certificate", "a", "b", Weight.CERTIFICATE)
        found = causes([Compared(sample("/a"), (STATUS, shown))], Attribution(None, None))
        self.assertEqual(
            [one.title for one in found], ["status 301 there, 308 here", "certificate a there, b here"]
        )

    def test_suspects(self) -> None:
        """What of the object's annotations is not done, and may have to do with what differs, is told; nothing else is."""
        text = manifest(
            annotations='"nginx.ingress.kubernetes.io/proxy-redirect-to": "x y", "nginx.ingress.kubernetes.io/cors-max-age": "x",'
            '"nginx.ingress.kubernetes.io/auth-tls-secret": "rubbish"'
        )
        attribution = self.attribution(text)
        location = Difference("Location", "/a", "/b", Weight.LOCATION)
        field = Difference("access-control-max-age", "1", "2", Weight.FIELD)
        for difference, named, unnamed in (
            (location, "proxy-redirect-to", "cors-max-age"),
            (field, "cors-max-age", "proxy-redirect-to"),
        ):
            (cause,) = causes([Compared(sample("/cart"), (difference,))], attribution)
            told = "\n".join(cause.suspects)
            self.assertIn(named, told)
            self.assertNotIn(unnamed, told)

    def test_no_suspects(self) -> None:
        """What never existed in ingress-nginx does nothing on either side, and makes no difference."""
        text = manifest(annotations='"nginx.ingress.kubernetes.io/rate-limit": "5"')
        (cause,) = causes([Compared(sample("/cart"), (STATUS,))], self.attribution(text))
        self.assertFalse(any(one.startswith("rate-limit (") for one in cause.suspects), cause.suspects)

    def test_expected(self) -> None:
        """It is said what becomes of a request by the objects that are given, and where the one that runs must have others."""
        text = manifest(tls="{secretName: x}")
        for status, words in (
            (308, "by https-redirect"),
            (404, "answered 404: it has other objects or options"),
        ):
            found = [
                Compared(
                    sample("/cart"),
                    (Difference("status", "200", str(status), Weight.LOST),),
                    our_status=status,
                )
            ]
            (cause,) = causes(found, self.attribution(text))
            self.assertTrue(
                cause.expected.startswith("answered 308 Permanent Redirect to https://shop.test/cart")
            )
            self.assertIn(words, cause.expected)
            self.assertEqual("other objects" in cause.expected, status == 404)
        (cause,) = causes(found, Attribution(None, None))
        self.assertEqual(cause.expected, "")

    def test_known(self) -> None:
        """A path that is refused here for being read in two ways is known to be, for whatever object."""
        refused = Difference("status", "200", "400", Weight.LOST)
        text = manifest("/a", name="a") + manifest("/b", name="b")
        found = [Compared(sample(f"/{name}%2Fx"), (refused,)) for name in "ab"]
        (cause,) = causes(found, self.attribution(text))
        self.assertIn("read strictly", cause.known)
        (cause,) = causes([Compared(sample("/a"), (refused,))], self.attribution(text))
        self.assertEqual(cause.known, "")


class ReportTests(ReportCase):
    """The page."""

    def test_summary(self) -> None:
        """One line has all numbers."""
        neither = Answer(failure="x")
        unanswered = Comparing().compare(Pair(sample("/c"), neither, neither))
        report = self.report(
            Compared(sample("/a"), (STATUS,)), Compared(sample("/b")), unanswered, ended="interrupted"
        )
        self.assertEqual(
            summary(report),
            "3 of 3 requests to each: 2 answered alike, 1 not, 1 that neither answers, 2 left out;"
            " ended before the last one: interrupted",
        )

    def test_pages(self) -> None:
        """Markdown and HTML show the first requests of each cause, JSON has all."""
        report = self.report(*(Compared(sample(f"/{number}"), (STATUS,)) for number in range(9)))
        document = as_document(report)
        for text in (as_markdown(document), as_html(document)):
            shown = [number for number in range(9) if f"http://shop.test/{number}" in text]
            self.assertEqual(shown, list(range(EXAMPLES)))
            self.assertIn("And 4 more.", text)
        (cause,) = as_data(report)["causes"]
        self.assertEqual(len(cause["requests"]), 9)

    def test_how_backends_are_known(self) -> None:
        """It is said how the backend is known, and that it is not where no field was named."""
        self.assertIn("is not known", as_markdown(as_document(self.report())))
        named = as_markdown(as_document(self.report(field="X-Pod")))
        self.assertNotIn("is not known", named)
        self.assertIn("X-Pod", named)

    def test_rules_are_listed(self) -> None:
        """Each page has the rules by which something is no difference, and JSON has them, too."""
        report = self.report()
        for text in (
            as_markdown(as_document(report)),
            as_html(as_document(report)),
            json.dumps(as_data(report)),
        ):
            self.assertIn("order", text)
            self.assertIn("unsteady", text)

    def test_no_secrets(self) -> None:
        """No value of a field is shown, and no parameter whose name tells of a secret, in what was asked or answered."""
        there, here = (f"https://login.test/?code=s3cret-{one}&a=1" for one in "xy")
        difference = Difference("Location", there, here, Weight.LOCATION)
        report = self.report(Compared(sample("/?access_token=s3cret&q=1", Cookie="s3cret"), (difference,)))
        for text in (
            as_markdown(as_document(report)),
            as_html(as_document(report)),
            json.dumps(as_data(report)),
        ):
            self.assertNotIn("s3cret", text)
            self.assertIn("(hidden)", text)

    def test_hostile(self) -> None:
        """What answers say is text in a page, and no markup; what does not end is cut."""
        bad = Difference("x-a", "<script>alert(1)</script>|`\x1b[31m", "y" * 100_000, Weight.FIELD)
        document = as_document(self.report(Compared(sample("/<b>"), (bad,))))
        html, markdown = as_html(document), as_markdown(document)
        self.assertNotIn("<script>alert", html)
        self.assertNotIn("\x1b", html + markdown)
        self.assertLess(len(html), 30_000)
