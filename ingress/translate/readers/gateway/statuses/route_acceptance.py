"""What of a route is dropped of what it asks for, as far as its problems say: of some rules, or of all, so that it is not accepted.

Source: the conditions ``Accepted`` and ``PartiallyInvalid`` of routes of ``gateway.networking.k8s.io/v1``.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from ingress.model.cluster.problems import Problem, Reason

UNRESOLVED: Final = {
    Reason.REFERENCE_NOT_PERMITTED: "RefNotPermitted",
    Reason.INVALID_KIND: "InvalidKind",
    Reason.RESOURCE_BACKEND: "InvalidKind",
    Reason.EXTERNAL_NAME_FORBIDDEN: "RefNotPermitted",
    Reason.SERVICE_NOT_FOUND: "BackendNotFound",
    Reason.SERVICE_PORT_NOT_FOUND: "BackendNotFound",
    Reason.INVALID_BACKEND: "BackendNotFound",
    Reason.UNSUPPORTED_PROTOCOL: "UnsupportedProtocol",
}
"""What is told of references, by the API's words for it: their rules are there, and answer with an error."""
# What is done as it was asked for, though something about it deserves a word; what is about the backend's TLS, whose policy
# says so in its own status; and what is told of each parent.
_ELSEWHERE: Final = frozenset(
    {
        Reason.DEPRECATED_VERSION,
        Reason.DUPLICATE_OBJECT,
        Reason.ENDPOINT_FORBIDDEN,
        Reason.CERTIFICATE_EXPIRED,
        Reason.CERTIFICATE_NOT_YET_VALID,
        Reason.CERTIFICATE_NAME_MISMATCH,
        Reason.NOT_ALLOWED_BY_LISTENERS,
        Reason.NO_MATCHING_PARENT,
        Reason.NO_MATCHING_LISTENER_HOSTNAME,
    }
)
_RULE: Final = re.compile(r"spec\.rules\[(\d+)\](?:\.(matches|filters)\[(\d+)\]|\.backendRefs)?")


def is_dropped(problem: Problem) -> bool:
    """Whether *problem* keeps something from being done that a route asks for."""
    return not problem.is_note and problem.reason not in UNRESOLVED and problem.reason not in _ELSEWHERE


def is_all_dropped(dropped: Iterable[Problem], rules: Sequence[object]) -> bool:
    """Whether nothing is left of a route with these *rules*.

    A rule is lost with its filters, with all of its matches, or with its backends as a whole; whatever else it lacks, it is
    served without that.
    """
    lost: set[int] = set()
    matches: defaultdict[int, set[str]] = defaultdict(set)
    for problem in dropped:
        if problem.field in ("", "spec", "spec.rules"):
            return True
        found = _RULE.match(problem.field)
        if found is None:
            continue
        at, part = int(found[1]), found[2]
        if part == "matches":
            matches[at].add(found[3])
        elif part == "filters" or found.end() == len(problem.field):
            lost.add(at)
    for at, some in matches.items():
        if at < len(rules) and len(some) >= len(getattr(rules[at], "matches", ())):
            lost.add(at)
    return 0 < len(rules) <= len(lost)
