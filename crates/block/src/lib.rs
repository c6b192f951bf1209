//! Bytes to blocks and back: codecs, checksums, the cache of decoded blocks, positioned reads.
//!
//! **Invariant:** knows no format. What a format writes around a codec's stream (sizes, ids) is
//! the format's business; here is the codec's own stream only.
