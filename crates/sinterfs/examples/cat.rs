//! Writes a file of an image to standard output: `cargo run --example cat -- IMAGE PATH`.

use std::io::{self, Write};
use std::path::Path;

/// Copies the content of one file.
pub fn run(
    image: &Path,
    path: &Path,
    out: &mut dyn Write,
) -> Result<u64, Box<dyn std::error::Error>> {
    let image = sinterfs::open(image)?;
    let mut file = image.file(path)?;
    Ok(io::copy(&mut file, out)?)
}

#[allow(dead_code, reason = "a test includes this file as a module")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let [image, path] = &arguments[..] else {
        return Err("usage: cat IMAGE PATH".into());
    };
    run(image.as_ref(), path.as_ref(), &mut io::stdout().lock())?;
    Ok(())
}
