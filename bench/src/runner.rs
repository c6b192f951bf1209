//! Runs cases in turn: A B C A B C ..., so that what disturbs the machine hits all of them.
//!
//! **Invariant:** each run's result is stored at once; a case that fails is reported and left out
//! of the following rounds, and the others go on. A signal ends the rounds.

use std::collections::BTreeSet;

use crate::harness::interrupt;
use crate::results::{Figures, Record, Store};

/// Something that is run and measured.
pub struct Case<'a> {
    /// What it is: the record without figures.
    pub record: Record,
    /// Runs it once.
    pub run: Box<dyn Fn(Once) -> Result<Outcome, String> + 'a>,
}

/// Whether to do, besides measuring, what needs doing once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Once {
    Now,
    Done,
}

/// What a run gave.
#[derive(Debug, Default)]
pub struct Outcome {
    pub figures: Figures,
    /// What was wrong with the result, if anything.
    pub wrong: Option<String>,
}

impl Outcome {
    /// Makes one of named figures.
    pub fn of(figures: &[(&str, f64)]) -> Self {
        Self {
            figures: figures
                .iter()
                .map(|(name, value)| ((*name).to_owned(), *value))
                .collect(),
            wrong: None,
        }
    }
}

/// Runs all cases so many times in turn; tells the indices of those that failed.
pub fn in_turn(
    cases: &[Case<'_>],
    rounds: usize,
    store: &Store,
) -> Result<BTreeSet<usize>, String> {
    let mut failed = BTreeSet::new();
    for round in 1..=rounds {
        for (index, case) in cases.iter().enumerate() {
            interrupt::check()?;
            if failed.contains(&index) {
                continue;
            }
            let subject = &case.record.subject;
            let title = format!(
                "{} {} [{round}/{rounds}] {}",
                subject.part,
                subject.set,
                title(&subject.tool, &subject.image)
            );
            let once = if round == 1 { Once::Now } else { Once::Done };
            match (case.run)(once) {
                Ok(outcome) => {
                    println!("{title}: {}", line(&outcome.figures));
                    if let Some(wrong) = &outcome.wrong {
                        println!("{title}: WRONG: {wrong}");
                        failed.insert(index);
                    }
                    let mut record = case.record.clone();
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
    Ok(failed)
}

/// Names a tool and the image that it works on; the builder of an image alone.
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
    fn cases_take_turns_and_failures_stop_only_themselves() {
        let path = crate::workspace::target().join(format!("turns-{}.jsonl", std::process::id()));
        let store = Store::new(path.clone());
        let order = RefCell::new(String::new());
        let case = |name: &'static str, works: bool| Case {
            record: record("s", "build", name, &[]),
            run: Box::new({
                let order = &order;
                move |once| {
                    order.borrow_mut().push_str(name);
                    if once == Once::Now {
                        order.borrow_mut().push('!');
                    }
                    if !works {
                        return Err("no".into());
                    }
                    Ok(Outcome::of(&[("wall", 1.0)]))
                }
            }),
        };
        let cases = [case("a", true), case("b", false), case("c", true)];
        let failed = in_turn(&cases, 2, &store).unwrap();
        assert_eq!(failed.into_iter().collect::<Vec<_>>(), [1]);
        assert_eq!(*order.borrow(), "a!b!c!ac");
        assert_eq!(store.load().unwrap().len(), 4);
        std::fs::remove_file(path).unwrap();
    }
}
