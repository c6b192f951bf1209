//! Prints an image as text: superblock, tables, and every inode with its lists, one item per line.
//!
//! In: an opened image. Out: lines that depend only on the image, for people and for golden tests.
//!
//! **Invariant:** prints what is stored, in stored order; owners are resolved to ids. A damaged
//! part has a line instead. Inodes after a damaged one are found by their names.

use std::collections::BTreeSet;
use std::io::Write;
use std::ops::ControlFlow;

use sinterfs_model::{Cursor, Error, ExtentSource, Image, Ino, Result};

use crate::layout::NO_XATTR;
use crate::read::Squashfs;
use crate::read::record::{DirectoryLocation, FileBlocks, InodeBody, InodeRecord};

/// Writes an image as text. Returns the first error about the image after everything is written.
pub fn dump(image: &Squashfs, out: &mut dyn Write) -> Result<()> {
    let mut dump = Dump {
        image,
        out,
        failed: None,
    };
    dump.superblock()?;
    dump.tables()?;
    dump.inodes()?;
    dump.failed.map_or(Ok(()), Err)
}

struct Dump<'a> {
    image: &'a Squashfs,
    out: &'a mut dyn Write,
    /// The first error about the image.
    failed: Option<Error>,
}

impl Dump<'_> {
    fn line(&mut self, line: std::fmt::Arguments<'_>) -> Result<()> {
        writeln!(self.out, "{line}").map_err(|error| Error::io("cannot write the dump", error))
    }

    fn superblock(&mut self) -> Result<()> {
        let image = self.image;
        let superblock = image.superblock();
        let order = match superblock.order {
            crate::read::FieldOrder::Little => "little",
            crate::read::FieldOrder::Big => "big",
        };
        self.line(format_args!(
            "squashfs {}.{} at {:#x}, {} bytes, {order}-endian",
            superblock.major,
            superblock.minor,
            image.offset(),
            superblock.bytes_used
        ))?;
        let compressor = superblock.compressor.name().unwrap_or("unknown");
        self.line(format_args!(
            "compressor {compressor} block size {} flags {:#x} made {}",
            superblock.block_size, superblock.flags.0, superblock.made
        ))?;
        if let Some(Some(options)) = self.sound(image.compressor_options())? {
            self.line(format_args!("compressor options {options:?}"))?;
        }
        let (inodes, directories) = (superblock.inode_table, superblock.directory_table);
        self.line(format_args!(
            "inode table at {:#x}, directory table at {:#x}, {} inodes, root {:#x}",
            inodes.start, directories.start, superblock.inodes, superblock.root
        ))
    }

    fn tables(&mut self) -> Result<()> {
        let image = self.image;
        let (ids, groups) = image.ids();
        for (what, ids) in [("id", ids), ("group", groups)] {
            for (index, id) in ids.iter().enumerate() {
                self.line(format_args!("{what} {index} {id}"))?;
            }
        }
        for index in 0..image.superblock().fragments {
            let Some(stored) = self.sound(image.fragment(index))? else {
                continue;
            };
            let raw = if stored.raw { " raw" } else { "" };
            self.line(format_args!(
                "fragment {index} at {:#x} len {}{raw}",
                stored.position, stored.len
            ))?;
        }
        let Some(lists) = &image.xattrs else {
            return Ok(());
        };
        for id in 0..lists.count() {
            let id = u32::try_from(id).unwrap_or(NO_XATTR);
            let Some(row) = self.sound(lists.id(&image.metadata, id))? else {
                continue;
            };
            self.line(format_args!(
                "xattrs {id} at {:#x} count {} size {}",
                row.list.0, row.count, row.size
            ))?;
            let list = self.sound(lists.get(&image.metadata, id))?;
            for (name, value) in list.unwrap_or_default() {
                let name = name.escape_ascii();
                self.line(format_args!("  {name} = \"{}\"", value.escape_ascii()))?;
            }
        }
        Ok(())
    }

    fn inodes(&mut self) -> Result<()> {
        let mut last = None;
        if let Some(mut inodes) = self.sound(self.image.all_inodes())? {
            loop {
                match self.sound(inodes.next())? {
                    Some(Some((ino, record))) => {
                        last = Some(ino);
                        let shown = self.inode(ino, &record);
                        self.sound(shown)?;
                    }
                    Some(None) => return Ok(()),
                    // where the next one begins is unknown
                    None => break,
                }
            }
        }
        self.further_inodes(last)
    }

    /// Shows the inodes behind the last one that was found in the table, by a walk of the
    /// directories.
    fn further_inodes(&mut self, last: Option<Ino>) -> Result<()> {
        let root = self.image.info().root;
        let (mut seen, mut waiting) = (BTreeSet::from([root]), vec![root]);
        while let Some(ino) = waiting.pop() {
            let Some(record) = self.sound(self.image.record(ino))? else {
                continue;
            };
            if Some(ino) > last {
                let shown = self.inode(ino, &record);
                self.sound(shown)?;
            }
            if !matches!(record.body, InodeBody::Directory(_)) {
                continue;
            }
            // what is wrong with the listing has its line at the directory
            let _ = self.image.read_dir(ino, Cursor::START, &mut |entry| {
                if seen.insert(entry.ino) {
                    waiting.push(entry.ino);
                }
                ControlFlow::Continue(())
            });
        }
        Ok(())
    }

    /// Returns the value of a result. For an error about the image, it shows a line in its place.
    fn sound<T>(&mut self, result: Result<T>) -> Result<Option<T>> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) if error.is_about_image() => {
                self.line(format_args!("damaged: {error}"))?;
                self.failed.get_or_insert(error);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn inode(&mut self, ino: Ino, record: &InodeRecord) -> Result<()> {
        let image = self.image;
        let inode = image.inode(ino)?;
        let xattr = match record.xattr {
            NO_XATTR => String::new(),
            id => format!(" xattrs {id}"),
        };
        self.line(format_args!(
            "inode {:#x} number {} {}{:04o} {}:{} time {} names {} size {}{xattr}",
            ino.0,
            record.number,
            inode.kind.letter(),
            inode.meta.mode,
            inode.meta.uid,
            inode.meta.gid,
            inode.meta.times.modified.secs,
            inode.nlink,
            inode.size,
        ))?;
        match &record.body {
            InodeBody::Directory(listing) => self.directory(ino, listing),
            InodeBody::File(content) => self.file(ino, content),
            InodeBody::Symlink { .. } => {
                let target = image.read_link(ino)?;
                self.line(format_args!("  -> {}", target.escape_ascii()))
            }
            InodeBody::Device(rdev) => {
                self.line(format_args!("  device {}:{}", rdev.major, rdev.minor))
            }
            InodeBody::Ipc => Ok(()),
        }
    }

    fn directory(&mut self, ino: Ino, listing: &DirectoryLocation) -> Result<()> {
        let image = self.image;
        self.line(format_args!(
            "  listing at {:#x}+{} len {} parent {} index {}",
            listing.block, listing.offset, listing.len, listing.parent, listing.index.0
        ))?;
        let mut entries = image.entries(ino, listing, Cursor::START)?;
        while let Some(found) = entries.next()? {
            let name = entries.name().escape_ascii();
            self.line(format_args!("  {name} {:#x}", found.ino.0))?;
        }
        Ok(())
    }

    fn file(&mut self, ino: Ino, content: &FileBlocks) -> Result<()> {
        let mut extents = Vec::new();
        // a hostile image may claim more than fits into memory
        const SHOWN: usize = 1 << 20;
        self.image.extents_of(ino, content, 0, &mut |extent| {
            extents.push(extent);
            if extents.len() < SHOWN {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })?;
        for extent in extents {
            match extent.source {
                ExtentSource::Hole => self.line(format_args!("  hole {}", extent.len))?,
                ExtentSource::Block { block, offset } => self.line(format_args!(
                    "  block {block:#x}+{offset} len {}",
                    extent.len
                ))?,
            }
        }
        Ok(())
    }
}
