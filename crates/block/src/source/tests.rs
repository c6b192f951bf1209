//! Every kind of source reads the same bytes, and none past its end.

use std::fs::{self, OpenOptions};
use std::sync::Arc;

use sinterfs_model::Kind;

use super::*;

fn scratch(name: &str, content: &[u8]) -> std::path::PathBuf {
    let path = std::env::temp_dir().join(format!("sinterfs-block-{}-{name}", std::process::id()));
    fs::write(&path, content).unwrap();
    path
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 7 % 251) as u8).collect()
}

fn reads_like(source: &dyn ReadAt, expected: &[u8]) {
    assert_eq!(source.len(), expected.len() as u64);
    assert_eq!(source.is_empty(), expected.is_empty());
    let len = expected.len();
    for (start, end) in [
        (0, 0),
        (0, len),
        (len / 3, len / 2),
        (1.min(len), len),
        (len, len),
    ] {
        let mut buf = vec![0; end - start];
        source.read_at(start as u64, &mut buf).unwrap();
        assert_eq!(buf, expected[start..end]);
        let read = source.read(start as u64, (end - start) as u64).unwrap();
        assert_eq!(read[..], expected[start..end]);
    }
    for (offset, want) in [
        (len as u64, 1),
        (0, len as u64 + 1),
        (u64::MAX, 1),
        (1, u64::MAX),
    ] {
        let error = source.read(offset, want).unwrap_err();
        assert_eq!(error.kind(), Kind::Corrupt);
        assert!(error.to_string().contains("truncated"), "{error}");
    }
    assert_eq!(
        source.read_at(len as u64, &mut [0]).unwrap_err().kind(),
        Kind::Corrupt
    );
    assert_eq!(
        source.read_at(u64::MAX, &mut [0]).unwrap_err().kind(),
        Kind::Corrupt
    );
}

#[test]
fn every_source_reads_the_same() {
    for len in [0, 1, 4096, 300_001] {
        let bytes = pattern(len);
        reads_like(&MemorySource(bytes.clone()), &bytes);
        let path = scratch(&format!("same-{len}"), &bytes);
        reads_like(&FileSource::open(&path).unwrap(), &bytes);
        reads_like(&FileSource::open(&path).unwrap(), &bytes);
        let from = len / 5;
        let file: Arc<dyn ReadAt> = Arc::new(FileSource::open(&path).unwrap());
        reads_like(
            &Window::from(Arc::clone(&file), from as u64).unwrap(),
            &bytes[from..],
        );
        let inner = Window::new(file, from as u64, (len - 2 * from) as u64).unwrap();
        reads_like(&inner, &bytes[from..len - from]);
        let mut observed = Vec::new();
        let summed =
            ChecksummedWindow::new(inner, |part| observed.extend_from_slice(part)).unwrap();
        assert_eq!(observed, bytes[from..len - from]);
        assert_eq!(
            summed.memory(),
            observed.len().div_ceil(16 << 10) as u64 * 8
        );
        reads_like(&summed, &bytes[from..len - from]);
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn a_window_past_the_end_is_refused() {
    let source: Arc<dyn ReadAt> = Arc::new(MemorySource(vec![0; 10]));
    for (start, len) in [(11, 0), (0, 11), (10, 1), (u64::MAX, 1)] {
        let error = Window::new(Arc::clone(&source), start, len).unwrap_err();
        assert_eq!(error.kind(), Kind::Corrupt);
    }
    assert!(Window::from(source, 11).is_err());
}

#[test]
fn a_file_that_shrinks_is_an_error() {
    let path = scratch("shrinks", &pattern(100_000));
    let source = FileSource::open(&path).unwrap();
    OpenOptions::new()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(50_000)
        .unwrap();
    for (offset, len) in [(40_000, 20_000), (0, 99_999)] {
        let error = source.read(offset, len).unwrap_err();
        assert_eq!(error.kind(), Kind::Corrupt);
        assert_eq!(error.concerned_path(), Some(path.as_path()));
    }
    assert_eq!(
        source.read(10, 20_000).unwrap()[..],
        pattern(100_000)[10..20_010]
    );
    fs::remove_file(path).unwrap();
}

#[test]
fn what_is_no_file_is_refused() {
    assert_eq!(FileSource::open("/").unwrap_err().kind(), Kind::Invalid);
    let error = FileSource::open("/nonexistent/file").unwrap_err();
    assert_eq!(error.kind(), Kind::Io);
    assert!(error.io_source().is_some());
}

#[test]
fn a_leaf_that_changed_is_not_given_out() {
    const LEAF: usize = 16 << 10;
    let bytes = pattern(5 * LEAF + 100);
    let path = scratch("summed", &bytes);
    let file: Arc<dyn ReadAt> = Arc::new(FileSource::open(&path).unwrap());
    let summed = ChecksummedWindow::new(Window::from(file, 10).unwrap(), |_| {}).unwrap();
    let content = &bytes[10..];
    for bad in [0, 2 * LEAF + 1, 3 * LEAF - 1, content.len() - 1] {
        let mut changed = bytes.clone();
        changed[10 + bad] ^= 1;
        fs::write(&path, &changed).unwrap();
        let leaf = bad / LEAF;
        let range = leaf * LEAF..content.len().min((leaf + 1) * LEAF);
        for len in [1, 4096, LEAF, LEAF + 1, 3 * LEAF, content.len()] {
            for start in (0..content.len() - len + 1).step_by(1000) {
                let end = start + len;
                let touched = start < range.end && end > range.start;
                let mut buf = vec![0xff; len];
                match summed.read_at(start as u64, &mut buf) {
                    Ok(()) => {
                        assert!(!touched, "{start}..{end} with {bad} changed");
                        assert!(buf == content[start..end]);
                    }
                    Err(error) => {
                        assert!(touched, "{start}..{end} with {bad} changed");
                        assert_eq!(error.kind(), Kind::Corrupt);
                        let at = format!("at {:#x} changed after", 10 + range.start);
                        assert!(error.to_string().contains(&at), "{error}");
                        assert!(buf.iter().all(|byte| *byte == 0));
                    }
                }
            }
        }
        fs::write(&path, &bytes).unwrap();
        let mut buf = vec![0; LEAF];
        summed
            .read_at(range.start as u64, &mut buf[..range.len()])
            .unwrap();
        assert!(buf[..range.len()] == content[range]);
    }
    fs::remove_file(path).unwrap();
}
