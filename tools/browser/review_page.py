#!/usr/bin/env python3
"""Chooses from rules in a browser, as an expert would, and looks at what is saved.

One page is that of the example, with thousands of invented rules; another one is written by the program
itself, whose `check` then reads what was saved.
"""

import json
import re
import tempfile
import time
import unittest
from pathlib import Path

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

from reader import OUT, Reader

from examples import run_program

PAGES = ("choices", "mined", "no-choices")
HOSTILE = '</script><b>"bold"</b>\'\nrule slipped: SEX//F'
UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]+")


def records(count):
    """Records in which insulin never comes without diabetes, and diabetes stays."""
    for number in range(count):
        codes = ["ICD9CM//250.00"] if number % 5 == 0 else []
        codes += ["RX//insulin"] if number % 10 == 0 else []
        sex = "SEX//F" if number % 2 else "SEX//M"
        yield json.dumps({"id": number, "static": [sex], "visits": [codes, codes]}) + "\n"


def mine():
    """Has the program write a page, for a cohort with a title that would be markup."""
    (OUT / "cohort.jsonl").write_text("".join(records(3000)))
    title = HOSTILE.replace('"', '""')
    (OUT / "codes.csv").write_text(f'dgns_cd,longdesc\n25000,"{title}"\n')
    mine = "mine cohort.jsonl --out mined.rules --review mined.html --titles codes.csv --force"
    run_program(OUT, *mine.split())


def one_line(text):
    return UNSEEN.sub(" ", text).strip()


def saved_text(review, chosen, notes):
    """The file for a review, if the rules of these names are chosen."""
    groups = []
    for each in review["classes"]:
        headings = list(dict.fromkeys(rule["heading"] for rule in each["rules"]))
        for heading in headings:
            rules = [rule for rule in each["rules"] if rule["heading"] == heading]
            groups.append((f"{each['name']}: {heading}", rules))
    every = [rule for _, rules in groups for rule in rules]
    lines = [f"# {len(chosen):,} of {len(every):,} rules chosen in a review."]
    for title, rules in groups:
        rules = [rule for rule in rules if rule["name"] in chosen]
        if rules:
            lines += ["", "", f"# ---- {title} ----"]
        for rule in rules:
            comments = [rule["sentence"], rule["evidence"]]
            if rule["name"] in notes:
                comments.append("note: " + notes[rule["name"]])
            lines += ["", *("# " + one_line(comment) for comment in comments), rule["statement"]]
    return review["opening"] + "\n" + "\n".join(lines) + "\n"


class ReviewPage(Reader):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        mine()

    def setUp(self):
        super().setUp()
        self.folder = tempfile.TemporaryDirectory()
        self.command("Browser.setDownloadBehavior", behavior="allow", downloadPath=self.folder.name)

    def tearDown(self):
        self.folder.cleanup()
        super().tearDown()

    # What an expert does.

    def open_anew(self, page):
        """Opens a page as one that was never open before."""
        self.open(page)
        self.ask("localStorage.clear()")
        self.open(page)

    def review(self):
        return json.loads((OUT / "choices.json").read_text())

    def search(self, words):
        field = self.find("input[type=search]")
        field.clear()
        field.send_keys(words)

    def filter(self, name, choice):
        Select(self.find(f"[data-filter={name}]")).select_by_visible_text(choice)

    def shown(self):
        """The statements of the rules that are shown."""
        return self.ask(
            "return [...document.querySelectorAll('.choices > li:not([hidden]) .code')]"
            ".filter((element) => !element.closest('[hidden]')).map((element) => element.textContent)"
        )

    def row(self, name):
        start = f"rule {name}:"
        xpath = f"//ul[@class='choices']/li[p[@class='code'][starts-with(., '{start}')]]"
        return self.browser.find_element(By.XPATH, xpath)

    def box(self, name):
        return self.row(name).find_element(By.CSS_SELECTOR, "input[type=checkbox]")

    def note(self, name, text):
        field = self.row(name).find_element(By.CSS_SELECTOR, ".remark input")
        self.scroll_to(field)
        field.send_keys(text)

    def untick(self, name):
        self.scroll_to(self.box(name))
        self.box(name).click()

    def chosen(self):
        return self.find("[data-chosen]").text

    def save(self):
        """Presses the button, and gives the text that comes of it."""
        path = Path(self.folder.name) / "reviewed.rules"
        self.find("[data-save]").click()
        WebDriverWait(self.browser, 20).until(lambda _: path.exists() and path.stat().st_size > 0)
        return path.read_text(encoding="utf-8")

    # What must hold.

    def test_what_is_chosen_is_saved_letter_by_letter(self):
        review = self.review()
        self.open_anew("choices")
        self.assertEqual(self.chosen(), "2,401 of 3,001 rules chosen")
        self.untick("rule-0")
        self.untick("rule-1800")
        self.untick("rule-2999")
        self.note("rule-4", "only in adults")
        self.note("hostile", "one\\ntwo\u2028rule slipped: A")
        # A line break cannot be typed, but a program could put one there.
        field = self.row("rule-7").find_element(By.CSS_SELECTOR, ".remark input")
        self.ask(
            "arguments[0].type = 'hidden'; arguments[0].value = 'so\\nrule slipped: A';"
            "arguments[0].dispatchEvent(new Event('input'))",
            field,
        )
        self.assertEqual(self.chosen(), "2,400 of 3,001 rules chosen")
        chosen = {rule["name"] for each in review["classes"] for rule in each["rules"] if rule["ticked"]}
        chosen = chosen - {"rule-0", "rule-1800"} | {"rule-2999"}
        notes = {
            "rule-4": "only in adults",
            "hostile": "one\\ntwo rule slipped: A",
            "rule-7": "so rule slipped: A",
        }
        text = self.save()
        self.assertEqual(text, saved_text(review, chosen, notes))
        self.assertEqual(self.find("[data-told]").text, "2,400 rules saved as reviewed.rules.")
        self.assertNotRegex(text, "(?m)^rule slipped")

    def test_the_program_reads_what_is_saved(self):
        self.open_anew("mined")
        before = [line for line in self.shown() if "never-for" not in line]
        self.assertGreater(len(before), 2)
        left = next(line for line in before if "-stays:" in line)
        self.untick(left.split()[1].rstrip(":"))
        kept = next(line for line in before if line != left)
        self.note(kept.split()[1].rstrip(":"), "as the guideline says")
        text = self.save()
        self.assertNotIn(left, text)
        self.assertIn("\n# note: as the guideline says\n" + kept + "\n", text)
        Path(OUT / "reviewed.rules").write_text(text, encoding="utf-8")
        rules = [line for line in text.splitlines() if line.startswith("rule ")]
        said = run_program(OUT, "check", "reviewed.rules", "--cohort", "cohort.jsonl")
        self.assertRegex(said, rf"\b{len(rules)} (hard )?rules")
        self.assertIn("proved: no input can end in a violation", said)

    def test_a_title_stays_text(self):
        self.open_anew("mined")
        sentences = self.ask("return [...document.querySelectorAll('.tick span')].map((each) => each.textContent)")
        self.assertTrue(any('</script><b>"bold"</b>\'' in sentence for sentence in sentences), sentences)
        for page in PAGES:
            self.open(page)
            self.assertEqual(self.find_all("img, iframe, object, embed, link, base, main b"), [])
            self.assertEqual(len(self.find_all("script:not([type='application/json'])")), 1)
            self.assertNotEqual(self.browser.title, "broken")
        self.open("choices")
        self.assertIn("\ufffdreversed", self.row("hostile").text)
        self.assertNotIn("\u202e", self.row("hostile").get_property("textContent"))

    def test_search_and_filters(self):
        self.open_anew("choices")
        every = self.shown()
        self.assertEqual(len(every), 3001)
        self.search("SPINA rule-10")
        self.assertTrue(self.shown())
        self.assertTrue(all("rule-10" in line for line in self.shown()))
        self.assertEqual(self.find("[data-shown]").text, f"{len(self.shown())} of 3,001 shown")
        self.search("no such words")
        self.assertEqual(self.shown(), [])
        self.assertTrue(self.find("[data-none]").is_displayed())
        self.search("")
        self.ask("document.querySelector('input[type=search]').dispatchEvent(new Event('input'))")
        self.filter("class", "doubted")
        self.assertEqual(len(self.shown()), 600)
        self.filter("heading", "Codes that stay once they are there")
        self.assertEqual(len(self.shown()), 200)
        self.assertTrue(all("in previous" in line for line in self.shown()))
        self.filter("class", "all")
        self.filter("heading", "all")
        self.filter("state", "not chosen")
        self.assertEqual(len(self.shown()), 600)

    def test_thousands_of_rules_answer_at_once(self):
        began = time.monotonic()
        self.open_anew("choices")
        self.assertLess(time.monotonic() - began, 10)
        spent = self.ask(
            "const began = performance.now();"
            "const field = document.querySelector('input[type=search]'); field.value = 'diabetes';"
            "field.dispatchEvent(new Event('input')); document.body.offsetHeight;"
            "return performance.now() - began"
        )
        self.assertLess(spent, 1000)

    def test_ticking_what_is_shown(self):
        self.open_anew("choices")
        self.filter("class", "doubted")
        self.find("[data-tick=all]").click()
        self.assertEqual(self.chosen(), "3,001 of 3,001 rules chosen")
        self.find("[data-tick=none]").click()
        self.assertEqual(self.chosen(), "2,401 of 3,001 rules chosen")
        self.filter("class", "all")
        self.find("[data-tick=none]").click()
        self.assertEqual(self.chosen(), "0 of 3,001 rules chosen")
        self.assertFalse(self.find("[data-save]").is_enabled())
        self.find("[data-tick=suggested]").click()
        self.assertEqual(self.chosen(), "2,401 of 3,001 rules chosen")

    def test_choices_are_still_there_after_a_reload(self):
        self.open_anew("choices")
        self.untick("rule-3")
        self.note("rule-3", "a habit of this place")
        self.open("choices")
        self.assertFalse(self.box("rule-3").is_selected())
        self.assertEqual(self.chosen(), "2,400 of 3,001 rules chosen")
        field = self.row("rule-3").find_element(By.CSS_SELECTOR, ".remark input")
        self.assertEqual(field.get_property("value"), "a habit of this place")
        # Other rules are another choice, though one of theirs has the same number.
        self.open("mined")
        self.assertTrue(all(box.is_selected() for box in self.find_all(".tick input")[:4]))

    def test_a_browser_without_memory_will_do(self):
        self.open_anew("choices")
        refuse = "Storage.prototype.setItem = () => { throw new Error('full') }"
        self.ask(refuse)
        self.untick("rule-0")
        self.assertEqual(self.chosen(), "2,400 of 3,001 rules chosen")
        self.assertIn("save before you leave", self.find("[data-told]").text)
        # What was kept by something else is not a choice.
        key = self.ask("return 'consequence-review ' + JSON.parse(document.getElementById('review-data').textContent).key")
        for kept in ("{", "null", "3", '{"ticked": {"0": "no"}, "notes": {"0": 7}}'):
            self.open("choices")
            self.ask("localStorage.setItem(arguments[0], arguments[1])", key, kept)
            self.open("choices")
            self.assertEqual(self.chosen(), "2,401 of 3,001 rules chosen")

    def test_keys_go_from_rule_to_rule(self):
        self.open_anew("choices")
        self.search("rule-1")
        first = self.find(".choices > li:not([hidden]) input[type=checkbox]")
        self.ask("arguments[0].focus()", first)
        first.send_keys(Keys.ARROW_DOWN)
        second = self.browser.switch_to.active_element
        self.assertNotEqual(first, second)
        self.assertTrue(second.is_displayed())
        second.send_keys(Keys.SPACE)
        self.assertFalse(second.is_selected())
        second.send_keys(Keys.ARROW_UP)
        self.assertEqual(self.browser.switch_to.active_element, first)

    def test_text_can_be_read_on_its_ground(self):
        self.assert_text_can_be_read(PAGES)

    def test_nothing_sticks_out(self):
        self.assert_nothing_sticks_out(PAGES, (360, 700, 1000, 1600))

    def test_pictures(self):
        for page in PAGES:
            self.assertLess((OUT / f"{page}.html").stat().st_size, 3_000_000)
            for name, scheme, width in (("light", "light", 1280), ("dark", "dark", 1280), ("narrow", "light", 400)):
                # As tall as the picture: what is out of sight is not drawn.
                self.screen(width, 2600)
                self.media(scheme)
                self.open_anew(page)
                self.scroll_to(self.find("h1"))
                self.picture(f"{page}-{name}", tallest=2600)

    def test_everything_has_a_name(self):
        self.assert_named(PAGES, ())

    def test_paper(self):
        self.media("dark", "print")
        self.open_anew("mined")
        # Boxes cannot be pressed on paper.
        self.ask("document.querySelector('.tick input').click()")
        self.assert_dark_ink()
        for control in self.find_all("button, input, select, nav"):
            self.assertFalse(control.is_displayed())
        marks = self.ask(
            "return [...document.querySelectorAll('.tick')].map((tick) => getComputedStyle(tick, '::before').content)"
        )
        self.assertEqual(marks[0], '"☐ "')
        self.assertEqual(marks[1], '"☑ "')
        self.assertTrue(self.find("[data-chosen]").is_displayed())
        self.print_page("mined", printBackground=False)
        self.screen(760)
        self.picture("mined-print", tallest=2600)


if __name__ == "__main__":
    unittest.main()
