//! The view of the agents: who is there, how it is reached, what it is called. What never belongs here: a credential, in any
//! form.

use crate::{
    error::{Fault, ViewError},
    name::ViewName,
    partition::FIRST,
    projector::{Changes, Projector, Record},
    sealed::{SealedColumns, columns},
    views::{LIST_ROWS_MAX, Views},
};
use arena_journal::{TextOwner, Texts};
use arena_schema::{
    Event, LogTime,
    event::registry::{AgentRegistered, EndpointSet},
    id::{AgentId, AgentKey, ChallengePolicy, ConnectionMethod, Handle, Partition, Protocol, PublicSlug},
};
use rusqlite::{Connection, Params, Row, Transaction, params};

/// The view's name.
pub(crate) const NAME: &str = "agents";

const SCHEMA: &str = "
CREATE TABLE agents (
    slot INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    id BLOB NOT NULL UNIQUE,
    public_slug BLOB NOT NULL UNIQUE,
    handle TEXT NOT NULL UNIQUE,
    name_commitment BLOB,
    name_sealed BLOB,
    protocol INTEGER NOT NULL,
    method INTEGER NOT NULL,
    endpoint_commitment BLOB,
    endpoint_sealed BLOB,
    challenges INTEGER NOT NULL,
    registered_at INTEGER NOT NULL,
    PRIMARY KEY (slot, generation)
) STRICT, WITHOUT ROWID;
";

const COLUMNS: &str =
    "slot, generation, id, public_slug, handle, name_commitment, name_sealed, protocol, method,
    endpoint_commitment, endpoint_sealed, challenges, registered_at";

/// An agent, with its texts in clear.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentRow {
    /// Its place inside the engine.
    pub key: AgentKey,
    /// Its external id, also its texts' owner.
    pub id: AgentId,
    /// Where its public page stands.
    pub public_slug: PublicSlug,
    /// Its permanent name.
    pub handle: Handle,
    /// Its name for display; the handle where it has none or its key is destroyed.
    pub name: String,
    /// What it speaks.
    pub protocol: Protocol,
    /// How it is reached.
    pub method: ConnectionMethod,
    /// Where it is reached; none where it has no address or its key is destroyed. For its owner and the arena alone.
    pub endpoint: Option<String>,
    /// Whether others may challenge it.
    pub challenges: ChallengePolicy,
    /// When it came to be.
    pub registered_at: LogTime,
}

/// The projection.
pub(crate) struct Agents;

impl Projector for Agents {
    fn name(&self) -> &'static str {
        NAME
    }

    fn version(&self) -> u32 {
        1
    }

    fn schema(&self) -> &'static str {
        SCHEMA
    }

    fn project(&mut self, rows: &Transaction<'_>, record: &Record<'_>, _: &mut Changes) -> Result<(), Fault> {
        for emitted in record.events() {
            match &emitted.event {
                Event::AgentRegistered(event) => registered(rows, record, event)?,
                Event::EndpointSet(event) => endpoint_set(rows, record, event)?,
                _ => {}
            }
        }
        Ok(())
    }
}

fn registered(rows: &Transaction<'_>, record: &Record<'_>, event: &AgentRegistered) -> Result<(), Fault> {
    let (name_commitment, name_sealed) = columns(record, event.name.as_ref());
    let (endpoint_commitment, endpoint_sealed) = columns(record, event.endpoint.as_ref());
    rows.prepare_cached(&format!(
        "INSERT INTO agents ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)"
    ))?
    .execute(params![
        event.agent.slot,
        event.agent.generation,
        event.id.0,
        event.public_slug.0,
        event.handle.as_str(),
        name_commitment,
        name_sealed,
        event.protocol.code(),
        event.method.code(),
        endpoint_commitment,
        endpoint_sealed,
        event.challenges.code(),
        record.time().0.cast_signed(),
    ])?;
    Ok(())
}

fn endpoint_set(rows: &Transaction<'_>, record: &Record<'_>, event: &EndpointSet) -> Result<(), Fault> {
    let AgentKey { slot, generation } = event.agent;
    let mut changed = rows
        .prepare_cached("UPDATE agents SET challenges = ?3 WHERE slot = ?1 AND generation = ?2")?
        .execute(params![slot, generation, event.challenges.code()])?;
    if event.endpoint.is_some() {
        let (commitment, sealed) = columns(record, event.endpoint.as_ref());
        changed = rows
            .prepare_cached(
                "UPDATE agents SET endpoint_commitment = ?3, endpoint_sealed = ?4
                 WHERE slot = ?1 AND generation = ?2",
            )?
            .execute(params![slot, generation, commitment, sealed])?;
    }
    match changed {
        1 => Ok(()),
        _ => Err(Fault::Damaged(format!(
            "the agent {:?} of record {} is unknown",
            event.agent,
            record.number()
        ))),
    }
}

impl Views {
    /// The agent under this key.
    ///
    /// # Errors
    /// [`ViewError`].
    pub fn agent(&self, key: AgentKey) -> Result<Option<AgentRow>, ViewError> {
        self.one_agent("slot = ?1 AND generation = ?2", params![key.slot, key.generation])
    }

    /// The agent with this external id.
    ///
    /// # Errors
    /// [`ViewError`].
    pub fn agent_by_id(&self, id: &AgentId) -> Result<Option<AgentRow>, ViewError> {
        self.one_agent("id = ?1", [id.0])
    }

    /// The agent of this handle.
    ///
    /// # Errors
    /// [`ViewError`].
    pub fn agent_by_handle(&self, handle: &Handle) -> Result<Option<AgentRow>, ViewError> {
        self.one_agent("handle = ?1", [handle.as_str()])
    }

    /// The agent whose public page stands there.
    ///
    /// # Errors
    /// [`ViewError`].
    pub fn agent_by_public_slug(&self, slug: &PublicSlug) -> Result<Option<AgentRow>, ViewError> {
        self.one_agent("public_slug = ?1", [slug.0])
    }

    /// The agents by handle, those after `after`, at most `limit` (and [`LIST_ROWS_MAX`]) of them.
    ///
    /// # Errors
    /// [`ViewError`].
    pub fn agents(&self, after: Option<&Handle>, limit: u32) -> Result<Vec<AgentRow>, ViewError> {
        // No handle is the empty text, so that all come after it.
        let after = after.map_or("", Handle::as_str);
        self.read(NAME, |rows| {
            let mut select = rows.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM agents WHERE handle > ?1 ORDER BY handle LIMIT ?2"
            ))?;
            let mut found = select.query(params![after, limit.min(LIST_ROWS_MAX)])?;
            let mut agents = Vec::new();
            while let Some(row) = found.next()? {
                agents.push(agent_row(row, self.texts())?);
            }
            Ok(agents)
        })
    }

    /// The agent under a key that another view names, one of this partition. Those of partition 0 are never ahead of this one, so
    /// there a missing agent is damage. Another partition's may be: it follows another journal.
    pub(crate) fn known_agent(&self, named_in: Partition, agent: AgentKey) -> Result<AgentRow, ViewError> {
        self.agent(agent)?.ok_or_else(|| match named_in {
            FIRST => ViewError::View {
                view: ViewName { name: NAME, partition: FIRST },
                action: "read",
                why: Fault::Damaged(format!("the agent {agent:?} is missing")),
            },
            partition => ViewError::Behind { partition, agent },
        })
    }

    fn one_agent(&self, condition: &str, parameters: impl Params) -> Result<Option<AgentRow>, ViewError> {
        self.read(NAME, |rows: &Connection| {
            let mut select =
                rows.prepare_cached(&format!("SELECT {COLUMNS} FROM agents WHERE {condition}"))?;
            let mut found = select.query(parameters)?;
            found.next()?.map(|row| agent_row(row, self.texts())).transpose()
        })
    }
}

fn agent_row(row: &Row<'_>, texts: &Texts) -> Result<AgentRow, Fault> {
    let unknown = |what: &str| Fault::Damaged(format!("an agent's {what} is none that this build knows"));
    let id = AgentId(row.get(2)?);
    let handle = row.get_ref(4)?.as_str().map_err(rusqlite::Error::from)?;
    let handle = Handle::parse(handle).ok_or_else(|| unknown("handle"))?;
    let clear = |at: usize| -> Result<Option<String>, Fault> {
        let Some(sealed) = SealedColumns::read(row, at)? else { return Ok(None) };
        Ok(sealed.open(texts, TextOwner::Agent(id))?.map(|opened| opened.text))
    };
    Ok(AgentRow {
        key: AgentKey { slot: row.get(0)?, generation: row.get(1)? },
        id,
        public_slug: PublicSlug(row.get(3)?),
        name: clear(5)?.unwrap_or_else(|| handle.as_str().to_owned()),
        handle,
        protocol: Protocol::from_code(row.get(7)?).ok_or_else(|| unknown("protocol"))?,
        method: ConnectionMethod::from_code(row.get(8)?).ok_or_else(|| unknown("connection method"))?,
        endpoint: clear(9)?,
        challenges: ChallengePolicy::from_code(row.get(11)?).ok_or_else(|| unknown("policy"))?,
        registered_at: LogTime(row.get::<_, i64>(12)?.cast_unsigned()),
    })
}
