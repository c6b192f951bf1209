//! Archives and lists of files: tar, cpio, mtree and dumps of composefs, read to the end; packages
//! up to their files; the directory of a zip.
//!
//! In: a byte that selects the format, then the archive. **Invariant** that is asserted: the runs
//! of a member are in order and end within it; the content of a zip's members is within the file
//! and no byte of it belongs to two; a stream that returns one byte at a time gives the
//! same members, and the same error, as one that returns all.

use std::io::{BufReader, Cursor, Read};

use sinterfs_archive::packed::DecodeStep;
use sinterfs_archive::{Member, Stream, ar, cpio, mtree, rpm, tar, zip};
use sinterfs_model::Result;

/// A stream that returns one byte at a time.
struct OneByOne<'a>(Cursor<&'a [u8]>);

impl Read for OneByOne<'_> {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        let len = buf.len().min(1);
        self.0.read(&mut buf[..len])
    }
}

impl Stream for OneByOne<'_> {
    fn skip(&mut self, len: u64) -> std::io::Result<u64> {
        self.0.skip(len)
    }
}

/// Collects members to the end or to the first error.
fn members(mut next: impl FnMut() -> Result<Option<Member>>) -> (Vec<Member>, Option<String>) {
    let mut all = Vec::new();
    loop {
        match next() {
            Ok(Some(member)) => all.push(member),
            Ok(None) => return (all, None),
            Err(error) => return (all, Some(error.to_string())),
        }
    }
}

fn runs_are_sound(member: &Member) {
    let mut end = 0;
    for run in member.map.iter().flatten() {
        assert!(run.offset >= end, "runs that overlap or are not in order");
        end = run.offset.checked_add(run.len).expect("an end in 64 bits");
        assert!(end <= member.size, "a run behind the end of its file");
    }
}

fn is_same<T: PartialEq>(whole: &T, in_parts: &T) {
    assert!(
        whole == in_parts,
        "parts give something else than the whole"
    );
}

/// Reads one input.
pub fn run(bytes: &[u8]) {
    let Some((kind, archive)) = bytes.split_first() else {
        return;
    };
    let (whole, parts) = (Cursor::new(archive), OneByOne(Cursor::new(archive)));
    match kind % 6 {
        0 => {
            let (mut one, mut other) =
                (tar::read::Reader::new(whole), tar::read::Reader::new(parts));
            let found = members(|| one.next_member());
            found.0.iter().for_each(runs_are_sound);
            is_same(&found, &members(|| other.next_member()));
        }
        1 => {
            let (mut one, mut other) = (
                cpio::read::Reader::new(whole),
                cpio::read::Reader::new(parts),
            );
            let found = members(|| one.next_member());
            is_same(&found, &members(|| other.next_member()));
        }
        2 => {
            let shown = |list: Result<mtree::read::List>| {
                list.map(|list| format!("{:?}", list.entries))
                    .map_err(|error| error.to_string())
            };
            let one = shown(mtree::read::list(archive));
            is_same(
                &one,
                &shown(mtree::read::list(BufReader::with_capacity(1, parts))),
            );
        }
        3 => {
            let shown = |files: Result<_>| files.map(drop).map_err(|error| error.to_string());
            let one = shown(sinterfs_erofs::composefs::parse(archive));
            let other = sinterfs_erofs::composefs::parse(BufReader::with_capacity(1, parts));
            is_same(&one, &shown(other));
        }
        4 => packages(whole, parts),
        _ => zip_directory(archive),
    }
}

fn zip_directory(archive: &[u8]) {
    let len = archive.len() as u64;
    let Ok(found) = zip::read(&mut Cursor::new(archive), len) else {
        return;
    };
    let stored = found.units.iter().map(|unit| match &unit.step {
        DecodeStep::Decoded { inputs, .. } => &inputs[0],
        stored => stored,
    });
    let range = |step: &DecodeStep| match step {
        DecodeStep::Stored { at, len } => (*at, at.checked_add(*len).expect("an end in 64 bits")),
        DecodeStep::Decoded { .. } => panic!("a method of a method"),
    };
    let mut ranges: Vec<_> = stored.map(range).collect();
    ranges.sort_unstable();
    let mut end = 0;
    for (from, to) in ranges {
        assert!(from >= end || from == to, "members that overlap");
        assert!(to <= len, "content behind the end of the file");
        end = end.max(to);
    }
}

fn packages(mut whole: Cursor<&[u8]>, mut parts: OneByOne<'_>) {
    let shown = |found: Result<String>| found.map_err(|error| error.to_string());
    let is_rpm = rpm::is_rpm(whole.get_ref());
    let found = |stream: &mut dyn Read| {
        if is_rpm {
            rpm::seek_payload(stream).map(Option::unwrap_or_default)
        } else {
            ar::seek_deb_data(stream).map(|len| len.to_string())
        }
    };
    is_same(&shown(found(&mut whole)), &shown(found(&mut parts)));
    assert!(
        whole.position() == parts.0.position(),
        "parts end elsewhere than the whole"
    );
}
