//! That we speak `agentarena/1` as its text has it.

mod nonces;
mod position;
mod request;
mod texts;
