//! Every example runs, and the README's few lines for library users are those of one that does.

#[path = "../examples/audit.rs"]
mod audit;
#[path = "../examples/mine.rs"]
mod mine;
#[path = "../examples/own_model.rs"]
mod own_model;
#[path = "../examples/repair.rs"]
mod repair;
#[path = "../examples/train_and_generate.rs"]
mod train_and_generate;

#[test]
fn examples_run() {
    let examples =
        [audit::main, mine::main, own_model::main, repair::main, train_and_generate::main];
    for example in examples {
        example().expect("the example runs");
    }
}

/// What the README shows under "As a library", as a program.
fn shown_in_the_readme() -> Result<consequence::Record, Box<dyn std::error::Error>> {
    use consequence::{CompileOptions, Draws, Enforcer, RuleSet, compile};
    use std::sync::Arc;

    let rules = RuleSet::parse("rule lifelong: ICD9CM//250 in previous => ICD9CM//250", None)?;
    let plan = compile(Arc::new(rules), &CompileOptions::default())?; // proved, or refused
    let enforcer = Enforcer::new(&plan);
    let mut writer = enforcer.writer();
    while !writer.record().ended {
        writer.guided(&Draws::new(7), 0, |_code, _decided| 0.3)?; // your model's probability
    }
    let record = writer.take(); // obeys every rule
    Ok(record)
}

#[test]
fn the_readme_shows_what_compiles() {
    assert!(shown_in_the_readme().expect("a record").ended);
    let lines = |text: &str| -> Vec<String> {
        let code = text.lines().map(|line| line.split(" // ").next().unwrap_or(line).trim());
        code.filter(|line| !line.is_empty()).map(ToOwned::to_owned).collect()
    };
    let between = |text: &str, from: &str, to: &str| -> Vec<String> {
        let start = text.find(from).expect(from) + from.len();
        lines(&text[start..start + text[start..].find(to).expect(to)])
    };
    let readme = include_str!("../../../README.md");
    let shown = between(readme, "## As a library\n", "`cargo doc");
    let compiled =
        between(include_str!("examples.rs"), "dyn std::error::Error>> {\n", "    Ok(record)");
    // The formatter has its own order of imports.
    let sorted = |mut lines: Vec<String>| {
        lines.sort();
        lines
    };
    assert_eq!(sorted(shown), sorted(compiled));
}
