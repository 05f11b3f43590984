//! Processes of a shared journal on an empty folder, with snapshots in the object store: where eras were archived and removed, and
//! where they were not.

use super::*;
use crate::{
    ObjectSnapshots, Outcome, Producer, Sharing, SqliteJournal, Visit, archive, audit,
    jetstream::{JetStreamJournal, Nats},
    nats_servers::left_out,
    replicated::{Gateway, Node, NodeOptions, Peers, mirror_in},
    tests::{
        jetstream::setup::{Bench, PATIENCE},
        publisher::{assert_told, options, wait_copied, wait_published},
    },
};
use arena_schema::id::Era;
use std::{path::Path, time::Duration};

const ERA_BYTES: u64 = 4_000;
const PACE: u64 = 5;

/// An arena with several eras on a server, snapshots behind the last of them, and a gateway that has been there from the first
/// record on.
struct Site {
    bench: Bench,
    nats: Nats,
    store: Arc<ObjectSnapshots>,
    gateway: Node,
    gateway_data: TempDir,
    /// Of an engine that was there and is gone.
    engine_data: TempDir,
    registered: u64,
}

impl Site {
    fn new() -> Self {
        let bench = Bench::one();
        let nats = bench.connect();
        let store = Arc::new(bench.runtime.block_on(ObjectSnapshots::open(&nats)).unwrap());
        let (data, gateway_data) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let maker = maker(data.path(), &store);
        let behind: Vec<Box<dyn Follower>> = vec![Box::new(maker.follower())];
        let engine = start(NodeOptions { behind, ..engine(&nats, data.path(), &store) }).unwrap();
        let gateway = start(NodeOptions { snapshots: None, ..gateway(&nats, gateway_data.path(), &store) });
        let gateway = gateway.unwrap();
        let mut site = Self { bench, nats, store, gateway, gateway_data, engine_data: data, registered: 0 };
        site.register(80);
        let begun = Instant::now();
        // The era that is open may have too few records yet.
        while numbers(site.store.as_ref()).last() <= site.closed().last().map(|(_, last)| last) {
            assert!(begun.elapsed() < PATIENCE && maker.ended().is_none(), "{:?}", maker.ended());
            site.register(1);
        }
        assert_eq!(maker.ended(), None);
        drop(maker);
        engine.stop().unwrap();
        site
    }

    /// Registers more agents, each acknowledged.
    fn register(&mut self, count: u64) {
        let producer = self.gateway.producer().unwrap();
        for at in self.registered..self.registered + count {
            assert!(submit(&self.bench, &producer, at).result.is_ok());
        }
        self.registered += count;
    }

    fn journal(&self) -> JetStreamJournal {
        self.bench.runtime.block_on(JetStreamJournal::find(&self.nats, PARTITION)).unwrap().unwrap()
    }

    /// Each closed era, and its last record.
    fn closed(&self) -> Vec<(Era, u64)> {
        let away = TempDir::new().unwrap();
        let eras = archive(self.journal().reader().unwrap().as_mut(), away.path(), &mut |_| {}).unwrap();
        eras.into_iter().map(|era| (era.era, era.last.0)).collect()
    }

    /// Archives the closed eras into a folder and removes those that a snapshot is behind of; gives the first record that is
    /// left.
    fn remove_closed(&self, away: &Path) -> u64 {
        let journal = self.journal();
        let eras = archive(journal.reader().unwrap().as_mut(), away, &mut |_| {}).unwrap();
        let snapshot = numbers(self.store.as_ref()).pop().unwrap();
        let gone: Vec<_> = eras.iter().filter(|era| era.last.0 <= snapshot).collect();
        assert!(gone.len() > 1, "{eras:?}");
        let eras: Vec<Era> = gone.iter().map(|era| era.era).collect();
        self.bench.runtime.block_on(journal.remove_eras(&eras)).unwrap();
        gone.last().unwrap().last.0 + 1
    }
}

fn submit(bench: &Bench, producer: &Producer, at: u64) -> Outcome {
    bench.runtime.block_on(async {
        producer.submit(vec![Submission::new(register(at))]).await.unwrap().outcome().await.unwrap()
    })
}

fn maker(data: &Path, store: &Arc<ObjectSnapshots>) -> SnapshotMaker {
    let mirror = mirror_in(data, PARTITION);
    SnapshotMaker::start(SnapshotMakerOptions {
        partition: PARTITION,
        store: Arc::clone(store) as Arc<dyn Snapshots>,
        readers: Box::new(move || SqliteJournal::open_reader(&mirror)),
        pace: SnapshotPace { records: PACE, bytes: u64::MAX },
        sharing: Some(Sharing { turn: Duration::ZERO, again: Duration::ZERO }),
    })
    .unwrap()
}

fn engine(nats: &Nats, data: &Path, store: &Arc<ObjectSnapshots>) -> NodeOptions {
    NodeOptions {
        snapshots: Some(Arc::clone(store) as Arc<dyn Snapshots>),
        gateway: None,
        peers: Peers::of(1),
        era_bytes_max: ERA_BYTES,
        ..options(nats.clone(), data)
    }
}

fn gateway(nats: &Nats, data: &Path, store: &Arc<ObjectSnapshots>) -> NodeOptions {
    NodeOptions { may_lead: false, gateway: Some(Gateway::new(PARTITION)), ..engine(nats, data, store) }
}

fn start(options: NodeOptions) -> Result<Node, StartError> {
    Node::start(options)
}

fn rows_in(data: &Path, from: u64) -> Vec<(u64, Vec<u8>)> {
    let mut rows = Vec::new();
    let mut reader = SqliteJournal::open_reader(&mirror_in(data, PARTITION)).unwrap();
    reader
        .read(RecordNumber(from), &mut |stored| {
            rows.push((stored.number.0, stored.bytes.to_vec()));
            Visit::Next
        })
        .unwrap();
    rows
}

/// Leaves a copy what it would have if it had only come so far.
fn cut(data: &Path, behind: u64) {
    let mirror = data.join("mirror");
    for era in (1..100).map(Era) {
        let file = SqliteJournal::path_in(&mirror, PARTITION, era);
        if !file.exists() {
            continue;
        }
        let sql = rusqlite::Connection::open(&file).unwrap();
        sql.execute("DELETE FROM records WHERE number > ?1", [behind.cast_signed()]).unwrap();
        sql.execute_batch("DROP TRIGGER IF EXISTS closed").unwrap();
        let left: i64 = sql.query_row("SELECT count(*) FROM records", [], |row| row.get(0)).unwrap();
        drop(sql);
        if left == 0 {
            fs::remove_file(file).unwrap();
        }
    }
}

#[test]
fn a_new_engine_behind_eras_that_are_gone_follows_takes_the_lead_and_accepts_commands() {
    if left_out() {
        return;
    }
    let mut site = Site::new();
    let away = TempDir::new().unwrap();
    let first = site.remove_closed(away.path());
    let snapshot = *numbers(site.store.as_ref()).last().unwrap();

    // Without a snapshot it is refused, and says from where on the records are there.
    let data = TempDir::new().unwrap();
    let without = NodeOptions { snapshots: None, ..engine(&site.nats, data.path(), &site.store) };
    let refused = start(without).map(drop).unwrap_err().to_string();
    assert!(refused.contains(&format!("goes on with record {first}")), "{refused}");

    // With one it starts in the same folder, follows, takes the lead, and is told to go on in new eras.
    let new = start(engine(&site.nats, data.path(), &site.store)).unwrap();
    assert!(new.handle().position().0 >= snapshot);
    site.register(40);
    wait_published(&new);
    assert_eq!(new.handle().state().registry().agents().len() as u64, site.registered);
    wait_copied(&new, data.path());
    wait_copied(&site.gateway, site.gateway_data.path());
    let copied = rows_in(data.path(), first);
    assert_eq!(copied.first().unwrap().0, first, "the copy begins with the first era that is there");
    assert!(!SqliteJournal::path_in(&data.path().join("mirror"), PARTITION, Era(1)).exists());
    assert_eq!(copied[..], rows_in(site.gateway_data.path(), first)[..copied.len()]);
    assert_told(&site.bench, site.gateway_data.path());
    new.stop().unwrap();

    // It comes back from its own copy, and another stands by from an empty folder and takes over.
    let again = start(engine(&site.nats, data.path(), &site.store)).unwrap();
    let other_data = TempDir::new().unwrap();
    let other = start(engine(&site.nats, other_data.path(), &site.store)).unwrap();
    site.register(5);
    again.stop().unwrap();
    site.register(5);
    wait_published(&other);
    wait_copied(&site.gateway, site.gateway_data.path());
    assert_told(&site.bench, site.gateway_data.path());
    other.stop().unwrap();
    let registered = site.registered;
    site.gateway.stop().unwrap();

    // The archive and what is left are one journal that holds.
    let journal =
        site.bench.runtime.block_on(JetStreamJournal::find(&site.nats, PARTITION)).unwrap().unwrap();
    let folders = [away.path().to_owned()];
    let mut whole = crate::Archives::before(journal.reader().unwrap(), &folders, PARTITION).unwrap();
    let report = audit(&mut whole, PARTITION, &[]).unwrap();
    assert!(report.commands > registered);
}

#[test]
fn a_new_gateway_begins_from_the_snapshot_and_one_whose_views_want_all_says_which_archive() {
    if left_out() {
        return;
    }
    let mut site = Site::new();
    let engine_data = TempDir::new().unwrap();
    let leader = start(engine(&site.nats, engine_data.path(), &site.store)).unwrap();
    site.register(1);
    let away = TempDir::new().unwrap();
    let first = site.remove_closed(away.path());
    let data = TempDir::new().unwrap();
    let new = start(gateway(&site.nats, data.path(), &site.store)).unwrap();
    assert!(submit(&site.bench, &new.producer().unwrap(), 1_000).result.is_ok());
    new.stop().unwrap();

    let views = TempDir::new().unwrap();
    let wants = |after: u64| NodeOptions {
        followers: After::boxed(after, None),
        ..gateway(&site.nats, views.path(), &site.store)
    };
    let refused = start(wants(0)).map(drop).unwrap_err().to_string();
    assert!(refused.contains("era 1") && refused.contains(&format!("with record {first}")), "{refused}");
    // With the archive's files in its own copy they are there again.
    let mirror = views.path().join("mirror");
    fs::remove_dir_all(&mirror).unwrap();
    fs::create_dir(&mirror).unwrap();
    // The copy ends with the very record before the first that is there.
    for era in (1..100).map(Era) {
        let (from, to) = (away.path(), mirror.as_path());
        let [from, to] = [from, to].map(|folder| SqliteJournal::path_in(folder, PARTITION, era));
        let begins = |file: &Path| {
            let sql = rusqlite::Connection::open(file).unwrap();
            sql.query_row("SELECT min(number) FROM records", [], |row| row.get::<_, i64>(0)).unwrap()
        };
        if from.exists() && begins(&from) < first.cast_signed() {
            fs::copy(from, to).unwrap();
        }
    }
    let new = start(wants(0)).unwrap();
    assert!(submit(&site.bench, &new.producer().unwrap(), 1_001).result.is_ok());
    wait_copied(&new, views.path());
    new.stop().unwrap();
    let rows = rows_in(views.path(), 1);
    assert!(rows.iter().map(|(number, _)| *number).eq(1..=rows.len() as u64));
    leader.stop().unwrap();
    site.gateway.stop().unwrap();
}

#[test]
fn a_copy_that_ends_just_before_what_was_not_archived_goes_on_with_it_or_is_of_another_journal() {
    if left_out() {
        return;
    }
    let site = Site::new();
    let away = TempDir::new().unwrap();
    let first = site.remove_closed(away.path());
    // Gives the file of the last era in the copy.
    let copy = |mirror: &Path| {
        fs::create_dir_all(mirror).unwrap();
        let mut last = None;
        for era in (1..100).map(Era) {
            let archived = SqliteJournal::path_in(away.path(), PARTITION, era);
            if archived.exists() && SqliteJournal::open(&archived).unwrap().last().unwrap().0 < first {
                let copied = mirror.join(archived.file_name().unwrap());
                fs::copy(&archived, &copied).unwrap();
                last = Some(copied);
            }
        }
        last.unwrap()
    };
    let data = TempDir::new().unwrap();
    copy(&data.path().join("mirror"));
    let new = start(engine(&site.nats, data.path(), &site.store)).unwrap();
    wait_copied(&new, data.path());
    new.stop().unwrap();
    let rows = rows_in(data.path(), 1);
    assert!(rows.iter().map(|(number, _)| *number).eq(1..=rows.len() as u64));

    let strange = TempDir::new().unwrap();
    let sql = rusqlite::Connection::open(copy(&strange.path().join("mirror"))).unwrap();
    sql.execute_batch("DROP TRIGGER IF EXISTS closed").unwrap();
    let other = played(3, 9)[2].0.as_bytes().to_vec();
    let number = (first - 1).cast_signed();
    let changed = sql
        .execute("UPDATE records SET record = ?1 WHERE number = ?2", rusqlite::params![other, number])
        .unwrap();
    assert_eq!(changed, 1);
    drop(sql);
    let refused = start(engine(&site.nats, strange.path(), &site.store)).map(drop).unwrap_err();
    assert!(refused.to_string().contains("it is of another journal"), "{refused}");
    site.gateway.stop().unwrap();
}

#[test]
fn a_copy_that_a_crash_left_half_filled_or_that_is_behind_is_filled_up_and_no_record_is_believed_unseen() {
    if left_out() {
        return;
    }
    let mut site = Site::new();
    let away = TempDir::new().unwrap();
    let first = site.remove_closed(away.path());
    let data = TempDir::new().unwrap();
    start(engine(&site.nats, data.path(), &site.store)).unwrap().stop().unwrap();
    let snapshot = *numbers(site.store.as_ref()).last().unwrap();
    let cut = |behind: u64| cut(data.path(), behind);
    // After a part of what it takes as it is, after its first record, before that.
    for behind in [snapshot - 1, first, first - 1] {
        cut(behind);
        let engine = start(engine(&site.nats, data.path(), &site.store)).unwrap();
        site.register(1);
        wait_copied(&engine, data.path());
        engine.stop().unwrap();
        let rows = rows_in(data.path(), first);
        assert!(rows.iter().map(|(number, _)| *number).eq(first..first + rows.len() as u64));
    }

    // What is in the copy must be what goes on in the stream.
    cut(first + 1);
    let file = fs::read_dir(data.path().join("mirror")).unwrap().map(|entry| entry.unwrap().path());
    let file = file.filter(|path| path.extension().is_some_and(|it| it == "db")).min().unwrap();
    let sql = rusqlite::Connection::open(file).unwrap();
    let other = played(3, 9)[2].0.as_bytes().to_vec();
    let number = (first + 1).cast_signed();
    sql.execute("UPDATE records SET record = ?1 WHERE number = ?2", rusqlite::params![other, number])
        .unwrap();
    drop(sql);
    let refused = start(engine(&site.nats, data.path(), &site.store)).map(drop).unwrap_err().to_string();
    assert!(refused.contains(&format!("record {}", first + 1)), "{refused}");
    site.gateway.stop().unwrap();
}

#[test]
fn a_copy_whose_next_records_went_to_an_archive_says_so_and_begins_anew_where_it_is_removed() {
    if left_out() {
        return;
    }
    let mut site = Site::new();
    let away = TempDir::new().unwrap();
    let first = site.remove_closed(away.path());
    let data = site.engine_data.path().to_owned();
    cut(&data, 10);
    let refused = start(engine(&site.nats, &data, &site.store)).map(drop).unwrap_err().to_string();
    assert!(refused.contains("archive") && refused.contains(&format!("with record {first}")), "{refused}");
    assert_eq!(rows_in(&data, 1).len(), 10, "it is left as it was");
    fs::remove_dir_all(data.join("mirror")).unwrap();
    let engine = start(engine(&site.nats, &data, &site.store)).unwrap();
    site.register(1);
    wait_copied(&engine, &data);
    engine.stop().unwrap();
    assert_eq!(rows_in(&data, first)[0].0, first);
    site.gateway.stop().unwrap();
}

#[test]
fn a_snapshot_that_does_not_fit_is_passed_over_by_a_process_on_an_empty_folder() {
    if left_out() {
        return;
    }
    let site = Site::new();
    let [before, newest] = numbers(site.store.as_ref())[..] else { panic!("two snapshots") };
    let bytes = |number| site.store.get(PARTITION, RecordNumber(number)).unwrap().unwrap();
    let kept = bytes(newest);
    let spoilt = |spoil: &dyn Fn(&mut Snapshot)| {
        let mut snapshot = Snapshot::parse(&kept).unwrap();
        spoil(&mut snapshot);
        snapshot.to_bytes()
    };
    let others = played(newest as usize, 9);
    let foreign = Snapshot::of(&state_after(&others, newest as usize)).to_bytes();
    for (what, bytes) in [
        ("cut", kept[..kept.len() / 2].to_vec()),
        ("layout", spoilt(&|snapshot| snapshot.layout += 1)),
        ("rules", spoilt(&|snapshot| snapshot.rules.0 += 1)),
        ("digest", spoilt(&|snapshot| snapshot.digest = Hash::ZERO)),
        ("number", spoilt(&|snapshot| snapshot.number.0 -= 1)),
    ] {
        site.store.put(PARTITION, RecordNumber(newest), &bytes).unwrap();
        let data = TempDir::new().unwrap();
        let engine = start(engine(&site.nats, data.path(), &site.store));
        let engine = engine.unwrap_or_else(|why| panic!("{what}: {why}"));
        assert!(engine.handle().position().0 > before, "{what}");
        engine.stop().unwrap();
        assert_eq!(rows_in(data.path(), 1)[0].0, 1, "nothing was archived, and the copy has all of it");
    }
    // One that is whole and of another history is not believed, and remembers what this journal never had.
    site.store.put(PARTITION, RecordNumber(newest), &foreign).unwrap();
    let data = TempDir::new().unwrap();
    let refused = start(engine(&site.nats, data.path(), &site.store)).map(drop).unwrap_err();
    assert!(matches!(refused, StartError::Forgotten { .. }), "{refused}");
    assert!(refused.to_string().contains(&format!("the snapshot 0-{newest} remembers")), "{refused}");
    site.gateway.stop().unwrap();
}
