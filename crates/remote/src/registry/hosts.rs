//! Mirrors of registries, as containerd's `hosts.toml` names them.
//!
//! In: `DIR/HOST_PORT_/hosts.toml`, or the file of `HOST:PORT` or of `_default`. Out: the
//! registry's own server, and those to ask before it, in the file's order. **Invariant:** what the
//! file says is done or refused, never passed over. Spec: containerd, docs/hosts.md.

use std::io::ErrorKind;
use std::path::Path;

use http::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Certificate, Url};
use sinterfs_model::{Error, Result};
use toml_edit::{Document, Item};

use super::endpoint::Server;

/// The longest file that is read.
const MAX_FILE_LEN: u64 = 1 << 20;

/// The requests that a server may get.
const CAPABILITIES: [&str; 3] = ["pull", "resolve", "push"];

/// A server that is tried before a registry.
#[derive(Debug)]
pub(crate) struct Mirror {
    pub(crate) server: Server,
    /// Whether it serves what is named by its digest, and what tags stand for.
    pub(crate) pulls: bool,
    pub(crate) resolves: bool,
}

/// The servers of a registry.
#[derive(Debug)]
pub(crate) struct Hosts {
    pub(crate) registry: Server,
    pub(crate) mirrors: Vec<Mirror>,
}

impl Hosts {
    /// Returns a registry without mirrors.
    pub(crate) fn of(registry: Server) -> Self {
        Self {
            registry,
            mirrors: Vec::new(),
        }
    }
}

/// A key with its value.
type Entry<'a> = (&'a str, &'a Item);

/// Looks for the servers of a registry; without a file, only the given one.
pub(crate) fn find(dir: &Path, host: &str, registry: Server) -> Result<Hosts> {
    let with_port = |(name, port)| format!("{name}_{port}_");
    let names = [
        host.rsplit_once(':').map(with_port),
        Some(host.to_owned()),
        Some("_default".to_owned()),
    ];
    // a name such as `..` leads out of the directory
    for name in names
        .into_iter()
        .flatten()
        .filter(|name| !name.starts_with('.'))
    {
        let path = dir.join(name).join("hosts.toml");
        if let Some(text) = text(&path)? {
            let parsed = parse(&text, &path, host, registry);
            return parsed.map_err(|error| error.path(&path));
        }
    }
    Ok(Hosts::of(registry))
}

/// Reads a file; `None` if there is none.
fn text(path: &Path) -> Result<Option<String>> {
    let failed = |error| Error::io("cannot read it", error).path(path);
    let length = match std::fs::metadata(path) {
        Err(error) if [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind()) => {
            return Ok(None);
        }
        found => found.map_err(failed)?.len(),
    };
    if length > MAX_FILE_LEN {
        return Err(Error::invalid("the file is too long").path(path));
    }
    std::fs::read_to_string(path).map(Some).map_err(failed)
}

fn parse(text: &str, path: &Path, host: &str, known: Server) -> Result<Hosts> {
    let document = Document::parse(text).map_err(|error| {
        // all of it would quote a line, which may hold a secret
        Error::invalid(format!("no TOML: {}", error.message()))
    })?;
    let (mut own, mut others) = (Vec::new(), Vec::new());
    let mut base = known.base.clone();
    for (key, item) in document.iter() {
        match key {
            "server" => base = location(item.as_str().ok_or_else(|| invalid_value(key))?)?,
            "host" => others = entries(key, item)?,
            _ => own.push((key, item)),
        }
    }
    let default = known.base.origin();
    let found = server(base, &own, path)?;
    if !found.pulls || !found.resolves {
        return Err(invalid_value("capabilities"));
    }
    let mut registry = found.server;
    if registry.base.origin() == default {
        registry.host = known.host;
        registry.sends_plain = known.sends_plain;
    }
    let mut mirrors = Vec::new();
    for (url, about) in others {
        let mut mirror = server(location(url)?, &entries(url, about)?, path)?;
        let is_other = mirror.server.base.origin() != default;
        mirror.server.namespace = is_other.then(|| host.to_owned());
        mirrors.push(mirror);
    }
    Ok(Hosts { registry, mirrors })
}

fn invalid_value(key: &str) -> Error {
    Error::unsupported(format!("`{key}` is not known, or has a value that is not"))
}

/// Returns the entries of a table.
fn entries<'a>(key: &str, item: &'a Item) -> Result<Vec<Entry<'a>>> {
    let table = item.as_table_like().ok_or_else(|| invalid_value(key))?;
    Ok(table.iter().collect())
}

/// Reads the URL of a server; without a scheme it is `https`.
fn location(text: &str) -> Result<Url> {
    let full = if text.contains("://") {
        text.to_owned()
    } else {
        format!("https://{text}")
    };
    // the text may hold a password
    let refused = || Error::unsupported("a server is http:// or https://, a name, and a path");
    let url = Url::parse(&full).map_err(|_| refused())?;
    let has_password = !url.username().is_empty() || url.password().is_some();
    let has_more = url.query().is_some() || url.fragment().is_some();
    if !["http", "https"].contains(&url.scheme()) || has_password || has_more {
        return Err(refused());
    }
    Ok(url)
}

/// Reads what is said about one server.
fn server(mut base: Url, about: &[Entry<'_>], path: &Path) -> Result<Mirror> {
    let (mut pulls, mut resolves, mut is_whole) = (true, true, false);
    let (mut authorities, mut headers) = (Vec::new(), HeaderMap::new());
    for (key, item) in about {
        let flag = || item.as_bool().ok_or_else(|| invalid_value(key));
        match *key {
            "capabilities" => {
                let all = texts(key, item)?;
                if !all.iter().all(|one| CAPABILITIES.contains(one)) {
                    return Err(invalid_value(key));
                }
                pulls = all.contains(&"pull");
                resolves = all.contains(&"resolve");
            }
            "ca" => {
                for name in texts(key, item)? {
                    authorities.extend(certificates(&path.with_file_name(name))?);
                }
            }
            "header" => {
                for (name, values) in entries(key, item)? {
                    add_header(&mut headers, name, &texts(name, values)?)?;
                }
            }
            "override_path" => is_whole = flag()?,
            // certificates are always compared
            "skip_verify" if !flag()? => {}
            _ => return Err(invalid_value(key)),
        }
    }
    let mut below = base.path().trim_end_matches('/').to_owned();
    if !is_whole && !below.ends_with("/v2") {
        below.push_str("/v2");
    }
    base.set_path(&format!("{below}/"));
    let server = Server {
        authorities,
        headers,
        ..Server::new(base)
    };
    Ok(Mirror {
        server,
        pulls,
        resolves,
    })
}

/// Returns one text, or the texts of a list.
fn texts<'a>(key: &str, item: &'a Item) -> Result<Vec<&'a str>> {
    let texts: Option<Vec<&str>> = match item.as_array() {
        Some(values) => values.iter().map(|value| value.as_str()).collect(),
        None => item.as_str().map(|text| vec![text]),
    };
    texts.ok_or_else(|| invalid_value(key))
}

fn add_header(headers: &mut HeaderMap, name: &str, values: &[&str]) -> Result<()> {
    let parsed: HeaderName = name.parse().map_err(|_| invalid_value(name))?;
    for value in values {
        let mut value = HeaderValue::from_str(value).map_err(|_| invalid_value(name))?;
        value.set_sensitive(true);
        headers.append(parsed.clone(), value);
    }
    Ok(())
}

/// Reads certificates of authorities.
fn certificates(path: &Path) -> Result<Vec<Certificate>> {
    let read = std::fs::read(path);
    let bytes = read.map_err(|error| Error::io("cannot read it", error).path(path))?;
    match Certificate::from_pem_bundle(&bytes) {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => Err(Error::invalid("it has no certificates (PEM)").path(path)),
    }
}
