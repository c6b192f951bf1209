//! New pairs of keys, in the form of minisign(1).

use sinterfs_model::{Error, Result};

/// A new pair of keys, as the text of its two files.
#[non_exhaustive]
pub struct KeyFiles {
    /// The secret key.
    pub secret: String,
    /// The public key, which others need to verify signatures.
    pub public: String,
}

impl std::fmt::Debug for KeyFiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyFiles")
            .field("public", &self.public)
            .finish_non_exhaustive()
    }
}

/// How a secret key is protected.
#[derive(Clone)]
#[non_exhaustive]
pub enum KeyPassword {
    /// Asked for on the terminal.
    Ask,
    /// Given.
    Given(String),
    /// Not at all.
    Nothing,
}

impl std::fmt::Debug for KeyPassword {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KeyPassword")
    }
}

/// Makes a pair of keys from the random numbers of the system.
pub fn generate_keys(password: KeyPassword) -> Result<KeyFiles> {
    let failed = |error: minisign::PError| Error::invalid(format!("cannot make keys: {error}"));
    let pair = match password {
        KeyPassword::Nothing => minisign::KeyPair::generate_unencrypted_keypair(),
        KeyPassword::Ask => minisign::KeyPair::generate_encrypted_keypair(None),
        KeyPassword::Given(text) => minisign::KeyPair::generate_encrypted_keypair(Some(text)),
    };
    let pair = pair.map_err(failed)?;
    Ok(KeyFiles {
        secret: pair.sk.to_box(None).map_err(failed)?.to_string(),
        public: pair.pk.to_box().map_err(failed)?.to_string(),
    })
}
