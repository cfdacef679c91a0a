"""Annotations that ask for nothing without another one."""

from collections.abc import Iterator, Mapping
from typing import Final

from ingress.annotations.answers.cors import CORS
from ingress.annotations.client_certificates.family import CLIENT_CERTIFICATES
from ingress.annotations.upstream.canaries import CANARIES
from ingress.ctl.lint.finding import Finding
from ingress.ctl.lint.rules import WITHOUT_EFFECT
from ingress.ctl.lint.survey import Subject, Survey

_BESIDE_AUTH_URL: Final = (
    "auth-always-set-cookie",
    "auth-cache-key",
    "auth-method",
    "auth-proxy-set-headers",
    "auth-request-redirect",
    "auth-response-headers",
    "auth-signin",
    "auth-signin-redirect-param",
)
_OF_CANARIES: Final = "affinity-canary-behavior"
NEEDS: Final[Mapping[str, tuple[tuple[str, ...], str]]] = {
    **{name: (("enable-cors",), 'enable-cors: "true"') for name in CORS.annotations if name != "enable-cors"},
    **dict.fromkeys(
        (
            "affinity-mode",
            "session-cookie-change-on-failure",
            "session-cookie-conditional-samesite-none",
            "session-cookie-domain",
            "session-cookie-expires",
            "session-cookie-max-age",
            "session-cookie-name",
            "session-cookie-partitioned",
            "session-cookie-path",
            "session-cookie-samesite",
            "session-cookie-secure",
        ),
        (("affinity",), 'affinity: "cookie"'),
    ),
    **{name: (("canary",), 'canary: "true"') for name in CANARIES.annotations if name != "canary"},
    _OF_CANARIES: (("canary",), 'canary: "true"'),
    **dict.fromkeys(_BESIDE_AUTH_URL, (("auth-url",), "auth-url")),
    **{
        name: (("auth-tls-secret",), "auth-tls-secret")
        for name in CLIENT_CERTIFICATES.annotations
        if name != "auth-tls-secret"
    },
    "auth-cache-duration": (("auth-cache-key",), "auth-cache-key"),
    "fastcgi-index": (("backend-protocol",), "backend-protocol: FCGI"),
    "fastcgi-params-configmap": (("backend-protocol",), "backend-protocol: FCGI"),
    "mirror-host": (("mirror-target",), "mirror-target"),
    "mirror-request-body": (("mirror-target",), "mirror-target"),
    "limit-burst-multiplier": (("limit-rps", "limit-rpm"), "limit-rps or limit-rpm"),
    "limit-rate-after": (("limit-rate",), "limit-rate"),
    "auth-realm": (("auth-type", "auth-secret"), "auth-type and auth-secret"),
    "auth-secret-type": (("auth-type", "auth-secret"), "auth-type and auth-secret"),
    "permanent-redirect-code": (("permanent-redirect",), "permanent-redirect"),
    "temporal-redirect-code": (("temporal-redirect",), "temporal-redirect"),
    "upstream-hash-by-subset": (("upstream-hash-by",), "upstream-hash-by"),
    "upstream-hash-by-subset-size": (("upstream-hash-by",), "upstream-hash-by"),
}
"""By name: which others something has to be asked by, and how they are called in a message."""


def without_effect(subject: Subject) -> Mapping[str, str]:
    """Return the annotations of an object that ask for nothing as they stand, each with what it needs."""
    if subject.parsed is None or subject.parsed.settings.of(CANARIES).is_canary:
        return {}
    found: dict[str, str] = {}
    for name in subject.annotations:
        others, shown = NEEDS.get(name, ((), ""))
        if others and subject.says(name) and not any(_asks(subject, one) for one in others):
            found[name] = shown
    return found


def check_effects(survey: Survey, subject: Subject) -> Iterator[Finding]:
    """Yield the annotations of an object that have no effect as they stand, those together that need the same."""
    lacking: dict[str, list[str]] = {}
    for name, shown in without_effect(subject).items():
        lacking.setdefault(shown, []).append(name)
    for shown, names in lacking.items():
        verb, them = ("has", "it") if len(names) == 1 else ("have", "them")
        # Alone it is what a primary says that is for its canary to say.
        advice = "write it on the canary" if names == [_OF_CANARIES] else f"write {shown}"
        yield subject.found(
            WITHOUT_EFFECT,
            f"{', '.join(names)} {verb} no effect without {shown}",
            subject.field(names[0]),
            f"{advice}, or remove {them}",
        )


def _asks(subject: Subject, name: str) -> bool:
    return subject.says(name) and not _is_off(subject.annotations[name])


def _is_off(value: str) -> bool:
    return value.strip().lower() in ("false", "0", "f", "off")
