"""``python -m scripts.site build/site``: give the site its first page, and check what was built; status 1 if anything is wrong."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from scripts.site.checking import faults

_ENTRY = "docs/README.html"
_WORD = "proxy-body-size"
_LEAST_FOUND = 5
"""Pages that have that word, at least."""
_SECONDS = 120
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
    found = [*faults(pages, styles, files), *_search_faults(site)]
    for fault in found:
        print(fault, file=sys.stderr)
    print(f"{site / 'index.html'}: {len(pages)} pages, {len(found)} faults")
    return 1 if found else 0


def _search_faults(site: Path) -> list[str]:
    """Search for a word that many pages have, by a browser without network; return what is wrong, a line for each."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        print("the search was not tried: there is no chromium")
        return []
    page = f"file://{site.resolve()}/search.html?q={_WORD}"
    with tempfile.TemporaryDirectory() as profile:
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"]
        # Who asks for anything elsewhere gets nothing.
        command += ["--proxy-server=127.0.0.1:9", "--virtual-time-budget=20000", "--dump-dom", page]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    count = len(re.findall(r"<a [^>]*data-score=", done.stdout))
    return [] if count >= _LEAST_FOUND else [f"search.html finds {_WORD} on {count} pages"]


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
