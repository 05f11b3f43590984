//! What is true of every record and of every state, whatever the script: checked after each record, apart from the code that
//! makes it so.

mod sessions;

pub(super) use sessions::Logs;

use crate::{Emitted, Reduction, State};
use arena_schema::{
    Event, Hash, Seat, SecretHash,
    hash::BodyDigest,
    id::{MatchKey, ProducerId},
    record::{CommandView, RecordView},
};
use std::collections::BTreeMap;

/// The frames are the events, and the digest is over them as `digest.rs` says, reckoned here by hand.
pub(super) fn frames(reduction: &Reduction, before: Hash, state: &State) {
    let number = state.head().number.0.to_le_bytes();
    let bytes = reduction.frames.as_bytes();
    assert_eq!(
        Hash::of_parts(&[&before.0, &number, bytes]),
        state.head().digest,
        "the digest is over the frames"
    );
    let mut rest = bytes;
    for emitted in &reduction.events {
        let (head, tail) = rest.split_at(10);
        let command = u32::from_le_bytes(head[..4].try_into().unwrap());
        let kind = u16::from_le_bytes(head[4..6].try_into().unwrap());
        let length = u32::from_le_bytes(head[6..].try_into().unwrap()) as usize;
        assert_eq!(command, emitted.command);
        assert_eq!(
            Event::decode(kind, &tail[..length]).as_ref(),
            Ok(&emitted.event),
            "an event is its bytes"
        );
        rest = &tail[length..];
    }
    assert!(rest.is_empty(), "the frames hold nothing but the events");
}

/// Events stand in the order of their commands, the agenda's first; every command of a producer uses up its number or is
/// refused for it; a refusal comes alone.
pub(super) fn events(events: &[Emitted], record: &RecordView<'_>) {
    assert!(events.is_sorted_by_key(|emitted| emitted.command), "commands are decided in their order");
    let commands: Vec<CommandView<'_>> = record.commands().flatten().collect();
    assert!(events.iter().all(|emitted| emitted.command as usize <= commands.len()));
    for command in &commands {
        let own: Vec<&Event> =
            events.iter().filter(|emitted| emitted.command == command.index).map(|e| &e.event).collect();
        let rejected = own.iter().filter(|event| matches!(event, Event::Rejected(_))).count();
        let seen = own.iter().filter(|event| matches!(event, Event::NumberSeen(_))).count();
        let kept = own.iter().filter(|event| matches!(event, Event::SecondKeyKept(_))).count();
        let others = own.len() - rejected - seen - kept;
        assert!(rejected == 0 || (rejected == 1 && others == 0), "a refused command does nothing: {own:?}");
        if command.head.producer == ProducerId::SEQUENCER {
            assert_eq!(seen, 0, "the sequencer has no numbers");
        } else if let Some(Event::NumberSeen(number)) = own.first() {
            assert_eq!((number.producer, number.number), (command.head.producer, command.head.number));
            assert_eq!(seen, 1);
            let digest = BodyDigest::of(command.kind, command.body);
            assert_eq!(number.digest, digest, "a number is of a kind and a body");
        } else {
            assert!(matches!(own[..], [Event::Rejected(_)]), "a number acts once or is refused: {own:?}");
        }
        assert!(kept == 0 || command.head.second_key.is_some());
    }
}

/// The running hash of what each match accepted, reckoned by hand: over the value before, the record's time, the command's
/// kind and its body; what the agenda does is no command.
#[derive(Default)]
pub(super) struct Accepted(BTreeMap<MatchKey, Hash>);

impl Accepted {
    pub(super) fn follow(&mut self, events: &[Emitted], record: &RecordView<'_>) {
        let commands: Vec<CommandView<'_>> = record.commands().flatten().collect();
        let time = record.header.time.0.to_le_bytes();
        let mut counted = None;
        for emitted in events {
            let (key, accepted) = match &emitted.event {
                Event::MatchOpened(e) => (e.key, e.accepted),
                Event::MovePlayed(e) => (e.key, e.accepted),
                Event::StrikeRecorded(e) => (e.key, e.accepted),
                Event::MatchEnded(e) => (e.key, e.accepted),
                _ => continue,
            };
            let running = self.0.entry(key).or_insert(Hash::ZERO);
            if emitted.command > 0 && counted != Some(emitted.command) {
                let command = &commands[emitted.command as usize - 1];
                *running = running.then(&[&time[..], &command.kind.to_le_bytes(), command.body].concat());
                counted = Some(emitted.command);
            }
            assert_eq!(accepted, *running, "a match keeps what it accepted");
            if matches!(emitted.event, Event::MatchEnded(_)) {
                self.0.remove(&key);
            }
        }
    }
}

/// The secrets that are good, by their credential. One that was replaced opens nothing any more.
#[derive(Default)]
pub(super) struct Secrets(BTreeMap<u64, SecretHash>);

impl Secrets {
    pub(super) fn follow(&mut self, events: &[Emitted], state: &State) {
        let mut replaced = Vec::new();
        for emitted in events {
            let credentials = match &emitted.event {
                Event::AgentRegistered(e) => &e.credentials[..],
                Event::CredentialRotated(e) => std::slice::from_ref(&e.credential),
                _ => continue,
            };
            replaced.extend(credentials.iter().filter_map(|one| self.0.insert(one.credential.id, one.hash)));
        }
        replaced.retain(|hash| !self.0.values().any(|good| good == hash));
        for hash in replaced {
            assert!(
                state.registry().by_secret(&hash).is_none(),
                "a secret that was replaced is dead at once"
            );
        }
    }
}

/// What a record's events made is found by whoever looks for it, and nothing is left on the agenda that was due.
pub(super) fn lookups(state: &State, events: &[Emitted], emptied: bool) {
    let mut second_keys = BTreeMap::new();
    let mut acted = BTreeMap::new();
    let mut credentials = BTreeMap::new();
    let mut numbered = None;
    for emitted in events {
        match &emitted.event {
            Event::NumberSeen(e) => numbered = Some((emitted.command, e.digest)),
            Event::SecondKeyKept(e) => {
                let key = (e.route, e.caller, e.key);
                second_keys.insert(key, Some((e.body, e.place, e.code)));
                acted.insert(key, numbered.filter(|(command, _)| *command == emitted.command));
            }
            Event::SecondKeyExpired(e) => {
                second_keys.insert((e.route, e.caller, e.key), None);
            }
            Event::AgentRegistered(e) => {
                assert_eq!(state.registry().by_handle(&e.handle), Some(e.agent));
                credentials.extend(e.credentials.iter().map(|one| (one.credential.id, (e.agent, *one))));
            }
            Event::CredentialRotated(e) => {
                credentials.insert(e.credential.credential.id, (e.agent, e.credential));
            }
            _ => {}
        }
    }
    for ((route, caller, key), outcome) in second_keys {
        assert_eq!(state.second_key(route, caller, key), outcome);
        let command = state.second_key_command(route, caller, key);
        assert!(outcome.is_some() || command.is_none());
        if let (Some(_), Some(Some((_, digest)))) = (outcome, acted.get(&(route, caller, key))) {
            assert_eq!(command, Some(*digest), "the command that was the first under its key");
        }
    }
    for (agent, one) in credentials.into_values() {
        let (found, credential) = state.registry().by_secret(&one.hash).expect("a good secret is found");
        assert_eq!((found, credential.agent, credential.kind), (one.credential, agent, one.kind));
        assert_eq!(
            state.registry().credential_of(agent, one.kind).map(|(found, _)| found),
            Some(one.credential)
        );
    }
    let due = state.next_due();
    assert!(!emptied || due.is_none_or(|due| due > state.head().time), "what is scheduled is due later");
    assert_eq!(due.is_none(), state.agenda_len() == 0);
}

/// The rooms of the state agree with each other.
pub(super) fn state(state: &State, second_keys: usize) {
    let mut turns = 0;
    let mut of_agent = BTreeMap::<_, u32>::new();
    let mut of_pair = BTreeMap::<_, u32>::new();
    let mut at_home = BTreeMap::<_, ProducerId>::new();
    let live: Vec<ProducerId> = state.producers().live().map(|(producer, _)| producer).collect();
    for (slot, generation, open) in state.matches().open().iter() {
        let (key, _) = state.matches().by_id(&open.id).expect("an open match is found by its id");
        assert_eq!((key.slot, key.generation), (slot, generation));
        assert_eq!(open.position().outcome(), None, "a match that is over is gone");
        let [one, other] = [open.seats[0].agent, open.seats[1].agent];
        let guests = [one, other].map(|agent| state.guests().get(agent).is_some());
        assert_eq!(guests[0], guests[1], "guests play each other alone");
        if !guests[0] {
            *of_pair.entry((one.min(other), one.max(other))).or_default() += 1;
        }
        for &seat in Seat::ALL {
            let seated = open.seat(seat);
            *of_agent.entry(seated.agent).or_default() += 1;
            assert!(seated.strikes < 3, "the third strike ends a match");
            assert_eq!(
                seated.turn.is_some(),
                open.position().to_act().contains(seat),
                "who is to act is asked"
            );
            let Some(turn) = &seated.turn else { continue };
            turns += usize::from(!seated.pushed);
            assert_eq!(turn.ply, open.plies + 1);
            assert!((1..=open.attempts).contains(&turn.attempt));
            if live.is_empty() {
                assert_eq!(turn.home, ProducerId::NONE, "nobody is there");
            } else {
                assert!(live.contains(&turn.home), "a turn's home is live");
            }
            let home = *at_home.entry(seated.agent).or_insert(turn.home);
            assert_eq!(home, turn.home, "all that is asked of an agent is asked from one home");
        }
    }
    for (agent, guest) in state.guests().iter() {
        assert_eq!(state.guests().open_of(agent), of_agent[&agent], "a guest has something open");
        assert!(at_home.get(&agent).is_none_or(|home| guest.home == *home));
        assert_eq!(guest.home == ProducerId::NONE, live.is_empty(), "a guest has a home where there is one");
        assert!(guest.home == ProducerId::NONE || live.contains(&guest.home));
    }
    for (id, away) in state.matches().away() {
        assert!(state.outbox().partitions().any(|known| known == id.partition()));
        let [one, other] = away.seats;
        *of_pair.entry((one.min(other), one.max(other))).or_default() += 1;
        away.seats.iter().for_each(|agent| *of_agent.entry(*agent).or_default() += 1);
    }
    assert_eq!(
        state.agenda_len(),
        turns + second_keys + sessions::check(state),
        "the agenda holds second keys, the turns that nobody carries to their agents, and sessions that end by themselves"
    );
    assert_eq!(state.matches().ids.len(), state.matches().open().len());
    assert_eq!(state.matches().of_pair.values().sum::<u32>(), of_pair.values().sum::<u32>());
    for ((one, other), open) in of_pair {
        assert_eq!(state.matches().open_between(other, one), open);
    }
    for (slot, generation, _) in state.registry().agents().iter() {
        let agent = arena_schema::id::AgentKey { slot, generation };
        assert_eq!(state.matches().open_of(agent), of_agent.get(&agent).copied().unwrap_or_default());
        let held = state.homes.held(agent);
        let open = of_agent.get(&agent).copied().unwrap_or_default();
        assert_eq!(held.1, open, "what is open of an agent is counted at its home");
        assert!(at_home.get(&agent).is_none_or(|home| held.0 == *home));
    }
}
