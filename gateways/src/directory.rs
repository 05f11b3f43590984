//! Who an agent is and where it is reached, in clear: read from the views, kept at hand while the state still says the same.

use crate::egress::{Egress, EndpointUrl, Untrusted, UrlRefusal};
use arena_engine::State;
use arena_projectors::{ViewError, Views};
use arena_schema::{
    TextRef,
    id::{AgentId, AgentKey, Partition, Protocol, RecordNumber},
};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// How many cards are kept at hand.
const CARDS_MAX: usize = 8_192;
/// How long a look-up waits for the view; it is behind by milliseconds as a rule.
const VIEW_WAIT: Duration = Duration::from_secs(10);

/// What is needed of an agent to ask it.
#[derive(Clone)]
pub struct Card {
    /// Its external id, whose key seals what it writes.
    pub id: AgentId,
    /// Its permanent name.
    pub handle: String,
    /// Its name for display; the handle, where it was forgotten.
    pub name: String,
    /// What it speaks.
    pub protocol: Protocol,
    /// Where it is reached; why not, where its URL is one that may not be called (any more).
    pub endpoint: Option<Result<EndpointUrl, UrlRefusal>>,
    /// The way out to it, with connections that it shares with no other agent.
    pub line: Untrusted,
    as_of: Option<TextRef>,
}

/// What the state says of an agent that a card depends on, and up to which record.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    agent: AgentKey,
    endpoint: Option<TextRef>,
    position: RecordNumber,
}

impl Known {
    /// As the state has it; none where it has no such agent.
    pub fn of(state: &State, agent: AgentKey) -> Option<Self> {
        let endpoint = state.registry().agent(agent)?.endpoint;
        Some(Self { agent, endpoint, position: state.head().number })
    }
}

/// Why an agent cannot be looked up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LookUpError {
    /// The views have no such agent.
    #[error("there is no such agent")]
    Unknown,
    /// There is no way out to it.
    #[error("the way out cannot be set up: {0}")]
    Line(String),
    /// The view is behind, or cannot be read.
    #[error("the view of the agents cannot be read: {0}")]
    View(String),
}

/// Looks agents up. A clone is the same.
#[derive(Clone)]
pub struct Directory {
    views: Views,
    egress: Egress,
    cards: Arc<Mutex<HashMap<AgentKey, Arc<Card>>>>,
}

impl Directory {
    /// Over the views and the way out.
    pub fn new(views: Views, egress: Egress) -> Self {
        Self { views, egress, cards: Arc::default() }
    }

    /// An agent's card, where the state says this of it.
    ///
    /// # Errors
    /// [`LookUpError`].
    pub async fn card(&self, known: Known) -> Result<Arc<Card>, LookUpError> {
        let Known { agent, endpoint, position } = known;
        if let Some(card) = self.cards().get(&agent)
            && card.as_of == endpoint
        {
            return Ok(Arc::clone(card));
        }
        let behind = |why: &dyn std::fmt::Display| LookUpError::View(why.to_string());
        self.views.wait_for(Partition(0), position, VIEW_WAIT).await.map_err(|why| behind(&why))?;
        let views = self.views.clone();
        let read = tokio::task::spawn_blocking(move || -> Result<_, ViewError> { views.agent(agent) });
        let row = read
            .await
            .map_err(|why| behind(&why))?
            .map_err(|why| behind(&why))?
            .ok_or(LookUpError::Unknown)?;
        let card = Arc::new(Card {
            id: row.id,
            handle: row.handle.as_str().to_owned(),
            name: row.name,
            protocol: row.protocol,
            endpoint: row.endpoint.map(|url| EndpointUrl::parse(&url, self.egress.policy())),
            line: self.egress.untrusted().line().map_err(|why| LookUpError::Line(why.to_string()))?,
            as_of: endpoint,
        });
        let mut cards = self.cards();
        if cards.len() >= CARDS_MAX {
            cards.clear();
        }
        cards.insert(agent, Arc::clone(&card));
        Ok(card)
    }

    fn cards(&self) -> std::sync::MutexGuard<'_, HashMap<AgentKey, Arc<Card>>> {
        self.cards.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
