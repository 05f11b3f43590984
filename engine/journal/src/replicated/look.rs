//! A look at who leads, from outside: what the lease's bucket says, and whether it is being renewed. What never belongs here:
//! taking part.

use super::lease::{Holder, LEASE};
use crate::jetstream::Nats;
use arena_schema::{
    Hash,
    id::{Incarnation, Partition, RecordNumber},
    subject::LEASES_BUCKET,
};

/// What stands in the bucket of leases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leader {
    /// Who holds the lease by the last word of it; none where it was given up.
    pub incarnation: Option<Incarnation>,
    /// Whether it was renewed while it was looked at: whoever holds it lives.
    pub live: bool,
    /// The last record that the holder knew to be stored, and its hash.
    pub number: RecordNumber,
    /// See above.
    pub hash: Hash,
}

/// Who leads a partition; none where nobody ever did. It looks for as long as a lease holds, unless it is renewed before.
///
/// # Errors
/// What the bucket says, in words.
pub async fn leader(nats: &Nats, partition: Partition) -> Result<Option<Leader>, String> {
    let Ok(bucket) = nats.jetstream().get_key_value(LEASES_BUCKET).await else {
        return Ok(None);
    };
    let key = format!("leader.{}", partition.0);
    let look = async || {
        let entry = bucket
            .entry(key.clone())
            .await
            .map_err(|why| format!("{LEASES_BUCKET} cannot be read: {why}"))?;
        let Some(entry) = entry else { return Ok(None) };
        let text = String::from_utf8_lossy(&entry.value).into_owned();
        let holder =
            Holder::parse(&text).ok_or_else(|| format!("{LEASES_BUCKET} has {text:?} under {key}"))?;
        Ok::<_, String>(Some((entry.revision, holder)))
    };
    let Some((first, mut holder)) = look().await? else {
        return Ok(None);
    };
    let mut live = false;
    let begun = std::time::Instant::now();
    while holder.incarnation.is_some() && !live && begun.elapsed() < LEASE {
        tokio::time::sleep(super::lease::RENEWAL / 2).await;
        if let Some((revision, seen)) = look().await? {
            live = revision != first && seen.incarnation.is_some();
            holder = seen;
        }
    }
    let Holder { incarnation, mark } = holder;
    Ok(Some(Leader { incarnation, live, number: mark.number, hash: mark.hash }))
}
