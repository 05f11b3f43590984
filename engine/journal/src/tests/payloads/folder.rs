//! The contract on files, and what is the folder's own.

use super::{CHUNK, Store, Under, bytes, contract::CASES, session, texts};
use crate::{PayloadError, Payloads, TextOwner, Texts};
use arena_schema::id::ObjectId;
use std::{fs, path::PathBuf, sync::Arc, time::Duration};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

fn runtime() -> Arc<Runtime> {
    Arc::new(Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap())
}

struct Files(TempDir);

impl Files {
    fn file(&self, owner: TextOwner, object: ObjectId) -> PathBuf {
        let name = owner.vault_name();
        let owner = name.strip_suffix("/texts").unwrap().replace('/', "-");
        self.0.path().join("payloads").join(owner).join(object.to_string())
    }
}

impl Under for Files {
    fn open(&self, texts: &Texts) -> Payloads {
        Payloads::in_data(self.0.path(), texts.clone())
    }

    fn parts(&self, owner: TextOwner, object: ObjectId) -> Vec<Vec<u8>> {
        let whole = fs::read(self.file(owner, object)).unwrap();
        let first = whole.len().min(CHUNK + 17);
        let rest = whole[first..].chunks(CHUNK + 16).map(<[u8]>::to_vec);
        std::iter::once(whole[..first].to_vec()).chain(rest).collect()
    }

    fn put_parts(&self, owner: TextOwner, object: ObjectId, parts: &[Vec<u8>]) {
        fs::write(self.file(owner, object), parts.concat()).unwrap();
    }

    fn held(&self) -> u64 {
        let folders = fs::read_dir(self.0.path().join("payloads")).into_iter().flatten().flatten();
        let files = folders.flat_map(|folder| fs::read_dir(folder.path()).into_iter().flatten().flatten());
        files.map(|file| file.metadata().map_or(0, |about| about.len())).sum()
    }

    fn flips(&self) -> usize {
        400
    }
}

#[test]
fn on_files_the_contract_holds() {
    let runtime = runtime();
    for (name, case) in CASES {
        eprintln!("{name}");
        case(&Store::new(Files(TempDir::new().unwrap()), Arc::clone(&runtime)));
    }
}

#[test]
fn what_is_removed_leaves_no_file_and_no_folder_and_what_is_none_of_ours_stays() {
    let store = Store::new(Files(TempDir::new().unwrap()), runtime());
    let (owner, other) = (store.owner(1), store.owner(2));
    let file = |of, object| {
        let Store { under, .. } = &store;
        assert!(!under.parts(of, object).is_empty());
    };
    let (stored, unnamed) = (store.write(owner, b"one"), store.write(other, b"two"));
    file(owner, stored.object);
    file(other, unnamed.object);
    let folder = PathBuf::from(store.payloads.name());
    let notes = folder.join("notes.txt");
    fs::write(&notes, "an operator's").unwrap();
    store.texts.forget_owner(owner).unwrap();
    store.run(store.payloads.remove_owner(owner)).unwrap();
    store.run(store.payloads.sweep(|_| true, |_, _| false, Duration::ZERO)).unwrap();
    let left: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(left, [notes]);
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error_that_names_it() {
    let data = TempDir::new().unwrap();
    fs::write(data.path().join("payloads"), "a file where the folder should be").unwrap();
    let texts = texts();
    texts.create_owner(session(1)).unwrap();
    let payloads = Payloads::in_data(data.path(), texts);
    let why = runtime().block_on(payloads.begin(session(1))).unwrap_err();
    assert!(matches!(why, PayloadError::Store { .. }), "{why:?}");
    assert!(why.to_string().contains(&payloads.name()) && why.to_string().contains("written"), "{why}");
}

#[test]
fn the_whole_of_a_large_payload_is_read_only_as_it_is_asked_for() {
    let store = Store::new(Files(TempDir::new().unwrap()), runtime());
    let owner = store.owner(1);
    let payload = bytes(20 * CHUNK, 1);
    let stored = store.write(owner, &payload);
    let mut reading = store.run(store.payloads.read(owner, stored.object)).unwrap();
    // All but what was verified at the opening is changed: whoever had read ahead would not see it.
    let mut parts = store.under.parts(owner, stored.object);
    parts[1][0] ^= 1;
    store.under.put_parts(owner, stored.object, &parts);
    let mut next = || store.run(futures::StreamExt::next(&mut reading));
    assert!(payload.starts_with(&next().unwrap().unwrap()));
    assert!(matches!(next(), Some(Err(PayloadError::Damaged { .. }))));
    assert!(next().is_none());
}
