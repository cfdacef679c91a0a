"""The firewall with the real libmodsecurity and the real core rules, from a request to its answer.

``make firewall`` runs these: they need Debian's packages libmodsecurity3 and modsecurity-crs.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
from pathlib import Path
from random import Random
from typing import Any, Final
from urllib.parse import quote

from twisted.internet.defer import Deferred, gatherResults
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.firewall.names import PHASES, TRANSFORMATIONS, VARIABLES
from ingress.annotations.firewall.reading import read_snippet
from ingress.annotations.firewall.rule_sets import FirewallSettings, Switch, rule_set
from ingress.firewall.libmodsecurity import ModSecurity
from ingress.firewall.serving import RulesRefused
from ingress.model.exchanges.firewall import FirewallPlan
from ingress.translate.options import ANNOTATIONS_PREFIX
from tests.end_to_end.end_to_end_case import EndToEndCase
from tests.fakes.objects import NAMESPACE, ingress_object, service_object
from tests.fakes.processes import ControllerProcess

WANTED: Final = "TXINGRESS_TEST_FIREWALL"
HOST: Final = "shop.test"
SQL: Final = "/?id=" + quote("1' OR '1'='1")
SCRIPT: Final = b"q=" + quote("<script>alert(1)</script>").encode()
CORE_RULES: Final = "Include /etc/nginx/owasp-modsecurity-crs/nginx-modsecurity.conf"


def firewall_processes(parent: int) -> list[int]:
    """Return the firewall processes below the process *parent*, and below those that it made."""
    parents = {}
    firewalls = set()
    for path in Path("/proc").glob("[0-9]*"):
        try:
            pid = int(path.name)
            parents[pid] = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            if b"ingress.firewall.main" in (path / "cmdline").read_bytes():
                firewalls.add(pid)
        except (FileNotFoundError, ProcessLookupError):
            continue

    def is_below(pid: int) -> bool:
        while pid in parents:
            pid = parents[pid]
            if pid == parent:
                return True
        return False

    return sorted(pid for pid in firewalls if is_below(pid))


class FirewallCase(EndToEndCase):
    """A controller with a firewall, and requests to it."""

    skip = None if os.environ.get(WANTED) else f"needs libmodsecurity; {WANTED}=1 runs it"
    processes = 2

    async def serve(self, *options: str, **annotations: str) -> ControllerProcess:
        """Serve a host with these annotations, once the firewall is there."""
        made = ingress_object("shop", HOST)
        made["metadata"]["annotations"] = {
            f"{ANNOTATIONS_PREFIX}/{key.replace('_', '-')}": value for key, value in annotations.items()
        }
        self.write("all", made, service_object("shop"))
        self.backend = self.upstream(b"shop")
        controller = self.start_with_manifests(
            f"--endpoint={NAMESPACE}/shop={self.backend.endpoint}",
            f"--firewall-processes={self.processes}",
            *options,
        )
        await self.until_ready(controller)
        self.controller = controller
        return controller

    async def status(
        self, target: str = "/", body: bytes | None = None, fields: bytes = b"", method: bytes = b""
    ) -> int:
        """Ask; return the status of the answer."""
        client = await self.connect(self.http)
        head = b"%b %b HTTP/1.1\r\nHost: %b\r\nUser-Agent: Mozilla/5.0 (X11; Linux)\r\nAccept: */*\r\n" % (
            method or (b"GET" if body is None else b"POST"),
            target.encode(),
            HOST.encode(),
        )
        if body is not None:
            fields += b"Content-Length: %d\r\n" % len(body)
            if b"Content-Type" not in fields:
                fields += b"Content-Type: application/x-www-form-urlencoded\r\n"
        client.send(head + fields + b"Connection: close\r\n\r\n" + (body or b""))
        await client.answer().addTimeout(60, self.reactor)
        client.transport.abortConnection()
        return client.answers[0].status

    async def problems(self) -> list[dict[str, Any]]:
        """Return what the admin port tells of objects."""
        _, body = await self.get(self.admin, "/api/v1/problems")
        found: list[dict[str, Any]] = json.loads(body)["problems"]
        return found

    @property
    def log(self) -> str:
        """What the controller has logged."""
        return self.controller.output.decode()


HONORED: Final = (
    "SecRuleEngine On",
    # As people have them.
    "SecRuleEngine On\nSecRequestBodyAccess On\nSecAuditEngine RelevantOnly\nSecAuditLogParts ABIJDEFHZ\nSecAuditLog /var/log/modsec_audit.log\n"
    'SecRule REQUEST_HEADERS:User-Agent \\"fern-scanner\\" \\"log,deny,id:107,status:403,msg:\\\'Fern Scanner\\\'\\"\n'
    "Include /etc/nginx/owasp-modsecurity-crs/nginx-modsecurity.conf",
    "SecRuleEngine On\nSecRequestBodyLimit 15728640 \nInclude /etc/nginx/owasp-modsecurity-crs/nginx-modsecurity.conf\n",
    "SecRequestBodyAccess On\nSecResponseBodyAccess Off\nSecAuditLogParts ABCIJDEFHZ\nSecRuleRemoveById 911100 941130 949110 200002\n"
    "SecRequestBodyLimit 131072\nSecRequestBodyNoFilesLimit 131072\nSecRequestBodyLimitAction ProcessPartial\n",
    "SecRequestBodyAccess On\nSecResponseBodyAccess On\nSecResponseBodyMimeType text/html\nSecResponseBodyMimeType application/json a/b\n"
    "SecResponseBodyLimit 1000\nSecResponseBodyLimitAction ProcessPartial",
    "SecResponseBodyAccess On\nSecResponseBodyMimeTypesClear\nSecResponseBodyLimitAction Reject",
    "SecRequestBodyLimit 1000\nSecRequestBodyLimitAction ProcessPartial\nSecRequestBodyNoFilesLimit 1000",
    "SecRequestBodyJsonDepthLimit 10\nSecArgumentsLimit 10\nSecPcreMatchLimit 10\nSecPcreMatchLimitRecursion 10",
    "SecAuditEngine RelevantOnly\nSecAuditLogParts ABCFHZ\nSecAuditLogRelevantStatus ^5",
    "SecArgumentSeparator ;\nSecCookieFormat 0\nSecUploadFileLimit 3\nSecCollectionTimeout 60",
    'SecComponentSignature "shop 1.0"\nSecWebAppId shop',
    "SecRuleRemoveById 941100 942100-942199",
    "SecRuleRemoveByTag attack-sqli",
    'SecRuleRemoveByMsg "SQL Injection"',
    'SecRuleUpdateTargetById 942100 "!ARGS:a|!ARGS:/^b/"',
    'SecRuleUpdateTargetByTag attack-sqli "!ARGS:a"',
    'SecRuleUpdateTargetByMsg "SQL Injection" "!ARGS:a"',
    'SecRuleUpdateActionById 942100 "pass,nolog"',
    "SecMarker END",
    'SecDefaultAction "phase:2,log,deny,status:403"',
    'SecAction "id:1,phase:1,nolog,pass,t:none,setvar:tx.a=1,setvar:!tx.b,setvar:tx.c=+1"',
    'SecRule ARGS "a" "id:1,phase:2,deny,chain"\nSecRule &ARGS:a "@eq 1" "t:none"',
    *(
        f'SecRule ARGS "{operator}" "id:1,phase:2,deny,t:none,t:lowercase"'
        for operator in (
            "@rx ^a\\\\.b$", "@pm a b c", "@contains a", "@containsWord a", "@strmatch a", "@streq a", "@beginsWith /a",
            "@endsWith a", "@within a,b", "@eq 1", "@ge 1", "@gt 1", "@le 1", "@lt 1", "@ipMatch 10.0.0.0/8,::1", "@detectSQLi",
            "@detectXSS", "@validateUtf8Encoding", "@validateUrlEncoding", "@validateByteRange 1-255", "@verifyCC [0-9]+",
            "@noMatch", "@unconditionalMatch", "!@streq a", "! @rx a", "a plain expression",
        )
    ),
    *(
        f'SecRule ARGS "a" "id:1,phase:2,{action}"'
        for action in (
            "allow", "allow:request", "auditlog", "block", "capture", "deny", "drop", "log", "multiMatch", "noauditlog", "nolog", "pass",
            "accuracy:\'3\'", "maturity:\'3\'", "logdata:\'%{MATCHED_VAR}, x\'", "msg:\'a, b: c\'", "redirect:https://a.test/?b=c",
            "rev:\'1\'", "severity:CRITICAL", "severity:\'2\'", "skip:1", "skipAfter:END", "status:451", "tag:\'a/b\'", "ver:\'OWASP_CRS/3\'",
            "ctl:ruleEngine=Off", "ctl:auditEngine=Off", "ctl:auditLogParts=+E", "ctl:forceRequestBodyVariable=On",
            "ctl:requestBodyAccess=On", "ctl:requestBodyProcessor=JSON", "ctl:ruleRemoveById=942100", "ctl:ruleRemoveByTag=a",
            "ctl:ruleRemoveTargetById=942100;ARGS:a", "ctl:ruleRemoveTargetByTag=a;ARGS:a",
        )
    ),
)  # fmt: skip
"""What docs/firewall.md says is honored, each by itself."""


class LibraryTests(SynchronousTestCase):
    """What is written for the library is taken by it."""

    skip = None if os.environ.get(WANTED) else f"needs libmodsecurity; {WANTED}=1 runs it"

    def test_what_is_honored_is_taken(self) -> None:
        """Each directive, operator and action of the page is one to the library, beside the core rules, as it is written here."""
        library = ModSecurity()
        for text in HONORED:
            with self.subTest(text):
                snippet = read_snippet(f"SecRuleEngine On\n{text}")
                self.assertFalse(snippet.lacks_guard, snippet.findings)
                settings = FirewallSettings(Switch.ON, core_rules=True, snippet=snippet, plan=FirewallPlan(1))
                rules = rule_set(settings)
                assert rules is not None
                library.load(rules.parts).close()

    def test_names_are_those_of_the_library(self) -> None:
        """Each variable, transformation and phase that is told to be there is, but for two of later versions."""
        library = ModSecurity()
        later = ("msc_pcre_error", "msc_pcre_limits_exceeded")
        for name in sorted(VARIABLES.difference(later)):
            rule = 'SecRule "%s" "@streq a" "id:1,phase:1,pass"'
            try:
                library.load([rule % name.upper()])
            except RulesRefused:
                # It is a collection, of which one is to be named.
                library.load([rule % f"{name.upper()}:a"])
        for name in sorted(TRANSFORMATIONS):
            library.load([f'SecRule "ARGS" "@streq a" "id:1,phase:1,pass,t:{name}"'])
        for name in sorted(PHASES):
            library.load([f'SecRule "ARGS" "@streq a" "id:1,phase:{name},pass"'])

    def test_expressions_that_are_none(self) -> None:
        """Those end the library, or match nothing, where it is asked; so they are refused, with the reason."""
        library = ModSecurity()
        for bad in (
            'SecRule ARGS:/(/ "b" "id:1,phase:1,deny"',
            'SecRule "ARGS|!ARGS:/[/" "b" "id:1,phase:1,deny"',
            'SecRule "ARGS:\'/(/\'" "b" "id:1,phase:1,deny"',
            'SecRule ARGS "@rx (" "id:1,phase:1,deny"',
            'SecRule ARGS "(?<=a+)b" "id:1,phase:1,deny"',
            'SecRule ARGS "@verifySSN (" "id:1,phase:1,deny"',
            'SecRuleUpdateTargetById 1 "!ARGS:/(/"',
            'SecAuditLogRelevantStatus "("',
        ):
            snippet = read_snippet(f"SecRuleEngine On\n{bad}")
            rules = rule_set(FirewallSettings(Switch.ON, snippet=snippet, plan=FirewallPlan(1)))
            assert rules is not None
            with self.assertRaises(RulesRefused, msg=bad) as caught:
                library.load(rules.parts)
            self.assertIn("cannot be read: ", str(caught.exception))

    def test_a_text_that_is_refused_harms_no_other(self) -> None:
        """Whatever state the library's reader is left in, rules of others are taken after it."""
        library = ModSecurity()
        good = 'SecRule "ARGS" "a" "id:1,phase:2,deny,chain"\nSecRule "ARGS" "b" "t:none"'
        for bad in (
            'SecRuleUpdateTargetById 1 "!NOPE"',
            'SecRule "NOPE" "a" "id:1"',
            'SecRule "ARGS" "a" "id:1,setvar:tx.a=%{"',
            'SecRule "ARGS:/a b/" "!@streq x" "id:1"',
        ):
            with self.subTest(bad):
                self.assertRaises(RulesRefused, library.load, ("SecRuleEngine On", bad))
                library.load((good,)).close()

    def test_recommended_configuration_is_taken(self) -> None:
        """So are the rules that stand where an Ingress says none, with and without the core rules."""
        library = ModSecurity()
        for core_rules in (False, True):
            rules = rule_set(FirewallSettings(Switch.ON, core_rules=core_rules, plan=FirewallPlan(1)))
            assert rules is not None
            library.load(rules.parts).close()


class CoreRulesTests(FirewallCase):
    """The OWASP Core Rule Set."""

    async def test_attacks_are_refused_and_ordinary_traffic_passes(self) -> None:
        """SQL in a query and a script in a body get 403; a form, JSON and a long query get through."""
        snippet = f"Include /etc/nginx/modsecurity/modsecurity.conf\n{CORE_RULES}\nSecRuleEngine On\n"
        await self.serve(enable_modsecurity="true", modsecurity_snippet=snippet)
        self.assertEqual(await self.problems(), [])
        self.assertEqual(await self.status(SQL), 403)
        self.assertEqual(await self.status("/", SCRIPT), 403)
        self.assertEqual(await self.status("/"), 200)
        self.assertEqual(
            await self.status("/search?q=" + "+".join(["ordinary words"] * 20).replace(" ", "+")), 200
        )
        self.assertEqual(
            await self.status("/form", b"name=Jane+Doe&town=Bergen&text=" + b"hello+world+" * 50), 200
        )
        json = b"Content-Type: application/json\r\n"
        self.assertEqual(await self.status("/api", b'{"name": "Jane", "items": [1, 2, 3]}', json), 200)
        self.assertEqual(await self.status("/api", b'{"q": "<script>alert(1)</script>"}', json), 403)
        self.assertEqual(sum(len(wire.heads) for wire in self.backend.wires), 4)
        await self.until(lambda: "942100" in self.log)
        page = await self.until_shown(b'ingress_filter_events_total{event="blocked",filter="firewall"}')
        self.assertIn(b'event="blocked",filter="firewall"} 3.0', page)
        await self.until(lambda: self.access_log.read_text().count(" 403 ") == 3)

    async def test_detection_alone_refuses_nobody(self) -> None:
        """With the recommended configuration and the core rules an attack passes, is told of and counted."""
        await self.serve(enable_modsecurity="true", enable_owasp_core_rules="true")
        self.assertEqual(await self.status(SQL), 200)
        await self.until_shown(b'ingress_filter_events_total{event="detected",filter="firewall"} 1.0')
        await self.until(lambda: "942100" in self.log)
        self.assertEqual(await self.status("/"), 200)

    async def test_snippet_before_the_recommended_configuration(self) -> None:
        """Rules that are removed, and targets that are left out, are so of the core rules."""
        snippet = (
            f"SecRuleEngine On\nSecRequestBodyAccess On\n{CORE_RULES}\n"
            'SecRuleUpdateTargetByTag "attack-xss" "!ARGS:html"\n'
            "SecRuleRemoveById 942100-942999\n"
        )
        await self.serve(enable_modsecurity="true", modsecurity_snippet=snippet)
        self.assertEqual(await self.status(SQL), 200)
        script = quote("<script>alert(1)</script>")
        self.assertEqual(await self.status(f"/?html={script}"), 200)
        self.assertEqual(await self.status(f"/?other={script}"), 403)

    async def test_a_backend_that_fails_is_not_told_of_by_its_answers(self) -> None:
        """A rule about heads of answers replaces what the endpoint said."""
        snippet = (
            "SecRuleEngine On\n"
            'SecRule RESPONSE_STATUS "@streq 200" "id:9,phase:3,deny,status:451,log,msg:\'not this\'"\n'
        )
        await self.serve(enable_modsecurity="true", modsecurity_snippet=snippet)
        self.assertEqual(await self.status("/"), 451)
        self.assertEqual(len(self.backend.wires), 1)


class SnippetTests(FirewallCase):
    """Directives of Ingresses."""

    async def test_rules_of_an_ingress(self) -> None:
        """A rule by the user agent, one that redirects, and one that counts nothing; the transaction is called as asked."""
        snippet = (
            "SecRuleEngine On\n"
            'SecRule REQUEST_HEADERS:X-Agent "@contains scanner" \\\n'
            "  \"id:107,phase:1,deny,status:429,log,msg:\\'A scanner\\'\"\n"
            'SecRule REQUEST_URI "@beginsWith /old" "id:108,phase:1,redirect:https://other.test/new,status:302,nolog"\n'
        )
        await self.serve(
            enable_modsecurity="true",
            modsecurity_snippet=snippet,
            modsecurity_transaction_id="tx-$request_method",
        )
        self.assertEqual(await self.status("/", fields=b"X-Agent: a scanner\r\n"), 429)
        self.assertEqual(await self.status("/old"), 302)
        self.assertEqual(await self.status("/"), 200)
        await self.until(lambda: "tx-GET" in self.log)
        self.assertIn("A scanner", self.log)

    async def test_what_runs_programs_closes(self) -> None:
        """A file to read and a program to run are told of by line, and nobody gets in."""
        snippet = 'SecRuleEngine On\nSecRule ARGS "@pmFromFile /etc/passwd" "id:1,phase:2,deny"\nSecRuleScript /x.lua\n'
        await self.serve(enable_modsecurity="true", modsecurity_snippet=snippet)
        self.assertEqual(await self.status("/"), 503)
        told = " ".join(problem["message"] for problem in await self.problems())
        self.assertIn("SecRule (line 2)", told)
        self.assertIn("SecRuleScript (line 3)", told)

    async def test_rules_that_the_library_refuses_close(self) -> None:
        """What reads as a rule and is none to the library is answered with 503, and the log says why."""
        snippet = 'SecRuleEngine On\nSecRule ARGS "@rx (" "id:1,phase:1,deny"\n'
        await self.serve(enable_modsecurity="true", modsecurity_snippet=snippet)
        self.assertEqual(await self.status("/"), 503)
        await self.until(lambda: "cannot use a rule set" in self.log)

    async def test_bodies_are_inspected_up_to_their_limit(self) -> None:
        """A body that is longer is refused where the rules say so, and looked at in part where they say that."""
        snippet = "SecRuleEngine On\nSecRequestBodyAccess On\nSecRequestBodyLimit 4096\n"
        rule = 'SecRule ARGS "@contains evil" "id:5,phase:2,deny,status:418"\n'
        await self.serve(enable_modsecurity="true", modsecurity_snippet=snippet + rule)
        self.assertEqual(await self.status("/", b"a=" + b"x" * 4000), 200)
        self.assertEqual(await self.status("/", b"a=" + b"x" * 4000 + b"evil"), 418)
        self.assertEqual(await self.status("/", b"a=" + b"x" * 400_000), 403)

    async def test_very_many_arguments(self) -> None:
        """They are refused at once, where rules see none beyond a limit, and end no process."""
        snippet = f"SecRuleEngine On\nSecRequestBodyAccess On\n{CORE_RULES}\n"
        await self.serve(enable_modsecurity="true", modsecurity_snippet=snippet)
        before = firewall_processes(self.controller.pid)
        for count, status in ((500, 200), (10_000, 400), (90_000, 400)):
            body = b"&".join(b"a%d=b" % number for number in range(count))
            self.assertEqual(await self.status("/", body), status, count)
        self.assertEqual(firewall_processes(self.controller.pid), before)

    async def test_audit_log_goes_to_our_log(self) -> None:
        """Transactions that a snippet has audited are lines of JSON, and no file is written."""
        snippet = "SecRuleEngine On\nSecAuditEngine On\nSecAuditLog /tmp/firewall-audit-of-a-tenant\n"
        await self.serve(enable_modsecurity="true", modsecurity_snippet=snippet)
        self.assertEqual(await self.status("/audited"), 200)
        await self.until(lambda: "/audited" in self.log)
        self.assertIn('"transaction"', self.log)
        self.assertFalse(Path("/tmp/firewall-audit-of-a-tenant").exists())


class HostileTests(FirewallCase):
    """What visitors send to have the parsers of the library fail."""

    async def test_hostile_bodies(self) -> None:
        """Each gets an answer, and afterwards attacks are refused as before, by processes that are there."""
        snippet = f"Include /etc/nginx/modsecurity/modsecurity.conf\n{CORE_RULES}\nSecRuleEngine On\n"
        controller = await self.serve(enable_modsecurity="true", modsecurity_snippet=snippet)
        json_type, xml = b"application/json", b"application/xml"
        multipart = b"multipart/form-data; boundary=x"
        entities = b"".join(b'<!ENTITY e%d "%b">' % (n, b"&e%d;" % (n - 1) * 10) for n in range(1, 12))
        random = Random(1)
        bodies = [
            (json_type, b"[" * 200_000),
            (json_type, b'{"a":' * 100_000),
            (json_type, b'"' + b"\\u0000" * 10_000 + b'"'),
            (xml, b'<!DOCTYPE a [<!ENTITY e0 "x">%b]><a>&e11;</a>' % entities),
            (xml, b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>'),
            (xml, b"<a>" * 100_000),
            (multipart, b"--x\r\n" * 50_000),
            (multipart, b'--x\r\nContent-Disposition: form-data; name="a"; filename="' + b"a" * 60_000),
            (
                multipart,
                b'--x\r\nContent-Disposition: form-data; name="a"; filename="b"\r\n\r\n'
                + bytes(500_000)
                + b"\r\n--x--",
            ),
            (b"application/x-www-form-urlencoded", b"a=1&" * 50_000),
            (b"application/x-www-form-urlencoded", b"%" * 100_000),
            *((random.choice((json_type, xml, multipart)), random.randbytes(5_000)) for _ in range(20)),
        ]
        for kind, body in bodies:
            status = await self.status("/", body, b"Content-Type: %b\r\n" % kind)
            self.assertIn(status, {200, 400, 403, 503}, (kind, body[:40]))
        self.assertNotIn("root:", self.log)
        await self.until(lambda: len(firewall_processes(controller.pid)) == 2)
        self.assertEqual([await self.status(SQL) for _ in range(4)], [403] * 4)
        self.assertEqual(await self.status("/"), 200)


class ProcessTests(FirewallCase):
    """Processes that end."""

    async def test_killed_amid_requests(self) -> None:
        """Each request gets an answer, none passes without a verdict, and soon all are judged again."""
        snippet = f"SecRuleEngine On\nSecRequestBodyAccess On\n{CORE_RULES}\n"
        controller = await self.serve(enable_modsecurity="true", modsecurity_snippet=snippet)
        self.assertEqual(await self.status(SQL), 403)
        before = firewall_processes(controller.pid)
        self.assertEqual(len(before), 2)
        asked = [Deferred.fromCoroutine(self.status(SQL)) for _ in range(60)]
        await self.turn(0.02)
        os.kill(before[0], signal.SIGKILL)
        statuses = await gatherResults(asked)
        self.assertLessEqual(set(statuses), {403, 503})
        self.assertGreater(statuses.count(403), 40)
        self.assertEqual(len(self.backend.wires), 0)
        await self.until(lambda: len(firewall_processes(controller.pid)) == 2)
        self.assertEqual([await self.status(SQL) for _ in range(10)], [403] * 10)
        self.assertIn("another one is started", self.log)

    async def test_end_with_the_controller(self) -> None:
        """When the controller has ended, by a signal or by force, so have they."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            controller = await self.serve(enable_modsecurity="true")
            pids = firewall_processes(controller.pid)
            self.assertEqual(len(pids), 2)
            controller.signal(number)
            await controller.end()
            await self.until(lambda pids=pids: not any(Path(f"/proc/{pid}").exists() for pid in pids))  # type: ignore[misc]

    async def test_restart_in_place(self) -> None:
        """A process that takes over serves when its firewall is there: no attack passes meanwhile, and none is answered with 503."""
        snippet = f"SecRuleEngine On\n{CORE_RULES}\n"
        controller = await self.serve(enable_modsecurity="true", modsecurity_snippet=snippet)
        self.addCleanup(self.end_successors)
        before = firewall_processes(controller.pid)
        controller.signal(signal.SIGUSR2)
        statuses = []
        while controller.status is None:
            statuses.append(await self.status(SQL))
        statuses += [await self.status(SQL) for _ in range(5)]
        self.assertEqual(set(statuses), {403})
        await self.until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in before))
        self.assertEqual(await self.status("/"), 200)

    async def end_successors(self) -> None:
        """Kill what controllers have started, as far as it still runs; their firewall processes end with them."""

        def running() -> list[int]:
            mark = f"--rundir={self.directory}".encode()
            found = []
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                    if mark in path.read_bytes().split(b"\0"):
                        found.append(int(path.parent.name))
            return found

        firewalls = [pid for parent in running() for pid in firewall_processes(parent)]
        for pid in running():
            os.kill(pid, signal.SIGKILL)
        await self.until(
            lambda: not running() and not any(Path(f"/proc/{pid}").exists() for pid in firewalls)
        )

    async def test_beside_workers(self) -> None:
        """Each worker has processes of its own."""
        controller = await self.serve(
            "--workers=2", enable_modsecurity="true", enable_owasp_core_rules="true"
        )
        await self.until(lambda: len(firewall_processes(controller.pid)) == 4)
        for _ in range(8):
            self.assertEqual(await self.status(SQL), 200)
        await self.until_shown(b'ingress_filter_events_total{event="detected",filter="firewall"} 8.0')

    async def test_an_expression_that_takes_long_costs_its_own_request(self) -> None:
        """The process is ended, the request answered with 503, and others go on meanwhile."""
        snippet = 'SecRuleEngine On\nSecRule ARGS "@rx ^(([a-z])+.)+[A-Z]([a-z])+$" "id:1,phase:2,deny"\n'
        await self.serve("--firewall-timeout=1", enable_modsecurity="true", modsecurity_snippet=snippet)
        slow = Deferred.fromCoroutine(
            self.status("/?" + "&".join(f"x{number}=" + "a" * 60 + "!" for number in range(100)))
        )
        await self.turn(0.1)
        begun = self.reactor.seconds()
        self.assertEqual([await self.status("/") for _ in range(10)], [200] * 10)
        self.assertLess(self.reactor.seconds() - begun, 0.9)
        self.assertEqual(await slow, 503)
        await self.until(lambda: "took too long" in self.log)
