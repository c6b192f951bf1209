//! The drivers that mount: images of a tree as each tool makes them by default, and what serves
//! them.

use std::path::{Path, PathBuf};

use crate::bench::Bench;
use crate::harness::kernel::{Mount, drop_caches};
use crate::harness::mounted::Mounted;
use crate::harness::sets::Set;
use crate::options::BenchOptions;
use crate::recipe::Recipe;
use crate::tools::catalog;
use crate::tools::command::{fill, quoted};
use crate::tools::ours::{DEFAULT_LEVEL, SINTER};
use crate::tools::tool::Builder;

/// How the image of a driver is made.
#[derive(Debug, Clone, Copy)]
pub enum TreeImage {
    /// By a tool's default level: the image that `compare` builds, which stays for later calls.
    DefaultLevel(&'static str),
    Recipe(Recipe<'static>),
}

/// The images of a set by name, which is also that of a tool for `--tools`; ours is first.
pub const IMAGES: [(&str, TreeImage); 4] = [
    (SINTER, TreeImage::DefaultLevel(SINTER)),
    ("mkdwarfs", TreeImage::DefaultLevel("mkdwarfs")),
    (
        "squashfs",
        TreeImage::Recipe(Recipe {
            name: "SquashFS zstd 128K",
            driver: "squashfs",
            tool: SINTER,
            command: "sinter build -q --force -f squashfs -C zstd -b 128k {dir} -o {image}",
        }),
    ),
    (
        "erofs",
        TreeImage::Recipe(Recipe {
            name: "EROFS lz4hc 64K",
            driver: "erofs",
            tool: SINTER,
            command: "sinter build -q --force -f erofs -C lz4hc -b 64k {dir} -o {image}",
        }),
    ),
];

impl TreeImage {
    /// Makes the image, or finds the one that was built before.
    pub fn image(self, bench: &Bench<'_>, set: &Set) -> Result<Option<PathBuf>, String> {
        match self {
            Self::Recipe(recipe) => recipe.make(bench, set, recipe.driver),
            Self::DefaultLevel(tool) => match default_builder(tool) {
                Some(builder) if bench.installed.can_run(builder.tool.build) => {
                    bench.built(set, builder)
                }
                _ => {
                    println!("{tool}: not measured, its program is not installed");
                    Ok(None)
                }
            },
        }
    }

    /// Returns the command line that makes it.
    pub fn command(self) -> &'static str {
        match self {
            Self::Recipe(recipe) => recipe.command,
            Self::DefaultLevel(tool) => catalog::named(tool).map_or("", |tool| tool.build),
        }
    }
}

fn default_builder(tool: &str) -> Option<Builder> {
    let tool = catalog::named(tool)?;
    let mut variants = tool.variants.iter();
    let variant = variants.find(|variant| variant.label == DEFAULT_LEVEL)?;
    Some(Builder { tool, variant })
}

/// A program or a driver of the kernel that mounts images.
#[derive(Debug)]
pub struct Driver {
    /// Its name in tables.
    pub name: &'static str,
    /// The name of its image.
    pub image: &'static str,
    /// The command that mounts and stays in the foreground; none for the kernel alone.
    pub command: Option<&'static str>,
}

/// All, by the positions below.
pub const DRIVERS: [Driver; 6] = [
    Driver {
        name: "sinter, kernel",
        image: SINTER,
        command: Some("sinter mount --kernel --foreground {image} {mountpoint}"),
    },
    Driver {
        name: "sinter, FUSE",
        image: SINTER,
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
    /// Returns whether it is asked for: ours always, others by the tool of their image.
    pub fn is_wanted(&self, options: &BenchOptions) -> bool {
        let tools = &options.tools;
        self.image == SINTER || tools.is_empty() || tools.iter().any(|name| name == self.image)
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
        let served = self.start(bench, image)?;
        drop_caches().map(|()| served)
    }

    /// Mounts an image.
    pub fn start(&self, bench: &Bench<'_>, image: &Path) -> Result<Served, String> {
        let at = bench.work.join("mnt");
        Ok(match self.command {
            Some(command) => {
                let places = [("image", &*quoted(image)), ("mountpoint", &*quoted(&at))];
                let command = fill(command, &places, None);
                let mounted = Mounted::start(&bench.shell(), &command, &at, Path::new("."));
                Served::Daemon(mounted.map_err(|why| format!("{}: {why}", self.name))?.0)
            }
            None => Served::Kernel(Mount::image(self.image, image, &at)?),
        })
    }
}
