//! Agent Arena, `agentarena/1`: we post a position, the agent answers with a move. What belongs here: the request's body, the
//! reply's strict reading, and which strike a reply is. What never does: connections (egress), queues (referee), or whether a
//! move is legal (the engine).

mod json;
mod reply;
mod request;

pub use json::{JSON_DEPTH_MAX, NotJson, top_level};
pub use reply::{EXCERPT_BYTES_MAX, REASON_CHARS_MAX, Verdict, judge};
pub use request::{Asked, MoveRequest, REPLY_BYTES_MAX, headers};
