//! Eras that were archived go from the server, and with them the texts that belong to nothing else.

use super::{
    Bench,
    setup::{ask, open},
};
use crate::{
    Archives, Clock, JetStreamJournal, Journal, JournalError, MemoryJournal, Reader, SealedText, Submission,
    Visit, archive,
    nats_servers::left_out,
    testing::{Dice, Rows, Witness, agent_id, register, rows, run, sealed_text, start},
};
use arena_schema::{
    id::{Era, Partition, RecordNumber},
    record::EncodedRecord,
};
use serde_json::json;
use tempfile::TempDir;

const ERA_BYTES: u64 = 1_500;

/// Records of several eras.
fn records() -> Vec<EncodedRecord> {
    let memory = MemoryJournal::default().with_era_bytes(ERA_BYTES);
    let sequencer = start(memory.clone(), 1, Clock::System, &Witness::default()).unwrap();
    for at in 0..30 {
        let pending = sequencer.producer().try_submit(vec![Submission::new(register(at))]).unwrap();
        run(pending.outcome()).unwrap();
    }
    sequencer.stop().unwrap();
    rows(&memory).iter().map(|(_, bytes, _)| EncodedRecord::stored(bytes).unwrap()).collect()
}

/// A journal of these records, each with the texts that it is given.
fn journal(
    bench: &Bench,
    records: &[EncodedRecord],
    mut texts: impl FnMut(&EncodedRecord) -> Vec<SealedText>,
) -> JetStreamJournal {
    let mut journal = bench.journal(0);
    for record in records {
        if record.era() != journal.era() {
            journal.next_era(record.era(), record.number()).unwrap();
        }
        journal.append(record, &texts(record)).unwrap();
    }
    journal
}

/// The first and the last sequence of the texts' stream, and how many messages it has.
fn stands(bench: &Bench) -> [u64; 3] {
    let info = ask(&bench.connect(), "STREAM.INFO.ARENA_TEXTS_0", &json!({}));
    ["first_seq", "last_seq", "messages"].map(|name| info["state"][name].as_u64().unwrap())
}

fn rows_from(reader: &mut dyn Reader, from: RecordNumber) -> Rows {
    let mut rows = Rows::new();
    reader
        .read(from, &mut |stored| {
            rows.push((stored.number.0, stored.bytes.to_vec(), stored.texts.to_vec()));
            Visit::Next
        })
        .unwrap();
    rows
}

#[test]
fn the_texts_of_eras_that_went_go_with_them_and_stay_in_the_archive() {
    if left_out() {
        return;
    }
    let (bench, mut dice) = (Bench::one(), Dice(5));
    let records = records();
    let newest = records.last().unwrap().era();
    assert!(newest >= Era(4), "{newest:?}");
    let journal =
        journal(&bench, &records, |record| vec![sealed_text(agent_id(record.number().0), 40, &mut dice).1]);
    let written = rows(&journal);
    let away = TempDir::new().unwrap();
    archive(journal.reader().unwrap().as_mut(), away.path(), &mut |_| {}).unwrap();
    let count = records.len() as u64;
    assert_eq!(stands(&bench), [1, count, count]);
    assert!(bench.runtime.block_on(journal.remove_eras(&[newest])).is_err(), "the open era is no archive");
    assert_eq!(bench.runtime.block_on(journal.remove_eras(&[])).unwrap(), 0, "nothing went");
    assert_eq!(stands(&bench), [1, count, count]);

    let gone = |era: Era| records.iter().filter(|record| record.era() <= era).count() as u64;
    assert_eq!(bench.runtime.block_on(journal.remove_eras(&[Era(1)])).unwrap(), gone(Era(1)));
    assert_eq!(stands(&bench), [gone(Era(1)) + 1, count, count - gone(Era(1))]);
    // What is left has its texts, and with the archive it is what was written.
    let first = RecordNumber(gone(Era(1)) + 1);
    let left = rows_from(journal.reader().unwrap().as_mut(), first);
    assert_eq!(left[..], written[gone(Era(1)) as usize..]);
    let folders = [away.path().to_owned()];
    let mut whole = Archives::before(journal.reader().unwrap(), &folders, Partition(0)).unwrap();
    assert_eq!(rows_from(&mut whole, RecordNumber(1)), written);

    // A crash came between the records and their texts: the next run goes on.
    ask(&bench.connect(), "STREAM.DELETE.ARENA_RECORDS_0_2", &json!({}));
    assert_eq!(bench.runtime.block_on(journal.remove_eras(&[])).unwrap(), gone(Era(2)) - gone(Era(1)));
    assert_eq!(stands(&bench)[0], gone(Era(2)) + 1);
    let mut whole = Archives::before(journal.reader().unwrap(), &folders, Partition(0)).unwrap();
    assert_eq!(rows_from(&mut whole, RecordNumber(1)), written);
}

#[test]
fn where_no_record_that_stays_names_a_text_only_those_that_were_named_go() {
    if left_out() {
        return;
    }
    let (bench, mut dice) = (Bench::one(), Dice(6));
    let records = records();
    let journal = journal(&bench, &records, |record| {
        let of_first = record.era() == Era(1);
        of_first.then(|| sealed_text(agent_id(record.number().0), 40, &mut dice).1).into_iter().collect()
    });
    // Texts of a record that is on its way.
    let client = journal_client(&bench);
    bench.runtime.block_on(client.request("arena.text.0", "on its way".into())).unwrap();
    let named = records.iter().filter(|record| record.era() == Era(1)).count() as u64;
    assert_eq!(stands(&bench), [1, named + 1, named + 1]);
    assert_eq!(bench.runtime.block_on(journal.remove_eras(&[Era(1)])).unwrap(), named);
    assert_eq!(stands(&bench), [named + 1, named + 1, 1]);
}

fn journal_client(bench: &Bench) -> async_nats::Client {
    bench.connect().client().clone()
}

#[test]
fn a_record_whose_text_went_with_its_era_says_that_it_lies_in_the_archive() {
    if left_out() {
        return;
    }
    let (bench, mut dice) = (Bench::one(), Dice(7));
    let records = records();
    let first: Vec<_> = records.into_iter().filter(|record| record.era() == Era(1)).collect();
    journal(&bench, &first, |record| vec![sealed_text(agent_id(record.number().0), 40, &mut dice).1]);
    // As whoever reads an era meets it that goes meanwhile.
    ask(&bench.connect(), "STREAM.PURGE.ARENA_TEXTS_0", &json!({"seq": 3}));
    let read = open(&bench.connect(), 0).reader().unwrap().read(RecordNumber(1), &mut |_| Visit::Next);
    let Err(JournalError::Texts { record, why }) = read else { panic!("{read:?}") };
    assert_eq!(record.0, 1);
    assert!(why.contains("message 1 of ARENA_TEXTS_0") && why.contains("archived"), "{why}");
}
