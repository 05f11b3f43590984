//! How near the limits are that an operator set on the journal's streams, on the account that they are of, and on the servers.
//!
//! What a server as a whole may store is told to no ordinary account: it shows on the monitoring port, where the settings name it.

use super::{
    JetStreamJournal,
    connection::Failure,
    durability::ask_monitors,
    eras::Asked,
    streams::{State, Stream},
};
use crate::{
    journal::JournalError,
    space::{Limit, Measure},
};
use serde_json::Value;

impl JetStreamJournal {
    /// The limits on where the next records and texts go; asked once.
    ///
    /// # Errors
    /// [`JournalError::Store`].
    pub(crate) async fn limits(&mut self) -> Result<Vec<Limit>, JournalError> {
        let records = self.go_on(Asked::Once).await?;
        let mut limits = of_stream(&self.records, &records);
        let failed = |why: Failure| self.texts.error(&self.nats, "read", &why);
        let texts = self.texts.find(&self.nats).await.map_err(failed)?;
        limits.extend(texts.iter().flat_map(|texts| of_stream(&self.texts, texts)));
        // Whoever may not ask it knows nothing of it.
        if let Ok(account) = self.nats.api("INFO", &Value::Null).await {
            limits.extend(of_account(&account, self.nats.options().replicas));
        }
        // Who does not tell is no reason to know nothing of the others.
        if let Some(urls) = &self.nats.options().monitor_url
            && let Ok(servers) = ask_monitors(urls).await
        {
            limits.extend(servers.iter().filter_map(of_server));
        }
        Ok(limits)
    }
}

fn of_stream(stream: &Stream, state: &State) -> Vec<Limit> {
    let of = || format!("the stream {}", stream.name);
    let limit = |used, most: Option<u64>, unit| {
        most.map(|most| Limit { of: of(), measure: Measure::Used { used, most, unit } })
    };
    [limit(state.bytes, state.bytes_max, "bytes"), limit(state.messages, state.messages_max, "messages")]
        .into_iter()
        .flatten()
        .collect()
}

/// What an account may store in files, or in files with so many copies where it has a limit for each.
fn of_account(account: &Value, replicas: usize) -> Option<Limit> {
    let tier = account.get("tiers").and_then(|tiers| tiers.get(format!("R{replicas}")));
    let says = tier.unwrap_or(account);
    let most = says.pointer("/limits/max_storage")?.as_i64().and_then(|most| u64::try_from(most).ok())?;
    let used = says.get("storage")?.as_u64()?;
    let of = "the account on NATS".to_owned();
    (most > 0).then_some(Limit { of, measure: Measure::Used { used, most, unit: "bytes" } })
}

/// What a server may store in files, by its `/varz`.
fn of_server(server: &Value) -> Option<Limit> {
    let says = |pointer: &str| server.pointer(pointer).and_then(Value::as_u64);
    let most = says("/jetstream/config/max_storage").filter(|most| *most > 0)?;
    let used = says("/jetstream/stats/storage")?;
    let name = server.get("server_name").and_then(Value::as_str).unwrap_or("without a name");
    let of = format!("the NATS server {name}");
    Some(Limit { of, measure: Measure::Used { used, most, unit: "bytes" } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_account_has_a_limit_where_one_is_told_and_its_tiers_go_before_it() {
        let unlimited = json!({"storage": 7, "limits": {"max_storage": -1}});
        assert_eq!(of_account(&unlimited, 1), None);
        let limited = json!({"storage": 7, "limits": {"max_storage": 8}});
        assert_eq!(
            of_account(&limited, 1).unwrap().measure,
            Measure::Used { used: 7, most: 8, unit: "bytes" }
        );
        let tiers = json!({"storage": 7, "limits": {"max_storage": 0}, "tiers": {
            "R1": {"storage": 1, "limits": {"max_storage": -1}},
            "R3": {"storage": 3, "limits": {"max_storage": 4}},
        }});
        assert_eq!(of_account(&tiers, 1), None);
        assert_eq!(of_account(&tiers, 3).unwrap().measure, Measure::Used { used: 3, most: 4, unit: "bytes" });
        assert_eq!(of_account(&json!({}), 1), None);
    }

    #[test]
    fn a_server_s_store_is_told_by_its_monitoring_port_where_it_has_one() {
        let server =
            |config| json!({"server_name": "n1", "jetstream": {"config": config, "stats": {"storage": 95}}});
        let full = of_server(&server(json!({"max_storage": 100}))).unwrap();
        assert!(full.is_near() && full.to_string() == "the NATS server n1 has 95 of 100 bytes", "{full}");
        assert_eq!(of_server(&server(json!({"max_storage": -1}))), None);
        assert_eq!(of_server(&json!({"server_name": "n1", "jetstream": {}})), None);
    }
}
