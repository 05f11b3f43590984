//! The leader's lease: a value in the bucket `ARENA_LEASES` that its holder renews and everybody else watches. It goes by
//! nobody's wall clock: the holder counts from before it sent a renewal, the others from when they saw one, each by its own
//! monotonic clock. Beside the holder stands its mark: the last record that it knew to be stored.

use arena_schema::{
    Hash,
    id::{Epoch, Incarnation, Partition, RecordNumber},
    subject::LEASES_BUCKET,
};
use async_nats::jetstream::{
    self,
    kv::{self, CreateErrorKind, Operation, Store, UpdateErrorKind},
};
use std::time::{Duration, Instant};

/// How long a lease holds after it was renewed.
pub const LEASE: Duration = Duration::from_millis(2_500);
/// How long before its lease's end a leader falls silent; and how old an answer about the journal's position may be.
pub const MARGIN: Duration = Duration::from_millis(500);
/// How long after it began a renewal a leader may lead.
const LED: Duration = LEASE.saturating_sub(MARGIN);
/// How often a leader renews.
pub(super) const RENEWAL: Duration = Duration::from_millis(400);
/// How often the others look whether it is free: one that was given up is taken at once.
pub(super) const LOOK: Duration = Duration::from_millis(100);
/// How long one request to the bucket may take.
const REQUEST_WAIT: Duration = Duration::from_millis(900);

/// The last record that a leader knew to be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LeadMark {
    pub(crate) number: RecordNumber,
    pub(crate) hash: Hash,
    pub(crate) epoch: Epoch,
}

/// Who holds the lease, by its last renewal, and what it remembers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Holder {
    /// Nobody, where the last one gave it up.
    pub(crate) incarnation: Option<Incarnation>,
    pub(crate) mark: LeadMark,
}

impl Holder {
    /// `<incarnation, or "-"> <record> <hash> <epoch>`, for an operator's eyes too.
    fn to_text(self) -> String {
        let holder = self.incarnation.map_or("-".to_owned(), |incarnation| hex::encode(incarnation.0));
        let LeadMark { number, hash, epoch } = self.mark;
        format!("{holder} {} {} {}", number.0, hex::encode(hash.0), epoch.0)
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(' ');
        let holder = parts.next()?;
        let incarnation = if holder == "-" { None } else { Some(Incarnation(bytes(holder)?)) };
        let number = RecordNumber(parts.next()?.parse().ok()?);
        let hash = Hash(bytes(parts.next()?)?);
        let epoch = Epoch(parts.next()?.parse().ok()?);
        parts.next().is_none().then_some(Self { incarnation, mark: LeadMark { number, hash, epoch } })
    }
}

fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    hex::decode(text).ok()?.try_into().ok()
}

/// Why the bucket cannot be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the bucket {LEASES_BUCKET} cannot be {action}: {why}")]
pub(super) struct LeaseError {
    action: &'static str,
    why: String,
}

fn fault(action: &'static str) -> impl Fn(&dyn std::fmt::Display) -> LeaseError {
    move |why| LeaseError { action, why: why.to_string() }
}

/// One process's view of a partition's lease.
pub(crate) struct Lease {
    bucket: Store,
    key: String,
    own: Incarnation,
    /// What was seen last, and when it was first seen so.
    seen: Option<Seen>,
    /// Where this process holds it.
    holds: Option<Held>,
    /// How often this process took it.
    terms: u64,
}

/// That a process holds the lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Held {
    /// Until when it may lead.
    pub(crate) until: Instant,
    /// Counts its takings: between two of them another may have led.
    pub(crate) term: u64,
}

impl Held {
    pub(crate) fn is_over(&self) -> bool {
        self.until <= Instant::now()
    }
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    revision: u64,
    holder: Holder,
    since: Instant,
}

impl Lease {
    /// Opens the bucket, and makes it where there is none.
    ///
    /// # Errors
    /// [`LeaseError`].
    pub(crate) async fn open(
        jetstream: &jetstream::Context,
        replicas: usize,
        partition: Partition,
        own: Incarnation,
    ) -> Result<Self, LeaseError> {
        let bucket = match jetstream.get_key_value(LEASES_BUCKET).await {
            Ok(bucket) => bucket,
            Err(_) => jetstream
                .create_key_value(kv::Config {
                    bucket: LEASES_BUCKET.to_owned(),
                    description: "who leads each partition, and what it knew to be stored".to_owned(),
                    history: 1,
                    num_replicas: replicas,
                    ..kv::Config::default()
                })
                .await
                .map_err(|why| fault("made")(&why))?,
        };
        Ok(Self { bucket, key: format!("leader.{}", partition.0), own, seen: None, holds: None, terms: 0 })
    }

    /// Reads who holds it.
    ///
    /// # Errors
    /// [`LeaseError`].
    pub(crate) async fn look(&mut self) -> Result<Option<Holder>, LeaseError> {
        let entry = within(self.bucket.entry(self.key.clone()), "read").await?;
        let found = match entry.filter(|entry| entry.operation == Operation::Put) {
            None => None,
            Some(entry) => {
                let text = String::from_utf8_lossy(&entry.value).into_owned();
                let holder = Holder::parse(&text)
                    .ok_or_else(|| fault("understood")(&format!("the value of {} is {text:?}", self.key)))?;
                Some((entry.revision, holder))
            }
        };
        self.seen = match (found, self.seen) {
            (Some((revision, _)), Some(seen)) if seen.revision >= revision => Some(seen),
            // Counted from the answer: its holder may have renewed it after the question was on its way.
            (Some((revision, holder)), _) => Some(Seen { revision, holder, since: Instant::now() }),
            (None, _) => None,
        };
        Ok(self.seen.map(|seen| seen.holder))
    }

    /// Whether nobody else holds it as far as this process has seen: it was given up, or not renewed for long enough, or a
    /// write of this process stands there whose time ran out or whose answer was lost.
    pub(crate) fn is_free(&self) -> bool {
        self.seen.is_none_or(|seen| {
            seen.holder.incarnation.is_none_or(|holder| holder == self.own) || seen.since.elapsed() >= LEASE
        })
    }

    /// Takes or renews it with this mark beside it. Gives whether this process holds it now.
    ///
    /// # Errors
    /// [`LeaseError`]; whether it was written is unknown then, and the next look shows it.
    pub(crate) async fn hold(&mut self, mark: LeadMark) -> Result<bool, LeaseError> {
        let begun = Instant::now();
        let holder = Holder { incarnation: Some(self.own), mark };
        let mut written = self.write(holder).await?;
        if !written && self.look().await?.and_then(|holder| holder.incarnation) == Some(self.own) {
            // An earlier write went through, and only its answer was lost: nobody came in between.
            written = self.write(holder).await?;
        }
        self.holds = written.then(|| {
            let term = self.holds.map_or(self.terms + 1, |held| held.term);
            self.terms = term;
            Held { until: begun + LED, term }
        });
        Ok(written)
    }

    /// Gives it up, so that another takes it at once.
    ///
    /// # Errors
    /// [`LeaseError`]; it ends by itself then.
    pub(crate) async fn give_up(&mut self, mark: LeadMark) -> Result<(), LeaseError> {
        self.holds = None;
        self.write(Holder { incarnation: None, mark }).await.map(|_| ())
    }

    /// That this process holds it, by the last renewal that went through. One whose time ran out is held no more, also where
    /// nobody else took it since: who leads anew announces itself anew.
    pub(crate) fn held(&mut self) -> Option<Held> {
        self.holds = self.holds.filter(|held| !held.is_over());
        self.holds
    }

    /// Writes where nobody else wrote since the last look.
    async fn write(&mut self, holder: Holder) -> Result<bool, LeaseError> {
        let value = bytes::Bytes::from(holder.to_text());
        let revision = match self.seen {
            None => match within_kind(self.bucket.create(&self.key, value), "written").await? {
                Ok(revision) => revision,
                Err(why) if why.kind() == CreateErrorKind::AlreadyExists => return Ok(false),
                Err(why) => return Err(fault("written")(&why)),
            },
            Some(seen) => {
                match within_kind(self.bucket.update(&self.key, value, seen.revision), "written").await? {
                    Ok(revision) => revision,
                    Err(why) if why.kind() == UpdateErrorKind::WrongLastRevision => return Ok(false),
                    Err(why) => return Err(fault("written")(&why)),
                }
            }
        };
        self.seen = Some(Seen { revision, holder, since: Instant::now() });
        Ok(true)
    }
}

async fn within<T, E: std::fmt::Display>(
    asked: impl Future<Output = Result<T, E>>,
    action: &'static str,
) -> Result<T, LeaseError> {
    within_kind(asked, action).await?.map_err(|why| fault(action)(&why))
}

async fn within_kind<T>(asked: impl Future<Output = T>, action: &'static str) -> Result<T, LeaseError> {
    tokio::time::timeout(REQUEST_WAIT, asked)
        .await
        .map_err(|_| fault(action)(&format!("no answer within {} ms", REQUEST_WAIT.as_millis())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        jetstream::{Nats, NatsOptions},
        nats_servers::{NatsServers, NatsSetup, left_out},
    };

    #[test]
    fn a_holder_reads_back_as_it_was_written_and_nothing_else_does() {
        let mark = LeadMark { number: RecordNumber(17), hash: Hash([0xab; 32]), epoch: Epoch(3) };
        for incarnation in [Some(Incarnation([7; 16])), None] {
            let holder = Holder { incarnation, mark };
            assert_eq!(Holder::parse(&holder.to_text()), Some(holder));
        }
        let text = Holder { incarnation: None, mark }.to_text();
        assert_eq!(text, format!("- 17 {} 3", "ab".repeat(32)));
        for broken in ["", "-", "- 17", "x 17 ab 3", &format!("{text} "), &text.replace("17", "-1")] {
            assert_eq!(Holder::parse(broken), None, "{broken:?}");
        }
    }

    #[test]
    fn a_write_whose_answer_was_lost_is_no_loss_of_the_lease_and_anothers_is() {
        if left_out() {
            return;
        }
        let servers = NatsServers::one(&NatsSetup::default());
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let nats = Nats::connect(&NatsOptions::new(servers.url())).await.unwrap();
            let open = |own| Lease::open(nats.jetstream(), 1, Partition(0), Incarnation([own; 16]));
            let mark = LeadMark { number: RecordNumber(1), hash: Hash([1; 32]), epoch: Epoch(1) };
            let (mut own, mut unheard, mut other) =
                (open(1).await.unwrap(), open(1).await.unwrap(), open(2).await.unwrap());
            assert!(own.hold(mark).await.unwrap());
            let term = own.held().unwrap().term;
            unheard.look().await.unwrap();
            assert!(unheard.is_free() && unheard.hold(mark).await.unwrap());
            assert!(own.hold(mark).await.unwrap(), "it was this process's own write");
            assert_eq!(own.held().unwrap().term, term);
            other.look().await.unwrap();
            assert!(!other.is_free());
            assert!(other.hold(mark).await.unwrap(), "it wrote behind the last that it saw");
            assert!(!own.hold(mark).await.unwrap());
            assert!(own.held().is_none() && !own.is_free());
        });
    }
}
