//! SinterFS: mount.
