"""``python -m tests.page.pictures FOLDER``: pictures of the page, in both themes and three sizes, and ``docs/page.png``.

A controller with some trouble has had traffic for a while when they are taken.
"""

import sys
import tempfile
import threading
from pathlib import Path

from tests.fakes.processes import free_port
from tests.page.browser import THEMES, Browser, need_browser
from tests.page.scene import Clients, Pods, Scene, endpoints, ingress, service
from tests.page.troubled import TARGETS, troubled

DOCUMENT = Path(__file__).parents[2] / "docs" / "page.png"
SECONDS = 75.0
"""For how long there is traffic, and somebody looks, before: the line of requests shall be seen."""
_pause = threading.Event().wait


def main(folder: Path) -> None:
    """Take them."""
    need_browser()
    folder.mkdir(parents=True, exist_ok=True)
    pods = Pods()
    with tempfile.TemporaryDirectory(prefix="txingress-page-") as place:
        scene = Scene(Path(place), troubled(pods), "--admin-show-queries")
        scene.start()
        clients = Clients(scene.http, TARGETS)
        browser = Browser()
        try:
            first = browser.open(scene.url, "document", "light")
            _pause(SECONDS / 3)
            port = pods.start(lambda: (0.002, 200))
            scene.write(
                "more",
                [
                    service("media", "docs"),
                    endpoints("media", "docs", port, free_port()),
                    ingress("media", "docs", "docs.example.com"),
                ],
            )
            first.page.wait_for_timeout(SECONDS * 2 / 3 * 1000)
            first.page.screenshot(path=str(DOCUMENT), scale="css")
            for size in ("desktop", "tablet", "phone"):
                for theme in THEMES:
                    tab = browser.open(scene.url, size, theme)
                    tab.page.wait_for_timeout(6000)
                    tab.page.screenshot(path=str(folder / f"{size}-{theme}.png"), full_page=True)
                    tab.page.fill("#url", "https://login.example.com/")
                    tab.page.keyboard.press("Enter")
                    tab.page.wait_for_timeout(800)
                    if tab.page.query_selector(".failure"):
                        tab.page.evaluate("document.querySelector('.failure').open = true")
                    tab.page.screenshot(path=str(folder / f"{size}-{theme}-open.png"), full_page=True)
                    sys.stdout.write(f"{folder / size}-{theme}.png {tab.complaints or ''}\n")
                    tab.close()
        finally:
            browser.stop()
            clients.stop()
            scene.stop()
            pods.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
