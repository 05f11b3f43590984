//! The suite that every store of payloads passes.

use super::{CHUNK, SALT, Store, bytes, commitment, session, write};
use crate::{PayloadError, Swept, TextOwner, testing::Dice};
use arena_schema::{Commitment, id::ObjectId};
use futures::{FutureExt, StreamExt, future::join_all};
use std::time::{Duration, Instant};

const HOUR: Duration = Duration::from_secs(3_600);

/// A case's name, and the case.
pub(super) type Case = (&'static str, fn(&Store));

macro_rules! cases {
    ($($case:ident)+) => {
        &[$((stringify!($case), $case as fn(&Store))),+]
    };
}

pub(super) const CASES: &[Case] = cases! {
    a_payload_of_any_size_comes_back_whole_and_proves_its_commitment
    what_is_written_is_in_the_store_as_it_comes_and_in_memory_no_more
    a_payload_that_is_cut_at_any_part_is_refused_before_any_of_it_is_given
    a_changed_byte_is_found_wherever_it_is
    parts_that_are_swapped_repeated_left_out_or_of_another_payload_are_found
    a_payload_that_is_spoilt_while_it_is_read_ends_in_an_error
    a_payload_of_another_commitment_is_not_given_whole
    many_write_and_read_at_once
    what_was_given_up_is_never_taken_for_whole
    a_write_that_was_given_up_while_it_waited_is_not_gone_on_with
    what_is_not_there_is_missing_while_its_owner_has_a_key
    a_destroyed_key_ends_reading_and_writing_and_then_the_bytes_go
    a_sweep_removes_what_is_old_and_nobodys_and_nothing_else
};

#[track_caller]
fn damaged<T>(found: Result<T, PayloadError>, object: ObjectId, what: &str) {
    match found {
        Err(why @ PayloadError::Damaged { .. }) => {
            assert!(why.to_string().contains(&object.to_string()), "{what}: {why}");
        }
        Err(why) => panic!("{what}: {why}"),
        Ok(_) => panic!("{what}: it was taken"),
    }
}

#[track_caller]
fn wait_empty(store: &Store) {
    let begun = Instant::now();
    while store.under.held() > 0 {
        assert!(begun.elapsed() < Duration::from_secs(30), "{} bytes stay", store.under.held());
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn a_payload_of_any_size_comes_back_whole_and_proves_its_commitment(store: &Store) {
    let owner = store.owner(1);
    let edge = CHUNK - SALT;
    let sizes = [
        0,
        1,
        31,
        32,
        33,
        edge - 1,
        edge,
        edge + 1,
        CHUNK,
        edge + CHUNK,
        edge + CHUNK + 1,
        200_000,
        10_000_000,
    ];
    for (size, piece) in sizes.into_iter().zip([1, 7, 65_535, 65_536, 65_537, 65_504, 100_001].iter().cycle())
    {
        let payload = bytes(size, size as u64);
        let stored = store.run(write(&store.payloads, owner, &payload, *piece));
        assert_eq!(stored.size, size as u64);
        // Whoever opens the store later reads the same.
        let (later, mut read) = (store.under.open(&store.texts), Vec::new());
        store.run(async {
            let mut reading = later.read_committed(owner, stored.object, stored.commitment).await.unwrap();
            assert_eq!(reading.size(), size as u64);
            while let Some(chunk) = reading.next().await {
                let chunk = chunk.unwrap();
                assert!(!chunk.is_empty() && chunk.len() <= CHUNK);
                read.extend_from_slice(&chunk);
            }
            assert_eq!(commitment(reading.salt(), &payload), stored.commitment);
        });
        assert!(read == payload, "{size} bytes in pieces of {piece}");
        let parts = store.under.parts(owner, stored.object);
        assert_eq!(parts.len(), (size + SALT).div_ceil(CHUNK));
        if size >= 16 {
            let sealed = parts.concat();
            assert!(!sealed.windows(16).any(|part| part == &payload[..16]), "it lies there sealed");
        }
    }
}

fn what_is_written_is_in_the_store_as_it_comes_and_in_memory_no_more(store: &Store) {
    let owner = store.owner(1);
    store.run(async {
        let mut writing = store.payloads.begin(owner).await.unwrap();
        let mut dice = Dice(1);
        for _ in 0..40 {
            let piece = bytes(dice.below(200_000) as usize, dice.next());
            writing.write(&piece).await.unwrap();
            let held = store.under.held();
            assert!(held + CHUNK as u64 >= writing.size(), "{held} of {} bytes", writing.size());
        }
        writing.finish().await.unwrap();
    });
}

fn a_payload_that_is_cut_at_any_part_is_refused_before_any_of_it_is_given(store: &Store) {
    let owner = store.owner(1);
    for size in [5 * CHUNK - SALT, 4 * CHUNK + 100] {
        let stored = store.write(owner, &bytes(size, 1));
        let parts = store.under.parts(owner, stored.object);
        assert_eq!(parts.len(), 5);
        for cut in 0..5 {
            store.under.put_parts(owner, stored.object, &parts[..cut]);
            let opened = store.run(store.payloads.read(owner, stored.object));
            damaged(opened, stored.object, &format!("cut behind part {cut}"));
        }
        store.under.put_parts(owner, stored.object, &parts);
        assert!(store.read(owner, stored.object).unwrap() == bytes(size, 1));
    }
}

fn a_changed_byte_is_found_wherever_it_is(store: &Store) {
    let owner = store.owner(1);
    let mut dice = Dice(2);
    for size in [0, 20, 2 * CHUNK + 50] {
        let payload = bytes(size, 3);
        let stored = store.write(owner, &payload);
        let parts = store.under.parts(owner, stored.object);
        let whole: usize = parts.iter().map(Vec::len).sum();
        let tried: Vec<usize> = if whole <= store.under.flips() {
            (0..whole).collect()
        } else {
            (0..store.under.flips()).map(|_| dice.below(whole as u64) as usize).collect()
        };
        for at in tried {
            let (mut changed, mut place) = (parts.clone(), at);
            let part = changed.iter_mut().find(|part| {
                let here = place < part.len();
                place -= if here { 0 } else { part.len() };
                here
            });
            part.unwrap()[place] ^= 1 << dice.below(8);
            store.under.put_parts(owner, stored.object, &changed);
            let found = store.run(async {
                let mut reading = store.payloads.read(owner, stored.object).await?;
                let mut given = Vec::new();
                while let Some(chunk) = reading.next().await {
                    given.extend_from_slice(&chunk?);
                    assert!(payload.starts_with(&given), "byte {at}");
                }
                Ok(given.len())
            });
            damaged(found, stored.object, &format!("byte {at} of {whole}"));
        }
    }
}

fn parts_that_are_swapped_repeated_left_out_or_of_another_payload_are_found(store: &Store) {
    let (owner, other) = (store.owner(1), store.owner(2));
    let payload = bytes(4 * CHUNK, 1);
    let stored = store.write(owner, &payload);
    let parts = store.under.parts(owner, stored.object);
    let spoilt = |what: &str, order: &[usize]| {
        let changed: Vec<Vec<u8>> = order.iter().map(|at| parts[*at].clone()).collect();
        store.under.put_parts(owner, stored.object, &changed);
        damaged(store.read(owner, stored.object), stored.object, what);
    };
    spoilt("swapped", &[0, 2, 1, 3, 4]);
    spoilt("repeated", &[0, 1, 1, 2, 3, 4]);
    spoilt("one in place of another", &[0, 1, 1, 3, 4]);
    spoilt("one left out", &[0, 1, 3, 4]);
    spoilt("without the first", &[1, 2, 3, 4]);
    spoilt("the last twice", &[0, 1, 2, 3, 4, 4]);
    spoilt("the last first", &[4, 1, 2, 3, 4]);
    for (what, of) in [("of the same owner", owner), ("of another owner", other)] {
        let another = store.write(of, &payload);
        let theirs = store.under.parts(of, another.object);
        for at in 0..parts.len() {
            let mut mixed = parts.clone();
            mixed[at].clone_from(&theirs[at]);
            store.under.put_parts(owner, stored.object, &mixed);
            damaged(store.read(owner, stored.object), stored.object, &format!("part {at} {what}"));
        }
        store.under.put_parts(owner, stored.object, &theirs);
        damaged(store.read(owner, stored.object), stored.object, &format!("all {what}"));
    }
    let mut longer = parts.clone();
    longer[4].push(0);
    store.under.put_parts(owner, stored.object, &longer);
    damaged(store.read(owner, stored.object), stored.object, "one byte more");
    store.under.put_parts(owner, stored.object, &parts);
    assert!(store.read(owner, stored.object).unwrap() == payload);
}

fn a_payload_that_is_spoilt_while_it_is_read_ends_in_an_error(store: &Store) {
    let owner = store.owner(1);
    let payload = bytes(4 * CHUNK, 1);
    let stored = store.write(owner, &payload);
    let mut reading = store.run(store.payloads.read(owner, stored.object)).unwrap();
    let first = store.run(reading.next()).unwrap().unwrap();
    assert!(payload.starts_with(&first));
    let mut parts = store.under.parts(owner, stored.object);
    parts[3][9] ^= 1;
    store.under.put_parts(owner, stored.object, &parts);
    let mut rest = Vec::new();
    store.run(async {
        while let Some(chunk) = reading.next().await {
            rest.push(chunk);
        }
    });
    damaged(rest.pop().unwrap(), stored.object, "the third part, which was not read before");
    let given: Vec<u8> = rest.into_iter().flat_map(|chunk| chunk.unwrap().to_vec()).collect();
    assert!(payload[first.len()..].starts_with(&given));
}

fn a_payload_of_another_commitment_is_not_given_whole(store: &Store) {
    let owner = store.owner(1);
    for size in [0, 10, 3 * CHUNK] {
        let stored = store.write(owner, &bytes(size, 1));
        let read = |commitment| {
            store.run(async {
                store.payloads.read_committed(owner, stored.object, commitment).await?.collect().await
            })
        };
        assert_eq!(read(stored.commitment).unwrap().len(), size);
        damaged(read(Commitment([7; 32])), stored.object, "another commitment");
    }
}

fn many_write_and_read_at_once(store: &Store) {
    let owners = [store.owner(1), store.owner(2)];
    let before: Vec<_> = owners.map(|owner| store.write(owner, &bytes(300_000, 9))).to_vec();
    store.run(async {
        let writes = (0..8u64).map(|at| {
            let (payloads, owner) = (store.payloads.clone(), owners[at as usize % 2]);
            tokio::spawn(async move {
                let payload = bytes(150_000 + at as usize * 10_000, at);
                let stored = write(&payloads, owner, &payload, 9_000 + at as usize).await;
                (owner, payload, stored)
            })
        });
        let reads = (0..8usize).map(|at| {
            let (payloads, owner, stored) = (store.payloads.clone(), owners[at % 2], before[at % 2]);
            tokio::spawn(async move {
                let read = payloads.read(owner, stored.object).await.unwrap().collect().await.unwrap();
                assert!(read == bytes(300_000, 9));
            })
        });
        let (reads, writes) = (reads.collect::<Vec<_>>(), writes.collect::<Vec<_>>());
        for read in join_all(reads).await {
            read.unwrap();
        }
        for written in join_all(writes).await {
            let (owner, payload, stored) = written.unwrap();
            let read = store.payloads.read(owner, stored.object).await.unwrap().collect().await.unwrap();
            assert!(read == payload);
        }
    });
}

fn what_was_given_up_is_never_taken_for_whole(store: &Store) {
    let owner = store.owner(1);
    let begin = |size: usize| {
        store.run(async {
            let mut writing = store.payloads.begin(owner).await.unwrap();
            writing.write(&bytes(size, 1)).await.unwrap();
            writing
        })
    };
    let object = |writing: &crate::Writing| writing.object();
    let missing = |object: ObjectId| match store.read(owner, object) {
        Err(PayloadError::Missing { object: named, .. }) => assert_eq!(named, object),
        other => panic!("{other:?}"),
    };
    for size in [0, 10, 4 * CHUNK, 4 * CHUNK + 1] {
        let writing = begin(size);
        let object = object(&writing);
        missing(object);
        drop(writing);
        missing(object);
        wait_empty(store);
    }
    // Who is killed drops nothing.
    let writing = begin(200_000);
    let object = object(&writing);
    std::mem::forget(writing);
    missing(object);
    assert!(store.under.held() > 100_000);
    let sweep = |age| store.run(store.payloads.sweep(|_| true, |_, _| true, age)).unwrap();
    assert_eq!(sweep(HOUR), Swept::default(), "it may be on its way");
    missing(object);
    assert_eq!(sweep(Duration::ZERO), Swept { whole: 0, unfinished: 1 });
    assert_eq!(store.under.held(), 0);
}

fn a_write_that_was_given_up_while_it_waited_is_not_gone_on_with(store: &Store) {
    let owner = store.owner(1);
    store.run(async {
        let mut writing = store.payloads.begin(owner).await.unwrap();
        let payload = bytes(20 * CHUNK, 1);
        assert!(writing.write(&payload).now_or_never().is_none(), "twenty parts take a while");
        assert!(matches!(writing.write(b"more").await, Err(PayloadError::Broken)));
        assert!(matches!(writing.finish().await, Err(PayloadError::Broken)));
    });
}

fn what_is_not_there_is_missing_while_its_owner_has_a_key(store: &Store) {
    let (owner, other) = (store.owner(1), store.owner(2));
    let stored = store.write(owner, b"here");
    for (of, object) in [(owner, ObjectId([9; 16])), (other, stored.object)] {
        let why = store.read(of, object).unwrap_err();
        assert!(matches!(why, PayloadError::Missing { .. }), "{why}");
        let text = why.to_string();
        assert!(text.contains(&object.to_string()) && text.contains(&store.payloads.name()), "{text}");
    }
    assert!(matches!(store.read(session(99), stored.object), Err(PayloadError::Gone)));
    assert!(matches!(store.run(store.payloads.begin(session(99))), Err(PayloadError::Gone)));
}

fn a_destroyed_key_ends_reading_and_writing_and_then_the_bytes_go(store: &Store) {
    let (owner, other) = (store.owner(1), store.owner(2));
    let payload = bytes(4 * CHUNK, 1);
    let (stored, theirs) = (store.write(owner, &payload), store.write(other, &payload));
    let gone = |found: Result<(), PayloadError>| {
        assert!(matches!(found, Err(PayloadError::Gone)), "{found:?}");
    };
    match store.run(store.payloads.remove_owner(owner)) {
        Err(PayloadError::KeyStands(named)) => assert_eq!(named, owner),
        other => panic!("{other:?}"),
    }
    assert!(store.read(owner, stored.object).unwrap() == payload);
    let (mut reading, mut writing, mut finishing) = store.run(async {
        let mut reading = store.payloads.read(owner, stored.object).await.unwrap();
        reading.next().await.unwrap().unwrap();
        let mut writing = store.payloads.begin(owner).await.unwrap();
        writing.write(&payload).await.unwrap();
        (reading, writing, store.payloads.begin(owner).await.unwrap())
    });
    store.run(finishing.write(b"short")).unwrap();
    store.texts.forget_owner(owner).unwrap();
    gone(store.read(owner, stored.object).map(drop));
    gone(store.read(owner, ObjectId([9; 16])).map(drop));
    gone(store.run(store.payloads.begin(owner)).map(drop));
    gone(store.run(reading.next()).unwrap().map(drop));
    assert!(store.run(reading.next()).is_none());
    gone(store.run(writing.write(&payload)));
    drop(writing);
    gone(store.run(finishing.finish()).map(drop));
    store.run(store.payloads.remove_owner(owner)).unwrap();
    store.run(store.payloads.remove_owner(owner)).unwrap();
    assert!(store.read(other, theirs.object).unwrap() == payload);
    store.texts.forget_owner(other).unwrap();
    store.run(store.payloads.remove_owner(other)).unwrap();
    wait_empty(store);
    // A key made anew opens nothing of before, since nothing is there.
    store.texts.create_owner(owner).unwrap();
    assert!(matches!(store.read(owner, stored.object), Err(PayloadError::Missing { .. })));
}

fn a_sweep_removes_what_is_old_and_nobodys_and_nothing_else(store: &Store) {
    let (live, ended) = (store.owner(1), store.owner(2));
    let agent = TextOwner::Agent(arena_schema::id::AgentId([5; 16]));
    store.texts.create_owner(agent).unwrap();
    let payload = bytes(100_000, 1);
    let named = store.write(live, &payload);
    let refused = store.write(live, &payload);
    let late = store.write(ended, &payload);
    let agents = store.write(agent, &payload);
    store.texts.forget_owner(ended).unwrap();
    let sweep = |age| {
        let owns = |owner: &TextOwner| *owner != ended;
        // What the ended session had may still be named somewhere.
        let names = |_: &TextOwner, object| [named.object, late.object, agents.object].contains(&object);
        store.run(store.payloads.sweep(owns, names, age)).unwrap()
    };
    assert_eq!(sweep(HOUR), Swept::default());
    assert!(store.read(live, refused.object).is_ok());
    assert_eq!(sweep(Duration::ZERO), Swept { whole: 2, unfinished: 0 });
    assert_eq!(sweep(Duration::ZERO), Swept::default());
    assert!(matches!(store.read(live, refused.object), Err(PayloadError::Missing { .. })));
    assert!(store.read(live, named.object).unwrap() == payload);
    assert!(store.read(agent, agents.object).unwrap() == payload);
    let kept: usize = [(live, named), (agent, agents)]
        .iter()
        .flat_map(|(of, it)| store.under.parts(*of, it.object))
        .map(|part| part.len())
        .sum();
    assert!(store.under.held() < kept as u64 + 10_000, "{} bytes for {kept}", store.under.held());
}
