//! Agent Arena's matches once more, written from the protocol's text and CHOICES alone: a board of letters, strikes counted by
//! hand, deadlines in a plain list. It shares no code with the engine, and both must say the same of a long random history.

use crate::testing::{Body, Journal};
use arena_schema::{
    Command, Event, LogTime, Move, Seat,
    command::{
        matches::{AbortMatch, First, OpenMatch, RecordStrike, StrikeCause, SubmitMove, TurnRef, VoidReason},
        registry::RegisterAgent,
        system::{AnnounceGateway, GatewayGone},
    },
    id::{
        AgentId, AgentKey, ChallengePolicy, ConnectionMethod, CredentialRef, GameCode, Handle, Incarnation,
        MatchId, MatchKey, Partition, ProducerId, Protocol, PublicSlug, RulesVersion, Seed,
    },
    record::CommandHead,
};
use std::collections::{BTreeMap, BTreeSet};

const COMMANDS: usize = 20_000;
const AGENTS: u32 = 12;

/// A small generator, the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() >> 11) as usize % end
    }

    fn one_in(&mut self, end: usize) -> bool {
        self.below(end) == 0
    }

    fn of<T: Copy>(&mut self, these: &[T]) -> T {
        these[self.below(these.len())]
    }
}

/// Every third agent has its requests carried to it; the others come for their turns, which the agenda ends too.
fn is_pushed(player: u32) -> bool {
    player % 3 == 2
}

/// A match as a referee with paper and pencil keeps it.
#[derive(Debug, Clone)]
struct Table {
    key: MatchKey,
    players: [u32; 2],
    /// Rows from the top, as the protocol shows them.
    board: [[char; 7]; 6],
    strikes: [u32; 2],
    askings: u32,
    home: u64,
    deadline_ms: u64,
    due_us: u64,
    asked_at: u64,
    over: bool,
    drawish: bool,
}

impl Table {
    fn discs(&self) -> usize {
        self.board.iter().flatten().filter(|square| **square != '.').count()
    }

    /// X is 0, O is 1.
    fn to_move(&self) -> usize {
        self.discs() % 2
    }

    /// Whether whoever is to move has its requests carried to it: it is judged by its gateway alone.
    fn pushed(&self) -> bool {
        is_pushed(self.players[self.to_move()])
    }

    fn legal(&self) -> Vec<usize> {
        (0..7).filter(|&column| self.board[0][column] == '.').collect()
    }

    fn put(&mut self, column: usize) {
        let letter = ['X', 'O'][self.to_move()];
        let row = (0..6).rev().find(|&row| self.board[row][column] == '.').expect("the column has room");
        self.board[row][column] = letter;
    }

    fn has_four(&self, letter: char) -> bool {
        let along = |row: usize, column: usize, down: usize, right: isize| {
            (0..4usize).all(|step| {
                let column = column.checked_add_signed(right * step.cast_signed());
                let square = column.and_then(|column| self.board.get(row + down * step)?.get(column));
                square == Some(&letter)
            })
        };
        let from =
            |row, column| [(0, 1), (1, 0), (1, 1), (1, -1)].iter().any(|&(d, r)| along(row, column, d, r));
        (0..6).any(|row| (0..7).any(|column| from(row, column)))
    }
}

/// One command of a door, as both sides are told it.
#[derive(Debug, Clone)]
struct Said {
    gateway: u64,
    number: u64,
    what: What,
}

#[derive(Debug, Clone, PartialEq)]
enum What {
    Open { table: usize, players: [u32; 2], swapped: bool, deadline_ms: u64 },
    Move { table: usize, seat: usize, ply: usize, attempt: u32, byte: u8 },
    Strike { table: usize, seat: usize, ply: usize, attempt: u32, cause: StrikeCause },
    Abort { table: usize },
}

#[derive(Default)]
struct Oracle {
    tables: Vec<Table>,
    /// The numbers of each live gateway, with what they were used for.
    gateways: BTreeMap<u64, BTreeMap<u64, What>>,
    asked: u64,
    now_us: u64,
}

impl Oracle {
    fn open_with(&self, player: u32) -> usize {
        self.tables.iter().filter(|table| !table.over && table.players.contains(&player)).count()
    }

    fn open_between(&self, [one, other]: [u32; 2]) -> usize {
        let both = |table: &&Table| table.players.contains(&one) && table.players.contains(&other);
        self.tables.iter().filter(|table| !table.over).filter(both).count()
    }

    /// Asks whoever is to move, with the whole deadline from now.
    fn ask(&mut self, at: usize, out: &mut Vec<String>) {
        self.asked += 1;
        let now_ms = self.now_us / 1_000;
        let table = &mut self.tables[at];
        table.askings += 1;
        table.due_us = (now_ms + table.deadline_ms + 15_000) * 1_000;
        table.asked_at = self.asked;
        let (seat, ply) = (["X", "O"][table.to_move()], table.discs() + 1);
        out.push(format!("{at}: {seat} asked for ply {ply}, asking {}", table.askings));
    }

    fn end(&mut self, at: usize, winner: &str, how: &str, out: &mut Vec<String>) {
        self.tables[at].over = true;
        out.push(format!("{at}: over, {winner} by {how}"));
    }

    fn strike(&mut self, at: usize, cause: &str, out: &mut Vec<String>) {
        let table = &mut self.tables[at];
        let seat = table.to_move();
        table.strikes[seat] += 1;
        let (count, ply) = (table.strikes[seat], table.discs() + 1);
        out.push(format!("{at}: {} strike {count} at ply {ply}, {cause}", ["X", "O"][seat]));
        if count == 3 {
            self.end(at, ["O", "X"][seat], "forfeit", out);
        } else {
            self.ask(at, out);
        }
    }

    /// What fell due until now, the earliest first, of two at once the one that was asked first.
    fn pass_time(&mut self, now_us: u64, out: &mut Vec<String>) {
        self.now_us = now_us;
        loop {
            let due = |(_, table): &(usize, &Table)| !table.over && !table.pushed() && table.due_us <= now_us;
            let first = self.tables.iter().enumerate().filter(due);
            let Some((at, _)) = first.min_by_key(|(_, table)| (table.due_us, table.asked_at)) else {
                break;
            };
            self.strike(at, "timeout", out);
        }
    }

    fn judge(&mut self, said: &Said, out: &mut Vec<String>) {
        if let Err(refusal) = self.act(said, out) {
            out.push(format!("refused: {refusal}"));
        }
    }

    fn act(&mut self, said: &Said, out: &mut Vec<String>) -> Result<(), &'static str> {
        let numbers = self.gateways.get_mut(&said.gateway).ok_or("expired")?;
        match numbers.get(&said.number) {
            Some(known) if *known == said.what => return Err("duplicate"),
            Some(_) => return Err("number_reused"),
            None => numbers.insert(said.number, said.what.clone()),
        };
        match said.what.clone() {
            What::Open { table, players, swapped, deadline_ms } => {
                if players.iter().any(|player| self.open_with(*player) >= 16) {
                    return Err("agent_limit");
                }
                if self.open_between(players) >= 3 {
                    return Err("pair_limit");
                }
                let [one, other] = players;
                assert_eq!(self.tables.len(), table);
                self.tables.push(Table {
                    key: MatchKey { slot: 0, generation: 0 },
                    players: if swapped { [other, one] } else { [one, other] },
                    board: [['.'; 7]; 6],
                    strikes: [0; 2],
                    askings: 0,
                    home: 0,
                    deadline_ms,
                    due_us: 0,
                    asked_at: 0,
                    over: false,
                    drawish: table.is_multiple_of(2),
                });
                out.push(format!(
                    "{table}: opened, X {}, O {}",
                    self.tables[table].players[0], self.tables[table].players[1]
                ));
                self.ask(table, out);
            }
            What::Move { table: at, seat, ply, attempt, byte } => {
                self.meant(at, seat, ply, attempt, said.gateway)?;
                let table = &mut self.tables[at];
                if !table.legal().contains(&usize::from(byte)) {
                    self.strike(at, "illegal", out);
                    return Ok(());
                }
                table.put(usize::from(byte));
                let letter = ['X', 'O'][seat];
                let (four, full) = (table.has_four(letter), table.legal().is_empty());
                out.push(format!("{at}: {letter} played {byte} at ply {ply}"));
                match (four, full) {
                    (true, _) => self.end(at, ["X", "O"][seat], "win", out),
                    (false, true) => self.end(at, "nobody", "draw", out),
                    (false, false) => self.ask(at, out),
                }
            }
            What::Strike { table, seat, ply, attempt, cause } => {
                self.meant(table, seat, ply, attempt, said.gateway)?;
                self.strike(table, cause.as_str(), out);
            }
            What::Abort { table } => {
                if self.tables[table].over {
                    return Err("gone");
                }
                self.end(table, "nobody", "void", out);
            }
        }
        Ok(())
    }

    /// Whether an answer is to what is asked now.
    fn meant(&self, at: usize, seat: usize, ply: usize, attempt: u32, by: u64) -> Result<(), &'static str> {
        let table = &self.tables[at];
        if table.over {
            return Err("gone");
        }
        let next = table.discs() + 1;
        if seat != table.to_move() {
            return Err(if ply < next { "stale_ply" } else { "not_to_act" });
        }
        if ply != next {
            return Err("stale_ply");
        }
        if attempt != table.askings || by != table.home { Err("stale_attempt") } else { Ok(()) }
    }

    /// A gateway is gone: what it was to ask is asked anew by another, and nobody is struck.
    fn lose(&mut self, gateway: u64, out: &mut Vec<String>) {
        self.gateways.remove(&gateway);
        let mut its: Vec<usize> = (0..self.tables.len())
            .filter(|&at| !self.tables[at].over && self.tables[at].home == gateway)
            .collect();
        its.sort_by_key(|&at| self.tables[at].key.slot);
        for at in its {
            self.ask(at, out);
        }
    }
}

/// What the engine said, in the oracle's words.
fn heard(event: &Event, tables: &BTreeMap<MatchKey, usize>) -> Option<String> {
    let of = |key: &MatchKey| tables[key];
    Some(match event {
        Event::Rejected(rejection) => format!("refused: {rejection}"),
        Event::MatchOpened(e) => {
            format!("{}: opened, X {}, O {}", of(&e.key), e.seats[0].slot, e.seats[1].slot)
        }
        Event::TurnOpened(e) => {
            format!("{}: {} asked for ply {}, asking {}", of(&e.key), e.seat, e.ply, e.attempt)
        }
        Event::MovePlayed(e) => {
            format!("{}: {} played {} at ply {}", of(&e.key), e.seat, e.mv.as_bytes()[0], e.ply)
        }
        Event::StrikeRecorded(e) => {
            format!("{}: {} strike {} at ply {}, {}", of(&e.key), e.seat, e.strikes, e.ply, e.cause)
        }
        Event::MatchEnded(e) => {
            let winner = e.winner.map_or("nobody", Seat::as_str);
            format!("{}: over, {winner} by {}", of(&e.key), e.reason)
        }
        _ => return None,
    })
}

fn command(what: &What, oracle: &Oracle) -> Command {
    let turn = |table: usize, seat: usize, ply: usize, attempt: u32| TurnRef {
        key: oracle.tables[table].key,
        seat: Seat::ALL[seat],
        ply: ply as u16,
        attempt,
    };
    let agent = |slot: u32| AgentKey { slot, generation: 1 };
    match *what {
        What::Open { table, players, swapped, deadline_ms } => {
            let mut random = [0; 14];
            random[10..].copy_from_slice(&(table as u32).to_be_bytes());
            OpenMatch {
                id: MatchId::from_random(Partition(0), random),
                game: GameCode(1),
                players: players.map(agent),
                first: First::BySeed,
                rated: true,
                deadline_ms: deadline_ms as u32,
                seed: Seed([u8::from(swapped); 32]),
            }
            .into()
        }
        What::Move { table, seat, ply, attempt, byte } => SubmitMove {
            turn: turn(table, seat, ply, attempt),
            mv: Move::from_byte(byte),
            reason: None,
            excerpt: None,
            nonce: None,
            latency_ms: 1,
        }
        .into(),
        What::Strike { table, seat, ply, attempt, cause } => RecordStrike {
            turn: turn(table, seat, ply, attempt),
            cause,
            status: None,
            excerpt: None,
            nonce: None,
            latency_ms: 1,
        }
        .into(),
        What::Abort { table } => {
            AbortMatch { key: oracle.tables[table].key, reason: VoidReason::Operator }.into()
        }
    }
}

/// Draws what a door says next of a table that was not spoken of in this record.
fn draw(
    random: &mut Random,
    oracle: &Oracle,
    spoken: &mut BTreeSet<usize>,
    opening: bool,
) -> Option<(u64, What)> {
    let live: Vec<u64> = oracle.gateways.keys().copied().collect();
    let open: Vec<usize> = (0..oracle.tables.len()).filter(|&at| !oracle.tables[at].over).collect();
    if opening && (open.len() < 36 || random.one_in(20)) {
        // One of them plays much, so that it comes to its caps.
        let one = if random.one_in(2) { 0 } else { random.below(AGENTS as usize) as u32 };
        let other = (one + 1 + random.below(AGENTS as usize - 1) as u32) % AGENTS;
        let table = oracle.tables.len();
        let deadline_ms = random.of(&[500, 1_000, 10_000, 60_000]);
        // Its key is known only when the record is.
        spoken.insert(table);
        let what = What::Open { table, players: [one, other], swapped: random.one_in(2), deadline_ms };
        return Some((random.of(&live), what));
    }
    let any: Vec<usize> = (0..oracle.tables.len()).collect();
    let from = if random.one_in(100) { &any } else { &open };
    if from.is_empty() {
        return None;
    }
    let at = random.of(from);
    if !spoken.insert(at) {
        return None;
    }
    let table = &oracle.tables[at];
    let (seat, ply, attempt) = (table.to_move(), table.discs() + 1, table.askings);
    let mut gateway = if table.home == 0 { random.of(&live) } else { table.home };
    let legal = table.legal();
    let mut byte = legal.get(random.below(legal.len().max(1))).map_or(0, |column| *column as u8);
    if table.drawish {
        // So that some boards fill up: a column that does not win, where there is one.
        let quiet = legal.iter().copied().find(|&column| {
            let mut after = table.clone();
            after.put(column);
            !after.has_four(['X', 'O'][seat]) && random.one_in(2)
        });
        byte = quiet.map_or(byte, |column| column as u8);
    }
    let mut what = What::Move { table: at, seat, ply, attempt, byte };
    match random.below(100) {
        0..80 => {}
        80..83 => {
            let full: Vec<usize> = (0..7).filter(|column| !legal.contains(column)).collect();
            let nonsense = [7, 8, 100, 255];
            let byte = if full.is_empty() || random.one_in(3) {
                random.of(&nonsense)
            } else {
                random.of(&full) as u8
            };
            what = What::Move { table: at, seat, ply, attempt, byte };
        }
        83..89 => {
            what = What::Strike { table: at, seat, ply, attempt, cause: random.of(StrikeCause::ALL) };
        }
        89..92 => {
            let ply = random.of(&[ply - 1, ply + 1, 0, ply.saturating_sub(2)]);
            what = What::Move { table: at, seat, ply, attempt, byte };
        }
        92..95 => {
            let attempt = random.of(&[attempt - 1, attempt + 1, 0]);
            what = What::Strike { table: at, seat, ply, attempt, cause: StrikeCause::Timeout };
        }
        95..97 => {
            let ply = random.of(&[ply - 1, ply, ply + 1]);
            what = What::Move { table: at, seat: 1 - seat, ply, attempt, byte };
        }
        97..99 => gateway = random.of(&[1, 2, 3, 4, 5, 6, 7, 8]),
        _ => {
            if random.one_in(4) {
                what = What::Abort { table: at };
            }
        }
    }
    Some((gateway, what))
}

#[test]
fn oracle_and_engine_say_the_same_of_20_000_random_commands() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut journal, mut oracle) = (Journal::new(), Oracle::default());
    let (mut names, mut next, mut history) =
        (BTreeMap::new(), BTreeMap::<u64, u64>::new(), Vec::<Said>::new());
    let (mut seen, mut announced) = (BTreeMap::<String, usize>::new(), 0);
    let mut now_us = 1_800_000_000_000_000;
    let system = |command: Command| (CommandHead::SEQUENCER, Body::Known(command));
    let announce = |at: u64| {
        system(
            AnnounceGateway { incarnation: Incarnation([at as u8; 16]), rules_known: RulesVersion(1) }.into(),
        )
    };
    let registrations: Vec<_> = (0..AGENTS)
        .map(|at| {
            system(
                RegisterAgent {
                    id: AgentId::from_random(Partition(0), [at as u8; 14]),
                    public_slug: PublicSlug([at as u8; 12]),
                    handle: Handle::parse(&format!("agent-{at}")).unwrap(),
                    name: None,
                    protocol: Protocol::AgentArena,
                    method: if is_pushed(at) {
                        ConnectionMethod::RemoteEndpoint
                    } else {
                        ConnectionMethod::Polling
                    },
                    endpoint: is_pushed(at).then(|| {
                        arena_schema::TextRef::commit(&arena_schema::TextSalt([0; 32]), "https://a.example/")
                    }),
                    challenges: ChallengePolicy::Open,
                    credentials: Vec::new(),
                }
                .into(),
            )
        })
        .collect();
    journal.append(LogTime(now_us), &registrations, |_| ()).unwrap();

    let mut commands = 0;
    while commands < COMMANDS {
        now_us += 1 + random.next() % if random.one_in(150) { 30_000_000 } else { 50_000 };
        let mut expected = Vec::new();
        let mut record = Vec::new();
        oracle.pass_time(now_us, &mut expected);
        let lose = announced >= 2 && random.one_in(400);
        if announced < 2 || lose {
            announced += 1;
            record.push(announce(announced));
            oracle.gateways.insert(announced, BTreeMap::new());
            if lose {
                let gone = *oracle.gateways.first_key_value().unwrap().0;
                record.push(system(GatewayGone { incarnation: Incarnation([gone as u8; 16]) }.into()));
                oracle.lose(gone, &mut expected);
            }
        } else {
            // Drawn from what was known before this record's time: some of it is too late by now.
            let mut spoken = BTreeSet::new();
            for at in 0..=random.below(3) {
                let said = if random.one_in(25) && !history.is_empty() {
                    let back = 1 + random.below(history.len().min(300));
                    let mut said = history[history.len() - back].clone();
                    if let (What::Move { byte, .. }, true) = (&mut said.what, random.one_in(2)) {
                        *byte ^= 1;
                    }
                    if matches!(said.what, What::Open { .. }) {
                        continue;
                    }
                    said
                } else {
                    let Some((gateway, what)) = draw(&mut random, &oracle, &mut spoken, at == 0) else {
                        continue;
                    };
                    let number = next.entry(gateway).or_default();
                    *number += 1;
                    Said { gateway, number: *number, what }
                };
                let head = CommandHead {
                    producer: ProducerId(said.gateway),
                    number: said.number,
                    credential: CredentialRef::NONE,
                    second_key: None,
                };
                record.push((head, Body::Known(command(&said.what, &oracle))));
                oracle.judge(&said, &mut expected);
                history.push(said);
                commands += 1;
            }
        }
        if record.is_empty() {
            record.push(system(arena_schema::command::system::Tick {}.into()));
        }
        let events = journal.append(LogTime(now_us), &record, |_| ()).unwrap();
        let mut told = Vec::new();
        for emitted in events {
            match &emitted.event {
                Event::MatchOpened(e) => {
                    let at = u32::from_be_bytes(e.id.0[12..].try_into().unwrap()) as usize;
                    names.insert(e.key, at);
                    oracle.tables[at].key = e.key;
                }
                Event::TurnOpened(e) => {
                    let table = &mut oracle.tables[names[&e.key]];
                    table.home = e.home.0;
                    if table.askings == e.attempt {
                        let due = (!table.pushed()).then_some(table.due_us);
                        assert_eq!(due, e.due.map(|due| due.0));
                    }
                }
                _ => {}
            }
            told.extend(heard(&emitted.event, &names));
        }
        assert_eq!(told, expected, "record {} after {commands} commands", journal.state().head().number);
        for line in told {
            let words = line.split_once(": ").map_or(line.as_str(), |(_, words)| words);
            let kind = words.rsplit([' ', ',']).next().unwrap_or(words);
            *seen.entry(kind.to_owned()).or_default() += 1;
        }
        let standing: Vec<[u32; 2]> =
            oracle.tables.iter().filter(|table| !table.over).map(|table| table.strikes).collect();
        assert_eq!(journal.state().matches().open().len(), standing.len());
    }
    journal.replay();
    journal.replay_through_snapshots(41);

    // A history that never came to these would prove nothing of them.
    let causes = StrikeCause::ALL.iter().map(|cause| cause.as_str());
    let ends = ["win", "draw", "forfeit", "void"];
    let refusals = [
        "expired",
        "duplicate",
        "number_reused",
        "gone",
        "stale_ply",
        "not_to_act",
        "stale_attempt",
        "pair_limit",
        "agent_limit",
    ];
    for kind in causes.chain(ends).chain(refusals) {
        assert!(seen.get(kind).is_some_and(|times| *times >= 3), "{kind} came too seldom: {seen:?}");
    }
}
