//! Targets of x86 calls, relative in programs and absolute in streams ([MS-PATCH] 2.1.1).
//!
//! **Invariant:** the two functions undo each other; positions are those in the chunk.

use std::ops::ControlFlow;

/// The size in bytes that every file is taken to have.
const FILE_SIZE: i32 = 12_000_000;

/// The opcode of calls.
const CALL: u8 = 0xe8;

/// Bytes at the end of a chunk in which no call begins.
const END: usize = 10;

/// Makes absolute targets relative.
pub(super) fn make_relative(content: &mut [u8]) {
    each_call(content, |at, target| {
        if target < -at || target >= FILE_SIZE {
            return None;
        }
        let change = if target >= 0 { -at } else { FILE_SIZE };
        Some(target + change)
    });
}

/// Makes relative targets absolute.
pub(super) fn make_absolute(content: &mut [u8]) {
    each_call(content, |at, target| {
        if target < -at || target >= FILE_SIZE {
            return None;
        }
        let is_within = target < FILE_SIZE - at;
        Some(if is_within {
            target + at
        } else {
            target - FILE_SIZE
        })
    });
}

/// Calls a function for each call with its position and target; it may return another target.
fn each_call(content: &mut [u8], mut change: impl FnMut(i32, i32) -> Option<i32>) {
    let end = content.len().saturating_sub(END);
    let mut next = 0;
    let mut step = |content: &mut [u8], next: usize| -> ControlFlow<(), usize> {
        let Some(found) = content.get(next..end).and_then(|rest| find(rest, CALL)) else {
            return ControlFlow::Break(());
        };
        let at = next + found;
        let room = content
            .get_mut(at + 1..)
            .and_then(<[u8]>::first_chunk_mut::<4>);
        if let (Some(room), Ok(position)) = (room, i32::try_from(at))
            && let Some(target) = change(position, i32::from_le_bytes(*room))
        {
            *room = target.to_le_bytes();
        }
        ControlFlow::Continue(at + 5)
    };
    while let ControlFlow::Continue(after) = step(content, next) {
        next = after;
    }
}

fn find(bytes: &[u8], wanted: u8) -> Option<usize> {
    bytes.iter().position(|byte| *byte == wanted)
}
