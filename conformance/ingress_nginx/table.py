"""The table of a run."""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from conformance.ingress_nginx.play import Row


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def tell(rows: Iterable[Row], folder: Path, say: Callable[[str], None] = say) -> int:
    """Say each row when it is known, and the sum, and write the rows to ``table.txt``; returns the exit status."""
    counts = {"same": 0, "told": 0, "DIFFERENT": 0}
    with (folder / "table.txt").open("w") as written:
        for row in rows:
            counts[row.verdict] += 1
            for line in lines_of(row):
                say(line)
                written.write(f"{line}\n")
    say(f"{counts['same']} same, {counts['told']} told, {counts['DIFFERENT']} different")
    return 1 if counts["DIFFERENT"] or not sum(counts.values()) else 0


def lines_of(row: Row) -> list[str]:
    lines = [f"{row.verdict:9}  {row.case}  {printable(row.ask)}"]
    for difference, told in row.told:
        lines.append(f"    {difference.what}: told in {told.where}")
    for difference in row.different:
        lines.append(
            f"    {difference.what}: ingress-nginx {difference.reference!r}, ours {difference.ours!r}"
        )
    return lines


def printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)
