//! Reads and writes that fail at the n-th call, for every n, below every reader and writer; and how
//! often chunks are decoded.
//!
//! Each fault happens once. **Invariant** that is asserted: where a write fails there is an error;
//! where a read fails, an error, a count of failures or the right result (an index that cannot be
//! read is done without), never other bytes; what is read again afterwards is right.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod faulty_reads;
mod faulty_writes;
mod named_streams;
mod solid_chunks;

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

use sinterfs_block::{MemorySource, ReadAt, Sink};
use sinterfs_format::{Blob, FormerRuns};
use sinterfs_model::{Error, Quiet, Result};
use sinterfs_testkit::{Fault, noise};

use crate::formats::options::FormatOptions;
use crate::image::Image;
use crate::open_options::{OpenOptions, shared_cache};
use crate::write::build::prepare;
use crate::write::input::opened::OpenInput;
use crate::write::job::Prepared;
use crate::write::pack::Work;
use crate::write::report::PipelineReport;
use crate::write::request::BuildRequest;

/// Returns the formats that the pipeline writes.
fn written() -> impl Iterator<Item = &'static str> {
    let all = FormatOptions::all().into_iter();
    all.filter(|format| format.pipeline().is_some())
        .map(|format| format.format())
}

/// An image in memory whose reads can fail.
struct FaultySource(MemorySource, Fault);

impl FaultySource {
    fn shared(image: &[u8], fault: &Fault) -> Arc<dyn ReadAt> {
        Arc::new(Self(MemorySource(image.to_vec()), fault.clone()))
    }
}

impl ReadAt for FaultySource {
    fn len(&self) -> u64 {
        self.0.len()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let called = self.1.call();
        called.map_err(|error| Error::io("the read that fails", error))?;
        self.0.read_at(offset, buf)
    }
}

/// An output in memory whose writes can fail.
#[derive(Clone)]
struct FaultySink(Arc<Mutex<Vec<u8>>>, Fault);

impl FaultySink {
    fn new(fault: &Fault) -> Self {
        Self(Arc::default(), fault.clone())
    }

    fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }
}

impl Write for FaultySink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.1.call()?;
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.1.call()
    }
}

impl Sink for FaultySink {
    fn patch(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.1.call()?;
        self.0.lock().unwrap().patch(offset, bytes)
    }
}

/// Makes a small tree: text, noise, equal files, a hole, a symlink, a hard link.
fn make_tree(tree: &Path) {
    fs::create_dir_all(tree.join("a/b")).unwrap();
    let text: String = (0..3000).map(|line| format!("{line}\n")).collect();
    fs::write(tree.join("text"), &text).unwrap();
    fs::write(tree.join("a/again"), &text).unwrap();
    fs::write(tree.join("a/noise"), noise(1, 40_000)).unwrap();
    fs::write(tree.join("a/b/small"), "small").unwrap();
    fs::hard_link(tree.join("text"), tree.join("a/linked")).unwrap();
    std::os::unix::fs::symlink("b/small", tree.join("a/symlink")).unwrap();
    let sparse = fs::File::create(tree.join("sparse")).unwrap();
    sparse.set_len(1 << 17).unwrap();
}

fn request(tree: &Path, format: &str) -> BuildRequest {
    let mut options = FormatOptions::named(format).unwrap();
    if let FormatOptions::Dwarfs(own) = &mut options {
        (own.history, own.with_digest) = (false, true);
    }
    BuildRequest {
        format: Some(options),
        // the highest level that all formats encode quickly
        level: 1,
        threads: 2,
        create_timestamp: (format != "cramfs").then_some(1_000_000_000),
        block_size: Some(if format == "wim" { 1 << 15 } else { 1 << 14 })
            .filter(|_| !matches!(format, "cramfs" | "iso9660")),
        ..BuildRequest::new(tree)
    }
}

/// Builds what a request asks for into sinks.
fn write(
    request: &BuildRequest,
    prepared: &Prepared,
    sink: &FaultySink,
    blob: Option<&FaultySink>,
) -> Result<PipelineReport> {
    let format = request.format()?;
    let work = Work {
        name: format.format(),
        format: format.by_pipeline()?,
        request,
        prepared,
    };
    let blob = blob.map(|sink| Blob {
        name: "device".into(),
        sink: Box::new(sink.clone()),
    });
    work.write(Box::new(sink.clone()), blob, &work.resolve()?, &Quiet)
}

/// Builds an image of a directory.
fn image_of(request: &BuildRequest) -> Vec<u8> {
    let sink = FaultySink::new(&Fault::never());
    let prepared = prepare(request, &request.format().unwrap(), &Quiet).unwrap();
    write(request, &prepared, &sink, None).unwrap();
    sink.bytes()
}

/// Opens an image whose reads can fail.
fn open(image: &[u8], fault: &Fault) -> Result<Image> {
    crate::open_source(FaultySource::shared(image, fault), &OpenOptions::default())
}

/// Opens an image as what is packed.
fn of_image(image: &[u8], fault: &Fault) -> Result<Prepared> {
    let cache = shared_cache(1 << 20);
    let options = OpenOptions {
        cache: Some(Arc::clone(&cache)),
        ..OpenOptions::default()
    };
    let opened = crate::open_source(FaultySource::shared(image, fault), &options)?;
    Ok(Prepared {
        input: OpenInput::of_image(&opened, Path::new("image"), &cache, 2)?,
        command: "convert",
        former: FormerRuns::default(),
        base: None,
        header: None,
    })
}
