//! Whether the servers sync before they acknowledge. It shows only on a server's monitoring port, or to the system account.
//! What belongs here: asking both. What never does: whether the answer is good enough.

use super::connection::{NatsOptions, connect_options, connect_to};
use futures::StreamExt;
use serde_json::Value;
use std::{collections::BTreeMap, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// How long a server may take to answer.
const ANSWER: Duration = Duration::from_secs(2);
/// No answer of a monitoring port is longer.
const ANSWER_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Whether the servers sync before they acknowledge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Durability {
    /// All that were asked do.
    Syncs,
    /// One does not: what it acknowledged in its last interval can be lost with its power.
    Lazy {
        /// The server's name.
        server: String,
        /// How often it syncs.
        interval: String,
    },
    /// It could not be seen.
    Unchecked {
        /// Why not, and what to set so that it can.
        how: String,
    },
}

/// Asks the monitoring ports, or else the system account.
pub(super) async fn look(options: &NatsOptions) -> Durability {
    match servers(options).await {
        Ok(servers) => judge(&servers),
        Err(how) => Durability::Unchecked { how },
    }
}

/// What each server says of itself there, its `/varz`.
///
/// # Errors
/// None is asked, or one does not answer; in words, with what to set.
pub(super) async fn servers(options: &NatsOptions) -> Result<Vec<Value>, String> {
    match (&options.monitor_url, &options.system_credentials) {
        (Some(urls), _) => ask_monitors(urls).await,
        (None, Some(_)) => ask_system(options).await,
        (None, None) => Err("set nats.monitor_url to the servers' monitoring port, or nats.system_credentials to the \
                             system account's credentials, and it will be checked whether they sync before they \
                             acknowledge"
            .to_owned()),
    }
}

/// Each server's `/varz`; the first lazy one is named.
fn judge(servers: &[Value]) -> Durability {
    let mut seen = false;
    for server in servers {
        let Some(config) = server.pointer("/jetstream/config").filter(|config| config.is_object()) else {
            continue;
        };
        seen = true;
        if config.get("sync_always").and_then(Value::as_bool) == Some(true) {
            continue;
        }
        let server = server.get("server_name").and_then(Value::as_str).unwrap_or("without a name").to_owned();
        let interval = config
            .get("sync_interval")
            .and_then(Value::as_u64)
            .map_or_else(|| "unknown".to_owned(), |nanos| format!("{:?}", Duration::from_nanos(nanos)));
        return Durability::Lazy { server, interval };
    }
    if seen {
        Durability::Syncs
    } else {
        Durability::Unchecked { how: "none of the servers that answered has JetStream".to_owned() }
    }
}

/// Each server's `/varz`.
pub(super) async fn ask_monitors(urls: &str) -> Result<Vec<Value>, String> {
    let mut servers = Vec::new();
    for url in urls.split(',').map(str::trim).filter(|url| !url.is_empty()) {
        let asked = tokio::time::timeout(ANSWER, varz(url)).await;
        let answer = asked.unwrap_or_else(|_| Err("no answer".to_owned()));
        servers.push(answer.map_err(|why| format!("nats.monitor_url {url} does not tell: {why}"))?);
    }
    Ok(servers)
}

/// One plain request of HTTP/1.0, whose answer ends with the connection.
async fn varz(url: &str) -> Result<Value, String> {
    let host = url.strip_prefix("http://").ok_or("it must begin with http://")?.trim_end_matches('/');
    let address = if host.contains(':') { host.to_owned() } else { format!("{host}:80") };
    let io = |why: std::io::Error| why.to_string();
    let mut connection = TcpStream::connect(&address).await.map_err(io)?;
    let request = format!("GET /varz HTTP/1.0\r\nHost: {host}\r\nAccept: application/json\r\n\r\n");
    connection.write_all(request.as_bytes()).await.map_err(io)?;
    let mut answer = Vec::new();
    connection.take(ANSWER_BYTES_MAX).read_to_end(&mut answer).await.map_err(io)?;
    let end = answer.windows(4).position(|end| end == b"\r\n\r\n").ok_or("it does not speak HTTP")?;
    let (head, body) = (String::from_utf8_lossy(&answer[..end]), &answer[end + 4..]);
    let status = head.lines().next().unwrap_or_default();
    if status.split(' ').nth(1) != Some("200") {
        return Err(format!("it answers {status}"));
    }
    serde_json::from_slice(body).map_err(|why| format!("/varz cannot be read: {why}"))
}

/// Asks all servers at once over the system account, and waits for as many as say they are there.
async fn ask_system(options: &NatsOptions) -> Result<Vec<Value>, String> {
    let fail = |why: String| format!("nats.system_credentials do not tell: {why}");
    let connect =
        connect_options(options.system_credentials.as_deref()).await.map_err(|why| fail(why.to_string()))?;
    let client = connect_to(&options.url, connect).await.map_err(|why| fail(why.to_string()))?;
    let inbox = client.new_inbox();
    let mut answers = client.subscribe(inbox.clone()).await.map_err(|why| fail(why.to_string()))?;
    for question in ["STATSZ", "VARZ"] {
        let subject = format!("$SYS.REQ.SERVER.PING.{question}");
        client
            .publish_with_reply(subject, inbox.clone(), "".into())
            .await
            .map_err(|why| fail(why.to_string()))?;
    }
    let deadline = tokio::time::Instant::now() + ANSWER;
    let (mut servers, mut active) = (BTreeMap::new(), None);
    while active.is_none_or(|active| servers.len() < active) {
        let Ok(Some(answer)) = tokio::time::timeout_at(deadline, answers.next()).await else {
            break;
        };
        let Ok(answer) = serde_json::from_slice::<Value>(&answer.payload) else {
            return Err(fail("they are not of the system account".to_owned()));
        };
        if let Some(stats) = answer.get("statsz") {
            active =
                stats.get("active_servers").and_then(Value::as_u64).map(|active| active as usize).or(active);
        } else if let (Some(id), Some(varz)) = (answer.pointer("/server/id"), answer.get("data")) {
            servers.insert(id.to_string(), varz.clone());
        }
    }
    if active.is_none_or(|active| servers.len() < active) {
        return Err(fail(format!("{} of the servers answered, {active:?} are there", servers.len())));
    }
    Ok(servers.into_values().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn server(name: &str, config: &Value) -> Value {
        json!({"server_name": name, "jetstream": {"config": config}})
    }

    #[test]
    fn one_lazy_server_is_enough_and_is_named() {
        let syncs = server("a", &json!({"sync_interval": 120_000_000_000_u64, "sync_always": true}));
        let lazy = server("b", &json!({"sync_interval": 120_000_000_000_u64}));
        let without = json!({"server_name": "c", "jetstream": {}});
        assert_eq!(judge(&[syncs.clone(), without.clone()]), Durability::Syncs);
        let found = Durability::Lazy { server: "b".to_owned(), interval: "120s".to_owned() };
        assert_eq!(judge(&[syncs, lazy]), found);
        assert!(matches!(judge(&[without]), Durability::Unchecked { .. }));
    }
}
