//! Noise of sessions: few ids, addresses, names and secrets, so that they meet; and what hardly any door would send.

use super::{Random, noise};
use crate::{RULES_SESSIONS, testing::Journal};
use arena_schema::{
    Command, Commitment, Event, Rejection, SecretHash, TextRef,
    command::sessions::{
        Account, AcknowledgeEntries, AnswerDeletion, CreateSession, DeletionAnswer, GoneBecause, JoinSession,
        LeaveSession, Payload, ReadPosition, RejoinSession, SendEntry, SetAccount, TakeBack, TouchSession,
    },
    id::{AccountTag, NameTag, ObjectId, Partition, ProducerId, SessionId, SessionKey},
};

impl Random {
    pub(super) fn session_command(&mut self, journal: &Journal) -> Command {
        let state = journal.state();
        let open: Vec<_> = state.sessions().open().iter().collect();
        let picked = open.get(self.below(open.len().max(1) as u32) as usize).filter(|_| !self.one_in(25));
        let (session, last, came) = match picked {
            Some((slot, generation, held)) => {
                let session = SessionKey { slot: *slot, generation: *generation };
                (session, held.entries, held.participants().last().map_or(1, |(number, _)| number))
            }
            None => (SessionKey { slot: self.below(5), generation: self.below(4) }, 3, 3),
        };
        let participant = if self.one_in(8) { self.below(5) } else { 1 + self.below(came) };
        match self.below(40) {
            0..5 => CreateSession {
                id: SessionId::from_random(
                    if self.one_in(20) { Partition(1) } else { state.partition() },
                    [self.below(40) as u8; 14],
                ),
                address: SecretHash([self.below(40) as u8; 32]),
                owned: self.one_in(2),
            }
            .into(),
            5..12 => self.join(session),
            12..16 => {
                let (account, keeps_account) = (self.account(), self.one_in(3));
                RejoinSession { session, participant, account, keeps_account }.into()
            }
            16..22 => {
                let size = self.of(&[0, 6, 65_536, 65_537, 10_000_000, 10_000_001, u64::MAX]);
                let is_object = (size > 65_536) != self.one_in(12);
                let object = is_object.then_some(ObjectId([self.below(9) as u8; 16]));
                let name = |size| TextRef { commitment: Commitment([2; 32]), size };
                let kind = name(self.of(&[10, 10, 10, 256, 257, 0]));
                let filename = if self.one_in(2) { Some(name(self.of(&[1, 256, 257]))) } else { None };
                let payload = Payload { commitment: Commitment([3; 32]), size, object };
                SendEntry { session, participant, kind, payload, filename }.into()
            }
            22..26 => {
                let read = |random: &mut Self| ReadPosition {
                    participant: random.below(came + 2),
                    read: if random.one_in(9) { random.next() } else { random.next() % (last + 2) },
                };
                let count = if self.one_in(60) { 4_097 } else { self.below(5) };
                AcknowledgeEntries { session, reads: (0..count).map(|_| read(self)).collect() }.into()
            }
            26..30 => LeaveSession { session, participant }.into(),
            30..33 => TouchSession { session, waiting: self.one_in(2) }.into(),
            33..37 => self.answer(journal, session),
            _ => SetAccount { session, participant, account: self.account() }.into(),
        }
    }

    fn account(&mut self) -> Option<Account> {
        let tag = AccountTag([self.below(3) as u8; 16]);
        let text = TextRef { commitment: Commitment([self.below(200) as u8; 32]), size: 5 };
        self.one_in(2).then_some(Account { tag, text })
    }

    fn join(&mut self, session: SessionKey) -> Command {
        let because = if self.one_in(3) { Some(self.of(GoneBecause::ALL)) } else { None };
        JoinSession {
            session,
            name: NameTag([self.below(5) as u8; 16]),
            name_text: TextRef { commitment: Commitment([1; 32]), size: 4 },
            secret: SecretHash([self.below(200) as u8; 32]),
            account: self.account(),
            takes: if self.one_in(2) { Some(TakeBack { gone: because }) } else { None },
        }
        .into()
    }

    fn answer(&mut self, journal: &Journal, session: SessionKey) -> Command {
        let asked: Vec<_> = journal.state().sessions().questions().collect();
        let answer = self.of(DeletionAnswer::ALL);
        match asked.get(self.below(asked.len().max(1) as u32) as usize) {
            Some((session, _, asked)) => {
                let attempt = asked.attempt + u32::from(self.one_in(6));
                AnswerDeletion { session: *session, attempt, answer }.into()
            }
            None => AnswerDeletion { session, attempt: self.below(3), answer }.into(),
        }
    }

    /// Who is to answer, as a gateway would know.
    pub(super) fn asked_at(journal: &Journal, command: &AnswerDeletion) -> Option<ProducerId> {
        let held = journal.state().sessions().get(command.session)?;
        held.question().map(|asked| asked.home)
    }
}

#[test]
fn under_the_rules_of_sessions_they_agree_too() {
    let kinds = noise(Partition(0), RULES_SESSIONS, 12_000);
    let other = noise(Partition(2), RULES_SESSIONS, 3_000);
    let events = Event::KINDS.iter().filter(|(kind, _)| kind >> 8 == 7).map(|(_, name)| *name);
    let rejections = Rejection::ALL.iter().filter(|one| one.code() >= 700).map(|one| one.as_str());
    // A history that never came to these would prove nothing of them.
    for name in events.chain(rejections) {
        assert!(kinds.get(name).is_some_and(|times| *times >= 5), "hardly ever came to {name}: {kinds:?}");
        assert!(other.contains_key(name), "never came to {name}: {other:?}");
    }
}
