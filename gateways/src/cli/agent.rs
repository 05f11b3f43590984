//! `arena agent`: the HTTP API from the command line.

use super::{
    client::Client,
    runtime,
    terminal::{plain, say},
};
use anyhow::Result;
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use std::process::ExitCode;

#[derive(Subcommand)]
pub(super) enum AgentCommand {
    /// Register an agent; its api_key is shown this once.
    Register {
        #[command(flatten)]
        at: At,
        /// The agent's handle: 3 to 32 of A-Z a-z 0-9 _ and -
        #[arg(long)]
        name: String,
        /// Where we post its turns.
        #[arg(long, value_name = "URL")]
        endpoint: String,
        /// The protocol that it speaks.
        #[arg(long, default_value = "agentarena/1")]
        protocol: String,
        /// Whether others may challenge it: open or none.
        #[arg(long, default_value = "open")]
        challenges: String,
        /// Where the arena asks for one.
        #[arg(long)]
        invitation: Option<String>,
    },
    /// List the agents.
    List {
        #[command(flatten)]
        at: At,
    },
    /// Show one agent; with its api_key also its address and its last failures.
    Show {
        #[command(flatten)]
        at: At,
        /// The agent's slug.
        slug: String,
        #[command(flatten)]
        key: Key,
    },
    /// Replace an agent's secret; the new one is shown this once.
    Rotate {
        #[command(flatten)]
        at: At,
        /// The agent's slug.
        slug: String,
        #[command(flatten)]
        key: Key,
    },
}

#[derive(Args)]
pub(super) struct At {
    /// The arena.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:7171")]
    server: String,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(super) struct Key {
    /// The agent's api_key; `-` reads it from standard input, so that it stands in no list of processes.
    #[arg(long, value_name = "KEY")]
    api_key: Option<String>,
}

impl Key {
    fn read(&self) -> Result<Option<String>> {
        match self.api_key.as_deref() {
            Some("-") => {
                let mut line = String::new();
                std::io::stdin().read_line(&mut line)?;
                Ok(Some(line.trim().to_owned()))
            }
            other => Ok(other.map(str::to_owned)),
        }
    }
}

pub(super) fn run(command: &AgentCommand) -> Result<ExitCode> {
    runtime()?.block_on(call(command))?;
    Ok(ExitCode::SUCCESS)
}

async fn call(command: &AgentCommand) -> Result<()> {
    match command {
        AgentCommand::Register { at, name, endpoint, protocol, challenges, invitation } => {
            let mut body = json!({
                "name": name, "connection_method": "remote_endpoint", "protocol": protocol,
                "endpoint_url": endpoint, "challenges": challenges,
            });
            if let Some(code) = invitation {
                body["invitation"] = json!(code);
            }
            let value = Client::new(&at.server)?.post("/api/v1/agents", None, &body).await?;
            show(at, &value);
        }
        AgentCommand::List { at } => {
            let client = Client::new(&at.server)?;
            let mut agents = Vec::new();
            let mut after = String::new();
            loop {
                let page = client.get(&format!("/api/v1/agents?after={after}"), None).await?;
                agents.extend(page["agents"].as_array().cloned().unwrap_or_default());
                match page["next_after"].as_str() {
                    Some(next) => next.clone_into(&mut after),
                    None => break,
                }
            }
            if at.json {
                say!("{}", Value::Array(agents));
                return Ok(());
            }
            say!("{:<32}  {:<14}  {:<16}  name", "slug", "protocol", "method");
            for agent in agents {
                let text = |key: &str| plain(agent[key].as_str().unwrap_or("-"));
                let (slug, protocol, method) = (text("slug"), text("protocol"), text("connection_method"));
                say!("{slug:<32}  {protocol:<14}  {method:<16}  {}", text("name"));
            }
        }
        AgentCommand::Show { at, slug, key } => {
            let key = key.read()?;
            let value =
                Client::new(&at.server)?.get(&format!("/api/v1/agents/{slug}"), key.as_deref()).await?;
            show(at, &value);
        }
        AgentCommand::Rotate { at, slug, key } => {
            let key = key.read()?;
            let path = format!("/api/v1/agents/{slug}/endpoint");
            let value =
                Client::new(&at.server)?.post(&path, key.as_deref(), &json!({"rotate_secret": true})).await?;
            show(at, &value);
        }
    }
    Ok(())
}

/// A field a line for people, JSON for machines.
fn show(at: &At, value: &Value) {
    match value.as_object() {
        Some(fields) if !at.json => {
            for (name, field) in fields {
                match field {
                    Value::String(text) => say!("{name:<18} {}", plain(text)),
                    Value::Array(rows) if !rows.is_empty() => {
                        say!("{name}:");
                        for row in rows {
                            say!("  {}", plain(&row.to_string()));
                        }
                    }
                    other => say!("{name:<18} {other}"),
                }
            }
        }
        _ => say!("{value}"),
    }
}
