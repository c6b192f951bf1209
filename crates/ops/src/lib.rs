//! SinterFS: ops.
