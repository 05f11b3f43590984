//! Bytes that nobody meant, put to every decoder: none may panic, whatever reads must write to bytes that read as the same, and
//! bytes left over are an error.
//!
//! The inputs are random and the same in every run; each case is named by its number, from which it can be made again.

use crate::{
    Command, Event, Hash, Move, Rejection, Seat,
    codec::DecodeError,
    command::{
        matches::{First, StrikeCause, VoidReason},
        sessions::{DeletionAnswer, GoneBecause},
    },
    event::{matches::EndReason, sessions::Vacancy},
    golden::samples,
    id::{AgentId, ChallengePolicy, ConnectionMethod, CredentialKind, Handle, MatchId, Protocol, SessionId},
    record::{Commands, EncodedRecord, HEADER_BYTES, RecordError, RecordView, TRAILER_BYTES, encode_command},
};

struct Random(u64);

impl Random {
    /// The generator of one case, far from its neighbours'.
    fn of_case(case: u64) -> Self {
        let mut random = Self(case.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..4 {
            random.next();
        }
        random
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() >> 11) as usize % end.max(1)
    }

    fn byte(&mut self) -> u8 {
        // Small numbers, ends of varints and all bits set come more often than chance has it.
        match self.below(8) {
            0 => [0, 1, 2, 3, 0x7f, 0x80, 0xff, 0xfe][self.below(8)],
            1 => self.below(16) as u8,
            _ => (self.next() >> 24) as u8,
        }
    }

    fn bytes(&mut self, most: usize) -> Vec<u8> {
        let len = self.below(most + 1);
        (0..len).map(|_| self.byte()).collect()
    }

    /// What a bad disk, a bad link or a bad mind makes of good bytes.
    fn mutate(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        for _ in 0..=self.below(3) {
            let at = self.below(bytes.len());
            match self.below(9) {
                0 if !bytes.is_empty() => bytes[at] ^= 1 << self.below(8),
                1 if !bytes.is_empty() => bytes[at] = self.byte(),
                2 => bytes.truncate(at),
                3 => bytes.extend(self.bytes(8)),
                4 => {
                    let part = self.below(other.len());
                    bytes.truncate(at);
                    bytes.extend_from_slice(&other[part..]);
                }
                5 => bytes.insert(at, self.byte()),
                6 if !bytes.is_empty() => drop(bytes.remove(at)),
                7 if bytes.len() >= 4 => {
                    let at = self.below(bytes.len() - 3);
                    let number = [0, 1, 0xffff, u32::MAX, 1 << 31, bytes.len() as u32][self.below(6)];
                    bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
                }
                _ => {
                    let part = self.below(other.len());
                    let len = self.below(other.len() - part).min(40);
                    let end = (at + len).min(bytes.len());
                    bytes.splice(at..end, other[part..part + len].iter().copied());
                }
            }
        }
    }
}

/// Either nothing but noise or golden bytes, spoilt.
fn body(random: &mut Random, golden: &[(u16, Vec<u8>)]) -> (u16, Vec<u8>) {
    let (kind, mut bytes) = golden[random.below(golden.len())].clone();
    let other = &golden[random.below(golden.len())].1;
    match random.below(10) {
        0 => (random.next() as u16, random.bytes(200)),
        1..3 => (kind, random.bytes(200)),
        3 => (golden[random.below(golden.len())].0, bytes),
        _ => {
            random.mutate(&mut bytes, other);
            (kind, bytes)
        }
    }
}

/// What a union's decoder does with these bytes; gives what they read as.
fn probe<T: PartialEq + std::fmt::Debug>(
    (kind, bytes): &(u16, Vec<u8>),
    kinds: &[(u16, &str)],
    decode: impl Fn(u16, &[u8]) -> Result<T, DecodeError>,
    encode: impl Fn(&T) -> (u16, Vec<u8>),
) -> Option<T> {
    let known = kinds.iter().any(|(code, _)| code == kind);
    match decode(*kind, bytes) {
        Ok(value) => {
            assert!(known);
            let (code, again) = encode(&value);
            assert_eq!(code, *kind);
            assert!(again.len() <= bytes.len(), "its own bytes are the shortest that it has");
            assert_eq!(
                decode(code, &again).as_ref(),
                Ok(&value),
                "what was read writes to what reads the same"
            );
            let mut longer = bytes.clone();
            longer.push(0);
            assert!(matches!(decode(code, &longer), Err(DecodeError::Trailing { left: 1, .. })));
            assert!(
                again.is_empty() || decode(code, &again[..again.len() - 1]).is_err(),
                "a part is no whole"
            );
            Some(value)
        }
        Err(DecodeError::UnknownKind { kind: named }) => {
            assert!(!known && named == *kind);
            None
        }
        Err(DecodeError::Malformed { kind: named, bytes: len, .. }) => {
            assert!(known && named == *kind && len == bytes.len());
            None
        }
        Err(DecodeError::Trailing { kind: named, left }) => {
            assert!(known && named == *kind && (1..=bytes.len()).contains(&left));
            // What stands before the rest is whole.
            assert!(decode(*kind, &bytes[..bytes.len() - left]).is_ok());
            None
        }
    }
}

fn encoded<T>(kind: impl Fn(&T) -> u16, body: impl Fn(&T, &mut Vec<u8>)) -> impl Fn(&T) -> (u16, Vec<u8>) {
    move |value| {
        let mut bytes = Vec::new();
        body(value, &mut bytes);
        (kind(value), bytes)
    }
}

#[test]
fn commands_and_events_read_nothing_that_they_would_not_write() {
    let of_command = encoded(Command::kind, Command::encode_body);
    let of_event = encoded(Event::kind, Event::encode_body);
    let commands: Vec<_> = samples::commands().iter().map(|(_, command)| of_command(command)).collect();
    let events: Vec<_> = samples::events().iter().map(|(_, event)| of_event(event)).collect();
    let mut read = [0; 2];
    for case in 0..90_000 {
        let random = &mut Random::of_case(case);
        let input = body(random, &commands);
        if let Some(command) = probe(&input, Command::KINDS, Command::decode, &of_command) {
            read[0] += 1;
            if let Command::RegisterAgent(command) = command {
                assert!(Handle::parse(command.handle.as_str()).is_some(), "{:?} is a handle", command.handle);
            }
        }
        let input = body(random, &events);
        if let Some(event) = probe(&input, Event::KINDS, Event::decode, &of_event) {
            read[1] += 1;
            if let Event::AgentRegistered(event) = event {
                assert!(Handle::parse(event.handle.as_str()).is_some(), "{:?} is a handle", event.handle);
            }
        }
    }
    assert!(
        read.iter().all(|read| *read > 10_000),
        "spoilt bytes that still read are the better half: {read:?}"
    );
}

/// What the reader of records does with these bytes.
fn probe_record(bytes: &[u8]) -> Result<usize, RecordError> {
    let view = RecordView::parse(bytes)?;
    let mut commands = Vec::new();
    let mut walked = 0;
    let mut count = 0;
    let mut faithful = true;
    for command in view.commands() {
        let command = command.expect("parsing checked every command");
        count += 1;
        walked += command.bytes.len();
        assert_eq!(command.index as usize, count);
        assert!(command.bytes.ends_with(command.body));
        match command.decode() {
            Ok(known) => {
                assert_eq!(known.kind(), command.kind);
                let from = commands.len();
                encode_command(&command.head, &known, &mut commands);
                faithful &= commands[from..] == *command.bytes;
            }
            Err(_) => faithful = false,
        }
    }
    assert_eq!(walked, bytes.len() - HEADER_BYTES - TRAILER_BYTES, "commands fill a record exactly");
    assert_eq!(view.is_empty(), count == 0);
    let content = &bytes[HEADER_BYTES..bytes.len() - TRAILER_BYTES];
    let again = EncodedRecord::seal(&view.header, content);
    assert_eq!(again.as_bytes(), bytes, "a header is its bytes");
    assert_eq!((again.hash(), again.number()), (view.hash, view.header.number));
    if faithful {
        assert_eq!(commands, content);
    }
    Ok(count)
}

fn golden_records() -> Vec<Vec<u8>> {
    let sealed = samples::records().into_iter().map(|(_, record)| {
        let mut commands = Vec::new();
        for (head, command) in &record.commands {
            encode_command(head, command, &mut commands);
        }
        EncodedRecord::seal(&record.header, &commands).into_bytes()
    });
    sealed.collect()
}

#[test]
fn one_changed_bit_anywhere_in_a_record_is_seen() {
    for record in golden_records() {
        assert!(probe_record(&record).is_ok());
        for bit in 0..record.len() * 8 {
            let mut spoilt = record.clone();
            spoilt[bit / 8] ^= 1 << (bit % 8);
            let error = probe_record(&spoilt).unwrap_err();
            let expected = match bit / 8 {
                0..8 => matches!(error, RecordError::Magic),
                8..10 => matches!(error, RecordError::Version { .. }),
                _ => matches!(error, RecordError::Hash),
            };
            assert!(expected, "bit {bit}: {error}");
        }
        for len in 0..record.len() {
            assert!(probe_record(&record[..len]).is_err(), "a part of {len} bytes is no record");
        }
    }
}

#[test]
fn records_with_a_right_hash_read_exactly_or_not_at_all() {
    let golden = golden_records();
    let (mut read, mut refused) = (0, [0; 4]);
    for case in 0..40_000 {
        let random = &mut Random::of_case(1_000_000 + case);
        let mut bytes = golden[random.below(golden.len())].clone();
        bytes.truncate(bytes.len() - TRAILER_BYTES);
        let other = &golden[random.below(golden.len())];
        let keep = if random.below(4) == 0 { 0 } else { HEADER_BYTES };
        let mut tail = bytes.split_off(keep);
        random.mutate(&mut tail, other);
        bytes.extend(tail);
        bytes.extend(Hash::of(&bytes.clone()).0);
        match probe_record(&bytes) {
            Ok(_) => read += 1,
            Err(RecordError::Cut { .. }) => refused[0] += 1,
            Err(RecordError::Flags { .. }) => refused[1] += 1,
            Err(RecordError::Body { .. }) => refused[2] += 1,
            Err(RecordError::Hash) => panic!("case {case}: the hash is right"),
            Err(_) => refused[3] += 1,
        }
    }
    assert!(read > 2_000 && refused.iter().all(|times| *times > 200), "{read} read, {refused:?} refused");
}

#[test]
fn records_of_noise_are_refused() {
    let golden = golden_records();
    for case in 0..10_000 {
        let random = &mut Random::of_case(2_000_000 + case);
        let mut bytes = random.bytes(600);
        assert!(probe_record(&bytes).is_err());
        let from = random.below(golden.len());
        random.mutate(&mut bytes, &golden[from]);
        for command in Commands::of(&bytes) {
            let Ok(command) = command else { break };
            assert!(command.bytes.len() <= bytes.len());
        }
    }
    assert!(probe_record(&vec![0; crate::record::RECORD_BYTES_MAX + 1]).is_err());
}

#[test]
fn a_record_of_the_greatest_size_reads_and_one_byte_more_does_not() {
    use crate::record::{BODY_BYTES_MAX, COMMAND_HEAD_BYTES, RECORD_BYTES_MAX};
    let header = samples::records().remove(0).1.header;
    let mut commands = Vec::new();
    let mut command = |body: usize| {
        commands.extend_from_slice(&0x7777u16.to_le_bytes());
        commands.extend_from_slice(&[0; COMMAND_HEAD_BYTES - 6]);
        commands.extend_from_slice(&(body as u32).to_le_bytes());
        commands.extend_from_slice(&vec![9; body]);
        commands.len()
    };
    let room = RECORD_BYTES_MAX - HEADER_BYTES - TRAILER_BYTES;
    let mut used = 0;
    while room - used > BODY_BYTES_MAX + COMMAND_HEAD_BYTES {
        used = command(BODY_BYTES_MAX);
    }
    command(room - used - COMMAND_HEAD_BYTES);
    let record = EncodedRecord::seal(&header, &commands).into_bytes();
    assert_eq!(record.len(), RECORD_BYTES_MAX);
    assert_eq!(probe_record(&record), Ok(8));
    let mut longer = record;
    longer.push(0);
    assert_eq!(probe_record(&longer), Err(RecordError::Size { bytes: RECORD_BYTES_MAX + 1 }));

    let mut commands = vec![0; COMMAND_HEAD_BYTES];
    commands[COMMAND_HEAD_BYTES - 4..].copy_from_slice(&(BODY_BYTES_MAX as u32 + 1).to_le_bytes());
    commands.extend(vec![0; BODY_BYTES_MAX + 1]);
    let record = EncodedRecord::seal(&header, &commands);
    let error = RecordError::Body { command: 1, bytes: BODY_BYTES_MAX + 1 };
    assert_eq!(probe_record(record.as_bytes()), Err(error));
}

#[test]
fn texts_read_to_the_letter_or_not_at_all() {
    const LETTERS: &[u8] = b"abcdef0123456789-{}AZ_ \xc3\xa4g\0";
    let golden = [
        "0a0bffff-ffff-8fff-bfff-ffffffffffff",
        "urn:uuid:0a0bffff-ffff-8fff-bfff-ffffffffffff",
        "left-1_x",
        "agentarena/1",
        "too_large",
        "first_is_rated",
        "X",
    ];
    let mut read = [0; 3];
    for case in 0..40_000 {
        let random = &mut Random::of_case(3_000_000 + case);
        let mut bytes = golden[random.below(golden.len())].as_bytes().to_vec();
        for _ in 0..random.below(4) {
            let (at, letter) = (random.below(bytes.len()), LETTERS[random.below(LETTERS.len())]);
            match random.below(4) {
                0 => bytes.truncate(at),
                1 => bytes.insert(at, letter),
                _ if !bytes.is_empty() => bytes[at] = letter,
                _ => {}
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        if let Some(id) = MatchId::parse(&text) {
            assert_eq!(id.to_uuid().to_string(), text);
            read[0] += 1;
        }
        assert_eq!(AgentId::parse(&text).map(|id| id.0), MatchId::parse(&text).map(|id| id.0));
        assert_eq!(SessionId::parse(&text).map(|id| id.0), MatchId::parse(&text).map(|id| id.0));
        if let Some(handle) = Handle::parse(&text) {
            assert_eq!(handle.as_str(), text);
            assert!((3..=32).contains(&text.chars().count()));
            read[1] += 1;
        }
        let names = [
            Rejection::from_name(&text).map(Rejection::as_str),
            Seat::from_name(&text).map(Seat::as_str),
            First::from_name(&text).map(First::as_str),
            StrikeCause::from_name(&text).map(StrikeCause::as_str),
            VoidReason::from_name(&text).map(VoidReason::as_str),
            EndReason::from_name(&text).map(EndReason::as_str),
            Protocol::from_name(&text).map(Protocol::as_str),
            ConnectionMethod::from_name(&text).map(ConnectionMethod::as_str),
            ChallengePolicy::from_name(&text).map(ChallengePolicy::as_str),
            CredentialKind::from_name(&text).map(CredentialKind::as_str),
            GoneBecause::from_name(&text).map(GoneBecause::as_str),
            DeletionAnswer::from_name(&text).map(DeletionAnswer::as_str),
            Vacancy::from_name(&text).map(Vacancy::as_str),
        ];
        for name in names.into_iter().flatten() {
            assert_eq!(name, text);
            read[2] += 1;
        }
        let mv = Move::new(&bytes);
        assert_eq!(mv.is_some(), bytes.len() <= 32);
        assert!(mv.is_none_or(|mv| mv.as_bytes() == bytes));
    }
    assert!(read.iter().all(|read| *read > 300), "{read:?}");
}
