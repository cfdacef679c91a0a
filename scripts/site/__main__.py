"""``python -m scripts.site build/site``: give the site its first page, and check what was built; status 1 if anything is wrong."""

from __future__ import annotations

import sys
from pathlib import Path

from scripts.site.checking import faults

_ENTRY = "docs/README.html"
_FIRST_PAGE = f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url={_ENTRY}">
<title>txingress</title>
<a href="{_ENTRY}">The documents</a>
</html>
"""


def main(site: Path) -> int:
    """Write ``index.html`` below *site*, print what is wrong with its pages, and return the exit status."""
    (site / "index.html").write_text(_FIRST_PAGE, "utf-8")
    pages = {path.relative_to(site).as_posix(): path.read_text("utf-8") for path in site.rglob("*.html")}
    styles = {path.relative_to(site).as_posix(): path.read_text("utf-8") for path in site.rglob("*.css")}
    files = {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()}
    found = faults(pages, styles, files)
    for fault in found:
        print(fault, file=sys.stderr)
    print(f"{site / 'index.html'}: {len(pages)} pages, {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
