#!/usr/bin/env python3
"""Opens sample reports in a browser, as a reviewer would, and looks for what must not happen."""

import json
import unittest

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from reader import NAMELESS, OUT, Reader

PAGES = ("compare", "evaluate", "empty")
HOSTILE = "<script>alert(1)</script>"


class Pages(Reader):
    def tip(self):
        """What the hint says; None where it is hidden."""
        element = self.find("#tip")
        return element.get_property("innerText") if element.is_displayed() else None

    def rows(self, column):
        return self.ask(
            "return [...document.querySelectorAll(arguments[0])].map((cell) => cell.innerText.trim())",
            f".rule-table tbody tr > :nth-child({column})",
        )

    def rules(self):
        report = json.loads((OUT / "compare.json").read_text())
        blocks = [block for section in report["sections"] for block in section["blocks"]]
        return next(block["rules"]["rules"] for block in blocks if "rules" in block)

    # What must hold.

    def test_pages_are_light_enough_and_have_their_pictures_taken(self):
        for page in PAGES:
            self.assertLess((OUT / f"{page}.html").stat().st_size, 3_000_000)
            for scheme in ("light", "dark"):
                self.media(scheme)
                self.open(page)
                self.picture(f"{page}-{scheme}")

    def test_a_pointer_over_a_dot_names_the_code(self):
        for page in ("compare", "evaluate"):
            self.open(page)
            self.find("[data-scatter-search]").send_keys(HOSTILE)
            self.assertIn(HOSTILE, self.find("figure output").text)
            drawing = self.find("svg.scatter")
            ring = drawing.find_element(By.CSS_SELECTOR, ".ring")
            self.assertEqual(ring.get_attribute("visibility"), "visible")
            self.scroll_to(drawing)
            self.point_at(ring)
            self.assertRegex(self.tip(), r"^<script>alert\(1\)</script>\s+real: 35%\s+synthetic: .+%$")
            self.assertEqual(self.ask("return document.querySelectorAll('#tip script').length"), 0)
            self.point_at(self.find("figure h3"))
            self.assertIsNone(self.tip())

    def test_a_name_that_is_not_there_is_said_to_be_missing(self):
        self.open("evaluate")
        self.find("[data-scatter-search]").send_keys("no such code")
        self.assertEqual(self.find("figure output").text, "no code with this name")

    def test_arrow_keys_step_through_marks(self):
        self.open("compare")
        for kind in ("scatter", "bars", "lines"):
            drawing = self.find(f"svg.{kind}")
            self.ask("arguments[0].focus()", drawing)
            drawing.send_keys(Keys.ARROW_RIGHT)
            first = self.tip()
            drawing.send_keys(Keys.ARROW_RIGHT)
            second = self.tip()
            drawing.send_keys(Keys.ARROW_LEFT)
            self.assertTrue(first and second and first != second, kind)
            self.assertEqual(self.tip(), first, kind)
            drawing.send_keys(Keys.ESCAPE)
            self.assertIsNone(self.tip(), kind)

    def test_chips_tell_which_rule_acted(self):
        self.open("compare")
        rule = "SEX//F in static => not ICD9CM//185 kept this code out"
        chip = self.find("li.chip.kept-out")
        self.scroll_to(chip)
        self.ask("arguments[0].focus()", chip)
        self.assertIn(rule, self.tip())
        self.ask("arguments[0].blur()", chip)
        self.assertIsNone(self.tip())
        finger = {"pointerType": "touch", "bubbles": True, "clientX": 40, "clientY": 400}
        touch = "arguments[0].dispatchEvent(new PointerEvent('pointerdown', arguments[1]))"
        self.ask(touch, chip, finger)
        self.assertIn(rule, self.tip())

    def test_search_filters_rules(self):
        self.open("compare")
        search = self.find(".rules input")
        self.assertEqual(self.find(".rules output").text, "1,500 rules")
        search.send_keys("LIFELONG 14")
        names = [rule["name"] for rule in self.rules() if "14" in rule["name"] + rule["text"]]
        names = [name for name in names if "lifelong" in name]
        self.assertEqual(self.find(".rules output").text, f"{len(names)} of 1,500 rules")
        self.assertEqual(self.rows(1), names)
        search.send_keys(" nothing")
        self.assertEqual(self.rows(1), [])
        self.assertEqual(self.find(".rules .more").text, "No rule matches.")
        search.clear()
        search.send_keys(HOSTILE)
        self.assertEqual(self.rows(1), [HOSTILE])

    def test_heads_sort_rules(self):
        self.open("compare")
        head = self.find("[data-sort=beside]")
        head.click()
        counts = [float(text) for text in self.rows(7)]
        self.assertEqual(counts, sorted(counts, reverse=True))
        self.assertGreater(counts[0], 0)
        sort = "return arguments[0].closest('th').ariaSort"
        self.assertEqual(self.ask(sort, head), "descending")
        self.find("[data-sort=strength]").click()
        self.assertEqual(self.ask(sort, head), "none")
        self.assertEqual(set(self.rows(3)), {"hard"})
        self.find("[data-sort=strength]").click()
        self.assertEqual(set(self.rows(3)), {"soft"})

    def test_another_method_can_stand_beside_ours(self):
        self.open("compare")
        before = self.rows(7)
        Select(self.find(".rules select")).select_by_visible_text("CCN")
        self.assertEqual(self.find("[data-sort=beside]").text, "CCN")
        self.assertNotEqual(self.rows(7), before)

    def test_more_rules_come_on_demand(self):
        self.open("compare")
        few = len(self.rows(1))
        self.find(".more button").click()
        self.assertGreater(len(self.rows(1)), few)

    def test_names_stay_text(self):
        for page in PAGES:
            self.open(page)
            self.assertEqual(self.find_all("img, iframe, object, embed, link, base"), [])
            ours = "script:not([type='application/json'])"
            self.assertEqual(len(self.find_all(ours)), 1)
            handlers = self.ask(
                "return [...document.querySelectorAll('*')].flatMap((element) =>"
                " [...element.attributes].map((each) => each.name).filter((name) => /^on/.test(name)))"
            )
            self.assertEqual(handlers, [])
            self.assertNotEqual(self.browser.title, "broken")
        self.open("evaluate")
        self.assertIn(HOSTILE, self.find("h1").text)
        self.assertIn(HOSTILE, self.browser.title)

    def test_the_policy_stops_what_would_slip_through(self):
        self.errors_expected = True
        self.open("compare")
        self.ask(
            "const script = document.createElement('script');"
            "script.textContent = 'window.slipped = true'; document.body.append(script);"
            "const image = document.createElement('img'); image.src = 'x';"
            "image.setAttribute('onerror', 'window.slipped = true'); document.body.append(image);"
        )
        self.assertFalse(self.ask("return Boolean(window.slipped)"))
        refused = [entry["message"] for entry in self.browser.get_log("browser")]
        self.assertTrue(any("Content Security Policy" in message for message in refused))

    def test_the_theme_follows_the_system_until_told_otherwise(self):
        ground = "return getComputedStyle(document.body).backgroundColor"
        self.open("evaluate")
        light = self.ask(ground)
        self.find("#theme").click()
        dark = self.ask(ground)
        self.assertNotEqual(light, dark)
        self.assertEqual(self.find("#theme").text, "Light")
        self.find("#theme").click()
        self.assertEqual(self.ask(ground), light)
        self.media("dark")
        self.open("evaluate")
        self.assertEqual(self.ask(ground), dark)
        self.assertEqual(self.find("#theme").text, "Light")

    def test_text_can_be_read_on_its_ground(self):
        self.assert_text_can_be_read(PAGES)

    def test_nothing_sticks_out(self):
        self.assert_nothing_sticks_out(PAGES, (400, 700, 1000, 1600))
        self.screen(400)
        for page in PAGES:
            self.open(page)
            self.picture(f"{page}-narrow")

    def test_everything_has_a_name(self):
        self.assert_named(PAGES, NAMELESS)

    def test_paper(self):
        self.media("dark", "print")
        for page in PAGES:
            self.open(page)
            self.assert_dark_ink()
            for control in self.find_all("button, input, select, nav, #tip"):
                inside_table = control.find_elements(By.XPATH, "ancestor::th")
                self.assertTrue(inside_table or not control.is_displayed())
            self.print_page(page, printBackground=False)
            # As wide as the sheet.
            self.screen(760)
            self.picture(f"{page}-print")
        self.open("compare")
        self.assertTrue(self.find(".on-paper").is_displayed())
        self.command("Page.printToPDF")
        self.assertEqual(len(self.find_all(".rule-table tbody tr")), 500)


if __name__ == "__main__":
    unittest.main()
