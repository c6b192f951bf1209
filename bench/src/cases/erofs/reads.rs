//! Cold reads by the kernel's drivers: all files in order, 4 KiB at random places, all metadata.
//!
//! **Invariant:** images are read in turn, so that whatever else the machine does befalls all of them.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::cases::erofs::images::{BESIDE, READ};
use crate::cases::recipe::{self, Recipe};
use crate::cases::setting::Setting;
use crate::harness::kernel::{Mount, Took, forget, list};
use crate::harness::mounted::{places, read_4k};
use crate::harness::sets::{self, Set};
use crate::harness::statistics::median;
use crate::report::table::{figure, megabytes, ratio, table as lay_out};

/// What is done with each image, in this order.
const WAYS: usize = 3;

/// An image and what reading it took.
struct Image<'a> {
    recipe: &'a Recipe<'a>,
    file: PathBuf,
    took: [Vec<Took>; WAYS],
}

/// Makes all images of a set and reads them in turn.
pub fn table(setting: &Setting, set: &Set) -> Result<String, String> {
    let files = sets::files(&set.dir)?;
    let reads = places(&files, setting.options.reads);
    let mut images = Vec::new();
    for (number, recipe) in READ.iter().enumerate() {
        let file = recipe.make(setting, set, &format!("image{number}"))?;
        images.push(file.map(|file| Image {
            recipe,
            file,
            took: Default::default(),
        }));
    }
    check(setting, set, &images, &reads)?;
    let runs = setting.rounds(|| {
        for way in 0..WAYS {
            for image in images.iter_mut().flatten() {
                let took = image.read(setting, way, &files, &reads)?;
                if let Some(all) = image.took.get_mut(way) {
                    all.push(took);
                }
            }
        }
        Ok(())
    })?;
    show(runs, set, &images, reads.len())
}

impl Image<'_> {
    /// Mounts the image with nothing of it in memory. Drivers keep what they decoded as long as they are
    /// mounted.
    fn fresh(&self, setting: &Setting) -> Result<Mount, String> {
        let at = setting.work.join("mnt");
        let mount = Mount::image(self.recipe.driver, &self.file, &at)?;
        forget(&setting.empty()?).map(|()| mount)
    }

    fn read(
        &self,
        setting: &Setting,
        way: usize,
        files: &[sets::File],
        reads: &[(&sets::File, u64)],
    ) -> Result<Took, String> {
        let mount = self.fresh(setting)?;
        let at = mount.at();
        match way {
            0 => mount.take(|| read_all(at, files)),
            1 => mount.take(|| {
                let mut reads = reads.iter();
                reads.try_for_each(|(file, place)| read_4k(&at.join(&file.path), *place).map(drop))
            }),
            _ => mount.take(|| list(at)),
        }
    }

    /// Returns the median of what is told of one way's runs.
    fn median(&self, way: usize, of: impl Fn(&Took) -> f64) -> Option<f64> {
        let took = self.took.get(way)?;
        median(&took.iter().map(of).collect::<Vec<_>>())
    }
}

/// Makes the tables: of all images, and of ratios.
fn show(
    runs: usize,
    set: &Set,
    images: &[Option<Image<'_>>],
    reads: usize,
) -> Result<String, String> {
    let each = reads.max(1) as f64;
    let mut rows = Vec::new();
    for image in images.iter().flatten() {
        let seconds = |way| image.median(way, |took| took.seconds);
        let read = |way| image.median(way, |took| took.read);
        let scaled = |value: Option<f64>, by: f64| value.map(|value| value * by);
        rows.push(vec![
            image.recipe.name.to_owned(),
            megabytes(Some(recipe::len(&image.file)?)),
            figure(seconds(0)),
            megabytes(read(0)),
            figure(scaled(seconds(1), 1e3 / each)),
            figure(scaled(read(1), 1e-3 / each)),
            figure(scaled(seconds(2), 1e3)),
            figure(scaled(read(2), 1e-3)),
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
    let title = format!(
        "\n## {}: cold reads\n\nMedians of {runs} runs, in turn; of each random read, the mean of {reads}, opening included.\n\n",
        set.name
    );
    Ok(title + &lay_out(&header, &rows) + "\n" + &ratios(images))
}

fn ratios(images: &[Option<Image<'_>>]) -> String {
    let image = |number: usize| images.get(number)?.as_ref();
    let mut rows = Vec::new();
    for (ours, theirs) in BESIDE {
        let (Some(ours), Some(theirs)) = (image(ours), image(theirs)) else {
            continue;
        };
        let mut row = vec![ours.recipe.name.to_owned(), theirs.recipe.name.to_owned()];
        for way in 0..WAYS {
            for of in [|took: &Took| took.seconds, |took: &Took| took.read] {
                row.push(ratio(ours.median(way, of), theirs.median(way, of)));
            }
        }
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
    lay_out(&header, &rows)
}

/// Fails if a mount has other bytes than the set where they will be read, or if listings of mounts have not as
/// many lines.
fn check(
    setting: &Setting,
    set: &Set,
    images: &[Option<Image<'_>>],
    reads: &[(&sets::File, u64)],
) -> Result<(), String> {
    let mut lines = None;
    for image in images.iter().flatten() {
        let mount = image.fresh(setting)?;
        for (file, at) in reads {
            let here = read_4k(&mount.at().join(&file.path), *at)?;
            if here != read_4k(&set.dir.join(&file.path), *at)? {
                return Err(format!("{} at {at}: wrong bytes", file.path.display()));
            }
        }
        let found = list(mount.at())?;
        if *lines.get_or_insert(found) != found {
            return Err(format!("{}: a listing of {found} lines", image.recipe.name));
        }
    }
    Ok(())
}

fn read_all(mounted: &Path, files: &[sets::File]) -> Result<(), String> {
    let mut buffer = vec![0; 1 << 20];
    for file in files {
        crate::harness::interrupt::check()?;
        let error = |e: std::io::Error| format!("{}: {e}", file.path.display());
        let mut open = File::open(mounted.join(&file.path)).map_err(error)?;
        while open.read(&mut buffer).map_err(error)? > 0 {}
    }
    Ok(())
}
