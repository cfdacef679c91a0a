"""How requests are shared among endpoints: ``load-balance``, ``upstream-hash-by`` and its subsets.

``upstream-hash-by`` takes a template (``ingress.model.requests.templates``) that names a variable of requests at least; without
one, all requests would go to one endpoint.
"""

import re
from typing import Final

from ingress.annotations.contract.values import Annotation, Family, Risk, ValueRefused, parse_boolean
from ingress.model.frozen import frozen
from ingress.model.requests.templates import (
    CONSTANTS,
    Template,
    TemplateRefused,
    read_template,
)
from ingress.model.upstream.balancing import Algorithm, Balancing

MAX_KEY_CHARACTERS: Final = 256
DEFAULT_SUBSET_SIZE: Final = 3
"""As ingress-nginx (``upstream-hash-by-subset-size``)."""
MAX_SUBSET_SIZE: Final = 64

_ALGORITHMS: Final = {algorithm.value: algorithm for algorithm in Algorithm} | {
    "least_conn": Algorithm.LEAST_REQUESTS
}
_EXAMPLES: Final = (
    "there are $request_uri, $uri, $host, $remote_addr, $http_NAME, $arg_NAME, $cookie_NAME and others"
)
_OF_ALL_REQUESTS: Final = CONSTANTS | {"hostname"}
"""Variables that are the same for all requests of a route."""
_TEXT: Final = re.compile(r"[A-Za-z0-9 _.:/|,;=@+-]*", re.ASCII)


def parse_algorithm(text: str) -> Algorithm:
    """Read the name of an algorithm; ``least_conn`` is what nginx calls least requests."""
    algorithm = _ALGORITHMS.get(text.strip())
    if algorithm is None:
        raise ValueRefused('is none of "round_robin", "least_requests" and "ewma"')
    return algorithm


def parse_hash_key(text: str) -> Template | None:
    """Read a text with variables; nothing at all means no hashing."""
    text = text.strip()
    if len(text) > MAX_KEY_CHARACTERS:
        raise ValueRefused(f"is longer than {MAX_KEY_CHARACTERS} characters")
    try:
        template = read_template(text)
    except TemplateRefused as refusal:
        raise ValueRefused(f"{refusal}; {_EXAMPLES}") from None
    if not all(part.variable or _TEXT.fullmatch(part.text.decode()) for part in template.parts):
        raise ValueRefused("holds what is no plain text; write variables as $name or ${name}")
    if template.parts and template.variables <= _OF_ALL_REQUESTS:
        raise ValueRefused(
            "names no variable of requests, so all of them would go to one endpoint; write $request_uri, say"
        )
    return template if template.parts else None


def parse_subset_size(text: str) -> int:
    """Read how many endpoints share the requests of one key."""
    text = text.strip()
    if not (text.isascii() and text.isdecimal() and len(text) <= 3 and 1 <= int(text) <= MAX_SUBSET_SIZE):
        raise ValueRefused(f"is not a number of endpoints from 1 to {MAX_SUBSET_SIZE}")
    return int(text)


@frozen
class BalancingSettings:
    """What the annotations of one Ingress say about balancing."""

    algorithm: Algorithm | None = None
    """None means the one that holds for all."""
    hash_by: Template | None = None
    has_subsets: bool = False
    subset_size: int = DEFAULT_SUBSET_SIZE

    def balancing(self) -> Balancing | None:
        """Return how its requests are shared; None means as all others are."""
        if self.hash_by is not None:
            return Balancing(hash_by=self.hash_by, subset_size=self.subset_size if self.has_subsets else 1)
        return Balancing(self.algorithm) if self.algorithm is not None else None


BALANCING: Final = Family(
    name="balancing",
    settings=BalancingSettings(),
    acts="which endpoint is next",
    annotations={
        "load-balance": Annotation(
            "algorithm",
            parse_algorithm,
            operators=True,
            values="`round_robin`, `least_requests`, `ewma`; round_robin",
            meaning="how requests are shared among endpoints",
        ),
        "upstream-hash-by": Annotation(
            "hash_by",
            parse_hash_key,
            operators=True,
            values="text with variables",
            meaning="sends requests with equal keys to one endpoint, by consistent hashing",
            differs="the key is of a fixed list of variables",
            risk=Risk.HIGH,
        ),
        "upstream-hash-by-subset": Annotation(
            "has_subsets",
            parse_boolean,
            operators=True,
            values="`true` or `false`; false",
            meaning="sends equal keys to one subset of endpoints, and shares them among these",
        ),
        "upstream-hash-by-subset-size": Annotation(
            "subset_size",
            parse_subset_size,
            operators=True,
            values="a number; 3",
            meaning="how many endpoints a subset has",
        ),
    },
)
