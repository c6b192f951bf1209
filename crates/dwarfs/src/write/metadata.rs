//! The metadata: all tables of an image, gathered and frozen.
//!
//! In: the tree, the map of its content, what is known of the blocks. Out: frozen schema and data.
//! **Invariant:** what is zero, empty or absent is left out. Names of fields and tables are
//! upstream's (`thrift/metadata.thrift`). Memory: see `DwarfsWriter`.

use std::collections::BTreeSet;

use model::{Category, Content, ContentMap, Error, FileType, NodeId, Result, Tree};

use super::chunks::{CACHED_CHUNKS, Chunks};
use super::freeze::{Column, Frozen, Items, Value, freeze};
use super::numbering::Numbering;
use super::options::WriteOptions;
use super::strings::{Interner, StringTable};
use super::times::{TimeColumn, Times};
use crate::layout::metadata::{
    FEATURE_SPARSE_FILES, FieldId, chunk, dir_entry, directory, fs_options, inode_data,
    inode_size_cache, pair, root,
};

/// The longest name and symlink target in bytes that Linux has.
const LONGEST_NAME: usize = 255;
const LONGEST_TARGET: usize = 4095;

/// The longest stored forms of these that upstream's consistency check lets pass.
const STORED_NAME: usize = 512;
const STORED_TARGET: usize = 4096;

/// Frozen metadata and what it could not hold.
#[derive(Debug)]
pub(super) struct Metadata {
    pub(super) frozen: Frozen,
    /// Hard links of symlinks and special files that became inodes.
    pub(super) split_links: u64,
    /// Inodes with a time that was rounded.
    pub(super) rounded_times: u64,
}

/// What is known of the blocks when all have been put.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    /// Bytes of each before encoding.
    pub(super) lens: Vec<u32>,
    /// The category of each.
    pub(super) categories: Vec<Category>,
}

/// Gathers and freezes the metadata.
pub(super) fn metadata(
    tree: &Tree,
    map: &ContentMap,
    blocks: &Blocks,
    options: &WriteOptions,
) -> Result<Metadata> {
    let numbering = Numbering::new(tree, map)?;
    let chunks = Chunks::new(map, &numbering.lists, &blocks.lens, options.block_size_bits)?;
    let names = Names::new(tree, &numbering, options)?;
    let links = Links::new(tree, &numbering, options)?;
    let inodes = Inodes::new(tree, &numbering, options)?;
    let directories = Directories::new(tree, &numbering, options.packing.directories);
    let chunk_table = chunks.table(options.packing.chunk_table);
    let shared = shared_files(&numbering.shared, options.packing.shared_files);
    let devices = devices(tree, &numbering);
    let (category_names, block_categories) = block_categories(&blocks.categories);
    let (cached, allocated) = (chunks.cached_sizes(), chunks.cached_allocated());
    let totals = Totals::new(tree, &numbering, &chunks)?;

    let mut fields = Fields::default();
    fields.push(
        root::CHUNKS,
        structs(vec![
            (chunk::BLOCK, Column::U32(&chunks.block)),
            (chunk::OFFSET, Column::U32(&chunks.offset)),
            (chunk::SIZE, Column::U32(&chunks.size)),
        ]),
    );
    fields.push(root::DIRECTORIES, directories.list());
    fields.push(root::INODES, inodes.list());
    fields.push(root::CHUNK_TABLE, ints(&chunk_table));
    fields.push(root::SYMLINK_TABLE, ints(&links.numbers));
    fields.push(root::UIDS, ints(&inodes.uids));
    fields.push(root::GIDS, ints(&inodes.gids));
    fields.push(root::MODES, ints(&inodes.modes));
    fields.push_some(root::NAMES, names.table.plain());
    fields.push_some(root::SYMLINKS, links.table.plain());
    fields.push(root::TIMESTAMP_BASE, Value::Int(inodes.times.base));
    fields.push(root::BLOCK_SIZE, Value::Int(options.block_size().into()));
    fields.push(root::TOTAL_FS_SIZE, Value::Int(totals.bytes));
    if !devices.is_empty() {
        let devices = Value::List(Items::Ints(Column::U64(&devices)));
        fields.push(root::DEVICES, Value::some(devices));
    }
    fields.push(root::OPTIONS, fs_options(options));
    fields.push(
        root::DIR_ENTRIES,
        Value::some(structs(vec![
            (dir_entry::NAME_INDEX, Column::U32(&names.numbers)),
            (dir_entry::INODE_NUM, Column::U32(&numbering.entries)),
        ])),
    );
    if !shared.is_empty() {
        fields.push(root::SHARED_FILES_TABLE, Value::some(ints(&shared)));
    }
    fields.push(
        root::TOTAL_HARDLINK_SIZE,
        Value::some(Value::Int(totals.hard_links)),
    );
    let version = Value::String(options.version_string.as_bytes());
    fields.push(root::DWARFS_VERSION, Value::some(version));
    if let Some(timestamp) = options.create_timestamp {
        fields.push(root::CREATE_TIMESTAMP, Value::some(Value::Int(timestamp)));
    }
    fields.push_some(root::COMPACT_NAMES, names.table.compact());
    fields.push_some(root::COMPACT_SYMLINKS, links.table.compact());
    fields.push(
        root::PREFERRED_PATH_SEPARATOR,
        Value::some(Value::Int(b'/'.into())),
    );
    if chunks.has_holes() {
        let features = Value::List(Items::Strings(vec![FEATURE_SPARSE_FILES.as_bytes()]));
        fields.push(root::FEATURES, Value::some(features));
    }
    if !category_names.is_empty() {
        let names = category_names.iter().map(|name| name.as_bytes()).collect();
        fields.push(
            root::CATEGORY_NAMES,
            Value::some(Value::List(Items::Strings(names))),
        );
        fields.push(root::BLOCK_CATEGORIES, Value::some(ints(&block_categories)));
    }
    if !cached.0.is_empty() {
        fields.push(
            root::REG_FILE_SIZE_CACHE,
            Value::some(Value::Struct(vec![
                (inode_size_cache::SIZE_LOOKUP, lookup(&cached)),
                (
                    inode_size_cache::MIN_CHUNK_COUNT,
                    Value::Int(CACHED_CHUNKS.into()),
                ),
                (inode_size_cache::ALLOCATED_SIZE_LOOKUP, lookup(&allocated)),
            ])),
        );
    }
    if let Some(block) = chunks.hole_block() {
        fields.push(
            root::HOLE_BLOCK_INDEX,
            Value::some(Value::Int(block.into())),
        );
        if !chunks.large_holes.is_empty() {
            let large = Value::List(Items::Ints(Column::U64(&chunks.large_holes)));
            fields.push(root::LARGE_HOLE_SIZE, Value::some(large));
        }
        fields.push(
            root::TOTAL_ALLOCATED_FS_SIZE,
            Value::some(Value::Int(totals.allocated)),
        );
    }
    Ok(Metadata {
        frozen: freeze(&Value::Struct(fields.0))?,
        split_links: numbering.split_links,
        rounded_times: inodes.times.rounded,
    })
}

/// Fields of the root, in ascending order.
#[derive(Debug, Default)]
struct Fields<'a>(Vec<(FieldId, Value<'a>)>);

impl<'a> Fields<'a> {
    fn push(&mut self, id: FieldId, value: Value<'a>) {
        self.0.push((id, value));
    }

    fn push_some(&mut self, id: FieldId, value: Option<Value<'a>>) {
        self.0.extend(value.map(|value| (id, value)));
    }
}

fn ints(values: &[u32]) -> Value<'_> {
    Value::List(Items::Ints(Column::U32(values)))
}

fn structs(columns: Vec<(FieldId, Column<'_>)>) -> Value<'_> {
    Value::List(Items::Structs(columns))
}

fn lookup((keys, values): &(Vec<u32>, Vec<u64>)) -> Value<'_> {
    structs(vec![
        (pair::FIRST, Column::U32(keys)),
        (pair::SECOND, Column::U64(values)),
    ])
}

fn fs_options(options: &WriteOptions) -> Value<'static> {
    let mut fields = Fields::default();
    fields.push(fs_options::MTIME_ONLY, Value::Bool(!options.keep_all_times));
    let seconds = options.time_resolution.seconds();
    if seconds > 1 {
        fields.push(
            fs_options::TIME_RESOLUTION_SEC,
            Value::some(Value::Int(seconds.into())),
        );
    }
    fields.push(
        fs_options::PACKED_CHUNK_TABLE,
        Value::Bool(options.packing.chunk_table),
    );
    fields.push(
        fs_options::PACKED_DIRECTORIES,
        Value::Bool(options.packing.directories),
    );
    fields.push(
        fs_options::PACKED_SHARED_FILES_TABLE,
        Value::Bool(options.packing.shared_files),
    );
    if let Some(nanos) = options.time_resolution.subsecond() {
        let multiplier = Value::some(Value::Int(nanos.into()));
        fields.push(fs_options::SUBSECOND_RESOLUTION_NSEC_MULTIPLIER, multiplier);
    }
    fields.push(fs_options::INODES_HAVE_NLINK, Value::Bool(true));
    Value::some(Value::Struct(fields.0))
}

/// Names of directory entries.
struct Names<'t> {
    /// The number of each entry's name; 0 for the root, which has none.
    numbers: Vec<u32>,
    table: StringTable<'t>,
}

impl<'t> Names<'t> {
    /// Gathers names in bytewise order, as upstream does: a reader can then tell the order of
    /// entries by numbers.
    fn new(tree: &'t Tree, numbering: &Numbering, options: &WriteOptions) -> Result<Self> {
        let mut interner = Interner::new();
        let mut numbers = Vec::with_capacity(numbering.entries.len());
        numbers.push(0);
        for directory in &numbering.nodes[..numbering.directories] {
            for link in tree.children(*directory) {
                let name = tree.bytes(link.name);
                check_name(name).map_err(|error| error.path(path(tree, link.node)))?;
                numbers.push(interner.number(name));
            }
        }
        let strings = interner.into_sorted(&mut numbers[1..]);
        let table = StringTable::new(strings, options.packing.names, STORED_NAME)?;
        Ok(Self { numbers, table })
    }
}

/// Fails for names that no reader can make a file of.
fn check_name(name: &[u8]) -> Result<()> {
    if name.len() > LONGEST_NAME {
        return Err(Error::limit(format!(
            "a name of {} bytes (up to {LONGEST_NAME})",
            name.len()
        )));
    }
    let impossible = matches!(name, b"" | b"." | b"..") || name.iter().any(|b| b"\0/".contains(b));
    if impossible {
        return Err(Error::invalid(format!(
            "the name \"{}\"",
            name.escape_ascii()
        )));
    }
    Ok(())
}

/// Tells the path of a node for errors.
fn path(tree: &Tree, node: NodeId) -> String {
    String::from_utf8_lossy(&tree.path(node)).into_owned()
}

/// Targets of symlinks.
struct Links<'t> {
    /// The number of each symlink's target.
    numbers: Vec<u32>,
    table: StringTable<'t>,
}

impl<'t> Links<'t> {
    fn new(tree: &'t Tree, numbering: &Numbering, options: &WriteOptions) -> Result<Self> {
        let mut interner = Interner::new();
        let mut numbers = Vec::with_capacity(numbering.symlinks);
        for id in numbering.symlink_nodes() {
            let Content::Symlink(target) = tree.node(*id).content else {
                continue;
            };
            let target = tree.bytes(target);
            if target.len() > LONGEST_TARGET {
                let len = target.len();
                let what = format!("a symlink to {len} bytes (up to {LONGEST_TARGET})");
                return Err(Error::limit(what).path(path(tree, *id)));
            }
            numbers.push(interner.number(target));
        }
        let strings = interner.into_strings();
        let table = StringTable::new(strings, options.packing.symlinks, STORED_TARGET)?;
        Ok(Self { numbers, table })
    }
}

/// Values that occur, in ascending order, and where each inode's is among them.
fn indexed(values: impl Iterator<Item = u32> + Clone) -> (Vec<u32>, Vec<u32>) {
    let mut known = BTreeSet::new();
    let mut last = None;
    for value in values.clone() {
        if last.replace(value) != Some(value) {
            known.insert(value);
        }
    }
    let known: Vec<u32> = known.into_iter().collect();
    let indexes = values.map(|value| known.partition_point(|&other| other < value) as u32);
    let indexes = indexes.collect();
    (known, indexes)
}

/// The columns of `inodes` and what they refer to.
struct Inodes {
    modes: Vec<u32>,
    uids: Vec<u32>,
    gids: Vec<u32>,
    mode_index: Vec<u32>,
    owner_index: Vec<u32>,
    group_index: Vec<u32>,
    times: Times,
    nlink_minus_one: Vec<u32>,
}

impl Inodes {
    fn new(tree: &Tree, numbering: &Numbering, options: &WriteOptions) -> Result<Self> {
        let nodes = || numbering.nodes.iter().map(|id| tree.node(*id));
        let mode = |node: &model::Node| {
            node.content.kind().bits() | u32::from(node.meta.mode) & !FileType::MASK
        };
        let (modes, mode_index) = indexed(nodes().map(mode));
        let (uids, owner_index) = indexed(nodes().map(|node| node.meta.uid));
        let (gids, group_index) = indexed(nodes().map(|node| node.meta.gid));
        let times = Times::new(
            tree,
            &numbering.nodes,
            options.time_resolution,
            options.keep_all_times,
        )?;
        let nlink_minus_one = nodes()
            .map(|node| match node.content {
                Content::File { .. } => node.links.saturating_sub(1),
                _ => 0,
            })
            .collect();
        Ok(Self {
            modes,
            uids,
            gids,
            mode_index,
            owner_index,
            group_index,
            times,
            nlink_minus_one,
        })
    }

    fn list(&self) -> Value<'_> {
        use inode_data::{
            ATIME_OFFSET, ATIME_SUBSEC, CTIME_OFFSET, CTIME_SUBSEC, GROUP_INDEX, MODE_INDEX,
            MTIME_OFFSET, MTIME_SUBSEC, NLINK_MINUS_ONE, OWNER_INDEX,
        };
        let Times {
            modified,
            accessed,
            changed,
            ..
        } = &self.times;
        let offset = |column: &TimeColumn| !column.offset.is_empty();
        let mut columns = vec![
            (MODE_INDEX, Column::U32(&self.mode_index)),
            (OWNER_INDEX, Column::U32(&self.owner_index)),
            (GROUP_INDEX, Column::U32(&self.group_index)),
        ];
        let kinds = [
            (ATIME_OFFSET, ATIME_SUBSEC, accessed),
            (MTIME_OFFSET, MTIME_SUBSEC, modified),
            (CTIME_OFFSET, CTIME_SUBSEC, changed),
        ];
        let kept = || kinds.iter().filter(|(_, _, column)| offset(column));
        columns.extend(kept().map(|(id, _, column)| (*id, Column::U64(&column.offset))));
        let fine = kept().filter(|(_, _, column)| !column.subsec.is_empty());
        columns.extend(fine.map(|(_, id, column)| (*id, Column::U32(&column.subsec))));
        columns.push((NLINK_MINUS_ONE, Column::U32(&self.nlink_minus_one)));
        structs(columns)
    }
}

/// The columns of `directories`; those that packing leaves out are empty.
struct Directories {
    first: Vec<u32>,
    parent: Vec<u32>,
    own: Vec<u32>,
}

impl Directories {
    fn new(tree: &Tree, numbering: &Numbering, packed: bool) -> Self {
        let nodes = &numbering.nodes[..numbering.directories];
        let mut counts = Vec::with_capacity(nodes.len() + 1);
        counts.extend(nodes.iter().map(|id| tree.children(*id).len() as u32));
        let mut first = super::with_sentinel(&counts, packed);
        first[0] += 1; // the root's own entry comes first
        if packed {
            return Self {
                first,
                parent: Vec::new(),
                own: Vec::new(),
            };
        }
        first[1..].iter_mut().for_each(|entry| *entry += 1);
        let (mut parent, mut own) = (vec![0; first.len()], vec![0; first.len()]);
        for (directory, range) in first.windows(2).enumerate() {
            for entry in range[0]..range[1] {
                let inode = numbering.entries[entry as usize] as usize;
                if inode < nodes.len() {
                    own[inode] = entry;
                    parent[inode] = own[directory];
                }
            }
        }
        Self { first, parent, own }
    }

    fn list(&self) -> Value<'_> {
        let mut columns = vec![(directory::FIRST_ENTRY, Column::U32(&self.first))];
        if !self.parent.is_empty() {
            columns.insert(0, (directory::PARENT_ENTRY, Column::U32(&self.parent)));
            columns.push((directory::SELF_ENTRY, Column::U32(&self.own)));
        }
        structs(columns)
    }
}

/// Gives the table of shared files: for each the number of its content, or packed for each content
/// the number of its files minus two.
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

/// Tells the categories' names and which each block has; nothing if all are of the default one.
fn block_categories(categories: &[Category]) -> (Vec<&'static str>, Vec<u32>) {
    let known: BTreeSet<Category> = categories.iter().copied().collect();
    if known.iter().all(|category| *category == Category::Default) {
        return (Vec::new(), Vec::new());
    }
    let known: Vec<Category> = known.into_iter().collect();
    let index = |category: &Category| known.partition_point(|other| other < category) as u32;
    (
        known.iter().map(|category| category.name()).collect(),
        categories.iter().map(index).collect(),
    )
}

/// The sums that the metadata tells, counted as upstream does.
struct Totals {
    /// Bytes of files and symlink targets, each inode once.
    bytes: u64,
    /// The same without holes.
    allocated: u64,
    /// Bytes of files once more for each further link.
    hard_links: u64,
}

impl Totals {
    fn new(tree: &Tree, numbering: &Numbering, chunks: &Chunks) -> Result<Self> {
        let unique = (0..numbering.unique_files).map(|row| (row, 1));
        let shared = (numbering.unique_files..)
            .zip(&numbering.shared)
            .map(|(row, &n)| (row, n));
        let rows = unique
            .chain(shared)
            .flat_map(|(row, n)| (0..n).map(move |_| row));
        let (mut bytes, mut holes, mut hard_links) = (0_u64, 0_u64, 0_u64);
        let too_much = || Error::limit("files of more than 2^64 bytes in all");
        for (row, id) in rows.zip(&numbering.nodes[numbering.first_file()..]) {
            let size = chunks.sizes[row];
            let further = u64::from(tree.node(*id).links.saturating_sub(1));
            bytes = bytes.checked_add(size).ok_or_else(too_much)?;
            holes += chunks.hole_bytes.get(&(row as u32)).unwrap_or(&0);
            let more = size.checked_mul(further).ok_or_else(too_much)?;
            hard_links = hard_links.checked_add(more).ok_or_else(too_much)?;
        }
        for id in numbering.symlink_nodes() {
            if let Content::Symlink(target) = tree.node(*id).content {
                bytes = bytes
                    .checked_add(tree.bytes(target).len() as u64)
                    .ok_or_else(too_much)?;
            }
        }
        Ok(Self {
            bytes,
            allocated: bytes - holes,
            hard_links,
        })
    }
}
