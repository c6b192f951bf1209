//! `bench erofs`: EROFS images of ours and mkfs.erofs, by the kernel's drivers: sizes, cold reads, listings.
//!
//! Enters: sets and tools as for all of `bench`. Leaves: tables on the terminal and in target/bench/erofs.md.
//! **Invariant:** every image is mounted read-only behind a loop device of its own, whatever was in memory is
//! dropped before a cold figure, and all mounts are gone at the end. Needs root.

mod images;
mod listing;
mod reads;
mod sizes;

use super::setting::{Setting, understood};
use crate::run::Outcome;

/// Says how `bench erofs` is called.
const USAGE: &str = "\
usage: cargo xtask bench erofs [SET...] [--data DIR] [--peers DIR] [--work DIR] [--runs N] [--reads N]
                               [--sinter FILE] [--limit SECONDS]

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
    let setting = Setting::new("erofs", understood(words, USAGE)?)?;
    setting.measure(|text| {
        for set in setting.sets(&READ)? {
            *text += &sizes::table(&setting, &set)?;
            *text += &reads::table(&setting, &set)?;
        }
        for set in setting.sets(&LISTED)? {
            *text += &listing::table(&setting, &set)?;
        }
        Ok(())
    })
}
