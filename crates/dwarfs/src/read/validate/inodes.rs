//! Validates inodes: their order by type, and all their indexes.

use sinterfs_model::{Error, FileType, Result};

use crate::frozen::view::Ints;
use crate::read::metadata::Metadata;

/// The end of the inodes of each type. They are numbered in this order, directories from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Ranks {
    pub(crate) directories: u64,
    pub(crate) symlinks: u64,
    pub(crate) files: u64,
    pub(crate) devices: u64,
    pub(crate) others: u64,
}

/// Validates all inodes.
pub(super) fn check(metadata: &Metadata) -> Result<Ranks> {
    let data: &[u8] = &metadata.data;
    let inodes = &metadata.inodes;
    let rows = inodes.rows();
    if let Some(row_of) = &inodes.row_of {
        check_below(row_of, data, rows, "entry_table_v2_2")?;
    }
    if u32::try_from(rows).is_err() {
        return Err(Error::corrupt(format!(
            "{rows} inodes; inode numbers have 32 bits"
        )));
    }
    for (column, table, what) in [
        (&inodes.owner, &metadata.uids, "owner_index"),
        (&inodes.group, &metadata.gids, "group_index"),
    ] {
        // with an empty table the index is the id itself
        if table.len() > 0 {
            check_below(column, data, table.len(), what)?;
        }
    }
    for columns in [&inodes.modified, &inodes.accessed, &inodes.changed] {
        let bound = metadata.options.max_subsec().saturating_add(1);
        check_below(&columns.subsec, data, bound, "part of a second")?;
    }
    let ranks = check_order(metadata)?;
    check_counts(metadata, &ranks)?;
    Ok(ranks)
}

/// Checks that all numbers of a column are below a bound; reads none if its width implies it.
pub(super) fn check_below(
    column: &Ints,
    data: &[u8],
    bound: u64,
    what: &'static str,
) -> Result<()> {
    if column.width() < 64 && 1_u64 << column.width() <= bound {
        return Ok(());
    }
    match column.iter(data).position(|index| index >= bound) {
        None => Ok(()),
        Some(at) => Err(Error::corrupt(format!(
            "{what} {} of item {at}; it must be below {bound}",
            column.get(data, at as u64)
        ))),
    }
}

/// Checks that inodes are in the order of their types, and counts each type.
fn check_order(metadata: &Metadata) -> Result<Ranks> {
    let data: &[u8] = &metadata.data;
    let inodes = &metadata.inodes;
    check_below(&inodes.mode, data, metadata.modes.len(), "mode_index")?;
    if metadata.modes.len() > inodes.rows() {
        return Err(Error::corrupt("more modes than inodes"));
    }
    let rank_of: Vec<Option<u8>> = metadata.modes.iter(data).map(rank).collect();
    let mut counts = [0_u64; 5];
    let mut before = 0;
    for inode in 0..inodes.len() {
        let index = inodes.mode.get(data, inodes.row(data, inode));
        let rank = usize::try_from(index)
            .ok()
            .and_then(|index| rank_of.get(index).copied());
        let Some(Some(rank)) = rank else {
            return Err(Error::corrupt(format!(
                "the mode of inode {inode} has no known type"
            )));
        };
        if rank < before {
            return Err(Error::corrupt(format!(
                "inode {inode} is not in the order of types"
            )));
        }
        before = rank;
        if let Some(count) = counts.get_mut(usize::from(rank)) {
            *count += 1;
        }
    }
    let mut end = 0_u64;
    let [directories, symlinks, files, devices, others] = counts.map(|count| {
        end = end.saturating_add(count);
        end
    });
    Ok(Ranks {
        directories,
        symlinks,
        files,
        devices,
        others,
    })
}

fn rank(mode: u64) -> Option<u8> {
    Some(match FileType::from_mode(u32::try_from(mode).ok()?)? {
        FileType::Directory => 0,
        FileType::Symlink => 1,
        FileType::File => 2,
        FileType::CharDevice | FileType::BlockDevice => 3,
        FileType::Fifo | FileType::Socket => 4,
    })
}

/// Checks that the tables of each type have an item per inode.
fn check_counts(metadata: &Metadata, ranks: &Ranks) -> Result<()> {
    let data: &[u8] = &metadata.data;
    let expect = |what: &str, found: u64, expected: u64| {
        if found == expected {
            return Ok(());
        }
        Err(Error::corrupt(format!(
            "{what} has {found} items, expected {expected}"
        )))
    };
    if ranks.directories == 0 {
        return Err(Error::corrupt("the root is not a directory"));
    }
    // including the sentinel
    expect(
        "directories",
        metadata.first_entry.len(),
        ranks.directories.saturating_add(1),
    )?;
    let symlinks = ranks.symlinks.saturating_sub(ranks.directories);
    expect("symlink_table", metadata.symlink_table.len(), symlinks)?;
    check_below(
        &metadata.symlink_table,
        data,
        metadata.symlinks.len(),
        "symlink_table",
    )?;
    expect(
        "devices",
        metadata.devices.len(),
        ranks.devices.saturating_sub(ranks.files),
    )
}
