//! Turns an image into one of another format, for an older kernel:
//! `cargo run --example convert -- IMAGE NEW.erofs`.

#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use std::path::Path;

use sinterfs::Builder;
use sinterfs::build::{BuildReport, ErofsOptions, FormatOptions};

/// Converts an image to EROFS without unpacking it.
pub fn run(image: &Path, new: &Path) -> Result<BuildReport, Box<dyn std::error::Error>> {
    let options = ErofsOptions {
        kernel: "5.15".parse()?,
        ..ErofsOptions::default()
    };
    let builder = Builder::new(image).format(FormatOptions::Erofs(options));
    Ok(builder.replace(true).build(new)?)
}

#[allow(dead_code, reason = "a test includes this file as a module")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let [image, new] = &arguments[..] else {
        return Err("usage: convert IMAGE NEW.erofs".into());
    };
    let report = run(image.as_ref(), new.as_ref())?;
    for loss in &report.pipeline.image.losses {
        println!("not kept: {} {}", loss.count, loss.what);
    }
    Ok(())
}
