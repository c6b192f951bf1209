//! Signatures of root digests, by secret keys of minisign.
//!
//! **Invariant:** a signature is returned only after another implementation has verified it.

use std::path::Path;

use ct_codecs::{Base64, Decoder};
use minisign_verify::{PublicKey, Signature};
use sinterfs_model::{Error, Result};

use crate::open::signature::{Signable, read, signed_statement};

/// Bytes of a secret key: three names of algorithms, the parameters for its password, number, key
/// and checksum.
const SECRET_KEY: usize = 3 * 2 + 32 + 2 * 8 + 8 + 64 + 32;

/// Signs a root digest, and what is before the image, with the secret key in a file. `comment` is
/// signed, too, and shown to whoever verifies.
///
/// A key with a password needs that; if `password` is `None`, it is asked for on the terminal.
pub fn sign(
    of: impl Into<Signable>,
    key: &Path,
    password: Option<String>,
    comment: &str,
) -> Result<String> {
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
    let statement = signed_statement(of);
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

/// Reads a secret key that has no password; `None` if it has one, or is none. minisign itself
/// writes such keys without the checksum that the library wants.
fn plain_key(text: &str) -> Option<minisign::SecretKey> {
    let bytes = Base64::decode_to_vec(text.lines().nth(1)?.trim(), None).ok()?;
    let is_plain = bytes.get(2..4) == Some(&[0, 0]) && bytes.len() == SECRET_KEY;
    let secret = is_plain.then(|| minisign::SecretKey::from_bytes(&bytes))?;
    secret.ok()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::path::PathBuf;

    use minisign::KeyPair;
    use sinterfs_block::digest::Root;
    use sinterfs_model::Kind;

    use super::*;
    use crate::open::signature::read_file;

    fn verify(root: Root, key: &OsStr, file: &Path) -> Result<String> {
        Ok(read_file(file)?.verify(root, key)?.0)
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
                let outcome = verified.map_err(|error| error.to_string());
                assert!(outcome.is_ok() || outcome.unwrap_err().contains("another key"));
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
