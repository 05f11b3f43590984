//! Payloads: what every store of them does, and what is each store's own.

mod contract;
mod folder;
mod objects;

use crate::{PayloadError, Payloads, Stored, TextOwner, Texts, Vault, VaultKey, testing::Dice};
use arena_schema::{
    Commitment,
    id::{ObjectId, Partition, SessionId},
};
use std::sync::Arc;
use tokio::runtime::Runtime;

/// As the store has it.
const CHUNK: usize = 64 * 1024;
/// What is sealed before the first byte of a payload.
const SALT: usize = 32;

/// Lies under a store, and reaches what it keeps.
trait Under {
    /// The store, opened anew.
    fn open(&self, texts: &Texts) -> Payloads;
    /// The sealed parts of an object.
    fn parts(&self, owner: TextOwner, object: ObjectId) -> Vec<Vec<u8>>;
    /// Puts others in their place.
    fn put_parts(&self, owner: TextOwner, object: ObjectId, parts: &[Vec<u8>]);
    /// How many bytes it keeps in all, of whatever.
    fn held(&self) -> u64;
    /// How many changed bytes a case is to try where each costs time.
    fn flips(&self) -> usize;
}

/// A store with a vault of its own.
struct Store {
    under: Box<dyn Under>,
    runtime: Arc<Runtime>,
    texts: Texts,
    payloads: Payloads,
}

fn texts() -> Texts {
    Texts::new(Arc::new(Vault::in_memory(VaultKey::draw()).unwrap()))
}

fn session(at: u8) -> TextOwner {
    TextOwner::Session(SessionId::from_random(Partition(0), [at; 14]))
}

fn bytes(size: usize, seed: u64) -> Vec<u8> {
    let mut dice = Dice(seed);
    (0..size.div_ceil(8)).flat_map(|_| dice.next().to_le_bytes()).take(size).collect()
}

impl Store {
    fn new(under: impl Under + 'static, runtime: Arc<Runtime>) -> Self {
        let texts = texts();
        let payloads = under.open(&texts);
        Self { under: Box::new(under), runtime, texts, payloads }
    }

    fn run<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// An owner with a key.
    fn owner(&self, at: u8) -> TextOwner {
        self.texts.create_owner(session(at)).unwrap();
        session(at)
    }

    fn write(&self, owner: TextOwner, bytes: &[u8]) -> Stored {
        self.run(write(&self.payloads, owner, bytes, 50_000))
    }

    fn read(&self, owner: TextOwner, object: ObjectId) -> Result<Vec<u8>, PayloadError> {
        self.run(async { self.payloads.read(owner, object).await?.collect().await })
    }
}

/// Writes a payload in pieces of so many bytes.
async fn write(payloads: &Payloads, owner: TextOwner, bytes: &[u8], piece: usize) -> Stored {
    let mut writing = payloads.begin(owner).await.unwrap();
    for piece in bytes.chunks(piece) {
        writing.write(piece).await.unwrap();
    }
    writing.finish().await.unwrap()
}

/// What a payload commits to under the random bytes that came with it.
fn commitment(salt: &arena_schema::TextSalt, bytes: &[u8]) -> Commitment {
    let mut committing = Commitment::begin(salt);
    committing.update(bytes);
    committing.finish()
}
