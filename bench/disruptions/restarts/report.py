"""What came of an act at a proxy, as figures and as a table.  Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from bench.disruptions.restarts.acts import Act
from bench.disruptions.restarts.clients import KINDS, Seen

_MANY = 3


def figures(seen: Seen, own: set[int]) -> dict[str, Any]:
    """Return what clients of one kind saw; *own* are the ports of those whose connections the processes had that were ended."""
    mine = [loss for loss in seen.lost if loss.port in own]
    others = [loss for loss in seen.lost if loss.port not in own]

    def longest(pauses: list[float]) -> float:
        return round(max(pauses, default=0.0) * 1000, 1)

    return {
        "sent": seen.asked,
        "own": dict(Counter(loss.why for loss in mine)),
        "others": dict(Counter(loss.why for loss in others)),
        "cut": sum(loss.is_cut for loss in seen.lost),
        "own_pause_ms": longest([found for port, found in seen.pauses.items() if port in own]),
        "others_pause_ms": longest([found for port, found in seen.pauses.items() if port not in own]),
    }


def unforgiven(act: Act, kinds: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """Return the losses, by kind and reason, that ours may not have."""
    found = {}
    for name, one in kinds.items():
        losses = {
            why: count
            for why, count in one["others"].items()
            # The grace is over: nobody promises more.
            if not (act.ends_websockets and KINDS[name].minds_ends)
        }
        if losses:
            found[name] = losses
    return found


def _lost(one: Mapping[str, Any]) -> str:
    own, others = sum(one["own"].values()), sum(one["others"].values())
    text = f"{own} + {others}" if own else str(others)
    return f"{text} of {one['sent']:,}" + (f", {one['cut']} cut" if one["cut"] else "")


def _cell(one: Mapping[str, Any]) -> str:
    pause = f"{one['others_pause_ms']:.0f}"
    if one["own"]:
        pause = f"{one['own_pause_ms']:.0f} + {pause}"
    return f"{_lost(one)}; {pause} ms"


def _end(found: Mapping[str, Any]) -> str:
    seconds = found["whole_after"]
    text = "not by itself" if seconds is None else f"{seconds:.1f} s"
    return text + (f", started {found['started_anew']} x" if found["started_anew"] else "")


def rows(results: Mapping[str, Mapping[str, Any]], titles: Mapping[str, str]) -> list[list[str]]:
    """Return the table of one act: a row for each kind of connection, a column for each proxy."""
    names = [name for name in titles if name in results]
    made = [["", *(titles[name] for name in names)]]
    kinds = results[names[0]]["kinds"]
    for kind in kinds:
        made.append([KINDS[kind].title, *(_cell(results[name]["kinds"][kind]) for name in names)])
    made.append(["all is as before after", *(_end(results[name]) for name in names)])
    return made


def reasons(kinds: Mapping[str, Mapping[str, Any]]) -> str:
    """Return why requests were lost, of whichever kind, the most frequent reasons first."""
    found = []
    for title, whose in (("own", "own"), ("others", "others")):
        counted: Counter[str] = Counter()
        for one in kinds.values():
            counted.update(one[whose])
        if counted:
            told = ", ".join(f"{count} {why}" for why, count in counted.most_common(_MANY))
            found.append(f"{title}: {told}")
    return "; ".join(found)


def summary_rows(
    acts: Sequence[Act], results: Mapping[str, Mapping[str, Any]], titles: Mapping[str, str]
) -> list[list[str]]:
    """Return the table of all: a row for each act, and what was lost of all kinds."""
    made = [["", *titles.values()]]
    for act in acts:
        cells = []
        for name in titles:
            found = results[act.name].get(name)
            cells.append("" if found is None else _summary(found))
        made.append([act.sentence, *cells])
    return made


def _summary(found: Mapping[str, Any]) -> str:
    kinds = found["kinds"].values()
    all_of = {
        "sent": sum(one["sent"] for one in kinds),
        "own": {"": sum(sum(one["own"].values()) for one in kinds)},
        "others": {"": sum(sum(one["others"].values()) for one in kinds)},
        "cut": sum(one["cut"] for one in kinds),
    }
    if not all_of["own"][""]:
        all_of["own"] = {}
    pause = max(one["others_pause_ms"] for one in kinds)
    return f"{_lost(all_of)}; {pause:,.0f} ms; {_end(found)}"
