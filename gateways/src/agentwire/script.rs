//! The client script, with this relay's address filled in (agentwire: `curl -so agentwire <relay>/agentwire`).

use super::{Relay, failure::Failure};
use axum::{
    body::Body,
    http::{HeaderValue, Method, Response, header},
};

/// Where it is.
pub(super) const PATH: &str = "/agentwire";
/// The script as it lies here.
const SCRIPT: &str = include_str!("client.sh");
/// What stands in it in place of the relay's address.
const ADDRESS: &str = "@RELAY@";

impl Relay {
    /// The script.
    ///
    /// # Errors
    /// 404 for another method than GET.
    pub(super) fn script(&self, method: &Method) -> Result<Response<Body>, Failure> {
        if *method != Method::GET {
            return Err(Failure::absent("operation"));
        }
        let mut response = Response::new(Body::from(SCRIPT.replacen(ADDRESS, &self.public_url, 1)));
        let kind = HeaderValue::from_static("text/x-shellscript; charset=utf-8");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        Ok(response)
    }
}
