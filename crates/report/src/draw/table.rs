//! Tables of figures and of findings.

use super::markup::Markup;
use super::number::fixed;
use crate::tree::{Cell, Column, Finding, Findings, Row, RowKind, Table, Value, Verdict};

/// Opens a table that scrolls sideways where the page is too narrow. Close it with [`close_table`].
pub(crate) fn open_table(markup: &mut Markup, title: &str, note: &str, class: &'static str) {
    markup
        .raw("<div class=\"scroll\" tabindex=\"0\" role=\"region\"")
        .attribute("aria-label", title);
    markup.raw("><table class=\"").raw(class).raw("\">\n<caption>");
    if !title.is_empty() {
        markup.raw("<span class=\"title\">").text(title).raw("</span>");
    }
    if !note.is_empty() {
        markup.raw("<span class=\"note\">").text(note).raw("</span>");
    }
    markup.raw("</caption>\n");
}

pub(crate) fn close_table(markup: &mut Markup) {
    markup.raw("</table></div>\n");
}

pub(crate) fn table(markup: &mut Markup, table: &Table) {
    let is_figure =
        |cell: &Cell| matches!(cell.value, Value::Number { .. } | Value::Interval { .. });
    let figures: Vec<bool> = (0..table.columns.len())
        .map(|column| table.rows.iter().filter_map(|row| row.cells.get(column)).any(is_figure))
        .collect();
    open_table(markup, &table.title, &table.note, "figures");
    heads(markup, &table.columns, &figures);
    markup.raw("<tbody>\n");
    for row in &table.rows {
        draw_row(markup, row, &figures);
    }
    if table.rows.is_empty() {
        markup
            .raw("<tr><td class=\"missing\"")
            .attribute("colspan", &figures.len().max(1).to_string());
        markup.raw(">nothing to show</td></tr>\n");
    }
    markup.raw("</tbody>");
    close_table(markup);
}

fn heads(markup: &mut Markup, columns: &[Column], figures: &[bool]) {
    markup.raw("<thead>\n");
    if columns.iter().any(|column| !column.group.is_empty()) {
        markup.raw("<tr>");
        for group in columns.chunk_by(|left, right| left.group == right.group) {
            let name = &group[0].group;
            markup.raw(if name.is_empty() {
                "<td"
            } else {
                "<th scope=\"colgroup\" class=\"group\""
            });
            markup.attribute("colspan", &group.len().to_string()).raw(">").text(name);
            markup.raw(if name.is_empty() { "</td>" } else { "</th>" });
        }
        markup.raw("</tr>\n");
    }
    markup.raw("<tr>");
    for (column, figure) in columns.iter().zip(figures) {
        markup.raw(if *figure {
            "<th scope=\"col\" class=\"figure\">"
        } else {
            "<th scope=\"col\">"
        });
        markup.text(&column.title).raw("</th>");
    }
    markup.raw("</tr>\n</thead>\n");
}

fn draw_row(markup: &mut Markup, row: &Row, figures: &[bool]) {
    markup.raw(match row.kind {
        RowKind::Ordinary => "<tr>",
        RowKind::Ours => "<tr class=\"ours\">",
        RowKind::Reference => "<tr class=\"reference\">",
    });
    for (column, figure) in figures.iter().enumerate() {
        let cell = row.cells.get(column);
        let first = column == 0;
        markup.raw(if first { "<th scope=\"row\"" } else { "<td" });
        let best = cell.is_some_and(|cell| cell.best);
        match (*figure, best) {
            (true, true) => markup.raw(" class=\"figure best\">"),
            (true, false) => markup.raw(" class=\"figure\">"),
            (false, true) => markup.raw(" class=\"best\">"),
            (false, false) => markup.raw(">"),
        };
        if let Some(cell) = cell {
            draw_value(markup, &cell.value);
        }
        if best {
            markup.raw("<span class=\"unseen\"> (best)</span>");
        }
        markup.raw(if first { "</th>" } else { "</td>" });
    }
    markup.raw("</tr>\n");
}

fn draw_value(markup: &mut Markup, value: &Value) {
    match value {
        Value::Text(text) => markup.text(text),
        Value::Number { value, digits } if value.is_finite() => {
            markup.text(&fixed(*value, *digits))
        }
        Value::Interval { mean, half_width, digits } if mean.is_finite() => {
            markup.text(&fixed(*mean, *digits));
            if let Some(half) = half_width.filter(|half| half.is_finite()) {
                markup.raw(" <span class=\"spread\">± ").text(&fixed(half, *digits)).raw("</span>");
            }
            markup
        }
        Value::Number { .. } | Value::Interval { .. } => missing(markup, "not a finite number"),
        Value::Missing(why) => missing(markup, why),
    };
}

fn missing<'a>(markup: &'a mut Markup, why: &str) -> &'a mut Markup {
    markup.raw("<span class=\"missing\">");
    markup.text(if why.is_empty() { "n/a" } else { why }).raw("</span>")
}

pub(crate) fn findings(markup: &mut Markup, findings: &Findings) {
    open_table(markup, &findings.title, &findings.note, "findings");
    markup.raw("<thead>\n<tr><th scope=\"col\">Finding</th><th scope=\"col\">Published</th>");
    markup
        .raw("<th scope=\"col\">Here</th><th scope=\"col\">Verdict</th></tr>\n</thead>\n<tbody>\n");
    if findings.findings.is_empty() {
        markup.raw("<tr><td class=\"missing\" colspan=\"4\">nothing to show</td></tr>\n");
    }
    for Finding { claim, published, here, verdict } in &findings.findings {
        markup.raw("<tr><th scope=\"row\">").text(claim).raw("</th><td data-label=\"Published\">");
        markup.text(published).raw("</td><td data-label=\"Here\">").text(here).raw("</td><td>");
        match verdict {
            Verdict::Confirmed => markup.raw("<span class=\"badge yes\">Confirmed</span>"),
            Verdict::Contradicted => markup.raw("<span class=\"badge no\">Contradicted</span>"),
            Verdict::Unclear => {
                markup.raw("<span class=\"badge unknown\">No clear difference</span>")
            }
            Verdict::NotComparable(_) => {
                markup.raw("<span class=\"badge unknown\">Not comparable</span>")
            }
        };
        if let Verdict::NotComparable(why) = verdict
            && !why.is_empty()
        {
            markup.raw(" <span class=\"why\">").text(why).raw("</span>");
        }
        markup.raw("</td></tr>\n");
    }
    markup.raw("</tbody>");
    close_table(markup);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(rows: Vec<Row>) -> String {
        let columns =
            vec![Column::new("method"), Column::grouped("here", "a"), Column::grouped("here", "b")];
        let mut markup = Markup::default();
        table(&mut markup, &Table { columns, rows, ..Table::default() });
        markup.finish()
    }

    #[test]
    fn cells_say_what_they_are() {
        let cells = vec![
            Cell::text("M"),
            Cell::interval(0.975, Some(0.0004), 3).best(),
            Cell::missing("<why>"),
        ];
        let page = drawn(vec![Row::new(cells).of_kind(RowKind::Ours)]);
        assert!(page.contains("<tr class=\"ours\"><th scope=\"row\">M</th>"));
        assert!(page.contains("0.975 <span class=\"spread\">± &lt;0.001</span>"));
        assert!(page.contains("figure best") && page.contains("&lt;why&gt;"));
        assert!(page.contains("colspan=\"2\">here</th>"));
    }

    #[test]
    fn short_rows_and_no_rows_are_shown() {
        assert!(drawn(vec![Row::default()]).contains("<td></td><td></td>"));
        assert!(drawn(vec![]).contains("nothing to show"));
        let nan = Value::Number { value: f64::NAN, digits: 2 };
        let page = drawn(vec![Row::new(vec![Cell { value: nan, best: false }])]);
        assert!(page.contains("not a finite number") && !page.contains("NaN"));
    }
}
