//! A process with the role `engine`: it follows the journal on NATS, keeps its local copy, and leads when it is its turn. What
//! is absent here: every door but that of its health, and every view.

use crate::{
    arena::PARTITION,
    place::{Place, Taking, connect},
    settings::{Role, Settings},
    snapshots,
};
use anyhow::Result;
use arena_journal::{Clock, DataDir, SnapshotMaker, StillClock};
use axum::{Json, Router, extract::State, http::StatusCode, routing::get};
use serde_json::{Value, json};
use std::{future::Future, sync::Arc};
use tokio::net::TcpListener;

/// A running engine.
pub struct Engine {
    taking: Arc<Taking>,
    _maker: Option<SnapshotMaker>,
    _data: DataDir,
}

impl Engine {
    /// Opens the local copy, catches up with the journal, and stands by.
    ///
    /// # Errors
    /// What cannot be reached or does not hold, in words for whoever runs the arena.
    pub async fn open(settings: &Settings, data: DataDir) -> Result<Self> {
        let nats = connect(settings).await?;
        let place = Place::Shared { nats: Box::new(nats), data: data.path().to_owned(), role: Role::Engine };
        let clock = if settings.test_clock { Clock::Still(StillClock::now()) } else { Clock::System };
        let (snapshots, maker) = snapshots::open(&place, data.path(), PARTITION).await?;
        let taking = tokio::task::spawn_blocking(move || {
            let taking = place.start(clock, snapshots, Vec::new(), maker.as_ref())?;
            anyhow::Ok((taking, maker))
        });
        let (taking, maker) = taking.await??;
        Ok(Self { taking: Arc::new(taking), _maker: maker, _data: data })
    }

    /// How it is, over HTTP, until `stop` comes.
    ///
    /// # Errors
    /// What the system says when the listener fails.
    pub async fn serve(
        &self,
        listener: TcpListener,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> Result<()> {
        let routes = Router::new()
            .route("/healthz", get(|| async { Json(json!({"status": "ok"})) }))
            .route("/readyz", get(ready))
            .with_state(Arc::clone(&self.taking));
        axum::serve(listener, routes).with_graceful_shutdown(stop).await?;
        Ok(())
    }

    /// Becomes the reason when it cannot go on.
    pub fn stopped(&self) -> tokio::sync::watch::Receiver<Option<String>> {
        self.taking.handle().stopped()
    }

    /// Gives up the lead, and ends.
    ///
    /// # Errors
    /// What had ended by itself before.
    pub async fn close(self) -> Result<()> {
        let taking = self.taking;
        tokio::task::spawn_blocking(move || match Arc::into_inner(taking) {
            Some(taking) => taking.stop().map_err(anyhow::Error::from),
            None => anyhow::bail!("a request is still being answered"),
        })
        .await?
    }
}

async fn ready(State(taking): State<Arc<Taking>>) -> (StatusCode, Json<Value>) {
    let why = taking.handle().stopped().borrow().clone();
    let record = taking.handle().position().0;
    match why {
        None => {
            (StatusCode::OK, Json(json!({"status": "ready", "record": record, "partition": PARTITION.0})))
        }
        Some(why) => (StatusCode::SERVICE_UNAVAILABLE, Json(json!({"status": "stopped", "why": why}))),
    }
}
