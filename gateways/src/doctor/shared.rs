//! What can be seen of a journal on NATS: the servers, whether they sync, our streams, who leads.

use super::{
    Check, ONLY_ENDS, local,
    snapshots::{beginning, snapshots},
};
use crate::{parts::FIRST, place, settings::Settings};
use arena_journal::{
    Durability, JetStreamJournal, Journal, Limit, Nats, NatsReport, ServerReport, ServerSeen, StreamReport,
    Vault, VaultKey, replicated::leader,
};
use arena_schema::{LogTime, id::Partition, subject::VAULT_BUCKET};
use tokio::runtime::Runtime;

/// How far the server's clock and this machine's may part before it is said.
const CLOCKS_PARTED_US: u64 = 1_000_000;

pub(super) fn nats(settings: &Settings, runtime: &Runtime, checks: &mut Vec<Check>) {
    let url = settings.nats.url.as_ref().map(ToString::to_string).unwrap_or_default();
    let connected = place::options(settings).map(|options| runtime.block_on(Nats::connect(&options)));
    let nats = match connected {
        Ok(Ok(nats)) => nats,
        Ok(Err(why)) => {
            let next =
                "see that the server runs, that the address and nats.credentials are right, and its version";
            return checks.push(Check::refuses("NATS", why.to_string(), next));
        }
        Err(why) => return checks.push(Check::refuses("NATS", why.to_string(), "set nats.url")),
    };
    checks.push(Check::fine("NATS", format!("{url} answers; nats-server {}", nats.server_version())));
    checks.push(servers(&runtime.block_on(nats.servers())));
    checks.push(durability(settings, runtime.block_on(nats.durability())));
    let report = match runtime.block_on(nats.inspect(FIRST)) {
        Ok(report) => report,
        Err(why) => {
            let next =
                "enable it in the server's configuration: jetstream { store_dir: … , sync_interval: always }";
            return checks.push(Check::refuses("JetStream", why, next));
        }
    };
    checks.push(Check::fine("JetStream", "it is on for this account"));
    replicas(settings, runtime, &nats, &report, checks);
    checks.extend(report.time.as_deref().and_then(server_clock));
    checks.extend(report.streams.iter().map(stream));
    checks.extend(report.limits.iter().filter(|limit| limit.is_near()).map(nearly_full));
    if report.streams.is_empty() {
        checks.push(Check::fine("streams", "there are none yet; the first start makes them"));
    }
    snapshots(runtime, &nats, FIRST, &report, checks);
    vault(settings, runtime, &nats, checks);
    lead(runtime, &nats, FIRST, checks);
    end(settings, runtime, &nats, FIRST, checks);
    for partition in (FIRST.0 + 1..).map(Partition) {
        let Ok(report) = runtime.block_on(nats.inspect(partition)) else { return };
        if report.streams.is_empty() {
            return;
        }
        checks.extend(report.streams.iter().map(stream));
        beginning(runtime, &nats, partition, checks);
        lead(runtime, &nats, partition, checks);
        end(settings, runtime, &nats, partition, checks);
    }
}

/// What is said of a partition, by its number where it is not the first.
fn of(partition: Partition, says: String) -> String {
    if partition == FIRST { says } else { format!("partition {}: {says}", partition.0) }
}

/// That each server that may lead a stream is new enough.
fn servers(servers: &[ServerReport]) -> Check {
    let what = "servers";
    let said = |ServerReport { server, seen }: &ServerReport| match seen {
        ServerSeen::Version(version) => format!("{server} {version}"),
        ServerSeen::WithoutJetStream => format!("{server} without JetStream"),
        ServerSeen::Unseen(why) => format!("{server} could not be asked ({why})"),
    };
    let says = servers.iter().map(said).collect::<Vec<_>>().join(", ");
    if servers.iter().any(ServerReport::is_old) {
        return Check::refuses(
            what,
            says,
            "bring every server to 2.12.3 or newer: any of them may come to lead a stream",
        );
    }
    if servers.iter().any(|server| matches!(server.seen, ServerSeen::Unseen(_))) {
        let next = "see that it runs and can be reached from here, or set nats.monitor_url or nats.system_credentials";
        return Check::note(what, says, next);
    }
    Check::fine(what, says)
}

fn durability(settings: &Settings, seen: Durability) -> Check {
    let what = "durability";
    match seen {
        Durability::Syncs => Check::fine(what, "the servers sync before they acknowledge"),
        Durability::Lazy { server, interval } => {
            let says = format!("{server} acknowledges before it syncs (every {interval})");
            let next = "set sync_interval: always in its jetstream block";
            if settings.durability == crate::settings::Durability::Relaxed {
                Check::note(what, format!("{says}, which durability = \"relaxed\" takes"), next)
            } else {
                Check::refuses(what, says, format!("{next}, or durability = \"relaxed\" here"))
            }
        }
        Durability::Unchecked { how } => Check::note(what, "whether the servers sync could not be seen", how),
    }
}

fn replicas(
    settings: &Settings,
    runtime: &Runtime,
    nats: &Nats,
    report: &NatsReport,
    checks: &mut Vec<Check>,
) {
    let wanted = settings.nats.replicas;
    if !report.streams.is_empty() || wanted == 1 {
        return;
    }
    checks.push(match runtime.block_on(nats.try_replicas()) {
        Ok(()) => Check::fine("replicas", format!("{wanted} servers can keep each stream")),
        Err(why) => Check::refuses(
            "replicas",
            format!("{wanted} servers cannot keep a stream: {why}"),
            "start more servers as one cluster, or set nats.replicas lower",
        ),
    });
}

pub(super) fn stream(stream: &StreamReport) -> Check {
    let StreamReport { name, last, bytes, sealed, strange, replicas } = stream;
    let what = "stream";
    if let Some(strange) = strange {
        return Check::refuses(what, strange.clone(), "set it back, or nats.replicas here to what it has");
    }
    let closed = if *sealed { ", closed" } else { "" };
    let says = format!(
        "{name}: {last} messages, {bytes} bytes{closed}; {} of {} servers have it",
        replicas.1, replicas.0
    );
    if replicas.1 < replicas.0 {
        return Check::note(what, says, "see to the servers that are behind or gone");
    }
    Check::fine(what, says)
}

fn nearly_full(limit: &Limit) -> Check {
    let next = "raise it before it is full: a journal that cannot be written ends the arena";
    Check::note("space", format!("{limit}: {ONLY_ENDS}"), next)
}

/// That the shared vault, where there is one, opens under this process's key.
fn vault(settings: &Settings, runtime: &Runtime, nats: &Nats, checks: &mut Vec<Check>) {
    // A key that cannot be read was told of before.
    let Ok(key) = VaultKey::load(&settings.vault_key_file(), false) else { return };
    if runtime.block_on(nats.jetstream().get_key_value(VAULT_BUCKET)).is_err() {
        return checks.push(Check::fine("vault", "there is none yet; the first start makes it"));
    }
    let opened = Vault::in_bucket(nats, key).and_then(|vault| vault.names("agent/"));
    checks.push(match opened {
        Ok(names) => {
            Check::fine("vault", format!("{VAULT_BUCKET} opens; it keeps the keys of {} agents", names.len()))
        }
        Err(why) => {
            let next = "give this process the key file that the others have";
            Check::refuses("vault", why.to_string(), next)
        }
    });
}

fn lead(runtime: &Runtime, nats: &Nats, partition: Partition, checks: &mut Vec<Check>) {
    let what = "leader";
    checks.push(match runtime.block_on(leader(nats, partition)) {
        Ok(None) => Check::fine(what, of(partition, "nobody has led yet".to_owned())),
        Ok(Some(seen)) => {
            let mark = of(partition, format!("it knew record {} to be stored", seen.number));
            match seen.incarnation {
                Some(who) if seen.live => Check::fine(what, format!("the process {who} leads; {mark}")),
                Some(who) => Check::note(
                    what,
                    format!("the process {who} led and renews its lease no more; {mark}"),
                    "none: the next engine that starts takes it",
                ),
                None => Check::fine(what, format!("the last one gave it up; {mark}")),
            }
        }
        Err(why) => Check::refuses(what, why, "let this account read and write the bucket ARENA_LEASES"),
    });
}

/// That the stream has what this process's own copy has.
fn end(settings: &Settings, runtime: &Runtime, nats: &Nats, partition: Partition, checks: &mut Vec<Check>) {
    let Ok(Some(own)) = local::last_header(settings, partition) else { return };
    let found = runtime.block_on(JetStreamJournal::find(nats, partition));
    let last = match found.and_then(|found| found.map(|mut journal| journal.last()).transpose()) {
        Ok(last) => last.unwrap_or_default(),
        Err(why) => {
            return checks.push(Check::refuses("journal", why.to_string(), "`arena audit --nats` says more"));
        }
    };
    checks.push(if last < own.number {
        let data = settings.data.display();
        Check::refuses(
            "journal",
            of(
                partition,
                format!(
                    "it ends at record {last}, this process's copy has record {}: it was cut short",
                    own.number
                ),
            ),
            format!("mend it: arena journal copy --from {data} --to URL --partition {}", partition.0),
        )
    } else {
        Check::fine(
            "journal",
            of(partition, format!("it goes to record {last}, this process's copy to record {}", own.number)),
        )
    });
}

/// The server's clock against this machine's.
fn server_clock(text: &str) -> Option<Check> {
    let (theirs, ours) = (parse(text)?, local::wall());
    let parted = theirs.0.abs_diff(ours.0);
    let says = format!("the server's clock and this machine's part by {} ms", parted / 1_000);
    Some(if parted > CLOCKS_PARTED_US {
        Check::note("server's clock", says, "set both by one service")
    } else {
        Check::fine("server's clock", says)
    })
}

/// An RFC 3339 time in UTC, in microseconds since 1970.
fn parse(text: &str) -> Option<LogTime> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let mut date = date.split('-').map(|part| part.parse::<u64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let mut time = time.split(':').map(|part| part.parse::<u64>().ok());
    let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
    let fraction: String = fraction.chars().chain(std::iter::repeat('0')).take(6).collect();
    // Days since 1970 by the calendar that repeats every 400 years, the year beginning in March.
    let (years, months) = if month > 2 { (year, month - 3) } else { (year.checked_sub(1)?, month + 9) };
    let days = years * 365 + years / 4 - years / 100 + years / 400 + (153 * months + 2) / 5 + day;
    let days = days.checked_sub(719_469)?;
    let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
    Some(LogTime(seconds * 1_000_000 + fraction.parse::<u64>().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::times::rfc3339_ms;

    #[test]
    fn a_servers_time_is_read_as_it_is_written() {
        for text in [
            "1970-01-01T00:00:00.000Z",
            "2024-02-29T23:59:59.999Z",
            "2026-12-01T14:02:03.120Z",
            "2100-03-01T00:00:00.001Z",
        ] {
            assert_eq!(rfc3339_ms(parse(text).unwrap()), text);
        }
        assert_eq!(parse("2026-12-01T14:02:03.123456789Z").unwrap().0 % 1_000_000, 123_456);
        assert_eq!(parse("2026-12-01T14:02:03+01:00"), None);
    }
}
