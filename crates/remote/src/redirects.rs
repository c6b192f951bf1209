//! The target of a redirect, and the parts of a request that may be sent there.
//!
//! In: a request, and the answer's status and headers. Out: the next request. **Invariant:**
//! another origin (scheme, host and port) gets only the headers that select bytes: no credentials
//! in any header, and no body; after that, the request never regains them. No redirect leads from
//! `https` to `http`, and no server learns the origin of the redirect (`Referer`). Spec: RFC 9110,
//! section 15.4; RFC 6454, section 5.

use std::fmt;

use http::header::{ACCEPT, ACCEPT_ENCODING, HeaderName, IF_MATCH, IF_NONE_MATCH, LOCATION, RANGE};
use http::{HeaderMap, Method, StatusCode, header};
use object_store::client::HttpRequest;
use reqwest::Url;

/// Redirects that are followed for one request.
pub(crate) const MAX_REDIRECTS: usize = 10;

/// The headers that any server may see.
const PUBLIC: [HeaderName; 5] = [ACCEPT, ACCEPT_ENCODING, IF_MATCH, IF_NONE_MATCH, RANGE];

/// A redirect that is not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BadRedirect {
    Downgrade,
    NoUrl,
    TooMany,
}

impl fmt::Display for BadRedirect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Downgrade => "the server redirects from https to http, which is refused",
            Self::NoUrl => "the server redirects to something that is not a web URL",
            Self::TooMany => "too many redirects",
        })
    }
}

impl std::error::Error for BadRedirect {}

/// Returns the URL that an answer leads to; `None` if it is no redirect.
pub(crate) fn target(
    from: &Url,
    status: StatusCode,
    headers: &HeaderMap,
) -> Result<Option<Url>, BadRedirect> {
    let is_redirect = matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308);
    let Some(to) = headers.get(LOCATION).filter(|_| is_redirect) else {
        return Ok(None);
    };
    let to = to.to_str().ok().and_then(|to| from.join(to).ok());
    let to = to.filter(|to| ["http", "https"].contains(&to.scheme()));
    let to = to.ok_or(BadRedirect::NoUrl)?;
    if from.scheme() == "https" && to.scheme() == "http" {
        return Err(BadRedirect::Downgrade);
    }
    Ok(Some(to))
}

/// Removes what another origin may not see.
pub(crate) fn strip(headers: &mut HeaderMap) {
    let kept = PUBLIC.iter().filter_map(|name| {
        let value = headers.get(name)?;
        Some((name.clone(), value.clone()))
    });
    *headers = kept.collect();
}

/// Returns the request that an answer to this one leads to; `None` if the answer is the last one. A
/// request with a body is redirected only within its origin.
pub(crate) fn next(
    mut request: HttpRequest,
    status: StatusCode,
    headers: &HeaderMap,
) -> Result<Option<HttpRequest>, BadRedirect> {
    let from = Url::parse(&request.uri().to_string()).map_err(|_| BadRedirect::NoUrl)?;
    let Some(to) = target(&from, status, headers)? else {
        return Ok(None);
    };
    let is_own = from.origin() == to.origin();
    let reads = [Method::GET, Method::HEAD].contains(request.method());
    let repeats = is_own && [307, 308].contains(&status.as_u16());
    if !reads && !repeats {
        return Ok(None);
    }
    *request.uri_mut() = to.as_str().parse().map_err(|_| BadRedirect::NoUrl)?;
    request.headers_mut().remove(header::HOST);
    if !is_own {
        strip(request.headers_mut());
    }
    Ok(Some(request))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: Method) -> HttpRequest {
        http::Request::builder()
            .method(method)
            .uri("https://a.example/x?sig=SECRET")
            .header("authorization", "SECRET")
            .header("x-amz-security-token", "SECRET")
            .header("x-amz-server-side-encryption-customer-key", "SECRET")
            .header("x-ms-date", "SECRET")
            .header("x-goog-user-project", "SECRET")
            .header("cookie", "SECRET")
            .header("x-of-the-user", "SECRET")
            .header("host", "a.example")
            .header("range", "bytes=0-9")
            .header("if-match", "\"one\"")
            .body(Vec::new().into())
            .unwrap()
    }

    fn led(to: &str, method: Method, status: u16) -> Result<Option<HttpRequest>, BadRedirect> {
        let mut headers = HeaderMap::new();
        headers.insert(LOCATION, to.parse().unwrap());
        next(
            request(method),
            StatusCode::from_u16(status).unwrap(),
            &headers,
        )
    }

    #[test]
    fn another_origin_sees_no_secret() {
        for to in [
            "https://b.example/y",
            "//b.example/y",
            "https://a.example:444/y",
            "https://x.a.example/",
            "https://a.example.:443/",
        ] {
            let next = led(to, Method::GET, 307).unwrap().unwrap();
            assert!(!format!("{next:?}").contains("SECRET"), "{to}: {next:?}");
            assert_eq!(next.headers().len(), 2, "{to}: {next:?}");
        }
        for to in ["/y", "https://a.example/y", "https://A.example:443/y"] {
            let next = led(to, Method::GET, 302).unwrap().unwrap();
            assert_eq!(next.headers().len(), 9, "{to}: {next:?}");
            assert_eq!(next.uri().path(), "/y");
        }
    }

    #[test]
    fn refuses_downgrades_and_other_schemes() {
        for (to, expected) in [
            ("http://a.example/y", BadRedirect::Downgrade),
            ("file:///etc/passwd", BadRedirect::NoUrl),
            ("https://", BadRedirect::NoUrl),
        ] {
            assert_eq!(led(to, Method::GET, 302).unwrap_err(), expected, "{to}");
        }
        assert!(led("/y", Method::GET, 200).unwrap().is_none());
    }

    #[test]
    fn a_body_stays_in_its_origin() {
        let goes = |to, status| led(to, Method::PUT, status).unwrap().is_some();
        assert!(goes("/y", 307) && goes("/y", 308));
        assert!(!goes("/y", 301) && !goes("/y", 303));
        assert!(!goes("https://b.example/y", 307));
    }
}
