//! Opens an image: reads headers, blob tables and the metadata of the images that are shown.
//!
//! In: the sources of the first part and of further files. Out: `Wim`.
//!
//! **Invariant:** besides the cache of chunks, memory holds blobs and inodes, which the limits
//! bound.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_block::cache::{self, BlockCache};
use sinterfs_block::checksum::Sha1;
use sinterfs_format::ReadOptions;
use sinterfs_model::{Capability, Error, FileType, FsInfo, ImageInfo, Ino, Kind, Loss, Result};

use super::blobs::BlobTable;
use super::content::Contents;
use super::damaged::DamagedChunks;
use super::digests::{self, DigestChecks};
use super::nodes::{NO_BLOB, NamedStream, Nodes};
use super::parts::Part;
use super::xml;
use crate::layout::{HeaderFlags, ResourceFlags, WimHeader};

/// An image in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WimImage {
    /// Its number, from 1 on.
    pub number: u32,
    /// Its name; empty for none.
    pub name: String,
}

/// The number of inodes with metadata that is not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WimLosses {
    /// Windows attributes other than directory and normal.
    pub attributes: u64,
    /// Security descriptors.
    pub security: u64,
    /// Short names.
    pub short_names: u64,
    /// Creation times that differ from the modification time.
    pub births: u64,
    /// Access times that differ from the modification time.
    pub accesses: u64,
    /// Reparse points that are no links.
    pub reparse_points: u64,
    /// Object IDs of NTFS.
    pub object_ids: u64,
    /// Items of unknown kinds.
    pub items: u64,
}

/// The most bytes of a named stream that is shown as an extended attribute.
pub(crate) const STREAM_MAX: u64 = 1 << 16;

/// An opened WIM file. Many threads may read it at once.
///
/// Memory: the cache of chunks, some 200 bytes per blob, and some 150 per inode with its name.
pub struct Wim {
    pub(crate) contents: Contents,
    pub(crate) nodes: Nodes,
    pub(crate) images: Vec<WimImage>,
    pub(crate) shown: Vec<u32>,
    pub(crate) xml: String,
    /// The error in the XML data.
    pub(crate) xml_damage: Option<Error>,
    header: WimHeader,
    pub(super) info: ImageInfo,
}

impl std::fmt::Debug for Wim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Wim");
        shown.field("images", &self.images).finish_non_exhaustive()
    }
}

impl Wim {
    /// Opens an image; `more` are further parts, and the bases of a delta.
    ///
    /// `Invalid` if there is no image, `Unsupported` for another version, `Corrupt` if it is
    /// inconsistent or a part is missing, `NotFound` if it has no image of that name, `Limit` if it
    /// exceeds `options.limits`.
    pub fn open(
        source: Arc<dyn ReadAt>,
        more: &[Arc<dyn ReadAt>],
        options: &ReadOptions,
    ) -> Result<Self> {
        let mut parts = vec![Part::open(source, options.start_offset())?];
        for further in more {
            parts.push(Part::open(Arc::clone(further), 0)?);
        }
        let first = parts.first().map(|part| part.header);
        let first = first.ok_or_else(|| Error::invalid("no WIM image"))?;
        check_parts(&first, &parts)?;
        let mut table = BlobTable::new(&options.limits);
        for part in 0..parts.len() {
            let of_image = parts
                .get(part)
                .is_some_and(|part| part.header.guid == first.guid);
            table.add(&parts, part, of_image, &options.limits)?;
        }
        table.check_places(&parts)?;
        let cache = options.cache.clone().unwrap_or_else(|| {
            // it holds two of the largest chunks, which belong to solid resources and are longer
            // than the header says: each read would decode uncached chunks again
            let largest = table.largest_chunk();
            let least = largest.min(options.limits.block).saturating_mul(2);
            let bytes = options.cache_bytes.max(least);
            Arc::new(BlockCache::new(bytes, largest.max(1 << 15)))
        });
        let contents = Contents {
            checks: DigestChecks::new(table.blobs.len()),
            damaged: DamagedChunks::default(),
            parts,
            table,
            cache,
            cache_key: cache::image_key(),
            limits: options.limits,
        };
        let (xml, xml_damage) = match read_xml(&contents) {
            Ok(xml) => (xml, None),
            Err(error) if error.kind() == Kind::Io => return Err(error),
            // nothing but the names of images comes from it
            Err(error) => (String::new(), Some(error)),
        };
        let images = images(&contents, &xml)?;
        let shown = select(&images, options.image.as_deref())?;
        let nodes = read_nodes(&contents, &shown)?;
        Ok(Self {
            info: image_info(&contents, &nodes),
            contents,
            nodes,
            images,
            shown,
            xml,
            xml_damage,
            header: first,
        })
    }

    /// Returns the header of the first part.
    pub fn header(&self) -> &WimHeader {
        &self.header
    }

    /// Returns the images of the file.
    pub fn images(&self) -> &[WimImage] {
        &self.images
    }

    /// Returns the numbers of the images that are shown.
    pub fn shown(&self) -> &[u32] {
        &self.shown
    }

    /// Returns the XML data; nothing if it is damaged.
    pub fn xml(&self) -> &str {
        &self.xml
    }

    /// Returns how many files the image is read from.
    pub fn parts(&self) -> usize {
        self.contents.parts.len()
    }

    /// Returns the offset of the image in its file in bytes.
    pub fn offset(&self) -> u64 {
        let first = self.contents.parts.first();
        first.map_or(0, |part| part.window.start())
    }

    /// Returns the cache of decoded chunks.
    pub fn cache(&self) -> &Arc<BlockCache> {
        &self.contents.cache
    }

    /// Returns what is not shown.
    pub fn losses(&self) -> WimLosses {
        let unshown = &self.nodes.unshown;
        WimLosses {
            attributes: unshown.attributes,
            security: unshown.security,
            short_names: unshown.short_names,
            births: unshown.births,
            accesses: unshown.accesses,
            reparse_points: unshown.reparse_points,
            object_ids: unshown.object_ids,
            items: unshown.items,
        }
    }

    /// Returns the entries and parts of them that are not shown.
    pub fn lost_entries(&self) -> Vec<Loss> {
        let mut names = Loss::entries("entries whose names cannot be shown");
        for name in &self.nodes.left_out_names {
            names.add(|| name.clone());
        }
        names.count = self.nodes.left_out_count;
        let what = "files with named streams of more than 64 KiB, or with names that no attribute \
                    can have";
        let mut streams = Loss::entries(what);
        let large = (0..).zip(&self.nodes.all);
        let large = large.filter(|(_, node)| {
            let mut streams = self.nodes.streams_of(node).iter();
            streams.any(|stream| !self.is_shown(stream))
        });
        let mut inodes: BTreeSet<u32> = large.map(|(index, _)| index).collect();
        inodes.extend(&self.nodes.odd_streams);
        if !inodes.is_empty() {
            for path in self.nodes.paths(&inodes) {
                streams.add(|| path);
            }
            streams.count = inodes.len() as u64;
        }
        Loss::happened([names, streams])
    }

    /// Returns the full names of the extended attributes that are named streams, and how many
    /// streams these are.
    pub fn streams_as_attributes(&self) -> (BTreeSet<Vec<u8>>, u64) {
        let shown = self.nodes.streams.iter();
        let shown = shown.filter(|stream| self.is_shown(stream));
        let mut count = 0;
        let counted = shown.inspect(|_| count += 1);
        let names = counted.map(|stream| [b"user.", &*stream.name].concat());
        (names.collect(), count)
    }

    /// Returns whether a named stream is shown as an attribute.
    fn is_shown(&self, stream: &NamedStream) -> bool {
        let found = self.contents.table.get(stream.blob);
        found.is_none_or(|(blob, _)| blob.len <= STREAM_MAX)
    }

    /// Returns which entries are left out, and why; of many only the first.
    pub fn left_out(&self) -> impl Iterator<Item = Error> {
        let all = self.nodes.left_out.iter();
        all.map(|what| Error::corrupt(what.clone()).within("metadata"))
    }
}

/// Checks that all parts of the image are there.
fn check_parts(first: &WimHeader, parts: &[Part]) -> Result<()> {
    let of_image = parts.iter().filter(|part| part.header.guid == first.guid);
    let mut numbers: Vec<u16> = of_image.map(|part| part.header.part).collect();
    numbers.sort_unstable();
    if let Some(twice) = numbers.windows(2).find(|pair| pair.first() == pair.last()) {
        let twice = twice.first().copied().unwrap_or(0);
        return Err(Error::invalid(format!("part {twice} was given twice")));
    }
    let missing = (1..=first.parts).find(|number| !numbers.contains(number));
    if let Some(missing) = missing {
        let parts = first.parts;
        let what = format!("part {missing} of {parts} is missing: give it, or put it beside");
        return Err(Error::invalid(what));
    }
    Ok(())
}

/// Reads the XML data of the first part.
fn read_xml(contents: &Contents) -> Result<String> {
    /// The most bytes that are read.
    const MAX: u64 = 64 << 20;
    let Some(file) = contents.parts.first() else {
        return Ok(String::new());
    };
    let entry = &file.header.xml;
    let located = |error: Error| error.at("XML data", file.window.start().saturating_add(entry.at));
    if entry.flags.has(ResourceFlags::COMPRESSED) {
        return Err(located(Error::unsupported("compressed XML data")));
    }
    let end = entry.at.checked_add(entry.stored);
    if entry.stored > MAX || end.is_none_or(|end| end > file.window.len()) {
        let what = format!("{} bytes", entry.stored);
        return Err(located(Error::corrupt(what)));
    }
    let bytes = file.window.read(entry.at, entry.stored).map_err(located)?;
    Ok(xml::decode(&bytes))
}

/// Returns the images with their names.
fn images(contents: &Contents, xml: &str) -> Result<Vec<WimImage>> {
    let found = contents.table.metadata.len();
    let promised = contents.parts.first().map_or(0, |part| part.header.images);
    if found as u64 != u64::from(promised) {
        let what = format!("expected the metadata of {promised} images, found {found}");
        return Err(Error::corrupt(what).within("blob table"));
    }
    if promised == 0 {
        return Err(Error::unsupported(
            "a file without images: a part of a split WIM, or the content of a delta",
        ));
    }
    let mut names: BTreeMap<u32, String> = xml::names(xml);
    let numbers = 1..=promised;
    Ok(numbers
        .map(|number| WimImage {
            number,
            name: names.remove(&number).unwrap_or_default(),
        })
        .collect())
}

/// Returns the numbers of the images to show.
fn select(images: &[WimImage], wanted: Option<&str>) -> Result<Vec<u32>> {
    let Some(wanted) = wanted else {
        return Ok(images.iter().map(|image| image.number).collect());
    };
    let by_number = wanted.parse().ok().and_then(|number: u32| {
        let mut found = images.iter();
        found.find(|image| image.number == number)
    });
    let named = || images.iter().find(|image| image.name == wanted);
    match by_number.or_else(named) {
        Some(image) => Ok(vec![image.number]),
        None => {
            let known = images.iter().take(20);
            let known = known.map(|image| format!("{} {:?}", image.number, image.name));
            let known: Vec<_> = known.collect();
            Err(Error::not_found(format!(
                "no image `{wanted}`; there are {}",
                known.join(", ")
            )))
        }
    }
}

/// Reads the metadata of images.
fn read_nodes(contents: &Contents, shown: &[u32]) -> Result<Nodes> {
    let mut nodes = Nodes::new(contents.limits.metadata);
    let table = &contents.table;
    if let [only] = shown {
        nodes.add_image(&read_metadata(contents, *only)?, table, 0)?;
        return Ok(nodes);
    }
    let mut images = Vec::new();
    let mut budget = contents.limits.metadata;
    for &number in shown {
        let metadata = read_metadata(contents, number)?;
        let left = budget.checked_sub(metadata.len() as u64);
        budget = left.ok_or_else(|| Error::limit("metadata of images above the limit"))?;
        images.push((number, metadata));
    }
    nodes.add_images(&images, table)?;
    Ok(nodes)
}

/// Reads the metadata of an image and compares it with its SHA-1.
pub(crate) fn read_metadata(contents: &Contents, number: u32) -> Result<Vec<u8>> {
    let index = (number as usize).checked_sub(1);
    let entry = index.and_then(|index| contents.table.metadata.get(index));
    let (resource, digest) = entry.ok_or_else(|| Error::not_found(format!("image {number}")))?;
    let resource = contents.table.resources.get(*resource as usize);
    let resource = resource.ok_or_else(|| Error::corrupt("metadata that is not there"))?;
    let start = contents
        .parts
        .get(resource.part)
        .map_or(0, |part| part.window.start());
    let located = |error: Error| {
        let at = start.saturating_add(resource.at);
        error.at(format!("metadata of image {number}"), at)
    };
    if resource.len > contents.limits.metadata {
        let what = format!("{} bytes, above the limit", resource.len);
        return Err(located(Error::limit(what)));
    }
    let mut bytes = Vec::new();
    let len = usize::try_from(resource.len).unwrap_or(usize::MAX);
    // decoded in steps, so that memory follows what is there
    while bytes.len() < len {
        let now = (len - bytes.len()).min(16 << 20);
        let at = bytes.len();
        bytes.resize(at + now, 0);
        let room = bytes.get_mut(at..).unwrap_or_default();
        contents
            .read_resource(resource, at as u64, room)
            .map_err(located)?;
    }
    let mut state = Sha1::default();
    state.update(&bytes);
    digests::compare(digest, &state.finish()).map_err(located)?;
    Ok(bytes)
}

fn image_info(contents: &Contents, nodes: &Nodes) -> ImageInfo {
    let first = contents.parts.first().map(|part| &part.header);
    let is_solid = first.is_some_and(|header| header.version == crate::layout::SOLID_VERSION);
    let files = nodes.all.iter().filter(|node| node.kind == FileType::File);
    let bytes = files.map(|node| match node.blob {
        NO_BLOB => 0,
        blob => contents.table.get(blob).map_or(0, |(blob, _)| blob.len),
    });
    let stored = contents.parts.iter().map(|part| part.window.len());
    let is_compressed = first.is_some_and(|header| header.flags.has(HeaderFlags::COMPRESSION));
    ImageInfo {
        format: "wim",
        version: if is_solid { "0.14" } else { "1.13" }.to_owned(),
        root: Ino(1),
        totals: FsInfo {
            inodes: nodes.all.len() as u64,
            bytes: Some(bytes.fold(0, u64::saturating_add)),
            stored: stored.fold(0, u64::saturating_add),
            block_size: match first {
                Some(header) if is_compressed => header.chunk_size.into(),
                _ => 4096,
            },
        },
        checked_in_order: true,
        capability: Capability {
            xattrs: true,
            special_hard_links: true,
            holes: false,
            all_times: false,
            time_unit: 100,
        },
    }
}
