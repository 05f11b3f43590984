//! A session of agentwire ends: nothing of it stands in clear in any file, what is left of it cannot be opened, and the journal
//! holds as before. Another session in the same folder keeps all that it has.

use crate::{
    dice::Dice,
    records,
    secrets::{files, look_into_tables, look_through},
};
use arena_journal::{
    SealedText, SqliteJournal, TextError, TextOwner, Texts, Vault, VaultKey, Visit, texts::decode_texts,
};
use arena_schema::{Event, id::RecordNumber, id::SessionId};
use arena_tests::{
    Served,
    served::{PATIENCE, Stopped, poll_async},
};
use rusqlite::Connection;
use serde_json::Value;
use std::{fs, path::Path, sync::Arc, time::Instant};

/// Large enough for the store of payloads.
const LARGE_BYTES: usize = 300_000;

async fn post(arena: &Served, path: &str, kind: &str, body: String) -> (u16, String) {
    let request = arena.client().post(format!("{}{path}", arena.url)).header("content-type", kind);
    let response = request.body(body).send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

/// A link's path, which leads to the same wherever the arena listens.
fn path_of(link: &str) -> String {
    link[link.find("/v2/").unwrap()..].trim_end().to_owned()
}

/// A session with one participant, whose name, types, file name and payloads all have the marker in them.
struct Session {
    path: String,
    me: String,
    marker: String,
}

impl Session {
    async fn of(arena: &Served, marker: &str) -> Self {
        let (status, link) = post(arena, "/v2/s", "text/plain", String::new()).await;
        assert_eq!(status, 200, "{link}");
        let path = path_of(&link);
        let (status, joined) =
            post(arena, &format!("{path}/join?as={marker}/agent"), "text/plain", String::new()).await;
        assert_eq!(status, 200, "{joined}");
        let joined: Value = serde_json::from_str(&joined).unwrap();
        let me = path_of(joined["link"].as_str().unwrap());
        let large = format!("{marker} ").repeat(LARGE_BYTES / (marker.len() + 1));
        for (query, body) in [
            (String::new(), format!("It is {marker}.")),
            (format!("?filename={marker}.txt"), String::new()),
            (format!("?filename=large-{marker}.txt"), large),
        ] {
            let sent = post(arena, &format!("{me}{query}"), &format!("text/x-{marker}"), body).await;
            assert_eq!(sent.0, 200, "{}", sent.1);
        }
        Self { path, me, marker: marker.to_owned() }
    }

    /// The status of a fetch and what it gave.
    async fn fetch(&self, arena: &Served, n: u64) -> (u16, String) {
        let response = arena.client().get(format!("{}{}/{n}", arena.url, self.me)).send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    }

    async fn assert_whole(&self, arena: &Served) {
        let log = arena.client().get(format!("{}{}/log?wait=0", arena.url, self.path)).send().await.unwrap();
        let log = log.text().await.unwrap();
        assert_eq!(log.lines().count(), 5, "{log}");
        // Its name in four entries and the presence, three types, two file names, one payload that is short enough to be shown.
        assert_eq!(log.matches(&self.marker).count(), 11, "{log}");
        let (status, large) = self.fetch(arena, 4).await;
        assert!(status == 200 && large.len() > LARGE_BYTES / 2 && large.starts_with(&self.marker));
    }

    /// What nobody but those who hold its links may know.
    fn secrets(&self) -> Vec<String> {
        self.me.split('/').rev().take(2).map(str::to_owned).collect()
    }
}

fn sessions(data: &Path) -> Vec<SessionId> {
    let created = |event: &Event| match event {
        Event::SessionCreated(event) => Some(event.id),
        _ => None,
    };
    records::all(data).iter().flat_map(|record| &record.events).filter_map(created).collect()
}

/// All that was sealed for an owner and still lies beside the records.
fn sealed_of(data: &Path, owner: TextOwner) -> Vec<SealedText> {
    let mut sealed = Vec::new();
    let mut reader = SqliteJournal::open_reader(&records::file(data)).unwrap();
    let mut visit = |stored: arena_journal::StoredRecord<'_>| {
        let texts = decode_texts(stored.number, stored.texts).unwrap();
        sealed.extend(texts.into_iter().filter(|text| text.owner == owner));
        Visit::Next
    };
    reader.read(RecordNumber(1), &mut visit).unwrap();
    sealed
}

fn texts(data: &Path) -> (Arc<Vault>, Texts) {
    let key = VaultKey::load(&data.join("vault.key"), false).unwrap();
    let vault = Arc::new(Vault::open(&data.join("vault.db"), key).unwrap());
    (Arc::clone(&vault), Texts::new(vault))
}

/// How many of these open.
fn opened(texts: &Texts, sealed: &[SealedText]) -> usize {
    let open = |text: &&SealedText| match texts.open_bytes(text.owner, &text.commitment, &text.sealed) {
        Ok(_) => true,
        Err(TextError::NoKey) => false,
        Err(why) => panic!("{why}"),
    };
    sealed.iter().filter(open).count()
}

/// Every value that the vault's file has for an owner, as it lies there.
fn sealed_keys(data: &Path, owner: TextOwner) -> Vec<Vec<u8>> {
    let vault = Connection::open(data.join("vault.db")).unwrap();
    let mut select = vault.prepare("SELECT sealed FROM vault WHERE name = ?1").unwrap();
    select.query_map([owner.vault_name()], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

fn objects(data: &Path) -> usize {
    files(data).iter().filter(|file| file.starts_with(data.join("payloads"))).count()
}

/// Ends a session by its last participant's leaving, and waits until all that is to be destroyed is.
async fn end(stopped: &Stopped, session: &Session, owner: TextOwner) {
    let arena = stopped.start();
    session.assert_whole(&arena).await;
    let left = post(&arena, &format!("{}/leave", session.me), "text/plain", String::new()).await;
    assert_eq!(left, (200, "{\"n\":5}\n".to_owned()));
    let begun = Instant::now();
    while post(&arena, &format!("{}/join?as=another", session.path), "text/plain", String::new()).await.0
        != 404
        || !sealed_keys(&arena.data, owner).is_empty()
        || objects(&arena.data) != 1
    {
        assert!(begun.elapsed() < PATIENCE, "the session's end did not come");
        poll_async().await;
    }
    // What its links are now is nobody's.
    assert_eq!(session.fetch(&arena, 2).await.0, 404);
    arena.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_session_that_ended_nothing_is_found_and_nothing_opens_and_the_audit_holds() {
    let mut dice = Dice::new();
    let mut marker = || format!("mark{:x}", dice.next() | 1 << 63);
    let arena = Served::start();
    let (ends, stays) = (Session::of(&arena, &marker()).await, Session::of(&arena, &marker()).await);
    let stopped = arena.stop();
    let data = &stopped.data;
    assert_eq!(stopped.audit()["holds"], true);
    let [ended, other] = sessions(data)[..] else { panic!("two sessions were created") };
    let [ended, other] = [ended, other].map(TextOwner::Session);
    let [of_ended, of_other] = [ended, other].map(|owner| sealed_of(data, owner));
    {
        let (_vault, texts) = texts(data);
        assert!(of_ended.len() >= 7, "a name, three types, two file names, two payloads: {}", of_ended.len());
        assert_eq!(opened(&texts, &of_ended), of_ended.len(), "before, each opens");
    }
    let keys = sealed_keys(data, ended);
    assert_eq!((keys.len(), objects(data)), (1, 2));

    end(&stopped, &ends, ended).await;
    assert_eq!(stopped.audit()["holds"], true, "{}", stopped.audit());
    for session in [&ends, &stays] {
        look_through(data, &session.marker, &session.secrets());
        look_into_tables(data, &session.marker, &session.secrets());
    }
    for file in files(data) {
        let bytes = fs::read(&file).unwrap();
        let key = keys[0].as_slice();
        assert!(!bytes.windows(key.len()).any(|part| part == key), "its key is in {}", file.display());
    }
    {
        let (vault, texts) = texts(data);
        let prefix = ended.vault_name().replace("texts", "");
        assert_eq!(vault.names(&prefix).unwrap(), Vec::<String>::new());
        let left = sealed_of(data, ended);
        assert_eq!(left[..of_ended.len()], of_ended, "what was sealed is part of the journal");
        assert_eq!(opened(&texts, &left), 0, "after, none does");
        assert_eq!(opened(&texts, &of_other), of_other.len(), "of the other, each does");
    }
    // A copy of the journal whose views are built again knows no more.
    fs::remove_dir_all(data.join("views")).unwrap();
    let arena = stopped.start();
    stays.assert_whole(&arena).await;
    assert_eq!(ends.fetch(&arena, 2).await.0, 404);
    let stopped = arena.stop();
    look_through(&stopped.data, &ends.marker, &ends.secrets());
    assert_eq!(stopped.audit()["holds"], true);
}
