//! The layer between the object store client and the network.
//!
//! In: requests. Out: answers; of those to requests for ranges what the client needs of their
//! headers, with the range as the server has named it, and refusals as errors that keep what the
//! server said about trying again.
//! **Invariant:** of a refused request for a range no body is read; redirects are followed here,
//! as `redirects.rs` says. Spec: RFC 9110, sections 8.4, 12.5.3 and 14.4.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};
use object_store::{ClientConfigKey, ClientOptions};
use reqwest::Client;
use reqwest::redirect::Policy;

use crate::content_range::ContentRange;
use crate::failure::{Refused, Unreachable, UnsoundRange};
use crate::redirects::{self, BadRedirect};

/// The time in which the object store client connects to local servers that give credentials.
const OF_METADATA: (&str, Duration) = ("1s", Duration::from_secs(1));

/// Makes clients that know refusals and redirects.
#[derive(Debug)]
pub(crate) struct Connector {
    pub(crate) connect: Duration,
    /// Of one request with its body; `None` leaves that to the caller.
    pub(crate) request: Option<Duration>,
}

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let value = |key| options.get_config_value(&key);
        let connect = match value(ClientConfigKey::ConnectTimeout) {
            Some(time) if time == OF_METADATA.0 => self.connect.min(OF_METADATA.1),
            _ => self.connect,
        };
        let allows_http = value(ClientConfigKey::AllowHttp).is_some_and(|value| value == "true");
        let mut builder = Client::builder()
            .user_agent(concat!("sinterfs/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(connect)
            .https_only(!allows_http)
            // it would take all headers along but a few, and the query as `Referer`
            .redirect(Policy::none());
        if let Some(request) = self.request {
            builder = builder.timeout(request);
        }
        let client = builder
            .build()
            .map_err(|error| object_store::Error::Generic {
                store: "HTTP client",
                source: Box::new(error),
            })?;
        Ok(HttpClient::new(Service {
            client: HttpClient::new(client),
            is_reached: AtomicBool::new(false),
        }))
    }
}

#[derive(Debug)]
struct Service {
    client: HttpClient,
    /// Whether there was an answer before.
    is_reached: AtomicBool,
}

#[async_trait]
impl HttpService for Service {
    async fn call(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let range = request.headers().get(header::RANGE);
        let asked = range.and_then(|range| Asked::parse(range.to_str().ok()?));
        let has_range = range.is_some();
        if has_range {
            // ranges refer to the stored object
            let as_stored = HeaderValue::from_static("identity");
            let headers = request.headers_mut();
            headers.insert(header::ACCEPT_ENCODING, as_stored);
        }
        let response = self.follow(request).await?;
        if !has_range {
            return Ok(response);
        }
        if response.status() == StatusCode::PARTIAL_CONTENT {
            return with_headers_of_part(response, asked);
        }
        let refused = Refused::of(response.status(), response.headers());
        Err(HttpError::new(HttpErrorKind::Unknown, refused))
    }
}

impl Service {
    /// Sends a request, and those that its answers lead to.
    async fn follow(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let wrong = |error: BadRedirect| HttpError::new(HttpErrorKind::Unknown, error);
        for _ in 0..=redirects::MAX_REDIRECTS {
            let response = self.send(request.clone()).await?;
            let next = redirects::next(request, response.status(), response.headers());
            match next.map_err(wrong)? {
                Some(next) => request = next,
                None => return Ok(response),
            }
        }
        Err(wrong(BadRedirect::TooMany))
    }

    /// Sends a request. A host that nothing has come from yet and that is not there is no reason
    /// to try again: most likely its name is mistyped.
    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        match self.client.execute(request).await {
            Ok(response) => {
                self.is_reached.store(true, Ordering::Relaxed);
                Ok(response)
            }
            Err(error) if self.is_reached.load(Ordering::Relaxed) => Err(error),
            Err(error) => Err(match Unreachable::of(&error) {
                Some(unreachable) => HttpError::new(HttpErrorKind::Unknown, unreachable),
                None => error,
            }),
        }
    }
}

/// The bytes that a request asks for.
#[derive(Debug, Clone, Copy)]
enum Asked {
    Between(u64, u64),
    Last(u64),
}

impl Asked {
    fn parse(text: &str) -> Option<Self> {
        let (first, last) = text.strip_prefix("bytes=")?.split_once('-')?;
        let last = last.parse().ok()?;
        if first.is_empty() {
            return Some(Self::Last(last));
        }
        Some(Self::Between(first.parse().ok()?, last))
    }

    /// Returns a `Content-Range` that the client takes: it refuses one of fewer bytes, and one
    /// without a length.
    fn answered(self) -> String {
        let (first, last) = match self {
            Self::Between(first, last) => (first, last),
            Self::Last(count) => (0, count.saturating_sub(1)),
        };
        format!("bytes {first}-{last}/{}", last.saturating_add(1))
    }
}

/// Leaves of an answer's headers the entity tag, and of its range what the server has said as an
/// extension of the answer: the client has ideas of its own about ranges, and refuses an answer for
/// a date or a name that it cannot read, and one without a length, as answers in chunks are.
fn with_headers_of_part(
    response: HttpResponse,
    asked: Option<Asked>,
) -> Result<HttpResponse, HttpError> {
    let (mut parts, body) = response.into_parts();
    let unsound = || HttpError::new(HttpErrorKind::Unknown, UnsoundRange);
    let said = ContentRange::of(&parts.headers).ok_or_else(unsound)?;
    let answered = asked.and_then(|asked| HeaderValue::from_str(&asked.answered()).ok());
    let mut headers = HeaderMap::new();
    if let Some(etag) = parts.headers.remove(header::ETAG) {
        headers.insert(header::ETAG, etag);
    }
    headers.insert(header::CONTENT_RANGE, answered.ok_or_else(unsound)?);
    headers.insert(header::CONTENT_LENGTH, said.len().into());
    let epoch = HeaderValue::from_static("Thu, 01 Jan 1970 00:00:00 GMT");
    headers.insert(header::LAST_MODIFIED, epoch);
    parts.headers = headers;
    parts.extensions.insert(said);
    Ok(HttpResponse::from_parts(parts, body))
}
