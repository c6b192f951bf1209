//! Streams without a container, whose parameters something else has: the methods of zip and 7z.
//!
//! In: encoded bytes, parameters. Out: a reader of the content, which fails for damaged bytes.
//! **Invariant:** at most 1 GiB is allocated for a dictionary, and no more than the content is
//! long; a method that the build does not have is an error that names it.

use std::io::{BufReader, Read};

#[cfg(feature = "lzma")]
use sinterfs_model::Error;
use sinterfs_model::Result;

/// The largest dictionary, as of streams which are files.
#[cfg(feature = "lzma")]
const MAX_DICTIONARY: u64 = 1 << 30;

/// Bytes from front to back.
pub type Stream = Box<dyn Read + Send>;

/// Decodes raw deflate.
///
/// # Errors
/// `Unsupported` if the build has no decoder.
pub fn deflate(input: Stream) -> Result<Stream> {
    #[cfg(feature = "streams")]
    {
        Ok(Box::new(flate2::read::DeflateDecoder::new(input)))
    }
    #[cfg(not(feature = "streams"))]
    {
        drop(input);
        Err(crate::codec::left_out("deflate", "streams"))
    }
}

/// Decodes streams of bzip2, one after the other.
///
/// # Errors
/// `Unsupported` if the build has no decoder.
pub fn bzip2(input: Stream) -> Result<Stream> {
    #[cfg(feature = "streams")]
    {
        Ok(Box::new(::bzip2::read::MultiBzDecoder::new(input)))
    }
    #[cfg(not(feature = "streams"))]
    {
        drop(input);
        Err(crate::codec::left_out("bzip2", "streams"))
    }
}

/// Decodes frames of zstd, one after the other.
///
/// # Errors
/// `Unsupported` if the build has no decoder, `Limit` if there is no memory for one.
pub fn zstd(input: Stream) -> Result<Stream> {
    crate::stream::StreamFormat::Zstd.decode(BufReader::new(input))
}

/// Decodes streams of xz, one after the other.
///
/// # Errors
/// `Unsupported` if the build has no decoder, `Limit` if there is no memory for one.
pub fn xz(input: Stream) -> Result<Stream> {
    crate::stream::StreamFormat::Xz.decode(BufReader::new(input))
}

/// Returns the dictionary that content of a length can need.
///
/// # Errors
/// `Limit` for one of more than 1 GiB.
#[cfg(feature = "lzma")]
fn dictionary(size: u32, len: u64) -> Result<u32> {
    if u64::from(size) > MAX_DICTIONARY {
        let what = format!("a dictionary of {size} bytes, above the limit of {MAX_DICTIONARY}");
        return Err(Error::limit(what));
    }
    Ok(u32::try_from(len).map_or(size, |len| size.min(len.max(4096))))
}

/// Decodes LZMA to content of `len` bytes.
///
/// # Errors
/// `Unsupported` if the build has no decoder, `Limit` for a large dictionary, `Corrupt` for
/// properties that no encoder has.
pub fn lzma(input: Stream, properties: u8, size: u32, len: u64) -> Result<Stream> {
    #[cfg(feature = "lzma")]
    {
        let (size, input) = (dictionary(size, len)?, BufReader::new(input));
        let reader = lzma_rust2::LzmaReader::new_with_props(input, len, properties, size, None);
        let reader = reader.map_err(|error| Error::corrupt("lzma: no stream").because(error))?;
        Ok(Box::new(reader))
    }
    #[cfg(not(feature = "lzma"))]
    {
        let _ = (input, properties, size, len);
        Err(crate::codec::left_out("lzma", "lzma"))
    }
}

/// Decodes LZMA2 to content of `len` bytes.
///
/// # Errors
/// `Unsupported` if the build has no decoder, `Limit` for a large dictionary.
pub fn lzma2(input: Stream, size: u32, len: u64) -> Result<Stream> {
    #[cfg(feature = "lzma")]
    {
        let (size, input) = (dictionary(size, len)?, BufReader::new(input));
        Ok(Box::new(lzma_rust2::Lzma2Reader::new(input, size, None)))
    }
    #[cfg(not(feature = "lzma"))]
    {
        let _ = (input, size, len);
        Err(crate::codec::left_out("lzma2", "lzma"))
    }
}
