//! The head of the page: what was compared, what holds, what to be careful about, what went in.

use super::markup::Markup;
use super::number::count;
use super::table::{close_table, open_table};
use crate::tree::{Caution, CautionKind, Head, Holds, Report, Source, Statement};

/// The title, and the facts of the run.
pub(crate) fn head(markup: &mut Markup, head: &Head) {
    markup.raw("<header>\n<h1>").text(title(head)).raw("</h1>\n");
    if !head.compared.is_empty() {
        markup.raw("<p class=\"compared\">").text(&head.compared).raw("</p>\n");
    }
    let seed = head.seed.map(|seed| seed.to_string()).unwrap_or_default();
    let own = [("When", &head.when), ("Program", &head.program), ("Seed", &seed)];
    let own = own.into_iter().filter(|fact| !fact.1.is_empty());
    let given = head.facts.iter().map(|(name, value)| (name.as_str(), value));
    markup.raw("<dl class=\"facts\">");
    for (name, value) in own.chain(given) {
        markup.raw("<div><dt>").text(name).raw("</dt><dd>").text(value).raw("</dd></div>");
    }
    markup.raw("</dl>\n</header>\n");
}

/// The title of the page, which is never empty.
pub(crate) fn title(head: &Head) -> &str {
    if head.title.trim().is_empty() { "Report" } else { &head.title }
}

/// What was done, and what holds.
pub(crate) fn summary(markup: &mut Markup, report: &Report) {
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
pub(crate) fn cautions(markup: &mut Markup, cautions: &[Caution]) {
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
pub(crate) fn sources(markup: &mut Markup, sources: &[Source]) {
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
