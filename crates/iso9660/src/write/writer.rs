//! `IsoWriter`: the `ImageWriter` of this format.
//!
//! In: blocks, tree and content map. Out: bytes, to a sink, from front to back; the descriptors,
//! the system area and the directories are replaced at the end.
//!
//! Directories refer to content, and precede it: programs that read from front to back want them
//! first. Their room is reserved when the tree is known. If they need more in the end, as files
//! grew, they follow the content.

use std::fmt;
use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use sinterfs_block::Sink;
use sinterfs_block::checksum::sha256;
use sinterfs_model::{
    Block, ContentMap, Error, Geometry, ImageWriter, Loss, Result, SegmentEncoder, Summary,
    TailPlacement, TailSharing, Tree,
};

use super::appended::{self, AppendedPlace};
use super::boot::{self, DiskPlace, GPT_TAIL};
use super::compression::ZisofsCompression;
use super::contents::ContentWriter;
use super::descriptors::{self, TreeKind, TreePlace};
use super::directories::{Placed, directory_links, number};
use super::level::InterchangeLevel;
use super::losses::losses;
use super::names::Identifiers;
use super::options::WriteOptions;
use super::trees::{TreeLayout, TreeOut};
use super::unit_encoder::UnitEncoder;
use crate::layout::{FIRST_DESCRIPTOR, SECTOR, SECTOR_LEN, ZisofsVersion};

/// Bytes of zeros that are written at a time.
const COPY_LEN: usize = 1 << 20;

/// Writes an image.
///
/// Memory: the encoded units of one file, at most 256 MiB; `begin` and `finish` take about 400
/// bytes per name.
pub struct IsoWriter {
    options: WriteOptions,
    contents: ContentWriter,
    /// The first sectors of the boot images.
    boot: Vec<u32>,
    /// Bytes in front of the content.
    front_bytes: u64,
    /// The sectors that are reserved for directories.
    room: Range<u64>,
    blocks: u64,
    raw_bytes: u64,
}

impl fmt::Debug for IsoWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IsoWriter")
            .field("options", &self.options)
            .field("blocks", &self.blocks)
            .finish_non_exhaustive()
    }
}

impl IsoWriter {
    /// Starts an image. `Invalid` for options that the format does not have.
    pub fn new(out: Box<dyn Sink>, options: WriteOptions) -> Result<Self> {
        options.check()?;
        let zisofs = (options.compression != ZisofsCompression::Plain).then(|| {
            let bits = u8::try_from(options.block_size.trailing_zeros()).unwrap_or(0);
            let v1 = !options.own.zisofs2 && bits <= ZisofsVersion::V1.block_bits_max();
            (
                if v1 {
                    ZisofsVersion::V1
                } else {
                    ZisofsVersion::V2
                },
                bits,
            )
        });
        let mut writer = Self {
            contents: ContentWriter::new(out, 0, zisofs, options.own.zisofs_marks),
            boot: Vec::new(),
            front_bytes: 0,
            room: 0..0,
            blocks: 0,
            raw_bytes: 0,
            options,
        };
        writer.front()?;
        Ok(writer)
    }

    /// Returns the number of descriptors.
    fn descriptors(&self) -> u64 {
        let more = [
            self.options.own.joliet,
            !self.options.own.boot.is_empty(),
            self.options.own.level == InterchangeLevel::Four,
        ];
        2 + more.iter().filter(|is_there| **is_there).count() as u64
    }

    /// Writes what precedes content: room for system area and descriptors, boot images.
    fn front(&mut self) -> Result<()> {
        let room = FIRST_DESCRIPTOR + self.descriptors();
        for _ in 0..room {
            self.contents.write(&[0; SECTOR_LEN])?;
        }
        let images = &self.options.own.boot;
        if !images.is_empty() {
            let mut sector = room + 1;
            for image in images {
                self.boot.push(number(sector)?);
                sector += image.sectors();
            }
            let catalog = boot::catalog(images, &self.boot, &[])?;
            self.contents.write(&catalog)?;
            for (image, sector) in images.iter().zip(&self.boot) {
                self.contents.write(&image.placed(*sector)?)?;
                self.contents.align()?;
            }
        }
        self.front_bytes = self.contents.at;
        Ok(())
    }

    /// Returns what the records of a tree are made of; `map` is there once content is written.
    fn placed<'a>(&'a self, tree: &'a Tree, map: Option<&'a ContentMap>) -> Placed<'a> {
        Placed {
            tree,
            map,
            contents: &self.contents,
            keeps_xattrs: self.options.xattrs,
            level: self.options.own.level,
            links: directory_links(tree),
        }
    }

    /// Returns the identifiers of each tree.
    fn kinds(&self) -> Vec<Identifiers> {
        let mut kinds = vec![Identifiers::of(self.options.own.level)];
        if self.options.own.joliet {
            let is_long = self.options.own.joliet_long;
            kinds.push(Identifiers::Joliet { is_long });
        }
        kinds
    }

    /// Lays out all trees from a sector on.
    fn lay_out(&self, placed: &Placed<'_>, mut sector: u64) -> Result<Vec<TreeLayout>> {
        let mut trees = Vec::new();
        for kind in self.kinds() {
            let tree = TreeLayout::new(placed, kind, sector)?;
            sector = tree.end;
            trees.push(tree);
        }
        Ok(trees)
    }

    /// Writes all trees into the space reserved for them or, if it is too short, after the content;
    /// returns their places, and the names that Joliet changed or left out.
    fn trees(&mut self, tree: &Tree, map: &ContentMap) -> Result<(Vec<TreePlace>, Vec<Loss>)> {
        let placed = self.placed(tree, Some(map));
        let mut trees = self.lay_out(&placed, self.room.start)?;
        let needed = trees.last().map_or(0, |tree| tree.end);
        let is_reserved = needed <= self.room.end;
        if !is_reserved {
            trees = self.lay_out(&placed, self.contents.at / SECTOR)?;
        }
        drop(placed);
        let mut out = TreeOut {
            contents: &mut self.contents,
            patches: is_reserved.then_some(self.room.start * SECTOR),
            waiting: Vec::new(),
        };
        let mut places = Vec::new();
        for tree in &mut trees {
            places.push(tree.write(&mut out)?);
        }
        out.flush()?;
        let joliet = trees.pop().filter(|_| places.len() > 1);
        let losses = joliet.map(|tree| [tree.directories.renamed, tree.directories.lacking]);
        Ok((places, losses.into_iter().flatten().collect()))
    }

    /// Returns what a partition table describes, if there is to be one; `image` is the end of the
    /// image.
    fn disk(&self, image: u64, appended: Vec<AppendedPlace>) -> Option<DiskPlace> {
        if !self.options.own.partitions && appended.is_empty() {
            return None;
        }
        let place = |efi: bool| {
            let mut images = self.options.own.boot.iter().zip(&self.boot);
            let (image, sector) = images.find(|(image, _)| image.efi == efi)?;
            let mut behind = appended.iter();
            match behind.find(|place| Some(place.number) == image.appended()) {
                Some(place) => Some((place.sector, place.sectors)),
                None => Some((u64::from(*sector), image.sectors())),
            }
        };
        let efi = place(true);
        let has_gpt = self.options.own.partitions && efi.is_some();
        let behind = if has_gpt { GPT_TAIL * 512 } else { 0 };
        let len = (self.contents.at + behind).next_multiple_of(SECTOR);
        Some(DiskPlace {
            len,
            image: if appended.is_empty() { len } else { image },
            boots: self.options.own.partitions,
            bios: place(false).map(|(sector, _)| sector),
            efi,
            appended,
        })
    }

    /// Returns the descriptors of an image of a number of sectors.
    fn descriptor_sectors(&self, trees: &[TreePlace], sectors: u32) -> Result<Vec<u8>> {
        let options = &self.options;
        let mut all = Vec::new();
        for (tree, kind) in trees.iter().zip([TreeKind::Primary, TreeKind::Joliet]) {
            let place = TreePlace { sectors, ..*tree };
            all.extend(descriptors::volume(options, &place, kind));
            if kind == TreeKind::Primary && !self.boot.is_empty() {
                let catalog = FIRST_DESCRIPTOR + self.descriptors();
                all.extend(descriptors::boot_record(number(catalog)?));
            }
        }
        let primary = trees.first();
        if let Some(tree) = primary.filter(|_| options.own.level == InterchangeLevel::Four) {
            let place = TreePlace { sectors, ..*tree };
            all.extend(descriptors::volume(options, &place, TreeKind::Enhanced));
        }
        all.extend(descriptors::terminator());
        Ok(all)
    }

    /// Writes what follows the image, replaces the system area, the descriptors and the boot
    /// catalog, and ends the image.
    fn seal(&mut self, trees: &[TreePlace]) -> Result<()> {
        let image = self.contents.at;
        let appended = appended::write(&self.options.own.appended, &mut self.contents)?;
        let catalog = boot::catalog(&self.options.own.boot, &self.boot, &appended)?;
        let disk = self.disk(image, appended);
        let (end, image) = disk
            .as_ref()
            .map_or((image, image), |disk| (disk.len, disk.image));
        let front = self.descriptor_sectors(trees, number(image / SECTOR)?)?;
        let code = &self.options.own.system_area;
        let (area, tail) = match &disk {
            Some(disk) => boot::system_area(code, disk, &sha256(&front)),
            None => (code.clone(), Vec::new()),
        };
        // the second GPT is at the very end
        let gap = end - self.contents.at - tail.len() as u64;
        self.contents
            .write(&vec![0; usize::try_from(gap).unwrap_or(0)])?;
        self.contents.write(&tail)?;
        let at = (FIRST_DESCRIPTOR + self.descriptors()) * SECTOR;
        let has_catalog = !self.boot.is_empty();
        let out = &mut self.contents.out;
        let failed = |error| Error::io("cannot write the image", error);
        out.patch(0, &area).map_err(failed)?;
        out.patch(FIRST_DESCRIPTOR * SECTOR, &front)
            .map_err(failed)?;
        if has_catalog {
            out.patch(at, &catalog).map_err(failed)?;
        }
        out.flush().map_err(failed)
    }
}

impl ImageWriter for IsoWriter {
    fn geometry(&self) -> Geometry {
        Geometry::PerFile {
            unit: self.options.block_size,
            tails: TailPlacement::Alone,
            // a content is contiguous; zisofs finds zeros by itself
            holes: false,
            repeats: None,
            sharing: TailSharing::Never,
        }
    }

    fn encoder(&self) -> Arc<dyn SegmentEncoder> {
        Arc::new(UnitEncoder {
            compression: self.options.compression,
            block_size: self.options.block_size,
        })
    }

    fn begin(&mut self, tree: &Tree) -> Result<()> {
        if self.blocks > 0 {
            return Err(Error::invalid("the tree comes before blocks"));
        }
        let trees = self.lay_out(&self.placed(tree, None), self.contents.at / SECTOR)?;
        let end = trees.last().map_or(0, |tree| tree.end) * SECTOR;
        drop(trees);
        let zeros = vec![0; COPY_LEN];
        while self.contents.at < end {
            let left = usize::try_from(end - self.contents.at).unwrap_or(COPY_LEN);
            let now = zeros.get(..left.min(COPY_LEN)).unwrap_or_default();
            self.contents.write(now)?;
        }
        self.room = self.front_bytes / SECTOR..self.contents.at / SECTOR;
        self.front_bytes = self.contents.at;
        Ok(())
    }

    fn put(&mut self, block: Block) -> Result<()> {
        let (number, expected) = (block.sequence, self.blocks);
        if u64::from(number) != expected {
            return Err(Error::invalid(format!(
                "block {number} instead of block {expected}"
            )));
        }
        self.blocks += 1;
        self.raw_bytes += u64::from(block.decoded_len);
        self.contents.put(block)
    }

    fn finish(mut self: Box<Self>, tree: &Tree, map: &ContentMap) -> Result<Summary> {
        self.contents.close()?;
        let block_bytes = self.contents.at - self.front_bytes;
        let (places, of_joliet) = self.trees(tree, map)?;
        self.seal(&places)?;
        let image_bytes = self.contents.at;
        Ok(Summary {
            image_bytes,
            blocks: self.blocks,
            raw_bytes: self.raw_bytes,
            block_bytes,
            metadata_bytes: image_bytes - block_bytes,
            root_digest: None,
            losses: losses(tree, self.options.xattrs, of_joliet),
        })
    }
}
