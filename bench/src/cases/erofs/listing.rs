//! `ls -lR`, cold and warm: composefs, EROFS and SquashFS, the latter two with overlayfs on top, too.
//!
//! **Invariant:** what is listed is mounted anew for each cold run, and all are listed in turn.

use std::path::{Path, PathBuf};

use crate::cases::erofs::images::LISTED;
use crate::cases::recipe;
use crate::cases::setting::Setting;
use crate::harness::kernel::{Mount, Stack, forget, list};
use crate::harness::sets::Set;
use crate::harness::statistics::median;
use crate::report::table::{figure, megabytes, ratio, table as lay_out};
use crate::tools::peers::quoted;

/// What is listed, and what that took.
struct Listed {
    name: String,
    driver: &'static str,
    image: PathBuf,
    /// The options of overlayfs on top: those before its layers, and what is below the image.
    over: Option<(&'static str, Below)>,
    cold: Vec<f64>,
    read: Vec<f64>,
    warm: Vec<f64>,
}

/// What overlayfs has below an image.
enum Below {
    /// A directory without anything: overlayfs wants two layers.
    Empty,
    /// The store of composefs' objects, of which no names are shown.
    Store(PathBuf),
}

/// Makes the images of a set and lists them.
pub fn table(setting: &Setting, set: &Set) -> Result<String, String> {
    let mut all = made(setting, set)?;
    let mut lines = None;
    let runs = setting.rounds(|| {
        for one in &mut all {
            let stack = one.mounted(setting)?;
            forget(&setting.empty()?)?;
            let mut found = 0;
            let took = stack.take(|at| list(at).map(|lines| found = lines))?;
            if *lines.get_or_insert(found) != found {
                return Err(format!("{}: a listing of {found} lines", one.name));
            }
            one.cold.push(took.seconds);
            one.read.push(took.read / 1e3);
            one.warm.push(stack.take(list)?.seconds);
        }
        Ok(())
    })?;
    show(runs, set, &all)
}

/// Makes all images, composefs first.
fn made(setting: &Setting, set: &Set) -> Result<Vec<Listed>, String> {
    let mut all = vec![composefs(setting, set)?];
    for (number, recipe) in LISTED.iter().enumerate() {
        let Some(image) = recipe.make(setting, set, &format!("image{number}"))? else {
            continue;
        };
        let name = recipe.name;
        let overlay = format!("{name} + overlayfs");
        let over = [
            (name.to_owned(), None),
            (overlay, Some(("ro", Below::Empty))),
        ];
        all.extend(over.map(|(name, over)| Listed::new(name, recipe.driver, image.clone(), over)));
    }
    Ok(all)
}

/// Makes an image of composefs and its store.
fn composefs(setting: &Setting, set: &Set) -> Result<Listed, String> {
    println!("{}: composefs", set.name);
    let (image, store) = (setting.work.join("composefs"), setting.work.join("objects"));
    let places = [
        ("dir", &*quoted(&set.dir)),
        ("image", &*quoted(&image)),
        ("store", &*quoted(&store)),
    ];
    setting.run(
        "sinter build -q --force -f composefs --digest-store {store} {dir} -o {image}",
        &places,
    )?;
    let over = ("ro,metacopy=on,redirect_dir=on", Below::Store(store));
    let name = "composefs, sinter".to_owned();
    Ok(Listed::new(name, "erofs", image, Some(over)))
}

impl Listed {
    fn new(
        name: String,
        driver: &'static str,
        image: PathBuf,
        over: Option<(&'static str, Below)>,
    ) -> Self {
        let (cold, read, warm) = Default::default();
        Self {
            name,
            driver,
            image,
            over,
            cold,
            read,
            warm,
        }
    }

    /// Mounts the image, and overlayfs on it.
    fn mounted(&self, setting: &Setting) -> Result<Stack, String> {
        let mount = Mount::image(self.driver, &self.image, &setting.work.join("mnt"))?;
        let mut stack = Stack(vec![mount]);
        if let (Some((options, below)), Some(image)) = (&self.over, stack.0.last()) {
            let (empty, image) = (setting.empty()?, image.at().display());
            let (colons, below): (_, &Path) = match below {
                Below::Empty => (":", &empty),
                Below::Store(store) => ("::", store),
            };
            let options = format!("{options},lowerdir={image}{colons}{}", below.display());
            let top = Mount::overlay(&options, &setting.work.join("over"))?;
            stack.0.push(top);
        }
        Ok(stack)
    }
}

fn show(runs: usize, set: &Set, all: &[Listed]) -> Result<String, String> {
    let thousands = |values: &[f64]| median(values).map(|value| value * 1e3);
    let first = all.first();
    let mut rows = Vec::new();
    for one in all {
        let (cold, warm) = (median(&one.cold), median(&one.warm));
        rows.push(vec![
            one.name.clone(),
            megabytes(Some(recipe::len(&one.image)?)),
            figure(thousands(&one.cold)),
            figure(median(&one.read)),
            figure(thousands(&one.warm)),
            ratio(first.and_then(|first| median(&first.cold)), cold),
            ratio(first.and_then(|first| median(&first.warm)), warm),
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
    let title = format!(
        "\n## {}: ls -lR\n\nMedians of {runs} runs, in turn. What is read is read of the image; composefs' is metadata alone.\n\n",
        set.name
    );
    Ok(title + &lay_out(&header, &rows))
}
