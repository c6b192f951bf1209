//! `bench mounts`: one DwarFS image by all that mount it, beside the kernel's own formats of the same tree.
//!
//! Enters: sets and tools as for all of `bench`. Leaves: tables on the terminal and in target/bench/mounts.md.
//! **Invariant:** all mounts take turns at each row, each anew and cold; what they show was compared with the
//! set before; a row that takes too long is shown as such, for whom it does. Needs root.

mod drivers;
mod workloads;

use std::path::PathBuf;

use crate::cases::setting::{Setting, understood};
use crate::harness::interrupt;
use crate::harness::mounted::{places, same_bytes};
use crate::harness::sets::Set;
use crate::harness::statistics::median;
use crate::report::table::{figure, table as lay_out};
use crate::workspace::Outcome;
use drivers::{DRIVERS, Driver, FUSE, IMAGES, KERNEL, NATIVE, PEERS};
use workloads::{ROWS, Row, Tree};

/// Says how `bench mounts` is called.
const USAGE: &str = "\
usage: cargo xtask bench mounts [SET...] [--data DIR] [--peers DIR] [--work DIR] [--runs N] [--reads N]
                                [--sinter FILE] [--limit SECONDS]

What programs do with a mount, cold and warm, by one and by four at once: our image of the default level
through the kernel, through FUSE and by upstream's dwarfs (its defaults; 1 GiB and four workers), SquashFS
and EROFS by the kernel. SETs default to perl-installs, debian-desktop and tensorflow-rootfs below --data.
Images are best in memory: --work /dev/shm/... Needs root and loop devices.
";

/// Sets that are measured unless others are named.
const USUAL: [&str; 3] = ["perl-installs", "debian-desktop", "tensorflow-rootfs"];

/// Measures and shows.
pub fn bench(words: &[String]) -> Outcome {
    if words.iter().any(|word| word == "--help" || word == "-h") {
        print!("{USAGE}");
        return Ok(());
    }
    let setting = Setting::new("mounts", understood(words, USAGE)?)?;
    setting.measure(|text| {
        for set in setting.sets(&USUAL)? {
            *text += &table(&setting, &set)?;
        }
        Ok(())
    })
}

/// Seconds of a row by one driver, run by run; nothing where it took too long.
type Runs = Vec<Option<f64>>;

/// Cold and warm runs of each driver.
type Cells = Vec<[Runs; 2]>;

/// Makes the images of a set and does all rows on all mounts.
fn table(setting: &Setting, set: &Set) -> Result<String, String> {
    let tree = Tree::of(set)?;
    let mut images = Vec::new();
    for recipe in IMAGES {
        images.push(recipe.make(setting, set, recipe.driver)?);
    }
    let mounts = |driver: &Driver| {
        driver
            .image(&images)
            .filter(|_| driver.can(setting))
            .cloned()
    };
    let found: Vec<Option<PathBuf>> = DRIVERS.iter().map(mounts).collect();
    let reads = places(&tree.files, setting.options.reads);
    for (driver, image) in DRIVERS.iter().zip(&found) {
        if let Some(image) = image {
            same_bytes(&set.dir, driver.mount(setting, image)?.at(), &reads)?;
        }
    }
    let mut rows: Vec<(Row, Cells)> = Vec::new();
    for row in ROWS.into_iter().filter(|row| row.is_possible(&tree)) {
        rows.push((row, vec![Default::default(); DRIVERS.len()]));
    }
    for run in 0..setting.options.runs {
        for (row, cells) in &mut rows {
            println!("{}: run {}: {}", set.name, run + 1, row.name());
            for ((driver, image), cell) in DRIVERS.iter().zip(&found).zip(cells) {
                if let Some(image) = image {
                    measure(setting, (driver, image), (row, &tree), cell)?;
                }
            }
        }
    }
    Ok(show(setting, set, &rows))
}

/// Does a row on a new mount, and once more.
fn measure(
    setting: &Setting,
    (driver, image): (&Driver, &PathBuf),
    (row, tree): (&Row, &Tree),
    [cold, warm]: &mut [Runs; 2],
) -> Outcome {
    interrupt::check()?;
    let mount = driver.mount(setting, image)?;
    let first = row.run(setting, mount.at(), tree)?;
    cold.push(first);
    // what took too long is not warm either
    if first.is_some() {
        warm.push(row.run(setting, mount.at(), tree)?);
    }
    Ok(())
}

fn show(setting: &Setting, set: &Set, rows: &[(Row, Cells)]) -> String {
    let mut text = String::new();
    for (index, state) in ["cold", "warm"].into_iter().enumerate() {
        text += &format!(
            "\n## {}: {state} mounts, seconds\n\nMedians of {} runs. Above {} s nothing was waited for.\n\n",
            set.name, setting.options.runs, setting.options.limit
        );
        let mut header = vec![""];
        header.extend(DRIVERS.iter().map(|driver| driver.name));
        header.extend([
            "kernel/dwarfs",
            "kernel/1g,4w",
            "FUSE/dwarfs",
            "FUSE/1g,4w",
            "kernel/native",
        ]);
        let lines: Vec<Vec<String>> = rows
            .iter()
            .map(|(row, cells)| line(setting, row, cells, index))
            .collect();
        text += &lay_out(&header, &lines);
    }
    text
}

fn line(setting: &Setting, row: &Row, cells: &Cells, state: usize) -> Vec<String> {
    let limit = setting.options.limit as f64;
    // too long counts as the limit: a ratio to it is an upper bound
    let value = |index: usize| {
        let runs = &cells.get(index)?[state];
        median(
            &runs
                .iter()
                .map(|run| run.unwrap_or(limit))
                .collect::<Vec<_>>(),
        )
    };
    let shown = |index: usize| match value(index) {
        Some(value) if value >= limit => format!("> {limit:.0}"),
        value => figure(value),
    };
    let over = |part: usize, whole: Option<f64>| match (value(part), whole) {
        (Some(part), Some(whole)) if whole > 0.0 => {
            let sign = if whole >= limit { "< " } else { "" };
            format!("{sign}{:.2}", part / whole)
        }
        _ => "-".into(),
    };
    let native = NATIVE.iter().filter_map(|&index| value(index));
    let fastest = native.min_by(f64::total_cmp);
    let mut line = vec![row.name()];
    line.extend((0..DRIVERS.len()).map(shown));
    for ours in [KERNEL, FUSE] {
        line.extend(PEERS.map(|peer| over(ours, value(peer))));
    }
    line.push(over(KERNEL, fastest));
    line
}
