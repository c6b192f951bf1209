//! Memory that is about to be written.
//!
//! In: room that is not set. Out: the same memory, with pages allocated. **Invariant:** no byte
//! changes; what a system lacks is left out. Linux takes a fault for each page that is written
//! first, some 1.5 us in a virtual machine, and less if many are requested at once (madvise(2),
//! `MADV_POPULATE_WRITE`, since 5.14).
#![allow(
    unsafe_code,
    reason = "advice about memory is a system call that takes its address"
)]

use std::mem::MaybeUninit;

/// Less than this is left to faults, in bytes.
#[cfg(target_os = "linux")]
const MIN_LEN: usize = 64 << 10;

/// The size of a page in bytes. If pages are larger, the call fails and nothing is done: there are
/// few faults then.
#[cfg(target_os = "linux")]
const PAGE: usize = 4 << 10;

/// Populates room with pages by one call to the system, if it is large.
pub fn populate(room: &mut [MaybeUninit<u8>]) {
    #[cfg(target_os = "linux")]
    if room.len() >= MIN_LEN {
        let start = room.as_mut_ptr();
        let before = start.addr() % PAGE;
        // SAFETY: the call changes no content; the page in which the room begins is mapped.
        let _ = unsafe {
            rustix::mm::madvise(
                start.byte_sub(before).cast(),
                room.len().saturating_add(before),
                rustix::mm::Advice::LinuxPopulateWrite,
            )
        };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = room;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_before_and_behind_stay() {
        for len in [0, 1, 4096, (64 << 10) + 5, 1 << 20] {
            let mut bytes = Vec::with_capacity(len + 999);
            bytes.extend((0..777_u16).map(|n| n.to_le_bytes()[0]));
            let before = bytes.clone();
            populate(bytes.spare_capacity_mut());
            assert_eq!(bytes, before);
            bytes.extend((0..len.saturating_sub(777)).map(|n| n.to_le_bytes()[0]));
            let room = bytes.spare_capacity_mut();
            populate(room.split_at_mut(room.len() / 3).1);
            assert_eq!(bytes[..777], before);
            assert!(
                bytes[777..]
                    .iter()
                    .zip(0..)
                    .all(|(byte, n)| *byte == usize::to_le_bytes(n)[0])
            );
        }
    }
}
