//! Fetching a payload (agentwire, *Fetch a payload*).

use super::{Relay, access::Token, failure::Failure, params::Params, session::Found};
use arena_journal::{PayloadError, TextOwner};
use arena_projectors::SessionPayload;
use axum::{
    body::Body,
    http::{HeaderValue, Response, header},
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What stands as it is in a file name's extended form (RFC 8187, *attr-char*).
const ATTR_CHARS: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'!')
    .remove(b'#')
    .remove(b'$')
    .remove(b'&')
    .remove(b'+')
    .remove(b'-')
    .remove(b'.')
    .remove(b'^')
    .remove(b'_')
    .remove(b'`')
    .remove(b'|')
    .remove(b'~');

impl Relay {
    /// A participant fetches a payload.
    ///
    /// # Errors
    /// 404, 403, 400, 503.
    pub(super) async fn fetch(
        &self,
        address: &str,
        secret: &str,
        n: &str,
        query: Option<&str>,
        token: Option<&Token>,
    ) -> Result<Response<Body>, Failure> {
        let found = self.session(address).await?;
        let caller = self.caller(&found, secret)?;
        Params::parse(query, &[])?;
        self.admit(&found, caller.number, token).await?;
        self.payload(&found, n).await
    }

    /// Whoever reads without joining fetches one.
    ///
    /// # Errors
    /// 404, 400, 403, 503.
    pub(super) async fn fetch_read(
        &self,
        address: &str,
        n: &str,
        query: Option<&str>,
        token: Option<&Token>,
    ) -> Result<Response<Body>, Failure> {
        let found = self.session(address).await?;
        Params::parse(query, &[])?;
        self.admit_reader(&found, token).await?;
        self.payload(&found, n).await
    }

    async fn payload(&self, found: &Found, n: &str) -> Result<Response<Body>, Failure> {
        let absent = || Failure::absent("entry");
        let n: u64 = Some(n)
            .filter(|n| n.bytes().all(|byte| byte.is_ascii_digit()))
            .and_then(|n| n.parse().ok())
            .ok_or_else(absent)?;
        let (partition, key, id) = (found.room.partition, found.room.key, found.room.id);
        let read = self.read_views(partition, move |views| views.session_payload(partition, key, id, n));
        let payload = read.await?.ok_or_else(absent)?;
        let body = self.body(TextOwner::Session(id), &payload).await?;
        let mut response = Response::new(body);
        let headers = response.headers_mut();
        let kind = HeaderValue::from_str(&payload.kind).map_err(Failure::internal)?;
        headers.insert(header::CONTENT_TYPE, kind);
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(payload.size));
        if let Some(filename) = &payload.filename {
            let value = HeaderValue::from_str(&disposition(filename)).map_err(Failure::internal)?;
            headers.insert(header::CONTENT_DISPOSITION, value);
        }
        Ok(response)
    }

    async fn body(&self, owner: TextOwner, payload: &SessionPayload) -> Result<Body, Failure> {
        let gone = || Failure::absent("session");
        match (payload.object, payload.commitment) {
            (Some(object), Some(commitment)) => {
                let reading = self.payloads.read_committed(owner, object, commitment).await;
                reading.map(Body::from_stream).map_err(|why| match why {
                    PayloadError::Gone => gone(),
                    why => Failure::internal(why),
                })
            }
            // Where its key is destroyed the session is over.
            _ => payload.payload.clone().map(Body::from).ok_or_else(gone),
        }
    }
}

/// A file's name as RFC 6266 has it: one that needs it in its extended form too.
fn disposition(filename: &str) -> String {
    let plain = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '\\' | '%') || c == ' ';
    let ascii: String = filename.chars().map(|c| if plain(c) { c } else { '_' }).collect();
    if ascii == filename {
        return format!("attachment; filename=\"{ascii}\"");
    }
    let extended = utf8_percent_encode(filename, ATTR_CHARS);
    format!("attachment; filename=\"{ascii}\"; filename*=UTF-8''{extended}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_is_quoted_and_extended_where_it_must_be() {
        assert_eq!(disposition("two words.txt"), "attachment; filename=\"two words.txt\"");
        assert_eq!(
            disposition("a\"b\\c.txt"),
            "attachment; filename=\"a_b_c.txt\"; filename*=UTF-8''a%22b%5Cc.txt"
        );
        assert_eq!(disposition("图.png"), "attachment; filename=\"_.png\"; filename*=UTF-8''%E5%9B%BE.png");
        assert_eq!(disposition("a%41.png"), "attachment; filename=\"a_41.png\"; filename*=UTF-8''a%2541.png");
    }
}
