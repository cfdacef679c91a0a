"""Bodies of answers with the real libmodsecurity and the real core rules, from an endpoint to its client.

``make firewall`` runs these.
"""

from __future__ import annotations

import json
import os
import signal
from hashlib import sha256
from typing import Final

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.firewall.reading import read_snippet
from ingress.annotations.firewall.rule_sets import FirewallSettings, Switch, rule_set
from ingress.firewall.libmodsecurity import ModSecurity
from ingress.model.exchanges.firewall import FirewallPlan, InspectedAnswer, InspectedRequest
from tests.fakes.peers.upstreams import UpstreamWire
from tests.firewall.test_modsecurity import CORE_RULES, HOST, FirewallCase, firewall_processes

ACCESS: Final = "SecResponseBodyAccess On\nSecResponseBodyMimeType text/html\n"
RULE: Final = 'SecRule RESPONSE_BODY "@contains secret" "id:9,phase:4,deny,status:451,log,msg:\'a leak\'"\n'
LEAK: Final = b"<p>You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version</p>"
"""Of what rule 951230 of the core rules is about."""


class LibraryTests(SynchronousTestCase):
    """What the library makes of bodies of answers, by rules as they are written for it."""

    skip = FirewallCase.skip

    def judged(self, snippet: str, body: bytes | None, content_type: bytes = b"text/html") -> tuple[int, int]:
        """Return the status that an answer is to have, and how many rules told of it."""
        settings = FirewallSettings(Switch.ON, snippet=read_snippet(snippet), plan=FirewallPlan(1))
        rules = rule_set(settings)
        assert rules is not None
        self.assertIsNotNone(rules.answer_bodies)
        compiled = ModSecurity().load(rules.parts)
        transaction = compiled.begin(b"id")
        request = InspectedRequest(
            b"id", b"10.0.0.1", b"a.test", 80, b"GET", b"/", b"Host: a.test\r\n", b"", True
        )
        self.assertEqual(transaction.request(request).status, 0)
        lines = b"Content-Type: %b\r\n" % content_type
        said = transaction.answer(InspectedAnswer(1, 200, lines, body))
        transaction.close()
        compiled.close()
        return said.status, said.matched

    def test_types(self) -> None:
        """It compares them as it is foreseen here, before anything is held."""
        snippet = f"SecRuleEngine On\n{ACCESS}{RULE}"
        rules = rule_set(FirewallSettings(Switch.ON, snippet=read_snippet(snippet), plan=FirewallPlan(1)))
        assert rules is not None and rules.answer_bodies is not None
        for said in (
            b"text/html",
            b"text/html; charset=utf-8",
            b"Text/HTML",
            b"text/html ;a",
            b"image/png",
            b"",
        ):
            looks = self.judged(snippet, b"a secret", said)[0] == 451
            self.assertIs(rules.answer_bodies.include(said), looks, said)
        of_all = snippet.replace("SecResponseBodyMimeType text/html\n", "")
        self.assertEqual(self.judged(of_all, b"a secret", b"image/png")[0], 451)

    def test_without_a_body(self) -> None:
        """Where none is brought, the phase of bodies is not run."""
        action = 'SecAction "id:9,phase:4,deny,status:451"\n'
        self.assertEqual(self.judged(f"SecRuleEngine On\n{ACCESS}{action}", None)[0], 0)
        self.assertEqual(self.judged(f"SecRuleEngine On\n{ACCESS}{action}", b"")[0], 451)

    def test_longer_ones(self) -> None:
        """What is longer is refused, or inspected in part, as the rules say; rules that only tell see the first part of it in any case."""
        within, behind = b"a secret" + b"x" * 9992, b"x" * 10_000 + b"secret"
        limit = f"{ACCESS}{RULE}SecResponseBodyLimit 10000\nSecResponseBodyLimitAction "
        for mode, action, body, expected in (
            ("On", "Reject", within, 451),
            ("On", "Reject", b"x" * 10_001, 403),
            ("On", "ProcessPartial", within + b"x", 451),
            ("On", "ProcessPartial", behind, 0),
        ):
            found = self.judged(f"SecRuleEngine {mode}\n{limit}{action}\n", body[:10_001])
            self.assertEqual(found[0], expected, (mode, action))
        for action in ("Reject", "ProcessPartial"):
            found = self.judged(f"SecRuleEngine DetectionOnly\n{limit}{action}\n", within + b"x")
            self.assertEqual(found, (0, 1))


class AnswerBodyTests(FirewallCase):
    """Through a controller."""

    def page(self, body: bytes, content_type: bytes = b"text/html") -> None:
        """Have the endpoint answer with this."""
        head = b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n" % (
            content_type,
            len(body),
        )

        def answer(wire: UpstreamWire) -> None:
            wire.write(head + body)

        self.backend.on_request = answer

    async def shown(self) -> tuple[int, bytes]:
        """Ask; return the status, and the beginning of the body."""
        answer = await self.answer(self.http, "/", HOST)
        assert answer is not None
        self.digest = answer.digest
        return answer.status, answer.body

    async def assert_whole(self, page: bytes) -> None:
        """The client gets all of *page*."""
        self.assertEqual((await self.shown())[0], 200)
        self.assertEqual(self.digest, sha256(page).hexdigest())

    async def test_a_rule_of_phase_4(self) -> None:
        """An answer that it refuses becomes its status, and nothing of it was sent; others are whole, and so are those of other types."""
        snippet = f"SecRuleEngine On\n{ACCESS}{RULE}"
        await self.serve(enable_modsecurity="true", modsecurity_snippet=snippet)
        self.page(b"x" * 200_000 + b"a secret")
        status, body = await self.shown()
        self.assertEqual(status, 451)
        self.assertNotIn(b"xxx", body)
        await self.until(lambda: "a leak" in self.log)
        await self.until_shown(b'ingress_filter_events_total{event="blocked",filter="firewall"} 1.0')
        for page, content_type in ((b"y" * 200_000, b"text/html"), (b"a secret", b"text/css")):
            self.page(page, content_type)
            await self.assert_whole(page)
        self.assertEqual(await self.problems(), [])

    async def test_in_part(self) -> None:
        """Of a longer one the first part is inspected, and the rest streams behind it; with Reject it is refused."""
        snippet = f"SecRuleEngine On\n{ACCESS}SecResponseBodyLimit 4096\n{RULE}"
        await self.serve(
            enable_modsecurity="true",
            modsecurity_snippet=f"{snippet}SecResponseBodyLimitAction ProcessPartial\n",
        )
        page = b"x" * 4096 + b"a secret" + b"x" * 3_000_000
        self.page(page)
        await self.assert_whole(page)
        self.page(b"a secret" + page)
        self.assertEqual((await self.shown())[0], 451)

    async def test_longer_ones_refused(self) -> None:
        """With Reject, what is longer is refused as the library does it."""
        snippet = (
            f"SecRuleEngine On\n{ACCESS}SecResponseBodyLimit 4096\nSecResponseBodyLimitAction Reject\n{RULE}"
        )
        await self.serve(enable_modsecurity="true", modsecurity_snippet=snippet)
        self.page(b"x" * 4096)
        self.assertEqual((await self.shown())[0], 200)
        self.page(b"x" * 4097)
        self.assertEqual((await self.shown())[0], 403)

    async def test_the_core_rules(self) -> None:
        """What a database says of a mistake is kept back; with the recommended configuration it is told of, and passes."""
        snippet = f"Include /etc/nginx/modsecurity/modsecurity.conf\nSecRuleEngine On\n{CORE_RULES}\n"
        await self.serve(enable_modsecurity="true", modsecurity_snippet=snippet)
        self.page(LEAK)
        status, body = await self.shown()
        self.assertEqual(status, 403)
        self.assertNotIn(b"SQL", body)
        self.page(b"<p>hello</p>")
        self.assertEqual(await self.shown(), (200, b"<p>hello</p>"))

    async def test_detection_alone(self) -> None:
        """By the recommended configuration such an answer passes, is told of and counted."""
        await self.serve(enable_modsecurity="true", enable_owasp_core_rules="true")
        self.page(LEAK)
        self.assertEqual(await self.shown(), (200, LEAK))
        await self.until_shown(b'ingress_filter_events_total{event="detected",filter="firewall"} 1.0')
        await self.until(lambda: "951230" in self.log)

    async def test_killed_while_a_body_is_held(self) -> None:
        """Processes that end before the body has come leave nobody to judge it, so nobody gets it; the next answer is judged again."""
        await self.serve(enable_modsecurity="true", modsecurity_snippet=f"SecRuleEngine On\n{ACCESS}{RULE}")
        wires: list[UpstreamWire] = []

        def begin(wire: UpstreamWire) -> None:
            wires.append(wire)
            wire.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 8\r\n\r\nhalf")

        self.backend.on_request = begin
        shown = Deferred.fromCoroutine(self.shown())
        await self.until(lambda: wires)
        before = firewall_processes(self.controller.pid)
        for pid in before:
            os.kill(pid, signal.SIGKILL)
        await self.until(lambda: self.log.count("another one is started") >= len(before))
        wires[0].write(b"half")
        status, body = await shown
        self.assertEqual(status, 503)
        self.assertNotIn(b"half", body)
        self.page(b"a page")
        while await self.shown() != (200, b"a page"):
            await self.turn(0.1)

    async def test_the_audit_log(self) -> None:
        """It has bodies of answers where its parts are to have them."""
        snippet = f"SecRuleEngine On\n{ACCESS}SecAuditEngine On\nSecAuditLogParts ABEFHZ\n"
        await self.serve(enable_modsecurity="true", modsecurity_snippet=snippet)
        self.page(b"an answer")
        self.assertEqual(await self.shown(), (200, b"an answer"))
        await self.until(lambda: '"transaction"' in self.log)
        line = next(line for line in self.log.splitlines() if '"transaction"' in line)
        self.assertEqual(json.loads(line[line.index("{") :])["transaction"]["response"]["body"], "an answer")
