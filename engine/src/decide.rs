//! From one command to its events. What belongs here: what every command passes on its way (its number, its second key, its
//! credential) and which room it goes to. What a room decides is in the room.

use crate::{
    matches, registry,
    rules::{self, RULES_PARTITIONS},
    sessions,
    state::{Head, State},
    system,
};
use arena_schema::{
    Command, Event, Hash, LogTime, Rejection,
    codec::{self, DecodeError},
    event::system::{NumberSeen, Place, SecondKeyKept},
    hash::BodyDigest,
    id::{AgentKey, CredentialKind, CredentialRef, Epoch, Partition, ProducerId, RecordNumber},
    record::{CommandHead, CommandView, Commands, encode_command},
};

/// The kind of `SubmitMove`.
const SUBMIT_MOVE: u16 = 0x0302;

/// What a decision may know besides the state and the command.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// The record's number.
    pub record: RecordNumber,
    /// The record's time.
    pub time: LogTime,
    /// The record's epoch.
    pub epoch: Epoch,
    /// Whether the command is alone in its record.
    pub alone: bool,
    /// The command as stored.
    pub view: &'a CommandView<'a>,
}

impl Context<'_> {
    /// What a match, battle or duel has accepted, with this command behind it: BLAKE3, keyed with the value before, over the
    /// record's time, the command's kind and its body.
    pub(crate) fn accepted_after(&self, before: &Hash) -> Hash {
        const FIXED: usize = 8 + 2;
        let (time, kind, body) = (self.time.0.to_le_bytes(), self.view.kind.to_le_bytes(), self.view.body);
        let mut buffer = [0; 128];
        match buffer.get_mut(..FIXED + body.len()) {
            Some(bytes) => {
                bytes[..8].copy_from_slice(&time);
                bytes[8..FIXED].copy_from_slice(&kind);
                bytes[FIXED..].copy_from_slice(body);
                before.then(bytes)
            }
            None => before.then(&[&time[..], &kind, body].concat()),
        }
    }
}

/// Appends an event that is made only where it stays: nearly every command of a journal appends three, and each is large.
#[inline]
pub(crate) fn emit<E: Into<Event>>(out: &mut Vec<Event>, event: impl FnOnce() -> E) {
    out.extend(std::iter::once_with(|| event().into()));
}

/// Decides one command and appends its events, at least one unless it was a `Tick`. The state is not changed.
pub fn decide(state: &State, context: &Context<'_>, out: &mut Vec<Event>) {
    let head = &context.view.head;
    if state.rules >= RULES_PARTITIONS
        && let Some(from) = head.producer.as_partition()
    {
        decide_entry(state, context, from, out);
        return;
    }
    if head.producer != ProducerId::SEQUENCER {
        let digest = BodyDigest::of(context.view.kind, context.view.body);
        if let Err(rejection) = state.producers.admit(head.producer, head.number, &digest) {
            out.push(rejection.into());
            return;
        }
        emit(out, || NumberSeen { producer: head.producer, number: head.number, digest });
    }
    if let Some(second) = &head.second_key
        && let Err(rejection) = state.second_keys.admit(second)
    {
        out.push(rejection.into());
        return;
    }
    let begin = out.len();
    let outcome = decide_body(state, context, out);
    if let Err(rejection) = outcome {
        out.truncate(begin);
        out.push(rejection.into());
    }
    if let Some(second) = &head.second_key {
        out.push(
            SecondKeyKept {
                route: second.route,
                caller: second.caller,
                key: second.key,
                body: second.body,
                place: Place { record: context.record, command: context.view.index },
                code: outcome.err().map_or(0, Rejection::code),
            }
            .into(),
        );
    }
}

/// An entry of another partition's outbox: it acts once, in order, and uses up its number only by acting.
fn decide_entry(state: &State, context: &Context<'_>, from: Partition, out: &mut Vec<Event>) {
    let begin = out.len();
    let CommandHead { producer, number, .. } = context.view.head;
    let digest = BodyDigest::of(context.view.kind, context.view.body);
    let outcome = state.outbox.admit(from, number, &digest).and_then(|()| {
        out.push(NumberSeen { producer, number, digest }.into());
        decide_entry_body(state, context, from, out)
    });
    if let Err(rejection) = outcome {
        out.truncate(begin);
        out.push(rejection.into());
    }
}

fn decide_entry_body(
    state: &State,
    context: &Context<'_>,
    from: Partition,
    out: &mut Vec<Event>,
) -> Result<(), Rejection> {
    let known = if state.is_first() { state.outbox.knows(from) } else { from == Partition(0) };
    if !known {
        return Err(Rejection::UnknownPartition);
    }
    let head = &context.view.head;
    if head.credential != CredentialRef::NONE || head.second_key.is_some() {
        return Err(Rejection::Malformed);
    }
    match (state.is_first(), &command_of(state, context)?) {
        (false, Command::AnnounceGateway(command)) => system::announce::gateway(state, context, command, out),
        (false, Command::GatewayGone(command)) if state.producers.of(&command.incarnation).is_none() => {
            Ok(())
        }
        (false, Command::GatewayGone(command)) => system::gateway_gone::decide(state, context, command, out),
        (false, Command::TakeMatch(command)) => matches::take::decide(state, context, command, out),
        (true, Command::ReturnMatch(command)) => {
            matches::return_match::decide(state, from, command, out);
            Ok(())
        }
        _ => Err(Rejection::WrongPartition),
    }
}

/// The command, where the rules in force know it.
fn command_of(state: &State, context: &Context<'_>) -> Result<Command, Rejection> {
    if rules::brought(context.view.kind) > state.rules {
        return Err(Rejection::UnknownKind);
    }
    context.view.decode().map_err(|error| match error {
        DecodeError::UnknownKind { .. } => Rejection::UnknownKind,
        _ => Rejection::Malformed,
    })
}

/// What the state already shows to be impossible: the refusal that a command would come to if it were decided now. A door asks
/// before it submits, so that the journal holds only refusals that raced. A command with a second key is let through: what
/// became of the key comes first, and only a record can say. Facts of a turn are not asked here, nor is the answer to a question: they are judged by who submits.
pub fn refusal(
    state: &State,
    credential: CredentialRef,
    second_key: bool,
    command: &Command,
) -> Option<Rejection> {
    if second_key {
        return None;
    }
    let head = CommandHead { credential, ..CommandHead::SEQUENCER };
    let mut bytes = Vec::with_capacity(128);
    encode_command(&head, command, &mut bytes);
    let view = Commands::of(&bytes).next()?.ok()?;
    let Head { number, time, epoch, .. } = *state.head();
    let context = Context { record: number.next(), time, epoch, alone: true, view: &view };
    decide_body(state, &context, &mut Vec::new()).err()
}

fn decide_body(state: &State, context: &Context<'_>, out: &mut Vec<Event>) -> Result<(), Rejection> {
    if context.view.kind == SUBMIT_MOVE {
        // Most commands are moves, and a body of one kind is moved about less than one of any.
        return match codec::decode(SUBMIT_MOVE, context.view.body) {
            Ok(command) => matches::submit_move::decide(state, context, &command, out),
            Err(_) => Err(Rejection::Malformed),
        };
    }
    let command = command_of(state, context)?;
    let head = &context.view.head;
    let by_sequencer = head.producer == ProducerId::SEQUENCER;
    if command.stands_alone() && !context.alone {
        return Err(Rejection::NotAlone);
    }
    match &command {
        Command::AnnounceSequencer(_)
        | Command::AnnounceGateway(_)
        | Command::GatewayGone(_)
        | Command::Tick(_)
        | Command::ActivateRules(_)
        | Command::CloseEra(_)
        | Command::BeginLineage(_)
        | Command::OpenPartition(_)
        | Command::AcknowledgeOutbox(_)
            if !by_sequencer =>
        {
            Err(Rejection::NotSequencer)
        }
        Command::AnnounceGateway(_)
        | Command::GatewayGone(_)
        | Command::RegisterAgent(_)
        | Command::RotateCredential(_)
        | Command::SetEndpoint(_)
        | Command::OpenMatch(_)
            if state.rules >= RULES_PARTITIONS && !state.is_first() =>
        {
            Err(Rejection::WrongPartition)
        }
        Command::AnnounceSequencer(command) => {
            system::announce::sequencer(state, context, command, out);
            Ok(())
        }
        Command::AnnounceGateway(command) => system::announce::gateway(state, context, command, out),
        Command::GatewayGone(command) => system::gateway_gone::decide(state, context, command, out),
        Command::Tick(_) => Ok(()),
        Command::ActivateRules(command) => system::history::activate_rules(state, command, out),
        Command::CloseEra(_) => {
            system::history::close_era(state, out);
            Ok(())
        }
        Command::BeginLineage(command) => system::history::begin_lineage(state, context, command, out),
        Command::OpenPartition(command) => system::partitions::open(state, command, out),
        Command::AcknowledgeOutbox(command) => system::partitions::acknowledge(state, command, out),
        Command::RegisterAgent(command) => registry::register::decide(state, command, out),
        Command::RotateCredential(command) => {
            speaks_for(state, head.credential, command.agent)?;
            registry::rotate_credential::decide(state, command, out)
        }
        Command::SetEndpoint(command) => {
            speaks_for(state, head.credential, command.agent)?;
            registry::set_endpoint::decide(state, command, out)
        }
        Command::OpenMatch(command) => {
            speaks_for(state, head.credential, command.players[0])?;
            matches::open::decide(state, context, command, out)
        }
        Command::SubmitMove(command) => matches::submit_move::decide(state, context, command, out),
        Command::RecordStrike(command) => matches::record_strike::decide(state, context, command, out),
        Command::AbortMatch(command) => matches::abort::decide(state, context, command, out),
        Command::CreateSession(command) => sessions::create::decide(state, command, out),
        Command::JoinSession(command) => sessions::join::decide(state, command, out),
        Command::RejoinSession(command) => sessions::rejoin::decide(state, command, out),
        Command::SendEntry(command) => sessions::send::decide(state, command, out),
        Command::AcknowledgeEntries(command) => sessions::acknowledge::decide(state, command, out),
        Command::LeaveSession(command) => sessions::leave::decide(state, command, out),
        Command::TouchSession(command) => sessions::touch::decide(state, context, command, out),
        Command::AnswerDeletion(command) => sessions::answer_deletion::decide(state, context, command, out),
        Command::SetAccount(command) => sessions::set_account::decide(state, command, out),
        Command::TakeMatch(_) | Command::ReturnMatch(_) => Err(Rejection::WrongPartition),
    }
}

/// A command made with a credential acts for that credential's agent alone, and only an api_key manages an agent; one made
/// without is the door's own word.
fn speaks_for(state: &State, credential: CredentialRef, agent: AgentKey) -> Result<(), Rejection> {
    if credential == CredentialRef::NONE {
        return Ok(());
    }
    match state.registry.holder(credential) {
        None => Err(Rejection::StaleCredential),
        Some((holder, CredentialKind::ApiKey)) if holder == agent => Ok(()),
        Some(_) => Err(Rejection::NotAllowed),
    }
}
