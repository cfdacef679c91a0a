"""All cases, by topic."""

from tests.corpus import (
    answers,
    chunks,
    framing,
    hop_by_hop,
    hosts,
    lengths,
    paths,
    pipelines,
    request_line,
    sizes,
    trailers,
    valid,
)
from tests.corpus.cases import Case

TOPICS: dict[str, tuple[Case, ...]] = {
    module.__name__.rpartition(".")[2]: module.CASES
    for module in (
        valid,
        request_line,
        hosts,
        lengths,
        framing,
        chunks,
        trailers,
        hop_by_hop,
        sizes,
        paths,
        answers,
        pipelines,
    )
}
EVERY = tuple((f"{topic}: {case.name}", case) for topic, cases in TOPICS.items() for case in cases)
"""Each case with a name that no other has."""
