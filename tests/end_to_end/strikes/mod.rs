//! What costs a strike, what it costs, and who sees it. Every cause comes from a server that really misbehaves so.

mod bodies;
mod count;
mod excerpts;
mod replies;
mod rows;
mod secured;
mod transport;
