//! Programs that end with a zip, as those which unpack themselves do.
//!
//! In: a file. Out: whether it is one. **Invariant:** only the end of such a file is searched.

use std::fs::File;
use std::sync::Arc;

use sinterfs_archive::zip;
use sinterfs_model::Result;

use super::content::HeaderStream;

/// Returns whether the first bytes begin a program or another file that a zip may follow: ELF,
/// Windows, a script, an extension of Chrome.
fn has_zip_behind(start: &[u8]) -> bool {
    let magics: [&[u8]; 4] = [b"\x7fELF", b"MZ", b"#!", b"Cr24"];
    magics.iter().any(|magic| start.starts_with(magic))
}

/// Returns whether a file is a program that ends as a zip does, by its first bytes and its end.
///
/// # Errors
/// `Io` if it cannot be read.
pub fn is_program_with_zip(start: &[u8], file: &Arc<File>) -> Result<bool> {
    if !has_zip_behind(start) {
        return Ok(false);
    }
    let mut bytes = HeaderStream::new(Arc::clone(file))?;
    let len = bytes.len();
    Ok(zip::has_end(&mut bytes, len))
}
