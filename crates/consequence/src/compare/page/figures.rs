//! How well methods foresee, how fast they are, and what their records are worth.

use consequence_baselines::Method;
use consequence_report::{
    Bar, BarPanel, Bars, Better, Block, Cell, Column, LinePanel, LineSeries, Lines, Measure, Row,
    RowKind, ScaleKind, Section, Table,
};

use super::Page;
use crate::compare::MethodFigures;
use crate::compare::paper::published;
use crate::reporting::{cell, interval_cell, measure};

impl Page<'_> {
    pub(super) fn foresight(&self) -> Section {
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
            let why = "records thrown away have no chance of their own";
            let mut cells = vec![Cell::text(figures.title)];
            match &figures.foresight {
                Some(found) if !found.normalised => {
                    let figure = found.perplexity.map_or("-".to_owned(), |one| format!("{one:.3}"));
                    cells.push(Cell::text(format!("({figure}, not normalised)")));
                    cells.extend(found.nats.map(|nats| Cell::number(nats, 0)));
                }
                Some(found) => {
                    cells.push(cell(found.perplexity, 3, "nothing foreseen"));
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
                let epochs = figures.learning.epochs.iter();
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
        let learning = self
            .contestants
            .iter()
            .zip(&self.report.methods)
            .filter(|(contestant, _)| contestant.method.learns_as() == contestant.method);
        let lines = Lines {
            title: "Learning".to_owned(),
            note: "What each method learns, in nats a record: for semantic loss with its penalty, for \
                   CCN its own loss, for methods with rules without what rules decide. Levels of \
                   different methods cannot be compared; shapes can."
                .to_owned(),
            x_axis: "epoch".to_owned(),
            y_axis: "nats a record".to_owned(),
            panels: learning.map(|(_, figures)| curve(figures)).collect(),
            ..Lines::default()
        };
        Section {
            key: "perplexity".to_owned(),
            title: "Who foresees real records".to_owned(),
            lead: String::new(),
            blocks: vec![Block::Table(table), Block::Lines(lines)],
        }
    }

    pub(super) fn clock(&self) -> Section {
        let plain = published(Method::Vanilla, self.paper_cohort());
        let learnt = self.of(Method::Vanilla).map(|one| one.learning.seconds_per_epoch());
        let mut table = Table {
            title: "Wall clock".to_owned(),
            note: format!(
                "On {} threads of a CPU; the paper's on a Tesla P100. Ratios are to vanilla HALO; \
                 those of generation are taken generation by generation, with the middle one in \
                 brackets.",
                self.report.threads
            ),
            columns: vec![
                Column::new("method"),
                Column::grouped("learning here", "s"),
                Column::grouped("learning here", "epochs"),
                Column::grouped("learning here", "an epoch, times vanilla"),
                Column::grouped("generation here", "ms a record"),
                Column::grouped("generation here", "times vanilla"),
                Column::grouped("generation here", "records begun"),
                Column::grouped("paper", "learning, times"),
                Column::grouped("paper", "generation, times"),
            ],
            rows: Vec::new(),
        };
        let (mut learning, mut writing) = (Vec::new(), Vec::new());
        for (figures, said, ours) in self.rows() {
            let found = &figures.generation;
            let epoch = figures.learning.seconds_per_epoch();
            let times = match (found.times_vanilla, found.median_times_vanilla) {
                (Some(times), Some(middle)) => Cell::text(format!("{times:.3} ({middle:.3})")),
                _ => Cell::missing("vanilla HALO was not measured"),
            };
            table.rows.push(self.row(
                ours,
                vec![
                    Cell::text(figures.title),
                    Cell::number(figures.learning.seconds, 1),
                    Cell::number(figures.learning.epochs.len() as f64, 0),
                    cell(learnt.map(|plain| epoch / plain), 2, "vanilla HALO was not measured"),
                    interval_cell(found.milliseconds, 4, "not measured"),
                    times,
                    interval_cell(found.attempts, 2, "not measured"),
                    Cell::number(said.training_seconds / plain.training_seconds, 2),
                    Cell::number(said.generation_seconds / plain.generation_seconds, 2),
                ],
            ));
            let bar = |value: Option<Measure>| Bar {
                label: figures.title.to_owned(),
                value,
                reference: None,
                ours,
            };
            learning.push(bar(Some(Measure::once(epoch))));
            writing.push(bar(measure(found.milliseconds)));
        }
        let panel = |title: &str, digits: u8, bars: Vec<Bar>| BarPanel {
            title: title.to_owned(),
            scale: ScaleKind::Linear,
            digits,
            reference: String::new(),
            bars,
        };
        let plot = Bars {
            title: "Speed".to_owned(),
            note: "Generation: means over generations, with 95% intervals.".to_owned(),
            panels: vec![
                panel("Learning, seconds an epoch", 1, learning),
                panel("Generation, milliseconds a record", 3, writing),
            ],
        };
        Section {
            key: "clock".to_owned(),
            title: "Who is fast".to_owned(),
            lead: String::new(),
            blocks: vec![Block::Table(table), Block::Bars(plot)],
        }
    }

    pub(super) fn utility_and_privacy(&self) -> Section {
        let group = "what generated records are good for";
        let risk = "what they give away";
        let mut table = Table {
            title: "Utility and privacy".to_owned(),
            note: format!(
                "Over the first {} generations. AUROC and average precision: the next encounter's \
                 codes foretold in held-out records, by regressions learnt from generated records. \
                 Nearer to train: the share of generated records nearer to a train record than to \
                 any of as many held-out ones; 0.5 gives nothing away. Membership: AUROC of telling \
                 train records from held-out ones; 0.5 gives nothing away. Attributes: F1 of \
                 sensitive codes read off the nearest record.",
                self.report.effort.deep_runs
            ),
            columns: vec![
                Column::new("method"),
                Column::grouped(group, "AUROC"),
                Column::grouped(group, "average precision"),
                Column::grouped(risk, "nearer to train"),
                Column::grouped(risk, "copies of train / held-out"),
                Column::grouped(risk, "membership"),
                Column::grouped(risk, "attributes"),
            ],
            rows: Vec::new(),
        };
        let none = "too few records";
        for (figures, _, ours) in self.rows() {
            let found = &figures.deep;
            let copies = match found.copies {
                [Some(train), Some(held_out)] => {
                    Cell::text(format!("{:.1} / {:.1}", train.mean, held_out.mean))
                }
                _ => Cell::missing(none),
            };
            table.rows.push(self.row(
                ours,
                vec![
                    Cell::text(figures.title),
                    interval_cell(found.auroc[0], 4, none),
                    interval_cell(found.average_precision[0], 4, none),
                    interval_cell(found.closer_to_train, 4, none),
                    copies,
                    interval_cell(found.membership, 4, none),
                    interval_cell(found.attributes[0], 4, none),
                ],
            ));
        }
        (1..3).for_each(|column| table.mark_best(column, Better::Higher));
        if let Some(any) = self.report.methods.first() {
            table.rows.push(
                Row::new(vec![
                    Cell::text("real records instead"),
                    interval_cell(any.deep.auroc[1], 4, none),
                    interval_cell(any.deep.average_precision[1], 4, none),
                    Cell::number(0.5, 1),
                    Cell::missing("held-out records are not copied"),
                    Cell::number(0.5, 1),
                    interval_cell(any.deep.attributes[1], 4, none),
                ])
                .of_kind(RowKind::Reference),
            );
        }
        Section::new(
            "utility-privacy",
            "What the records are good for, and what they give away",
            vec![Block::Table(table)],
        )
    }
}
