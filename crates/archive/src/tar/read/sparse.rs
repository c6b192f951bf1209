//! Maps of holes, in the four forms in which GNU tar wrote them.
//!
//! Old GNU: in the header and in extension headers after it. PAX 0.0 and 0.1: in records. PAX 1.0:
//! decimal numbers before the content. Spec: GNU tar's manual, "Storing Sparse Files".
//! **Invariant:** the resulting map is sorted, within the file, and as long as the stored bytes.

use sinterfs_model::{Error, Result};

use super::pax::{MOST_RUNS, Records};
use crate::member::DataRun;
use crate::stream::{CountedStream, Stream, cut};
use crate::tar::layout::{BLOCK, GNU, UstarHeader, number, typeflag};

/// The ranges of data in a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Holes {
    pub(super) size: u64,
    pub(super) runs: Vec<DataRun>,
}

/// Finds the map of a member, given its stored length; `None` if it has no holes.
pub(super) fn map<S: Stream>(
    input: &mut CountedStream<S>,
    header: &UstarHeader,
    records: &Records,
    stored: u64,
    at: u64,
) -> Result<Option<Holes>> {
    let from = input.position();
    let (size, runs) = if header.typeflag == typeflag::GNU_SPARSE {
        let (size, runs) = of_header(input, header, at)?;
        (records.sparse.size.unwrap_or(size), runs)
    } else if records.sparse.is_any() {
        let sparse = &records.sparse;
        let runs = match (sparse.major, sparse.minor.unwrap_or(0)) {
            (Some(1), 0) => before_content(input, stored)?,
            (None | Some(0), _) => pairs(sparse.numbers.as_deref().unwrap_or_default(), at)?,
            (major, minor) => {
                let major = major.unwrap_or(0);
                let what = format!("a map of holes of version {major}.{minor}");
                return Err(Error::unsupported(what).at("tar header", at));
            }
        };
        let size = sparse.size.ok_or_else(|| bad(at, "no length"))?;
        (size, runs)
    } else {
        return Ok(None);
    };
    let content = match header.typeflag {
        typeflag::GNU_SPARSE => stored,
        _ => stored.saturating_sub(input.position() - from),
    };
    checked(size, runs, content, at).map(Some)
}

/// Fails for a map that contradicts itself; empty ranges are taken out.
fn checked(size: u64, mut runs: Vec<DataRun>, stored: u64, at: u64) -> Result<Holes> {
    let (mut end, mut sum) = (0, 0_u64);
    for run in &runs {
        let run_end = run.end().filter(|&end| end <= size);
        let Some(run_end) = run_end.filter(|_| run.offset >= end) else {
            return Err(bad(at, "ranges out of order or beyond the end of the file"));
        };
        end = run_end;
        sum = sum.saturating_add(run.len);
    }
    if sum != stored {
        let what = format!("a map of holes with {sum} bytes of data, {stored} are stored");
        return Err(Error::corrupt(what).at("tar header", at));
    }
    runs.retain(|run| run.len > 0);
    Ok(Holes { size, runs })
}

/// Reads old GNU's map: four ranges in the header, 21 in each that follows.
fn of_header<S: Stream>(
    input: &mut CountedStream<S>,
    header: &UstarHeader,
    at: u64,
) -> Result<(u64, Vec<DataRun>)> {
    if header.magic != GNU {
        let what = "holes in a header that is not GNU tar's (of star?)";
        return Err(Error::unsupported(what).at("tar header", at));
    }
    // from offset 345 on: two times, offset, 4 bytes, one unused; ranges; whether there are more;
    // length
    let fields = &header.prefix;
    let mut runs = Vec::new();
    ranges(fields.get(41..137).unwrap_or_default(), &mut runs, at)?;
    let mut more = fields.get(137).is_some_and(|&byte| byte != 0);
    let size = fields.get(138..150).and_then(number);
    let size = size.and_then(|size| u64::try_from(size).ok());
    let size = size.ok_or_else(|| bad(at, "no length"))?;
    while more {
        let from = input.position();
        let block = input.bytes(BLOCK, "map of holes")?;
        ranges(block.get(..504).unwrap_or_default(), &mut runs, from)?;
        more = block.get(504).is_some_and(|&byte| byte != 0);
    }
    Ok((size, runs))
}

/// Adds the ranges of a header, up to the first that is not used.
fn ranges(fields: &[u8], runs: &mut Vec<DataRun>, at: u64) -> Result<()> {
    let unsigned = |field: Option<&[u8]>| u64::try_from(number(field?)?).ok();
    for range in fields.chunks_exact(24) {
        if range.get(12) == Some(&0) {
            break;
        }
        let (offset, len) = (unsigned(range.get(..12)), unsigned(range.get(12..)));
        let run = offset.zip(len).map(|(offset, len)| DataRun { offset, len });
        push(
            runs,
            run.ok_or_else(|| bad(at, "a range that is not a number"))?,
            at,
        )?;
    }
    Ok(())
}

/// Makes ranges of offsets and lengths by turns.
fn pairs(numbers: &[u64], at: u64) -> Result<Vec<DataRun>> {
    let mut runs = Vec::new();
    for pair in numbers.chunks(2) {
        let &[offset, len] = pair else {
            return Err(bad(at, "an offset without a length"));
        };
        push(&mut runs, DataRun { offset, len }, at)?;
    }
    Ok(runs)
}

/// Reads the map of PAX 1.0: the number of ranges and each one's offset and length, a line each, in
/// whole blocks of the stored bytes.
fn before_content<S: Stream>(input: &mut CountedStream<S>, stored: u64) -> Result<Vec<DataRun>> {
    let at = input.position();
    let mut lines = Lines {
        input,
        block: Vec::new(),
        next: 0,
        left: stored,
    };
    let count = lines.number()?;
    if count > MOST_RUNS as u64 {
        return Err(Error::limit(format!("{count} ranges of data")).at("map of holes", at));
    }
    let mut runs = Vec::new();
    for _ in 0..count {
        let (offset, len) = (lines.number()?, lines.number()?);
        runs.push(DataRun { offset, len });
    }
    Ok(runs)
}

/// Lines of decimal numbers in blocks.
struct Lines<'a, S> {
    input: &'a mut CountedStream<S>,
    block: Vec<u8>,
    next: usize,
    /// The stored bytes of the member that are not read yet.
    left: u64,
}

impl<S: Stream> Lines<'_, S> {
    fn number(&mut self) -> Result<u64> {
        let at = self.input.position();
        let mut number = None;
        loop {
            match self.byte()? {
                b'\n' => return number.ok_or_else(|| bad(at, "an empty line")),
                digit @ b'0'..=b'9' => {
                    let value = number.unwrap_or(0_u64).checked_mul(10);
                    let value = value.and_then(|value| value.checked_add(u64::from(digit - b'0')));
                    number = Some(value.ok_or_else(|| bad(at, "a number beyond 64 bits"))?);
                }
                _ => return Err(bad(at, "a line that is not a number")),
            }
        }
    }

    fn byte(&mut self) -> Result<u8> {
        if self.next == self.block.len() {
            let at = self.input.position();
            let left = self.left.checked_sub(BLOCK as u64);
            self.left = left.ok_or_else(|| cut("map of holes", at))?;
            self.block = self.input.bytes(BLOCK, "map of holes")?;
            self.next = 0;
        }
        let byte = self.block.get(self.next).copied();
        self.next += 1;
        byte.ok_or_else(|| cut("map of holes", self.input.position()))
    }
}

fn push(runs: &mut Vec<DataRun>, run: DataRun, at: u64) -> Result<()> {
    if runs.len() >= MOST_RUNS {
        return Err(
            Error::limit(format!("more than {MOST_RUNS} ranges of data")).at("map of holes", at),
        );
    }
    runs.push(run);
    Ok(())
}

#[cold]
fn bad(at: u64, what: &str) -> Error {
    Error::corrupt(format!("a map of holes with {what}")).at("tar header", at)
}
