//! The drivers that mount: images of a tree as each tool makes them by default, and what serves
//! them.

use std::path::{Path, PathBuf};

use crate::bench::Bench;
use crate::harness::kernel::{Mount, drop_caches};
use crate::harness::mounted::Mounted;
use crate::recipe::Recipe;
use crate::tools::command::{fill, quoted};
use crate::tools::ours::SINTER;

/// The images of a set; `driver` is the name of the file, too.
pub const IMAGES: [Recipe<'static>; 4] = [
    Recipe {
        name: "DwarFS of sinter, default level",
        driver: "dwarfs",
        tool: SINTER,
        command: "sinter build -q --force {dir} -o {image}",
    },
    Recipe {
        name: "DwarFS of mkdwarfs, default level",
        driver: "mkdwarfs",
        tool: "mkdwarfs",
        command: "mkdwarfs --log-level=error --no-progress --force -i {dir} -o {image}",
    },
    Recipe {
        name: "SquashFS zstd 128K",
        driver: "squashfs",
        tool: SINTER,
        command: "sinter build -q --force -f squashfs -C zstd -b 128k {dir} -o {image}",
    },
    Recipe {
        name: "EROFS lz4hc 64K",
        driver: "erofs",
        tool: SINTER,
        command: "sinter build -q --force -f erofs -C lz4hc -b 64k {dir} -o {image}",
    },
];

/// A program or a driver of the kernel that mounts images.
#[derive(Debug)]
pub struct Driver {
    /// Its name in tables.
    pub name: &'static str,
    /// The file of its image, by the name of its recipe's driver.
    pub image: &'static str,
    /// The command that mounts and stays in the foreground; none for the kernel alone.
    pub command: Option<&'static str>,
}

/// All, by the positions below.
pub const DRIVERS: [Driver; 6] = [
    Driver {
        name: "sinter, kernel",
        image: "dwarfs",
        command: Some("sinter mount --kernel --foreground {image} {mountpoint}"),
    },
    Driver {
        name: "sinter, FUSE",
        image: "dwarfs",
        command: Some("sinter mount --fuse --foreground {image} {mountpoint}"),
    },
    Driver {
        name: "dwarfs",
        image: "mkdwarfs",
        command: Some("dwarfs {image} {mountpoint} -f"),
    },
    Driver {
        name: "dwarfs 1g,4w",
        image: "mkdwarfs",
        command: Some("dwarfs {image} {mountpoint} -f -o cachesize=1g,workers=4"),
    },
    Driver {
        name: "SquashFS",
        image: "squashfs",
        command: None,
    },
    Driver {
        name: "EROFS",
        image: "erofs",
        command: None,
    },
];

pub const KERNEL: usize = 0;
pub const FUSE: usize = 1;
pub const PEERS: [usize; 2] = [2, 3];
pub const NATIVE: [usize; 2] = [4, 5];

/// A mount; dropping it unmounts.
pub enum Served {
    Daemon(Mounted),
    Kernel(Mount),
}

impl Served {
    pub fn at(&self) -> &Path {
        match self {
            Self::Daemon(mounted) => mounted.at(),
            Self::Kernel(mount) => mount.at(),
        }
    }
}

impl Driver {
    /// Finds its image among those of `IMAGES`.
    pub fn image<'a>(&self, images: &'a [Option<PathBuf>]) -> Option<&'a PathBuf> {
        let mut all = IMAGES.iter().zip(images);
        let (_, image) = all.find(|(recipe, _)| recipe.driver == self.image)?;
        image.as_ref()
    }

    /// Returns whether its program is installed, and prints a message if not.
    pub fn can_run(&self, bench: &Bench<'_>) -> bool {
        let command = self.command;
        let can = command.is_none_or(|command| bench.installed.can_run(command));
        if !can {
            println!("{}: not measured, its program is not installed", self.name);
        }
        can
    }

    /// Mounts an image, with nothing of it in memory.
    pub fn mount(&self, bench: &Bench<'_>, image: &Path) -> Result<Served, String> {
        let at = bench.work.join("mnt");
        let served = match self.command {
            Some(command) => {
                let places = [("image", &*quoted(image)), ("mountpoint", &*quoted(&at))];
                let command = fill(command, &places, None);
                let mounted = Mounted::start(&bench.shell(), &command, &at, Path::new("."));
                Served::Daemon(mounted.map_err(|why| format!("{}: {why}", self.name))?.0)
            }
            None => Served::Kernel(Mount::image(self.image, image, &at)?),
        };
        drop_caches().map(|()| served)
    }
}
