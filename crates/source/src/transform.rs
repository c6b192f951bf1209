//! Changes of a tree's metadata on request: owner, group, times, modes.
//!
//! **Invariant:** only the `meta` of nodes changes, and equally for every name of a node.

pub mod chmod;
mod ids;

use sinterfs_model::{Error, FileType, Meta, NodeId, Result, Time, Times, Tree};

pub use chmod::Chmod;
pub use ids::IdMap;

/// Changes of metadata; the default changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Transform {
    /// The owner of everything.
    pub owner: Option<u32>,
    /// The group of everything.
    pub group: Option<u32>,
    /// A map of owners, used without `owner`.
    pub owners: IdMap,
    /// A map of groups, used without `group`.
    pub groups: IdMap,
    /// A number added to every owner and group at the end.
    pub id_offset: u32,
    /// All times of everything.
    pub time: Option<Time>,
    /// The latest time: later ones are set to it (as for `SOURCE_DATE_EPOCH`). Applied last.
    pub clamp: Option<Time>,
    /// Changes of permissions.
    pub chmod: Chmod,
    /// Changes of the root, which take precedence.
    pub root: RootTransform,
}

/// Changes of the root's metadata.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RootTransform {
    /// The owner, before `id_offset` is added.
    pub owner: Option<u32>,
    /// The group, before `id_offset` is added.
    pub group: Option<u32>,
    /// All times.
    pub time: Option<Time>,
    /// Changes of permissions.
    pub chmod: Chmod,
}

impl Transform {
    /// Changes a tree. Fails with `Limit` if an owner or group would exceed the largest id.
    pub fn apply(&self, tree: &mut Tree) -> Result<()> {
        self.check(tree)?;
        if *self == Self::default() {
            return Ok(());
        }
        for (index, node) in tree.nodes_mut().iter_mut().enumerate() {
            let kind = node.content.kind();
            let is_root = index == NodeId::ROOT.index();
            self.change(&mut node.meta, kind, is_root)?;
        }
        if let Some(latest) = self.clamp {
            for node in tree.nodes_mut() {
                let times = &mut node.meta.times;
                for time in [&mut times.modified, &mut times.accessed, &mut times.changed] {
                    *time = latest.min(*time);
                }
            }
        }
        Ok(())
    }

    /// Changes one entry, all but that no time is later than the latest.
    ///
    /// # Errors
    /// As of [`Self::apply`].
    pub fn change(&self, meta: &mut Meta, kind: FileType, is_root: bool) -> Result<()> {
        (meta.uid, meta.gid) = self.ids(meta, is_root)?;
        let Meta { mode, times, .. } = meta;
        // as chmod and rsync: the mode of a symlink has no meaning
        if kind != FileType::Symlink {
            *mode = self.chmod.apply(*mode, kind == FileType::Directory);
        }
        if let Some(time) = self.time {
            *times = Times::all(time);
        }
        if is_root {
            *mode = self.root.chmod.apply(*mode, true);
            *times = self.root.time.map_or(*times, Times::all);
        }
        Ok(())
    }

    /// Fails as `apply` would, but changes nothing.
    pub fn check(&self, tree: &Tree) -> Result<()> {
        if self.id_offset == 0 && self.owners.is_empty() && self.groups.is_empty() {
            return Ok(());
        }
        for (index, node) in (0..).zip(tree.nodes()) {
            let located = |error: Error| {
                let path = tree.path(NodeId(index));
                error.path(String::from_utf8_lossy(&path).into_owned())
            };
            self.ids(&node.meta, index == 0).map_err(located)?;
        }
        Ok(())
    }

    /// Returns the owner and group that a node gets.
    fn ids(&self, meta: &Meta, is_root: bool) -> Result<(u32, u32)> {
        let root = if is_root {
            (self.root.owner, self.root.group)
        } else {
            (None, None)
        };
        let moved = |id: u32| {
            id.checked_add(self.id_offset).ok_or_else(|| {
                let offset = self.id_offset;
                Error::limit(format!(
                    "{id} plus {offset} exceeds the largest owner or group id"
                ))
            })
        };
        let owner = root
            .0
            .or(self.owner)
            .unwrap_or_else(|| self.owners.apply(meta.uid));
        let group = root
            .1
            .or(self.group)
            .unwrap_or_else(|| self.groups.apply(meta.gid));
        Ok((moved(owner)?, moved(group)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sinterfs_model::{Content, TreeBuilder};

    #[test]
    fn all_nodes_change_and_times_are_clamped() {
        let at = |secs| Time { secs, nanos: 5 };
        let meta = |secs| Meta {
            mode: 0o600,
            uid: 7,
            gid: 8,
            times: Times::all(at(secs)),
        };
        let mut builder = TreeBuilder::new(meta(10));
        builder
            .add(NodeId::ROOT, b"a", meta(30), Content::Fifo)
            .unwrap();
        let mut tree = builder.finish().unwrap();
        let transform = Transform {
            owner: Some(1),
            clamp: Some(Time { secs: 20, nanos: 0 }),
            chmod: "D+x,F=r".parse().unwrap(),
            ..Transform::default()
        };
        transform.apply(&mut tree).unwrap();
        let [root, fifo] = tree.nodes() else {
            panic!("two nodes")
        };
        assert_eq!(
            (root.meta.uid, root.meta.gid, root.meta.mode),
            (1, 8, 0o711)
        );
        assert_eq!(root.meta.times, Times::all(at(10)));
        assert_eq!(fifo.meta.mode, 0o444);
        assert_eq!(fifo.meta.times, Times::all(Time { secs: 20, nanos: 0 }));

        Transform {
            time: Some(at(1)),
            group: Some(2),
            ..Transform::default()
        }
        .apply(&mut tree)
        .unwrap();
        assert_eq!(tree.nodes()[1].meta.times, Times::all(at(1)));
        assert_eq!(tree.nodes()[1].meta.gid, 2);
    }

    #[test]
    fn the_root_may_differ_and_ids_move() {
        let mut builder = TreeBuilder::new(Meta::default());
        let meta = Meta {
            uid: 5,
            gid: u32::MAX - 100,
            ..Meta::default()
        };
        builder
            .add(NodeId::ROOT, b"a", meta, Content::Fifo)
            .unwrap();
        let mut tree = builder.finish().unwrap();
        let time = |secs| Some(Time { secs, nanos: 0 });
        let transform = Transform {
            id_offset: 100,
            clamp: time(20),
            root: RootTransform {
                owner: Some(7),
                time: time(30),
                chmod: "01711".parse().unwrap(),
                ..RootTransform::default()
            },
            ..Transform::default()
        };
        transform.apply(&mut tree).unwrap();
        let ids = |tree: &Tree, node: usize| {
            let meta = tree.nodes()[node].meta;
            (meta.uid, meta.gid)
        };
        assert_eq!(
            (ids(&tree, 0), ids(&tree, 1)),
            ((107, 100), (105, u32::MAX))
        );
        let root = tree.nodes()[0].meta;
        assert_eq!((root.mode, root.times.modified.secs), (0o1711, 20));
        let before = ids(&tree, 0);
        let error = transform.apply(&mut tree).unwrap_err();
        assert!(error.to_string().contains("plus 100 exceeds"), "{error}");
        assert_eq!(ids(&tree, 0), before, "half a change");
    }
}
