"""Address ranges: from annotation to 403."""

from bisect import bisect_right
from datetime import UTC, datetime

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.access.address_ranges import (
    ADDRESS_RANGES,
    MOST_RANGES,
    AddressRanges,
    RangeSettings,
    parse_ranges,
)
from ingress.annotations.access.guards import GuardMissing
from ingress.annotations.contract.values import ValueRefused
from ingress.filters import FilterSpec, Reply
from ingress.http.forwarding import TrustedProxies
from ingress.model.network import networks
from ingress.translate.options import TranslateOptions
from ingress.translate.snapshot import Snapshot
from ingress.translate.translate import translate
from tests.fakes.filter_parts import FakeFacts, FakeServices
from tests.operator_settings import operator_settings
from tests.proxy.playing import OK, ONE, ProxyCase
from tests.translate.golden import state_of
from tests.translate.tls.test_client_authentication import ingress
from tests.workers.sent import sent


def snapshot(passes_tls: bool = False, **written: str) -> Snapshot:
    """Translate an Ingress with these annotations, whose names have underscores here."""
    named = {name.replace("_", "-"): value for name, value in written.items()}
    options = TranslateOptions(ssl_passthrough=passes_tls)
    return translate(state_of([ingress("a", "/", **named)]), options, datetime.now(UTC))


def filters(**written: str) -> tuple[FilterSpec, ...]:
    """Return the filters of its route."""
    (route,) = snapshot(False, **written).table.routes
    return route.filters


def status(spec: FilterSpec, client: bytes) -> int:
    """Return what *client* gets; 200 for being let in."""
    reply = spec.make(FakeServices()).on_request(FakeFacts(client=client))
    return reply.status if isinstance(reply, Reply) else 200


class ParsingTests(SynchronousTestCase):
    """Lists."""

    def test_lists(self) -> None:
        """Members stand between commas, with any space and line ends around; what is the same stands once."""
        for text in ("10.0.0.0/8,192.0.2.1", " 192.0.2.1 ,\n  10.1.2.3/8 , 192.0.2.1/32\n"):
            self.assertEqual(list(map(str, parse_ranges(text))), ["10.0.0.0/8", "192.0.2.1/32"])

    def test_refused(self) -> None:
        """One member that is none refuses the list, and is named."""
        for text, shown in (
            ("", "an empty member"),
            ("10.0.0.0/8,", "an empty member"),
            ("10.0.0.0/8,example.com", '"example.com"'),
            ("10.0.0.0/8 11.0.0.0/8", '"10.0.0.0/8 11.0.0.0/8"'),
            ("all", '"all"'),
            ("10.0.0.0/8\r\nX: y", '"10.0.0.0/8\\x0d'),
            ("{{ .Values.range }}", '"{{ .Values.range }}"'),
        ):
            with self.assertRaises(ValueRefused) as raised:
                parse_ranges(text)
            self.assertIn(shown, str(raised.exception))

    def test_long_lists(self) -> None:
        """Two thousand members are fine, and a value is refused by its number of members before any is read."""
        most = ",".join(f"10.{n % 256}.{n // 256}.0/24" for n in range(MOST_RANGES))
        self.assertEqual(len(parse_ranges(most)), MOST_RANGES)
        for text in (f"{most},11.0.0.0/8", "," * 256 * 1024):
            self.assertRaisesRegex(ValueRefused, f"has more than {MOST_RANGES} members", parse_ranges, text)
        self.assertRaisesRegex(ValueRefused, "xxx", parse_ranges, "x" * 256 * 1024)


class TranslationTests(SynchronousTestCase):
    """From object to filter."""

    def test_names(self) -> None:
        """Both names allow, the third denies, and all stand in one filter."""
        for name in ("whitelist_source_range", "allowlist_source_range"):
            self.assertEqual(filters(**{name: "10.0.0.0/8"}), (AddressRanges(parse_ranges("10.0.0.0/8")),))
        self.assertEqual(
            filters(denylist_source_range="10.0.0.1", whitelist_source_range="10.0.0.0/8"),
            (AddressRanges(parse_ranges("10.0.0.0/8"), parse_ranges("10.0.0.1/32")),),
        )

    def test_operators(self) -> None:
        """What the operator says holds for all who say nothing; an Ingress has the last word by either name, also to open itself."""
        operators = operator_settings((ADDRESS_RANGES, RangeSettings(whitelist=parse_ranges("10.0.0.0/8"))))
        usual = AddressRanges(parse_ranges("10.0.0.0/8"))
        for written, expected in (
            ({}, (usual,)),
            (
                {"denylist-source-range": "10.0.0.1"},
                (AddressRanges(parse_ranges("10.0.0.0/8"), parse_ranges("10.0.0.1/32")),),
            ),
            ({"allowlist-source-range": "11.0.0.0/8"}, (AddressRanges(parse_ranges("11.0.0.0/8")),)),
            ({"whitelist-source-range": "11.0.0.0/8"}, (AddressRanges(parse_ranges("11.0.0.0/8")),)),
            ({"whitelist-source-range": "0.0.0.0/0,::/0"}, ()),
            ({"whitelist-source-range": ""}, (usual,)),
            ({"whitelist-source-range": ","}, (GuardMissing(),)),
        ):
            options = TranslateOptions(operators=operators)
            objects = state_of([ingress("a", "/", **written)])
            (route,) = translate(objects, options, datetime.now(UTC)).table.routes
            self.assertEqual(route.filters, expected, written)

    def test_nothing_in_it(self) -> None:
        """As in ingress-nginx, a list without anything in it lets nobody in, but for that of the older name, which then is none."""
        older = AddressRanges(parse_ranges("10.0.0.0/8"))
        closed = (GuardMissing(),)
        for written, expected, named in (
            ({"allowlist_source_range": ""}, closed, "allowlist-source-range"),
            ({"allowlist_source_range": " "}, closed, "allowlist-source-range"),
            ({"allowlist_source_range": "", "whitelist_source_range": ""}, closed, "allowlist-source-range"),
            ({"allowlist_source_range": "", "whitelist_source_range": "10.0.0.0/8"}, (older,), ""),
            ({"denylist_source_range": ""}, closed, "denylist-source-range"),
            (
                {"denylist_source_range": "", "whitelist_source_range": "10.0.0.0/8"},
                closed,
                "denylist-source-range",
            ),
            ({"whitelist_source_range": ""}, (), ""),
        ):
            found = snapshot(False, **written)
            (route,) = found.table.routes
            self.assertEqual(route.filters, expected, written)
            told = [problem.message for problem in found.problems if "source-range" in problem.message]
            self.assertEqual(len(told), bool(named), told)
            self.assertTrue(all(named in one and "answers 503" in one for one in told), told)

    def test_long_lists_of_operators(self) -> None:
        """A long list that holds for everybody is one filter for all, which each route costs nothing more."""
        ranges = parse_ranges(",".join(f"10.{n % 256}.{n // 256}.0/25" for n in range(1000)))
        options = TranslateOptions(
            operators=operator_settings((ADDRESS_RANGES, RangeSettings(whitelist=ranges)))
        )
        objects = state_of([ingress("a" * number, "/", host=f"{number}.test") for number in range(1, 20)])
        found = translate(objects, options, datetime.now(UTC)).table.routes
        self.assertEqual(len({id(route.filters[0]) for route in found}), 1)

    def test_everybody(self) -> None:
        """What everybody is in, as cert-manager writes it, needs no filter."""
        self.assertEqual(filters(whitelist_source_range="0.0.0.0/0,::/0"), ())
        self.assertEqual(len(filters(whitelist_source_range="0.0.0.0/0")), 1)

    def test_refused_is_closed(self) -> None:
        """A list that cannot be read, allowing or denying, alone or beside a good one, answers 503, and a problem says why."""
        for written in (
            {"whitelist_source_range": "10.0.0.0/8,x"},
            {"allowlist_source_range": ","},
            {"denylist_source_range": "10.0.0.300"},
            {"denylist_source_range": "x", "whitelist_source_range": "10.0.0.0/8"},
            {"whitelist_source_range": "0.0.0.0/0,::/0", "allowlist_source_range": "x"},
        ):
            found = snapshot(False, **written)
            (route,) = found.table.routes
            self.assertEqual(route.filters, (GuardMissing(),), written)
            told = [one.message for one in found.problems if "source-range" in one.field]
            self.assertTrue(any("answers 503 rather than be open" in one for one in told), told)

    def test_an_empty_list_is_as_in_ingress_nginx(self) -> None:
        """It closes there, too, so whoever moves has nothing to look into."""
        found = snapshot(False, allowlist_source_range="").problems
        (problem,) = (one for one in found if "source-range" in one.field)
        self.assertTrue(problem.message.endswith("rather than be open, as in ingress-nginx"), problem.message)

    def test_two_lists(self) -> None:
        """Of two lists that differ the one by the present name counts, and the other is told of; equal ones are fine."""
        found = snapshot(whitelist_source_range="10.0.0.0/8", allowlist_source_range="11.0.0.0/8")
        (route,) = found.table.routes
        self.assertEqual(route.filters, (AddressRanges(parse_ranges("11.0.0.0/8")),))
        (problem,) = [one for one in found.problems if "source-range" in one.field]
        self.assertIn("counts for nothing beside allowlist-source-range", problem.message)
        found = snapshot(whitelist_source_range="10.0.0.0/8", allowlist_source_range="10.0.0.0/8")
        self.assertEqual([one for one in found.problems if "source-range" in one.field], [])

    def test_passthrough(self) -> None:
        """TLS does not lead past the range: it is terminated here, and the owner is told."""
        found = snapshot(True, ssl_passthrough="true", whitelist_source_range="10.0.0.0/8")
        (route,) = found.table.routes
        self.assertIsNone(route.passthrough)
        self.assertIn(AddressRanges(parse_ranges("10.0.0.0/8")), route.filters)
        self.assertTrue(any("says who may come in" in one.message for one in found.problems))
        (route,) = snapshot(True, ssl_passthrough="true").table.routes
        self.assertIsNotNone(route.passthrough)

    def test_in_bytes(self) -> None:
        """A snapshot carries the ranges to another process."""
        found = snapshot(whitelist_source_range="10.0.0.0/8", denylist_source_range="::1")
        (route,) = sent(found).table.routes
        self.assertEqual(route.filters, (AddressRanges(parse_ranges("10.0.0.0/8"), parse_ranges("::1/128")),))


class VerdictTests(SynchronousTestCase):
    """Who is let in."""

    def test_allowed_and_denied(self) -> None:
        """Whoever is denied stays out, allowed or not; where nobody is allowed by name, all others come in."""
        both = AddressRanges(parse_ranges("10.0.0.0/8,2001:db8::/32"), parse_ranges("10.0.0.1/32"))
        for client, expected in (
            (b"10.0.0.2", 200),
            (b"10.0.0.1", 403),
            (b"11.0.0.1", 403),
            (b"::ffff:10.0.0.2", 200),
            (b"::ffff:10.0.0.1", 403),
            (b"2001:db8::1", 200),
            (b"2001:db9::1", 403),
            (b"unknown", 403),
        ):
            self.assertEqual(status(both, client), expected, client)
        for client, expected in ((b"10.0.0.1", 403), (b"10.0.0.2", 200), (b"unknown", 200)):
            self.assertEqual(
                status(AddressRanges(None, parse_ranges("10.0.0.1/32")), client), expected, client
            )

    def test_long_lists_cost_no_more(self) -> None:
        """With a thousand ranges a client is found by one bisection of each list, and asked again by none."""
        texts = parse_ranges(",".join(f"10.{n % 256}.{n // 256}.0/25" for n in range(1000)))
        live = AddressRanges(texts).make(FakeServices())
        looked: list[int] = []

        def look(starts: list[int], number: int) -> int:
            looked.append(number)
            return bisect_right(starts, number)

        self.patch(networks, "bisect_right", look)
        for client, is_in in ((b"10.255.0.127", True), (b"10.255.0.128", False), (b"10.255.0.127", True)):
            self.assertEqual(live.on_request(FakeFacts(client=client)) is None, is_in)
        self.assertEqual(len(looked), 4)


class ProxyTests(ProxyCase):
    """Whose address counts."""

    def ask(self, forwarded: bytes = b"") -> bytes:
        """Ask for the page, saying this of the client."""
        client = self.stage.open()
        client.say(b"GET / HTTP/1.1\r\nHost: shop.test\r\nX-Forwarded-For: %b\r\n\r\n" % forwarded)
        answer = client.take()
        if not answer:
            self.upstream().say(OK)
            answer = client.take()
        return answer

    def test_only_trusted_proxies_are_believed(self) -> None:
        """What a client says about its address opens nothing; what a trusted proxy says decides."""
        self.stage.publish((ONE,), filters=(AddressRanges(parse_ranges("20.0.0.0/24")),))
        self.assert_status(self.ask(b"20.0.0.1"), 403)
        self.assert_upstreams(0)
        self.stage.site.trust(TrustedProxies(["0.0.0.0/4", "128.0.0.0/1"]))
        self.assert_status(self.ask(b"30.0.0.1, 20.0.0.1"), 200)
        self.assert_status(self.ask(b"20.0.0.1, 30.0.0.1"), 403)
