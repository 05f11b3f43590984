//! A vault's values in a bucket that processes share. What belongs here: names as keys, the thread that asks the servers for
//! whoever waits, and the watch over what others destroy. What never does: a key of the vault's, a value in clear.

use super::{Destroyed, Listeners, VaultError};
use crate::{
    Nats, NatsOptions,
    jetstream::{Bucket, BucketError},
};
use futures::future::BoxFuture;
use std::{
    convert::Infallible,
    sync::{Arc, mpsc::sync_channel},
    thread,
    time::{Duration, Instant},
};
use tokio::{
    runtime::{Builder, Handle, RuntimeFlavor},
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
};

/// How often it is looked whether others destroyed anything.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// What others destroyed is heard within this time while the servers answer.
pub const FORGOTTEN_WITHIN: Duration = Duration::from_secs(4);
/// For how long what was read is still trusted while no server answers.
pub const TRUSTED_UNHEARD: Duration = Duration::from_secs(60);
/// For how long a leader that was deposed may still have answered with what others had destroyed: what was read meanwhile is
/// trusted no longer.
const DEPOSED: Duration = Duration::from_secs(15);

type Job = Box<dyn FnOnce(Arc<Bucket>) -> BoxFuture<'static, ()> + Send>;

/// A bucket, asked on a thread of its own, which ends with this.
pub(super) struct Shared {
    jobs: UnboundedSender<Job>,
    bucket: String,
}

impl Shared {
    pub(super) fn open(
        options: &NatsOptions,
        bucket: &'static str,
        listeners: Listeners,
    ) -> Result<Self, VaultError> {
        let (jobs, todo) = unbounded_channel();
        let (opened, open) = sync_channel(1);
        let options = options.clone();
        let fail = move |action: &'static str| {
            move |why: String| VaultError::Bucket { bucket: bucket.to_owned(), action, why }
        };
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|why| fail("asked")(why.to_string()))?;
        let work = move || {
            runtime.block_on(async {
                let found = match Nats::connect(&options).await {
                    Ok(nats) => Bucket::open(nats, bucket).await.map_err(VaultError::from),
                    Err(why) => Err(fail("reached")(why.to_string())),
                };
                match found {
                    Ok(found) => {
                        let found = Arc::new(found);
                        // Who opened it waits for this.
                        let _ = opened.send(Ok(found.describe()));
                        serve(&found, todo, &listeners).await;
                    }
                    Err(why) => {
                        let _ = opened.send(Err(why));
                    }
                }
            });
        };
        thread::Builder::new()
            .name("vault".to_owned())
            .spawn(work)
            .map_err(|why| fail("asked")(why.to_string()))?;
        let ended = |_| fail("asked")("its thread ended".to_owned());
        let bucket = wait(move || open.recv()).map_err(ended)??;
        Ok(Self { jobs, bucket })
    }

    /// Has the bucket's thread do something, and waits until it is done.
    fn ask<T: Send + 'static, F: Future<Output = Result<T, BucketError>> + Send + 'static>(
        &self,
        work: impl FnOnce(Arc<Bucket>) -> F + Send + 'static,
    ) -> Result<T, VaultError> {
        let ended = || VaultError::Bucket {
            bucket: self.bucket.clone(),
            action: "asked",
            why: "its thread ended".to_owned(),
        };
        let (answer, answered) = sync_channel(1);
        let job: Job = Box::new(move |bucket| {
            Box::pin(async move {
                // Who asked waits for this.
                let _ = answer.send(work(bucket).await);
            })
        });
        self.jobs.send(job).map_err(|_| ended())?;
        Ok(wait(move || answered.recv()).map_err(|_| ended())??)
    }

    pub(super) fn put(&self, name: &str, sealed: Vec<u8>) -> Result<(), VaultError> {
        let key = key_of(name);
        self.ask(move |bucket| async move { bucket.put(&key, sealed.into()).await })
    }

    pub(super) fn put_new(&self, name: &str, sealed: Vec<u8>) -> Result<bool, VaultError> {
        let key = key_of(name);
        self.ask(move |bucket| async move { bucket.put_new(&key, &sealed.into()).await })
    }

    pub(super) fn get(&self, name: &str) -> Result<Option<Vec<u8>>, VaultError> {
        let key = key_of(name);
        self.ask(
            move |bucket| async move { Ok(bucket.get(&key).await?.map(|version| version.value.to_vec())) },
        )
    }

    pub(super) fn destroy(&self, name: &str) -> Result<(), VaultError> {
        let key = key_of(name);
        self.ask(move |bucket| async move { bucket.destroy(&key).await })
    }

    pub(super) fn names(&self, prefix: &str) -> Result<Vec<String>, VaultError> {
        let under = prefix.rsplit_once('/').map(|(under, _)| key_of(under));
        let keys = self.ask(move |bucket| async move { bucket.keys(under.as_deref()).await })?;
        let mut names = Vec::new();
        for key in keys.into_keys() {
            let name = name_of(&key).ok_or_else(|| VaultError::Bucket {
                bucket: self.bucket.clone(),
                action: "read",
                why: format!("its key {key} is no name's"),
            })?;
            if name.starts_with(prefix) {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    pub(super) fn is_older_than(&self, name: &str, age: Duration) -> Result<bool, VaultError> {
        let key = key_of(name);
        self.ask(move |bucket| async move { bucket.is_older_than(&key, age).await })
    }
}

/// Waits without keeping a worker's other tasks from going on.
fn wait<T>(until: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(until),
        _ => until(),
    }
}

async fn serve(bucket: &Arc<Bucket>, mut todo: UnboundedReceiver<Job>, listeners: &Listeners) {
    let work = async {
        while let Some(job) = todo.recv().await {
            tokio::spawn(job(Arc::clone(bucket)));
        }
    };
    tokio::select! {
        () = work => {}
        never = watch(bucket, listeners) => match never {},
    }
}

/// Says when others destroyed anything: the number of messages that are gone from the bucket grows by each and shrinks never, so
/// that none is missed, whatever else is.
async fn watch(bucket: &Bucket, listeners: &Listeners) -> Infallible {
    let mut doubt = Doubt { heard: Instant::now(), again: None };
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let look = bucket.look().await;
        if let Err(why) = &look {
            tracing::debug!(%why, "what others destroyed is unknown");
        }
        if doubt.comes_by(look.ok(), Instant::now()) {
            listeners.tell(Destroyed::Unknown);
        }
    }
}

/// When what was read before is to be trusted no longer.
struct Doubt {
    /// When the servers answered last.
    heard: Instant,
    /// When it is to be doubted once more, since a deposed leader may have answered until then.
    again: Option<Instant>,
}

impl Doubt {
    /// Whether a look makes it doubtful: it says whether others destroyed anything, or has no answer.
    fn comes_by(&mut self, look: Option<bool>, now: Instant) -> bool {
        let Some(destroyed) = look else {
            return now.duration_since(self.heard) >= TRUSTED_UNHEARD;
        };
        self.heard = now;
        let due = self.again.is_some_and(|at| at <= now);
        self.again = if destroyed { Some(now + DEPOSED) } else { self.again.filter(|_| !due) };
        destroyed || due
    }
}

/// A name as a bucket's key: a token for each part between slashes. Letters, digits, `_` and `-` stand for themselves, any other
/// byte is `=` and two hexadecimal digits, and an empty part is `=`.
fn key_of(name: &str) -> String {
    let mut key = String::with_capacity(name.len());
    for (at, part) in name.split('/').enumerate() {
        if at > 0 {
            key.push('.');
        }
        if part.is_empty() {
            key.push('=');
        }
        for byte in part.bytes() {
            if byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-' {
                key.push(char::from(byte));
            } else {
                key.push('=');
                key.push_str(&hex::encode([byte]));
            }
        }
    }
    key
}

/// The name that [`key_of`] made a key of.
fn name_of(key: &str) -> Option<String> {
    let mut name = Vec::with_capacity(key.len());
    for (at, token) in key.split('.').enumerate() {
        if at > 0 {
            name.push(b'/');
        }
        if token == "=" {
            continue;
        }
        let mut rest = token.as_bytes();
        while let Some((&byte, after)) = rest.split_first() {
            rest = after;
            if byte == b'=' {
                let (digits, after) = rest.split_first_chunk::<2>()?;
                name.extend(hex::decode(digits).ok()?);
                rest = after;
            } else {
                name.push(byte);
            }
        }
    }
    String::from_utf8(name).ok().filter(|name| key_of(name) == key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_is_doubted_once_others_destroyed_anything_and_while_no_server_answers_for_long() {
        let begun = Instant::now();
        let mut doubt = Doubt { heard: begun, again: None };
        let mut look = |second: u64, look| doubt.comes_by(look, begun + Duration::from_secs(second));
        assert!(!look(1, Some(false)));
        assert!(look(2, Some(true)));
        assert!(!look(3, Some(false)));
        assert!(look(17, Some(false)), "a deposed leader may have answered meanwhile");
        assert!(!look(18, Some(false)), "and then no more");
        assert!(!look(77, None));
        assert!(look(78, None) && look(79, None));
        assert!(!look(80, Some(false)), "it answers again, and nothing was destroyed");
        assert!(look(81, Some(true)) && look(82, Some(true)));
        assert!(!look(96, Some(false)) && look(97, Some(false)));
    }

    #[test]
    fn a_name_comes_back_from_its_key_and_no_two_share_one() {
        let names = [
            "",
            "/",
            "//",
            "a",
            "a/",
            "/a",
            "a//b",
            "a/b",
            "a.b",
            "a=b",
            "a=",
            "=",
            "a=2fb",
            "a/=",
            "key/check",
            "agent/0192f0c1-9a5e-7cc3-8a51-6a0d3e2b1c44/texts",
            "A",
            "ä",
            "a b",
            "a*",
            ">",
            "*",
            "$",
            "a\u{0}",
        ];
        let mut keys = std::collections::BTreeSet::new();
        for name in names {
            let key = key_of(name);
            let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"-_=.".contains(&byte);
            assert!(key.bytes().all(legal) && !key.is_empty(), "{name:?}: {key}");
            assert!(key.split('.').all(|token| !token.is_empty()), "{name:?}: {key}");
            assert_eq!(name_of(&key).as_deref(), Some(name), "{key}");
            assert!(keys.insert(key), "{name:?}");
        }
        for key in ["", "a.", "a..b", "a=", "a=2", "a=61", "=FF", "=ff"] {
            assert_eq!(name_of(key), None, "{key:?}");
        }
    }
}
