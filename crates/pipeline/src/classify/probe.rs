//! Inspects a file: the bytes read so far, and a bounded number of small reads.

use sinterfs_model::{Error, FileContent, Result};

/// The most reads beyond the head of one file.
const READS: u32 = 32;

/// The most bytes of one read.
const MOST: usize = 64 << 10;

/// Reads bytes of a file by their offset, within a limit.
pub(crate) struct Probe<'a> {
    head: &'a [u8],
    size: u64,
    content: &'a dyn FileContent,
    reads: u32,
    failed: Option<Error>,
}

impl<'a> Probe<'a> {
    /// Creates a probe of a file of `size` bytes that begins with `head`.
    pub fn new(head: &'a [u8], size: u64, content: &'a dyn FileContent) -> Self {
        Self {
            head,
            size,
            content,
            reads: READS,
            failed: None,
        }
    }

    /// Returns the size of the file.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the beginning of the file.
    pub fn head(&self) -> &'a [u8] {
        self.head
    }

    /// Returns `N` bytes; `None` beyond the end, on a read error and after too many reads.
    pub fn get<const N: usize>(&mut self, at: u64) -> Option<[u8; N]> {
        let near = usize::try_from(at).ok().and_then(|at| self.head.get(at..));
        if let Some(bytes) = near.and_then(|rest| rest.first_chunk()) {
            return Some(*bytes);
        }
        self.bytes(at, N)?.try_into().ok()
    }

    /// Returns up to 64 KiB; `None` if not all of them can be read.
    pub fn bytes(&mut self, at: u64, len: usize) -> Option<Vec<u8>> {
        let end = at.checked_add(len as u64)?;
        if end > self.size || len > MOST {
            return None;
        }
        let near = usize::try_from(at).ok().and_then(|at| self.head.get(at..));
        if let Some(bytes) = near.and_then(|rest| rest.get(..len)) {
            return Some(bytes.to_vec());
        }
        self.reads = self.reads.checked_sub(1)?;
        let mut bytes = vec![0; len];
        match self.content.read_at(at, &mut bytes) {
            Ok(got) => (got == len).then_some(bytes),
            Err(error) => {
                self.failed = Some(error);
                None
            }
        }
    }

    /// Fails if a read failed: what was found is then not what is in the file.
    pub fn finish(self) -> Result<()> {
        self.failed.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use sinterfs_model::Extent;

    use super::*;

    /// A file in memory that counts how often it is read.
    pub(crate) struct Counted(pub Vec<u8>, pub AtomicU32);

    impl FileContent for Counted {
        fn len(&self) -> Result<u64> {
            Ok(self.0.len() as u64)
        }

        fn extents(&self) -> Result<Vec<Extent>> {
            Err(Error::unsupported("not asked for here"))
        }

        fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize> {
            self.1.fetch_add(1, Ordering::Relaxed);
            let rest = &self.0[(offset as usize).min(self.0.len())..];
            let len = rest.len().min(buf.len());
            buf[..len].copy_from_slice(&rest[..len]);
            Ok(len)
        }
    }

    #[test]
    fn reads_are_few_and_within_the_file() {
        let file = Counted((0..200).collect(), AtomicU32::new(0));
        let head = file.0[..100].to_vec();
        let mut probe = Probe::new(&head, 200, &file);
        assert_eq!(probe.get(96), Some([96, 97, 98, 99]));
        assert_eq!(file.1.load(Ordering::Relaxed), 0);
        assert_eq!(probe.get(97), Some([97, 98, 99, 100]));
        assert_eq!(file.1.load(Ordering::Relaxed), 1);
        assert_eq!(probe.get::<4>(197), None);
        assert_eq!(probe.get::<4>(u64::MAX), None);
        assert_eq!(probe.bytes(0, 1 << 20), None);
        assert_eq!(file.1.load(Ordering::Relaxed), 1);
        for _ in 0..100 {
            probe.get::<4>(150);
        }
        assert_eq!(file.1.load(Ordering::Relaxed), READS);
        assert_eq!(probe.get(0), Some([0]));
    }
}
