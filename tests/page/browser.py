"""A real Chromium for tests: skipped where ``make test-page`` did not say where one is."""

import atexit
import os
from functools import cache
from pathlib import Path
from typing import Any

from twisted.trial.unittest import SkipTest, SynchronousTestCase

SIZES = {"desktop": (1440, 900), "tablet": (900, 1180), "phone": (390, 844), "document": (1240, 790)}
THEMES = ("light", "dark")


def need_browser() -> str:
    """Return the command of a browser, or skip the test."""
    command = os.environ.get("TXINGRESS_TEST_BROWSER", "")
    if not command:
        raise SkipTest("needs a browser: make test-page")
    return command


class Browser:
    """One Chromium, without windows."""

    def __init__(self) -> None:
        # Not at import: only make test-page installs it.
        from playwright.sync_api import sync_playwright

        self._playwright = sync_playwright().start()
        self._chromium = self._playwright.chromium.launch(
            executable_path=need_browser(), args=["--no-sandbox", "--disable-gpu"]
        )

    def open(self, url: str, size: str = "desktop", theme: Any = "light", **context: Any) -> "Tab":
        """Open *url* in a window of its own."""
        width, height = SIZES[size]
        made = self._chromium.new_context(
            viewport={"width": width, "height": height}, color_scheme=theme, **context
        )
        return Tab(made, url)

    def stop(self) -> None:
        """End it."""
        self._chromium.close()
        self._playwright.stop()


class Tab:
    """A page that is open, with what it complained about."""

    def __init__(self, context: Any, url: str) -> None:
        self.context = context
        self.page = context.new_page()
        self.complaints: list[str] = []
        self.asked: list[str] = []
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        self.page.on("console", self._said)
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(url)

    def _said(self, message: Any) -> None:
        # A refused stream is told by the browser, too; the page shows it.
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.complaints.append(f"{message.type}: {message.text}")

    def until(self, expression: str, seconds: float = 15.0) -> None:
        """Wait until *expression* is true in the page."""
        # Not by Playwright's own waiting, which evaluates texts in the page: its policy forbids that.
        for _ in range(int(seconds * 20)):
            if self.page.evaluate(expression):
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(f"never true: {expression}\n{self.text('body')[:3000]}\n{self.complaints}")

    def text(self, selector: str) -> str:
        """Return the text of the first element of *selector*, as it is shown."""
        return str(self.page.inner_text(selector))

    def violations(self) -> list[str]:
        """Return what axe-core finds against its rules, all of them."""
        path = os.environ.get("TXINGRESS_TEST_AXE", "")
        if not path or not Path(path).exists():
            raise SkipTest("needs axe-core: make test-page")
        self.page.evaluate(f"{Path(path).read_text('utf-8')};undefined")
        found = self.page.evaluate("axe.run()")
        assert len(found["passes"]) > 20, "axe-core has not looked"
        return [
            f"{one['id']}: {node['target']}: {node['failureSummary']}"
            for one in found["violations"]
            for node in one["nodes"]
        ]

    def close(self) -> None:
        """Close it."""
        self.context.close()


@cache
def the_browser() -> Browser:
    """Return the one of this process, which ends with it."""
    browser = Browser()
    atexit.register(browser.stop)
    return browser


class PageCase(SynchronousTestCase):
    """Has a browser, which all tests share."""

    def setUp(self) -> None:
        need_browser()
        self.browser = the_browser()

    def open(self, url: str, size: str = "desktop", theme: str = "light", **context: Any) -> Tab:
        """Open *url* until the test ends."""
        tab = self.browser.open(url, size, theme, **context)
        self.addCleanup(tab.close)
        return tab
