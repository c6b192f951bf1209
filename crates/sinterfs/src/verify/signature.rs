//! Signatures of root digests, as minisign makes and checks them.
//!
//! In: a root, a key. Out: the file of a signature, or the word that it is one of this root.
//! Spec: `docs/formats/digest.md`, "Signatures".
//!
//! **Invariant:** what is signed begins with words that nothing else begins with, so no signature of
//! another thing is one of an image. What is read of strangers (signatures) goes through
//! `minisign-verify` alone, which says no to what makes no sense.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use ct_codecs::{Base64, Decoder};
use minisign_verify::{Error as Wrong, PublicKey, Signature};
use sinterfs_block::digest::Root;
use sinterfs_block::{FileSource, ReadAt};
use sinterfs_model::{Error, Kind, Result};

/// The longest file of a key or of a signature that makes sense, in bytes.
const LONGEST: u64 = 64 << 10;

/// Bytes of a secret key: three names of algorithms, the parameters for its password, number, key and
/// checksum.
const SECRET_KEY: usize = 3 * 2 + 32 + 2 * 8 + 8 + 64 + 32;

/// Returns what is signed: one line.
pub fn signed_statement(root: Root) -> String {
    format!("sinterfs-digest-v1 {root}\n")
}

/// Returns where the signature of an image is looked for: `IMAGE.root.minisig`.
pub fn signature_path(image: &Path) -> PathBuf {
    let mut path = OsString::from(image);
    path.push(".root.minisig");
    path.into()
}

/// What is said where there is no signature at all.
pub(crate) const NONE: &str = "there is no signature of the image";

/// A signature that nobody has compared with anything yet.
pub(crate) struct Signed {
    text: String,
    /// Where it comes from.
    file: Option<PathBuf>,
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
    let text = text.map_err(|_| Error::corrupt("the signature in the image is no text"))?;
    Ok(Signed { text, file: None })
}

impl Signed {
    /// Compares the signature with a root and a public key, and gives what else the signer says (the
    /// trusted comment).
    pub(crate) fn verify(&self, root: Root, key: &OsStr) -> Result<String> {
        let key = public_key(key)?;
        let refuse = |why: String| match &self.file {
            Some(file) => Error::corrupt(why).path(file),
            None => Error::corrupt(why),
        };
        let signature = Signature::decode(&self.text)
            .map_err(|wrong| refuse(format!("no signature of minisign: {wrong}")))?;
        match key.verify(signed_statement(root).as_bytes(), &signature, false) {
            Ok(()) => Ok(signature.trusted_comment().to_owned()),
            Err(Wrong::UnexpectedKeyId) => {
                Err(refuse("the signature is of another key".to_owned()))
            }
            Err(Wrong::InvalidSignature) => Err(refuse(format!(
                "the signature is not of this image, whose root digest is {root}"
            ))),
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

/// Signs a root digest with the secret key in a file. `comment` is signed, too, and shown to whoever verifies.
///
/// A key with a password needs that; if `password` is `None`, it is asked for on the terminal.
pub fn sign(root: Root, key: &Path, password: Option<String>, comment: &str) -> Result<String> {
    let refuse = |error: minisign::PError| {
        Error::invalid(format!("cannot sign with the key: {error}")).path(key)
    };
    if comment.contains(['\n', '\r']) {
        return Err(Error::invalid("a comment has one line"));
    }
    let text = read(key)?;
    let secret = match plain_key(&text) {
        Some(secret) => secret,
        None => {
            let stored = minisign::SecretKeyBox::from_string(&text).map_err(refuse)?;
            stored.into_secret_key(password).map_err(refuse)?
        }
    };
    let statement = signed_statement(root);
    let comment = Some(comment.trim());
    let signature = minisign::sign(None, &secret, statement.as_bytes(), comment, None);
    let text = signature.map_err(refuse)?.into_string();
    // two programs have to agree before it goes out
    let public = minisign::PublicKey::from_secret_key(&secret).map_err(refuse)?;
    let public = PublicKey::from_base64(&public.to_base64());
    let sound = public.and_then(|public| {
        let signature = Signature::decode(&text)?;
        public.verify(statement.as_bytes(), &signature, false)
    });
    sound.map_err(|wrong| Error::invalid(format!("the key is damaged: {wrong}")).path(key))?;
    Ok(text)
}

/// Reads a secret key that has no password; `None` if it has one, or is none. minisign itself writes such
/// keys without the checksum that the library wants.
fn plain_key(text: &str) -> Option<minisign::SecretKey> {
    let bytes = Base64::decode_to_vec(text.lines().nth(1)?.trim(), None).ok()?;
    let is_plain = bytes.get(2..4) == Some(&[0, 0]) && bytes.len() == SECRET_KEY;
    let secret = is_plain.then(|| minisign::SecretKey::from_bytes(&bytes))?;
    secret.ok()
}

/// Reads a small file of text.
fn read(path: &Path) -> Result<String> {
    let file = FileSource::open(path)?;
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

#[cfg(test)]
mod tests {
    use minisign::KeyPair;

    use super::*;

    fn verify(root: Root, key: &OsStr, file: &Path) -> Result<String> {
        read_file(file)?.verify(root, key)
    }

    /// A pair of keys in files: `key` and `pub`.
    fn keys(dir: &Path, password: Option<&str>) -> (PathBuf, PathBuf) {
        let pair = match password {
            None => KeyPair::generate_unencrypted_keypair(),
            Some(password) => KeyPair::generate_encrypted_keypair(Some(password.to_owned())),
        };
        let pair = pair.unwrap();
        let (key, public) = (dir.join("key"), dir.join("pub"));
        std::fs::write(&key, pair.sk.to_box(None).unwrap().to_string()).unwrap();
        std::fs::write(&public, pair.pk.to_box().unwrap().to_string()).unwrap();
        (key, public)
    }

    #[test]
    fn no_change_of_a_signature_passes_or_panics() {
        let dir = tempfile::tempdir().unwrap();
        let (key, public) = keys(dir.path(), None);
        let (root, other) = (Root::from([7; 32]), Root::from([8; 32]));
        let file = dir.path().join("signature");
        let sound = sign(root, &key, None, "release 3").unwrap();
        std::fs::write(&file, &sound).unwrap();
        assert_eq!(
            verify(root, public.as_os_str(), &file).unwrap(),
            "release 3"
        );
        let text = std::fs::read_to_string(&public).unwrap();
        let line = OsStr::new(text.lines().nth(1).unwrap());
        assert_eq!(verify(root, line, &file).unwrap(), "release 3");
        let error = verify(other, public.as_os_str(), &file).unwrap_err();
        assert!(error.to_string().contains("not of this image"), "{error}");
        let comment = sound.find("untrusted comment: ").unwrap();
        let first = comment + sound.lines().next().unwrap().len();
        for at in 0..sound.len() {
            for change in [1, 0x20, 0x80] {
                let mut bytes = sound.clone().into_bytes();
                bytes[at] ^= change;
                std::fs::write(&file, &bytes).unwrap();
                let verified = verify(root, public.as_os_str(), &file);
                // what nobody signed may change, the end of a line may become another one
                let free = at <= first || at == sound.len() - 1;
                assert!(verified.is_err() || free, "byte {at}: {verified:?}");
            }
            std::fs::write(&file, &sound[..at]).unwrap();
            let cut = verify(root, public.as_os_str(), &file);
            assert!(cut.is_err() || at == sound.len() - 1, "cut at {at}");
        }
        std::fs::write(&file, vec![b'x'; 70_000]).unwrap();
        assert!(verify(root, public.as_os_str(), &file).is_err());
        std::fs::remove_file(&file).unwrap();
        let error = verify(root, public.as_os_str(), &file).unwrap_err();
        assert_eq!(error.kind(), Kind::NotFound);
    }

    #[test]
    fn keys_that_are_none_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (key, public) = keys(dir.path(), None);
        let root = Root::from([0; 32]);
        let file = dir.path().join("signature");
        std::fs::write(&file, sign(root, &key, None, "x").unwrap()).unwrap();
        let sound = std::fs::read(&key).unwrap();
        for at in 0..sound.len() {
            let mut bytes = sound.clone();
            bytes[at] ^= 1;
            std::fs::write(&key, &bytes).unwrap();
            // a password is given, so that none is asked for
            if let Ok(text) = sign(root, &key, Some(String::new()), "x") {
                std::fs::write(&file, text).unwrap();
                let verified = verify(root, public.as_os_str(), &file);
                // minisign does not say whether the number of a key without password is right
                let told = verified.map_err(|error| error.to_string());
                assert!(told.is_ok() || told.unwrap_err().contains("another key"));
            }
        }
        let sound = std::fs::read(&public).unwrap();
        for at in 0..sound.len() {
            let mut bytes = sound.clone();
            bytes[at] ^= 1;
            std::fs::write(&public, &bytes).unwrap();
            let comment = sound.iter().position(|byte| *byte == b'\n').unwrap();
            let verified = verify(root, public.as_os_str(), &file);
            let free = at < comment || at == sound.len() - 1;
            assert!(verified.is_err() || free, "byte {at} of the key");
        }
        let (_, other) = keys(dir.path(), None);
        let error = verify(root, other.as_os_str(), &file).unwrap_err();
        assert!(error.to_string().contains("another key"), "{error}");
        assert!(verify(root, OsStr::new("no-such-file"), &file).is_err());
    }

    #[test]
    fn a_password_opens_a_key() {
        let dir = tempfile::tempdir().unwrap();
        let (key, public) = keys(dir.path(), Some("secret"));
        let root = Root::from([1; 32]);
        let file = dir.path().join("signature");
        let text = sign(root, &key, Some("secret".to_owned()), "said").unwrap();
        std::fs::write(&file, text).unwrap();
        assert_eq!(verify(root, public.as_os_str(), &file).unwrap(), "said");
        assert!(sign(root, &key, Some("other".to_owned()), "said").is_err());
        assert!(sign(root, &key, Some("secret".to_owned()), "two\nlines").is_err());
    }
}
