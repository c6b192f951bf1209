//! Extended attributes: lists of names and values that inodes refer to by id.
//!
//! In: an id. Out: full names and values, sorted by name.
//!
//! **Invariant:** names and values of an inode take at most `TOTAL_MAX` bytes of memory in total; a
//! reference to an out-of-line value is followed once.
//! Format: `docs/formats/squashfs.md`, "Extended attributes".

use sinterfs_block::ReadAt;
use sinterfs_model::{Error, Limits, Result, Xattrs};
use zerocopy::FromBytes;

use super::metadata::{Metadata, MetadataReader, Table};
use super::superblock::Superblock;
use super::table::{LookupTable, TableLayout};
use crate::layout::{
    MetaRef, XATTR_PAIR_COST as PAIR_COST, XATTR_TOTAL_MAX as TOTAL_MAX,
    XATTR_VALUE_MAX as VALUE_MAX, XattrEntry, XattrId, XattrTable, XattrValue,
};

/// The attributes of an image.
#[derive(Debug)]
pub(crate) struct XattrLists {
    ids: LookupTable,
    pairs: Table,
}

impl XattrLists {
    /// Opens the table; `None` if there is none.
    pub(crate) fn open(
        metadata: &Metadata,
        superblock: &Superblock,
        limits: &Limits,
    ) -> Result<Option<Self>> {
        const NAME: &str = "table of extended attributes";
        let Some(at) = superblock.xattr_table else {
            return Ok(None);
        };
        let mut bytes = [0; size_of::<XattrTable>()];
        let read = metadata.source.read_at(at, &mut bytes);
        read.map_err(|error| error.at(NAME, metadata.file_offset(at)))?;
        let table = XattrTable::read_from_bytes(&bytes)
            .map_err(|_| Error::corrupt("the table of extended attributes is incomplete"))?;
        let list = TableLayout {
            at: at.saturating_add(bytes.len() as u64),
            width: 8,
            record: size_of::<XattrId>() as u64,
            count: u64::from(table.ids.get()),
        };
        Ok(Some(Self {
            ids: LookupTable::open(metadata, NAME, list, limits)?,
            pairs: Table::new("extended attributes", table.start.get(), at),
        }))
    }

    /// Returns the number of ids.
    pub(crate) fn count(&self) -> u64 {
        self.ids.count()
    }

    /// Reads the entry of an id.
    pub(crate) fn id(&self, metadata: &Metadata, id: u32) -> Result<XattrId> {
        let mut bytes = [0; size_of::<XattrId>()];
        self.ids.get(metadata, u64::from(id), &mut bytes)?;
        XattrId::read_from_bytes(&bytes)
            .map_err(|_| Error::corrupt("an incomplete entry of an attribute list"))
    }

    /// Reads the attributes of an id.
    pub(crate) fn get(&self, metadata: &Metadata, id: u32) -> Result<Xattrs> {
        let id = self.id(metadata, id)?;
        let mut reader = metadata.read_at(self.pairs, id.list)?;
        let mut all = Xattrs::new();
        let mut total = 0;
        for _ in 0..id.count.get() {
            let pair = self.pair(metadata, &mut reader);
            let (name, value) = pair.map_err(|error| reader.locate(error))?;
            total += name.len() + value.len() + PAIR_COST;
            if total > TOTAL_MAX {
                return Err(reader.locate(Error::limit(format!(
                    "more than {TOTAL_MAX} bytes of extended attributes"
                ))));
            }
            all.push((name, value));
        }
        all.sort_unstable();
        if all
            .windows(2)
            .any(|two| matches!(two, [(a, _), (b, _)] if a == b))
        {
            return Err(reader.locate(Error::corrupt("an extended attribute occurs twice")));
        }
        Ok(all)
    }

    fn pair(
        &self,
        metadata: &Metadata,
        reader: &mut MetadataReader<'_>,
    ) -> Result<(Vec<u8>, Vec<u8>)> {
        let entry: XattrEntry = reader.read()?;
        let Some(prefix) = entry.kind.prefix() else {
            let kind = entry.kind.0;
            return Err(Error::unsupported(format!(
                "extended attributes with the unknown prefix {kind}"
            )));
        };
        let mut name = prefix.as_bytes().to_vec();
        let start = name.len();
        name.resize(start + usize::from(entry.name_len.get()), 0);
        reader.fill(name.get_mut(start..).unwrap_or_default())?;
        if !entry.kind.is_out_of_line() {
            return Ok((name, value(reader)?));
        }
        let len = reader.read::<XattrValue>()?.0.get();
        if len as usize != size_of::<MetaRef>() {
            return Err(Error::corrupt(format!(
                "expected a reference of 8 bytes, found {len}"
            )));
        }
        let reference: MetaRef = reader.read()?;
        let mut there = metadata.read_at(self.pairs, reference)?;
        let value = value(&mut there).map_err(|error| there.locate(error))?;
        Ok((name, value))
    }
}

fn value(reader: &mut MetadataReader<'_>) -> Result<Vec<u8>> {
    let len = reader.read::<XattrValue>()?.0.get();
    if len > VALUE_MAX {
        return Err(Error::limit(format!(
            "an extended attribute of {len} bytes; the limit is {VALUE_MAX}"
        )));
    }
    let mut value = vec![0; len as usize];
    reader.fill(&mut value)?;
    Ok(value)
}
