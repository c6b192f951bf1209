//! Reads the extended attributes of a name in an open directory.
//!
//! **Invariant:** no symlink is followed; what cannot be read is reported and left out.

use std::io;

use sinterfs_model::Xattrs;
use sinterfs_platform::Directory;
use sinterfs_platform::xattrs::Attributes;

/// Reads all attributes of a name; passes those that cannot be read to `warn` and leaves them out.
pub(super) fn read(
    dir: &Directory,
    name: &[u8],
    warn: &mut dyn FnMut(String, io::Error),
) -> Xattrs {
    let mut xattrs = Xattrs::new();
    let listed = Attributes::of(dir, name).and_then(|file| Ok((file.names()?, file)));
    let (names, file) = match listed {
        Ok(listed) => listed,
        Err(error) => {
            let what = "cannot list the extended attributes, left out";
            warn(what.to_owned(), error);
            return xattrs;
        }
    };
    for name in names {
        match file.value(&name) {
            Ok(Some(value)) => xattrs.push((name, value)),
            // removed meanwhile
            Ok(None) => {}
            Err(error) => {
                let name = String::from_utf8_lossy(&name);
                let what = format!("cannot read the extended attribute {name}, left out");
                warn(what, error);
            }
        }
    }
    xattrs
}
