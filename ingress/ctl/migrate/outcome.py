"""What becomes of an object by moving from ingress-nginx to here.

A finding says what is the matter with an object; this says what that has to do with the move.  A Service that does not
exist is missing in either controller, and so moving changes nothing about it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum, IntEnum
from typing import Final

from ingress.ctl.lint.finding import AnnotationReport, Finding, Level, ObjectReport, Standing
from ingress.ctl.lint.rules import (
    CLOSED_PATHS,
    DEFAULT_BACKEND_OF_ALL,
    HOST_WITHOUT_TLS,
    REWRITE_TO_ITSELF,
    RULE_WITHOUT_PATHS,
)
from ingress.model.cluster.problems import Reason


class Outcome(IntEnum):
    """What becomes of one object, from the best to the worst."""

    WORKS = 1
    """It does here what it does there."""
    DIFFERS = 2
    """It does what was asked for, in another way that somebody may notice."""
    NEEDS_CHANGE = 3
    """Something that was asked for is not done here."""
    CLOSED = 4
    """The same, and requests that came through there would be answered 503."""

    @property
    def words(self) -> str:
        """What it is called on the page."""
        return _WORDS[self]

    @property
    def key(self) -> str:
        """What it is called in JSON."""
        return self.name.lower()


_WORDS: Final = {
    Outcome.WORKS: "works as it is",
    Outcome.DIFFERS: "differs",
    Outcome.NEEDS_CHANGE: "needs a change",
    Outcome.CLOSED: "would answer 503",
}


class Bearing(Enum):
    """What a finding has to do with the move."""

    SAME = "the same there"
    """It is so in ingress-nginx, too: moving neither makes it nor mends it."""
    DIFFERS = "differs"
    CHANGES = "needs a change"


_DIFFERING: Final = frozenset(
    {DEFAULT_BACKEND_OF_ALL.name, HOST_WITHOUT_TLS.name, REWRITE_TO_ITSELF.name, RULE_WITHOUT_PATHS.name}
)
"""Rules of lint's own that tell of what both controllers do in their ways."""
BEARINGS: Final[Mapping[Reason, Bearing]] = {
    # What the API server, or ingress-nginx as well, makes nothing of.
    Reason.MALFORMED_OBJECT: Bearing.SAME,
    Reason.MALFORMED_MANIFEST: Bearing.SAME,
    Reason.UNRENDERED_MANIFEST: Bearing.SAME,
    Reason.DUPLICATE_OBJECT: Bearing.SAME,
    Reason.DEPRECATED_VERSION: Bearing.SAME,
    Reason.MISSING_PATH_TYPE: Bearing.SAME,
    Reason.INVALID_HOST: Bearing.SAME,
    Reason.INVALID_PATH: Bearing.SAME,
    Reason.INVALID_BACKEND: Bearing.SAME,
    Reason.INVALID_RULE: Bearing.SAME,
    # What no Ingress can be told.
    Reason.NOT_ALLOWED_BY_LISTENERS: Bearing.SAME,
    Reason.NO_MATCHING_PARENT: Bearing.SAME,
    Reason.NO_MATCHING_LISTENER_HOSTNAME: Bearing.SAME,
    Reason.UNSUPPORTED_VALUE: Bearing.SAME,
    Reason.INCOMPATIBLE_FILTERS: Bearing.SAME,
    Reason.REFERENCE_NOT_PERMITTED: Bearing.SAME,
    Reason.INVALID_KIND: Bearing.SAME,
    Reason.UNSUPPORTED_PROTOCOL: Bearing.SAME,
    Reason.PROTOCOL_CONFLICT: Bearing.SAME,
    Reason.HOSTNAME_CONFLICT: Bearing.SAME,
    Reason.INVALID_ROUTE_KINDS: Bearing.SAME,
    Reason.INVALID_CERTIFICATE_REF: Bearing.SAME,
    Reason.INVALID_CLIENT_CERTIFICATE_REF: Bearing.SAME,
    Reason.UNKNOWN_TLS_OPTION: Bearing.SAME,
    Reason.PORT_UNAVAILABLE: Bearing.SAME,
    Reason.SERVICE_CONFLICT: Bearing.SAME,
    Reason.UNSUPPORTED_ADDRESS: Bearing.SAME,
    Reason.ADDRESS_NOT_USABLE: Bearing.SAME,
    Reason.ADDRESS_NOT_ASSIGNED: Bearing.SAME,
    Reason.INVALID_PARAMETERS: Bearing.SAME,
    Reason.NOT_ALLOWED: Bearing.SAME,
    Reason.PARENT_NOT_ACCEPTED: Bearing.SAME,
    Reason.INVALID_CA_REF: Bearing.SAME,
    Reason.INVALID_CA_KIND: Bearing.SAME,
    Reason.NO_VALID_CA: Bearing.SAME,
    Reason.POLICY_CONFLICTED: Bearing.SAME,
    Reason.TARGET_NOT_FOUND: Bearing.SAME,
    Reason.UNSUPPORTED_VERSION: Bearing.SAME,
    Reason.PATH_CONFLICT: Bearing.SAME,
    Reason.SERVICE_NOT_FOUND: Bearing.SAME,
    Reason.SERVICE_PORT_NOT_FOUND: Bearing.SAME,
    Reason.TARGET_PORT_NAMED: Bearing.SAME,
    Reason.RESOURCE_BACKEND: Bearing.SAME,
    Reason.SECRET_NOT_FOUND: Bearing.SAME,
    Reason.SECRET_FORBIDDEN: Bearing.SAME,
    Reason.CONFIG_MAP_NOT_FOUND: Bearing.SAME,
    Reason.CONFIG_MAP_FORBIDDEN: Bearing.SAME,
    Reason.INVALID_CERTIFICATE: Bearing.SAME,
    Reason.CERTIFICATE_EXPIRED: Bearing.SAME,
    Reason.CERTIFICATE_NOT_YET_VALID: Bearing.SAME,
    Reason.CERTIFICATE_NAME_MISMATCH: Bearing.SAME,
    Reason.CERTIFICATE_CONFLICT: Bearing.SAME,
    Reason.CLASS_CONFLICT: Bearing.SAME,
    Reason.CATCH_ALL_DISABLED: Bearing.SAME,
    Reason.CANARY_WITHOUT_PRIMARY: Bearing.SAME,
    Reason.UNKNOWN_ANNOTATION: Bearing.SAME,
    Reason.WATCH_REFUSED: Bearing.SAME,
    Reason.TICKET_KEYS_USED_UP: Bearing.SAME,
    Reason.WORKERS_ENDING: Bearing.SAME,
    # What is decided in another way.
    Reason.ANNOTATION_NOTE: Bearing.DIFFERS,
    Reason.DEFAULT_BACKEND_CONFLICT: Bearing.DIFFERS,
    Reason.CLIENT_AUTHENTICATION_CONFLICT: Bearing.DIFFERS,
    Reason.LISTENER_CONFLICT: Bearing.DIFFERS,
    Reason.OPTION_NOTE: Bearing.DIFFERS,
    Reason.OPTION_OVERRIDDEN: Bearing.DIFFERS,
    # What was asked for and is not done here, or is asked for by other words here.
    Reason.INVALID_ANNOTATION: Bearing.CHANGES,
    Reason.UNSUPPORTED_ANNOTATION: Bearing.CHANGES,
    Reason.UNSUPPORTED_PATH: Bearing.CHANGES,
    Reason.TOO_MANY_EXPRESSIONS: Bearing.CHANGES,
    Reason.EXTERNAL_NAME_FORBIDDEN: Bearing.CHANGES,
    Reason.ENDPOINT_FORBIDDEN: Bearing.CHANGES,
    Reason.INVALID_PASSWORDS: Bearing.CHANGES,
    Reason.HOST_CONFLICT: Bearing.CHANGES,
    Reason.PASSTHROUGH_CONFLICT: Bearing.CHANGES,
    Reason.INVALID_OPTION: Bearing.CHANGES,
    Reason.OPTION_AT_START: Bearing.CHANGES,
    Reason.UNSUPPORTED_OPTION: Bearing.CHANGES,
}
"""What the reasons of problems have to do with the move, all of them."""

_CLOSING: Final = frozenset(
    {Reason.UNSUPPORTED_PATH.value, Reason.EXTERNAL_NAME_FORBIDDEN.value, CLOSED_PATHS.name}
)
_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
_EITHER: Final = re.compile(
    r"ingress-nginx does not .* either\b|\bno API server takes\b|\bas in ingress-nginx$"
)
_CLOSES: Final = re.compile(r"\banswers? 503\b|\bis closed\b")
# Part of whatever these two find: the messages of a cluster are looked through many times, and nearly all have none of it.
_PARTS_OF_EITHER: Final = ("ingress-nginx does not ", "no API server takes", "as in ingress-nginx")
_PARTS_OF_CLOSES: Final = (" 503", "is closed")


def bearing_of(finding: Finding) -> Bearing:
    """Return what *finding* has to do with the move.

    The rules that lint has beside the reasons of problems are about what is written, whoever serves it; but for those
    that tell what is closed, and whom ingress-nginx would send to HTTPS.
    """
    if _says(finding, _EITHER, _PARTS_OF_EITHER):
        return Bearing.SAME
    if finding.rule == CLOSED_PATHS.name:
        return Bearing.CHANGES
    if finding.rule in _DIFFERING:
        return Bearing.DIFFERS
    try:
        return BEARINGS[Reason(finding.rule)]
    except ValueError:
        return Bearing.SAME


def _says(finding: Finding, words: re.Pattern[str], parts: Sequence[str]) -> bool:
    """Whether *words*, each of which has one of *parts*, are in the message of *finding*."""
    # What tenants wrote stands in quotes, and says nothing about us.
    message = _QUOTED.sub("", finding.message)
    return any(part in message for part in parts) and words.search(message) is not None


def outcome_of_finding(finding: Finding) -> Outcome:
    """Return what *finding* alone makes of its object."""
    match bearing_of(finding):
        case Bearing.SAME:
            return Outcome.WORKS
        case Bearing.DIFFERS:
            return Outcome.DIFFERS
        case _:
            closes = _says(finding, _CLOSES, _PARTS_OF_CLOSES) or finding.rule in _CLOSING
            return Outcome.CLOSED if closes else Outcome.NEEDS_CHANGE


def outcome_of(report: ObjectReport) -> Outcome:
    """Return what becomes of an object that is ours."""
    found = [outcome_of_finding(finding) for finding in report.findings]
    found += [Outcome.DIFFERS for _ in differing(report)]
    return max(found, default=Outcome.WORKS)


def differing(report: ObjectReport) -> Iterator[AnnotationReport]:
    """Yield the annotations that are honored with a difference of which no finding tells.

    Of all that is not honored one does, but for what is as ineffective in ingress-nginx.
    """
    told = {finding.message for finding in report.findings}
    for one in report.annotations:
        if one.standing is Standing.DIFFERS and one.why not in told:
            yield one


def is_mistake(finding: Finding) -> bool:
    """Whether *finding* is wrong in either controller, so that somebody should know of it whoever serves the object."""
    return bearing_of(finding) is Bearing.SAME and finding.level is not Level.NOTE
