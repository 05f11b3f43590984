//! A process with the role `engine`: it follows the journal on NATS, keeps its local copy, and leads when it is its turn. What
//! is absent here: every door but that of its health, and every view.

use crate::{
    metrics::{self, Vitals},
    place::{Place, Taking, connect, shared_vault},
    settings::{Role, Settings},
    snapshots,
};
use anyhow::Result;
use arena_journal::{Clock, DataDir, Payloads, SnapshotMaker, StillClock, Texts};
use axum::{Json, Router, extract::State, http::StatusCode, response::Response, routing::get};
use serde_json::{Value, json};
use std::{future::Future, sync::Arc};
use tokio::{net::TcpListener, sync::watch};

/// A running engine.
pub struct Engine {
    taking: Arc<Taking>,
    stopped: watch::Receiver<Option<String>>,
    _makers: Vec<Option<SnapshotMaker>>,
    data: DataDir,
}

impl Engine {
    /// Opens the local copy, catches up with the journal, and stands by.
    ///
    /// # Errors
    /// What cannot be reached or does not hold, in words for whoever runs the arena.
    pub async fn open(settings: &Settings, data: DataDir) -> Result<Self> {
        let nats = connect(settings).await?;
        // What gateways use and may not make; and that this process has their key.
        let vault = Arc::new(shared_vault(&nats, settings).await?);
        Payloads::in_objects(&nats, Texts::new(vault)).await?;
        let folder = data.path().to_owned();
        let place = Place::shared(nats, folder, Role::Engine, settings.partitions).await?;
        let clock = if settings.test_clock { Clock::Still(StillClock::now()) } else { Clock::System };
        let (snapshots, makers) = snapshots::open(&place, data.path()).await?;
        let taking = tokio::task::spawn_blocking(move || {
            let taking = place.start(&clock, snapshots.as_ref(), Vec::new(), &makers)?;
            anyhow::Ok((taking, makers))
        });
        let (taking, makers) = taking.await??;
        let stopped = taking.stopped();
        Ok(Self { taking: Arc::new(taking), stopped, _makers: makers, data })
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
        let vitals = Vitals::of(&self.taking, Some(self.data.path()));
        let routes = Router::new()
            .route("/healthz", get(|| async { Json(json!({"status": "ok"})) }))
            .route("/readyz", get(ready))
            .with_state(Arc::clone(&self.taking))
            .merge(Router::new().route("/metrics", get(figures)).with_state(vitals));
        axum::serve(listener, routes).with_graceful_shutdown(stop).await?;
        Ok(())
    }

    /// Becomes the reason when it cannot go on.
    pub fn stopped(&self) -> watch::Receiver<Option<String>> {
        self.stopped.clone()
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
    let handles = taking.handles();
    if let Some(why) = handles.iter().find_map(|handle| handle.stopped().borrow().clone()) {
        return (StatusCode::SERVICE_UNAVAILABLE, Json(json!({"status": "stopped", "why": why})));
    }
    let records: Vec<u64> = handles.iter().map(|handle| handle.position().0).collect();
    let short = handles.iter().find_map(|handle| handle.space().shortage());
    let short = short.map(|shortage| shortage.to_string());
    let body = json!({
        "status": "ready", "record": records[0], "partition": 0, "records": records, "short_of_space": short,
    });
    (StatusCode::OK, Json(body))
}

async fn figures(State(vitals): State<Vitals>) -> Response {
    metrics::answer(vitals.text(|_| None))
}
