//! What is true of every session, whatever the script.

use crate::{Emitted, State, sessions::Standing};
use arena_schema::{
    Event,
    event::sessions::Vacancy,
    id::{ProducerId, SessionKey},
};
use std::collections::{BTreeMap, BTreeSet};

/// One log as its events tell it.
#[derive(Default)]
struct Log {
    owned: bool,
    last: u64,
    came: u32,
    present: BTreeSet<u32>,
    reads: BTreeMap<u32, u64>,
    asked: u32,
}

/// The open sessions as their events tell them: numbers without gaps, nobody in twice, the last one out ends it.
#[derive(Default)]
pub(in crate::testing) struct Logs(BTreeMap<SessionKey, Log>);

impl Logs {
    pub(in crate::testing) fn follow(&mut self, events: &[Emitted], state: &State) {
        for emitted in events {
            match &emitted.event {
                Event::SessionCreated(e) => {
                    let log = Log { owned: e.owned, ..Log::default() };
                    assert!(self.0.insert(e.session, log).is_none(), "a place is taken once");
                }
                Event::SessionJoined(e) => {
                    let log = self.next(e.session, e.n);
                    assert_eq!(e.participant, log.came + 1, "nobody gets a number twice");
                    log.came += 1;
                    assert!(log.present.insert(e.participant));
                    log.reads.insert(e.participant, 0);
                }
                Event::SessionRejoined(e) => assert!(self.next(e.session, e.n).present.insert(e.participant)),
                Event::EntrySent(e) => assert!(self.next(e.session, e.n).present.contains(&e.participant)),
                Event::SessionLeft(e) => assert!(self.next(e.session, e.n).present.remove(&e.participant)),
                Event::ReadsMoved(e) => {
                    let log = self.of(e.session);
                    assert!(!e.reads.is_empty() && e.reads.is_sorted_by_key(|moved| moved.participant));
                    for moved in &e.reads {
                        assert!(log.present.contains(&moved.participant));
                        let before = log.reads.insert(moved.participant, moved.read);
                        assert!(before < Some(moved.read) && moved.read <= log.last, "{before:?} {moved:?}");
                    }
                }
                Event::ParticipantReplaced(e) => {
                    let log = self.of(e.session);
                    assert!(!log.present.contains(&e.participant), "it left before");
                    assert!(log.reads.remove(&e.participant).is_some());
                }
                Event::AccountSet(e) => assert!(self.of(e.session).reads.contains_key(&e.participant)),
                Event::SessionTouched(e) => assert!(!self.of(e.session).present.is_empty()),
                Event::DeletionDue(e) => {
                    let log = self.of(e.session);
                    log.asked += 1;
                    assert!(log.owned && e.attempt == log.asked);
                    log.vacant(e.because);
                }
                Event::DeletionAnswered(e) => assert_eq!(self.of(e.session).asked, e.attempt),
                Event::SessionEnded(e) => {
                    self.of(e.session).vacant(e.because);
                    self.0.remove(&e.session);
                }
                _ => {}
            }
        }
        for (key, log) in &self.0 {
            let held = state.sessions().get(*key).expect("it did not end");
            assert_eq!((held.entries, held.numbered), (log.last, log.came));
            assert!(log.owned || log.last == 0 || !log.present.is_empty(), "the last one out ends it");
            let present: BTreeSet<u32> =
                held.participants().filter(|(_, known)| known.is_in()).map(|(number, _)| number).collect();
            assert_eq!(present, log.present);
            let reads: BTreeMap<u32, u64> =
                held.participants().map(|(number, known)| (number, known.read)).collect();
            assert_eq!(reads, log.reads);
        }
        assert_eq!(state.sessions().open().len(), self.0.len());
    }

    #[track_caller]
    fn of(&mut self, session: SessionKey) -> &mut Log {
        self.0.get_mut(&session).expect("an open session")
    }

    #[track_caller]
    fn next(&mut self, session: SessionKey, n: u64) -> &mut Log {
        let log = self.of(session);
        assert_eq!(n, log.last + 1, "entries are numbered without gaps");
        log.last = n;
        log
    }
}

impl Log {
    #[track_caller]
    fn vacant(&self, because: Vacancy) {
        let expected = match (self.last, self.present.is_empty()) {
            (0, _) => Vacancy::NobodyJoined,
            (_, true) => Vacancy::EveryoneLeft,
            (_, false) => Vacancy::NobodyReceived,
        };
        assert_eq!(because, expected);
    }
}

/// The room agrees with itself and with the producers; gives how many of its sessions are on the agenda.
pub(super) fn check(state: &State) -> usize {
    let live: Vec<ProducerId> = state.producers().live().map(|(producer, _)| producer).collect();
    let mut due = 0;
    for (slot, generation, held) in state.sessions().open().iter() {
        let key = SessionKey { slot, generation };
        assert_eq!(state.sessions().by_address(&held.address), Some(key));
        assert_eq!(state.sessions().by_id(&held.id), Some(key));
        assert_eq!(held.id.partition(), state.partition());
        for (number, known) in held.participants() {
            assert_eq!(held.by_name(&known.name).map(|found| found.0), Some(number));
            assert_eq!(held.participant_by_secret(&known.secret).map(|found| found.0), Some(number));
            assert!(known.joined_n <= held.entries && known.read <= held.entries);
            assert!(known.left.is_none_or(|left| left.n > known.joined_n));
        }
        let count = held.participants().count();
        assert_eq!((held.names.len(), held.secrets.len()), (count, count));
        let present = held.participants().filter(|(_, known)| known.is_in()).count();
        assert_eq!(held.present() as usize, present);
        assert_eq!(held.anyone_is_in(), present > 0);
        assert!(held.waiting.iter().all(|by| live.contains(by)), "who waits at a gateway that is gone?");
        assert_eq!(!held.waiting.is_empty(), matches!(held.standing, Standing::Received));
        due += usize::from(matches!(held.standing, Standing::Due(_)));
        if let Some(asked) = held.question() {
            assert!(held.owned);
            assert!(live.contains(&asked.home) || live.is_empty() && asked.home == ProducerId::NONE);
        }
        let home = state.home_of_session(&held.id);
        assert!(live.contains(&home) || live.is_empty() && home == ProducerId::NONE);
    }
    assert_eq!(state.sessions().ids.len(), state.sessions().open().len());
    assert_eq!(state.sessions().addresses.len(), state.sessions().open().len());
    due
}
