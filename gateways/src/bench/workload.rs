//! Records of connect4 as a sequencer writes them: house agents in pairs, many matches in flight, every choice from one seed.

use arena_engine::{
    Emitted, Reduction, State,
    games::{Position, connect4::Connect4},
    reduce,
};
use arena_schema::{
    Command, Event, Hash, LogTime, Move,
    command::{
        matches::{First, OpenMatch, SubmitMove, TurnRef},
        registry::RegisterAgent,
        system::{AnnounceGateway, AnnounceSequencer},
    },
    id::{
        AgentId, AgentKey, ChallengePolicy, ConnectionMethod, Epoch, GameCode, Handle, Incarnation, Lineage,
        MatchId, MatchKey, Nonce, Partition, ProducerId, Protocol, PublicSlug, RulesVersion, Seed,
    },
    record::{CommandHead, EncodedRecord, Header, RecordView, encode_command},
};

/// How many house agents play.
pub(super) const AGENTS: u32 = 64;
/// Between two records.
const STEP_US: u64 = 500;

const CONNECT4: GameCode = GameCode(arena_engine::games::GameCode::Connect4.as_u16());

/// `SplitMix64`: the same numbers on every run.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    pub(super) fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        for part in bytes.chunks_mut(8) {
            part.copy_from_slice(&self.next().to_le_bytes()[..part.len()]);
        }
        bytes
    }
}

/// A match from outside: its position, and the asking that has no answer yet.
#[derive(Default)]
pub(super) struct Board {
    position: Option<Position>,
    turn: Option<TurnRef>,
    home: ProducerId,
}

impl Board {
    /// What its player does next: a legal move where it is asked, a new match where none is open.
    pub(super) fn next(&self, agents: [AgentKey; 2], dice: &mut Dice) -> Command {
        match (&self.position, self.turn) {
            (Some(position), Some(turn)) => submit_move(position, turn, dice).into(),
            _ => open_match(agents, dice).into(),
        }
    }

    /// Who asks for the next move, once a match is open; none before.
    pub(super) fn home(&self) -> ProducerId {
        self.home
    }

    /// Whether it waits for a move.
    pub(super) fn is_asked(&self) -> bool {
        self.turn.is_some()
    }

    pub(super) fn see(&mut self, event: &Event) {
        match event {
            Event::MatchOpened(event) => self.position = Position::start(event.game.0, &event.seed.0),
            Event::TurnOpened(event) => {
                let (key, seat, ply, attempt) = (event.key, event.seat, event.ply, event.attempt);
                self.turn = Some(TurnRef { key, seat, ply, attempt });
                self.home = event.home;
            }
            Event::MovePlayed(event) => {
                self.turn = None;
                if let Some(position) = &mut self.position {
                    // What the engine accepted is legal.
                    let _ = position.play(event.seat, &event.mv);
                }
            }
            Event::MatchEnded(_) => *self = Self::default(),
            _ => {}
        }
    }
}

fn submit_move(position: &Position, turn: TurnRef, dice: &mut Dice) -> SubmitMove {
    let open = |column: &u8| position.connect4().is_some_and(|board| board.cell(*column, 5).is_none());
    let count = (0..7).filter(open).count().max(1) as u64;
    let column = (0..7).filter(open).nth((dice.next() % count) as usize).unwrap_or_default();
    SubmitMove {
        turn,
        mv: Connect4::move_into(column).unwrap_or(Move::from_byte(0)),
        reason: None,
        excerpt: None,
        nonce: Some(Nonce(dice.bytes())),
        latency_ms: 5 + (dice.next() % 400) as u32,
    }
}

fn open_match(players: [AgentKey; 2], dice: &mut Dice) -> OpenMatch {
    let mut random = [0; 14];
    random.copy_from_slice(&dice.bytes::<14>());
    OpenMatch {
        id: MatchId::from_random(Partition(0), random),
        game: CONNECT4,
        players,
        first: First::BySeed,
        rated: false,
        deadline_ms: 5_000,
        seed: Seed(dice.bytes()),
    }
}

/// The registration of the house agent with this number.
pub(super) fn register_agent(at: u32, dice: &mut Dice) -> RegisterAgent {
    let mut random = [0; 14];
    random.copy_from_slice(&dice.bytes::<14>());
    RegisterAgent {
        id: AgentId::from_random(Partition(0), random),
        public_slug: PublicSlug(dice.bytes()),
        handle: Handle::parse(&format!("bench-{at:04}")).expect("letters, digits and a hyphen"),
        name: None,
        protocol: Protocol::House,
        method: ConnectionMethod::House,
        endpoint: None,
        challenges: ChallengePolicy::Open,
        credentials: Vec::new(),
    }
}

/// Two different ones of so many house agents, registered in the order of their slots.
pub(super) fn pair(at: u32, agents: u32) -> [AgentKey; 2] {
    let key = |slot| AgentKey { slot: slot % agents, generation: 1 };
    [key(at), key(at + 1 + at / agents % (agents - 1))]
}

/// Writes records, and reduces them as it goes.
pub(super) struct Workload {
    pub(super) state: State,
    reduction: Reduction,
    dice: Dice,
    boards: Vec<Board>,
    /// Which board a match belongs to, by the match's slot.
    board_of: Vec<usize>,
    numbers: u64,
    digests: [Hash; 2],
}

impl Workload {
    /// So many matches under way; gives the records that led there.
    pub(super) fn begin(matches: usize, seed: u64) -> (Self, Vec<EncodedRecord>) {
        let mut load = Self {
            state: State::new(Partition(0)),
            reduction: Reduction::default(),
            dice: Dice(seed),
            boards: (0..matches).map(|_| Board::default()).collect(),
            board_of: Vec::new(),
            numbers: 0,
            digests: [arena_engine::genesis_digest(); 2],
        };
        let incarnation = Incarnation([1; 16]);
        let own = CommandHead::SEQUENCER;
        let mut records = vec![
            load.record(&[(own, AnnounceSequencer { incarnation, outage_us: 0 }.into())]),
            load.record(&[(own, AnnounceGateway { incarnation, rules_known: RulesVersion(1) }.into())]),
        ];
        let agents: Vec<_> = (0..AGENTS)
            .map(|at| {
                let register = register_agent(at, &mut load.dice).into();
                (load.head(), register)
            })
            .collect();
        records.push(load.record(&agents));
        while let Some(opening) = load.open(500) {
            records.push(opening);
        }
        (load, records)
    }

    fn head(&mut self) -> CommandHead {
        self.numbers += 1;
        CommandHead { producer: ProducerId(1), number: self.numbers, ..CommandHead::SEQUENCER }
    }

    /// A record that opens matches for boards without one, at most so many; none where every board has one.
    pub(super) fn open(&mut self, commands: usize) -> Option<EncodedRecord> {
        let free: Vec<usize> = (0..self.boards.len()).filter(|&at| !self.boards[at].is_asked()).collect();
        let mut opened = Vec::new();
        for &at in free.iter().take(commands) {
            let command = self.boards[at].next(pair(at as u32, AGENTS), &mut self.dice);
            opened.push((self.head(), command));
        }
        if opened.is_empty() {
            return None;
        }
        let record = self.record(&opened);
        let mut boards = free.into_iter();
        for Emitted { event, .. } in &self.reduction.events {
            if let Event::MatchOpened(event) = event {
                let board = boards.next().expect("each opening is of a free board");
                place(&mut self.board_of, event.key, board);
            }
        }
        self.show();
        Some(record)
    }

    /// A record of moves alone, one in each of so many matches, drawn at random; fewer where fewer are asked.
    pub(super) fn moves(&mut self, commands: usize) -> EncodedRecord {
        let boards = self.boards.len();
        let start = self.dice.next() as usize % boards;
        let mut moves = Vec::with_capacity(commands);
        // An odd stride through a ring of any size may repeat; one that is prime and larger than it never does.
        for step in 0..boards {
            let at = (start + step * 1_000_003) % boards;
            if moves.len() == commands {
                break;
            }
            if self.boards[at].is_asked() {
                let command = self.boards[at].next(pair(at as u32, AGENTS), &mut self.dice);
                moves.push((self.head(), command));
            }
        }
        let record = self.record(&moves);
        self.show();
        record
    }

    /// Shows the last record's events to the boards.
    fn show(&mut self) {
        for Emitted { event, .. } in &self.reduction.events {
            let key = match event {
                Event::MatchOpened(event) => event.key,
                Event::TurnOpened(event) => event.key,
                Event::MovePlayed(event) => event.key,
                Event::MatchEnded(event) => event.key,
                _ => continue,
            };
            self.boards[self.board_of[key.slot as usize]].see(event);
        }
    }

    /// Seals commands into the next record, as a sequencer does while the last one but one is reduced, and reduces it.
    fn record(&mut self, commands: &[(CommandHead, Command)]) -> EncodedRecord {
        let head = self.state.head();
        let mut bytes = Vec::new();
        for (head, command) in commands {
            encode_command(head, command, &mut bytes);
        }
        let header = Header {
            lineage: self.state.lineage().unwrap_or(Lineage([1; 16])),
            partition: Partition(0),
            era: self.state.era(),
            number: head.number.next(),
            previous: head.hash,
            digest: self.digests[0],
            digest_reaches: arena_schema::id::RecordNumber(head.number.0.saturating_sub(1)),
            epoch: Epoch(1),
            time: LogTime(1_700_000_000_000_000 + head.number.0 * STEP_US),
            rules: self.state.rules(),
            salt: self.dice.bytes(),
        };
        let record = EncodedRecord::seal(&header, &bytes);
        let view = RecordView::parse(record.as_bytes()).expect("what was sealed is a record");
        reduce(&mut self.state, &view, &mut self.reduction).expect("it is this state's next record");
        let refused = self.reduction.events.iter().any(|it| matches!(it.event, Event::Rejected(_)));
        assert!(!refused, "the workload asks for nothing that may not happen");
        self.digests = [self.digests[1], self.state.head().digest];
        record
    }
}

fn place(board_of: &mut Vec<usize>, key: MatchKey, board: usize) {
    let slot = key.slot as usize;
    if board_of.len() <= slot {
        board_of.resize(slot + 1, 0);
    }
    board_of[slot] = board;
}
