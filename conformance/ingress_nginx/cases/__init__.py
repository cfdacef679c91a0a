"""All cases, and what is told of all of them."""

from fnmatch import fnmatchcase

from conformance.ingress_nginx.case import Case, Told
from conformance.ingress_nginx.cases import (
    answers,
    authentication,
    bodies,
    combined,
    combined_more,
    config,
    connections,
    forms,
    grpc,
    guards,
    http2,
    idioms,
    keys,
    keys_beside,
    keys_of_guards,
    mixes,
    odd_values,
    passing,
    paths,
    rewrites,
    routes,
    seldom,
    services,
    sessions,
    snippets,
    spellings,
    starts,
    tls,
    traffic,
    written,
    wrong_values,
)
from conformance.ingress_nginx.cases.documents import EVERYBODY, REDIRECTING
from conformance.ingress_nginx.cases.telling import telling

CASES: tuple[Case, ...] = (
    *paths.CASES,
    *rewrites.CASES,
    *routes.CASES,
    *traffic.CASES,
    *answers.CASES,
    *guards.CASES,
    *tls.CASES,
    *snippets.CASES,
    *config.CASES,
    *telling(
        (
            *keys.CASES,
            *keys_of_guards.CASES,
            *services.CASES,
            *authentication.CASES,
            *wrong_values.CASES,
            *sessions.CASES,
            *starts.CASES,
            *http2.CASES,
            *grpc.CASES,
            *bodies.CASES,
            *connections.CASES,
            *passing.CASES,
            *seldom.CASES,
            *mixes.CASES,
            *forms.CASES,
            *combined.CASES,
            *combined_more.CASES,
            *idioms.CASES,
            *keys_beside.CASES,
            *spellings.CASES,
        )
    ),
    *written.CASES,
    *odd_values.CASES,
)

EVERYWHERE: tuple[Told, ...] = (
    Told("answer.field.server", EVERYBODY),
    Told("answer.field.strict-transport-security", REDIRECTING, "* https://*"),
)


def chosen(words: str) -> list[Case]:
    """Those whose names are given, separated by commas, with * for anything; all without."""
    patterns = [word for word in words.replace(",", " ").split() if word] or ["*"]
    return [case for case in CASES if any(fnmatchcase(case.name, pattern) for pattern in patterns)]
