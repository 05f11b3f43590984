//! The journal that came with the rules of sessions: every command of the family, and what comes of each by itself.

use super::{audit_of, kept_in};
use crate::testing::Writer;
use arena_schema::{
    Command, Commitment, SecretHash, TextRef,
    command::{
        sessions::{
            Account, AcknowledgeEntries, AnswerDeletion, CreateSession, DeletionAnswer, GoneBecause,
            JoinSession, LeaveSession, Payload, ReadPosition, RejoinSession, SendEntry, SetAccount, TakeBack,
            TouchSession,
        },
        system::{ActivateRules, AnnounceGateway, AnnounceSequencer, GatewayGone, Tick},
    },
    id::{AccountTag, Incarnation, NameTag, ObjectId, Partition, RulesVersion, SessionId, SessionKey},
    record::{CommandHead, EncodedRecord},
};

const SESSIONS_3: &str = include_str!("../../../../../tests/golden/journals/sessions-3.hex");
const HEAD: &str = "0e185509b13397c0d3c12e90620517ae3f65690725f1877de84915a80e35fd77";
const DIGEST: &str = "0ec11f7d29512817ba87888496324bed39e9d6b722f28b45225064140c8ba71a";

const HOUR_US: u64 = 3_600 * 1_000_000;

fn text(of: u8) -> TextRef {
    TextRef { commitment: Commitment([of; 32]), size: u32::from(of) }
}

fn account(of: u8) -> Account {
    Account { tag: AccountTag([of; 16]), text: text(of) }
}

fn session(slot: u32) -> SessionKey {
    SessionKey { slot, generation: 1 }
}

fn create(at: u8, owned: bool) -> Command {
    CreateSession { id: SessionId::from_random(Partition(0), [at; 14]), address: SecretHash([at; 32]), owned }
        .into()
}

fn join(slot: u32, name: u8, secret: u8, own: Option<Account>, takes: Option<TakeBack>) -> Command {
    JoinSession {
        session: session(slot),
        name: NameTag([name; 16]),
        name_text: text(name),
        secret: SecretHash([secret; 32]),
        account: own,
        takes,
    }
    .into()
}

fn send(slot: u32, participant: u32, size: u64) -> Command {
    let object = (size > 65_536).then_some(ObjectId([9; 16]));
    let payload = Payload { commitment: Commitment([8; 32]), size, object };
    SendEntry { session: session(slot), participant, kind: text(10), payload, filename: Some(text(7)) }.into()
}

fn leave(slot: u32, participant: u32) -> Command {
    LeaveSession { session: session(slot), participant }.into()
}

fn touch(slot: u32, waiting: bool) -> Command {
    TouchSession { session: session(slot), waiting }.into()
}

fn answer(slot: u32, attempt: u32, answer: DeletionAnswer) -> Command {
    AnswerDeletion { session: session(slot), attempt, answer }.into()
}

/// The records, the same on every run.
fn played() -> Vec<EncodedRecord> {
    let mut writer = Writer::new();
    let own = |writer: &mut Writer, command: Command| writer.seal(&[(CommandHead::SEQUENCER, command)]);
    let mut records = Vec::new();
    let (incarnation, rules_known) = (Incarnation([1; 16]), RulesVersion(3));
    for command in [
        AnnounceSequencer { incarnation, outage_us: 0 }.into(),
        AnnounceGateway { incarnation, rules_known }.into(),
        create(9, false),
        ActivateRules { version: RulesVersion(2) }.into(),
        ActivateRules { version: RulesVersion(3) }.into(),
    ] {
        records.push(own(&mut writer, command));
    }
    let read = |participant, read| ReadPosition { participant, read };
    let takes = Some(TakeBack { gone: Some(GoneBecause::Silent) });
    let by_gateway = [
        vec![create(0, false), create(1, true), create(2, false), create(3, true), create(0, true)],
        vec![join(0, 1, 1, None, None), join(0, 2, 2, Some(account(2)), None), join(0, 1, 3, None, None)],
        vec![join(1, 1, 1, Some(account(1)), None), touch(1, true), join(2, 1, 1, None, None)],
        vec![send(0, 1, 5), send(0, 2, 70_000), send(0, 2, 10_000_001), send(0, 9, 1)],
        vec![
            AcknowledgeEntries { session: session(0), reads: vec![read(1, 3), read(2, 99), read(7, 1)] }
                .into(),
        ],
        vec![
            join(0, 1, 4, Some(account(1)), Some(TakeBack { gone: None })),
            join(0, 2, 5, Some(account(2)), takes),
        ],
        vec![
            leave(0, 3),
            send(0, 3, 1),
            RejoinSession { session: session(0), participant: 3, account: None, keeps_account: true }.into(),
        ],
        vec![SetAccount { session: session(0), participant: 4, account: None }.into(), touch(0, false)],
        vec![leave(1, 1), answer(1, 1, DeletionAnswer::Silence), leave(0, 3), leave(0, 4), leave(0, 4)],
    ];
    records.extend(by_gateway.map(|commands| writer.record(commands)));
    // An hour, a day, two days, nine days.
    for (hours, commands) in [
        (1, vec![answer(1, 2, DeletionAnswer::Keep)]),
        (24, vec![answer(3, 1, DeletionAnswer::Keep), answer(1, 3, DeletionAnswer::Delete)]),
        (48, vec![join(3, 1, 1, None, None), touch(3, true), answer(3, 2, DeletionAnswer::Delete)]),
    ] {
        writer.late_us = hours * HOUR_US + HOUR_US / 2;
        records.push(own(&mut writer, Tick {}.into()));
        records.push(writer.record(commands));
    }
    writer.late_us = 216 * HOUR_US;
    let other = Incarnation([2; 16]);
    for command in [
        Tick {}.into(),
        AnnounceGateway { incarnation: other, rules_known }.into(),
        GatewayGone { incarnation }.into(),
    ] {
        records.push(own(&mut writer, command));
    }
    writer.late_us += 170 * HOUR_US;
    records.push(own(&mut writer, Tick {}.into()));
    records.push(own(&mut writer, GatewayGone { incarnation: other }.into()));
    assert!(
        writer.state.sessions().questions().count() > 0,
        "it ends with a question that is nobody's to ask"
    );
    records
}

#[test]
fn it_comes_to_the_digest_that_it_always_came_to() {
    let report = audit_of(SESSIONS_3);
    assert_eq!((report.head.to_string().as_str(), report.digest.to_string().as_str()), (HEAD, DIGEST));
    assert_eq!(report.records, played().len() as u64);
}

#[test]
fn the_same_words_are_written_as_the_same_bytes() {
    let written: Vec<Vec<u8>> = played().iter().map(|record| record.as_bytes().to_vec()).collect();
    if std::env::var_os("ARENA_TESTS_GOLDEN_PRINT").is_some() {
        for record in &written {
            println!("SESSIONS {}", hex::encode(record));
        }
    }
    assert!(written.into_iter().eq(kept_in(SESSIONS_3).into_iter().map(|(record, _)| record)));
}

/// All that the family may come to came.
#[test]
fn every_kind_of_the_family_is_in_it() {
    use crate::{
        MemoryJournal,
        testing::{Witness, start},
    };
    let mut journal = MemoryJournal::default();
    for record in played() {
        crate::Journal::append(&mut journal, &record, &[]).unwrap();
    }
    let witness = Witness::default();
    start(journal, 5, crate::Clock::System, &witness).unwrap().stop().unwrap();
    let events = witness
        .seen()
        .into_iter()
        .filter(|record| !record.live)
        .flat_map(|record| record.events.iter().map(|emitted| emitted.event.kind()).collect::<Vec<_>>());
    let came: std::collections::BTreeSet<u16> = events.filter(|kind| kind >> 8 == 7).collect();
    let all = arena_schema::Event::KINDS.iter().map(|(kind, _)| *kind).filter(|kind| kind >> 8 == 7);
    assert_eq!(came, all.collect());
}
