//! Sessions beside the matches: each lives where its id says, and is asked about by a gateway that partition 0 sent.

use super::History;
use crate::testing::Body;
use arena_schema::{
    Command, Commitment, SecretHash, TextRef,
    command::sessions::{
        AnswerDeletion, CreateSession, DeletionAnswer, JoinSession, LeaveSession, RejoinSession, TouchSession,
    },
    id::{NameTag, Partition, ProducerId, SessionId, SessionKey},
};

impl History {
    pub(super) fn talks(&mut self, at: usize) {
        let asked: Vec<_> = self
            .network
            .state(at)
            .sessions()
            .questions()
            .map(|(session, _, asked)| (session, asked.attempt, asked.home))
            .collect();
        if !asked.is_empty() && self.random.one_in(3) {
            let (session, attempt, home) = self.random.of(&asked);
            let answer = self.random.of(DeletionAnswer::ALL);
            let command: Command = AnswerDeletion { session, attempt, answer }.into();
            if home == ProducerId::NONE || self.random.one_in(8) {
                self.by_any(at, command);
            } else {
                let head = self.network.by(at, home);
                self.network.append(at, &[(head, Body::Known(command))]);
            }
            return;
        }
        let open: Vec<_> = self
            .network
            .state(at)
            .sessions()
            .open()
            .iter()
            .map(|(slot, generation, held)| (SessionKey { slot, generation }, held.participants().count()))
            .collect();
        if open.len() < 4 || self.random.one_in(12) {
            // Now and then in a partition that is not this one.
            let partition = Partition(if self.random.one_in(9) { 99 } else { at as u16 });
            let drawn = std::array::from_fn(|_| self.random.next() as u8);
            let id = SessionId::from_random(partition, drawn);
            let address = SecretHash(std::array::from_fn(|_| self.random.next() as u8));
            self.by_any(at, CreateSession { id, address, owned: self.random.0.is_multiple_of(3) });
            return;
        }
        let (session, joined) = self.random.of(&open);
        let participant = 1 + self.random.below(joined as u32 + 1);
        let command: Command = match self.random.below(10) {
            0..3 => JoinSession {
                session,
                name: NameTag([self.random.below(6) as u8; 16]),
                name_text: TextRef { commitment: Commitment([1; 32]), size: 4 },
                secret: SecretHash(std::array::from_fn(|_| self.random.next() as u8)),
                account: None,
                takes: None,
            }
            .into(),
            3..5 => TouchSession { session, waiting: self.random.one_in(2) }.into(),
            5 => RejoinSession { session, participant, account: None, keeps_account: true }.into(),
            _ => LeaveSession { session, participant }.into(),
        };
        self.by_any(at, command);
    }
}
