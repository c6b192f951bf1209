//! The servers of one repository: its registry, and the mirrors before it.
//!
//! In: what to do with a server. Out: what the first one that it succeeds with has given.
//! **Invariant:** a mirror gets the requests that `hosts.toml` allows, and never hides the
//! registry: after any failure the next server is tried, and the mirror is skipped for a while.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reqwest::{Response, Url};
use sinterfs_model::{Error, Result};
use tokio::time::{Instant, timeout};

use super::endpoint::{Call, Endpoint, Server};
use super::hosts::{self, Hosts};
use super::reference::Reference;
use crate::failure::Failure;
use crate::options::RemoteOptions;

/// The time for which a failed mirror is skipped.
const REST: Duration = Duration::from_secs(30);

/// The allowed operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Pull,
    Push,
}

/// The kind of read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadKind {
    /// Something that is named by its digest.
    Content,
    /// The manifest of a tag.
    Tag,
}

/// A mirror that is tried before the registry.
struct Mirror {
    endpoint: Arc<Endpoint>,
    pulls: bool,
    resolves: bool,
    /// Until when it is passed over.
    rests: Mutex<Option<Instant>>,
}

/// A repository of a registry.
pub(crate) struct Session {
    pub(crate) reference: Reference,
    pub(crate) stall: Duration,
    /// Returns whether the work should stop.
    pub(crate) stop: fn() -> bool,
    mirrors: Vec<Mirror>,
    registry: Arc<Endpoint>,
    /// The time limit of a mirror for one part.
    patience: Duration,
}

impl Session {
    /// Prepares requests; nothing is sent yet.
    pub(crate) fn new(
        reference: Reference,
        access: Access,
        options: &RemoteOptions,
    ) -> Result<Self> {
        let is_plain = options.plain_http || reference.is_local();
        let scheme = if is_plain { "http" } else { "https" };
        let base = format!("{scheme}://{}/v2/", reference.server());
        let invalid = || Error::invalid(format!("{reference}: no name of a registry"));
        let verbs = match access {
            Access::Pull => "pull",
            Access::Push => "pull,push",
        };
        let scope = format!("repository:{}:{verbs}", reference.repository);
        let registry = Server {
            host: reference.host.clone(),
            sends_plain: is_plain,
            ..Server::new(Url::parse(&base).map_err(|_| invalid())?)
        };
        let Hosts { registry, mirrors } = match &options.registry_hosts {
            Some(dir) => hosts::find(dir, &reference.host, registry)?,
            None => Hosts::of(registry),
        };
        let is_asked = options.mirrors && access == Access::Pull;
        let mirrors = mirrors.into_iter().filter(|_| is_asked).map(|mirror| {
            // the registry is tried in the remaining time
            let endpoint = Endpoint::new(mirror.server, scope.clone(), options.stall / 3)?;
            Ok(Mirror {
                endpoint: Arc::new(endpoint),
                pulls: mirror.pulls,
                resolves: mirror.resolves,
                rests: Mutex::default(),
            })
        });
        Ok(Self {
            mirrors: mirrors.collect::<Result<_>>()?,
            registry: Arc::new(Endpoint::new(registry, scope, options.stall)?),
            reference,
            stall: options.stall,
            stop: options.stop,
            patience: options.deadline / 4,
        })
    }

    /// Returns the URL of a part of the repository in its registry.
    pub(crate) fn url(&self, part: &str) -> std::result::Result<Url, Failure> {
        self.registry.url(&self.reference.repository, part)
    }

    /// Converts a failure to an error about the repository.
    pub(crate) fn error(&self, doing: &str, failure: &Failure) -> Error {
        failure.error(format_args!("cannot {doing} {}", self.reference))
    }

    /// Sends a request to the registry. Any status is an answer.
    pub(crate) async fn send(&self, call: &Call) -> std::result::Result<Response, Failure> {
        self.registry.send(call).await
    }

    /// Does something with each server in turn, until it succeeds. Its work with a mirror is
    /// limited in time.
    pub(crate) async fn first<T, F>(
        &self,
        kind: ReadKind,
        work: impl Fn(Arc<Endpoint>) -> F,
    ) -> std::result::Result<T, Failure>
    where
        F: Future<Output = std::result::Result<T, Failure>>,
    {
        for mirror in self.mirrors.iter().filter(|mirror| mirror.has(kind)) {
            let tried = timeout(self.patience, work(Arc::clone(&mirror.endpoint))).await;
            if let Ok(Ok(done)) = tried {
                return Ok(done);
            }
            *mirror.rests() = Some(Instant::now() + REST);
        }
        work(Arc::clone(&self.registry)).await
    }

    /// Returns whether a server is the registry itself.
    pub(crate) fn is_registry(&self, endpoint: &Arc<Endpoint>) -> bool {
        Arc::ptr_eq(endpoint, &self.registry)
    }
}

impl Mirror {
    fn rests(&self) -> MutexGuard<'_, Option<Instant>> {
        self.rests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether to try the mirror now.
    fn has(&self, kind: ReadKind) -> bool {
        let serves = match kind {
            ReadKind::Content => self.pulls,
            ReadKind::Tag => self.resolves,
        };
        serves && self.rests().is_none_or(|until| until < Instant::now())
    }
}
