//! The words of sessions in scripts.
//!
//! ```text
//! a create s1 owned partition=1 address=s2        what is left out: open, partition 0, an address of its own
//! a join s1 luis account=luis takes=silent        takes: that the name is the account's own; takes=silent: its holder is gone
//! a rejoin s1 luis account=luis keeps
//! a send s1 luis size=70000 object file=9 type=25
//! a read s1 luis:3,anna@2:9
//! a leave s1 luis@2                               luis is who has the name now, luis@2 the second who came, @2 whoever that is
//! a touch s1 waiting
//! a answer s1 keep attempt=2
//! a account s1 luis account=luis:again             the same account, whose text is committed to anew
//! ```

use super::{Names, Words, padded, text};
use crate::{
    sessions::Session,
    testing::{Journal, show},
};
use arena_schema::{
    Command, Commitment, SecretHash, TextRef,
    command::sessions::{
        Account, AcknowledgeEntries, AnswerDeletion, CreateSession, DeletionAnswer, GoneBecause, JoinSession,
        LeaveSession, Payload, ReadPosition, RejoinSession, SendEntry, SetAccount, TakeBack, TouchSession,
    },
    id::{AccountTag, NameTag, ObjectId, Partition, SessionId, SessionKey},
};

/// The command of this verb, if it is one of the family.
pub(super) fn command(
    verb: &str,
    words: &mut Words<'_>,
    journal: &Journal,
    names: &Names,
) -> Option<Command> {
    if !["create", "join", "rejoin", "send", "read", "leave", "touch", "answer", "account"].contains(&verb) {
        return None;
    }
    let name = words.next();
    let session = names.session_key(name);
    Some(match verb {
        "create" => {
            let mut random = [0; 14];
            random[7..].copy_from_slice(&padded::<7>(name));
            let partition = Partition(words.number("partition").unwrap_or(0) as u16);
            let address = words.option("address").unwrap_or(name);
            CreateSession {
                id: SessionId::from_random(partition, random),
                address: SecretHash::of(address),
                owned: words.flag("owned"),
            }
            .into()
        }
        "join" => join(session, words),
        "rejoin" => RejoinSession {
            session,
            participant: participant(words.next(), session, journal),
            account: account(words),
            keeps_account: words.flag("keeps"),
        }
        .into(),
        "send" => {
            let participant = participant(words.next(), session, journal);
            let object = words.flag("object").then_some(ObjectId([0x0b; 16]));
            let size = words.number("size").unwrap_or(6);
            let payload = Payload { commitment: Commitment([7; 32]), size, object };
            let long = |long: u64| TextRef { size: long as u32, ..text("") };
            let kind = long(words.number("type").unwrap_or(10));
            SendEntry { session, participant, kind, payload, filename: words.number("file").map(long) }.into()
        }
        "read" => AcknowledgeEntries { session, reads: reads(words.next(), session, journal) }.into(),
        "leave" => LeaveSession { session, participant: participant(words.next(), session, journal) }.into(),
        "touch" => TouchSession { session, waiting: words.flag("waiting") }.into(),
        "answer" => {
            let answer = DeletionAnswer::from_name(words.next()).expect("an answer");
            let held = journal.state().sessions().get(session);
            let asked = held.and_then(Session::question).map_or(1, |asked| asked.attempt);
            let attempt = words.number("attempt").map_or(asked, |attempt| attempt as u32);
            AnswerDeletion { session, attempt, answer }.into()
        }
        _ => SetAccount {
            session,
            participant: participant(words.next(), session, journal),
            account: account(words),
        }
        .into(),
    })
}

fn join(session: SessionKey, words: &mut Words<'_>) -> Command {
    let name = words.next();
    let takes = words.option("takes").map(|why| TakeBack { gone: GoneBecause::from_name(why) });
    JoinSession {
        session,
        name: NameTag(padded(name)),
        name_text: text(name),
        secret: SecretHash::of(words.option("secret").unwrap_or(&format!("link of {name}"))),
        account: account(words),
        takes: takes.or(words.flag("takes").then_some(TakeBack { gone: None })),
    }
    .into()
}

fn account(words: &mut Words<'_>) -> Option<Account> {
    words.option("account").map(|name| {
        let tag = name.split(':').next().unwrap_or_default();
        Account { tag: AccountTag(padded(tag)), text: text(name) }
    })
}

fn participant(word: &str, session: SessionKey, journal: &Journal) -> u32 {
    if let Some((_, number)) = word.split_once('@') {
        return number.parse().expect("a participant's number");
    }
    let held = journal.state().sessions().get(session);
    let known = held.and_then(|held| held.by_name(&NameTag(padded(word))));
    known.map_or(999, |(number, _)| number)
}

fn reads(word: &str, session: SessionKey, journal: &Journal) -> Vec<ReadPosition> {
    word.split(',')
        .map(|one| {
            let (who, read) = one.rsplit_once(':').expect("who, and up to where");
            let participant = participant(who, session, journal);
            ReadPosition { participant, read: read.parse().expect("an entry's number") }
        })
        .collect()
}

impl Names {
    fn session_key(&self, name: &str) -> SessionKey {
        self.sessions.get(name).copied().unwrap_or(SessionKey { slot: 999, generation: 1 })
    }

    pub(in crate::testing) fn session(&self, key: SessionKey) -> String {
        let named = self.sessions.iter().find(|(_, known)| **known == key);
        named.map_or_else(|| format!("{}@{}", key.slot, key.generation), |(name, _)| name.clone())
    }

    /// A participant of a session, by its name and number.
    pub(in crate::testing) fn participant(&self, session: SessionKey, number: u32) -> String {
        let name = self.participants.get(&(session, number)).map_or("", String::as_str);
        format!("{name}@{number}")
    }

    pub(super) fn learn_session(&mut self, event: &arena_schema::Event) {
        match event {
            arena_schema::Event::SessionCreated(e) => {
                self.sessions.insert(show::session_name(&e.id), e.session);
            }
            arena_schema::Event::SessionJoined(e) => {
                self.participants.insert((e.session, e.participant), show::name_of(&e.name.0));
            }
            _ => {}
        }
    }
}
