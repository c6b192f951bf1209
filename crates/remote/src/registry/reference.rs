//! Names of images in registries.
//!
//! In: `oci://HOST/REPOSITORY[:TAG][@sha256:HEX]`. Out: its parts. **Invariant:** what was parsed
//! can be put into the path of a request as it is. Spec: OCI distribution-spec 1.1, "Pulling
//! manifests".

use std::fmt;

use sinterfs_model::{Error, Result};

use crate::address::Address;

/// The longest name of a repository, and of a tag.
const LONGEST_NAME: usize = 255;
const LONGEST_TAG: usize = 128;

/// The registry of references without a host, and its address.
const HUB: &str = "docker.io";
const HUB_HOST: &str = "registry-1.docker.io";

/// The name of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reference {
    /// The registry, as references name it: with its port.
    pub(crate) host: String,
    pub(crate) repository: String,
    pub(crate) tag: Option<String>,
    /// The digest of the manifest, `sha256:` and 64 hexadecimal digits.
    pub(crate) digest: Option<String>,
}

impl Reference {
    /// Parses the name of an image. `Invalid` says which part is wrong.
    pub(crate) fn parse(address: &Address) -> Result<Self> {
        let invalid = |what: &str| Error::invalid(format!("{address}: {what}"));
        let rest = address.url.strip_prefix("oci://").unwrap_or(&address.url);
        let (host, rest) = rest.split_once('/').unwrap_or((rest, ""));
        let (rest, digest) = match rest.split_once('@') {
            Some((rest, digest)) => (rest, Some(digest)),
            None => (rest, None),
        };
        let (name, tag) = match rest.rsplit_once(':') {
            Some((name, tag)) => (name, Some(tag)),
            None => (rest, None),
        };
        if !host
            .bytes()
            .all(|byte| is_word(byte) || b"-.:[]".contains(&byte))
        {
            return Err(invalid("no name of a registry"));
        }
        if name.len() > LONGEST_NAME || !name.split('/').all(is_component) {
            return Err(invalid(
                "names of repositories have small letters, digits and `.`, `_`, `-` between them",
            ));
        }
        if tag.is_some_and(|tag| !is_tag(tag)) {
            return Err(invalid("no tag of an image"));
        }
        if digest.is_some_and(|digest| !is_digest(digest)) {
            return Err(invalid("a digest is sha256: and 64 hexadecimal digits"));
        }
        let is_official = is_hub(host) && !name.contains('/');
        Ok(Self {
            host: host.to_owned(),
            repository: if is_official {
                format!("library/{name}")
            } else {
                name.to_owned()
            },
            tag: tag.map(str::to_owned),
            digest: digest.map(str::to_owned),
        })
    }

    /// Returns the host that requests go to.
    pub(crate) fn server(&self) -> &str {
        if is_hub(&self.host) {
            HUB_HOST
        } else {
            &self.host
        }
    }

    /// Returns what follows `manifests/` in a request: the digest, or else the tag.
    pub(crate) fn version(&self) -> &str {
        let version = self.digest.as_deref().or(self.tag.as_deref());
        version.unwrap_or("latest")
    }

    /// Returns whether the registry is on this machine, where none has TLS.
    pub(crate) fn is_local(&self) -> bool {
        let name = match self.host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => &self.host,
        };
        name == "localhost" || name == "[::1]" || is_loopback(name)
    }
}

impl fmt::Display for Reference {
    /// The repository, without tag and digest.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "oci://{}/{}", self.host, self.repository)
    }
}

/// Returns whether a host is the default registry's.
pub(crate) fn is_hub(host: &str) -> bool {
    [HUB, HUB_HOST, "index.docker.io"].contains(&host)
}

fn is_loopback(name: &str) -> bool {
    let address: std::result::Result<std::net::Ipv4Addr, _> = name.parse();
    address.is_ok_and(|address| address.is_loopback())
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Small letters and digits, with separators between them only.
fn is_component(text: &str) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    bytes.first().is_some_and(is_plain)
        && bytes.last().is_some_and(is_plain)
        && bytes
            .iter()
            .all(|byte| is_plain(byte) || b"._-".contains(byte))
        && !text.contains("..")
}

fn is_tag(text: &str) -> bool {
    text.len() <= LONGEST_TAG
        && text.bytes().next().is_some_and(is_word)
        && text
            .bytes()
            .all(|byte| is_word(byte) || b".-".contains(&byte))
}

/// Returns whether a text is a digest of the one kind that is taken.
pub(crate) fn is_digest(text: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    text.strip_prefix("sha256:")
        .is_some_and(|hash| hash.len() == 64 && hash.bytes().all(is_digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<Reference> {
        Reference::parse(&Address::parse(std::path::Path::new(url))?)
    }

    #[test]
    fn names_have_their_parts() {
        let found = parse("oci://localhost:5000/a/b-c:v1.2").unwrap();
        assert_eq!(
            (&*found.host, &*found.repository),
            ("localhost:5000", "a/b-c")
        );
        assert_eq!(found.version(), "v1.2");
        assert!(found.is_local());
        let hub = parse("oci://docker.io/debian").unwrap();
        assert_eq!(
            (hub.server(), &*hub.repository),
            (HUB_HOST, "library/debian")
        );
        assert_eq!((hub.version(), hub.is_local()), ("latest", false));
        let digest = format!("sha256:{}", "0a".repeat(32));
        let pinned = parse(&format!("oci://h/x:1@{digest}")).unwrap();
        assert_eq!(
            (pinned.version(), pinned.tag.as_deref()),
            (&*digest, Some("1"))
        );
        for url in ["oci://127.9.8.7/x", "oci://[::1]:5000/x", "oci://[::1]/x"] {
            assert!(parse(url).unwrap().is_local(), "{url}");
        }
        for url in [
            "oci://127.evil.org/x",
            "oci://localhost.org/x",
            "oci://10.0.0.1/x",
        ] {
            assert!(!parse(url).unwrap().is_local(), "{url}");
        }
    }

    #[test]
    fn refuses_invalid_names() {
        let short = format!("oci://h/x@sha256:{}", "0".repeat(63));
        let large = format!("oci://h/x@sha256:{}", "A".repeat(64));
        for url in [
            "oci://h/",
            "oci://h/X",
            "oci://h/a/../b",
            "oci://h/a//b",
            "oci://h/a..b",
            "oci://h/x:",
            "oci://h/x:.a",
            "oci://h/x:a/b",
            "oci://h/x?y",
            "oci://h/x:1#z",
            "oci://h/x:1?y",
            "oci://h%2f/x",
            "oci://me:SECRET@h/x",
            &short,
            &large,
        ] {
            let error = parse(url).unwrap_err();
            assert!(!error.to_string().contains("SECRET"), "{error}");
        }
    }
}
