"""Where a request that lacks the slash at the end of a path is redirected, as in ingress-nginx.

That is a quirk of nginx, and no part of the API: a path ``/foo/`` is not ``/foo`` for type Exact, and is the same for type
Prefix.  So it holds where somebody counts on ingress-nginx: on hosts that an Ingress with annotations of its prefix names,
for all paths of its namespace there, or for everybody's where hosts are shared.
"""

from collections.abc import Iterator, Sequence

from attrs import evolve

from ingress.routing.beginnings import EVERYBODY
from ingress.routing.paths import rule_path
from ingress.routing.route import Match
from ingress.translate.claims import DEFAULT_BACKEND_FIELD, ROOT, Claim, ParsedObject


def slash_claims(
    claims: Sequence[Claim], all_parsed: Sequence[ParsedObject], *, is_shared: bool
) -> Iterator[Claim]:
    """Yield a claim for each path that is redirected to one of *claims*, those that won a host; itself without the slash.

    *all_parsed* are those that have a say about the host.
    """
    slashed = [claim for claim in claims if claim.path.endswith("/") and claim.path != ROOT]
    if not slashed or any(claim.match is Match.EXPRESSION for claim in claims):
        return
    quirky = {parsed.owner.key.namespace for parsed in all_parsed if parsed.has_annotations}
    if is_shared and quirky:
        quirky.add(EVERYBODY)
    taken = {rule_path(claim.path) for claim in claims if claim.match is not Match.BEGINNING}
    for claim in slashed:
        if claim.match is Match.BEGINNING or claim.field == DEFAULT_BACKEND_FIELD:
            continue
        if EVERYBODY not in quirky and claim.owner.key.namespace not in quirky:
            continue
        path = rule_path(claim.path)[:-1]
        if path not in taken:
            taken.add(path)
            yield evolve(claim, path=claim.path[:-1], match=Match.EXACT)
