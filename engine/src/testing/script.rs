//! Scripts: a line is a record at its time, with one or more commands.
//!
//! ```text
//! 10:00:00.000 sequencer                                  the sequencer's commands name no gateway
//! 10:00:00.001 gateway a
//! ~10:00:00.002 a register left, right by agentarena      ~: its events are not printed
//! 10:00:01.000 a open m1 left right first=challenger      names, for ids and keys
//!            & a move m1 X d                              &: one more command in the same record
//! 10:00:01.250 a#7 move m1 O d ply=2 attempt=2            a number, a ply, an attempt of its own
//! 10:00:01.300 @9#1 tick                                  a producer by its number
//! 1d10:00:40.000 {number=9 chain=bad} tick                a day later; a header that is not the next one's
//! 1d10:00:41.000 empty
//! 1d10:00:42.000 a play m2 dcdc                           a record for each move, a millisecond apart, X or O as it comes
//! ```
//!
//! What is left out is what the state asks for: the next number of the gateway, the ply and the attempt of the seat's turn.
//! Every command may have `with=left` (its api_key; `left:agent_token`, `left@1` for a generation of its own), `key=k/b` (a
//! second key and the tag of its body), `caller=left`, `route=2`.

mod sessions;

use super::{Body, Journal, show};
use arena_schema::{
    Command, Event, Hash, LogTime, Move, Seat, SecretHash, TextRef, TextSalt,
    command::{
        matches::{AbortMatch, First, OpenMatch, RecordStrike, StrikeCause, SubmitMove, TurnRef, VoidReason},
        registry::{NewCredential, RegisterAgent, RotateCredential, SetEndpoint},
        system::{
            ActivateRules, AnnounceGateway, AnnounceSequencer, BeginLineage, CloseEra, GatewayGone, Tick,
        },
    },
    event::system::KeyTag,
    id::{
        AgentId, AgentKey, ChallengePolicy, ConnectionMethod, CredentialKind, CredentialRef, Epoch, Era,
        GameCode, Handle, Incarnation, Lineage, MatchId, MatchKey, Nonce, Partition, ProducerId, Protocol,
        PublicSlug, RecordNumber, RulesVersion, Seed, SessionKey,
    },
    record::{CommandHead, Header, SecondKey},
};
use std::{
    collections::{BTreeMap, VecDeque},
    fmt::Write as _,
};

/// Days from 1970 to the day that scripts begin at.
pub(super) const FIRST_DAY: u64 = 20_454;

/// A name as bytes, cut or padded.
fn padded<const N: usize>(name: &str) -> [u8; N] {
    let mut bytes = [0; N];
    let len = name.len().min(N);
    bytes[..len].copy_from_slice(&name.as_bytes()[..len]);
    bytes
}

fn text(text: &str) -> TextRef {
    TextRef::commit(&TextSalt([5; 32]), text)
}

/// What the names of a script stand for.
#[derive(Default)]
pub(super) struct Names {
    gateways: BTreeMap<String, Gateway>,
    matches: BTreeMap<String, MatchKey>,
    agents: BTreeMap<AgentKey, String>,
    sessions: BTreeMap<String, SessionKey>,
    /// By their numbers, also those whose names were taken back.
    participants: BTreeMap<(SessionKey, u32), String>,
}

struct Gateway {
    producer: ProducerId,
    next: u64,
}

impl Names {
    pub(super) fn gateway(&self, id: ProducerId) -> String {
        let named = self.gateways.iter().find(|(_, gateway)| gateway.producer == id);
        let unnamed = if id == ProducerId::NONE { "nobody".into() } else { format!("@{}", id.0) };
        named.map_or(unnamed, |(name, _)| name.clone())
    }

    pub(super) fn agent(&self, key: AgentKey) -> String {
        self.agents.get(&key).cloned().unwrap_or("nobody".into())
    }

    pub(super) fn game(&self, key: MatchKey) -> String {
        let named = self.matches.iter().find(|(_, known)| **known == key);
        named.map_or_else(|| format!("{}@{}", key.slot, key.generation), |(name, _)| name.clone())
    }

    fn agent_key(&self, name: &str) -> AgentKey {
        let known = self.agents.iter().find(|(_, known)| *known == name);
        known.map_or(AgentKey { slot: 999, generation: 1 }, |(key, _)| *key)
    }

    /// Takes in what the events of a record say of names.
    fn learn(&mut self, event: &Event) {
        match event {
            Event::GatewayAnnounced(e) => {
                let name = e.incarnation.0.iter().take_while(|b| **b != 0).map(|&b| char::from(b)).collect();
                self.gateways.insert(name, Gateway { producer: e.producer, next: 1 });
            }
            Event::AgentRegistered(e) => {
                self.agents.insert(e.agent, e.handle.to_string());
            }
            Event::GuestArrived(e) => {
                self.agents.insert(e.agent, e.handle.to_string());
            }
            Event::MatchOpened(e) => {
                self.matches.insert(show::match_name(&e.id), e.key);
            }
            event => self.learn_session(event),
        }
    }
}

/// The words of one command: bare ones in their order, and options.
struct Words<'a> {
    bare: VecDeque<&'a str>,
    options: BTreeMap<&'a str, &'a str>,
    line: &'a str,
}

impl<'a> Words<'a> {
    fn of(line: &'a str) -> Self {
        let (options, bare) = line.split_whitespace().partition::<Vec<_>, _>(|word| word.contains('='));
        let options = options.into_iter().filter_map(|word| word.split_once('=')).collect();
        Self { bare: bare.into(), options, line }
    }

    fn next(&mut self) -> &'a str {
        self.bare.pop_front().unwrap_or_else(|| panic!("a word is missing: {}", self.line))
    }

    fn flag(&mut self, word: &str) -> bool {
        let at = self.bare.iter().position(|bare| *bare == word);
        at.and_then(|at| self.bare.remove(at)).is_some()
    }

    fn option(&mut self, name: &str) -> Option<&'a str> {
        self.options.remove(name)
    }

    fn number(&mut self, name: &str) -> Option<u64> {
        self.option(name).map(|value| value.parse().unwrap_or_else(|_| panic!("no number: {}", self.line)))
    }

    fn end(&self) {
        assert!(self.bare.is_empty() && self.options.is_empty(), "words left over: {}", self.line);
    }
}

fn parse_time(word: &str) -> LogTime {
    let (days, clock) = word.split_once('d').unwrap_or(("0", word));
    let (hms, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let s = hms.split(':').fold(0, |s, part| s * 60 + part.parse::<u64>().expect("a number"));
    let us = format!("{fraction:0<6}").parse::<u64>().expect("a fraction");
    let days = FIRST_DAY + days.parse::<u64>().expect("a number of days");
    LogTime(days * show::DAY_US + s * 1_000_000 + us)
}

/// Runs a script: what is printed of it, and the journal that it made.
pub(super) fn run(script: &str) -> (String, Journal) {
    let (mut journal, mut names, mut out) = (Journal::new(), Names::default(), String::new());
    let mut lines = script.lines().map(str::trim).filter(|line| !line.is_empty()).peekable();
    while let Some(line) = lines.next() {
        let quiet = line.starts_with('~');
        let (time, mut rest) = line.trim_start_matches('~').split_once(' ').expect("a time and a command");
        let mut edits = "";
        if let Some((inside, after)) = rest.trim_start().strip_prefix('{').and_then(|r| r.split_once('}')) {
            (edits, rest) = (inside, after);
        }
        let mut commands = vec![rest.trim()];
        while let Some(more) = lines.next_if(|line| line.starts_with('&')) {
            commands.push(more[1..].trim());
        }
        let mut time = parse_time(time);
        let records: Vec<Vec<String>> = match commands[..] {
            ["empty"] => vec![vec![]],
            [one] if one.contains(" play ") => play(one).into_iter().map(|command| vec![command]).collect(),
            _ => vec![commands.into_iter().map(str::to_owned).collect()],
        };
        for record in records {
            let commands: Vec<_> =
                record.iter().flat_map(|line| commands_of(line, &journal, &mut names)).collect();
            let digests = journal.digests.clone();
            let before = journal.state().clone();
            let appended =
                journal.append(time, &commands, |header| edit(header, edits, &digests)).map(<[_]>::to_vec);
            match appended {
                Ok(events) => {
                    for emitted in &events {
                        names.learn(&emitted.event);
                    }
                    if !quiet {
                        show::record(journal.state().head().number.0, &events, &names, &mut out);
                    }
                }
                Err(halt) => {
                    let (now, before) = (format!("{:?}", journal.state()), format!("{before:?}"));
                    assert_eq!(now, before, "a halt leaves no trace");
                    writeln!(out, "halt: {}", show::halt(&halt)).unwrap();
                }
            }
            time.0 += 1_000;
        }
    }
    (out, journal)
}

fn play(line: &str) -> Vec<String> {
    let (gateway, rest) = line.split_once(" play ").expect("it was found before");
    let (name, moves) = rest.split_once(' ').expect("a match and its moves");
    moves.trim().chars().map(|mv| format!("{gateway} move {name} ? {mv}")).collect()
}

fn edit(header: &mut Header, edits: &str, digests: &[Hash]) {
    let mut words = Words::of(edits);
    if let Some(number) = words.number("number") {
        header.number = RecordNumber(number);
    }
    if words.option("chain").is_some() {
        header.previous = Hash([0xbb; 32]);
    }
    if let Some(lineage) = words.option("lineage") {
        header.lineage = Lineage(padded(lineage));
    }
    if let Some(partition) = words.number("partition") {
        header.partition = Partition(partition as u16);
    }
    if let Some(era) = words.number("era") {
        header.era = Era(era as u32);
    }
    if let Some(epoch) = words.number("epoch") {
        header.epoch = Epoch(epoch);
    }
    if let Some(rules) = words.number("rules") {
        header.rules = RulesVersion(rules as u32);
    }
    if words.option("digest").is_some() {
        header.digest = Hash([0xdd; 32]);
    }
    if let Some(reaches) = words.number("reaches") {
        header.digest_reaches = RecordNumber(reaches);
    }
    // A digest that fits, so many records behind the last.
    if let Some(lag) = words.number("lag") {
        let reaches = digests.len() as u64 - 1 - lag;
        (header.digest_reaches, header.digest) = (RecordNumber(reaches), digests[reaches as usize]);
    }
    words.end();
}

const SEQUENCERS: &[&str] = &["sequencer", "gateway", "gone", "tick", "rules", "close", "lineage", "raw"];

/// One line of a script, which is one command, or one for each agent that it registers.
fn commands_of(line: &str, journal: &Journal, names: &mut Names) -> Vec<(CommandHead, Body)> {
    let mut words = Words::of(line);
    let first = *words.bare.front().unwrap_or_else(|| panic!("no command: {line}"));
    let by = if SEQUENCERS.contains(&first) { None } else { words.bare.pop_front() };
    let mut head = CommandHead {
        producer: ProducerId::SEQUENCER,
        number: 0,
        credential: credential(&mut words, journal, names),
        second_key: second_key(&mut words, names),
    };
    let bodies = bodies(&mut words, journal, names);
    words.end();
    let number = |head: CommandHead| match by {
        Some(by) => numbered(head, by, names),
        None => head,
    };
    let mut number = number;
    bodies
        .into_iter()
        .map(|body| {
            head = number(head);
            (head, body)
        })
        .collect()
}

fn numbered(mut head: CommandHead, by: &str, names: &mut Names) -> CommandHead {
    let (name, number) = by.split_once('#').map_or((by, None), |(name, n)| (name, Some(n.parse().unwrap())));
    if let Some(id) = name.strip_prefix('@') {
        (head.producer, head.number) = (ProducerId(id.parse().unwrap()), number.unwrap_or(1));
        return head;
    }
    let gateway = names.gateways.get_mut(name).unwrap_or_else(|| panic!("no gateway {name}"));
    head.producer = gateway.producer;
    head.number = number.unwrap_or(gateway.next);
    gateway.next = gateway.next.max(head.number.saturating_add(1));
    head
}

fn credential(words: &mut Words<'_>, journal: &Journal, names: &Names) -> CredentialRef {
    let Some(with) = words.option("with") else {
        return CredentialRef::NONE;
    };
    let (named, generation) =
        with.split_once('@').map_or((with, None), |(n, g)| (n, Some(g.parse().unwrap())));
    if let Ok(id) = named.parse() {
        return CredentialRef { id, generation: generation.unwrap_or(1) };
    }
    let (agent, kind) = named.split_once(':').unwrap_or((named, "api_key"));
    let kind = CredentialKind::from_name(kind).expect("a kind of credential");
    let (mut known, _) =
        journal.state().registry().credential_of(names.agent_key(agent), kind).expect("the agent has one");
    known.generation = generation.unwrap_or(known.generation);
    known
}

fn second_key(words: &mut Words<'_>, names: &Names) -> Option<SecondKey> {
    let (key, body) = words.option("key")?.split_once('/').expect("a key and a body");
    let caller = words.option("caller").map_or(AgentKey::NONE, |name| names.agent_key(name));
    let route = words.number("route").unwrap_or(1) as u16;
    Some(SecondKey { route, caller, key: KeyTag(padded(key)), body: KeyTag(padded(body)) })
}

fn bodies(words: &mut Words<'_>, journal: &Journal, names: &Names) -> Vec<Body> {
    let verb = words.next();
    let command: Command = match verb {
        "raw" => {
            let kind = u16::from_str_radix(words.next().trim_start_matches("0x"), 16).expect("a kind in hex");
            let hex = words.bare.pop_front().unwrap_or_default();
            let bytes = (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap());
            return vec![Body::Raw(kind, bytes.collect())];
        }
        "register" => return register(words).into_iter().map(|one| Body::Known(one.into())).collect(),
        "sequencer" => AnnounceSequencer {
            incarnation: Incarnation(padded("sequencer")),
            outage_us: words.number("outage_us").unwrap_or(0),
        }
        .into(),
        "gateway" => AnnounceGateway {
            incarnation: Incarnation(padded(words.next())),
            rules_known: RulesVersion(words.number("rules").unwrap_or(1) as u32),
        }
        .into(),
        "gone" => GatewayGone { incarnation: Incarnation(padded(words.next())) }.into(),
        "tick" => Tick {}.into(),
        "rules" => ActivateRules { version: RulesVersion(words.next().parse().expect("a version")) }.into(),
        "close" => CloseEra {}.into(),
        "lineage" => {
            let head = journal.state().head();
            BeginLineage {
                lineage: Lineage(padded(words.next())),
                number: words.number("after").map_or(head.number, RecordNumber),
                hash: words.option("hash").map_or(head.hash, |_| Hash([0xbb; 32])),
            }
            .into()
        }
        "rotate" => {
            let (agent, kind) = (words.next(), words.next());
            RotateCredential { agent: names.agent_key(agent), credential: secret(agent, kind, words) }.into()
        }
        "endpoint" => SetEndpoint {
            agent: names.agent_key(words.next()),
            endpoint: words.option("url").map(text),
            challenges: words.option("challenges").and_then(ChallengePolicy::from_name),
        }
        .into(),
        "open" => open(words, names).into(),
        "move" => {
            let turn = turn(words, journal, names);
            let mv = words.next();
            let mv = match (mv.as_bytes(), mv.parse::<u8>()) {
                (&[letter @ b'a'..=b'z'], _) => Move::from_byte(letter - b'a'),
                (_, Ok(byte)) => Move::from_byte(byte),
                _ => panic!("a column or a byte: {mv}"),
            };
            SubmitMove {
                turn,
                mv,
                reason: words.option("reason").map(text),
                excerpt: words.option("excerpt").map(text).map(Box::new),
                nonce: Some(Nonce([3; 16])),
                latency_ms: words.number("ms").unwrap_or(0) as u32,
            }
            .into()
        }
        "strike" => RecordStrike {
            turn: turn(words, journal, names),
            cause: StrikeCause::from_name(words.next()).expect("a cause"),
            status: words.number("status").map(|status| status as u16),
            excerpt: words.option("excerpt").map(text),
            nonce: Some(Nonce([3; 16])),
            latency_ms: words.number("ms").unwrap_or(0) as u32,
        }
        .into(),
        "abort" => AbortMatch {
            key: match_key(words.next(), names),
            reason: if words.flag("operator") { VoidReason::Operator } else { VoidReason::RefereeFault },
        }
        .into(),
        _ => sessions::command(verb, words, journal, names)
            .unwrap_or_else(|| panic!("no such command: {verb}")),
    };
    vec![Body::Known(command)]
}

fn secret(agent: &str, kind: &str, words: &mut Words<'_>) -> NewCredential {
    let secret = words.option("secret").map_or_else(|| format!("{kind} of {agent}"), str::to_owned);
    NewCredential {
        kind: CredentialKind::from_name(kind).expect("a kind of credential"),
        hash: SecretHash::of(&secret),
    }
}

fn register(words: &mut Words<'_>) -> Vec<RegisterAgent> {
    let challenges = if words.flag("closed") { ChallengePolicy::None } else { ChallengePolicy::Open };
    let protocol = match words.bare.iter().position(|word| *word == "by") {
        Some(at) => words.bare.drain(at..).nth(1).expect("a protocol"),
        None => "agentarena",
    };
    let protocol = Protocol::ALL.iter().copied().find(|known| known.as_str().starts_with(protocol));
    let protocol = protocol.expect("a protocol");
    let usual = match protocol {
        Protocol::House => ConnectionMethod::House,
        Protocol::EvalDuel => ConnectionMethod::WebSocket,
        Protocol::Mcp => ConnectionMethod::Mcp,
        _ => ConnectionMethod::RemoteEndpoint,
    };
    let method = words.option("method").map_or(usual, |m| ConnectionMethod::from_name(m).expect("a method"));
    let posted = method == ConnectionMethod::RemoteEndpoint;
    let url = words.option("url").map_or(posted.then_some("https://agent.example/play"), Some);
    let endpoint = url.filter(|url| *url != "none").map(text);
    let kinds: Vec<&str> = words.option("secrets").map(|list| list.split(',').collect()).unwrap_or_default();
    words
        .bare
        .drain(..)
        .map(|name| name.trim_end_matches(','))
        .map(|name| RegisterAgent {
            id: AgentId::from_random(Partition(0), padded(name)),
            public_slug: PublicSlug(padded(name)),
            handle: Handle::parse(name).expect("a handle"),
            name: Some(text(name)),
            protocol,
            method,
            endpoint,
            challenges,
            credentials: kinds
                .iter()
                .map(|kind| {
                    let (kind, known) = kind.split_once(':').map_or((*kind, None), |(k, s)| (k, Some(s)));
                    let own = format!("{kind} of {name}");
                    NewCredential {
                        kind: CredentialKind::from_name(kind).expect("a kind of credential"),
                        hash: SecretHash::of(known.unwrap_or(&own)),
                    }
                })
                .collect(),
        })
        .collect()
}

fn open(words: &mut Words<'_>, names: &Names) -> OpenMatch {
    let rated = !words.flag("unrated");
    let mut id = [0; 14];
    let name = words.next();
    // Behind the bits that the version and the variant take.
    id[7..].copy_from_slice(&padded::<7>(name));
    let mut seed = [0; 32];
    seed[0] = words.number("seed").unwrap_or(0) as u8;
    OpenMatch {
        id: MatchId::from_random(Partition(0), id),
        game: GameCode(words.number("game").unwrap_or(1) as u16),
        players: [names.agent_key(words.next()), names.agent_key(words.next())],
        first: words.option("first").map_or(First::BySeed, |f| First::from_name(f).expect("who is first")),
        rated,
        deadline_ms: words.number("deadline").unwrap_or(10_000) as u32,
        seed: Seed(seed),
    }
}

fn match_key(name: &str, names: &Names) -> MatchKey {
    names.matches.get(name).copied().unwrap_or(MatchKey { slot: 999, generation: 1 })
}

/// The turn that a command names: as the state has it but for what the line says.
fn turn(words: &mut Words<'_>, journal: &Journal, names: &Names) -> TurnRef {
    let (key, seat) = (match_key(words.next(), names), words.next());
    let open = journal.state().matches().get(key);
    let to_act = open.and_then(|open| Seat::ALL.iter().copied().find(|seat| open.seat(*seat).turn.is_some()));
    let seat = Seat::from_name(seat).or(to_act).unwrap_or(Seat::First);
    let known = open.and_then(|open| open.seat(seat).turn.as_ref()).map(|turn| (turn.ply, turn.attempt));
    let next = open.map_or((1, 1), |open| (open.plies + 1, open.attempts));
    let (ply, attempt) = known.unwrap_or(next);
    TurnRef {
        key,
        seat,
        ply: words.number("ply").map_or(ply, |ply| ply as u16),
        attempt: words.number("attempt").map_or(attempt, |attempt| attempt as u32),
    }
}
