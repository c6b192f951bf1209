//! The credentials for a registry, as `docker login` stored them.
//!
//! In: `~/.docker/config.json` (or in `$DOCKER_CONFIG`), or the file that `$REGISTRY_AUTH_FILE`
//! names, and the helpers that they name. **Invariant:** no credential is in an error.

use std::path::PathBuf;

use docker_credential::{CredentialRetrievalError, DockerCredential};

use super::reference::is_hub;
use crate::failure::{Cause, Failure};

/// The name that the registry without a name has in files of credentials.
const HUB_NAME: &str = "https://index.docker.io/v1/";

/// Who asks.
pub(crate) enum Credentials {
    Nobody,
    Password(String, String),
    /// A token that another one is given for.
    Identity(String),
}

impl Credentials {
    /// Looks for the credentials for a registry. A helper is run, which takes its time.
    pub(crate) fn find(host: &str) -> Result<Self, Failure> {
        let server = if is_hub(host) { HUB_NAME } else { host };
        let (path, found) = match std::env::var_os("REGISTRY_AUTH_FILE") {
            Some(path) => (
                Some(PathBuf::from(path)),
                docker_credential::get_podman_credential(server),
            ),
            None => (config(), docker_credential::get_credential(server)),
        };
        use CredentialRetrievalError as Failed;
        match found {
            Ok(DockerCredential::UsernamePassword(user, password)) => {
                Ok(Self::Password(user, password))
            }
            Ok(DockerCredential::IdentityToken(token)) => Ok(Self::Identity(token)),
            Err(Failed::ConfigNotFound | Failed::NoCredentialConfigured) => Ok(Self::Nobody),
            Err(Failed::ConfigReadError) if path.is_none_or(|path| !path.exists()) => {
                Ok(Self::Nobody)
            }
            // the words that helpers have agreed upon
            Err(Failed::HelperFailure { stdout, .. })
                if stdout.contains("credentials not found") =>
            {
                Ok(Self::Nobody)
            }
            // what else it says may hold secrets
            Err(Failed::HelperFailure { helper, .. }) => Err(denied(&format!(
                "the credential helper {helper} failed for {host}"
            ))),
            Err(error) => Err(denied(&format!("no credentials for {host}: {error}"))),
        }
    }
}

fn denied(what: &str) -> Failure {
    Failure::new(Cause::Denied, what)
}

/// Returns where docker keeps credentials.
fn config() -> Option<PathBuf> {
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".docker"));
    let dir = std::env::var_os("DOCKER_CONFIG").map(PathBuf::from);
    Some(dir.or_else(home)?.join("config.json"))
}
