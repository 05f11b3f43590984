//! Several partitions: what is decided in partition 0 and played in another.

mod caps;
mod histories;
mod homes;
mod outbox;
mod rooms;
mod rules;

use crate::{RULES_NEWEST, State, testing::Network};
use arena_schema::{
    Command, Event, Move, Rejection, Seat, TextRef, TextSalt,
    command::{
        matches::{First, OpenMatch, SubmitMove, TakeMatch, TurnRef},
        registry::RegisterAgent,
        system::AnnounceGateway,
    },
    id::{
        AgentId, AgentKey, ChallengePolicy, ConnectionMethod, GameCode, Handle, Incarnation, MatchId,
        MatchKey, Partition, ProducerId, Protocol, PublicSlug, Seed,
    },
    record::{CommandHead, Commands, encode_command},
};

pub(super) fn gateway(at: u8) -> AnnounceGateway {
    AnnounceGateway { incarnation: Incarnation([at; 16]), rules_known: RULES_NEWEST }
}

pub(super) fn agent(slot: u32) -> AgentKey {
    AgentKey { slot, generation: 1 }
}

fn register(at: u8, protocol: Protocol, method: ConnectionMethod) -> RegisterAgent {
    RegisterAgent {
        id: AgentId::from_random(Partition(0), [at; 14]),
        public_slug: PublicSlug([at; 12]),
        handle: Handle::parse(&format!("agent-{at}")).unwrap(),
        name: None,
        protocol,
        method,
        endpoint: (method == ConnectionMethod::RemoteEndpoint)
            .then(|| TextRef::commit(&TextSalt([1; 32]), "https://agent.example")),
        challenges: ChallengePolicy::Open,
        credentials: Vec::new(),
    }
}

fn match_id(partition: u16, at: u64) -> MatchId {
    let mut random = [0; 14];
    random[6..].copy_from_slice(&at.to_be_bytes());
    MatchId::from_random(Partition(partition), random)
}

fn open(id: MatchId, players: [u32; 2]) -> OpenMatch {
    OpenMatch {
        id,
        game: GameCode(1),
        players: players.map(agent),
        first: First::Challenger,
        rated: false,
        deadline_ms: 10_000,
        seed: Seed([0; 32]),
    }
}

fn mv(turn: TurnRef, column: u8) -> SubmitMove {
    SubmitMove { turn, mv: Move::from_byte(column), reason: None, excerpt: None, nonce: None, latency_ms: 7 }
}

/// What is asked now in a partition: the turn and who asks.
fn asked(network: &Network, at: usize) -> Vec<(TurnRef, ProducerId)> {
    let mut turns = Vec::new();
    for (slot, generation, open) in network.state(at).matches().open().iter() {
        for &seat in Seat::ALL {
            if let Some(turn) = &open.seat(seat).turn {
                let key = MatchKey { slot, generation };
                turns.push((TurnRef { key, seat, ply: turn.ply, attempt: turn.attempt }, turn.home));
            }
        }
    }
    turns
}

/// A network with two gateways, two agents that we post to and two that come for their turns.
fn two_of_each(partitions: u16) -> Network {
    let mut network = Network::of(partitions);
    network.write(0, gateway(1));
    network.open_all();
    network.write(0, gateway(2));
    for at in 0..4 {
        let method = if at < 2 { ConnectionMethod::RemoteEndpoint } else { ConnectionMethod::Polling };
        by(&mut network, 0, register(at, Protocol::AgentArena, method));
    }
    network.settle();
    network
}

/// A record of one command of the gateway that was announced first.
fn by(network: &mut Network, at: usize, command: impl Into<Command>) -> Vec<Event> {
    let producer = network.state(at).producers().live().next().expect("one is live").0;
    let head = network.by(at, producer);
    network.append(at, &[(head, crate::testing::Body::Known(command.into()))])
}

#[track_caller]
fn refused(events: &[Event], rejection: Rejection) {
    assert_eq!(events.last(), Some(&Event::Rejected(rejection)), "{events:?}");
}

fn names(events: &[Event]) -> Vec<&'static str> {
    let name = |event: &Event| match event {
        Event::Rejected(rejection) => rejection.as_str(),
        event => event.name(),
    };
    events.iter().map(name).collect()
}

/// Two house agents, which are in no count.
fn full() -> Network {
    let mut network = Network::of(2);
    network.write(0, gateway(1));
    network.open_all();
    for at in 0..2 {
        by(&mut network, 0, register(at, Protocol::House, ConnectionMethod::House));
    }
    network
}

/// Decisions on a state that no other partition knows of.
struct Beside(State);

impl Beside {
    fn take(&self, number: u64, take: TakeMatch) -> Vec<&'static str> {
        let head = CommandHead {
            producer: ProducerId::of_partition(Partition(0)),
            number,
            ..CommandHead::SEQUENCER
        };
        let mut bytes = Vec::new();
        encode_command(&head, &take.into(), &mut bytes);
        let view = Commands::of(&bytes).next().unwrap().unwrap();
        let crate::Head { number, time, epoch, .. } = *self.0.head();
        let context = crate::Context { record: number.next(), time, epoch, alone: true, view: &view };
        let mut out = Vec::new();
        crate::decide(&self.0, &context, &mut out);
        names(&out)
    }
}
