//! The bound on what decoders allocate for a stream.

/// The largest window, as a power of two: decoders allocate what a stream asks for.
pub(super) const WINDOW_LOG_MAX: u32 = 30;
