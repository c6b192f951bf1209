//! Prints an image as text: sections, schema, and the tables of the metadata, one item per line.
//!
//! In: an opened image. Out: lines that depend only on the image, for people and for golden tests.
//!
//! **Invariant:** prints what is stored: tables are unpacked, but references are not resolved.

use std::io::Write;

use sinterfs_model::{Error, Result};

use crate::frozen::schema::Layout;
use crate::frozen::view::Ints;
use crate::layout::metadata::root;
use crate::read::Dwarfs;
use crate::read::chunk::Chunk;
use crate::read::inode_table::TimeColumns;
use crate::read::strings::{FsstScratch, StringTable};

/// Selects what is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    /// The sections.
    pub sections: bool,
    /// The layouts of the schema.
    pub schema: bool,
    /// The tables of the metadata.
    pub tables: bool,
}

impl Default for Parts {
    /// Everything.
    fn default() -> Self {
        Self {
            sections: true,
            schema: true,
            tables: true,
        }
    }
}

/// Writes an image as text.
pub fn dump(image: &Dwarfs, parts: Parts, out: &mut dyn Write) -> Result<()> {
    let mut dump = Dump { image, out };
    if parts.sections {
        dump.sections()?;
    }
    if parts.schema {
        dump.schema()?;
    }
    if parts.tables {
        dump.facts()?;
        dump.tables()?;
    }
    Ok(())
}

struct Dump<'a> {
    image: &'a Dwarfs,
    out: &'a mut dyn Write,
}

impl Dump<'_> {
    fn line(&mut self, line: std::fmt::Arguments<'_>) -> Result<()> {
        writeln!(self.out, "{line}").map_err(|error| Error::io("cannot write the dump", error))
    }

    fn sections(&mut self) -> Result<()> {
        let image = self.image;
        let index = if image.has_index() { "with" } else { "without" };
        self.line(format_args!(
            "dwarfs 2.{} at {:#x}, {} bytes, {index} index",
            image.minor_version(),
            image.offset(),
            image.sizes().image
        ))?;
        for (number, section) in image.sections()?.iter().enumerate() {
            self.line(format_args!(
                "section {number} {} {} at {:#x} len {}",
                section.kind, section.compression, section.offset, section.len
            ))?;
        }
        Ok(())
    }

    fn schema(&mut self) -> Result<()> {
        let schema = &self.image.metadata.schema;
        self.line(format_args!(
            "schema version {} relaxed {} root {}",
            schema.file_version, schema.relax_type_checks, schema.root
        ))?;
        for (id, Layout { size, bits, fields }) in &schema.layouts {
            let fields: Vec<_> = fields
                .iter()
                .map(|(id, field)| match u16::try_from(field.offset) {
                    Ok(bytes) => format!("{id}:{}@{bytes}", field.layout),
                    Err(_) => format!("{id}:{}@bit{}", field.layout, field.offset.unsigned_abs()),
                })
                .collect();
            self.line(format_args!(
                "layout {id} size {size} bits {bits} {}",
                fields.join(" ")
            ))?;
        }
        Ok(())
    }

    /// Prints single values.
    fn facts(&mut self) -> Result<()> {
        let image = self.image;
        let options = image.options();
        self.line(format_args!("block_size {}", image.block_size()))?;
        // without the name of the type, which is ours to change
        let fields = format!("{options:?}");
        let fields = fields.strip_prefix("StorageOptions ").unwrap_or(&fields);
        self.line(format_args!("options {fields}"))?;
        self.line(format_args!("features {:?}", image.features()?))?;
        self.line(format_args!("dwarfs_version {:?}", image.made_by()?))?;
        self.line(format_args!("create_timestamp {:?}", image.created()?))?;
        let node = image.metadata.root();
        for (name, id) in [
            ("total_hardlink_size", root::TOTAL_HARDLINK_SIZE),
            ("total_allocated_fs_size", root::TOTAL_ALLOCATED_FS_SIZE),
            ("hole_block_index", root::HOLE_BLOCK_INDEX),
        ] {
            if let Some(value) = node.field(id)?.optional()? {
                self.line(format_args!("{name} {}", value.u64()?))?;
            }
        }
        self.line(format_args!(
            "total_fs_size {}",
            node.field(root::TOTAL_FS_SIZE)?.u64()?
        ))?;
        for category in image.categories()? {
            self.line(format_args!(
                "category {:?} blocks {}",
                category.name, category.blocks
            ))?;
        }
        for version in image.metadata_history()? {
            self.line(format_args!("rewritten from {version:?}"))?;
        }
        for entry in image.history()? {
            self.line(format_args!("history {entry:?}"))?;
        }
        Ok(())
    }

    fn tables(&mut self) -> Result<()> {
        let metadata = &self.image.metadata;
        for (name, column) in [
            ("mode", &metadata.modes),
            ("uid", &metadata.uids),
            ("gid", &metadata.gids),
            ("symlink", &metadata.symlink_table),
            ("device", &metadata.devices),
            ("large_hole", &metadata.chunks.large_holes),
        ] {
            self.numbers(name, column)?;
        }
        self.strings("name", &metadata.names)?;
        self.strings("target", &metadata.symlinks)?;
        self.inodes()?;
        self.entries()?;
        self.contents()
    }

    fn numbers(&mut self, name: &str, column: &Ints) -> Result<()> {
        for (index, number) in column.iter(&self.image.metadata.data).enumerate() {
            let shown = if name == "mode" {
                format!("{number:o}")
            } else {
                number.to_string()
            };
            self.line(format_args!("{name} {index} {shown}"))?;
        }
        Ok(())
    }

    fn strings(&mut self, name: &str, table: &StringTable) -> Result<()> {
        let mut scratch = FsstScratch::default();
        for index in 0..table.len() {
            match table.get(&self.image.metadata.data, index, &mut scratch) {
                Some(bytes) => {
                    self.line(format_args!("{name} {index} \"{}\"", bytes.escape_ascii()))?;
                }
                None => self.line(format_args!("{name} {index} undecodable"))?,
            }
        }
        Ok(())
    }

    fn inodes(&mut self) -> Result<()> {
        let metadata = &self.image.metadata;
        let (data, inodes): (&[u8], _) = (&metadata.data, &metadata.inodes);
        for inode in 0..inodes.len() {
            let row = inodes.row(data, inode);
            let time = |columns: &TimeColumns| {
                format!(
                    "{}+{}",
                    columns.offset.get(data, row),
                    columns.subsec.get(data, row)
                )
            };
            self.line(format_args!(
                "inode {inode} row {row} mode {} owner {} group {} mtime {} atime {} ctime {} \
                 links {}",
                inodes.mode.get(data, row),
                inodes.owner.get(data, row),
                inodes.group.get(data, row),
                time(&inodes.modified),
                time(&inodes.accessed),
                time(&inodes.changed),
                inodes.nlink_minus_one.get(data, row).saturating_add(1),
            ))?;
        }
        Ok(())
    }

    fn entries(&mut self) -> Result<()> {
        let metadata = &self.image.metadata;
        let data: &[u8] = &metadata.data;
        for directory in 0..metadata.first_entry.len() {
            let first = metadata.first_entry.get(data, directory);
            self.line(format_args!("directory {directory} first_entry {first}"))?;
        }
        for entry in 0..metadata.entries.inode.len() {
            let name = metadata.entries.name.get(data, entry);
            let inode = metadata.entries.inode.get(data, entry);
            self.line(format_args!("entry {entry} name {name} inode {inode}"))?;
        }
        Ok(())
    }

    fn contents(&mut self) -> Result<()> {
        let metadata = &self.image.metadata;
        let data: &[u8] = &metadata.data;
        for file in 0..metadata.shared_files.len() {
            let list = metadata.shared_files.get(data, file);
            self.line(format_args!("shared_file {file} list {list}"))?;
        }
        for list in 0..metadata.chunk_table.len() {
            let first = metadata.chunk_table.get(data, list);
            self.line(format_args!("list {list} first_chunk {first}"))?;
        }
        for chunk in 0..metadata.chunks.block.len() {
            match metadata.chunk(chunk) {
                Chunk::Data { block, offset, len } => self.line(format_args!(
                    "chunk {chunk} block {block} offset {offset} len {len}"
                ))?,
                Chunk::Hole { len } => self.line(format_args!("chunk {chunk} hole len {len}"))?,
            }
        }
        Ok(())
    }
}
