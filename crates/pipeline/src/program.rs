//! The program in a tree that an image runs.
//!
//! In: a tree and a path. Out: whether the file there can run. **Invariant:** symlinks are followed
//! as a mount of the image follows them; one that leads out of it says nothing.

use sinterfs_model::{Content, Error, NodeId, Result, Tree};
use sinterfs_platform::names;
use sinterfs_source::Transform;

/// The program that runs if none is chosen.
const DEFAULT: &[u8] = b"AppRun";

/// The most symlinks on the way to a file, as in Linux.
const MAX_LINKS: usize = 40;

/// Fails unless the file at a path of a changed tree can run; an empty path means the default
/// program, which may be missing.
///
/// # Errors
/// `Invalid` for a file that does not run, `NotFound` if there is none.
pub fn check_program(tree: &Tree, transform: &Transform, path: &[u8]) -> Result<()> {
    let mut changed = tree.clone();
    transform.apply(&mut changed)?;
    let wanted = if path.is_empty() { DEFAULT } else { path };
    let fail = |error: Error| Err(error.path(names::path_buf(wanted.to_vec())));
    match find(&changed, wanted) {
        ProgramEntry::File(node) => {
            let node = changed.node(node);
            let what = match node.content {
                Content::File { .. } if node.meta.mode & 0o111 != 0 => return Ok(()),
                Content::File { .. } => "the program that the image runs is not executable",
                _ => "the program that the image runs is not a regular file",
            };
            fail(Error::invalid(what))
        }
        ProgramEntry::Nothing if !path.is_empty() => fail(Error::not_found(
            "the program that the image runs is not in it",
        )),
        ProgramEntry::Nothing | ProgramEntry::Outside => Ok(()),
    }
}

/// The target of a path.
enum ProgramEntry {
    File(NodeId),
    Nothing,
    Outside,
}

fn find(tree: &Tree, path: &[u8]) -> ProgramEntry {
    let mut links = 0;
    let mut above = vec![NodeId::ROOT];
    let mut todo: Vec<&[u8]> = path.split(|&byte| byte == b'/').rev().collect();
    while let Some(name) = todo.pop() {
        match name {
            b"" | b"." => continue,
            b".." => {
                above.pop();
                if above.is_empty() {
                    return ProgramEntry::Outside;
                }
                continue;
            }
            _ => {}
        }
        let here = above.last().copied().unwrap_or(NodeId::ROOT);
        if !matches!(tree.node(here).content, Content::Directory { .. }) {
            return ProgramEntry::Nothing;
        }
        let children = tree.children(here);
        let found = children.binary_search_by(|link| tree.bytes(link.name).cmp(name));
        let Some(link) = found.ok().and_then(|found| children.get(found)) else {
            return ProgramEntry::Nothing;
        };
        match tree.node(link.node).content {
            Content::Symlink(target) => {
                let target = tree.bytes(target);
                links += 1;
                if target.starts_with(b"/") {
                    return ProgramEntry::Outside;
                }
                if links > MAX_LINKS {
                    return ProgramEntry::Nothing;
                }
                todo.extend(target.split(|&byte| byte == b'/').rev());
            }
            _ => above.push(link.node),
        }
    }
    ProgramEntry::File(above.last().copied().unwrap_or(NodeId::ROOT))
}
