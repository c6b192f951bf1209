//! Changes of a tree's metadata that users ask for: owner, group, times, modes.
//!
//! **Invariant:** only `meta` of nodes changes, the same way for every name of a node.

pub mod chmod;

use model::{FileType, Meta, Time, Times, Tree};

pub use chmod::Chmod;

/// Says what becomes of the metadata; the default changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Transform {
    /// The owner of everything.
    pub owner: Option<u32>,
    /// The group of everything.
    pub group: Option<u32>,
    /// All times of everything.
    pub time: Option<Time>,
    /// The latest time: later ones become this one (as `SOURCE_DATE_EPOCH` asks). Comes after
    /// `time`.
    pub clamp: Option<Time>,
    /// Changes of permissions.
    pub chmod: Chmod,
}

impl Transform {
    /// Changes a tree.
    pub fn apply(&self, tree: &mut Tree) {
        if *self == Self::default() {
            return;
        }
        for node in tree.nodes_mut() {
            let kind = node.content.kind();
            let Meta {
                mode,
                uid,
                gid,
                times,
            } = &mut node.meta;
            *uid = self.owner.unwrap_or(*uid);
            *gid = self.group.unwrap_or(*gid);
            // as chmod and rsync do: a symlink's own bits mean nothing
            if kind != FileType::Symlink {
                *mode = self.chmod.apply(*mode, kind == FileType::Directory);
            }
            if let Some(time) = self.time {
                *times = Times::all(time);
            }
            if let Some(latest) = self.clamp {
                for time in [&mut times.modified, &mut times.accessed, &mut times.changed] {
                    *time = latest.min(*time);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Content, NodeId, TreeBuilder};

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
        transform.apply(&mut tree);
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
        .apply(&mut tree);
        assert_eq!(tree.nodes()[1].meta.times, Times::all(at(1)));
        assert_eq!(tree.nodes()[1].meta.gid, 2);
    }
}
