//! Takes measurements in turn: A B C A B C ..., so that a disturbance of the machine hits all.
//!
//! **Invariant:** each result is stored at once; a measurement that fails is reported and left out
//! of the following rounds, and the others go on. A signal ends the rounds.

use std::collections::BTreeSet;

use crate::harness::interrupt;
use crate::results::{Figures, Record, Store};

/// Something that is run and measured.
pub struct Measurement<'a> {
    /// The record, without figures.
    pub record: Record,
    /// Runs it once.
    pub run: Box<dyn Fn(Round) -> Result<Outcome, String> + 'a>,
}

/// Whether a round also has to do what is done once, such as comparing all bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Round {
    First,
    Later,
}

/// The result of one run.
#[derive(Debug, Default)]
pub struct Outcome {
    pub figures: Figures,
    /// What was wrong with the result, if anything.
    pub wrong: Option<String>,
}

impl Outcome {
    /// Makes an outcome of named figures.
    pub fn of(figures: &[(&str, f64)]) -> Self {
        let mut outcome = Self {
            figures: Figures::new(),
            wrong: None,
        };
        outcome.add(figures);
        outcome
    }

    /// Adds further figures.
    pub fn add(&mut self, figures: &[(&str, f64)]) {
        let named = figures
            .iter()
            .map(|(name, value)| ((*name).to_owned(), *value));
        self.figures.extend(named);
    }
}

/// Runs all measurements `rounds` times in turn; returns the images of those that failed.
pub fn in_turn(
    all: &[Measurement<'_>],
    rounds: usize,
    store: &Store,
) -> Result<BTreeSet<String>, String> {
    let mut failed = BTreeSet::new();
    for round in 1..=rounds {
        for (index, measurement) in all.iter().enumerate() {
            interrupt::check()?;
            if failed.contains(&index) {
                continue;
            }
            let subject = &measurement.record.subject;
            let title = format!(
                "{} {} [{round}/{rounds}] {}",
                subject.part,
                subject.set,
                title(&subject.tool, &subject.image)
            );
            let round = if round == 1 {
                Round::First
            } else {
                Round::Later
            };
            match (measurement.run)(round) {
                Ok(outcome) => {
                    println!("{title}: {}", line(&outcome.figures));
                    if let Some(wrong) = &outcome.wrong {
                        println!("{title}: WRONG: {wrong}");
                        failed.insert(index);
                    }
                    let mut record = measurement.record.clone();
                    (record.figures, record.wrong) = (outcome.figures, outcome.wrong);
                    store.add(&record)?;
                }
                Err(why) => {
                    interrupt::check()?;
                    println!("{title}: FAILED, left out from here on: {why}");
                    failed.insert(index);
                }
            }
        }
    }
    let subject = |index: usize| &all[index].record.subject;
    let name = |index| format!("{}: {}", subject(index).set, subject(index).image);
    Ok(failed.into_iter().map(name).collect())
}

/// Names a tool and the image that it works on; for a builder, the image alone.
pub fn title(tool: &str, image: &str) -> String {
    if image.split(' ').next() == Some(tool) {
        image.to_owned()
    } else {
        format!("{tool} on {image}")
    }
}

fn line(figures: &Figures) -> String {
    let shown = |(name, value): (&String, &f64)| match name.as_str() {
        "size" | "peak" => format!("{name} {:.1} MB", value / 1e6),
        "bytes" | "reads" => format!("{name} {value}"),
        _ => format!("{name} {value:.4} s"),
    };
    figures.iter().map(shown).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::record;
    use std::cell::RefCell;

    #[test]
    fn measurements_take_turns_and_failures_stop_only_themselves() {
        let path = crate::workspace::target().join(format!("turns-{}.jsonl", std::process::id()));
        let store = Store::new(path.clone());
        let order = RefCell::new(String::new());
        let measurement = |name: &'static str, works: bool| Measurement {
            record: record("s", "build", name, &[]),
            run: Box::new({
                let order = &order;
                move |round| {
                    order.borrow_mut().push_str(name);
                    if round == Round::First {
                        order.borrow_mut().push('!');
                    }
                    if !works {
                        return Err("no".into());
                    }
                    Ok(Outcome::of(&[("wall", 1.0)]))
                }
            }),
        };
        let all = [
            measurement("a", true),
            measurement("b", false),
            measurement("c", true),
        ];
        let failed = in_turn(&all, 2, &store).unwrap();
        assert_eq!(failed.into_iter().collect::<Vec<_>>(), ["s: b"]);
        assert_eq!(*order.borrow(), "a!b!c!ac");
        assert_eq!(store.load().unwrap().len(), 4);
        std::fs::remove_file(path).unwrap();
    }
}
