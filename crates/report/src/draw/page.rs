//! The page of a report: its parts in order, and those that are not figures: what was compared, what
//! holds, what to be careful about, what went in.

use super::markup::Markup;
use super::number::count;
use super::shell::{self, Shell};
use super::table::{close_table, open_table};
use super::{bars, histograms, lines, records, rules, scatter, table};
use crate::tree::{
    Block, Caution, CautionKind, Head, Holds, Report, Section, Signature, Source, Statement,
};

pub(crate) const SHELL: Shell = Shell {
    style: concat!(
        include_str!("../page/style.css"),
        include_str!("../page/tables.css"),
        include_str!("../page/plots.css"),
        include_str!("../page/print.css"),
    ),
    script: concat!(
        include_str!("../page/shared.js"),
        include_str!("../page/tips.js"),
        include_str!("../page/scatter.js"),
        include_str!("../page/rules.js"),
    ),
    skip: "Skip to the report",
};

/// One entry of the contents.
struct Part<'a> {
    id: String,
    title: &'a str,
    content: Content<'a>,
}

enum Content<'a> {
    Summary,
    Cautions,
    Section(&'a Section),
    Sources,
}

pub(crate) fn page(report: &Report) -> String {
    let parts = parts(report);
    SHELL.page(title(&report.head), |markup| {
        head(markup, &report.head);
        markup.raw("<div class=\"page\">\n");
        contents(markup, &parts);
        markup.raw("<main id=\"main\">\n");
        for (number, part) in parts.iter().enumerate() {
            draw_part(markup, report, part, number);
        }
        if parts.is_empty() {
            markup.raw("<p class=\"missing\">This report holds no figures.</p>\n");
        }
        markup.raw("</main>\n</div>\n<div id=\"tip\" role=\"status\" hidden></div>\n");
    })
}

fn parts(report: &Report) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let own = |id: &str, title, content| Part { id: id.to_owned(), title, content };
    if !report.summary.is_empty() || !report.statements.is_empty() {
        parts.push(own("part-summary", "Summary", Content::Summary));
    }
    if !report.cautions.is_empty() {
        parts.push(own("part-cautions", "Warnings and limits", Content::Cautions));
    }
    for (number, section) in report.sections.iter().enumerate() {
        // What is left of a key could be empty, or the same as another.
        let key =
            section.key.chars().filter(|letter| letter.is_ascii_alphanumeric() || *letter == '-');
        let key: String = key.take(40).collect();
        let taken = |id: &String| parts.iter().any(|part: &Part| part.id == *id);
        let mut id = format!("section-{key}");
        while id == "section-" || taken(&id) {
            id.push_str(&format!("{number}"));
        }
        let title = if section.title.is_empty() { "Section" } else { &section.title };
        parts.push(Part { id, title, content: Content::Section(section) });
    }
    if !report.head.sources.is_empty() {
        parts.push(own("part-sources", "Sources", Content::Sources));
    }
    parts
}

fn contents(markup: &mut Markup, parts: &[Part]) {
    if parts.is_empty() {
        return;
    }
    markup.raw("<nav aria-label=\"Contents\"><h2>Contents</h2><ol>");
    for part in parts {
        markup.raw("<li><a").attribute("href", &format!("#{}", part.id)).raw(">");
        markup.text(part.title).raw("</a></li>");
    }
    markup.raw("</ol></nav>\n");
}

fn draw_part(markup: &mut Markup, report: &Report, part: &Part, number: usize) {
    markup.raw("<section").attribute("id", &part.id);
    markup.attribute("aria-labelledby", &format!("title-{number}")).raw(">\n<h2");
    markup.attribute("id", &format!("title-{number}")).raw(">").text(part.title).raw("</h2>\n");
    match part.content {
        Content::Summary => summary(markup, report),
        Content::Cautions => cautions(markup, &report.cautions),
        Content::Sources => sources(markup, &report.head.sources),
        Content::Section(section) => {
            if !section.lead.is_empty() {
                markup.raw("<p class=\"lead\">").text(&section.lead).raw("</p>\n");
            }
            for (index, block) in section.blocks.iter().enumerate() {
                draw_block(markup, block, &format!("block-{number}-{index}"));
            }
        }
    }
    markup.raw("</section>\n");
}

fn draw_block(markup: &mut Markup, block: &Block, id: &str) {
    match block {
        Block::Text(text) => {
            markup.raw("<p>").text(text).raw("</p>\n");
        }
        Block::Table(content) => table::table(markup, content),
        Block::Findings(content) => table::findings(markup, content),
        Block::Scatter(content) => scatter::scatter(markup, content, id),
        Block::Bars(content) => bars::bars(markup, content),
        Block::Histograms(content) => histograms::histograms(markup, content),
        Block::Lines(content) => lines::lines(markup, content),
        Block::Rules(content) => rules::rules(markup, content, id),
        Block::Records(content) => records::records(markup, content),
        Block::Signature(content) => signature(markup, content),
    }
}

/// The title, and the facts of the run.
fn head(markup: &mut Markup, head: &Head) {
    let seed = head.seed.map(|seed| seed.to_string()).unwrap_or_default();
    let own = [("When", &head.when), ("Program", &head.program), ("Seed", &seed)];
    let own = own.into_iter().filter(|fact| !fact.1.is_empty());
    let given = head.facts.iter().map(|(name, value)| (name.as_str(), value));
    shell::head(markup, title(head), &head.compared, own.chain(given));
}

/// The title of the page, which is never empty.
fn title(head: &Head) -> &str {
    if head.title.trim().is_empty() { "Report" } else { &head.title }
}

/// What was done, and what holds.
fn summary(markup: &mut Markup, report: &Report) {
    for paragraph in &report.summary {
        markup.raw("<p>").text(paragraph).raw("</p>\n");
    }
    if report.statements.is_empty() {
        return;
    }
    markup.raw("<ul class=\"statements\">\n");
    for Statement { text, figure, holds } in &report.statements {
        markup.raw(match holds {
            Holds::Yes => "<li><span class=\"badge yes\">Holds</span>",
            Holds::No => "<li><span class=\"badge no\">Does not hold</span>",
            Holds::Unknown(_) => "<li><span class=\"badge unknown\">Unknown</span>",
        });
        markup.raw("<div><p>").text(text).raw("</p>");
        if let Holds::Unknown(why) = holds
            && !why.is_empty()
        {
            markup.raw("<p class=\"why\">").text(why).raw("</p>");
        }
        markup.raw("</div><span class=\"figure\">").text(figure).raw("</span></li>\n");
    }
    markup.raw("</ul>\n");
}

/// Warnings first, then limits.
fn cautions(markup: &mut Markup, cautions: &[Caution]) {
    markup.raw("<ul class=\"cautions\">\n");
    for kind in [CautionKind::Warning, CautionKind::Limit] {
        for caution in cautions.iter().filter(|caution| caution.kind == kind) {
            markup.raw(match kind {
                CautionKind::Warning => "<li class=\"warning\"><b>Warning</b> ",
                CautionKind::Limit => "<li><b>Limit</b> ",
            });
            markup.raw("<span>").text(&caution.text).raw("</span></li>\n");
        }
    }
    markup.raw("</ul>\n");
}

/// What went in: names, counts, digests.
fn sources(markup: &mut Markup, sources: &[Source]) {
    open_table(markup, "Data and rules that went in", "", "sources");
    markup.raw("<thead>\n<tr><th scope=\"col\">Used as</th><th scope=\"col\">Name</th>");
    markup.raw(
        "<th scope=\"col\">Holds</th><th scope=\"col\">SHA-256</th></tr>\n</thead>\n<tbody>\n",
    );
    for Source { role, name, counts, sha256 } in sources {
        markup.raw("<tr><th scope=\"row\">").text(role).raw("</th><td data-label=\"Name\">");
        markup.text(name).raw("</td><td data-label=\"Holds\">");
        let counts: Vec<String> =
            counts.iter().map(|each| format!("{} {}", count(each.count), each.of)).collect();
        let joined = counts.join(", ");
        markup
            .text(if counts.is_empty() { "not counted" } else { &joined })
            .raw("</td><td class=\"code\" data-label=\"SHA-256\">");
        markup.text(if sha256.is_empty() { "unknown" } else { sha256 }).raw("</td></tr>\n");
    }
    markup.raw("</tbody>");
    close_table(markup);
}

fn signature(markup: &mut Markup, content: &Signature) {
    markup.raw("<div class=\"signature\">\n<h3>").text(&content.title).raw("</h3>\n");
    if !content.note.is_empty() {
        markup.raw("<p class=\"note\">").text(&content.note).raw("</p>\n");
    }
    for line in &content.lines {
        markup.raw("<p class=\"line\">").text(line).raw("</p>\n");
    }
    markup.raw("</div>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_has_an_id_of_its_own() {
        let section = |key: &str| Section { key: key.to_owned(), ..Section::default() };
        let keys = ["a", "a", "", "\"><", "part-summary"];
        let report = Report {
            sections: keys.into_iter().map(section).collect(),
            summary: vec!["done".to_owned()],
            ..Report::default()
        };
        let parts = parts(&report);
        let mut ids: Vec<_> = parts.iter().map(|part| part.id.clone()).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), parts.len(), "{ids:?}");
    }
}
