//! Whole pages: names that try to be markup, the policy that the page states, reports with nothing
//! in them.

use consequence_report::{
    Act, Bar, BarPanel, Bars, Block, Caution, CautionKind, Cell, Chip, Column, Count,
    ExampleRecord, ExampleVisit, Finding, Findings, Head, Histogram, Histograms, Holds, LinePanel,
    LineSeries, Lines, Measure, Reach, Records, Report, Row, Rule, RuleTable, ScaleKind, Scatter,
    ScatterPanel, Section, Signature, Source, Statement, Strength, Table, Verdict,
};

/// A report in which every text is the same.
fn everywhere(text: &str) -> Report {
    let text = || text.to_owned();
    let table = Table {
        title: text(),
        note: text(),
        columns: vec![Column::new(text()), Column::grouped(text(), text())],
        rows: vec![Row::new(vec![Cell::text(text()), Cell::missing(text())])],
    };
    let finding = Finding {
        claim: text(),
        published: text(),
        here: text(),
        verdict: Verdict::NotComparable(text()),
    };
    let scatter = Scatter {
        title: text(),
        note: text(),
        point: text(),
        share: text(),
        scale: ScaleKind::SquareRoot,
        names: vec![text()],
        real: vec![0.5],
        panels: vec![ScatterPanel {
            title: text(),
            figure: text(),
            synthetic: vec![0.25],
            ours: true,
        }],
    };
    let bar =
        Bar { label: text(), value: Some(Measure::once(3.0)), reference: Some(2.0), ours: false };
    let bars =
        BarPanel { title: text(), reference: text(), bars: vec![bar], ..BarPanel::default() };
    let histogram = Histogram {
        title: text(),
        axis: text(),
        bins: vec![text()],
        real: vec![1.0],
        synthetic: vec![1.0],
    };
    let series = LineSeries { name: text(), points: vec![(1.0, 1.0), (2.0, 3.0)] };
    let lines = Lines {
        title: text(),
        note: text(),
        x_axis: text(),
        y_axis: text(),
        panels: vec![LinePanel { title: text(), series: vec![series.clone(), series] }; 2],
        ..Lines::default()
    };
    let rule = Rule {
        name: text(),
        text: text(),
        strength: Strength::Soft,
        reach: Reach::Static,
        real: Some(1.0),
        synthetic: vec![Some(2.0); 3],
    };
    let rules = RuleTable {
        title: text(),
        note: text(),
        methods: vec![text(); 3],
        ours: 9,
        rules: vec![rule],
    };
    let acts = [Act::Free, Act::Forced, Act::KeptOut, Act::Breaks, Act::Lacking];
    let chip = |act| Chip { code: text(), meaning: text(), act, rule: text() };
    let visit = ExampleVisit { title: text(), chips: acts.map(chip).into() };
    let record = ExampleRecord { title: text(), source: text(), visits: vec![visit] };
    let blocks = vec![
        Block::Text(text()),
        Block::Table(table),
        Block::Findings(Findings { title: text(), note: text(), findings: vec![finding] }),
        Block::Scatter(scatter),
        Block::Bars(Bars { title: text(), note: text(), panels: vec![bars] }),
        Block::Histograms(Histograms { title: text(), note: text(), panels: vec![histogram] }),
        Block::Lines(lines),
        Block::Rules(rules),
        Block::Records(Records { title: text(), note: text(), records: vec![record] }),
        Block::Signature(Signature { title: text(), note: text(), lines: vec![text()] }),
    ];
    Report {
        head: Head {
            title: text(),
            compared: text(),
            when: text(),
            program: text(),
            seed: Some(u64::MAX),
            facts: vec![(text(), text())],
            sources: vec![Source {
                role: text(),
                name: text(),
                counts: vec![Count::new(1_000, text())],
                sha256: text(),
            }],
        },
        summary: vec![text()],
        statements: vec![Statement { text: text(), figure: text(), holds: Holds::Unknown(text()) }],
        cautions: vec![Caution { kind: CautionKind::Warning, text: text() }],
        sections: vec![Section { key: text(), title: text(), lead: text(), blocks }],
    }
}

#[test]
fn no_name_is_ever_markup() {
    let plain = everywhere("plain").html();
    for hostile in [
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "'><img src=x onerror=alert(1)>",
        "</script><script>alert(1)",
        "<!--<script>",
        "</title></style></textarea>",
    ] {
        let page = everywhere(hostile).html();
        assert!(!page.contains(hostile), "{hostile} stands in the page");
        // Not a tag more than with an ordinary name.
        assert_eq!(page.matches('<').count(), plain.matches('<').count(), "{hostile}");
        assert_eq!(page.matches('>').count(), plain.matches('>').count(), "{hostile}");
    }
    // Quotes could only end attributes of which the plain page has as many.
    let quotes = |page: &str| {
        let outside_data = page.split("<script type=\"application/json\"").map(|part| {
            part.split_once("</script>").map_or(part, |(_, after)| after).matches('"').count()
        });
        outside_data.sum::<usize>()
    };
    assert_eq!(quotes(&everywhere("\"").html()), quotes(&plain));
}

#[test]
fn the_page_asks_for_nothing_from_elsewhere() {
    let page = everywhere("plain").html();
    for word in ["http://", "https://", "src=", "url(", "@import", "unsafe-inline"] {
        assert!(!page.contains(word), "{word} stands in the page");
    }
    assert!(page.contains("default-src &#39;none&#39;"));
    assert!(page.len() < 100_000, "{} letters", page.len());
}

#[test]
fn nothing_makes_a_page_too() {
    let page = Report::default().html();
    assert!(page.contains("<h1>Report</h1>") && page.contains("This report holds no figures."));
    for block in [
        Block::Text(String::new()),
        Block::Table(Table::default()),
        Block::Findings(Findings::default()),
        Block::Scatter(Scatter::default()),
        Block::Bars(Bars::default()),
        Block::Histograms(Histograms::default()),
        Block::Lines(Lines::default()),
        Block::Rules(RuleTable::default()),
        Block::Records(Records::default()),
        Block::Signature(Signature::default()),
    ] {
        let section = Section { blocks: vec![block], ..Section::default() };
        let page = Report { sections: vec![section], ..Report::default() }.html();
        assert!(page.ends_with("</html>\n") && !page.contains("NaN"));
    }
}

#[test]
fn a_report_reads_back_from_the_file_for_programs() {
    let report = everywhere("größe \" </script>");
    let json = serde_json::to_string(&report).unwrap();
    let back: Report = serde_json::from_str(&json).unwrap();
    assert_eq!(back, report);
    assert_eq!(back.html(), report.html());
    assert_eq!(serde_json::from_str::<Report>("{}").unwrap(), Report::default());
}
