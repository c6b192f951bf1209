//! Requests to one repository of a registry, with the credentials that it wants.
//!
//! In: a method, a URL, a body. Out: the answer, after one more try with a new token if the
//! registry refused. **Invariant:** credentials go to the registry alone, and to the place of
//! tokens that it names by TLS; bodies are read up to a bound. Spec: OCI distribution-spec 1.1,
//! "Token Authentication Specification" of distribution.

use std::time::Duration;

use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, Url};
use serde_json::Value;
use sinterfs_model::{Error, Kind, Result};
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::challenge::Challenge;
use super::credentials::Credentials;
use super::reference::Reference;
use crate::address::without_queries;
use crate::failure::{Cause, Failure, Refused};
use crate::options::RemoteOptions;
use crate::runtime;

/// The longest answer with a token, and the longest explanation of a refusal.
const LONGEST_TOKEN: usize = 1 << 20;
const LONGEST_REASON: usize = 16 << 10;

/// Characters of an explanation that are shown.
const SHOWN: usize = 200;

/// Bytes a second of the slowest line that bodies are sent on.
const SLOWEST: u64 = 16 << 10;

/// Redirects that are followed for one request.
const REDIRECTS: usize = 10;

/// What may be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Pull,
    Push,
}

/// One request.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    /// How long the answer may take besides what is usual.
    pub(crate) work: Duration,
}

/// What a registry is shown.
#[derive(Clone)]
enum Proof {
    Password(String, String),
    Token(String),
}

/// What the registry was shown last.
#[derive(Default)]
struct LastProof {
    proof: Option<Proof>,
    /// How often that was renewed.
    renewals: u64,
}

/// A repository of a registry.
pub(crate) struct Session {
    pub(crate) reference: Reference,
    pub(crate) stall: Duration,
    client: Client,
    base: Url,
    access: Access,
    shown: Mutex<LastProof>,
}

impl Call {
    pub(crate) fn new(method: Method, url: Url) -> Self {
        Self {
            method,
            url,
            headers: HeaderMap::new(),
            body: Vec::new(),
            work: Duration::ZERO,
        }
    }

    pub(crate) fn header(mut self, name: header::HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }
}

impl Session {
    /// Prepares requests; nothing is sent yet.
    pub(crate) fn new(
        reference: Reference,
        access: Access,
        options: &RemoteOptions,
    ) -> Result<Self> {
        // the client of TLS takes the cryptography that the runtime chooses
        runtime::handle()?;
        let is_plain = options.plain_http || reference.is_local();
        let scheme = if is_plain { "http" } else { "https" };
        let base = format!("{scheme}://{}/v2/", reference.server());
        let invalid = || Error::invalid(format!("{reference}: no name of a registry"));
        let base = Url::parse(&base).map_err(|_| invalid())?;
        let mut builder = Client::builder()
            .user_agent(concat!("sinterfs/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(options.stall)
            .redirect(Policy::limited(REDIRECTS))
            .https_only(!is_plain);
        if reference.is_local() {
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|error| {
            let what = format!("cannot use TLS: {}", without_queries(&error.to_string()));
            Error::new(Kind::Io, what)
        })?;
        Ok(Self {
            reference,
            stall: options.stall,
            client,
            base,
            access,
            shown: Mutex::default(),
        })
    }

    /// Returns the URL of a part of the repository.
    pub(crate) fn url(&self, part: &str) -> std::result::Result<Url, Failure> {
        let path = format!("{}/{part}", self.reference.repository);
        let url = self.base.join(&path);
        url.map_err(|_| Failure::new(Cause::Final, "no name of a part of a repository"))
    }

    /// Converts a failure to an error about the repository.
    pub(crate) fn error(&self, doing: &str, failure: &Failure) -> Error {
        failure.error(format_args!("cannot {doing} {}", self.reference))
    }

    /// Sends a request; with new credentials once more if the registry refuses it. Any status is an
    /// answer.
    pub(crate) async fn send(&self, call: &Call) -> std::result::Result<Response, Failure> {
        let is_own = self.is_own(&call.url);
        let (proof, renewals) = {
            let shown = self.shown.lock().await;
            (shown.proof.clone().filter(|_| is_own), shown.renewals)
        };
        let answer = self.once(call, proof.as_ref()).await?;
        let refused = answer.status() == StatusCode::UNAUTHORIZED;
        if !refused || !is_own || !self.is_own(answer.url()) {
            return Ok(answer);
        }
        match self.renew(answer.headers(), renewals).await? {
            Some(proof) => self.once(call, Some(&proof)).await,
            None => Ok(answer),
        }
    }

    /// Sends a request without credentials, as to a place that a registry has led to.
    pub(crate) async fn send_bare(&self, call: &Call) -> std::result::Result<Response, Failure> {
        self.once(call, None).await
    }

    async fn once(
        &self,
        call: &Call,
        proof: Option<&Proof>,
    ) -> std::result::Result<Response, Failure> {
        let mut request = self.client.request(call.method.clone(), call.url.clone());
        request = request.headers(call.headers.clone());
        request = match proof {
            Some(Proof::Password(user, password)) => request.basic_auth(user, Some(password)),
            Some(Proof::Token(token)) => request.bearer_auth(token),
            None => request,
        };
        if !call.body.is_empty() || call.method == Method::POST || call.method == Method::PUT {
            request = request
                .header(header::CONTENT_LENGTH, call.body.len())
                .body(call.body.clone());
        }
        let silent = |_| Failure::temporary("the registry sends nothing");
        let sending = Duration::from_secs(call.body.len() as u64 / SLOWEST);
        let answer = timeout(self.stall + call.work + sending, request.send())
            .await
            .map_err(silent)?;
        answer.map_err(|error| Failure::of_client(&error))
    }

    /// Returns whether a URL is one of the registry itself.
    fn is_own(&self, url: &Url) -> bool {
        url.origin() == self.base.origin()
    }

    /// Answers a challenge; `None` if there is nothing to answer it with.
    async fn renew(
        &self,
        refusal: &HeaderMap,
        renewals: u64,
    ) -> std::result::Result<Option<Proof>, Failure> {
        let mut shown = self.shown.lock().await;
        if shown.renewals != renewals {
            // another request has done it meanwhile
            return Ok(shown.proof.clone());
        }
        let Some(challenge) = Challenge::of(refusal) else {
            return Ok(None);
        };
        let host = self.reference.host.clone();
        let found = tokio::task::spawn_blocking(move || Credentials::find(&host)).await;
        let lost = |_| Failure::new(Cause::Final, "the search for credentials ended");
        let credentials = found.map_err(lost)??;
        let proof = match (challenge, credentials) {
            (Challenge::Bearer { realm, service }, credentials) => {
                Proof::Token(self.token(&realm, service.as_deref(), credentials).await?)
            }
            (Challenge::Basic, Credentials::Password(user, password)) => {
                Proof::Password(user, password)
            }
            (Challenge::Basic, Credentials::Identity(_) | Credentials::Nobody) => return Ok(None),
        };
        shown.proof = Some(proof.clone());
        shown.renewals = shown.renewals.saturating_add(1);
        Ok(Some(proof))
    }

    /// Gets a token.
    async fn token(
        &self,
        realm: &str,
        service: Option<&str>,
        credentials: Credentials,
    ) -> std::result::Result<String, Failure> {
        let wrong = |what: &str| Failure::new(Cause::Denied, what);
        let url = Url::parse(realm).map_err(|_| wrong("no URL of tokens"))?;
        if url.scheme() != "https" && !self.is_own(&url) && !is_loopback(&url) {
            return Err(wrong("the registry names a place of tokens without TLS"));
        }
        let access = match self.access {
            Access::Pull => "pull",
            Access::Push => "pull,push",
        };
        let scope = format!("repository:{}:{access}", self.reference.repository);
        let mut fields = vec![("scope", &*scope)];
        fields.extend(service.map(|service| ("service", service)));
        let mut call = Call::new(Method::GET, url);
        let mut proof = None;
        match &credentials {
            Credentials::Identity(token) => {
                fields.extend([
                    ("grant_type", "refresh_token"),
                    ("client_id", "sinterfs"),
                    ("refresh_token", token),
                ]);
                let form = HeaderValue::from_static("application/x-www-form-urlencoded");
                call = Call::new(Method::POST, call.url).header(header::CONTENT_TYPE, form);
                call.body = encoded(&fields).into_bytes();
            }
            Credentials::Password(user, password) => {
                call.url.query_pairs_mut().extend_pairs(fields);
                proof = Some(Proof::Password(user.clone(), password.clone()));
            }
            Credentials::Nobody => {
                call.url.query_pairs_mut().extend_pairs(fields);
            }
        }
        let answer = self.once(&call, proof.as_ref()).await?;
        if answer.status() != StatusCode::OK {
            let failure = Refused::of(answer.status(), answer.headers()).failure();
            let what = format!("no token was given: {}", failure.what);
            return Err(Failure::new(failure.cause, what));
        }
        let body = read(answer, LONGEST_TOKEN, self.stall).await?;
        let value: Option<Value> = serde_json::from_slice(&body).ok();
        let token = value.as_ref().and_then(|value| {
            let token = value.get("token").or_else(|| value.get("access_token"));
            token.and_then(Value::as_str)
        });
        let token = token.filter(|token| !token.is_empty());
        token
            .map(str::to_owned)
            .ok_or_else(|| wrong("the answer has no token"))
    }
}

/// Reads a body to its end; a longer one is a failure.
pub(crate) async fn read(
    mut answer: Response,
    most: usize,
    stall: Duration,
) -> std::result::Result<Vec<u8>, Failure> {
    let silent = |_| Failure::temporary("the registry sends nothing");
    let mut body = Vec::new();
    while let Some(chunk) = timeout(stall, answer.chunk())
        .await
        .map_err(silent)?
        .map_err(|error| Failure::of_client(&error))?
    {
        if chunk.len() > most.saturating_sub(body.len()) {
            let what = "the registry sent more than it may";
            return Err(Failure::new(Cause::Final, what));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// Converts a refusal, with what the registry says about it.
pub(crate) async fn refusal(answer: Response, stall: Duration) -> Failure {
    let mut failure = Refused::of(answer.status(), answer.headers()).failure();
    let body = read(answer, LONGEST_REASON, stall)
        .await
        .unwrap_or_default();
    let value: Value = serde_json::from_slice(&body).unwrap_or_default();
    let field = |name: &str| {
        let text = value.pointer(&format!("/errors/0/{name}"))?.as_str()?;
        let shown = text.chars().filter(|char| !char.is_control()).take(SHOWN);
        Some(without_queries(&shown.collect::<String>()))
    };
    let said: Vec<_> = [field("code"), field("message")]
        .into_iter()
        .flatten()
        .collect();
    if !said.is_empty() {
        failure.what = format!("{} ({})", failure.what, said.join(": "));
    }
    failure
}

/// Encodes the fields of a form.
fn encoded(fields: &[(&str, &str)]) -> String {
    let Ok(mut url) = Url::parse("http://localhost/") else {
        return String::new();
    };
    url.query_pairs_mut().extend_pairs(fields);
    url.query().unwrap_or_default().to_owned()
}

/// Returns whether a URL is one of this machine.
fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address: std::result::Result<std::net::Ipv4Addr, _> = host.parse();
    host == "localhost" || host == "[::1]" || address.is_ok_and(|address| address.is_loopback())
}
