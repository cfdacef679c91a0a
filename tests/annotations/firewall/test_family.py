"""The firewall as annotations and options: what an Ingress gets, with firewall processes and without."""

from __future__ import annotations

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.access.guards import GuardMissing
from ingress.annotations.annotations import AnnotationSettings
from ingress.annotations.contract.values import ValueRefused
from ingress.annotations.firewall.family import (
    FIREWALL,
    firewall_guards,
    parse_operators_snippet,
)
from ingress.annotations.firewall.filters import InspectRequests
from ingress.annotations.firewall.reading import read_snippet
from ingress.annotations.firewall.recommended import RULES
from ingress.annotations.firewall.rule_sets import FirewallSettings, Switch, rule_set
from ingress.filters import FilterSpec
from ingress.model.cluster.objects import ObjectKey
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.exchanges.firewall import CORE_RULES, FirewallPlan, InspectedBodies
from ingress.translate.annotation_reading import annotation_reader
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.objects import (
    Ingress,
    IngressBackend,
    IngressPath,
    IngressRule,
    ServicePortReference,
)
from ingress.translate.translate import translate
from tests.operator_settings import operator_settings
from tests.translate.golden import NOW, state_of

PREFIX = "nginx.ingress.kubernetes.io"
PLAN = FirewallPlan(processes=2)
CRS = "Include /etc/nginx/owasp-modsecurity-crs/nginx-modsecurity.conf"
ON = FirewallSettings(switch=Switch.ON, plan=PLAN)


def read(
    plan: FirewallPlan = PLAN, operators: FirewallSettings | None = None, /, **annotations: str
) -> tuple[AnnotationSettings, tuple[Problem, ...]]:
    """Return what an Ingress with *annotations* asks for, and what is told of it."""
    options = TranslateOptions(firewall=plan)
    if operators is not None:
        options = evolve(options, operators=operator_settings((FIREWALL, operators)))
    named = {f"{PREFIX}/{name.replace('_', '-')}": value for name, value in annotations.items()}
    return annotation_reader(options).read(Ingress(ObjectKey("demo", "site"), annotations=named))


class WithoutTests(SynchronousTestCase):
    """Where the operator has no firewall."""

    def test_whoever_asks_is_closed(self) -> None:
        """Each of the three closes, and says which option helps."""
        for name, value in (
            ("enable_modsecurity", "true"),
            ("enable_modsecurity", "maybe"),
            ("enable_owasp_core_rules", "true"),
            ("modsecurity_snippet", "SecRuleEngine On"),
            ("modsecurity_snippet", "nonsense"),
        ):
            with self.subTest(name, value=value):
                settings, problems = read(FirewallPlan(), **{name: value})
                self.assertTrue(settings.lacks_guard)
                self.assertEqual(problems[-1].reason, Reason.UNSUPPORTED_ANNOTATION)
                self.assertIn("--firewall-processes", problems[-1].message)

    def test_whoever_asks_for_nothing_is_served(self) -> None:
        """Switches that are off, and an empty snippet, are silent; a transaction id is told of and nothing else."""
        settings, problems = read(
            FirewallPlan(), enable_modsecurity="false", enable_owasp_core_rules="f", modsecurity_snippet=" "
        )
        self.assertEqual((settings.lacks_guard, problems), (False, ()))
        settings, (problem,) = read(FirewallPlan(), modsecurity_transaction_id="$request_id")
        self.assertFalse(settings.lacks_guard)
        self.assertIn("served without it", problem.message)

    def test_the_operators_firewall_without_processes_closes_all(self) -> None:
        """What the operator asks for on all paths, and does not have, is a guard that is missing."""
        settings = FirewallSettings(operators_on=True)
        self.assertTrue(settings.lacks_operators_guard)
        self.assertFalse(evolve(settings, switch=Switch.OFF).lacks_operators_guard)


class WithTests(SynchronousTestCase):
    """Where there are firewall processes."""

    def test_recommended_configuration(self) -> None:
        """An Ingress that says no more detects alone, by the recommended configuration, and the core rules where it asks."""
        settings, problems = read(enable_modsecurity="true")
        self.assertEqual((settings.lacks_guard, problems), (False, ()))
        rules = rule_set(settings.of(FIREWALL))
        assert rules is not None
        self.assertEqual(rules.parts[1:], (RULES,))
        self.assertFalse(rules.blocks)
        self.assertEqual(rules.body_bytes, PLAN.body_bytes)
        self.assertFalse(rules.watches_answers)
        rules = rule_set(read(enable_modsecurity="true", enable_owasp_core_rules="true")[0].of(FIREWALL))
        assert rules is not None
        self.assertEqual(rules.parts[1:], (RULES, CORE_RULES))
        self.assertTrue(rules.watches_answers)
        self.assertEqual(
            rules.answer_bodies, InspectedBodies(524288, ("text/html", "text/plain", "text/xml"))
        )
        self.assertTrue(rules.is_operators)

    def test_snippet(self) -> None:
        """It stands in place of the recommended configuration, and says what becomes of requests."""
        settings, problems = read(enable_modsecurity="true", modsecurity_snippet=f"SecRuleEngine On\n{CRS}")
        self.assertEqual(problems, ())
        rules = rule_set(settings.of(FIREWALL))
        assert rules is not None
        self.assertEqual(rules.parts[1:], (CORE_RULES,))
        self.assertTrue(rules.blocks)
        self.assertEqual(rules.body_bytes, 0)
        self.assertFalse(rules.is_operators)

    def test_a_snippet_of_comments_says_nothing(self) -> None:
        """It stands in nobody's place; whatever else a tenant writes makes the rules a tenant's, be it a limit alone."""
        for text, is_operators in (
            ("# SecRuleEngine On", True),
            ("SecRuleEngine On\nSecPcreMatchLimit 9999999", False),
        ):
            settings, _ = read(
                enable_modsecurity="true", enable_owasp_core_rules="true", modsecurity_snippet=text
            )
            rules = rule_set(settings.of(FIREWALL))
            assert rules is not None
            self.assertIs(rules.is_operators, is_operators)
            self.assertIs(RULES in rules.parts, is_operators)

    def test_bodies(self) -> None:
        """So much is looked at as the rules say, and no more than the operator lets."""
        for said, expected in (("", PLAN.body_bytes), ("100", 100), ("99999999", PLAN.body_bytes)):
            limit = f"SecRequestBodyLimit {said}\n" if said else ""
            snippet = read_snippet(f"SecRuleEngine On\nSecRequestBodyAccess On\n{limit}")
            rules = rule_set(evolve(ON, snippet=snippet))
            assert rules is not None
            self.assertEqual(rules.body_bytes, expected)
            self.assertIn(f"SecRequestBodyLimit {expected}\n", str(rules.parts[0]))
            self.assertIn("SecRequestBodyLimitAction Reject\n", str(rules.parts[0]))

    def bodies(self, text: str) -> tuple[InspectedBodies | None, str]:
        """Return which bodies of answers are inspected by a snippet, and what the library is told of the whole set."""
        rules = rule_set(evolve(ON, snippet=read_snippet(f"SecRuleEngine On\n{text}")))
        assert rules is not None
        return rules.answer_bodies, str(rules.parts[0])

    def test_bodies_of_answers(self) -> None:
        """So much is looked at as the rules say, and no more than the operator lets; of one that is longer the first part, unless they say otherwise."""
        access, rule = "SecResponseBodyAccess On\n", 'SecAction "id:1,phase:4,deny"\n'
        types = "SecResponseBodyMimeType text/xml text/html\n"
        for said, size in (
            ("", PLAN.body_bytes),
            ("100", 100),
            ("99999999", PLAN.body_bytes),
            ("0", PLAN.body_bytes),
        ):
            limit = f"SecResponseBodyLimit {said}\n" if said else ""
            found, head = self.bodies(access + rule + types + limit)
            self.assertEqual(found, InspectedBodies(size, ("text/html", "text/xml")))
            self.assertIn(f"SecResponseBodyLimit {size}\n", head)
            self.assertIn("SecResponseBodyLimitAction ProcessPartial\n", head)
            self.assertIn("SecResponseBodyMimeType text/html text/xml\n", head)
        found, head = self.bodies(access + rule + "SecResponseBodyLimitAction Reject")
        self.assertEqual(found, InspectedBodies(PLAN.body_bytes))
        self.assertIn("SecResponseBodyLimitAction Reject\n", head)
        self.assertNotIn("MimeType", head)

    def test_bodies_that_nobody_looks_at(self) -> None:
        """Without a rule that may, or an audit log that has them, or where they are not asked for, none is held."""
        access, audit = "SecResponseBodyAccess On\n", "SecAuditEngine RelevantOnly\n"
        for text, looks in (
            (access, False),
            (access + 'SecAction "id:1,phase:3,deny"', False),
            ('SecAction "id:1,phase:4,deny"', False),
            ("SecResponseBodyAccess Off\n" + CRS, False),
            (access + CRS, True),
            (access + audit + "SecAuditLogParts ABHZ", False),
            (access + audit + "SecAuditLogParts ABEHZ", True),
            (access + "SecAuditEngine Off\nSecAuditLogParts ABEHZ", False),
        ):
            self.assertIs(self.bodies(text)[0] is not None, looks, text)

    def test_types_of_several_texts(self) -> None:
        """They are those of all, but for what one clears that comes later."""
        operators = FirewallSettings(operators_on=True, operators_core_rules=True, plan=PLAN)
        for text, expected in (
            ("SecResponseBodyMimeType a/b", ("a/b", "text/html", "text/plain", "text/xml")),
            ("SecResponseBodyMimeTypesClear", ("text/html", "text/plain", "text/xml")),
        ):
            rules = rule_set(evolve(operators, snippet=read_snippet(text)))
            assert rules is not None and rules.answer_bodies is not None
            self.assertEqual(rules.answer_bodies.types, expected)
        rules = rule_set(
            evolve(
                operators,
                snippet=read_snippet("SecResponseBodyMimeType a/b"),
                operators_snippet=read_snippet(
                    f"SecRuleEngine On\nSecResponseBodyAccess On\nSecResponseBodyMimeTypesClear\n{CRS}"
                ),
            )
        )
        assert rules is not None and rules.answer_bodies is not None
        self.assertEqual(rules.answer_bodies.types, ())

    def test_which_types(self) -> None:
        """They are compared as the library compares them; where none is named all are meant, but those of what nobody waits for."""
        listed, all_types = InspectedBodies(1, ("text/html", "text/event-stream")), InspectedBodies(1)
        for said, of_listed, of_all in (
            (b"text/html", True, True),
            (b"text/html; charset=utf-8", True, True),
            (b"Text/HTML", False, True),
            (b"image/png", False, True),
            (b"", False, True),
            (b"text/event-stream", True, False),
            (b"Text/Event-Stream;charset=utf-8", False, False),
            (b"application/grpc+proto", False, False),
            (b"\xff", False, True),
        ):
            self.assertEqual((listed.include(said), all_types.include(said)), (of_listed, of_all), said)

    def test_bodies_of_all_types_are_told_of(self) -> None:
        """Where bodies of all types are inspected, that is a note."""
        text = 'SecRuleEngine On\nSecResponseBodyAccess On\nSecAction "id:1,phase:4,deny"\n'
        _, (problem,) = read(enable_modsecurity="true", modsecurity_snippet=text)
        self.assertEqual(problem.reason, Reason.ANNOTATION_NOTE)
        self.assertIn("SecResponseBodyMimeType", problem.message)
        self.assertIn("and wait for that", problem.message)
        _, (problem,) = read(
            enable_modsecurity="true", modsecurity_snippet=text.replace("On", "DetectionOnly", 1)
        )
        self.assertNotIn("wait", problem.message)
        _, problems = read(
            enable_modsecurity="true", modsecurity_snippet=f"{text}SecResponseBodyMimeType text/html"
        )
        self.assertEqual(problems, ())

    def test_what_may_refuse(self) -> None:
        """Rules that refuse requests may refuse answers, and those that may be switched to it."""
        for text, may in (
            ("SecRuleEngine On", True),
            ("SecRuleEngine DetectionOnly", False),
            ('SecRuleEngine DetectionOnly\nSecAction "id:1,phase:1,pass,ctl:ruleEngine=On"', True),
        ):
            rules = rule_set(evolve(ON, snippet=read_snippet(text)))
            assert rules is not None
            self.assertIs(rules.may_refuse, may)

    def test_arguments_beyond_the_limit(self) -> None:
        """They are seen by no rule, so they are refused, whatever a snippet says; the recommended configuration does it by itself."""
        for said, expected in (
            ("", "1000"),
            ("SecArgumentsLimit 10\n", "10"),
            ("SecArgumentsLimit 5000\n", "5000"),
        ):
            rules = rule_set(evolve(ON, snippet=read_snippet(f"SecRuleEngine On\n{said}")))
            assert rules is not None
            self.assertIn(f"SecArgumentsLimit {expected}\n", str(rules.parts[0]))
            self.assertIn(f'SecRule "&ARGS" "@ge {expected}" ', str(rules.parts[0]))
        recommended = rule_set(ON)
        assert recommended is not None
        self.assertNotIn("&ARGS", str(recommended.parts[0]))
        lower = rule_set(
            evolve(
                ON, snippet=read_snippet("SecRuleEngine On\nInclude modsecurity.conf\nSecArgumentsLimit 10")
            )
        )
        assert lower is not None
        self.assertIn('"@ge 10"', str(lower.parts[0]))
        self.assertTrue(read_snippet("SecArgumentsLimit 0").lacks_guard)

    def test_files_of_audit_logs_are_ours(self) -> None:
        """Whatever a snippet says, the library writes to its own output alone."""
        rules = rule_set(
            evolve(ON, snippet=read_snippet("SecRuleEngine On\nSecAuditLog /x\nSecAuditLogType Concurrent"))
        )
        assert rules is not None
        head = str(rules.parts[0])
        self.assertNotIn("/x", head)
        self.assertIn("SecAuditLog /dev/stdout", head)
        self.assertNotIn("Concurrent", head)
        self.assertFalse(rules.watches_answers)

    def test_what_is_audited_knows_its_answer(self) -> None:
        """Where transactions are audited, their answers are looked at: which are relevant goes by the status."""
        rules = rule_set(evolve(ON, snippet=read_snippet("SecRuleEngine On\nSecAuditEngine RelevantOnly")))
        assert rules is not None
        self.assertTrue(rules.watches_answers)

    def test_the_operators_for_all(self) -> None:
        """What the operator says holds behind what an Ingress says, nothing twice, and an Ingress may switch it off."""
        operators = FirewallSettings(operators_on=True, operators_core_rules=True)
        settings, _ = read(PLAN, operators)
        rules = rule_set(settings.of(FIREWALL))
        assert rules is not None
        self.assertEqual(rules.parts[1:], (RULES, CORE_RULES))
        settings, _ = read(
            PLAN,
            operators,
            modsecurity_snippet="SecRuleEngine On\nSecMarker a",
            enable_owasp_core_rules="true",
        )
        rules = rule_set(settings.of(FIREWALL))
        assert rules is not None
        self.assertEqual(rules.parts[1:], ('SecMarker "a"', CORE_RULES, RULES))
        self.assertTrue(rules.blocks)
        settings, _ = read(PLAN, operators, enable_modsecurity="false")
        self.assertIsNone(rule_set(settings.of(FIREWALL)))

    def test_the_operators_snippet(self) -> None:
        """It stands in place of the recommended configuration; one that is not honored as a whole closes all."""
        snippet = parse_operators_snippet("SecRuleEngine On")
        rules = rule_set(FirewallSettings(operators_on=True, operators_snippet=snippet, plan=PLAN))
        assert rules is not None
        self.assertEqual(len(rules.parts), 1)
        self.assertRaises(ValueRefused, parse_operators_snippet, "SecRuleScript /x")
        lacking = FirewallSettings(
            operators_on=True, operators_snippet=read_snippet("SecRuleScript /x"), plan=PLAN
        )
        self.assertTrue(lacking.lacks_operators_guard)

    def test_a_directive_that_is_refused_closes(self) -> None:
        """The Ingress lacks a guard, and each directive is told of with its line."""
        snippet = "SecRuleEngine On\nSecRuleScript /a\nInclude /b\nSecDebugLog /c\nSecRuleRemoveById x\n"
        settings, problems = read(enable_modsecurity="true", modsecurity_snippet=snippet)
        self.assertTrue(settings.lacks_guard)
        told = [problem.message for problem in problems]
        self.assertEqual(len(told), 4)
        self.assertIn("SecRuleScript (line 2) is not honored; the Ingress answers 503", told[0])
        self.assertIn("Include (line 3)", told[1])
        self.assertIn("the rest of it is honored", told[3])
        self.assertEqual(problems[2].reason, Reason.ANNOTATION_NOTE)

    def test_many_refused_directives_are_told_of_together(self) -> None:
        """However many there are, the problems of one annotation are few, and it is closed."""
        settings, problems = read(enable_modsecurity="true", modsecurity_snippet="Foo\n" * 250)
        self.assertTrue(settings.lacks_guard)
        self.assertLess(len(problems), 20)
        self.assertIn("more of its directives", problems[-1].message)

    def test_what_means_nothing_is_told(self) -> None:
        """Rules without the switch, and a snippet without a mode, inspect nothing, which is a note."""
        for name, value in (
            ("enable_owasp_core_rules", "true"),
            ("modsecurity_snippet", "SecRuleEngine On"),
            ("modsecurity_transaction_id", "x"),
        ):
            settings, (problem,) = read(**{name: value})
            self.assertFalse(settings.lacks_guard)
            self.assertEqual(problem.reason, Reason.ANNOTATION_NOTE)
            self.assertIn("enable-modsecurity", problem.message)
        _, (problem,) = read(enable_modsecurity="true", modsecurity_snippet="SecRuleRemoveById 1")
        self.assertIn("it has no SecRuleEngine", problem.message)
        _, (problem,) = read(enable_modsecurity="true", modsecurity_snippet="SecRuleEngine Off")
        self.assertIn("SecRuleEngine is Off", problem.message)

    def test_a_switch_that_cannot_be_read_closes(self) -> None:
        """Nobody can tell whether requests were to be inspected."""
        settings, (problem,) = read(enable_modsecurity="yes")
        self.assertIn("503", problem.message)
        self.assertTrue(settings.of(FIREWALL).lacks_operators_guard)

    def test_transaction_ids(self) -> None:
        """A variable of answers is refused; what stands there may have variables of requests and of routes."""
        _, problems = read(enable_modsecurity="true", modsecurity_transaction_id="$namespace-$request_id")
        self.assertEqual(problems, ())
        _, (problem,) = read(enable_modsecurity="true", modsecurity_transaction_id="$upstream_status")
        self.assertEqual(problem.reason, Reason.INVALID_ANNOTATION)

    def test_guards(self) -> None:
        """Whoever has requests inspected keeps TLS from leading past that."""
        self.assertTrue(firewall_guards(ON))
        self.assertFalse(firewall_guards(FirewallSettings(plan=PLAN)))


class RouteTests(SynchronousTestCase):
    """What stands before routes."""

    def filters(self, plan: FirewallPlan, **annotations: str) -> tuple[FilterSpec, ...]:
        """Return the filters of the one route of an Ingress."""
        named = {f"{PREFIX}/{name.replace('_', '-')}": value for name, value in annotations.items()}
        backend = IngressBackend("web", ServicePortReference("", 80))
        rule = IngressRule("a.test", (IngressPath("/", "Prefix", backend),))
        ingress = Ingress(ObjectKey("demo", "site"), class_name="nginx", rules=(rule,), annotations=named)
        (route,) = translate(state_of([ingress]), TranslateOptions(firewall=plan), NOW).table.routes
        return tuple(spec for spec in route.filters if isinstance(spec, (InspectRequests, GuardMissing)))

    def test_inspected(self) -> None:
        """The filter stands before the route, with the rules of its Ingress."""
        (spec,) = self.filters(PLAN, enable_modsecurity="true", modsecurity_snippet="SecRuleEngine On")
        assert isinstance(spec, InspectRequests)
        self.assertTrue(spec.rules.blocks)
        self.assertIn("refuses requests", spec.describe())

    def test_closed(self) -> None:
        """Without processes, or with a directive that is refused, nothing but a missing guard stands there."""
        for plan, snippet in (
            (FirewallPlan(), "SecRuleEngine On"),
            (PLAN, "SecRuleEngine On\nSecRuleScript /x"),
        ):
            found = self.filters(plan, enable_modsecurity="true", modsecurity_snippet=snippet)
            self.assertEqual(found, (GuardMissing(),))
        self.assertEqual(self.filters(PLAN, enable_modsecurity="yes"), (GuardMissing(),))

    def test_ordinary_routes_have_nothing(self) -> None:
        """An Ingress that does not ask has no filter, whatever runs."""
        self.assertEqual(self.filters(PLAN), ())
