//! Cold reads by the kernel's drivers: all files in order, 4 KiB at random places, all metadata.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::images::READ;
use crate::bench::kernel::{Mount, Took, drop_caches, list};
use crate::bench::mounted::{places, read_4k, same_bytes};
use crate::bench::recipe::{self, Recipe};
use crate::bench::sets::{self, Set};
use crate::bench::setting::Setting;
use crate::bench::statistics::median;
use crate::bench::table::{figure, megabytes, table as lay_out};

/// Makes all images of a set and reads them.
pub fn table(setting: &Setting, set: &Set) -> Result<String, String> {
    let files = sets::files(&set.dir)?;
    let mut rows = Vec::new();
    for recipe in READ {
        if let Some(image) = recipe.make(setting, set, "image")? {
            rows.push(row(setting, set, &recipe, &image, &files)?);
        }
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
        "\n## {}: cold reads\n\nMedians of {} runs; of each random read, the mean of {}, opening included.\n\n",
        set.name, setting.options.runs, setting.options.reads
    );
    Ok(title + &lay_out(&header, &rows))
}

fn row(
    setting: &Setting,
    set: &Set,
    recipe: &Recipe<'_>,
    image: &Path,
    files: &[sets::File],
) -> Result<Vec<String>, String> {
    let at = setting.work.join("mnt");
    // drivers keep what they decoded as long as they are mounted
    let fresh = || {
        let mount = Mount::image(recipe.driver, image, &at)?;
        drop_caches().map(|()| mount)
    };
    let reads = places(files, setting.options.reads);
    same_bytes(&set.dir, fresh()?.at(), &reads)?;
    let (mut all, mut random, mut listed) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..setting.options.runs {
        all.push(fresh()?.take(|| read_all(&at, files))?);
        random.push(fresh()?.take(|| {
            let mut reads = reads.iter();
            reads.try_for_each(|(file, place)| read_4k(&at.join(&file.path), *place).map(drop))
        })?);
        listed.push(fresh()?.take(|| list(&at))?);
    }
    let seconds = |took: &[Took]| median(&took.iter().map(|took| took.seconds).collect::<Vec<_>>());
    let read = |took: &[Took]| median(&took.iter().map(|took| took.read).collect::<Vec<_>>());
    let each = |sum: Option<f64>| sum.map(|sum| sum / reads.len().max(1) as f64);
    let thousands = |value: Option<f64>| value.map(|value| value * 1e3);
    let thousandth = |value: Option<f64>| value.map(|value| value / 1e3);
    Ok(vec![
        recipe.name.to_owned(),
        megabytes(Some(recipe::len(image)?)),
        figure(seconds(&all)),
        megabytes(read(&all)),
        figure(thousands(each(seconds(&random)))),
        figure(thousandth(each(read(&random)))),
        figure(thousands(seconds(&listed))),
        figure(thousandth(read(&listed))),
    ])
}

fn read_all(mounted: &Path, files: &[sets::File]) -> Result<(), String> {
    let mut buffer = vec![0; 1 << 20];
    for file in files {
        crate::bench::interrupt::check()?;
        let error = |e: std::io::Error| format!("{}: {e}", file.path.display());
        let mut open = File::open(mounted.join(&file.path)).map_err(error)?;
        while open.read(&mut buffer).map_err(error)? > 0 {}
    }
    Ok(())
}
