//! What stands between the client of object stores and the network: it turns refusals into errors
//! that keep what the server said about trying again.
//!
//! **Invariant:** of a refused request for a range no body is read.

use async_trait::async_trait;
use http::{StatusCode, header};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
    ReqwestConnector,
};

use crate::failure::Refused;

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
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let has_range = request.headers().contains_key(header::RANGE);
        let response = self.0.execute(request).await?;
        if !has_range || response.status() == StatusCode::PARTIAL_CONTENT {
            return Ok(response);
        }
        let refused = Refused::of(response.status(), response.headers());
        Err(HttpError::new(HttpErrorKind::Unknown, refused))
    }
}
