"""Results as tables of text, for the terminal and for Markdown.  Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from bench.measuring import quiet
from bench.peers.targets import OURS_COMPILED

MISSING = "-"
DOUBTFUL = " *"
"""Behind a figure while which others took much of the proxy's CPU."""
DOUBTFUL_NOTE = (
    f"{DOUBTFUL.strip()} others took more than {quiet.MOST_NOISE:.0%} of the proxy's CPU meanwhile"
)
UNITS = {
    "us_per_request": "CPU-us per request",
    "mb_per_cpu_second": "MB per CPU-second",
    "p99_us": "p99, us",
}


def number(found: float | None, digits: int = 3) -> str:
    """A figure with as many digits as it is worth."""
    if found is None:
        return MISSING
    return f"{found:.0f}" if abs(found) >= 10 ** (digits - 1) else f"{found:.{digits}g}"


def ratio(found: float | None) -> str:
    """A ratio with two decimals."""
    return MISSING if found is None else f"{found:.2f}"


def share(found: float | None) -> str:
    """A share in percent."""
    return MISSING if found is None else f"{found:.0%}"


def load_rows(load: Mapping[str, Any], targets: Mapping[str, Any]) -> list[list[str]]:
    """Head and rows of the table of one load: one row a target, in the order of *targets*."""
    has_latency = load["unit"] == "p99_us"
    head = ["", UNITS[load["unit"]], "to nginx", "to ingress-nginx", "to Go"]
    head += ["p50, us", "CPU-us per request"] if has_latency else []
    rows = [[*head, "user us", "user to nginx", "user to Go", "user share", "peak MiB"]]
    for name, target in targets.items():
        found = load["targets"].get(name)
        if found is None:
            continue
        if "failure" in found:
            rows.append([target["title"], found["failure"], *[MISSING] * (len(rows[0]) - 2)])
            continue
        median = number(found["median"]) + (DOUBTFUL if quiet.is_doubtful(found["noise"]) else "")
        row = [target["title"], median]
        row += [ratio(found[f"to_{reference}"]) for reference in ("nginx", "ingress_nginx", "go")]
        row += [number(found["p50_us"]), number(found["us_per_request"])] if has_latency else []
        row += [number(found["user_us"]), ratio(found["user_to_nginx"]), ratio(found["user_to_go"])]
        rows.append([*row, share(found["user_share"]), number(found["peak_mib"])])
    return rows


def has_doubtful(found: Mapping[str, Any]) -> bool:
    """Whether a figure of a document bears the mark of a busy machine."""
    return any(
        quiet.is_doubtful(target.get("noise", 0.0))
        for load in found["loads"].values()
        for target in load["targets"].values()
    )


def instruction_rows(found: Mapping[str, Any]) -> list[list[str]]:
    """Head and rows of instructions: one row a load and target."""
    rows = [["load", "proxy", "instructions per request", "to nginx", "spread"]]
    for load in found["loads"].values():
        title = load["title"]
        for name, target in load["targets"].items():
            if "failure" in target:
                rows.append([title, name, target["failure"], MISSING, MISSING])
            else:
                count = f"{target['per_request']:,}"
                rows.append([title, name, count, ratio(target["to_nginx"]), f"{target['spread']:.1%}"])
            title = ""
    return rows


def how_many(load: Mapping[str, Any]) -> str:
    """How many connections and streams a load has."""
    count, streams = load["connections"], load["streams"]
    text = "1 connection" if count == 1 else f"{count} connections"
    if streams == 1:
        return text
    return f"{text} with {streams} streams" if count == 1 else f"{text} with {streams} streams each"


def figure_rows(found: Sequence[Mapping[str, Any]], loads: Mapping[str, Any]) -> list[list[str]]:
    """Head and rows of the goals."""
    rows = [["load", "which runs", "compared with", "measured", "must", "aim", "met"]]
    for figure in found:
        sign = "≥" if loads[figure["load"]]["unit"] == "mb_per_cpu_second" else "≤"
        rows.append(
            [
                loads[figure["load"]]["title"],
                "compiled" if figure["target"] == OURS_COMPILED else "plain",
                figure["reference"],
                ratio(figure["ratio"]),
                f"{sign} {figure['must']}",
                MISSING if figure["aim"] is None else f"{figure['aim']}",
                "yes" if figure["met"] else "no",
            ]
        )
    return rows


def text_table(rows: Sequence[Sequence[str]]) -> str:
    """Align *rows* for a terminal: the first column to the left, the others to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def markdown_table(rows: Sequence[Sequence[str]]) -> str:
    """*rows* as a table of Markdown; the first row is its head."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    lines.insert(1, "|---|" + "--:|" * (len(rows[0]) - 1))
    return "\n".join(lines)


def idle_rows(idle: Mapping[str, Any], targets: Mapping[str, Any]) -> list[list[str]]:
    """Head and rows of the memory of idle connections."""
    rows = [["", "KiB per connection"]]
    for name, found in idle["targets"].items():
        kib = found.get("kib_per_connection")
        rows.append([targets[name]["title"], found["failure"] if kib is None else f"{kib:.1f}"])
    return rows


def lookup_rows(lookup: Mapping[str, Any]) -> list[list[str]]:
    """Head and rows of route lookups."""
    rows = [["hosts", "ns a lookup, the same ten", "ns a lookup, all alike"]]
    for size, found in lookup["hosts"].items():
        rows.append([f"{int(size):,}", number(found["ten_hosts_ns"]), number(found["all_hosts_ns"])])
    return rows


def memory_and_lookup_rows(found: Mapping[str, Any]) -> list[list[str]]:
    """Head and rows of the goals that are no ratios to another proxy."""
    rows = [["", "ours", "must", "aim", "met"]]
    for name, what in (
        ("idle", "idle keep-alive connection, KiB"),
        ("idle_h2", "idle connection of HTTP/2 over TLS, KiB"),
        ("lookup", "route lookup, 100,000 hosts to 10"),
    ):
        goal = found.get(name, {}).get("goal")
        if goal is not None:
            aim = MISSING if goal["aim"] is None else f"{goal['aim']}"
            met = "yes" if goal["met"] else "no"
            rows.append([what, ratio(goal["measured"]), f"≤ {goal['must']}", aim, met])
    return rows
