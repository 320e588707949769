//! The page of a review. Headings stand in the page; the script draws the rules under them from
//! data that every rule is in once.

use serde::Serialize;

use super::markup::Markup;
use super::number::count;
use super::shell::{self, Shell, digest};
use crate::tree::{Review, ReviewClass, ReviewCode, ReviewRule};

pub(crate) const SHELL: Shell = Shell {
    style: concat!(
        include_str!("../page/style.css"),
        include_str!("../page/tables.css"),
        include_str!("../page/review.css"),
        include_str!("../page/print.css"),
    ),
    script: concat!(include_str!("../page/shared.js"), include_str!("../page/review.js")),
    skip: "Skip to the rules",
};

/// What the script needs of a rule: group, name, statement, sentence, evidence, codes, ticked.
type RuleData<'a> = (usize, &'a str, &'a str, &'a str, &'a str, Vec<CodeData<'a>>, bool);

/// Code, title, how often it was seen.
type CodeData<'a> = (&'a str, &'a str, &'a str);

#[derive(Serialize)]
struct Data<'a> {
    /// Tells these rules from those of another page.
    key: String,
    opening: &'a str,
    /// Class and heading of each group.
    groups: Vec<(&'a str, &'a str)>,
    rules: Vec<RuleData<'a>>,
}

/// Rules of one class under one heading.
struct Group<'a> {
    class: &'a ReviewClass,
    heading: &'a str,
    rules: Vec<&'a ReviewRule>,
}

pub(crate) fn page(review: &Review) -> String {
    let groups = groups(review);
    let title = if review.title.trim().is_empty() { "Review" } else { &review.title };
    SHELL.page(title, |markup| {
        let facts = review.facts.iter().map(|(name, value)| (name.as_str(), value));
        shell::head(markup, title, &review.about, facts);
        markup.raw("<div class=\"page\">\n");
        contents(markup, &groups);
        markup.raw("<main id=\"main\" data-review>\n");
        if !review.lead.is_empty() {
            markup.raw("<p class=\"lead\">").text(&review.lead).raw("</p>\n");
        }
        markup.raw("<noscript><p class=\"missing\">Choosing rules needs the script of this page, ");
        markup.raw("which this browser does not run.</p></noscript>\n");
        bar(markup, review, &groups);
        for (number, group) in groups.iter().enumerate() {
            draw_group(markup, &groups, number, group);
        }
        markup.raw("<p class=\"missing\" data-none");
        markup.raw(if groups.is_empty() { ">There are no rules.</p>\n" } else { " hidden></p>\n" });
        markup.raw("</main>\n</div>\n");
        markup.exact_data("review-data", &data(review, &groups));
    })
}

/// Rules by class, and in a class by heading, in the order in which headings come up.
fn groups(review: &Review) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for class in &review.classes {
        let first = groups.len();
        for rule in &class.rules {
            match groups[first..].iter_mut().find(|group| group.heading == rule.heading) {
                Some(group) => group.rules.push(rule),
                None => groups.push(Group { class, heading: &rule.heading, rules: vec![rule] }),
            }
        }
    }
    groups
}

fn data<'a>(review: &'a Review, groups: &[Group<'a>]) -> Data<'a> {
    let mut rules = Vec::new();
    for (number, group) in groups.iter().enumerate() {
        for rule in &group.rules {
            let code = |code: &'a ReviewCode| (&*code.code, &*code.title, &*code.seen);
            let codes = rule.codes.iter().map(code).collect();
            let ReviewRule { name, statement, sentence, evidence, ticked, .. } = rule;
            rules.push((number, &**name, &**statement, &**sentence, &**evidence, codes, *ticked));
        }
    }
    let statements: Vec<&str> = rules.iter().map(|rule: &RuleData<'_>| rule.2).collect();
    Data {
        key: digest(&statements.join("\n")),
        opening: &review.opening,
        groups: groups.iter().map(|group| (&*group.class.name, group.heading)).collect(),
        rules,
    }
}

/// Whether this group is the first of its class.
fn begins_class(groups: &[Group], number: usize) -> bool {
    number == 0 || !std::ptr::eq(groups[number - 1].class, groups[number].class)
}

fn contents(markup: &mut Markup, groups: &[Group]) {
    if groups.is_empty() {
        return;
    }
    markup.raw("<nav aria-label=\"Contents\"><h2>Contents</h2><ol>");
    for (number, group) in groups.iter().enumerate() {
        if begins_class(groups, number) {
            markup.raw("<li><a").attribute("href", &format!("#class-{number}")).raw("><b>");
            markup.text(&group.class.name).raw("</b> ");
            markup.text(&count(group.class.rules.len() as u64)).raw("</a></li>");
        }
        markup.raw("<li class=\"under\"><a").attribute("href", &format!("#group-{number}"));
        markup.raw(">").text(group.heading).raw("</a></li>");
    }
    markup.raw("</ol></nav>\n");
}

/// What is shown, what is chosen, and the button that saves it.
fn bar(markup: &mut Markup, review: &Review, groups: &[Group]) {
    markup.raw("<div class=\"bar\" data-bar hidden>\n<p class=\"controls\"><label>Search ");
    markup.raw("<input type=\"search\" autocomplete=\"off\" spellcheck=\"false\"></label>");
    let classes = review.classes.iter().filter(|class| !class.rules.is_empty());
    let mut headings: Vec<&str> = Vec::new();
    for group in groups {
        if !headings.contains(&group.heading) {
            headings.push(group.heading);
        }
    }
    select(markup, "class", "Class ", classes.map(|class| (&*class.name, &*class.name)));
    select(markup, "heading", "Kind ", headings.into_iter().map(|heading| (heading, heading)));
    let states = [("chosen", "chosen"), ("left", "not chosen"), ("noted", "with a note")];
    select(markup, "state", "Choice ", states.into_iter());
    markup.raw("</p>\n<p class=\"controls ticks\"><output data-shown></output>");
    for (to, label, title) in [
        ("all", "Tick all that are shown", "Tick all"),
        ("none", "Tick none that are shown", "Tick none"),
        ("suggested", "As suggested, for all that are shown", "As suggested"),
    ] {
        markup.raw(" <button type=\"button\"").attribute("data-tick", to);
        markup.attribute("aria-label", label).raw(">").raw(title).raw("</button>");
    }
    markup.raw("</p>\n<p class=\"choice\"><span><output data-chosen></output>");
    markup.raw("<output class=\"note\" data-told></output></span> <button type=\"button\"");
    markup.raw(" class=\"primary\" data-save>Save chosen rules</button></p>\n</div>\n");
}

fn select<'a>(
    markup: &mut Markup,
    name: &'static str,
    label: &'static str,
    options: impl Iterator<Item = (&'a str, &'a str)>,
) {
    markup.raw(" <label>").raw(label).raw("<select autocomplete=\"off\"");
    markup.attribute("data-filter", name).raw("><option value=\"\" selected>all</option>");
    for (value, title) in options {
        markup.raw("<option").attribute("value", value).raw(">").text(title).raw("</option>");
    }
    markup.raw("</select></label>");
}

fn draw_group(markup: &mut Markup, groups: &[Group], number: usize, group: &Group) {
    let title = format!("title-{number}");
    if begins_class(groups, number) {
        if number > 0 {
            markup.raw("</section>\n");
        }
        markup.raw("<section").attribute("id", &format!("class-{number}"));
        markup.attribute("aria-labelledby", &title).raw(">\n<h2").attribute("id", &title);
        markup.raw(">").text(&group.class.name).raw("</h2>\n");
        if !group.class.explanation.is_empty() {
            markup.raw("<p class=\"lead\">").text(&group.class.explanation).raw("</p>\n");
        }
    }
    markup.raw("<div class=\"group\" data-group").attribute("id", &format!("group-{number}"));
    markup.raw(">\n<h3>").text(group.heading).raw(" <span class=\"tally\"></span></h3>\n");
    markup.raw("<ul class=\"choices\"></ul>\n</div>\n");
    if number + 1 == groups.len() {
        markup.raw("</section>\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(name: &str, rules: &[(&str, &str)]) -> ReviewClass {
        let rule = |&(heading, name): &(&str, &str)| ReviewRule {
            heading: heading.to_owned(),
            name: name.to_owned(),
            statement: format!("rule {name}: A"),
            ..ReviewRule::default()
        };
        ReviewClass {
            name: name.to_owned(),
            rules: rules.iter().map(rule).collect(),
            ..ReviewClass::default()
        }
    }

    #[test]
    fn rules_under_one_heading_come_together_and_classes_apart() {
        let certain = class("certain", &[("x", "a"), ("y", "b"), ("x", "c")]);
        let likely = class("likely", &[("x", "d")]);
        let classes = vec![certain, class("none", &[]), likely];
        let review = Review { classes, ..Review::default() };
        let groups = groups(&review);
        let data = data(&review, &groups);
        assert_eq!(data.groups, [("certain", "x"), ("certain", "y"), ("likely", "x")]);
        let order: Vec<(usize, &str)> = data.rules.iter().map(|rule| (rule.0, rule.1)).collect();
        assert_eq!(order, [(0, "a"), (0, "c"), (1, "b"), (2, "d")]);
        let page = page(&review);
        assert_eq!(page.matches("<section").count(), 2);
        assert_eq!(page.matches("</section>").count(), 2);
        assert!(!page.contains(">none</h2>"));
    }

    #[test]
    fn other_rules_have_another_key() {
        let key = |name: &str| {
            let classes = vec![class("certain", &[("x", name)])];
            let review = Review { classes, ..Review::default() };
            data(&review, &groups(&review)).key
        };
        assert_eq!(key("a"), key("a"));
        assert_ne!(key("a"), key("b"));
    }
}
