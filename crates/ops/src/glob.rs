//! Expands patterns to the paths of an image that match, as a shell does.
//!
//! Enters a path or a pattern; leaves paths that exist, in the order of the tree. **Invariant:** an
//! existing path is taken literally, even with special characters; only directories in which
//! something can match are listed.

use globset::{Candidate, GlobBuilder};
use sinterfs_model::{Error, FileType, Image, Kind, Result};
use sinterfs_platform::names;

use crate::resolve::{Follow, resolve};
use crate::unread::Unread;
use crate::walk::{Visit, WalkStep, walk};

/// Returns the paths of a pattern: the pattern itself if it exists as a path, otherwise all
/// matches; `*` matches within a name, `**` across slashes.
///
/// Directories that cannot be listed go to `unread`. `NotFound` if there is no path although all
/// could be listed, `Invalid` for a malformed pattern.
pub fn expand(image: &dyn Image, pattern: &[u8], unread: &mut Unread) -> Result<Vec<Vec<u8>>> {
    let shown = || names::path(pattern);
    match resolve(image, pattern, Follow::Parents) {
        Ok(_) => return Ok(vec![pattern.to_vec()]),
        Err(error) => match error.kind() {
            Kind::NotFound | Kind::NotDirectory if is_pattern(pattern) => {}
            _ => return Err(error.path(shown())),
        },
    }
    let parts = pattern.split(|&byte| byte == b'/');
    let parts: Vec<&[u8]> = parts
        .filter(|part| !part.is_empty() && *part != b".")
        .collect();
    let literal = parts.iter().take_while(|part| !is_pattern(part)).count();
    let (prefix, rest) = parts.split_at(literal);
    let prefix = prefix.join(&b'/');
    // alternatives in braces may have slashes, and `**` matches them
    let any_depth = pattern.contains(&b'{') || rest.iter().any(|part| part.starts_with(b"**"));
    let text = std::str::from_utf8(pattern);
    let text = text.map_err(|_| Error::invalid("a pattern has to be UTF-8").path(shown()))?;
    let glob = GlobBuilder::new(text.trim_matches('/').trim_start_matches("./"))
        .literal_separator(true)
        .build();
    let glob = glob.map_err(|error| Error::invalid(error.to_string()))?;
    let matcher = glob.compile_matcher();
    let none = || Error::not_found("nothing in the image matches").path(shown());
    let start = resolve(image, &prefix, Follow::All).map_err(|_| none())?;
    if image.inode(start)?.kind != FileType::Directory {
        return Err(none());
    }
    let mut found = Vec::new();
    walk(image, start, &mut |visit| {
        let entry = match visit {
            Visit::Enter(entry) => entry,
            Visit::Broken(entry, error) => {
                unread.note(&join(&prefix, entry.path), error)?;
                return Ok(WalkStep::On);
            }
            Visit::Leave(_) => return Ok(WalkStep::On),
        };
        let path = join(&prefix, entry.path);
        if matcher.is_match_candidate(&Candidate::from_bytes(&path)) {
            found.push(path);
        }
        let deeper = any_depth || entry.depth + 1 < rest.len();
        Ok(if deeper { WalkStep::On } else { WalkStep::Over })
    })?;
    if found.is_empty() && unread.is_empty() {
        return Err(none());
    }
    Ok(found)
}

/// Returns whether a path has characters with a meaning in patterns.
fn is_pattern(path: &[u8]) -> bool {
    path.iter().any(|byte| b"*?[{".contains(byte))
}

fn join(prefix: &[u8], path: &[u8]) -> Vec<u8> {
    match (prefix, path) {
        (b"", _) => path.to_vec(),
        (_, b"") => prefix.to_vec(),
        _ => [prefix, b"/", path].concat(),
    }
}
