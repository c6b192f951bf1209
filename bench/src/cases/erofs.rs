//! `bench erofs`: EROFS images of ours and mkfs.erofs, by the kernel's drivers: sizes, cold reads, listings.
//!
//! Enters: sets and tools as for all of `bench`. Leaves: tables on the terminal and in target/bench/erofs.md.
//! **Invariant:** every image is mounted read-only behind a loop device of its own, whatever was in memory is
//! dropped before a cold figure, and all mounts are gone at the end. Needs root.

mod images;
mod listing;
mod reads;
mod sizes;

use crate::cases::setting::{Setting, understood};
use crate::workspace::Outcome;

/// Says how `bench erofs` is called.
const USAGE: &str = "\
usage: cargo xtask bench erofs [SET...] [--data DIR] [--peers DIR] [--work DIR] [--runs N] [--reads N]
                               [--sinter FILE] [--limit SECONDS] [--only sizes|reads|listing]

Sizes and cold reads of each SET (default: debian-rootfs below --data), listings of each (default:
tensorflow-rootfs), by the kernel's drivers. Needs root and loop devices.
";

/// The sets of each part unless others are named.
const READ: [&str; 1] = ["debian-rootfs"];
const LISTED: [&str; 1] = ["tensorflow-rootfs"];

/// Measures and shows.
pub fn bench(words: &[String]) -> Outcome {
    if words.iter().any(|word| word == "--help" || word == "-h") {
        print!("{USAGE}");
        return Ok(());
    }
    let (words, only) = one_part(words)?;
    let wanted = |part: &str| only.as_deref().is_none_or(|only| only == part);
    let setting = Setting::new("erofs", understood(&words, USAGE)?)?;
    setting.measure(|text| {
        for set in setting.sets(&READ)? {
            if wanted("sizes") {
                *text += &sizes::table(&setting, &set)?;
            }
            if wanted("reads") {
                *text += &reads::table(&setting, &set)?;
            }
        }
        for set in setting.sets(&LISTED)? {
            if wanted("listing") {
                *text += &listing::table(&setting, &set)?;
            }
        }
        Ok(())
    })
}

/// Takes the table out of the words that is asked for alone.
fn one_part(words: &[String]) -> Result<(Vec<String>, Option<String>), String> {
    const PARTS: [&str; 3] = ["sizes", "reads", "listing"];
    let mut words = words.to_vec();
    let Some(at) = words.iter().position(|word| word == "--only") else {
        return Ok((words, None));
    };
    let only = words.drain(at..words.len().min(at + 2)).nth(1);
    match only.filter(|part| PARTS.contains(&part.as_str())) {
        Some(part) => Ok((words, Some(part))),
        None => Err(format!("--only needs one of {PARTS:?}\n\n{USAGE}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_table_is_measured_if_asked() {
        let words = |text: &str| -> Vec<String> { text.split(' ').map(str::to_owned).collect() };
        let parts = one_part(&words("a --only reads --runs=5")).unwrap();
        assert_eq!(parts, (words("a --runs=5"), Some("reads".to_owned())));
        assert_eq!(one_part(&words("a")).unwrap(), (words("a"), None));
        for bad in ["--only", "--only x", "a --only"] {
            assert!(one_part(&words(bad)).is_err(), "{bad}");
        }
    }
}
