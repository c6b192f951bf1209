//! How an image that is compared is made, and by whom.

use std::path::{Path, PathBuf};

use crate::cases::setting::Setting;
use crate::harness::sets::Set;
use crate::tools::peers::quoted;

/// One way to make an image that the kernel mounts.
#[derive(Debug, Clone, Copy)]
pub struct Recipe<'a> {
    /// What tables call it.
    pub name: &'a str,
    /// The kernel's driver.
    pub driver: &'a str,
    pub command: &'a str,
}

impl Recipe<'_> {
    /// Makes the image of a set in a file of the place to work in; `None`, said on the terminal, if its program is not there.
    pub fn make(
        &self,
        setting: &Setting,
        set: &Set,
        file: &str,
    ) -> Result<Option<PathBuf>, String> {
        if !setting.tools.can(self.command) {
            println!("{}: not measured, its program is not at hand", self.name);
            return Ok(None);
        }
        println!("{}: {}", set.name, self.name);
        let image = setting.work.join(file);
        let _ = std::fs::remove_file(&image);
        let places = [("dir", &*quoted(&set.dir)), ("image", &*quoted(&image))];
        setting.run(self.command, &places)?;
        Ok(Some(image))
    }
}

/// Returns the length of an image.
pub fn len(image: &Path) -> Result<f64, String> {
    let found = std::fs::metadata(image).map_err(|e| format!("{}: {e}", image.display()))?;
    Ok(found.len() as f64)
}
