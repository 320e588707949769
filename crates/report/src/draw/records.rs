//! Example records as timelines.

use super::markup::Markup;
use super::plot::{close_figure, open_figure};
use crate::tree::{Act, Chip, ExampleRecord, ExampleVisit, Records};

pub(crate) fn records(markup: &mut Markup, records: &Records) {
    open_figure(markup, &records.title, &records.note, "records");
    let acts = || records.records.iter().flat_map(|record| &record.visits).flat_map(|v| &v.chips);
    markup.raw("<ul class=\"chips legend\" aria-label=\"marks\">");
    for (act, meaning) in [
        (Act::Forced, "a rule put it in"),
        (Act::KeptOut, "a rule kept it out"),
        (Act::Breaks, "breaks a rule"),
        (Act::Lacking, "missing, and a rule asks for it"),
    ] {
        if acts().any(|chip| chip.act == act) {
            markup.raw("<li><span class=\"chip ").raw(class(act)).raw("\">").raw(sign(act));
            markup.raw("code</span> ").raw(meaning).raw("</li>");
        }
    }
    markup.raw("</ul>\n<div class=\"record-list\">\n");
    for record in &records.records {
        draw_record(markup, record);
    }
    markup.raw("</div>\n");
    if records.records.is_empty() {
        markup.raw("<p class=\"missing\">There are no records to show.</p>\n");
    }
    close_figure(markup);
}

fn draw_record(markup: &mut Markup, record: &ExampleRecord) {
    markup.raw("<article class=\"record\"><h4>").text(&record.title);
    if !record.source.is_empty() {
        markup.raw(" <span>").text(&record.source).raw("</span>");
    }
    markup.raw("</h4>\n<ol class=\"timeline\">\n");
    for visit in &record.visits {
        markup.raw("<li><span class=\"visit\">").text(&visit.title).raw("</span>");
        markup.raw("<ul class=\"chips\">");
        for chip in &visit.chips {
            draw_chip(markup, chip);
        }
        if visit.chips.is_empty() {
            markup.raw("<li class=\"missing\">no codes</li>");
        }
        markup.raw("</ul></li>\n");
    }
    markup.raw("</ol>\n");
    on_paper(markup, &record.visits);
    markup.raw("</article>\n");
}

fn draw_chip(markup: &mut Markup, chip: &Chip) {
    let mut tip = chip.code.clone();
    if !chip.meaning.is_empty() {
        tip.push_str(&format!("\n{}", chip.meaning));
    }
    let what = deed(chip);
    if !what.is_empty() {
        tip.push_str(&format!("\n{what}"));
    }
    markup.raw("<li class=\"chip ").raw(class(chip.act)).raw("\"");
    if tip != chip.code {
        markup.raw(" tabindex=\"0\"").attribute("data-tip", &tip);
    }
    markup.raw(">").raw(sign(chip.act)).text(&chip.code);
    if !what.is_empty() {
        markup.raw("<span class=\"unseen\">: ").text(&what).raw("</span>");
    }
    markup.raw("</li>");
}

/// There is no pointer on paper, so what rules did is written out.
fn on_paper(markup: &mut Markup, visits: &[ExampleVisit]) {
    let deeds =
        || visits.iter().flat_map(|visit| visit.chips.iter().map(move |chip| (visit, chip)));
    if deeds().all(|(_, chip)| chip.act == Act::Free) {
        return;
    }
    markup.raw("<ul class=\"on-paper\">");
    for (visit, chip) in deeds().filter(|(_, chip)| chip.act != Act::Free) {
        markup.raw("<li>").text(&visit.title).raw(", ").text(&chip.code).raw(": ");
        markup.text(&deed(chip)).raw("</li>");
    }
    markup.raw("</ul>\n");
}

/// What a rule did, in words.
fn deed(chip: &Chip) -> String {
    let rule = if chip.rule.is_empty() { "a rule" } else { &chip.rule };
    match chip.act {
        Act::Free => String::new(),
        Act::Forced => format!("{rule} put this code in"),
        Act::KeptOut => format!("{rule} kept this code out"),
        Act::Breaks => format!("this code breaks {rule}"),
        Act::Lacking => format!("{rule} asks for this code"),
    }
}

fn class(act: Act) -> &'static str {
    match act {
        Act::Free => "free",
        Act::Forced => "forced",
        Act::KeptOut => "kept-out",
        Act::Breaks => "breaks",
        Act::Lacking => "lacking",
    }
}

/// A sign beside the colour, for those who cannot tell the colours apart.
fn sign(act: Act) -> &'static str {
    match act {
        Act::Free => "",
        Act::Forced => "<span class=\"sign\" aria-hidden=\"true\">+</span>",
        Act::KeptOut => "<span class=\"sign\" aria-hidden=\"true\">−</span>",
        Act::Breaks => "<span class=\"sign\" aria-hidden=\"true\">!</span>",
        Act::Lacking => "<span class=\"sign\" aria-hidden=\"true\">?</span>",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chip_tells_which_rule_acted() {
        let rule = "SEX//F in static => not ICD9CM//185";
        let chips = vec![Chip::free("ICD9CM//250"), Chip::acted("ICD9CM//185", Act::KeptOut, rule)];
        let visit = ExampleVisit { title: "visit 1".to_owned(), chips };
        let record = ExampleRecord { visits: vec![visit], ..ExampleRecord::default() };
        let mut markup = Markup::default();
        records(&mut markup, &Records { records: vec![record], ..Records::default() });
        let page = markup.finish();
        let deed = "SEX//F in static =&gt; not ICD9CM//185 kept this code out";
        assert!(page.contains(&format!("data-tip=\"ICD9CM//185\n{deed}\"")));
        assert!(page.contains(&format!("<li>visit 1, ICD9CM//185: {deed}</li>")));
        assert!(page.contains("<li class=\"chip free\">ICD9CM//250</li>"));
        assert!(!page.contains("chip breaks"));
    }

    #[test]
    fn records_without_visits_and_visits_without_codes_are_shown() {
        let record =
            ExampleRecord { visits: vec![ExampleVisit::default()], ..ExampleRecord::default() };
        let all = vec![ExampleRecord::default(), record];
        let mut markup = Markup::default();
        records(&mut markup, &Records { records: all, ..Records::default() });
        assert!(markup.finish().contains("no codes"));
    }
}
