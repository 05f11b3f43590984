//! What must be known to be used (owners' keys, signing secrets, access tokens), sealed under a key from the settings: an
//! XChaCha20-Poly1305 box for each name, with the name as associated data. What belongs here: keeping, reading and destroying
//! values, in a table of the data folder or in a bucket that processes share, apart from the records. What never does: what a
//! value is good for.
//!
//! Everything here blocks, and may be called from anywhere: a plain thread, a worker of a runtime, a runtime of one thread. A
//! bucket's requests have a thread and a connection of their own, so that none of them waits for its caller's runtime.

mod bucket;
mod key;
mod seal;
mod table;

pub use key::VaultKey;
pub use seal::{random, seal_with, unseal_with};

use crate::jetstream::{BucketError, Nats};
use arena_schema::{Hash, subject::VAULT_BUCKET};
use bucket::Shared;
use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use table::Table;
use zeroize::Zeroizing;

pub use bucket::{FORGOTTEN_WITHIN, TRUSTED_UNHEARD};

/// What every vault holds under the same name, so that another key is known at the opening.
const CHECK: &str = "key/check";

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
    /// The bucket failed.
    #[error("the bucket {bucket} cannot be {action}: {why}")]
    Bucket {
        /// Its name and where it is.
        bucket: String,
        /// What was tried.
        action: &'static str,
        /// What is wrong, in words.
        why: String,
    },
    /// A value does not open: it was changed, or sealed under another key.
    #[error(
        "the vault's value {name} does not open under the vault's key: was the key file replaced? Processes that share \
         a vault need the same one"
    )]
    Sealed {
        /// Its name.
        name: String,
    },
}

impl From<BucketError> for VaultError {
    fn from(BucketError { bucket, action, why }: BucketError) -> Self {
        Self::Bucket { bucket, action, why }
    }
}

/// What is there no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destroyed<'a> {
    /// The value under this name, destroyed through this vault.
    Name(&'a str),
    /// Some value or other, destroyed or replaced by another process; or nobody knows whether any was.
    Unknown,
}

type Listener = Box<dyn Fn(Destroyed<'_>) + Send + Sync>;

/// Whoever wants to hear what is there no more. A clone is the same.
#[derive(Clone, Default)]
struct Listeners(Arc<Mutex<Vec<Listener>>>);

impl Listeners {
    fn add(&self, listener: Listener) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(listener);
    }

    fn tell(&self, destroyed: Destroyed<'_>) {
        for listener in self.0.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            listener(destroyed);
        }
    }
}

/// Where the sealed values lie.
enum Store {
    Table(Table),
    Bucket(Shared),
}

/// The vault.
pub struct Vault {
    key: VaultKey,
    store: Store,
    listeners: Listeners,
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Vault").finish_non_exhaustive()
    }
}

impl Vault {
    /// Opens the vault in a file, and makes it where there is none.
    ///
    /// # Errors
    /// [`VaultError`], also where the file was sealed under another key.
    pub fn open(path: &Path, key: VaultKey) -> Result<Self, VaultError> {
        Self::over(Store::Table(Table::open(path)?), key, Listeners::default())
    }

    /// A vault that is gone with its process.
    ///
    /// # Errors
    /// [`VaultError::Store`].
    pub fn in_memory(key: VaultKey) -> Result<Self, VaultError> {
        Self::over(Store::Table(Table::in_memory()?), key, Listeners::default())
    }

    /// Opens the vault in the bucket [`VAULT_BUCKET`], makes the bucket where there is none, and checks its settings where there
    /// is one. It connects anew with the options of `nats`, for itself. Blocks, as everything here does.
    ///
    /// # Errors
    /// [`VaultError::Bucket`] names a setting that is not as it must be, or says why there is no answer;
    /// [`VaultError::Sealed`] where other processes have another key.
    pub fn in_bucket(nats: &Nats, key: VaultKey) -> Result<Self, VaultError> {
        let listeners = Listeners::default();
        let shared = Shared::open(nats.options(), VAULT_BUCKET, listeners.clone())?;
        Self::over(Store::Bucket(shared), key, listeners)
    }

    fn over(store: Store, key: VaultKey, listeners: Listeners) -> Result<Self, VaultError> {
        let vault = Self { key, store, listeners };
        let mark = Hash::of(b"arena vault").0;
        if vault.get_or_keep(CHECK, &mark)?.as_slice() == mark {
            Ok(vault)
        } else {
            Err(VaultError::Sealed { name: CHECK.to_owned() })
        }
    }

    /// Keeps a value under a name, durable when this returns; an older one is replaced, and destroyed as by [`Vault::destroy`].
    ///
    /// # Errors
    /// [`VaultError::Store`] or [`VaultError::Bucket`]. Then whether it is kept is unknown, and done again it is.
    pub fn put(&self, name: &str, value: &[u8]) -> Result<(), VaultError> {
        let sealed = seal_with(&self.key.0, name.as_bytes(), value);
        match &self.store {
            Store::Table(table) => table.put(name, &sealed),
            Store::Bucket(shared) => shared.put(name, sealed),
        }
    }

    /// Keeps a value where there is none under the name, and says whether it did. Of several at once, also in several processes,
    /// one does.
    ///
    /// # Errors
    /// [`VaultError::Store`] or [`VaultError::Bucket`]. Then whether it is kept is unknown.
    pub fn put_new(&self, name: &str, value: &[u8]) -> Result<bool, VaultError> {
        let sealed = seal_with(&self.key.0, name.as_bytes(), value);
        match &self.store {
            Store::Table(table) => table.put_new(name, &sealed),
            Store::Bucket(shared) => shared.put_new(name, sealed),
        }
    }

    /// The value under a name.
    ///
    /// # Errors
    /// [`VaultError::Store`] or [`VaultError::Bucket`]; [`VaultError::Sealed`] where it does not open.
    pub fn get(&self, name: &str) -> Result<Option<Zeroizing<Vec<u8>>>, VaultError> {
        let sealed = match &self.store {
            Store::Table(table) => table.get(name),
            Store::Bucket(shared) => shared.get(name),
        };
        sealed?
            .map(|sealed| {
                unseal_with(&self.key.0, name.as_bytes(), &sealed)
                    .ok_or_else(|| VaultError::Sealed { name: name.to_owned() })
            })
            .transpose()
    }

    /// The value under a name; where there is none, this one is kept. Whoever asks gets the same.
    ///
    /// # Errors
    /// Those of [`Vault::get`] and [`Vault::put_new`].
    pub fn get_or_keep(&self, name: &str, value: &[u8]) -> Result<Zeroizing<Vec<u8>>, VaultError> {
        loop {
            if let Some(kept) = self.get(name)? {
                return Ok(kept);
            }
            if self.put_new(name, value)? {
                return Ok(Zeroizing::new(value.to_vec()));
            }
        }
    }

    /// Destroys the value under a name: it is overwritten where it lay. What is not there is destroyed already.
    ///
    /// # Errors
    /// [`VaultError::Store`] or [`VaultError::Bucket`]. Then whether it is destroyed is unknown, and done again it is.
    pub fn destroy(&self, name: &str) -> Result<(), VaultError> {
        match &self.store {
            Store::Table(table) => table.destroy(name),
            Store::Bucket(shared) => shared.destroy(name),
        }?;
        self.listeners.tell(Destroyed::Name(name));
        Ok(())
    }

    /// The names that begin with `prefix`, in order.
    ///
    /// # Errors
    /// [`VaultError::Store`] or [`VaultError::Bucket`].
    pub fn names(&self, prefix: &str) -> Result<Vec<String>, VaultError> {
        match &self.store {
            Store::Table(table) => table.names(prefix),
            Store::Bucket(shared) => shared.names(prefix),
        }
    }

    /// Whether the value under a name was kept so long ago that no other process can be about to rely on it. One process has a
    /// table to itself, so whatever it finds there is old enough; what is not there is not.
    ///
    /// # Errors
    /// [`VaultError::Store`] or [`VaultError::Bucket`].
    pub fn is_older_than(&self, name: &str, age: Duration) -> Result<bool, VaultError> {
        match &self.store {
            Store::Table(table) => table.get(name).map(|kept| kept.is_some()),
            Store::Bucket(shared) => shared.is_older_than(name, age),
        }
    }

    /// Calls this for what is there no more, so that nobody goes on using what they read before. What another process destroys is
    /// heard within [`FORGOTTEN_WITHIN`]; where the servers do not answer for [`TRUSTED_UNHEARD`], it is as if all were destroyed.
    /// It is called from any thread, returns soon, and never asks the vault.
    pub fn on_destroyed(&self, listener: impl Fn(Destroyed<'_>) + Send + Sync + 'static) {
        self.listeners.add(Box::new(listener));
    }
}
