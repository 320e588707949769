//! Our half of the comparison with the reference's way on the CPU; `speed_cpu.py` is the other.
//!
//! `speed_cpu [--tiny]` answers the lines that it reads with a line of JSON each:
//! `weights PROBABILITIES FILE` writes a network's weights and tells its sizes; `logits PROBABILITIES` tells
//! logits for a few records; `generate PROBABILITIES SEED BATCH RECORDS` writes records without rules;
//! `rules PROBABILITIES ROUNDS BATCH RECORDS` writes them without and with rules in turn; `records LENGTH
//! STEP` tells the records of a step of training, `learn LENGTH STEP` takes it; `memory` tells the
//! most memory held so far. PROBABILITIES is `uniform`, `skewed` or `many_rules`, LENGTH `inpatient` or
//! `full`.

use std::io::{BufRead, Write};
use std::process::ExitCode;

use consequence_network::{Shape, TrainingPass};
use consequence_studies::speed_cpu::{
    Probabilities, Scale, Subject, Training, Writing, full, peak_memory,
};
use serde_json::{Value, json};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let scale = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => Scale::Paper,
        ["--tiny"] => Scale::Tiny,
        _ => {
            eprintln!("usage: speed_cpu [--tiny], with questions on stdin");
            return ExitCode::from(2);
        }
    };
    let mut desk = Desk { scale, subject: None, writing: None, training: None };
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("a question");
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(answer) = desk.answer(&words) else {
            eprintln!("not understood: {line}");
            return ExitCode::from(2);
        };
        println!("{answer}");
        std::io::stdout().flush().expect("someone to answer");
    }
    ExitCode::SUCCESS
}

/// What was made last, in case it is asked for again.
struct Desk {
    scale: Scale,
    subject: Option<(Probabilities, Subject)>,
    writing: Option<(Probabilities, Writing)>,
    training: Option<Training>,
}

impl Desk {
    fn answer(&mut self, words: &[&str]) -> Option<Value> {
        Some(match words {
            ["weights", probabilities, file] => {
                let network = &self.subject(probabilities.parse().ok()?).network;
                let bytes = network.weights().to_safetensors().expect("weights have a file");
                std::fs::write(file, bytes).expect("the file can be written");
                let Shape::Halo(shape) = network.weights().shape() else { return None };
                let codes = network.codes();
                json!({
                    "codes": shape.codes, "positions": shape.positions, "width": shape.width,
                    "layers": shape.layers, "heads": shape.heads, "statics": codes.statics(),
                    "end": codes.end(), "start": codes.len(),
                })
            }
            ["logits", probabilities] => self.logits(probabilities.parse().ok()?),
            ["generate", probabilities, seed, batch, records] => {
                let writing = self.writing(probabilities.parse().ok()?);
                let run =
                    writing.plain(seed.parse().ok()?, batch.parse().ok()?, records.parse().ok()?);
                json!(run)
            }
            ["rules", probabilities, rounds, batch, records] => {
                let writing = self.writing(probabilities.parse().ok()?);
                let rounds = writing.rounds(
                    rounds.parse().ok()?,
                    batch.parse().ok()?,
                    records.parse().ok()?,
                );
                json!({"rules": writing.rules(), "rounds": rounds})
            }
            ["records", length, step] => {
                json!(self.training().records(length.parse().ok()?, step.parse().ok()?))
            }
            ["learn", length, step] => {
                let training = self.training();
                let records = training.records(length.parse().ok()?, step.parse().ok()?);
                let (seconds, nats) = training.step(&records);
                json!({"seconds": seconds, "nats": nats})
            }
            ["memory"] => json!(peak_memory()),
            _ => return None,
        })
    }

    fn subject(&mut self, probabilities: Probabilities) -> &Subject {
        if self.subject.as_ref().is_none_or(|(made, _)| *made != probabilities) {
            self.subject = None;
            self.subject = Some((probabilities, Subject::new(probabilities, self.scale)));
        }
        &self.subject.as_ref().expect("made above").1
    }

    fn writing(&mut self, probabilities: Probabilities) -> &Writing {
        if self.writing.as_ref().is_none_or(|(made, _)| *made != probabilities) {
            self.writing = None;
            let subject = self.subject(probabilities);
            let writing = Writing::new(&subject.network, subject.rules.clone());
            self.writing = Some((probabilities, writing));
        }
        &self.writing.as_ref().expect("made above").1
    }

    fn training(&mut self) -> &mut Training {
        if self.training.is_none() {
            let network = self.subject(Probabilities::Skewed).network.clone();
            self.training = Some(Training::new(network));
        }
        self.training.as_mut().expect("made above")
    }

    /// Logits of all codes that a visit may hold, for the visits of a few records.
    fn logits(&mut self, probabilities: Probabilities) -> Value {
        let network = &self.subject(probabilities).network;
        let mut records: Vec<_> = (0..6).map(|record| full(network, record)).collect();
        for (short, record) in records.iter_mut().skip(1).enumerate() {
            record.truncate(short + 2);
        }
        let mut batch = network.batch();
        for record in &records {
            batch.begin();
            for (visit, positions) in record.iter().enumerate() {
                let range = network.codes().range(visit);
                let codes = range.start as usize..range.end as usize;
                batch.push(codes, positions.iter().copied(), []);
            }
        }
        let logits = TrainingPass::default().logits(network.weights(), &batch);
        json!({"records": records, "logits": logits})
    }
}
