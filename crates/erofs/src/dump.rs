//! Shows an image as text: the superblock, its tables, and each inode with its attributes and the
//! places of its content, a line each; an image of composefs in the words of composefs-dump(5).
//!
//! In: an opened image. Out: lines that depend only on the image, for people and for tests that
//! compare with an earlier dump.
//!
//! **Invariant:** directories come in bytewise order of paths; a damaged entry has a line with what
//! is wrong instead; memory holds the paths that wait.

use std::io::Write;

use sinterfs_model::{Error, FileType, Image, Ino, Result};

use crate::composefs;
use crate::layout::Algorithm;
use crate::read::Erofs;

/// Writes an image as text. Returns the first error about the image after everything is written.
pub fn dump(image: &Erofs, out: &mut dyn Write) -> Result<()> {
    if image.composefs_version().is_some() {
        return composefs::print(image, out);
    }
    let mut dump = Dump {
        image,
        out,
        failed: None,
    };
    dump.superblock()?;
    for (name, nid, _) in image.special_inodes() {
        let shown = dump.inode(nid, name);
        dump.damaged(shown, name)?;
    }
    let root = image.superblock().root;
    let shown = dump.inode(root, "/");
    dump.damaged(shown, "/")?;
    let mut waiting = vec![(root, String::new())];
    let mut entered = 0_u64;
    while let Some((dir, path)) = waiting.pop() {
        entered += 1;
        if entered > image.info().totals.inodes {
            let error = Error::corrupt("a directory is in more than one location");
            dump.damaged::<()>(Err(error), &path)?;
            break;
        }
        let mut below = Vec::new();
        let listed = dump.directory(dir, &path, &mut below);
        dump.damaged(listed, &path)?;
        below.reverse();
        waiting.append(&mut below);
    }
    dump.failed.map_or(Ok(()), Err)
}

struct Dump<'a> {
    image: &'a Erofs,
    out: &'a mut dyn Write,
    /// The first error about the image.
    failed: Option<Error>,
}

impl Dump<'_> {
    fn line(&mut self, line: std::fmt::Arguments<'_>) -> Result<()> {
        writeln!(self.out, "{line}").map_err(|error| Error::io("cannot write the dump", error))
    }

    fn superblock(&mut self) -> Result<()> {
        let superblock = self.image.superblock().clone();
        self.line(format_args!(
            "erofs at {:#x}, blocks of {}, {} blocks, {} inodes, root {:#x}",
            self.image.offset(),
            superblock.block_size(),
            superblock.blocks,
            superblock.inodes,
            superblock.root
        ))?;
        self.line(format_args!("features {}", superblock.features().join(" ")))?;
        self.line(format_args!(
            "metadata from {:#x}, shared attributes from {:#x}, epoch {}.{:09} + {}",
            superblock.meta_start,
            superblock.xattr_start,
            superblock.epoch,
            superblock.fixed_nanos,
            superblock.build_time
        ))?;
        let configs = &superblock.configs;
        for algorithm in Algorithm::ALL.into_iter().filter(|one| configs.has(*one)) {
            let detail = match algorithm {
                Algorithm::Lz4 => format!("distance {}", configs.lz4_distance),
                Algorithm::MicroLzma => format!("dictionary {}", configs.lzma_dict),
                Algorithm::Deflate => format!("window 2^{}", configs.deflate_window_bits),
                Algorithm::Zstd => format!("window 2^{}", configs.zstd_window_log),
            };
            self.line(format_args!("algorithm {} {detail}", algorithm.name()))?;
        }
        for (index, device) in superblock.devices.iter().enumerate() {
            self.line(format_args!(
                "device {} blocks {} from {:#x} tag {:?}",
                index + 1,
                device.blocks,
                device.first_block,
                String::from_utf8_lossy(&device.tag)
            ))?;
        }
        Ok(())
    }

    /// Shows that something is damaged; an error that is not about the image is returned.
    fn damaged<T>(&mut self, shown: Result<T>, path: &str) -> Result<Option<T>> {
        match shown {
            Ok(shown) => Ok(Some(shown)),
            Err(error) if error.is_about_image() => {
                self.line(format_args!("  damaged: {error} {path}"))?;
                self.failed.get_or_insert(error);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Shows what a directory holds, and adds its directories.
    fn directory(&mut self, dir: u64, path: &str, below: &mut Vec<(u64, String)>) -> Result<()> {
        let mut entries = Vec::new();
        let listed = self.image.entries(dir, &mut |entry| {
            if !matches!(entry.name, b"." | b"..") {
                entries.push((entry.name.escape_ascii().to_string(), entry.nid));
            }
        });
        for (name, nid) in entries {
            let path = format!("{path}/{name}");
            let shown = self.inode(nid, &path);
            if self.damaged(shown, &path)? == Some(FileType::Directory) {
                below.push((nid, path));
            }
        }
        listed
    }

    fn inode(&mut self, nid: u64, path: &str) -> Result<FileType> {
        let inode = self.image.inode(Ino(nid))?;
        let node = self.image.node(nid)?;
        let form = if node.extended { "extended" } else { "compact" };
        self.line(format_args!(
            "inode {nid:#x} at {:#x} {form} {} {}{:04o} {}:{} links {} size {} time {}.{:09} {path}",
            node.meta.at,
            node.layout.name(),
            inode.kind.letter(),
            node.mode,
            node.uid,
            node.gid,
            node.nlink,
            node.size,
            node.mtime.secs,
            node.mtime.nanos
        ))?;
        if matches!(inode.kind, FileType::CharDevice | FileType::BlockDevice) {
            let (major, minor) = (inode.rdev.major, inode.rdev.minor);
            self.line(format_args!("  device {major}:{minor}"))?;
        }
        let xattrs = self.damaged(self.image.xattrs_of(&node), path)?;
        for (name, value) in xattrs.unwrap_or_default() {
            let (name, value) = (name.escape_ascii(), value.escape_ascii());
            self.line(format_args!("  xattr {name} {value}"))?;
        }
        let mut lines = Vec::new();
        let mapped = self.image.runs(&node, &mut |mapped| {
            lines.push(format!(
                "  {:#x}+{:#x} {}",
                mapped.start, mapped.len, mapped.location
            ));
        });
        for line in lines {
            self.line(format_args!("{line}"))?;
        }
        self.damaged(mapped, path)?;
        Ok(inode.kind)
    }
}
