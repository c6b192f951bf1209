//! The metadata's tables, viewed in place through the schema.
//!
//! In: the decoded schema and metadata sections. Out: every table that reading files needs, in one
//! form for all versions (before 2.3 the inodes are the directory entries, too).
//!
//! **Invariant:** views are within the metadata; their values are not checked until `validate`.
//! Spec: upstream's `thrift/metadata.thrift`.

use sinterfs_block::Bytes;
use sinterfs_model::{Error, Limits, Result};

use super::inode_table::Inodes;
use super::options::StorageOptions;
use super::strings::StringTable;
use super::table::Table;
use crate::frozen::schema::Schema;
use crate::frozen::view::{Ints, Node};
use crate::layout::metadata::{
    FEATURES_KNOWN, FieldId, chunk, dir_entry, directory, inode_data, root,
};

/// The tables of one image.
#[derive(Debug)]
pub(crate) struct Metadata {
    pub(crate) data: Bytes,
    pub(crate) schema: Schema,
    pub(crate) options: StorageOptions,
    pub(crate) block_size: u64,
    pub(crate) chunks: ChunkColumns,
    /// The first chunk of each chunk list, and the end of the last.
    pub(crate) chunk_table: Table,
    /// The chunk list of each shared file, relative to the first shared list.
    pub(crate) shared_files: Table,
    /// The first entry of each directory, and the end of the last.
    pub(crate) first_entry: Table,
    pub(crate) entries: Entries,
    pub(crate) inodes: Inodes,
    pub(crate) symlink_table: Ints,
    pub(crate) modes: Ints,
    pub(crate) uids: Ints,
    pub(crate) gids: Ints,
    pub(crate) devices: Ints,
    pub(crate) names: StringTable,
    pub(crate) symlinks: StringTable,
}

/// The columns of `chunks`.
#[derive(Debug, Default)]
pub(crate) struct ChunkColumns {
    pub(crate) block: Ints,
    pub(crate) offset: Ints,
    pub(crate) size: Ints,
    /// The block number that marks a hole.
    pub(crate) hole_block: Option<u32>,
    pub(crate) large_holes: Ints,
}

/// The columns of directory entries.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    pub(crate) name: Ints,
    pub(crate) inode: Ints,
}

impl Metadata {
    /// Views the tables. `Unsupported` if the image requires an unknown feature.
    pub(crate) fn open(schema: &[u8], data: &Bytes, limits: &Limits) -> Result<Self> {
        let schema = Schema::parse(schema).map_err(|error| error.within("METADATA_V2_SCHEMA"))?;
        Self::view(schema, data, limits).map_err(|error| error.within("METADATA_V2"))
    }

    fn view(schema: Schema, content: &Bytes, limits: &Limits) -> Result<Self> {
        let data: &[u8] = content;
        let node = Node::root(&schema, data);
        check_features(&node)?;
        let ints = |id: FieldId, bits: u32| node.field(id)?.list()?.ints(bits);
        let options = StorageOptions::read(&node)?;
        let block_size = u64::from(node.field(root::BLOCK_SIZE)?.u32()?);
        if !block_size.is_power_of_two() {
            let what = format!("block size {block_size}, expected a power of two");
            return Err(Error::corrupt(what));
        }
        if block_size > limits.block {
            return Err(Error::limit(format!(
                "blocks of {block_size} bytes; the limit is {}",
                limits.block
            )));
        }
        let inodes = node.field(root::INODES)?.list()?;
        let entries = match node.field(root::DIR_ENTRIES)?.optional()? {
            Some(entries) => Some(entries.list()?),
            None => None,
        };
        let (entries, row_of) = match entries {
            Some(list) => {
                let name = list.column(dir_entry::NAME_INDEX, 32)?;
                (
                    Entries {
                        name,
                        inode: list.column(dir_entry::INODE_NUM, 32)?,
                    },
                    None,
                )
            }
            None => {
                let name = inodes.column(inode_data::NAME_INDEX_V2_2, 32)?;
                let inode = inodes.column(inode_data::INODE_V2_2, 32)?;
                (
                    Entries { name, inode },
                    Some(ints(root::ENTRY_TABLE_V2_2, 32)?),
                )
            }
        };
        let inodes = Inodes::open(&inodes, row_of)?;
        check_counts(&inodes, &entries)?;
        let optional = |id: FieldId, bits: u32| match node.field(id)?.optional()? {
            Some(list) => list.list()?.ints(bits),
            None => Ok(Ints::default()),
        };
        let metadata = Self {
            block_size,
            chunks: open_chunks(&node)?,
            chunk_table: Table::default(),
            shared_files: Table::default(),
            first_entry: Table::default(),
            entries,
            inodes,
            symlink_table: ints(root::SYMLINK_TABLE, 32)?,
            modes: ints(root::MODES, 32)?,
            uids: ints(root::UIDS, 32)?,
            gids: ints(root::GIDS, 32)?,
            devices: optional(root::DEVICES, 64)?,
            names: StringTable::open(
                &node.field(root::NAMES)?,
                &node.field(root::COMPACT_NAMES)?,
                data,
            )?,
            symlinks: StringTable::open(
                &node.field(root::SYMLINKS)?,
                &node.field(root::COMPACT_SYMLINKS)?,
                data,
            )?,
            options,
            schema: Schema::default(),
            data: content.clone(),
        };
        let chunk_table = ints(root::CHUNK_TABLE, 32)?;
        let shared_files = optional(root::SHARED_FILES_TABLE, 32)?;
        let directories = node.field(root::DIRECTORIES)?.list()?;
        let first_entry = directories.column(directory::FIRST_ENTRY, 32)?;
        let metadata = metadata.unpack(chunk_table, shared_files, first_entry)?;
        Ok(Self { schema, ..metadata })
    }

    /// Unpacks the tables that are packed according to the options.
    fn unpack(self, chunk_table: Ints, shared_files: Ints, first_entry: Ints) -> Result<Self> {
        let data: &[u8] = &self.data;
        // Bounds first: no table may be longer than the inodes that it describes.
        let inodes = self.inodes.len();
        for (what, len) in [
            ("chunk_table", chunk_table.len()),
            ("shared_files_table", shared_files.len()),
            ("directories", first_entry.len()),
        ] {
            if len > inodes.saturating_add(1) {
                return Err(Error::corrupt(format!(
                    "{what} has {len} items, but there are {inodes} inodes"
                )));
            }
        }
        let chunks = self.chunks.block.len();
        let chunk_table = if self.options.packed_chunk_table {
            Table::Owned(Table::from_differences(&chunk_table, data, chunks)?)
        } else {
            Table::View(chunk_table)
        };
        let shared_files = if self.options.packed_shared_files_table {
            Table::Owned(Table::from_run_lengths(&shared_files, data, inodes)?)
        } else {
            Table::View(shared_files)
        };
        let first_entry = if self.options.packed_directories {
            Table::Owned(Table::from_differences(
                &first_entry,
                data,
                self.entries.inode.len(),
            )?)
        } else {
            Table::View(first_entry)
        };
        Ok(Self {
            chunk_table,
            shared_files,
            first_entry,
            ..self
        })
    }

    /// Views the root structure, for fields that reading files does not need.
    pub(crate) fn root(&self) -> Node<'_> {
        Node::root(&self.schema, &self.data)
    }
}

/// Checks that there are enough entries for all inodes. Unpacked tables are at most as long as the
/// list of inodes; this bounds them by bits that exist in the image.
fn check_counts(inodes: &Inodes, entries: &Entries) -> Result<()> {
    let (rows, total) = (inodes.rows(), entries.inode.len());
    let width = entries.inode.width();
    if inodes.len() > rows || rows > total || inodes.len() > 1_u64 << width.min(63) {
        return Err(Error::corrupt(format!(
            "{} inodes in {rows} rows, but only {total} directory entries of {width} bits",
            inodes.len()
        )));
    }
    Ok(())
}

fn open_chunks(node: &Node<'_>) -> Result<ChunkColumns> {
    let list = node.field(root::CHUNKS)?.list()?;
    let hole_block = match node.field(root::HOLE_BLOCK_INDEX)?.optional()? {
        Some(block) => Some(block.u32()?),
        None => None,
    };
    let large_holes = match node.field(root::LARGE_HOLE_SIZE)?.optional()? {
        Some(sizes) => sizes.list()?.ints(64)?,
        None => Ints::default(),
    };
    Ok(ChunkColumns {
        block: list.column(chunk::BLOCK, 32)?,
        offset: list.column(chunk::OFFSET, 32)?,
        size: list.column(chunk::SIZE, 32)?,
        hole_block,
        large_holes,
    })
}

/// Returns the features that an image requires.
pub(super) fn features(node: &Node<'_>) -> Result<Vec<String>> {
    match node.field(root::FEATURES)?.optional()? {
        None => Ok(Vec::new()),
        Some(set) => set.list()?.texts(),
    }
}

fn check_features(node: &Node<'_>) -> Result<()> {
    let unknown: Vec<_> = features(node)?
        .into_iter()
        .filter(|feature| !FEATURES_KNOWN.contains(&feature.as_str()))
        .map(|feature| format!("{feature:?}"))
        .collect();
    if unknown.is_empty() {
        Ok(())
    } else {
        Err(Error::unsupported(format!(
            "the image requires unknown features: {}",
            unknown.join(", ")
        )))
    }
}
