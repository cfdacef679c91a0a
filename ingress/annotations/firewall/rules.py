"""Rules of ModSecurity as data: which operators and actions they may have, and how they are written anew.

What passes here is written in one way, each word in quotes of which none can end early, so that the library reads what was read
here.  Whatever opens a file, runs a program, asks another machine, or keeps something for others is refused.
"""

import re
from collections.abc import Iterator
from typing import Final

from ingress.annotations.firewall.directives import Directive
from ingress.annotations.firewall.names import PHASES, TRANSFORMATIONS, VARIABLES


class RuleRefused(Exception):  # noqa: N818 - it is a verdict on a rule, no failure
    """A rule is not honored; the message says why, as what follows the name of its directive."""


OPERATORS: Final = frozenset(
    [
        "rx",
        "pm",
        "contains",
        "containsword",
        "strmatch",
        "streq",
        "beginswith",
        "endswith",
        "within",
        "eq",
        "ge",
        "gt",
        "le",
        "lt",
        "ipmatch",
        "detectsqli",
        "detectxss",
        "validateutf8encoding",
        "validateurlencoding",
        "validatebyterange",
        "verifycc",
        "verifycpf",
        "verifyssn",
        "verifysvnr",
        "nomatch",
        "unconditionalmatch",
    ]
)
"""In lower case, without their @."""
_OF_FILES: Final = re.compile(
    r"@\s*(?:pmf|ipmatchf|inspectfile|fuzzyhash|rbl\b|geolookup|gsblookup|validate(?:dtd|schema|hash)|rsub)",
    re.IGNORECASE,
)
_OPERATOR: Final = re.compile(r"[\s!]*@\s*([A-Za-z0-9_]*)")

FLAGS: Final = frozenset(
    [
        "allow",
        "auditlog",
        "block",
        "capture",
        "chain",
        "deny",
        "drop",
        "log",
        "multimatch",
        "noauditlog",
        "nolog",
        "pass",
    ]
)
"""Actions without a value, in lower case."""
VALUED: Final = frozenset(
    [
        "accuracy",
        "allow",
        "ctl",
        "id",
        "logdata",
        "maturity",
        "msg",
        "phase",
        "redirect",
        "rev",
        "setvar",
        "severity",
        "skip",
        "skipafter",
        "status",
        "t",
        "tag",
        "ver",
    ]
)
"""Actions with one."""
_REFUSED: Final = {
    "exec": "runs a program, which nothing here does",
    "initcol": "keeps what firewall processes do not share",
    "setsid": "keeps what firewall processes do not share",
    "setuid": "keeps what firewall processes do not share",
    "setrsc": "keeps what firewall processes do not share",
    "expirevar": "keeps what firewall processes do not share",
    "deprecatevar": "keeps what firewall processes do not share",
    "setenv": "changes the environment of all",
    "proxy": "sends requests elsewhere",
}
_CONTROLS: Final = frozenset(
    [
        "auditengine",
        "auditlogparts",
        "forcerequestbodyvariable",
        "requestbodyaccess",
        "requestbodyprocessor",
        "ruleengine",
        "ruleremovebyid",
        "ruleremovebytag",
        "ruleremovetargetbyid",
        "ruleremovetargetbytag",
    ]
)
"""What ``ctl`` may change, for one request."""
_NAMES: Final = {"t": TRANSFORMATIONS, "phase": PHASES}
"""Actions whose values are names that are known."""
# Wherever it stands: the library splits actions by rules of its own.
_RUNS: Final = re.compile(r"(?:exec|inspectfile|setenv)\s*:", re.IGNORECASE)
_ACTION: Final = re.compile(
    r"\s*([A-Za-z]+)(?:\s*:\s*(?:'((?:[^'\\]|\\.)*)'|([^,']*(?:'[^']*'[^,']*)*)))?\s*(?:,|\Z)"
)
_VARIABLE: Final = re.compile(
    r"\s*[!&]?\s*([A-Za-z_]+)(?::(?:'(?:[^'\\]|\\.)*'|/(?:[^/\\]|\\.)*/|[^|,'/]*))?\s*(?:[|,]|\Z)"
)
_SETVAR: Final = re.compile(r"!?\s*tx\.", re.IGNORECASE)
_BODY_PHASE: Final = re.compile(r"(?:4|response)\Z", re.IGNORECASE)
_ANSWER_BODY: Final = re.compile(r"response_body", re.IGNORECASE)
_LATER_PHASE: Final = re.compile(r"(?:3|4|5|response|logging)\Z", re.IGNORECASE)
_QUOTE: Final = re.compile(r'(?<!\\)(?:\\\\)*"')
_ENDS: Final = re.compile(r"(?<!\\)(?:\\\\)*\\\Z")
_IDS: Final = re.compile(r"[0-9]{1,18}(?:-[0-9]{1,18})?")


def quoted(word: str) -> str:
    """Return *word* in quotes, which no quote in it ends: those have a backslash already, or there are none."""
    if '"' in word and _QUOTE.search(word) is not None:
        raise RuleRefused("has quotes within quotes")
    if word.endswith("\\") and _ENDS.search(word) is not None:
        raise RuleRefused("ends in a backslash")
    return f'"{word}"'


def _unquotable(word: str, what: str) -> str:
    if '"' in word:
        raise RuleRefused(f"has quotes in its {what}")
    return quoted(word)


def check_operator(text: str) -> None:
    """Raise ``RuleRefused`` for an operator that a rule may not have."""
    if _OF_FILES.search(text):
        raise RuleRefused("has an operator that opens files or asks other machines")
    found = _OPERATOR.match(text)
    if found is not None and found[1].lower() not in OPERATORS:
        raise RuleRefused(f"has the operator @{found[1][:32]}, which is not honored")


def check_variables(text: str) -> None:
    """Raise ``RuleRefused`` for a variable that there is not.  What cannot be read here, the library may read."""
    at = 0
    while (found := _VARIABLE.match(text, at)) is not None and found.end() > at:
        if found[1].lower() not in VARIABLES:
            raise RuleRefused(f"has the variable {found[1][:32]}, which there is not")
        at = found.end()


def actions_of(text: str) -> Iterator[tuple[str, str]]:
    """Yield names, in lower case, and values of actions; raises ``RuleRefused``."""
    if _RUNS.search(text):
        raise RuleRefused("runs a program, or may")
    at, end = 0, len(text.rstrip())
    while at < end:
        found = _ACTION.match(text, at, end)
        if found is None or found.end() == at:
            raise RuleRefused("has actions that cannot be read")
        at = found.end()
        yield found[1].lower(), (found[2] or found[3] or "").strip()


def check_actions(text: str) -> frozenset[tuple[str, str]]:
    """Return the actions that *text* has; raises ``RuleRefused`` for what a rule may not do."""
    found = frozenset(actions_of(text))
    for name, value in found:
        if name in _REFUSED:
            raise RuleRefused(f"has {name}, which {_REFUSED[name]}")
        if name not in (VALUED if value else FLAGS):
            raise RuleRefused(f"has the action {name[:32]}, which is not honored")
        if name == "ctl" and value.partition("=")[0].strip().lower() not in _CONTROLS:
            raise RuleRefused(f"has ctl:{value.partition('=')[0][:32]}, which is not honored")
        if name in _NAMES and value.lower() not in _NAMES[name]:
            raise RuleRefused(f"has {name}:{value[:32]}, which there is not")
        if name == "setvar" and _SETVAR.match(value) is None:
            raise RuleRefused("sets a variable that is not of the request alone (tx.…)")
    return found


class Rule:
    """What a directive comes to."""

    def __init__(self, text: str, actions: frozenset[tuple[str, str]] = frozenset()) -> None:
        self.text = text
        """As the library gets it."""
        self.watches_answers = any(
            name == "phase" and _LATER_PHASE.match(value) is not None for name, value in actions
        )
        controls = [re.sub(r"\s", "", value).lower() for name, value in actions if name == "ctl"]
        self.reads_body = "requestbodyaccess=on" in controls
        self.watches_bodies = (
            any(name == "phase" and _BODY_PHASE.match(value) is not None for name, value in actions)
            # Rules of the logging phase, and whatever they log, may have it as well.
            or _ANSWER_BODY.search(text) is not None
            or any(one.startswith("auditlogparts=") and "e" in one.partition("=")[2] for one in controls)
        )
        """Whether it may look at bodies of answers."""
        self.starts_refusing = any(
            one.startswith("ruleengine=") and one != "ruleengine=off" for one in controls
        )
        """Whether it may have rules refuse what they only tell of otherwise."""
        self.chains = ("chain", "") in actions
        self.id = next((value for name, value in actions if name == "id"), "")
        """Empty where it has none."""


def read_rule(directive: Directive) -> Rule:
    """Read a directive that is a rule, or changes rules; raises ``RuleRefused``."""
    name, words = directive.name, directive.words
    if name == "secrule":
        if len(words) not in (2, 3):
            raise RuleRefused("wants variables, an operator, and actions")
        check_variables(words[0])
        check_operator(words[1])
        actions = check_actions(words[2]) if len(words) == 3 else frozenset()
        end = (_unquotable(words[2], "actions"),) if len(words) == 3 else ()
        return Rule(
            " ".join(("SecRule", _unquotable(words[0], "variables"), quoted(words[1]), *end)), actions
        )
    if name in ("secaction", "secdefaultaction"):
        (text,) = _exactly(words, 1, "actions")
        actions = check_actions(text)
        canonical = "SecAction" if name == "secaction" else "SecDefaultAction"
        return Rule(f"{canonical} {_unquotable(text, 'actions')}", actions)
    if name == "secmarker":
        (text,) = _exactly(words, 1, "a name")
        return Rule(f"SecMarker {_unquotable(text, 'name')}")
    if name == "secruleremovebyid":
        ids = [one for word in words for one in word.split()]
        if not ids or not all(map(_IDS.fullmatch, ids)):
            raise RuleRefused("wants ids of rules, or ranges of them such as 941100-941199")
        return Rule(f"SecRuleRemoveById {' '.join(ids)}")
    if name in _BY_TEXT:
        (text,) = _exactly(words, 1, "a text")
        return Rule(f"{_BY_TEXT[name]} {_unquotable(text, 'text')}")
    which, what = _exactly(words, 2, "a rule, and what it gets")
    if name in ("secruleupdatetargetbyid", "secruleupdateactionbyid") and not _IDS.fullmatch(which):
        raise RuleRefused("wants the id of a rule")
    if name == "secruleupdateactionbyid":
        actions = check_actions(what)
        return Rule(f"SecRuleUpdateActionById {which} {_unquotable(what, 'actions')}", actions)
    return Rule(f"{_UPDATES[name]} {_unquotable(which, 'text')} {_unquotable(what, 'variables')}")


_BY_TEXT: Final = {"secruleremovebytag": "SecRuleRemoveByTag", "secruleremovebymsg": "SecRuleRemoveByMsg"}
_UPDATES: Final = {
    "secruleupdatetargetbyid": "SecRuleUpdateTargetById",
    "secruleupdatetargetbytag": "SecRuleUpdateTargetByTag",
    "secruleupdatetargetbymsg": "SecRuleUpdateTargetByMsg",
}
NAMES: Final = frozenset(
    (
        "secrule",
        "secaction",
        "secdefaultaction",
        "secmarker",
        "secruleremovebyid",
        "secruleupdateactionbyid",
        *_BY_TEXT,
        *_UPDATES,
    )
)
"""Of the directives that are rules, or change rules."""


def _exactly(words: tuple[str, ...], count: int, what: str) -> tuple[str, ...]:
    if len(words) != count:
        raise RuleRefused(f"wants {what}")
    return words
