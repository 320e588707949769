//! Eight methods on one cohort.

use consequence_report::{
    Bar, BarPanel, Bars, Better, Block, Caution, CautionKind, Cell, Column, Count, Finding,
    Findings, Head, Holds, LinePanel, LineSeries, Lines, Measure, Records, Report, Row, RowKind,
    RuleTable, ScaleKind, Scatter, ScatterPanel, Section, Source, Statement, Table, Verdict,
};

use crate::invented::{
    HOSTILE, broken_record, codes, noise, probabilities, rules, shaped_record, trained,
};

/// A method: name, how far off it is, static and temporal violations, training seconds,
/// milliseconds a record, perplexity.
type Method = (&'static str, f64, f64, f64, f64, f64, f64);

const METHODS: [Method; 8] = [
    ("Vanilla HALO", 0.30, 812.4, 1740.2, 182.0, 1.9, 13.44),
    ("Post-processing", 0.45, 0.0, 0.0, 182.0, 4.4, f64::NAN),
    ("Semantic loss", 0.28, 655.0, 1590.8, 240.0, 1.9, 13.43),
    ("CCN", 0.25, 201.3, 1810.0, 610.0, 2.4, 12.99),
    ("MultiPlexNet", 1.10, 0.0, 2210.5, 488.0, 2.6, 24.26),
    ("SPL", 0.80, 0.0, 41.0, 350.0, 96.0, 22.79),
    ("ConSequence as published", 0.27, 0.0, 3.4, 188.0, 2.0, 12.75),
    ("Consequence (ours)", 0.2, 0.0, 0.0, 185.0, 1.4, 12.71),
];

pub fn report() -> Report {
    let text = str::to_owned;
    let caution = |kind, words| Caution { kind, text: text(words) };
    Report {
        head: Head {
            title: text("Eight ways to keep the rules, on one cohort"),
            compared: text(
                "Every method was trained on the same 37,216 records, and generated 10,000 records \
                 25 times. Figures are means with 95% intervals over the 25 generations.",
            ),
            when: text("15 November 2026, 14:02 UTC"),
            program: text("consequence 0.1.0"),
            seed: Some(17),
            facts: vec![(text("Runs"), text("25 per method")), (text("Machine"), text("2 cores"))],
            sources: vec![
                Source {
                    role: text("Cohort"),
                    name: text("cohorts/inpatient"),
                    counts: vec![
                        Count::new(46_520, "records"),
                        Count::new(58_976, "visits"),
                        Count::new(1_616, "codes"),
                    ],
                    sha256: "4f1a9c07".repeat(8),
                },
                Source {
                    role: text("Rules"),
                    name: text("inpatient.rules"),
                    counts: vec![Count::new(1_500, "rules")],
                    sha256: "b07e55d2".repeat(8),
                },
            ],
        },
        summary: vec![text(
            "Eight methods that make a generator obey medical rules were trained and asked for records. \
             This page counts the rules that the records break, measures how closely they follow the \
             real cohort, and how long each method takes.",
        )],
        statements: vec![
            Statement {
                text: text("No record that Consequence wrote breaks a hard rule."),
                figure: text("0 of 250,000 records"),
                holds: Holds::Yes,
            },
            Statement {
                text: text("The method as published keeps all rules on this rule set."),
                figure: text("3.4 ± 0.6 violations"),
                holds: Holds::No,
            },
            Statement {
                text: text("The synthetic records do not give away who was in the training data."),
                figure: String::new(),
                holds: Holds::Unknown(text("the held-out cohort has fewer than 500 records")),
            },
        ],
        cautions: vec![
            caution(
                CautionKind::Limit,
                "Every method was trained once; intervals do not show how \
                much another training would differ.",
            ),
            caution(
                CautionKind::Warning,
                "The cohorts have different vocabularies: 12 codes only in \
                the real one, 3 only in the synthetic one.",
            ),
        ],
        sections: vec![
            violations(),
            quality(),
            speed(),
            findings(),
            Section::new("rules", "Rules one by one", vec![Block::Rules(rule_table())]),
            Section::new(
                "records",
                "Example records",
                vec![Block::Records(Records {
                    title: text("What rules did"),
                    note: text(
                        "Point at a marked code, or reach it with the Tab key, to see the rule.",
                    ),
                    records: vec![shaped_record(), broken_record()],
                })],
            ),
        ],
    }
}

fn kind(method: &Method) -> RowKind {
    if is_ours(method) { RowKind::Ours } else { RowKind::Ordinary }
}

fn is_ours(method: &Method) -> bool {
    method.0.contains("ours")
}

fn half(figure: f64, stream: u64) -> Option<f64> {
    Some(figure * (0.004 + 0.02 * noise(stream, 1)))
}

fn violations() -> Section {
    let published = [
        (4320.6, 2046.2),
        (0.0, 0.0),
        (3827.0, 1817.2),
        (3070.2, 2149.8),
        (0.0, 3304.8),
        (0.0, 11.5),
        (0.0, 0.0),
    ];
    let mut table = Table {
        title: "Violations in 10,000 records".to_owned(),
        note: "The paper's figures are for its own cohort and its 95 rules.".to_owned(),
        columns: vec![
            Column::new("Method"),
            Column::grouped("Here", "Static"),
            Column::grouped("Here", "Temporal"),
            Column::grouped("Here", "Valid records, %"),
            Column::grouped("The paper", "Static"),
            Column::grouped("The paper", "Temporal"),
        ],
        rows: METHODS
            .iter()
            .enumerate()
            .map(|(number, method)| {
                let stream = number as u64;
                let valid = 100.0 - (method.2 + method.3) / 80.0;
                let paper = |figure: Option<f64>| {
                    figure
                        .map_or(Cell::missing("not in the paper"), |figure| Cell::number(figure, 1))
                };
                let published = published.get(number);
                let cells = vec![
                    Cell::text(method.0),
                    Cell::interval(method.2, half(method.2, stream), 1),
                    Cell::interval(method.3, half(method.3, stream + 9), 1),
                    Cell::interval(valid, half((100.0 - valid) / 9.0, stream), 2),
                    paper(published.map(|figures| figures.0)),
                    paper(published.map(|figures| figures.1)),
                ];
                Row::new(cells).of_kind(kind(method))
            })
            .collect(),
    };
    for column in [1, 2, 4, 5] {
        table.mark_best(column, Better::Lower);
    }
    table.mark_best(3, Better::Higher);
    let panel = |title: &str, figure: fn(&Method) -> f64| BarPanel {
        title: title.to_owned(),
        scale: ScaleKind::Linear,
        digits: 1,
        reference: String::new(),
        bars: METHODS
            .iter()
            .enumerate()
            .map(|(number, method)| Bar {
                label: method.0.to_owned(),
                value: Some(Measure {
                    mean: figure(method),
                    half_width: half(figure(method), number as u64),
                }),
                reference: None,
                ours: is_ours(method),
            })
            .collect(),
    };
    let bars = Bars {
        title: "Rules broken".to_owned(),
        note: "Broken rules in 10,000 records, counted once for each visit and rule.".to_owned(),
        panels: vec![
            panel("Static rules", |method| method.2),
            panel("Temporal rules", |method| method.3),
        ],
    };
    Section::new("violations", "Violations", vec![Block::Bars(bars), Block::Table(table)])
}

fn quality() -> Section {
    let mut perplexity = Table {
        title: "Perplexity per positive code, held-out records".to_owned(),
        columns: vec![Column::new("Method"), Column::new("Perplexity")],
        rows: METHODS
            .iter()
            .map(|method| {
                let cell = if method.6.is_nan() {
                    Cell::missing("the model is that of vanilla HALO")
                } else {
                    Cell::number(method.6, 3)
                };
                Row::new(vec![Cell::text(method.0), cell]).of_kind(kind(method))
            })
            .collect(),
        ..Table::default()
    };
    let reference = vec![Cell::text("A fresh real sample"), Cell::missing("no model")];
    perplexity.rows.push(Row::new(reference).of_kind(RowKind::Reference));
    perplexity.mark_best(1, Better::Lower);
    let names = codes(2000);
    let scatter = |title: &str, point: &str, scale, names: Vec<String>, stream: u64| {
        let real = probabilities(names.len());
        let panels = METHODS.iter().enumerate().map(|(number, method)| ScatterPanel {
            title: method.0.to_owned(),
            figure: format!("R² {:.3} ± 0.001", 1.0 - method.1 * method.1 / 9.0),
            synthetic: trained(&real, stream + number as u64, method.1),
            ours: is_ours(method),
        });
        Scatter {
            title: title.to_owned(),
            note: "Each dot is a name. On the line it is as frequent in both cohorts.".to_owned(),
            point: point.to_owned(),
            share: "of visits".to_owned(),
            scale,
            panels: panels.collect(),
            names,
            real,
        }
    };
    let pairs = |count: usize, word: &str| -> Vec<String> {
        (0..count).map(|pair| format!("{} {word} {}", names[pair], names[pair * 7 % 900])).collect()
    };
    let curves = METHODS.iter().enumerate().map(|(number, method)| {
        let end = 40.0 + method.6.max(12.0);
        let epochs = 12 + number as u64 * 2;
        let curve = |name: &str, shift: f64, turn: f64| LineSeries {
            name: name.to_owned(),
            points: (1..=epochs)
                .map(|epoch| {
                    let epoch = epoch as f64;
                    (
                        epoch,
                        end + shift + 70.0 * (-epoch / 3.0).exp() + turn * (epoch - 8.0).max(0.0),
                    )
                })
                .collect(),
        };
        let series = vec![curve("training", -2.0, -0.25), curve("tuning", 0.0, 0.3)];
        LinePanel { title: method.0.to_owned(), series }
    });
    let curves = Lines {
        title: "Training".to_owned(),
        note: "The epoch with the least tuning loss is kept.".to_owned(),
        x_axis: "epoch".to_owned(),
        y_axis: "nats per record".to_owned(),
        panels: curves.collect(),
        ..Lines::default()
    };
    Section {
        lead: "How closely the synthetic records follow the real ones.".to_owned(),
        ..Section::new(
            "quality",
            "Quality",
            vec![
                Block::Table(perplexity),
                Block::Scatter(scatter("Codes", "code", ScaleKind::Log, names.clone(), 1)),
                Block::Scatter(scatter(
                    "Pairs of codes in a visit",
                    "pair",
                    ScaleKind::SquareRoot,
                    pairs(800, "with"),
                    31,
                )),
                Block::Scatter(scatter(
                    "Pairs of codes in visits that follow",
                    "pair",
                    ScaleKind::Log,
                    pairs(800, "then"),
                    61,
                )),
                Block::Lines(curves),
            ],
        )
    }
}

fn speed() -> Section {
    let panel = |title: &str, digits, figure: fn(&Method) -> f64, paper: [f64; 7]| BarPanel {
        title: title.to_owned(),
        scale: ScaleKind::Log,
        digits,
        reference: "the paper, on its hardware".to_owned(),
        bars: METHODS
            .iter()
            .enumerate()
            .map(|(number, method)| Bar {
                label: method.0.to_owned(),
                value: Some(Measure {
                    mean: figure(method),
                    half_width: half(figure(method), number as u64),
                }),
                reference: paper.get(number).copied(),
                ours: is_ours(method),
            })
            .collect(),
    };
    let training = [5438.0, 5438.0, 6256.0, 16693.0, 13493.0, 9969.0, 5450.0];
    let generation = [12.4, 21.2, 13.0, 17.9, 17.0, 268.9, 14.0];
    let bars = Bars {
        title: "Wall clock".to_owned(),
        note: "On a log axis: a step to the right is ten times as long.".to_owned(),
        panels: vec![
            panel("Training, seconds", 0, |method| method.4, training),
            panel("Generation, milliseconds a record", 2, |method| method.5, generation),
        ],
    };
    let growth = |name: &str, slope: f64| LineSeries {
        name: name.to_owned(),
        points: [10.0, 100.0, 1000.0, 10_000.0].map(|rules: f64| (rules, rules.powf(slope))).into(),
    };
    let lines = Lines {
        title: "Milliseconds a record as rules grow".to_owned(),
        x_axis: "rules".to_owned(),
        y_axis: "milliseconds".to_owned(),
        x_scale: ScaleKind::Log,
        y_scale: ScaleKind::Log,
        panels: vec![LinePanel {
            title: String::new(),
            series: METHODS
                .iter()
                .enumerate()
                .map(|(number, method)| growth(method.0, 0.9 - number as f64 / 10.0))
                .collect(),
        }],
        ..Lines::default()
    };
    Section::new("speed", "Speed", vec![Block::Bars(bars), Block::Lines(lines)])
}

fn findings() -> Section {
    let finding = |claim: &str, published: &str, here: &str, verdict| Finding {
        claim: claim.to_owned(),
        published: published.to_owned(),
        here: here.to_owned(),
        verdict,
    };
    let findings = Findings {
        title: "The paper's findings, one by one".to_owned(),
        note: String::new(),
        findings: vec![
            finding(
                "ConSequence prevents all violations",
                "0 static, 0 temporal",
                "0 static, 3.4 ± 0.6 temporal",
                Verdict::Contradicted,
            ),
            finding(
                "CCN follows code frequencies best",
                "R² 0.993",
                "R² 0.993 ± 0.001",
                Verdict::Confirmed,
            ),
            finding(
                "SPL is the slowest to generate",
                "268.9 ms a record",
                "96.0 ms a record",
                Verdict::Confirmed,
            ),
            finding(
                "Training takes 1:30:50 with rules",
                "1:30:50 on a Tesla P100",
                "185 s",
                Verdict::NotComparable("another machine and another batch size".to_owned()),
            ),
            finding(HOSTILE[0], HOSTILE[1], HOSTILE[2], Verdict::Confirmed),
        ],
    };
    Section::new("findings", "Findings of the paper", vec![Block::Findings(findings)])
}

fn rule_table() -> RuleTable {
    let breaks: Vec<f64> = METHODS.iter().map(|method| (method.2 + method.3) / 2500.0).collect();
    RuleTable {
        title: "Violations of each rule".to_owned(),
        note: "Means over 25 generations of 10,000 records.".to_owned(),
        methods: METHODS.iter().map(|method| method.0.to_owned()).collect(),
        ours: METHODS.len() - 1,
        rules: rules(1500, &breaks),
    }
}
