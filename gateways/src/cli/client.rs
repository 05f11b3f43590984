//! Calls a served arena's HTTP API for an operator: the URL is the operator's own, so it goes through that door.

use crate::egress::{Egress, EgressOptions, OperatorUrl, Outcome};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::time::Duration;

const DEADLINE: Duration = Duration::from_secs(30);
const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A served arena.
pub(super) struct Client {
    egress: Egress,
    server: String,
    root: OperatorUrl,
}

impl Client {
    pub(super) fn new(server: &str) -> Result<Self> {
        let egress = Egress::new(EgressOptions::default())?;
        let root = OperatorUrl::from_command_line(server)?;
        Ok(Self { egress, server: server.trim_end_matches('/').to_owned(), root })
    }

    /// The JSON at a path of the arena.
    pub(super) async fn get(&self, path: &str, api_key: Option<&str>) -> Result<Value> {
        let url = self.root.at(path)?;
        let exchange = self.egress.operator().get(&url, &headers(api_key), DEADLINE, ANSWER_BYTES_MAX).await;
        answer(&self.server, exchange.outcome)
    }

    /// The JSON that a POST answers.
    pub(super) async fn post(&self, path: &str, api_key: Option<&str>, body: &Value) -> Result<Value> {
        let url = self.root.at(path)?;
        let exchange = self
            .egress
            .operator()
            .post(&url, &headers(api_key), body.to_string(), DEADLINE, ANSWER_BYTES_MAX)
            .await;
        answer(&self.server, exchange.outcome)
    }
}

fn headers(api_key: Option<&str>) -> Vec<(&'static str, String)> {
    let mut headers =
        vec![("content-type", "application/json".to_owned()), ("accept", "application/json".to_owned())];
    headers.extend(api_key.map(|key| ("authorization", format!("Bearer {key}"))));
    headers
}

fn answer(server: &str, outcome: Outcome) -> Result<Value> {
    match outcome {
        Outcome::Fault { detail, .. } => {
            bail!("{server} does not answer: {detail}. Is `arena serve` running there?")
        }
        Outcome::Reply { too_large: true, .. } => {
            bail!("{server} answers with more than {ANSWER_BYTES_MAX} bytes")
        }
        Outcome::Reply { status, body, .. } => {
            let value: Value = serde_json::from_slice(&body).with_context(|| {
                format!("{server} answers with status {status} and no JSON: is it an arena?")
            })?;
            if (200..300).contains(&status) {
                return Ok(value);
            }
            let code = value["code"].as_str().unwrap_or("unknown");
            let detail = value["detail"].as_str().unwrap_or("no detail");
            bail!("{detail} ({status}, {code})")
        }
    }
}
