"""How requests are shared among endpoints: ``load-balance``, ``upstream-hash-by`` and its subsets.

``upstream-hash-by`` takes text with variables, as nginx writes them: ``$request_uri``,
``${host}``.  Only variables that say something of the request are known; what else
nginx has would be empty here, and all requests would go to one endpoint.
"""

import re
from typing import Final

from attrs import frozen

from ingress.annotations.values import Annotation, Family, ValueRefused, parse_boolean
from ingress.model.balancing import Algorithm, Balancing, KeyPart, Variable

MAX_KEY_CHARACTERS: Final = 256
DEFAULT_SUBSET_SIZE: Final = 3
"""As ingress-nginx (``upstream-hash-by-subset-size``)."""
MAX_SUBSET_SIZE: Final = 64

_ALGORITHMS: Final = {algorithm.value: algorithm for algorithm in Algorithm} | {
    "least_conn": Algorithm.LEAST_REQUESTS
}
_PLAIN: Final = {
    variable.value: variable
    for variable in Variable
    if variable is not Variable.TEXT and not variable.value.endswith("_")
} | {
    "binary_remote_addr": Variable.REMOTE_ADDR,
    "document_uri": Variable.URI,
    "query_string": Variable.ARGS,
    "the_real_ip": Variable.REMOTE_ADDR,
}
_NAMED: Final = (Variable.HTTP, Variable.ARG, Variable.COOKIE)
_PART: Final = re.compile(
    r"\$(?:\{(?P<braced>[A-Za-z0-9_]+)\}|(?P<bare>[A-Za-z0-9_]+))|(?P<text>[A-Za-z0-9 _.:/|,;=@+-]+)",
    re.ASCII,
)


def parse_algorithm(text: str) -> Algorithm:
    """Read the name of an algorithm; ``least_conn`` is what nginx calls least requests."""
    algorithm = _ALGORITHMS.get(text.strip())
    if algorithm is None:
        raise ValueRefused('is none of "round_robin", "least_requests" and "ewma"')
    return algorithm


def parse_hash_key(text: str) -> tuple[KeyPart, ...]:
    """Read a text with variables; nothing at all means no hashing."""
    text = text.strip()
    if len(text) > MAX_KEY_CHARACTERS:
        raise ValueRefused(f"is longer than {MAX_KEY_CHARACTERS} characters")
    parts: list[KeyPart] = []
    at = 0
    while at < len(text):
        found = _PART.match(text, at)
        if found is None:
            raise ValueRefused(
                f"cannot be read from character {at + 1} on; write variables as $name or ${{name}}"
            )
        at = found.end()
        name = found["braced"] or found["bare"]
        parts.append(_variable(name) if name else KeyPart(Variable.TEXT, found["text"].encode()))
    if parts and all(part.variable is Variable.TEXT for part in parts):
        raise ValueRefused(
            "names no variable, so all requests would go to one endpoint; write $request_uri, say"
        )
    return tuple(parts)


def parse_subset_size(text: str) -> int:
    """Read how many endpoints share the requests of one key."""
    text = text.strip()
    if not (text.isascii() and text.isdecimal() and len(text) <= 3 and 1 <= int(text) <= MAX_SUBSET_SIZE):
        raise ValueRefused(f"is not a number of endpoints from 1 to {MAX_SUBSET_SIZE}")
    return int(text)


def _variable(name: str) -> KeyPart:
    plain = _PLAIN.get(name)
    if plain is not None:
        return KeyPart(plain)
    for variable in _NAMED:
        rest = name.removeprefix(variable.value)
        if name.startswith(variable.value) and rest:
            if variable is Variable.HTTP:
                return KeyPart(variable, rest.lower().replace("_", "-").encode())
            return KeyPart(variable, rest.encode())
    known = ", ".join(f"${each}" for each in sorted(_PLAIN))
    raise ValueRefused(
        f"holds a variable that is not known; there are {known}, $http_NAME, $arg_NAME and $cookie_NAME"
    )


@frozen
class BalancingSettings:
    """What the annotations of one Ingress say about balancing."""

    algorithm: Algorithm | None = None
    """None means the one that holds for all."""
    hash_by: tuple[KeyPart, ...] = ()
    has_subsets: bool = False
    subset_size: int = DEFAULT_SUBSET_SIZE

    def balancing(self) -> Balancing | None:
        """Return how its requests are shared; None means as all others are."""
        if self.hash_by:
            return Balancing(hash_by=self.hash_by, subset_size=self.subset_size if self.has_subsets else 1)
        return Balancing(self.algorithm) if self.algorithm is not None else None


BALANCING: Final = Family(
    name="balancing",
    settings=BalancingSettings(),
    acts="which endpoint is next",
    annotations={
        "load-balance": Annotation("algorithm", parse_algorithm),
        "upstream-hash-by": Annotation("hash_by", parse_hash_key),
        "upstream-hash-by-subset": Annotation("has_subsets", parse_boolean),
        "upstream-hash-by-subset-size": Annotation("subset_size", parse_subset_size),
    },
)
