//! Images of 16-bit samples: the size, a header, Rice codes; decodes and encodes.
//!
//! Header: 1 samples per block, 2 components, 3 bytes per sample (2), 4 unused low bits,
//! 5 big-endian, 6 version (1).
//!
//! **Invariant:** low bits are omitted only if they are zero in the whole block, even if the
//! category declares more of them unused.

use sinterfs_codec::{check_limit, ricepp};
use sinterfs_model::{ByteOrder, Error, RawImage, Result};

use super::header::{self, Field};

/// The version written, and the newest that is read.
const VERSION: u16 = 1;

/// The numbers of samples per block that are tried; values in between gain little.
const BLOCK_SIZES: [u32; 5] = [16, 32, 64, 128, 256];

/// Decodes a payload of up to `limit` decoded bytes.
pub(super) fn decode(stored: &[u8], limit: u64) -> Result<Vec<u8>> {
    let (len, rest) = header::size(stored)?;
    check_limit(len, limit)?;
    let (fields, stream) = header::Fields::read(rest)?;
    let [
        block_size,
        components,
        bytes,
        unused_lsb,
        big_endian,
        version,
    ] = [1, 2, 3, 4, 5, 6].map(|id| fields.get(id));
    if version > VERSION.into() || bytes != 2 {
        return Err(Error::unsupported(format!(
            "ricepp: version {version} with {bytes} bytes per sample"
        )));
    }
    let packing = ricepp::Packing {
        block_size: usize::try_from(block_size).unwrap_or(usize::MAX),
        components: usize::try_from(components).unwrap_or(usize::MAX),
        unused_lsb: u32::try_from(unused_lsb).unwrap_or(u32::MAX),
        big_endian: big_endian != 0,
    };
    ricepp::decode(stream, len, packing)
}

/// Returns the sample format of a payload.
pub(super) fn sample_format(stored: &[u8]) -> Result<RawImage> {
    let (_, rest) = header::size(stored)?;
    let (fields, _) = header::Fields::read(rest)?;
    let small = |id| {
        let number = fields.get(id);
        u8::try_from(number).map_err(|_| Error::corrupt(format!("ricepp: field {id} is {number}")))
    };
    Ok(RawImage {
        components: small(2)?,
        unused_lsb: small(4)?,
        order: if fields.get(5) != 0 {
            ByteOrder::Big
        } else {
            ByteOrder::Little
        },
    })
}

/// Returns the sample format with the number of low bits that are zero in all samples.
pub(super) fn refine(image: RawImage, raw: &[u8]) -> RawImage {
    let unused_lsb = ricepp::unused_lsb(raw, image.order == ByteOrder::Big);
    RawImage {
        unused_lsb: u8::try_from(unused_lsb).unwrap_or(u8::MAX),
        ..image
    }
}

/// Encodes whole samples, with the given number of samples per block or, without one, with the
/// number that gives the shortest payload.
pub(super) fn encode(image: RawImage, options: ricepp::Ricepp, raw: &[u8]) -> Result<Vec<u8>> {
    let big_endian = image.order == ByteOrder::Big;
    let unused_lsb = refine(image, raw).unused_lsb;
    let attempt = |block_size: u32| {
        let packing = ricepp::Packing {
            block_size: block_size as usize,
            components: image.components.into(),
            unused_lsb: unused_lsb.into(),
            big_endian,
        };
        Ok((block_size, ricepp::encode(raw, packing)?))
    };
    let (block_size, stream) = match options.block_size {
        Some(size) => attempt(size)?,
        None => {
            let mut best = attempt(BLOCK_SIZES[0])?;
            for size in &BLOCK_SIZES[1..] {
                let next = attempt(*size)?;
                // once the payload grows, larger blocks only make it longer
                if next.1.len() >= best.1.len() {
                    break;
                }
                best = next;
            }
            best
        }
    };
    let mut payload = header::write_size(raw.len() as u64);
    payload.extend(header::write_fields(&[
        Field::Int(block_size),
        Field::Short(image.components.into()),
        Field::Byte(2),
        Field::Byte(unused_lsb),
        Field::Bool(big_endian),
        Field::Short(VERSION),
    ]));
    payload.extend(stream);
    Ok(payload)
}
