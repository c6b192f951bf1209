//! A damaged image, read by us and by a reader that is not ours: where both read, both read the
//! same.
//!
//! In: bytes of a SquashFS or EROFS image. Out: how much both could read. **Invariant** that is
//! asserted: names, types, sizes, permissions, owners, symlinks and content are equal wherever
//! neither side reports an error. Either side may refuse what the other one reads.
//!
//! SquashFS images are unpacked by unsquashfs: the kernel's driver (Linux 6.18) dereferences what a
//! damaged fragment says. EROFS images are mounted by the kernel; fsck.erofs leaves out the end of
//! files that end in a hole.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File, Metadata};
use std::ops::ControlFlow;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use sinterfs::image::MemorySource;
use sinterfs::model::{Cursor, Image, Ino, Inode};
use sinterfs::{FileType, OpenOptions, open_source};

/// The other reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judge {
    /// unsquashfs.
    Unsquashfs,
    /// The kernel's driver of EROFS.
    KernelErofs,
}

/// What both sides read of some images.
#[derive(Debug, Default)]
pub struct Compared {
    /// Images that both opened.
    pub images: u64,
    /// Inodes whose metadata was compared.
    pub inodes: u64,
    /// Bytes of content that were compared.
    pub bytes: u64,
}

impl Judge {
    /// The judge of an image; `None` for other formats.
    pub fn of(image: &[u8]) -> Option<Self> {
        let is_erofs = image.get(1024..1028) == Some(&0xe0f5_e1e2_u32.to_le_bytes());
        if image.starts_with(b"hsqs") {
            // of some damaged frames libzstd 1.5.4 makes other bytes than 1.5.7
            let is_zstd = image.get(20..22) == Some(&6_u16.to_le_bytes());
            return (!is_zstd).then_some(Self::Unsquashfs);
        }
        is_erofs.then_some(Self::KernelErofs)
    }

    fn format(self) -> &'static str {
        match self {
            Self::Unsquashfs => "squashfs",
            Self::KernelErofs => "erofs",
        }
    }

    /// Shows an image as the tree `to`; `None` where it is refused.
    fn show(self, image: &Path, to: &Path) -> Option<Shown> {
        let mut command = Command::new(match self {
            Self::Unsquashfs => "timeout",
            Self::KernelErofs => "mount",
        });
        match self {
            Self::Unsquashfs => {
                command.args(["10", "unsquashfs", "-quiet", "-no-progress", "-d"]);
                command.arg(to).arg(image);
            }
            Self::KernelErofs => {
                fs::create_dir(to).unwrap();
                command.args(["-t", "erofs", "-o", "loop,ro,nosuid,nodev,noexec"]);
                command.arg(image).arg(to);
            }
        }
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.unwrap().success().then(|| Shown {
            mounted: (self == Self::KernelErofs).then(|| to.to_owned()),
        })
    }

    /// Returns whether the judge is there: whether it shows an image that is not damaged.
    pub fn is_there(self, image: &[u8]) -> bool {
        let dir = tempfile::tempdir().unwrap();
        let path = write_padded(dir.path(), image);
        self.show(&path, &dir.path().join("tree")).is_some()
    }

    /// Reads an image on both sides. Panics, and keeps the image in the temporary directory, where
    /// they differ.
    pub fn compare(self, bytes: &[u8], compared: &mut Compared) {
        let source = Arc::new(MemorySource(padded(bytes)));
        let Ok(opened) = open_source(source, &OpenOptions::default()) else {
            return;
        };
        let image = &**opened.raw();
        if image.info().format != self.format() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let path = write_padded(dir.path(), bytes);
        let tree = dir.path().join("tree");
        let Some(_shown) = self.show(&path, &tree) else {
            return;
        };
        compared.images += 1;
        let mut pair = Pair {
            judge: self,
            image,
            numbers: HashMap::new(),
            budget: 500,
            compared,
        };
        if let Err(what) = pair.root(&tree) {
            let kept = std::env::temp_dir().join(format!("sinter-differs.{}", self.format()));
            fs::copy(&path, &kept).unwrap();
            panic!("{}: {what}", kept.display());
        }
    }
}

/// A tree of files, unmounted when it is dropped.
struct Shown {
    mounted: Option<PathBuf>,
}

impl Drop for Shown {
    fn drop(&mut self) {
        if let Some(point) = &self.mounted {
            let done = Command::new("umount").arg(point).status();
            assert!(done.is_ok_and(|status| status.success()), "umount");
        }
    }
}

/// Fills the last block, which a loop device would cut.
fn padded(bytes: &[u8]) -> Vec<u8> {
    let mut image = bytes.to_vec();
    image.resize(image.len().next_multiple_of(4096), 0);
    image
}

fn write_padded(dir: &Path, bytes: &[u8]) -> PathBuf {
    let path = dir.join("image");
    fs::write(&path, padded(bytes)).unwrap();
    path
}

/// Both sides of an image.
struct Pair<'a> {
    judge: Judge,
    image: &'a dyn Image,
    /// Our inodes by the numbers that the other side tells. Several inodes of SquashFS that have
    /// one number are one file to unsquashfs, the first of them.
    numbers: HashMap<u64, Ino>,
    /// How many entries are still to be compared.
    budget: u32,
    compared: &'a mut Compared,
}

impl Pair<'_> {
    fn root(&mut self, path: &Path) -> Result<(), String> {
        let root = self.image.info().root;
        match fs::symlink_metadata(path) {
            Ok(stat) => self.numbers.insert(stat.ino(), root),
            Err(_) => return Ok(()),
        };
        self.directory(root, path)
    }

    /// Compares what is in a directory.
    fn directory(&mut self, ino: Ino, path: &Path) -> Result<(), String> {
        let mut names: BTreeSet<Vec<u8>> = BTreeSet::new();
        let listed = self.image.read_dir(ino, Cursor::START, &mut |entry| {
            // the C library leaves out entries that the kernel gives this number
            if self.judge == Judge::Unsquashfs || entry.ino != Ino(0) {
                names.insert(entry.name.to_vec());
            }
            ControlFlow::Continue(())
        });
        let theirs = fs::read_dir(path).and_then(|entries| {
            let names = entries.map(|entry| Ok(entry?.file_name().into_vec()));
            names.collect::<std::io::Result<BTreeSet<_>>>()
        });
        if let (Ok(()), Ok(theirs)) = (listed, theirs)
            && names != theirs
        {
            let shown = |names: &BTreeSet<Vec<u8>>| {
                let names = names.iter().map(|name| name.escape_ascii().to_string());
                names.collect::<Vec<_>>().join(", ")
            };
            let (ours, theirs) = (shown(&names), shown(&theirs));
            return Err(format!("{}: {ours} for {theirs}", path.display()));
        }
        for name in names {
            if self.budget > 0 {
                self.budget -= 1;
                let path = path.join(std::ffi::OsStr::from_bytes(&name));
                self.entry(ino, &name, &path)?;
            }
        }
        Ok(())
    }

    /// Compares an entry of a directory, and what is in it.
    fn entry(&mut self, dir: Ino, name: &[u8], path: &Path) -> Result<(), String> {
        // as one walks an image: what is listed and not found is refused
        let Ok(Some(ino)) = self.image.lookup(dir, name) else {
            return Ok(());
        };
        let (Ok(inode), Ok(stat)) = (self.image.inode(ino), fs::symlink_metadata(path)) else {
            return Ok(());
        };
        // unsquashfs counts the blocks of a file in 32 bits
        let is_too_large = self.judge == Judge::Unsquashfs && inode.size >= 1 << 40;
        if is_too_large || *self.numbers.entry(stat.ino()).or_insert(ino) != ino {
            return Ok(());
        }
        let place = |what: String| format!("{}: {what}", path.display());
        metadata(self.judge, &inode, &stat).map_err(place)?;
        self.compared.inodes += 1;
        match inode.kind {
            FileType::Directory => self.directory(ino, path),
            FileType::File => self.content(&inode, path).map_err(place),
            FileType::Symlink => match (self.image.read_link(ino), fs::read_link(path)) {
                (Ok(ours), Ok(theirs)) if ours != theirs.as_os_str().as_bytes() => {
                    Err(place(format!("{} for {theirs:?}", ours.escape_ascii())))
                }
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Compares the beginning, the end and a place between them of a file.
    fn content(&mut self, inode: &Inode, path: &Path) -> Result<(), String> {
        let Ok(file) = File::open(path) else {
            return Ok(());
        };
        let (mut ours, mut theirs) = ([0; 4096], [0; 4096]);
        let size = inode.size;
        for start in [0, size / 3, size.saturating_sub(9000)] {
            // a page at a time: an error of one is none of the next
            for at in (start..size.min(start.saturating_add(1 << 16))).step_by(4096) {
                let len = (size - at).min(4096) as usize;
                let (Ok(got), Ok(read)) = (
                    self.image.read_at(inode.ino, at, &mut ours[..len]),
                    file.read_at(&mut theirs[..len], at),
                ) else {
                    continue;
                };
                // a read ends before a page that cannot be read
                let both = got.min(read);
                if (got, read) == (0, 0) || ours[..both] != theirs[..both] {
                    return Err(format!("{got} and {read} of {len} bytes at {at} differ"));
                }
                self.compared.bytes += both as u64;
            }
        }
        Ok(())
    }
}

/// Compares what stat(2) tells.
fn metadata(judge: Judge, inode: &Inode, stat: &Metadata) -> Result<(), String> {
    let mode = inode.kind.bits() | u32::from(inode.meta.mode);
    // Linux has no owner with this number: chown(2) changes nothing, and a mount shows another one
    let none = match judge {
        Judge::Unsquashfs => 0,
        Judge::KernelErofs => 65_534,
    };
    let owner = |id| if id == u32::MAX { none } else { id };
    let ours = (mode, owner(inode.meta.uid), owner(inode.meta.gid));
    let theirs = (stat.mode(), stat.uid(), stat.gid());
    let is_sized = matches!(inode.kind, FileType::File | FileType::Symlink);
    if ours != theirs || (is_sized && inode.size != stat.size()) {
        let sizes = (inode.size, stat.size());
        return Err(format!("{ours:?} for {theirs:?}, sizes {sizes:?}"));
    }
    Ok(())
}
