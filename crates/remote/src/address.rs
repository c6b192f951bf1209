//! The address of a remote image: a URL, and the form in which it may be shown.
//!
//! **Invariant:** what is shown has neither a user, nor a password, nor a query, in which presigned
//! URLs have their signatures.

use std::fmt;
use std::path::Path;

use sinterfs_block::checksum::sha256;
use sinterfs_block::verity::hex;
use sinterfs_model::{Error, Result};

/// The schemes that are known.
const SCHEMES: [(&str, Scheme); 6] = [
    ("http://", Scheme::Http),
    ("https://", Scheme::Https),
    ("s3://", Scheme::S3),
    ("gs://", Scheme::Gcs),
    ("az://", Scheme::Azure),
    ("oci://", Scheme::Registry),
];

/// Parameters that only authenticate the request, in URLs that have a signature; the object does
/// not depend on them. Those that begin with `X-Amz-` and `X-Goog-` are some more.
const PROOFS: [&str; 21] = [
    "AWSAccessKeyId",
    "Expires",
    "GoogleAccessId",
    "Key-Pair-Id",
    "Policy",
    "Signature",
    "se",
    "si",
    "sig",
    "sip",
    "ske",
    "skoid",
    "sks",
    "skt",
    "sktid",
    "skv",
    "sp",
    "spr",
    "sr",
    "st",
    "sv",
];

/// Parameters that are signatures.
const SIGNATURES: [&str; 4] = ["Signature", "X-Amz-Signature", "X-Goog-Signature", "sig"];

/// Variables that say which store a bucket is in.
const ENDPOINTS: [(Scheme, &[&str]); 2] = [
    (
        Scheme::S3,
        &["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"],
    ),
    (
        Scheme::Azure,
        &[
            "AZURE_STORAGE_ENDPOINT",
            "AZURE_ENDPOINT",
            "AZURE_STORAGE_ACCOUNT_NAME",
        ],
    ),
];

/// The way in which an object is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scheme {
    Http,
    Https,
    S3,
    Gcs,
    Azure,
    Registry,
}

/// The URL of an object.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    pub(crate) scheme: Scheme,
    pub(crate) url: String,
}

impl Address {
    /// Returns whether a path is a URL of a known scheme.
    pub fn is_url(path: &Path) -> bool {
        let bytes = path.as_os_str().as_encoded_bytes();
        SCHEMES
            .iter()
            .any(|(prefix, _)| bytes.starts_with(prefix.as_bytes()))
    }

    /// Parses a URL. `Invalid` if it has no host or no path, or if it holds a password, which other
    /// users would see in lists of processes.
    pub fn parse(path: &Path) -> Result<Self> {
        let invalid = |what: &'static str| Error::invalid(what);
        let url = path.to_str().ok_or_else(|| invalid("a URL is UTF-8"))?;
        let known = SCHEMES
            .iter()
            .find_map(|&(prefix, scheme)| Some((scheme, url.strip_prefix(prefix)?)));
        let (scheme, rest) =
            known.ok_or_else(|| invalid("not a URL of http, https, s3, gs, az or oci"))?;
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (host, key) = rest.split_at(end);
        if host.contains('@') {
            return Err(invalid(
                "other users see a user name or a password in a URL: remove it",
            ));
        }
        let key = key.split(['?', '#']).next().unwrap_or_default();
        if host.is_empty() || key.len() < 2 {
            return Err(Error::invalid(format!(
                "{} lacks a host or the name of an object",
                without_query(url)
            )));
        }
        Ok(Self {
            scheme,
            url: url.to_owned(),
        })
    }

    /// Returns the name under which the cache keeps the object: the URL as it may be shown, and a
    /// digest of everything else that identifies the object (the rest of the query, the store).
    pub(crate) fn cache_name(&self) -> String {
        let mut more = Vec::new();
        if let Some((_, query)) = self.url.split_once('?') {
            let query = query.split('#').next().unwrap_or_default();
            let name = |parameter: &str| parameter.split('=').next().unwrap_or_default().to_owned();
            let is_signed = query.split('&').any(|p| SIGNATURES.contains(&&*name(p)));
            let is_proof = |name: &str| {
                let of_cloud = ["X-Amz-", "X-Goog-"]
                    .iter()
                    .any(|begin| name.starts_with(begin));
                of_cloud || PROOFS.contains(&name)
            };
            let decides = |parameter: &&str| !(is_signed && is_proof(&name(parameter)));
            more.extend(query.split('&').filter(decides).map(str::to_owned));
        }
        let stores = ENDPOINTS
            .iter()
            .filter(|(scheme, _)| *scheme == self.scheme);
        let variables = stores.flat_map(|(_, names)| *names);
        more.extend(variables.filter_map(|name| std::env::var(name).ok()));
        if more.is_empty() {
            self.to_string()
        } else {
            format!(
                "{self} ({})",
                &hex(&sha256(more.join("\n").as_bytes()))[..16]
            )
        }
    }

    /// Returns the bucket (or the host) and the key of the object in it.
    pub(crate) fn bucket_and_key(&self) -> (&str, &str) {
        let rest = self.url.split_once("://").map_or("", |(_, rest)| rest);
        rest.split_once('/').unwrap_or((rest, ""))
    }

    /// Returns the host for messages.
    pub(crate) fn host(&self) -> String {
        let (scheme, rest) = self.url.split_once("://").unwrap_or_default();
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        format!("{scheme}://{host}")
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(without_query(&self.url))
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

/// Removes the query of a URL.
fn without_query(url: &str) -> &str {
    url.split(['?', '#']).next().unwrap_or(url)
}

/// Removes the queries of all URLs in a text.
pub(crate) fn without_queries(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for (number, word) in text.split(' ').enumerate() {
        if number > 0 {
            shown.push(' ');
        }
        shown.push_str(if word.contains("://") {
            without_query(word)
        } else {
            word
        });
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_distinguished_from_paths() {
        for url in [
            "http://h/x",
            "https://h/x?y",
            "s3://b/k",
            "gs://b/k",
            "az://c/k",
        ] {
            assert!(Address::is_url(Path::new(url)), "{url}");
            Address::parse(Path::new(url)).unwrap();
        }
        for path in ["http:/h/x", "./http://h/x", "file", "ftp://h/x", ""] {
            assert!(!Address::is_url(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn cache_keys_include_everything_that_identifies_an_object() {
        let name = |url: &str| Address::parse(Path::new(url)).unwrap().cache_name();
        assert_eq!(
            name("https://h/a?X-Amz-Signature=S&X-Amz-Date=D"),
            "https://h/a"
        );
        assert_eq!(name("https://h/a?sv=1&sp=r&sig=T"), "https://h/a");
        assert_ne!(name("https://h/a?id=1"), name("https://h/a?id=2"));
        assert_ne!(name("https://h/a?sp=1"), name("https://h/a?sp=2"));
        assert_eq!(
            name("https://h/a?versionId=1&X-Amz-Signature=S"),
            name("https://h/a?versionId=1&X-Amz-Signature=T")
        );
        assert!(!name("https://h/a?id=SECRET").contains("SECRET"));
    }

    #[test]
    fn secrets_are_refused_or_not_shown() {
        let presigned = "https://h/a/b?X-Amz-Signature=SECRET#f";
        let address = Address::parse(Path::new(presigned)).unwrap();
        assert_eq!(address.to_string(), "https://h/a/b");
        assert_eq!(format!("{address:?}"), "Address(https://h/a/b)");
        assert_eq!(
            without_queries("cannot GET https://h/a?SECRET in 3 s"),
            "cannot GET https://h/a in 3 s"
        );
        let error = Address::parse(Path::new("https://me:SECRET@h/x")).unwrap_err();
        assert!(!error.to_string().contains("SECRET"), "{error}");
        for url in [
            "https://",
            "https://h",
            "https://h/",
            "s3://b/?x",
            "https:///x",
        ] {
            assert!(Address::parse(Path::new(url)).is_err(), "{url}");
        }
    }
}
