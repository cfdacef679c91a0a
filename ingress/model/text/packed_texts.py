"""A few short texts as one, in a quarter of the memory: the addresses of endpoints, of which a cluster has tens of thousands."""

from typing import Final

PackedTexts = str | tuple[str, ...]
"""Texts as one; or as they were, where one would not tell them apart or they are many."""

MOST_PACKED: Final = 256
"""Texts that are packed: whoever asks for them waits ten microseconds, and for as many endpoints less than a hundred."""

_BETWEEN: Final = ","


def packed(texts: PackedTexts) -> PackedTexts:
    """Return *texts*, packed or not, as what is to be kept of them: what is equal packed was equal before."""
    if isinstance(texts, str) or len(texts) > MOST_PACKED or not all(texts):
        return texts
    one = _BETWEEN.join(texts)
    return one if one.count(_BETWEEN) == max(len(texts) - 1, 0) else texts


def unpacked(kept: PackedTexts) -> tuple[str, ...]:
    """Return the texts that *kept* is."""
    if isinstance(kept, str):
        return tuple(kept.split(_BETWEEN)) if kept else ()
    return kept
