//! `ls -lR`, cold and warm: composefs, EROFS and SquashFS, the latter two also below overlayfs.
//!
//! **Invariant:** each cold listing is of a new mount, and all listings have the same length.

use std::cell::Cell as Shared;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::kernel_images::LISTED;
use super::kernel_reads::empty;
use crate::bench::{Bench, Label, length};
use crate::case::Case;
use crate::harness::kernel::{Mount, Stack, list, make_cold};
use crate::harness::sets::Set;
use crate::runner::{Measurement, Outcome};
use crate::tables::cells::SetCells;
use crate::tables::table::{figure, megabytes, ratio, table};
use crate::tools::command::quoted;
use crate::tools::ours::SINTER;

/// The case `listing`.
pub struct Listing;

const NAME: &str = "listing";

/// The image that all others are compared with.
const COMPOSEFS: &str = "composefs, sinter";

const COMPOSEFS_COMMAND: &str =
    "sinter build -q --force -f composefs --digest-store {store} {dir} -o {image}";

/// An image that is listed.
struct Listed {
    name: String,
    driver: &'static str,
    image: PathBuf,
    command: &'static str,
    tool: &'static str,
    overlay: Option<Overlay>,
}

/// What overlayfs has below an image.
enum Overlay {
    /// An empty directory: overlayfs needs two layers.
    Empty,
    /// The store of the objects that a composefs image names.
    Store(PathBuf),
}

impl Case for Listing {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "`ls -lR` by the kernel's drivers"
    }

    fn usual_sets(&self) -> &'static [&'static str] {
        &["tensorflow-rootfs"]
    }

    fn needs_root(&self) -> bool {
        true
    }

    fn prepare<'a>(
        &self,
        bench: &'a Bench<'a>,
        set: &'a Set,
    ) -> Result<Vec<Measurement<'a>>, String> {
        let lines = Rc::new(Shared::new(None));
        let measurement = |listed: Listed| {
            let label = Label {
                part: NAME,
                tool: listed.driver,
                image: listed.name.clone(),
                command: listed.command,
                args: "",
                made_by: &[],
                version_of: listed.tool,
            };
            let lines = Rc::clone(&lines);
            Measurement {
                record: bench.record(set, label),
                run: Box::new(move |_| listed.measure(bench, &lines)),
            }
        };
        Ok(images(bench, set)?.into_iter().map(measurement).collect())
    }

    fn rows(&self, cells: &SetCells<'_>) -> Option<String> {
        let composefs = cells.find(NAME, "erofs", COMPOSEFS);
        let mut rows = Vec::new();
        for cell in cells.part(NAME) {
            let scaled = |name: &str, by: f64| figure(cell.median(name).map(|value| value * by));
            let beside = |name: &str| {
                ratio(
                    composefs.and_then(|first| first.median(name)),
                    cell.median(name),
                )
            };
            rows.push(vec![
                cell.subject.image.clone(),
                megabytes(cell.median("size")),
                scaled("cold", 1e3),
                scaled("read", 1e-3),
                scaled("warm", 1e3),
                beside("cold"),
                beside("warm"),
            ]);
        }
        let header = [
            "image",
            "MB",
            "cold: ms",
            "KB read",
            "warm: ms",
            "composefs / this, cold",
            "warm",
        ];
        (!rows.is_empty()).then(|| table(&header, &rows))
    }
}

/// Makes all images, composefs first.
fn images(bench: &Bench<'_>, set: &Set) -> Result<Vec<Listed>, String> {
    let mut all = vec![composefs(bench, set)?];
    for (number, recipe) in LISTED.iter().enumerate() {
        let Some(image) = recipe.make(bench, set, &format!("image{number}"))? else {
            continue;
        };
        let overlay = format!("{} + overlayfs", recipe.name);
        let both = [
            (recipe.name.to_owned(), None),
            (overlay, Some(Overlay::Empty)),
        ];
        all.extend(both.map(|(name, overlay)| Listed {
            name,
            driver: recipe.driver,
            image: image.clone(),
            command: recipe.command,
            tool: recipe.tool,
            overlay,
        }));
    }
    Ok(all)
}

/// Makes an image of composefs and its store.
fn composefs(bench: &Bench<'_>, set: &Set) -> Result<Listed, String> {
    println!("{}: composefs", set.name);
    let (image, store) = (bench.made.join("composefs"), bench.made.join("objects"));
    let places = [
        ("dir", &*quoted(&set.dir)),
        ("image", &*quoted(&image)),
        ("store", &*quoted(&store)),
    ];
    bench.prepare(COMPOSEFS_COMMAND, &places)?;
    Ok(Listed {
        name: COMPOSEFS.to_owned(),
        driver: "erofs",
        image,
        command: COMPOSEFS_COMMAND,
        tool: SINTER,
        overlay: Some(Overlay::Store(store)),
    })
}

impl Listed {
    fn measure(&self, bench: &Bench<'_>, lines: &Shared<Option<usize>>) -> Result<Outcome, String> {
        let stack = self.mount(bench)?;
        make_cold(&empty(bench)?)?;
        let mut found = 0;
        let cold = stack.measure(|at| list(at).map(|lines| found = lines))?;
        if lines
            .replace(Some(found))
            .is_some_and(|expected| expected != found)
        {
            return Err(format!("{}: a listing of {found} lines", self.name));
        }
        let warm = stack.measure(list)?;
        Ok(Outcome::of(&[
            ("size", length(&self.image)?),
            ("cold", cold.seconds),
            ("read", cold.read),
            ("warm", warm.seconds),
        ]))
    }

    /// Mounts the image, and overlayfs on it.
    fn mount(&self, bench: &Bench<'_>) -> Result<Stack, String> {
        let mount = Mount::image(self.driver, &self.image, &bench.work.join("mnt"))?;
        let image = mount.at().display().to_string();
        let mut stack = Stack(vec![mount]);
        if let Some(overlay) = &self.overlay {
            let empty = empty(bench)?;
            let (options, colons, below): (_, _, &Path) = match overlay {
                Overlay::Empty => ("ro", ":", &empty),
                Overlay::Store(store) => ("ro,metacopy=on,redirect_dir=on", "::", store),
            };
            let options = format!("{options},lowerdir={image}{colons}{}", below.display());
            stack
                .0
                .push(Mount::overlay(&options, &bench.work.join("over"))?);
        }
        Ok(stack)
    }
}
