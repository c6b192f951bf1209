//! Metadata that is not restored for many entries: one warning for each kind.
//!
//! In: names, and what each lacks. Out: one warning for each kind, with how many entries it
//! concerns and the first of them. **Invariant:** the first names are the first in the order of a
//! walk, for any number of threads; memory is bounded, since an image decides the names of
//! attributes.

use std::collections::BTreeMap;
use std::sync::Mutex;

use sinterfs_model::{Error, Kind, Observer};

use super::lock::lock;
use crate::plan::{NameRef, Plan};

/// The most names in a warning.
const NAMES: usize = 3;
/// The most kinds; further kinds are counted together.
const KINDS: usize = 64;

/// Metadata that is not restored, by kind.
#[derive(Debug, Default)]
pub(crate) struct NotRestored(Mutex<BTreeMap<String, Entries>>);

/// The entries of one kind.
#[derive(Debug)]
struct Entries {
    kind: Kind,
    count: u64,
    /// The first, as a walk meets them.
    first: Vec<NameRef>,
}

impl NotRestored {
    /// Adds an entry, and what of it is not restored.
    pub(crate) fn add(&self, what: String, kind: Kind, name_ref: NameRef) {
        let mut all = lock(&self.0);
        let is_new = !all.contains_key(&what);
        let key = if is_new && all.len() >= KINDS {
            "more cannot be restored".to_owned()
        } else {
            what
        };
        let entries = all.entry(key).or_insert_with(|| Entries {
            kind,
            count: 0,
            first: Vec::new(),
        });
        entries.count += 1;
        let at = entries
            .first
            .partition_point(|first| first.order() <= name_ref.order());
        if at < NAMES {
            entries.first.insert(at, name_ref);
            entries.first.truncate(NAMES);
        }
    }

    /// Reports all that was added.
    pub(crate) fn report(&self, plan: &Plan, observer: &dyn Observer) {
        for (what, entries) in std::mem::take(&mut *lock(&self.0)) {
            let path = |name_ref: &NameRef| match plan.path(*name_ref) {
                path if path.as_os_str().is_empty() => ".".into(),
                path => path,
            };
            if let ([only], 1) = (&entries.first[..], entries.count) {
                observer.warn(&Error::new(entries.kind, what).path(path(only)));
                continue;
            }
            let names: Vec<String> = entries
                .first
                .iter()
                .map(|name_ref| path(name_ref).display().to_string())
                .collect();
            let more = if entries.count > NAMES as u64 {
                ", .."
            } else {
                ""
            };
            let count = entries.count;
            let text = format!("{what} ({count} entries: {}{more})", names.join(", "));
            observer.warn(&Error::new(entries.kind, text));
        }
    }
}
