//! What stands between the client of object stores and the network.
//!
//! In: requests for ranges. Out: answers with what the client needs of their headers, and refusals
//! as errors that keep what the server said about trying again.
//! **Invariant:** of a refused request for a range no body is read; the range that an answer names
//! is within the length that it names. Spec: RFC 9110, sections 8.4, 12.5.3 and 14.4.

use async_trait::async_trait;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
    ReqwestConnector,
};

use crate::failure::{Refused, UnsoundRange};

/// Makes clients that know refusals.
#[derive(Debug, Default)]
pub(crate) struct Connector;

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let inner = ReqwestConnector::default().connect(options)?;
        Ok(HttpClient::new(Service(inner)))
    }
}

#[derive(Debug)]
struct Service(HttpClient);

#[async_trait]
impl HttpService for Service {
    async fn call(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let has_range = request.headers().contains_key(header::RANGE);
        if has_range {
            // ranges are those of the object as it is stored
            let as_stored = HeaderValue::from_static("identity");
            let headers = request.headers_mut();
            headers.insert(header::ACCEPT_ENCODING, as_stored);
        }
        let response = self.0.execute(request).await?;
        if !has_range {
            return Ok(response);
        }
        if response.status() == StatusCode::PARTIAL_CONTENT {
            return with_headers_of_part(response);
        }
        let refused = Refused::of(response.status(), response.headers());
        Err(HttpError::new(HttpErrorKind::Unknown, refused))
    }
}

/// Leaves of an answer's headers what says which part it is. The client refuses an answer for a
/// date or a name that it cannot read, and one without a length, as answers in chunks are.
fn with_headers_of_part(response: HttpResponse) -> Result<HttpResponse, HttpError> {
    let (mut parts, body) = response.into_parts();
    let range = parts.headers.get(header::CONTENT_RANGE);
    let len = range.and_then(|range| length_of(range.to_str().ok()?));
    let Some(len) = len else {
        return Err(HttpError::new(HttpErrorKind::Unknown, UnsoundRange));
    };
    let mut headers = HeaderMap::new();
    for name in [header::ETAG, header::CONTENT_RANGE] {
        if let Some(value) = parts.headers.remove(&name) {
            headers.insert(name, value);
        }
    }
    headers.insert(header::CONTENT_LENGTH, len.into());
    let epoch = HeaderValue::from_static("Thu, 01 Jan 1970 00:00:00 GMT");
    headers.insert(header::LAST_MODIFIED, epoch);
    parts.headers = headers;
    Ok(HttpResponse::from_parts(parts, body))
}

/// Returns the number of bytes of a range, `bytes FIRST-LAST/TOTAL`; `None` unless it is within the
/// total.
fn length_of(range: &str) -> Option<u64> {
    let (range, total) = range.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let number = |text: &str| text.parse::<u64>().ok();
    let (first, last, total) = (number(first)?, number(last)?, number(total)?);
    (first <= last && last < total).then(|| last - first + 1)
}
