//! One synthetic cohort beside a real one.

use consequence_report::{
    Block, Caution, CautionKind, Cell, Column, Count, Head, Histogram, Histograms, Holds, Records,
    Report, Row, RowKind, RuleTable, ScaleKind, Scatter, ScatterPanel, Section, Source, Statement,
    Table,
};

use crate::invented::{
    HOSTILE, broken_record, codes, probabilities, rules, shaped_record, trained,
};

pub fn report() -> Report {
    let text = str::to_owned;
    let source = |role: &str, name: &str, records, digest: &str| Source {
        role: text(role),
        name: text(name),
        counts: vec![Count::new(records, "records"), Count::new(records * 3, "visits")],
        sha256: digest.repeat(8),
    };
    Report {
        head: Head {
            title: format!("A synthetic cohort beside a real one: {}", HOSTILE[0]),
            compared: format!("12,000 synthetic records beside 46,520 real ones, {}", HOSTILE[1]),
            when: text("15 November 2026"),
            program: text("consequence 0.1.0"),
            seed: None,
            facts: vec![],
            sources: vec![
                source("Real cohort", "cohorts/real", 46_520, "0a1b2c3d"),
                source("Synthetic cohort", HOSTILE[2], 12_000, "99887766"),
                Source { role: text("Rules"), name: text("ward.rules"), ..Source::default() },
            ],
        },
        summary: vec![text(
            "A synthetic cohort was measured against the real one it was trained from.",
        )],
        statements: vec![
            Statement {
                text: text("No synthetic record breaks a hard rule."),
                figure: text("0 of 12,000 records"),
                holds: Holds::Yes,
            },
            Statement {
                text: text(
                    "Models trained on the synthetic records predict as well as on real ones.",
                ),
                figure: text("AUROC 0.781, real 0.802"),
                holds: Holds::No,
            },
        ],
        cautions: vec![Caution {
            kind: CautionKind::Warning,
            text: text("The synthetic cohort is small: figures of rare codes are uncertain."),
        }],
        sections: vec![
            Section::new("codes", "Codes", vec![Block::Scatter(scatter())]),
            Section::new("lengths", "Lengths", vec![Block::Histograms(lengths())]),
            Section::new("privacy", "Privacy", vec![Block::Table(privacy())]),
            Section::new(
                "rules",
                "Rules one by one",
                vec![Block::Rules(RuleTable {
                    title: text("Violations of each rule"),
                    methods: vec![text("Broken in synthetic")],
                    rules: rules(120, &[0.1]),
                    ..RuleTable::default()
                })],
            ),
            Section::new(
                "records",
                "Example records",
                vec![Block::Records(Records {
                    title: text("Records, visit by visit"),
                    note: String::new(),
                    records: vec![shaped_record(), broken_record()],
                })],
            ),
        ],
    }
}

fn scatter() -> Scatter {
    let names = codes(1600);
    let real = probabilities(names.len());
    let synthetic = trained(&real, 4, 0.3);
    Scatter {
        title: "Probability of each code".to_owned(),
        note: "Each dot is a code. On the line it is as frequent in both cohorts.".to_owned(),
        point: "code".to_owned(),
        share: "of visits".to_owned(),
        scale: ScaleKind::Log,
        panels: vec![ScatterPanel {
            title: "Synthetic".to_owned(),
            figure: "R² 0.975".to_owned(),
            synthetic,
            ours: true,
        }],
        names,
        real,
    }
}

fn lengths() -> Histograms {
    let panel = |title: &str, axis: &str, bins: usize, rate: f64, other: f64| {
        let shares = |rate: f64| -> Vec<f64> {
            (0..bins).map(|bin| (1.0 - rate) * rate.powi(bin as i32)).collect()
        };
        Histogram {
            title: title.to_owned(),
            axis: axis.to_owned(),
            bins: (1..=bins)
                .map(|bin| if bin == bins { format!("{bin}+") } else { bin.to_string() })
                .collect(),
            real: shares(rate),
            synthetic: shares(other),
        }
    };
    Histograms {
        title: "How long records and visits are".to_owned(),
        note: "Shares of records and of visits.".to_owned(),
        panels: vec![
            panel("Visits per record", "visits", 12, 0.55, 0.6),
            panel("Codes per visit", "codes", 40, 0.9, 0.88),
        ],
    }
}

fn privacy() -> Table {
    let row = |name: &str, figure: f64, baseline: Cell| {
        Row::new(vec![Cell::text(name), Cell::number(figure, 3), baseline])
    };
    Table {
        title: "Privacy, each figure beside what unseen real records give".to_owned(),
        note: "At the baseline nothing about the training records is given away.".to_owned(),
        columns: ["Measure", "Synthetic", "Baseline"].map(Column::new).into(),
        rows: vec![
            row("Closer to training than to held-out", 0.506, Cell::number(0.5, 3)),
            row("Membership inference, AUROC", 0.511, Cell::number(0.5, 3)),
            row("Attribute inference, F1", 0.312, Cell::missing("fewer than 500 held-out records")),
            row("Exact copies of training records", 0.0002, Cell::number(0.0, 3))
                .of_kind(RowKind::Reference),
        ],
    }
}
