//! Re-runs a replay's file through the rules of its game: that the moves are legal in their order, that strikes add up to what
//! they say, and that the result is the one that follows. What it cannot show is who played them.

use arena_engine::{
    games::{GameCode, Outcome, Position, Seat},
    matches::STRIKES_MAX,
};
use arena_schema::command::matches::StrikeCause;
use serde_json::Value;

/// What was re-run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// Moves that were legal in their place.
    pub moves: u32,
    /// Strikes that were counted.
    pub strikes: u32,
    /// The result in words.
    pub result: String,
}

/// Checks a replay.
///
/// # Errors
/// The first thing that does not hold, in words, with the event's number.
pub fn check(replay: &Value) -> Result<Checked, String> {
    let text = |value: &Value, key: &str| value[key].as_str().map(str::to_owned);
    let game = text(replay, "game").ok_or("it names no game")?;
    let game = GameCode::from_name(&game).ok_or_else(|| format!("this build knows no game {game:?}"))?;
    let events = replay["events"].as_array().ok_or("it has no list of events")?;
    let mut position = Position::of(game, &[0; 32]);
    let (mut moves, mut strikes, mut plies) = (0, [0u8; 2], 0u64);
    let mut forfeit = None;
    let mut ended = None;
    let mut last_at = String::new();
    for (event, n) in events.iter().zip(1u64..) {
        let at = |why: String| format!("event {n}: {why}");
        if event["n"].as_u64() != Some(n) {
            return Err(at(format!("its number is {}", event["n"])));
        }
        if ended.is_some() {
            return Err(at("it stands behind the end".to_owned()));
        }
        let time = text(event, "at").ok_or_else(|| at("it has no time".to_owned()))?;
        if time < last_at {
            return Err(at(format!("its time {time} is before the one before it, {last_at}")));
        }
        last_at = time;
        let kind = text(event, "kind").unwrap_or_default();
        if kind == "end" {
            let reason = text(event, "reason").ok_or_else(|| at("the end has no reason".to_owned()))?;
            ended = Some((text(event, "winner"), reason));
            continue;
        }
        let seat = text(event, "seat").and_then(|seat| Seat::from_name(&seat));
        let seat = seat.ok_or_else(|| at("it names no seat".to_owned()))?;
        if forfeit.is_some() || position.outcome().is_some() {
            return Err(at("the match was over before it".to_owned()));
        }
        if !position.to_act().contains(seat) {
            return Err(at(format!("{seat} was not to move")));
        }
        if event["move_number"].as_u64() != Some(plies + 1) {
            return Err(at(format!(
                "its move_number is {}, {} was to be made",
                event["move_number"],
                plies + 1
            )));
        }
        match kind.as_str() {
            "move" => {
                let named = text(event, "move").ok_or_else(|| at("it names no move".to_owned()))?;
                let mv =
                    game.parse_move(&named).ok_or_else(|| at(format!("{named:?} is no move of the game")))?;
                position.play(seat, &mv).map_err(|why| at(format!("the move {named}: {why}")))?;
                moves += 1;
                plies += 1;
            }
            "strike" => {
                let cause = text(event, "cause").unwrap_or_default();
                if StrikeCause::from_name(&cause).is_none() {
                    return Err(at(format!("{cause:?} is no cause of a strike")));
                }
                let count = &mut strikes[seat.index()];
                *count += 1;
                if event["strikes"].as_u64() != Some(u64::from(*count)) {
                    return Err(at(format!("it says {} strikes, {seat} has {count}", event["strikes"])));
                }
                if *count >= STRIKES_MAX {
                    forfeit = Some(seat);
                }
            }
            other => return Err(at(format!("its kind is {other:?}"))),
        }
    }
    let follows = match (forfeit, position.outcome()) {
        (Some(seat), _) => Some((Some(seat.other()), "forfeit")),
        (None, Some(Outcome::Win(seat))) => Some((Some(seat), "win")),
        (None, Some(Outcome::Draw)) => Some((None, "draw")),
        (None, None) => None,
    };
    let result = &replay["result"];
    let said =
        (!result.is_null()).then(|| (text(result, "winner"), text(result, "reason").unwrap_or_default()));
    let status = text(replay, "status").unwrap_or_default();
    let strikes = u32::from(strikes[0]) + u32::from(strikes[1]);
    let checked = |result: String| Checked { moves, strikes, result };
    match (follows, said) {
        (None, None) if status == "running" && ended.is_none() => {
            Ok(checked("a match that is running".to_owned()))
        }
        (None, Some((None, reason)))
            if status == "void" && reason == "void" && ended == Some((None, reason.clone())) =>
        {
            Ok(checked("no result: the match was voided".to_owned()))
        }
        (Some((winner, reason)), Some((said_winner, said_reason))) => {
            let winner = winner.map(|seat| seat.as_str().to_owned());
            if said_winner != winner || said_reason != reason {
                let said = format!("{said_reason} for {}", said_winner.as_deref().unwrap_or("nobody"));
                let found = format!("{reason} for {}", winner.as_deref().unwrap_or("nobody"));
                return Err(format!("it says {said}, its moves come to {found}"));
            }
            if status != "finished" || ended != Some((winner.clone(), reason.to_owned())) {
                return Err("its status or its last event does not fit its result".to_owned());
            }
            let line: Vec<String> = serde_json::from_value(result["line"].clone()).unwrap_or_default();
            let expected = if reason == "win" { position.winning_line() } else { Vec::new() };
            if line != expected {
                return Err(format!("it says the line {line:?}, its moves make {expected:?}"));
            }
            Ok(checked(match winner {
                Some(winner) if reason == "win" => format!("{winner} wins"),
                Some(winner) => format!("{winner} wins by {reason}"),
                None => reason.to_owned(),
            }))
        }
        (follows, said) => Err(format!(
            "its result ({}) and what its moves come to ({}) do not go together with the status {status:?}",
            said.map_or("none".to_owned(), |(_, reason)| reason),
            follows.map_or("no end", |(_, reason)| reason),
        )),
    }
}
