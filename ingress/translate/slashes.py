"""Where a request that lacks the slash at the end of a path is redirected, as in ingress-nginx.

That is a quirk of nginx, and no part of the API: a path ``/foo/`` is not ``/foo`` for type Exact, and is the same for type
Prefix.  So it holds where somebody counts on ingress-nginx.
"""

from collections.abc import Iterator, Sequence

from attrs import evolve

from ingress.routing.paths import rule_path
from ingress.routing.route import Match
from ingress.translate.claims import DEFAULT_BACKEND_FIELD, ROOT, Claim
from ingress.translate.quirky import is_quirky


def slash_claims(claims: Sequence[Claim], quirky: frozenset[str]) -> Iterator[Claim]:
    """Yield a claim for each path that is redirected to one of *claims*, those that won a host; itself without the slash.

    *quirky* are the namespaces for whose paths that is so.
    """
    slashed = [claim for claim in claims if claim.path.endswith("/") and claim.path != ROOT]
    if not slashed or any(claim.match is Match.EXPRESSION for claim in claims):
        return
    taken = {rule_path(claim.path) for claim in claims if claim.match is not Match.BEGINNING}
    for claim in slashed:
        if claim.match is Match.BEGINNING or claim.field == DEFAULT_BACKEND_FIELD:
            continue
        if not is_quirky(claim.owner, quirky):
            continue
        path = rule_path(claim.path)[:-1]
        if path not in taken:
            taken.add(path)
            yield evolve(claim, path=claim.path[:-1], match=Match.EXACT)
