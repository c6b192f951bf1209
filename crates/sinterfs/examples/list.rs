//! Lists everything in an image: `cargo run --example list -- IMAGE`.

use std::io::Write;
use std::path::Path;

/// Writes a line with mode, length and path for each entry.
pub fn run(image: &Path, out: &mut dyn Write) -> Result<(), Box<dyn std::error::Error>> {
    let image = sinterfs::open(image)?;
    for entry in image.walk() {
        let entry = entry?;
        let metadata = entry.metadata()?;
        let (mode, len) = (metadata.mode(), metadata.len());
        write!(out, "{mode:o} {len:>10} {}", entry.path().display())?;
        if entry.is_symlink() {
            write!(out, " -> {}", entry.read_link()?.display())?;
        }
        writeln!(out)?;
    }
    Ok(())
}

#[allow(dead_code, reason = "a test includes this file as a module")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let image = std::env::args_os().nth(1).ok_or("usage: list IMAGE")?;
    run(image.as_ref(), &mut std::io::stdout().lock())
}
