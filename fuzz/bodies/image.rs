//! Images of all formats: opened, walked and read with the assertions of the mutation test.
//!
//! In: bytes, of which the checksums of metadata are made right first, so that mutations reach what
//! lies behind them.

use super::harness;

/// Opens and reads one image.
pub fn run(bytes: &[u8]) {
    if bytes.len() >= 16 {
        let mut image = bytes.to_vec();
        harness::reseal(&mut image);
        // an error is as good as success
        let _ = harness::read_everything(image);
    }
}
