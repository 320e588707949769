//! The records that methods wrote, beside the real ones.

use consequence_baselines::Method;
use consequence_enforce::Conclusions;
use consequence_evaluate::{CohortShape, CompareOptions, Frequencies, compare};
use consequence_pipeline::pages::{
    Panel, Timelines, cell, examples, histograms, occurrences, scatters,
};
use consequence_pipeline::words::number;
use consequence_pipeline::{Error, Unwatched};
use consequence_record::{Cohort, Selection};
use consequence_report::{Better, Block, Cell, Column, Row, RowKind, Section, Table};

use super::{Page, estimate_cell};
use crate::Estimate;

impl Page<'_> {
    pub(super) fn correlations(&self, cohorts: &[Cohort]) -> Result<Section, Error> {
        let names = ["code", "pair", "sequential"];
        let columns = |groups: &[&str]| {
            let grouped =
                groups.iter().flat_map(|group| names.map(|name| Column::grouped(*group, name)));
            [Column::new("method")].into_iter().chain(grouped).collect()
        };
        let mut table = Table {
            title: "R² of frequencies".to_owned(),
            note: format!(
                "How far the frequencies of codes, of pairs in one encounter, and of a code and a \
                 code of the next encounter agree with those of the train records; 1 is all. {}",
                self.behind()
            ),
            columns: columns(&["here", "paper"]),
            rows: Vec::new(),
        };
        let mut rare = Table {
            title: "R² of rare codes".to_owned(),
            note: format!(
                "The same for codes in less than 1% of the real encounters, and for pairs with one \
                 of them. {}",
                self.behind()
            ),
            columns: columns(&["here"]),
            rows: Vec::new(),
        };
        for (figures, said, ours) in self.rows() {
            let cells = |r2: [Option<Estimate>; 3]| -> Vec<Cell> {
                let r2 = r2.map(|figure| estimate_cell(figure, 4, "nothing to compare"));
                [Cell::text(&figures.title)].into_iter().chain(r2).collect()
            };
            let found = &figures.generation;
            let paper = said.r2.map(|figure| Cell::number(figure, 3));
            table.rows.push(self.row(ours, cells(found.r2).into_iter().chain(paper).collect()));
            rare.rows.push(self.row(ours, cells(found.rare_r2)));
        }
        for column in 1..4 {
            table.mark_best(column, Better::Higher);
            rare.mark_best(column, Better::Higher);
        }
        let fresh = &self.report.fresh;
        let real = [
            fresh.correlations.code.r2,
            fresh.correlations.pair.r2,
            fresh.correlations.sequence.r2,
        ];
        let mut cells =
            vec![Cell::text(format!("{} other real records", number(fresh.records as u64)))];
        cells.extend(real.map(|figure| cell(figure, 4, "nothing to compare")));
        table.rows.push(Row::new(cells).of_kind(RowKind::Reference));
        let indices: Vec<Vec<usize>> = cohorts.iter().map(|one| (0..one.len()).collect()).collect();
        let vocabulary = &self.arena.vocabulary;
        let counted = cohorts.iter().zip(&indices);
        let counted =
            counted.map(|(cohort, some)| Frequencies::of(Selection::new(cohort, some), vocabulary));
        let counted: Vec<Frequencies> = counted.collect::<Result<_, _>>()?;
        let panels: Vec<Panel<'_>> = self
            .rows()
            .zip(&counted)
            .map(|((figures, _, ours), counted)| Panel {
                title: figures.title.clone(),
                counted,
                r2: figures.generation.r2.map(|figure| figure.map(|figure| figure.mean)),
                ours,
            })
            .collect();
        let real = Selection::new(&self.arena.cohort, &self.arena.train);
        let mut blocks = vec![Block::Table(table), Block::Table(rare)];
        let real = Frequencies::of(real, vocabulary)?;
        blocks.extend(scatters(&real, &panels, vocabulary, &self.arena.titles));
        Ok(Section {
            key: "correlations".to_owned(),
            title: "Who writes what real records have".to_owned(),
            lead: String::new(),
            blocks,
        })
    }

    pub(super) fn lengths(&self, cohorts: &[Cohort]) -> Result<Section, Error> {
        let arena = self.arena;
        let real = Selection::new(&arena.cohort, &arena.train);
        let mut shapes: Vec<(String, CohortShape)> = Vec::new();
        let mut original = None;
        for (figures, cohort) in self.report.methods.iter().zip(cohorts) {
            let records: Vec<usize> = (0..cohort.len()).collect();
            let sample = Selection::new(cohort, &records);
            let found = compare(real, sample, &arena.vocabulary, &CompareOptions::default())?;
            original = Some(found.real);
            shapes.push((figures.title.clone(), found.synthetic));
        }
        let Some(original) = original else {
            return Ok(Section::new("lengths", "How long records are", Vec::new()));
        };
        let mut columns = vec![Column::new("static code"), Column::new("real, %")];
        columns.extend(shapes.iter().map(|(title, _)| Column::new(title.clone())));
        let share = |shape: &CohortShape, at: usize| {
            100.0 * shape.static_codes[at].records as f64 / shape.records.max(1) as f64
        };
        let rows = original.static_codes.iter().enumerate().map(|(at, code)| {
            let mut cells =
                vec![Cell::text(code.code.clone()), Cell::number(share(&original, at), 1)];
            cells.extend(shapes.iter().map(|(_, shape)| Cell::number(share(shape, at), 1)));
            Row::new(cells)
        });
        let table = Table {
            title: "Age, sex and other static codes".to_owned(),
            note: "The share of records that have the code, in percent.".to_owned(),
            columns,
            rows: rows.collect(),
        };
        let shapes: Vec<(String, &CohortShape)> =
            shapes.iter().map(|(title, shape)| (title.clone(), shape)).collect();
        Ok(Section::new(
            "lengths",
            "How long records are, and who is in them",
            vec![histograms(&original, &shapes), Block::Table(table)],
        ))
    }

    pub(super) fn records(&self, cohorts: &[Cohort]) -> Section {
        let arena = self.arena;
        let conclusions = Conclusions::new(arena.enforcer.plan());
        let frequency = occurrences(&arena.cohort, &arena.train, arena.vocabulary.len());
        let timelines = Timelines {
            rules: &arena.rules,
            conclusions: &conclusions,
            vocabulary: &arena.vocabulary,
            titles: &arena.titles,
            frequency: &frequency,
        };
        let wanted = |method: Method| {
            self.contestants.iter().position(|one| one.method == method && !one.beside)
        };
        let mut blocks = Vec::new();
        if let Some(at) = wanted(Method::Consequence) {
            let indices = timelines.telling(&cohorts[at], 500, 3);
            blocks.push(examples(
                &timelines,
                &cohorts[at],
                &indices,
                (
                    "Written by Consequence",
                    "Of the first 500 records, those that rules had most to say about.",
                ),
            ));
        }
        if let Some(at) = wanted(Method::Vanilla) {
            let cohort = &cohorts[at];
            let audit = arena.auditor.audit(cohort, 2, &Unwatched);
            let mut indices: Vec<usize> =
                audit.rules.iter().flat_map(|rule| &rule.examples).map(|one| one.record).collect();
            indices.sort_unstable();
            indices.dedup();
            indices.truncate(2);
            if !indices.is_empty() {
                blocks.push(examples(
                    &timelines,
                    cohort,
                    &indices,
                    ("Written by vanilla", "Records that break a rule, so as to see one."),
                ));
            }
        }
        Section::new("records", "A few records", blocks)
    }
}
