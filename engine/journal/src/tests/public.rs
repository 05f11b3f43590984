//! The public event stream: what a match shows, under which ids, from wherever the fold begins. Expectations are written from
//! DESIGN, *What is public*, and SURFACE, *A replay*.

use crate::{
    PublicError, PublicEvents,
    testing::{Dice, PARTITION, Writer, agent_key, open_match, played, register, submit_move, turn_of},
};
use arena_engine::{Emitted, Reduction, State, reduce};
use arena_schema::{
    Command, Commitment, Event, Family, Move, SecretHash, TextRef,
    command::{
        matches::{AbortMatch, OpenMatch, RecordStrike, StrikeCause, SubmitMove, TurnRef, VoidReason},
        registry::{NewCredential, RegisterAgent, RotateCredential, SetEndpoint},
        system::{AnnounceGateway, AnnounceSequencer, BeginLineage, CloseEra, GatewayGone},
    },
    id::{
        ChallengePolicy, ConnectionMethod, CredentialKind, Handle, Incarnation, Lineage, Nonce, Partition,
        Protocol, RecordNumber, RulesVersion,
    },
    public::{EventId, PublicEvent},
    record::{CommandHead, EncodedRecord, Header, RecordView},
};
use std::collections::{BTreeMap, BTreeSet};

/// A record as followers see it, with the state before it.
struct Step {
    before: State,
    header: Header,
    events: Vec<Emitted>,
}

/// Reduces records one by one.
fn steps(records: &[EncodedRecord]) -> Vec<Step> {
    let mut state = State::new(PARTITION);
    let step = |record: &EncodedRecord| {
        let (before, mut reduction) = (state.clone(), Reduction::default());
        let view = RecordView::parse(record.as_bytes()).unwrap();
        reduce(&mut state, &view, &mut reduction).unwrap();
        Step { before, header: view.header, events: reduction.events }
    };
    records.iter().map(step).collect()
}

/// What everybody may read of all records.
fn public(steps: &[Step]) -> Vec<PublicEvent> {
    let mut fold = PublicEvents::after(&steps[0].before);
    steps.iter().flat_map(|step| fold.follow(&step.header, &step.events).unwrap()).collect()
}

fn text(of: u8) -> TextRef {
    TextRef { commitment: Commitment([of; 32]), size: 11 }
}

/// An agent that we post to, with a secret, an address and a name that nobody may see.
fn posted(at: u64, handle: &str) -> RegisterAgent {
    RegisterAgent {
        handle: Handle::parse(handle).unwrap(),
        name: Some(text(0xc0 + at as u8)),
        protocol: Protocol::AgentArena,
        method: ConnectionMethod::RemoteEndpoint,
        endpoint: Some(text(0xd0 + at as u8)),
        ..register(at)
    }
}

/// Plays a match move by move and keeps who is asked.
struct Play {
    writer: Writer,
    records: Vec<EncodedRecord>,
}

impl Play {
    fn begin() -> Self {
        let mut writer = Writer::new();
        let records = writer.begin();
        Self { writer, records }
    }

    fn record(&mut self, commands: Vec<Command>) {
        let record = self.writer.record(commands);
        self.records.push(record);
    }

    fn by_sequencer(&mut self, command: impl Into<Command>) {
        let record = self.writer.seal(&[(CommandHead::SEQUENCER, command.into())]);
        self.records.push(record);
    }

    /// The turn that the last record opened.
    fn asked(&self) -> TurnRef {
        turn_of(self.writer.events.iter().map(|emitted| &emitted.event)).unwrap()
    }
}

const MATCH: &str = "0000c24d-1b51-8f8b-9c6c-000000000000";

/// A match of two agents: X strikes once, then both drop discs until X has four in the column d.
fn match_won() -> Vec<EncodedRecord> {
    let mut play = Play::begin();
    play.record(vec![posted(0, "left").into(), posted(1, "right").into()]);
    let id = arena_schema::id::MatchId::parse(MATCH).unwrap();
    let opened = OpenMatch { id, deadline_ms: 10_000, ..open_match(1, [agent_key(0), agent_key(1)]) };
    play.record(vec![opened.into()]);
    let strike = RecordStrike {
        turn: play.asked(),
        cause: StrikeCause::Status,
        status: Some(503),
        excerpt: Some(text(0xe0)),
        nonce: Some(Nonce([0xee; 16])),
        latency_ms: 31,
    };
    play.record(vec![strike.into()]);
    for column in [3, 0, 3, 0, 3, 0] {
        let turn = play.asked();
        let said = if turn.ply == 1 { Some(text(0xe1)) } else { None };
        play.record(vec![SubmitMove { reason: said, ..submit_move(turn, column) }.into()]);
    }
    let turn = play.asked();
    play.record(vec![submit_move(turn, 3).into()]);
    play.records
}

#[test]
fn a_whole_match_is_told_in_order_with_the_ids_of_its_events() {
    let lineage = "03".repeat(16);
    let match_key = format!(
        r#""family":"matches","kind":"KIND","key":"{MATCH}","match_id":"{MATCH}","game":"connect4","#
    );
    let players = r#""players":[{"seat":"X","agent":"left","protocol":"agentarena/1"},{"seat":"O","agent":"right","protocol":"agentarena/1"}]"#;
    let of_match = |kind: &str, facts: &str| match_key.replace("KIND", kind) + facts;
    let slugs = [0, 1].map(|at| hex::encode(Dice(at).bytes::<12>()));
    let agent = |handle: &str, slug: &str| {
        format!(
            r#""family":"registry","kind":"agent_registered","key":"{handle}","agent":"{handle}","public_slug":"{slug}","protocol":"agentarena/1","connection_method":"remote_endpoint","challenges":"open","profile":"/api/v1/agents/{handle}""#
        )
    };
    let moved = |ply: u16, mv: &str| {
        let (seat, agent) = if ply % 2 == 1 { ("X", "left") } else { ("O", "right") };
        let said = if ply == 1 { format!(r#","reason_at":"/m/{MATCH}""#) } else { String::new() };
        of_match(
            "move_played",
            &format!(
                r#""seat":"{seat}","agent":"{agent}","move_number":{ply},"move":"{mv}","latency_ms":12{said}"#
            ),
        )
    };
    // Record, command and event; the first event of a gateway's command says that its number was used.
    let expected = [
        (
            1,
            1,
            1,
            r#""family":"system","kind":"sequencer_announced","key":"-","epoch":1,"outage_us":0"#.to_owned(),
        ),
        (3, 1, 2, agent("left", &slugs[0])),
        (3, 2, 2, agent("right", &slugs[1])),
        (
            4,
            1,
            2,
            of_match(
                "match_opened",
                &format!(
                    r#""rated":false,"rules_version":1,"deadline_ms":10000,{players},"replay":"/m/{MATCH}""#
                ),
            ),
        ),
        (
            5,
            1,
            2,
            of_match(
                "strike_recorded",
                r#""seat":"X","agent":"left","move_number":1,"cause":"status","strikes":1,"latency_ms":31,"status":503"#,
            ),
        ),
        (6, 1, 2, moved(1, "d")),
        (7, 1, 2, moved(2, "a")),
        (8, 1, 2, moved(3, "d")),
        (9, 1, 2, moved(4, "a")),
        (10, 1, 2, moved(5, "d")),
        (11, 1, 2, moved(6, "a")),
        (12, 1, 2, moved(7, "d")),
        (
            12,
            1,
            3,
            of_match(
                "match_ended",
                &format!(
                    r#""rated":false,"status":"finished",{players},"winner":"X","reason":"win","replay":"/m/{MATCH}""#
                ),
            ),
        ),
    ];
    let told = public(&steps(&match_won()));
    let lines: Vec<String> = told.iter().map(|event| event.json.clone()).collect();
    // Record n is n - 1 milliseconds behind the first.
    let expected: Vec<String> = expected
        .into_iter()
        .map(|(record, command, event, facts)| {
            let at = format!("2025-06-15T15:06:40.{:03}Z", record - 1);
            format!(r#"{{"id":"{lineage}-0-{record}-{command}-{event}","at":"{at}",{facts}}}"#)
        })
        .collect();
    assert_eq!(lines, expected);
    let subjects: Vec<&str> = told.iter().map(|event| event.subject.as_str()).collect();
    assert_eq!(
        [subjects[0], subjects[1], subjects[3], subjects[12]],
        [
            "arena.event.0.system.sequencer_announced.-",
            "arena.event.0.registry.agent_registered.left",
            &format!("arena.event.0.matches.match_opened.{MATCH}"),
            &format!("arena.event.0.matches.match_ended.{MATCH}"),
        ]
    );
}

/// All that may happen: policies, addresses and secrets that change, a refusal, an outage, a gateway that goes, turns that nobody
/// answers, matches that end in each way and give their places to others, another era and another lineage.
fn eventful() -> Vec<EncodedRecord> {
    let mut play = Play::begin();
    let polling = |at: u64, handle: &str| RegisterAgent {
        method: ConnectionMethod::Polling,
        protocol: Protocol::AgentArena,
        endpoint: None,
        ..posted(at, handle)
    };
    play.record(vec![
        polling(0, "slow-0").into(),
        polling(1, "slow-1").into(),
        posted(2, "left").into(),
        posted(3, "right").into(),
        posted(4, "left").into(),
    ]);
    let set = |agent: u32, endpoint: Option<TextRef>, challenges: Option<ChallengePolicy>| -> Command {
        SetEndpoint { agent: agent_key(agent), endpoint, challenges }.into()
    };
    play.record(vec![
        set(2, Some(text(0xf0)), None),
        set(2, Some(text(0xf1)), Some(ChallengePolicy::None)),
        set(2, None, Some(ChallengePolicy::None)),
        set(2, None, Some(ChallengePolicy::Open)),
        RotateCredential {
            agent: agent_key(2),
            credential: NewCredential { kind: CredentialKind::ApiKey, hash: SecretHash([0xf2; 32]) },
        }
        .into(),
    ]);
    let opened = |at: u64, one: u32, other: u32| -> Command {
        open_match(at, [agent_key(one), agent_key(other)]).into()
    };
    play.record(vec![opened(1, 0, 1), opened(2, 2, 3), opened(3, 2, 2)]);
    let key = |slot: u32, generation: u32| arena_schema::id::MatchKey { slot, generation };
    // The second match ends and its place goes to another in the same record.
    play.record(vec![
        AbortMatch { key: key(1, 1), reason: VoidReason::Operator }.into(),
        opened(4, 3, 2),
        AbortMatch { key: key(1, 1), reason: VoidReason::Operator }.into(),
        set(3, None, Some(ChallengePolicy::None)),
    ]);
    // Nobody comes for a turn: the agenda ends it, three times.
    for _ in 0..3 {
        play.writer.late_us += 16_000_000;
        play.record(vec![set(3, Some(text(0xf3)), None)]);
    }
    play.by_sequencer(AnnounceSequencer { incarnation: Incarnation([2; 16]), outage_us: 900 });
    play.by_sequencer(AnnounceGateway { incarnation: Incarnation([2; 16]), rules_known: RulesVersion(1) });
    play.by_sequencer(GatewayGone { incarnation: Incarnation([2; 16]) });
    let illegal = SubmitMove {
        mv: Move::from_byte(9),
        excerpt: Some(Box::new(text(0xf4))),
        ..submit_move(play.turn(1), 0)
    };
    play.record(vec![illegal.into()]);
    play.by_sequencer(CloseEra {});
    let (number, hash) = (play.writer.state.head().number, play.writer.state.head().hash);
    play.by_sequencer(BeginLineage { lineage: Lineage([4; 16]), number, hash });
    play.by_sequencer(AnnounceSequencer { incarnation: Incarnation([5; 16]), outage_us: 0 });
    play.records
}

impl Play {
    /// The turn of the first seat that is asked in the match at this place.
    fn turn(&self, slot: u32) -> TurnRef {
        let (_, generation, open) =
            self.writer.state.matches().open().iter().find(|(at, _, _)| *at == slot).unwrap();
        let seat =
            arena_schema::Seat::ALL.iter().copied().find(|seat| open.seat(*seat).turn.is_some()).unwrap();
        let turn = open.seat(seat).turn.as_ref().unwrap();
        let key = arena_schema::id::MatchKey { slot, generation };
        TurnRef { key, seat, ply: turn.ply, attempt: turn.attempt }
    }
}

/// The journals of these tests.
fn journals() -> Vec<Vec<Step>> {
    let records = |seed| played(80, seed).into_iter().map(|(record, _)| record).collect::<Vec<_>>();
    [match_won(), eventful(), records(1), records(2)].iter().map(|records| steps(records)).collect()
}

#[test]
fn a_fold_that_begins_behind_any_record_comes_to_the_same_bytes() {
    for steps in journals() {
        let all = public(&steps);
        for step in &steps {
            let from = step.header.number;
            let rest: Vec<&PublicEvent> = all.iter().filter(|event| event.id.record >= from).collect();
            let at = from.0 as usize - 1;
            assert_eq!(public(&steps[at..]).iter().collect::<Vec<_>>(), rest, "from record {from}");
        }
    }
}

#[test]
fn a_fold_that_comes_to_a_record_knows_what_one_that_begins_there_knows() {
    for steps in journals() {
        let mut fold = PublicEvents::after(&steps[0].before);
        for step in &steps {
            assert!(fold == PublicEvents::after(&step.before), "before record {}", step.header.number);
            fold.follow(&step.header, &step.events).unwrap();
        }
    }
}

#[test]
fn ids_count_all_events_of_a_command_also_those_that_are_not_public() {
    for steps in journals() {
        // Counted here anew: each event's place among those of its command.
        let mut counted = Vec::new();
        for step in &steps {
            let mut of_command: BTreeMap<u32, u32> = BTreeMap::new();
            for emitted in &step.events {
                let place = of_command.entry(emitted.command).or_default();
                *place += 1;
                counted.push((step.header.lineage, step.header.number, emitted.command, *place));
            }
        }
        let told: Vec<_> = public(&steps)
            .iter()
            .map(|it| (it.id.lineage, it.id.record, it.id.command, it.id.event))
            .collect();
        let mut rest = counted.iter();
        assert!(
            told.iter().all(|id| rest.any(|known| known == id)),
            "each id is an event's, in the journal's order"
        );
        let all = public(&steps);
        assert!(all.windows(2).all(|pair| pair[1].id.is_after(&pair[0].id)), "ids go up");
        for event in &all {
            assert_eq!(EventId::parse(&event.id.to_string()), Some(event.id));
            assert!(event.json.starts_with(&format!(r#"{{"id":"{}","#, event.id)));
        }
    }
}

#[test]
fn what_happens_without_a_command_stands_under_command_0() {
    let steps = steps(&eventful());
    let overdue: Vec<PublicEvent> =
        public(&steps).into_iter().filter(|event| event.id.command == 0).collect();
    // Three strikes and the forfeit; the turns opened in between count and do not show.
    let told: Vec<(&str, u32)> = overdue.iter().map(|event| (event.kind, event.id.event)).collect();
    assert_eq!(
        told,
        [("strike_recorded", 1), ("strike_recorded", 1), ("strike_recorded", 1), ("match_ended", 2)]
    );
    assert!(overdue[0].json.contains(r#""cause":"timeout","strikes":1,"latency_ms":500,"status":null"#));
    assert!(overdue[3].json.contains(r#""winner":"O","reason":"forfeit""#), "{}", overdue[3].json);
}

#[test]
fn an_eventful_journal_tells_what_is_public_and_nothing_else() {
    let all = public(&steps(&eventful()));
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for event in &all {
        *kinds.entry(event.kind).or_default() += 1;
    }
    let expected = [
        ("agent_registered", 4), // the fifth handle was taken
        ("endpoint_set", 3),     // closed, opened, another closed; not where only the address is another
        ("lineage_begun", 1),
        ("match_ended", 2), // one void, one forfeited
        ("match_opened", 3),
        ("sequencer_announced", 3),
        ("strike_recorded", 4),
    ];
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), expected);
    let void = all.iter().find(|event| event.kind == "match_ended").unwrap();
    assert!(void.json.contains(r#""status":"void","players":["#), "{}", void.json);
    assert!(void.json.contains(r#""winner":null,"reason":"void""#), "{}", void.json);
    let of_place_1: Vec<&str> = all
        .iter()
        .filter(|event| event.id.record == RecordNumber(6) && event.family == Family::Matches)
        .map(|event| event.subject.rsplit('.').next().unwrap())
        .collect();
    assert_eq!(of_place_1.len(), 2, "the second abort is of a match that is gone");
    assert_ne!(of_place_1[0], of_place_1[1], "a place that was freed is another match's");
    let lineages: BTreeSet<Lineage> = all.iter().map(|event| event.id.lineage).collect();
    assert_eq!(lineages.into_iter().collect::<Vec<_>>(), [Lineage([3; 16]), Lineage([4; 16])]);
}

/// All runs of hex digits of 16 bytes and more, and ids in their hyphenated form, with where they stand.
fn long_runs(text: &str) -> BTreeSet<String> {
    text.split(|c: char| !(c.is_ascii_hexdigit() || c == '-'))
        .filter(|run| run.bytes().filter(u8::is_ascii_hexdigit).count() >= 20)
        .map(str::to_owned)
        .collect()
}

#[test]
fn no_secret_no_text_and_no_address_shows() {
    for steps in journals() {
        let all = public(&steps);
        let mut open = BTreeSet::new();
        let mut hidden = BTreeSet::new();
        for step in &steps {
            hidden.insert(hex::encode(step.header.salt));
            for emitted in &step.events {
                match &emitted.event {
                    Event::AgentRegistered(event) => {
                        open.insert(hex::encode(event.public_slug.0));
                        hidden.extend(event.credentials.iter().map(|it| hex::encode(it.hash.0)));
                        hidden.extend(
                            [event.name, event.endpoint]
                                .into_iter()
                                .flatten()
                                .map(|it| hex::encode(it.commitment.0)),
                        );
                        hidden.insert(event.id.to_uuid().to_string());
                        hidden.insert(hex::encode(event.id.0));
                    }
                    Event::CredentialRotated(event) => {
                        hidden.insert(hex::encode(event.credential.hash.0));
                    }
                    Event::EndpointSet(event) => {
                        hidden.extend(event.endpoint.iter().map(|it| hex::encode(it.commitment.0)));
                    }
                    Event::MatchOpened(event) => {
                        open.insert(event.id.to_uuid().to_string());
                        hidden.extend([hex::encode(event.seed.0), hex::encode(event.accepted.0)]);
                    }
                    Event::MovePlayed(event) => {
                        hidden.extend(event.reason.iter().map(|it| hex::encode(it.commitment.0)));
                    }
                    Event::StrikeRecorded(event) => {
                        hidden.extend(event.excerpt.iter().map(|it| hex::encode(it.commitment.0)));
                    }
                    Event::LineageBegun(event) => {
                        open.insert(event.lineage.to_string());
                    }
                    _ => {}
                }
            }
        }
        // Agents and matches of one number are drawn alike in these tests.
        hidden.retain(|it| !open.contains(it));
        for event in &all {
            let id = event.id.to_string();
            // Of all that is long, only ids and public slugs are shown.
            for run in long_runs(&event.json) {
                assert!(run == id || open.contains(&run), "{run} in {}", event.json);
            }
            assert!(
                hidden.iter().all(|it| !event.json.contains(it) && !event.subject.contains(it)),
                "{}",
                event.json
            );
        }
        assert!(hidden.len() > 10 && !open.is_empty());
    }
}

#[test]
fn a_subject_has_a_token_for_each_part_and_no_wildcard() {
    for event in journals().iter().flat_map(|steps| public(steps)) {
        let tokens: Vec<&str> = event.subject.split('.').collect();
        assert_eq!(tokens.len(), 6, "{}", event.subject);
        assert!(tokens.iter().all(|token| !token.is_empty() && !token.contains(['*', '>', ' '])));
        assert_eq!((tokens[3], tokens[4]), (event.family.as_str(), event.kind));
        assert!(event.json.contains(&format!(r#""key":"{}""#, tokens[5])));
    }
}

#[test]
fn a_gap_and_another_partition_are_refused() {
    let steps = steps(&match_won());
    let mut fold = PublicEvents::after(&State::new(PARTITION));
    assert_eq!(fold.next(), RecordNumber(1));
    fold.follow(&steps[0].header, &steps[0].events).unwrap();
    assert_eq!(fold.next(), RecordNumber(2));
    for wrong in [0, 2] {
        let refused = fold.follow(&steps[wrong].header, &steps[wrong].events).unwrap_err();
        assert!(matches!(refused, PublicError::Gap { expected: RecordNumber(2), .. }), "{refused}");
    }
    let elsewhere = Header { partition: Partition(9), ..steps[1].header.clone() };
    let refused = fold.follow(&elsewhere, &steps[1].events).unwrap_err();
    assert_eq!(refused.to_string(), "record 2 of partition 0 was expected, record 2 of partition 9 came");
    fold.follow(&steps[1].header, &steps[1].events).unwrap();
}

#[test]
fn names_of_another_record_are_refused_and_not_guessed() {
    let steps = steps(&match_won());
    // A state that lacks the match, said to be of the record before its first move.
    let at = steps.iter().position(|step| step.header.number == RecordNumber(6)).unwrap();
    let mut fold = PublicEvents::after(&steps[3].before);
    let header = Header { number: RecordNumber(4), ..steps[at].header.clone() };
    let refused = fold.follow(&header, &steps[at].events).unwrap_err();
    assert!(matches!(refused, PublicError::Unnamed(_)), "{refused}");
}
