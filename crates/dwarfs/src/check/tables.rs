//! Checks what the metadata stores redundantly: caches, totals, categories, history.
//!
//! Reading files needs none of it, so opening an image does not check it.

use sinterfs_model::{Error, Image, Ino, Result};

use super::report::Report;
use crate::frozen::view::Node;
use crate::layout::metadata::{inode_size_cache, pair, root};
use crate::read::Dwarfs;
use crate::read::chunk::Chunk;

/// Returns the decoded length that chunks need of each block.
pub(crate) fn needed_block_lens(image: &Dwarfs) -> Vec<u64> {
    let mut needed = vec![0_u64; image.sections.blocks.len()];
    for index in 0..image.metadata.chunks.block.len() {
        let Chunk::Data { block, offset, len } = image.metadata.chunk(index) else {
            continue;
        };
        let block = usize::try_from(block)
            .ok()
            .and_then(|block| needed.get_mut(block));
        if let Some(needed) = block {
            *needed = (*needed).max(offset.saturating_add(len));
        }
    }
    needed
}

/// Checks the tables that reading does not need.
pub(super) fn check(image: &Dwarfs, report: &mut Report) {
    match check_totals(image) {
        Ok(note) => note.into_iter().for_each(|note| report.findings.note(note)),
        Err(error) => report.findings.problem(error.within("METADATA_V2")),
    }
    let checks: [fn(&Dwarfs) -> Result<()>; 4] = [
        check_symlinks,
        check_categories,
        check_size_cache,
        check_history,
    ];
    for check in checks {
        if let Err(error) = check(image) {
            report.findings.problem(error.within("METADATA_V2"));
        }
    }
    if !image.metadata.block_size.is_power_of_two() {
        report.findings.note(format!(
            "the block size, {}, is not a power of two",
            image.metadata.block_size
        ));
    }
}

fn check_symlinks(image: &Dwarfs) -> Result<()> {
    let ranks = &image.derived.ranks;
    (ranks.directories..ranks.symlinks).try_for_each(|inode| {
        let target = image.read_link(Ino(inode))?;
        if target.is_empty() || target.contains(&0) {
            let target = target.escape_ascii();
            return Err(Error::corrupt(format!(
                "inode {inode} links to \"{target}\""
            )));
        }
        Ok(())
    })
}

fn check_categories(image: &Dwarfs) -> Result<()> {
    let node = image.metadata.root();
    let (Some(names), Some(numbers)) = (
        node.field(root::CATEGORY_NAMES)?.optional()?,
        node.field(root::BLOCK_CATEGORIES)?.optional()?,
    ) else {
        return Ok(());
    };
    let (names, numbers) = (names.list()?, numbers.list()?.ints(32)?);
    names.strings()?;
    if numbers.len() != image.block_count() {
        return Err(Error::corrupt(format!(
            "{} blocks have categories, but there are {}",
            numbers.len(),
            image.block_count()
        )));
    }
    match numbers
        .iter(&image.metadata.data)
        .find(|number| *number >= names.len())
    {
        Some(number) => Err(Error::corrupt(format!(
            "a block has category {number} of {}",
            names.len()
        ))),
        None => Ok(()),
    }
}

/// Compares the cached sizes with the sums of the chunks.
fn check_size_cache(image: &Dwarfs) -> Result<()> {
    let Some(cache) = image
        .metadata
        .root()
        .field(root::REG_FILE_SIZE_CACHE)?
        .optional()?
    else {
        return Ok(());
    };
    let lists = image.metadata.chunk_table.len();
    let sizes = |id| -> Result<_> { pairs(&cache.field(id)?, lists) };
    let (with_holes, without) = (
        sizes(inode_size_cache::SIZE_LOOKUP)?,
        sizes(inode_size_cache::ALLOCATED_SIZE_LOOKUP)?,
    );
    for (list, size) in with_holes {
        let found = image.size_of(&image.chunks_of_list(list)).0;
        if size != found {
            return Err(Error::corrupt(format!(
                "the cached size of chunk list {list} is {size}, but its chunks have {found}"
            )));
        }
    }
    for (list, size) in without {
        let found = image.size_of(&image.chunks_of_list(list)).1;
        if size != found {
            return Err(Error::corrupt(format!(
                "the cached size of chunk list {list} is {size} without holes, but its chunks have \
                 {found}"
            )));
        }
    }
    Ok(())
}

fn pairs(map: &Node<'_>, most: u64) -> Result<Vec<(u64, u64)>> {
    let list = map.list()?;
    if list.len() > most {
        return Err(Error::corrupt(format!(
            "{} cached sizes of {most} chunk lists",
            list.len()
        )));
    }
    list.items()
        .map(|item| {
            let item = item?;
            Ok((
                item.field(pair::FIRST)?.uint(32)?,
                item.field(pair::SECOND)?.u64()?,
            ))
        })
        .collect()
}

/// Compares the total that upstream's `statfs` reports; a difference is only noted.
fn check_totals(image: &Dwarfs) -> Result<Option<String>> {
    let node = image.metadata.root();
    let stored = node.field(root::TOTAL_FS_SIZE)?.u64()?;
    let files = image.derived.sizes.total;
    // includes the lengths of symlink targets, except in images made on Windows; before version
    // 2.3 every hard link counts
    let old = node.field(root::TOTAL_HARDLINK_SIZE)?.optional()?.is_none();
    if old || stored == files {
        return Ok(None);
    }
    let ranks = &image.derived.ranks;
    let mut total = files;
    for inode in ranks.directories..ranks.symlinks {
        total = total.saturating_add(image.inode(Ino(inode))?.size);
    }
    Ok((stored != total)
        .then(|| format!("total_fs_size is {stored}, but files and symlinks have {total}")))
}

fn check_history(image: &Dwarfs) -> Result<()> {
    image.history()?;
    image.metadata_history()?;
    Ok(())
}
