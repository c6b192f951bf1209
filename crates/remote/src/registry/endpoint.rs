//! Requests to one server of a registry, with the credentials that it wants.
//!
//! In: a method, a URL, a body. Out: the answer, after one more try with a new token if the server
//! refused. **Invariant:** credentials go only to the registry, and to the token server that it
//! names, by TLS; headers that a file names go only to its server. Another origin that an answer
//! leads to gets no credentials and no body (`redirects.rs`). Spec: OCI distribution-spec 1.1,
//! "Token Authentication Specification" of distribution.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, Response, Url};
use serde_json::Value;
use sinterfs_model::{Error, Kind, Result};
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::answers::read;
use super::challenge::Challenge;
use super::credentials::Credentials;
use crate::address::without_queries;
use crate::failure::{Cause, Failure, Refused, Unreachable};
use crate::redirects::{self, BadRedirect};
use crate::runtime;

/// The longest answer with a token.
const LONGEST_TOKEN: usize = 1 << 20;

/// Bytes a second of the slowest line that bodies are sent on.
const SLOWEST: u64 = 16 << 10;

/// One request.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    /// The time that the answer may take beyond the usual.
    pub(crate) work: Duration,
}

/// The authentication for a registry.
#[derive(Clone)]
enum Proof {
    Password(String, String),
    Token(String),
}

/// The authentication that was sent last.
#[derive(Default)]
struct LastProof {
    proof: Option<Proof>,
    /// The number of its renewals.
    renewals: u64,
}

/// A server of a registry.
pub(crate) struct Endpoint {
    client: Client,
    stall: Duration,
    /// The URL that all its paths are below.
    base: Url,
    /// The name under which its credentials are known.
    host: String,
    /// The purpose of a token.
    scope: String,
    /// The registry that a mirror replaces.
    namespace: Option<String>,
    /// Sent with each request to the server itself.
    headers: HeaderMap,
    /// Whether credentials may be sent without TLS.
    sends_plain: bool,
    shown: Mutex<LastProof>,
    /// Whether there was an answer before.
    is_reached: AtomicBool,
}

/// The known facts about a server.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub(crate) base: Url,
    pub(crate) host: String,
    pub(crate) namespace: Option<String>,
    pub(crate) headers: HeaderMap,
    pub(crate) authorities: Vec<Certificate>,
    /// Whether credentials may be sent without TLS.
    pub(crate) sends_plain: bool,
}

impl Server {
    /// Describes a server by the URL that all its paths are below.
    pub(crate) fn new(base: Url) -> Self {
        let host = base.host_str().unwrap_or_default();
        let port = base.port().map(|port| format!(":{port}"));
        Self {
            host: format!("{host}{}", port.unwrap_or_default()),
            namespace: None,
            headers: HeaderMap::new(),
            authorities: Vec::new(),
            sends_plain: is_loopback(&base),
            base,
        }
    }
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

impl Endpoint {
    /// Prepares requests; nothing is sent yet.
    pub(crate) fn new(server: Server, scope: String, stall: Duration) -> Result<Self> {
        // the client of TLS takes the cryptography that the runtime chooses
        runtime::handle()?;
        let mut builder = Client::builder()
            .user_agent(concat!("sinterfs/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(stall)
            // it would take headers along, and bodies, and the query as `Referer`
            .redirect(Policy::none())
            .https_only(server.base.scheme() == "https")
            .tls_certs_merge(server.authorities);
        if is_loopback(&server.base) {
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|error| {
            let what = format!("cannot use TLS: {}", without_queries(&error.to_string()));
            Error::new(Kind::Io, what)
        })?;
        Ok(Self {
            client,
            stall,
            base: server.base,
            host: server.host,
            scope,
            namespace: server.namespace,
            headers: server.headers,
            sends_plain: server.sends_plain,
            shown: Mutex::default(),
            is_reached: AtomicBool::new(false),
        })
    }

    /// Returns the URL of a part of a repository.
    pub(crate) fn url(&self, repository: &str, part: &str) -> std::result::Result<Url, Failure> {
        let wrong = |_| Failure::new(Cause::Final, "no name of a part of a repository");
        let mut url = self
            .base
            .join(&format!("{repository}/{part}"))
            .map_err(wrong)?;
        if let Some(namespace) = &self.namespace {
            url.query_pairs_mut().append_pair("ns", namespace);
        }
        Ok(url)
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

    /// Sends a request once, and those that its answers lead to. A request that has left its origin
    /// is not authenticated from then on.
    async fn once(
        &self,
        call: &Call,
        proof: Option<&Proof>,
    ) -> std::result::Result<Response, Failure> {
        let bad = |error: BadRedirect| Failure::new(Cause::Final, error.to_string());
        let follows = [Method::GET, Method::HEAD].contains(&call.method);
        let (mut call, mut proof) = (call.clone(), proof);
        for _ in 0..=redirects::MAX_REDIRECTS {
            let answer = self.step(&call, proof).await?;
            let to = redirects::target(answer.url(), answer.status(), answer.headers());
            let Some(to) = to.map_err(bad)?.filter(|_| follows) else {
                return Ok(answer);
            };
            if to.origin() != call.url.origin() {
                proof = None;
                redirects::strip(&mut call.headers);
            }
            call.url = to;
        }
        Err(bad(BadRedirect::TooMany))
    }

    async fn step(
        &self,
        call: &Call,
        proof: Option<&Proof>,
    ) -> std::result::Result<Response, Failure> {
        let mut request = self.client.request(call.method.clone(), call.url.clone());
        request = request.headers(call.headers.clone());
        if self.is_own(&call.url) {
            request = request.headers(self.headers.clone());
        }
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
        match answer {
            Ok(answer) => {
                self.is_reached.store(true, Ordering::Relaxed);
                Ok(answer)
            }
            Err(error) => {
                // a host that is not there at first has a mistyped name
                let is_first = !self.is_reached.load(Ordering::Relaxed);
                let unreachable = Unreachable::of(&error).filter(|_| is_first);
                Err(unreachable.map_or_else(|| Failure::of_client(&error), |it| it.failure()))
            }
        }
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
        let credentials = self.credentials().await?;
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

    /// Finds the credentials for the server. A server without TLS gets none, unless it is on this
    /// machine or the caller requests it.
    async fn credentials(&self) -> std::result::Result<Credentials, Failure> {
        if self.base.scheme() != "https" && !self.sends_plain {
            return Ok(Credentials::Nobody);
        }
        let host = self.host.clone();
        let found = tokio::task::spawn_blocking(move || Credentials::find(&host)).await;
        let lost = |_| Failure::new(Cause::Final, "the search for credentials ended");
        found.map_err(lost)?
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
        let mut fields = vec![("scope", &*self.scope)];
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
