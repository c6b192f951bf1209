//! How an image is made that the kernel mounts.

use std::path::PathBuf;

use crate::bench::Bench;
use crate::harness::interrupt;
use crate::harness::sets::Set;
use crate::tools::command::quoted;

/// One way to make an image.
#[derive(Debug, Clone, Copy)]
pub struct Recipe<'a> {
    /// Its name in tables.
    pub name: &'a str,
    /// The kernel's driver.
    pub driver: &'a str,
    /// The tool that makes it, by its name in the catalog.
    pub tool: &'a str,
    pub command: &'a str,
}

impl Recipe<'_> {
    /// Makes the image of a set in a file below `Bench::made`; nothing, with a message, if its
    /// program is not installed or fails.
    pub fn make(
        &self,
        bench: &Bench<'_>,
        set: &Set,
        file: &str,
    ) -> Result<Option<PathBuf>, String> {
        if !bench.installed.can_run(self.command) {
            println!("{}: not measured, its program is not installed", self.name);
            return Ok(None);
        }
        println!("{}: {}", set.name, self.name);
        let image = bench.made.join(file);
        let _ = std::fs::remove_file(&image);
        let places = [("dir", &*quoted(&set.dir)), ("image", &*quoted(&image))];
        if let Err(why) = bench.prepare(self.command, &places) {
            interrupt::check()?;
            println!("{}: FAILED, left out: {why}", self.name);
            return Ok(None);
        }
        Ok(Some(image))
    }
}
