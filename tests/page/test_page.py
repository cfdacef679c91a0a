"""The page in a real browser, over a real controller with some trouble."""

import atexit
import re
import socket
import sys
import tempfile
from contextlib import closing
from functools import cache
from pathlib import Path
from shutil import rmtree
from typing import Any

from ingress.live.live import MOST_VIEWERS
from tests.page.browser import THEMES, PageCase
from tests.page.scene import HOST, Clients, Object, Pods, Scene, endpoints, ingress, service
from tests.page.troubled import TARGETS, troubled

LIVE = "document.getElementById('link').textContent === 'live'"
READ = "document.querySelectorAll('.route:not([hidden])').length > 5"

MANY = 10_000
LONGEST_TASK_MS = 400.0
"""Far above what there is on a quiet machine: sorting 10,000 rows takes some tens of them."""

HOSTILE = "<img src=x onerror=alert(1)>"


@cache
def the_scene() -> Scene:
    """Return the controller that the tests of this process share."""
    folder = Path(tempfile.mkdtemp(prefix="txingress-page-"))
    pods = Pods()
    scene = Scene(folder, troubled(pods))
    scene.start()
    clients = Clients(scene.http, TARGETS)

    def end() -> None:
        clients.stop()
        scene.stop()
        pods.stop()
        rmtree(folder)

    atexit.register(end)
    return scene


class TroubledTests(PageCase):
    """A controller with some trouble."""

    def setUp(self) -> None:
        super().setUp()
        self.scene = the_scene()

    def look(self, size: str = "desktop", theme: str = "light", **context: Any) -> Any:
        """Open the page until the test ends, and wait until it shows something."""
        tab = self.open(self.scene.url, size, theme, **context)
        tab.until(LIVE)
        tab.until(READ)
        tab.until("+document.getElementById('rate').textContent > 1")
        return tab

    def test_shows_what_there_is(self) -> None:
        """State, numbers, routes by trouble, failures, problems and certificates are there, and nobody else is asked."""
        tab = self.look()
        tab.until("document.querySelectorAll('.failure').length > 1")
        self.assertEqual(tab.text("#ready"), "ready")
        self.assertRegex(tab.text("#snapshot"), r"^snapshot \d+$")
        self.assertEqual(tab.text("#ends"), "4 days")
        self.assertIn("login.example.com", tab.text("#ends-under"))
        rows = tab.page.eval_on_selector_all(
            ".route:not([hidden])",
            "rows => rows.sort((a, b) => a.getAttribute('aria-rowindex') - b.getAttribute('aria-rowindex')).map(row => [row.innerText, row.className])",
        )
        self.assertEqual(len(rows), 10)
        self.assertIn("bad", rows[0][1])
        self.assertTrue(any("gone.example.com" in text and "none" in text for text, _ in rows[:5]), rows)
        self.assertIn("UnsupportedAnnotation", tab.text("#problems"))
        self.assertIn("core/login-tls", tab.text("#certificates tbody tr"))
        self.assertEqual(
            {url.split("/")[2] for url in tab.asked if not url.startswith("data:")},
            {f"127.0.0.1:{self.scene.admin}"},
        )
        self.assertEqual(tab.complaints, [])

    def test_rules(self) -> None:
        """axe-core finds nothing against its rules, in either theme and any size, with an explanation and details open."""
        for size in ("desktop", "tablet", "phone"):
            for theme in THEMES:
                tab = self.look(size, theme)
                tab.until("document.querySelectorAll('.failure').length > 0")
                tab.page.fill("#url", "https://shop.example.com/cart?x=1")
                tab.page.keyboard.press("Enter")
                tab.until("document.querySelectorAll('.steps > li').length > 4")
                tab.page.evaluate("document.querySelector('.failure').open = true")
                self.assertEqual(tab.violations(), [], f"{size}, {theme}")
                wide, window = tab.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
                self.assertLessEqual(wide, window, f"{size}: scrolls sideways")
                self.assertEqual(tab.complaints, [])
                tab.close()

    def test_explains(self) -> None:
        """Who serves a URL is shown step by step, from the field and from a row; a URL that is none is told so."""
        tab = self.look()
        tab.page.fill("#url", "http://shop.example.com/cart/7")
        tab.page.keyboard.press("Enter")
        tab.until("document.querySelectorAll('.steps > li').length > 4")
        self.assertIn("store/cart", tab.text("#answer h3"))
        self.assertIn("Ingress store/cart", tab.text(".steps"))
        tab.page.click(".route .host >> text=search.example.com")
        tab.until("document.getElementById('url').value === 'http://search.example.com/'")
        tab.until("document.querySelector('#answer h3').textContent.includes('core/search')")
        tab.page.fill("#url", "ftp://shop.example.com")
        tab.page.keyboard.press("Enter")
        tab.until("document.querySelector('#answer h3').className.includes('bad')")
        self.assertEqual(tab.complaints, [])

    def test_filter(self) -> None:
        """Rows are found by any of their words, and those in trouble alone."""
        tab = self.look()
        tab.page.fill("#filter", "media static")
        tab.until("document.querySelectorAll('.route:not([hidden])').length === 1")
        self.assertIn("1 of 10 routes", tab.text("#routes-under"))
        tab.page.fill("#filter", "nowhere")
        tab.until("!document.getElementById('routes-none').hidden")
        tab.page.fill("#filter", "")
        tab.page.click("#only")
        tab.until("document.querySelectorAll('.route:not([hidden])').length < 10")
        self.assertEqual(tab.page.get_attribute("#only", "aria-pressed"), "true")

    def test_keyboard(self) -> None:
        """Everything is reached by Tab, always with a visible focus; arrow keys go along the routes, and Enter explains one."""
        tab = self.look()
        tab.page.keyboard.press("Tab")
        self.assertEqual(tab.page.evaluate("document.activeElement.className"), "skip")
        reached = set()
        for _ in range(60):
            tab.page.keyboard.press("Tab")
            name, is_seen = tab.page.evaluate(
                "(() => { const e = document.activeElement, s = getComputedStyle(e);"
                " return [e.id || e.className || e.tagName, s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2 || e === document.body]; })()"
            )
            self.assertTrue(is_seen, name)
            reached.add(str(name))
        self.assertLessEqual(
            {"method", "url", "go", "only", "filter", "rows", "host cut", "failures", "changes", "problems"},
            reached,
        )
        tab.page.focus("#rows")
        for key in ("ArrowDown", "ArrowDown", "End", "Home", "ArrowDown"):
            tab.page.keyboard.press(key)
        self.assertEqual(
            tab.page.evaluate("document.activeElement.closest('.route').getAttribute('aria-rowindex')"), "3"
        )
        host = tab.page.evaluate("document.activeElement.firstChild.textContent")
        tab.page.keyboard.press("Enter")
        tab.until("document.querySelectorAll('.steps > li').length > 2")
        self.assertIn(host, tab.page.input_value("#url"))

    def test_semantics(self) -> None:
        """There are landmarks, a table with all of its rows counted, and one polite word about readiness."""
        tab = self.look()
        self.assertEqual(
            tab.page.evaluate(
                "['header', 'main', 'footer', 'h1'].map(name => document.querySelectorAll(name).length)"
            ),
            [1, 1, 1, 1],
        )
        self.assertEqual(tab.page.get_attribute("#table", "aria-rowcount"), "11")
        self.assertEqual(
            tab.page.evaluate("[...document.querySelectorAll('[role=status], [aria-live]')].map(e => e.id)"),
            ["ready"],
        )

    def test_reduced_motion(self) -> None:
        """Who wants no motion gets none."""
        tab = self.look(reduced_motion="reduce")
        self.assertEqual(
            tab.page.evaluate(
                "[...document.querySelectorAll('*')].filter(e => parseFloat(getComputedStyle(e).transitionDuration) > 0).length"
            ),
            0,
        )

    def test_errors_are_seen(self) -> None:
        """A mistake of the page itself is shown on it."""
        tab = self.look()
        tab.page.evaluate("setTimeout(() => { null.nothing }, 0)")
        tab.until("!document.getElementById('error').hidden")
        self.assertIn("has made a mistake", tab.text("#error"))

    def test_too_many_viewers(self) -> None:
        """A page beside as many viewers as there may be says so, and goes on when one has left."""
        viewers = [self.scene.look() for _ in range(MOST_VIEWERS)]
        try:
            tab = self.open(self.scene.url)
            tab.until("document.getElementById('stale').textContent.includes('20 look already')")
            self.assertIn("Trying", tab.text("#stale"))
            tab.until(READ)
            viewers.pop().close()
            tab.until(LIVE, 30)
            self.assertTrue(tab.page.is_hidden("#stale"))
        finally:
            for viewer in viewers:
                viewer.close()

    def test_new_objects(self) -> None:
        """What objects ask for is shown while the page is open."""
        tab = self.look()
        self.scene.write("more", [service("store", "fresh"), ingress("store", "fresh", "fresh.example.com")])
        tab.until("document.getElementById('space').textContent.includes('fresh.example.com')", 20)
        (self.scene.folder / "manifests" / "more.yaml").unlink()
        tab.until("document.querySelectorAll('.route:not([hidden])').length === 10", 30)
        self.assertEqual(tab.complaints, [])


class UdpTests(PageCase):
    """A controller with a port of UDP."""

    def test_sessions_and_drops(self) -> None:
        """Sessions of UDP and datagrams that are dropped are shown while there are any, in any size, and else nothing of UDP is."""
        folder = Path(tempfile.mkdtemp(prefix="txingress-page-"))
        self.addCleanup(rmtree, folder)
        with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as silent:
            silent.bind((HOST, 0))
            where, port, empty = silent.getsockname()[1], free_udp_port(), free_udp_port()
            scene = Scene(folder, udp_objects(where, port, empty))
            scene.start()
            self.addCleanup(scene.stop)
            tab = self.open(scene.url, "desktop", "light")
            tab.until(LIVE)
            tab.until("/^[0-9]/.test(document.getElementById('clients').textContent)")
            self.assertTrue(tab.page.evaluate("document.getElementById('udp-under').hidden"))
            with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as client:
                client.sendto(b"x", (HOST, port))
                tab.until("!document.getElementById('udp-under').hidden")
                self.assertIn("UDP: 1 session", tab.text("#udp-under"))
                for _ in range(40):
                    client.sendto(b"x", (HOST, empty))
                tab.until("document.getElementById('udp-under').className.includes('warn')")
                self.assertRegex(tab.text("#udp-under"), r"[1-9]\d* dropped$")
                for size in ("desktop", "tablet", "phone"):
                    for theme in THEMES:
                        other = self.open(scene.url, size, theme)
                        other.until("!document.getElementById('udp-under').hidden")
                        self.assertEqual(other.violations(), [], f"{size}, {theme}")
                        wide, window = other.page.evaluate(
                            "[document.documentElement.scrollWidth, innerWidth]"
                        )
                        self.assertLessEqual(wide, window, f"{size}: scrolls sideways")
                        other.close()
            self.assertEqual(tab.complaints, [])


def free_udp_port() -> int:
    """Return a port of UDP that nobody has."""
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as sock:
        sock.bind((HOST, 0))
        number: int = sock.getsockname()[1]
        return number


def udp_objects(endpoint: int, port: int, empty: int) -> list[Object]:
    """Return a Gateway with two ports of UDP, of which the first leads to *endpoint*, and the other has none."""
    group = {"apiVersion": "gateway.networking.k8s.io/v1"}
    listeners = [
        {"name": name, "port": number, "protocol": "UDP"}
        for name, number in (("dns", port), ("empty", empty))
    ]
    objects: list[Object] = [
        {
            **group,
            "kind": "GatewayClass",
            "metadata": {"name": "ours"},
            "spec": {"controllerName": "txingress.dev/gateway"},
        },
        {
            **group,
            "kind": "Gateway",
            "metadata": {"name": "main", "namespace": "core"},
            "spec": {"gatewayClassName": "ours", "listeners": listeners},
        },
    ]
    for name in ("dns", "empty"):
        of_udp = service("core", name)
        of_udp["spec"]["ports"] = [{"port": 53, "protocol": "UDP"}]
        backend = {"name": name, "port": 53}
        parent = {"name": "main", "sectionName": name}
        route = {
            **group,
            "kind": "UDPRoute",
            "metadata": {"name": name, "namespace": "core"},
            "spec": {"parentRefs": [parent], "rules": [{"backendRefs": [backend]}]},
        }
        objects += [of_udp, route]
    slices = endpoints("core", "dns", endpoint)
    slices["ports"][0]["protocol"] = "UDP"
    return [*objects, slices]


class HostileTests(PageCase):
    """Tenants and clients who would like to be markup."""

    def test_text_stays_text(self) -> None:
        """Names, paths, reasons and requests that look like markup are shown as they are, and run nothing."""
        folder = Path(tempfile.mkdtemp(prefix="txingress-page-"))
        self.addCleanup(rmtree, folder)
        objects = [
            ingress("shop", "web", "hostile.example.com", f"/{HOSTILE}"),
            ingress("shop", "strange", "strange.example.com", rewrite_target=HOSTILE, no_such_thing=HOSTILE),
            *(ingress("shop", f"plain-{number}", f"h{number}.example.com") for number in range(6)),
            service("shop", "web"),
            endpoints("shop", "web", 9),
        ]
        scene = Scene(folder, objects)
        self.addCleanup(scene.stop)
        scene.start()
        tab = self.open(scene.url)
        dialogs: list[str] = []

        def asked(dialog: Any) -> None:
            dialogs.append(dialog.message)
            dialog.dismiss()

        tab.page.on("dialog", asked)
        tab.until(LIVE)
        tab.until(READ)
        clients = Clients(
            scene.http,
            [
                ("hostile.example.com", "/%3Cimg%20src=x%20onerror=alert(1)%3E", 20.0),
                ("a<b>c", "/<script>alert(2)</script>", 20.0),
            ],
        )
        self.addCleanup(clients.stop)
        tab.until("document.querySelectorAll('.failure').length > 0", 20)
        tab.page.fill("#url", f"http://hostile.example.com/{HOSTILE}")
        tab.page.keyboard.press("Enter")
        tab.until("document.querySelectorAll('#answer h3').length === 1")
        tab.page.wait_for_timeout(500)
        self.assertIn(HOSTILE, tab.text("#space"))
        self.assertEqual(
            tab.page.evaluate("document.querySelectorAll('main img, main script, main b > b').length"), 0
        )
        self.assertEqual((dialogs, tab.complaints), ([], []))


class RestartTests(PageCase):
    """What the page does while the controller is away."""

    def test_recovers(self) -> None:
        """A page says that its numbers are old when the controller ends, does not delay that, and goes on with the next one."""
        folder = Path(tempfile.mkdtemp(prefix="txingress-page-"))
        self.addCleanup(rmtree, folder)
        scene = Scene(
            folder, [ingress("shop", f"plain-{number}", f"h{number}.example.com") for number in range(8)]
        )
        self.addCleanup(scene.stop)
        scene.start()
        tab = self.open(scene.url)
        tab.until(LIVE)
        tab.until(READ)
        self.assertLess(scene.stop(), 5.0)
        tab.until("!document.getElementById('stale').hidden")
        tab.until("/Numbers are from [1-9]\\d* s ago/.test(document.getElementById('stale').textContent)")
        self.assertTrue(re.search(r"Trying (again in \d+ s|now)", tab.text("#stale")))
        # Once the page is there, the first snapshot of the next one has the number that the first one of this one had.
        scene.write("all", [ingress("shop", "fresh", "fresh.example.com")])
        tab.context.set_offline(True)
        scene.start()
        tab.context.set_offline(False)
        tab.until(LIVE, 40)
        tab.until("document.getElementById('stale').hidden")
        tab.until("document.getElementById('space').textContent.includes('fresh.example.com')", 30)
        self.assertEqual(tab.complaints, [])

    def test_requests_of_before(self) -> None:
        """What was told of requests, at their route and as failures, is not shown beside a controller that has had none of them."""
        folder = Path(tempfile.mkdtemp(prefix="txingress-page-"))
        self.addCleanup(rmtree, folder)
        scene = Scene(folder, [ingress("shop", "asked", "asked.example.com")])
        self.addCleanup(scene.stop)
        scene.start()
        tab = self.open(scene.url)
        tab.until(LIVE)
        tab.until("document.querySelector('.route:not([hidden])')")
        rate = "document.querySelector('.route:not([hidden])').children[4].textContent"
        clients = Clients(scene.http, [("asked.example.com", "/", 20.0)])
        self.addCleanup(clients.stop)
        failures = "document.getElementById('failures').hidden"
        tab.until(f"{rate} > 1 && !{failures}")
        scene.stop()
        clients.stop()
        tab.until("!document.getElementById('stale').hidden")
        scene.start()
        tab.until(LIVE, 40)
        tab.until(f"!({rate} > 0) && {failures}", 30)
        self.assertEqual(tab.complaints, [])


class ManyRoutesTests(PageCase):
    """Ten thousand routes."""

    def test_smooth(self) -> None:
        """Of 10,000 routes few are laid out, all are reached, and no task of scrolling or filtering is long."""
        folder = Path(tempfile.mkdtemp(prefix="txingress-page-"))
        self.addCleanup(rmtree, folder)
        objects = [ingress("shop", f"i{number}", f"h{number}.example.com") for number in range(MANY)]
        scene = Scene(folder, [*objects, *(service("shop", f"i{number}") for number in range(MANY))])
        self.addCleanup(scene.stop)
        scene.start()
        tab = self.open(scene.url)
        tab.until(f"document.getElementById('table').getAttribute('aria-rowcount') === '{MANY + 1}'", 90)
        tab.page.wait_for_timeout(3000)
        self.assertLess(tab.page.evaluate("document.querySelectorAll('.route').length"), 60)
        tab.page.evaluate(
            "window.tasks = []; new PerformanceObserver(list => tasks.push(...list.getEntries().map(e => e.duration))).observe({entryTypes: ['longtask']})"
        )
        box = tab.page.query_selector("#rows").bounding_box()
        tab.page.mouse.move(box["x"] + 50, box["y"] + 50)
        for _ in range(60):
            tab.page.mouse.wheel(0, 3000)
            tab.page.wait_for_timeout(30)
        tab.page.focus("#rows")
        tab.page.keyboard.press("End")
        tab.until(
            f"[...document.querySelectorAll('.route')].some(row => row.getAttribute('aria-rowindex') === '{MANY + 1}')"
        )
        tab.page.fill("#filter", "h9999.")
        tab.until("document.getElementById('table').getAttribute('aria-rowcount') === '2'")
        tab.page.fill("#filter", "")
        tab.until(f"document.getElementById('table').getAttribute('aria-rowcount') === '{MANY + 1}'")
        tab.page.wait_for_timeout(4000)
        longest = max(tab.page.evaluate("window.tasks"), default=0.0)
        sys.stdout.write(f"\nlongest task of the page with {MANY} routes: {longest:.0f} ms\n")
        self.assertLess(longest, LONGEST_TASK_MS)
        self.assertEqual(tab.complaints, [])
