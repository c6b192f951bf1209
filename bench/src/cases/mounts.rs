//! The default image of each tool in its own driver, beside the kernel's own formats of the same
//! tree.
//!
//! **Invariant:** all drivers take turns at each workload, each on a new mount and cold; their
//! bytes were compared with the set before. A workload that exceeds the limit is shown as such.

mod drivers;
mod workloads;

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Instant;

use crate::bench::{Bench, Label};
use crate::case::Case;
use crate::harness::kernel::drop_caches;
use crate::harness::mounted::{places, same_bytes};
use crate::harness::sets::Set;
use crate::options::BenchOptions;
use crate::runner::{Measurement, Outcome};
use crate::tables::cells::SetCells;
use crate::tables::table::{figure, table};
use crate::tools::command::programs;
use drivers::{DRIVERS, Driver, FUSE, IMAGES, KERNEL, NATIVE, PEERS};
use workloads::{WORKLOADS, Workload, WorkloadFiles};

/// The case `mounts`.
pub struct Mounts;

const NAME: &str = "mounts";

/// The row with the size of a driver's image.
pub const IMAGE: &str = "image";

/// The figures of seconds, with those of the limit where it was exceeded.
const STATES: [(&str, &str); 2] = [("cold", "cold limit"), (WARM, "warm limit")];

const WARM: &str = "warm";

impl Case for Mounts {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "The default image of each tool in its own driver"
    }

    fn usual_sets(&self) -> &'static [&'static str] {
        &["perl-installs", "debian-desktop", "tensorflow-rootfs"]
    }

    fn needs_root(&self) -> bool {
        true
    }

    fn prepare<'a>(
        &self,
        bench: &'a Bench<'a>,
        set: &'a Set,
    ) -> Result<Vec<Measurement<'a>>, String> {
        let input = Rc::new(WorkloadFiles::of(set)?);
        let found = mountable(bench, set)?;
        let made_by = IMAGES.map(|(_, source)| source.command());
        let mut all = Vec::new();
        for workload in WORKLOADS {
            if !workload.is_possible(&input) || !is_asked(bench.options, workload) {
                continue;
            }
            for (driver, image) in &found {
                let (driver, image, input) = (*driver, image.clone(), Rc::clone(&input));
                all.push(Measurement {
                    record: bench.record(set, label(driver, workload.name(), &made_by)),
                    run: Box::new(move |_| measure(bench, driver, &image, workload, &input)),
                });
            }
        }
        for (driver, image) in found {
            all.push(Measurement {
                record: bench.record(set, label(driver, IMAGE.to_owned(), &made_by)),
                run: Box::new(move |_| {
                    let status = image.metadata();
                    let status = status.map_err(|e| format!("{}: {e}", image.display()))?;
                    Ok(Outcome::of(&[("size", status.len() as f64)]))
                }),
            });
        }
        Ok(all)
    }

    fn rows(&self, cells: &SetCells<'_>) -> Option<String> {
        let mut text = String::new();
        for (state, limit) in STATES {
            let row = |workload: Workload| row(cells, &workload.name(), state, limit);
            let rows: Vec<_> = WORKLOADS.into_iter().filter_map(row).collect();
            if rows.is_empty() {
                continue;
            }
            let mut header = vec![""];
            header.extend(DRIVERS.iter().map(|driver| driver.name));
            header.extend([
                "kernel/dwarfs",
                "kernel/1g,4w",
                "FUSE/dwarfs",
                "FUSE/1g,4w",
                "kernel/native",
            ]);
            text += &format!("Seconds, {state}:\n\n{}\n", table(&header, &rows));
        }
        (!text.is_empty()).then(|| text.trim_end().to_owned() + "\n")
    }
}

/// Returns what the row of a driver is recorded under.
fn label<'a>(driver: &'a Driver, row: String, made_by: &'a [&'a str]) -> Label<'a> {
    let command = driver.command.unwrap_or_default();
    Label {
        part: NAME,
        tool: driver.name,
        image: row,
        command,
        args: "",
        made_by,
        version_of: match programs(command).first() {
            // the driver of upstream belongs to its writer
            Some(&"dwarfs") => "mkdwarfs",
            Some(program) => program,
            None => "",
        },
    }
}

/// Returns whether its row is asked for.
fn is_asked(options: &BenchOptions, workload: Workload) -> bool {
    let name = workload.name();
    options.rows.is_empty() || options.rows.iter().any(|word| name.starts_with(word))
}

/// Makes the images of a set; returns the drivers that can mount one, and checks what they show.
fn mountable(bench: &Bench<'_>, set: &Set) -> Result<Vec<(&'static Driver, PathBuf)>, String> {
    let reads = places(&set.files, bench.options.reads);
    let mut found = Vec::new();
    for (name, source) in IMAGES {
        let of_image = DRIVERS.iter().filter(|driver| driver.image == name);
        let wanted = of_image.filter(|driver| driver.is_wanted(bench.options));
        let drivers: Vec<_> = wanted.filter(|driver| driver.can_run(bench)).collect();
        if drivers.is_empty() {
            continue;
        }
        let Some(image) = source.image(bench, set)? else {
            continue;
        };
        for driver in drivers {
            same_bytes(&set.dir, driver.mount(bench, &image)?.at(), &reads)?;
            found.push((driver, image.clone()));
        }
    }
    Ok(found)
}

/// Runs a workload on a new mount, and once more.
fn measure(
    bench: &Bench<'_>,
    driver: &Driver,
    image: &Path,
    workload: Workload,
    input: &WorkloadFiles,
) -> Result<Outcome, String> {
    drop_caches()?;
    let start = Instant::now();
    let mount = driver.start(bench, image)?;
    let mounting = start.elapsed().as_secs_f64();
    if !workload.counts_mounting() {
        drop_caches()?;
    }
    let limit = bench.options.limit as f64;
    let mut figures = Vec::new();
    for (state, exceeded) in STATES {
        if state == WARM && bench.options.cold {
            break;
        }
        match workload.run(bench, mount.at(), input)? {
            Some(seconds) if state != WARM && workload.counts_mounting() => {
                figures.push((state, mounting + seconds));
            }
            Some(seconds) => figures.push((state, seconds)),
            None => {
                // a mount is not warm after a run that was stopped
                figures.push((exceeded, limit));
                break;
            }
        }
    }
    Ok(Outcome::of(&figures))
}

/// Returns one row: seconds of each driver, and ratios. A limit that was exceeded counts as the
/// time, so that a ratio to it is an upper bound.
fn row(cells: &SetCells<'_>, workload: &str, state: &str, limit: &str) -> Option<Vec<String>> {
    let value = |index: usize| {
        let cell = cells.find(NAME, DRIVERS.get(index)?.name, workload)?;
        let exceeded = cell.median(limit);
        Some((cell.median(state).or(exceeded)?, exceeded.is_some()))
    };
    let shown = |index: usize| match value(index) {
        Some((limit, true)) => format!("> {limit:.0}"),
        value => figure(value.map(|(seconds, _)| seconds)),
    };
    let over = |part: usize, whole: Option<(f64, bool)>| match (value(part), whole) {
        (Some((part, _)), Some((whole, exceeded))) if whole > 0.0 => {
            let sign = if exceeded { "< " } else { "" };
            format!("{sign}{:.2}", part / whole)
        }
        _ => "-".into(),
    };
    let native = NATIVE.iter().filter_map(|&index| value(index));
    let fastest = native.min_by(|a, b| a.0.total_cmp(&b.0));
    if (0..DRIVERS.len()).all(|index| value(index).is_none()) {
        return None;
    }
    let mut row = vec![workload.to_owned()];
    row.extend((0..DRIVERS.len()).map(shown));
    for ours in [KERNEL, FUSE] {
        row.extend(PEERS.map(|peer| over(ours, value(peer))));
    }
    row.push(over(KERNEL, fastest));
    Some(row)
}
