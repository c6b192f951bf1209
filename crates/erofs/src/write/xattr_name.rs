//! The short prefixes of names of extended attributes.

use crate::layout::xattr_prefix;

/// Prefixes that kernels show, by their numbers.
const SHOWN: [u8; 5] = [1, 2, 3, 4, 6];

/// Splits the prefix off a name, by its number; `None` for names that kernels do not show.
pub(super) fn split_prefix(name: &[u8]) -> Option<(u8, &[u8])> {
    SHOWN.iter().find_map(|&number| {
        let prefix = xattr_prefix(number)?;
        let rest = name.strip_prefix(prefix.as_bytes())?;
        // a prefix with a dot wants more, the others are whole names
        (prefix.ends_with('.') != rest.is_empty()).then_some((number, rest))
    })
}
