//! A value for every word, no two of its fields alike, so that fields that change places show.

mod sessions;

use crate::{
    Command, Event, Hash, LogTime, Move, Rejection, Seat, SecretHash, TextRef,
    command::{matches as cm, registry as cr, system as cs},
    event::{
        matches as em, registry as er,
        system::{self as es, KeyTag, Place},
    },
    hash::BodyDigest,
    id::{
        AgentId, AgentKey, ChallengePolicy, ConnectionMethod, CredentialKind, CredentialRef, Epoch, Era,
        GameCode, Handle, Incarnation, Lineage, MatchId, MatchKey, Nonce, Partition, ProducerId, Protocol,
        PublicSlug, RecordNumber, RulesVersion, Seed,
    },
    record::{CommandHead, Header, SecondKey},
    text::Commitment,
};

pub(crate) type Sample<T> = (String, T);

/// A record as it is put together.
pub(crate) struct Record {
    pub(crate) header: Header,
    pub(crate) commands: Vec<(CommandHead, Command)>,
}

fn run<const N: usize>(first: u8) -> [u8; N] {
    let mut bytes = [0; N];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = first.wrapping_add(at as u8);
    }
    bytes
}

fn text(first: u8, size: u32) -> TextRef {
    TextRef { commitment: Commitment(run(first)), size }
}

fn agent(slot: u32) -> AgentKey {
    AgentKey { slot, generation: slot + 1 }
}

const MATCH: MatchKey = MatchKey { slot: 0x0102_0304, generation: 5 };

fn match_id() -> MatchId {
    MatchId::from_random(Partition(0x0a0b), run(0x10))
}

fn handle(text: &str) -> Handle {
    Handle::parse(text).unwrap()
}

fn result() -> em::MatchResult {
    em::MatchResult { winner: Some(Seat::Second), reason: em::EndReason::Forfeit }
}

fn turn() -> cm::TurnRef {
    cm::TurnRef { key: MATCH, seat: Seat::Second, ply: 300, attempt: 70_000 }
}

fn named<T>(label: &str, value: impl Into<T>) -> Sample<T> {
    (label.to_owned(), value.into())
}

pub(crate) fn commands() -> Vec<Sample<Command>> {
    [commands_of_rules_1(), commands_of_rules_2(), sessions::commands()].concat()
}

fn commands_of_rules_1() -> Vec<Sample<Command>> {
    let register = cr::RegisterAgent {
        id: AgentId::from_random(Partition(0x0c0d), run(0x20)),
        public_slug: PublicSlug(run(0x30)),
        handle: handle("left-1_x"),
        name: Some(text(0x40, 8)),
        protocol: Protocol::AgentArena,
        method: ConnectionMethod::RemoteEndpoint,
        endpoint: Some(text(0x50, 300)),
        challenges: ChallengePolicy::Open,
        credentials: vec![
            cr::NewCredential { kind: CredentialKind::ApiKey, hash: SecretHash(run(0x60)) },
            cr::NewCredential { kind: CredentialKind::EndpointSecret, hash: SecretHash(run(0x70)) },
        ],
    };
    let house = cr::RegisterAgent {
        handle: handle("abc"),
        name: None,
        protocol: Protocol::House,
        method: ConnectionMethod::House,
        endpoint: None,
        challenges: ChallengePolicy::None,
        credentials: Vec::new(),
        ..register.clone()
    };
    let open = cm::OpenMatch {
        id: match_id(),
        game: GameCode(1),
        players: [agent(7), agent(300)],
        first: cm::First::BySeed,
        rated: true,
        deadline_ms: 10_000,
        seed: Seed(run(0x80)),
    };
    let submit = cm::SubmitMove {
        turn: turn(),
        mv: Move::from_byte(3),
        reason: Some(text(0x90, 280)),
        excerpt: Some(Box::new(text(0xa0, 1_024))),
        nonce: Some(Nonce(run(0xb0))),
        latency_ms: 9_999,
    };
    let strike = cm::RecordStrike {
        turn: turn(),
        cause: cm::StrikeCause::Status,
        status: Some(503),
        excerpt: Some(text(0xc0, 17)),
        nonce: Some(Nonce(run(0xd0))),
        latency_ms: 128,
    };
    vec![
        named(
            "AnnounceSequencer",
            cs::AnnounceSequencer { incarnation: Incarnation(run(1)), outage_us: 1_234_567 },
        ),
        named(
            "AnnounceGateway",
            cs::AnnounceGateway { incarnation: Incarnation(run(2)), rules_known: RulesVersion(4) },
        ),
        named("GatewayGone", cs::GatewayGone { incarnation: Incarnation(run(3)) }),
        named("Tick", cs::Tick {}),
        named("ActivateRules", cs::ActivateRules { version: RulesVersion(300) }),
        named("CloseEra", cs::CloseEra {}),
        named(
            "BeginLineage",
            cs::BeginLineage { lineage: Lineage(run(4)), number: RecordNumber(u64::MAX), hash: Hash(run(5)) },
        ),
        named("RegisterAgent", register),
        named("RegisterAgent/bare", house),
        named(
            "RotateCredential",
            cr::RotateCredential {
                agent: agent(9),
                credential: cr::NewCredential {
                    kind: CredentialKind::AgentToken,
                    hash: SecretHash(run(0xe0)),
                },
            },
        ),
        named(
            "SetEndpoint",
            cr::SetEndpoint {
                agent: agent(10),
                endpoint: Some(text(0xf0, 21)),
                challenges: Some(ChallengePolicy::None),
            },
        ),
        named("SetEndpoint/bare", cr::SetEndpoint { agent: agent(11), endpoint: None, challenges: None }),
        named("OpenMatch", open.clone()),
        named(
            "OpenMatch/unrated",
            cm::OpenMatch { first: cm::First::Opponent, rated: false, deadline_ms: 60_000, ..open },
        ),
        named("SubmitMove", submit.clone()),
        named(
            "SubmitMove/bare",
            cm::SubmitMove {
                mv: Move::new(&run::<32>(9)).unwrap(),
                reason: None,
                excerpt: None,
                nonce: None,
                latency_ms: u32::MAX,
                ..submit
            },
        ),
        named("RecordStrike", strike.clone()),
        named("RecordStrike/bare", cm::RecordStrike { status: None, excerpt: None, nonce: None, ..strike }),
        named("AbortMatch", cm::AbortMatch { key: MATCH, reason: cm::VoidReason::RefereeFault }),
        named("AbortMatch/operator", cm::AbortMatch { key: MATCH, reason: cm::VoidReason::Operator }),
    ]
}

fn guest(slot: u32, home: Option<Incarnation>) -> cm::Guest {
    cm::Guest {
        agent: agent(slot),
        id: AgentId::from_random(Partition(0), run(slot as u8)),
        handle: handle("guest_1"),
        protocol: Protocol::AgentArena,
        method: ConnectionMethod::RemoteEndpoint,
        home,
    }
}

fn commands_of_rules_2() -> Vec<Sample<Command>> {
    let take = cm::TakeMatch {
        id: match_id(),
        game: GameCode(1),
        seats: [guest(19, Some(Incarnation(run(0x14)))), guest(20, Some(Incarnation(run(0x24))))],
        rated: true,
        deadline_ms: 10_000,
        seed: Seed(run(0x34)),
    };
    let homeless = cm::TakeMatch { seats: [guest(21, None), guest(22, None)], rated: false, ..take.clone() };
    vec![
        named("OpenPartition", cs::OpenPartition { partition: Partition(0x0708) }),
        named(
            "AcknowledgeOutbox",
            cs::AcknowledgeOutbox { to: Partition(0x090a), through: 1 << 33, chain: Hash(run(0x64)) },
        ),
        named("TakeMatch", take),
        named("TakeMatch/homeless", homeless),
        named("ReturnMatch", cm::ReturnMatch { id: match_id(), result: Some(result()) }),
        named("ReturnMatch/unopened", cm::ReturnMatch { id: match_id(), result: None }),
    ]
}

pub(crate) fn events() -> Vec<Sample<Event>> {
    [events_of_rules_1_and_2(), sessions::events()].concat()
}

fn events_of_rules_1_and_2() -> Vec<Sample<Event>> {
    let credential = er::Credential {
        credential: CredentialRef { id: 1_000, generation: 2 },
        kind: CredentialKind::ApiKey,
        hash: SecretHash(run(0x11)),
    };
    let registered = er::AgentRegistered {
        agent: agent(12),
        id: AgentId::from_random(Partition(0x0e0f), run(0x21)),
        public_slug: PublicSlug(run(0x31)),
        handle: handle("right"),
        name: Some(text(0x41, 5)),
        protocol: Protocol::Ludux,
        method: ConnectionMethod::RemoteEndpoint,
        endpoint: Some(text(0x51, 40)),
        challenges: ChallengePolicy::Open,
        credentials: vec![credential],
    };
    let strike = em::StrikeRecorded {
        key: MATCH,
        seat: Seat::First,
        ply: 41,
        cause: crate::command::matches::StrikeCause::Illegal,
        strikes: 2,
        status: Some(200),
        mv: Some(Move::from_byte(6)),
        excerpt: Some(text(0x61, 33)),
        latency_ms: 512,
        accepted: Hash(run(0x71)),
    };
    let ended = em::MatchEnded {
        key: MATCH,
        winner: Some(Seat::Second),
        reason: em::EndReason::Forfeit,
        accepted: Hash(run(0x81)),
    };
    let played = em::MovePlayed {
        key: MATCH,
        seat: Seat::First,
        ply: 42,
        mv: Move::from_byte(0),
        reason: Some(text(0x91, 280)),
        latency_ms: 77,
        accepted: Hash(run(0xa1)),
    };
    vec![
        named("Rejected", Rejection::StaleAttempt),
        named(
            "NumberSeen",
            es::NumberSeen { producer: ProducerId(6), number: 1 << 40, digest: BodyDigest(run(0xb1)) },
        ),
        named(
            "SecondKeyKept",
            es::SecondKeyKept {
                route: 513,
                caller: agent(13),
                key: KeyTag(run(0xc1)),
                body: KeyTag(run(0xd1)),
                place: Place { record: RecordNumber(4_000_000_000), command: 9 },
                code: 309,
            },
        ),
        named(
            "SecondKeyExpired",
            es::SecondKeyExpired { route: 514, caller: AgentKey::NONE, key: KeyTag(run(0xe1)) },
        ),
        named(
            "SequencerAnnounced",
            es::SequencerAnnounced {
                incarnation: Incarnation(run(0xf1)),
                epoch: Epoch(3),
                outage_us: u64::MAX,
            },
        ),
        named(
            "GatewayAnnounced",
            es::GatewayAnnounced {
                producer: ProducerId(8),
                incarnation: Incarnation(run(0x12)),
                rules_known: RulesVersion(2),
            },
        ),
        named("GatewayRemoved", es::GatewayRemoved { producer: ProducerId(200) }),
        named("RulesActivated", es::RulesActivated { version: RulesVersion(2) }),
        named("EraClosed", es::EraClosed { era: Era(129) }),
        named(
            "LineageBegun",
            es::LineageBegun {
                lineage: Lineage(run(0x22)),
                number: RecordNumber(130),
                hash: Hash(run(0x32)),
            },
        ),
        named("AgentRegistered", registered.clone()),
        named(
            "AgentRegistered/bare",
            er::AgentRegistered {
                name: None,
                protocol: Protocol::House,
                method: ConnectionMethod::House,
                endpoint: None,
                credentials: Vec::new(),
                ..registered
            },
        ),
        named("CredentialRotated", er::CredentialRotated { agent: agent(14), credential }),
        named(
            "EndpointSet",
            er::EndpointSet {
                agent: agent(15),
                endpoint: Some(text(0x42, 44)),
                challenges: ChallengePolicy::None,
            },
        ),
        named(
            "EndpointSet/bare",
            er::EndpointSet { agent: agent(16), endpoint: None, challenges: ChallengePolicy::Open },
        ),
        named(
            "MatchOpened",
            em::MatchOpened {
                key: MATCH,
                id: match_id(),
                game: GameCode(1),
                seats: [agent(17), agent(18)],
                rated: true,
                deadline_ms: 500,
                seed: Seed(run(0x52)),
                accepted: Hash(run(0x62)),
            },
        ),
        named(
            "TurnOpened",
            em::TurnOpened {
                key: MATCH,
                seat: Seat::Second,
                ply: 2,
                attempt: 3,
                home: ProducerId(19),
                due: Some(LogTime(1_767_261_626_000_000)),
            },
        ),
        named("MovePlayed", played.clone()),
        named("MovePlayed/bare", em::MovePlayed { reason: None, ..played }),
        named("StrikeRecorded", strike.clone()),
        named("StrikeRecorded/bare", em::StrikeRecorded { status: None, mv: None, excerpt: None, ..strike }),
        named("MatchEnded", ended.clone()),
        named("MatchEnded/draw", em::MatchEnded { winner: None, reason: em::EndReason::Draw, ..ended }),
        named("PartitionOpened", es::PartitionOpened { partition: Partition(0x0b0c) }),
        named(
            "OutboxSent",
            es::OutboxSent {
                to: Partition(0x0d0e),
                number: 1 << 34,
                kind: 0x0306,
                body: run::<17>(0x44).into(),
            },
        ),
        named("OutboxTrimmed", es::OutboxTrimmed { to: Partition(0x0f10), through: 1 << 35 }),
        named(
            "GuestArrived",
            er::GuestArrived {
                agent: agent(23),
                id: AgentId::from_random(Partition(0), run(0x54)),
                handle: handle("guest-2"),
                protocol: Protocol::House,
                method: ConnectionMethod::House,
                home: ProducerId(24),
            },
        ),
        named("GuestLeft", er::GuestLeft { agent: agent(25) }),
        named(
            "MatchSent",
            em::MatchSent { id: match_id(), game: GameCode(1), seats: [agent(26), agent(27)], rated: true },
        ),
        named("MatchReturned", em::MatchReturned { id: match_id(), result: Some(result()) }),
    ]
}

pub(crate) fn records() -> Vec<Sample<Record>> {
    let header = |number: u64| Header {
        lineage: Lineage(run(0x13)),
        partition: Partition(0x0102),
        era: Era(0x0304_0506),
        number: RecordNumber(number),
        previous: Hash(run(0x23)),
        digest: Hash(run(0x53)),
        digest_reaches: RecordNumber(number - 1),
        epoch: Epoch(0x0708),
        time: LogTime(1_767_261_600_000_001),
        rules: RulesVersion(1),
        salt: run(0x83),
    };
    let head = CommandHead {
        producer: ProducerId(0x1122),
        number: 0x3344,
        credential: CredentialRef { id: 0x5566, generation: 0x7788 },
        second_key: None,
    };
    let second_key = SecondKey {
        route: 0x99aa,
        caller: AgentKey { slot: 0xbbcc, generation: 0xddee },
        key: KeyTag(run(0xa3)),
        body: KeyTag(run(0xc3)),
    };
    let by_gateway = |number: u64, second_key: Option<SecondKey>| CommandHead { number, second_key, ..head };
    // The line was frozen before there were others.
    let of_all = commands_of_rules_1()
        .into_iter()
        .zip(1..)
        .map(|((_, command), number)| (by_gateway(number, (number % 3 == 0).then_some(second_key)), command))
        .collect();
    let tick: Command = cs::Tick {}.into();
    let register = commands_of_rules_1().into_iter().find(|(label, _)| label == "RegisterAgent").unwrap().1;
    vec![
        ("empty".into(), Record { header: header(2), commands: Vec::new() }),
        ("tick".into(), Record { header: header(1), commands: vec![(CommandHead::SEQUENCER, tick)] }),
        (
            "second_key".into(),
            Record { header: header(3), commands: vec![(by_gateway(1, Some(second_key)), register)] },
        ),
        ("every_command".into(), Record { header: header(4), commands: of_all }),
    ]
}
