//! Images with a trusted root digest.
//!
//! In: a source, and the digest it must have or the key that must have signed it. Out: a source
//! that hands out nothing but the bytes that this digest is of. **Invariant:** the way to the
//! digests is not trusted (the header, sections, the index, a file beside the image): whatever
//! leads there, their root is compared, and then all reading goes through them; bytes that they do
//! not cover are not read again. Spec: `docs/formats/digest.md`.

use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use sinterfs_block::digest::{DigestBuilder, Digests, Root, Verified, digest_range};
use sinterfs_block::verity::{Verity, VerityDigest, hex};
use sinterfs_block::{Bytes, FileSource, ReadAt, SequentialReader};
use sinterfs_format::{Format, OwnDigests};
use sinterfs_model::{Error, Kind, Limits, Result};

use crate::formats;
use crate::identify::{Start, identify};
use crate::image::disk::ChosenPartition;
use crate::open::signature::{self, Signable, Signed};
use crate::open_options::OpenOptions;
use crate::place::TRANSPORT;
use crate::place::attached_signature::AttachedSignature;
use crate::self_mount;
use crate::trust::{Anchor, Trust};

/// A source, verified if requested, and the options of opening its image.
pub(crate) struct TrustedSource {
    pub(crate) source: Arc<dyn ReadAt>,
    pub(crate) options: OpenOptions,
    /// The source again, if it is one that verifies.
    pub(crate) verified: Option<Arc<Verified>>,
    /// Whether the digests are in the image, so that they do not cover what follows them.
    pub(crate) in_image: bool,
    /// How many bytes before the image nothing vouches for.
    pub(crate) unproven_header: u64,
    /// What the signer said besides.
    pub(crate) comment: Option<String>,
    /// The disk, if the source is a partition of one.
    pub(crate) disk: Option<ChosenPartition>,
    /// What is known of its first bytes.
    start: Start,
}

impl TrustedSource {
    /// Returns the format of the image.
    pub(crate) fn format(&self) -> Result<&'static dyn Format> {
        self.start.format(&self.source, &self.options)
    }

    /// Returns the root digest that was proven.
    pub(crate) fn root(&self) -> Option<Root> {
        Some(self.verified.as_ref()?.digests().root())
    }
}

/// Turns a source into one that hands out only what the options' proof is of, and a compressed
/// device into its content. `Corrupt` if the digest is another one.
pub(crate) fn establish(source: Arc<dyn ReadAt>, options: &OpenOptions) -> Result<TrustedSource> {
    inside(prove(source, options)?)
}

/// Finds what is in a proven source: the content of a compressed device, one of the partitions of a
/// disk, an image.
pub(crate) fn inside(trusted: TrustedSource) -> Result<TrustedSource> {
    let found = identify(trusted.source, trusted.options)?;
    Ok(TrustedSource {
        source: found.source,
        options: found.options,
        disk: found.disk,
        start: found.start,
        ..trusted
    })
}

/// Turns a source into one that hands out only what the options' proof is of; without a proof it
/// stays what it is.
pub(crate) fn prove(source: Arc<dyn ReadAt>, options: &OpenOptions) -> Result<TrustedSource> {
    let mut options = options.clone();
    if options.offset.is_none() && options.partition.is_none() && options.trust.is_none() {
        // where all bytes are as good as these; a search would read the whole program
        options.offset = self_mount::find(&*source)?.map(|found| found.offset);
    }
    let Some(trust) = &options.trust else {
        return Ok(TrustedSource {
            source,
            options,
            verified: None,
            in_image: false,
            unproven_header: 0,
            comment: None,
            disk: None,
            start: Start::NotCompared,
        });
    };
    let found = Found::find(&source, trust, &options)?;
    let root = found.digests.root();
    let header_len = if found.in_image { found.start } else { 0 };
    let mut unproven_header = header_len;
    let comment = match &trust.anchor {
        Anchor::Digest(expected) if *expected != root => {
            let whose = found.whose;
            let what = format!("{whose} have the root {root}, expected {expected}");
            return Err(Error::corrupt(what));
        }
        Anchor::Digest(_) | Anchor::FsVerity(_) => None,
        Anchor::Signature { key, signature } => {
            let of = Signable {
                root,
                header: header_hash(&source, header_len)?,
            };
            let beside = trust.image.as_deref().map(signature::signature_path);
            let signed = match (signature, found.signature, beside) {
                (Some(file), _, _) => signature::read_file(file)?,
                (None, Some(inside), _) => signature::of_image(&inside?)?,
                (None, None, Some(file)) => match attached(&source, trust, &options)? {
                    Some(all) => one_of(&all, of, key)?,
                    None => signature::read_file(&file)?,
                },
                (None, None, None) => return Err(Error::not_found(signature::NONE)),
            };
            let (comment, is_of_all) = signed.verify(of, key)?;
            if is_of_all {
                unproven_header = 0;
            }
            Some(comment)
        }
    };
    if found.in_image {
        options.offset = Some(found.start);
        options.len = Some(found.digests.covered());
        // headers need not be walked from one to the next
        options.sections = found.digests.table().map(Arc::from);
    }
    let in_image = found.in_image;
    let verified = Arc::new(Verified::new(source, found.start, found.digests)?);
    Ok(TrustedSource {
        source: Arc::clone(&verified) as _,
        options,
        verified: Some(verified),
        in_image,
        unproven_header,
        comment,
        disk: None,
        start: Start::NotCompared,
    })
}

/// Returns the SHA-256 of the bytes before an image; `None` if there are none.
pub(crate) fn header_hash(source: &Arc<dyn ReadAt>, len: u64) -> Result<Option<[u8; 32]>> {
    if len == 0 {
        return Ok(None);
    }
    let header = SequentialReader::new(Arc::clone(source)).take(len);
    let hashed = sinterfs_block::checksum::sha256_of(header);
    let (hash, _) = hashed.map_err(|error| match error.downcast::<Error>() {
        Ok(error) => error,
        Err(error) => Error::io("cannot read the bytes before the image", error),
    })?;
    Ok(Some(hash))
}

/// Digests that nobody has compared with anything yet.
struct Found {
    digests: Digests,
    /// Where the bytes begin that they are of.
    start: u64,
    in_image: bool,
    whose: &'static str,
    /// The signature that is in the image.
    signature: Option<Result<Bytes>>,
}

impl Found {
    fn find(source: &Arc<dyn ReadAt>, trust: &Trust, options: &OpenOptions) -> Result<Self> {
        if let Some(found) = Self::stored(source, trust, options)? {
            return Ok(found);
        }
        if let Anchor::FsVerity(expected) = &trust.anchor {
            return Self::of_fs_verity(&**source, expected);
        }
        let digests = digest_range(&**source, 0, source.len())?;
        let whose = "the image has no digests, and the digests of the whole file";
        Ok(Self::of_file(digests, whose))
    }

    /// Makes the digests of a file in the same reading as its fs-verity digest; `Corrupt` if that
    /// is another one.
    fn of_fs_verity(source: &dyn ReadAt, expected: &VerityDigest) -> Result<Self> {
        const STEP: u64 = 256 << 10;
        let (mut builder, mut verity) = (DigestBuilder::default(), Verity::default());
        let mut at = 0;
        while at < source.len() {
            let part = source.read(at, STEP.min(source.len() - at))?;
            builder.update(&part);
            verity.update(&part);
            at += part.len() as u64;
        }
        let found = verity.finish();
        if found != *expected {
            let (found, expected) = (hex(&found), hex(expected));
            let what = format!("the fs-verity digest is {found}, expected {expected}");
            return Err(Error::corrupt(what));
        }
        Ok(Self::of_file(builder.finish()?, "the bytes of the file"))
    }

    fn of_file(digests: Digests, whose: &'static str) -> Self {
        Self {
            digests,
            start: 0,
            in_image: false,
            whose,
            signature: None,
        }
    }

    /// Finds digests that are stored somewhere.
    fn stored(
        source: &Arc<dyn ReadAt>,
        trust: &Trust,
        options: &OpenOptions,
    ) -> Result<Option<Self>> {
        if matches!(trust.anchor, Anchor::FsVerity(_)) {
            // nothing that is stored leads to it
            return Ok(None);
        }
        if let Some(path) = &trust.digests {
            let digests = read_digests(path, &options.limits)?;
            return Ok(Some(Self::of_file(digests, "the digests in the file")));
        }
        // a partition is chosen later, of bytes that are proven
        let own = match options.partition {
            None => in_image(source, options)?,
            Some(_) => None,
        };
        if let Some(own) = own {
            return Ok(Some(Self {
                digests: own.digests,
                start: own.start,
                in_image: true,
                whose: "the digests in the image",
                signature: own.signature,
            }));
        }
        if let Anchor::Signature {
            key,
            signature: None,
        } = &trust.anchor
        {
            return Self::attached(source, trust, key, options);
        }
        Ok(None)
    }
}

/// Returns the stored digests of a source whose proof options require, and where the bytes begin
/// that they are of. Nobody has compared them with the proof.
#[cfg(all(feature = "remote", feature = "write"))]
pub(crate) fn stored_digests(
    source: &Arc<dyn ReadAt>,
    options: &OpenOptions,
) -> Result<Option<(Digests, u64)>> {
    let Some(trust) = &options.trust else {
        return Ok(None);
    };
    let found = Found::stored(source, trust, options)?;
    Ok(found.map(|found| (found.digests, found.start)))
}

impl Found {
    /// Finds digests in the registry that the image is in: those that the key has signed.
    fn attached(
        source: &Arc<dyn ReadAt>,
        trust: &Trust,
        key: &OsStr,
        options: &OpenOptions,
    ) -> Result<Option<Self>> {
        let all = attached(source, trust, options)?.unwrap_or_default();
        let mut refused = None;
        for one in all {
            let Some(stored) = one.digests else {
                continue;
            };
            let digests = Digests::open(Bytes::from(stored));
            let found = digests.and_then(|digests| {
                signature::of_image(&one.signature)?.verify(digests.root(), key)?;
                Ok(Self {
                    digests,
                    start: 0,
                    in_image: false,
                    whose: "the digests in the registry",
                    signature: Some(Ok(Bytes::from(one.signature))),
                })
            });
            match found {
                Ok(found) => return Ok(Some(found)),
                Err(error) => refused = Some(error),
            }
        }
        refused.map_or(Ok(None), Err)
    }
}

/// Reads the signatures that are attached to the image; `None` if it is in no registry.
fn attached(
    source: &Arc<dyn ReadAt>,
    trust: &Trust,
    options: &OpenOptions,
) -> Result<Option<Vec<AttachedSignature>>> {
    // of the smallest leaves, with the header of the digests
    let longest = source.len() / 128 + 4096;
    match &trust.image {
        Some(image) => TRANSPORT.attached_signatures(image, longest, options),
        None => Ok(None),
    }
}

/// Chooses the signature of a root by a key; if there is none, the last one, for its error.
fn one_of(all: &[AttachedSignature], of: Signable, key: &OsStr) -> Result<Signed> {
    let is_good = |one: &&AttachedSignature| {
        let signed = signature::of_image(&one.signature);
        signed.is_ok_and(|signed| signed.verify(of, key).is_ok())
    };
    match all.iter().find(is_good).or(all.last()) {
        Some(one) => signature::of_image(&one.signature),
        None => Err(Error::not_found(signature::NONE)),
    }
}

/// Reads the digests that an image has of itself.
pub(crate) fn in_image(
    source: &Arc<dyn ReadAt>,
    options: &OpenOptions,
) -> Result<Option<OwnDigests>> {
    match formats::for_image(source, options) {
        Ok(format) => format
            .digested()
            .map_or(Ok(None), |format| format.digest(source, &options.read())),
        // opening it reports that it is no image
        Err(error) if error.kind() == Kind::Unsupported => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads a file of digests.
fn read_digests(path: &Path, limits: &Limits) -> Result<Digests> {
    let file = FileSource::open(path)?;
    if file.len() > limits.metadata {
        let what = format!(
            "{} bytes of digests; the limit is {}",
            file.len(),
            limits.metadata
        );
        return Err(Error::limit(what).path(path));
    }
    let stored = file.read(0, file.len()).map_err(|error| error.path(path))?;
    Digests::open(stored).map_err(|error| error.path(path))
}
