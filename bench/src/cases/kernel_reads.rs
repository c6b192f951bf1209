//! Cold reads by the kernel's drivers: all files in order, 4 KiB at random places, all metadata.
//!
//! **Invariant:** each is measured on a new mount with nothing of the image in memory; before that,
//! bytes at the random places and the lengths of listings are compared.

use std::path::{Path, PathBuf};

use super::kernel_images::{BESIDE, READ};
use crate::bench::{Bench, Label, length};
use crate::case::Case;
use crate::harness::interrupt;
use crate::harness::kernel::{Cost, Mount, list, make_cold};
use crate::harness::mounted::{places, read_4k, same_bytes};
use crate::harness::readers::read_through;
use crate::harness::sets::{File, Set};
use crate::recipe::Recipe;
use crate::results::Cell;
use crate::runner::{Measurement, Outcome};
use crate::tables::cells::SetCells;
use crate::tables::table::{figure, megabytes, ratio, table};

/// The case `reads`.
pub struct KernelReads;

const NAME: &str = "reads";

/// What is done with each image: the names of its figures for seconds and bytes.
const WAYS: [[&str; 2]; 3] = [
    ["all", "all read"],
    ["random", "random read"],
    ["list", "list read"],
];

/// Bytes that are read at once.
const UNIT: usize = 1 << 20;

impl Case for KernelReads {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "Cold reads by the kernel's drivers"
    }

    fn usual_sets(&self) -> &'static [&'static str] {
        &["debian-rootfs"]
    }

    fn needs_root(&self) -> bool {
        true
    }

    fn prepare<'a>(
        &self,
        bench: &'a Bench<'a>,
        set: &'a Set,
    ) -> Result<Vec<Measurement<'a>>, String> {
        let mut all = Vec::new();
        let mut lines = None;
        for (number, recipe) in READ.iter().enumerate() {
            let Some(file) = recipe.make(bench, set, &format!("image{number}"))? else {
                continue;
            };
            let image = TestImage { recipe, file };
            image.check(bench, set, &mut lines)?;
            let label = Label {
                part: NAME,
                tool: recipe.driver,
                image: recipe.name.to_owned(),
                command: recipe.command,
                args: "",
                made_by: &[],
                version_of: recipe.tool,
            };
            all.push(Measurement {
                record: bench.record(set, label),
                run: Box::new(move |_| image.read(bench, set)),
            });
        }
        Ok(all)
    }

    fn rows(&self, cells: &SetCells<'_>) -> Option<String> {
        let mut rows = Vec::new();
        for cell in READ.iter().filter_map(|recipe| find(cells, recipe)) {
            let scaled = |name: &str, by: f64| figure(cell.median(name).map(|value| value * by));
            let reads = cell.median("reads").unwrap_or(1.0).max(1.0);
            rows.push(vec![
                cell.subject.image.clone(),
                megabytes(cell.median("size")),
                scaled("all", 1.0),
                megabytes(cell.median("all read")),
                scaled("random", 1e3 / reads),
                scaled("random read", 1e-3 / reads),
                scaled("list", 1e3),
                scaled("list read", 1e-3),
            ]);
        }
        let header = [
            "image",
            "MB",
            "all files: s",
            "MB read",
            "4 KiB at random: ms",
            "KB read",
            "ls -lR: ms",
            "KB read",
        ];
        (!rows.is_empty()).then(|| table(&header, &rows) + "\n" + &ratios(cells))
    }
}

/// An image that was made.
struct TestImage {
    recipe: &'static Recipe<'static>,
    file: PathBuf,
}

impl TestImage {
    /// Mounts the image with nothing of it in memory: drivers cache decoded data per mount.
    fn mount(&self, bench: &Bench<'_>) -> Result<Mount, String> {
        let at = bench.work.join("mnt");
        let mount = Mount::image(self.recipe.driver, &self.file, &at)?;
        make_cold(&empty(bench)?).map(|()| mount)
    }

    /// Fails if the mount differs from the set, or its listing has another number of lines.
    fn check(&self, bench: &Bench<'_>, set: &Set, lines: &mut Option<usize>) -> Result<(), String> {
        let mount = self.mount(bench)?;
        same_bytes(
            &set.dir,
            mount.at(),
            &places(&set.files, bench.options.reads),
        )?;
        let found = list(mount.at())?;
        if *lines.get_or_insert(found) != found {
            return Err(format!("{}: a listing of {found} lines", self.recipe.name));
        }
        Ok(())
    }

    fn read(&self, bench: &Bench<'_>, set: &Set) -> Result<Outcome, String> {
        let reads = places(&set.files, bench.options.reads);
        let mut figures = vec![("size", length(&self.file)?), ("reads", reads.len() as f64)];
        for (way, [seconds, bytes]) in WAYS.into_iter().enumerate() {
            let mount = self.mount(bench)?;
            let cost = read(&mount, way, &set.files, &reads)?;
            figures.extend([(seconds, cost.seconds), (bytes, cost.read)]);
        }
        Ok(Outcome::of(&figures))
    }
}

fn read(mount: &Mount, way: usize, files: &[File], reads: &[(&File, u64)]) -> Result<Cost, String> {
    let at = mount.at();
    match way {
        0 => mount.measure(|| read_all(at, files)),
        1 => mount.measure(|| {
            let mut reads = reads.iter();
            reads.try_for_each(|(file, place)| read_4k(&at.join(&file.path), *place).map(drop))
        }),
        _ => mount.measure(|| list(at)),
    }
}

fn read_all(at: &Path, files: &[File]) -> Result<(), String> {
    files.iter().try_for_each(|file| {
        interrupt::check()?;
        read_through(&at.join(&file.path), file.size, UNIT)
    })
}

/// Returns an empty directory.
pub fn empty(bench: &Bench<'_>) -> Result<PathBuf, String> {
    let empty = bench.work.join("empty");
    let made = std::fs::create_dir_all(&empty);
    made.map_err(|e| format!("{}: {e}", empty.display()))?;
    Ok(empty)
}

fn find<'a>(cells: &SetCells<'a>, recipe: &Recipe<'_>) -> Option<&'a Cell> {
    cells.find(NAME, recipe.driver, recipe.name)
}

fn ratios(cells: &SetCells<'_>) -> String {
    let mut rows = Vec::new();
    for (ours, theirs) in BESIDE {
        let (Some(ours), Some(theirs)) = (find(cells, &READ[ours]), find(cells, &READ[theirs]))
        else {
            continue;
        };
        let mut row = vec![ours.subject.image.clone(), theirs.subject.image.clone()];
        let figures = WAYS.into_iter().flatten();
        row.extend(figures.map(|name| ratio(ours.median(name), theirs.median(name))));
        rows.push(row);
    }
    let header = [
        "ours",
        "beside",
        "all files: time",
        "bytes",
        "random: time",
        "bytes",
        "ls -lR: time",
        "bytes",
    ];
    table(&header, &rows)
}
