//! Field ids of the metadata's structures, and values with a special meaning.
//!
//! The Frozen2 schema identifies fields by these numbers; it also defines their position and width.
//! One module per structure of upstream's `thrift/metadata.thrift`, one per structure of
//! Frozen2 itself (list, string, optional, pair). **Invariant:** the ids never change.

/// The id of a field in a Frozen2 schema.
pub type FieldId = i16;

/// `list<T>`, `set<T>` and `map<K, V>` as Frozen2 lays them out.
pub mod list {
    use super::FieldId;
    /// Bytes from the start of the structure that holds the list to its first item.
    pub const DISTANCE: FieldId = 1;
    /// The number of items.
    pub const COUNT: FieldId = 2;
    /// The layout of an item; its offset is always 0.
    pub const ITEM: FieldId = 3;
}

/// `string`: as a list of bytes without an item.
pub mod string {
    use super::FieldId;
    /// Bytes from the start of the structure that holds the string to its first byte.
    pub const DISTANCE: FieldId = 1;
    /// The number of bytes.
    pub const COUNT: FieldId = 2;
}

/// `optional T`.
pub mod optional {
    use super::FieldId;
    /// Whether there is a value: one bit.
    pub const ISSET: FieldId = 1;
    /// The value.
    pub const VALUE: FieldId = 2;
}

/// The items of a map, sorted by key.
pub mod pair {
    use super::FieldId;
    /// The key.
    pub const FIRST: FieldId = 1;
    /// The value.
    pub const SECOND: FieldId = 2;
}

/// `metadata`: the structure at the start of the section.
pub mod root {
    use super::FieldId;
    /// `list<chunk>`: content of files.
    pub const CHUNKS: FieldId = 1;
    /// `list<directory>` with a sentinel.
    pub const DIRECTORIES: FieldId = 2;
    /// `list<inode_data>`.
    pub const INODES: FieldId = 3;
    /// `list<u32>`: first chunk of each file, with a sentinel.
    pub const CHUNK_TABLE: FieldId = 4;
    /// `list<u32>`: index into `inodes` by inode number; up to version 2.2 only.
    pub const ENTRY_TABLE_V2_2: FieldId = 5;
    /// `list<u32>`: index into `symlinks` of each symlink.
    pub const SYMLINK_TABLE: FieldId = 6;
    /// `list<u32>`.
    pub const UIDS: FieldId = 7;
    /// `list<u32>`.
    pub const GIDS: FieldId = 8;
    /// `list<u32>`.
    pub const MODES: FieldId = 9;
    /// `list<string>`; empty if `compact_names` is there.
    pub const NAMES: FieldId = 10;
    /// `list<string>`; empty if `compact_symlinks` is there.
    pub const SYMLINKS: FieldId = 11;
    /// `u64`: the base of all times, in units of the time resolution.
    pub const TIMESTAMP_BASE: FieldId = 12;
    /// `u32`: bytes.
    pub const BLOCK_SIZE: FieldId = 15;
    /// `u64`: bytes of all files.
    pub const TOTAL_FS_SIZE: FieldId = 16;
    /// `optional list<u64>`: device numbers (2.1).
    pub const DEVICES: FieldId = 17;
    /// `optional fs_options` (2.1).
    pub const OPTIONS: FieldId = 18;
    /// `optional list<dir_entry>` (2.3).
    pub const DIR_ENTRIES: FieldId = 19;
    /// `optional list<u32>` (2.3).
    pub const SHARED_FILES_TABLE: FieldId = 20;
    /// `optional u64`: bytes of further links of files (2.3).
    pub const TOTAL_HARDLINK_SIZE: FieldId = 21;
    /// `optional string` (2.3).
    pub const DWARFS_VERSION: FieldId = 22;
    /// `optional u64`: seconds since 1970 (2.3).
    pub const CREATE_TIMESTAMP: FieldId = 23;
    /// `optional string_table` (2.3).
    pub const COMPACT_NAMES: FieldId = 24;
    /// `optional string_table` (2.3).
    pub const COMPACT_SYMLINKS: FieldId = 25;
    /// `optional u32`: the character that separates names in symlink targets.
    pub const PREFERRED_PATH_SEPARATOR: FieldId = 26;
    /// `optional set<string>`: features that a reader must support.
    pub const FEATURES: FieldId = 27;
    /// `optional list<string>`.
    pub const CATEGORY_NAMES: FieldId = 28;
    /// `optional list<u32>`: index into `category_names` by block.
    pub const BLOCK_CATEGORIES: FieldId = 29;
    /// `optional inode_size_cache`.
    pub const REG_FILE_SIZE_CACHE: FieldId = 30;
    /// `optional list<string>`.
    pub const CATEGORY_METADATA_JSON: FieldId = 31;
    /// `optional map<u32, u32>`: block to index into `category_metadata_json`.
    pub const BLOCK_CATEGORY_METADATA: FieldId = 32;
    /// `optional list<history_entry>`.
    pub const METADATA_VERSION_HISTORY: FieldId = 33;
    /// `optional u32`: the block number of holes.
    pub const HOLE_BLOCK_INDEX: FieldId = 34;
    /// `optional list<u64>`: bytes of the largest holes.
    pub const LARGE_HOLE_SIZE: FieldId = 35;
    /// `optional u64`: bytes of all files without holes.
    pub const TOTAL_ALLOCATED_FS_SIZE: FieldId = 36;
}

/// `chunk`: a range of a block, or a hole.
pub mod chunk {
    use super::FieldId;
    /// `u32`: the block, or `hole_block_index`.
    pub const BLOCK: FieldId = 1;
    /// `u32`: bytes from the start of the block; of a hole: its length modulo the block size, or
    /// `OFFSET_IS_LARGE_HOLE`.
    pub const OFFSET: FieldId = 2;
    /// `u32`: bytes; of a hole: its length divided by the block size, or an index into
    /// `large_hole_size`.
    pub const SIZE: FieldId = 3;

    /// The `OFFSET` of a hole whose length is in `large_hole_size`. (dwarfs-format(5) has
    /// `BLOCK_SIZE - 1`; upstream writes and reads this value.)
    pub const OFFSET_IS_LARGE_HOLE: u32 = u32::MAX;
}

/// `directory`.
pub mod directory {
    use super::FieldId;
    /// `u32`: the entry of the parent directory; up to version 2.2 its inode.
    pub const PARENT_ENTRY: FieldId = 1;
    /// `u32`: the first entry of this directory.
    pub const FIRST_ENTRY: FieldId = 2;
    /// `u32`: the entry of this directory.
    pub const SELF_ENTRY: FieldId = 3;
}

/// `inode_data`.
pub mod inode_data {
    use super::FieldId;
    /// `u32`: index into `names`; up to version 2.2 only.
    pub const NAME_INDEX_V2_2: FieldId = 1;
    /// `u32`: index into `modes`.
    pub const MODE_INDEX: FieldId = 2;
    /// `u32`: the inode number; up to version 2.2 only.
    pub const INODE_V2_2: FieldId = 3;
    /// `u32`: index into `uids`, or the uid itself if `uids` is empty.
    pub const OWNER_INDEX: FieldId = 4;
    /// `u32`: index into `gids`, or the gid itself if `gids` is empty.
    pub const GROUP_INDEX: FieldId = 5;
    /// `u64`: relative to `timestamp_base`.
    pub const ATIME_OFFSET: FieldId = 6;
    /// `u64`: relative to `timestamp_base`.
    pub const MTIME_OFFSET: FieldId = 7;
    /// `u64`: relative to `timestamp_base`.
    pub const CTIME_OFFSET: FieldId = 8;
    /// `u64`: relative to `timestamp_base`; birth.
    pub const BTIME_OFFSET: FieldId = 9;
    /// `u64`: in units of `subsecond_resolution_nsec_multiplier`.
    pub const ATIME_SUBSEC: FieldId = 10;
    /// `u64`: in units of `subsecond_resolution_nsec_multiplier`.
    pub const MTIME_SUBSEC: FieldId = 11;
    /// `u64`: in units of `subsecond_resolution_nsec_multiplier`.
    pub const CTIME_SUBSEC: FieldId = 12;
    /// `u64`: in units of `subsecond_resolution_nsec_multiplier`; birth.
    pub const BTIME_SUBSEC: FieldId = 13;
    /// `u32`: valid if `inodes_have_nlink`.
    pub const NLINK_MINUS_ONE: FieldId = 14;
}

/// `dir_entry`.
pub mod dir_entry {
    use super::FieldId;
    /// `u32`: index into the names; unused for the root.
    pub const NAME_INDEX: FieldId = 1;
    /// `u32`: the inode.
    pub const INODE_NUM: FieldId = 2;
}

/// `fs_options`.
pub mod fs_options {
    use super::FieldId;
    /// `bool`: only modification times are kept.
    pub const MTIME_ONLY: FieldId = 1;
    /// `optional u32`: seconds of a unit of time; 1 if absent.
    pub const TIME_RESOLUTION_SEC: FieldId = 2;
    /// `bool`: `chunk_table` holds differences.
    pub const PACKED_CHUNK_TABLE: FieldId = 3;
    /// `bool`: `directories` holds differences, and only of `first_entry`.
    pub const PACKED_DIRECTORIES: FieldId = 4;
    /// `bool`: `shared_files_table` holds run lengths minus two.
    pub const PACKED_SHARED_FILES_TABLE: FieldId = 5;
    /// `optional u32`: nanoseconds of a unit of the `*_subsec` fields.
    pub const SUBSECOND_RESOLUTION_NSEC_MULTIPLIER: FieldId = 6;
    /// `bool`: birth times are kept.
    pub const HAS_BTIME: FieldId = 7;
    /// `bool`: `nlink_minus_one` is valid.
    pub const INODES_HAVE_NLINK: FieldId = 8;
}

/// `string_table`.
pub mod string_table {
    use super::FieldId;
    /// `string`: all strings one after the other, FSST-encoded if there is a `SYMTAB`.
    pub const BUFFER: FieldId = 1;
    /// `optional string`: FSST symbol table.
    pub const SYMTAB: FieldId = 2;
    /// `list<u32>`: offsets into `BUFFER` with the end of the last string, or lengths if packed.
    pub const INDEX: FieldId = 3;
    /// `bool`: `INDEX` holds lengths.
    pub const PACKED_INDEX: FieldId = 4;
}

/// `inode_size_cache`; keyed by index into `chunk_table`, not by inode.
pub mod inode_size_cache {
    use super::FieldId;
    /// `map<u32, u64>`: bytes with holes.
    pub const SIZE_LOOKUP: FieldId = 1;
    /// `u64`: files with fewer chunks are not in the maps.
    pub const MIN_CHUNK_COUNT: FieldId = 2;
    /// `map<u32, u64>`: bytes without holes, of sparse files.
    pub const ALLOCATED_SIZE_LOOKUP: FieldId = 3;
}

/// `history_entry` of the metadata: properties of the metadata before a rewrite.
pub mod history_entry {
    use super::FieldId;
    /// `u8`.
    pub const MAJOR: FieldId = 1;
    /// `u8`.
    pub const MINOR: FieldId = 2;
    /// `optional string`.
    pub const DWARFS_VERSION: FieldId = 3;
    /// `u32`: bytes.
    pub const BLOCK_SIZE: FieldId = 4;
    /// `optional fs_options`.
    pub const OPTIONS: FieldId = 5;
}

/// The only defined feature: chunks may be holes.
pub const FEATURE_SPARSE_FILES: &str = "sparsefiles";

/// All supported features.
pub const FEATURES_KNOWN: &[&str] = &[FEATURE_SPARSE_FILES];
