//! How well methods predict, how fast they are, and what their records are worth.

use consequence_baselines::Method;
use consequence_pipeline::pages::{cell, interval_cell, measure};
use consequence_report::{
    Bar, BarPanel, Bars, Better, Block, Cell, Column, LinePanel, LineSeries, Lines, Measure, Row,
    RowKind, ScaleKind, Section, Table,
};

use super::Page;
use crate::paper::published;
use crate::{Median, MethodFigures};

impl Page<'_> {
    pub(super) fn prediction(&self) -> Section {
        let mut table = Table {
            title: "Perplexity".to_owned(),
            note: "For each code present in held-out records that break no rule; lower is better. \
                   Nats of static codes, encounter codes and END apart."
                .to_owned(),
            columns: vec![
                Column::new("method"),
                Column::grouped("here", "perplexity"),
                Column::grouped("here", "static nats"),
                Column::grouped("here", "encounter nats"),
                Column::grouped("here", "END nats"),
                Column::grouped("paper", "perplexity"),
            ],
            rows: Vec::new(),
        };
        for (figures, said, ours) in self.rows() {
            let why = "records thrown away have no probability of their own";
            let mut cells = vec![Cell::text(figures.title)];
            match &figures.prediction {
                Some(found) if !found.normalised => {
                    let figure = found.perplexity.map_or("-".to_owned(), |one| format!("{one:.3}"));
                    cells.push(Cell::text(format!("({figure}, not normalised)")));
                    cells.extend(found.nats.map(|nats| Cell::number(nats, 0)));
                }
                Some(found) => {
                    cells.push(cell(found.perplexity, 3, "nothing predicted"));
                    cells.extend(found.nats.map(|nats| Cell::number(nats, 0)));
                }
                None => cells.extend((0..4).map(|_| Cell::missing(why))),
            }
            cells.push(cell(said.perplexity, 3, "not in the paper"));
            table.rows.push(self.row(ours, cells));
        }
        table.mark_best(1, Better::Lower);
        let curve = |figures: &MethodFigures| {
            let points = |of: fn(&consequence_model::Epoch) -> f64| {
                let epochs = figures.training.epochs.iter();
                epochs.map(|epoch| (f64::from(epoch.epoch), of(epoch))).collect()
            };
            LinePanel {
                title: figures.title.to_owned(),
                series: vec![
                    LineSeries { name: "train".to_owned(), points: points(|one| one.train_nats) },
                    LineSeries { name: "tuning".to_owned(), points: points(|one| one.tuning_nats) },
                ],
            }
        };
        let training = self
            .contestants
            .iter()
            .zip(&self.report.methods)
            .filter(|(contestant, _)| contestant.method.trains_as() == contestant.method);
        let lines = Lines {
            title: "Training".to_owned(),
            note: "What each method trains for, in nats a record: for semantic loss with its penalty, for \
                   CCN its own loss, for methods with rules without what rules decide. Levels of \
                   different methods cannot be compared; shapes can."
                .to_owned(),
            x_axis: "epoch".to_owned(),
            y_axis: "nats a record".to_owned(),
            panels: training.map(|(_, figures)| curve(figures)).collect(),
            ..Lines::default()
        };
        Section {
            key: "perplexity".to_owned(),
            title: "Who predicts real records".to_owned(),
            lead: String::new(),
            blocks: vec![Block::Table(table), Block::Lines(lines)],
        }
    }

    pub(super) fn clock(&self) -> Section {
        let plain = published(Method::Vanilla, self.paper_cohort());
        let trained = self.of(Method::Vanilla).map(|one| one.training.seconds_per_epoch());
        let mut training = Table {
            title: "Training".to_owned(),
            note: format!(
                "On {} threads of a CPU; the paper's on a Tesla P100. Epochs until the tuning split \
                 was predicted no better.",
                self.report.threads
            ),
            columns: vec![
                Column::new("method"),
                Column::grouped("here", "seconds"),
                Column::grouped("here", "epochs"),
                Column::grouped("here", "seconds an epoch"),
                Column::grouped("here", "times vanilla"),
                Column::grouped("paper", "times vanilla, in all"),
            ],
            rows: Vec::new(),
        };
        let mut writing = Table {
            title: "Generation".to_owned(),
            note: "Milliseconds a record, and how that compares with vanilla HALO, generation by \
                   generation. Records begun: for each that was kept."
                .to_owned(),
            columns: vec![
                Column::new("method"),
                Column::grouped("here", "ms a record"),
                Column::grouped("here", "times vanilla"),
                Column::grouped("here", "the middle one (95%)"),
                Column::grouped("here", "records begun"),
                Column::grouped("paper", "times vanilla"),
            ],
            rows: Vec::new(),
        };
        let none = "vanilla HALO was not measured";
        let mut bars = [Vec::new(), Vec::new()];
        for (figures, said, ours) in self.rows() {
            let (found, lesson) = (&figures.generation, &figures.training);
            let epoch = lesson.seconds_per_epoch();
            training.rows.push(self.row(
                ours,
                vec![
                    Cell::text(figures.title),
                    Cell::number(lesson.seconds, 1),
                    Cell::number(lesson.epochs.len() as f64, 0),
                    Cell::number(epoch, 2),
                    cell(trained.map(|plain| epoch / plain), 2, none),
                    Cell::number(said.training_seconds / plain.training_seconds, 2),
                ],
            ));
            writing.rows.push(self.row(
                ours,
                vec![
                    Cell::text(figures.title),
                    interval_cell(found.milliseconds, 4, "not measured"),
                    interval_cell(found.times_vanilla, 3, none),
                    found.median_times_vanilla.map_or_else(
                        || Cell::missing(none),
                        |Median { median, low, high }| {
                            Cell::text(format!("{median:.3} ({low:.3} to {high:.3})"))
                        },
                    ),
                    interval_cell(found.attempts, 2, "not measured"),
                    Cell::number(said.generation_seconds / plain.generation_seconds, 2),
                ],
            ));
            let values = [Some(Measure::once(epoch)), measure(found.milliseconds)];
            for (bars, value) in bars.iter_mut().zip(values) {
                let label = figures.title.to_owned();
                bars.push(Bar { label, value, reference: None, ours });
            }
        }
        let panel = |(title, digits, bars): (&str, u8, Vec<Bar>)| BarPanel {
            title: title.to_owned(),
            scale: ScaleKind::Linear,
            digits,
            reference: String::new(),
            bars,
        };
        let [epochs, records] = bars;
        let panels = [
            ("Training, seconds an epoch", 1, epochs),
            ("Generation, milliseconds a record", 3, records),
        ];
        let plot = Bars {
            title: "Speed".to_owned(),
            note: "Generation: means over generations, with 95% intervals.".to_owned(),
            panels: panels.into_iter().map(panel).collect(),
        };
        let blocks = vec![Block::Table(training), Block::Table(writing), Block::Bars(plot)];
        Section::new("clock", "Who is fast", blocks)
    }

    pub(super) fn utility_and_privacy(&self) -> Section {
        let runs = self.report.effort.deep_runs.min(self.report.effort.runs);
        let mut useful = Table {
            title: "What they are good for".to_owned(),
            note: format!(
                "The next encounter's codes predicted in held-out records, by regressions trained on \
                 generated records; over the first {runs} generations."
            ),
            columns: ["method", "AUROC", "average precision"].map(Column::new).to_vec(),
            rows: Vec::new(),
        };
        let mut private = Table {
            title: "What they give away".to_owned(),
            note:
                "Nearer to train: the share of generated records nearer to a train record than to \
                   any of as many held-out ones. Membership: AUROC of telling train records from \
                   held-out ones. Of both, 0.5 gives nothing away. Attributes: F1 of sensitive \
                   codes read off the nearest record."
                    .to_owned(),
            columns: vec![
                Column::new("method"),
                Column::new("nearer to train"),
                Column::grouped("copies of", "train"),
                Column::grouped("copies of", "held-out"),
                Column::new("membership"),
                Column::new("attributes"),
            ],
            rows: Vec::new(),
        };
        let none = "too few records";
        for (figures, _, ours) in self.rows() {
            let found = &figures.deep;
            useful.rows.push(self.row(
                ours,
                vec![
                    Cell::text(figures.title),
                    interval_cell(found.auroc[0], 4, none),
                    interval_cell(found.average_precision[0], 4, none),
                ],
            ));
            private.rows.push(self.row(
                ours,
                vec![
                    Cell::text(figures.title),
                    interval_cell(found.closer_to_train, 4, none),
                    interval_cell(found.copies[0], 1, none),
                    interval_cell(found.copies[1], 1, none),
                    interval_cell(found.membership, 4, none),
                    interval_cell(found.attributes[0], 4, none),
                ],
            ));
        }
        (1..3).for_each(|column| useful.mark_best(column, Better::Higher));
        if let Some(any) = self.report.methods.first() {
            let real = || Cell::text("real records instead");
            useful.rows.push(
                Row::new(vec![
                    real(),
                    interval_cell(any.deep.auroc[1], 4, none),
                    interval_cell(any.deep.average_precision[1], 4, none),
                ])
                .of_kind(RowKind::Reference),
            );
            private.rows.push(
                Row::new(vec![
                    real(),
                    Cell::number(0.5, 1),
                    Cell::missing("held-out records are not copied"),
                    Cell::missing("held-out records are not copied"),
                    Cell::number(0.5, 1),
                    interval_cell(any.deep.attributes[1], 4, none),
                ])
                .of_kind(RowKind::Reference),
            );
        }
        let title = "What the records are good for, and what they give away";
        let blocks = vec![Block::Table(useful), Block::Table(private)];
        Section::new("utility-privacy", title, blocks)
    }
}
