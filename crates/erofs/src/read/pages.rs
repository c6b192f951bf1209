//! The pages of metadata that a thread has used last, at hand without a search of the cache.
//!
//! In: a page's key in the cache, and the way to find it there. Out: bytes of it.
//!
//! **Invariant:** a key names the same bytes for as long as the process lives, so nothing here is
//! ever out of date. A thread keeps `PAGES` pages.

use std::cell::RefCell;

use sinterfs_block::cache::Held;
use sinterfs_model::Result;

/// How many pages a thread keeps: an inode is beside its map, its content may be in the packed
/// inode, of which the map is elsewhere, and so are directories and attributes that are shared.
const PAGES: usize = 4;

thread_local! {
    static LAST: RefCell<[Option<(u128, Held)>; PAGES]> = const { RefCell::new([const { None }; PAGES]) };
}

/// Fills the buffer with bytes of a page, which is looked for if it is not at hand.
pub(super) fn read(
    key: u128,
    offset: u64,
    buf: &mut [u8],
    find: impl FnOnce() -> Result<Held>,
) -> Result<()> {
    let at_hand = LAST.with_borrow_mut(|last| {
        let found = last
            .iter()
            .position(|page| matches!(page, Some((its, _)) if *its == key))?;
        // the oldest is at the end
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
