//! Who a request is from and which session it is on, by the link that it came to (agentwire, *Operations*).

use super::{Relay, failure::Failure, link, room::Room};
use arena_engine::sessions::Participant;
use arena_schema::id::Partition;
use std::sync::Arc;

/// A session that is open.
#[derive(Clone)]
pub(super) struct Found {
    pub(super) room: Arc<Room>,
    pub(super) address: Arc<str>,
}

/// A participant of it, as it stood when it was looked for.
pub(super) struct Caller {
    pub(super) number: u32,
    pub(super) known: Participant,
}

impl Relay {
    /// The session with this address, as far as any caller has brought it.
    ///
    /// # Errors
    /// 404, or 503 where this gateway is behind.
    pub(super) async fn session(&self, address: &str) -> Result<Found, Failure> {
        let absent = || Failure::absent("session");
        let partition = link::partition_of(address).ok_or_else(absent)?;
        let part = self.parts.get(partition).ok_or_else(absent)?;
        self.catch_up(partition).await?;
        let key = part.handle.state().sessions().by_address(&link::hash(address)).ok_or_else(absent)?;
        let room = self.hub.room(partition, key).ok_or_else(absent)?;
        self.name_everyone(&room).await?;
        Ok(Found { room, address: address.into() })
    }

    /// Waits until the state has what any caller wrote before, and the hub has what the state has.
    async fn catch_up(&self, partition: Partition) -> Result<(), Failure> {
        if !self.parts.caught_up(|one| one == partition, super::READ_WAIT).await {
            return Err(Failure::busy("the relay is behind its journal"));
        }
        self.is_at(partition).await
    }

    /// Waits until the hub has what the state has.
    pub(super) async fn is_at(&self, partition: Partition) -> Result<(), Failure> {
        match self.parts.get(partition) {
            Some(part) if self.hub.is_at(part, super::READ_WAIT).await => Ok(()),
            _ => Err(Failure::busy("the relay is behind its journal")),
        }
    }

    /// After a start the names are looked up when somebody first asks for the session.
    async fn name_everyone(&self, room: &Room) -> Result<(), Failure> {
        if room.is_named() {
            return Ok(());
        }
        let (partition, key, id) = (room.partition, room.key, room.id);
        let people =
            self.read_views(partition, move |views| views.session_people(partition, key, id)).await?;
        let named = people
            .into_iter()
            .filter_map(|person| Some((person.number, person.name?.into(), person.account.map(Into::into))));
        room.set_names(named);
        Ok(())
    }

    /// The participant whose link has this secret, in or not.
    ///
    /// # Errors
    /// 403 where it is nobody's, 404 where the session ended meanwhile.
    pub(super) fn holder(&self, found: &Found, secret: &str) -> Result<Caller, Failure> {
        let part = self.parts.get(found.room.partition).ok_or_else(|| Failure::absent("session"))?;
        let state = part.handle.state();
        let session = state.sessions().get(found.room.key).ok_or_else(|| Failure::absent("session"))?;
        let (number, known) =
            session.participant_by_secret(&link::hash(secret)).ok_or_else(Failure::not_in)?;
        Ok(Caller { number, known: known.clone() })
    }

    /// The same, where it must be in.
    ///
    /// # Errors
    /// As [`Relay::holder`], and 403 where it left.
    pub(super) fn caller(&self, found: &Found, secret: &str) -> Result<Caller, Failure> {
        self.holder(found, secret)
            .and_then(|caller| if caller.known.is_in() { Ok(caller) } else { Err(Failure::not_in()) })
    }
}
