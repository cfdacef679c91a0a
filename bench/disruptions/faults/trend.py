"""Whether a series of measurements grows.  Pure."""

from collections.abc import Sequence


def slope(times: Sequence[float], values: Sequence[float]) -> float:
    """How fast *values* grow for each unit of *times*: the line with the least squares; 0 for fewer than two."""
    if len(times) < 2:
        return 0.0
    middle, mean = sum(times) / len(times), sum(values) / len(values)
    spread = sum((time - middle) ** 2 for time in times)
    both = sum((time - middle) * (value - mean) for time, value in zip(times, values, strict=True))
    return both / spread if spread else 0.0


def growth(values: Sequence[int]) -> int:
    """By how much the least of the last third exceeds the most of the first; at most 0 for what is flat.

    What goes up and down, as descriptors do, must be down again at some moment near the end.
    """
    third = max(1, len(values) // 3)
    return min(values[-third:]) - max(values[:third])
