//! The sessions once more, written from the protocol's text and CHOICES alone: rooms with a guest book on paper, each instant
//! reckoned anew from what was noted. It shares no code with the engine, and both must say the same of a long random history.

use crate::testing::{Body, Journal};
use arena_schema::{
    Command, Commitment, Event, LogTime, SecretHash, TextRef,
    command::{
        sessions::{
            Account, AcknowledgeEntries, AnswerDeletion, CreateSession, DeletionAnswer, GoneBecause,
            JoinSession, LeaveSession, Payload, ReadPosition, RejoinSession, SendEntry, SetAccount, TakeBack,
            TouchSession,
        },
        system::{ActivateRules, AnnounceGateway, GatewayGone, Tick},
    },
    id::{
        AccountTag, Incarnation, NameTag, ObjectId, Partition, ProducerId, RulesVersion, SessionId,
        SessionKey,
    },
    record::CommandHead,
};
use std::collections::{BTreeMap, BTreeSet};

const COMMANDS: usize = 30_000;
const HOUR: u64 = 3_600;
const DAY: u64 = 24 * HOUR;
const WEEK: u64 = 7 * DAY;

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

/// A line of the guest book.
#[derive(Debug, Clone, PartialEq)]
struct Guest {
    number: u32,
    name: u8,
    secret: u32,
    account: Option<u8>,
    read: usize,
    came_at_line: usize,
    inside: bool,
}

#[derive(Debug, Clone)]
struct Room {
    key: SessionKey,
    address: u32,
    owned: bool,
    /// Every entry ever, in words.
    log: Vec<String>,
    guests: Vec<Guest>,
    guests_ever: u32,
    over: bool,
    created: u64,
    last_join: u64,
    /// Since somebody came into the empty room.
    last_receive: Option<u64>,
    receiving_at: BTreeSet<u64>,
    kept_until: Option<u64>,
    /// Which asking, and by whom.
    asking: Option<(u32, u64)>,
    askings: u32,
    /// Which of two rooms whose time is up at once came first.
    noted: u64,
}

impl Room {
    fn inside(&self) -> usize {
        self.guests.iter().filter(|guest| guest.inside).count()
    }

    fn why(&self) -> &'static str {
        if self.log.is_empty() {
            "nobody_joined"
        } else if self.inside() == 0 {
            "everyone_left"
        } else {
            "nobody_received"
        }
    }

    /// The second at which something comes of it by itself.
    fn time_is_up(&self) -> Option<u64> {
        if self.over || self.asking.is_some() {
            return None;
        }
        if self.kept_until.is_some() {
            return self.kept_until;
        }
        if self.log.is_empty() {
            return Some(self.created + DAY);
        }
        if !self.receiving_at.is_empty() {
            return None;
        }
        Some(self.last_receive.unwrap_or(self.last_join) + WEEK)
    }
}

#[derive(Debug, Clone)]
enum What {
    Create { address: u32, owned: bool },
    Join { room: usize, name: u8, secret: u32, account: Option<u8>, takes: Option<TakeBack> },
    Rejoin { room: usize, guest: u32, account: Option<u8>, keeps: bool },
    Send { room: usize, guest: u32, size: u64, object: bool },
    Read { room: usize, reads: Vec<(u32, u64)> },
    Leave { room: usize, guest: u32 },
    Touch { room: usize, waiting: bool },
    Answer { room: usize, attempt: u32, answer: DeletionAnswer },
    Vouch { room: usize, guest: u32, account: Option<u8> },
}

#[derive(Default)]
struct Oracle {
    rooms: Vec<Room>,
    gateways: BTreeSet<u64>,
    now_us: u64,
    notes: u64,
}

impl Oracle {
    fn now(&self) -> u64 {
        self.now_us / 1_000_000
    }

    fn note(&mut self, at: usize) {
        self.notes += 1;
        self.rooms[at].noted = self.notes;
    }

    fn write(&mut self, at: usize, line: String, out: &mut Vec<String>) {
        let room = &mut self.rooms[at];
        room.log.push(line);
        out.push(format!("{at}: entry {}, {}", room.log.len(), room.log[room.log.len() - 1]));
    }

    /// It is deleted, or its service is asked.
    fn vacate(&mut self, at: usize, out: &mut Vec<String>) {
        let room = &mut self.rooms[at];
        let why = room.why();
        if room.owned {
            room.askings += 1;
            room.asking = Some((room.askings, 0));
            out.push(format!("{at}: asking {}, {why}", room.askings));
        } else {
            room.over = true;
            out.push(format!("{at}: over, {why}"));
        }
    }

    fn pass_time(&mut self, now_us: u64, out: &mut Vec<String>) {
        self.now_us = now_us;
        loop {
            let up = self.rooms.iter().enumerate().filter_map(|(at, room)| {
                let up = room.time_is_up()?;
                (up * 1_000_000 <= now_us).then_some((up, room.noted, at))
            });
            let Some((_, _, at)) = up.min() else { break };
            self.rooms[at].kept_until = None;
            self.vacate(at, out);
        }
    }

    /// Somebody comes in who was not.
    fn enters(&mut self, at: usize) {
        let now = self.now();
        let room = &mut self.rooms[at];
        let first = room.inside() == 1;
        room.last_join = now;
        if first || room.last_receive.is_none() {
            room.kept_until = None;
            room.asking = None;
            self.note(at);
        }
    }

    fn judge(&mut self, by: u64, what: &What, out: &mut Vec<String>) {
        if let Err(why) = self.act(by, what, out) {
            out.push(format!("refused: {why}"));
        }
    }

    fn open(&mut self, at: usize) -> Result<&mut Room, &'static str> {
        let room = &mut self.rooms[at];
        if room.over { Err("session_gone") } else { Ok(room) }
    }

    fn guest(&mut self, at: usize, number: u32) -> Result<&mut Guest, &'static str> {
        let room = self.open(at)?;
        room.guests.iter_mut().find(|guest| guest.number == number).ok_or("unknown_participant")
    }

    fn act(&mut self, by: u64, what: &What, out: &mut Vec<String>) -> Result<(), &'static str> {
        let now = self.now();
        match what.clone() {
            What::Create { address, owned } => {
                if self.rooms.iter().any(|room| !room.over && room.address == address) {
                    return Err("session_address_taken");
                }
                let at = self.rooms.len();
                self.rooms.push(Room {
                    key: SessionKey { slot: u32::MAX, generation: 0 },
                    address,
                    owned,
                    log: Vec::new(),
                    guests: Vec::new(),
                    guests_ever: 0,
                    over: false,
                    created: now,
                    last_join: 0,
                    last_receive: None,
                    receiving_at: BTreeSet::new(),
                    kept_until: None,
                    asking: None,
                    askings: 0,
                    noted: 0,
                });
                self.note(at);
                out.push(format!("{at}: created, owned {owned}"));
            }
            What::Join { room: at, name, secret, account, takes } => {
                let room = self.open(at)?;
                if room.guests.iter().any(|guest| guest.secret == secret) {
                    return Err("session_secret_taken");
                }
                if let Some(place) = room.guests.iter().position(|guest| guest.name == name) {
                    let holder = room.guests[place].clone();
                    let (Some(takes), Some(own)) = (takes, account) else { return Err("session_name_taken") };
                    if holder.account == Some(own) && holder.inside && takes.gone.is_none() {
                        return Err("session_name_taken");
                    }
                    if holder.inside {
                        room.guests[place].inside = false;
                        if room.inside() == 0 {
                            room.last_receive = None;
                            room.receiving_at.clear();
                        }
                        self.write(at, format!("{} leaves, {:?}", holder.number, holder.account), out);
                    }
                    self.rooms[at].guests.remove(place);
                    out.push(format!("{at}: {} is nobody", holder.number));
                }
                let room = &mut self.rooms[at];
                room.guests_ever += 1;
                let (number, came_at_line) = (room.guests_ever, room.log.len() + 1);
                room.guests.push(Guest {
                    number,
                    name,
                    secret,
                    account,
                    read: 0,
                    came_at_line,
                    inside: true,
                });
                self.write(at, format!("{number} joins as {name}, {account:?}"), out);
                self.enters(at);
            }
            What::Rejoin { room: at, guest: number, account, keeps } => {
                let guest = self.guest(at, number)?;
                let (before, account) = (guest.account, if keeps { guest.account } else { account });
                guest.account = account;
                if guest.inside {
                    if before != account {
                        out.push(format!("{at}: {number} has {account:?}"));
                    }
                    return Ok(());
                }
                guest.inside = true;
                let line = self.rooms[at].log.len() + 1;
                self.guest(at, number)?.came_at_line = line;
                self.write(at, format!("{number} joins again, {account:?}"), out);
                self.enters(at);
            }
            What::Send { room: at, guest: number, size, object } => {
                let guest = self.guest(at, number)?;
                if !guest.inside {
                    return Err("not_in");
                }
                let account = guest.account;
                if size > 10_000_000 || (size > 65_536) != object {
                    return Err("invalid_entry");
                }
                self.write(at, format!("{number} sends {size}, {account:?}"), out);
            }
            What::Read { room: at, reads } => {
                let room = self.open(at)?;
                let (last, before) = (room.log.len(), room.guests.clone());
                for (number, read) in reads {
                    if let Some(guest) =
                        room.guests.iter_mut().find(|guest| guest.number == number && guest.inside)
                    {
                        let read = usize::try_from(read).unwrap_or(usize::MAX).min(last);
                        guest.read = guest.read.max(read);
                    }
                }
                let moved =
                    room.guests.iter().zip(&before).filter(|(after, before)| after.read != before.read);
                let moved: Vec<String> =
                    moved.map(|(after, _)| format!("{} to {}", after.number, after.read)).collect();
                if !moved.is_empty() {
                    out.push(format!("{at}: read {}", moved.join(", ")));
                }
            }
            What::Leave { room: at, guest: number } => {
                let guest = self.guest(at, number)?;
                if !guest.inside {
                    return Ok(());
                }
                guest.inside = false;
                let account = guest.account;
                self.write(at, format!("{number} leaves, {account:?}"), out);
                let room = &mut self.rooms[at];
                if room.inside() == 0 {
                    room.last_receive = None;
                    room.receiving_at.clear();
                    room.kept_until = None;
                    self.vacate(at, out);
                }
            }
            What::Touch { room: at, waiting } => {
                let room = self.open(at)?;
                if room.inside() == 0 || (waiting && room.receiving_at.contains(&by)) {
                    return Ok(());
                }
                if waiting {
                    room.receiving_at.insert(by);
                } else {
                    room.receiving_at.remove(&by);
                }
                room.last_receive = Some(now);
                room.kept_until = None;
                room.asking = None;
                self.note(at);
                out.push(format!("{at}: received by {by}, {waiting}"));
            }
            What::Answer { room: at, attempt, answer } => {
                let room = self.open(at)?;
                if room.asking != Some((attempt, by)) {
                    return Err("stale_attempt");
                }
                room.asking = None;
                let why = room.why();
                let span = match answer {
                    DeletionAnswer::Keep => DAY,
                    DeletionAnswer::Silence => HOUR,
                    _ => {
                        room.over = true;
                        out.push(format!("{at}: over, {why}"));
                        return Ok(());
                    }
                };
                room.kept_until = Some(now + span);
                self.note(at);
                out.push(format!("{at}: {answer} for {span} from {now}"));
            }
            What::Vouch { room: at, guest: number, account } => {
                let guest = self.guest(at, number)?;
                if guest.account != account {
                    guest.account = account;
                    out.push(format!("{at}: {number} has {account:?}"));
                }
            }
        }
        Ok(())
    }

    /// In the order of their places inside.
    fn open_rooms(&self) -> Vec<usize> {
        let mut open: Vec<usize> = (0..self.rooms.len()).filter(|&at| !self.rooms[at].over).collect();
        open.sort_by_key(|&at| self.rooms[at].key.slot);
        open
    }

    fn lose(&mut self, gateway: u64, out: &mut Vec<String>) {
        self.gateways.remove(&gateway);
        let now = self.now();
        for at in self.open_rooms() {
            if self.rooms[at].receiving_at.remove(&gateway) {
                self.rooms[at].last_receive = Some(now);
                self.note(at);
            }
            self.ask_anew(at, gateway, out);
        }
    }

    /// What this one was to ask another asks.
    fn ask_anew(&mut self, at: usize, home: u64, out: &mut Vec<String>) {
        let room = &mut self.rooms[at];
        if room.asking.is_some_and(|(_, asks)| asks == home) {
            room.askings += 1;
            room.asking = Some((room.askings, 0));
            out.push(format!("{at}: asking {}, {}", room.askings, room.why()));
        }
    }
}

fn account_of(account: Option<Account>) -> Option<u8> {
    account.map(|account| account.tag.0[0])
}

/// What the engine said, in the oracle's words.
fn heard(event: &Event, rooms: &BTreeMap<SessionKey, usize>) -> Option<String> {
    let of = |key: &SessionKey| rooms[key];
    let entry = |key: &SessionKey, n: u64, words: String| format!("{}: entry {n}, {words}", of(key));
    Some(match event {
        Event::Rejected(rejection) => format!("refused: {rejection}"),
        Event::SessionCreated(e) => format!("{}: created, owned {}", of(&e.session), e.owned),
        Event::SessionJoined(e) => {
            let words = format!("{} joins as {}, {:?}", e.participant, e.name.0[0], account_of(e.account));
            entry(&e.session, e.n, words)
        }
        Event::SessionRejoined(e) => {
            entry(&e.session, e.n, format!("{} joins again, {:?}", e.participant, account_of(e.account)))
        }
        Event::EntrySent(e) => {
            let words = format!("{} sends {}, {:?}", e.participant, e.payload.size, account_of(e.account));
            entry(&e.session, e.n, words)
        }
        Event::SessionLeft(e) => {
            entry(&e.session, e.n, format!("{} leaves, {:?}", e.participant, account_of(e.account)))
        }
        Event::ReadsMoved(e) => {
            let moved: Vec<String> =
                e.reads.iter().map(|moved| format!("{} to {}", moved.participant, moved.read)).collect();
            format!("{}: read {}", of(&e.session), moved.join(", "))
        }
        Event::ParticipantReplaced(e) => format!("{}: {} is nobody", of(&e.session), e.participant),
        Event::AccountSet(e) => {
            format!("{}: {} has {:?}", of(&e.session), e.participant, account_of(e.account))
        }
        Event::SessionTouched(e) => format!("{}: received by {}, {}", of(&e.session), e.by.0, e.waiting),
        Event::DeletionDue(e) => format!("{}: asking {}, {}", of(&e.session), e.attempt, e.because),
        Event::DeletionAnswered(e) => {
            let span = if e.answer == DeletionAnswer::Keep { DAY } else { HOUR };
            let from = e.again.0 / 1_000_000 - span;
            assert_eq!(e.again.0 % 1_000_000, 0, "instants are whole seconds");
            format!("{}: {} for {span} from {from}", of(&e.session), e.answer)
        }
        Event::SessionEnded(e) => format!("{}: over, {}", of(&e.session), e.because),
        _ => return None,
    })
}

fn text(size: u32) -> TextRef {
    TextRef { commitment: Commitment([1; 32]), size }
}

fn command(what: &What, oracle: &Oracle, next_room: usize) -> Command {
    let session = |room: usize| oracle.rooms[room].key;
    let account = |account: Option<u8>| {
        account.map(|account| Account { tag: AccountTag([account; 16]), text: text(u32::from(account)) })
    };
    let address = |at: u32| SecretHash(std::array::from_fn(|byte| at.to_be_bytes()[byte % 4]));
    match what.clone() {
        What::Create { address: at, owned } => {
            let mut random = [0; 14];
            random[10..].copy_from_slice(&(next_room as u32).to_be_bytes());
            let id = SessionId::from_random(Partition(0), random);
            CreateSession { id, address: address(at), owned }.into()
        }
        What::Join { room, name, secret, account: own, takes } => JoinSession {
            session: session(room),
            name: NameTag([name; 16]),
            name_text: text(4),
            secret: address(secret),
            account: account(own),
            takes,
        }
        .into(),
        What::Rejoin { room, guest, account: own, keeps } => RejoinSession {
            session: session(room),
            participant: guest,
            account: account(own),
            keeps_account: keeps,
        }
        .into(),
        What::Send { room, guest, size, object } => {
            let object = object.then_some(ObjectId([4; 16]));
            let payload = Payload { commitment: Commitment([2; 32]), size, object };
            SendEntry { session: session(room), participant: guest, kind: text(10), payload, filename: None }
                .into()
        }
        What::Read { room, reads } => {
            let reads = reads.iter().map(|&(participant, read)| ReadPosition { participant, read }).collect();
            AcknowledgeEntries { session: session(room), reads }.into()
        }
        What::Leave { room, guest } => LeaveSession { session: session(room), participant: guest }.into(),
        What::Touch { room, waiting } => TouchSession { session: session(room), waiting }.into(),
        What::Answer { room, attempt, answer } => {
            AnswerDeletion { session: session(room), attempt, answer }.into()
        }
        What::Vouch { room, guest, account: own } => {
            SetAccount { session: session(room), participant: guest, account: account(own) }.into()
        }
    }
}

/// Draws what a door says next, of a room that was there before this record.
fn draw(random: &mut Random, oracle: &Oracle, rooms: usize) -> (u64, What) {
    let live: Vec<u64> = oracle.gateways.iter().copied().collect();
    let by = random.of(&live);
    let open: Vec<usize> = (0..rooms).filter(|&at| !oracle.rooms[at].over).collect();
    if open.len() < 7 && random.one_in(if open.is_empty() { 1 } else { 4 }) {
        let taken = open.first().map_or(0, |&at| oracle.rooms[at].address);
        let address = if random.one_in(9) { taken } else { random.next() as u32 };
        return (by, What::Create { address, owned: random.one_in(2) });
    }
    if open.is_empty() && rooms == 0 {
        return (by, What::Create { address: random.next() as u32, owned: true });
    }
    // Who is to ask is known only when the record is.
    let known = |at: &usize| oracle.rooms[*at].asking.is_some_and(|(_, home)| home > 0);
    let asked: Vec<usize> = open.iter().copied().filter(known).collect();
    if !asked.is_empty() && random.one_in(3) {
        let at = random.of(&asked);
        let (attempt, home) = oracle.rooms[at].asking.unwrap_or_default();
        let (by, attempt) = match random.below(10) {
            0 => (by, attempt),
            1 => (home, attempt - 1),
            _ => (home, attempt),
        };
        let answers =
            [DeletionAnswer::Keep, DeletionAnswer::Keep, DeletionAnswer::Silence, DeletionAnswer::Delete];
        return (by, What::Answer { room: at, attempt, answer: random.of(&answers) });
    }
    let at = if open.is_empty() || random.one_in(60) { random.below(rooms) } else { random.of(&open) };
    let room = &oracle.rooms[at];
    let guest = |random: &mut Random| match room.guests.len() {
        0 => 1,
        _ if random.one_in(15) => 1 + random.below(room.guests_ever as usize + 1) as u32,
        count => room.guests[random.below(count)].number,
    };
    let account = if random.one_in(2) { Some(random.of(&[1, 2, 3])) } else { None };
    let what = match random.below(50) {
        0..13 => {
            let known = room.guests.first().map_or(0, |guest| guest.secret);
            let secret = if random.one_in(20) { known } else { random.next() as u32 };
            let gone = if random.one_in(3) { Some(random.of(GoneBecause::ALL)) } else { None };
            let takes = if random.one_in(2) { Some(TakeBack { gone }) } else { None };
            What::Join { room: at, name: random.of(&[1, 2, 3, 4, 5]), secret, account, takes }
        }
        13..19 => What::Rejoin { room: at, guest: guest(random), account, keeps: random.one_in(3) },
        19..29 => {
            let size = random.of(&[0, 7, 65_536, 65_537, 10_000_000, 10_000_001]);
            let object = (size > 65_536) != random.one_in(10);
            What::Send { room: at, guest: guest(random), size, object }
        }
        29..34 => {
            let last = room.log.len() as u64;
            let count = random.below(4);
            let reads = (0..count).map(|_| {
                let read = if random.one_in(9) { random.next() } else { random.next() % (last + 3) };
                (guest(random), read)
            });
            What::Read { room: at, reads: reads.collect() }
        }
        34..43 => What::Leave { room: at, guest: guest(random) },
        43..47 => What::Touch { room: at, waiting: random.one_in(2) },
        47 => {
            let attempt = if room.asking.is_some() { 0 } else { room.askings };
            What::Answer { room: at, attempt, answer: DeletionAnswer::Delete }
        }
        _ => What::Vouch { room: at, guest: guest(random), account },
    };
    (by, what)
}

/// What both know of every open room.
fn compare(oracle: &Oracle, journal: &Journal) {
    let sessions = journal.state().sessions();
    assert_eq!(sessions.open().len(), oracle.rooms.iter().filter(|room| !room.over).count());
    for room in oracle.rooms.iter().filter(|room| !room.over) {
        let held = sessions.get(room.key).expect("it is open");
        assert_eq!((held.owned, held.entries), (room.owned, room.log.len() as u64));
        assert_eq!(held.present() as usize, room.inside());
        let known = held.participants().map(|(number, known)| Guest {
            number,
            name: known.name.0[0],
            secret: u32::from_be_bytes(known.secret.0[..4].try_into().unwrap()),
            account: account_of(known.account),
            read: known.read as usize,
            came_at_line: known.joined_n as usize,
            inside: known.is_in(),
        });
        assert_eq!(known.collect::<Vec<_>>(), room.guests, "and in the order of joining");
        assert_eq!(held.question().map(|asked| (asked.attempt, asked.home.0)), room.asking);
    }
    let next = oracle.rooms.iter().filter_map(Room::time_is_up).min();
    assert_eq!(journal.state().next_due(), next.map(|second| LogTime(second * 1_000_000)));
}

/// The engine and the oracle, record by record.
#[derive(Default)]
struct Both {
    oracle: Oracle,
    rooms: BTreeMap<SessionKey, usize>,
    seen: BTreeMap<String, usize>,
}

impl Both {
    /// One record, of which the oracle has said what it expects.
    #[track_caller]
    fn append(&mut self, journal: &mut Journal, record: &[(CommandHead, Body)], expected: &[String]) {
        let time = LogTime(self.oracle.now_us);
        let mut told = Vec::new();
        for emitted in journal.append(time, record, |_| ()).expect("it is the next one") {
            match &emitted.event {
                Event::SessionCreated(e) => {
                    let at = u32::from_be_bytes(e.id.0[12..].try_into().unwrap()) as usize;
                    self.rooms.insert(e.session, at);
                    self.oracle.rooms[at].key = e.session;
                }
                Event::DeletionDue(e) => {
                    let live = &self.oracle.gateways;
                    assert!(live.contains(&e.home.0) || e.home.0 == 0 && live.is_empty(), "its home is live");
                    if let Some((attempt, home)) = &mut self.oracle.rooms[self.rooms[&e.session]].asking
                        && *attempt == e.attempt
                    {
                        *home = e.home.0;
                    }
                }
                _ => {}
            }
            told.extend(heard(&emitted.event, &self.rooms));
        }
        assert_eq!(told, expected, "record {}", journal.state().head().number);
        compare(&self.oracle, journal);
        for line in told {
            let words = line.split_once(": ").map_or(line.as_str(), |(_, words)| words);
            let plain: String = words.chars().filter(|c| !c.is_ascii_digit()).collect();
            let kind = plain.split(" for ").next().unwrap_or_default().trim().to_owned();
            *self.seen.entry(kind).or_default() += 1;
        }
    }
}

fn system(command: impl Into<Command>) -> (CommandHead, Body) {
    (CommandHead::SEQUENCER, Body::Known(command.into()))
}

/// Sometimes a while, sometimes to the microsecond at which something is due, or to the one before.
fn later(random: &mut Random, now_us: u64, due: Option<LogTime>) -> u64 {
    let span_us = match random.below(200) {
        0 => 9 * DAY * 1_000_000,
        1..5 => DAY * 1_000_000,
        5..25 => HOUR * 1_000_000,
        _ => 700_000,
    };
    let now_us = now_us + 1 + random.next() % span_us;
    match due.filter(|_| random.one_in(30)) {
        Some(due) => now_us.max(due.0 - u64::from(random.one_in(2))),
        None => now_us,
    }
}

#[test]
fn oracle_and_engine_say_the_same_of_30_000_random_commands() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut journal, mut both) = (Journal::new(), Both::default());
    let mut numbers = BTreeMap::<u64, u64>::new();
    let (mut announced, mut commands) = (0u64, 0);
    both.oracle.now_us = 1_800_000_000_000_000;
    for version in [2, 3] {
        both.oracle.now_us += 1;
        both.append(&mut journal, &[system(ActivateRules { version: RulesVersion(version) })], &[]);
    }
    while commands < COMMANDS {
        let now_us = later(&mut random, both.oracle.now_us, journal.state().next_due());
        let (mut expected, mut record) = (Vec::new(), Vec::new());
        both.oracle.pass_time(now_us, &mut expected);
        let live = both.oracle.gateways.clone();
        // Sometimes all are gone for a while.
        let comes = live.len() < 3 && random.one_in(if live.is_empty() { 12 } else { 150 });
        let goes = !live.is_empty() && !comes && random.one_in(150);
        if announced == 0 || comes || goes {
            // What falls due now has its home before.
            loop {
                both.append(&mut journal, &[system(Tick {})], &expected);
                expected.clear();
                both.oracle.now_us += 1;
                if journal.state().next_due().is_none_or(|due| due.0 > both.oracle.now_us) {
                    break;
                }
                both.oracle.pass_time(both.oracle.now_us, &mut expected);
            }
        }
        if announced == 0 || comes {
            announced += 1;
            let (incarnation, rules_known) = (Incarnation([announced as u8; 16]), RulesVersion(3));
            record.push(system(AnnounceGateway { incarnation, rules_known }));
            for at in both.oracle.open_rooms() {
                both.oracle.ask_anew(at, 0, &mut expected);
            }
            both.oracle.gateways.insert(announced);
        } else if goes {
            let gone = random.of(&live.into_iter().collect::<Vec<_>>());
            record.push(system(GatewayGone { incarnation: Incarnation([gone as u8; 16]) }));
            both.oracle.lose(gone, &mut expected);
        } else if live.is_empty() {
            record.push(system(Tick {}));
        } else {
            let rooms = both.oracle.rooms.len();
            for _ in 0..=random.below(3) {
                let (by, what) = draw(&mut random, &both.oracle, rooms);
                let number = numbers.entry(by).or_default();
                *number += 1;
                let (producer, number) = (ProducerId(by), *number);
                let head = CommandHead { producer, number, ..CommandHead::SEQUENCER };
                record.push((head, Body::Known(command(&what, &both.oracle, both.oracle.rooms.len()))));
                both.oracle.judge(by, &what, &mut expected);
                commands += 1;
            }
        }
        both.append(&mut journal, &record, &expected);
    }
    journal.replay();
    journal.replay_through_snapshots(61);

    // A history that never came to these would prove nothing of them.
    for kind in [
        "over, nobody_joined",
        "over, nobody_received",
        "over, everyone_left",
        "asking , nobody_joined",
        "asking , nobody_received",
        "asking , everyone_left",
        "keep",
        "silence",
        "is nobody",
        "received by , true",
        "received by , false",
        "session_gone",
        "session_address_taken",
        "session_name_taken",
        "session_secret_taken",
        "unknown_participant",
        "not_in",
        "invalid_entry",
        "stale_attempt",
    ] {
        assert!(
            both.seen.get(kind).is_some_and(|times| *times >= 5),
            "{kind} came too seldom: {:#?}",
            both.seen
        );
    }
}
