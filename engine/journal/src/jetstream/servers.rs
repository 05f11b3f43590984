//! Which servers there are beside the one that this process is connected to, and how new each is: any of them may come to lead a
//! stream. What belongs here: finding them and asking each. What never does: whether they sync.
//!
//! A server says its version, and the addresses of the others, in the first line of every connection, before anybody has to say
//! who he is. So each address that is known, from the settings or from another server, is called and hung up on again. A server that
//! cannot be called from here, or says nothing before TLS, is told of and refuses nothing; with the monitoring ports or the system
//! account in the settings those are seen too.

use super::{
    connection::{Nats, NatsError, check_version},
    durability,
};
use async_nats::ServerAddr;
use futures::future::join_all;
use serde_json::Value;
use std::{collections::BTreeMap, time::Duration};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, BufReader},
    net::TcpStream,
};

/// How long a server may take to say its first line.
const ANSWER: Duration = Duration::from_secs(2);
/// No first line is longer.
const LINE_BYTES_MAX: u64 = 64 * 1024;
/// No more addresses are called.
const ADDRESSES_MAX: usize = 64;

/// A server that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerReport {
    /// Its name, or the address where it says none.
    pub server: String,
    /// What was seen of it.
    pub seen: ServerSeen,
}

/// What was seen of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerSeen {
    /// It has JetStream, and this version.
    Version(String),
    /// It has no JetStream, and leads no stream.
    WithoutJetStream,
    /// It could not be asked; why not.
    Unseen(String),
}

impl ServerReport {
    /// Whether it is older than the journal needs.
    pub fn is_old(&self) -> bool {
        matches!(&self.seen, ServerSeen::Version(version) if check_version(version).is_err())
    }
}

impl Nats {
    /// Looks at every server that is known, each once.
    pub async fn servers(&self) -> Vec<ServerReport> {
        let info = self.client().server_info();
        let mut addresses: Vec<String> =
            self.options().url.split(',').map(|url| url.trim().to_owned()).collect();
        addresses.extend(info.connect_urls);
        let mut found = call_all(addresses).await;
        // The one that this process is connected to has told already.
        let seen =
            if info.jetstream { ServerSeen::Version(info.version) } else { ServerSeen::WithoutJetStream };
        found.insert(info.server_name.clone(), ServerReport { server: info.server_name, seen });
        // Who is seen so needs no call.
        for server in durability::servers(self.options()).await.unwrap_or_default() {
            let name = server.get("server_name").and_then(Value::as_str).unwrap_or_default().to_owned();
            let jetstream = server.pointer("/jetstream/config").is_some_and(Value::is_object);
            found.insert(name.clone(), report(name, jetstream, &server));
        }
        found.into_values().collect()
    }

    /// The same, and refuses where one of them is too old; gives those that could not be asked.
    ///
    /// # Errors
    /// [`NatsError::OldServer`].
    pub async fn require_versions(&self) -> Result<Vec<ServerReport>, NatsError> {
        let servers = self.servers().await;
        for server in &servers {
            if let (true, ServerSeen::Version(found)) = (server.is_old(), &server.seen) {
                return Err(NatsError::OldServer { server: server.server.clone(), found: found.clone() });
            }
        }
        Ok(servers.into_iter().filter(|server| matches!(server.seen, ServerSeen::Unseen(_))).collect())
    }
}

/// Calls these addresses and those that who answers there names; by the servers' names.
async fn call_all(mut addresses: Vec<String>) -> BTreeMap<String, ServerReport> {
    let (mut found, mut called) = (BTreeMap::new(), Vec::new());
    loop {
        addresses.sort_unstable();
        addresses.dedup();
        addresses.retain(|address| !address.is_empty() && !called.contains(address));
        addresses.truncate(ADDRESSES_MAX.saturating_sub(called.len()));
        if addresses.is_empty() {
            return found;
        }
        let answers = join_all(addresses.iter().map(|address| call(address))).await;
        let mut named = Vec::new();
        for (address, answer) in addresses.iter().zip(answers) {
            let address = super::connection::without_password(address);
            let (name, report) = match answer {
                Ok(info) => {
                    let others = info.get("connect_urls").and_then(Value::as_array);
                    named.extend(others.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned));
                    let name = info.get("server_name").and_then(Value::as_str).unwrap_or(&address).to_owned();
                    let jetstream = info.get("jetstream").and_then(Value::as_bool) == Some(true);
                    (name.clone(), report(name, jetstream, &info))
                }
                Err(why) => {
                    (address.clone(), ServerReport { server: address, seen: ServerSeen::Unseen(why) })
                }
            };
            found.insert(name, report);
        }
        called.append(&mut addresses);
        addresses = named;
    }
}

fn report(server: String, jetstream: bool, about: &Value) -> ServerReport {
    let version = about.get("version").and_then(Value::as_str).unwrap_or_default().to_owned();
    let seen = if jetstream { ServerSeen::Version(version) } else { ServerSeen::WithoutJetStream };
    ServerReport { server, seen }
}

/// What a server says first.
async fn call(address: &str) -> Result<Value, String> {
    let server: ServerAddr = address.parse().map_err(|why| format!("its address cannot be read: {why}"))?;
    if server.is_websocket() {
        return Err("over a WebSocket it says nothing first".to_owned());
    }
    let first = async {
        let connection = TcpStream::connect((server.host().to_owned(), server.port())).await?;
        let mut line = String::new();
        BufReader::new(connection.take(LINE_BYTES_MAX)).read_line(&mut line).await?;
        Ok::<_, std::io::Error>(line)
    };
    let line = match tokio::time::timeout(ANSWER, first).await {
        Ok(line) => line.map_err(|why| why.to_string())?,
        Err(_) => return Err("it does not say who it is".to_owned()),
    };
    let info = line.strip_prefix("INFO ").ok_or("who answers there is no NATS server")?;
    serde_json::from_str(info).map_err(|why| format!("what it says cannot be read: {why}"))
}
