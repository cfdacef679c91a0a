"""The firewall as annotations: ``enable-modsecurity``, ``enable-owasp-core-rules``, ``modsecurity-snippet`` and their kin.

There is one only where the operator starts firewall processes (``--firewall-processes``).  Without, whoever asks for it is closed:
a route must not be served to everybody because its firewall is missing.
"""

from collections.abc import Iterator
from typing import Final

from ingress.annotations.access.guards import GuardMissing
from ingress.annotations.contract.route_constants import route_constants
from ingress.annotations.contract.route_facts import RouteFacts
from ingress.annotations.contract.values import Annotation, Family, Remark, Risk, ValueRefused, parse_boolean
from ingress.annotations.firewall.answers import InspectAnswers
from ingress.annotations.firewall.filters import InspectRequests
from ingress.annotations.firewall.properties import ANSWER_BODY_ACCESS, ANSWER_TYPES, MODE
from ingress.annotations.firewall.reading import UNREADABLE, Finding, FirewallSnippet, read_snippet
from ingress.annotations.firewall.rule_sets import FirewallSettings, Switch, rule_set
from ingress.filters import FilterSpec, Phase
from ingress.model.cluster.problems import Reason
from ingress.model.requests.templates import Template, TemplateRefused, read_template
from ingress.wording import number_of

OPTION: Final = "firewall-processes"
ENABLE: Final = "enable-modsecurity"
CORE_RULES: Final = "enable-owasp-core-rules"
SNIPPET: Final = "modsecurity-snippet"
TRANSACTION_ID: Final = "modsecurity-transaction-id"

_CLOSED: Final = "the Ingress answers 503 rather than be open"
NO_FIREWALL: Final = f"asks for a web application firewall, and none runs here: --{OPTION} starts one"
_MOST_FINDINGS: Final = 16


def parse_enabled(text: str) -> Switch:
    """Read whether requests are inspected."""
    return Switch.ON if parse_boolean(text) else Switch.OFF


def parse_transaction_id(text: str) -> Template:
    """Read what transactions are called."""
    try:
        template = read_template(text)
    except TemplateRefused as refusal:
        raise ValueRefused(str(refusal)) from None
    if template.needs_answer:
        raise ValueRefused("has a variable of answers, and none is there when a request is inspected")
    return template


def parse_operators_snippet(text: str) -> FirewallSnippet:
    """Read the operator's own; raises ``ValueRefused`` where not all of it is honored."""
    snippet = read_snippet(text)
    refused = [finding for finding in snippet.findings if not finding.is_note]
    if refused:
        told = "; ".join(map(_shown, refused[:_MOST_FINDINGS]))
        raise ValueRefused(f"has what is not honored: {told}")
    return snippet


def _shown(finding: Finding) -> str:
    at = f" (line {finding.line})" if finding.line else ""
    return f"{finding.directive}{at} {finding.message}".strip()


def firewall_filters(settings: FirewallSettings, facts: RouteFacts) -> tuple[FilterSpec, ...]:
    """Return what has the requests of a route inspected."""
    if settings.lacks_operators_guard:
        return (GuardMissing(),)
    if settings.lacks_guard:
        # That is told of, and closed, where it is read.
        return ()
    rules = rule_set(settings)
    if rules is None:
        return ()
    named = settings.transaction_id
    requests = InspectRequests(rules, None if named is None else named.bound(route_constants(facts)))
    return (requests, InspectAnswers(rules)) if rules.watches_answers else (requests,)


def firewall_guards(settings: FirewallSettings) -> bool:
    """Whether requests are inspected."""
    return settings.lacks_guard or rule_set(settings) is not None


def firewall_remarks(settings: FirewallSettings, names: frozenset[str]) -> Iterator[Remark]:
    """Say what of the annotations of one Ingress is missing, refused, or means nothing."""
    if settings.plan is None:
        yield from _without_firewall(settings, names)
        return
    if not settings.is_asked_for:
        for name in (CORE_RULES, SNIPPET, TRANSACTION_ID):
            if name in names and not (name == CORE_RULES and not settings.core_rules):
                yield Remark(name, f'means nothing without {ENABLE}: "true"')
        return
    if SNIPPET not in names:
        return
    findings = settings.snippet.findings
    for finding in findings[:_MOST_FINDINGS]:
        end = f"; {_CLOSED}" if finding.closes else "" if finding.is_note else "; the rest of it is honored"
        reason = Reason.ANNOTATION_NOTE if finding.is_note else Reason.UNSUPPORTED_ANNOTATION
        yield Remark(SNIPPET, f"{_shown(finding)}{end}", reason, closes=finding.closes)
    others = findings[_MOST_FINDINGS:]
    if others:
        closes = any(finding.closes for finding in others)
        end = f"; {_CLOSED}" if closes else ""
        more = number_of(
            len(others),
            "more of its directives is not honored as it is",
            "more of its directives are not honored as they are",
        )
        message = f"{more}{end}"
        yield Remark(SNIPPET, message, Reason.UNSUPPORTED_ANNOTATION, closes=closes)
    rules = None if settings.lacks_guard else rule_set(settings)
    if rules is not None and rules.answer_bodies is not None and not rules.answer_bodies.types:
        waits = ", and wait for that" if rules.may_refuse else ""
        yield Remark(
            SNIPPET,
            f"{ANSWER_BODY_ACCESS} is On, and nothing names types of answers ({ANSWER_TYPES}), so the bodies of all are"
            f" inspected{waits}, but for streams of events and gRPC",
        )
    if not settings.lacks_guard and rules is None:
        said = dict(settings.snippet.properties).get(MODE)
        why = (
            f"{MODE} is {said}"
            if said
            else f"it has no {MODE}, and no other configuration is loaded beside it"
        )
        yield Remark(SNIPPET, f"{why}, so nothing is inspected, as in ingress-nginx")


def _without_firewall(settings: FirewallSettings, names: frozenset[str]) -> Iterator[Remark]:
    asking = {
        ENABLE: settings.switch in (Switch.ON, Switch.UNREADABLE),
        CORE_RULES: settings.core_rules,
        SNIPPET: bool(settings.snippet.properties or settings.snippet.parts or settings.snippet.findings),
    }
    for name, asks in asking.items():
        if name in names and asks:
            yield Remark(name, f"{NO_FIREWALL}; {_CLOSED}", Reason.UNSUPPORTED_ANNOTATION, closes=True)
    if TRANSACTION_ID in names:
        message = f"{NO_FIREWALL}; the Ingress is served without it"
        yield Remark(TRANSACTION_ID, message, Reason.UNSUPPORTED_ANNOTATION)


_ALONE: Final = f"without `--{OPTION}` the paths answer 503 rather than be open"

FIREWALL: Final = Family(
    name="firewall",
    settings=FirewallSettings(),
    acts="has requests and answers inspected by ModSecurity",
    phases=(Phase.ACCESS, Phase.ANSWER),
    filters=firewall_filters,
    by_path=True,
    by_path_where=lambda settings: settings.transaction_id is not None,
    remarks=firewall_remarks,
    guards=firewall_guards,
    annotations={
        ENABLE: Annotation(
            "switch",
            parse_enabled,
            refused=Switch.UNREADABLE,
            instead=_CLOSED,
            values="boolean; what the option of that name says, or false",
            meaning="has requests and answers inspected by ModSecurity: [firewall.md](firewall.md)",
            differs=f"{_ALONE}; a rule that refuses an answer by its body does so before any of it is sent",
        ),
        CORE_RULES: Annotation(
            "core_rules",
            parse_boolean,
            refused=True,
            instead="they are taken to be on",
            values="boolean; false",
            meaning="inspects by the OWASP Core Rule Set, too",
            differs=f"{_ALONE}; the version is that of the image",
        ),
        SNIPPET: Annotation(
            "snippet",
            read_snippet,
            refused=UNREADABLE,
            instead=_CLOSED,
            values="directives of ModSecurity: SecRuleEngine, SecRule, SecAction, SecRuleRemoveById … [firewall.md](firewall.md)",
            meaning="inspects by these directives, in place of the recommended configuration",
            differs=f"{_ALONE}; read as data: what opens files or runs programs is refused by name and line, and closes the paths",
            risk=Risk.CRITICAL,
        ),
        TRANSACTION_ID: Annotation(
            "transaction_id",
            parse_transaction_id,
            instead="transactions are called by the id of the request",
            values="text with variables; `$request_id`",
            meaning="what a request is called in the lines of the firewall",
            differs="without it, that is the request's id in the access log",
            risk=Risk.HIGH,
        ),
    },
)
