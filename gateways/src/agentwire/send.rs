//! Sending (agentwire, *Send*): what becomes of a body, its type and its file name.

use super::{Relay, access::Token, entry::PLAIN_TYPE, failure::Failure, params::Params, reply};
use arena_journal::{SealedText, Submission, TextOwner};
use arena_projectors::{JOIN_TYPE, LEAVE_TYPE};
use arena_schema::{
    Event,
    command::sessions::{ENTRY_NAME_BYTES_MAX, PAYLOAD_INLINE_BYTES_MAX, Payload, SendEntry},
};
use axum::{
    body::{Body, BodyDataStream},
    extract::Request,
    http::{HeaderMap, Response, header},
};
use futures::StreamExt;
use std::time::Duration;

/// How long a body may be silent.
const SILENCE_MAX: Duration = Duration::from_secs(30);
/// How long a body may take as a whole.
const BODY_MAX: Duration = Duration::from_secs(600);
/// How long, and how much, of a body that nobody wants is read, so that its sender comes to read why (CHOICES-agentwire 25).
const DRAINED_FOR: Duration = Duration::from_secs(10);
const DRAINED_BYTES_MAX: usize = 32_000_000;

impl Relay {
    /// A participant sends.
    ///
    /// # Errors
    /// 404, 403, 400, 503, 413, 408.
    pub(super) async fn send(
        &self,
        address: &str,
        secret: &str,
        query: Option<&str>,
        request: Request,
    ) -> Result<Response<Body>, Failure> {
        let (head, body) = request.into_parts();
        // Whoever waits to be asked for its body has not sent any.
        let waits = head.headers.contains_key(header::EXPECT);
        let mut body = body.into_data_stream();
        let outcome = self.append(address, secret, query, &head.headers, &mut body).await;
        if outcome.is_err() && !waits {
            drain(&mut body).await;
        }
        outcome.map(reply::number)
    }

    async fn append(
        &self,
        address: &str,
        secret: &str,
        query: Option<&str>,
        headers: &HeaderMap,
        body: &mut BodyDataStream,
    ) -> Result<u64, Failure> {
        let found = self.session(address).await?;
        let caller = self.caller(&found, secret)?;
        let filename = Params::parse(query, &["filename"])?.filename;
        let kind = kind(headers)?;
        self.admit(&found, caller.number, Token::of(headers).as_ref()).await?;
        let owner = TextOwner::Session(found.room.id);
        let mut beside = Vec::new();
        let payload = self.take(owner, headers, body, &mut beside).await?;
        let mut seal = |text: &str| {
            let (reference, sealed) = self.texts.seal(owner, text).map_err(Failure::internal)?;
            beside.push(sealed);
            Ok(reference)
        };
        let kind = seal(&kind)?;
        let filename = filename.as_deref().map(seal).transpose()?;
        let command =
            SendEntry { session: found.room.key, participant: caller.number, kind, payload, filename };
        let submission = beside.into_iter().fold(Submission::new(command), Submission::with_text);
        let events = self.submit(found.room.partition, submission).await?;
        let sent = events.iter().find_map(|event| match event {
            Event::EntrySent(sent) => Some(sent.n),
            _ => None,
        });
        sent.ok_or_else(|| Failure::internal("what was sent has no entry"))
    }

    /// Reads a body: a short one rides beside its record, a long one goes to the store of payloads as it comes.
    async fn take(
        &self,
        owner: TextOwner,
        headers: &HeaderMap,
        body: &mut BodyDataStream,
        beside: &mut Vec<SealedText>,
    ) -> Result<Payload, Failure> {
        let most = self.settings.payload_bytes_max;
        let length =
            headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
        if length.is_some_and(|length| length > most) {
            return Err(Failure::large(most));
        }
        let whole = async {
            let mut bytes = Vec::new();
            let mut writing = None;
            let mut size = 0;
            while let Some(part) = next(body).await? {
                size += part.len() as u64;
                if size > most {
                    return Err(Failure::large(most));
                }
                if size <= PAYLOAD_INLINE_BYTES_MAX {
                    bytes.extend_from_slice(&part);
                    continue;
                }
                let writing = match &mut writing {
                    Some(writing) => writing,
                    None => {
                        let mut begun = self.payloads.begin(owner).await.map_err(unwritten)?;
                        begun.write(&std::mem::take(&mut bytes)).await.map_err(unwritten)?;
                        writing.insert(begun)
                    }
                };
                writing.write(&part).await.map_err(unwritten)?;
            }
            let Some(writing) = writing else {
                let (reference, sealed) = self.texts.seal_bytes(owner, &bytes).map_err(Failure::internal)?;
                beside.push(sealed);
                return Ok(Payload { commitment: reference.commitment, size, object: None });
            };
            let stored = writing.finish().await.map_err(unwritten)?;
            Ok(Payload { commitment: stored.commitment, size: stored.size, object: Some(stored.object) })
        };
        tokio::time::timeout(BODY_MAX, whole).await.unwrap_or_else(|_| Err(Failure::slow()))
    }
}

/// The next part of a body; none at its end.
async fn next(body: &mut BodyDataStream) -> Result<Option<bytes::Bytes>, Failure> {
    match tokio::time::timeout(SILENCE_MAX, body.next()).await {
        Ok(Some(Ok(part))) => Ok(Some(part)),
        Ok(Some(Err(_))) => Err(Failure::malformed("the payload was cut off on its way")),
        Ok(None) => Ok(None),
        Err(_) => Err(Failure::slow()),
    }
}

async fn drain(body: &mut BodyDataStream) {
    let read = async {
        let mut drained = 0;
        while let Some(Ok(part)) = body.next().await {
            drained += part.len();
            if drained > DRAINED_BYTES_MAX {
                break;
            }
        }
    };
    // Who still sends then is cut off.
    let _ = tokio::time::timeout(DRAINED_FOR, read).await;
}

fn unwritten(error: arena_journal::PayloadError) -> Failure {
    match error {
        arena_journal::PayloadError::Gone => Failure::absent("session"),
        arena_journal::PayloadError::Full { .. } => {
            tracing::error!(%error, "a payload was refused");
            Failure::busy_for("the relay has no room for this payload", 60)
        }
        error => Failure::internal(error),
    }
}

/// The payload's type as it was given; curl's own default counts as none, and those of joining and leaving are the relay's own.
fn kind(headers: &HeaderMap) -> Result<String, Failure> {
    let Some(given) = headers.get(header::CONTENT_TYPE) else { return Ok(PLAIN_TYPE.to_owned()) };
    let kind = given.to_str().map_err(|_| Failure::malformed("the Content-Type is not ASCII"))?.trim();
    if kind.len() > ENTRY_NAME_BYTES_MAX as usize {
        return Err(Failure::malformed(format!(
            "the Content-Type is longer than {ENTRY_NAME_BYTES_MAX} bytes"
        )));
    }
    let essence = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match essence.as_str() {
        JOIN_TYPE | LEAVE_TYPE => {
            Err(Failure::malformed("this type is the relay's own, for joining and leaving"))
        }
        "application/x-www-form-urlencoded" => Ok(PLAIN_TYPE.to_owned()),
        _ if kind.is_empty() => Ok(PLAIN_TYPE.to_owned()),
        _ => Ok(kind.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn of(given: &[u8]) -> Option<String> {
        let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_bytes(given).unwrap())]);
        kind(&headers).ok()
    }

    #[test]
    fn the_type_is_as_it_was_given_or_plain_text() {
        assert_eq!(kind(&HeaderMap::new()).unwrap(), PLAIN_TYPE);
        assert_eq!(of(b"Text/HTML; x=Y").as_deref(), Some("Text/HTML; x=Y"));
        for none in
            ["", "application/x-www-form-urlencoded", "Application/X-WWW-Form-URLencoded; charset=utf-8"]
        {
            assert_eq!(of(none.as_bytes()).as_deref(), Some(PLAIN_TYPE), "{none:?}");
        }
        let long = "x".repeat(257);
        for bad in
            ["application/vnd.agentwire.join", "Application/VND.agentwire.LEAVE; a=b", "text/pläin", &long]
        {
            assert_eq!(of(bad.as_bytes()), None, "{bad}");
        }
    }
}
