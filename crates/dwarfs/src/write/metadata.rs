//! Builds the metadata: collects and freezes all tables of an image.
//!
//! In: the tree, the map of its content, properties of the blocks. Out: frozen schema and data.
//! **Invariant:** fields that are zero, empty or absent are omitted. Names of fields and tables are
//! upstream's (`thrift/metadata.thrift`). Memory: see `DwarfsWriter`.

mod categories;
mod entries;
mod inodes;
mod lists;
mod totals;

use std::borrow::Cow;

use sinterfs_model::{Category, Content, ContentMap, NodeId, Result, Tree, XattrSet};

use super::chunks::{CACHED_CHUNKS, Chunks};
use super::freeze::{Column, Frozen, Items, Value, freeze};
use super::numbering::Numbering;
use super::options::WriteOptions;
use crate::layout::metadata::{
    FEATURE_SPARSE_FILES, FieldId, chunk, dir_entry, fs_options, inode_size_cache, pair, root,
};
use entries::{Directories, Links, Names};
use inodes::Inodes;
use lists::{ints, lookup, strings, structs};
use totals::Totals;

pub(crate) use categories::BlockCategories;

/// Frozen metadata, with counts of metadata that it does not represent.
#[derive(Debug)]
pub(super) struct Metadata {
    pub(super) frozen: Frozen,
    /// The number of hard links of symlinks and special files that became inodes.
    pub(super) split_links: u64,
    /// The inodes with extended attributes, ascending.
    pub(super) xattrs: Vec<(u32, XattrSet)>,
    /// The number of inodes with a rounded time.
    pub(super) rounded_times: u64,
}

/// Properties of all written blocks.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    /// The decoded length of each in bytes.
    pub(super) lens: Vec<u32>,
    /// The category of each.
    pub(super) categories: Vec<Category>,
    /// Categories of a rewritten image, used instead of `categories`.
    pub(super) known_categories: Option<BlockCategories>,
}

/// Collects and freezes the metadata.
pub(super) fn metadata(
    tree: &Tree,
    map: &ContentMap,
    blocks: &Blocks,
    options: &WriteOptions,
) -> Result<Metadata> {
    let tables = Tables::new(tree, map, blocks, options)?;
    let mut fields = Fields::default();
    tables.add_first(&mut fields, options);
    tables.add_entries(&mut fields, options);
    tables.add_blocks(&mut fields);
    tables.add_holes(&mut fields);
    Ok(Metadata {
        frozen: freeze(&Value::Struct(fields.0))?,
        split_links: tables.numbering.split_links,
        xattrs: with_xattrs(tree, &tables.numbering.nodes),
        rounded_times: tables.inodes.times.rounded,
    })
}

/// Returns the inodes with extended attributes; `nodes` has the node of each inode.
fn with_xattrs(tree: &Tree, nodes: &[NodeId]) -> Vec<(u32, XattrSet)> {
    let sets = nodes.iter().map(|&node| tree.node(node).xattrs);
    (0..).zip(sets).filter(|(_, set)| !set.is_none()).collect()
}

/// All tables as columns.
struct Tables<'t> {
    numbering: Numbering,
    chunks: Chunks,
    names: Names<'t>,
    links: Links<'t>,
    inodes: Inodes,
    directories: Directories,
    chunk_table: Vec<u32>,
    shared_files: Vec<u32>,
    devices: Vec<u64>,
    categories: Cow<'t, BlockCategories>,
    cached_sizes: (Vec<u32>, Vec<u64>),
    cached_allocated: (Vec<u32>, Vec<u64>),
    totals: Totals,
}

impl<'t> Tables<'t> {
    fn new(
        tree: &'t Tree,
        map: &ContentMap,
        blocks: &'t Blocks,
        options: &WriteOptions,
    ) -> Result<Self> {
        let packing = options.packing();
        let numbering = Numbering::new(tree, map)?;
        let chunks = Chunks::new(map, &numbering.lists, &blocks.lens, options.block_size_bits)?;
        Ok(Self {
            names: Names::new(tree, &numbering, options)?,
            links: Links::new(tree, &numbering, options)?,
            inodes: Inodes::new(tree, &numbering, options)?,
            directories: Directories::new(tree, &numbering, packing.directories),
            chunk_table: chunks.table(packing.chunk_table),
            shared_files: shared_files(&numbering.shared, packing.shared_files),
            devices: devices(tree, &numbering),
            categories: match &blocks.known_categories {
                Some(known) => Cow::Borrowed(known),
                None => Cow::Owned(BlockCategories::from_blocks(&blocks.categories)),
            },
            cached_sizes: chunks.cached_sizes(),
            cached_allocated: chunks.cached_allocated(),
            totals: Totals::new(tree, &numbering, &chunks)?,
            numbering,
            chunks,
        })
    }

    /// Adds the fields of version 2.0.
    fn add_first<'a>(&'a self, fields: &mut Fields<'a>, options: &WriteOptions) {
        let chunks = structs(vec![
            (chunk::BLOCK, Column::U32(&self.chunks.block)),
            (chunk::OFFSET, Column::U32(&self.chunks.offset)),
            (chunk::SIZE, Column::U32(&self.chunks.size)),
        ]);
        fields.push(root::CHUNKS, chunks);
        fields.push(root::DIRECTORIES, self.directories.list());
        fields.push(root::INODES, self.inodes.list());
        fields.push(root::CHUNK_TABLE, ints(&self.chunk_table));
        fields.push(root::SYMLINK_TABLE, ints(&self.links.numbers));
        fields.push(root::UIDS, ints(&self.inodes.uids));
        fields.push(root::GIDS, ints(&self.inodes.gids));
        fields.push(root::MODES, ints(&self.inodes.modes));
        fields
            .0
            .extend(self.names.table.plain().map(|list| (root::NAMES, list)));
        fields
            .0
            .extend(self.links.table.plain().map(|list| (root::SYMLINKS, list)));
        fields.push(root::TIMESTAMP_BASE, Value::Int(self.inodes.times.base));
        fields.push(root::BLOCK_SIZE, Value::Int(options.block_size().into()));
        fields.push(root::TOTAL_FS_SIZE, Value::Int(self.totals.bytes));
    }

    /// Adds devices, options, entries and strings (versions 2.1 and 2.3).
    fn add_entries<'a>(&'a self, fields: &mut Fields<'a>, options: &'a WriteOptions) {
        if !self.devices.is_empty() {
            let devices = Value::List(Items::Ints(Column::U64(&self.devices)));
            fields.optional(root::DEVICES, devices);
        }
        fields.optional(root::OPTIONS, fs_options(options));
        let entries = structs(vec![
            (dir_entry::NAME_INDEX, Column::U32(&self.names.numbers)),
            (dir_entry::INODE_NUM, Column::U32(&self.numbering.entries)),
        ]);
        fields.optional(root::DIR_ENTRIES, entries);
        if !self.shared_files.is_empty() {
            fields.optional(root::SHARED_FILES_TABLE, ints(&self.shared_files));
        }
        fields.optional_int(root::TOTAL_HARDLINK_SIZE, self.totals.hard_links);
        let version = Value::String(options.version_string.as_bytes());
        fields.optional(root::DWARFS_VERSION, version);
        if let Some(timestamp) = options.create_timestamp {
            fields.optional_int(root::CREATE_TIMESTAMP, timestamp);
        }
        if let Some(names) = self.names.table.compact() {
            fields.optional(root::COMPACT_NAMES, names);
        }
        if let Some(targets) = self.links.table.compact() {
            fields.optional(root::COMPACT_SYMLINKS, targets);
        }
        fields.optional_int(root::PREFERRED_PATH_SEPARATOR, b'/'.into());
    }

    /// Adds features, categories and cached sizes (version 2.5).
    fn add_blocks<'a>(&'a self, fields: &mut Fields<'a>) {
        if self.chunks.has_holes() {
            fields.optional(root::FEATURES, strings([FEATURE_SPARSE_FILES]));
        }
        let categories = &*self.categories;
        if !categories.numbers.is_empty() {
            let names = strings(categories.names.iter().map(String::as_str));
            fields.optional(root::CATEGORY_NAMES, names);
            fields.optional(root::BLOCK_CATEGORIES, ints(&categories.numbers));
        }
        if !self.cached_sizes.0.is_empty() {
            let cache = vec![
                (inode_size_cache::SIZE_LOOKUP, lookup(&self.cached_sizes)),
                (
                    inode_size_cache::MIN_CHUNK_COUNT,
                    Value::Int(CACHED_CHUNKS.into()),
                ),
                (
                    inode_size_cache::ALLOCATED_SIZE_LOOKUP,
                    lookup(&self.cached_allocated),
                ),
            ];
            fields.optional(root::REG_FILE_SIZE_CACHE, Value::Struct(cache));
        }
        if !categories.json.is_empty() {
            let json = strings(categories.json.iter().map(String::as_str));
            fields.optional(root::CATEGORY_METADATA_JSON, json);
            let (blocks, numbers) = &categories.json_of_blocks;
            let pairs = vec![
                (pair::FIRST, Column::U32(blocks)),
                (pair::SECOND, Column::U32(numbers)),
            ];
            fields.optional(root::BLOCK_CATEGORY_METADATA, structs(pairs));
        }
    }

    /// Adds the fields of images with holes (upstream 0.14).
    fn add_holes<'a>(&'a self, fields: &mut Fields<'a>) {
        let Some(block) = self.chunks.hole_block() else {
            return;
        };
        fields.optional_int(root::HOLE_BLOCK_INDEX, block.into());
        if !self.chunks.large_holes.is_empty() {
            let large = Value::List(Items::Ints(Column::U64(&self.chunks.large_holes)));
            fields.optional(root::LARGE_HOLE_SIZE, large);
        }
        fields.optional_int(root::TOTAL_ALLOCATED_FS_SIZE, self.totals.allocated);
    }
}

/// Fields of a structure, in ascending order.
#[derive(Debug, Default)]
struct Fields<'a>(Vec<(FieldId, Value<'a>)>);

impl<'a> Fields<'a> {
    fn push(&mut self, id: FieldId, value: Value<'a>) {
        self.0.push((id, value));
    }

    fn optional(&mut self, id: FieldId, value: Value<'a>) {
        self.push(id, Value::some(value));
    }

    fn optional_int(&mut self, id: FieldId, value: u64) {
        self.optional(id, Value::Int(value));
    }
}

fn fs_options(options: &WriteOptions) -> Value<'static> {
    use fs_options::{
        INODES_HAVE_NLINK, MTIME_ONLY, PACKED_CHUNK_TABLE, PACKED_DIRECTORIES,
        PACKED_SHARED_FILES_TABLE, SUBSECOND_RESOLUTION_NSEC_MULTIPLIER, TIME_RESOLUTION_SEC,
    };
    let (packing, resolution) = (options.packing(), options.time_resolution);
    let mut fields = Fields::default();
    fields.push(MTIME_ONLY, Value::Bool(!options.keep_all_times));
    if resolution.seconds() > 1 {
        fields.optional_int(TIME_RESOLUTION_SEC, resolution.seconds().into());
    }
    fields.push(PACKED_CHUNK_TABLE, Value::Bool(packing.chunk_table));
    fields.push(PACKED_DIRECTORIES, Value::Bool(packing.directories));
    fields.push(PACKED_SHARED_FILES_TABLE, Value::Bool(packing.shared_files));
    if let Some(nanos) = resolution.subsecond() {
        fields.optional_int(SUBSECOND_RESOLUTION_NSEC_MULTIPLIER, nanos.into());
    }
    fields.push(INODES_HAVE_NLINK, Value::Bool(true));
    Value::Struct(fields.0)
}

/// Returns the table of shared files: the content of each file or, if packed, the number of files
/// of each content minus two.
fn shared_files(counts: &[u32], packed: bool) -> Vec<u32> {
    if packed {
        return counts.iter().map(|count| count - 2).collect();
    }
    (0..)
        .zip(counts)
        .flat_map(|(content, &count)| (0..count).map(move |_| content))
        .collect()
}

fn devices(tree: &Tree, numbering: &Numbering) -> Vec<u64> {
    let rdev = |id: &NodeId| match tree.node(*id).content {
        Content::CharDevice(rdev) | Content::BlockDevice(rdev) => rdev.to_dev_t(),
        _ => 0,
    };
    numbering.device_nodes().iter().map(rdev).collect()
}
