//! The same tree in every format that we write, beside the tools of each format: size, build,
//! extraction, and all files read through a mount.
//!
//! **Invariant:** each image is made, extracted and mounted in one measurement, so that all ways
//! take turns; what is extracted first is compared with the tree.

use std::path::PathBuf;
use std::time::Instant;

use crate::bench::{Bench, Label, remove};
use crate::case::Case;
use crate::harness::mounted::{Mounted, make_cold};
use crate::harness::sets::Set;
use crate::harness::trees;
use crate::results::Cell;
use crate::runner::{Measurement, Outcome, Round};
use crate::tables::cells::SetCells;
use crate::tables::table::{figure, megabytes, ratio, table};
use crate::tools::command::{fill, quoted};

/// The case `formats`.
pub struct Formats;

const NAME: &str = "formats";

/// One way to make and read images. Places of command lines are those of tools; `{device}` is an
/// ISO 9660 image of the tree without compression, which devices are made of.
struct FormatWay {
    name: &'static str,
    /// The tool, by its name in the catalog if it is there.
    tool: &'static str,
    build: &'static str,
    /// Empty for what cannot unpack a tree.
    extract: &'static str,
    mount: &'static str,
    /// The index of the other tool's way that this one of ours is divided by.
    beside: Option<usize>,
}

const EXTRACT: &str = "sinter extract -q {image} -o {out}";

const MOUNT: &str = "sinter mount --foreground {image} {mountpoint}";

const fn ours(name: &'static str, build: &'static str, beside: Option<usize>) -> FormatWay {
    FormatWay {
        name,
        tool: "sinter",
        build,
        extract: EXTRACT,
        mount: MOUNT,
        beside,
    }
}

const WAYS: [FormatWay; 17] = [
    ours(
        "DwarFS",
        "sinter build -q --force -f dwarfs {dir} -o {image}",
        None,
    ),
    ours(
        "DwarFS, --for archive",
        "sinter build -q --force -f dwarfs --for archive {dir} -o {image}",
        None,
    ),
    ours(
        "SquashFS",
        "sinter build -q --force -f squashfs {dir} -o {image}",
        None,
    ),
    ours(
        "EROFS",
        "sinter build -q --force -f erofs {dir} -o {image}",
        None,
    ),
    ours(
        "CRAMFS",
        "sinter build -q --force -f cramfs {dir} -o {image}",
        Some(11),
    ),
    ours(
        "ISO 9660",
        "sinter build -q --force -f iso {dir} -o {image}",
        None,
    ),
    ours(
        "ISO 9660, zisofs",
        "sinter build -q --force -f iso -l9 {dir} -o {image}",
        Some(12),
    ),
    ours(
        "WIM, LZX",
        "sinter build -q --force -f wim {dir} -o {image}",
        Some(13),
    ),
    ours(
        "WIM, solid LZMS",
        "sinter build -q --force -f wim -l9 {dir} -o {image}",
        Some(14),
    ),
    ours(
        "cloop 2 of an ISO 9660",
        "sinter cloop --force {device} -o {image}",
        Some(15),
    ),
    ours(
        "cloop 4 (xz) of an ISO 9660",
        "sinter cloop --force -C xz -l 6 {device} -o {image}",
        None,
    ),
    FormatWay {
        name: "CRAMFS, mkfs.cramfs",
        tool: "mkfs.cramfs",
        build: "mkfs.cramfs {dir} {image}",
        extract: "fsck.cramfs --extract={out} {image}",
        mount: "",
        beside: None,
    },
    FormatWay {
        name: "ISO 9660, zisofs, xorriso",
        tool: "xorriso",
        build: "xorriso -report_about SORRY -outdev stdio:{image} -zisofs level=9:block_size=128k \
                -joliet on -map {dir} / -find / -type f -exec set_filter --zisofs -- -commit",
        extract: "xorriso -report_about SORRY -osirrox on -indev stdio:{image} -extract / {out}",
        mount: "",
        beside: None,
    },
    FormatWay {
        name: "WIM, LZX, wimlib",
        tool: "wimlib-imagex",
        build: "wimlib-imagex capture {dir} {image} --unix-data --compress=LZX --quiet",
        extract: "mkdir {out} && wimlib-imagex apply {image} 1 {out} --unix-data --quiet",
        mount: WIM_MOUNT,
        beside: None,
    },
    FormatWay {
        name: "WIM, solid LZMS, wimlib",
        tool: "wimlib-imagex",
        build: "wimlib-imagex capture {dir} {image} --unix-data --solid --quiet",
        extract: "mkdir {out} && wimlib-imagex apply {image} 1 {out} --unix-data --quiet",
        mount: WIM_MOUNT,
        beside: None,
    },
    FormatWay {
        name: "cloop 2, create_compressed_fs",
        tool: "create_compressed_fs",
        build: "create_compressed_fs -q -B 65536 {device} {image}",
        extract: "",
        mount: "",
        beside: None,
    },
    FormatWay {
        name: "tar+zstd -19",
        tool: "tar+zstd",
        build: "tar -C {dir} --sort=name -c . | zstd -q -f --long=27 -T{jobs} -19 -o {image}",
        extract: "mkdir {out} && zstd -q -d --long=27 -c {image} | tar -C {out} -xp",
        mount: "",
        beside: None,
    },
];

/// Goes to the background by itself; stays until it is unmounted, as the others do.
const WIM_MOUNT: &str = "sh -ec \"wimlib-imagex mount {image} 1 {mountpoint} --unix-data; \
                         while mountpoint -q {mountpoint}; do sleep 0.05; done\"";

/// The command that makes the device.
const DEVICE: &str = "sinter build -q --force -f iso -l0 {dir} -o {image}";

impl Case for Formats {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "Every format that is written"
    }

    fn usual_sets(&self) -> &'static [&'static str] {
        &["debian-rootfs"]
    }

    fn prepare<'a>(
        &self,
        bench: &'a Bench<'a>,
        set: &'a Set,
    ) -> Result<Vec<Measurement<'a>>, String> {
        let device = bench.made.join("device.iso");
        let places = [("dir", &*quoted(&set.dir)), ("image", &quoted(&device))];
        bench.prepare(DEVICE, &places)?;
        let mut all = Vec::new();
        for (number, way) in WAYS.iter().enumerate() {
            if !bench.installed.can_run(way.build) {
                println!("{}: not measured, its program is not installed", way.name);
                continue;
            }
            let label = Label {
                part: NAME,
                tool: way.tool,
                image: way.name.to_owned(),
                command: way.build,
                args: "",
                made_by: &[way.extract, way.mount],
                version_of: way.tool,
            };
            let run = WayRun {
                way,
                bench,
                set,
                image: bench.made.join(format!("format{number}")),
                device: device.clone(),
            };
            all.push(Measurement {
                record: bench.record(set, label),
                run: Box::new(move |round| run.measure(round)),
            });
        }
        Ok(all)
    }

    fn rows(&self, cells: &SetCells<'_>) -> Option<String> {
        let find = |way: &FormatWay| cells.find(NAME, way.tool, way.name);
        let rows: Vec<_> = WAYS.iter().filter_map(find).map(row).collect();
        let header = [
            "image",
            "MB",
            "build: s",
            "CPU s",
            "peak MB",
            "extract: s",
            "CPU s",
            "mount, read: s",
        ];
        (!rows.is_empty()).then(|| table(&header, &rows) + "\n" + &ratios(cells))
    }
}

fn row(cell: &Cell) -> Vec<String> {
    let shown = |name: &str| figure(cell.median(name));
    vec![
        cell.subject.image.clone(),
        megabytes(cell.median("size")),
        shown("wall"),
        shown("cpu"),
        megabytes(cell.median("peak")),
        shown("extract"),
        shown("extract cpu"),
        shown("read"),
    ]
}

fn ratios(cells: &SetCells<'_>) -> String {
    let mut rows = Vec::new();
    for way in &WAYS {
        let theirs = way.beside.and_then(|index| WAYS.get(index));
        let found = theirs.and_then(|theirs| {
            let ours = cells.find(NAME, way.tool, way.name)?;
            Some((ours, cells.find(NAME, theirs.tool, theirs.name)?))
        });
        let Some((ours, theirs)) = found else {
            continue;
        };
        let mut row = vec![ours.subject.image.clone(), theirs.subject.image.clone()];
        let figures = ["size", "wall", "cpu", "peak", "extract", "read"];
        row.extend(figures.map(|name| ratio(ours.median(name), theirs.median(name))));
        rows.push(row);
    }
    let header = [
        "ours",
        "divided by",
        "size",
        "build",
        "CPU",
        "peak",
        "extract",
        "mount, read",
    ];
    table(&header, &rows)
}

/// What one measurement of a way needs.
struct WayRun<'a> {
    way: &'static FormatWay,
    bench: &'a Bench<'a>,
    set: &'a Set,
    image: PathBuf,
    device: PathBuf,
}

impl WayRun<'_> {
    fn fill(&self, command: &str, place: &str, at: &std::path::Path) -> String {
        let places = [
            ("dir", &*quoted(&self.set.dir)),
            ("device", &quoted(&self.device)),
            ("image", &quoted(&self.image)),
            (place, &quoted(at)),
        ];
        fill(command, &places, self.bench.options.jobs)
    }

    fn measure(&self, round: Round) -> Result<Outcome, String> {
        let (bench, way) = (self.bench, self.way);
        let out = bench.work.join("extracted");
        let build = self.fill(way.build, "out", &out);
        let mut outcome = bench.build_once(&build, &self.image)?;
        if !way.extract.is_empty() && bench.installed.can_run(way.extract) {
            remove(&out);
            let cost = bench.shell().run(&self.fill(way.extract, "out", &out))?;
            outcome.add(&[("extract", cost.wall), ("extract cpu", cost.cpu)]);
            if round == Round::First {
                outcome.wrong = trees::equal(&self.set.dir, &out).err();
            }
            remove(&out);
        }
        if let Some(seconds) = self.read()? {
            outcome.add(&[("read", seconds)]);
        }
        remove(&self.image);
        Ok(outcome)
    }

    /// Mounts the image with nothing of it in memory and reads all files; nothing where it cannot
    /// be mounted.
    fn read(&self) -> Result<Option<f64>, String> {
        let Some(first) = self.set.files.first() else {
            return Ok(None);
        };
        if self.way.mount.is_empty() || !self.bench.installed.can_run(self.way.mount) {
            return Ok(None);
        }
        let at = self.bench.work.join("mnt");
        let command = self.fill(self.way.mount, "mountpoint", &at);
        make_cold(&self.image);
        let start = Instant::now();
        let shell = self.bench.shell();
        let (mounted, _) = Mounted::start(&shell, &command, &at, &first.path)?;
        let bytes = mounted.read_all(&self.set.files)?;
        let seconds = start.elapsed().as_secs_f64();
        drop(mounted);
        if bytes != self.set.bytes {
            return Err(format!("{bytes} bytes instead of {}", self.set.bytes));
        }
        Ok(Some(seconds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_are_divided_by_those_of_others() {
        for way in &WAYS {
            let theirs = way.beside.map(|index| &WAYS[index]);
            assert!(theirs.is_none_or(|theirs| theirs.tool != "sinter"));
            let format = way.name.split([',', ' ']).next();
            let other = theirs.map(|theirs| theirs.name.split([',', ' ']).next());
            assert!(other.is_none_or(|other| other == format), "{}", way.name);
        }
    }
}
