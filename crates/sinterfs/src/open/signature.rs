//! Signatures of root digests, as minisign makes and checks them.
//!
//! In: a root, a key. Out: the file of a signature, or the word that it is one of this root.
//! Spec: `docs/formats/digest.md`, "Signatures".
//!
//! **Invariant:** what is signed begins with words that nothing else begins with, so no signature
//! of another thing is one of an image. What is read of strangers (signatures) goes through
//! `minisign-verify` alone, which says no to what makes no sense.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use minisign_verify::{Error as Wrong, PublicKey, Signature};
use sinterfs_block::digest::Root;
use sinterfs_block::verity::hex;
use sinterfs_model::{Error, Kind, Result};

use crate::open_options::OpenOptions;
use crate::place;

/// The longest file of a key or of a signature that makes sense, in bytes.
const LONGEST: u64 = 64 << 10;

/// What a signature is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signable {
    /// The root digest of the image.
    pub root: Root,
    /// SHA-256 of what is before the image in its file, unless the digests cover that or there is
    /// nothing.
    pub header: Option<[u8; 32]>,
}

impl From<Root> for Signable {
    fn from(root: Root) -> Self {
        Self { root, header: None }
    }
}

/// Returns what is signed: one line.
pub fn signed_statement(of: impl Into<Signable>) -> String {
    let Signable { root, header } = of.into();
    match header {
        None => format!("sinterfs-digest-v1 {root}\n"),
        Some(header) => format!("sinterfs-digest-v2 {root} header {}\n", hex(&header)),
    }
}

/// Returns where the signature of an image is looked for: `IMAGE.root.minisig`.
pub fn signature_path(image: &Path) -> PathBuf {
    let mut path = OsString::from(place::shown(image));
    path.push(".root.minisig");
    path.into()
}

/// What is said where there is no signature at all.
pub(crate) const NONE: &str = "the image has no signature";

/// A signature that nobody has compared with anything yet.
pub(crate) struct Signed {
    text: String,
    /// Where it comes from.
    file: Option<PathBuf>,
}

/// Reads the text of a signature, as minisign writes it.
///
/// # Errors
/// `NotFound` if there is none, `Corrupt` if it is no signature.
pub fn read_signature(file: &Path) -> Result<String> {
    let Signed { text, .. } = read_file(file)?;
    let wrong = |wrong| Error::corrupt(format!("no signature of minisign: {wrong}")).path(file);
    Signature::decode(&text).map_err(wrong)?;
    Ok(text)
}

/// Reads the file of a signature.
pub(crate) fn read_file(file: &Path) -> Result<Signed> {
    match read(file) {
        Ok(text) => Ok(Signed {
            text,
            file: Some(file.to_owned()),
        }),
        Err(error) if is_missing(&error) => Err(Error::not_found(NONE).path(file)),
        Err(error) => Err(error),
    }
}

/// Takes a signature that an image holds.
pub(crate) fn of_image(bytes: &[u8]) -> Result<Signed> {
    let text = String::from_utf8(bytes.to_vec());
    let text = text.map_err(|_| Error::corrupt("the signature in the image is not text"))?;
    Ok(Signed { text, file: None })
}

impl Signed {
    /// Compares the signature with what it should be of and a public key, and gives what else the
    /// signer says (the trusted comment), and whether the signature is of all of that: one of the
    /// root without the header is good for the image.
    pub(crate) fn verify(&self, of: impl Into<Signable>, key: &OsStr) -> Result<(String, bool)> {
        let of = of.into();
        match self.verify_statement(of, key) {
            Ok(comment) => Ok((comment, true)),
            Err(error) if of.header.is_none() => Err(error),
            Err(error) => match self.verify_statement(of.root.into(), key) {
                Ok(comment) => Ok((comment, false)),
                Err(_) => Err(error),
            },
        }
    }

    fn verify_statement(&self, of: Signable, key: &OsStr) -> Result<String> {
        let key = public_key(key)?;
        let refuse = |why: String| match &self.file {
            Some(file) => Error::corrupt(why).path(file),
            None => Error::corrupt(why),
        };
        let signature = Signature::decode(&self.text)
            .map_err(|wrong| refuse(format!("no signature of minisign: {wrong}")))?;
        match key.verify(signed_statement(of).as_bytes(), &signature, false) {
            Ok(()) => Ok(signature.trusted_comment().to_owned()),
            Err(Wrong::UnexpectedKeyId) => {
                Err(refuse("the signature is of another key".to_owned()))
            }
            Err(Wrong::InvalidSignature) => {
                let header = of.header.map(|header| {
                    let header = hex(&header);
                    format!(", and the SHA-256 of the bytes before it is {header}")
                });
                Err(refuse(format!(
                    "the signature is not of this image, whose root digest is {}{}",
                    of.root,
                    header.unwrap_or_default()
                )))
            }
            Err(wrong) => Err(refuse(wrong.to_string())),
        }
    }
}

/// Reads a public key, or the file that holds it.
fn public_key(key: &OsStr) -> Result<PublicKey> {
    if let Some(key) = key
        .to_str()
        .and_then(|key| PublicKey::from_base64(key).ok())
    {
        return Ok(key);
    }
    let path = Path::new(key);
    let wrong = |wrong: Wrong| Error::invalid(format!("no public key of minisign: {wrong}"));
    PublicKey::decode(&read(path)?).map_err(|error| wrong(error).path(path))
}

/// Reads a small file of text.
pub(crate) fn read(path: &Path) -> Result<String> {
    let file = place::source(path, &OpenOptions::default())?;
    if file.len() > LONGEST {
        return Err(Error::invalid("too long for a key or a signature").path(path));
    }
    let bytes = file.read(0, file.len())?.to_vec();
    let wrong = |_| Error::invalid("no text, and so no key and no signature").path(path);
    String::from_utf8(bytes).map_err(wrong)
}

fn is_missing(error: &Error) -> bool {
    let missing = |error: &std::io::Error| error.kind() == std::io::ErrorKind::NotFound;
    error.kind() == Kind::NotFound || error.io_source().is_some_and(missing)
}
