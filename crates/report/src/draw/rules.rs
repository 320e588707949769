//! The table of rules. The first rows stand in the page; the script draws others as they are asked
//! for, so that thousands of rules cost a reader nothing.

use serde::Serialize;

use super::markup::Markup;
use super::number::{count, fixed};
use super::table::{close_table, open_table};
use crate::tree::{Reach, Rule, RuleTable, Strength};

/// Rows that stand in the page itself.
const FIRST: usize = 25;

/// The head of the column of the real cohort.
const REAL: &str = "Broken in real";

/// What the script needs of a rule: name, text, strength, reach, real, synthetic.
type RuleData<'a> = (&'a str, &'a str, &'static str, &'static str, Option<f64>, &'a [Option<f64>]);

#[derive(Serialize)]
struct Data<'a> {
    methods: &'a [String],
    ours: usize,
    first: usize,
    digits: u8,
    rules: Vec<RuleData<'a>>,
}

pub(crate) fn rules(markup: &mut Markup, table: &RuleTable, id: &str) {
    let ours = if table.ours < table.methods.len() { table.ours } else { 0 };
    let beside = (0..table.methods.len()).find(|method| *method != ours);
    // Means over runs have a digit after the point, and then all figures of the table have it.
    let figures = table.rules.iter().flat_map(|rule| rule.synthetic.iter().chain([&rule.real]));
    let digits = u8::from(figures.flatten().any(|figure| figure.fract() != 0.0));
    markup.raw("<div class=\"rules\"").attribute("data-rules", id).raw(">\n");
    if !table.title.is_empty() {
        markup.raw("<h3>").text(&table.title).raw("</h3>");
    }
    if !table.note.is_empty() {
        markup.raw("<p class=\"note\">").text(&table.note).raw("</p>");
    }
    controls(markup, table, beside, ours);
    open_table(markup, &table.title, "", "rule-table");
    heads(markup, table, ours, beside);
    markup.raw("<tbody>\n");
    let columns: Vec<(usize, &str)> = [Some(ours), beside]
        .into_iter()
        .flatten()
        .filter_map(|method| Some((method, table.methods.get(method)?.as_str())))
        .collect();
    for rule in table.rules.iter().take(FIRST) {
        draw_rule(markup, rule, &columns, digits);
    }
    markup.raw("</tbody>");
    close_table(markup);
    markup.raw("<p class=\"more\"><span>");
    if table.rules.is_empty() {
        markup.raw("There are no rules.");
    } else if table.rules.len() > FIRST {
        markup.text(&format!("{} of {} rules shown", FIRST, count(table.rules.len() as u64)));
    }
    markup.raw("</span> <button type=\"button\" hidden>Show more</button></p>\n</div>\n");
    let data = Data {
        methods: &table.methods,
        ours,
        first: FIRST,
        digits,
        rules: (table.rules.iter())
            .map(|rule| {
                let Rule { name, text, real, synthetic, .. } = rule;
                (name.as_str(), text.as_str(), strength(rule), reach(rule), *real, &synthetic[..])
            })
            .collect(),
    };
    markup.data(&format!("{id}-data"), &data);
}

fn controls(markup: &mut Markup, table: &RuleTable, beside: Option<usize>, ours: usize) {
    markup.raw("<p class=\"controls\"><label>Search rules <input type=\"search\" ");
    markup.raw("autocomplete=\"off\" spellcheck=\"false\"></label>");
    if beside.is_some() && table.methods.len() > 2 {
        markup.raw(" <label>Beside <select>");
        for (number, method) in table.methods.iter().enumerate() {
            if number != ours {
                markup.raw("<option").attribute("value", &number.to_string()).raw(">");
                markup.text(method).raw("</option>");
            }
        }
        markup.raw("</select></label>");
    }
    markup.raw(" <output aria-live=\"polite\">").text(&count(table.rules.len() as u64));
    markup.raw(if table.rules.len() == 1 {
        " rule</output></p>\n"
    } else {
        " rules</output></p>\n"
    });
}

fn heads(markup: &mut Markup, table: &RuleTable, ours: usize, beside: Option<usize>) {
    let sortable = |markup: &mut Markup, key: &'static str, title: &str, figure: bool| {
        markup.raw("<th scope=\"col\" aria-sort=\"none\"");
        markup.raw(if figure { " class=\"figure\">" } else { ">" });
        markup.raw("<button type=\"button\"").attribute("data-sort", key).raw(">");
        markup.text(title).raw("</button></th>");
    };
    markup.raw("<thead>\n<tr>");
    sortable(markup, "name", "Rule", false);
    sortable(markup, "text", "Text", false);
    sortable(markup, "strength", "Strength", false);
    sortable(markup, "reach", "Reach", false);
    sortable(markup, "real", REAL, true);
    if let Some(name) = table.methods.get(ours) {
        sortable(markup, "ours", name, true);
    }
    if let Some(name) = beside.and_then(|beside| table.methods.get(beside)) {
        sortable(markup, "beside", name, true);
    }
    markup.raw("</tr>\n</thead>\n");
}

fn draw_rule(markup: &mut Markup, rule: &Rule, columns: &[(usize, &str)], digits: u8) {
    markup.raw("<tr><th scope=\"row\">").text(&rule.name).raw("</th><td class=\"code\">");
    markup.text(&rule.text).raw("</td><td>").raw(strength(rule)).raw("</td><td>");
    markup.raw(reach(rule)).raw("</td>");
    let mut tally = |name: &str, figure: Option<f64>| {
        let figure = figure.filter(|figure| figure.is_finite());
        let broken = figure.is_some_and(|figure| figure > 0.0);
        markup.raw(if broken { "<td class=\"figure broken\"" } else { "<td class=\"figure\"" });
        markup.attribute("data-label", name).raw(">");
        match figure {
            Some(figure) => markup.text(&fixed(figure, if figure == 0.0 { 0 } else { digits })),
            None => markup.raw("<span class=\"missing\">n/a</span>"),
        };
        markup.raw("</td>");
    };
    tally(REAL, rule.real);
    for (method, name) in columns {
        tally(name, rule.synthetic.get(*method).copied().flatten());
    }
    markup.raw("</tr>\n");
}

fn strength(rule: &Rule) -> &'static str {
    match rule.strength {
        Strength::Hard => "hard",
        Strength::Soft => "soft",
    }
}

fn reach(rule: &Rule) -> &'static str {
    match rule.reach {
        Reach::Static => "within a visit",
        Reach::Temporal => "temporal",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(number: usize) -> Rule {
        Rule {
            name: format!("rule-{number}"),
            text: "SEX//F in static => not </script>".to_owned(),
            strength: Strength::Hard,
            reach: Reach::Temporal,
            real: Some(0.0),
            synthetic: vec![Some(0.5), None],
        }
    }

    fn drawn(rules_in: usize, methods: &[&str]) -> String {
        let table = RuleTable {
            methods: methods.iter().map(|&method| method.to_owned()).collect(),
            ours: 1,
            rules: (0..rules_in).map(rule).collect(),
            ..RuleTable::default()
        };
        let mut markup = Markup::default();
        rules(&mut markup, &table, "x");
        markup.finish()
    }

    #[test]
    fn few_rows_stand_in_the_page_and_all_in_the_data() {
        let page = drawn(5000, &["HALO", "ours", "CCN"]);
        assert_eq!(page.matches("<tr><th scope=\"row\">").count(), FIRST);
        assert!(page.contains("rule-4999") && page.contains("25 of 5,000 rules shown"));
        assert_eq!(page.matches("</script>").count(), 1);
        assert_eq!(page.matches("<option").count(), 2);
    }

    #[test]
    fn one_cohort_and_no_rules_are_fine() {
        let page = drawn(3, &["synthetic"]);
        assert!(!page.contains("<select>") && page.contains("3 rules"));
        assert!(drawn(0, &[]).contains("There are no rules."));
    }
}
