//! The options about the objects of composefs images.
//!
//! In: an option as it was given. Out: whether it is one of these, and what it sets.

use sinterfs::{OpenOptions, Result};

/// The names of the option that has objects verified.
pub(super) const VERIFY: &[&str] = &["verify", "verity"];

/// The names of the option with the directory of objects.
pub(super) const OBJECTS: &[&str] = &["objects", "basedir"];

/// Has objects verified.
pub(super) fn verify(options: &mut OpenOptions) -> Result<()> {
    options.verify_objects = true;
    Ok(())
}

/// Returns whether an option has objects verified.
pub fn verifies(option: &str) -> bool {
    is_any(option, VERIFY)
}

/// Returns whether an option names the directory of objects.
pub fn names_objects(option: &str) -> bool {
    is_any(option, OBJECTS)
}

fn is_any(option: &str, names: &[&str]) -> bool {
    let name = option.split('=').next().unwrap_or_default();
    names.contains(&name)
}
