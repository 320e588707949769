//! How well methods predict, how fast they are, and what their records are worth.

use consequence_baselines::Method;
use consequence_pipeline::pages::{cell, measure};
use consequence_report::{
    Bar, BarPanel, Bars, Better, Block, Cell, Column, LinePanel, LineSeries, Lines, Row, RowKind,
    ScaleKind, Section, Table,
};

use super::{Page, behind, estimate_cell};
use crate::paper::published;
use crate::{Estimate, Median, MethodFigures};

impl Page<'_> {
    pub(super) fn prediction(&self) -> Section {
        let mut table = Table {
            title: "Perplexity".to_owned(),
            note: format!(
                "For each code present in held-out records that break no rule; lower is better. \
                 Nats of static codes, encounter codes, END, time and values apart; perplexity is of the \
                 first three. {}",
                self.behind_trainings()
            ),
            columns: vec![
                Column::new("method"),
                Column::grouped("here", "perplexity"),
                Column::grouped("here", "static nats"),
                Column::grouped("here", "encounter nats"),
                Column::grouped("here", "END nats"),
                Column::grouped("here", "time nats"),
                Column::grouped("here", "value nats"),
                Column::grouped("paper", "perplexity"),
            ],
            rows: Vec::new(),
        };
        for (figures, said, ours) in self.rows() {
            let why = "records thrown away have no probability of their own";
            let mut cells = vec![Cell::text(&figures.title)];
            let found = &figures.over_trainings;
            match &figures.prediction {
                Some(first) => {
                    cells.push(match (found.perplexity, first.normalised) {
                        (Some(figure), false) => {
                            Cell::text(format!("({figure:.3}, not normalised)"))
                        }
                        (figure, _) => estimate_cell(figure, 3, "nothing predicted"),
                    });
                    cells.extend(found.nats.map(|nats| estimate_cell(nats, 0, "not measured")));
                }
                None => cells.extend((0..6).map(|_| Cell::missing(why))),
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
                title: figures.title.clone(),
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
            note: format!(
                "What each method trains for, in nats a record: for semantic loss with its penalty, for \
                 CCN its own loss, for methods with rules without what rules decide. Levels of \
                 different methods cannot be compared; shapes can.{}",
                match self.report.effort.trainings {
                    1 => "",
                    _ => " Of the first training of each.",
                }
            ),
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

    /// The learning rates that were tried; none where there was no choice.
    fn rates(&self) -> Option<Table> {
        let rows = || self.rows().filter(|(figures, ..)| !figures.tried_rates.is_empty());
        let (first, ..) = rows().next()?;
        let mut columns = vec![Column::new("method"), Column::new("learning rate taken")];
        let tried = first.tried_rates.iter().map(|tried| match tried.times {
            1.0 => Column::grouped("tuning nats", "at the usual rate"),
            times => Column::grouped("tuning nats", format!("at {times} times that")),
        });
        columns.extend(tried);
        let row = |(figures, _, ours): (&MethodFigures, _, _)| {
            let nats = figures.tried_rates.iter().map(|tried| {
                let cell = Cell::number(tried.tuning_nats, 3);
                if tried.rate == figures.rate { cell.best() } else { cell }
            });
            let begin = [Cell::text(&figures.title), Cell::number(f64::from(figures.rate), 5)];
            self.row(ours, begin.into_iter().chain(nats).collect())
        };
        Some(Table {
            title: "Learning rates".to_owned(),
            note:
                "Every method was trained once at each rate, and goes on with the one whose best \
                   epoch costs a tuning record the fewest nats of what the method trains for. Nats \
                   of different methods need not compare."
                    .to_owned(),
            columns,
            rows: rows().map(row).collect(),
        })
    }

    /// What drew the records of which methods, in words, where it was not the CPU for all of them.
    fn drawn_on(&self) -> String {
        let methods = self.report.methods.iter();
        let on_gpu = |by: &String| by.starts_with("a GPU");
        let drawn: Vec<String> = methods
            .filter_map(|one| {
                let by = one.generation.drawn_by.iter().find(|by| on_gpu(by))?;
                Some(format!("{} by {by}", one.title))
            })
            .collect();
        match drawn.is_empty() {
            true => String::new(),
            false => format!(" Drawn by the CPU, but for {}.", drawn.join(", ")),
        }
    }

    /// What the networks trained on, in words.
    fn trained_on(&self) -> String {
        let threads = format!("{} threads of a CPU", self.report.threads);
        let devices = self.report.methods.iter().map(|method| method.training.device.as_str());
        let mut gpus: Vec<&str> = devices.filter(|device| device.starts_with("GPU")).collect();
        gpus.sort_unstable();
        gpus.dedup();
        match gpus.is_empty() {
            true => format!("On {threads}"),
            false => format!("On {}, and on {threads} what it cannot do", gpus.join(", ")),
        }
    }

    pub(super) fn clock(&self) -> Section {
        let plain = published(Method::Vanilla, self.paper_cohort());
        let mut training = Table {
            title: "Training".to_owned(),
            note: format!(
                "{}; the paper's on a Tesla P100. Epochs until the tuning split \
                 was predicted no better. Times vanilla: an epoch, on the same network. {}",
                self.trained_on(),
                self.behind_trainings()
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
            note: format!(
                "Milliseconds a record, and how that compares with vanilla on the same network, \
                 generation by generation.{} Records begun: for each that was kept. {}",
                self.drawn_on(),
                self.behind()
            ),
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
        let none = "vanilla was not measured";
        let several = self.report.effort.trainings > 1;
        let mut bars = [Vec::new(), Vec::new()];
        for (figures, said, ours) in self.rows() {
            let (found, lesson) = (&figures.generation, &figures.over_trainings);
            training.rows.push(self.row(
                ours,
                vec![
                    Cell::text(&figures.title),
                    estimate_cell(lesson.seconds, 1, "not measured"),
                    estimate_cell(lesson.epochs, if several { 1 } else { 0 }, "not measured"),
                    estimate_cell(lesson.seconds_per_epoch, 2, "not measured"),
                    estimate_cell(lesson.times_vanilla, 2, none),
                    Cell::number(said.training_seconds / plain.training_seconds, 2),
                ],
            ));
            writing.rows.push(self.row(
                ours,
                vec![
                    Cell::text(&figures.title),
                    estimate_cell(found.milliseconds, 4, "not measured"),
                    estimate_cell(found.times_vanilla, 3, none),
                    found.median_times_vanilla.map_or_else(
                        || Cell::missing(none),
                        |Median { median, low, high, .. }| {
                            Cell::text(format!("{median:.3} ({low:.3} to {high:.3})"))
                        },
                    ),
                    estimate_cell(found.attempts, 2, "not measured"),
                    Cell::number(said.generation_seconds / plain.generation_seconds, 2),
                ],
            ));
            let values = [lesson.seconds_per_epoch, found.milliseconds]
                .map(|figure| measure(figure.map(Estimate::interval)));
            for (bars, value) in bars.iter_mut().zip(values) {
                let label = figures.title.clone();
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
            note: format!("Training: {} Generation: {}", self.behind_trainings(), self.behind()),
            panels: panels.into_iter().map(panel).collect(),
        };
        let mut blocks = vec![Block::Table(training), Block::Table(writing), Block::Bars(plot)];
        blocks.extend(self.rates().map(Block::Table));
        Section::new("clock", "Who is fast", blocks)
    }

    pub(super) fn utility_and_privacy(&self) -> Section {
        let effort = &self.report.effort;
        let runs = effort.deep_runs.min(effort.runs);
        let over = behind(effort.trainings.min(runs), runs);
        let mut useful = Table {
            title: "What they are good for".to_owned(),
            note: format!(
                "The next encounter's codes predicted in held-out records, by regressions trained on \
                 generated records. {over}"
            ),
            columns: ["method", "AUROC", "average precision"].map(Column::new).to_vec(),
            rows: Vec::new(),
        };
        let mut private = Table {
            title: "What they give away".to_owned(),
            note: format!(
                "Nearer to train: the share of generated records nearer to a train record than to \
                 any of as many held-out ones. Membership: AUROC of telling train records from \
                 held-out ones. Of both, 0.5 gives nothing away. Attributes: F1 of sensitive \
                 codes read off the nearest record. {over}"
            ),
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
                    Cell::text(&figures.title),
                    estimate_cell(found.auroc[0], 4, none),
                    estimate_cell(found.average_precision[0], 4, none),
                ],
            ));
            private.rows.push(self.row(
                ours,
                vec![
                    Cell::text(&figures.title),
                    estimate_cell(found.closer_to_train, 4, none),
                    estimate_cell(found.copies[0], 1, none),
                    estimate_cell(found.copies[1], 1, none),
                    estimate_cell(found.membership, 4, none),
                    estimate_cell(found.attributes[0], 4, none),
                ],
            ));
        }
        (1..3).for_each(|column| useful.mark_best(column, Better::Higher));
        if let Some(any) = self.report.methods.first() {
            let real = || Cell::text("real records instead");
            useful.rows.push(
                Row::new(vec![
                    real(),
                    estimate_cell(any.deep.auroc[1], 4, none),
                    estimate_cell(any.deep.average_precision[1], 4, none),
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
                    estimate_cell(any.deep.attributes[1], 4, none),
                ])
                .of_kind(RowKind::Reference),
            );
        }
        let title = "What the records are good for, and what they give away";
        let blocks = vec![Block::Table(useful), Block::Table(private)];
        Section::new("utility-privacy", title, blocks)
    }
}
