//! The rule of all encoders of units: what is not smaller is not used.

/// Returns the stream if it is shorter than the unit.
pub(super) fn smaller(encoded: Vec<u8>, raw: &[u8]) -> Option<Vec<u8>> {
    (encoded.len() < raw.len()).then_some(encoded)
}
