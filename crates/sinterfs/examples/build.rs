//! Packs a directory into an image, whose extension chooses the format:
//! `cargo run --example build -- DIR IMAGE`.

#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use std::path::Path;

use sinterfs::Builder;
use sinterfs::build::BuildReport;

/// Builds an image without files that end in `.tmp`.
pub fn run(source: &Path, image: &Path) -> Result<BuildReport, Box<dyn std::error::Error>> {
    let builder = Builder::new(source).level(5).exclude("*.tmp").replace(true);
    Ok(builder.build(image)?)
}

#[allow(dead_code, reason = "a test includes this file as a module")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let [source, image] = &arguments[..] else {
        return Err("usage: build DIR IMAGE".into());
    };
    let report = run(source.as_ref(), image.as_ref())?;
    let (files, bytes) = (
        report.pipeline.tree.files,
        report.pipeline.image.image_bytes,
    );
    println!("{}: {files} files in {bytes} bytes", report.format);
    Ok(())
}
