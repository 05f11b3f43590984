//! Creating a session (agentwire, *Create a session*). Its key is in the vault before its record is in the journal, and so is an
//! owned one's address, which the access service is asked about it by.

use super::{Relay, failure::Failure, limits::Client, link, params::Params, reply};
use arena_journal::{Submission, TextOwner, vault::random};
use arena_schema::{command::sessions::CreateSession, id::SessionId};
use axum::{body::Body, http::Response};

/// Under which name an owned session's address lies in the vault.
pub(super) fn address_name(id: SessionId) -> String {
    format!("session/{}/address", id.to_uuid())
}

impl Relay {
    /// Creates a session and answers its link.
    ///
    /// # Errors
    /// 400, or 503 where there is no room for one more.
    pub(super) async fn create(
        &self,
        query: Option<&str>,
        client: &Client,
    ) -> Result<Response<Body>, Failure> {
        let owned = Params::parse(query, &["owned"])?.owned;
        let partition = self.parts.draw(self.partitions);
        let id = SessionId::from_random(partition, random());
        let _creating = self.may_create(client, id)?;
        let address = link::draw_address(partition);
        let (texts, vault, kept) = (self.texts.clone(), self.vault.clone(), address.clone());
        let keys = tokio::task::spawn_blocking(move || {
            texts.create_owner(TextOwner::Session(id)).map_err(Failure::internal)?;
            if owned {
                vault.put(&address_name(id), kept.as_bytes()).map_err(Failure::internal)?;
            }
            Ok(())
        });
        keys.await.map_err(Failure::internal)??;
        let command = CreateSession { id, address: link::hash(&address), owned };
        // What it leaves in the vault where it is refused is swept.
        self.submit(partition, Submission::new(command)).await?;
        Ok(reply::line(self.link(&address)))
    }

    /// The link of a session.
    pub(super) fn link(&self, address: &str) -> String {
        format!("{}/v2/s/{address}", self.public_url)
    }
}
