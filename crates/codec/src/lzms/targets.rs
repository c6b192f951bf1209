//! Targets of x86 instructions, relative in programs and absolute in streams.
//!
//! In: content. Out: the same with targets translated where the code is taken for a program's, in
//! either direction.
//!
//! **Invariant:** whether a target is translated depends only on instructions before it, and on
//! targets as they are in programs, so that decoders find the same ones. The first byte and the
//! last 16 bytes begin no instruction.

/// Bytes at the end in which no instruction begins.
const END: usize = 16;

/// Content up to this length is not translated.
const MIN_CONTENT: usize = 17;

/// How far apart two instructions with one target may be to be taken for a program's.
const TARGET_WINDOW: i64 = 65535;

/// How far an instruction may be from the latest proof of a program.
const MAX_DISTANCE: i64 = 1023;

/// An instruction with a target: bytes before the target, and how far it may be from the latest
/// proof.
struct Instruction {
    len: u8,
    reach: i64,
}

/// Makes absolute targets relative.
pub(super) fn make_relative(content: &mut [u8]) {
    translate(content, |target, position| {
        let relative = target.wrapping_sub(position);
        (relative, relative)
    });
}

/// Makes relative targets absolute.
pub(super) fn make_absolute(content: &mut [u8]) {
    translate(content, |target, position| {
        (target.wrapping_add(position), target)
    });
}

/// Replaces targets; `change` gets one and the position of its instruction, and returns the new
/// target and the relative one.
fn translate(content: &mut [u8], change: impl Fn(u32, u32) -> (u32, u32)) {
    if content.len() <= MIN_CONTENT {
        return;
    }
    let end = content.len() - END;
    let mut last_uses = vec![-TARGET_WINDOW - 1; 1 << 16];
    let mut proof = -MAX_DISTANCE - 1;
    let mut at = 1;
    while let Some(found) = content.get(at..end).and_then(find) {
        at += found;
        let Some(instruction) = instruction(content, at) else {
            // neither a jump is translated nor bytes of its target that look like an instruction
            at += if content.get(at) == Some(&0xe9) { 5 } else { 1 };
            continue;
        };
        let target_at = at + usize::from(instruction.len);
        let room = content
            .get_mut(target_at..)
            .and_then(<[u8]>::first_chunk_mut::<4>);
        let (Some(room), Ok(position)) = (room, u32::try_from(at)) else {
            return;
        };
        let is_program = i64::from(position) - proof <= instruction.reach;
        let mut relative = u32::from_le_bytes(*room);
        if is_program {
            let changed;
            (changed, relative) = change(relative, position);
            *room = changed.to_le_bytes();
        }
        let target = (relative.wrapping_add(position) & 0xffff) as usize;
        let last = i64::from(position) + i64::from(instruction.len) + 3;
        if let Some(use_of) = last_uses.get_mut(target) {
            if last - *use_of <= TARGET_WINDOW {
                proof = last;
            }
            *use_of = last;
        }
        at = target_at + 4;
    }
}

/// Finds the first byte that may begin an instruction.
fn find(content: &[u8]) -> Option<usize> {
    let begins = |byte: &u8| matches!(byte, 0x48 | 0x4c | 0xe8 | 0xe9 | 0xf0 | 0xff);
    content.iter().position(begins)
}

/// Returns the instruction at a position, if it has a target that is translated.
fn instruction(content: &[u8], at: usize) -> Option<Instruction> {
    let bytes = content.get(at..)?.first_chunk::<3>()?;
    let (len, reach) = match *bytes {
        // mov and lea, relative to the instruction pointer
        [0x48, 0x8b, 0x05 | 0x0d] => (3, MAX_DISTANCE),
        [0x48 | 0x4c, 0x8d, register] if register & 7 == 5 => (3, MAX_DISTANCE),
        // a call, which must be nearer: its opcode is a single byte
        [0xe8, ..] => (1, MAX_DISTANCE / 2),
        // an addition with a lock
        [0xf0, 0x83, 0x05] => (3, MAX_DISTANCE),
        // an indirect call
        [0xff, 0x15, _] => (2, MAX_DISTANCE),
        _ => return None,
    };
    Some(Instruction { len, reach })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_come_back() {
        let mut content = sinterfs_testkit::noise(5, 50_000);
        for at in (7..content.len() - 30).step_by(29) {
            let [a, b, c] = [[0xe8, 0, 0], [0x48, 0x8b, 0x05], [0x4c, 0x8d, 0x0d]][at % 3];
            content[at..at + 3].copy_from_slice(&[a, b, c]);
            let target = at + if a == 0xe8 { 1 } else { 3 };
            let to = (1000 * (at % 5)) as u32;
            content[target..target + 4].copy_from_slice(&to.wrapping_sub(at as u32).to_le_bytes());
        }
        let mut translated = content.clone();
        make_absolute(&mut translated);
        let changed = content.iter().zip(&translated).filter(|(a, b)| a != b);
        assert!(changed.count() > 1000);
        make_relative(&mut translated);
        assert!(translated == content);
        for len in 0..40 {
            let mut short = content[..len].to_vec();
            make_absolute(&mut short);
            make_relative(&mut short);
            assert_eq!(short, content[..len]);
        }
    }
}
