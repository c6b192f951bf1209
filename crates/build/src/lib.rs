//! SinterFS: build.
