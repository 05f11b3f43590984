//! The one place where tests touch the engine's API. What belongs here: a journal that writes records as a sequencer does and
//! reduces them, and [`check`], which runs a script (see [`script`]) and compares what is printed of its events (see [`show`]).
//! What never does: an expectation.

mod audit;
mod network;
mod script;
mod show;
mod snapshots;

pub(crate) use network::{Letter, Network};
pub(crate) use snapshots::{decoded, encoded};

use crate::{Emitted, Halt, Reduction, State, reduce};
use arena_schema::{
    Command, Event, Hash, LogTime,
    id::{Epoch, Lineage, Partition, RecordNumber},
    record::{COMMAND_HEAD_BYTES, CommandHead, EncodedRecord, Header, RecordView, encode_command},
};

/// A command as it is put into a record: decoded, or a kind and bytes that need be none.
#[derive(Debug, Clone)]
pub(crate) enum Body {
    Known(Command),
    Raw(u16, Vec<u8>),
}

impl Body {
    fn kind(&self) -> u16 {
        match self {
            Self::Known(command) => command.kind(),
            Self::Raw(kind, _) => *kind,
        }
    }

    fn append(&self, head: &CommandHead, out: &mut Vec<u8>) {
        let (kind, bytes) = match self {
            Self::Known(command) => return encode_command(head, command, out),
            Self::Raw(kind, bytes) => (kind, bytes),
        };
        let at = out.len();
        encode_command(head, &Command::Tick(arena_schema::command::system::Tick {}), out);
        assert!(out.len() - at >= COMMAND_HEAD_BYTES, "a tick has no body");
        out[at..at + 2].copy_from_slice(&kind.to_le_bytes());
        let length_at = out.len() - 4;
        out[length_at..].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
        out.extend_from_slice(bytes);
    }
}

/// A journal in memory, its state, and what each of its records came to.
pub(crate) struct Journal {
    state: State,
    reduction: Reduction,
    stored: Vec<EncodedRecord>,
    events: Vec<Vec<Emitted>>,
    digests: Vec<Hash>,
    second_keys: usize,
    accepted: audit::Accepted,
    secrets: audit::Secrets,
    logs: audit::Logs,
}

impl Journal {
    pub(crate) fn new() -> Self {
        Self::of(Partition(0))
    }

    pub(crate) fn of(partition: Partition) -> Self {
        Self {
            state: State::new(partition),
            reduction: Reduction::default(),
            stored: Vec::new(),
            events: Vec::new(),
            digests: vec![crate::genesis_digest()],
            second_keys: 0,
            accepted: audit::Accepted::default(),
            secrets: audit::Secrets::default(),
            logs: audit::Logs::default(),
        }
    }

    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    /// The header that a sequencer would write next. One record is in flight while the last one is reduced, so the digest
    /// stops one short of the last, but for records that are written when nothing is in flight.
    fn header(&self, time: LogTime, settled: bool) -> Header {
        let head = self.state.head();
        let reaches = if settled { head.number.0 } else { head.number.0.saturating_sub(1) };
        Header {
            lineage: self.state.lineage().unwrap_or(Lineage(*b"the first one...")),
            partition: self.state.partition(),
            era: self.state.era(),
            number: head.number.next(),
            previous: head.hash,
            digest: self.digests[reaches as usize],
            digest_reaches: RecordNumber(reaches),
            epoch: Epoch(head.epoch.0.max(1)),
            time,
            rules: self.state.rules(),
            salt: [7; 32],
        }
    }

    /// Appends one record and gives its events. A record that halts is not in the journal.
    pub(crate) fn append(
        &mut self,
        time: LogTime,
        commands: &[(CommandHead, Body)],
        edit: impl FnOnce(&mut Header),
    ) -> Result<&[Emitted], Halt> {
        let announces = commands.first().is_some_and(|(_, body)| body.kind() == 0x0001);
        let mut header = self.header(time, announces || commands.is_empty());
        if announces {
            header.epoch.0 = self.state.head().epoch.0 + 1;
        }
        edit(&mut header);
        let mut bytes = Vec::new();
        for (head, body) in commands {
            body.append(head, &mut bytes);
        }
        let record = EncodedRecord::seal(&header, &bytes);
        let view = RecordView::parse(record.as_bytes()).expect("what was sealed is a record");
        assert_eq!(view.header, header);
        assert_eq!(view.commands().count(), commands.len());

        let before = self.digests.last().copied().expect("there is always the first digest");
        reduce(&mut self.state, &view, &mut self.reduction)?;
        self.second_keys += count(&self.reduction.events, |event| matches!(event, Event::SecondKeyKept(_)));
        self.second_keys -=
            count(&self.reduction.events, |event| matches!(event, Event::SecondKeyExpired(_)));
        audit::frames(&self.reduction, before, &self.state);
        audit::events(&self.reduction.events, &view);
        // A lineage that begins leaves the agenda as it is too, until the announcement behind it has moved what is ours.
        let begins = matches!(commands, [(_, body)] if body.kind() == 0x0007);
        let emptied = !announces && !begins && !commands.is_empty();
        audit::lookups(&self.state, &self.reduction.events, emptied);
        self.secrets.follow(&self.reduction.events, &self.state);
        self.logs.follow(&self.reduction.events, &self.state);
        self.accepted.follow(&self.reduction.events, &view);
        audit::state(&self.state, self.second_keys);
        self.digests.push(self.state.head().digest);
        self.events.push(self.reduction.events.clone());
        self.stored.push(record);
        Ok(self.events.last().expect("one was pushed"))
    }

    /// Reduces the same bytes once more from nothing: every event, digest and the whole state come out the same.
    pub(crate) fn replay(&self) {
        let (mut state, mut reduction) = (State::new(self.state.partition()), Reduction::default());
        for (at, record) in self.stored.iter().enumerate() {
            let view = RecordView::parse(record.as_bytes()).expect("it was parsed before");
            reduce(&mut state, &view, &mut reduction).expect("it was reduced before");
            assert_eq!(reduction.events, self.events[at], "record {}", record.number());
            assert_eq!(state.head().digest, self.digests[at + 1], "record {}", record.number());
        }
        assert_eq!(format!("{state:?}"), format!("{:?}", self.state), "a replay makes the same state");
    }
}

fn count(events: &[Emitted], which: impl Fn(&Event) -> bool) -> usize {
    events.iter().filter(|emitted| which(&emitted.event)).count()
}

/// Runs a script and compares its events, printed, with what is expected.
#[track_caller]
#[allow(clippy::needless_pass_by_value, reason = "`expect![…]` stands at the call as it is")]
pub(crate) fn check(script: &str, expect: expect_test::Expect) {
    let (printed, journal) = script::run(script);
    journal.replay();
    journal.replay_through_snapshots(1);
    expect.assert_eq(&printed);
}

/// What is printed of a script.
pub(crate) fn printed(script: &str) -> String {
    script::run(script).0
}

/// The state that a script makes.
pub(crate) fn made_by(script: &str) -> State {
    script::run(script).1.state
}
