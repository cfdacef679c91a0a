"""Clients that the operator blocks by what they say of themselves."""

from datetime import UTC, datetime

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.access.blocking import MAX_ENTRIES, Blocking, BlockingSettings, parse_entries
from ingress.annotations.contract.values import ValueRefused
from ingress.model.cluster.objects import ObjectKey
from ingress.model.cluster.problems import Reason
from ingress.options.config_map import read_config_map
from ingress.options.merging import Merged, merge
from ingress.options.option import DEFAULTS
from ingress.routing.route import Route
from ingress.translate.translate import translate
from tests.proxy.playing import OK, ONE, ProxyCase
from tests.translate.golden import state_of
from tests.translate.tls.test_client_authentication import ingress

KEY = ObjectKey("ingress", "nginx")


def said(**content: str) -> Merged:
    """What a ConfigMap with these keys comes to."""
    return merge(
        DEFAULTS, (), read_config_map(KEY, {key.replace("_", "-"): text for key, text in content.items()})
    )


class EntriesTests(SynchronousTestCase):
    """``parse_entries``."""

    def test_read(self) -> None:
        """A list has commas, each entry once."""
        self.assertEqual(parse_entries(" a b , ~*c.*d,a b,"), ("a b", "~*c.*d"))
        self.assertEqual(parse_entries(""), ())

    def test_in_quotes(self) -> None:
        """As nginx's ``map`` has them, where what has a blank must be; an entry of two quotes is what says nothing."""
        self.assertEqual(parse_entries('"~*a b", \'c d\',""'), ("~*a b", "c d", ""))
        self.assertEqual(parse_entries('"a\\"b"'), ('a"b',))
        self.assertEqual(
            parse_entries(r'"~a\\.b", ~*c\\.d,"e\tf",~\.g\d'), (r"~a\.b", r"~*c\.d", "e\tf", r"~\.g\d")
        )
        self.assertEqual(parse_entries('a"b",","a\''), ('a"b"', '"', "\"a'"))
        self.assertRaises(ValueRefused, parse_entries, '"~(a"')

    def test_refused(self) -> None:
        """What is no expression that is run here is refused, and so is a list without end."""
        for text in (
            "~(a",
            "a,~*[",
            "~(?=x)",
            ",".join(map(str, range(MAX_ENTRIES + 1))),
            "~" + "a" * 100_000,
        ):
            self.assertRaises(ValueRefused, parse_entries, text)


class BlockingTests(ProxyCase):
    """The filter, in the proxy."""

    def ask(self, *lines: bytes) -> int:
        """The status of a request with these lines; endpoints answer 200."""
        client = self.stage.open()
        client.say(b"\r\n".join([b"GET / HTTP/1.1", b"Host: shop.test", *lines, b"", b""]))
        answer = client.take()
        if not answer:
            self.upstream().say(OK)
            answer = client.take()
        return int(answer[9:12])

    def test_user_agents_and_referers(self) -> None:
        """Texts are whole values in any case, expressions are found anywhere; whoever says nothing gets in."""
        self.stage.publish((ONE,), filters=(Blocking(("Crawler", "~^Bad", "~*spider"), ("~spam\\.test",)),))
        for lines, status in (
            ((), 200),
            ((b"User-Agent: me",), 200),
            ((b"User-Agent: CRAWLER",), 403),
            ((b"User-Agent: Crawler 2",), 200),
            ((b"User-Agent: Bad",), 403),
            ((b"User-Agent: bad",), 200),
            ((b"User-Agent: a SPIDER\xff",), 403),
            ((b"Referer: https://spam.test/",), 403),
            ((b"User-Agent: " + b"a" * 9000 + b"spider",), 200),
        ):
            self.assertEqual(self.ask(*lines), status, lines)

    def test_who_says_nothing(self) -> None:
        """An empty text blocks whoever has the field empty, or has it not."""
        self.stage.publish((ONE,), filters=(Blocking(("",)),))
        for lines, status in (((), 403), ((b"User-Agent:",), 403), ((b"User-Agent: me",), 200)):
            self.assertEqual(self.ask(*lines), status, lines)


class OperatorsTests(SynchronousTestCase):
    """From the ConfigMap to routes."""

    def routes(self, found: Merged) -> tuple[Route, ...]:
        """The routes of an Ingress that asks for nothing."""
        return translate(
            state_of([ingress("a", "/")]), found.settings.translate, datetime.now(UTC)
        ).table.routes

    def test_blocked(self) -> None:
        """What is blocked is blocked on all routes; without it no route has a filter."""
        found = said(block_user_agents="a,b", block_referers="~c")
        (route,) = self.routes(found)
        self.assertEqual((found.problems, route.filters), ((), (Blocking(("a", "b"), ("~c",)),)))
        (route,) = self.routes(said())
        self.assertEqual(route.filters, ())

    def test_unreadable(self) -> None:
        """A list that cannot be read keeps everybody out, and says so."""
        found = said(block_user_agents="~(a")
        (problem,) = found.problems
        self.assertEqual((problem.reason, problem.field), (Reason.INVALID_OPTION, "data.block-user-agents"))
        (route,) = self.routes(found)
        self.assertEqual(route.filters, (Blocking(("~",)),))
        self.assertEqual(BlockingSettings(), BlockingSettings((), ()))

    def test_networks(self) -> None:
        """What block-cidrs has is denied besides what denylist-source-range has."""
        for content in (
            {"block_cidrs": "10.0.0.0/8", "denylist_source_range": "192.0.2.0/24"},
            {"block_cidrs": "192.0.2.0/24,10.0.0.0/8"},
        ):
            found = said(**content)
            self.assertEqual(found.problems, ())
            (route,) = self.routes(found)
            (spec,) = route.filters
            self.assertEqual(spec.describe(), "answers 403 to clients from 10.0.0.0/8 and 1 more")
