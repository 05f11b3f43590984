//! The relay of agentwire v2, from outside: each sentence of its text that says what happens. `sentences.md` says which test is
//! which sentence's.

mod access_deletion;
mod access_failing;
mod access_joining;
mod access_names;
mod access_reads;
mod acknowledging;
mod concurrency;
mod cors;
mod create_join;
mod crowds;
mod entries;
mod errors;
mod expiry;
mod fetch;
mod leave;
mod limits;
mod one_receive;
mod presence;
mod printed;
mod printed_words;
mod read;
mod receive;
pub(crate) mod relay;
mod restart;
mod send;
mod sentences;
mod service;
mod versions;
mod wire;
