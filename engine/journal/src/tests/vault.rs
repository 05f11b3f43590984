//! What must be true of a vault wherever it lies, and of one in a file.

use crate::{Destroyed, TextError, TextOwner, Texts, Vault, VaultError, VaultKey};
use arena_schema::id::AgentId;
use std::{
    fs,
    sync::{Arc, Mutex},
    thread,
};

/// What every vault does, from an empty one.
#[track_caller]
pub(super) fn check(vault: Vault) {
    let vault = Arc::new(vault);
    check_values(&vault);
    check_names(&vault);
    check_new(&vault);
    check_writers(&vault);
    check_listeners(&vault);
    check_owners(&vault);
}

#[track_caller]
fn reads(vault: &Vault, name: &str, value: Option<&[u8]>) {
    assert_eq!(vault.get(name).unwrap().map(|found| found.to_vec()).as_deref(), value, "{name}");
}

fn check_values(vault: &Vault) {
    reads(vault, "agent/1/secret", None);
    vault.destroy("agent/1/secret").unwrap();
    let large = vec![7; 65_536];
    for value in [&b"one"[..], b"", b"another", b"another", &large] {
        vault.put("agent/1/secret", value).unwrap();
        reads(vault, "agent/1/secret", Some(value));
    }
    reads(vault, "agent/2/secret", None);
    vault.destroy("agent/1/secret").unwrap();
    reads(vault, "agent/1/secret", None);
    vault.put("agent/1/secret", b"again").unwrap();
    reads(vault, "agent/1/secret", Some(b"again"));
    vault.destroy("agent/1/secret").unwrap();
}

fn check_names(vault: &Vault) {
    assert_eq!(vault.names("").unwrap(), ["key/check"]);
    let mut names =
        ["p/a", "p/a/b", "p/a.b", "p/a=b", "p/a//b", "p/A", "p/ä b", "p", "pa", "p/", "q/*", "q/>", "q/$"];
    for name in names {
        vault.put(name, name.as_bytes()).unwrap();
    }
    names.sort_unstable();
    for prefix in ["p", "p/", "p/a", "p/a/", "p/a//", "q/", "q/*", "r"] {
        let expected: Vec<_> = names.iter().copied().filter(|name| name.starts_with(prefix)).collect();
        assert_eq!(vault.names(prefix).unwrap(), expected, "{prefix}");
    }
    for name in names {
        reads(vault, name, Some(name.as_bytes()));
        vault.destroy(name).unwrap();
    }
    assert_eq!(vault.names("").unwrap(), ["key/check"]);
}

fn check_new(vault: &Vault) {
    assert!(vault.put_new("new", b"first").unwrap());
    assert!(!vault.put_new("new", b"second").unwrap());
    reads(vault, "new", Some(b"first"));
    vault.put("new", b"third").unwrap();
    assert!(!vault.put_new("new", b"fourth").unwrap(), "also where it was replaced");
    assert_eq!(vault.get_or_keep("new", b"fifth").unwrap().as_slice(), b"third");
    vault.destroy("new").unwrap();
    assert_eq!(vault.get_or_keep("new", b"sixth").unwrap().as_slice(), b"sixth");
    vault.destroy("new").unwrap();
    assert!(vault.put_new("new", b"seventh").unwrap());
    vault.destroy("new").unwrap();
}

/// Several at once: one is the first, and whoever is the last leaves what was written whole.
fn check_writers(vault: &Arc<Vault>) {
    let at_once = |work: fn(&Vault, u8) -> bool| -> usize {
        let threads: Vec<_> = (0..8)
            .map(|at| {
                let vault = Arc::clone(vault);
                thread::spawn(move || work(&vault, at))
            })
            .collect();
        threads.into_iter().map(|thread| usize::from(thread.join().unwrap())).sum()
    };
    assert_eq!(at_once(|vault, at| vault.put_new("raced", &[at; 9]).unwrap()), 1);
    let all_put = at_once(|vault, at| vault.put("raced", &[at; 9]).is_ok());
    assert_eq!(all_put, 8);
    let kept = vault.get("raced").unwrap().unwrap();
    assert!(kept.len() == 9 && kept.iter().all(|byte| byte == &kept[0]));
    assert_eq!(vault.names("raced").unwrap(), ["raced"]);
    vault.destroy("raced").unwrap();
    reads(vault, "raced", None);
}

fn check_listeners(vault: &Vault) {
    let heard = Arc::<Mutex<Vec<String>>>::default();
    let hears = Arc::clone(&heard);
    vault.on_destroyed(move |destroyed| {
        if let Destroyed::Name(name) = destroyed {
            hears.lock().unwrap().push(name.to_owned());
        }
    });
    vault.put("heard/1", b"1").unwrap();
    vault.destroy("heard/1").unwrap();
    assert_eq!(*heard.lock().unwrap(), ["heard/1"]);
}

fn check_owners(vault: &Arc<Vault>) {
    let owner = TextOwner::Agent(AgentId([7; 16]));
    let (one, other) = (Texts::new(Arc::clone(vault)), Texts::new(Arc::clone(vault)));
    one.create_owner(owner).unwrap();
    let (_, sealed) = one.seal(owner, "a taunt").unwrap();
    assert_eq!(other.open(owner, &sealed.commitment, &sealed.sealed).unwrap().1, "a taunt");
    one.forget_owner(owner).unwrap();
    for texts in [one, other] {
        assert!(matches!(texts.open(owner, &sealed.commitment, &sealed.sealed), Err(TextError::NoKey)));
        assert!(matches!(texts.seal(owner, "more"), Err(TextError::NoKey)));
    }
}

#[test]
fn a_vault_in_memory_does_what_every_vault_does() {
    check(Vault::in_memory(VaultKey::draw()).unwrap());
}

#[test]
fn a_vault_in_a_file_does_what_every_vault_does() {
    let folder = tempfile::tempdir().unwrap();
    check(Vault::open(&folder.path().join("vault.db"), VaultKey::draw()).unwrap());
}

#[test]
fn a_value_comes_back_and_is_nowhere_in_the_file_in_clear() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vault.db");
    let key = VaultKey::draw();
    let vault = Vault::open(&path, key.clone()).unwrap();
    vault.put("agent/1/secret", b"a secret to sign with").unwrap();
    drop(vault);
    let bytes = fs::read(&path).unwrap();
    assert!(!bytes.windows(8).any(|part| part == b"a secret"));
    reads(&Vault::open(&path, key).unwrap(), "agent/1/secret", Some(b"a secret to sign with"));
}

#[test]
fn another_key_opens_nothing_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vault.db");
    drop(Vault::open(&path, VaultKey::draw()).unwrap());
    assert!(matches!(Vault::open(&path, VaultKey::draw()), Err(VaultError::Sealed { .. })));
}

/// The sealed value under a name in a file.
fn sealed_in(path: &std::path::Path, name: &str) -> Vec<u8> {
    let file = rusqlite::Connection::open(path).unwrap();
    file.query_row("SELECT sealed FROM vault WHERE name = ?1", [name], |row| row.get(0)).unwrap()
}

#[test]
fn a_value_moved_to_another_name_does_not_open() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vault.db");
    let vault = Vault::open(&path, VaultKey::draw()).unwrap();
    vault.put("one", b"value").unwrap();
    let file = rusqlite::Connection::open(&path).unwrap();
    file.execute("UPDATE vault SET name = 'other' WHERE name = 'one'", []).unwrap();
    assert!(matches!(vault.get("other"), Err(VaultError::Sealed { .. })));
}

#[test]
fn what_is_destroyed_or_replaced_is_in_no_file_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vault.db");
    let vault = Vault::open(&path, VaultKey::draw()).unwrap();
    let holds = |sealed: &[u8]| {
        fs::read_dir(folder.path()).unwrap().any(|file| {
            fs::read(file.unwrap().path()).unwrap().windows(sealed.len()).any(|part| part == sealed)
        })
    };
    let ends: [fn(&Vault); 2] = [
        |vault| vault.put("agent/1/texts", &[8; 32]).unwrap(),
        |vault| vault.destroy("agent/1/texts").unwrap(),
    ];
    for end in ends {
        vault.put("agent/1/texts", &[9; 32]).unwrap();
        let sealed = sealed_in(&path, "agent/1/texts");
        assert!(holds(&sealed), "the search finds what is there");
        end(&vault);
        assert!(!holds(&sealed));
    }
    reads(&vault, "agent/1/texts", None);
}
