//! Changes of owners, times and permissions.
//!
//! In: numbers and the words of chmod. Out: `sinterfs_source::Transform`.

use sinterfs_model::{Error, Result, Time};
use sinterfs_source::{Chmod, IdMap, RootTransform, Transform};

/// Changes of file attributes; the default changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AttributeChanges {
    /// Owner for every file.
    pub owner: Option<u32>,
    /// Group for every file.
    pub group: Option<u32>,
    /// Mappings of owners, as `FROM:TO[:COUNT]`; the first that matches applies.
    pub owner_map: Vec<String>,
    /// Mappings of groups, in the same form.
    pub group_map: Vec<String>,
    /// The number added to every owner and group at the end.
    pub id_offset: u32,
    /// One time for every file, in seconds since 1970.
    pub time: Option<i64>,
    /// No file gets a later time than this, in seconds since 1970.
    pub latest_time: Option<i64>,
    /// Changes of permissions.
    pub chmod: Option<String>,
    /// The attributes of the root directory instead.
    pub root: RootChanges,
}

/// Changes of the root directory alone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RootChanges {
    /// Its permissions: all twelve bits as an octal number, or changes as of all files.
    pub mode: Option<String>,
    /// Its owner.
    pub owner: Option<u32>,
    /// Its group.
    pub group: Option<u32>,
    /// Its time, in seconds since 1970.
    pub time: Option<i64>,
}

impl AttributeChanges {
    /// Returns the changes of owner and group of all files alone.
    pub(crate) fn owners(&self) -> Transform {
        Transform {
            owner: self.owner,
            group: self.group,
            ..Transform::default()
        }
    }

    /// Returns the changes without those of owner and group of all files.
    pub(crate) fn without_owners(&self) -> Self {
        Self {
            owner: None,
            group: None,
            ..self.clone()
        }
    }

    /// Returns the changes of a tree; `Invalid` for permissions that cannot be read.
    pub(crate) fn transform(&self) -> Result<Transform> {
        Ok(Transform {
            owner: self.owner,
            group: self.group,
            owners: IdMap::parse(&self.owner_map)?,
            groups: IdMap::parse(&self.group_map)?,
            id_offset: self.id_offset,
            time: self.time.map(at),
            clamp: self.latest_time.map(at),
            chmod: changes(self.chmod.as_deref())?,
            root: RootTransform {
                owner: self.root.owner,
                group: self.root.group,
                time: self.root.time.map(at),
                chmod: match &self.root.mode {
                    Some(mode) => root_mode(mode)?,
                    None => Chmod::default(),
                },
            },
        })
    }
}

fn at(secs: i64) -> Time {
    Time { secs, nanos: 0 }
}

fn changes(text: Option<&str>) -> Result<Chmod> {
    text.map(str::parse)
        .transpose()
        .map(Option::unwrap_or_default)
}

/// Reads permissions of one directory, where a number means all bits.
fn root_mode(text: &str) -> Result<Chmod> {
    if text.contains(['D', 'F']) {
        let what = format!(
            "`{text}`: D and F select files by type, and this changes only the \
                            root"
        );
        return Err(Error::invalid(what));
    }
    match u16::from_str_radix(text, 8) {
        // with fewer digits set-id bits of a directory would stay
        Ok(bits) => format!("{bits:05o}").parse(),
        Err(_) => text.parse(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_all_of_the_roots_mode() {
        let mode = |text: &str| root_mode(text).map(|chmod| chmod.apply(0o4770, true));
        assert_eq!(mode("755").unwrap(), 0o755);
        assert_eq!(mode("01777").unwrap(), 0o1777);
        assert_eq!(mode("o+rx").unwrap(), 0o4775);
        for wrong in ["", "8", "17777", "D755", "F+x"] {
            assert!(mode(wrong).is_err(), "{wrong}");
        }
    }
}
