//! What a public event says, as JSON. What belongs here: one shape a public kind, its fields in their order. What never does: a
//! text that anybody wrote, a secret or its hash, an address or its commitment, a process of the arena's own.

use crate::{
    Event, LogTime, Move, Seat,
    command::matches::StrikeCause,
    event::matches::{EndReason, MatchEnded, MatchOpened, MovePlayed, StrikeRecorded},
    family::Family,
    id::{
        AgentKey, ChallengePolicy, ConnectionMethod, GameCode, Handle, Lineage, MatchId, MatchKey, Protocol,
        PublicSlug, RulesVersion,
    },
    public::{Audience, Decision, EventId, rfc3339_ms},
    subject::{self, Key},
};
use serde::{Serialize, Serializer};
use std::fmt::Display;

/// An agent as others know it.
#[derive(Debug, Clone, Copy)]
pub struct AgentNamed<'a> {
    /// Its permanent name.
    pub handle: &'a Handle,
    /// What it speaks.
    pub protocol: Protocol,
    /// Whether others may challenge it, before the event in question.
    pub challenges: ChallengePolicy,
}

/// An open match as others know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MatchNamed {
    /// Its external id.
    pub id: MatchId,
    /// What is played.
    pub game: GameCode,
    /// Whether it counts.
    pub rated: bool,
    /// The agents of the first and the second seat.
    pub seats: [AgentKey; 2],
}

/// What the dense keys and codes in an event stand for outside, as of just before that event.
pub trait Names {
    /// The agent under this key.
    fn agent(&self, key: AgentKey) -> Option<AgentNamed<'_>>;

    /// The match under this key; also in the event that ends it.
    fn open_match(&self, key: MatchKey) -> Option<MatchNamed>;

    /// A game's name in every protocol.
    fn game(&self, game: GameCode) -> Option<&'static str>;

    /// A move's text form; `None` where the game keeps a decision to itself at first, and the event does not show it.
    fn move_text(&self, game: GameCode, mv: &Move) -> Option<String>;
}

/// A name that an event needs and that nobody knows: the names are not as of just before that event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the event {id} speaks of {what}, which is not known here: the fold began with the state of another record"
)]
pub struct Unnamed {
    /// The event.
    pub id: EventId,
    /// What has no name.
    pub what: String,
}

/// An event as everybody may read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicEvent {
    /// Its id.
    pub id: EventId,
    /// Its family.
    pub family: Family,
    /// Its kind's name.
    pub kind: &'static str,
    /// The subject that it is published on.
    pub subject: String,
    /// One JSON object, on one line without an end.
    pub json: String,
}

/// What has a text form, as that in JSON.
struct Shown<T>(T);

impl<T: Display> Serialize for Shown<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// The external id of a match in its text form.
struct MatchText(MatchId);

impl Display for MatchText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.to_uuid().hyphenated().fmt(f)
    }
}

/// The address of a match's replay.
struct ReplayPath(MatchId);

impl Display for ReplayPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "/m/{}", MatchText(self.0))
    }
}

/// The address of an agent's profile, which shows its name.
struct ProfilePath<'a>(&'a Handle);

impl Display for ProfilePath<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "/api/v1/agents/{}", self.0)
    }
}

/// Who sits where, as a replay has it, without the name for display.
#[derive(Serialize)]
struct Player<'a> {
    /// `X` moves first, `O` second.
    seat: Shown<Seat>,
    /// Its handle.
    agent: Shown<&'a Handle>,
    /// What it speaks.
    protocol: Shown<Protocol>,
}

/// The fields of each kind behind those that all have. `README.md` is made of what stands here.
#[derive(Serialize)]
#[serde(untagged)]
enum Facts<'a> {
    SequencerAnnounced {
        /// Its leadership, from 1; never less than those before.
        epoch: u64,
        /// By how much the deadlines that are ours to keep moved, in microseconds.
        outage_us: u64,
    },
    RulesActivated {
        /// The rules that hold from the next record on.
        rules_version: u32,
    },
    LineageBegun {
        /// The history that the ids of the events behind this one name.
        lineage: Shown<Lineage>,
        /// Ids of the lineage before hold up to this record; what was read behind it never happened.
        last_record_in_common: u64,
    },
    AgentRegistered {
        /// Its handle, which is for ever.
        agent: Shown<&'a Handle>,
        /// The 24 hex digits under which its public page stands.
        public_slug: Shown<PublicSlug>,
        /// What it speaks.
        protocol: Shown<Protocol>,
        /// How it is reached; never where.
        connection_method: Shown<ConnectionMethod>,
        /// Whether others may challenge it: `open` or `none`.
        challenges: Shown<ChallengePolicy>,
        /// The address that shows its name for display.
        profile: Shown<ProfilePath<'a>>,
    },
    EndpointSet {
        /// Its handle.
        agent: Shown<&'a Handle>,
        /// Whether others may challenge it from here on: `open` or `none`. Where it is what it was, nothing is told.
        challenges: Shown<ChallengePolicy>,
    },
    MatchOpened {
        /// The match.
        match_id: Shown<MatchText>,
        /// What is played.
        game: &'static str,
        /// Whether it counts.
        rated: bool,
        /// The rules that it is opened under.
        rules_version: u32,
        /// How long a seat has for an answer.
        deadline_ms: u32,
        /// The two seats, the first mover first.
        players: [Player<'a>; 2],
        /// The address of its replay (with `.json` behind it as JSON), which runs along.
        replay: Shown<ReplayPath>,
    },
    MovePlayed {
        /// The match.
        match_id: Shown<MatchText>,
        /// What is played.
        game: &'static str,
        /// Who made it.
        seat: Shown<Seat>,
        /// The handle of who sits there.
        agent: Shown<&'a Handle>,
        /// The ply, from 1.
        move_number: u16,
        /// The move in the game's text form; only where the game shows it at once.
        #[serde(skip_serializing_if = "Option::is_none")]
        r#move: Option<String>,
        /// How long the answer took.
        latency_ms: u32,
        /// The address that shows what was said of the move, where something was.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason_at: Option<Shown<ReplayPath>>,
    },
    StrikeRecorded {
        /// The match.
        match_id: Shown<MatchText>,
        /// What is played.
        game: &'static str,
        /// Who struck.
        seat: Shown<Seat>,
        /// The handle of who sits there.
        agent: Shown<&'a Handle>,
        /// The ply that was asked for, from 1.
        move_number: u16,
        /// The move that was not legal, where that is the cause and it is a move of the game.
        #[serde(skip_serializing_if = "Option::is_none")]
        r#move: Option<String>,
        /// What was wrong with the reply.
        cause: Shown<StrikeCause>,
        /// The strikes of this seat in the match, this one counted.
        strikes: u8,
        /// How long it took.
        latency_ms: u32,
        /// The HTTP status, where one came.
        status: Option<u16>,
    },
    MatchEnded {
        /// The match.
        match_id: Shown<MatchText>,
        /// What was played.
        game: &'static str,
        /// Whether it was to count; one that is void does not.
        rated: bool,
        /// `finished`, or `void` without a result.
        status: &'static str,
        /// The two seats, the first mover first.
        players: [Player<'a>; 2],
        /// The seat that won; nobody in a draw or a void match.
        winner: Option<Shown<Seat>>,
        /// How it ended.
        reason: Shown<EndReason>,
        /// The address of its replay (with `.json` behind it as JSON).
        replay: Shown<ReplayPath>,
    },
}

#[derive(Serialize)]
struct Line<'a> {
    /// The event's id.
    id: Shown<EventId>,
    /// The time of its record: RFC 3339 in UTC with milliseconds, as on the replay. Events of one record have one time.
    at: String,
    /// The family that its kind is of.
    family: Shown<Family>,
    /// Its kind; no two families have one of the same name.
    kind: &'static str,
    /// What it is about, as in the subject: a match's id, an agent's handle, else `-`.
    key: Shown<Key<'a>>,
    #[serde(flatten)]
    facts: Facts<'a>,
}

/// What everybody may read of an event; `None` where it is not public. `at` and `rules` are its record's.
///
/// # Errors
/// [`Unnamed`]: `names` are not those of just before the event.
pub fn public_event(
    id: EventId,
    at: LogTime,
    rules: RulesVersion,
    event: &Event,
    names: &impl Names,
) -> Result<Option<PublicEvent>, Unnamed> {
    let Some((key, facts)) = Look { id, names }.facts(rules, event)? else { return Ok(None) };
    let decision = Decision::of(event);
    assert_eq!(decision.audience, Audience::Public, "{} has facts and is not public", decision.name);
    let (family, kind) = (decision.family(), decision.name);
    let subject = subject::event(id.partition, family, kind, &key);
    let line =
        Line { id: Shown(id), at: rfc3339_ms(at), family: Shown(family), kind, key: Shown(key), facts };
    let json = serde_json::to_string(&line).expect("texts and integers are written to memory");
    Ok(Some(PublicEvent { id, family, kind, subject, json }))
}

/// Looks up what an event speaks of.
struct Look<'a, N> {
    id: EventId,
    names: &'a N,
}

impl<'a, N: Names> Look<'a, N> {
    /// Every kind is decided here and in [`DECISIONS`](super::DECISIONS).
    fn facts(&self, rules: RulesVersion, event: &'a Event) -> Result<Option<(Key<'a>, Facts<'a>)>, Unnamed> {
        let told = match event {
            Event::Rejected(_)
            | Event::NumberSeen(_)
            | Event::SecondKeyKept(_)
            | Event::SecondKeyExpired(_)
            | Event::GatewayAnnounced(_)
            | Event::GatewayRemoved(_)
            | Event::EraClosed(_)
            | Event::CredentialRotated(_)
            | Event::TurnOpened(_)
            | Event::PartitionOpened(_)
            | Event::OutboxSent(_)
            | Event::OutboxTrimmed(_)
            | Event::GuestArrived(_)
            | Event::GuestLeft(_)
            | Event::MatchSent(_)
            | Event::MatchReturned(_)
            | Event::SessionCreated(_)
            | Event::SessionJoined(_)
            | Event::SessionRejoined(_)
            | Event::EntrySent(_)
            | Event::ReadsMoved(_)
            | Event::SessionLeft(_)
            | Event::ParticipantReplaced(_)
            | Event::AccountSet(_)
            | Event::SessionTouched(_)
            | Event::DeletionDue(_)
            | Event::DeletionAnswered(_)
            | Event::SessionEnded(_) => return Ok(None),
            Event::SequencerAnnounced(event) => {
                let facts = Facts::SequencerAnnounced { epoch: event.epoch.0, outage_us: event.outage_us };
                (Key::None, facts)
            }
            Event::RulesActivated(event) => {
                (Key::None, Facts::RulesActivated { rules_version: event.version.0 })
            }
            Event::LineageBegun(event) => {
                let facts = Facts::LineageBegun {
                    lineage: Shown(event.lineage),
                    last_record_in_common: event.number.0,
                };
                (Key::None, facts)
            }
            Event::AgentRegistered(event) => {
                let facts = Facts::AgentRegistered {
                    agent: Shown(&event.handle),
                    public_slug: Shown(event.public_slug),
                    protocol: Shown(event.protocol),
                    connection_method: Shown(event.method),
                    challenges: Shown(event.challenges),
                    profile: Shown(ProfilePath(&event.handle)),
                };
                (Key::Agent(&event.handle), facts)
            }
            Event::EndpointSet(event) => {
                let agent = self.agent(event.agent)?;
                if agent.challenges == event.challenges {
                    return Ok(None);
                }
                let facts =
                    Facts::EndpointSet { agent: Shown(agent.handle), challenges: Shown(event.challenges) };
                (Key::Agent(agent.handle), facts)
            }
            Event::MatchOpened(event) => (Key::Match(event.id), self.opened(rules, event)?),
            Event::MovePlayed(event) => self.played(event)?,
            Event::StrikeRecorded(event) => self.struck(event)?,
            Event::MatchEnded(event) => self.ended(event)?,
        };
        Ok(Some(told))
    }

    fn opened(&self, rules: RulesVersion, event: &MatchOpened) -> Result<Facts<'a>, Unnamed> {
        Ok(Facts::MatchOpened {
            match_id: Shown(MatchText(event.id)),
            game: self.game(event.game)?,
            rated: event.rated,
            rules_version: rules.0,
            deadline_ms: event.deadline_ms,
            players: self.players(event.seats)?,
            replay: Shown(ReplayPath(event.id)),
        })
    }

    fn played(&self, event: &MovePlayed) -> Result<(Key<'a>, Facts<'a>), Unnamed> {
        let named = self.open_match(event.key)?;
        let facts = Facts::MovePlayed {
            match_id: Shown(MatchText(named.id)),
            game: self.game(named.game)?,
            seat: Shown(event.seat),
            agent: Shown(self.agent(named.seats[event.seat.index()])?.handle),
            move_number: event.ply,
            r#move: self.names.move_text(named.game, &event.mv),
            latency_ms: event.latency_ms,
            reason_at: event.reason.map(|_| Shown(ReplayPath(named.id))),
        };
        Ok((Key::Match(named.id), facts))
    }

    fn struck(&self, event: &StrikeRecorded) -> Result<(Key<'a>, Facts<'a>), Unnamed> {
        let named = self.open_match(event.key)?;
        let facts = Facts::StrikeRecorded {
            match_id: Shown(MatchText(named.id)),
            game: self.game(named.game)?,
            seat: Shown(event.seat),
            agent: Shown(self.agent(named.seats[event.seat.index()])?.handle),
            move_number: event.ply,
            r#move: event.mv.and_then(|mv| self.names.move_text(named.game, &mv)),
            cause: Shown(event.cause),
            strikes: event.strikes,
            latency_ms: event.latency_ms,
            status: event.status,
        };
        Ok((Key::Match(named.id), facts))
    }

    fn ended(&self, event: &MatchEnded) -> Result<(Key<'a>, Facts<'a>), Unnamed> {
        let named = self.open_match(event.key)?;
        let facts = Facts::MatchEnded {
            match_id: Shown(MatchText(named.id)),
            game: self.game(named.game)?,
            rated: named.rated,
            status: if event.reason == EndReason::Void { "void" } else { "finished" },
            players: self.players(named.seats)?,
            winner: event.winner.map(Shown),
            reason: Shown(event.reason),
            replay: Shown(ReplayPath(named.id)),
        };
        Ok((Key::Match(named.id), facts))
    }

    fn players(&self, seats: [AgentKey; 2]) -> Result<[Player<'a>; 2], Unnamed> {
        let player = |seat: Seat| {
            let named = self.agent(seats[seat.index()])?;
            Ok(Player { seat: Shown(seat), agent: Shown(named.handle), protocol: Shown(named.protocol) })
        };
        Ok([player(Seat::First)?, player(Seat::Second)?])
    }

    fn agent(&self, key: AgentKey) -> Result<AgentNamed<'a>, Unnamed> {
        self.names.agent(key).ok_or_else(|| self.unnamed(format!("the agent {key:?}")))
    }

    fn open_match(&self, key: MatchKey) -> Result<MatchNamed, Unnamed> {
        self.names.open_match(key).ok_or_else(|| self.unnamed(format!("the match {key:?}")))
    }

    fn game(&self, game: GameCode) -> Result<&'static str, Unnamed> {
        self.names.game(game).ok_or_else(|| self.unnamed(format!("the game of code {}", game.0)))
    }

    fn unnamed(&self, what: String) -> Unnamed {
        Unnamed { id: self.id, what }
    }
}
