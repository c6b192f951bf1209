//! Paths that are URLs. **Invariant:** a path that begins with a known scheme and `://` is a URL;
//! `./` before it makes it a path.

use std::path::{Path, PathBuf};

/// Returns whether a path is the URL of a remote object.
pub fn is_url(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    let schemes = ["http://", "https://", "s3://", "gs://", "az://", "oci://"];
    schemes
        .iter()
        .any(|scheme| bytes.starts_with(scheme.as_bytes()))
}

/// Returns whether a path is the URL of an image in a registry.
#[cfg_attr(
    not(feature = "write"),
    allow(dead_code, reason = "without `remote`, only outputs are in registries")
)]
pub(crate) fn is_registry(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().starts_with(b"oci://")
}

/// Returns a path as it may be shown: of a URL without its query, which may hold a signature, and
/// without a user and a password.
pub fn shown(path: &Path) -> PathBuf {
    let Some((scheme, rest)) = path.to_str().and_then(|url| url.split_once("://")) else {
        return path.to_owned();
    };
    if !is_url(path) {
        return path.to_owned();
    }
    let rest = rest.split(['?', '#']).next().unwrap_or(rest);
    let (host, name) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.rsplit('@').next().unwrap_or(host);
    format!("{scheme}://{host}{name}").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_shown_without_secrets() {
        for (url, seen) in [
            ("https://h/a/b?X-Amz-Signature=SECRET#f", "https://h/a/b"),
            ("https://me:SECRET@h:1/a@b", "https://h:1/a@b"),
            ("s3://bucket/key", "s3://bucket/key"),
            ("a?b", "a?b"),
            ("./http://h/a?b", "./http://h/a?b"),
        ] {
            assert_eq!(shown(Path::new(url)), Path::new(seen));
        }
    }
}
