//! The extended attributes by which overlayfs finds a file's content elsewhere.
//!
//! In: the attributes of a file. Out: the object that has its content, and the digest of it.
//! **Invariant:** only attributes that root may set count: `trusted.overlay.*`.
//! Source: "Documentation/filesystems/overlayfs.rst" of Linux (metacopy, redirect, nesting).

use sinterfs_block::verity::VerityDigest;
use sinterfs_model::Xattrs;

/// The prefix of the attributes of overlayfs that only root sees.
pub(crate) const TRUSTED: &[u8] = b"trusted.overlay.";

/// The prefix of the attributes of overlayfs that every user sees.
pub(crate) const USER: &[u8] = b"user.overlay.";

/// The infix between the prefix and the name of an escaped attribute.
pub(crate) const ESCAPED: &[u8] = b"overlay.";

/// The bytes before a digest in the attribute `metacopy`: the version, the length, no flags,
/// SHA-256.
pub(crate) const METACOPY: [u8; 4] = [0, 36, 0, 1];

/// Returns where overlayfs' attributes place a file's content: `None` for a file that has its own.
pub(crate) fn redirect(xattrs: &Xattrs) -> Option<Vec<u8>> {
    overlay_value(xattrs, b"metacopy")?;
    let target = overlay_value(xattrs, b"redirect")?;
    Some(target.strip_prefix(b"/").unwrap_or(target).to_vec())
}

/// Returns the digest that overlayfs' attributes name for a file's content.
pub(crate) fn digest(xattrs: &Xattrs) -> Option<VerityDigest> {
    let value = overlay_value(xattrs, b"metacopy")?;
    value.strip_prefix(&METACOPY)?.try_into().ok()
}

/// Returns the value of an attribute of overlayfs.
fn overlay_value<'a>(xattrs: &'a Xattrs, name: &[u8]) -> Option<&'a [u8]> {
    let found = xattrs
        .iter()
        .find(|(full, _)| full.strip_prefix(TRUSTED) == Some(name));
    found.map(|(_, value)| value.as_slice())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_counts_only_with_metacopy() {
        let pair = |name: &str, value: &str| (name.as_bytes().to_vec(), value.as_bytes().to_vec());
        let redirected = pair("trusted.overlay.redirect", "/ab/cd");
        assert_eq!(redirect(&vec![redirected.clone()]), None);
        let both = vec![pair("trusted.overlay.metacopy", ""), redirected];
        assert_eq!(redirect(&both).as_deref(), Some(&b"ab/cd"[..]));
        let own = vec![
            pair("user.overlay.metacopy", ""),
            pair("user.overlay.redirect", "/ab/cd"),
        ];
        assert_eq!(redirect(&own), None);
    }
}
