//! Sinks that fail.

use std::sync::Arc;

use sinterfs_block::MemorySource;
use sinterfs_block::ReadAt;
use sinterfs_format::{MetadataPlan, RewriteOptions};
use sinterfs_model::{Quiet, Result};
use sinterfs_ops::{Archive, ArchiveFormat, ArchiveOptions};
use sinterfs_testkit::{Fault, at_every_call};

use super::{FaultySink, FaultySource, image_of, make_tree, open, request, write, written};
use crate::formats;
use crate::write::base::OpenBase;
use crate::write::build::prepare;
use crate::write::device::compress;
use crate::write::device_options::DeviceOptions;
use crate::write::request::BuildRequest;
use crate::write::resolve::create_options;

/// Makes something with a fault at every call: it is an error or the same bytes.
fn at_every_call_it_is_right(make: impl Fn(&Fault) -> Result<Vec<u8>>) {
    let sound = make(&Fault::never()).unwrap();
    let mut errors = 0;
    let faults = at_every_call(|fault| match make(fault) {
        Ok(bytes) => assert!(bytes == sound, "other bytes"),
        Err(error) => {
            assert!(fault.happened(), "{error}");
            errors += 1;
        }
    });
    assert!(errors > 4, "only {errors} errors of {faults} faults");
}

#[test]
fn a_build_fails_whichever_write_fails() {
    let dir = tempfile::tempdir().unwrap();
    let tree = dir.path().join("tree");
    make_tree(&tree);
    for format in written() {
        let request = request(&tree, format);
        let sound = image_of(&request);
        let faults = at_every_call(|fault| {
            let sink = FaultySink::new(fault);
            let prepared = prepare(&request, &Quiet).unwrap();
            let built = write(&request, &prepared, &sink, None);
            assert_eq!(built.is_err(), fault.happened(), "{format}: {built:?}");
            assert!(fault.happened() || sink.bytes() == sound, "{format}");
        });
        assert!(faults > 2, "{format}: only {faults} faults");
    }
}

#[test]
fn a_build_with_a_device_of_its_own_fails_whichever_write_fails() {
    let dir = tempfile::tempdir().unwrap();
    let tree = dir.path().join("tree");
    make_tree(&tree);
    let request = BuildRequest {
        blob_device: Some(dir.path().join("device")),
        ..request(&tree, "erofs")
    };
    let faults = at_every_call(|fault| {
        let (sink, blob) = (FaultySink::new(fault), FaultySink::new(fault));
        let prepared = prepare(&request, &Quiet).unwrap();
        let built = write(&request, &prepared, &sink, Some(&blob));
        assert_eq!(built.is_err(), fault.happened(), "{built:?}");
    });
    assert!(faults > 4, "only {faults} faults");
}

#[test]
fn a_build_on_a_base_fails_whichever_read_or_write_fails() {
    let dir = tempfile::tempdir().unwrap();
    let tree = dir.path().join("tree");
    make_tree(&tree);
    let request = request(&tree, "dwarfs");
    let base = image_of(&request);
    let built_on = |fault: &Fault| {
        let opened = open(&base, fault)?;
        let sink = FaultySink::new(fault);
        let mut prepared = prepare(&request, &Quiet)?;
        prepared.base = Some(OpenBase::new(opened, "base".into()));
        write(&request, &prepared, &sink, None).map(|_| sink.bytes())
    };
    at_every_call_it_is_right(built_on);
}

#[test]
fn recompression_fails_whichever_read_or_write_fails() {
    let dir = tempfile::tempdir().unwrap();
    let tree = dir.path().join("tree");
    make_tree(&tree);
    let request = request(&tree, "dwarfs");
    let old = image_of(&request);
    let prepared = prepare(&request, &Quiet).unwrap();
    let writer = formats::by_name("dwarfs").unwrap().by_pipeline().unwrap();
    let create = create_options(&request, "dwarfs", writer, &prepared).unwrap();
    let options = RewriteOptions {
        compression: Some("zstd:level=5".parse().unwrap()),
        by_category: Vec::new(),
        selection: None,
        keep_smaller: false,
        metadata: MetadataPlan::Encode,
        create,
        threads: 2,
    };
    at_every_call_it_is_right(|fault| {
        let opened = open(&old, fault)?;
        let sink = FaultySink::new(fault);
        let reuse = opened.handle().reuse().unwrap();
        let written = reuse.rewrite(Box::new(sink.clone()), &options, &Quiet);
        written.map(|_| sink.bytes())
    });
}

#[test]
fn a_signature_is_not_embedded_if_a_read_or_a_write_fails() {
    let dir = tempfile::tempdir().unwrap();
    let tree = dir.path().join("tree");
    make_tree(&tree);
    let old = image_of(&request(&tree, "dwarfs"));
    let writer = formats::by_name("dwarfs").unwrap().by_pipeline().unwrap();
    at_every_call_it_is_right(|fault| {
        let source = FaultySource::shared(&old, fault);
        let mut sink = FaultySink::new(fault);
        let signed = writer.sign(&source, "a signature", &mut sink);
        signed.map(|()| sink.bytes())
    });
}

#[test]
fn a_compressed_device_fails_whichever_read_or_write_fails() {
    let device = sinterfs_testkit::noise(3, 200_000);
    at_every_call_it_is_right(|fault| {
        let source = FaultySource(MemorySource(device.clone()), fault.clone());
        let options = DeviceOptions {
            block_size: 1 << 14,
            level: 6,
            threads: 2,
            ..DeviceOptions::default()
        };
        let mut sink = FaultySink::new(fault);
        let made = compress(&source, &mut sink, options, &Quiet);
        made.map(|_| sink.bytes())
    });
}

#[test]
fn an_archive_fails_whichever_write_fails() {
    let dir = tempfile::tempdir().unwrap();
    let tree = dir.path().join("tree");
    make_tree(&tree);
    let image = image_of(&request(&tree, "squashfs"));
    let opened = open(&image, &Fault::never()).unwrap();
    for format in [
        ArchiveFormat::Tar,
        ArchiveFormat::Cpio,
        ArchiveFormat::Mtree,
    ] {
        let options = ArchiveOptions {
            threads: 2,
            ..ArchiveOptions::of(format)
        };
        let faults = at_every_call(|fault| {
            let raw = Arc::clone(opened.raw());
            let archive = Archive::plan(&*raw, &options, &Quiet).unwrap();
            let written = archive.write(&mut FaultySink::new(fault));
            assert_eq!(written.is_err(), fault.happened(), "{format:?}");
        });
        assert!(faults > 0, "{format:?}: only {faults} faults");
    }
}

#[test]
fn a_fault_that_is_counted_is_one_that_happened() {
    let fault = Fault::at(2);
    let source = FaultySource(MemorySource(vec![7; 10]), fault.clone());
    assert!(source.read(0, 1).is_ok() && !fault.happened());
    assert!(source.read(0, 1).is_err() && fault.happened());
    assert!(source.read(0, 1).is_ok());
}
