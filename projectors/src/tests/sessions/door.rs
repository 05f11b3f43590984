//! What a door of agentwire submits: sessions, who joins them, and what they send, all of it sealed under the session's key.

use crate::tests::{Arena, partitions::network::Network};
use arena_journal::{SealedText, Submission, TextOwner, Texts, vault::random};
use arena_schema::{
    Command, Commitment, Event, SecretHash,
    command::sessions::{
        Account, CreateSession, GoneBecause, JoinSession, LeaveSession, Payload, RejoinSession, SendEntry,
        SetAccount, TakeBack,
    },
    id::{AccountTag, NameTag, ObjectId, Partition, SessionId, SessionKey},
};

/// A session as its door knows it.
#[derive(Debug, Clone, Copy)]
pub(in crate::tests) struct Session {
    pub(in crate::tests) key: SessionKey,
    pub(in crate::tests) id: SessionId,
}

impl Session {
    pub(in crate::tests) fn owner(self) -> TextOwner {
        TextOwner::Session(self.id)
    }
}

pub(in crate::tests) trait Door {
    fn texts(&self) -> Texts;

    /// One record of one command, which is not refused.
    fn submit(&mut self, partition: Partition, command: Command, texts: Vec<SealedText>) -> Vec<Event>;

    fn create(&mut self, partition: u16, owned: bool) -> Session {
        let partition = Partition(partition);
        let id = SessionId::from_random(partition, random());
        self.texts().create_owner(TextOwner::Session(id)).unwrap();
        let command = CreateSession { id, address: SecretHash(random()), owned };
        let events = self.submit(partition, command.into(), Vec::new());
        let created = events.iter().find_map(|event| match event {
            Event::SessionCreated(created) => Some(created.session),
            _ => None,
        });
        Session { key: created.expect("it was created"), id }
    }

    /// Joins, and answers with the participant's number.
    fn join(&mut self, session: Session, name: &str, account: Option<&str>) -> u32 {
        self.join_or_take(session, name, account, None)
    }

    /// Takes a name back that is the account's own.
    fn take(&mut self, session: Session, name: &str, account: &str, gone: Option<GoneBecause>) -> u32 {
        self.join_or_take(session, name, Some(account), Some(TakeBack { gone }))
    }

    fn join_or_take(
        &mut self,
        session: Session,
        name: &str,
        account: Option<&str>,
        takes: Option<TakeBack>,
    ) -> u32 {
        let mut beside = Vec::new();
        let texts = self.texts();
        let tag = NameTag(texts.tag(session.owner(), "name", name).unwrap());
        let (name_text, sealed) = texts.seal(session.owner(), name).unwrap();
        beside.push(sealed);
        let account = seal_account(&texts, session, account, &mut beside);
        let secret = SecretHash(random());
        let command = JoinSession { session: session.key, name: tag, name_text, secret, account, takes };
        let events = self.submit(session.id.partition(), command.into(), beside);
        let joined = events.iter().find_map(|event| match event {
            Event::SessionJoined(joined) => Some(joined.participant),
            _ => None,
        });
        joined.expect("it joined")
    }

    fn rejoin(&mut self, session: Session, participant: u32, account: Option<&str>) {
        let mut beside = Vec::new();
        let account = seal_account(&self.texts(), session, account, &mut beside);
        let command = RejoinSession { session: session.key, participant, account, keeps_account: false };
        self.submit(session.id.partition(), command.into(), beside);
    }

    fn set_account(&mut self, session: Session, participant: u32, account: Option<&str>) {
        let mut beside = Vec::new();
        let account = seal_account(&self.texts(), session, account, &mut beside);
        self.submit(
            session.id.partition(),
            SetAccount { session: session.key, participant, account }.into(),
            beside,
        );
    }

    fn send(
        &mut self,
        session: Session,
        participant: u32,
        kind: &str,
        payload: &[u8],
        filename: Option<&str>,
    ) {
        let texts = self.texts();
        let (reference, sealed) = texts.seal_bytes(session.owner(), payload).unwrap();
        let payload =
            Payload { commitment: reference.commitment, size: u64::from(reference.size), object: None };
        self.send_payload(session, participant, (kind, filename), payload, vec![sealed]);
    }

    /// Sends a payload that is an object of its own.
    fn send_object(&mut self, session: Session, participant: u32, object: ObjectId, size: u64) -> Commitment {
        let commitment = Commitment(random());
        let payload = Payload { commitment, size, object: Some(object) };
        self.send_payload(session, participant, ("image/png", Some("plot.png")), payload, Vec::new());
        commitment
    }

    fn send_payload(
        &mut self,
        session: Session,
        participant: u32,
        (kind, filename): (&str, Option<&str>),
        payload: Payload,
        mut beside: Vec<SealedText>,
    ) {
        let texts = self.texts();
        let (kind, sealed) = texts.seal(session.owner(), kind).unwrap();
        beside.push(sealed);
        let filename = filename.map(|filename| {
            let (filename, sealed) = texts.seal(session.owner(), filename).unwrap();
            beside.push(sealed);
            filename
        });
        let command = SendEntry { session: session.key, participant, kind, payload, filename };
        self.submit(session.id.partition(), command.into(), beside);
    }

    fn leave(&mut self, session: Session, participant: u32) {
        self.submit(
            session.id.partition(),
            LeaveSession { session: session.key, participant }.into(),
            Vec::new(),
        );
    }
}

fn seal_account(
    texts: &Texts,
    session: Session,
    account: Option<&str>,
    beside: &mut Vec<SealedText>,
) -> Option<Account> {
    account.map(|account| {
        let tag = AccountTag(texts.tag(session.owner(), "account", account).unwrap());
        let (text, sealed) = texts.seal(session.owner(), account).unwrap();
        beside.push(sealed);
        Account { tag, text }
    })
}

impl Door for Network {
    fn texts(&self) -> Texts {
        self.texts.clone()
    }

    fn submit(&mut self, partition: Partition, command: Command, texts: Vec<SealedText>) -> Vec<Event> {
        self.by_gateway(partition.0, command, texts)
    }
}

impl Door for Arena {
    fn texts(&self) -> Texts {
        self.texts.clone()
    }

    fn submit(&mut self, partition: Partition, command: Command, texts: Vec<SealedText>) -> Vec<Event> {
        assert_eq!(partition, Partition(0), "this arena has one partition");
        let mut submission = Submission::new(command);
        submission.texts = texts;
        self.events(submission)
    }
}
