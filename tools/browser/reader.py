"""What a reader does with a page, and what no page may do meanwhile.

Needs `selenium` in this Python, and `chromium` with `chromedriver`; `make browser-test` sees to them. The
pages come from the example `sample_report` of `crates/report`. Screenshots go to `target/browser`.
"""

import base64
import json
import os
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

from selenium import webdriver
from selenium.common.exceptions import NoAlertPresentException, SessionNotCreatedException, TimeoutException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

from contrast import FAINT_TEXT

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from examples import run_example  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent.parent
OUT = ROOT / "target" / "browser"
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    # Where tests run, shared memory may be a few megabytes.
    "--disable-dev-shm-usage",
)
# A browser that shares its machine with a compiler may not be up in time; then it is started once more.
STARTS = 3

# Parts of a report that have no name.
NAMELESS = ("svg[role=img]:not([aria-label])", "table:not(:has(caption))", "th:not([scope])")


def start_browser():
    """A browser, and the folder with its profile."""
    for left in reversed(range(STARTS)):
        profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        try:
            return start_with(profile.name), profile
        except (SessionNotCreatedException, TimeoutException, TimeoutError):
            profile.cleanup()
            if left == 0:
                raise


def start_with(profile):
    # The driver is at hand: selenium must not look for another one on the network.
    os.environ["SE_OFFLINE"] = "true"
    os.environ["SE_AVOID_STATS"] = "true"
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))


class Reader(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        OUT.mkdir(parents=True, exist_ok=True)
        run_example("sample_report", OUT)
        cls.browser, cls.profile = start_browser()
        # What the browser's own first page asks for is none of ours.
        cls.browser.get("about:blank")
        cls.browser.get_log("performance")

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()
        cls.profile.cleanup()

    def setUp(self):
        self.errors_expected = False
        # Nobody looks at a window without a screen, and unseen windows have no focus.
        self.command("Emulation.setFocusEmulationEnabled", enabled=True)
        self.screen(1280)
        self.media()

    def tearDown(self):
        with self.assertRaises(NoAlertPresentException):
            self.browser.switch_to.alert.dismiss()
        complaints = [entry["message"] for entry in self.browser.get_log("browser")]
        if not self.errors_expected:
            self.assertEqual(complaints, [])
        for entry in self.browser.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                self.assertRegex(message["params"]["request"]["url"], "^(file|data|blob):")

    def command(self, name, **values):
        return self.browser.execute_cdp_cmd(name, values)

    def screen(self, width, height=900):
        self.command(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def media(self, scheme="light", medium=""):
        # A page that scrolls slowly moves away under the pointer.
        still = {"name": "prefers-reduced-motion", "value": "reduce"}
        features = [{"name": "prefers-color-scheme", "value": scheme}, still]
        self.command("Emulation.setEmulatedMedia", media=medium, features=features)

    def open(self, page):
        # A page that is open already could be read before it is loaded anew.
        self.browser.get("about:blank")
        self.browser.get((OUT / f"{page}.html").as_uri())

    def open_anew(self, page):
        """Opens a page as one that was never open before."""
        self.open(page)

    def find(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def find_all(self, selector):
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def ask(self, script, *values):
        return self.browser.execute_script(script, *values)

    def scroll_to(self, element):
        """Scrolls there, and waits until the page has noticed."""
        self.browser.execute_async_script(
            "arguments[0].scrollIntoView({ block: 'center' });"
            "requestAnimationFrame(() => requestAnimationFrame(arguments[1]))",
            element,
        )

    def point_at(self, element):
        x, y = self.ask(
            "const box = arguments[0].getBoundingClientRect();"
            "return [box.left + box.width / 2, box.top + box.height / 2]",
            element,
        )
        self.command("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    # What must hold of any page.

    def assert_text_can_be_read(self, pages):
        for scheme in ("light", "dark"):
            self.media(scheme)
            for page in pages:
                self.open_anew(page)
                self.assertEqual(self.ask(FAINT_TEXT, 4.5), [], (page, scheme))

    def assert_nothing_sticks_out(self, pages, widths):
        for width in widths:
            self.screen(width)
            for page in pages:
                self.open_anew(page)
                wide = self.ask("return document.documentElement.scrollWidth")
                self.assertLessEqual(wide, width, page)

    def assert_named(self, pages, selectors):
        """That nothing of these kinds lacks a name, and that every link in the list of parts leads to one."""
        for page in pages:
            self.open(page)
            for selector in (
                "section:not([aria-labelledby])",
                "input:not(label input)",
                "select:not(label select)",
                *selectors,
            ):
                self.assertEqual(self.find_all(selector), [], (page, selector))
            links = self.ask(
                "return [...document.querySelectorAll('nav a')].filter((link) =>"
                " !document.getElementById(decodeURIComponent(link.hash.slice(1)))).length"
            )
            self.assertEqual(links, 0, page)

    def assert_dark_ink(self):
        ink = self.ask("return getComputedStyle(document.querySelector('h1')).color")
        self.assertLess(sum(map(int, ink[4:-1].split(","))), 200, "ink must be dark on paper")

    def print_page(self, page, **values):
        """Prints the page that is open."""
        paper = base64.b64decode(self.command("Page.printToPDF", **values)["data"])
        self.assertEqual(paper[:5], b"%PDF-")
        (OUT / f"{page}.pdf").write_bytes(paper)

    def picture(self, name, tallest=16000):
        self.ask("window.scrollTo(0, 0)")
        width, height = self.ask(
            "const root = document.documentElement; return [root.clientWidth, root.scrollHeight]"
        )
        clip = {"x": 0, "y": 0, "width": width, "height": min(height, tallest), "scale": 1}
        shot = self.command("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        (OUT / f"{name}.png").write_bytes(base64.b64decode(shot["data"]))
