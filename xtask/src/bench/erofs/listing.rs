//! `ls -lR`, cold and warm: composefs, EROFS and SquashFS, the latter two with overlayfs on top, too.

use std::fs;
use std::path::Path;

use super::images::LISTED;
use crate::bench::kernel::{Mount, Stack, drop_caches, list};
use crate::bench::peers::quoted;
use crate::bench::recipe;
use crate::bench::sets::Set;
use crate::bench::setting::Setting;
use crate::bench::statistics::median;
use crate::bench::table::{figure, megabytes, table as lay_out};

/// Makes the images of a set and lists them.
pub fn table(setting: &Setting, set: &Set) -> Result<String, String> {
    let mut rows = vec![composefs(setting, set)?];
    for recipe in LISTED {
        let Some(image) = recipe.make(setting, set, "image")? else {
            continue;
        };
        let plain = || {
            let mount = Mount::image(recipe.driver, &image, &setting.work.join("mnt"))?;
            Ok(Stack(vec![mount]))
        };
        rows.push(row(setting, recipe.name, &image, plain)?);
        let empty = setting.work.join("empty");
        fs::create_dir_all(&empty).map_err(|e| e.to_string())?;
        let name = format!("{} + overlayfs", recipe.name);
        rows.push(row(setting, &name, &image, || {
            let lower = |mount: &Path| format!("{}:{}", mount.display(), empty.display());
            over(setting, plain()?, "ro", lower)
        })?);
    }
    let header = ["image", "MB", "cold: ms", "KB read", "warm: ms"];
    let title = format!(
        "\n## {}: ls -lR\n\nMedians of {} runs. What is read is read of the image; composefs' is metadata alone.\n\n",
        set.name, setting.options.runs
    );
    Ok(title + &lay_out(&header, &rows))
}

/// Lists an image of composefs as it is used: overlayfs on top of it and of its store.
fn composefs(setting: &Setting, set: &Set) -> Result<Vec<String>, String> {
    println!("{}: composefs", set.name);
    let (image, store) = (setting.work.join("image"), setting.work.join("objects"));
    let places = [
        ("dir", &*quoted(&set.dir)),
        ("image", &*quoted(&image)),
        ("store", &*quoted(&store)),
    ];
    setting.run(
        "sinter build -q --force -f composefs --digest-store {store} {dir} -o {image}",
        &places,
    )?;
    row(setting, "composefs, sinter", &image, || {
        let mount = Mount::image("erofs", &image, &setting.work.join("mnt"))?;
        let lower = |mount: &Path| format!("{}::{}", mount.display(), store.display());
        let options = "ro,metacopy=on,redirect_dir=on";
        over(setting, Stack(vec![mount]), options, lower)
    })
}

/// Mounts overlayfs on what is mounted; `lower` tells its layers.
fn over(
    setting: &Setting,
    mut stack: Stack,
    options: &str,
    lower: impl FnOnce(&Path) -> String,
) -> Result<Stack, String> {
    if let Some(below) = stack.0.last() {
        let options = format!("{options},lowerdir={}", lower(below.at()));
        let top = Mount::overlay(&options, &setting.work.join("over"))?;
        stack.0.push(top);
    }
    Ok(stack)
}

/// Lists what is mounted anew for each cold run.
fn row(
    setting: &Setting,
    name: &str,
    image: &Path,
    mounted: impl Fn() -> Result<Stack, String>,
) -> Result<Vec<String>, String> {
    let (mut cold, mut read, mut warm) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..setting.options.runs {
        let stack = mounted()?;
        drop_caches()?;
        let took = stack.take(list)?;
        cold.push(took.seconds);
        read.push(took.read / 1e3);
        warm.push(stack.take(list)?.seconds);
    }
    let thousands = |values: &[f64]| median(values).map(|value| value * 1e3);
    Ok(vec![
        name.to_owned(),
        megabytes(Some(recipe::len(image)?)),
        figure(thousands(&cold)),
        figure(median(&read)),
        figure(thousands(&warm)),
    ])
}
