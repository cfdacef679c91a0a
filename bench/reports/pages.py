"""``docs/performance.md``: the part between its two marks, and the plots beside it.

The text around the marks is written by hand and stays as it is.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.measuring import machine, quiet
from bench.measuring.idle import IDLE_KINDS
from bench.peers.targets import OURS
from bench.reports import tables
from bench.reports.plots import Bar, bar_chart
from bench.setup.errors import BenchError

PAGE = Path(__file__).parents[2] / "docs" / "performance.md"
PLOTS = PAGE.with_suffix("")
BEGIN = "<!-- written by make bench: begin -->"
END = "<!-- written by make bench: end -->"


def load_plot(load: Mapping[str, Any], targets: Mapping[str, Any]) -> str:
    """The bar chart of one load; who failed is left out."""
    bars = [
        Bar(
            targets[name]["title"],
            found["median"],
            tables.number(found["median"]),
            is_ours=name in OURS,
        )
        for name in targets
        if (found := load["targets"].get(name)) and "failure" not in found
    ]
    better = "more" if load["unit"] == "mb_per_cpu_second" else "less"
    return bar_chart(load["title"], f"{tables.UNITS[load['unit']]}; {better} is better", bars)


def idle_plot(title: str, idle: Mapping[str, Any], targets: Mapping[str, Any]) -> str:
    """The bar chart of the memory of idle connections."""
    bars = [
        Bar(targets[name]["title"], max(0.0, kib), f"{kib:.1f}", is_ours=name in OURS)
        for name, found in idle["targets"].items()
        if (kib := found.get("kib_per_connection")) is not None
    ]
    return bar_chart(f"memory of {title}", "KiB for each; less is better", bars)


def lookup_plot(lookup: Mapping[str, Any]) -> str:
    """The bar chart of route lookups."""
    bars = [
        Bar(
            f"{int(size):,} hosts, {'ten of them' if pattern == 'ten_hosts_ns' else 'all of them'}",
            found[pattern],
            tables.number(found[pattern]),
            is_ours=pattern == "ten_hosts_ns",
        )
        for pattern in ("ten_hosts_ns", "all_hosts_ns")
        for size, found in lookup["hosts"].items()
    ]
    return bar_chart("finding a route, by the number of hosts", "ns a lookup; less is better", bars)


def plots(found: Mapping[str, Any]) -> dict[str, str]:
    """All plots by the name of their file."""
    made = {f"{name}.svg": load_plot(load, found["targets"]) for name, load in found["loads"].items()}
    for kind in IDLE_KINDS:
        if kind.name in found:
            made[f"{kind.name}.svg"] = idle_plot(kind.title, found[kind.name], found["targets"])
    if "lookup" in found:
        made["lookup.svg"] = lookup_plot(found["lookup"])
    return made


def figures_text(found: Mapping[str, Any]) -> str:
    """Everything between the marks."""
    where = found["machine"]
    programs = ", ".join(f"{name} {number}" for name, number in sorted(found["programs"].items()))
    packages = ", ".join(f"{name} {number}" for name, number in found["python"]["packages"].items())
    build = found["python"]["build"]
    # Of Debian's they are about the library that is not used.
    switches = "" if build["debian"] else f" (configured with {' '.join(build['switches']) or 'no switches'})"
    parts = [
        f"Measured {found['measured_at']} in {found['rounds']} rounds, on {where['cpus']} CPUs ({where['cpu']}), Linux "
        f"{where['kernel']}, congestion control {where['congestion_control']}. {quiet.line(found['busy'])}",
        f"Ours ran on {machine.python_line(found['python'])}{switches}, with {packages}. "
        f"Of both, {machine.codes_line(found['code'])}.",
        f"Programs: {programs}.",
        "### Goals",
        tables.markdown_table(tables.figure_rows(found["figures"], found["loads"])),
    ]
    if "idle" in found or "lookup" in found:
        parts.append(tables.markdown_table(tables.memory_and_lookup_rows(found)))
    for name, load in found["loads"].items():
        parts += [
            f"### {load['title']}",
            f"{tables.how_many(load)}{in_rounds(load, found['rounds'])}.",
            tables.markdown_table(tables.load_rows(load, found["targets"])),
            f"![{load['title']}](performance/{name}.svg)",
        ]
    if tables.has_doubtful(found):
        parts.append(f"\\{tables.DOUBTFUL_NOTE}.")
    for kind in IDLE_KINDS:
        if kind.name in found:
            parts += [
                f"### {kind.title}",
                tables.markdown_table(tables.idle_rows(found[kind.name], found["targets"])),
                f"![memory of {kind.title}](performance/{kind.name}.svg)",
            ]
    if "instructions" in found:
        parts += [
            "### instructions",
            f"Outside of the kernel, by {found['instructions']['way']}, in {found['instructions']['rounds']} rounds.",
            tables.markdown_table(tables.instruction_rows(found["instructions"])),
        ]
    if "lookup" in found:
        parts += [
            "### route lookup",
            tables.markdown_table(tables.lookup_rows(found["lookup"])),
            "![finding a route](performance/lookup.svg)",
        ]
    return "\n\n".join(parts)


def in_rounds(load: Mapping[str, Any], usual: int) -> str:
    """In how many rounds a load was measured, if they are not as many as *usual*."""
    return "" if load["rounds"] == usual else f", in {load['rounds']} rounds"


def with_figures(page: str, text: str) -> str:
    """*page* with *text* between its marks.  Raises BenchError when a mark is missing."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise BenchError(f"{PAGE.name} lacks the marks between which the figures go; the results are written")
    return f"{before}{BEGIN}\n\n{text}\n\n{END}{after}"


def write(found: Mapping[str, Any]) -> None:
    """Write page and plots.  Raises BenchError."""
    page = with_figures(PAGE.read_text("utf-8"), figures_text(found))
    PLOTS.mkdir(exist_ok=True)
    for name, text in plots(found).items():
        (PLOTS / name).write_text(text, "utf-8")
    PAGE.write_text(page, "utf-8")
