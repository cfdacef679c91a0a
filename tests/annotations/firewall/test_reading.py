"""``modsecurity-snippet``: what is honored, what is told, and what closes."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.firewall.reading import EMPTY, FirewallSnippet, read_snippet
from ingress.annotations.firewall.recommended import PROPERTIES, RULES
from ingress.model.exchanges.firewall import CORE_RULES
from tests.properties import examples

CRS = "Include /etc/nginx/owasp-modsecurity-crs/nginx-modsecurity.conf"
RULE = 'SecRule ARGS "@rx a" "id:1,phase:2,deny"'
WRITTEN = 'SecRule "ARGS" "@rx a" "id:1,phase:2,deny"'


class HonoredTests(SynchronousTestCase):
    def honored(self, text: str) -> FirewallSnippet:
        """Return what a text comes to of which everything is honored."""
        found = read_snippet(text)
        self.assertEqual(found.findings, ())
        return found

    def test_nothing(self) -> None:
        """Blanks say nothing, comments neither."""
        self.assertIs(read_snippet(" \n"), EMPTY)
        self.assertEqual(read_snippet("# SecRuleEngine On\n"), EMPTY)

    def test_what_people_write(self) -> None:
        """The snippets of ingress-nginx's documents and of its users are honored as a whole."""
        found = self.honored(
            f"SecRuleEngine On\n{CRS}\nSecAuditEngine RelevantOnly\nSecAuditLogType Serial\n{RULE}\n"
        )
        self.assertEqual(found.properties, (("SecAuditEngine", "RelevantOnly"), ("SecRuleEngine", "On")))
        self.assertEqual(found.parts, (CORE_RULES, WRITTEN))
        self.assertTrue(found.watches_answers)
        for text in (
            'SecRule REQUEST_HEADERS:User-Agent \\"fern-scanner\\" \\"log,deny,id:107,status:403,msg:\\\'Found\\\'\\"',
            'SecRule REQUEST_HEADERS:Referer "!@contains x.test" "id:2,phase:1,log,pass,t:lowercase,ctl:ruleEngine=Off"',
            'SecAction "id:900110,phase:1,nolog,pass,t:none,setvar:tx.inbound_anomaly_score_threshold=10"',
            "SecRuleRemoveById 941100 942100-942199",
            'SecRuleRemoveById "941100"',
            'SecRuleRemoveByTag "attack-sqli"',
            'SecRuleUpdateTargetById 942100 "!ARGS:password"',
            "SecRuleUpdateTargetByTag OWASP_CRS !REQUEST_COOKIES:/^x/",
            'SecRuleUpdateActionById 942100 "pass,nolog"',
            "SecRequestBodyLimit 1048576\nSecRequestBodyLimitAction ProcessPartial",
            "SecAuditLogParts ABIJDEFHZ\nSecAuditLog /dev/stdout\nSecAuditLogFormat JSON",
            'SecRule REMOTE_ADDR "@ipMatch 10.0.0.0/8" "id:3,phase:1,pass,nolog,ctl:ruleRemoveTargetById=942100;ARGS:x"',
            'SecRule REQUEST_URI "@streq /x" "id:4,phase:1,redirect:\'https://a.test/?a=1,2\',status:302"',
            "SecMarker END",
        ):
            self.honored(text)

    def test_chains(self) -> None:
        """Rules of a chain stay together, and the end of one is the end of a directive."""
        found = self.honored(
            'SecRule ARGS "a" "id:1,phase:2,deny,chain"\n SecRule ARGS:b "c" "t:none,chain"\n SecRule ARGS:d "e"\n'
        )
        self.assertEqual(
            found.parts,
            (
                'SecRule "ARGS" "a" "id:1,phase:2,deny,chain"\nSecRule "ARGS:b" "c" "t:none,chain"\nSecRule "ARGS:d" "e"',
            ),
        )

    def test_files_that_there_are(self) -> None:
        """The recommended configuration and the core rules are known by their names in ingress-nginx, each once."""
        found = self.honored(
            f"Include /etc/nginx/modsecurity/modsecurity.conf\n{CRS}\n{CRS}\nSecRuleEngine On\n"
        )
        self.assertEqual(found.parts, (RULES, CORE_RULES))
        self.assertEqual(dict(found.properties), {**PROPERTIES, "SecRuleEngine": "On"})

    def test_the_last_one_counts(self) -> None:
        """Within one text a property that is said twice is as it was said last."""
        found = self.honored("SecRuleEngine On\nSecRuleEngine DetectionOnly\n")
        self.assertEqual(found.properties, (("SecRuleEngine", "DetectionOnly"),))

    def test_what_looks_at_answers_and_bodies(self) -> None:
        """It is known which rules look at answers, and which have bodies looked at."""
        for phase, watches in (
            ("1", False),
            ("2", False),
            ("3", True),
            ("4", True),
            ("response", True),
            ("5", True),
        ):
            found = self.honored(f'SecAction "id:1,phase:{phase},pass"')
            self.assertIs(found.watches_answers, watches, phase)
        self.assertTrue(self.honored('SecAction "id:1,phase:1,pass,ctl:requestBodyAccess=On"').reads_body)
        self.assertFalse(self.honored('SecAction "id:1,phase:1,pass,ctl:requestBodyAccess=Off"').reads_body)

    def test_what_looks_at_bodies_of_answers(self) -> None:
        """Rules of the phase that is about them, those that name them, and what has them audited; not what looks at heads alone."""
        for text, looks in (
            ('SecAction "id:1,phase:3,pass"', False),
            ('SecAction "id:1,phase:4,pass"', True),
            ('SecAction "id:1,phase:Response,pass"', True),
            ('SecAction "id:1,phase:5,pass"', False),
            ('SecRule RESPONSE_BODY "a" "id:1,phase:5,pass"', True),
            ('SecRule RESPONSE_STATUS "a" "id:1,phase:5,pass,logdata:\'%{RESPONSE_BODY}\'"', True),
            ('SecAction "id:1,phase:1,pass,ctl:auditLogParts=+E"', True),
            ('SecAction "id:1,phase:1,pass,ctl:auditLogParts=+C"', False),
        ):
            self.assertIs(self.honored(text).watches_bodies, looks, text)
        self.assertTrue(self.honored(CRS).watches_bodies)

    def test_what_starts_refusing(self) -> None:
        """A rule may have others refuse what they only tell of otherwise; one that has them do less does not."""
        for said, switches in (("On", True), ("DetectionOnly", True), ("Off", False)):
            found = self.honored(f'SecAction "id:1,phase:1,pass,ctl:ruleEngine = {said}"')
            self.assertIs(found.starts_refusing, switches, said)

    def test_types_of_answers(self) -> None:
        """They are listed as the text has them, in several directives; one clears the list so far, and what other texts say before."""
        for text, types, clears in (
            ("SecResponseBodyAccess On", (), False),
            ("SecResponseBodyMimeType text/html text/plain", ("text/html", "text/plain"), False),
            (
                "SecResponseBodyMimeType text/html\nSecResponseBodyMimeType application/problem+json (null)",
                ("(null)", "application/problem+json", "text/html"),
                False,
            ),
            (
                "SecResponseBodyMimeType a/b\nSecResponseBodyMimeTypesClear\nSecResponseBodyMimeType c/d",
                ("c/d",),
                True,
            ),
            ("Include modsecurity.conf", ("text/html", "text/plain", "text/xml"), False),
        ):
            found = self.honored(text)
            self.assertEqual((found.answer_types, found.clears_types), (types, clears), text)
        for text in (
            "SecResponseBodyMimeType",
            "SecResponseBodyMimeType html",
            'SecResponseBodyMimeType "a/b\tc"',
        ):
            self.assertTrue(read_snippet(text).lacks_guard, text)


class RefusedTests(SynchronousTestCase):
    def test_what_closes(self) -> None:
        """Files, programs, other machines, what others would share, and what nobody knows is refused by name and line, and closes."""
        for text, directive in (
            ("Include /etc/passwd", "Include"),
            (
                "Include /etc/nginx/owasp-modsecurity-crs/rules/REQUEST-942-APPLICATION-ATTACK-SQLI.conf",
                "Include",
            ),
            ("Include ../../x/nginx-modsecurity.conf", "Include"),
            ("SecRuleScript /x.lua", "SecRuleScript"),
            ("SecRemoteRules key https://a.test/rules", "SecRemoteRules"),
            ("SecRuleEngine Maybe", "SecRuleEngine"),
            ("SecRequestBodyLimit -1", "SecRequestBodyLimit"),
            ("SecGeoLookupDb /x", "SecGeoLookupDb"),
            ("Foo bar", "Foo"),
            ("SecXMLExternalEntity On", "SecXMLExternalEntity"),
            ('SecRule ARGS "@pmFromFile /etc/passwd" "id:1,deny"', "SecRule"),
            ('SecRule ARGS "! @ipMatchFromFile /x" "id:1,deny"', "SecRule"),
            ('SecRule FILES_TMPNAMES "@inspectFile /x" "id:1,deny"', "SecRule"),
            ('SecRule REMOTE_ADDR "@rbl a.test" "id:1,deny"', "SecRule"),
            ('SecRule ARGS "@nosuch x" "id:1,deny"', "SecRule"),
            ('SecRule ARGS "@validateSchema /x" "id:1,deny"', "SecRule"),
            ('SecRule ARGS "a" "id:1,exec:/x.lua"', "SecRule"),
            ('SecRule ARGS "a" "id:1,msg:\'a\',ExEc : /x.lua"', "SecRule"),
            ('SecRule ARGS "a" "id:1,deny,initcol:ip=%{REMOTE_ADDR}"', "SecRule"),
            ('SecRule ARGS "a" "id:1,deny,setvar:ip.a=1"', "SecRule"),
            ('SecRule ARGS "a" "id:1,deny,setenv:A=b"', "SecRule"),
            ('SecRule ARGS "a" "id:1,proxy:http://a.test"', "SecRule"),
            ('SecRule ARGS "a" "id:1,deny,ctl:debugLogLevel=9"', "SecRule"),
            ('SecRule ARGS "a" "id:1,deny,foo"', "SecRule"),
            ('SecRule ARGS "a" "id:1,deny" "more"', "SecRule"),
            ("SecRule ARGS", "SecRule"),
            ('SecAction "id:1,deny,msg:\'a"', "SecAction"),
            ('SecRuleUpdateActionById 1 "exec:/x"', "SecRuleUpdateActionById"),
        ):
            with self.subTest(text):
                found = read_snippet(f"SecRuleEngine On\n{text}\n{RULE}\n")
                (finding,) = found.findings
                self.assertEqual((finding.directive, finding.line, finding.closes), (directive, 2, True))
                self.assertTrue(found.lacks_guard)
                self.assertEqual(found.parts, (WRITTEN,))

    def test_names_and_ids(self) -> None:
        """What the library would refuse a whole rule set for is told of by line: names that there are not, and ids that are missing, or there twice."""
        for text, message in (
            ('SecRule NO_SUCH "x" "id:9,deny"', "has the variable NO_SUCH, which there is not"),
            (
                'SecRule "ARGS:/a|b/|!ARGS:\'c|d\'|NO_SUCH:x" "x" "id:9,deny"',
                "has the variable NO_SUCH, which there is not",
            ),
            ('SecRule ARGS "x" "id:9,deny,t:lowercaze"', "has t:lowercaze, which there is not"),
            ('SecRule ARGS "x" "id:9,phase:6,deny"', "has phase:6, which there is not"),
            ('SecRule ARGS "x" "phase:2,deny"', "has no id"),
        ):
            (finding,) = read_snippet(f"{RULE}\n{text}").findings
            self.assertEqual((finding.line, finding.message, finding.closes), (2, message, True))
        (finding,) = read_snippet(f"{RULE}\n{RULE}").findings
        self.assertEqual(finding.message, "has the id 1, which another one has")
        chained = 'SecRule &ARGS:a "@eq 1" "id:2,phase:REQUEST,deny,chain,t:urlDecodeUni"\nSecRule "XML:/*|TX:/^a/|tx:b" "x" "t:none"'
        self.assertEqual(read_snippet(f'{RULE}\n{chained}\nSecAction "phase:1,pass"').findings, ())

    def test_whole_texts(self) -> None:
        """What cannot be read at all closes."""
        for text in ('SecRule "', "x" * 40_000, "\x01"):
            self.assertTrue(read_snippet(text).lacks_guard)

    def test_chains_that_are_not_whole(self) -> None:
        """A chain of which a rule is refused, or that has no end, closes; of the first nothing is left over."""
        chained = 'SecRule ARGS "a" "id:7,phase:2,deny,chain"\n'
        found = read_snippet(f'{chained}SecRule ARGS "@pmf x"\n{RULE}')
        self.assertTrue(found.lacks_guard)
        self.assertEqual(found.parts, (WRITTEN,))
        for text in (chained, f"{chained}SecRuleEngine On\n{RULE}"):
            self.assertTrue(read_snippet(text).lacks_guard, text)

    def test_what_only_loosens(self) -> None:
        """An exclusion that cannot be read leaves more refused than was meant, and closes nobody out."""
        for text in ("SecRuleRemoveById x", "SecRuleUpdateTargetById y z", "SecRuleRemoveByTag"):
            (finding,) = read_snippet(text).findings
            self.assertFalse(finding.closes)

    def test_what_changes_nothing(self) -> None:
        """Files of logs and the like are for nobody to name, which is a note; what is so anyway is silent."""
        for text in (
            "SecAuditLog /var/log/a",
            "SecDebugLog /tmp/x",
            "SecTmpDir /tmp",
            "SecDataDir /tmp",
            "SecAuditLogType Concurrent",
            "SecUnicodeMapFile unicode.mapping 20127",
        ):
            (finding,) = read_snippet(text).findings
            self.assertEqual((finding.is_note, finding.closes), (True, False))
        for text in ("SecUploadKeepFiles Off", "SecStatusEngine On", "SecRequestBodyInMemoryLimit 1000"):
            self.assertEqual(read_snippet(text), EMPTY)

    @settings(derandomize=True, deadline=None, max_examples=examples(500))
    @given(
        st.lists(
            st.sampled_from(
                (
                    "SecRule ",
                    "SecAction ",
                    '"',
                    "'",
                    "\\",
                    "\n",
                    " ",
                    "ARGS",
                    "@rx ",
                    "@pmf",
                    "!",
                    "a",
                    ",",
                    "id:1",
                    "exec:",
                    "deny",
                    "chain",
                    ":",
                )
            ),
            max_size=14,
        )
    )
    def test_any_rule(self, words: list[str]) -> None:
        """Whatever passes has its words in quotes that nothing in them ends, and neither opens files nor runs programs."""
        for part in read_snippet("".join(words)).parts:
            assert part is not None
            for line in part.split("\n"):
                self.assertRegex(line, r'^Sec\w+(?: "(?:[^"\\]|\\.)*")+$')
                self.assertNotRegex(line.lower(), r"@\s*pmf|exec\s*:")
