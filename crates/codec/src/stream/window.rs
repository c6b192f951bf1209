//! The bound on the memory of decoders of a stream.

/// The largest window, as a power of two: decoders allocate the window that a stream declares.
pub(super) const WINDOW_LOG_MAX: u32 = 30;
