//! What we send: `move_request`, its fields in the text's order (AA-002 to AA-014).

use crate::boards;
use arena_engine::games::Position;
use arena_schema::{
    Seat,
    id::{MatchId, Nonce},
};
use serde::Serialize;

/// A reply's body is capped at 16 KB: 16,384 bytes after decoding (AA-034).
pub const REPLY_BYTES_MAX: usize = 16_384;

/// The headers of every request (AA-002).
pub fn headers() -> [(&'static str, String); 2] {
    [("content-type", "application/json".to_owned()), ("user-agent", "agentarena-referee/1".to_owned())]
}

/// A move request. The same again after a strike but for `strikes` and `nonce` (AA-035).
#[derive(Debug, Clone, Serialize)]
pub struct MoveRequest<'a> {
    protocol: &'static str,
    r#type: &'static str,
    match_id: String,
    game: &'static str,
    you: &'static str,
    opponent: &'a str,
    move_number: u16,
    board: String,
    legal: Vec<String>,
    strikes: u8,
    deadline_ms: u32,
    nonce: String,
    replay_url: String,
}

/// What a request is made of.
#[derive(Debug, Clone)]
pub struct Asked<'a> {
    /// The match.
    pub match_id: MatchId,
    /// The position as it stands.
    pub position: &'a Position,
    /// Who is asked.
    pub seat: Seat,
    /// The opponent's public name.
    pub opponent: &'a str,
    /// The ply to be made.
    pub ply: u16,
    /// This agent's strikes in this match so far.
    pub strikes: u8,
    /// How long it has.
    pub deadline_ms: u32,
    /// Fresh for every request.
    pub nonce: Nonce,
    /// Where this arena is reached, without a slash at its end.
    pub public_url: &'a str,
}

impl<'a> MoveRequest<'a> {
    /// The request for a position.
    pub fn new(asked: &Asked<'a>) -> Self {
        let game = asked.position.game();
        let match_id = asked.match_id.to_uuid().to_string();
        Self {
            protocol: "agentarena/1",
            r#type: "move_request",
            game: game.name(),
            you: asked.seat.as_str(),
            opponent: asked.opponent,
            move_number: asked.ply,
            board: boards::fenced(asked.position),
            legal: asked.position.legal_moves(asked.seat).iter().map(|mv| game.move_text(mv)).collect(),
            strikes: asked.strikes,
            deadline_ms: asked.deadline_ms,
            nonce: asked.nonce.to_string(),
            replay_url: format!("{}/m/{match_id}", asked.public_url),
            match_id,
        }
    }

    /// Whether a move's text is in `legal`, to the letter.
    pub fn allows(&self, text: &str) -> bool {
        self.legal.iter().any(|legal| legal == text)
    }

    /// The body's bytes.
    pub fn to_body(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("texts and numbers are always JSON")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arena_engine::games::GameCode;

    #[test]
    fn a_request_has_the_texts_fields_in_the_texts_order() {
        let mut position = Position::of(GameCode::Connect4, &[0; 32]);
        for (seat, column) in [(Seat::First, "d"), (Seat::Second, "d"), (Seat::First, "c")] {
            let mv = GameCode::Connect4.parse_move(column).unwrap();
            position.play(seat, &mv).unwrap();
        }
        let id = MatchId::parse("9f2c1a44-0000-8000-8000-000000000001").unwrap();
        let request = MoveRequest::new(&Asked {
            match_id: id,
            position: &position,
            seat: Seat::Second,
            opponent: "GREMLIN-9",
            ply: 4,
            strikes: 1,
            deadline_ms: 10_000,
            nonce: Nonce([0x7f; 16]),
            public_url: "https://arena.example",
        });
        let expected = concat!(
            r#"{"protocol":"agentarena/1","type":"move_request","match_id":"9f2c1a44-0000-8000-8000-000000000001","#,
            r#""game":"connect4","you":"O","opponent":"GREMLIN-9","move_number":4,"#,
            r#""board":"```\n .......\n .......\n .......\n .......\n ...O...\n ..XX...\n abcdefg\n```","#,
            r#""legal":["a","b","c","d","e","f","g"],"strikes":1,"deadline_ms":10000,"#,
            r#""nonce":"7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f","#,
            r#""replay_url":"https://arena.example/m/9f2c1a44-0000-8000-8000-000000000001"}"#,
        );
        assert_eq!(String::from_utf8(request.to_body()).unwrap(), expected);
        assert!(request.allows("g") && !request.allows("G") && !request.allows("h"));
    }
}
