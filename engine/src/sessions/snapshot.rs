//! The open sessions in a snapshot, by their places. What finds them, and who is in, is made anew; where one stands on the agenda is
//! the agenda's to say.

use super::{
    join::PARTICIPANTS_MAX,
    state::{Left, Participant, Question, Session, Sessions, Standing},
};
use crate::{agenda::Claims, producers::Producers, slots::Slots, snapshot::Misfit};
use arena_schema::{
    LogTime,
    codec::{Values, encode},
    id::{ProducerId, SessionKey},
};
use std::collections::{BTreeMap, BTreeSet};

const PARTICIPANT_BYTES_MIN: usize = 90;
const GATEWAY_BYTES_MIN: usize = 1;

impl Sessions {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let Self { open, ids: _, addresses: _ } = self;
        open.encode(out, Session::encode);
    }

    pub(crate) fn decode(
        values: &mut Values<'_>,
        claims: &mut Claims,
        producers: &Producers,
    ) -> Result<Self, Misfit> {
        let open = Slots::decode(values, |slot, generation, values| {
            Session::decode(values, claims, producers, SessionKey { slot, generation })
        })?;
        let (mut ids, mut addresses) = (BTreeMap::new(), BTreeMap::new());
        for (slot, generation, held) in open.iter() {
            let key = SessionKey { slot, generation };
            if ids.insert(held.id, key).is_some() || addresses.insert(held.address, key).is_some() {
                return Err(Misfit("two sessions have one id, or one address"));
            }
        }
        Ok(Self { open, ids, addresses })
    }
}

impl Session {
    fn encode(&self, out: &mut Vec<u8>) {
        let Self {
            id,
            address,
            owned,
            entries,
            participants,
            names: _,
            secrets: _,
            numbered,
            present: _,
            received,
            waiting,
            attempts,
            standing,
        } = self;
        encode(&(id, address, owned, entries, numbered, received, attempts), out);
        encode(&(participants.len() as u32), out);
        for (number, participant) in participants {
            encode(number, out);
            participant.encode(out);
        }
        encode(&(waiting.len() as u32), out);
        for by in waiting {
            encode(by, out);
        }
        match standing {
            Standing::Due(_) => encode(&1u8, out),
            Standing::Received => encode(&2u8, out),
            Standing::Asked(Question { home, attempt }) => encode(&(3u8, home, attempt), out),
        }
    }

    fn decode(
        values: &mut Values<'_>,
        claims: &mut Claims,
        producers: &Producers,
        key: SessionKey,
    ) -> Result<Self, Misfit> {
        let (id, address, owned, entries, numbered, received, attempts) = values.take()?;
        let (mut participants, mut names, mut secrets) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let mut present = 0;
        for _ in 0..values.count(PARTICIPANT_BYTES_MIN)? {
            let number = values.take()?;
            let known = Participant::decode(values, entries)?;
            let again =
                names.insert(known.name, number).is_some() | secrets.insert(known.secret, number).is_some();
            present += u32::from(known.is_in());
            if again || number == 0 || number > numbered || participants.insert(number, known).is_some() {
                return Err(Misfit("a participant comes twice, or before it joined"));
            }
        }
        if participants.len() > PARTICIPANTS_MAX {
            return Err(Misfit("more have joined than may"));
        }
        let mut waiting = BTreeSet::new();
        for _ in 0..values.count(GATEWAY_BYTES_MIN)? {
            let by: ProducerId = values.take()?;
            if !producers.is_live(by) || !waiting.insert(by) {
                return Err(Misfit("a receive waits at a gateway that is gone, or twice"));
            }
        }
        let standing = match (values.take::<u8>()?, claims.session(key)) {
            (1, Some(entry)) => Standing::Due(entry),
            (2, None) => Standing::Received,
            (3, None) => Standing::Asked(Question { home: values.take()?, attempt: values.take()? }),
            _ => return Err(Misfit("a session and the agenda part")),
        };
        let session = Self {
            id,
            address,
            owned,
            entries,
            participants,
            names,
            secrets,
            numbered,
            present,
            received,
            waiting,
            attempts,
            standing,
        };
        session.check(producers)?;
        Ok(session)
    }

    /// What is true of every session behind a record.
    fn check(&self, producers: &Producers) -> Result<(), Misfit> {
        if self.participants.is_empty() != (self.entries == 0) || self.received && self.present == 0 {
            return Err(Misfit("a log has entries of nobody, or nobody received"));
        }
        if self.waiting.is_empty() == matches!(self.standing, Standing::Received)
            || !self.waiting.is_empty() && !self.received
        {
            return Err(Misfit("somebody receives, or nobody does"));
        }
        if !self.owned && self.present == 0 && self.entries > 0 {
            return Err(Misfit("everyone left, and it did not end"));
        }
        match self.question() {
            None => Ok(()),
            Some(Question { home, attempt }) => {
                let there = if home == ProducerId::NONE {
                    producers.live_count() == 0
                } else {
                    producers.is_live(home)
                };
                if self.owned && there && attempt > 0 && attempt == self.attempts {
                    Ok(())
                } else {
                    Err(Misfit("what is asked is nobody's to ask"))
                }
            }
        }
    }
}

impl Participant {
    fn encode(&self, out: &mut Vec<u8>) {
        let Self { name, name_text, secret, account, read, joined_n, joined_at, left } = self;
        encode(&(name, name_text, secret, account, read, joined_n, joined_at), out);
        encode(&left.map(|Left { n, at }| (n, at)), out);
    }

    fn decode(values: &mut Values<'_>, entries: u64) -> Result<Self, Misfit> {
        let (name, name_text, secret, account, read, joined_n, joined_at) = values.take()?;
        let left = values.take::<Option<(u64, LogTime)>>()?.map(|(n, at)| Left { n, at });
        let in_order = left.is_none_or(|left| joined_n < left.n && left.n <= entries && joined_at <= left.at);
        if read > entries || joined_n == 0 || joined_n > entries || !in_order {
            return Err(Misfit("a participant is ahead of the log"));
        }
        Ok(Self { name, name_text, secret, account, read, joined_n, joined_at, left })
    }
}
