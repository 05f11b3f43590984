//! How much a snapshot saves.

use super::*;

/// `cargo test --release -p arena-journal -- --ignored --nocapture how_long`
#[test]
#[ignore = "a figure, for a quiet machine"]
fn how_long_a_start_takes_with_and_without_a_snapshot() {
    const COMMANDS: u64 = 1_000_000;
    let records = played(250_000, 6);
    let folder = Folder::new();
    drop(folder.journal());
    let (mut sql, mut commands, mut size) = (folder.sql(), 0, 0);
    let rows = sql.transaction().unwrap();
    let mut last = 0;
    for (record, _) in &records {
        if commands >= COMMANDS {
            break;
        }
        commands += RecordView::parse(record.as_bytes()).unwrap().commands().count() as u64;
        (last, size) = (record.number().0, size + record.as_bytes().len());
        let row = (last.cast_signed(), record.as_bytes());
        rows.execute("INSERT INTO records (number, record) VALUES (?1, ?2)", row).unwrap();
    }
    rows.commit().unwrap();
    drop(records);

    let store = FolderSnapshots::in_data(folder.path());
    let options = |run| StartOptions {
        partition: PARTITION,
        clock: Clock::System,
        incarnation: Incarnation([run; 16]),
        followers: Vec::new(),
    };
    let quickest = |runs: std::ops::Range<u8>, snapshots: &dyn Snapshots| {
        let took = runs.map(|run| {
            let begin = Instant::now();
            let sequencer =
                Sequencer::start_from(Box::new(folder.journal()), snapshots, options(run)).unwrap();
            let took = begin.elapsed();
            sequencer.stop().unwrap();
            took
        });
        took.min().unwrap()
    };
    let without = quickest(2..5, &Objects::default());
    let file = folder.file();
    let begin = Instant::now();
    let making = SnapshotMaker::start(SnapshotMakerOptions {
        partition: PARTITION,
        store: Arc::new(store.clone()),
        readers: Box::new(move || crate::SqliteJournal::open_reader(&file)),
        pace: SnapshotPace::default(),
        sharing: None,
    });
    let making = making.unwrap();
    making.notify(RecordNumber(last));
    making.wait_until_proved(RecordNumber(last));
    let made = begin.elapsed();
    assert_eq!(making.ended(), None);
    drop(making);
    let with = quickest(5..8, &store);
    let kept = numbers(&store);
    let bytes = store.get(PARTITION, RecordNumber(kept[kept.len() - 1])).unwrap().unwrap().len();
    println!(
        "{commands} commands in {last} records of {size} bytes: a start takes {without:?} from the first record, {with:?} from \
         a snapshot ({bytes} bytes, of {kept:?}); the maker took {made:?}"
    );
}
