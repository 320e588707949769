#!/usr/bin/env python3
"""Opens the pages that the program writes of a small cohort: describe, audit, release and evaluate."""

import json
import unittest

from selenium.webdriver.common.by import By

from reader import NAMELESS, OUT, Reader

from examples import run_program

PAGES = ("described", "audited", "released", "evaluated")
HOSTILE = '</script><b>"bold"</b>'
# The words that a page must have: titles of codes, and what each page is for.
WORDS = {
    "described": ("Diabetes mellitus", "What is odd"),
    "audited": ("Diabetes mellitus", "insulin-needs-diabetes"),
    "released": ("copies of a patient", "Signature"),
    "evaluated": ("Diabetes mellitus", "1.96 standard errors"),
}

# Lists words of captions and drawings that are shown smaller than so many pixels. A drawing that is made
# smaller makes its words smaller too.
SMALL_TEXT = """
const small = [];
for (const element of document.querySelectorAll("caption, figcaption, figure p, svg text")) {
  const words = element.textContent.trim();
  if (words === "" || element.getClientRects().length === 0) continue;
  const drawing = element.closest("svg");
  const drawn = drawing?.viewBox.baseVal.width;
  const scale = drawn ? drawing.getBoundingClientRect().width / drawn : 1;
  const size = scale * parseFloat(getComputedStyle(element).fontSize);
  if (size < arguments[0]) small.push(words.slice(0, 40) + ": " + size.toFixed(1));
}
return small;
"""


def records(count, first):
    """Records in which insulin mostly comes with diabetes, with dates, ages and the values of a test."""
    for number in range(first, first + count):
        codes = ["ICD9CM//250"] if number % 5 == 0 else ["ICD9CM//401"]
        codes += ["RX//insulin"] if number % 10 == 0 or number % 97 == 0 else []
        codes += [HOSTILE] if number % 7 == 0 else []
        part = f"LAB//a1c//q{number % 4 + 1}"
        yield {
            "id": f"patient-{number}",
            "static": ["SEX//F" if number % 2 else "SEX//M", f"AGE//{20 * (number % 4)}-{20 * (number % 4) + 20}"],
            "visits": [codes + [part], codes, ["DEATH"] if number % 11 == 0 else []],
            "birth": f"{1930 + number % 60}-05-31",
            "times": [f"2001-0{number % 9 + 1}-03", f"2002-03-{number % 20 + 10}", "2004-02-29"],
            "ends": [f"2001-0{number % 9 + 1}-0{number % 5 + 3}", None, None],
            "values": [{part: 4 + number % 40 / 10}, {}, {}],
        }


def write_pages():
    """Has the program write every page."""
    for name, first in (("real", 0), ("synthetic", 100_000)):
        lines = (json.dumps(record) + "\n" for record in records(1200, first))
        (OUT / f"{name}.jsonl").write_text("".join(lines))
    (OUT / "titles.csv").write_text(f'code,title\nICD9CM//250,Diabetes mellitus\nRX//insulin,"{HOSTILE}"\n')
    (OUT / "needs.rules").write_text("rule insulin-needs-diabetes: RX//insulin => ICD9CM//250\n")
    titles = ("--titles", "titles.csv", "--force")
    run_program(OUT, "describe", "real.jsonl", "--html", "described.html", *titles)
    audit = ("audit", "real.jsonl", "--rules", "needs.rules", "--html", "audited.html")
    run_program(OUT, *audit, *titles, exits=1)
    for name in ("real", "synthetic"):
        imported = ("import", "jsonl", f"{name}.jsonl", "--out", name, *titles)
        run_program(OUT, *imported)
    rules = ("--rules", "needs.rules", "--force")
    run_program(OUT, "release", "synthetic", "--real", "real", "--html", "released.html", *rules, exits=1)
    evaluate = ("evaluate", "--synthetic", "synthetic", "--real", "real", "--out", "evaluation")
    run_program(OUT, *evaluate, *rules, exits=1)
    (OUT / "evaluated.html").write_bytes((OUT / "evaluation" / "report.html").read_bytes())


class WrittenPages(Reader):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        write_pages()

    def test_pages_say_what_they_are_for(self):
        for page in PAGES:
            self.open(page)
            said = self.find("body").get_property("textContent")
            for words in WORDS[page]:
                self.assertIn(words, said, page)
            self.assertTrue(self.browser.title.strip(), page)
            self.assertEqual(len(self.find_all("h1")), 1, page)

    def test_no_two_drawings_have_one_title(self):
        for page in PAGES:
            self.open(page)
            titles = self.ask(
                "return [...document.querySelectorAll('figure')].map((figure) =>"
                " figure.querySelector('h3, figcaption')?.textContent ?? '')"
            )
            self.assertNotIn("", titles, page)
            self.assertEqual(sorted(titles), sorted(set(titles)), page)

    def test_bars_begin_at_zero(self):
        for page in PAGES:
            self.open(page)
            for drawing in self.find_all("svg.bars"):
                ticks = [each.text for each in drawing.find_elements(By.CSS_SELECTOR, ".tick")]
                self.assertIn("0", [tick.rstrip("%") for tick in ticks], (page, ticks))

    def test_captions_can_be_read_on_a_telephone(self):
        self.screen(400)
        for page in PAGES:
            self.open(page)
            self.assertEqual(self.ask(SMALL_TEXT, 9), [], page)
            # A table may have to be scrolled; what it is about must not.
            cut = self.ask(
                "return [...document.querySelectorAll('caption span, figcaption, .note')]"
                ".filter((each) => each.getBoundingClientRect().right > 400.5)"
                ".map((each) => each.textContent.slice(0, 40))"
            )
            self.assertEqual(cut, [], page)

    def test_names_stay_text(self):
        for page in PAGES:
            self.open(page)
            self.assertEqual(self.find_all("img, iframe, object, embed, link, base"), [], page)
            bold = "return [...document.querySelectorAll('b')].filter((each) => each.textContent === 'bold').length"
            self.assertEqual(self.ask(bold), 0, page)

    def test_text_can_be_read_on_its_ground(self):
        self.assert_text_can_be_read(PAGES)

    def test_nothing_sticks_out(self):
        self.assert_nothing_sticks_out(PAGES, (400, 700, 1200))

    def test_everything_has_a_name(self):
        self.assert_named(PAGES, NAMELESS)

    def test_paper(self):
        self.media("dark", "print")
        for page in PAGES:
            self.open(page)
            self.assert_dark_ink()
            self.print_page(page, printBackground=False)

    def test_pictures(self):
        for page in PAGES:
            self.assertLess((OUT / f"{page}.html").stat().st_size, 3_000_000)
            for width in (1200, 400):
                for scheme in ("light", "dark"):
                    self.screen(width)
                    self.media(scheme)
                    self.open(page)
                    self.picture(f"{page}-{scheme}-{width}")


if __name__ == "__main__":
    unittest.main()
