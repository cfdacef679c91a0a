"""Fewer objects that show the same: what is left of a set when nothing more can be taken out of it.

One attempt costs a reload of nginx, whatever is tried in it, so all that may be left out is tried at once, of all sets.
"""

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace

from conformance.ingress_nginx.case import PREFIX
from conformance.ingress_nginx.sampling import NEUTRAL, Placed, Sample

Part = tuple[int, str, int | str]
"""The number of an Ingress, what of it, and which one: ``all``, ``rule``, ``annotation``, ``tls``, ``defaultBackend``, or ``path R`` of the
rule with the number R."""

ROUNDS = 8


def parts(sample: Sample) -> list[Part]:
    """All that can be taken out."""
    found: list[Part] = []
    for number, placed in enumerate(sample.ingresses):
        spec = placed.thing["spec"]
        found.append((number, "all", 0))
        annotations = placed.thing["metadata"]["annotations"]
        found += [(number, "annotation", key) for key in annotations if annotations != neutral()]
        found += [(number, name, 0) for name in ("tls", "defaultBackend") if name in spec]
        for at, rule in enumerate(spec.get("rules", ())):
            found.append((number, "rule", at))
            paths = rule.get("http", {}).get("paths", ())
            found += [(number, f"path {at}", which) for which, _ in enumerate(paths)]
    return found


def without(sample: Sample, gone: Iterable[Part]) -> Sample:
    """The set without these parts.  A rule whose paths are all gone is gone, and so is an Ingress with nothing left."""
    taken = frozenset(gone)
    left = (lessened(placed, number, taken) for number, placed in enumerate(sample.ingresses))
    return replace(sample, ingresses=tuple(placed for placed in left if placed is not None))


def neutral() -> dict[str, str]:
    """What every Ingress has that says nothing else: one without any annotation is another thing."""
    return {f"{PREFIX}{key}": value for key, value in NEUTRAL.items()}


def lessened(placed: Placed, number: int, taken: frozenset[Part]) -> Placed | None:
    if (number, "all", 0) in taken:
        return None
    thing = deepcopy(placed.thing)
    spec, metadata = thing["spec"], thing["metadata"]
    metadata["annotations"] = {
        key: value
        for key, value in metadata["annotations"].items()
        if (number, "annotation", key) not in taken
    } or neutral()
    for name in ("tls", "defaultBackend"):
        if (number, name, 0) in taken:
            spec.pop(name, None)
    rules = []
    for at, rule in enumerate(spec.pop("rules", ())):
        if (number, "rule", at) in taken:
            continue
        if "http" in rule:
            paths = rule["http"]["paths"]
            rule["http"]["paths"] = [
                path for which, path in enumerate(paths) if (number, f"path {at}", which) not in taken
            ]
            if not rule["http"]["paths"]:
                continue
        rules.append(rule)
    if rules:
        spec["rules"] = rules
    return replace(placed, thing=thing) if rules or "defaultBackend" in spec else None


def size(sample: Sample) -> int:
    """How much there is that can be taken out."""
    return len(parts(sample))


@dataclass
class UnderWay:
    """One set: ``gone`` is left out already, ``good`` are parts that could be left out alone in the last round."""

    sample: Sample
    gone: frozenset[Part] = frozenset()
    good: frozenset[Part] = frozenset()
    done: bool = False

    def smallest(self) -> Sample:
        return without(self.sample, self.gone)

    def candidates(self) -> list[frozenset[Part]]:
        """What to leave out next: all that could be left out alone, halves and quarters, and each part alone."""
        now = self.smallest()
        whole = size(now)
        left = [part for part in parts(self.sample) if part not in self.gone]
        pieces = [sorted(self.good, key=str)]
        for share in (2, 4):
            step = max(1, len(left) // share)
            pieces += [left[start : start + step] for start in range(0, len(left), step)]
        pieces += [[part] for part in left]
        found = dict.fromkeys(self.gone | frozenset(piece) for piece in pieces)
        sizes = {gone: size(without(self.sample, gone)) for gone in found}
        return [gone for gone in found if 0 < sizes[gone] < whole]

    def learn(self, failing: Sequence[frozenset[Part]]) -> None:
        """Go on from the smallest that still fails."""
        if not failing:
            self.done = True
            return
        best = min(failing, key=lambda gone: size(without(self.sample, gone)))
        alone = [gone - self.gone for gone in failing if len(gone - self.gone) == 1]
        self.good = frozenset().union(*alone) - best
        self.gone = best


def shrink(
    samples: Sequence[Sample], fail: Callable[[Sequence[Sample]], Sequence[bool]], rounds: int = ROUNDS
) -> list[Sample]:
    """The smallest that still fail.  ``fail`` says of each set whether it does."""
    under_way = [UnderWay(sample) for sample in samples]
    for _ in range(rounds):
        tried = [(one, gone) for one in under_way if not one.done for gone in one.candidates()]
        if not tried:
            break
        results = fail([without(one.sample, gone) for one, gone in tried])
        for one in under_way:
            if not one.done:
                one.learn(
                    [
                        gone
                        for (whose, gone), failed in zip(tried, results, strict=True)
                        if whose is one and failed
                    ]
                )
    return [one.smallest() for one in under_way]
