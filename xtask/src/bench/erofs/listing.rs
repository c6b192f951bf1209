//! `ls -lR`, cold and warm: composefs, EROFS and SquashFS, the latter two with overlayfs on top, too.

use std::fs;
use std::path::Path;

use super::Context;
use super::images::{self, LISTED};
use super::kernel::{Mount, Stack, drop_caches, list};
use crate::bench::peers::quoted;
use crate::bench::sets::Set;
use crate::bench::statistics::median;
use crate::bench::table::{figure, megabytes, table as lay_out};

/// Makes the images of a set and lists them.
pub fn table(context: &Context<'_>, set: &Set) -> Result<String, String> {
    let mut rows = vec![composefs(context, set)?];
    for recipe in LISTED {
        let Some(image) = recipe.make(context, set)? else {
            continue;
        };
        let plain = || {
            let mount = Mount::image(recipe.driver, &image, &context.work.join("mnt"))?;
            Ok(Stack(vec![mount]))
        };
        rows.push(row(context, recipe.name, &image, plain)?);
        let empty = context.work.join("empty");
        fs::create_dir_all(&empty).map_err(|e| e.to_string())?;
        let name = format!("{} + overlayfs", recipe.name);
        rows.push(row(context, &name, &image, || {
            let lower = |mount: &Path| format!("{}:{}", mount.display(), empty.display());
            over(context, plain()?, "ro", lower)
        })?);
    }
    let header = ["image", "MB", "cold: ms", "KB read", "warm: ms"];
    let title = format!(
        "\n## {}: ls -lR\n\nMedians of {} runs. What is read is read of the image; composefs' is metadata alone.\n\n",
        set.name, context.options.runs
    );
    Ok(title + &lay_out(&header, &rows))
}

/// Lists an image of composefs as it is used: overlayfs on top of it and of its store.
fn composefs(context: &Context<'_>, set: &Set) -> Result<Vec<String>, String> {
    println!("{}: composefs", set.name);
    let (image, store) = (context.work.join("image"), context.work.join("objects"));
    let places = [
        ("dir", &*quoted(&set.dir)),
        ("image", &*quoted(&image)),
        ("store", &*quoted(&store)),
    ];
    context.run(
        "sinter build -q --force -f composefs --digest-store {store} {dir} -o {image}",
        &places,
    )?;
    row(context, "composefs, sinter", &image, || {
        let mount = Mount::image("erofs", &image, &context.work.join("mnt"))?;
        let lower = |mount: &Path| format!("{}::{}", mount.display(), store.display());
        let options = "ro,metacopy=on,redirect_dir=on";
        over(context, Stack(vec![mount]), options, lower)
    })
}

/// Mounts overlayfs on what is mounted; `lower` tells its layers.
fn over(
    context: &Context<'_>,
    mut stack: Stack,
    options: &str,
    lower: impl FnOnce(&Path) -> String,
) -> Result<Stack, String> {
    if let Some(below) = stack.0.last() {
        let options = format!("{options},lowerdir={}", lower(below.at()));
        let top = Mount::overlay(&options, &context.work.join("over"))?;
        stack.0.push(top);
    }
    Ok(stack)
}

/// Lists what is mounted anew for each cold run.
fn row(
    context: &Context<'_>,
    name: &str,
    image: &Path,
    mounted: impl Fn() -> Result<Stack, String>,
) -> Result<Vec<String>, String> {
    let (mut cold, mut read, mut warm) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..context.options.runs {
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
        megabytes(Some(images::len(image)?)),
        figure(thousands(&cold)),
        figure(median(&read)),
        figure(thousands(&warm)),
    ])
}
