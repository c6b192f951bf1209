//! The images that are compared: who makes them, and how.

use std::path::PathBuf;

use super::Context;
use crate::bench::peers::quoted;
use crate::bench::sets::Set;

/// One way to make an image that the kernel mounts.
#[derive(Debug, Clone, Copy)]
pub struct Recipe<'a> {
    /// What tables call it.
    pub name: &'a str,
    /// The kernel's driver.
    pub driver: &'a str,
    pub command: &'a str,
}

/// What reads are measured of: each format by us and by its own tool, with one codec of fast decoding and
/// one of dense coding, in units as alike as the formats allow.
pub const READ: [Recipe<'static>; 8] = [
    Recipe {
        name: "EROFS lz4hc 64K, sinter, for 6.1",
        driver: "erofs",
        command: "sinter build -q --force -f erofs -C lz4hc:level=12 -b 64k --target-kernel 6.1 {dir} -o {image}",
    },
    Recipe {
        name: "EROFS lz4hc 64K, mkfs.erofs",
        driver: "erofs",
        command: "mkfs.erofs --quiet -zlz4hc,12 -C65536 -Efragments {image} {dir}",
    },
    Recipe {
        name: "SquashFS lz4 -Xhc 64K, sinter",
        driver: "squashfs",
        command: "sinter build -q --force -f squashfs -C lz4hc:level=12 -b 64k {dir} -o {image}",
    },
    Recipe {
        name: "SquashFS lz4 -Xhc 64K, mksquashfs",
        driver: "squashfs",
        command: "mksquashfs {dir} {image} -noappend -quiet -no-progress -comp lz4 -Xhc -b 64K",
    },
    Recipe {
        name: "EROFS zstd 128K, sinter",
        driver: "erofs",
        command: "sinter build -q --force -f erofs -C zstd:level=9 -b 128k {dir} -o {image}",
    },
    Recipe {
        name: "EROFS zstd 128K, mkfs.erofs",
        driver: "erofs",
        command: "mkfs.erofs --quiet -zzstd,9 -C131072 -Efragments {image} {dir}",
    },
    Recipe {
        name: "SquashFS zstd 128K, sinter",
        driver: "squashfs",
        command: "sinter build -q --force -f squashfs -C zstd:level=9 -b 128k {dir} -o {image}",
    },
    Recipe {
        name: "SquashFS zstd 128K, mksquashfs",
        driver: "squashfs",
        command: "mksquashfs {dir} {image} -noappend -quiet -no-progress -comp zstd -Xcompression-level 9 -b 128K",
    },
];

/// What listings are measured of; nobody reads content.
pub const LISTED: [Recipe<'static>; 4] = [
    Recipe {
        name: "EROFS, sinter",
        driver: "erofs",
        command: "sinter build -q --force -f erofs -C lz4 {dir} -o {image}",
    },
    Recipe {
        name: "EROFS, mkfs.erofs",
        driver: "erofs",
        command: "mkfs.erofs --quiet -zlz4 -C65536 -Efragments {image} {dir}",
    },
    Recipe {
        name: "SquashFS, sinter",
        driver: "squashfs",
        command: "sinter build -q --force -f squashfs -C lz4 {dir} -o {image}",
    },
    Recipe {
        name: "SquashFS, mksquashfs",
        driver: "squashfs",
        command: "mksquashfs {dir} {image} -noappend -quiet -no-progress -comp lz4",
    },
];

impl Recipe<'_> {
    /// Makes the image of a set; `None`, said on the terminal, if its program is not there.
    pub fn make(&self, context: &Context<'_>, set: &Set) -> Result<Option<PathBuf>, String> {
        if !context.tools.can(self.command) {
            println!("{}: not measured, its program is not at hand", self.name);
            return Ok(None);
        }
        println!("{}: {}", set.name, self.name);
        let image = context.work.join("image");
        let _ = std::fs::remove_file(&image);
        let places = [("dir", &*quoted(&set.dir)), ("image", &*quoted(&image))];
        context.run(self.command, &places)?;
        Ok(Some(image))
    }
}

/// Tells the length of an image.
pub fn len(image: &std::path::Path) -> Result<f64, String> {
    let found = std::fs::metadata(image).map_err(|e| format!("{}: {e}", image.display()))?;
    Ok(found.len() as f64)
}
