//! The shared test vectors: where they are, and their files.

use std::io::Read;
use std::path::{Path, PathBuf};

/// Finds the shared files beside the checkout, or in `SINTER_SHARED`; skips if they are missing.
pub fn shared(below: impl AsRef<Path>) -> Option<PathBuf> {
    let root = std::env::var_os("SINTER_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let path = root.join(below);
    if path.exists() {
        return Some(path);
    }
    crate::skip(&format!("no {} (SINTER_SHARED)", path.display()));
    None
}

/// Reads a file, unpacking it if its name ends in `.gz`.
pub fn read_file(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    if path.extension().is_none_or(|extension| extension != "gz") {
        return bytes;
    }
    let mut unpacked = Vec::new();
    let mut decoder = flate2::read::GzDecoder::new(&bytes[..]);
    decoder.read_to_end(&mut unpacked).unwrap();
    unpacked
}
