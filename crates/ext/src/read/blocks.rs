//! The blocks of a file: extent trees, and direct and indirect block pointers.
//!
//! In: an inode. Out: runs of blocks, and bytes.
//!
//! **Invariant:** runs ascend in the file, each block is on the device, and a file has at most as
//! many blocks as the device. Only nodes and blocks of pointers of the wanted range are read.
//! Format: `docs/formats/ext.md`, "Blocks of a file".

use std::ops::{ControlFlow, Range};

use sinterfs_block::ReadAt;
use sinterfs_model::{Error, Result};

use super::open::Ext;
use crate::layout::{ExtInode, InodeFlags, part};

/// The magic number of a node of an extent tree.
const NODE_MAGIC: u16 = 0xf30a;

/// The deepest extent tree.
const DEPTH_MAX: u16 = 5;

/// The bytes of the head of a node, and of each entry.
const ENTRY_LEN: usize = 12;

/// An extent is longer than this if its blocks were never written: zeros.
const WRITTEN_MAX: u16 = 1 << 15;

/// Pointers to blocks in an inode, before those to blocks of pointers.
const DIRECT: u64 = 12;

/// Adjacent blocks of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockRun {
    /// The number of the first block in the file.
    pub(crate) first: u64,
    /// The number of blocks.
    pub(crate) count: u64,
    /// The number of the first block on the device.
    pub(crate) stored: u64,
}

/// Takes runs until it breaks.
type Visit<'a> = &'a mut dyn FnMut(BlockRun) -> ControlFlow<()>;

impl Ext {
    /// Visits the runs of a file that have blocks of a range; between them are holes.
    pub(crate) fn runs(&self, file: &ExtInode, wanted: Range<u64>, visit: Visit<'_>) -> Result<()> {
        for (flag, what) in [
            (InodeFlags::INLINE, "content in the inode"),
            (InodeFlags::ENCRYPTED, "encrypted content"),
        ] {
            if file.flags.has(flag) {
                return Err(Error::unsupported(what));
            }
        }
        let (mut last, mut left) = (0, self.device_blocks());
        let checked = &mut |run: BlockRun| {
            let end = run.stored.checked_add(run.count);
            if run.stored == 0 || end.is_none_or(|end| end > self.head.blocks) {
                let (at, count) = (run.stored, run.count);
                let what = format!("{count} blocks at {at} are not on the device");
                return Err(Error::corrupt(what));
            }
            if run.first < last {
                return Err(Error::corrupt("extents that do not ascend"));
            }
            last = run.first.saturating_add(run.count);
            left = take(left, run.count)?;
            if run.first >= wanted.end {
                return Ok(ControlFlow::Break(()));
            }
            Ok(if last > wanted.start {
                visit(run)
            } else {
                ControlFlow::Continue(())
            })
        };
        if file.flags.has(InodeFlags::EXTENTS) {
            let mut walk = TreeWalk {
                ext: self,
                wanted: wanted.clone(),
                nodes: self.device_blocks(),
                visit: checked,
            };
            walk.node(&file.pointers, None, 0..u64::MAX).map(drop)
        } else {
            self.pointers(file, &wanted, checked)
        }
    }

    /// Returns the number of blocks of the device, regardless of the superblock.
    fn device_blocks(&self) -> u64 {
        self.window.len() / u64::from(self.head.block_size)
    }

    /// Visits the runs of an inode with pointers.
    fn pointers(&self, file: &ExtInode, wanted: &Range<u64>, visit: Checked<'_>) -> Result<()> {
        let unit = u64::from(self.head.block_size);
        let mut walk = PointerWalk {
            ext: self,
            from: wanted.start,
            end: file.size.div_ceil(unit).min(wanted.end),
            nodes: self.device_blocks(),
            open: None,
            visit,
        };
        let (mut at, mut index) = (0, 0);
        let mut flow = ControlFlow::Continue(());
        while at < DIRECT && flow.is_continue() {
            flow = walk.pointer(file.pointer(index), 0, &mut at)?;
            index += 1;
        }
        for depth in 1..=3 {
            if flow.is_continue() {
                flow = walk.pointer(file.pointer(index), depth, &mut at)?;
                index += 1;
            }
        }
        if flow.is_continue() {
            walk.close().map(drop)
        } else {
            Ok(())
        }
    }

    /// Reads bytes of a file or directory from an offset on, up to its end.
    pub(crate) fn read_content(
        &self,
        file: &ExtInode,
        offset: u64,
        buf: &mut [u8],
    ) -> Result<usize> {
        let left = file.size.saturating_sub(offset);
        let len = usize::try_from(left).map_or(buf.len(), |left| left.min(buf.len()));
        let (target, _) = buf.split_at_mut(len);
        if target.is_empty() {
            return Ok(0);
        }
        target.fill(0);
        let unit = u64::from(self.head.block_size);
        let end = offset.saturating_add(len as u64);
        let mut failed = Ok(());
        self.runs(file, offset / unit..end.div_ceil(unit), &mut |run| {
            let start = run.first.saturating_mul(unit);
            let stop = start
                .saturating_add(run.count.saturating_mul(unit))
                .min(end);
            let from = start.max(offset);
            let index = |at: u64| usize::try_from(at.saturating_sub(offset)).unwrap_or(usize::MAX);
            if let Some(part) = target.get_mut(index(from)..index(stop)) {
                let at = run.stored.saturating_mul(unit).saturating_add(from - start);
                failed = self.window.read_at(at, part);
            }
            if failed.is_err() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
        failed.map(|()| len)
    }
}

/// Takes blocks of the number that a file can have: as many as the device.
fn take(left: u64, count: u64) -> Result<u64> {
    let left = left.checked_sub(count);
    left.ok_or_else(|| Error::corrupt("more blocks than the device has"))
}

/// Whether a visit continues.
type Flow = Result<ControlFlow<()>>;

/// Takes runs, checks them, and passes them on.
type Checked<'a> = &'a mut dyn FnMut(BlockRun) -> Flow;

/// Decodes an extent; `None` for one that was never written.
fn leaf(entry: &[u8; ENTRY_LEN]) -> Option<BlockRun> {
    let count = u16::from_le_bytes(part(entry, 4));
    let high = u16::from_le_bytes(part(entry, 6));
    let stored = join(u32::from_le_bytes(part(entry, 8)), high);
    (1..=WRITTEN_MAX).contains(&count).then_some(BlockRun {
        first: first(entry),
        count: count.into(),
        stored,
    })
}

fn join(low: u32, high: u16) -> u64 {
    u64::from(low) | (u64::from(high) << 32)
}

/// The walk of an extent tree.
struct TreeWalk<'a, 'b> {
    ext: &'a Ext,
    wanted: Range<u64>,
    /// The number of nodes that may still be read.
    nodes: u64,
    visit: Checked<'b>,
}

impl TreeWalk<'_, '_> {
    /// Visits the runs of a node whose entries are within a range of blocks of the file; `depth` is
    /// what the node above says.
    fn node(&mut self, node: &[u8], depth: Option<u16>, within: Range<u64>) -> Flow {
        let half = |at| u16::from_le_bytes(part(node, at));
        let (count, found) = (usize::from(half(2)), half(6));
        let entries = node.get(ENTRY_LEN..).unwrap_or_default();
        let (entries, _) = entries.as_chunks::<ENTRY_LEN>();
        let entries = entries.get(..count).filter(|_| half(0) == NODE_MAGIC);
        let is_expected = depth.map_or(found <= DEPTH_MAX, |depth| found == depth);
        let Some(entries) = entries.filter(|_| is_expected) else {
            return Err(no_node(half(0), count, found));
        };
        // so that no node can have several parents, unless it is empty
        let firsts = || entries.iter().map(first);
        let ascend = firsts().zip(firsts().skip(1)).all(|(a, b)| a < b);
        if !ascend || firsts().any(|first| !within.contains(&first)) {
            let what = "entries of an extent tree that do not ascend";
            return Err(Error::corrupt(what));
        }
        if found == 0 {
            for entry in entries {
                if let Some(run) = leaf(entry)
                    && (self.visit)(run)?.is_break()
                {
                    return Ok(ControlFlow::Break(()));
                }
            }
            return Ok(ControlFlow::Continue(()));
        }
        for (index, entry) in entries.iter().enumerate() {
            let next = entries.get(index + 1).map_or(within.end, first);
            if next <= self.wanted.start {
                continue;
            }
            if first(entry) >= self.wanted.end {
                return Ok(ControlFlow::Break(()));
            }
            let (low, high) = (part(entry, 4), part(entry, 8));
            let block = join(u32::from_le_bytes(low), u16::from_le_bytes(high));
            self.nodes = take(self.nodes, 1)?;
            let below = self.ext.block(block)?;
            if self
                .node(&below, Some(found - 1), first(entry)..next)?
                .is_break()
            {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// Returns the first block of the file that an entry is about.
fn first(entry: &[u8; ENTRY_LEN]) -> u64 {
    u32::from_le_bytes(part(entry, 0)).into()
}

#[cold]
fn no_node(magic: u16, count: usize, depth: u16) -> Error {
    if magic != NODE_MAGIC {
        return Error::corrupt(format!(
            "not an extent tree node: magic {magic:#x}, expected {NODE_MAGIC:#x}"
        ));
    }
    Error::corrupt(format!(
        "an extent tree node of {count} entries at depth {depth}"
    ))
}

/// The walk of the pointers of an inode, which joins adjacent blocks.
struct PointerWalk<'a, 'b> {
    ext: &'a Ext,
    from: u64,
    /// The number of blocks of the file, or the end of the wanted ones.
    end: u64,
    /// The number of blocks of pointers that may still be read.
    nodes: u64,
    open: Option<BlockRun>,
    visit: Checked<'b>,
}

impl PointerWalk<'_, '_> {
    /// Visits the blocks of a pointer, which is `depth` blocks of pointers above them.
    fn pointer(&mut self, pointer: u32, depth: u32, at: &mut u64) -> Flow {
        let slots = u64::from(self.ext.head.block_size / 4);
        let span = slots.saturating_pow(depth);
        let next = at.saturating_add(span);
        if *at >= self.end {
            let _ = self.close()?;
            return Ok(ControlFlow::Break(()));
        }
        if pointer == 0 || next <= self.from {
            *at = next;
            return self.close();
        }
        if depth == 0 {
            let first = *at;
            *at = next;
            return self.append(first, pointer.into());
        }
        self.nodes = take(self.nodes, 1)?;
        let block = self.ext.block(pointer.into())?;
        let (words, _) = block.as_chunks::<4>();
        for word in words {
            if self
                .pointer(u32::from_le_bytes(*word), depth - 1, at)?
                .is_break()
            {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Appends a block to the open run, or begins another.
    fn append(&mut self, first: u64, stored: u64) -> Flow {
        if let Some(open) = &mut self.open
            && open.first + open.count == first
            && open.stored + open.count == stored
        {
            open.count += 1;
            return Ok(ControlFlow::Continue(()));
        }
        let flow = self.close()?;
        self.open = Some(BlockRun {
            first,
            count: 1,
            stored,
        });
        Ok(flow)
    }

    /// Passes the open run on.
    fn close(&mut self) -> Flow {
        match self.open.take() {
            Some(run) => (self.visit)(run),
            None => Ok(ControlFlow::Continue(())),
        }
    }
}
