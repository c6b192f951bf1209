//! Digests of the decoded layers of a container image.
//!
//! In: a configuration, and layers as they are stored. Out: nothing, if each decoded layer has the
//! digest that the configuration names. **Invariant:** what a configuration says of its layers is
//! compared; one that says nothing of them is taken. Spec: OCI image-spec 1.1, "Image
//! Configuration", `rootfs.diff_ids`.

use std::io::{BufReader, Read};

use serde_json::Value;
use sinterfs_block::checksum::{sha256_of, sha512_of};
use sinterfs_codec::stream::StreamFormat;
use sinterfs_model::{Error, Observer, Result};

/// The most layers of an image; other programs take 127 or 500.
pub(crate) const MOST_LAYERS: usize = 1000;

/// Fails with `Limit` for more layers than any image has.
pub(crate) fn bounded(count: usize) -> Result<()> {
    if count > MOST_LAYERS {
        return Err(Error::limit(format!("more than {MOST_LAYERS} layers")));
    }
    Ok(())
}

/// Returns the digests of the decoded layers that a configuration names; `None` if it says nothing
/// of layers. `Corrupt` if it names another number of them.
pub(crate) fn named(config: Option<&[u8]>, count: usize) -> Result<Option<Vec<String>>> {
    let Some(config) = config else {
        return Ok(None);
    };
    let config: Value = serde_json::from_slice(config).unwrap_or_default();
    let Some(digests) = config.pointer("/rootfs/diff_ids") else {
        return Ok(None);
    };
    let digests = digests.as_array().into_iter().flatten();
    let digests: Vec<_> = digests.map(|one| one.as_str().map(str::to_owned)).collect();
    let found = digests.len();
    let all: Option<Vec<String>> = digests.into_iter().collect();
    match all.filter(|_| found == count) {
        Some(all) => Ok(Some(all)),
        None => {
            let what = format!("{found} layers in the configuration, {count} in the manifest");
            Err(Error::corrupt(what))
        }
    }
}

/// Compares the decoded bytes of a layer with their digest; `known` is that of the bytes as they
/// are stored, if somebody has compared it.
pub(crate) fn compare(
    mut stored: impl Read + Send + 'static,
    expected: &str,
    known: Option<&str>,
    observer: &dyn Observer,
) -> Result<()> {
    let mut start = Vec::new();
    let read = (&mut stored).take(512).read_to_end(&mut start);
    read.map_err(failed)?;
    let compression = StreamFormat::detect(&start);
    let stored = std::io::Cursor::new(start).chain(stored);
    let inner: Box<dyn Read + Send> = match compression {
        Some(compression) => compression.decode(BufReader::new(stored))?,
        None if known == Some(expected) => return Ok(()),
        None => Box::new(stored),
    };
    let decoded = Watched { inner, observer };
    let found = match expected.split_once(':') {
        Some(("sha256", _)) => in_hex("sha256", &sha256_of(decoded).map_err(failed)?.0),
        Some(("sha512", _)) => in_hex("sha512", &sha512_of(decoded).map_err(failed)?),
        _ => {
            let what = format!("the configuration names a layer {expected}, which is not a digest");
            return Err(Error::corrupt(what));
        }
    };
    if found == expected {
        Ok(())
    } else {
        let what = format!("the layer is {found}, the configuration says {expected}");
        Err(Error::corrupt(what))
    }
}

fn in_hex(algorithm: &str, digest: &[u8]) -> String {
    let digits = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let digits = digits.filter_map(|digit| char::from_digit(digit.into(), 16));
    format!("{algorithm}:{}", digits.collect::<String>())
}

/// Converts an error of a reader, which may have one of ours inside.
pub(crate) fn failed(error: std::io::Error) -> Error {
    match error.downcast::<Error>() {
        Ok(error) => error,
        Err(error) => Error::io("cannot read", error),
    }
}

/// Bytes that end with an error as soon as the work should stop.
pub(crate) struct Watched<'a, R> {
    pub(crate) inner: R,
    pub(crate) observer: &'a dyn Observer,
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        self.observer
            .check_cancelled()
            .map_err(std::io::Error::other)?;
        self.inner.read(buf)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sinterfs_model::{Kind, Quiet};

    #[test]
    fn digests_are_those_of_decoded_layers() {
        let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        compare(&b""[..], empty, None, &Quiet).unwrap();
        for (bytes, expected) in [(&b"x"[..], empty), (b"", "e3b0"), (b"", "md5:0")] {
            let error = compare(bytes, expected, None, &Quiet).unwrap_err();
            assert_eq!(error.kind(), Kind::Corrupt, "{error}");
        }
    }

    #[test]
    fn a_configuration_names_each_layer_or_none() {
        let config = |digests: &str| format!("{{\"rootfs\":{{\"diff_ids\":{digests}}}}}");
        let named = |text: &str| named(Some(text.as_bytes()), 1);
        assert_eq!(named("{}").unwrap(), None);
        assert_eq!(named(&config("[\"a\"]")).unwrap().unwrap(), ["a"]);
        for digests in ["[]", "[\"a\",\"b\"]", "[1]", "null", "{}"] {
            let error = named(&config(digests)).unwrap_err();
            assert_eq!(error.kind(), Kind::Corrupt, "{digests}");
        }
    }

    #[test]
    fn there_is_a_bound_to_layers() {
        assert!(bounded(MOST_LAYERS).is_ok());
        assert_eq!(bounded(MOST_LAYERS + 1).unwrap_err().kind(), Kind::Limit);
    }
}
