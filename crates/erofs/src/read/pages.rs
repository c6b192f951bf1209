//! The pages of metadata that a thread used last, at hand without a search of the cache.
//!
//! In: a page's key in the cache, and how to find it there. Out: bytes of it.
//!
//! **Invariant:** a key identifies the same bytes for the life of the process, so nothing here is
//! ever stale. A thread keeps `PAGES` pages.

use std::cell::RefCell;

use sinterfs_block::cache::HeldBlock;
use sinterfs_model::Result;

/// The number of pages that a thread keeps: an inode with its map, the packed inode's map,
/// directories, and shared attributes are in different places.
const PAGES: usize = 4;

thread_local! {
    static LAST: RefCell<[Option<(u128, HeldBlock)>; PAGES]> =
        const { RefCell::new([const { None }; PAGES]) };
}

/// Fills the buffer with bytes of a page; `find` is called if it is not at hand.
pub(super) fn read(
    key: u128,
    offset: u64,
    buf: &mut [u8],
    find: impl FnOnce() -> Result<HeldBlock>,
) -> Result<()> {
    let at_hand = LAST.with_borrow_mut(|last| {
        let found = last
            .iter()
            .position(|page| matches!(page, Some((its, _)) if *its == key))?;
        // the oldest is last
        last.get_mut(..=found)?.rotate_right(1);
        let (_, page) = last.first()?.as_ref()?;
        Some(page.read(offset, buf))
    });
    if let Some(read) = at_hand {
        return read;
    }
    let page = find()?;
    let read = page.read(offset, buf);
    LAST.with_borrow_mut(|last| {
        last.rotate_right(1);
        last[0] = Some((key, page));
    });
    read
}
