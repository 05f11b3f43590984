//! What must be known to be used (owners' keys, signing secrets, access tokens), sealed under a key from the settings: an
//! XChaCha20-Poly1305 box for each name, with the name as associated data. A table in the data folder, apart from the records.

use arena_schema::Hash;
use chacha20poly1305::{
    KeyInit, XChaCha20Poly1305, XNonce,
    aead::{Aead, Payload},
};
use rusqlite::{Connection, OptionalExtension, params};
use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};
use zeroize::Zeroizing;

const NONCE_BYTES: usize = 24;

/// Why the vault cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VaultError {
    /// The key's file cannot be read or made.
    #[error("the vault's key file {path} cannot be {action}: {why}")]
    KeyFile {
        /// The file.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What the system said.
        why: io::Error,
    },
    /// The key's file holds something else.
    #[error("the vault's key file {path} must hold exactly 32 bytes, it holds {bytes}")]
    KeySize {
        /// The file.
        path: PathBuf,
        /// How many it holds.
        bytes: usize,
    },
    /// The store failed.
    #[error("the vault cannot be {action}: {why}")]
    Store {
        /// What was tried.
        action: &'static str,
        /// What the store said.
        why: rusqlite::Error,
    },
    /// A value does not open: it was changed, or sealed under another key.
    #[error("the vault's value {name} does not open under the vault's key: was the key file replaced?")]
    Sealed {
        /// Its name.
        name: String,
    },
}

/// The key that everything in a vault is sealed under.
#[derive(Clone)]
pub struct VaultKey(Zeroizing<[u8; 32]>);

impl std::fmt::Debug for VaultKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("VaultKey(hidden)")
    }
}

impl VaultKey {
    /// A new key, kept nowhere.
    pub fn draw() -> Self {
        Self(Zeroizing::new(random()))
    }

    /// Reads the key from its file; where there is none and `create` says so, draws one and keeps it there, readable by its
    /// owner alone.
    ///
    /// # Errors
    /// [`VaultError::KeyFile`] or [`VaultError::KeySize`].
    pub fn load(path: &Path, create: bool) -> Result<Self, VaultError> {
        match fs::read(path).map(Zeroizing::new) {
            Ok(bytes) => {
                let key = bytes
                    .as_slice()
                    .try_into()
                    .map_err(|_| VaultError::KeySize { path: path.to_owned(), bytes: bytes.len() })?;
                Ok(Self(Zeroizing::new(key)))
            }
            Err(why) if why.kind() == io::ErrorKind::NotFound && create => {
                let key = Self::draw();
                key.keep(path).map_err(|why| VaultError::KeyFile {
                    path: path.to_owned(),
                    action: "made",
                    why,
                })?;
                Ok(key)
            }
            Err(why) => Err(VaultError::KeyFile { path: path.to_owned(), action: "read", why }),
        }
    }

    fn keep(&self, path: &Path) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        // Under another name first: a crash in the middle leaves no half of a key.
        let draft = path.with_extension("key.new");
        let _ = fs::remove_file(&draft);
        let mut file = options.open(&draft)?;
        file.write_all(self.0.as_slice())?;
        file.sync_all()?;
        fs::rename(&draft, path)?;
        match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => fs::File::open(folder)?.sync_all(),
            _ => Ok(()),
        }
    }
}

/// Bytes of the system's randomness.
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the system has randomness; without it nothing here is safe to do");
    bytes
}

/// Seals `plain` for `name` under a random nonce, which stands before the box.
pub fn seal_with(key: &[u8; 32], name: &[u8], plain: &[u8]) -> Vec<u8> {
    let nonce: [u8; NONCE_BYTES] = random();
    let cipher = XChaCha20Poly1305::new(&(*key).into());
    let boxed = cipher
        .encrypt(&XNonce::from(nonce), Payload { msg: plain, aad: name })
        .expect("what is sealed here is far below the cipher's limit");
    let mut sealed = Vec::with_capacity(NONCE_BYTES + boxed.len());
    sealed.extend_from_slice(&nonce);
    sealed.extend_from_slice(&boxed);
    sealed
}

/// Opens what [`seal_with`] sealed for the same name; `None` where it is anything else.
pub fn unseal_with(key: &[u8; 32], name: &[u8], sealed: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let (nonce, boxed) = sealed.split_first_chunk::<NONCE_BYTES>()?;
    let cipher = XChaCha20Poly1305::new(&(*key).into());
    cipher.decrypt(&XNonce::from(*nonce), Payload { msg: boxed, aad: name }).ok().map(Zeroizing::new)
}

/// The vault.
#[derive(Debug)]
pub struct Vault {
    key: VaultKey,
    connection: Mutex<Connection>,
}

fn store(action: &'static str) -> impl FnOnce(rusqlite::Error) -> VaultError {
    move |why| VaultError::Store { action, why }
}

impl Vault {
    /// Opens the vault in a file, and makes it where there is none.
    ///
    /// # Errors
    /// [`VaultError`], also where the file was sealed under another key.
    pub fn open(path: &Path, key: VaultKey) -> Result<Self, VaultError> {
        Self::over(Connection::open(path).map_err(store("opened"))?, key)
    }

    /// A vault that is gone with its process.
    ///
    /// # Errors
    /// [`VaultError::Store`].
    pub fn in_memory(key: VaultKey) -> Result<Self, VaultError> {
        Self::over(Connection::open_in_memory().map_err(store("opened"))?, key)
    }

    fn over(connection: Connection, key: VaultKey) -> Result<Self, VaultError> {
        // What is destroyed is overwritten, and no log keeps a copy of the page.
        connection
            .execute_batch(
                "PRAGMA journal_mode = DELETE; PRAGMA synchronous = EXTRA; PRAGMA secure_delete = ON;
                 CREATE TABLE IF NOT EXISTS vault (name TEXT PRIMARY KEY, sealed BLOB NOT NULL) STRICT, WITHOUT ROWID;",
            )
            .map_err(store("opened"))?;
        let vault = Self { key, connection: Mutex::new(connection) };
        let mark = Hash::of(b"arena vault").0;
        match vault.get("key/check")? {
            Some(kept) if kept.as_slice() == mark => Ok(vault),
            Some(_) => Err(VaultError::Sealed { name: "key/check".to_owned() }),
            None => {
                vault.put("key/check", &mark)?;
                Ok(vault)
            }
        }
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a value under a name, durable when this returns; an older one is replaced.
    ///
    /// # Errors
    /// [`VaultError::Store`].
    pub fn put(&self, name: &str, value: &[u8]) -> Result<(), VaultError> {
        let sealed = seal_with(&self.key.0, name.as_bytes(), value);
        self.connection()
            .execute("INSERT OR REPLACE INTO vault (name, sealed) VALUES (?1, ?2)", params![name, sealed])
            .map(|_| ())
            .map_err(store("written"))
    }

    /// The value under a name.
    ///
    /// # Errors
    /// [`VaultError::Store`], or [`VaultError::Sealed`] where it does not open.
    pub fn get(&self, name: &str) -> Result<Option<Zeroizing<Vec<u8>>>, VaultError> {
        let sealed: Option<Vec<u8>> = self
            .connection()
            .query_row("SELECT sealed FROM vault WHERE name = ?1", [name], |row| row.get(0))
            .optional()
            .map_err(store("read"))?;
        sealed
            .map(|sealed| {
                unseal_with(&self.key.0, name.as_bytes(), &sealed)
                    .ok_or_else(|| VaultError::Sealed { name: name.to_owned() })
            })
            .transpose()
    }

    /// Destroys the value under a name: it is overwritten where it lay. What is not there is destroyed already.
    ///
    /// # Errors
    /// [`VaultError::Store`].
    pub fn destroy(&self, name: &str) -> Result<(), VaultError> {
        self.connection()
            .execute("DELETE FROM vault WHERE name = ?1", [name])
            .map(|_| ())
            .map_err(store("written"))
    }

    /// The names that begin with `prefix`, in order.
    ///
    /// # Errors
    /// [`VaultError::Store`].
    pub fn names(&self, prefix: &str) -> Result<Vec<String>, VaultError> {
        let connection = self.connection();
        let mut select = connection
            .prepare("SELECT name FROM vault WHERE substr(name, 1, length(?1)) = ?1 ORDER BY name")
            .map_err(store("read"))?;
        let names = select
            .query_map(params![prefix], |row| row.get(0))
            .map_err(store("read"))?
            .collect::<Result<_, _>>()
            .map_err(store("read"))?;
        Ok(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let vault = Vault::open(&path, key).unwrap();
        assert_eq!(vault.get("agent/1/secret").unwrap().unwrap().as_slice(), b"a secret to sign with");
        assert_eq!(vault.get("agent/2/secret").unwrap(), None);
        assert_eq!(vault.names("agent/").unwrap(), ["agent/1/secret"]);
    }

    #[test]
    fn another_key_opens_nothing_and_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vault.db");
        drop(Vault::open(&path, VaultKey::draw()).unwrap());
        assert!(matches!(Vault::open(&path, VaultKey::draw()), Err(VaultError::Sealed { .. })));
    }

    #[test]
    fn a_value_moved_to_another_name_does_not_open() {
        let vault = Vault::in_memory(VaultKey::draw()).unwrap();
        vault.put("one", b"value").unwrap();
        vault.connection().execute("UPDATE vault SET name = 'other' WHERE name = 'one'", []).unwrap();
        assert!(matches!(vault.get("other"), Err(VaultError::Sealed { .. })));
    }

    #[test]
    fn what_is_destroyed_is_in_no_file_any_more() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vault.db");
        let vault = Vault::open(&path, VaultKey::draw()).unwrap();
        vault.put("agent/1/texts", &[9; 32]).unwrap();
        let sealed: Vec<u8> = vault
            .connection()
            .query_row("SELECT sealed FROM vault WHERE name = 'agent/1/texts'", [], |row| row.get(0))
            .unwrap();
        let holds = |sealed: &[u8]| {
            fs::read_dir(folder.path()).unwrap().any(|file| {
                fs::read(file.unwrap().path()).unwrap().windows(sealed.len()).any(|part| part == sealed)
            })
        };
        assert!(holds(&sealed), "the search finds what is there");
        vault.destroy("agent/1/texts").unwrap();
        assert!(!holds(&sealed));
        assert_eq!(vault.get("agent/1/texts").unwrap(), None);
    }

    #[test]
    fn the_key_file_is_made_once_and_only_its_owner_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vault.key");
        assert!(matches!(VaultKey::load(&path, false), Err(VaultError::KeyFile { .. })));
        let made = VaultKey::load(&path, true).unwrap();
        let read = VaultKey::load(&path, true).unwrap();
        assert_eq!(*made.0, *read.0);
        #[cfg(unix)]
        assert_eq!(
            std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&path).unwrap().permissions()) & 0o777,
            0o600
        );
        fs::write(&path, b"short").unwrap();
        assert!(matches!(VaultKey::load(&path, true), Err(VaultError::KeySize { bytes: 5, .. })));
    }
}
