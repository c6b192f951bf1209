//! Mounts of images by all drivers of their format: reading everything, and reading at random.

use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::bench::{Bench, Label};
use crate::case::Case;
use crate::harness::mounted::{self, Mounted};
use crate::harness::sets::Set;
use crate::results::Record;
use crate::runner::{Measurement, Outcome};
use crate::tables::cells::{Column, Counterpart, SetCells, Unit};
use crate::tools::command::{fill, quoted};
use crate::tools::tool::Tool;

/// The case `mount`: the time until a mount can be used, then every file read in order.
pub struct ReadAll;

/// The case `random-read`: cold reads of 4 KiB at random places.
pub struct RandomRead;

/// How a mount is started whose image is not in the page cache.
pub struct ColdMount<'a> {
    bench: &'a Bench<'a>,
    tool: &'static Tool,
    image: PathBuf,
    command: String,
    at: PathBuf,
    /// The path whose attributes show that the mount works.
    first: PathBuf,
}

impl ColdMount<'_> {
    /// Mounts; also returns the seconds that it took.
    pub fn start(&self) -> Result<(Mounted, f64), String> {
        mounted::make_cold(&self.image);
        // the programs of the tool are to be in the page cache
        let _ = self
            .bench
            .shell()
            .run(&format!("{} || true", self.tool.version));
        Mounted::start(&self.bench.shell(), &self.command, &self.at, &self.first)
    }
}

/// Returns all pairs of an image of a set and a tool that mounts it, with their records.
pub fn cold_mounts<'a>(
    bench: &'a Bench<'a>,
    set: &Set,
    part: &str,
) -> Result<Vec<(Record, ColdMount<'a>)>, String> {
    let Some(first) = set.files.first() else {
        println!("{}: no files to read", set.name);
        return Ok(Vec::new());
    };
    let at = bench.work.join("mnt");
    let mut mounts = Vec::new();
    for (builder, image) in bench.images(set)? {
        for tool in bench.readers(builder.tool, |tool| tool.mount) {
            let places = [("image", &*quoted(&image)), ("mountpoint", &quoted(&at))];
            let label = Label {
                part,
                tool: tool.name,
                image: builder.name(),
                command: tool.mount,
                args: builder.variant.args,
                made_by: &[builder.tool.build],
                version_of: tool.name,
            };
            let mount = ColdMount {
                bench,
                tool,
                command: fill(tool.mount, &places, bench.options.jobs),
                image: image.clone(),
                at: at.clone(),
                first: first.path.clone(),
            };
            mounts.push((bench.record(set, label), mount));
        }
    }
    Ok(mounts)
}

impl Case for ReadAll {
    fn name(&self) -> &'static str {
        "mount"
    }

    fn title(&self) -> &'static str {
        "Mounting and reading every file"
    }

    fn prepare<'a>(
        &self,
        bench: &'a Bench<'a>,
        set: &'a Set,
    ) -> Result<Vec<Measurement<'a>>, String> {
        let measurement = |(record, mount): (Record, ColdMount<'a>)| Measurement {
            record,
            run: Box::new(move |_| {
                let (mounted, ready) = mount.start()?;
                let start = Instant::now();
                let bytes = mounted.read_all(&set.files)?;
                let wall = start.elapsed().as_secs_f64();
                if bytes != set.bytes {
                    return Err(format!("{bytes} bytes instead of {}", set.bytes));
                }
                Ok(with_daemon(
                    &mounted,
                    vec![("ready", ready), ("wall", wall)],
                ))
            }),
        };
        let mounts = cold_mounts(bench, set, self.name())?;
        Ok(mounts.into_iter().map(measurement).collect())
    }

    fn rows(&self, cells: &SetCells<'_>) -> Option<String> {
        const COLUMNS: &[Column] = &[
            Column::new("ready", "ready", Unit::Milliseconds),
            Column::new("read all", "wall", Unit::Seconds),
            Column::new("CPU", "cpu", Unit::Seconds),
            Column::new("peak", "peak", Unit::Megabytes),
        ];
        cells.compared("mounted by", self.name(), COLUMNS, Counterpart::SameImage)
    }
}

impl Case for RandomRead {
    fn name(&self) -> &'static str {
        "random-read"
    }

    fn title(&self) -> &'static str {
        "Cold random reads of 4 KiB"
    }

    fn prepare<'a>(
        &self,
        bench: &'a Bench<'a>,
        set: &'a Set,
    ) -> Result<Vec<Measurement<'a>>, String> {
        let measurement = |(record, mount): (Record, ColdMount<'a>)| Measurement {
            record,
            run: Box::new(move |_| {
                let (mounted, _) = mount.start()?;
                let dir: &Path = &set.dir;
                let seconds = mounted.read_at_random(dir, &set.files, bench.options.reads)?;
                Ok(with_daemon(&mounted, mounted::latencies(&seconds).to_vec()))
            }),
        };
        let mounts = cold_mounts(bench, set, self.name())?;
        Ok(mounts.into_iter().map(measurement).collect())
    }

    fn rows(&self, cells: &SetCells<'_>) -> Option<String> {
        const COLUMNS: &[Column] = &[
            Column::alone("reads", "reads", Unit::Count),
            Column::new("mean", "mean", Unit::Milliseconds),
            Column::alone("median", "median", Unit::Milliseconds),
            Column::new("p95", "p95", Unit::Milliseconds),
            Column::new("CPU", "cpu", Unit::Seconds),
            Column::new("peak", "peak", Unit::Megabytes),
        ];
        cells.compared("mounted by", self.name(), COLUMNS, Counterpart::SameImage)
    }
}

fn with_daemon(mounted: &Mounted, mut figures: Vec<(&'static str, f64)>) -> Outcome {
    figures.extend([("cpu", mounted.cpu()), ("peak", mounted.peak())]);
    Outcome::of(&figures)
}
