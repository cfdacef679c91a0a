"""What becomes of each annotation of an object.

The tables say of some annotations where they differ from ingress-nginx whatever their value.  For most values that makes
no difference, and a remark that stands beside every second annotation is read by nobody: ``DIFFERENCES`` says for
which values it is one.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from ingress.annotations.contract.values import ValueRefused
from ingress.annotations.policy import AnnotationPolicy
from ingress.annotations.unhonored import asks_for_nothing
from ingress.annotations.unknown_names import UnknownNames
from ingress.annotations.upstream.canaries import SAID_BY_CANARIES
from ingress.annotations.upstream.retries import MOST_TRIES
from ingress.ctl.lint.checks.effects import without_effect
from ingress.ctl.lint.finding import AnnotationReport, Finding, Standing
from ingress.ctl.lint.mending import KNOWN, ROWS, unknown_names
from ingress.ctl.lint.rules import CLOSED_PATHS, REWRITE_TO_ITSELF
from ingress.ctl.lint.survey import Subject
from ingress.model.cluster.problems import Reason

_Differs = Callable[[Subject, str], bool]


def _never(subject: Subject, value: str) -> bool:
    """Tell of nothing: the remark is about limits of what hardly anybody writes, or a value that differs is told as a problem."""
    return False


def _always(subject: Subject, value: str) -> bool:
    return True


def _is(*values: str) -> _Differs:
    return lambda subject, value: value.strip().lower() in values


def _beside_denied_alone(subject: Subject, value: str) -> bool:
    """Whether addresses are denied, none is allowed, and one of several is enough to be let in."""
    allows = subject.says("allowlist-source-range") or subject.says("whitelist-source-range")
    return value.strip() == "any" and subject.says("denylist-source-range") and not allows


def _no_time(subject: Subject, value: str) -> bool:
    return re.fullmatch(r"-[0-9]+|0+", value.strip()) is not None


def _spaced(subject: Subject, value: str) -> bool:
    return "  " in value.strip() or " ," in value


def _above(most: int) -> _Differs:
    return lambda subject, value: value.strip().isdecimal() and int(value) > most


def _with_expressions(subject: Subject, value: str) -> bool:
    return subject.says("use-regex") or subject.says("rewrite-target")


def _sent_without_rewrite(subject: Subject, value: str) -> bool:
    """Whether a prefix is sent where no path is rewritten; one with groups is not where no path is an expression."""
    captures = _GROUP.search(value) is not None
    return not subject.says("rewrite-target") and (not captures or subject.says("use-regex"))


_GROUP: Final = re.compile(r"\$\{?[1-9]")

DIFFERENCES: Final[Mapping[str, _Differs]] = {
    "auth-always-set-cookie": _never,
    "auth-cache-key": _never,
    "auth-proxy-set-headers": _never,
    "auth-realm": _is("off"),
    "auth-response-headers": _never,
    "auth-secret": _never,
    "auth-signin": _is(),
    "auth-snippet": _never,
    "auth-tls-match-cn": _never,
    "auth-tls-secret": _never,
    "auth-type": _never,
    "auth-url": _never,
    "backend-protocol": _is("fcgi"),
    "canary": _never,
    "canary-by-header-pattern": _never,
    "client-body-buffer-size": _never,
    "configuration-snippet": lambda subject, value: "rewrite" in value,
    "connection-proxy-header": _is("close"),
    "cors-allow-credentials": _is("false"),
    "cors-allow-methods": _spaced,
    "cors-allow-origin": _never,
    "cors-expose-headers": _spaced,
    "custom-headers": _never,
    "custom-http-errors": _never,
    "default-backend": _never,
    "enable-cors": _never,
    "enable-modsecurity": _never,
    "enable-opentelemetry": _never,
    "enable-owasp-core-rules": _never,
    "enable-rewrite-log": _is("true"),
    "fastcgi-params-configmap": _never,
    "filters": _never,
    "from-to-www-redirect": _never,
    "limit-rate": _never,
    "limit-rate-after": _never,
    "mirror-request-body": _never,
    "mirror-target": _never,
    "modsecurity-snippet": _never,
    "modsecurity-transaction-id": _never,
    "opentelemetry-operation-name": _never,
    "opentelemetry-trust-incoming-span": _never,
    "permanent-redirect": _never,
    "proxy-buffer-size": _never,
    "proxy-buffering": _is("on"),
    "proxy-http-version": _is("1.0"),
    "proxy-next-upstream-tries": _above(MOST_TRIES),
    "proxy-request-buffering": _is("on"),
    "proxy-ssl-name": _never,
    "proxy-ssl-protocols": _never,
    "proxy-ssl-secret": _never,
    "proxy-ssl-verify": _never,
    "rewrite-target": _never,
    "satisfy": _beside_denied_alone,
    "server-alias": _never,
    "server-snippet": lambda subject, value: "location" in value,
    "service-upstream": _never,
    "session-cookie-change-on-failure": _is("false"),
    "session-cookie-expires": _no_time,
    "session-cookie-max-age": _no_time,
    "session-cookie-path": _with_expressions,
    "ssl-ciphers": _never,
    "ssl-passthrough": _never,
    "ssl-prefer-server-ciphers": _never,
    "stream-snippet": _always,
    "temporal-redirect": _never,
    "upstream-hash-by": _never,
    "upstream-vhost": _never,
    "use-regex": _never,
    "x-forwarded-prefix": _sent_without_rewrite,
}
"""By name of those whose row has a difference: whether it is one for this object and value."""

_OF_REASONS: Final = {
    Reason.UNSUPPORTED_ANNOTATION: Standing.IGNORED,
    Reason.INVALID_ANNOTATION: Standing.IGNORED,
    Reason.ANNOTATION_NOTE: Standing.DIFFERS,
}


def standings(
    subject: Subject, findings: Iterable[Finding], unsafe: frozenset[str], policy: AnnotationPolicy
) -> Iterator[AnnotationReport]:
    """Yield what becomes of each annotation of *subject*, of those that *policy* allows.

    *findings* are all about it, *unsafe* the rules of those that tell of danger.
    """
    by_field: dict[str, list[Finding]] = {}
    for one in findings:
        by_field.setdefault(one.field, []).append(one)
    unknown, lacking = unknown_names(subject), without_effect(subject)
    is_canary = subject.parsed is not None and bool(subject.parsed.canary_claims)
    for name, value in subject.annotations.items():
        told = by_field.get(subject.field(name), [])
        standing, why = _standing(subject, name, value, told, unknown, lacking, unsafe)
        if standing is Standing.DIFFERS and not policy.allows(name):
            standing = Standing.IGNORED
        if standing in (Standing.HONORED, Standing.DIFFERS) and is_canary and name not in SAID_BY_CANARIES:
            standing, why = Standing.IGNORED, "the Ingress behind which a canary stands decides about it"
        yield AnnotationReport(name, value, standing, why)


def _standing(
    subject: Subject,
    name: str,
    value: str,
    told: list[Finding],
    unknown: Mapping[str, UnknownNames],
    lacking: Mapping[str, str],
    unsafe: frozenset[str],
) -> tuple[Standing, str]:
    if name in unknown:
        return Standing.NEVER_EXISTED, unknown[name].message
    by_rule = {one.rule: one for one in reversed(told)}
    if CLOSED_PATHS.name in by_rule:
        return Standing.CLOSED, by_rule[CLOSED_PATHS.name].message
    dangers = [one for one in told if one.rule in unsafe]
    if dangers:
        return Standing.UNSAFE, dangers[0].message
    if not value.strip():
        return Standing.HONORED, "it says nothing, which asks for nothing"
    if name in lacking:
        return Standing.IGNORED, f"it has no effect without {lacking[name]}"
    if REWRITE_TO_ITSELF.name in by_rule:
        return Standing.DIFFERS, by_rule[REWRITE_TO_ITSELF.name].message
    for reason, standing in _OF_REASONS.items():
        if reason.value in by_rule:
            found = by_rule[reason.value]
            is_part = standing is Standing.IGNORED and _is_partly_honored(name, value, reason)
            return Standing.DIFFERS if is_part else standing, found.message
    row = ROWS.get(name)
    if row is None:
        nothing = name in KNOWN and asks_for_nothing(name, value)
        return (
            (Standing.HONORED, "") if nothing else (Standing.IGNORED, "it is not honored by this controller")
        )
    if row.differs and DIFFERENCES.get(name, _always)(subject, value):
        return Standing.DIFFERS, row.differs
    return Standing.HONORED, ""


def _is_partly_honored(name: str, value: str, reason: Reason) -> bool:
    """Whether what is told of is a part of the value, such as one directive of a snippet, and the rest of it is honored."""
    row = ROWS.get(name)
    if row is None or row.unhonored:
        return False
    if reason is Reason.UNSUPPORTED_ANNOTATION and not name.endswith("-snippet"):
        return False
    try:
        row.read(value)
    except ValueRefused:
        return False
    return True
