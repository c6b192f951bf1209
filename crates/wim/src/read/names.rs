//! Names of inodes: lookups and paths.
//!
//! In: `Nodes`, and a name, its number or inodes. Out: an inode or the first path of each.
//! **Invariant:** names of a directory are sorted, so that a lookup is a binary search.

use std::collections::{BTreeMap, BTreeSet};

use super::nodes::{MAX_REPORTED, Nodes, WimNode};

impl Nodes {
    /// Returns a name by its number.
    pub(crate) fn name(&self, number: u32) -> Option<(&[u8], u32)> {
        let entry = self.names.get(number as usize)?;
        Some((self.text_of(entry), entry.node))
    }

    /// Finds the index of the inode of a name in a directory.
    pub(crate) fn find(&self, dir: &WimNode, name: &[u8]) -> Option<u32> {
        let range = dir.names.start as usize..dir.names.end as usize;
        let names = self.names.get(range)?;
        let found = names.binary_search_by(|entry| self.text_of(entry).cmp(name));
        names.get(found.ok()?).map(|entry| entry.node)
    }

    /// Returns the first path of each of these inodes, sorted.
    pub(crate) fn paths(&self, wanted: &BTreeSet<u32>) -> Vec<Vec<u8>> {
        let mut found: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
        // names of all inodes, and the directories that they are in
        let mut above: Vec<Option<(u32, u32)>> = vec![None; self.all.len()];
        for (dir, node) in (0..).zip(&self.all) {
            for number in node.names.clone() {
                let of = self.name(number).map(|(_, of)| of as usize);
                if let Some(place) = of.and_then(|of| above.get_mut(of))
                    && place.is_none()
                {
                    *place = Some((dir, number));
                }
            }
        }
        for &index in wanted.iter().take(MAX_REPORTED) {
            let (mut parts, mut at) = (Vec::new(), index);
            while let Some((dir, number)) = above.get(at as usize).copied().flatten() {
                parts.push(self.name(number).map_or(&[][..], |(name, _)| name));
                at = dir;
            }
            parts.reverse();
            let path = parts.join(&b'/');
            found.insert(index, if path.is_empty() { b".".to_vec() } else { path });
        }
        let mut paths: Vec<_> = found.into_values().collect();
        paths.sort_unstable();
        paths
    }
}
